"""What of an arm's values counts: a quantile, a mean of values with known bounds or a known deviation, or the value.

Quantiles commute with monotone maps, so that of them samples hold inner values. Means do not: samples hold the values
scaled to y in [0, 1] (by σ's units for a known deviation), larger is better, and the ends of the interval of their mean
are brought to inner values, which `inner_of_mean` does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.objectives import Objective

KINDS = ("quantile", "bounded mean", "normal mean", "exact value")
"""Kinds of statistics, each with a module of its own: `quantiles`, `means`, `normals` and `exact`."""

QUANTILE, BOUNDED_MEAN, NORMAL_MEAN, EXACT = range(len(KINDS))
"""What `Statistic.kind` may be."""

LARGEST = 2**20
"""Pulls of an arm up to which ranks are tabulated. Beyond it intervals stay valid but hardly shrink."""

DOUBT = 0.5
"""Standard errors of a point estimate that count as doubt when candidates are chosen."""

AT_ZERO, SLOPE, SIGN, RELATIVE, SIGMA = range(5)
"""Columns of scales (M, 5): a metric's mean is x = at_zero + slope · y, the inner one ± x or, relative, ± log x."""


class Statistic(NamedTuple):
    """What counts of the values of one objective."""

    kind: int = QUANTILE
    level: float = 0.5  # of a quantile, among inner values
    scale: tuple[float, float, float, float, float] = (0.0, 1.0, 1.0, 0.0, 1.0)  # of a mean, see `AT_ZERO`
    spread: bool = True  # whether a bound R, where there is one, speaks of these values


def statistic_of(objective: Objective) -> Statistic:
    """What counts of an objective's values.

    >>> statistic_of(Objective("stars", "maximize", statistic="mean", bounds=(1, 5))).scale
    (1.0, 4.0, 1.0, 0.0, 1.0)
    """
    sign, relative = -1.0 if objective.minimized else 1.0, float(objective.relative)
    if objective.exact:
        return Statistic(EXACT)
    if objective.statistic != "mean":
        return Statistic(QUANTILE, objective.inner_quantile)
    if objective.bounds is None:
        return Statistic(NORMAL_MEAN, scale=(0.0, sign, sign, relative, float(objective.sigma or 0.0)))
    low, high = objective.bounds
    at_zero, slope = (high, low - high) if objective.minimized else (low, high - low)
    return Statistic(BOUNDED_MEAN, scale=(at_zero, slope, sign, relative, 1.0))


def statistics_of(objectives: Iterable[Objective]) -> tuple[Statistic, ...]:
    """What counts of each objective's values."""
    return tuple(statistic_of(objective) for objective in objectives)


def noisy(statistics: Iterable[Statistic]) -> int:
    """How many of them are not exact, and so share δ; at least one, so that it can be divided by."""
    return max(1, sum(each.kind != EXACT for each in statistics))


def kinds_and_scales(statistics: Iterable[Statistic]) -> tuple[Ints, Floats]:
    """Kinds (M,) and scales (M, 5), as kernels read them."""
    each = tuple(statistics)
    return np.array([one.kind for one in each], np.int64), np.array([one.scale for one in each], np.float64)


@kernel
def inner_of_mean(y: float, scale: Floats) -> float:
    """The inner value of a mean y of what samples hold; infinite where a percentage of it would mean nothing."""
    x = scale[AT_ZERO] + scale[SLOPE] * y
    if scale[RELATIVE] == 1.0:
        x = math.log(x) if x > 0.0 else -np.inf
    inner: float = scale[SIGN] * x
    return inner


def inner_of_means(means: Floats, objective: Objective) -> Floats:
    """`inner_of_mean` of many means, which are given in the metric's own units.

    >>> cost = Objective("cost", "minimize", "5%", statistic="mean", bounds=(0, 9))
    >>> inner_of_means(np.array([0.0, 2.0]), cost).round(4).tolist()
    [inf, -0.6931]
    """
    inner = means
    if objective.relative:
        inner = np.full(means.shape, -np.inf)
        np.log(means, out=inner, where=means > 0.0)
    return -inner if objective.minimized else inner
