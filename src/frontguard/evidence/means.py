"""Means of values in [0, 1], bounded at every number of values at once: the wealth of bets against a mean.

Let ξ_1, ξ_2, … in [0, 1] have E(ξ_s | G_{s−1}) ≥ c. For fixed 0 ≤ θ < 1 the product of

    (1 − θ ξ_s) / (1 − θ c) = 1 + λ (c − ξ_s),   λ = θ / (1 − θ c) < 1 / (1 − c),

is what becomes of a wealth of 1 that is bet on values below c: a non-negative supermartingale. So is its mean over a
fixed grid of θ with weights w,

    W_n(c) = Σ_l w_l exp(S_l − n log(1 − θ_l c)),   S_l = Σ_s log(1 − θ_l ξ_s),

and by Ville's inequality it ever reaches 1/δ' with probability at most δ'. The θ do not depend on c, so all that is
needed of the values are the sums S_l; log W_n(c) is convex and rises in c, so that the largest mean which is not
refuted is found by Newton's method from above, where every step is a valid bound. Sums are made of atoms with weights:
of the different values with their counts, or, if these are many, of knots that the values are spread over.

Small θ serve long samples, large ones short samples and means near 0 or 1. Values that spread less than their bounds
allow are bounded as much sooner. Proofs: docs/theory.md, (m).

For one look at a number of values that was fixed before, bets that are of no use for so many are left away; and where
all values are 0 or 1, their sum has at most the lower tail of a binomial law, which is exact (`highest_rate`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from frontguard._common.checks import checked_delta
from frontguard._common.compiled import inlined, kernel
from frontguard._common.typing import Floats
from frontguard.evidence.confidence_sequences import taken_away
from frontguard.evidence.samples import Record, Samples, counted_between, in_order, most_different
from frontguard.evidence.statistics import DOUBT, LARGEST, inner_of_mean

if TYPE_CHECKING:
    from frontguard.evidence.intervals import IntervalRule
from frontguard.evidence.samples import ranked
from frontguard.evidence.statistics import SIGMA

_ENDS = math.log(999.0)  # of the grid, in log(θ / (1−θ)): θ from 0.001 to 0.999
_MIDDLE = 2.0  # its weights are a normal density of this deviation ...
_EVEN = 0.1  # ... and this share of them spread evenly; see docs/benchmarks.md

BETS = 24
"""How many θ there are."""

_LOGITS = np.linspace(-_ENDS, _ENDS, BETS)
THETAS: Floats = 1.0 / (1.0 + np.exp(-_LOGITS))
_HUMP = np.exp(-0.5 * (_LOGITS / _MIDDLE) ** 2)
LOG_WEIGHTS: Floats = np.log((1.0 - _EVEN) * _HUMP / _HUMP.sum() + _EVEN / BETS)
WORST: Floats = np.log1p(-THETAS)
"""What a value of 1, and so one that may be anything, adds to each sum."""

AT_ONCE = 32
"""Factors 1 − θ ξ, none below 10⁻³, that are multiplied before a logarithm is taken: far from the smallest double."""

RATES_SHARE = 0.25
"""Of δ', what an exact binomial bound has where values may be 0 and 1 alone and one looks once; bets have the rest."""

_SAFETY = 1e-9  # what a logarithm must exceed its threshold by: more than its rounding errors
_MOST_STEPS = 60
_SMALL_STEP = 1e-9  # after which the next one would be far smaller: digits double with every step

MOST_ATOMS = 4096
"""Different values up to which each is bet on by itself."""

KNOTS = 512
"""Atoms that more of them are spread over."""


@kernel
def weights_for(count: float, threshold: float, one_look: bool) -> Floats:
    """The logarithms of the weights (BETS,) of the bets on so many values.

    For many looks they are one and the same. For one look at so many, small θ are of no use: not even the widest spread
    of values would want them. What they had, the others have.
    """
    found = LOG_WEIGHTS.copy()
    if not one_look or count <= 0.0:
        return found
    wanted = math.sqrt(2.0 * threshold / count)
    least = min(0.5, wanted / (1.0 + wanted))
    kept = 0.0
    for l in range(BETS):  # noqa: E741
        kept += math.exp(found[l]) if THETAS[l] >= least else 0.0
    for l in range(BETS):  # noqa: E741
        found[l] = found[l] - math.log(kept) if THETAS[l] >= least else -np.inf
    return found


@kernel
def log_wealth(sums: Floats, count: float, c: float, log_weights: Floats) -> tuple[float, float]:
    """log W_n(c) of the `sums` (BETS,) of `count` values, and its slope in c divided by `count`."""
    bets = np.empty(BETS)
    largest = -np.inf
    for l in range(BETS):  # noqa: E741
        bets[l] = log_weights[l] + sums[l] - count * math.log1p(-THETAS[l] * c)
        largest = max(largest, bets[l])
    total, slope = 0.0, 0.0
    for l in range(BETS):  # noqa: E741
        share = math.exp(bets[l] - largest)
        total += share
        slope += share * THETAS[l] / (1.0 - THETAS[l] * c)
    return largest + math.log(total), slope / total


@kernel
def unrefuted_mean(sums: Floats, count: float, threshold: float, log_weights: Floats) -> float:
    """The largest c in [0, 1] with log W_n(c) ≤ threshold, rounded up; 1 if there is none below.

    `sums` (BETS,) are the S_l of `count` values, and `log_weights` those of `weights_for` so many.
    """
    if count == 0:
        return 1.0
    c = 1.0
    for l in range(BETS):  # noqa: E741
        # One bet alone is worth no more than all together: a bound by itself, and where Newton's method begins.
        alone = sums[l] + log_weights[l] - threshold
        if alone > count * WORST[l]:  # or it does not refute 1
            c = min(c, -math.expm1(alone / count) / THETAS[l])
    for _ in range(_MOST_STEPS):
        wealth, slope = log_wealth(sums, count, c, log_weights)
        step = (wealth - threshold) / (count * slope)
        c -= step
        if step <= _SMALL_STEP:
            break
    return min(1.0, c + 1e-11)


@inlined
def multiply_bets(product: Floats, xi: float) -> None:
    """Multiply the products (BETS,) by 1 − θ ξ; not more often than `AT_ONCE` before `add_logarithms`."""
    for l in range(BETS):  # noqa: E741
        product[l] *= 1.0 - THETAS[l] * xi


@inlined
def add_logarithms(sums: Floats, product: Floats) -> None:
    """Add the logarithms of the products (BETS,) to the sums, and begin anew."""
    for l in range(BETS):  # noqa: E741
        sums[l] += math.log(product[l])
        product[l] = 1.0


@kernel
def add_bets(sums: Floats, atoms: Floats, weights: Floats, count: int, from_above: bool) -> None:
    """Add weight · log(1 − θ ξ) of so many atoms to the sums; ξ is the atom or, `from_above`, what it lacks of 1."""
    product = np.ones(BETS)
    waiting = 0
    for i in range(count + 1):
        if waiting == AT_ONCE or i == count:
            add_logarithms(sums, product)
            waiting = 0
        if i == count:
            break
        xi = 1.0 - atoms[i] if from_above else atoms[i]
        if weights[i] == 1.0:
            multiply_bets(product, xi)
            waiting += 1
        else:
            for l in range(BETS):  # noqa: E741
                sums[l] += weights[i] * math.log1p(-THETAS[l] * xi)


@kernel
def find_atoms(values: Floats, first: int, last: int, atoms: Floats, weights: Floats) -> int:
    """Put sorted values, those at the places first ≤ i < last, into atoms with weights; how many atoms there are.

    Up to `MOST_ATOMS` different values are the atoms themselves. More are spread over `KNOTS` at equal distances: each
    value goes to the knots to either side of it, in the shares that keep its mean. log(1 − θ ξ) is concave, so that no
    sum becomes larger by it, and a bound that is made of them stays one.
    """
    found, i = 0, first
    while i < last and found < MOST_ATOMS:
        after = _end_of_run(values, i, last)
        atoms[found], weights[found] = values[i], after - i
        found, i = found + 1, after
    if i == last:
        return found
    lowest = values[first]
    distance = (values[last - 1] - lowest) / (KNOTS - 1)
    for knot in range(KNOTS):
        atoms[knot], weights[knot] = lowest + knot * distance, 0.0
    for i in range(first, last):
        place = (values[i] - lowest) / distance
        knot = min(int(place), KNOTS - 2)
        weights[knot] += 1.0 - (place - knot)
        weights[knot + 1] += place - knot
    return KNOTS


@kernel
def _end_of_run(values: Floats, first: int, last: int) -> int:
    """The first place after `first`, up to `last`, that does not hold the same of sorted values; by doubling steps."""
    value, known, step = values[first], first, 1
    while known + step < last and values[known + step] == value:
        known += step
        step *= 2
    beyond = min(known + step, last)
    while beyond - known > 1:
        middle = (known + beyond) // 2
        if values[middle] == value:
            known = middle
        else:
            beyond = middle
    return beyond


@kernel
def highest_means(
    samples: Samples, record: Record, pulls: int, taken: int, threshold: float, foreseen: float
) -> tuple[float, float]:
    """The largest c that W does not refute as the mean of what is left of ξ, of `pulls` values of a sorted column.

    Once for ξ that is what a value lacks of 1, and once for the value. Those that are missing failed, and `taken` of
    the others may have been replaced, whichever: the smallest ξ then count as 1. With more pulls `foreseen` than there
    are, it is what W would leave if the sample went on in the same proportions.
    """
    kept = max(record.count - taken, 0)
    atoms, weights, sums = np.empty(MOST_ATOMS), np.empty(MOST_ATOMS), np.empty(BETS)
    counted = record.counted == 1 and most_different(record) <= MOST_ATOMS
    values, first = samples.pool, 0
    if not counted:
        values, first = in_order(samples, record)
    lacking, most, found = 1.0, 1.0, 0
    for side in range(2):
        if side == 0 or taken > 0:
            start = 0 if side == 0 else record.count - kept
            if counted:
                found = counted_between(samples, record, start, start + kept, atoms, weights)
            else:
                found = find_atoms(values, first + start, first + start + kept, atoms, weights)
        for l in range(BETS):  # noqa: E741
            sums[l] = (pulls - kept) * WORST[l]
        add_bets(sums, atoms, weights, found, side == 0)
        for l in range(BETS):  # noqa: E741
            sums[l] *= max(1.0, foreseen / pulls)
        lacking, most = most, unrefuted_mean(sums, foreseen, threshold, weights_for(foreseen, threshold, False))
    return lacking, most


@kernel
def lasting_means(samples: Samples, record: Record, pulls: int, taken: int) -> tuple[float, float]:
    """What `highest_means` would come down to if the sample went on like this for ever: the means of these ξ."""
    kept = max(record.count - taken, 0)
    values, weights, first, last = _in_runs(samples, record, 0, kept)
    lowest = _power_sum(values, weights, first, last, 0.0, 1)
    highest = lowest
    if taken > 0:
        values, weights, first, last = _in_runs(samples, record, record.count - kept, record.count)
        highest = _power_sum(values, weights, first, last, 0.0, 1)
    return min(1.0, (pulls - lowest) / pulls), min(1.0, (pulls - kept + highest) / pulls)


@kernel
def mean_and_error(samples: Samples, record: Record) -> tuple[float, float]:
    """The mean of a sorted column that has values, and the standard error of it that they show."""
    values, weights, first, last = _in_runs(samples, record, 0, record.count)
    mean = _power_sum(values, weights, first, last, 0.0, 1) / record.count
    return mean, math.sqrt(_power_sum(values, weights, first, last, mean, 2)) / record.count


@kernel
def _in_runs(samples: Samples, record: Record, lowest: int, highest: int) -> tuple[Floats, Floats, int, int]:
    """The values of a sorted column at the places lowest ≤ i < highest, and how often each counts: no weights are ones.

    They are those from the third of what is returned on, up to the fourth.
    """
    if record.counted == 1:
        different, counts = np.empty(most_different(record)), np.empty(most_different(record))
        return different, counts, 0, counted_between(samples, record, lowest, highest, different, counts)
    values, first = in_order(samples, record)
    return values, np.empty(0), first + lowest, first + highest


@kernel
def _power_sum(values: Floats, weights: Floats, first: int, last: int, centre: float, power: int) -> float:
    """Σ (value − centre)ᵖ, p = 1 or 2, of sorted values, of which equal ones cost as much as one."""
    total, i = 0.0, first
    while i < last:
        after, weight = i + 1, 1.0
        if weights.shape[0] == 0:
            after = _end_of_run(values, i, last)
            weight = float(after - i)
        else:
            weight = weights[i]
        apart = values[i] - centre
        total += weight * (apart if power == 1 else apart * apart)
        i = after
    return total


def threshold_of(delta: float) -> float:
    """The logarithm of the wealth at which a mean is refuted with probability at most δ' of being the true one."""
    return -math.log(checked_delta(delta)) + _SAFETY


def highest_rate(ones: Floats, of: Floats, delta: float) -> Floats:
    """The largest probability of a 1 under which so few `ones` (n,) of so many (n,) have a probability above δ'.

    That of Clopper and Pearson, rounded up.

    >>> highest_rate(np.array([0.0, 10.0]), np.array([10.0, 10.0]), 0.05).round(3).tolist()
    [0.259, 1.0]
    """
    from scipy.special import betainccinv  # few logs come here

    found = np.ones(len(ones))
    some = ones < of

    found[some] = np.minimum(1.0, betainccinv(ones[some] + 1.0, (of - ones)[some], delta) + 1e-9)
    return found


# Intervals of means -------------------------------------------------------------------------------------------------


@kernel
def mean_interval(
    samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int, foreseen: float
) -> tuple[float, float]:
    """The interval that bets leave of the mean of values with known bounds; `foreseen` as in `highest_means`."""
    if pulls == 0:
        return -np.inf, np.inf
    taken = taken_away(rule.taken[d], pulls)
    lacking, most = highest_means(samples, record, pulls, taken, rule.thresholds[d], foreseen)
    return _in_inner_values(lacking, most, rule, d)


@kernel
def lasting_mean(samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int) -> tuple[float, float]:
    """What would be left of it if the sample went on like this for ever."""
    lacking, most = lasting_means(samples, record, pulls, taken_away(rule.taken[d], pulls))
    return _in_inner_values(lacking, most, rule, d)


@kernel
def _in_inner_values(lacking: float, high: float, rule: IntervalRule, d: int) -> tuple[float, float]:
    """The inner interval of a bounded mean, of which this much at most is left of it, and of what it lacks of 1."""
    times, less = rule.surviving[0], rule.surviving[1]
    low = 1.0 - min(1.0, (lacking + less) / times)
    high = min(1.0, (high + less) / times)
    return inner_of_mean(low, rule.scales[d]), inner_of_mean(high, rule.scales[d])


@kernel
def mean_and_doubt(samples: Samples, record: Record, scale: Floats) -> tuple[float, float, float]:
    """The mean of a column that has values, and how far sampling noise may have moved it, as inner values."""
    mean, error = mean_and_error(samples, record)
    low, high = inner_of_mean(mean - DOUBT * error, scale), inner_of_mean(mean + DOUBT * error, scale)
    return inner_of_mean(mean, scale), low, high


def first_informative(
    threat_taken: float, surviving: tuple[float, float], threshold: float, *, one_look: bool = False, rates: float = 0.0
) -> int | None:
    """The pulls before which the interval of a bounded mean is all that its bounds allow, whatever is measured.

    None where no number up to `LARGEST` is enough. `rates` is the δ' of an exact binomial bound beside the bets, where
    there is one.

    >>> from frontguard import Prescient
    >>> first_informative(0.0, Prescient(0.1).surviving, threshold_of(0.001))
    5
    """
    times, less = surviving
    fewest, most = 0, LARGEST

    def informs(pulls: int) -> bool:
        taken = int(taken_away(threat_taken, pulls))
        weights = weights_for(float(pulls), threshold, one_look)
        most = float(unrefuted_mean(taken * WORST, float(pulls), threshold, weights))
        if rates > 0.0:
            most = min(most, float(highest_rate(np.array([float(taken)]), np.array([float(pulls)]), rates)[0]))
        return most + less < times

    if not informs(most):
        return None
    while most - fewest > 1:
        middle = (fewest + most) // 2
        fewest, most = (fewest, middle) if informs(middle) else (middle, most)
    return most


# Means of values with a known deviation ------------------------------------------------------------------------------


NORMAL_WEIGHT = 10.0
"""Observations that the prior of the normal mixture is worth: it is narrowest at some ten times as many."""


@kernel
def normal_reach(pulls: float, sigma: float, log_odds: float) -> float:
    """How far a mean of so many σ-subgaussian values is from the true one at most, at every number of them at once.

    `log_odds` is log(1/α) for both sides together: Robbins' normal mixture, with `NORMAL_WEIGHT` in its prior.
    """
    whole = pulls + NORMAL_WEIGHT
    return sigma * math.sqrt(whole * (2.0 * log_odds + math.log(whole / NORMAL_WEIGHT))) / pulls


@kernel
def normal_interval(
    samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int, foreseen: float
) -> tuple[float, float]:
    """The interval of a mean with a known deviation, of `foreseen` pulls whose mean is that of these."""
    if record.count != pulls or pulls == 0:
        return -np.inf, np.inf
    mean, _ = mean_and_error(samples, record)
    reach = normal_reach(foreseen, rule.scales[d, SIGMA], rule.thresholds[d])
    return inner_of_mean(mean - reach, rule.scales[d]), inner_of_mean(mean + reach, rule.scales[d])


@kernel
def lasting_normal(samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int) -> tuple[float, float]:
    """What would be left of it if the sample went on like this for ever: its mean."""
    if record.count != pulls:
        return -np.inf, np.inf
    mean, _ = mean_and_error(samples, record)
    middle = inner_of_mean(mean, rule.scales[d])
    return middle, middle


# Exact values --------------------------------------------------------------------------------------------------------


@kernel
def exact_interval(samples: Samples, record: Record) -> tuple[float, float]:
    """The value; everything where there is none, and nothing, an empty interval, where two differ."""
    if record.count == 0:
        return -np.inf, np.inf
    return ranked(samples, record, record.count - 1), ranked(samples, record, 0)
