"""Bets that aim at one number of values: the mean of independent values in [0, 1], looked at once, where nobody lies.

To reach 1/δ' at the last of n values, and no later, a bet is λ = √(2 log(1 / (δ' W)) / (left σ²)), with W the wealth so
far, so that the bound is hardly wider than that of normal theory (V. Voráček, F. Orabona, "STaR-Bets", 2025). Not all
means above a refuted one need be refuted, so each of a fixed grid is looked at, from 1 downwards. λ looks at values:
these bets count where ε is 0. Proof: docs/theory.md, (ee).
"""

from __future__ import annotations

import math

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats

MOST_VALUES = 200_000
"""Ordered pairs of arms in all metrics, times n, up to which bets aim: two seconds."""

_GRID = 256.0  # points of the grid, times √n
_NEARLY_ALL = 0.99  # of the wealth, what a single value may take
_LEAST_VARIANCE = 1e-6


@kernel
def _refutes(values: Floats, c: float, threshold: float) -> bool:
    """True if the wealth of bets against a mean of c or more ever reaches the threshold, its logarithm."""
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
