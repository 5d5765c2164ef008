"""Means of values in [0, 1], bounded at every number of values at once: the capital of bets against a mean.

Let ξ_1, ξ_2, … in [0, 1] have E(ξ_s | G_{s−1}) ≥ c. For fixed 0 ≤ θ < 1 the product of

    (1 − θ ξ_s) / (1 − θ c) = 1 + λ (c − ξ_s),   λ = θ / (1 − θ c) < 1 / (1 − c),

is what becomes of a capital of 1 that is bet on values below c: a non-negative supermartingale. So is its mean over a
fixed grid of θ with weights w,

    W_n(c) = Σ_l w_l exp(S_l − n log(1 − θ_l c)),   S_l = Σ_s log(1 − θ_l ξ_s),

and by Ville's inequality it ever reaches 1/δ' with probability at most δ'. The θ do not depend on c, so all that is
needed of the values are the sums S_l; log W_n(c) is convex and rises in c, so that the largest mean which is not
refuted is found by Newton's method from above, where every step is a valid bound.

Small θ serve long samples, large ones short samples and means near 0 or 1. Values that spread less than their bounds
allow are bounded as much sooner. Proofs: docs/theory.md, (m).
"""

from __future__ import annotations

import math

import numpy as np

from frontguard._checks import checked_delta
from frontguard._compiled import kernel
from frontguard._typing import Floats
from frontguard.evidence.samples import Record, Samples, ranked

_ENDS = math.log(999.0)  # of the grid, in log(θ / (1−θ)): θ from 0.001 to 0.999
_MIDDLE = 2.0  # its weights are a normal density of this deviation ...
_EVEN = 0.1  # ... and this share of them spread evenly; see docs/choices.md

BETS = 24
"""How many θ there are."""

_LOGITS = np.linspace(-_ENDS, _ENDS, BETS)
THETAS: Floats = 1.0 / (1.0 + np.exp(-_LOGITS))
_HUMP = np.exp(-0.5 * (_LOGITS / _MIDDLE) ** 2)
LOG_WEIGHTS: Floats = np.log((1.0 - _EVEN) * _HUMP / _HUMP.sum() + _EVEN / BETS)
WORST: Floats = np.log1p(-THETAS)
"""What a value of 1, and so one that may be anything, adds to each sum."""

_SAFETY = 1e-9  # what a logarithm must exceed its threshold by: more than its rounding errors
_IN_ONE_LOGARITHM = 32  # factors, none below 10⁻³, whose product is far from the smallest double
_MOST_STEPS = 60
_SMALL_STEP = 1e-9  # after which the next one would be far smaller: digits double with every step

NORMAL_WEIGHT = 10.0
"""Observations that the prior of the normal mixture is worth: its boundary is narrowest at some ten times as many."""


@kernel
def unrefuted_mean(sums: Floats, count: float, threshold: float) -> float:
    """The largest c in [0, 1] with log W_n(c) ≤ threshold, rounded up; 1 if there is none below.

    `sums` (BETS,) are the S_l of `count` values.
    """
    if count == 0:
        return 1.0
    c = 1.0
    for l in range(BETS):  # noqa: E741
        # One bet alone is worth no more than all together: a bound by itself, and where Newton's method begins.
        alone = sums[l] + LOG_WEIGHTS[l] - threshold
        if alone > count * WORST[l]:  # or it does not refute 1
            c = min(c, -math.expm1(alone / count) / THETAS[l])
    if c >= 1.0:
        return 1.0
    c = max(c, 0.0)
    bets = np.empty(BETS)
    for _ in range(_MOST_STEPS):
        largest = -np.inf
        for l in range(BETS):  # noqa: E741
            bets[l] = LOG_WEIGHTS[l] + sums[l] - count * math.log1p(-THETAS[l] * c)
            largest = max(largest, bets[l])
        total, slope = 0.0, 0.0
        for l in range(BETS):  # noqa: E741
            share = math.exp(bets[l] - largest)
            total += share
            slope += share * THETAS[l] / (1.0 - THETAS[l] * c)
        step = (largest + math.log(total) - threshold) * total / (count * slope)
        c = max(c - step, 0.0)
        if step <= _SMALL_STEP:
            break
    return min(1.0, c + 1e-11)


@kernel
def add_bets(sums: Floats, samples: Samples, record: Record, first: int, last: int, from_above: bool) -> None:
    """Add the logarithms of 1 − θ ξ of the values at the places first ≤ i < last of a sorted column to the sums.

    ξ is the value itself or, `from_above`, what it lacks of 1. Equal values cost as much as one.
    """
    product = np.ones(BETS)
    waiting = 0
    i = first
    while i < last:
        value = ranked(samples, record, i)
        xi = 1.0 - value if from_above else value
        after = i + 1
        if after < last and ranked(samples, record, after) == value:
            after = _end_of_run(samples, record, i, last, value)
            for l in range(BETS):  # noqa: E741
                sums[l] += (after - i) * math.log1p(-THETAS[l] * xi)
        else:
            for l in range(BETS):  # noqa: E741
                product[l] *= 1.0 - THETAS[l] * xi
            waiting += 1
            if waiting == _IN_ONE_LOGARITHM:
                for l in range(BETS):  # noqa: E741
                    sums[l] += math.log(product[l])
                    product[l] = 1.0
                waiting = 0
        i = after
    for l in range(BETS):  # noqa: E741
        sums[l] += math.log(product[l])


@kernel
def _end_of_run(samples: Samples, record: Record, first: int, last: int, value: float) -> int:
    """The first place after `first`, up to `last`, that does not hold the value; by doubling steps."""
    known, step = first, 1
    while known + step < last and ranked(samples, record, known + step) == value:
        known += step
        step *= 2
    beyond = min(known + step, last)
    while beyond - known > 1:
        middle = (known + beyond) // 2
        if ranked(samples, record, middle) == value:
            known = middle
        else:
            beyond = middle
    return beyond


@kernel
def add_worst(sums: Floats, count: int) -> None:
    """Add values that may be anything."""
    for l in range(BETS):  # noqa: E741
        sums[l] += count * WORST[l]


@kernel
def highest_mean(
    samples: Samples, record: Record, pulls: int, taken: int, threshold: float, from_above: bool, foreseen: float
) -> float:
    """The largest c that W does not refute as the mean of what is left of ξ, of `pulls` values of a sorted column.

    Those that are missing failed, and `taken` of the others may have been replaced, whichever: the smallest ξ then
    count as 1. ξ is the value or, `from_above`, what it lacks of 1. With more pulls `foreseen` than there are, it is
    what W would leave if the sample went on in the same proportions.
    """
    have = record.count
    kept = max(have - taken, 0)
    sums = np.zeros(BETS)
    add_worst(sums, pulls - kept)
    first = 0 if from_above else have - kept
    add_bets(sums, samples, record, first, first + kept, from_above)
    if foreseen > pulls:
        sums *= foreseen / pulls
    return unrefuted_mean(sums, foreseen, threshold)


@kernel
def lasting_mean(samples: Samples, record: Record, pulls: int, taken: int, from_above: bool) -> float:
    """What `highest_mean` would come down to if the sample went on like this for ever: the mean of these ξ."""
    have = record.count
    kept = max(have - taken, 0)
    first = 0 if from_above else have - kept
    total = float(pulls - kept)
    for i in range(first, first + kept):
        value = ranked(samples, record, i)
        total += 1.0 - value if from_above else value
    return min(1.0, total / pulls)


@kernel
def mean_and_error(samples: Samples, record: Record) -> tuple[float, float]:
    """The mean of a sorted column that has values, and the standard error of it that they show."""
    have = record.count
    total = 0.0
    for i in range(have):
        total += ranked(samples, record, i)
    mean = total / have
    squares = 0.0
    for i in range(have):
        squares += (ranked(samples, record, i) - mean) ** 2
    return mean, math.sqrt(squares) / have


@kernel
def normal_reach(pulls: float, sigma: float, log_odds: float) -> float:
    """How far a mean of so many σ-subgaussian values is from the true one at most, at every number of them at once.

    `log_odds` is log(1/α) for both sides together: Robbins' normal mixture, with `NORMAL_WEIGHT` in its prior.
    """
    whole = pulls + NORMAL_WEIGHT
    return sigma * math.sqrt(whole * (2.0 * log_odds + math.log(whole / NORMAL_WEIGHT))) / pulls


def threshold_of(delta: float) -> float:
    """The logarithm of the capital at which a mean is refuted with probability at most δ' of being the true one."""
    return -math.log(checked_delta(delta)) + _SAFETY


def sums_of_bets(xi: Floats) -> Floats:
    """S_l (BETS,) of values ξ (n,) in [0, 1], in any order.

    >>> bool(np.allclose(sums_of_bets(np.array([0.0, 1.0])), WORST))
    True
    """
    sums = np.zeros(BETS)
    for start in range(0, len(xi), 4096):
        sums += np.log1p(-np.multiply.outer(THETAS, xi[start : start + 4096])).sum(axis=1)
    return sums


def upper_mean(xi: Floats, delta: float) -> float:
    """With probability 1 − δ' the mean of ξ, values (n,) in [0, 1], is at most this, at every n at once.

    >>> round(upper_mean(np.zeros(100), 0.01), 3), round(upper_mean(np.full(100, 0.5), 0.01), 3)
    (0.06, 0.532)
    """
    return float(unrefuted_mean(sums_of_bets(np.asarray(xi, np.float64)), len(xi), threshold_of(delta)))
