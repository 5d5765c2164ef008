"""The contract of a kind of statistic; each has a module of its own, and `evidence.statistics` lists them.

Samples hold the inner values of a quantile, as quantiles commute with monotone maps. Means do not: samples hold values
that were scaled to y in [0, 1] (to σ's units for a known deviation), larger is better, and `inner_of_mean` brings the
ends of the interval of their mean to inner values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.objectives import Objective
from frontguard.theory.threats import Threat

if TYPE_CHECKING:
    from frontguard.evidence.measurements import Ordered

LARGEST = 2**20
"""Pulls of an arm up to which ranks are tabulated. Beyond it intervals stay valid but hardly shrink."""

DOUBT = 0.5
"""Standard errors of a point estimate that count as doubt when candidates are chosen."""

AT_ZERO, SLOPE, SIGN, RELATIVE, SIGMA = range(5)
"""Columns of scales (M, 5): a metric's mean is x = at_zero + slope · y, the inner one ± x or, relative, ± log x."""


class Statistic(NamedTuple):
    """The statistic of one objective."""

    kind: int = 0  # its place among `statistics.KINDS`
    level: float = 0.5  # of a quantile, among inner values
    scale: tuple[float, float, float, float, float] = (0.0, 1.0, 1.0, 0.0, 1.0)  # see `AT_ZERO`
    spread: bool = True  # whether a bound R, where there is one, speaks of these values


class RankBound(NamedTuple):
    """Order statistics that bound something from either side, and their part of δ'."""

    below: float  # the probability of an observation at or below what is bounded from below …
    above: float  # … and of one at or above what is bounded from above
    cost: float  # R(t), by which the bound is moved
    weight: float  # the part of δ'


class IntervalRule(NamedTuple):
    """By what intervals are read off sorted samples: for each of M objectives S bounds by ranks, and the rest."""

    low_ranks: Ints  # (M, S, T): tables for `read_rank`, from below, each with its weight's part of δ' ...
    high_ranks: Ints  # ... and from above
    costs: Floats  # (M, S): R(t), by which each is moved
    low_keep: Floats  # (M, S): the shares of observations that chance leaves to either side, from below ...
    high_keep: Floats  # ... and from above
    quantiles: Floats  # (M,)
    taken: Floats  # (M,): the share of the observations that is taken from every rank, see `Threat.taken`
    kinds: Ints  # (M,): places in `statistics.KINDS`
    scales: Floats  # (M, 5): of means, see `AT_ZERO`
    thresholds: Floats  # (M,): log(1/δ') of each end, and log(1/(2δ')) of both of a mean with a known deviation
    best: int  # that row; −1 where there is none, or none is read
    surviving: Floats  # (M, 2): keep(μ) = surviving[d, 0] · μ − surviving[d, 1]
    log_weights: Floats  # (M, S): of the evidence of each shift in the mean of all; −∞ for those that are not used
    log_priors: Floats  # (M, S): see `refuted_below`; of `low_keep`, which is the other where there are shifts


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


class LogLook:
    """The threat model, and the pulls of n arms to read intervals for, or more like them (`least` each)."""

    def __init__(self, threat: Threat, have: Ints, least: int = 0) -> None:
        self.threat, self.least = threat, least
        self.pulls = np.maximum(have, least)
        self.shrink = have / np.maximum(self.pulls, 1) if least else np.ones(len(have))  # what there is of these pulls
        self.ranks: dict[tuple[float, float, float], Ints] = {}  # found already, by what is kept and taken, and δ'

    def of(self, column: int) -> LogLook:
        """Return the look under the threat to one column."""
        return self.under(self.threat.of(column)) if self.threat.by_column else self

    def under(self, threat: Threat) -> LogLook:
        """Return the look under another threat."""
        other = copy(self)
        other.threat = threat
        return other

    @cached_property
    def distinct(self) -> tuple[Ints, Ints]:
        """The different numbers of pulls, and which of them is each arm's."""
        distinct, which = np.unique(self.pulls, return_inverse=True)
        return distinct, which


class Kind:
    """A kind of statistic, and how it is read off one objective of a sorted log."""

    name: ClassVar[str]

    @classmethod
    def of(cls, objective: Objective) -> Statistic | None:
        """Return what counts of an objective, if it is of this kind; `statistics.statistic_of` fills in its place."""
        raise NotImplementedError

    @classmethod
    def rows(cls, statistic: Statistic, shifts: Sequence[tuple[float, float]]) -> list[RankBound]:
        """Return the ranks that intervals of growing samples rest on; of `shifts` (t, R(t)) a median makes use."""
        return []

    @classmethod
    def first_bounded(cls, rule: IntervalRule, d: int) -> list[int | None]:
        """For both ends of the interval of growing samples, the good pulls before which it is not bounded; or None."""
        return [1, 1]

    def __init__(self, log: Ordered, metric: int, objective: Objective, arms: Ints, *, anytime: bool) -> None:
        self.log, self.metric, self.objective, self.arms, self.anytime = log, metric, objective, arms, anytime
        self.pulls, self.good = log.pulls[arms], log.good[metric][arms]
        self._middles: dict[float, Floats] = {}  # quantiles by level, of arms that have any value

    def first_of_log(self, threat: Threat, share: float) -> list[int | None]:
        """Return the first bounded pulls of a log, where each end fails with probability `share`."""
        return [1, 1]

    @property
    def nothing(self) -> tuple[float, float] | None:
        """The interval of an arm of which pulls tell nothing; None if what it lacks is not pulls."""
        return None

    def interval(self, look: LogLook, share: float) -> tuple[Floats, Floats]:
        """Both inner ends (n,), which fail with probability 2 `share` together."""
        raise NotImplementedError

    def centre(self, shrink: Floats) -> tuple[Floats, Floats, Floats]:
        """Point estimates (n,), and how far sampling noise may have moved them, as growing samples have them: means."""
        return self.about_mean(shrink)

    def raw(self, some: Ints, ranks: Ints, side: int = 0) -> Floats:
        """The values of some of the arms at ranks from the lowest, in the metric's own units; see `Ordered.at`."""
        return self.log.at(self.metric, self.arms[some], ranks, side)

    def at(self, some: Ints, places: Ints, side: int = 0) -> Floats:
        """The inner values of some of the arms at places counted from the inner lowest."""
        if self.objective.minimized:
            places, side = self.good[some] - 1 - places, -side
        return self.objective.inward(self.raw(some, places + 1, side))

    def inner_interval(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The inner ends of a mean that lies between these, in the metric's own units."""
        ends = inner_of_means(low, self.objective), inner_of_means(high, self.objective)
        return (ends[1], ends[0]) if self.objective.minimized else ends

    def bound(self, ranks: Ints, *, above: bool) -> Floats:
        """Inner values of these ranks from below, or from above; infinite where a rank is below 1."""
        bound = np.full(len(ranks), np.inf if above else -np.inf)
        known = np.flatnonzero((ranks >= 1) & (self.good > 0))  # what goes on in thought must have begun
        steps = ranks[known] - 1
        places = self.good[known] - 1 - steps if above else steps
        bound[known] = self.at(known, places, 1 if above else -1)
        return bound

    def about_mean(self, shrink: Floats) -> tuple[Floats, Floats, Floats]:
        """The means (n,) as inner values, and how far sampling noise may have moved them; −∞ where all failed."""
        some = np.flatnonzero(self.good)
        mean, sign = self.means[some], -1.0 if self.objective.minimized else 1.0
        doubt = DOUBT * self._errors[some] * np.sqrt(shrink[some]) * sign
        return self.filled(some, *(inner_of_means(each, self.objective) for each in (mean, mean - doubt, mean + doubt)))

    def about_quantile(self, level: float, shrink: Floats) -> tuple[Floats, Floats, Floats]:
        """The quantiles (n,) of inner values, and the ranks around them that sampling noise reaches; −∞ likewise."""
        some = np.flatnonzero(self.good)
        have = self.good[some]
        middle = level * (have - 1)
        if level not in self._middles:  # where more pulls are imagined, it is the same
            below, above = np.floor(middle).astype(np.int64), np.ceil(middle).astype(np.int64)
            self._middles[level] = 0.5 * self.at(some, below) + 0.5 * self.at(some, above)
        reach = DOUBT * np.sqrt(have * level * (1.0 - level)) * np.sqrt(shrink[some])
        lowest = np.maximum(0, np.floor(middle - reach).astype(np.int64))
        highest = np.minimum(have - 1, np.ceil(middle + reach).astype(np.int64))
        return self.filled(some, self._middles[level], self.at(some, lowest), self.at(some, highest))

    def filled(self, some: Ints, *values: Floats) -> tuple[Floats, Floats, Floats]:
        """Columns (n,) with these values of some of the arms, and −∞ elsewhere."""
        columns = np.full((3, len(self.pulls)), -np.inf)
        columns[:, some] = values
        return columns[0], columns[1], columns[2]

    @cached_property
    def means(self) -> Floats:
        """The means (n,), in the metric's own units."""
        return self.log.mean(self.metric)[self.arms]

    @cached_property
    def _errors(self) -> Floats:
        return self.log.standard_errors(self.metric)[self.arms]
