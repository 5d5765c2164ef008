"""Looks at a log beside its answer: hints that rows are not what they are taken for, and questions that are refused.

- Rows of an arm that differ from file to file, or from the first to the last.
- Rows that resemble each other within a cluster (host, process, day), or side by side.
- Rows that stand there several times.
- Medians that rest on ties: of four models that solve 92, 75, 60 and 55 % of their tasks, each has a median of 1.
- Values that an objective cannot use.

Ranks decide, so that a few wild values do not: the test of Kruskal and Wallis gives the probability that rows in random
order would differ as much between files, quarters or clusters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.clusters import Clustered
from frontguard.evidence.measurements import Ordered
from frontguard.limits import only_two_of
from frontguard.logs.sort import QUARTERS, ArmNames, Batch, RowOrder
from frontguard.logs.sources.log import Log
from frontguard.notices import (
    InClusters,
    LooksClustered,
    NeighboursAlike,
    NotPositive,
    OutOfBounds,
    RowsDiffer,
    RowsRepeated,
)
from frontguard.objectives import Objective
from frontguard.phrases import quoted, shown
from frontguard.question import Question

CLUSTER_CHANCE = 1e-3
"""Probability of a hint at clusters in a log whose rows are independent, over all columns and metrics."""

INFLATION = 1.2
"""Times that the variance of a mean must be that of independent rows, for a hint: 1 + (m − 1) ρ."""

MOST_ARMS = 64
"""Arms that are looked at: those with most rows."""

MOST_ROWS = 1 << 17
"""Rows of a log that are looked at for a hint."""

MOST_COLUMNS = 4
_LEAST = 1e-99  # what is less is given as this

_NAMES = "run|host|process|proc|pid|worker|session|batch|date|day|user|machine|node"
_NAMED = re.compile(rf"(?:^|[^a-z])(?:{_NAMES})(?:s|id|no|nr|name|number|index|\d+)?(?:$|[^a-z])")
_WHEN = re.compile(r"(?:^|[^a-z])(?:date|time|timestamp|datetime|started)(?:$|[^a-z])")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d|\d{10}")  # which stand in the order of their texts
_TAKEN_APART = re.compile(r"(?<=[a-z])(?=[A-Z])")  # hostName


class Sample(NamedTuple):
    """The values of one arm, in any order, and the cluster of each, as a number."""

    values: Floats
    clusters: Ints


class Resemblance(NamedTuple):
    """The correlation within clusters, the chance that independent rows would look so, and rows of a cluster."""

    correlation: float
    chance: float
    rows: float

    @property
    def inflation(self) -> float:
        """The variance of a mean, as a multiple of that of independent rows."""
        return 1.0 + (self.rows - 1.0) * max(0.0, self.correlation)


def resemblance(samples: Iterable[Sample]) -> Resemblance | None:
    """The resemblance in samples of some arms; None where no cluster has several values, or no arm several clusters."""
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
    return Resemblance(correlation, chi_square_tail(among, statistic), round(rows, 6))


def chi_square_tail(freedom: int, x: float) -> float:
    """P(χ² ≥ x) for whole degrees of freedom, as a finite sum; importing scipy takes longer than reading many a log."""
    if x <= 0.0:
        return 1.0
    y, half = 0.5 * x, freedom % 2 / 2.0
    log = math.log(y)
    # Q(s, y) = Q(s − 1, y) + yˢ⁻¹ e⁻ʸ / Γ(s), down to Q(½, y) = erfc(√y), or to Q(0, y) = 0.
    terms = (math.exp((k + half) * log - y - math.lgamma(k + half + 1.0)) for k in range(freedom // 2))
    return min(1.0, math.fsum(terms) + (math.erfc(math.sqrt(y)) if half else 0.0))


def _ranks(values: Floats) -> Floats:
    """Ranks about their mean, that of equals for equal values."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2.0)[place] - (len(values) + 1) / 2.0)


def in_clusters(log: Clustered, objectives: Iterable[Objective]) -> InClusters:
    """The notice of a log with clusters, with the largest correlation within these of any objective."""
    known = []
    for metric in (log.metrics.index(objective.name) for objective in objectives):
        some = (slice(*log.starts[metric, arm : arm + 2].tolist()) for arm in _largest(log.pulls))
        seen = resemblance(Sample(log.values[metric][each], log.owners[metric][each]) for each in some)
        known += [] if seen is None else [seen.correlation]
    counts = log.clusters
    return InClusters(
        log.columns,
        int(log.pulls.sum()),
        int(counts.sum()),
        int(counts.min()),
        int(counts.max()),
        max(known, default=None),
    )


def _largest(rows: Ints) -> list[int]:
    """The arms with most rows, of which each has so many."""
    return [int(arm) for arm in np.argsort(-rows, kind="stable")[:MOST_ARMS]]


def looks_like_cluster(name: str) -> bool:
    """True if a column's name says that it tells runs, hosts, processes, days or the like apart.

    >>> names = ("run_id", "hostName", "PID", "runtime", "weekday", "day", "updated")
    >>> [name for name in names if looks_like_cluster(name)]
    ['run_id', 'hostName', 'PID', 'day']
    """
    return _NAMED.search(_TAKEN_APART.sub("_", name).lower()) is not None


def undeclared(log: Log) -> tuple[LooksClustered, ...]:
    """A hint that rows, or declared clusters, depend on each other within what a column of the log tells apart."""
    found: list[LooksClustered] = []
    known = {*log.arm, *log.metrics, *log.cluster}
    tried = [name for name in log.columns if name not in known and looks_like_cluster(name)][:MOST_COLUMNS]
    for name in tried:
        try:
            samples = _samples(log, name)
        except BadInput:  # a column that some rows lack, or that is no names
            continue
        for metric, of_arms in zip(log.metrics, samples, strict=False):
            seen = resemblance(of_arms)
            if seen is None or seen.inflation < INFLATION:
                continue
            chance = len(tried) * len(log.metrics) * max(seen.chance, _LEAST)
            if chance <= CLUSTER_CHANCE:
                alike = seen.correlation, seen.rows, seen.inflation, chance
                found.append(LooksClustered(name, metric, *alike, tuple(log.cluster)))
    return tuple(sorted(found, key=lambda each: -each.inflation)[:1])


def _samples(log: Log, column: str) -> list[list[Sample]]:
    """The values of the arms with most rows, for each metric, with what the column says of each; none, where that is
    not known.

    Where clusters were declared, each is one value, the mean rank of its rows; none, where the column divides them.
    """
    arms, outer, inner = ArmNames(), ArmNames(), ArmNames()
    batches = [batch for batch in log.first_rows([column], MOST_ROWS) if batch.clusters is not None]
    if not batches:
        return []
    arm = np.concatenate([arms.codes(batch.arms) for batch in batches]).astype(np.int64)
    cluster = np.concatenate([outer.codes(batch.clusters) for batch in batches if batch.clusters is not None])
    values = [np.concatenate(parts) for parts in zip(*(batch.values for batch in batches), strict=True)]
    if log.cluster:
        again = log.first_rows(log.cluster, MOST_ROWS)
        own = np.concatenate([inner.codes(batch.clusters) for batch in again if batch.clusters is not None])
        _, first, of = np.unique(arm * len(inner) + own, return_index=True, return_inverse=True)
        if (cluster != cluster[first][of]).any():
            return []
        arm, cluster, values = arm[first], cluster[first], [_mean_ranks(each, of) for each in values]
    most = [np.flatnonzero(arm == code) for code in _largest(np.bincount(arm))]
    good = [[some[np.isfinite(each[some])] for some in most] for each in values]
    return [[Sample(each[some], cluster[some]) for some in rows] for each, rows in zip(values, good, strict=True)]


def _mean_ranks(values: Floats, group: Ints) -> Floats:
    """The mean rank of the finite values of each group; NaN of one that has none."""
    good = np.isfinite(values)
    count = np.bincount(group[good], minlength=int(group.max()) + 1)
    return np.bincount(group[good], _ranks(values[good]), minlength=len(count)) / np.where(count > 0, count, np.nan)


CHANCE = 1e-4
"""Probability of a hint in a log whose rows are in random order, over all arms and metrics that are looked at."""

EFFECT = 0.15
"""Least difference, beyond ε, of one half and the share of pairs in which one part has the larger value.

Where replaced values are the lowest in one part and the highest in another, they alone make ε of it at most.
"""

FEWEST = 8
"""Values of a part below which it is not compared."""


def differences(
    watched: RowOrder,
    files: Sequence[str],
    arms: Sequence[str],
    metrics: Sequence[str],
    objectives: Iterable[Objective],
    contaminations: Mapping[str, float],
) -> tuple[RowsDiffer | NeighboursAlike, ...]:
    """The hint that files do not look alike; else, that quarters of the rows do not; else, that neighbours do."""
    used = {metrics.index(objective.name): objective for objective in objectives}
    ways: tuple[tuple[Literal["files", "rows"], list[str], Mapping[tuple[int, int], list[Floats]]], ...] = (
        ("files", watched.file_names(files), watched.by_file),
        ("rows", [str(number) for number in range(1, QUARTERS + 1)], watched.by_quarter),
    )
    for between, names, kept in ways:
        looked = [
            (arm, used[metric], parts)
            for (arm, metric), parts in sorted(kept.items(), key=lambda each: each[0])
            if metric in used and sum(len(part) >= FEWEST for part in parts) > 1
        ]
        found: list[RowsDiffer] = []
        for arm, objective, parts in looked:
            chance = len(ways) * len(looked) * chance_of(parts)
            ends = ends_of(parts) if chance <= CHANCE else None
            least = min(EFFECT + contaminations.get(objective.name, 0.0), 0.45)
            if ends is None or ends.effect < least or not ends.matter(objective):
                continue
            low, high = (names[part] for part in ends.parts)
            found.append(RowsDiffer(arms[arm], objective.name, between, (low, high), ends.medians, chance, 0, 0))
        if found:
            worst = min(found, key=lambda each: each.chance)
            counts = len({each.arm for each in found}), len({arm for arm, *_ in looked})
            return (replace(worst, arms=counts[0], of=counts[1]),)
    beside = [
        (arm, used[d], values)
        for (arm, d), values in sorted(watched.first.items(), key=lambda each: each[0])
        if d in used
    ]
    alike = []
    for arm, objective, values in beside:
        correlation, chance = autocorrelation(values)
        if correlation >= BESIDE and len(beside) * chance <= CHANCE:
            alike.append(NeighboursAlike(arms[arm], objective.name, correlation, max(len(beside) * chance, _LEAST)))
    return (max(alike, key=lambda each: each.correlation),) if alike else ()


BESIDE = 0.3
"""Correlation of rows side by side from which on it matters: their mean has nearly twice the variance."""


def autocorrelation(values: Floats) -> tuple[float, float]:
    """The correlation of ranks of successive values, and about the chance of it; of a value that is most, none.

    >>> from itertools import accumulate
    >>> noise = np.random.default_rng(0).normal(size=200)
    >>> slow = np.array(list(accumulate(noise, lambda before, new: 0.9 * before + new)))
    >>> [round(correlation, 1) for correlation, _ in map(autocorrelation, (noise, slow))]
    [0.1, 0.9]
    """
    ranks, n = _ranks(values), len(values)
    whole = float((ranks**2).sum())
    if n * float((ranks**4).sum()) >= 3.0 * whole**2:
        return 0.0, 1.0
    found = float((ranks[1:] * ranks[:-1]).sum()) / whole
    return found, 0.5 * math.erfc((found + 1.0 / n) * math.sqrt(n / 2.0))


def chance_of(parts: Sequence[Floats]) -> float:
    """The probability, about, that ranks differ so much between parts (`FEWEST` values at least): Kruskal and Wallis.

    >>> first, second = np.arange(20.0), np.arange(20.0) + 15.0
    >>> chance_of([first, second]) < 1e-5, round(chance_of([first, first]), 3)
    (True, 1.0)
    """
    parts = [part for part in parts if len(part) >= FEWEST]
    part_of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    found = resemblance([Sample(np.concatenate(parts), part_of)])
    return 1.0 if found is None else found.chance  # None: all values are one


class Ends(NamedTuple):
    """The parts with lowest and highest median, and `effect`: the share of rising pairs, ties for half, less ½."""

    parts: tuple[int, int]
    medians: tuple[float, float]
    effect: float

    def matter(self, objective: Objective) -> bool:
        """True if the medians differ by more than the tolerance."""
        if objective.relative and self.medians[0] <= 0.0:  # which the values of a mean may be
            return self.medians[0] < self.medians[1]
        low, high = objective.inward(np.array(self.medians))
        return bool(abs(high - low) > objective.inner_tolerance)


def ends_of(parts: Sequence[Floats]) -> Ends:
    """The two ends of some parts, of which those with few values are left out."""
    medians = {number: float(np.median(part)) for number, part in enumerate(parts) if len(part) >= FEWEST}
    low, high = min(medians, key=lambda each: medians[each]), max(medians, key=lambda each: medians[each])
    lower, upper = np.sort(parts[low]), parts[high]
    below = np.searchsorted(lower, upper, "left") + np.searchsorted(lower, upper, "right")
    return Ends((low, high), (medians[low], medians[high]), float(below.mean()) / (2 * len(lower)) - 0.5)


def measured_between(log: Log) -> tuple[str, str, str] | None:
    """The column that says when rows were measured, the first moment and the last; None where no column does."""
    for name in log.columns:
        if name in log.arm or name in log.metrics or not _WHEN.search(_TAKEN_APART.sub("_", name).lower()):
            continue
        try:
            batches = [each.clusters for each in log.first_rows([name], MOST_ROWS) if each.clusters is not None]
        except BadInput:  # a column that some rows lack
            continue
        moments = [str(end) for each in batches for end in (each.min(), each.max())]
        if moments and all(map(_MOMENT.match, moments)):
            return name, min(moments), max(moments)
    return None


_MOST_COPIED = 1 << 16  # values of an arm that are looked at
_FEWEST_RUNS = 24  # of equal values, whose lengths have a common divisor by chance with probability 1/2 each at most
_FEWEST_ALIKE = 8  # of one length: as few rows as that make a certificate, and each twice half as many


def repeated(log: Ordered, objectives: Iterable[Objective]) -> tuple[RowsRepeated, ...]:
    """The hint that every row stands there several times: all values do, and there are enough different ones."""
    columns = [log.metrics.index(each.name) for each in objectives if not each.exact]
    times = runs = longest = 0
    for column, arm in product(columns, _largest(log.pulls)):
        good = int(log.good[column, arm])
        count = min(good, _MOST_COPIED)
        values = log.at(column, np.full(count, arm), np.arange(1, count + 1))
        lengths = np.diff(np.flatnonzero(np.r_[True, values[1:] != values[:-1], True]))
        if count < good:  # the last one may have been cut
            lengths = lengths[:-1]
        times, runs = int(np.gcd.reduce(lengths, initial=times)), runs + len(lengths)
        if times == 1 or not len(lengths):
            return ()
        longest = max(longest, int(lengths.max()))
    if runs < (_FEWEST_RUNS if longest > times else _FEWEST_ALIKE) or (log.pulls % times).any():
        return ()
    return (RowsRepeated(times, int(log.pulls.sum())),)


# What nobody said what counts of is refused if it has two different values only, and some arm shows both; or if several
# arms that are not constant have one median, which a third or more of the values of each equal. What is constant within
# each arm, a size or a price, is fine.

_SHARE = 3
"""A tie counts if it is one of so many values of an arm, or more."""


def refuse_ties(log: Ordered, question: Question) -> None:
    """Refuse metrics, by some values of each arm, whose median, that nobody asked for, says little."""
    M = len(question.objectives)
    for place, metric in enumerate(question.columns.boxed):
        column = log.metrics.index(metric.name)
        if not metric.by_default:
            continue
        if two := _two_values(log, column):
            raise BadInput(metric.only_two(*two) if place < M else only_two_of(metric.name, *two))
        if place < M:
            _refuse_equal_medians(log, column, np.flatnonzero(log.good[column] > 1), metric)


def _two_values(log: Ordered, column: int) -> tuple[float, float] | None:
    """The two values that all of a metric are, if some arm shows both."""
    every = np.flatnonzero(log.good[column])
    good = log.good[column][every]
    lowest, highest = log.at(column, every, np.ones_like(every), -1), log.at(column, every, good, 1)
    ends = np.concatenate([lowest, highest])
    values = np.array([ends.min(initial=np.inf), ends.max(initial=-np.inf)])
    mixed = every[lowest < highest]
    if not len(mixed) or not np.isin(ends, values).all():
        return None
    last_low = _last_equal(log, column, mixed, np.ones_like(mixed))
    if (log.at(column, mixed, last_low + 1) < values[1]).any():  # there is something between
        return None
    return float(values[0]), float(values[1])


def _refuse_equal_medians(log: Ordered, column: int, arms: Ints, objective: Objective) -> None:
    good = log.good[column][arms]
    middle = (good + 1) // 2
    values = log.at(column, arms, middle)
    # A run of a third or more that holds the middle reaches a sixth of the values to one of its sides, or nearly.
    reach = np.maximum(good // (2 * _SHARE) - 1, 0)
    near = np.zeros(len(arms), np.bool_)
    for side in (-reach, reach):
        near |= log.at(column, arms, np.clip(middle + side, 1, good)) == values
    near &= log.at(column, arms, np.ones_like(arms), -1) < log.at(column, arms, good, 1)
    near[near] = _shared(values[near])
    some, middle, good, values = arms[near], middle[near], good[near], values[near]
    if not len(some):
        return
    equal = _last_equal(log, column, some, middle) - _last_equal(log, column, some, middle, -1) + 1
    tied = (_SHARE * equal >= good) & (equal > 1)  # one value of two or three is no tie
    tied[tied] = _shared(values[tied])
    if not tied.any():
        return
    value = values[tied][0]
    names = [log.arms[int(arm)] for arm in some[tied][values[tied] == value].tolist()]
    raise BadInput(
        f"the medians of {len(names):,} arms in {shown(objective.name)} are the same, {value:g}, and a third or more "
        f"of the values of each are equal to it ({quoted(names, 3)}): an answer by medians would rest on these ties. "
        f"Say what counts: their mean, --mean {objective.name}=LOW,HIGH (Objective(statistic='mean', "
        f"bounds=(low, high))), or the median if it is meant, --quantile {objective.name}=0.5 (Objective(quantile=0.5))"
    )


def _shared(values: Sequence[float] | np.ndarray) -> Bools:
    """A mask of the values that occur more than once."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(counts[which] > 1)


def _last_equal(log: Ordered, column: int, arms: Ints, ranks: Ints, side: int = 1) -> Ints:
    """The last ranks (side −1: the first) at which arms have the value that they have at these, by halving."""
    values = log.at(column, arms, ranks)
    known, beyond = ranks.copy(), log.good[column][arms] if side > 0 else np.ones_like(ranks)
    while (known != beyond).any():
        middle = known + side * ((np.abs(beyond - known) + 1) // 2)
        same = log.at(column, arms, middle) == values
        known, beyond = np.where(same, middle, known), np.where(same, beyond, middle - side)
    return known


# Values at or below 0 where the tolerance is a percentage, and those beyond the bounds of a mean, count as ones that
# could have been anything. Where most values of a metric are of that kind, the tolerance or the bounds are wrong.


class UnusableCheck:
    """Counts the finite values of metrics that are asked for, and that their objectives cannot use.

    >>> check = UnusableCheck([Objective("profit", "maximize", tolerance="5%")], ["profit"])
    >>> check.add([np.array([1.0, -2.0, 3.0])], lambda row: "abc"[row])
    >>> check.notices()
    (NotPositive(objective='profit', arm='b', count=1, of=3, example=-2.0, tolerance='5%', kind='not_positive'),)
    """

    def __init__(self, objectives: Sequence[Objective], metrics: Sequence[str]) -> None:
        self._watched = [(each, list(metrics).index(each.name)) for each in objectives]
        self._counts = np.zeros(len(self._watched), np.int64)
        self._of = 0
        self._examples: dict[int, tuple[str, float]] = {}

    def watched(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches, counted as they go by."""
        for batch in batches:
            self.add(batch.values, batch.arms.__getitem__, batch.truths)
            yield batch

    def add(self, columns: Sequence[Floats], arm: Callable[[int], Any], truths: frozenset[int] = frozenset()) -> None:
        """Count rows, as columns (n,) of all metrics; `truths` are of true and false, no numbers to a tolerance."""
        for place, (objective, column) in enumerate(self._watched):
            if column in truths:
                refuse_truths(objective)
                continue
            if not objective.relative and objective.bounds is None:
                continue
            values = np.asarray(columns[column], np.float64)
            wrong = np.flatnonzero(np.isfinite(values) & ~objective.usable(values))
            self._counts[place] += len(wrong)
            if len(wrong) and place not in self._examples:
                row = int(wrong[0])
                self._examples[place] = str(arm(row)), float(values[row])
        self._of += len(columns[0]) if len(columns) else 0

    def merge(self, other: UnusableCheck) -> None:
        """Add what another one has counted, of rows that come after these."""
        self._counts += other._counts
        self._of += other._of
        self._examples = {**other._examples, **self._examples}

    def notices(self) -> tuple[NotPositive | OutOfBounds, ...]:
        """One for each metric that has such values. Refuses a metric of which most values are so."""
        found: list[NotPositive | OutOfBounds] = []
        for place, (objective, _) in enumerate(self._watched):
            if place not in self._examples:
                continue
            count, (arm, example) = int(self._counts[place]), self._examples[place]
            # Of what is called a rate, or was taken for one, no value is a lie that lies outside: it is none.
            most = 2 * count > self._of or objective.bounds == (0.0, 1.0)
            if objective.bounds is None:
                if most:
                    raise BadInput(objective.unusable(count, self._of, example, arm))
                found.append(NotPositive(objective.name, arm, count, self._of, example, str(objective.tolerance)))
            else:
                if most:
                    what = f"{count:,} of {self._of:,} values of {shown(objective.name)}"
                    raise BadInput(f"{what} {out_of_bounds(objective, example, arm)}")
                found.append(OutOfBounds(objective.name, arm, count, self._of, example, *objective.bounds))
        return tuple(found)


def out_of_bounds(objective: Objective, example: float, arm: str) -> str:
    """The sentence about values outside the bounds of a mean, with one of them, its arm, and the remedy."""
    low, high = objective.bounds or (0.0, 1.0)
    return (
        f"do not lie between the bounds {low:g} and {high:g} of its mean, such as {example:g} of arm {shown(arm)}: "
        f"give bounds that no value can exceed, --mean {objective.name}=LOW,HIGH (Objective(statistic='mean', "
        f"bounds=(low, high)); in a limit, mean({objective.name},LOW,HIGH))"
    )


def refuse_truths(objective: Objective) -> None:
    """Refuse true and false for an objective of which something else was said than that their rate counts."""
    if not (objective.by_default or objective.takes_booleans):
        raise BadInput(
            f"the values of {shown(objective.name)} are true and false, whose rate can count, --mean "
            f"{objective.name}=0,1 (Objective(statistic='mean', bounds=(0, 1))); got the statistic "
            f"{shown(objective.statistic_word)}"
        )
