"""Confidence sequences for quantiles: how many of n observations are, almost certainly, what they should be.

Let A_n be a sum of n Bernoulli variables, each with success probability at least p₀ whatever came before. For a rank
q(n) with A_n ≥ q(n), the q(n)-th smallest of n observations lies at or below the true quantile that A_n counts for.
`anytime_rank` holds for all n at once, by a Beta(a, a) mixture truncated to [0, p₀] and Ville's inequality,

    M_n(k) = B(a+k, a+n−k) I_{p₀}(a+k, a+n−k) / [B(a,a) I_{p₀}(a,a) p₀ᵏ (1−p₀)ⁿ⁻ᵏ],   k = A_n,

where q(n) − 1 is the largest k with M_n(k) ≥ 1/δ'. M_n(k) falls in k, q(n) ≤ q(n+1) ≤ q(n) + 1, and only k < p₀ n
matter: docs/theory.md, (b). `fixed_rank` is the exact binomial bound for one n that was fixed beforehand.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from numbers import Integral
from statistics import NormalDist
from typing import overload

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import checked_delta, real_number
from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput

AnyInts = npt.NDArray[np.integer]

MOST_PULLS = 10**12
"""Pulls beyond which no rank is computed: rounding would approach `_SAFETY`."""

STEPS = 32
"""Entries of a rank table per unit of √n. Up to n = 256 every n has an entry of its own."""

_SAFETY = 1e-9
"""What a logarithm must exceed its threshold by. Above all rounding errors, so that these only ever lower a rank."""

_SURE = 100.0 * _SAFETY
"""What a margin must be away from 0 by for its sign to be known, when it follows from another one."""

_ROUNDED_UP = 1.0 + 2.0**-51  # a share and its product with n are each rounded by a relative 2⁻⁵³ at most

STRENGTH = 2.0
"""Weight of the mixture's prior, which is uniform at 2; see docs/choices.md for what others cost."""

_WEAKEST, _STRONGEST = 1e-6, 1e4  # of the mixture: beyond, the prior's own constant loses digits
_MANY = 512  # numbers of pulls, of which every so many-th is looked at before the others
_APART = 16
_FEW = 16  # of which the terms are sooner computed one by one, with the same digits
_MANY_TERMS = 200  # of the continued fraction, which mostly needs less than fifty ...
_MOST_TERMS = 10**6  # ... and near the mean about √n
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


def _stirling_rest(x: Floats) -> Floats:
    """log Γ(x) − [(x − 1/2) log x − x + log(2π)/2], for x > 0."""
    x, rest = x.copy(), np.zeros_like(x)
    small = np.flatnonzero(x < 16.0)
    while small.size:  # by Γ(x+1) = x Γ(x)
        at = x[small]
        rest[small] += (at + 0.5) * np.log1p(1.0 / at) - 1.0
        x[small] = at + 1.0
        small = small[at < 15.0]
    y = 1.0 / (x * x)
    return rest + (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0)))) / x


def _deviance(x: Floats, mean: Floats, excess: Floats) -> Floats:
    """x log(x / mean) − excess, for excess = x − mean, which the caller knows to more digits than the difference."""
    v = excess / (x + mean)
    # log(x/mean) = 2 artanh(v), and its first term takes the excess away: 2xv − excess = excess · v.
    near = excess * v
    term = 2.0 * x * v
    for j in range(3, 25, 2):  # up to |v| = 0.1, what is left out is below rounding
        term = term * (v * v)
        near += term / j
    return np.where(np.abs(v) > 0.1, x * np.log(x / mean) - excess, near)


def _log_beta_over_powers(A: Floats, B: Floats, p: float, r: float, excess: Floats) -> Floats:
    """log[B(A, B) / (pᴬ rᴮ)] for r = 1 − p and excess = A − (A+B) p.

    Written as (A+B) KL(A/(A+B) ‖ p) and Stirling's small rests: the logarithms of the Beta function and of the powers
    are of the order of A+B, and their difference would keep no digit of it when A+B is 10⁹.
    """
    N = A + B
    distance = _deviance(A, N * p, excess) + _deviance(B, N * r, -excess)
    rests = _stirling_rest(A) + _stirling_rest(B) - _stirling_rest(N)
    return distance + rests + _HALF_LOG_2PI + 0.5 * (np.log(N / A) - np.log(B))


def _tail_over_powers(A: Floats, B: Floats, x: float, y: float, excess: Floats) -> Floats:
    """B(A, B) I_x(A, B) / (xᴬ yᴮ) for y = 1 − x and excess = A − (A+B) x ≥ 0; NaN should it not converge.

    The continued fraction of DiDonato and Morris (Algorithm 708, ACM TOMS 18, 1992), by Lentz's method. Its terms are
    given by the excess, so that nothing cancels.
    """
    if A.size <= _FEW:
        return np.array(
            [long_fraction(x, y, *given) for given in zip(A.tolist(), B.tolist(), excess.tolist(), strict=True)]
        )
    tails, which, going = np.empty(A.size), np.arange(A.size), np.ones(A.size, np.bool_)
    value = A / (A + 1.0) * (excess + 1.0)
    C, D = value.copy(), np.zeros_like(value)
    for n in range(1, _MANY_TERMS):
        # Operation by operation as in `long_fraction`, so that the same bits come out.
        m, longer, fewer = A + 2.0 * n, A + n, B - n
        less = m - 1.0
        a = (longer - 1.0) / less * ((A + B + n - 1.0) / less) * n * fewer * x * x
        b = n + n * fewer * x / less + longer / (m + 1.0) * (excess + 1.0 + n * (1.0 + y))
        D *= a
        D += b
        np.divide(a, C, out=C)
        C += b
        if not (D.all() and C.all()):
            D[D == 0.0], C[C == 0.0] = 1e-300, 1e-300
        np.divide(1.0, D, out=D)
        change = C * D
        value *= change
        found = (np.abs(change - 1.0) < 1e-15) & going
        if found.any():
            tails[which[found]] = 1.0 / value[found]
            going ^= found
            left = np.count_nonzero(going)
            if not left:
                return tails
            if 2 * left < going.size:  # not sooner: to leave some out takes as long as some terms of them
                which = which[going]
                A, B, excess, value, C, D = (each[going] for each in (A, B, excess, value, C, D))
                going = np.ones(left, np.bool_)
    for i, *given in zip(*(each[going].tolist() for each in (which, A, B, excess)), strict=True):
        tails[i] = long_fraction(x, y, *given)
    return tails


@kernel
def long_fraction(x: float, y: float, A: float, B: float, excess: float) -> float:
    """Return the fraction for one alone; near the mean of long samples it takes about √n terms."""
    b = A / (A + 1.0) * (excess + 1.0)
    value = b
    C = b
    D = 0.0
    for n in range(1, _MOST_TERMS):
        m, longer, fewer = A + 2.0 * n, A + n, B - n
        less = m - 1.0
        a = (longer - 1.0) / less * ((A + B + n - 1.0) / less) * n * fewer * x * x
        b = n + n * fewer * x / less + longer / (m + 1.0) * (excess + 1.0 + n * (1.0 + y))
        D = b + a * D
        if D == 0.0:
            D = 1e-300
        C = b + a / C
        if C == 0.0:
            C = 1e-300
        D = 1.0 / D
        change = C * D
        value *= change
        if abs(change - 1.0) < 1e-15:
            return 1.0 / value
    return math.nan


def _excess(n: Floats, k: Floats, p: float, r: float) -> Floats:
    """k − n p, to the digits of the rarer of success and failure."""
    return k - n * p if p <= 0.5 else n * r - (n - k)


def _log_part_over_powers(A: Floats, B: Floats, p: float, r: float, excess: Floats) -> Floats:
    """log[B(A, B) I_p(A, B) / (pᴬ rᴮ)] for r = 1 − p and excess = A − (A+B) p, by whichever tail is the smaller."""
    part = np.empty(A.size)
    few = excess <= 0.0
    if few.any():
        whole = _log_beta_over_powers(A[few], B[few], p, r, excess[few])
        above = _tail_over_powers(B[few], A[few], r, p, -excess[few])
        part[few] = whole + np.log1p(-above * np.exp(-whole))
    if not few.all():
        part[~few] = np.log(_tail_over_powers(A[~few], B[~few], p, r, excess[~few]))
    return part


def _log_mixture(n: Floats, k: Floats, p: float, r: float, strength: float, log_prior: float) -> Floats:
    """log M_n(k), for k < p n; for one n and k, `log_mixture`."""
    a = 0.5 * strength
    return _log_part_over_powers(a + k, a + (n - k), p, r, _excess(n, k, p, r) + a * (r - p)) - log_prior


def _log_below(n: Floats, k: Floats, p: float, r: float) -> tuple[Floats, Floats]:
    """log P(Bin(n, p) < k), and its slope in k, for 1 ≤ k ≤ n."""
    A, B = k, n - k + 1.0
    excess = _excess(n, k, p, r) - p
    whole = _log_beta_over_powers(A, B, p, r, excess)
    rare = excess <= 0.0
    log_below = np.empty(n.size)
    log_below[rare] = np.log(_tail_over_powers(B[rare], A[rare], r, p, -excess[rare])) - whole[rare]
    often = ~rare
    above = np.log(_tail_over_powers(A[often], B[often], p, r, excess[often])) - whole[often]
    log_below[often] = np.log1p(-np.exp(above))
    return log_below, np.exp(-whole - log_below) / (p * B)  # P(Bin = k−1) / P(Bin < k)


def _largest(
    n: Floats, low: Floats, high: Floats, guess: Floats, margin: Callable[[Floats, Floats], tuple[Floats, ...]]
) -> Ints:
    """For each n the largest k with a margin of at least 0, between `low`, which has one, and `high`, which has not.

    The margin of (n, k) falls in k. It comes with its slope, for Newton's method inside the bracket, and with what it
    surely falls by towards the neighbour that may have the other sign, so that this one need not be tried.
    """
    found = np.empty(n.size, np.int64)
    which, tries = np.arange(n.size), 0
    with np.errstate(all="ignore"):
        while True:
            going = high - low > 1.0
            found[which[~going]] = low[~going]
            which = which[going]
            n, low, high, guess = (each[going] for each in (n, low, high, guess))
            if not which.size:
                return found
            middle = low + np.floor((high - low) / 2.0)
            tried = np.floor(np.clip(guess, low + 1.0, high - 1.0))
            k = middle if tries > 8 else np.where(np.isnan(guess), middle, tried)  # if guessing takes long
            over, slope, fall = margin(n, k)
            enough = over >= 0.0  # not when it is NaN: a smaller rank is always valid
            low = np.where(enough, k, np.where(over + fall > _SURE, k - 1.0, low))
            high = np.where(enough, np.where(over - fall < -_SURE, k + 1.0, high), k)
            guess = k - over / np.minimum(slope, -1e-12)
            tries += 1


def _anytime_ranks(pulls: Ints, p: float, threshold: float, strength: float, log_prior: float) -> Ints:
    """q(n): one more than the largest k with log M_n(k) ≥ threshold. The pulls are given in ascending order."""
    r, ranks = 1.0 - p, np.zeros(pulls.size, np.int64)
    a, odds = 0.5 * strength, math.log(p / r)
    some = np.flatnonzero(-pulls * math.log1p(-p) >= threshold)  # M_n(0) is at most (1−p)⁻ⁿ
    n = pulls[some].astype(np.float64)

    def margin(n: Floats, k: Floats) -> tuple[Floats, Floats, Floats]:
        over = _log_mixture(n, k, p, r, strength, log_prior) - threshold
        A, B, enough = a + k, a + n - k, over >= 0.0
        # M_n(k+1) / M_n(k) is the mean of the odds of θ, against those of p, given k of n: without the truncation it
        # would be A / (B−1) against those of p, and the truncation leaves out the largest θ.
        fall = odds - np.log((A - ~enough) / (B - enough))
        return over, np.log((A + 0.5) / (B + 0.5)) - odds, fall

    def largest(n: Floats, guess: Floats) -> Ints:
        return _largest(n, np.full(n.size, -1.0), np.ceil(n * p), guess, margin)

    guess = n * p - np.sqrt(2.0 * n * p * r * (threshold + 0.5 * np.log1p(n / strength)))
    if n.size > _MANY:  # some of them tell where the others are: below n p by a multiple of √n that hardly changes
        few = np.append(np.arange(0, n.size - 1, _APART), n.size - 1)
        k = np.maximum(largest(n[few], guess[few]), 0).astype(np.float64)
        with np.errstate(all="ignore"):
            over, slope, _ = margin(n[few], k)
            below = (n[few] * p - (k - over / slope)) / np.sqrt(n[few])
        guess = n * p - np.sqrt(n) * np.interp(n, n[few], below)
    ranks[some] = largest(n, guess) + 1
    return ranks


def _fixed_ranks(pulls: Ints, p: float, threshold: float, normal: float) -> Ints:
    """The largest k with log P(Bin(n, p) < k) ≤ −threshold; `normal` is the normal quantile of the threshold."""
    r, n = 1.0 - p, pulls.astype(np.float64)

    def margin(n: Floats, k: Floats) -> tuple[Floats, Floats, Floats]:
        log_below, slope = _log_below(n, k, p, r)
        return -threshold - log_below, -slope, np.zeros(n.size)  # both neighbours are tried

    return _largest(n, np.zeros(n.size), n + 1.0, n * p + normal * np.sqrt(n * p * r), margin)


@overload
def anytime_rank(pulls: int, probability: float, delta: float, *, strength: float = ...) -> int: ...
@overload
def anytime_rank(pulls: AnyInts, probability: float, delta: float, *, strength: float = ...) -> Ints: ...
def anytime_rank(pulls: int | AnyInts, probability: float, delta: float, *, strength: float = STRENGTH) -> int | Ints:
    """q(n; p₀, δ'): with probability 1 − δ', a sum A_n of Bernoulli(≥ p₀) variables has A_n ≥ q(n) for all n at once.

    The mixture's prior is Beta(a, a) with a = strength / 2, truncated to [0, p₀]. Rounding errors can only lower a
    rank. A `probability` p₀ ≤ 0 promises nothing and has rank 0 throughout.

    >>> anytime_rank(100, 0.5, 0.01)
    33
    >>> anytime_rank(np.array([5, 10, 1000, 10**9]), 0.5, 0.01)
    array([        0,         1,       441, 499916192])
    """
    weight = _checked_strength(strength)

    def ranks(n: Ints, p: float, threshold: float) -> Ints:
        return _anytime_ranks(n, p, threshold, weight, log_prior_of(p, weight))

    return _each(ranks, pulls, probability, delta)


@overload
def fixed_rank(pulls: int, probability: float, delta: float) -> int: ...
@overload
def fixed_rank(pulls: AnyInts, probability: float, delta: float) -> Ints: ...
def fixed_rank(pulls: int | AnyInts, probability: float, delta: float) -> int | Ints:
    """The largest k with P(Bin(n, p₀) < k) ≤ δ': for a number of pulls n that was not chosen by looking at the data.

    A probability within a relative 10⁻⁹ of δ' counts as above it, so that rounding errors can only lower a rank.

    >>> fixed_rank(100, 0.5, 0.01), fixed_rank(100, 0.5, 0.99)
    (38, 62)
    >>> fixed_rank(np.array([5, 10, 1000, 10**9]), 0.5, 0.01)
    array([        0,         1,       463, 499963217])
    """

    def ranks(n: Ints, p: float, threshold: float) -> Ints:
        return _fixed_ranks(n, p, threshold, NormalDist().inv_cdf(math.exp(-threshold)))

    return _each(ranks, pulls, probability, delta)


def threshold_of(delta: float) -> float:
    """Return the logarithm of the wealth that a true null reaches with probability at most δ' (Ville)."""
    return -math.log(checked_delta(delta)) + _SAFETY


def _each(
    ranks: Callable[[Ints, float, float], Ints], pulls: int | AnyInts, probability: float, delta: float
) -> int | Ints:
    """The ranks for each number of pulls; the function that finds them is asked only where 0 < p₀ < 1."""
    n, p = _checked_pulls(pulls, "pulls (n)"), _checked_probability(probability)
    threshold = threshold_of(delta)
    if p <= 0.0:
        found = np.zeros(n.shape, np.int64)
    else:
        different, which = np.unique(n, return_inverse=True)  # many arms have as many pulls as others
        found = n if p == 1.0 else ranks(different, p, threshold)[which].reshape(n.shape)
    return int(found) if np.ndim(pulls) == 0 else found


def first_useful_pulls(
    probability: float, delta: float, *, strength: float = STRENGTH, taken: float = 0.0, anytime: bool = True
) -> int:
    """The smallest n with q(n) − ⌊taken · n⌋ ≥ 1, before which nothing is bounded, by either kind of rank.

    >>> first_useful_pulls(0.5, 0.01), first_useful_pulls(0.5, 0.01, taken=0.3)
    (9, 63)
    >>> first_useful_pulls(0.5, 0.01, anytime=False)
    7
    """
    p = _checked_probability(probability)

    def ranks(n: Ints) -> Ints:
        return anytime_rank(n, p, delta, strength=strength) if anytime else fixed_rank(n, p, delta)

    if p <= 0.0 or ranks(np.array([MOST_PULLS]))[0] <= taken_away(taken, MOST_PULLS):
        raise BadInput(
            f"probability must be large enough for some number of pulls, at most {MOST_PULLS:.0e}, to be useful with "
            f"delta (δ) = {delta!r}{f' when a share of {taken:g} is taken away' if taken else ''}; got {probability!r}"
        )
    lost = 0
    while True:
        n = _first_above(ranks, lost)
        if taken_away(taken, n) <= lost:
            return n
        lost = taken_away(taken, n)


def _first_above(ranks: Callable[[Ints], Ints], lost: int) -> int:
    """The first n with q(n) > lost, of ranks that never fall: between powers of 2, then between ever nearer numbers."""
    tried = np.minimum(2 ** np.arange(41), MOST_PULLS)
    low = 0
    while True:
        first = int(np.argmax(ranks(tried) > lost))
        low, high = int(tried[first - 1]) if first else low, int(tried[first])
        if high - low <= 1:
            return high
        tried = np.unique(np.linspace(low + 1, high, 50).astype(np.int64))


def rank_table(probability: float, delta: float, *, largest: int = 65536, strength: float = STRENGTH) -> Ints:
    """The anytime ranks q(n) for n up to `largest`, to be read by the kernel `read_rank` in nanoseconds.

    Entry j holds q(n_j) for n_j = ⌈(j/STEPS)²⌉, the smallest n with ⌊STEPS √n⌋ ≥ j. A rank that holds at n_j holds
    at every n ≥ n_j too, as A_n never falls; the table takes no more than √n/16 off the rank.

    >>> table = rank_table(0.5, 0.01)
    >>> read_rank(table, 100), read_rank(table, 1000), anytime_rank(1000, 0.5, 0.01)
    (33, 440, 441)
    """
    n = _checked_pulls(largest, "largest")
    p, _, weight = _checked_probability(probability), checked_delta(delta), _checked_strength(strength)
    return _rank_table(p, float(delta), int(n.ravel()[0]), weight).copy()  # the cached one belongs to nobody


@functools.lru_cache(maxsize=256)
def _rank_table(p: float, delta: float, largest: int, strength: float) -> Ints:
    # ⌊STEPS √n⌋ in floats, here and in `read_rank`, is never too small: n ≥ (j/STEPS)² has √n ≥ j/STEPS, which is a
    # float, and rounding keeps the order. It is never too large either: n < (j/STEPS)² is so by 1/STEPS² at least,
    # by which √n falls short of j/STEPS by a relative 1/(2 STEPS² n), more than rounding bridges for n < 10¹².
    last = int(STEPS * math.sqrt(largest))
    steps = np.arange(last + 1, dtype=np.int64)
    smallest = -(-steps * steps // STEPS**2)
    return np.maximum.accumulate(anytime_rank(smallest, p, delta, strength=strength))


@kernel
def read_rank(table: Ints, n: int) -> int:
    """A rank that holds at n, from a `rank_table`; from its end on, the last one, which stays valid."""
    rank: int = table[min(int(STEPS * math.sqrt(n)), table.size - 1)]
    return rank


@kernel
def taken_away(share: float, n: int) -> int:
    """⌊share · n⌋: how many of n observations an attacker takes afterwards (`Threat.taken`), from any rank.

    Of the share as it was written down: what rounding took off a decimal is put back, and a little more, so that never
    too few are taken.

    >>> taken_away(0.29, 100), int(0.29 * 100)
    (29, 28)
    """
    return math.floor(share * n * _ROUNDED_UP + 1e-9)


def taken_away_each(share: float, pulls: Ints) -> Ints:
    """`taken_away` for each number of observations.

    >>> taken_away_each(0.1, np.array([9, 10, 11, 20]))
    array([0, 1, 1, 2])
    """
    return np.asarray(np.floor(share * pulls * _ROUNDED_UP + 1e-9), np.int64)


@functools.lru_cache(maxsize=4096)
def log_prior_of(p: float, strength: float = STRENGTH) -> float:
    """log of B(a, a) I_p(a, a) / (pᵃ (1−p)ᵃ) for a = strength / 2, the constant that makes M_0 = 1."""
    a, r = np.array([0.5 * strength]), 1.0 - p
    return float(_log_part_over_powers(a, a, p, r, a * (r - p))[0])


def _checked_pulls(value: object, name: str) -> Ints:
    array = np.asarray(value)
    whole = isinstance(value, Integral) if array.ndim == 0 else np.issubdtype(array.dtype, np.integer)
    if not whole or isinstance(value, bool) or (array.size and not 0 <= array.min() <= array.max() <= MOST_PULLS):
        raise BadInput(f"{name} must be whole numbers from 0 to {MOST_PULLS:.0e}; got {value!r}")
    return array.astype(np.int64)


def _checked_probability(value: object) -> float:
    p = real_number(value, "probability (p₀)")
    if p > 1.0:
        raise BadInput(f"probability (p₀) must be at most 1; got {p!r}")
    return p


def _checked_strength(value: object) -> float:
    strength = real_number(value, "strength")
    if not _WEAKEST <= strength <= _STRONGEST:
        raise BadInput(f"strength must be between {_WEAKEST:g} and {_STRONGEST:g}; got {strength!r}")
    return strength


@kernel
def _stirling_rest_of_one(x: float) -> float:
    """`_stirling_rest` of one count."""
    rest = 0.0
    while x < 16.0:  # by Γ(x+1) = x Γ(x)
        rest += (x + 0.5) * math.log1p(1.0 / x) - 1.0
        x += 1.0
    y = 1.0 / (x * x)
    return rest + (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0)))) / x


@kernel
def _deviance_of_one(x: float, mean: float, excess: float) -> float:
    """`_deviance` of one count."""
    v = excess / (x + mean)
    if abs(v) > 0.1:
        return x * math.log(x / mean) - excess
    # log(x/mean) = 2 artanh(v), and its first term takes the excess away: 2xv − excess = excess · v.
    total = excess * v
    term = 2.0 * x * v
    j = 3
    while True:
        term *= v * v
        longer = total + term / j
        if longer == total:
            return total
        total = longer
        j += 2


@kernel
def _log_beta_over_powers_of_one(A: float, B: float, p: float, r: float, excess: float) -> float:
    """`_log_beta_over_powers` of one count."""
    N = A + B
    distance = _deviance_of_one(A, N * p, excess) + _deviance_of_one(B, N * r, -excess)
    rests = _stirling_rest_of_one(A) + _stirling_rest_of_one(B) - _stirling_rest_of_one(N)
    return distance + rests + _HALF_LOG_2PI + 0.5 * (math.log(N / A) - math.log(B))


@kernel
def _excess_of_one(n: int, k: int, p: float, r: float) -> float:
    """`_excess` of one count."""
    if p <= 0.5:
        return k - n * p
    return n * r - (n - k)


@kernel
def _log_part_over_powers_of_one(A: float, B: float, p: float, r: float, excess: float) -> float:
    """`_log_part_over_powers` of one count."""
    if excess > 0.0:
        return math.log(long_fraction(p, r, A, B, excess))
    whole = _log_beta_over_powers_of_one(A, B, p, r, excess)
    above = long_fraction(r, p, B, A, -excess)
    return whole + math.log1p(-above * math.exp(-whole))


@kernel
def log_mixture(n: int, k: int, p: float, r: float, strength: float, log_prior: float) -> float:
    """log M_n(k), for k < p n and r = 1 − p; the prior's constant is that of `log_prior_of`."""
    a = 0.5 * strength
    return _log_part_over_powers_of_one(a + k, a + (n - k), p, r, _excess_of_one(n, k, p, r) + a * (r - p)) - log_prior
