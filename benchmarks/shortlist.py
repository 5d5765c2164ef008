"""The short list beside the paper's set: which arms are on it, how many, and what it costs in pulls.

`python -m benchmarks shortlist` prints the tables; `python -m benchmarks.shortlist docs/short-list.md` also writes them
into the page. Two arms that buy nothing, beside one that is as small and faster; the treatments of UVA/PADOVA; and all
data sets of the paper at every ε, with its guarantee (accuracy 2D + α, coverage 2D) for both goals.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
from tools.document import with_tables

from benchmarks.certified import ends_of, measure, name_of, table
from benchmarks.datasets import SHARED_DATA
from benchmarks.tables import Row, heading
from frontguard import Certified, Prescient
from frontguard.experiments.setup import CONTESTANTS, choose, settings_of
from frontguard.simulation.environments import gaussian

RUNS = 20
STUDIES = 300
TRUTH = np.array([(1.0, 100.0), (2.0, 100.0), (1.5, 100.0), (3.0, 50.0)])  # seconds and bytes of A, B, C and D
NOISE = 0.1


def with_ties(studies: int = STUDIES) -> tuple[list[Row], str]:
    """A to D with noise of 10 %: B and C are as large as A, and slower."""
    heading("A = (1 s, 100 B), B = (2 s, 100 B), C = (1.5 s, 100 B), D = (3 s, 50 B)")
    environment = gaussian(-np.log(TRUTH), NOISE)
    lines, worst = [], 0.0
    for eps, tolerance in ((0.0, 0.05), (0.1, 0.05), (0.1, 0.1), (0.0, 0.02)):
        found = {}
        for goal in ("front", "list"):
            policy = Certified(
                4, 2, threat=Prescient(eps), accuracy=np.log1p(tolerance), delta=0.05, goal=goal, max_pulls=100_000
            )
            ends = ends_of(policy, environment, None, studies)
            # Sets of studies that ended otherwise are no lists, and are counted as if they were.
            found[goal] = ends.returned.mean(axis=0), ends.pulls.mean(), ends.stops["certified"] / studies
        listed, pulls, certified = found["list"]
        before, fewer, _ = found["front"]
        worst = max(worst, float(listed[1:3].max()))
        lines.append(
            [f"{eps:g}", f"{tolerance:.0%}", *(f"{before[k]:.0%} / {listed[k]:.1%}" for k in (1, 2)),
             f"{fewer:,.0f} / {pulls:,.0f}", f"{certified:.1%}"]
        )  # fmt: skip
    headings = ["ε", "tolerance", "B returned: front / list", "C: front / list", "pulls: front / list", "certified"]
    print(table(headings, lines))
    rows = [Row("largest share of studies that list B, or C", worst, at_most=0.05)]
    return rows, table(headings, lines)


def data_sets(runs: int = RUNS) -> tuple[list[Row], str]:
    """All data sets of the paper: pulls and sizes of both sets, and who is on the list without being on the front."""
    heading("all data sets: front / list")
    chosen = choose("all", SHARED_DATA if SHARED_DATA.is_dir() else None).experiments
    lines, off, treatments = [], [], []
    for setting in settings_of(chosen, ()):
        front, listed = (measure(setting, CONTESTANTS["certified"], runs, goal=goal) for goal in ("front", "list"))
        truly = int(setting.experiment.environment.pareto_mask.sum())
        a, b = front.score, listed.score
        lines.append(
            [name_of(setting.experiment), f"{setting.eps:g}", f"{truly}", f"{a['returned']:.1f} / {b['returned']:.1f}",
             f"{a['returned_off_front']:.1f} / {b['returned_off_front']:.1f}",
             f"{front.pulls:,.0f} / {listed.pulls:,.0f}",
             f"{listed.pulls / front.pulls:.2f}", f"{a['rsr']:.2f} / {b['rsr']:.2f}", listed.ended_early or "–"]
        )  # fmt: skip
        print(" | ".join(lines[-1]), flush=True)
        off.append(b["rsr"])
        if setting.experiment.dataset == "diabetes" and setting.eps <= 0.2:
            treatments.append((b["returned"], b["returned_off_front"]))
    headings = ["data", "ε", "on the front", "returned", "off front", "pulls", "list / front", "RSR", "other ends"]
    rows = [Row("smallest RSR of a cell with the list", min(off), at_least=0.9)]
    rows += [
        Row("largest mean size of the list of UVA/PADOVA, ε ≤ 0.2", max(size for size, _ in treatments), at_most=5.0),
        Row("most of its arms off the front, mean", max(wrong for _, wrong in treatments), at_most=0.0),
    ]
    return rows, table(headings, lines)


def main(page: Path | None = None) -> list[Row]:
    ties, first = with_ties()
    sets, second = data_sets()
    if page is not None:
        text = page.read_text(encoding="utf-8")
        page.write_text(with_tables(text, f"{first}\n\n{second}", where=str(page)), encoding="utf-8")
    return [*ties, *sets]


if __name__ == "__main__":
    print(Counter(row.reached for row in main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)))
