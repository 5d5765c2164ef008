"""Exact tests of two independent samples, for one look: how far apart two quantiles are, and whether one law is larger.

*Quantiles.* If Q(y) − Q(x) ≥ g, for quantiles of level p, then some θ has P(y − g ≥ θ) ≥ 1 − p and P(x ≤ θ) ≥ p. So
b = #{y − g ≥ θ} and c = #{x ≤ θ} are at least two independent counts of clean values (`least_counts`). Let R be a set
of pairs of counts that has with each pair all smaller ones, and into which those two fall with probability δ' at most.
If (b, c) lies in R *whatever θ is*, g is refuted.

*Some quantile.* If y is nowhere larger than x, as laws, then U = #{(i, j): y_j > x_i} has the law of Mann and Whitney
for clean values, and one that is known exactly under the worst attack of each threat model (`u_tail`).

Both ask that the two samples do not depend on each other. Proofs: docs/theory.md, (bb).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.clusters import Clustered
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.statistics import EXACT, QUANTILE, statistic_of
from frontguard.objectives import Objective
from frontguard.theory.threats import Malicious, Threat

MOST_EXACT = 60
"""Observations a side up to which the law of U under an attack is computed."""

_ROUNDING = 1e-9  # of a product of tails that was found by bisection; and of ε n, which is a whole number by chance


def least_counts(n: int, threat: Threat, p: float) -> Floats:
    """The law (n + 1,) of the least number of n values that an attack leaves of an event of probability `p`.

    >>> from frontguard import Prescient, Share
    >>> least_counts(2, Prescient(0.0), 0.5).round(9).tolist(), least_counts(2, Share(0.4), 0.5).round(9).tolist()
    ([0.25, 0.5, 0.25], [0.25, 0.5, 0.25])
    """
    from scipy.stats import binom

    law: Floats = binom.pmf(np.arange(n + 1), n, threat.keep(p))
    taken = math.floor(threat.taken * n + _ROUNDING)
    if taken:
        law = np.concatenate([[law[: taken + 1].sum()], law[taken + 1 :], np.zeros(taken)])
    return law


@lru_cache(maxsize=1024)
def region(n: int, m: int, threat: Threat, p: float, delta: float) -> Ints | None:
    """Return R as the largest count b of n values for each count c = 0, …, m; None if δ' is too small for any.

    R are the pairs whose tails have a product of at most some number (Fisher), with the axes.

    >>> from frontguard import Prescient
    >>> region(8, 8, Prescient(0.0), 0.5, 0.05).tolist()
    [8, 3, 2, 1, 0, 0, 0, 0, 0]
    """
    of_b, of_c = least_counts(n, threat, 1.0 - p), least_counts(m, threat, p)
    tail_b, tail_c = (np.maximum(np.cumsum(law), 1e-300) for law in (of_b, of_c))
    if 1.0 - (1.0 - of_b[0]) * (1.0 - of_c[0]) > delta:
        return None

    def below(log_product: float) -> Ints:
        """R for one bound on the product of the tails."""
        largest = np.searchsorted(np.log(tail_b), log_product - np.log(tail_c), side="right") - 1
        largest[0] = n
        return np.maximum(largest, 0)

    def probability(largest: Ints) -> float:
        return float(of_c @ tail_b[largest])

    low, high = 2.0 * math.log(delta) - 50.0, 0.0
    while high - low > _ROUNDING:  # a larger bound has no smaller R
        middle = 0.5 * (low + high)
        low, high = (middle, high) if probability(below(middle)) <= delta else (low, middle)
    return below(low)


def largest_difference(y: Floats, x: Floats, threat: Threat, p: float, delta: float) -> float:
    """Return an upper bound of Q(y) − Q(x), with probability 1 − δ' (`delta`); ∞ where nothing bounds it.

    Values are sorted. One that failed may be anything: it is +∞ in y, and −∞ in x.

    >>> from frontguard import Prescient
    >>> x = np.linspace(0.0, 1.0, 20)
    >>> round(largest_difference(x + 1.0, x, Prescient(0.0), 0.5, 0.05), 2)
    1.37
    """
    n, m = len(y), len(x)
    largest = region(n, m, threat, p, delta) if n and m else None
    if largest is None:
        return math.inf
    counts = np.arange(1, m + 1)
    counts = counts[largest[1:] < n]
    found = y[n - 1 - largest[counts]] - x[counts - 1]
    return math.inf if np.isnan(found).any() else float(found.max(initial=-math.inf))


def largest_u(y: Floats, x: Floats) -> int:
    """U, the number of pairs with y_j > x_i, of sorted values."""
    return int(np.searchsorted(x, y, side="left").sum())


def least_observations(threat: Threat, p: float, delta: float) -> int | None:
    """Return how many observations a side bound a difference of quantiles at least; None if none do.

    >>> from frontguard import Prescient
    >>> least_observations(Prescient(0.0), 0.5, 0.025), least_observations(Prescient(0.1), 0.5, 0.025)
    (7, 8)
    """
    return next((n for n in range(1, 2000) if region(n, n, threat, p, delta) is not None), None)


def larger_somewhere(y: Floats, x: Floats, threat: Threat, delta: float) -> bool:
    """True if some quantile of y is certainly larger than that of x, with probability 1 − δ' (`delta`) if it is said.

    Values are sorted. One that failed may be anything: it is −∞ in y, and +∞ in x. Of more than `MOST_EXACT` values a
    side nothing is said.
    """
    n, m = len(y), len(x)
    if not n or not m or max(n, m) > MOST_EXACT:
        return False
    return bool(u_tail(m, n, threat)[largest_u(y, x)] <= delta)


@lru_cache(maxsize=256)
def u_tail(n: int, m: int, threat: Threat) -> Floats:
    """P(U ≥ u), u = 0, …, nm, of n values x and m values y of one law, under the worst attack.

    A value that is hit wins all its pairs (a y), or loses them (an x). A malicious attacker with ε does as much as
    independent hits with 2ε.

    >>> from frontguard import Prescient
    >>> round(float(u_tail(7, 7, Prescient(0.0))[-1]) * math.comb(14, 7), 12)
    1.0
    """
    taken_x, taken_y = (math.floor(threat.taken * each + _ROUNDING) for each in (n, m))
    if taken_x or taken_y:
        return _tail_of_share(n, m, taken_x, taken_y)
    if threat.taken:
        return _tail_of_hits(n, m, 0.0)
    return _tail_of_hits(n, m, threat.eps * (2.0 if isinstance(threat, Malicious) else 1.0))


def _tail_of_hits(n: int, m: int, hits: float) -> Floats:
    """The same where each value is hit with this probability, by itself.

    Of i values x and j values y that are clean, the largest is a y with probability j / (i + j), and wins i pairs.
    """
    from scipy.stats import binom

    of_x, of_y = (binom.pmf(size - np.arange(size + 1), size, hits) for size in (n, m))  # by how many are clean
    law = np.zeros(n * m + 1)
    fewer_x = [np.ones(1)] * (m + 1)
    for i in range(n + 1):
        laws = [np.ones(1)]
        for j in range(m + 1):
            if i and j:
                now = np.zeros(i * j + 1)
                now[i:] += laws[j - 1] * (j / (i + j))
                now[: (i - 1) * j + 1] += fewer_x[j] * (i / (i + j))
                laws.append(now)
            elif j:
                laws.append(np.ones(1))
            clean = laws[j]
            law[n * m - len(clean) + 1 :] += of_x[i] * of_y[j] * clean  # who was hit has lost, or won, all its pairs
        fewer_x = laws
    return np.minimum(np.cumsum(law[::-1])[::-1], 1.0)


def _tail_of_share(n: int, m: int, taken_x: int, taken_y: int) -> Floats:
    """The same if the largest x go to −∞ and the smallest y to +∞.

    Along the sorted values of both, an x that is kept loses to the y above it and not to those kept below it. `law` is
    that of these losses, by how many y came so far.
    """
    law = np.zeros((m + 1, n * m + 1))
    law[:, 0] = 1.0  # only y so far
    for i in range(1, n + 1):
        now = np.zeros_like(law)
        for j in range(m + 1):
            lost = max(0, j - taken_y) if i <= n - taken_x else 0
            now[j, lost:] += law[j, : n * m + 1 - lost] * (i / (i + j))  # the last of i + j values is an x
            if j:
                now[j] += now[j - 1] * (j / (i + j))
        law = now
    tail: Floats = np.cumsum(law[m])[::-1]
    return np.minimum(tail, 1.0)


# Many checks of a log -------------------------------------------------------------------------------------------------


class CheckBounds(NamedTuple):
    """How far P candidates are from their baselines in M objectives, in inner values; all arrays are (P, M)."""

    ahead: Floats  # candidate − baseline is at most this, by itself with probability 1 − δ/2
    behind: Floats  # and baseline − candidate this: the largest of all of them bounds the largest difference
    line: Floats  # baseline − candidate is at most this, in all checks at once with probability 1 − δ/2 …
    worse: Bools  # … together with this: some quantile is certainly worse by more than the tolerance, or, of more than
    # `MOST_EXACT` observations a side, the one that counts


def checkable(objectives: Sequence[Objective]) -> bool:
    """True if two samples tell how each of the objectives compares: quantiles, and exact values."""
    return all(statistic_of(objective).kind in (QUANTILE, EXACT) for objective in objectives)


def check_bounds(
    log: Ordered, objectives: Sequence[Objective], its: Ints, mine: Ints, threat: Threat, delta: float
) -> CheckBounds:
    """Compare candidates with their baselines, by the rows `mine` and `its` (P,) of a log; docs/theory.md, (cc)."""
    shape = len(its), len(objectives)
    ahead, behind, together = (np.full(shape, np.inf) for _ in range(3))
    found = CheckBounds(ahead, behind, together, np.zeros(shape, np.bool_))
    noisy = sum(not objective.exact for objective in objectives) * len(its)
    half, line = 0.5 * delta, 0.5 * delta / max(1, noisy)
    for d, objective in enumerate(objectives):
        level, tolerance = statistic_of(objective).level, objective.inner_tolerance
        samples = {arm: _sample(log, objective, arm) for arm in {*its.tolist(), *mine.tolist()}}
        for row, (base, candidate) in enumerate(zip(its.tolist(), mine.tolist(), strict=True)):
            a, b = samples[base], samples[candidate]
            if objective.exact:
                if len(known := np.unique(a.low)) == len(np.unique(b.low)) == 1:
                    gap = float(known[0] - b.low[0])
                    found.ahead[row, d], found.behind[row, d], found.line[row, d] = -gap, gap, gap
                    found.worse[row, d] = gap > tolerance
                continue
            found.ahead[row, d] = largest_difference(b.high, a.low, threat, level, half)
            found.behind[row, d] = largest_difference(a.high, b.low, threat, level, half)
            found.line[row, d] = largest_difference(a.high, b.low, threat, level, line)
            if max(len(a.low), len(b.low)) <= MOST_EXACT:
                found.worse[row, d] = larger_somewhere(a.low - tolerance, b.high, threat, line)
            else:
                found.worse[row, d] = largest_difference(b.high, a.low, threat, level, line) < -tolerance
    return found


class _Sample(NamedTuple):
    """Inner values of an arm, ascending; failed ones are −∞ in `low`, and +∞ in `high`."""

    low: Floats
    high: Floats


def _sample(log: Ordered, objective: Objective, arm: int) -> _Sample:
    d = log.metrics.index(objective.name)
    values, size = log.values[d][log.starts[d, arm] : log.starts[d, arm + 1]], int(log.pulls[arm])
    if objective.exact:  # which a failed measurement does not change
        size = len(values)
    elif isinstance(log, Clustered):
        values, size = session_medians(log, d, arm)
    inner, failed = np.sort(objective.inward(values)), np.full(size - len(values), np.inf)
    return _Sample(np.concatenate([-failed, inner]), np.concatenate([inner, failed]))


def session_medians(log: Clustered, metric: int, arm: int) -> tuple[Floats, int]:
    """Return the medians of an arm's clusters that have no failed value, and how many clusters there are."""
    where = slice(*log.starts[metric, arm : arm + 2].tolist())
    values, owners = log.values[metric][where], log.owners[metric][where]
    sizes = log.sizes[log.begins[arm] : log.begins[arm + 1]]
    order = np.argsort(owners, kind="stable")  # values stay in order within a cluster
    values, counts = values[order], np.bincount(owners, minlength=len(sizes))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    whole = (counts == sizes) & (counts > 0)
    low, high = first[whole] + (counts[whole] - 1) // 2, first[whole] + counts[whole] // 2
    return 0.5 * (values[low] + values[high]), len(sizes)
