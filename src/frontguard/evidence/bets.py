"""Bets against a mean of values in [0, 1]: their wealth bounds it at every number of values at once; theory.md, (m).

    W_n(c) = Σ_l w_l exp(S_l − n log(1 − θ_l c)),   S_l = Σ_s log(1 − θ_l ξ_s),

over a fixed grid of θ is a supermartingale if values have a mean of at least c. The θ do not depend on c, so the S_l
are all that is needed of the values. log W_n(c) is convex and rises in c: Newton's method from above finds the largest
mean that is not refuted, and each of its steps is a valid bound. For one look at a number of values that was fixed
before, bets that are of no use for so many are left out; where nobody lies, so are those that are of no use for how far
values spread, which is bounded first (`unrefuted_at_once`; docs/theory.md, (ii)).

*Bets that aim* at one number of values, to reach 1/δ' at the last of n and no later, are λ = √(2 log(1 / (δ' W)) /
(left σ²)), with W the wealth so far, so that the bound is hardly wider than that of normal theory (V. Voráček, F.
Orabona, "STaR-Bets", 2025). Not all means above a refuted one need be refuted, so each of a fixed grid is looked at,
from 1 downwards. λ looks at values: these bets count where ε is 0. Proof: docs/theory.md, (ee).
"""

from __future__ import annotations

import math

import numpy as np

from frontguard._common.compiled import inlined, kernel
from frontguard._common.typing import Floats

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

_MOST_STEPS = 60
_SMALL_STEP = 1e-9  # after which the next one would be far smaller: digits double with every step


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


# At one look, by how far values spread --------------------------------------------------------------------------------

MOST_AT_ONCE = 20_000
"""Arms up to which bets at one look go by what values spread: 0.1 ms each."""

_CELLS = 64  # of means, each with a middle about which values spread
_OF_SPREAD = 0.04  # of δ', for between what the spread lies
_OF_ALL = 0.02  # of the weight, what bets keep that such a spread would not want
_STEP = math.log(1.4)  # from one spread that is looked at to the next
_SMALLER, _SKEWED_DOWN = 0.2, 0.4  # by how much smaller bets are kept than are wanted, as logarithms; and more of ...
_LARGER, _SKEWED_UP = 0.35, 1.0  # ... large ones, of which log(1 + x) is not like x − x²/2; likewise larger ones


@kernel
def _likely_spreads(spread: float, noise: float) -> tuple[float, float]:
    """Between what the mean of (ξ − a)² lies if so much was seen of it; and what is seen, if it is so much."""
    return max(0.0, spread - math.sqrt(2.0 * spread * noise)), (
        math.sqrt(0.5 * noise) + math.sqrt(spread + 0.5 * noise)
    ) ** 2


@kernel
def _weights_at_spread(count: float, threshold: float, middle: float, spread: float, noise: float) -> Floats:
    """The logarithms of the weights (BETS,) of the bets that so many values with this spread about `middle` want.

    Of those for one look, these have nearly all: λ from what the widest samples want that may be seen of such a spread,
    to what the narrowest do.
    """
    found = weights_for(count, threshold, True)
    narrow, wide = _likely_spreads(spread, noise)
    smallest = math.sqrt(2.0 * threshold / (count * wide))
    smallest *= math.exp(-_SMALLER - _SKEWED_DOWN * smallest * (1.0 - middle))
    largest = math.sqrt(2.0 * threshold / (count * narrow)) if narrow > 0.0 else np.inf
    largest *= math.exp(min(_LARGER + _SKEWED_UP * largest * middle, 100.0))
    apart, nearest = np.empty(BETS), np.inf
    for l in range(BETS):  # noqa: E741
        bet = THETAS[l] / (1.0 - THETAS[l] * middle)
        apart[l] = max(1.0, smallest / bet, bet / largest) if found[l] > -np.inf else np.inf
        nearest = min(nearest, apart[l])
    kept = 0.0
    for l in range(BETS):  # noqa: E741
        kept += math.exp(found[l]) if apart[l] == nearest else 0.0
    for l in range(BETS):  # noqa: E741
        more = (1.0 - _OF_ALL) / kept if apart[l] == nearest else 0.0
        found[l] += math.log(_OF_ALL + more)
    return found


@kernel
def unrefuted_at_once(sums: Floats, count: float, mean: float, variance: float, threshold: float) -> float:
    """The largest mean in [0, 1] that so many independent values do not refute, at one look and where nobody lies.

    `sums` (BETS,), `mean` and `variance` are those of the values, with 1 for any that failed.
    """
    odds = threshold + math.log(2.0 / _OF_SPREAD) + 1e-6  # more than rounding moves a spread
    wealth = threshold - math.log(1.0 - _OF_SPREAD)
    most = unrefuted_mean(sums, count, wealth - math.log(_OF_ALL), weights_for(count, wealth, True))
    for cell in range(min(_CELLS - 1, int(most * _CELLS)), -1, -1):
        low, high = cell / _CELLS, min(most, (cell + 1.0) / _CELLS)
        middle = (cell + 0.5) / _CELLS
        noise = max(middle, 1.0 - middle) ** 2 * odds / count
        first, last = _likely_spreads(variance + (mean - middle) ** 2, noise)
        # Spreads are looked at in steps; all that are smaller still are as the first.
        first, last = math.log(max(first, 0.05 * noise)) / _STEP, math.log(max(last, 0.05 * noise)) / _STEP
        found = low
        for place in range(math.floor(first), math.floor(last) + 1):
            if found >= high:
                break
            weights = _weights_at_spread(count, wealth, middle, math.exp((place + 0.5) * _STEP), noise)
            if log_wealth(sums, count, found, weights)[0] < wealth:
                found = max(found, unrefuted_mean(sums, count, wealth, weights))
        if found > low:
            return min(found, high)
    return 0.0


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


# Bets that aim at one number of values ------------------------------------------------------------------------------

MOST_AIMED = 200_000
"""Ordered pairs of arms in all metrics, times n, up to which bets aim: two seconds."""

_GRID = 256.0  # points of the grid, times √n
_NEARLY_ALL = 0.99  # of the wealth, what a single value may take
_LEAST_VARIANCE = 1e-6


@kernel
def _refutes(values: Floats, c: float, threshold: float) -> bool:
    """Whether the wealth of bets against a mean of c or more ever reaches the threshold, its logarithm."""
    n, total, squares, wealth = values.shape[0], 0.5, 0.5, 0.0  # as if there had been half of a 1 and half of a 0
    for t in range(n):
        mean = total / (1 + t)
        variance = max(_LEAST_VARIANCE, squares / (1 + t) - mean * mean)
        bet = math.sqrt(2.0 * (threshold - wealth) / ((n - t) * variance))
        bet = min(bet, _NEARLY_ALL / max(1e-9, 1.0 - c))
        wealth += math.log1p(bet * (c - values[t]))
        if wealth >= threshold:
            return True
        total += values[t]
        squares += values[t] * values[t]
    return False


@kernel(over="values")
def aimed_mean(values: Floats, threshold: float) -> float:
    """The least mean that values in [0, 1] refute, in their order, with all of the grid above it; 1 if none is."""
    points = math.ceil(_GRID * math.sqrt(values.shape[0]))
    found = 1.0
    for point in range(points, -1, -1):
        if not _refutes(values, point / points, threshold):
            break
        found = point / points
    return found
