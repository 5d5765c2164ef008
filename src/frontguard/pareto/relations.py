"""The relations between arms by which the rule decides: each for one pair, and right below it for a million arms.

What is known of arms i and j in one objective is an upper bound of m_j − m_i, the `difference`. With intervals [L, H]
it is H_j − L_i; evidence on pairs of arms brings bounds of its own (see `evidence.intervals`), for a few hundred arms
at most, and only kernels read them. Differences are rounded as they are written, first the difference and then the
tolerance, in both forms alike: `tests/pareto/test_relations.py` holds one against the other, and fails where only one
is changed.

For one pair, kernels read an array of intervals (K, COLUMNS, M); for many arms at once, functions take arrays (n, M) of
the columns that they need, and ask `pareto.dominance`, which does not look at all pairs.
"""

from __future__ import annotations

import numpy as np

from frontguard._common.compiled import inlined
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.intervals import (
    COLUMNS,
    DOUBT_HIGH,
    DOUBT_LOW,
    ESTIMATE,
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    REFUTED,
    ArmIntervals,
)
from frontguard.pareto.box_tree import BoxTree
from frontguard.pareto.dominance import best_leads, dominators, worst_lead

_SMALLEST = float(np.finfo(np.float64).tiny)
"""More than nothing, and less than any difference of two values that are not equal."""

WARY = 2.0
"""Times the usual doubt of an estimate that an arm must seem to be better by, beyond the margin, to be listed too."""


@inlined
def _by_pairs(intervals: Floats, j: int, i: int, d: int, every: bool) -> float:
    """What is known of m_j − m_i beside intervals: of the pair, and unless `every` is asked for, of rivals; ∞ for
    none."""
    K, bound = intervals.shape[0], np.inf
    if intervals.shape[1] > COLUMNS:
        bound = intervals[j, COLUMNS + i, d]
    if not every and intervals.shape[1] > COLUMNS + K:
        bound = min(bound, intervals[j, COLUMNS + K + i, d])
    return bound


@inlined
def bound_of(intervals: Floats, j: int, i: int, d: int, every: bool) -> float:
    """The bound of m_j − m_i that counts: where `every` objective must come down, `difference`, else that of rivals.

    Of an arm that has no interval (any more, or that the rule may read) nothing is believed that pairs say.
    """
    alone: float = intervals[j, HIGH, d] - intervals[i, LOW, d]
    return min(alone, _by_pairs(intervals, j, i, d, every)) if alone < np.inf else alone


@inlined
def difference(intervals: Floats, j: int, i: int, d: int) -> float:
    """An upper bound of m_j − m_i in objective d: H_j − L_i, or what pairs say, where that is less."""
    return bound_of(intervals, j, i, d, True)


@inlined
def rival_difference(intervals: Floats, j: int, i: int, d: int) -> float:
    """The same if j is the best rival of i: enough to know for whether i is in, and for nothing else."""
    return bound_of(intervals, j, i, d, False)


@inlined
def sharper(intervals: Floats, j: int, i: int, d: int, every: bool) -> bool:
    """Whether evidence on pairs says more of m_j − m_i in objective d than intervals do."""
    alone: float = intervals[j, HIGH, d] - intervals[i, LOW, d]
    return bound_of(intervals, j, i, d, every) < alone


@inlined
def lasting_difference(intervals: Floats, j: int, i: int, d: int, every: bool) -> float:
    """What more pulls can bring that bound down to, if the samples go on as they are."""
    alone: float = intervals[j, HIGH_FLOOR, d] - intervals[i, LOW_FLOOR, d]
    return min(alone, _by_pairs(intervals, j, i, d, every)) if alone < np.inf else alone


@inlined
def gain_below(intervals: Floats, i: int, d: int) -> float:
    """How much more pulls can still raise L_i in one objective; ∞ as long as nothing is known."""
    gain = intervals[i, LOW_FLOOR, d] - intervals[i, LOW, d]
    return gain if gain == gain else (0.0 if intervals[i, REFUTED, d] == 2.0 else np.inf)


@inlined
def gain_above(intervals: Floats, j: int, d: int) -> float:
    """How much more pulls can still lower H_j in one objective; ∞ as long as nothing is known."""
    gain = intervals[j, HIGH, d] - intervals[j, HIGH_FLOOR, d]
    return gain if gain == gain else (0.0 if intervals[j, REFUTED, d] == 2.0 else np.inf)


# Out ---------------------------------------------------------------------------------------------------------------


@inlined
def dominated(intervals: Floats, i: int, j: int) -> bool:
    """Whether m_i ≺ m_j for certain: H_i − L_j ≤ 0 in every objective, and < 0 in one."""
    below, strictly = True, False
    for d in range(intervals.shape[2]):
        bound = difference(intervals, i, j, d)
        if bound > 0.0:
            below = False
            break
        strictly |= bound < 0.0
    return below and strictly


def find_dominating(upper: Floats, lower: Floats) -> Ints:
    """For each arm, given by its H, one of those given by their L that it is `dominated` by; −1 for none."""
    return dominators(upper, lower)


# In ----------------------------------------------------------------------------------------------------------------


@inlined
def shortfall(intervals: Floats, accuracy: Floats, i: int, j: int) -> float:
    """min over objectives of H_j − L_i − γ: at most 0 if j cannot beat i by more than γ in every objective.

    Where γ = 0, to be as good is not enough for i: j may be as good there and better elsewhere. So a minimum of 0 that
    is such a tie becomes the least number above it, unless j is certainly nowhere better.
    """
    least, settled, ahead = np.inf, False, False
    for d in range(accuracy.shape[0]):
        bound = rival_difference(intervals, j, i, d)
        missing = bound - accuracy[d]
        least = min(least, missing)
        settled |= missing <= 0.0 and accuracy[d] > 0.0
        ahead |= bound > 0.0
    return _SMALLEST if least == 0.0 and ahead and not settled else least


def find_strongest_rivals(
    lower: Floats,
    upper: Floats,
    accuracy: Floats,
    own: Ints,
    *,
    enough: float = np.inf,
    tree: BoxTree | None = None,
) -> tuple[Ints, Floats]:
    """For each arm, given by its L, which of those given by their H has the greatest `shortfall`, and that.

    `own` (n,) says which of the rivals each arm is itself. −1 and −∞ where there is no other. A rival with a shortfall
    of `enough` ends the search. `tree`: `tree_of_rivals(upper)`, where it is there already.
    """
    rivals, shortfalls = best_leads(lower, upper, accuracy, exclude=own, settled=enough, tree=tree)
    tied = np.flatnonzero(shortfalls == 0.0)
    if not len(tied):
        return rivals, shortfalls
    if (accuracy > 0.0).any():  # a rival beats whoever it leads by more than γ there, and is as good as elsewhere
        more = np.where(accuracy > 0.0, np.nextafter(accuracy, np.inf), 0.0)
        by, _ = best_leads(lower[tied], upper, more, exclude=own[tied], least=0.0, settled=0.0, tree=tree)
    else:
        by = dominators(lower[tied], upper, exclude=own[tied])
    beaten = by >= 0
    rivals[tied[beaten]], shortfalls[tied[beaten]] = by[beaten], _SMALLEST
    return rivals, shortfalls


# Covered -----------------------------------------------------------------------------------------------------------


@inlined
def uncovered(intervals: Floats, coverage: Floats, i: int, k: int) -> float:
    """max over objectives of H_i − L_k − c: at most 0 if k covers i."""
    most = -np.inf
    for d in range(coverage.shape[0]):
        most = max(most, difference(intervals, i, k, d) - coverage[d])
    return most


def find_covering(upper: Floats, lower: Floats, coverage: Floats) -> Ints:
    """For each arm, given by its H, one of those given by their L by which it is not `uncovered`; −1 for none."""
    covering, _ = best_leads(upper, lower, -coverage, least=0.0, settled=0.0)
    return covering


def worst_uncovered(upper: Floats, lower: Floats, coverage: Floats) -> float:
    """How far the worst of the arms, given by their H, is `uncovered` by the nearest of those given by their L.

    −∞ for no arm; +∞ where there is none to cover it.
    """
    return -worst_lead(upper, lower, -coverage)


# Candidates --------------------------------------------------------------------------------------------------------


@inlined
def beaten(intervals: Floats, margin: Floats, i: int, j: int) -> bool:
    """Whether j beats i in the estimates, beyond their doubt: by the margin, and by more than nothing, everywhere."""
    behind = True
    for d in range(margin.shape[0]):
        ahead = intervals[j, DOUBT_LOW, d] - intervals[i, DOUBT_HIGH, d]
        behind &= ahead >= margin[d] and ahead > 0.0
    return behind


def find_beaten(doubt_low: Floats, doubt_high: Floats, margin: Floats) -> Bools:
    """Which of these arms are `beaten` by some other of them."""
    known = doubt_low[(doubt_low > -np.inf).all(axis=1)]  # one of which nothing is known beats nobody
    by, _ = best_leads(doubt_high, known, np.maximum(margin, _SMALLEST), least=0.0, settled=0.0)
    return by >= 0


@inlined
def lead(intervals: Floats, k: int, i: int) -> float:
    """min over objectives of the point estimates of k less those of i."""
    least = np.inf
    for d in range(intervals.shape[2]):
        least = min(least, intervals[k, ESTIMATE, d] - intervals[i, ESTIMATE, d])
    return least


def find_leaders(estimates: Floats, of_others: Floats) -> Ints:
    """For each arm which of the others has the greatest `lead` over it; the first one if none has all estimates."""
    known = np.flatnonzero((of_others > -np.inf).all(axis=1))
    if not len(known):
        return np.full(len(estimates), 0 if len(of_others) else -1)
    leaders, _ = best_leads(estimates, of_others[known], np.zeros(estimates.shape[1]))
    return known[leaders]


# The short list ----------------------------------------------------------------------------------------------------


@inlined
def near(intervals: Floats, margin: Floats, i: int, k: int) -> bool:
    """Whether k seems to do for i: by the point estimates it is nowhere worse by more than the margin, beyond doubt.

    Where i seems to be better by more, but that may be noise, it is not believed: a list is to be short.
    """
    enough = True
    for d in range(margin.shape[0]):
        high, low = intervals[k, ESTIMATE, d], intervals[i, ESTIMATE, d]
        enough &= high > -np.inf
        if high > -np.inf and low > -np.inf:
            high, low = (
                high + WARY * (intervals[k, DOUBT_HIGH, d] - high),
                low - WARY * (low - intervals[i, DOUBT_LOW, d]),
            )
            enough &= high - low + margin[d] >= 0.0
    return enough


def likely_ends(intervals: ArmIntervals) -> tuple[Floats, Floats]:
    """Between what estimates (K, M) are by the doubt that `near` allows for; −∞ where there are none."""
    known, centre = intervals.estimates > -np.inf, intervals.estimates
    with np.errstate(invalid="ignore"):
        low, high = centre - WARY * (centre - intervals.doubt_low), centre + WARY * (intervals.doubt_high - centre)
    return np.where(known, low, centre), np.where(known, high, centre)


def find_near(low: Floats, high_of_others: Floats, margin: Floats) -> Bools:
    """Which of these arms, by their lower `likely_ends`, have one among the others, by the upper ones, `near` them."""
    known = high_of_others[(high_of_others > -np.inf).all(axis=1)]
    by, _ = best_leads(low, known, -margin, least=0.0, settled=0.0)
    return by >= 0


def find_inside(
    lower: Floats, upper: Floats, accuracy: Floats, own: Ints | None = None, tree: BoxTree | None = None
) -> Bools:
    """Which arms, by their L, fall short of no other of those given by their H: `find_strongest_rivals`, and sooner."""
    own = np.arange(len(lower)) if own is None else own
    _, shortfalls = find_strongest_rivals(lower, upper, accuracy, own, enough=_SMALLEST, tree=tree)
    return shortfalls <= 0.0
