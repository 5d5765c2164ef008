"""The order in which a short list is chosen, for the small rule and for a million arms; and the choice among these.

Arms are gone through from the best down, and one is kept unless a kept one does for it. The order rises with every
objective, so that an arm which another one is better than everywhere comes after it. It is that of Σ (estimate /
coverage): where two arms could each do for the other, the one goes first that is better by more tolerances in all, and
with two objectives no kept arm is one that a later one does for. Objectives without a tolerance come first, one after
another: there, doing for another one is an order by itself. Equal ones are taken by their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.intervals import ESTIMATE
from frontguard.pareto.relations import find_covering, find_near

_LARGE = 1e300  # of either sign: what is beyond is as good as it, and sums stay numbers
_SCANNED = 256  # arms that are compared one by one


@kernel
def best_first(intervals: Floats, arms: Ints, coverage: Floats) -> Ints:
    """These arms in the order in which they are asked whether they are to be on the list."""
    M = coverage.shape[0]
    order = np.sort(arms)
    total = np.zeros(order.size)
    for a in range(order.size):
        for d in range(M):
            if coverage[d] > 0.0:
                total[a] += min(max(intervals[order[a], ESTIMATE, d] / coverage[d], -_LARGE), _LARGE)
    # Sorted by what counts least first: what comes after keeps the order of equal ones.
    places = np.arange(order.size)
    for tolerated in range(2):
        if tolerated == 1:
            places = places[np.argsort(-total[places], kind="mergesort")]
        for e in range(M):
            d = M - 1 - e
            if (coverage[d] > 0.0) == (tolerated == 0):
                places = places[np.argsort(-intervals[order[places], ESTIMATE, d], kind="mergesort")]
    return order[places]


def find_best_first(estimates: Floats, arms: Ints, coverage: Floats) -> Ints:
    """The places of `arms`, whose estimates are given row by row, in the same order."""
    total = np.zeros(len(arms))
    for d in np.flatnonzero(coverage > 0.0):
        with np.errstate(over="ignore"):
            total += np.clip(estimates[:, d] / coverage[d], -_LARGE, _LARGE)
    strict = [-estimates[:, d] for d in np.flatnonzero(coverage == 0.0)]
    tolerated = [-estimates[:, d] for d in np.flatnonzero(coverage > 0.0)]
    return _sorted_by([*strict, -total, *tolerated, arms])


def _sorted_by(keys: Sequence[Floats | Ints]) -> Ints:
    """Places in the order of the first key, and of equal ones in that of the next: few are equal, and sorted again.

    >>> _sorted_by([np.array([1.0, 0.0, 1.0, 0.0]), np.array([2, 3, 1, 3]), np.arange(4)]).tolist()
    [1, 3, 2, 0]
    """
    order = np.argsort(keys[0])
    ahead = keys[0][order]
    same = ahead[1:] == ahead[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    some = order[tied]
    order[tied] = some[np.lexsort([key[some] for key in reversed(keys)])]  # which keeps groups of equal ones together
    return np.asarray(order, np.int64)


class Measured(NamedTuple):
    """What a list is chosen by: between what point estimates are, and intervals; all (K, M)."""

    low: Floats
    high: Floats
    lower: Floats
    upper: Floats


@kernel
def _scan(seen: Measured, order: Ints, margin: Floats, coverage: Floats, seem: bool) -> Ints:
    """The arms that are kept of those in `order`, each compared with those that were kept before it."""
    kept = np.empty(order.size, np.int64)
    size = 0
    for i in order:
        needed = True
        for n in range(size):
            k = kept[n]
            likely, certain = seem, True
            for d in range(margin.shape[0]):
                likely &= seen.high[k, d] > -np.inf and seen.high[k, d] - seen.low[i, d] + margin[d] >= 0.0
                certain &= seen.upper[i, d] - seen.lower[k, d] - coverage[d] <= 0.0
            if likely or certain:
                needed = False
                break
        if needed:
            kept[size] = i
            size += 1
    return kept[:size].copy()


def keep_needed(seen: Measured, order: Ints, margin: Floats, coverage: Floats, *, seem: bool = True) -> Ints:
    """The arms of `order`, by their rows, that are kept: none kept before does for them.

    One does for another that covers it for certain, or (unless `seem` is False) that is `near` it.
    """
    kept = _scan(seen, order[:_SCANNED], margin, coverage, seem)
    start = _SCANNED
    while start < len(order):  # in portions that grow, each past a tree of what is kept
        portion = order[start : start + max(4 * _SCANNED, 2 * len(kept), start)]
        start += len(portion)
        done = np.zeros(len(portion), np.bool_)
        if seem:
            done = find_near(seen.low[portion], seen.high[kept], margin)
        portion = portion[~done]
        portion = portion[find_covering(seen.upper[portion], seen.lower[kept], coverage) < 0]
        kept = np.concatenate((kept, keep_needed(seen, portion, margin, coverage, seem=seem)))
    return kept
