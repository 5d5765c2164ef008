"""A few functions of statistics, for single numbers, where they are all that a command would load scipy for.

scipy has them all, for arrays and for every corner; to import its part for them takes a fifth of a second, longer than
many a log takes to be read. The tests hold these against it.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_STANDARD = NormalDist()
_TINY = 1e-300


def normal_quantile(p: float) -> float:
    """The z below which a standard normal value lies with probability p, 0 < p < 1.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return _STANDARD.inv_cdf(p)


def chi_square_tail(freedom: int, x: float) -> float:
    """P(χ² ≥ x) with so many degrees of freedom, a whole number: then it is a finite sum of positive terms.

    >>> round(chi_square_tail(1, 3.841459), 6), round(chi_square_tail(4, 9.487729), 6)
    (0.05, 0.05)
    """
    if x <= 0.0:
        return 1.0
    y, half = 0.5 * x, freedom % 2 / 2.0
    log = math.log(y)
    # Q(s, y) = Q(s − 1, y) + yˢ⁻¹ e⁻ʸ / Γ(s), down to Q(½, y) = erfc(√y), or to Q(0, y) = 0.
    terms = (math.exp((k + half) * log - y - math.lgamma(k + half + 1.0)) for k in range(freedom // 2))
    return min(1.0, math.fsum(terms) + (math.erfc(math.sqrt(y)) if half else 0.0))


def log_beta(a: float, b: float) -> float:
    """log B(a, b).

    >>> round(log_beta(2.0, 3.0), 12) == round(math.log(1 / 12), 12)
    True
    """
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def beta_share(a: float, b: float, x: float) -> float:
    """I_x(a, b), the probability that a Beta(a, b) value is at most x, 0 < x < 1.

    >>> round(beta_share(2.0, 3.0, 0.5), 12)
    0.6875
    """
    if x > (a + 1.0) / (a + b + 2.0):  # the fraction of the other side ends sooner
        other = beta_share(b, a, 1.0 - x)
        if other < 0.5:  # or digits would be lost
            return 1.0 - other
    scale = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta(a, b)) / a
    # The continued fraction of DLMF 8.17.22, from its beginning (Lentz, as Thompson and Barnett changed it).
    c, d = 1.0, 1.0 / _not_zero(1.0 - (a + b) * x / (a + 1.0))
    found = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = found
        for part in (even, odd):
            d, c = 1.0 / _not_zero(1.0 + part * d), _not_zero(1.0 + part / c)
            found *= d * c
        if abs(found - before) <= 1e-16 * abs(found):
            break
    return scale * found


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
