"""Measurements by arm, sorted within each metric: what bounds of a whole log are read from.

Values are read at ranks. Of a mean with known bounds, all that a bound needs of n values in [0, 1] are their sums of
log(1 − θ u) for 24 θ, and of log(1 − θ (1 − u)) for its other end (`evidence.bets`). Sums of every `BLOCK` neighbours
among an arm's sorted values are kept; without so many of the smallest or largest values, a sum is added up from these
and a few values at the edges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from frontguard._common.compiled import inlined, kernel
from frontguard._common.machine import side_by_side, usable_cores
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.bets import AT_ONCE, BETS, THETAS, WORST, add_logarithms, multiply_bets

BLOCK = 512
"""Neighbouring values whose sums are kept."""

Bounds = tuple[float, float]

_RUN = 8  # equal values from which on a logarithm costs less than their factors
_PARTS_A_CORE = 8
_FEW = 64  # arms that are not worth a thread


@dataclass(frozen=True, eq=False)
class Ordered:
    """K arms, ordered by name, with n_i pulls each, and M metrics.

    The values of metric d and arm i are `values[d][starts[d, i] : starts[d, i + 1]]`, ascending, in the metric's own
    units. The arrays may be memory maps of a file: they are read, never written. A subclass that keeps less than all
    values answers the same at ranks, with bounds.
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

    def sum(self, metric: int) -> Floats:
        """The sums (K,) of the values of a metric that did not fail."""
        starts, good = self.starts[metric], self.good[metric]
        found, some = np.zeros(len(self.pulls)), np.flatnonzero(good)
        if len(some):
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows has no mean that could be compared
                found[some] = np.add.reduceat(self.values[metric][: starts[-1]], starts[:-1][some])
        return found

    def mean(self, metric: int) -> Floats:
        """The means (K,) of the values of a metric that did not fail; NaN where all did."""
        good = self.good[metric]
        return self.sum(metric) / np.where(good > 0, good, np.nan)

    def at(self, metric: int, arms: Ints, ranks: Ints, side: int = 0) -> Floats:
        """The values of some arms at ranks from below, 1 the smallest, all of which there are.

        `side` says what is wanted where values are known only within bounds: −1 one that is certainly not above, 1 one
        that is not below, 0 the nearest. Here they are known.
        """
        return np.asarray(self.values[metric][self.starts[metric, :-1][arms] + ranks - 1])

    def standard_errors(self, metric: int) -> Floats:
        """Return standard errors of the means of a metric (K,), by the values; NaN where all failed."""
        found, means = np.empty(len(self.pulls)), self.mean(metric)
        values, starts = _read_only(self.values[metric]), np.ascontiguousarray(self.starts[metric])
        in_parts(lambda part: _errors(values, starts, means, part, found), len(means))
        return found

    def sums_of_bets(self, metric: int, arms: Ints, bounds: Bounds, taken: Floats) -> Floats:
        """The sums (n, 2, BETS) of n arms, of u = (value − low) / (high − low) and of what it lacks of 1.

        Values that failed may be anything: they count as 1. So do the `taken` (n,) smallest of the others, and a part
        of one more where that is no whole number.
        """
        by_metric = _known.setdefault(self, {})
        column = by_metric.get((metric, bounds))
        if column is None:
            column = by_metric[metric, bounds] = _in_blocks(self, metric, bounds)
        found = np.empty((len(arms), 2, BETS))
        pulls = self.pulls[arms]
        in_parts(lambda part: _sum_arms(found, column, arms, pulls, taken, part), len(arms))
        return found


@dataclass(frozen=True, eq=False)
class ComparedLog(Ordered):
    """A log whose arms are compared in pairs, with a part of δ of its own."""

    arms_of_study: int = field(default=0, kw_only=True)  # that share δ, where some of them are left out
    ordered_pairs: int = field(default=0, kw_only=True)  # that are compared; all unless given

    def sharing(self, delta: float) -> tuple[int, int, float]:
        """The arms that share δ, how many ordered pairs are compared, and all of δ; `delta` is that of these arms."""
        here = max(1, len(self.pulls))
        arms = self.arms_of_study or here
        return arms, self.ordered_pairs or arms * (arms - 1), delta * arms / here


def in_parts(work: Callable[[Ints], None], things: int) -> None:
    """Have some work done on each part of 0 … things − 1, in threads."""
    parts = max(1, min(things // _FEW, _PARTS_A_CORE * usable_cores()))
    side_by_side(work, np.array_split(np.arange(things), parts))


def _read_only(values: Floats) -> Floats:
    """A view that nobody writes to: maps of files are so, and kernels are compiled for one kind only."""
    view = values[:]
    view.flags.writeable = False
    return view


@kernel(over="values")
def _errors(values: Floats, starts: Ints, means: Floats, part: Ints, found: Floats) -> None:
    for arm in part:
        have = starts[arm + 1] - starts[arm]
        squares = 0.0
        for i in range(starts[arm], starts[arm + 1]):
            away = values[i] - means[arm]
            squares += away * away
        found[arm] = np.sqrt(squares) / have if have > 0 else np.nan


class _Column(NamedTuple):
    """A metric's values, those of each arm side by side, with the sums of its whole blocks."""

    values: Floats
    starts: Ints  # (K + 1,)
    blocks: Floats  # (B, 2, BETS)
    block_starts: Ints  # (K + 1,)
    low: float
    width: float


_known: WeakKeyDictionary[Ordered, dict[tuple[int, Bounds], _Column]] = WeakKeyDictionary()


def _in_blocks(log: Ordered, metric: int, bounds: Bounds) -> _Column:
    starts = np.ascontiguousarray(log.starts[metric])
    whole = np.diff(starts) // BLOCK
    block_starts = np.concatenate([[0], np.cumsum(whole)]).astype(np.int64)
    places = np.repeat(starts[:-1] - BLOCK * block_starts[:-1], whole) + BLOCK * np.arange(block_starts[-1])
    sums = np.zeros((len(places), 2, BETS))
    low, width = _scale(bounds)
    values = _read_only(log.values[metric])
    in_parts(lambda part: _sum_blocks(sums, values, places, low, width, part), len(places))
    return _Column(values, starts, sums, block_starts, low, width)


def sums_of_values(values: Floats, bounds: Bounds) -> Floats:
    """The sums (2, BETS) of sorted values (n,), all of them good.

    >>> whole = sums_of_values(np.array([1.0, 5.0, 5.0]), (1.0, 5.0))
    >>> bool(np.allclose(whole[0], 2 * WORST)), bool(np.allclose(whole[1], WORST))
    (True, True)
    """
    sums = np.zeros((2, BETS))
    for lacking in (False, True):
        _add(sums[int(lacking)], _read_only(np.ascontiguousarray(values)), 0, len(values), *_scale(bounds), lacking)
    return sums


def _scale(bounds: Bounds) -> tuple[float, float]:
    return float(bounds[0]), float(bounds[1]) - float(bounds[0])


@inlined
def _xi(value: float, low: float, width: float, lacking: bool) -> float:
    # Rounding must not take a value beyond its bounds, where 1 − θ ξ could be negative.
    u = min(1.0, max(0.0, (value - low) / width))
    return 1.0 - u if lacking else u


@kernel(over="sums", deep=True)
def _sum_blocks(sums: Floats, values: Floats, places: Ints, low: float, width: float, part: Ints) -> None:
    for block in part:
        for side in range(2):
            _add(sums[block, side], values, places[block], places[block] + BLOCK, low, width, side == 1)


@kernel
def _add(sums: Floats, values: Floats, first: int, last: int, low: float, width: float, lacking: bool) -> None:
    """Add log(1 − θ ξ) of the values at places first ≤ i < last, which ascend; ξ is u, or what it lacks of 1."""
    if first >= last:
        return
    product = np.ones(BETS)
    waiting = 0
    i = first
    while i < last:
        value = values[i]
        after = i + 1
        while after < last and values[after] == value:
            after += 1
        xi = _xi(value, low, width, lacking)
        if after - i > _RUN:
            for l in range(BETS):  # noqa: E741
                sums[l] += (after - i) * math.log1p(-THETAS[l] * xi)
        else:
            after = i + 1
            multiply_bets(product, xi)
            waiting += 1
            if waiting == AT_ONCE:
                add_logarithms(sums, product)
                waiting = 0
        i = after
    if waiting > 0:
        add_logarithms(sums, product)


@kernel
def _add_stretch(sums: Floats, column: _Column, arm: int, first: int, last: int, lacking: bool) -> None:
    """Add the values of an arm from its place `first` up to `last`, by the sums of its whole blocks where they are."""
    side = 1 if lacking else 0
    begin, block = column.starts[arm], column.block_starts[arm]
    from_block = -(-first // BLOCK)
    to_block = min(last // BLOCK, column.block_starts[arm + 1] - block)
    if from_block >= to_block:
        _add(sums, column.values, begin + first, begin + last, column.low, column.width, lacking)
        return
    _add(sums, column.values, begin + first, begin + from_block * BLOCK, column.low, column.width, lacking)
    for b in range(block + from_block, block + to_block):
        for l in range(BETS):  # noqa: E741
            sums[l] += column.blocks[b, side, l]
    _add(sums, column.values, begin + to_block * BLOCK, begin + last, column.low, column.width, lacking)


@kernel(over="found", deep=True)
def _sum_arms(found: Floats, column: _Column, arms: Ints, pulls: Ints, taken: Floats, part: Ints) -> None:
    """Write the sums of arms, of which so many values are taken; with all else that failed, they count as 1."""
    for k in part:
        have = column.starts[arms[k] + 1] - column.starts[arms[k]]
        gone = int(taken[k])
        kept = max(have - gone, 0)
        for side in range(2):
            sums = found[k, side]
            for l in range(BETS):  # noqa: E741
                sums[l] = (pulls[k] - kept) * WORST[l]
            first = have - kept if side == 0 else 0  # the smallest u are taken away, or the largest
            _add_stretch(sums, column, arms[k], first, first + kept, side == 1)
            if taken[k] > gone and kept > 0:
                last = column.starts[arms[k]] + (first if side == 0 else kept - 1)
                xi = _xi(column.values[last], column.low, column.width, side == 1)
                for l in range(BETS):  # noqa: E741
                    sums[l] += (taken[k] - gone) * (WORST[l] - math.log1p(-THETAS[l] * xi))
