"""Logs laid out by arm made one sorted log: arms united by name, the values of each arm put together, pulls added.

The result depends on what the logs hold, not on their order or grouping: sorted values are the same however they came
together, and zeros lose their sign, because −0 and 0 compare equal and would keep the order in which they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import kernel
from frontguard._common.machine import side_by_side
from frontguard._common.typing import Codes, Floats, Ints
from frontguard.errors import BadInput
from frontguard.logs.sort.order import RowOrder
from frontguard.logs.sort.ordered import Ordered, starts_of
from frontguard.logs.sort.progress import Clock


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
