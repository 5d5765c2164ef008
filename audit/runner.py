"""Runs a cell and counts: how often a run showed a false statement, and what that says about δ."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from audit.cells import DELTA, Cell

LIMIT = 0.999
"""Confidence of the limits of a share."""

BY_CHANCE = 1e-4
"""Probability with which a cell that keeps to δ may be called refuted."""


@dataclass(frozen=True)
class CellOutcome:
    """What came of a cell."""

    cell: Cell
    runs: int
    answers: int  # that were looked at
    false: int  # runs with a false statement
    kinds: tuple[tuple[str, int], ...]  # of false statements, with the number of runs that had one

    @property
    def limit(self) -> float:
        """What the share of false runs is at most, in the long run: an exact (Clopper-Pearson) limit."""
        return upper_limit(self.false, self.runs)

    @property
    def refuted(self) -> bool:
        """Whether so many false runs show that δ is not kept."""
        return lower_limit(self.false, self.runs) > DELTA


def run_cell(cell: Cell, runs: int, seed: int = 0) -> CellOutcome:
    """Run a cell so many times; run r of a seed is always the same run.

    >>> from audit.cells import CELLS
    >>> run_cell(CELLS["atoms"], 2).refuted
    False
    """
    answers, false, kinds = 0, 0, Counter[str]()
    for run in range(runs):
        rng = np.random.default_rng([seed, zlib.crc32(cell.name.encode()), run])
        found: set[str] = set()
        for truth, result in cell.answers(rng):
            answers += 1
            found |= truth.false_statements(result)
        kinds.update(found)
        false += bool(found)
    return CellOutcome(cell, runs, answers, false, tuple(kinds.most_common()))


def upper_limit(hits: int, runs: int) -> float:
    """The largest probability of a hit that is compatible with so many.

    >>> round(upper_limit(0, 1000), 4), round(upper_limit(1000, 1000), 4)
    (0.0069, 1.0)
    """
    return 1.0 if hits == runs else float(beta.ppf(LIMIT, hits + 1, runs - hits))


def lower_limit(hits: int, runs: int) -> float:
    """The smallest probability of a hit that is compatible with so many, but for `BY_CHANCE`."""
    return 0.0 if hits == 0 else float(beta.ppf(BY_CHANCE, hits, runs - hits + 1))
