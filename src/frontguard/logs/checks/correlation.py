"""How much rows of one cluster resemble each other, by ranks: an estimate, and a hint where it was not declared.

Within each arm values become ranks, so that a few wild ones decide nothing. How much of their spread is between
clusters gives the correlation within clusters (that of a one-way analysis of variance), and the test of Kruskal and
Wallis, added up over arms, the probability that clusters of rows in random order would differ as much.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from frontguard._common.special import chi_square_tail
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.logs.clustered import Clustered
from frontguard.logs.sort.names import ArmNames, Codes
from frontguard.logs.sort.rows import Batch
from frontguard.logs.sources.log import Log
from frontguard.notices import InClusters, LooksClustered
from frontguard.objectives import Objective

CHANCE = 1e-3
"""Probability of a hint in a log whose rows are independent, over all columns and metrics that are looked at."""

INFLATION = 1.2
"""How much larger the variance of a mean must be than that of independent rows, for a hint: 1 + (m − 1) ρ."""

MOST_ARMS = 64
"""Arms that are looked at: those with most rows."""

MOST_ROWS = 1 << 17
"""Rows of a log that are looked at for a hint."""

MOST_COLUMNS = 4
_LEAST = 1e-99  # what is less is given as this

_NAMES = "run|host|process|proc|pid|worker|session|batch|date|day|user|machine|node"
_NAMED = re.compile(rf"(?:^|[^a-z])(?:{_NAMES})(?:s|id|no|nr|name|number|index|\d+)?(?:$|[^a-z])")
_TAKEN_APART = re.compile(r"(?<=[a-z])(?=[A-Z])")  # hostName


class Sample(NamedTuple):
    """The values of one arm, in any order, and the cluster of each, as a number."""

    values: Floats
    clusters: Ints


@dataclass(frozen=True)
class Resemblance:
    """The correlation within clusters, the chance that independent rows would look so, and rows of a cluster."""

    correlation: float
    chance: float
    rows: float

    @property
    def inflation(self) -> float:
        """How many times as large the variance of a mean is as it would be of independent rows."""
        return 1.0 + (self.rows - 1.0) * max(0.0, self.correlation)


def resemblance(samples: Iterable[Sample]) -> Resemblance | None:
    """What the samples of some arms say; None where no cluster has several values, or no arm several clusters.

    >>> rng = np.random.default_rng(0)
    >>> clusters = np.repeat(np.arange(20), 25)
    >>> found = resemblance([Sample(rng.normal(size=500) + rng.normal(size=20)[clusters], clusters)])
    >>> round(found.correlation, 1), found.chance < 1e-9, found.rows
    (0.5, True, 25.0)
    """
    between = within = statistic = weight = 0.0
    among, inside = 0, 0  # degrees of freedom
    for values, clusters in samples:
        _, place, counts = np.unique(clusters, return_inverse=True, return_counts=True)
        n, k = len(values), len(counts)
        if k < 2 or n - k < 1:
            continue
        ranks = _ranks(values)
        whole = float((ranks**2).sum())
        if whole == 0.0:  # all values are one
            continue
        some = float((np.bincount(place, ranks) ** 2 / counts).sum())
        statistic += some * (n - 1) / whole
        between, within = between + some * n / whole, within + (whole - some) * n / whole
        among, inside = among + k - 1, inside + n - k
        weight += n - float((counts.astype(np.float64) ** 2).sum()) / n
    if not among or not inside:
        return None
    rows, outer, inner = weight / among, between / among, within / inside
    if outer + (rows - 1.0) * inner <= 0.0:
        return None
    correlation = (outer - inner) / (outer + (rows - 1.0) * inner)
    return Resemblance(correlation, max(chi_square_tail(among, statistic), _LEAST), round(rows, 6))


def _ranks(values: Floats) -> Floats:
    """Ranks about their mean, that of equals for equal values."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2.0)[place] - (len(values) + 1) / 2.0)


def in_clusters(log: Clustered, objectives: Iterable[Objective]) -> InClusters:
    """What is said of a log with clusters, with the largest correlation within these of any objective."""
    seen = [_within(log, log.metrics.index(objective.name)) for objective in objectives]
    known = [each.correlation for each in seen if each is not None]
    counts = log.clusters
    return InClusters(
        log.columns,
        int(log.pulls.sum()),
        int(counts.sum()),
        int(counts.min()),
        int(counts.max()),
        max(known, default=None),
    )


def _within(log: Clustered, metric: int) -> Resemblance | None:
    """How much rows of a cluster resemble each other in one metric."""
    arms = np.argsort(-log.pulls, kind="stable")[:MOST_ARMS]
    some = (slice(*log.starts[metric, arm : arm + 2].tolist()) for arm in arms.tolist())
    return resemblance(Sample(log.values[metric][each], log.owners[metric][each]) for each in some)


# Columns that were not declared ---------------------------------------------------------------------------------------


def looks_like_cluster(name: str) -> bool:
    """Whether a column's name says that it tells runs, hosts, processes, days or the like apart.

    >>> names = ("run_id", "hostName", "PID", "runtime", "weekday", "day", "updated")
    >>> [name for name in names if looks_like_cluster(name)]
    ['run_id', 'hostName', 'PID', 'day']
    """
    return _NAMED.search(_TAKEN_APART.sub("_", name).lower()) is not None


def undeclared(log: Log) -> tuple[LooksClustered, ...]:
    """A hint that rows depend on each other within what a column of the log tells apart, if one looks like it."""
    found: list[LooksClustered] = []
    others = [name for name in log.columns if name not in log.arm and name not in log.metrics]
    tried = [name for name in others if looks_like_cluster(name)][:MOST_COLUMNS]
    for name in tried:
        try:
            samples = _samples(log.first_rows(name, MOST_ROWS), len(log.metrics))
        except BadInput:  # a column that some rows lack, or that is no names
            continue
        for metric, of_arms in zip(log.metrics, samples, strict=True):
            seen = resemblance(of_arms)
            if seen is None or seen.inflation < INFLATION:
                continue
            chance = len(tried) * len(log.metrics) * seen.chance
            if chance <= CHANCE:
                found.append(LooksClustered(name, metric, seen.correlation, seen.rows, seen.inflation, chance))
    return tuple(sorted(found, key=lambda each: -each.inflation)[:1])


def _samples(batches: Iterable[Batch], metrics: int) -> list[list[Sample]]:
    """The values of the arms with most rows, for each metric."""
    arms, clusters = ArmNames(), ArmNames()
    parts: list[tuple[Codes, Codes, list[Floats]]] = []
    for batch in batches:
        assert batch.clusters is not None  # it was asked for
        parts.append((arms.codes(batch.arms), clusters.codes(batch.clusters), batch.values))
    if not parts:
        return [[] for _ in range(metrics)]
    arm, cluster = (np.concatenate([part[which] for part in parts]) for which in (0, 1))
    order = np.argsort(arm, kind="stable")
    edges = np.searchsorted(arm[order], np.arange(len(arms) + 1))
    most = np.argsort(-np.diff(edges), kind="stable")[:MOST_ARMS]
    found = []
    for d in range(metrics):
        values = np.concatenate([part[2][d] for part in parts])
        rows = [order[edges[each] : edges[each + 1]] for each in most.tolist()]
        good = [each[np.isfinite(values[each])] for each in rows]
        found.append([Sample(values[each], cluster[each]) for each in good])
    return found
