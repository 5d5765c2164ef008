"""Bounds on the mean of values ξ in [0, 1] as functions of the values: `evidence.bets` has them of sums."""

from __future__ import annotations

import numpy as np

from frontguard._common.typing import Floats
from frontguard.evidence.bets import BETS, LOG_WEIGHTS, THETAS, unrefuted_at_once, unrefuted_mean
from frontguard.evidence.confidence_sequences import threshold_of
from frontguard.evidence.differences.lists import hidden_at
from frontguard.evidence.differences.pairs import PairRule, unrefuted_difference, upper_differences
from frontguard.evidence.means import highest_rate


def sums_of_bets(xi: Floats) -> Floats:
    """S_l (BETS,) of values ξ (n,) in [0, 1], in any order.

    >>> from frontguard.evidence.bets import WORST
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
    return float(
        unrefuted_mean(sums_of_bets(np.asarray(xi, np.float64)), float(len(xi)), threshold_of(delta), LOG_WEIGHTS)
    )


def upper_difference(better: Floats, worse: Floats, taken: int, rule: PairRule) -> float:
    """An upper bound of the difference of two means in [0, 1], by values (n,) on the same blocks; NaN where one failed.

    >>> from frontguard import Objective, Prescient
    >>> from frontguard.evidence.differences.pairs import pair_rule
    >>> from frontguard.evidence.statistics import statistics_of
    >>> score = Objective("score", "maximize", statistic="mean", bounds=(0, 1))
    >>> rule = pair_rule(Prescient(0.0), statistics_of([score]), pairs=2, delta=0.05)
    >>> upper_difference(np.empty(0), np.empty(0), 0, rule)
    1.0
    """
    seen = (1.0 + np.where(np.isnan(better), 1.0, better) - np.where(np.isnan(worse), 0.0, worse)) / 2.0
    hidden = hidden_at(rule.hits, 0.0, len(seen)) if rule.items else np.zeros(len(seen) + 1)
    nu = unrefuted_difference(seen, hidden, taken, 1.0, rule)
    return float(upper_differences(np.array([nu]), rule._replace(reach=np.ones(1)), 0)[0])


def upper_mean_at(xi: Floats, delta: float) -> float:
    """With probability 1 − δ' the mean of ξ, values (n,) in [0, 1], is at most this, at one n that was fixed before.

    >>> round(upper_mean_at(np.zeros(100), 0.01), 3), round(upper_mean_at(np.full(100, 0.5), 0.01), 3)
    (0.045, 0.529)
    """
    values = np.asarray(xi, np.float64)
    if not np.isin(values, (0.0, 1.0)).all():
        seen = sums_of_bets(values), float(len(values)), float(values.mean()), float(values.var())
        return float(unrefuted_at_once(*seen, threshold_of(delta)))
    return float(highest_rate(np.array([values.sum()]), np.array([float(len(values))]), delta)[0])
