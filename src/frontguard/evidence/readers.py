"""Intervals of sorted measurements: for every arm and objective an interval that contains what counts of it.

They are read of all arms at once, at one look or at any, where a policy reads those of an arm whenever it was measured
(`evidence.intervals`, with the proof). At one look: with n pulls and the quantile of inner level p, the bounds are the
observations of the ranks q(n; keep(p), δ') from below and q(n; keep(1−p), δ') from above, where δ' = δ / (2 M K) and M
counts the objectives that are not exact, so that all intervals hold at once with probability 1 − δ. Where any share of
the rows may be wrong (`Threat.taken`), so many are taken from every rank. What is stored are raw values in ascending
order. Quantiles commute with monotone maps, so directions and logarithms are applied to the K values that are read,
never to all: for a minimised objective the sides change places. Failed pulls count in n, and stand at −∞ for L and at
+∞ for H.

The mean of values with known bounds has the interval that bets leave of it (`evidence.means`) and, for one look at
values that are all 0 or 1, the narrower of it and the exact binomial one, with a part of δ' each; that of values with a
known deviation the one of a normal law's tail, or of a mixture for many looks, where nothing failed and ε = 0; and an
exact value is its own interval, unless two different ones were measured: then nothing is known.

For another ε only ranks change, and of a mean only what keep makes of the same bets, unless any share is taken: then
these are added up anew from the sums of blocks. `IntervalReader` keeps what does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np

from frontguard._common.checks import checked_delta
from frontguard._common.compiled import kernel
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.confidence_sequences import anytime_rank, first_useful_pulls, fixed_rank, taken_away_each
from frontguard.evidence.intervals import ArmIntervals
from frontguard.evidence.means import (
    RATES_SHARE,
    first_informative,
    highest_rate,
    normal_reach,
    threshold_of,
    unrefuted_mean,
    weights_for,
)
from frontguard.evidence.measurements import Ordered, in_parts
from frontguard.evidence.statistics import BOUNDED_MEAN, DOUBT, EXACT, NORMAL_MEAN, inner_of_means, noisy, statistics_of
from frontguard.objectives import Objective
from frontguard.theory.threats import Threat, checked_threat

_FEW = 256  # numbers of pulls of which the ranks are kept
_AT_ONCE = 1 << 16  # arms whose sums of bets are in memory together
_RATE = (0.0, 1.0)  # bounds between which values may well be 0 and 1 alone


@dataclass(frozen=True, eq=False)
class Ahead:
    """The pulls that intervals are read for: those that the arms have, or more in the same proportions."""

    pulls: Ints  # (n,)
    shrink: Floats  # (n,): what they have of these
    least: int = 0  # that each has, where more are foreseen

    @cached_property
    def distinct(self) -> tuple[Ints, Ints]:
        """The different numbers of pulls, and which of them is each arm's."""
        distinct, which = np.unique(self.pulls, return_inverse=True)
        return distinct, which


class IntervalReader:
    """Reads intervals off one sorted log for any threat model; nothing is sorted, and nothing read twice from the
    source.

    All intervals hold at once with probability 1 − δ under the threat model. The ranks are those for numbers of pulls
    that were not chosen by looking at the values; with `anytime` those that hold at every number of pulls, for a log
    that was looked at while it grew. `among` restricts what is read to some arms; δ is shared by all arms of the log
    nevertheless.

    >>> from frontguard import Prescient
    >>> values = np.concatenate([np.arange(100.0), np.arange(50.0)])
    >>> log = Ordered(["a", "b"], ("seconds",), np.array([100, 60]), np.array([[0, 100, 150]]), (values,))
    >>> intervals = IntervalReader(log, [Objective("seconds", "minimize")], 0.05).read(Prescient(0.1))
    >>> intervals.lower[:, 0].tolist(), intervals.upper[:, 0].tolist()  # ten pulls of b failed
    ([-66.0, -42.0], [-33.0, -7.0])
    """

    of_intervals = 1.0
    """Of δ, what intervals have; the rest has what is said beside them."""

    def __init__(
        self,
        ordered: Ordered,
        objectives: Sequence[Objective],
        delta: float,
        *,
        anytime: bool = False,
        among: Ints | None = None,
    ) -> None:
        self.objectives = tuple(objectives)
        self.ordered = ordered
        self._delta, self._anytime = delta, anytime
        self._columns = [_column(ordered, objective) for objective in self.objectives]
        self._arms = np.arange(len(ordered.pulls)) if among is None else among
        self.pulls = ordered.pulls[self._arms]
        good = ordered.good
        self._good = [good[d][self._arms] for d in self._columns]
        self._statistics = statistics_of(self.objectives)
        self._share = (
            self.of_intervals * checked_delta(delta) / (2.0 * noisy(self._statistics) * max(1, len(ordered.pulls)))
        )
        self._rank = anytime_rank if anytime else fixed_rank
        self._kinds = [each.kind for each in self._statistics]
        self._levels = [each.level for each in self._statistics]
        self._now = Ahead(self.pulls, np.ones(len(self.pulls)))
        self._centres: tuple[Floats, Floats, Floats] | None = None
        self._middles: dict[int, Floats] = {}  # of quantiles: the point estimates of arms that have any value
        self._bets: dict[tuple[int, float], Floats] = {}  # what they leave of a mean if nothing is taken: for every ε
        self._exact: dict[int, tuple[Floats, Floats]] = {}  # both ends of exact values, which nothing changes
        self._rates: dict[int, tuple[Ints, Ints, Ints]] = {}  # arms that have 0 and 1 alone, and how many of each
        self._begin()

    def _begin(self) -> None:
        """Prepare what the design of the log says beside the intervals of rows, or refuse it."""

    def _designed(self, intervals: ArmIntervals, threat: Threat, ahead: Ahead) -> ArmIntervals:
        """The intervals as the design of the log has them, and what it says beside them."""
        return intervals

    def among(self, arms: Ints) -> IntervalReader:
        """The same for some arms only."""
        return type(self)(self.ordered, self.objectives, self._delta, anytime=self._anytime, among=arms)

    def with_delta(self, delta: float) -> IntervalReader:
        """The same with another δ; what does not depend on it is read once."""
        other = type(self)(self.ordered, self.objectives, delta, anytime=self._anytime, among=self._arms)
        other._centres = self._centres
        return other

    def first_bounded(self, threat: Threat) -> list[int | None]:
        """For both ends of the interval of each objective the pulls, none of which fails, before which it is not
        bounded.

        None where no number of pulls bounds it. A mean is bounded from the beginning, and it is asked when its interval
        is less than that.
        """
        found: list[int | None] = []
        ranks: dict[float, int | None] = {}
        for objective, kind, level in zip(self.objectives, self._kinds, self._levels, strict=True):
            if kind in (EXACT, NORMAL_MEAN):
                found += [1, 1]
            elif kind == BOUNDED_MEAN:
                found += [self._first_informative(objective, threat)] * 2
            else:
                for kept in (threat.keep(level), threat.keep(1.0 - level)):
                    if kept not in ranks:
                        ranks[kept] = _first_useful(kept, self._share, threat.taken, self._anytime)
                    found.append(ranks[kept])
        return found

    def _first_informative(self, objective: Objective, threat: Threat) -> int | None:
        by_bets, of_rates = self._shares(objective, self._share)
        once = not self._anytime
        return first_informative(threat.taken, threat.surviving, threshold_of(by_bets), one_look=once, rates=of_rates)

    def _shares(self, objective: Objective, share: float) -> tuple[float, float]:
        """Of the δ' of one end of a mean, what bets have, and what the exact bound of rates has, at one look."""
        if self._anytime or objective.bounds != _RATE:
            return share, 0.0
        return (1.0 - RATES_SHARE) * share, RATES_SHARE * share

    def read(self, threat: Threat) -> ArmIntervals:
        """The intervals under this threat model."""
        checked_threat(threat)
        if self._centres is None:
            self._centres = self._read_centres(self._now.shrink)
        return self._designed(self._with_centres(threat, self._now, self._centres), threat, self._now)

    def foresee(self, threat: Threat, least: int) -> ArmIntervals:
        """The intervals if every arm had `least` pulls at least, its sample having gone on in the same proportions.

        With n' pulls the bounds are the values that now have the ranks q(n') n/n', rounded to the wider side, but not
        beyond the outermost value: of a single pull no more can be said than that it may go on so. Bets on a mean grow
        by n'/n.
        """
        imagined = np.maximum(self.pulls, least)
        ahead = Ahead(imagined, self.pulls / np.maximum(imagined, 1), least)
        return self._designed(self._with_centres(threat, ahead, self._read_centres(ahead.shrink)), threat, ahead)

    def unknown(self, intervals: ArmIntervals, first: int) -> Bools:
        """The arms (K,) of whose pulls those of the first objectives tell nothing at all, quantiles and bounded means.

        Exact values and known deviations lack something else than pulls.
        """
        found = np.zeros(len(self.pulls), np.bool_)
        for d, (objective, kind) in enumerate(zip(self.objectives[:first], self._kinds[:first], strict=True)):
            if kind in (EXACT, NORMAL_MEAN):
                continue
            ends = (-np.inf, np.inf)
            if objective.bounds is not None:
                ends = tuple(sorted(inner_of_means(np.array(objective.bounds), objective).tolist()))
            found |= (intervals.lower[:, d] <= ends[0]) & (intervals.upper[:, d] >= ends[1])
        return found

    def outside(self, intervals: ArmIntervals) -> Bools:
        """Where (n, M) the estimate by all rows lies outside the intervals that `read` gave: clusters may say
        otherwise."""
        assert self._centres is not None
        estimates = self._centres[0]
        return np.isfinite(estimates) & ((estimates < intervals.lower) | (estimates > intervals.upper))

    def differing(self, d: int) -> tuple[Ints, Floats]:
        """The arms (n,) of which an exact objective d was measured differently, with two of the values (n, 2) each."""
        some = np.flatnonzero(self._good[d])
        places = (np.ones_like(some), -1), (self._good[d][some], 1)
        ends = np.stack([self._raw(d, some, rank, side) for rank, side in places], axis=1)
        differ = ends[:, 0] != ends[:, 1]
        return some[differ], ends[differ]

    def _with_centres(self, threat: Threat, ahead: Ahead, centres: tuple[Floats, Floats, Floats]) -> ArmIntervals:
        ranks: dict[float, Ints] = {}  # the median has the same on both sides, and mostly in all objectives
        lower, upper = np.empty(centres[0].shape), np.empty(centres[0].shape)
        for d in range(len(self.objectives)):
            lower[:, d], upper[:, d] = self._interval(d, threat, ahead, self._share, ranks)
        return ArmIntervals(lower, upper, *centres)

    def _interval(
        self, d: int, threat: Threat, ahead: Ahead, share: float, ranks: dict[float, Ints]
    ) -> tuple[Floats, Floats]:
        """Both ends (n,) of what counts of objective d, which hold but with probability 2 `share` together.

        `ranks` are those that were found already for this share and so many pulls, by what is kept.
        """
        kind, level = self._kinds[d], self._levels[d]
        if kind == BOUNDED_MEAN:
            return self._around_mean(d, threat, ahead, share)
        if kind == NORMAL_MEAN:
            return self._around_normal_mean(d, threat, ahead, share)
        if kind == EXACT:
            return self._exactly(d)
        sides, failed = [threat.keep(level), threat.keep(1.0 - level)], self.pulls - self._good[d]
        for kept in sides:
            if kept not in ranks:
                ranks[kept] = self._ranks(kept, threat.taken, ahead, share)
        low, high = (ranks[kept] - failed for kept in sides)
        return self._bound(d, low, above=False), self._bound(d, high, above=True)

    def _ranks(self, kept: float, taken: float, ahead: Ahead, share: float) -> Ints:
        """The ranks (n,) that bound a quantile, of those that are there now."""
        distinct, which = ahead.distinct
        most = _ranks_of(self._rank, distinct, kept, share) if kept > 0.0 else np.zeros_like(distinct)
        of_all = np.maximum(most - taken_away_each(taken, distinct), 0)[which]
        now = np.floor(of_all * ahead.shrink + 1e-9).astype(np.int64)
        return np.asarray(np.maximum(now, of_all >= 1), np.int64)

    def _around_mean(self, d: int, threat: Threat, ahead: Ahead, share: float) -> tuple[Floats, Floats]:
        """What bets leave of the mean of values with known bounds, as inner values (n,)."""
        known = self._bets.get((d, share)) if ahead is self._now and threat.taken == 0.0 else None
        left = self._unrefuted(d, threat, ahead, share) if known is None else known
        if ahead is self._now and threat.taken == 0.0:
            self._bets[d, share] = left
        lower, upper = self._inner_ends(d, threat, left)
        begun = self.pulls > 0
        return np.where(begun, lower, -np.inf), np.where(begun, upper, np.inf)

    def _unrefuted(self, d: int, threat: Threat, ahead: Ahead, share: float) -> Floats:
        """The largest places (n, 2) between its bounds that are not refuted of a mean, and of what it lacks."""
        objective, found = self.objectives[d], np.empty((len(self.pulls), 2))
        assert objective.bounds is not None
        taken, foreseen = taken_away_each(threat.taken, ahead.pulls) * ahead.shrink, ahead.pulls.astype(np.float64)
        by_bets, of_rates = self._shares(objective, share)
        threshold = threshold_of(by_bets)
        for first in range(0, len(found), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            sums = self.ordered.sums_of_bets(self._columns[d], self._arms[some], objective.bounds, taken[some])
            asked = sums, self.pulls[some], foreseen[some], threshold, not self._anytime, found[some]
            in_parts(partial(_unrefuted_means, *asked), len(sums))
        if of_rates > 0.0:
            found = np.minimum(found, self._unrefuted_rates(d, taken, foreseen, of_rates))
        return found

    def _inner_ends(self, d: int, threat: Threat, left: Floats) -> tuple[Floats, Floats]:
        """The inner ends (n,) of a mean, of which `left` (n, 2) is not refuted where nobody interferes."""
        objective, (times, less) = self.objectives[d], threat.surviving
        assert objective.bounds is not None
        low, high = objective.bounds
        most = np.minimum(1.0, (left + less) / times)
        ends = low + (high - low) * (1.0 - most[:, 1]), low + (high - low) * most[:, 0]
        lower, upper = (inner_of_means(end, objective) for end in (ends[::-1] if objective.minimized else ends))
        return lower, upper

    def _unrefuted_rates(self, d: int, taken: Floats, foreseen: Floats, delta: float) -> Floats:
        """The largest rates (n, 2) of 1 and of 0, by their exact binomial bound, of arms that have nothing else."""
        found = np.ones((len(self.pulls), 2))
        if d not in self._rates:
            self._rates[d] = self._with_rates(d)
        some, ones, zeros = self._rates[d]
        failed = self.pulls[some] - self._good[d][some]
        times = np.maximum(foreseen[some] / np.maximum(self.pulls[some], 1), 1.0)
        for side, (counted, others) in enumerate(((ones, zeros), (zeros, ones))):
            worst = failed + counted + np.minimum(taken[some], others)
            found[some, side] = highest_rate(times * worst, times * self.pulls[some], delta)
        return found

    def _with_rates(self, d: int) -> tuple[Ints, Ints, Ints]:
        """The arms whose values are 0 and 1 alone, with how many of each: none, where values of any are beyond."""
        some = np.flatnonzero(self._good[d])
        ones = np.rint(self._means[d][some] * self._good[d][some]).astype(np.int64)
        zeros = self._good[d][some] - ones
        if not (some.size and np.all((ones >= 0) & (zeros >= 0))):
            return some[:0], ones[:0], zeros[:0]
        # Sorted values, so that two of them say what all are; in sketches these are bounds, and must say it as well.
        last_zero = self._raw(d, some, np.maximum(zeros, 1), 1)
        first_one = self._raw(d, some, np.minimum(zeros + 1, self._good[d][some]), -1)
        only = ((zeros == 0) | (last_zero == 0.0)) & ((ones == 0) | (first_one == 1.0))
        return some[only], ones[only], zeros[only]

    def _around_normal_mean(self, d: int, threat: Threat, ahead: Ahead, share: float) -> tuple[Floats, Floats]:
        """The interval (n,) of a mean with a known deviation: everything, where a value may be anything.

        For one look, with a normal law's tail; for many, that of a mixture.
        """
        objective = self.objectives[d]
        known = np.flatnonzero((self.pulls > 0) & (self._good[d] == self.pulls) & (threat.eps == 0.0))
        lower, upper = np.full(len(self.pulls), -np.inf), np.full(len(self.pulls), np.inf)
        sigma = float(objective.sigma or 0.0)
        distinct, which = ahead.distinct
        if self._anytime:
            both = threshold_of(2.0 * share)
            reaches = [normal_reach(float(max(pulls, 1)), sigma, both) for pulls in distinct.tolist()]
            reach = np.array(reaches)[which]
        else:
            reach = sigma * np.sqrt(2.0 * threshold_of(share) / np.maximum(distinct, 1))[which]
        ends = tuple(self._means[d][known] + side * reach[known] for side in (-1.0, 1.0))
        lower[known], upper[known] = (
            inner_of_means(end, objective) for end in (ends[::-1] if objective.minimized else ends)
        )
        return lower, upper

    def _exactly(self, d: int) -> tuple[Floats, Floats]:
        """The values (n,) themselves; everything where there is none, or two that differ."""
        if d in self._exact:
            return self._exact[d]
        lower, upper = np.full(len(self.pulls), -np.inf), np.full(len(self.pulls), np.inf)
        some = np.flatnonzero(self._good[d])
        lower[some] = upper[some] = self._at(d, some, np.zeros_like(some))
        differing, _ = self.differing(d)
        lower[differing], upper[differing] = -np.inf, np.inf
        self._exact[d] = lower, upper
        return lower, upper

    def _bound(self, d: int, ranks: Ints, *, above: bool) -> Floats:
        """Intervals values of these ranks from inner below, or from above; infinite where a rank is below 1."""
        bound = np.full(len(ranks), np.inf if above else -np.inf)
        known = np.flatnonzero((ranks >= 1) & (self._good[d] > 0))  # what goes on in thought must have begun
        steps = ranks[known] - 1
        places = self._good[d][known] - 1 - steps if above else steps
        bound[known] = self._at(d, known, places, 1 if above else -1)
        return bound

    def _at(self, d: int, arms: Ints, places: Ints, side: int = 0) -> Floats:
        """Intervals values of some arms at places counted from the inner lowest."""
        objective = self.objectives[d]
        if objective.minimized:
            places, side = self._good[d][arms] - 1 - places, -side
        return objective.inward(self._raw(d, arms, places + 1, side))

    def _raw(self, d: int, arms: Ints, ranks: Ints, side: int = 0) -> Floats:
        """Values of some arms at ranks from the lowest, in the metric's own units."""
        return self.ordered.at(self._columns[d], self._arms[arms], ranks, side)

    @cached_property
    def _means(self) -> list[Floats]:
        """The means (n,) of each objective's values."""
        every = self.ordered.means
        return [every[column][self._arms] for column in self._columns]

    def _read_centres(self, shrink: Floats) -> tuple[Floats, Floats, Floats]:
        """Point estimates and their doubt, as the certified policy reads them (`evidence.intervals.refresh`)."""
        shape = (len(self.pulls), len(self.objectives))
        estimates, low, high = (np.full(shape, -np.inf) for _ in range(3))
        for d, (kind, level) in enumerate(zip(self._kinds, self._levels, strict=True)):
            some = np.flatnonzero(self._good[d])
            if kind in (BOUNDED_MEAN, NORMAL_MEAN):
                columns = estimates[:, d], low[:, d], high[:, d]
                for column, values in zip(columns, self._about_mean(d, some, shrink[some]), strict=True):
                    column[some] = values
                continue
            have = self._good[d][some]
            middle = level * (have - 1)
            reach = DOUBT * np.sqrt(have * level * (1.0 - level)) * np.sqrt(shrink[some])
            if d not in self._middles:  # where more pulls are imagined, they are the same
                below, above = np.floor(middle).astype(np.int64), np.ceil(middle).astype(np.int64)
                self._middles[d] = 0.5 * self._at(d, some, below) + 0.5 * self._at(d, some, above)
            estimates[some, d] = self._middles[d]
            lowest = np.maximum(0, np.floor(middle - reach).astype(np.int64))
            highest = np.minimum(have - 1, np.ceil(middle + reach).astype(np.int64))
            low[some, d], high[some, d] = self._at(d, some, lowest), self._at(d, some, highest)
        return estimates, low, high

    def _about_mean(self, d: int, some: Ints, shrink: Floats) -> tuple[Floats, Floats, Floats]:
        """The means of some arms as inner values, and how far sampling noise may have moved them."""
        objective, mean = self.objectives[d], self._means[d][some]
        doubt = DOUBT * self._errors[d][some] * np.sqrt(shrink) * (-1.0 if objective.minimized else 1.0)
        return (
            inner_of_means(mean, objective),
            inner_of_means(mean - doubt, objective),
            inner_of_means(mean + doubt, objective),
        )

    @cached_property
    def _errors(self) -> dict[int, Floats]:
        """The standard errors (n,) of the means that count."""
        counted = [d for d, kind in enumerate(self._kinds) if kind in (BOUNDED_MEAN, NORMAL_MEAN)]
        return {d: self.ordered.standard_errors(self._columns[d])[self._arms] for d in counted}


def _column(ordered: Ordered, objective: Objective) -> int:
    if objective.name not in ordered.metrics:
        raise BadArgument(
            "objectives",
            must=f"be metrics of the log, which are {', '.join(ordered.metrics)}",
            got=repr(objective.name),
        )
    return ordered.metrics.index(objective.name)


# Ranks depend on numbers of pulls alone, which looks at one log, and logs of one design, have in common.


def _ranks_of(rank: Callable[[Ints, float, float], Ints], pulls: Ints, kept: float, share: float) -> Ints:
    """The ranks (n,) for these numbers of pulls; not to be changed."""
    if pulls.size > _FEW:
        return rank(pulls, kept, share)
    return _kept_ranks(rank, pulls.tobytes(), kept, share)


@lru_cache(1024)
def _kept_ranks(rank: Callable[[Ints, float, float], Ints], pulls: bytes, kept: float, share: float) -> Ints:
    return rank(np.frombuffer(pulls, np.int64), kept, share)


@lru_cache(1024)
def _first_useful(kept: float, share: float, taken: float, anytime: bool) -> int | None:
    try:
        return first_useful_pulls(kept, share, taken=taken, anytime=anytime)
    except BadInput:
        return None


@kernel(over="sums", deep=True)
def _unrefuted_means(
    sums: Floats, pulls: Ints, foreseen: Floats, threshold: float, one_look: bool, found: Floats, part: Ints
) -> None:
    """Write the largest means (n, 2) that sums (n, 2, BETS) do not refute, should pulls go on like this as foreseen."""
    for k in part:
        count = max(foreseen[k], float(pulls[k]))
        for side in range(2):
            ahead = sums[k, side] * (count / max(1, pulls[k])) if count > pulls[k] else sums[k, side]
            found[k, side] = unrefuted_mean(ahead, count, threshold, weights_for(count, threshold, one_look))
