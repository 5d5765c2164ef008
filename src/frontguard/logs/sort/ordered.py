"""Measurements by arm, sorted within each metric: what all answers about a log are read from.

A log with n_i rows of arm i becomes, for each metric, the sorted values of every arm that did not fail, one arm after
another. Which values fail is decided when it is built: missing ones, NaN, infinite ones, and those that an objective
cannot use. They count in n_i, and are not kept.

Logs laid out by arm become one sorted log (`merge_ordered`): arms united by name, the values of each arm put together,
pulls added. The result depends on what the logs hold, not on their order or grouping: sorted values are the same
however they came together, and zeros lose their sign, because −0 and 0 compare equal and would keep the order in which
they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import kernel
from frontguard._common.machine import side_by_side
from frontguard._common.typing import Codes, Floats, Ints
from frontguard.errors import BadInput
from frontguard.logs.sort.order import RowOrder
from frontguard.logs.sort.progress import Clock
from frontguard.logs.sort.wealth import MeanQuestion, standard_errors, unrefuted


@dataclass(frozen=True, eq=False)
class Ordered:
    """K arms, ordered by name, with n_i pulls each, and M metrics.

    The values of metric d and arm i are `values[d][starts[d, i] : starts[d, i + 1]]`, ascending, in the metric's own
    units. The arrays may be memory maps of a file: they are read, never written. A subclass that keeps less than all
    values (`logs.sketch`) answers the same at ranks, with bounds.
    """

    whole: ClassVar[bool] = True  # whether all values are here

    arms: Sequence[str]  # (K,), in plain text order, all different
    metrics: tuple[str, ...]
    pulls: Ints  # (K,), failed ones included
    starts: Ints  # (M, K + 1)
    values: tuple[Floats, ...]  # M flat arrays
    broken: Ints | None = None  # (K,) pulls that lack any value, where that was counted

    def __sizeof__(self) -> int:
        return self.pulls.nbytes + self.starts.nbytes + sum(flat.nbytes for flat in self.values)

    @property
    def good(self) -> Ints:
        """Counts (M, K) of the values that did not fail."""
        return np.diff(self.starts, axis=1)

    @property
    def failed(self) -> Ints:
        """Counts (M, K) of those that did."""
        return self.pulls - self.good

    @property
    def failed_pulls(self) -> Ints:
        """Pulls of each arm (K,) that lack the value of any metric; where it was not counted, so many at least."""
        return self.failed.max(axis=0) if self.broken is None else self.broken

    @property
    def sums(self) -> Floats:
        """Sums (M, K) of the values that did not fail."""
        found = np.zeros((len(self.metrics), len(self.pulls)))
        for d, (starts, good) in enumerate(zip(self.starts, self.good, strict=True)):
            some = np.flatnonzero(good)
            if len(some):
                with np.errstate(over="ignore", invalid="ignore"):  # what overflows has no mean that could be compared
                    found[d, some] = np.add.reduceat(self.values[d][: starts[-1]], starts[:-1][some])
        return found

    @property
    def means(self) -> Floats:
        """Means (M, K) of the values that did not fail; NaN where all did."""
        return self.sums / np.where(self.good > 0, self.good, np.nan)

    def at(self, metric: int, arms: Ints, ranks: Ints, side: int = 0) -> Floats:
        """The values of some arms at ranks from below, 1 the smallest, all of which there are.

        `side` says what is wanted where values are known only within bounds: −1 one that is certainly not above, 1 one
        that is not below, 0 the nearest. Here they are known.
        """
        return np.asarray(self.values[metric][self.starts[metric, :-1][arms] + ranks - 1])

    def standard_errors(self, metric: int) -> Floats:
        """Of the means of a metric (K,), as the values show them; NaN where all failed."""
        return standard_errors(self, metric, self.means[metric])

    def unrefuted(self, metric: int, arms: Ints, asked: MeanQuestion) -> Floats:
        """The largest means (n, 2) of some arms that are not refuted, see `wealth.unrefuted`."""
        return unrefuted(self, metric, arms, asked)


def starts_of(counts: Sequence[Ints] | npt.NDArray[Any]) -> Ints:
    """The places (M, K + 1) at which the values of each arm begin, by the counts of each metric, M times (K,)."""
    return np.cumsum(np.pad(np.asarray(counts), ((0, 0), (1, 0))), axis=1, dtype=np.int64)


# Logs put together ----------------------------------------------------------------------------------------------------


def merge_ordered(
    logs: Sequence[Ordered],
    metrics: Sequence[str],
    *,
    room: Callable[[int], Any] = np.empty,
    most: int | None = None,
    watched: RowOrder | None = None,
    clock: Clock | None = None,
) -> Ordered:
    """The log that holds the rows of all, which must have these metrics.

    Neighbouring arms with `most` values, all unless given, are worked on at a time, in threads; `room` makes that for
    the values of a metric, of which slices are written to. `watched` sees values before they are sorted, if those of
    each arm stand in the order of their rows; the `clock` is told how far it is.

    >>> first = Ordered(["a", "b"], ("ms",), np.array([2, 1]), np.array([[0, 2, 3]]), (np.array([1.0, 5.0, 2.0]),))
    >>> second = Ordered(["a", "c"], ("ms",), np.array([1, 4]), np.array([[0, 1, 1]]), (np.array([3.0]),))
    >>> both = merge_ordered([first, second], ["ms"])
    >>> both.arms, both.pulls.tolist(), both.starts.tolist(), both.values[0].tolist()
    (['a', 'b', 'c'], [3, 1, 4], [[0, 3, 4, 4]], [1.0, 3.0, 5.0, 2.0])
    """
    for log in logs:
        same_metrics(metrics, log.metrics)
    arms, places = united([log.arms for log in logs])
    pulls, broken = np.zeros((2, len(arms)), np.int64)
    good = np.zeros((len(metrics), len(arms)), np.int64)
    counts = [log.good for log in logs]
    for log, count, own in zip(logs, counts, places, strict=True):
        pulls[own] += log.pulls
        broken[own] += 0 if log.broken is None else log.broken
        good[:, own] += count
    if watched is not None:
        watched.choose(pulls, arms, len(metrics))
    starts = starts_of(good)
    edges = _blocks(starts, most or int(starts.max(initial=1)))
    at = [np.searchsorted(own, edges) for own in places]  # where blocks begin and end among the arms of each log
    results = [room(int(begins[-1])) for begins in starts]

    def arrange(job: tuple[int, int]) -> None:
        block, metric = job
        first, last = int(edges[block]), int(edges[block + 1])
        begins = starts[metric, first : last + 1]
        flat = results[metric][int(begins[0]) : int(begins[-1])]
        begins = begins - begins[0]
        following = begins[:-1].copy()
        for log, count, own, cuts in zip(logs, counts, places, at, strict=True):
            some = slice(cuts[block], cuts[block + 1])
            own_start, own_end = log.starts[metric, cuts[block : block + 2]].tolist()
            lay_out(own[some] - first, count[metric, some], log.values[metric][own_start:own_end], following, flat)
        flat += 0.0  # −0 becomes 0
        if watched is not None:
            watched.take(metric, first, flat, begins)
        sort_within(flat, begins, threads=most is None)
        if clock is not None:
            clock.sorted(int(pulls[first:last].sum()) / len(metrics))

    side_by_side(arrange, product(range(len(edges) - 1), range(len(metrics))), threads=most is not None)
    counted = all(log.broken is not None for log in logs)
    values = tuple(result[:] for result in results)
    return Ordered(arms, tuple(metrics), pulls, starts, values, broken if counted else None)


def _blocks(starts: Ints, most: int) -> Ints:
    """Ranges of neighbouring arms, as edges, that have at most `most` values of any metric, or are one arm alone."""
    edges = [0]
    arms = starts.shape[1] - 1
    while edges[-1] < arms:
        ends = [int(np.searchsorted(each, each[edges[-1]] + most, side="right")) - 1 for each in starts]
        edges.append(max(min([*ends, arms]), edges[-1] + 1))
    return np.array(edges, np.int64)


def united(lists: Sequence[Sequence[str]]) -> tuple[list[str], list[Codes]]:
    """All names of some lists, ordered, and where in it the names of each list stand.

    >>> united([["a", "c"], ["b", "c"]])
    (['a', 'b', 'c'], [array([0, 2], dtype=int32), array([1, 2], dtype=int32)])
    """
    arms = sorted({name for names in lists for name in names})
    place = {name: index for index, name in enumerate(arms)}
    return arms, [np.fromiter(map(place.__getitem__, each), np.int32, len(each)) for each in lists]


def same_metrics(first: Sequence[str], second: Sequence[str]) -> None:
    """Refuse two logs that do not measure the same, and say what differs."""
    if tuple(first) == tuple(second):
        return
    missing = [name for name in first if name not in second]
    more = [name for name in second if name not in first]
    if missing or more:
        parts = [f"{', '.join(map(repr, missing))} only in the first"] if missing else []
        parts += [f"{', '.join(map(repr, more))} only in the second"] if more else []
        raise BadInput(f"logs that are added must have the same metrics; got {' and '.join(parts)}")
    raise BadInput(
        f"logs that are added must have their metrics in the same order; got {', '.join(map(repr, first))} and "
        f"{', '.join(map(repr, second))}"
    )


@kernel(over="arms")
def lay_out(arms: Codes, counts: npt.NDArray[Any], values: Floats, places: Ints, whole: Floats) -> None:
    """Put each arm's stretch of `values` behind what it has already, and move its place on."""
    taken = 0
    for k in range(arms.shape[0]):
        place = places[arms[k]]
        count = int(counts[k])
        whole[place : place + count] = values[taken : taken + count]
        places[arms[k]] = place + count
        taken += count


_ALONE = 8192
"""Arms with more values than this are sorted where they are."""
_TOGETHER = 1 << 17
"""Values of a matrix: as many as the processor's cache holds."""


def sort_within(values: Floats, starts: Ints, *, threads: bool = True) -> None:
    """Sort values[starts[i] : starts[i + 1]], all of them finite, in place for each arm i; in threads unless told.

    >>> values = np.array([3.0, 1.0, 2.0, 9.0, 8.0])
    >>> sort_within(values, np.array([0, 3, 3, 5]))
    >>> values
    array([1., 2., 3., 8., 9.])
    """
    side_by_side(lambda arms: _sort_some(values, starts, arms), _alike(np.diff(starts)), threads=threads)


def _alike(counts: Ints) -> Iterator[Ints]:
    """Arms that are sorted together: all that have two values at least, those with about as many side by side."""
    order = np.argsort(counts, kind="stable")
    counts = counts[order]
    first = int(np.searchsorted(counts, 2))
    while first < len(order):
        widest = int(counts[first]) + int(counts[first]) // 8
        last = int(np.searchsorted(counts, widest, side="right"))
        last = min(last, first + max(1, _TOGETHER // widest)) if widest <= _ALONE else first + 1
        yield order[first:last]
        first = last


def _sort_some(values: Floats, starts: Ints, arms: Ints) -> None:
    if len(arms) == 1:
        values[starts[arms[0]] : starts[arms[0] + 1]].sort()
        return
    matrix = np.empty((len(arms), int(starts[arms[-1] + 1] - starts[arms[-1]])))
    _gather(values, starts, arms, matrix)
    matrix.sort(axis=1)
    _put_back(values, starts, arms, matrix)


@kernel(over="matrix")
def _gather(values: Floats, starts: Ints, arms: Ints, matrix: Floats) -> None:
    for row in range(arms.shape[0]):
        start = starts[arms[row]]
        count = starts[arms[row] + 1] - start
        for k in range(count):
            matrix[row, k] = values[start + k]
        for k in range(count, matrix.shape[1]):
            matrix[row, k] = np.inf


@kernel(over="matrix")
def _put_back(values: Floats, starts: Ints, arms: Ints, matrix: Floats) -> None:
    for row in range(arms.shape[0]):
        start = starts[arms[row]]
        for k in range(starts[arms[row] + 1] - start):
            values[start + k] = matrix[row, k]
