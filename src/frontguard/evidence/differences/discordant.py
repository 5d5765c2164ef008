"""Pairs of 0 and 1 at one look: an exact bound of the mean difference, by how many are won and lost; theory.md, (ff).

The supremum over all rates of discordant pairs is the largest of n + 1 sums, without a grid (`highest_probability`).
Outcomes are ordered by their score limit (McNemar's, of any difference), and the bound is Buehler's: the least
difference that gives those up to the one that was seen a probability of δ' at most.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints

MOST_WORK = 1e7
"""Ordered pairs of arms in all metrics, times n^1.5, up to which the exact bound is computed: four seconds."""

_EXTRA = 0.25  # discordant pairs that the score counts beside those there are, or else one loss would widen it
_SMALLEST = 1e-20  # of the largest probability of a law: what is below is left out …
_LEFT_OUT = 1e-12  # … and this is more than all that was, with rounding
_CLOSE = 1e-4  # of its half-width, to which the bound is found
_MOST_STEPS = 60
_AT_ONCE = 64  # laws that a kernel looks at in one call, so that it is compiled in time


def score_of(delta: float) -> float:
    """Return the normal quantile of δ', by which outcomes are put in order; any positive number would be valid."""
    return max(0.1, NormalDist().inv_cdf(1.0 - delta))


@kernel
def _limits(wins: float, losses: float, n: float, score: float) -> tuple[float, float]:
    """From which mean differences t an outcome is `score` deviations away: two, of which either rises in the wins."""
    more, square = wins - losses, score * score
    scale = n + square
    spread = n * max(0.0, scale * (wins + losses + _EXTRA) - more * more)
    fewest = 4.0 * more * (n - more) + square * n
    least = -np.inf if fewest < 0.0 else (2.0 * more + square + score * math.sqrt(fewest / n)) / (2.0 * scale)
    return (n * more + score * math.sqrt(spread)) / (n * scale), least


@kernel
def score_limit(wins: float, losses: float, n: float, score: float) -> float:
    """The larger of both, the first of which is made to fall in the losses: it is concave in them."""
    limit, least = _limits(wins, losses, n, score)
    return max(min(limit, _limits(wins, 0.0, n, score)[0]), least)


@kernel
def most_wins(limit: float, n: int, score: float) -> Ints:
    """R as the largest number of wins (n + 1,) for each number of losses; −1 for none."""
    found, wins, more = np.empty(n + 1, np.int64), -1, -n
    while more < n and _limits(more + 1.0, 0.0, n, score)[1] <= limit:
        more += 1
    for losses in range(n + 1):
        while wins < n and _limits(wins + 1.0, losses, n, score)[0] <= limit:
            wins += 1
        found[losses] = max(-1, min(wins, losses + more))
    return found


@kernel
def _fill_law(law: Floats, n: int, p: float) -> tuple[int, int]:
    """Write the binomial probabilities of n and p from the first place to the last, which are returned."""
    if p <= 0.0 or p >= 1.0 or n == 0:
        only = n if p >= 1.0 else 0
        law[only] = 1.0
        return only, only
    mode = min(n, int((n + 1) * p))
    law[mode] = total = 1.0
    first, last, odds = mode, mode, p / (1.0 - p)
    while first > 0 and law[first] > _SMALLEST:
        law[first - 1] = law[first] * first / ((n - first + 1) * odds)
        first -= 1
        total += law[first]
    while last < n and law[last] > _SMALLEST:
        law[last + 1] = law[last] * (n - last) * odds / (last + 1)
        last += 1
        total += law[last]
    for place in range(first, last + 1):
        law[place] /= total
    return first, last


@kernel(over="some", deep=True)
def _highest_of(wins: Ints, m: float, some: Ints) -> float:
    """The largest probability of R where so many, of `some`, of the differences are ±1.

    Of these, x turn out as the sign that m has not; of the others at most y may be m's sign, for R or, below 0, for
    what is not in R.
    """
    n, largest = wins.shape[0] - 1, 0.0
    either, other = np.empty(n + 1), np.empty(n + 1)
    for k in some:
        first, last = _fill_law(other, n - k, abs(m))
        for y in range(first + 1, last + 1):
            other[y] += other[y - 1]
        start, end = _fill_law(either, k, 0.5 * (1.0 - abs(m)))
        inside = 0.0
        for x in range(start, end + 1):
            y = wins[x] - (k - x)
            if y >= first:
                inside += either[x] * other[min(y, last)]
        largest = max(largest, inside if m >= 0.0 else 1.0 - inside)
    return largest


def highest_probability(wins: Ints, m: float) -> float:
    """The largest probability of R, by its `most_wins` (n + 1,), if n independent differences have means of m or more.

    >>> round(highest_probability(np.array([-1, 0]), 0.0), 9)  # R is one loss, of one difference
    0.5
    """
    counts = np.arange(len(wins))
    edge = wins if m >= 0.0 else np.searchsorted(wins, counts) - 1  # the most losses, by wins, that are not in R
    return max(_highest_of(edge, m, counts[first : first + _AT_ONCE]) for first in counts[::_AT_ONCE]) + _LEFT_OUT


def highest_difference(wins: float, losses: float, n: int, delta: float) -> float:
    """The largest mean difference that such an outcome of n pairs does not refute at δ', rounded up; 1 if all are."""
    if wins >= n:
        return 1.0
    score = score_of(delta)
    limit = score_limit(float(wins), float(losses), float(n), score)
    region = most_wins(limit + 1e-12, n, score)
    width, m = score * math.sqrt(wins + losses + 1.0) / n, min(limit, 1.0 - 0.1 / n)
    low, high, log_low, log_high = -1.0, 1.0, 0.0, 0.0  # with the logarithms of probability / δ' there
    step, same = 0.1 * width, 0
    for _ in range(_MOST_STEPS):
        over = math.log(highest_probability(region, m) / delta)
        if over <= 0.0:
            same = min(0, same) - 1
            high, log_high = m, over
        else:
            same = max(0, same) + 1
            low, log_low = m, over
        if high - low <= _CLOSE * width:
            break
        if low > -1.0 and high < 1.0:  # by the chord of the logarithm; halved where one end alone moves
            share = log_low / (log_low - log_high) if abs(same) < 3 else 0.5
            m = low + min(0.99, max(0.01, share)) * (high - low)
        else:
            beyond = m - step if over <= 0.0 else m + step
            if abs(beyond) >= 1.0:
                beyond = 0.5 * (m + math.copysign(1.0, beyond))
            m, step = beyond, 2.0 * step
    return high
