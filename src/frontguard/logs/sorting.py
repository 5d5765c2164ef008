"""Sorting the values of each arm.

numpy sorts the rows of a matrix several times as fast as one could sort short arrays one by one: its sort works on many
values at once, and there is one call for all rows. So arms with about as many values become the rows of a matrix,
filled up with +∞, are sorted, and go back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from frontguard._compiled import kernel
from frontguard.logs.ordered import Floats, Ints

_ALONE = 8192
"""Arms with more values than this are sorted where they are."""
_TOGETHER = 1 << 17
"""Values of a matrix: as many as the processor's cache holds."""


def sort_within(values: Floats, starts: Ints) -> None:
    """Sort values[starts[i] : starts[i + 1]], all of them finite, in place for each arm i, in threads.

    >>> values = np.array([3.0, 1.0, 2.0, 9.0, 8.0])
    >>> sort_within(values, np.array([0, 3, 3, 5]))
    >>> values
    array([1., 2., 3., 8., 9.])
    """
    side_by_side(lambda arms: _sort_some(values, starts, arms), _alike(np.diff(starts)))


def sort_here(values: Floats, starts: Ints) -> None:
    """The same in this thread alone."""
    for arms in _alike(np.diff(starts)):
        _sort_some(values, starts, arms)


def side_by_side(function: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
    """The function's answers for all parts, computed in as many threads as there are processors."""
    parts = list(parts)
    if len(parts) < 2 or workers() < 2:
        return [function(part) for part in parts]
    with ThreadPoolExecutor(workers(), "frontguard-log") as threads:
        return list(threads.map(function, parts))


def workers() -> int:
    """How many processors there are for us."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


@kernel
def _gather(values: Floats, starts: Ints, arms: Ints, matrix: Floats) -> None:
    for row in range(arms.shape[0]):
        start = starts[arms[row]]
        count = starts[arms[row] + 1] - start
        for k in range(count):
            matrix[row, k] = values[start + k]
        for k in range(count, matrix.shape[1]):
            matrix[row, k] = np.inf


@kernel
def _put_back(values: Floats, starts: Ints, arms: Ints, matrix: Floats) -> None:
    for row in range(arms.shape[0]):
        start = starts[arms[row]]
        for k in range(starts[arms[row] + 1] - start):
            values[start + k] = matrix[row, k]
