"""Check by simulation that printed statements are false no more often than promised: `python -m audit [CELL ...]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from audit.cells import CELLS, DELTA
from audit.runner import run_cell
from frontguard.phrases import percent

REFUTED = 1
"""Exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run cells and print a row of the table of docs/audit.md as each ends."""
    parser = argparse.ArgumentParser("python -m audit", description=__doc__)
    parser.add_argument("cell", nargs="*", help="Ways in which measuring goes wrong (default: all).")
    parser.add_argument("--runs", type=int, default=200, help="Simulated runs of each cell. [default: 200]")
    parser.add_argument("--seed", type=int, default=0, help="Run r of a seed is always the same run. [default: 0]")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.cell if name not in CELLS]
    if unknown:
        parser.error(f"no cell {unknown[0]!r}; choose from {', '.join(CELLS)}")
    if asked.runs < 1:
        parser.error("--runs must be at least 1")
    print("| cell | what goes wrong | runs | false | at most |\n| --- | --- | --- | --- | --- |")
    refuted = []
    for name in asked.cell or CELLS:
        found = run_cell(CELLS[name], asked.runs, asked.seed)
        print(
            f"| {name} | {found.cell.about} | {found.runs:,} | {found.false:,} | {percent(found.limit)} |", flush=True
        )
        if found.refuted:
            refuted.append(f"{name}: {', '.join(f'{kind} in {runs} runs' for kind, runs in found.kinds)}")
    for line in refuted:
        print(f"false more often than promised ({percent(DELTA)}) in {line}", file=sys.stderr)
    return REFUTED if refuted else 0


if __name__ == "__main__":
    sys.exit(main())
