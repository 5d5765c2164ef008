"""The evidence of one count, M_n(k) of `evidence.boundaries`, for kernels: that one has it for many counts at once."""

from __future__ import annotations

import math

from frontguard._common.compiled import kernel
from frontguard.evidence.boundaries import long_fraction

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@kernel
def _stirling_rest(x: float) -> float:
    """log Γ(x) − [(x − 1/2) log x − x + log(2π)/2], for x > 0."""
    rest = 0.0
    while x < 16.0:  # by Γ(x+1) = x Γ(x)
        rest += (x + 0.5) * math.log1p(1.0 / x) - 1.0
        x += 1.0
    y = 1.0 / (x * x)
    return rest + (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0)))) / x


@kernel
def _deviance(x: float, mean: float, excess: float) -> float:
    """x log(x / mean) − excess, for excess = x − mean, which the caller knows to more digits than the difference."""
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
def _log_beta_over_powers(A: float, B: float, p: float, r: float, excess: float) -> float:
    """log[B(A, B) / (pᴬ rᴮ)] for r = 1 − p and excess = A − (A+B) p.

    Written as (A+B) KL(A/(A+B) ‖ p) and Stirling's small rests: the logarithms of the Beta function and of the powers
    are of the order of A+B, and their difference would keep no digit of it when A+B is 10⁹.
    """
    N = A + B
    distance = _deviance(A, N * p, excess) + _deviance(B, N * r, -excess)
    rests = _stirling_rest(A) + _stirling_rest(B) - _stirling_rest(N)
    return distance + rests + _HALF_LOG_2PI + 0.5 * (math.log(N / A) - math.log(B))


@kernel
def _excess(n: int, k: int, p: float, r: float) -> float:
    """k − n p, to the digits of the rarer of success and failure."""
    if p <= 0.5:
        return k - n * p
    return n * r - (n - k)


@kernel
def _log_part_over_powers(A: float, B: float, p: float, r: float, excess: float) -> float:
    """log[B(A, B) I_p(A, B) / (pᴬ rᴮ)] for r = 1 − p and excess = A − (A+B) p, by whichever tail is the smaller."""
    if excess > 0.0:
        return math.log(long_fraction(p, r, A, B, excess))
    whole = _log_beta_over_powers(A, B, p, r, excess)
    above = long_fraction(r, p, B, A, -excess)
    return whole + math.log1p(-above * math.exp(-whole))


@kernel
def log_mixture(n: int, k: int, p: float, r: float, strength: float, log_prior: float) -> float:
    """log M_n(k), for k < p n and r = 1 − p; the prior's constant is that of `boundaries.log_prior_of`."""
    a = 0.5 * strength
    return _log_part_over_powers(a + k, a + (n - k), p, r, _excess(n, k, p, r) + a * (r - p)) - log_prior
