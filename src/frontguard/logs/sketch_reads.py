"""Bounds on order statistics, read from KLL sketches: what the true rank error can be, and how it is allowed for.

A KLL sketch (Karnin, Lang, Liberty, "Optimal quantile approximation in streams", FOCS 2016) holds values at levels
h = 0, 1, …, of weight 2ʰ. A *compaction* of level h takes an even number of its values in order and moves every other
one to level h + 1, those at odd or at even places, by the toss of a fair coin. It changes the weight at or below a
fixed x by 2ʰ times a sign, or not at all, if the number of its values at or below x is even. Whatever happened before,
the coin is fair: the rank error at x is a sum of martingale differences of size at most 2ʰ, and with m_h compactions of
level h, by the bound of Azuma and Hoeffding, on either side

    P(error ≥ t) ≤ exp(−t² / 2V),   V = Σ_h m_h 4ʰ,   and in any case |error| ≤ Σ_h m_h 2ʰ.

How many compactions there were can be told from the sketch: weight is neither lost nor made, so what now lies above
level h went up from it, 2ʰ⁺¹ for every value, and a compaction moves up at least ⌊c_h / 2⌋ values, c_h being the
capacity of the level, which only falls while the sketch grows. That holds for sketches that were merged, too. When and
where compactions happen depends on counts alone, never on values or coins, so V and the number of reads are known
beforehand. (The rank error that the library states is that of a single read, at about 99 %.)

Let E be the error allowed for, and x the value of true rank r. At least r − E of the sketch's weight is at or below x,
so the first value that has a weight of r − E at or below it is a lower bound of x; at most r − 1 + E is below x, so the
first that has a weight of r + E at or below it is an upper bound. Beyond the ends stand the least and the greatest
value, which are known. That is a contamination of E / n more, on either side.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from frontguard._compiled import kernel
from frontguard.logs.ordered import Ordered

__all__ = ["Retained", "SketchOrdered", "allowed_error", "capacity", "ranks_error", "readable"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_NARROWEST = 8  # the least capacity of a level, the library's m


@functools.cache
def capacity(size: int, depth: int) -> int:
    """c: how many values a level `depth` below the top one has to hold before it is compacted: k (2/3)^depth.

    >>> [capacity(200, depth) for depth in range(9)]
    [200, 133, 89, 59, 40, 26, 18, 12, 8]
    """
    return max(_NARROWEST, ((2 * size << depth) // int(3**depth) + 1) >> 1)


def ranks_error(size: int, held: Sequence[int]) -> tuple[int, int]:
    """V and Σ m_h 2ʰ of a sketch of size k that holds so many values at each level.

    >>> ranks_error(200, [150]), ranks_error(200, [1, 100])
    ((0, 0), (1, 1))
    """
    above = sum(count << level for level, count in enumerate(held))
    proxy = hard = 0
    for level, count in enumerate(held[:-1]):
        above -= count << level
        times = (above >> (level + 1)) // (capacity(size, len(held) - 1 - level) // 2)
        proxy += times << (2 * level)
        hard += times << level
    return proxy, hard


def allowed_error(proxy: int, hard: int, share: float) -> int:
    """E: the rank error that is exceeded on one side with probability at most `share`. Errors are whole numbers."""
    return min(hard, math.floor(math.sqrt(2.0 * proxy * math.log(1.0 / share)) + 1e-9))


@dataclass(frozen=True, eq=False)
class Retained:
    """What one sketch holds of `count` values: some of them, with weights, and the bounds of its rank error."""

    count: int
    lowest: float
    highest: float
    values: Floats
    weights: Ints
    proxy: int
    hard_error: int


@dataclass(frozen=True, eq=False)
class SketchOrdered:
    """K arms and M metrics, read at ranks as `Ordered` is; bounds that are read allow for the sketches' error.

    `from_below` and `from_above` are estimates: values whose rank is about the one that was asked for.
    """

    arms: Sequence[str]
    metrics: tuple[str, ...]
    pulls: Ints  # (K,)
    good: Ints  # (M, K)
    rank_errors: Ints  # (M, K): E, 0 where all values were kept
    means: Floats  # (M, K) of the values that did not fail, NaN where all did
    lowest: Floats  # (M, K)
    highest: Floats  # (M, K)
    # Not called as in `Ordered`: places in what is held are no ranks.
    held_starts: Ints  # (M, K + 1), of what follows
    held: tuple[Floats, ...]  # what is held of every arm, ascending
    held_weights: tuple[Ints, ...]  # of an arm's held values at or below each

    @property
    def failed(self) -> Ints:
        """How many values of each metric and arm (M, K) failed."""
        return self.pulls - self.good

    def lower_bound(self, metric: int, ranks: Ints) -> Floats:
        """Values (K,) at or below those of these ranks from below, 1 the smallest; −∞ for ranks below 1."""
        return self._framed(metric, ranks, -1)

    def upper_bound(self, metric: int, ranks: Ints) -> Floats:
        """Values (K,) at or above those of these ranks from above, 1 the largest; +∞ for ranks below 1."""
        return self._framed(metric, self.good[metric] + 1 - ranks, 1)

    def from_below(self, metric: int, ranks: Ints) -> Floats:
        """About the values (K,) of these ranks, 1 the smallest; −∞ for ranks below 1, +∞ above their number."""
        return self._framed(metric, ranks, 0)

    def from_above(self, metric: int, ranks: Ints) -> Floats:
        """About the values (K,) of these ranks from above; +∞ for ranks below 1, −∞ beyond the smallest."""
        return self._framed(metric, self.good[metric] + 1 - ranks, 0)

    def at(self, metric: int, arms: Ints, ranks: Ints, side: int = 0) -> Floats:
        """The values of some arms at ranks from 1 to their good values: bounds from below for side −1, above for 1."""
        errors = self.rank_errors[metric][arms]
        found = _held_at(
            self.held[metric],
            self.held_weights[metric],
            self.held_starts[metric],
            np.ascontiguousarray(arms, np.int64),
            np.ascontiguousarray(ranks + side * errors, np.int64),
        )
        if side < 0:
            found = np.where(ranks - errors < 1, self.lowest[metric][arms], found)
        if side > 0:
            found = np.where(ranks + errors > self.good[metric][arms], self.highest[metric][arms], found)
        return found

    def _framed(self, metric: int, ranks: Ints, side: int) -> Floats:
        known = np.flatnonzero((ranks >= 1) & (ranks <= self.good[metric]))
        found = np.where(ranks < 1, -np.inf, np.inf)
        found[known] = self.at(metric, known, ranks[known], side)
        return found


def readable(
    kept: Ordered, retained: Sequence[Sequence[tuple[int, Retained]]], sums: Floats, share: float
) -> SketchOrdered:
    """Exact samples and sketches (arm, what it holds) of every metric as one log, each read failing with ≤ `share`."""
    good = kept.good
    errors, lowest, highest = np.zeros_like(good), np.full(good.shape, np.nan), np.full(good.shape, np.nan)
    starts, values, weights = np.zeros_like(kept.starts), [], []
    for d, some in enumerate(retained):
        held = good[d].copy()
        exact = np.flatnonzero(held)
        lowest[d, exact] = kept.values[d][kept.starts[d, exact]]
        highest[d, exact] = kept.values[d][kept.starts[d, exact + 1] - 1]
        for arm, each in some:
            held[arm], good[d, arm] = len(each.values), each.count
            lowest[d, arm], highest[d, arm] = each.lowest, each.highest
            errors[d, arm] = allowed_error(each.proxy, each.hard_error, share)
        np.cumsum(held, out=starts[d, 1:])
        flat, weight = np.empty(starts[d, -1]), np.ones(starts[d, -1], np.int64)
        _copy_runs(kept.values[d], kept.starts[d], flat, starts[d])
        for arm, each in some:
            flat[starts[d, arm] : starts[d, arm + 1]] = each.values
            weight[starts[d, arm] : starts[d, arm + 1]] = each.weights
        sketched = np.array([arm for arm, _ in some], np.int64)
        _sort_runs(flat, weight, starts[d], sketched)
        _cumulate(weight, starts[d])
        values.append(flat)
        weights.append(weight)
    means = sums / np.where(good > 0, good, np.nan)
    return SketchOrdered(
        kept.arms, kept.metrics, kept.pulls, good, errors, means, lowest, highest, starts, tuple(values), tuple(weights)
    )


@kernel
def _copy_runs(source: Floats, source_starts: Ints, target: Floats, target_starts: Ints) -> None:
    for arm in range(len(source_starts) - 1):
        size = source_starts[arm + 1] - source_starts[arm]
        target[target_starts[arm] : target_starts[arm] + size] = source[source_starts[arm] : source_starts[arm + 1]]


@kernel
def _sort_runs(values: Floats, weights: Ints, starts: Ints, arms: Ints) -> None:
    for arm in arms:
        run, weight = values[starts[arm] : starts[arm + 1]], weights[starts[arm] : starts[arm + 1]]
        order = np.argsort(run)
        run[:] = run[order]
        weight[:] = weight[order]


@kernel
def _cumulate(weights: Ints, starts: Ints) -> None:
    for arm in range(len(starts) - 1):
        total = 0
        for j in range(starts[arm], starts[arm + 1]):
            total += weights[j]
            weights[j] = total


@kernel
def _held_at(values: Floats, weights: Ints, starts: Ints, arms: Ints, wanted: Ints) -> Floats:
    """For every arm the first held value with the wanted weight at or below it; the first or last beyond the ends."""
    found = np.empty(len(arms), np.float64)
    for i in range(len(arms)):
        low, high = starts[arms[i]], starts[arms[i] + 1] - 1
        while low < high:
            middle = (low + high) // 2
            if weights[middle] >= wanted[i]:
                high = middle
            else:
                low = middle + 1
        found[i] = values[low]
    return found
