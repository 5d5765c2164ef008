"""Runs cells and counts: how often a run showed a false statement, and what that says about δ."""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from frontguard._common.checks import checked_count
from frontguard.audit.cells import CELLS, DELTA, Cell
from frontguard.errors import BadInput
from frontguard.phrases import did_you_mean

LIMIT = 0.999
"""Confidence of the limits of a share."""

BY_CHANCE = 1e-4
"""Probability with which a cell that keeps to δ may be called refuted."""

Progress = Callable[[str, int, int, float | None], None]
"""Is told the cell, how many runs of all are done, and how many seconds are left."""


@dataclass(frozen=True)
class CellOutcome:
    """What came of a cell."""

    cell: Cell
    runs: int
    answers: int  # that were looked at
    false: int  # runs with a false statement
    kinds: tuple[tuple[str, int], ...]  # of false statements, with the number of runs that had one
    seconds: float

    @property
    def name(self) -> str:
        """What the cell is called."""
        return self.cell.name

    @property
    def about(self) -> str:
        """What goes wrong in it."""
        return self.cell.about

    @property
    def limit(self) -> float:
        """What that share is at most, in the long run: an exact (Clopper-Pearson) limit."""
        return upper_limit(self.false, self.runs)

    @property
    def refuted(self) -> bool:
        """Whether so many false runs show that δ is not kept."""
        return lower_limit(self.false, self.runs) > DELTA


def audit(
    names: Sequence[str] = (), *, runs: int = 200, seed: int = 0, progress: Progress | None = None
) -> list[CellOutcome]:
    """Run cells, all unless some are named, so many times each.

    >>> (outcome,) = audit(["atoms"], runs=2)
    >>> outcome.runs, outcome.refuted
    (2, False)
    """
    count = checked_count(runs, "runs")
    chosen = cells_named(names)
    total, done, start = count * len(chosen), 0, time.perf_counter()
    outcomes = []
    for cell in chosen:
        began, answers, false, kinds = time.perf_counter(), 0, 0, Counter[str]()
        for run in range(count):
            if progress is not None:
                left = (time.perf_counter() - start) / done * (total - done) if done else None
                progress(cell.name, done, total, left)
            rng = np.random.default_rng([seed, zlib.crc32(cell.name.encode()), run])
            found: set[str] = set()
            for truth, result in cell.answers(rng):
                answers += 1
                found |= truth.false_statements(result)
            kinds.update(found)
            false += bool(found)
            done += 1
        seconds = time.perf_counter() - began
        outcomes.append(CellOutcome(cell, count, answers, false, tuple(kinds.most_common()), seconds))
    return outcomes


def cells_named(names: Sequence[str]) -> list[Cell]:
    """The cells of these names, or all."""
    for name in names:
        if name not in CELLS:
            near = did_you_mean(name, list(CELLS))
            raise BadInput(f"cell: {name!r} is none of the audit's{near}; they are {', '.join(CELLS)}")
    return [CELLS[name] for name in names or CELLS]


def upper_limit(hits: int, runs: int) -> float:
    """The largest probability of a hit that is compatible with so many.

    >>> round(upper_limit(0, 1000), 4), round(upper_limit(1000, 1000), 4)
    (0.0069, 1.0)
    """
    return 1.0 if hits == runs else float(beta.ppf(LIMIT, hits + 1, runs - hits))


def lower_limit(hits: int, runs: int) -> float:
    """The smallest probability of a hit that is compatible with so many, but for `BY_CHANCE`."""
    return 0.0 if hits == 0 else float(beta.ppf(BY_CHANCE, hits, runs - hits + 1))
