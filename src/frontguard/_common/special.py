"""A few functions of statistics, for single numbers, where they are all that a command would load scipy for.

scipy has them all, for arrays and for every corner; to import its part for them takes a fifth of a second, longer than
many a log takes to be read. The tests hold these against it.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_STANDARD = NormalDist()


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
