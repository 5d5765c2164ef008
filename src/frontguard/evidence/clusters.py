"""Values that come in clusters (of a process, a host, a day) and depend on each other within: bounds of their law.

A cluster is one observation, whatever its number of values: the share of its values at or below a number is bet on
(`evidence.bets`), or their mean. Where any share of the values may be wrong (`Threat.taken`), so many are taken as if
they had been the worst: what that makes of a bet is linear in these values, so the dearest are taken first. How many
values a cluster has must not depend on what they are. Proofs: docs/theory.md, (n). In a log, arms all of whose clusters
have one value are read at ranks like any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument
from frontguard.evidence.bets import (
    AT_ONCE,
    BETS,
    THETAS,
    WORST,
    add_logarithms,
    log_wealth,
    multiply_bets,
    unrefuted_mean,
    weights_for,
)
from frontguard.evidence.confidence_sequences import taken_away, taken_away_each, threshold_of
from frontguard.evidence.intervals import ArmIntervals
from frontguard.evidence.kinds import LogLook
from frontguard.evidence.means import BoundedMean
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.readers import IntervalReader
from frontguard.evidence.statistics import BOUNDED_MEAN, EXACT, QUANTILE
from frontguard.theory.threats import Threat

_FARTHEST = 10**6  # clusters beyond which it is not asked whether so many would bound anything


@kernel
def add_clusters(sums: Floats, totals: Floats, sizes: Ints) -> None:
    """Add the logarithms of 1 − θ ξ of clusters whose values add up to `totals` (C,), of so many each, to the sums."""
    product = np.ones(BETS)
    for c in range(sizes.shape[0]):
        xi = min(1.0, totals[c] / sizes[c])
        multiply_bets(product, xi)
        if (c + 1) % AT_ONCE == 0:
            add_logarithms(sums, product)
    add_logarithms(sums, product)


@kernel
def _price(l: int, total: float, size: int) -> float:  # noqa: E741
    """By how much a bet falls at most if one value of a cluster turns out larger by 1: the slope of a chord."""
    xi = total / size
    if xi >= 1.0:
        return 0.0
    price: float = (math.log1p(-THETAS[l] * xi) - WORST[l]) / (1.0 - xi) / size
    return price


@kernel
def _take_shares(sums: Floats, totals: Floats, sizes: Ints, taken: int) -> None:
    """Let `taken` values that count 0 turn out as 1, in the clusters where that costs most: a fractional knapsack."""
    alike = sizes.min() == sizes.max()
    prices = np.empty(sizes.shape[0])
    # A chord to 1 is the steeper the larger ξ is: of clusters of one size, these are first.
    order = np.argsort(-totals, kind="mergesort")
    for l in range(BETS):  # noqa: E741
        if not alike:
            for c in range(sizes.shape[0]):
                prices[c] = _price(l, totals[c], sizes[c])
            order = np.argsort(-prices, kind="mergesort")
        left = float(taken)
        for c in order:
            some = min(left, sizes[c] - totals[c])
            if some > 0.0:
                sums[l] -= some * _price(l, totals[c], sizes[c])
                left -= some
            if left <= 0.0:
                break


@kernel
def bounding_place(
    owners: Ints, sizes: Ints, keep: float, threshold: float, taken: int, times: float, backwards: bool
) -> int:
    """The place, from 0, of the value that bounds a quantile from one side; −1 where none does.

    `owners` (g,) are the clusters of the good values in ascending order; there are `sizes` (C,) values of each cluster,
    failed ones included. The place is that of the least value, or `backwards` of the largest, such that with the values
    up to it the bets do not refute that a share `keep` of all values is there. With `times` other than 1 it is the
    place as if there were so many times as many clusters like these.
    """
    good = owners.shape[0]
    weights = weights_for(0.0, threshold, False)
    totals = failed_in(owners, sizes)
    sums = np.empty(BETS)
    refuted, not_refuted, at = -1, good, 0  # numbers of values up to the place; at none of them nothing is known yet
    middle = 0
    while True:
        while at < middle:
            totals[owners[good - 1 - at if backwards else at]] += 1.0
            at += 1
        while at > middle:
            at -= 1
            totals[owners[good - 1 - at if backwards else at]] -= 1.0
        sums[:] = 0.0
        add_clusters(sums, totals, sizes)
        if taken > 0:
            _take_shares(sums, totals, sizes, taken)
        if log_wealth(times * sums, times * sizes.shape[0], keep, weights)[0] >= threshold:
            refuted = middle
        else:
            not_refuted = middle
        if not_refuted - refuted <= 1:
            break
        middle = (refuted + not_refuted) // 2
    place: int = good - not_refuted if backwards else not_refuted - 1
    return -1 if not_refuted == 0 or good == 0 else place


@kernel
def highest_cluster_mean(
    values: Floats, owners: Ints, sizes: Ints, threshold: float, taken: int, times: float, from_above: bool
) -> float:
    """The largest c that the bets do not refute as the mean of what is left of ξ, a cluster's mean in [0, 1].

    ξ is made of the values (g,) in [0, 1] or, `from_above`, of what they lack of 1; failed ones count 1, and `taken` of
    the others may have been 1 before they were replaced. `times` as in `bounding_place`.
    """
    totals = failed_in(owners, sizes)
    for i in range(values.shape[0]):
        totals[owners[i]] += 1.0 - values[i] if from_above else values[i]
    sums = np.zeros(BETS)
    add_clusters(sums, totals, sizes)
    if taken > 0:
        _take_values(sums, values, owners, totals, sizes, taken, from_above)
    return unrefuted_mean(times * sums, times * sizes.shape[0], threshold, weights_for(0.0, threshold, False))


@kernel
def _take_values(
    sums: Floats, values: Floats, owners: Ints, totals: Floats, sizes: Ints, taken: int, from_above: bool
) -> None:
    """Let `taken` values turn out as 1: those where that costs most."""
    prices, losses = np.empty(sizes.shape[0]), np.empty(values.shape[0])
    for l in range(BETS):  # noqa: E741
        for c in range(sizes.shape[0]):
            prices[c] = _price(l, totals[c], sizes[c])
        for i in range(values.shape[0]):
            losses[i] = prices[owners[i]] * (values[i] if from_above else 1.0 - values[i])
        losses.sort()
        for i in range(max(0, values.shape[0] - taken), values.shape[0]):
            sums[l] -= losses[i]


@kernel(over="owners")
def bounding_places(
    owners: Ints,
    starts: Ints,
    sizes: Ints,
    begins: Ints,
    arms: Ints,
    keep: float,
    threshold: float,
    taken: Ints,
    times: Floats,
    backwards: bool,
) -> Ints:
    """`bounding_place` of some arms (n,): owners of arm i from starts[i], its clusters from begins[i] on."""
    places = np.empty(arms.shape[0], np.int64)
    for n in range(arms.shape[0]):
        i = arms[n]
        own, of = owners[starts[i] : starts[i + 1]], sizes[begins[i] : begins[i + 1]]
        places[n] = bounding_place(own, of, keep, threshold, taken[n], times[n], backwards)
    return places


@kernel(over="values")
def highest_cluster_means(
    values: Floats,
    owners: Ints,
    starts: Ints,
    sizes: Ints,
    begins: Ints,
    arms: Ints,
    threshold: float,
    taken: Ints,
    times: Floats,
    from_above: bool,
) -> Floats:
    """`highest_cluster_mean` of some arms (n,), laid out as in `bounding_places`."""
    means = np.empty(arms.shape[0])
    for n in range(arms.shape[0]):
        i = arms[n]
        where = slice(starts[i], starts[i + 1])
        own, of = owners[where], sizes[begins[i] : begins[i + 1]]
        means[n] = highest_cluster_mean(values[where], own, of, threshold, taken[n], times[n], from_above)
    return means


@kernel
def failed_in(owners: Ints, sizes: Ints) -> Floats:
    """Return the number of values of each cluster (C,) that failed: those its good ones lack of its size."""
    failed = sizes.astype(np.float64)
    for i in range(owners.shape[0]):
        failed[owners[i]] -= 1.0
    return failed


@kernel
def first_useful_clusters(keep: float, threshold: float, share: float, most: int) -> int:
    """The fewest clusters that bound anything, none of whose values fails; −1 if not so many as `most` do."""
    weights = weights_for(0.0, threshold, False)
    fewest, enough = 0, most + 1
    middle = most
    while enough - fewest > 1:
        if log_wealth(taken_away(share, middle) * WORST, float(middle), keep, weights)[0] >= threshold:
            enough = middle
        else:
            fewest = middle
        middle = (fewest + enough) // 2
    return enough if enough <= most else -1


@dataclass(frozen=True, eq=False)
class Clustered(Ordered):
    """A sorted log with the cluster of every value.

    Arm i has the clusters begins[i] … begins[i + 1] − 1, with so many rows each (`sizes`), failed ones included; the
    value at place k of metric d is of the cluster begins[i] + owners[d][k].
    """

    columns: tuple[str, ...] = field(kw_only=True)  # that say together which cluster a row is of
    begins: Ints = field(kw_only=True)  # (K + 1,)
    sizes: Ints = field(kw_only=True)
    owners: tuple[Ints, ...] = field(kw_only=True)  # M flat arrays, beside the values
    labels: Ints = field(kw_only=True)  # which cluster each is, in the order in which they came: the same for all arms

    @property
    def clusters(self) -> Ints:
        """The number of clusters of each arm (K,)."""
        return np.diff(self.begins)

    @property
    def dependent(self) -> Bools:
        """The arms (K,) that have several rows in a cluster."""
        return np.asarray(self.clusters < self.pulls)


class ClusterReader(IntervalReader):
    """Reads intervals off a log with clusters; where no cluster has several rows, as `IntervalReader` does."""

    ordered: Clustered

    def _begin(self) -> None:
        self._dependent = np.flatnonzero(self.ordered.dependent[self._arms])  # places among the arms that are read ...
        self._in_log = self._arms[self._dependent]  # ... and in the log
        for objective, each in zip(self.objectives, self.statistics, strict=True):
            if each.kind not in (QUANTILE, BOUNDED_MEAN, EXACT):
                known = " (by sigma)" if objective.sigma is not None else ""
                raise BadArgument(
                    "cluster",
                    f"the {objective.statistic_word} of {objective.name!r}{known} needs rows that are independent; "
                    "count a quantile, or a mean with bounds",
                )

    def first_bounded(self, threat: Threat) -> list[int | None]:
        """For both ends of each objective's interval, the clusters before which it is not bounded; None for never."""
        if not len(self._dependent):
            return super().first_bounded(threat)
        found, threshold = list[int | None](), threshold_of(self._shares.each)
        for d, each in enumerate(self.statistics):
            if each.kind == EXACT:
                found += [1, 1]
                continue
            own = threat.of(d)
            times, less = own.surviving
            for level in (each.level, 1.0 - each.level):
                kept = times - less if each.kind == BOUNDED_MEAN else own.keep(level)
                fewest = first_useful_clusters(kept, threshold, own.taken, _FARTHEST)
                found.append(int(fewest) if fewest >= 0 else None)
        return found

    def _ends(self, look: LogLook, share: float) -> tuple[Floats, Floats]:
        """Both ends, of arms with clusters of several rows in place of what ranks say.

        Where more pulls are foreseen, they are in so many more clusters like those that there are.
        """
        lower, upper = super()._ends(look, share)
        some, threshold = self._dependent, threshold_of(share)
        pulls, times = self.pulls[some], look.pulls[some] / self.pulls[some]
        for d, each in enumerate(self.statistics):
            if each.kind != EXACT and len(some):
                ends, threat = self._quantile if each.kind == QUANTILE else self._mean, look.threat.of(d)
                taken = taken_away_each(threat.taken, pulls)
                lower[some, d], upper[some, d] = ends(d, threat, threshold, taken, times)
        return lower, upper

    def _designed(self, intervals: ArmIntervals, look: LogLook) -> ArmIntervals:
        """The intervals with estimates within them.

        Estimates count all rows alike: where sizes differ wildly, one may lie beyond what the clusters allow
        (`outside`, which is said).
        """
        estimates, some = intervals.estimates.copy(), self._dependent
        for d in [d for d, each in enumerate(self.statistics) if each.kind != EXACT]:
            known = some[np.isfinite(estimates[some, d])]
            estimates[known, d] = np.clip(estimates[known, d], intervals.lower[known, d], intervals.upper[known, d])
        return replace(intervals, estimates=estimates)

    def _layout(self, d: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        metric, log = self.kinds[d].metric, self.ordered
        return log.owners[metric], log.starts[metric], log.sizes, log.begins, self._in_log

    def _quantile(self, d: int, threat: Threat, threshold: float, taken: Ints, times: Floats) -> tuple[Floats, Floats]:
        """The inner intervals of a quantile."""
        objective, level, metric = self.objectives[d], self.statistics[d].level, self.kinds[d].metric
        values, starts = self.ordered.values[metric], self.ordered.starts[metric, :-1][self._in_log]
        ends = []
        for above, kept in ((False, threat.keep(level)), (True, threat.keep(1.0 - level))):
            backwards = above != objective.minimized  # what is inner low of a minimised metric is high of the metric
            at = bounding_places(*self._layout(d), kept, threshold, taken, times, backwards)
            end = np.full(len(at), np.inf if above else -np.inf)
            known = at >= 0
            end[known] = objective.inward(values[(starts + at)[known]])
            ends.append(end)
        return ends[0], ends[1]

    def _mean(self, d: int, threat: Threat, threshold: float, taken: Ints, times: Floats) -> tuple[Floats, Floats]:
        """The inner intervals of the mean of values with bounds."""
        objective, kind = self.objectives[d], self.kinds[d]
        assert isinstance(kind, BoundedMean)
        observed = objective.observed(self.ordered.values[kind.metric])
        left = [
            highest_cluster_means(observed, *self._layout(d), threshold, taken, times, from_above)
            for from_above in (objective.minimized, not objective.minimized)
        ]
        return kind.inner_ends(threat, np.stack(left, axis=1))
