"""What was measured last time: a file for each benchmark in `benchmarks/last`, kept with the code."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from benchmarks.tables import Row

FOLDER = Path(__file__).with_name("last")


def keep(name: str, rows: Sequence[Row], folder: Path = FOLDER) -> None:
    """Remember a run."""
    folder.mkdir(exist_ok=True)
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    document = {
        "when": date.today().isoformat(),
        "machine": machine,
        "rows": [row.as_fields() for row in rows],
    }
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    (folder / f"{name}.json").write_text(text, encoding="utf-8")


def last_time(names: Iterable[str], folder: Path = FOLDER) -> dict[str, list[Row]]:
    """The rows of those that ran before."""
    found = {}
    for name in names:
        path = folder / f"{name}.json"
        if path.is_file():
            found[name] = [Row(**fields) for fields in json.loads(path.read_text(encoding="utf-8"))["rows"]]
    return found
