"""Measurements by arm, sorted within each metric: what all answers about a log are read from.

A log with n_i rows of arm i becomes, for each metric, the sorted values of every arm that did not fail, one arm after
another. Which values fail is decided when it is built: missing ones, NaN, infinite ones, and those that an objective
cannot use. They count in n_i, and are not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Floats, Ints
from frontguard.logs.sort.wealth import MeanQuestion, standard_errors, unrefuted


@dataclass(frozen=True, eq=False)
class Ordered:
    """K arms, ordered by name, with n_i pulls each, and M metrics.

    The values of metric d and arm i are `values[d][starts[d, i] : starts[d, i + 1]]`, ascending, in the metric's own
    units. The arrays may be memory maps of a file: they are read, never written. A subclass that keeps less than all
    values (`logs.sketch`) answers the same at ranks, with bounds.
    """

    whole: ClassVar[bool] = True  # whether all values are here

    arms: Sequence[str]  # (K,), in plain text order, all different
    metrics: tuple[str, ...]
    pulls: Ints  # (K,), failed ones included
    starts: Ints  # (M, K + 1)
    values: tuple[Floats, ...]  # M flat arrays
    broken: Ints | None = None  # (K,) pulls that lack any value, where that was counted

    def __sizeof__(self) -> int:
        return self.pulls.nbytes + self.starts.nbytes + sum(flat.nbytes for flat in self.values)

    @property
    def good(self) -> Ints:
        """Counts (M, K) of the values that did not fail."""
        return np.diff(self.starts, axis=1)

    @property
    def failed(self) -> Ints:
        """Counts (M, K) of those that did."""
        return self.pulls - self.good

    @property
    def failed_pulls(self) -> Ints:
        """Pulls of each arm (K,) that lack the value of any metric; where it was not counted, so many at least."""
        return self.failed.max(axis=0) if self.broken is None else self.broken

    @property
    def sums(self) -> Floats:
        """Sums (M, K) of the values that did not fail."""
        found = np.zeros((len(self.metrics), len(self.pulls)))
        for d, (starts, good) in enumerate(zip(self.starts, self.good, strict=True)):
            some = np.flatnonzero(good)
            if len(some):
                with np.errstate(over="ignore", invalid="ignore"):  # what overflows has no mean that could be compared
                    found[d, some] = np.add.reduceat(self.values[d][: starts[-1]], starts[:-1][some])
        return found

    @property
    def means(self) -> Floats:
        """Means (M, K) of the values that did not fail; NaN where all did."""
        return self.sums / np.where(self.good > 0, self.good, np.nan)

    def at(self, metric: int, arms: Ints, ranks: Ints, side: int = 0) -> Floats:
        """The values of some arms at ranks from below, 1 the smallest, all of which there are.

        `side` says what is wanted where values are known only within bounds: −1 one that is certainly not above, 1 one
        that is not below, 0 the nearest. Here they are known.
        """
        return np.asarray(self.values[metric][self.starts[metric, :-1][arms] + ranks - 1])

    def standard_errors(self, metric: int) -> Floats:
        """Of the means of a metric (K,), as the values show them; NaN where all failed."""
        return standard_errors(self, metric, self.means[metric])

    def unrefuted(self, metric: int, arms: Ints, asked: MeanQuestion) -> Floats:
        """The largest means (n, 2) of some arms that are not refuted, see `wealth.unrefuted`."""
        return unrefuted(self, metric, arms, asked)


def starts_of(counts: Sequence[Ints] | npt.NDArray[Any]) -> Ints:
    """The places (M, K + 1) at which the values of each arm begin, by the counts of each metric, M times (K,)."""
    return np.cumsum(np.pad(np.asarray(counts), ((0, 0), (1, 0))), axis=1, dtype=np.int64)
