"""Exact tests of two independent samples at one look: how far apart two quantiles are, and whether one law is larger.

*Quantiles*: a shift g is refuted if the counts of clean values on either side of θ (`least_counts`) lie in a region of
probability δ' at most, whatever θ is. *Some quantile*: U = #{(i, j): y_j > x_i} has the law of Mann and Whitney, and
one that is known exactly under the worst attack of each threat model (`u_tail`). Proofs: docs/theory.md, (bb).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.clusters import Clustered
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.statistics import EXACT, QUANTILE, statistic_of
from frontguard.objectives import Objective
from frontguard.theory.threats import Threat

MOST_EXACT = 100
"""Observations a side up to which the law of U under an attack is computed: 0.1 s an ε there, 1 to 3 s at 200."""

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
def region(n: int, m: int, threat: Threat, p: float, delta: float, order: Threat | None = None) -> Ints | None:
    """Return R as the largest count b of n values for each count c = 0, …, m; None if δ' is too small for any.

    R are the pairs whose tails have a product of at most some number (Fisher), with the axes. Tails are those under
    `order`, the same threat unless given: with one order, R only shrinks as ε rises.

    >>> from frontguard import Prescient
    >>> region(8, 8, Prescient(0.0), 0.5, 0.05).tolist()
    [8, 3, 2, 1, 0, 0, 0, 0, 0]
    """
    of_b, of_c = least_counts(n, threat, 1.0 - p), least_counts(m, threat, p)
    if 1.0 - (1.0 - of_b[0]) * (1.0 - of_c[0]) > delta:
        return None
    laws = (of_b, of_c) if order is None else (least_counts(n, order, 1.0 - p), least_counts(m, order, p))
    tail_b = np.cumsum(of_b)
    return largest_region(*laws, lambda largest: float(of_c @ tail_b[largest]), delta)


def largest_region(law_b: Floats, law_c: Floats, probability: Callable[[Ints], float], delta: float) -> Ints:
    """Return R for the largest bound on the product of both tails that leaves it a `probability` of δ' at most."""
    log_b, log_c = (np.log(np.maximum(np.cumsum(law), 1e-300)) for law in (law_b, law_c))

    def below(log_product: float) -> Ints:
        """R for one bound on the product of the tails."""
        largest = np.searchsorted(log_b, log_product - log_c, side="right") - 1
        largest[0] = len(law_b) - 1
        return np.maximum(largest, 0)

    low, high = 2.0 * math.log(delta) - 50.0, 0.0
    while high - low > _ROUNDING:  # a larger bound has no smaller R
        middle = 0.5 * (low + high)
        low, high = (middle, high) if probability(below(middle)) <= delta else (low, middle)
    return below(low)


def largest_difference(
    y: Floats, x: Floats, threat: Threat, p: float, delta: float, order: Threat | None = None
) -> float:
    """Return an upper bound of Q(y) − Q(x), with probability 1 − δ' (`delta`); ∞ where nothing bounds it.

    Values are sorted. One that failed may be anything: it is +∞ in y, and −∞ in x. `order` is that of `region`.
    """
    return float(largest_differences([y], [x], threat, p, delta, order)[0, 0])


def largest_differences(
    high: Sequence[Floats], low: Sequence[Floats], threat: Threat, p: float, delta: float, order: Threat | None = None
) -> Floats:
    """Return `largest_difference` of each sample of `high` (its row) and each of `low` (its column)."""
    found = np.full((len(high), len(low)), np.inf)
    tops, bottoms = by_size(high), by_size(low)
    for n, (rows, above) in tops.items():
        for m, (columns, below) in bottoms.items():
            largest = region(n, m, threat, p, delta, order) if n and m else None
            if largest is None:
                continue
            for row, highest in zip(rows.tolist(), above, strict=True):
                found[row, columns] = refuted_beyond(highest, below, largest)
    return found


def refuted_beyond(y: Floats, x: Floats, largest: Ints) -> Floats:
    """Return the differences beyond which R refutes all, of samples (..., n) and (..., m)."""
    n, counts = y.shape[-1], np.arange(1, x.shape[-1] + 1)
    counts = counts[largest[1:] < n]
    return np.asarray((y[..., n - 1 - largest[counts]] - x[..., counts - 1]).max(axis=-1, initial=-np.inf))


def by_size(samples: Sequence[Floats]) -> dict[int, tuple[Ints, Floats]]:
    """Samples of one size as a matrix, by their size, with their places."""
    sizes = np.array([len(each) for each in samples])
    places = {size: np.flatnonzero(sizes == size) for size in dict.fromkeys(sizes.tolist())}
    return {size: (some, np.stack([samples[place] for place in some.tolist()])) for size, some in places.items()}


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
    return tail_of_hits(n, m, threat.order_hits)


def tail_of_hits(n: int, m: int, hits: float) -> Floats:
    """P(U ≥ u), u = 0, …, nm, where each value is hit with this probability, by itself.

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
    """Return the tail if the largest x go to −∞ and the smallest y to +∞.

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


class CheckBounds(NamedTuple):
    """Bounds of P candidates against their baselines in M objectives, in inner values; all arrays are (P, M)."""

    ahead: Floats  # candidate − baseline is at most this, by itself with probability 1 − δ/2
    behind: Floats  # and baseline − candidate this: the largest of all of them bounds the largest difference
    line: Floats  # baseline − candidate is at most this, in all checks at once with probability 1 − δ/2 …
    worse: Bools  # … together with this: some quantile is certainly worse by more than the tolerance; …
    that_counts: Bools  # … and with this: so is the quantile that counts


def checkable(objectives: Sequence[Objective], log: Ordered) -> bool:
    """True if two samples tell how each of the objectives compares: quantiles, and exact values."""
    kinds = [statistic_of(objective) for objective in objectives]
    medians = isinstance(log, Clustered) and bool(log.dependent.any())
    return all(each.kind == EXACT or (each.kind == QUANTILE and not (medians and each.level != 0.5)) for each in kinds)


def check_bounds(
    log: Ordered, objectives: Sequence[Objective], its: Ints, mine: Ints, threat: Threat, delta: float,
    order: Threat | None = None,
) -> CheckBounds:  # fmt: skip
    """Compare candidates with their baselines, by the rows `mine` and `its` (P,) of a log; docs/theory.md, (cc)."""
    shape = len(its), len(objectives)
    ahead, behind, together = (np.full(shape, np.inf) for _ in range(3))
    found = CheckBounds(ahead, behind, together, np.zeros(shape, np.bool_), np.zeros(shape, np.bool_))
    noisy = sum(not objective.exact for objective in objectives) * len(its)
    half, line = 0.5 * delta, 0.5 * delta / max(1, noisy)
    for d, objective in enumerate(objectives):
        level, tolerance = statistic_of(objective).level, objective.inner_tolerance
        own, own_order = threat.of(d), None if order is None else order.of(d)
        samples = {arm: sample_of(log, objective, arm) for arm in {*its.tolist(), *mine.tolist()}}
        for row, (base, candidate) in enumerate(zip(its.tolist(), mine.tolist(), strict=True)):
            a, b = samples[base], samples[candidate]
            if objective.exact:
                if len(known := np.unique(a.low)) == len(np.unique(b.low)) == 1:
                    gap = float(known[0] - b.low[0])
                    found.ahead[row, d], found.behind[row, d], found.line[row, d] = -gap, gap, gap
                    found.worse[row, d] = found.that_counts[row, d] = gap > tolerance
                continue
            found.ahead[row, d] = largest_difference(b.high, a.low, own, level, half, own_order)
            found.behind[row, d] = largest_difference(a.high, b.low, own, level, half, own_order)
            found.line[row, d] = largest_difference(a.high, b.low, own, level, line, own_order)
            counted = largest_difference(b.high, a.low, own, level, line, own_order) < -tolerance
            small = max(len(a.low), len(b.low)) <= MOST_EXACT
            found.worse[row, d] = larger_somewhere(a.low - tolerance, b.high, own, line) if small else counted
            found.that_counts[row, d] = found.worse[row, d] and counted
    return found


class SampleEnds(NamedTuple):
    """Inner values of an arm, ascending; failed ones are −∞ in `low`, and +∞ in `high`."""

    low: Floats
    high: Floats


def sample_of(log: Ordered, objective: Objective, arm: int) -> SampleEnds:
    """Return the values of an arm, of a log in sessions their medians."""
    d = log.metrics.index(objective.name)
    values, size = log.values[d][log.starts[d, arm] : log.starts[d, arm + 1]], int(log.pulls[arm])
    if objective.exact:  # which a failed measurement does not change
        size = len(values)
    elif isinstance(log, Clustered):
        medians = session_medians(log, d, arm)
        values, size = medians[~np.isnan(medians)], len(medians)
    inner, failed = np.sort(objective.inward(values)), np.full(size - len(values), np.inf)
    return SampleEnds(np.concatenate([-failed, inner]), np.concatenate([inner, failed]))


def sample_quantiles(log: Ordered, objectives: Sequence[Objective], estimates: Floats) -> Floats:
    """Estimates (K, M) of what is compared: of a log in sessions, medians of their medians in place of those given."""
    if not isinstance(log, Clustered) or not log.dependent.any():
        return estimates
    found = estimates.copy()
    for d, objective in enumerate(objectives):
        if not objective.exact:
            column = log.metrics.index(objective.name)
            for arm in range(len(log.pulls)):
                medians = session_medians(log, column, arm)
                known = medians[~np.isnan(medians)]
                found[arm, d] = objective.inward(np.median(known)) if len(known) else -np.inf
    return found


def session_medians(log: Clustered, metric: int, arm: int) -> Floats:
    """Return the medians of an arm's clusters; NaN of one that has a failed value."""
    where = slice(*log.starts[metric, arm : arm + 2].tolist())
    values, owners = log.values[metric][where], log.owners[metric][where]
    sizes = log.sizes[log.begins[arm] : log.begins[arm + 1]]
    order = np.argsort(owners, kind="stable")  # values stay in order within a cluster
    values, counts = values[order], np.bincount(owners, minlength=len(sizes))
    first, found = np.cumsum(counts) - counts, np.full(len(sizes), np.nan)
    whole = (counts == sizes) & (counts > 0)
    low, high = first[whole] + (counts[whole] - 1) // 2, first[whole] + counts[whole] // 2
    found[whole] = 0.5 * (values[low] + values[high])
    return found


def with_suites(log: Clustered, suites: Sequence[Ints], names: Sequence[str]) -> Clustered:
    """The log with an arm for each suite: the geometric mean, once a session, of medians; failed where one is."""
    means, labels = list[list[Floats]](), list[Ints]()
    for arms in suites:
        of_arm = [log.labels[log.begins[arm] : log.begins[arm + 1]] for arm in arms.tolist()]
        sessions = np.unique(np.concatenate(of_arm))
        logs = np.full((len(log.metrics), len(arms), len(sessions)), np.nan)
        for place, (arm, known) in enumerate(zip(arms.tolist(), of_arm, strict=True)):
            for d in range(len(log.metrics)):
                logs[d, place, np.searchsorted(sessions, known)] = np.log(session_medians(log, d, arm))
        means.append(list(np.exp(logs.mean(axis=1))))
        labels.append(sessions)
    sizes = np.array([len(each) for each in labels])
    good = np.array([[(~np.isnan(each[d])).sum() for each in means] for d in range(len(log.metrics))])
    orders = [[np.argsort(each[d], kind="stable")[:count] for each, count in zip(means, good[d], strict=True)]
              for d in range(len(log.metrics))]  # fmt: skip
    return replace(
        log,
        arms=[*log.arms, *names],
        pulls=np.concatenate([log.pulls, sizes]),
        starts=np.concatenate([log.starts, log.starts[:, -1:] + np.cumsum(good, axis=1)], axis=1),
        values=tuple(
            np.concatenate([flat, *(each[d][order] for each, order in zip(means, orders[d], strict=True))])
            for d, flat in enumerate(log.values)
        ),
        broken=np.concatenate([log.failed_pulls, [np.isnan(each).any(axis=0).sum() for each in means]]),
        begins=np.concatenate([log.begins, log.begins[-1] + np.cumsum(sizes)]),
        sizes=np.concatenate([log.sizes, *(np.ones_like(each) for each in labels)]),
        owners=tuple(np.concatenate([flat, *orders[d]]) for d, flat in enumerate(log.owners)),
        labels=np.concatenate([log.labels, *labels]),
    )
