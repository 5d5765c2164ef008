"""Logs whose rows come in clusters (of a process, a host, a day) within which they depend on each other.

A cluster of an arm is one observation of it, whatever its number of rows (`evidence.clusters`; docs/theory.md, (n)). So
beside its sorted values such a log keeps the cluster of each, and `ClusterBoxReader` reads boxes from both. Arms all of
whose clusters have one row are read at ranks like any other: that is decided by numbers of rows, which must not depend
on what was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from frontguard._common.machine import available_memory
from frontguard._common.typing import Bools, Codes, Floats, Ints
from frontguard.errors import BadArgument
from frontguard.evidence.boundaries import taken_away_each
from frontguard.evidence.boxes import ArmBoxes
from frontguard.evidence.clusters import bounding_places, first_useful_clusters, highest_cluster_means
from frontguard.evidence.means import threshold_of
from frontguard.evidence.statistics import (
    BOUNDED_MEAN,
    EXACT,
    NORMAL_MEAN,
    QUANTILE,
    inner_of_mean,
)
from frontguard.logs.boxes import Ahead, BoxReader
from frontguard.logs.sort.ordered import Ordered
from frontguard.logs.sort.progress import Clock
from frontguard.logs.sort.rows import TRUTHS, ArmNames, Batch, RowBuffer
from frontguard.theory.threats import Threat

_FARTHEST = 10**6  # clusters beyond which it is not asked whether so many would bound anything
_BYTES = 64  # that a row takes beside its values while it is sorted


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
        """How many clusters each arm has (K,)."""
        return np.diff(self.begins)

    @property
    def dependent(self) -> Bools:
        """The arms (K,) that have several rows in a cluster."""
        return np.asarray(self.clusters < self.pulls)


class ArmClusters(NamedTuple):
    """The clusters of one arm: their sizes and labels, and for each metric the cluster of every value."""

    sizes: Ints
    labels: Ints
    owners: tuple[Ints, ...]


def clusters_of(log: Ordered, arm: int, metrics: Sequence[str]) -> ArmClusters:
    """The clusters of an arm in these metrics; of a log without any, every row is one of its own."""
    places = [log.metrics.index(metric) for metric in metrics]
    if not isinstance(log, Clustered):
        alone = np.arange(int(log.pulls[arm]))
        owners = tuple(alone[: int(log.good[d, arm])] for d in places)
        return ArmClusters(np.ones_like(alone), -1 - alone, owners)
    here = slice(log.begins[arm], log.begins[arm + 1])
    owners = tuple(log.owners[d][log.starts[d, arm] : log.starts[d, arm + 1]] for d in places)
    return ArmClusters(log.sizes[here], log.labels[here], owners)


def clustered_from(
    batches: Iterable[Batch],
    metrics: Sequence[str],
    columns: Sequence[str],
    *,
    usable: Floats,
    memory: int | None = None,
    clusters: ArmNames | None = None,
    clock: Clock | None = None,
) -> Clustered:
    """The measurements of all rows by arm with their clusters, which these columns name; all in memory.

    `clusters` are their names, which several logs may share; the rest is as in `ordered_from`.

    >>> import polars as pl
    >>> from frontguard.logs.sort.rows import usable_ranges
    >>> batch = Batch(pl.Series(["a", "a", "a"]), [np.array([3.0, np.nan, 1.0])], clusters=pl.Series(["x", "y", "y"]))
    >>> log = clustered_from([batch], ["ms"], ["host"], usable=usable_ranges(["ms"], []))
    >>> log.clusters.tolist(), log.sizes.tolist(), log.values[0].tolist(), log.owners[0].tolist()
    ([2], [1, 2], [1.0, 3.0], [1, 0])
    """
    rows, clock = RowBuffer(metrics, usable), clock or Clock()
    clusters = ArmNames() if clusters is None else clusters
    most = (available_memory() // 2 if memory is None else memory) // (_BYTES + 16 * len(metrics))
    codes: list[tuple[Codes, Codes]] = []
    parts: list[list[Floats]] = []
    truths: set[int] = set()  # metrics whose values are true and false
    for batch in batches:
        assert batch.clusters is not None  # or nobody would ask
        rows.add(batch)
        if rows.count > most:
            raise BadArgument(
                "cluster",
                "rows with clusters are kept in memory, and these are too many for it; give more with "
                "--memory, or one row a cluster (its median), without --cluster",
            )
        codes.append((rows.names.codes(batch.arms), clusters.codes(batch.clusters)))
        parts.append([np.asarray(column, np.float64) for column in batch.values])
        truths |= batch.truths
        clock.read(rows.count)
    clock.all_read()
    ordered, order = rows.ordered(), rows.names.in_order()
    clock.sorted(int(ordered.pulls.sum()))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    arm, cluster = (np.concatenate([each[which] for each in codes]).astype(np.int64) for which in (0, 1))
    values = [np.concatenate(column) for column in zip(*parts, strict=True)]
    ends = np.array([TRUTHS if d in truths else each for d, each in enumerate(usable)])
    return with_clusters(ordered, columns, rank[arm], cluster, values, ends)


def with_clusters(
    ordered: Ordered, columns: Sequence[str], arm: Ints, cluster: Ints, values: Sequence[Floats], usable: Floats
) -> Clustered:
    """The sorted log of rows with these arms (n,), clusters (n,) and values (M times n) with their clusters.

    `usable` (M, 2) says which values did not fail.
    """
    width, arms = int(cluster.max(initial=0)) + 1, len(ordered.arms)
    of_arm, place, sizes = np.unique(arm * width + cluster, return_inverse=True, return_counts=True)
    begins = np.searchsorted(of_arm // width, np.arange(arms + 1))
    place -= begins[arm]
    owners = []
    for column, (least, most) in zip(values, usable.tolist(), strict=True):
        good = np.flatnonzero((column >= least) & (column <= most))
        owners.append(place[good[np.lexsort((column[good], arm[good]))]])
    assert [len(each) for each in owners] == ordered.starts[:, -1].tolist()  # the same values failed
    return Clustered(
        **vars(ordered), columns=tuple(columns), begins=begins, sizes=sizes.astype(np.int64), owners=tuple(owners),
        labels=of_arm % width,
    )  # fmt: skip


class ClusterBoxReader(BoxReader):
    """Reads boxes off a log with clusters; those of arms without a cluster of several rows as `BoxReader` does.

    >>> from frontguard import Objective, Prescient
    >>> values = np.arange(600.0)
    >>> log = Clustered(
    ...     ["a"], ("ms",), np.array([600]), np.array([[0, 600]]), (values,), columns=("host",),
    ...     begins=np.array([0, 60]), sizes=np.full(60, 10), owners=(np.arange(600) % 60,), labels=np.arange(60),
    ... )
    >>> boxes = ClusterBoxReader(log, [Objective("ms")], 0.05).read(Prescient(0.1))
    >>> boxes.lower.tolist(), boxes.upper.tolist()
    ([[238.0]], [[361.0]])
    """

    ordered: Clustered

    def _begin(self) -> None:
        for objective, each in zip(self.objectives, self._statistics, strict=True):
            if each.kind == NORMAL_MEAN:
                raise BadArgument(
                    "cluster",
                    f"the mean of {objective.name!r} by a known deviation (sigma) needs rows that are "
                    "independent; give bounds instead of sigma, or count a quantile",
                )
        self._dependent = np.flatnonzero(self.ordered.dependent[self._arms])  # places among the arms that are read ...
        self._in_log = self._arms[self._dependent]  # ... and in the log
        self._threshold = threshold_of(self._share)

    def first_bounded(self, threat: Threat) -> list[int | None]:
        """For both ends of the box of each objective the clusters before which it is not bounded, or None."""
        if not len(self._dependent):
            return super().first_bounded(threat)
        found: list[int | None] = []
        for each in self._statistics:
            if each.kind == EXACT:
                found += [1, 1]
                continue
            times, less = threat.surviving
            for level in (each.level, 1.0 - each.level):
                kept = times - less if each.kind == BOUNDED_MEAN else threat.keep(level)
                fewest = first_useful_clusters(kept, self._threshold, threat.taken, _FARTHEST)
                found.append(int(fewest) if fewest >= 0 else None)
        return found

    def _designed(self, boxes: ArmBoxes, threat: Threat, ahead: Ahead) -> ArmBoxes:
        """The boxes with those of arms with clusters of several rows in place of what ranks say.

        Where more pulls are foreseen, they are in so many more clusters like those that there are.
        """
        if not len(self._dependent):
            return boxes
        pulls = self.pulls[self._dependent]
        taken, times = taken_away_each(threat.taken, pulls), ahead.pulls[self._dependent] / pulls
        for d, each in enumerate(self._statistics):
            if each.kind == QUANTILE:
                low, high = self._quantile(d, threat, taken, times)
            elif each.kind == BOUNDED_MEAN:
                low, high = self._mean(d, threat, taken, times)
            else:
                continue
            boxes.lower[self._dependent, d], boxes.upper[self._dependent, d] = low, high
            # Estimates count all rows alike: where sizes differ wildly, one may lie beyond what the clusters allow.
            some = boxes.estimates[self._dependent, d]
            boxes.estimates[self._dependent, d] = np.where(np.isfinite(some), np.clip(some, low, high), some)
        return boxes

    def _layout(self, d: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        metric, log = self._columns[d], self.ordered
        return log.owners[metric], log.starts[metric], log.sizes, log.begins, self._in_log

    def _quantile(self, d: int, threat: Threat, taken: Ints, times: Floats) -> tuple[Floats, Floats]:
        """The inner intervals of a quantile."""
        objective, level = self.objectives[d], self._statistics[d].level
        values, starts = self.ordered.values[self._columns[d]], self.ordered.starts[self._columns[d], :-1][self._in_log]
        ends = []
        for above, kept in ((False, threat.keep(level)), (True, threat.keep(1.0 - level))):
            backwards = above != objective.minimized  # what is inner low of a minimised metric is high of the metric
            at = bounding_places(*self._layout(d), kept, self._threshold, taken, times, backwards)
            end = np.full(len(at), np.inf if above else -np.inf)
            known = at >= 0
            end[known] = objective.inward(values[(starts + at)[known]])
            ends.append(end)
        return ends[0], ends[1]

    def _mean(self, d: int, threat: Threat, taken: Ints, times: Floats) -> tuple[Floats, Floats]:
        """The inner intervals of the mean of values with bounds."""
        observed = self.objectives[d].observed(self.ordered.values[self._columns[d]])
        scale = np.array(self._statistics[d].scale)
        factor, less = threat.surviving
        most = [
            np.minimum(
                1.0,
                (highest_cluster_means(observed, *self._layout(d), self._threshold, taken, times, side) + less)
                / factor,
            )
            for side in (False, True)
        ]
        low = np.array([inner_of_mean(1.0 - y, scale) for y in most[1].tolist()])
        high = np.array([inner_of_mean(y, scale) for y in most[0].tolist()])
        return low, high
