"""Means of sorted values with known bounds: the wealth of e-processes against them (`evidence.means`), arm by arm.

With u = (x − low) / (high − low) in [0, 1], all that a bound of a mean needs of n values are their sums of log(1 − θ u)
for 24 θ, and those of log(1 − θ (1 − u)) for its other end. Sums of every `BLOCK` neighbours among an arm's sorted
values are kept, less than a byte for a value; what is asked later, of another δ, of more pulls in the same proportions,
or without so many of the smallest or largest values, is added up from these and a few values at the edges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from frontguard._common.compiled import inlined, kernel
from frontguard._common.machine import side_by_side, usable_cores
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.means import (
    AT_ONCE,
    BETS,
    THETAS,
    WORST,
    add_logarithms,
    multiply_bets,
    unrefuted_mean,
    weights_for,
)

if TYPE_CHECKING:
    from frontguard.logs.sort.ordered import Ordered

BLOCK = 512
"""Neighbouring values whose sums are kept."""

Bounds = tuple[float, float]

_RUN = 8  # equal values from which on a logarithm costs less than their factors
_PARTS_A_CORE = 8
_FEW = 64


@dataclass(frozen=True, eq=False)
class MeanQuestion:
    """A question about the mean of a metric with these bounds, of n arms."""

    bounds: Bounds
    threshold: float  # log(1/δ')
    pulls: Ints  # (n,), failed ones included
    taken: Floats  # (n,) values that may have been replaced, whichever; a part of one where more are foreseen
    foreseen: Floats  # (n,) pulls, should the sample go on in its proportions; as many as there are, or more
    one_look: bool = False  # at a number of pulls that was fixed before; otherwise at any number of them

    def among(self, some: Ints) -> MeanQuestion:
        """The same of some of the arms."""
        return replace(self, pulls=self.pulls[some], taken=self.taken[some], foreseen=self.foreseen[some])


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The sums of whole blocks: (B, 2, BETS), those of an arm side by side, from `starts` (K + 1,) on."""

    starts: Ints
    sums: Floats


_known: WeakKeyDictionary[Ordered, dict[tuple[int, Bounds], _Blocks]] = WeakKeyDictionary()


def unrefuted(log: Ordered, metric: int, arms: Ints, asked: MeanQuestion) -> Floats:
    """The largest means (n, 2) that no e-process refutes: of u, and of what it lacks of 1.

    Values that failed may be anything: they count as 1. So do the `taken` smallest of the others.
    """
    by_metric = _known.setdefault(log, {})
    blocks = by_metric.get((metric, asked.bounds))
    if blocks is None:
        blocks = by_metric[metric, asked.bounds] = _blocks(log, metric, asked.bounds)
    low, width = _scale(asked.bounds)
    values, starts = read_only(log.values[metric]), np.ascontiguousarray(log.starts[metric])
    found = np.empty((len(arms), 2))

    def some(part: Ints) -> None:
        sums, begins = blocks.sums, blocks.starts
        goes_on = asked.pulls, asked.taken, asked.foreseen
        question = (*goes_on, asked.threshold, asked.one_look)
        _unrefuted(values, starts, sums, begins, low, width, part, arms, *question, found)

    side_by_side(some, np.array_split(np.arange(len(arms)), _parts(len(arms))))
    return found


def unrefuted_by(sums: Floats, asked: MeanQuestion, good: Ints) -> Floats:
    """The same of arms of which only the sums (n, 2, BETS) of their good (n,) values are known.

    Which values are the smallest is not: those that are taken away count as 1 besides, which refutes no more.
    """
    lost = np.asarray(asked.pulls - good + np.minimum(asked.taken, good), np.float64)
    found = np.empty((len(sums), 2))
    question = asked.pulls, asked.foreseen, asked.threshold, asked.one_look
    _of_sums(np.ascontiguousarray(sums), lost, *question, found)
    return found


def sums_of(values: Floats, bounds: Bounds) -> Floats:
    """The sums (2, BETS) of sorted values (n,).

    >>> whole = sums_of(np.array([1.0, 5.0, 5.0]), (1.0, 5.0))
    >>> bool(np.allclose(whole[0], 2 * WORST)), bool(np.allclose(whole[1], WORST))
    (True, True)
    """
    sums = np.zeros((2, BETS))
    low, width = _scale(bounds)
    for lacking in (False, True):
        _add(sums[int(lacking)], read_only(np.ascontiguousarray(values)), 0, len(values), low, width, lacking)
    return sums


def standard_errors(log: Ordered, metric: int, means: Floats) -> Floats:
    """The standard errors (K,) of the means (K,) of a metric that its values show; NaN without values."""
    found = np.empty(len(means))
    values, starts = read_only(log.values[metric]), np.ascontiguousarray(log.starts[metric])
    parts = np.array_split(np.arange(len(means)), _parts(len(means)))
    side_by_side(lambda part: _errors(values, starts, means, part, found), parts)
    return found


def read_only(values: Floats) -> Floats:
    """A view that nobody writes to: maps of files are so, and kernels are compiled for one kind only."""
    view = values[:]
    view.flags.writeable = False
    return view


def _scale(bounds: Bounds) -> tuple[float, float]:
    return float(bounds[0]), float(bounds[1]) - float(bounds[0])


def _parts(things: int) -> int:
    """The number of parts of work that threads share; a few things are not worth a thread."""
    return max(1, min(things // _FEW, _PARTS_A_CORE * usable_cores()))


def _blocks(log: Ordered, metric: int, bounds: Bounds) -> _Blocks:
    begins = np.ascontiguousarray(log.starts[metric])
    whole = np.diff(begins) // BLOCK
    starts = np.concatenate([[0], np.cumsum(whole)]).astype(np.int64)
    places = np.repeat(begins[:-1] - BLOCK * starts[:-1], whole) + BLOCK * np.arange(starts[-1])
    sums = np.zeros((len(places), 2, BETS))
    values, scale = read_only(log.values[metric]), _scale(bounds)
    parts = np.array_split(np.arange(len(places)), _parts(len(places)))
    side_by_side(lambda part: _sum_blocks(values, places, *scale, part, sums), parts)
    return _Blocks(starts, sums)


# Kernels --------------------------------------------------------------------------------------------------------------


@inlined
def _xi(value: float, low: float, width: float, lacking: bool) -> float:
    # Rounding must not take a value beyond its bounds, where 1 − θ ξ could be negative.
    u = min(1.0, max(0.0, (value - low) / width))
    return 1.0 - u if lacking else u


@kernel(over="sums", deep=True)
def _sum_blocks(values: Floats, places: Ints, low: float, width: float, part: Ints, sums: Floats) -> None:
    for block in part:
        for side in range(2):
            _add(sums[block, side], values, places[block], places[block] + BLOCK, low, width, side == 1)


@kernel
def _add(sums: Floats, values: Floats, first: int, last: int, low: float, width: float, lacking: bool) -> None:
    """Add log(1 − θ ξ) of the values at places first ≤ i < last, which ascend; ξ is u, or what it lacks of 1.

    Many equal values cost as much as one.
    """
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
def _add_stretch(
    sums: Floats,
    values: Floats,
    begin: int,
    blocks: Floats,
    block: int,
    whole: int,
    first: int,
    last: int,
    low: float,
    width: float,
    lacking: bool,
) -> None:
    """Add the values of an arm from its place `first` up to `last`, by the sums of its whole blocks where they are."""
    side = 1 if lacking else 0
    from_block = -(-first // BLOCK)
    to_block = min(last // BLOCK, whole)
    if from_block >= to_block:
        _add(sums, values, begin + first, begin + last, low, width, lacking)
        return
    _add(sums, values, begin + first, begin + from_block * BLOCK, low, width, lacking)
    for b in range(block + from_block, block + to_block):
        for l in range(BETS):  # noqa: E741
            sums[l] += blocks[b, side, l]
    _add(sums, values, begin + to_block * BLOCK, begin + last, low, width, lacking)


@kernel
def _ahead(sums: Floats, pulls: int, foreseen: float, threshold: float, one_look: bool) -> float:
    """The largest mean that is not refuted by `foreseen` pulls that go on as these did."""
    if foreseen > pulls:
        for l in range(BETS):  # noqa: E741
            sums[l] *= foreseen / pulls
    count = max(foreseen, float(pulls))
    return unrefuted_mean(sums, count, threshold, weights_for(count, threshold, one_look))


@kernel(over="values", deep=True)
def _unrefuted(  # noqa: PLR0913 (a kernel takes arrays, and no objects)
    values: Floats,
    starts: Ints,
    blocks: Floats,
    block_starts: Ints,
    low: float,
    width: float,
    part: Ints,
    arms: Ints,
    pulls: Ints,
    taken: Floats,
    foreseen: Floats,
    threshold: float,
    one_look: bool,
    found: Floats,
) -> None:
    sums = np.empty(BETS)
    for k in part:
        arm = arms[k]
        begin, block = starts[arm], block_starts[arm]
        have, whole = starts[arm + 1] - begin, block_starts[arm + 1] - block
        gone = int(taken[k])
        kept = max(have - gone, 0)
        for side in range(2):
            for l in range(BETS):  # noqa: E741
                sums[l] = (pulls[k] - kept) * WORST[l]
            first = have - kept if side == 0 else 0  # the smallest u are taken away, or the largest
            _add_stretch(sums, values, begin, blocks, block, whole, first, first + kept, low, width, side == 1)
            if taken[k] > gone and kept > 0:
                last = begin + (first if side == 0 else kept - 1)
                xi = _xi(values[last], low, width, side == 1)
                for l in range(BETS):  # noqa: E741
                    sums[l] += (taken[k] - gone) * (WORST[l] - math.log1p(-THETAS[l] * xi))
            found[k, side] = _ahead(sums, pulls[k], foreseen[k], threshold, one_look)


@kernel(over="all_sums", deep=True)
def _of_sums(
    all_sums: Floats, lost: Floats, pulls: Ints, foreseen: Floats, threshold: float, one_look: bool, found: Floats
) -> None:
    sums = np.empty(BETS)
    for k in range(found.shape[0]):
        for side in range(2):
            for l in range(BETS):  # noqa: E741
                sums[l] = all_sums[k, side, l] + lost[k] * WORST[l]
            found[k, side] = _ahead(sums, pulls[k], foreseen[k], threshold, one_look)


@kernel(over="values")
def _errors(values: Floats, starts: Ints, means: Floats, part: Ints, found: Floats) -> None:
    for arm in part:
        have = starts[arm + 1] - starts[arm]
        squares = 0.0
        for i in range(starts[arm], starts[arm + 1]):
            away = values[i] - means[arm]
            squares += away * away
        found[arm] = np.sqrt(squares) / have if have > 0 else np.nan
