"""The kinds of statistics: `KINDS` lists them, a module each; kernels below choose among them for growing samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.exact import ExactValue, exact_interval
from frontguard.evidence.kinds import IntervalRule, Kind, Statistic
from frontguard.evidence.means import BoundedMean, lasting_mean, mean_and_doubt, mean_interval
from frontguard.evidence.normals import NormalMean, lasting_normal, normal_interval
from frontguard.evidence.quantiles import Quantile, quantile_and_doubt
from frontguard.evidence.samples import Record, Samples
from frontguard.objectives import Objective

KINDS: tuple[type[Kind], ...] = (Quantile, BoundedMean, NormalMean, ExactValue)
QUANTILE, BOUNDED_MEAN, NORMAL_MEAN, EXACT = range(len(KINDS))
"""What `Statistic.kind` may be."""


@kernel
def interval_of(
    samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int, foreseen: float
) -> tuple[float, float]:
    """The interval of what counts, but for quantiles, whose shifts have one each; empty if it was refuted."""
    if rule.kinds[d] == EXACT:
        return exact_interval(samples, record)
    if rule.kinds[d] == NORMAL_MEAN:
        return normal_interval(samples, record, pulls, rule, d, foreseen)
    return mean_interval(samples, record, pulls, rule, d, foreseen)


@kernel
def lasting_of(samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int) -> tuple[float, float]:
    """Return what is left of the interval if the sample goes on like this for ever."""
    if rule.kinds[d] == BOUNDED_MEAN:
        return lasting_mean(samples, record, pulls, rule, d)
    if rule.kinds[d] == NORMAL_MEAN:
        return lasting_normal(samples, record, pulls, rule, d)
    return -np.inf, np.inf


@kernel
def estimate_of(samples: Samples, record: Record, rule: IntervalRule, d: int) -> tuple[float, float, float]:
    """The point estimate of a column that has values, and how far sampling noise may have moved it."""
    if rule.kinds[d] == BOUNDED_MEAN or rule.kinds[d] == NORMAL_MEAN:
        return mean_and_doubt(samples, record, rule.scales[d])
    return quantile_and_doubt(samples, record, rule.quantiles[d])


def statistic_of(objective: Objective) -> Statistic:
    """Return the statistic of an objective.

    >>> statistic_of(Objective("stars", "maximize", statistic="mean", bounds=(1, 5))).scale
    (1.0, 4.0, 1.0, 0.0, 1.0)
    """
    found = ((number, kind.of(objective)) for number, kind in enumerate(KINDS))
    return next(statistic._replace(kind=number) for number, statistic in found if statistic is not None)


def statistics_of(objectives: Iterable[Objective]) -> tuple[Statistic, ...]:
    """Return the statistic of each objective."""
    return tuple(statistic_of(objective) for objective in objectives)


def least_level(statistic: Statistic) -> float:
    """The least probability of an event that a bound of it counts, from either side; 1/2 of means."""
    rows = KINDS[statistic.kind].rows(statistic, ())
    return min((min(row.below, row.above) for row in rows), default=0.5)


def noisy(statistics: Iterable[Statistic]) -> int:
    """Return how many of them are not exact, and so share δ; at least one, so that it can be divided by."""
    return max(1, sum(each.kind != EXACT for each in statistics))


MANY = 5
"""Arms from which on it pays that the best one has an end of its own."""


class Shares(NamedTuple):
    """Shares of δ: the probabilities with which ends of intervals may be false."""

    each: float  # of either end, for each arm and each statistic that is not exact
    best: float = 0.0  # of the upper end that holds of the best arm; 0 where there is none


def shares_of_ends(delta: float, arms: int, counted: Sequence[Statistic], *, one_best: bool = False) -> Shares:
    """Share δ equally by arms, sides and statistics that are not exact.

    With `one_best`, and one statistic of several arms, half of δ is for an upper end that holds of the best arm: as one
    arm is the best, whichever it is, that end costs nothing for the number of arms (docs/theory.md, (dd)).

    >>> shares_of_ends(0.1, 5, [Statistic()]), shares_of_ends(0.1, 5, [Statistic()], one_best=True)
    (Shares(each=0.01, best=0.0), Shares(each=0.005, best=0.05))
    """
    each = delta / (2.0 * arms * noisy(counted))
    if not one_best or arms < MANY or len(counted) > 1 or counted[0].kind == EXACT:
        return Shares(each)
    # Both ends of a mean with a known deviation rest on one event, of which either may have all.
    return Shares(0.5 * each, (0.25 if counted[0].kind == NORMAL_MEAN else 0.5) * delta)


def kinds_and_scales(statistics: Iterable[Statistic]) -> tuple[Ints, Floats]:
    """Kinds (M,) and scales (M, 5), as kernels read them."""
    each = tuple(statistics)
    return np.array([one.kind for one in each], np.int64), np.array([one.scale for one in each], np.float64)
