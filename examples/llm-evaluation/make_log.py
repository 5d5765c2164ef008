"""The same models on record: every model has answered every question once.

python make_log.py          writes answers.csv: model, question, solved, dollars
"""

from __future__ import annotations

import csv
from pathlib import Path

from provider import MODELS, QUESTIONS, ask


def write_log(path: Path) -> None:
    """A row for each model and question, in the order in which they were asked."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "question", "solved", "dollars"])
        for question in range(QUESTIONS):
            for model in MODELS:
                answer = ask(model, question, seed=question)
                rows.writerow([model, question, str(answer["solved"]).lower(), f"{answer['dollars']:.6f}"])


if __name__ == "__main__":
    write_log(Path("answers.csv"))
