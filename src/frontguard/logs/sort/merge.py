"""Sorted logs made one: arms united by name, the sorted values of each arm merged, pulls added.

The result depends on what the logs hold, not on their order or grouping: sorted values are the same however they came
together, and zeros lose their sign, because −0 and 0 compare equal and would keep the order in which they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.logs.sort.names import Codes
from frontguard.logs.sort.ordered import Ordered, starts_of
from frontguard.logs.sort.rows import sort_within


def merge_ordered(logs: Sequence[Ordered], metrics: Sequence[str]) -> Ordered:
    """The log that holds the rows of all, which must have these metrics.

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
    starts = starts_of(good)
    merged = []
    for d, begins in enumerate(starts):
        flat, following = np.empty(begins[-1]), begins[:-1].copy()
        for log, count, own in zip(logs, counts, places, strict=True):
            lay_out(own, count[d], log.values[d], following, flat)
        flat += 0.0  # −0 becomes 0
        sort_within(flat, begins)
        merged.append(flat)
    counted = all(log.broken is not None for log in logs)
    return Ordered(arms, tuple(metrics), pulls, starts, tuple(merged), broken if counted else None)


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
