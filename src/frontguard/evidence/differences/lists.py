"""Means over a finite list of items, each measured once at most, in an order drawn at random; docs/theory.md, (t).

The bets of `evidence.bets` are made against the mean of the items that are left if that of all were m,

    c_r(m) = (N m − Y_1 − … − Y_{r−1}) / (N − r + 1).

Where measurements may be replaced, at most `hidden[r]` of the sum of the first r values was taken away, with a
probability of its own (`hits_at_most`); so much more is subtracted.
"""

from __future__ import annotations

import math

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.bets import BETS, LOG_WEIGHTS, THETAS, add_bets
from frontguard.evidence.confidence_sequences import anytime_rank, taken_away
from frontguard.evidence.intervals import (
    BEST_HIGH,
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    PLAIN_HIGH,
    PLAIN_LOW,
    REFUTED,
    lasting_bounds,
)
from frontguard.evidence.kinds import IntervalRule, inner_of_mean
from frontguard.evidence.samples import Samples
from frontguard.evidence.statistics import BOUNDED_MEAN
from frontguard.theory.threats import Threat

_MOST_STEPS = 60
_SMALL_STEP = 1e-9
_ROUNDING = 1e-12  # more than that of a sum of a million values between 0 and 1, divided by their number


def hits_at_most(threat: Threat, items: int, delta: float) -> Floats:
    """Return how many of an arm's first r = 0, …, N values were replaced at most, at every r.

    >>> from frontguard import Prescient
    >>> hits_at_most(Prescient(0.1), 400, 0.01)[[0, 1, 100, 400]].tolist()
    [0.0, 1.0, 22.0, 65.0]
    """
    pulls = np.arange(items + 1)
    if threat.eps == 0.0 or threat.taken > 0.0:
        return np.zeros(items + 1)
    return np.asarray(pulls - anytime_rank(pulls, 1.0 - threat.eps, delta), np.float64)


def hidden_share(threat: Threat, items: int, delta: float) -> float:
    """Which share of a list that was measured may have been replaced, at most, in the metric with the largest ε."""
    return float(hidden_at(hits_at_most(threat, items, delta), threat.taken, items)[-1]) / items


@kernel
def hidden_at(hits: Floats, taken: float, n: int) -> Floats:
    """Return how much of the sum of the first r = 0, …, n values may have been taken away, looked at n."""
    hidden = hits[: n + 1].copy()
    if taken > 0.0:
        hidden[:] = taken_away(taken, n)
    return hidden


@kernel
def most_of_list(seen: Floats, hidden: Floats, items: int) -> float:
    """The largest mean of a list whose first values are at most these (n,), and others may be anything."""
    most, total, whole = 1.0, 0.0, True
    for r in range(seen.shape[0] + 1):
        most = min(most, (total + hidden[r] + items - r) / items)
        if r < seen.shape[0]:
            total += seen[r]
            whole &= 2.0 * seen[r] == math.floor(2.0 * seen[r])  # sums of halves are exact, of other values rounded
    return most if whole else min(1.0, most + _ROUNDING)


@kernel
def unrefuted_list_mean(
    xi: Floats, seen: Floats, hidden: Floats, items: int, times: float, less: float, threshold: float
) -> float:
    """The largest mean of a list of `items` that W does not refute, nor what was measured; rounded up.

    `seen` (n,) are the first values, in order, with 1 for those that are not known; `xi` the same, with 1 for those
    that are not to be counted on. `hidden` (n + 1,) is what may be missing in the sums of `seen`, and
    keep(c) = times · c − less.
    """
    n = xi.shape[0]
    m = most = most_of_list(seen, hidden, items)
    if n == items and hidden[n] == 0.0:  # nothing is left to chance
        return m
    sums, ones = np.zeros(BETS), np.ones(n)
    add_bets(sums, xi, ones, n, False)
    # c_r(m) = (items · m − spent[r]) · share[r]
    spent, share = np.empty(n), np.empty(n)
    total = 0.0
    for r in range(n):
        spent[r], share[r] = total + hidden[r], 1.0 / (items - r)
        total += seen[r]
    bets, slopes = np.empty(BETS), np.empty(BETS)
    for _ in range(_MOST_STEPS):
        bets[:], slopes[:] = sums, 0.0
        for r in range(n):
            kept = times * (items * m - spent[r]) * share[r] - less
            if kept > 0.0:
                kept = min(kept, 1.0)
                rising = times * items * share[r]
                for l in range(BETS):  # noqa: E741
                    bets[l] -= math.log1p(-THETAS[l] * kept)
                    slopes[l] += THETAS[l] * rising / (1.0 - THETAS[l] * kept)
        largest = -np.inf
        for l in range(BETS):  # noqa: E741
            bets[l] += LOG_WEIGHTS[l]
            largest = max(largest, bets[l])
        wealth, slope = 0.0, 0.0
        for l in range(BETS):  # noqa: E741
            part = math.exp(bets[l] - largest)
            wealth += part
            slope += part * slopes[l]
        over = largest + math.log(wealth) - threshold
        if over <= 0.0 or slope <= 0.0:
            break
        step = over * wealth / slope
        m -= step
        if step <= _SMALL_STEP:
            break
    return min(1.0, m + 1e-11) if m < most else m


@kernel
def counted_on(seen: Floats, taken: int) -> Floats:
    """Return the values, the `taken` smallest of which count as 1: any so many may have been replaced."""
    xi = seen.copy()
    if taken > 0:
        order = np.argsort(seen)
        for k in range(min(taken, seen.shape[0])):
            xi[order[k]] = 1.0
    return xi


NEVER = 1e300
"""The logarithm of a wealth that no bets reach: the threshold of bounds that do not hold of a list."""


@kernel
def list_bounds(
    values: Floats,
    complete: int,
    pulls: int,
    items: int,
    hits: Floats,
    surviving: Floats,
    taken: float,
    threshold: float,
) -> tuple[float, float]:
    """Between what the mean of a list lies whose first `complete` values in [0, 1], NaN where one failed, are these."""
    replaced = taken_away(taken, pulls)
    hidden = hidden_at(hits, 0.0, complete)
    hidden += replaced
    ends = np.empty(2)
    for side in range(2):
        seen = np.ones(complete)
        for r in range(complete):
            if values[r] == values[r]:
                seen[r] = values[r] if side == 1 else 1.0 - values[r]
        xi = counted_on(seen, replaced)
        ends[side] = unrefuted_list_mean(xi, seen, hidden, items, surviving[0], surviving[1], threshold)
    low, high = 1.0 - ends[0], ends[1]
    if complete == items and abs(low - high) < 1e-15:  # what is left is rounding
        low = high
    return low, high


@kernel
def refresh_lists(
    intervals: Floats,
    blocks: Floats,
    complete: Ints,
    pulls: Ints,
    touched: Bools,
    samples: Samples,
    rule: IntervalRule,
    items: int,
    hits: Floats,
) -> bool:
    """Bring the intervals of touched arms up to date in which means over a list count; whether one was found false.

    `hits` (C, items + 1) are of each column.

    `blocks` (C, K, R) are values by item, of which the first `complete` (K,) are back; of `pulls` (K,) samples know.
    """
    found_false = False
    C = intervals.shape[2]
    for i in range(intervals.shape[0]):
        if not touched[i]:
            continue
        for d in range(C):
            if rule.kinds[d] != BOUNDED_MEAN or intervals[i, REFUTED, d] != 0.0:
                continue
            interval = intervals[i, :, d]
            low, high = list_bounds(
                blocks[d, i],
                complete[i],
                pulls[i],
                items,
                hits[d],
                rule.surviving[d],
                rule.taken[d],
                rule.thresholds[d],
            )
            low, high = inner_of_mean(low, rule.scales[d]), inner_of_mean(high, rule.scales[d])
            interval[LOW], interval[HIGH] = max(interval[LOW], low), min(interval[HIGH], high)
            if interval[LOW] > interval[HIGH]:
                interval[REFUTED], found_false = 2.0, True
                interval[LOW], interval[HIGH] = -np.inf, np.inf
            interval[PLAIN_LOW], interval[PLAIN_HIGH] = interval[LOW], interval[HIGH]
            interval[BEST_HIGH] = interval[HIGH]
            interval[LOW_FLOOR], interval[HIGH_FLOOR] = lasting_bounds(
                interval, samples, samples.columns[i * C + d], pulls[i], rule, d
            )
    return found_false
