"""Bounds on the mean of values ξ in [0, 1] as functions of the values: `evidence.means` has them of sums."""

from __future__ import annotations

import numpy as np

from frontguard._common.typing import Floats
from frontguard.evidence.means import (
    BETS,
    RATES_SHARE,
    THETAS,
    highest_rate,
    threshold_of,
    unrefuted_mean,
    weights_for,
)


def sums_of_bets(xi: Floats) -> Floats:
    """S_l (BETS,) of values ξ (n,) in [0, 1], in any order.

    >>> from frontguard.evidence.means import WORST
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
    return _highest(xi, delta, one_look=False)


def upper_mean_at(xi: Floats, delta: float) -> float:
    """With probability 1 − δ' the mean of ξ, values (n,) in [0, 1], is at most this, at one n that was fixed before.

    >>> round(upper_mean_at(np.zeros(100), 0.01), 3), round(upper_mean_at(np.full(100, 0.5), 0.01), 3)
    (0.058, 0.532)
    """
    values = np.asarray(xi, np.float64)
    by_bets = _highest(values, (1.0 - RATES_SHARE) * delta, one_look=True)
    if not np.isin(values, (0.0, 1.0)).all():
        return by_bets
    ones = np.array([values.sum()])
    return min(by_bets, float(highest_rate(ones, np.array([float(len(values))]), RATES_SHARE * delta)[0]))


def _highest(xi: Floats, delta: float, *, one_look: bool) -> float:
    threshold = threshold_of(delta)
    weights = weights_for(float(len(xi)), threshold, one_look)
    return float(unrefuted_mean(sums_of_bets(np.asarray(xi, np.float64)), float(len(xi)), threshold, weights))
