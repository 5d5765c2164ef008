"""Two sorted logs made one: arms united by name, the sorted values of each arm merged, pulls added.

The result depends on what the logs hold, not on their order or grouping: sorted values are the same however they came
together, and zeros lose their sign, because −0 and 0 compare equal and would keep the order in which they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.logs.sort.names import Codes
from frontguard.logs.sort.ordered import Ordered
from frontguard.logs.sort.rows import RowBuffer, sort_within, starts_of


def merge_ordered(first: Ordered, second: Ordered) -> Ordered:
    """The log that holds the rows of both.

    >>> first = Ordered(["a", "b"], ("ms",), np.array([2, 1]), np.array([[0, 2, 3]]), (np.array([1.0, 5.0, 2.0]),))
    >>> second = Ordered(["a", "c"], ("ms",), np.array([1, 4]), np.array([[0, 1, 1]]), (np.array([3.0]),))
    >>> both = merge_ordered(first, second)
    >>> both.arms, both.pulls.tolist(), both.starts.tolist(), both.values[0].tolist()
    (['a', 'b', 'c'], [3, 1, 4], [[0, 3, 4, 4]], [1.0, 3.0, 5.0, 2.0])
    """
    same_metrics(first.metrics, second.metrics)
    arms, places = _united([first.arms, second.arms])
    return _merged(arms, first.metrics, [first, second], places)


def united(first: Sequence[str], second: Sequence[str]) -> tuple[list[str], Codes, Codes]:
    """All names of two lists, ordered, and where in it the names of each list stand.

    >>> united(["a", "c"], ["b", "c"])
    (['a', 'b', 'c'], array([0, 2], dtype=int32), array([1, 2], dtype=int32))
    """
    arms, (in_first, in_second) = _united([first, second])
    return arms, in_first, in_second


def _united(lists: Sequence[Sequence[str]]) -> tuple[list[str], list[Codes]]:
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


@dataclass(frozen=True, eq=False)
class Shard:
    """Some arms: their names, pulls and, for each metric, how many good values they have and these, not sorted."""

    names: list[str]  # (K,)
    pulls: Ints  # (K,)
    broken: Ints  # (K,)
    good: list[Ints]  # M times (K,)
    values: list[Floats]  # M flat arrays, arm after arm

    def __sizeof__(self) -> int:
        arrays = [self.pulls, self.broken, *self.good, *self.values]
        return sum(map(len, self.names)) + sum(array.nbytes for array in arrays)


def cut_by_arm(rows: RowBuffer, parts: int) -> list[Shard]:
    """The rows in so many shards, some of which may be empty. There are no rows afterwards."""
    part_of = rows.names.parts(parts)
    order: Codes = np.argsort(part_of, kind="stable").astype(np.int32)
    edges = np.searchsorted(part_of[order], np.arange(parts + 1))
    pulls, broken = rows.pulls(), rows.broken()
    counts, values = rows.take_grouped(order)
    starts = starts_of([each[order] for each in counts])
    shards = []
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        arms = order[first:last]
        own = [flat[begin[first] : begin[last]] for flat, begin in zip(values, starts, strict=True)]
        shards.append(Shard(rows.names.texts(arms), pulls[arms], broken[arms], [each[arms] for each in counts], own))
    return shards


def merge_shards(shards: Sequence[Shard], metrics: Sequence[str]) -> Ordered:
    """The arms of all shards, with the values of each from all of them, sorted.

    >>> import polars as pl
    >>> from frontguard.logs.sort.rows import Batch
    >>> rows = RowBuffer(["seconds"])
    >>> rows.add(Batch(pl.Series(["b", "a", "b"]), [np.array([3.0, np.nan, 1.0])]))
    >>> log = merge_shards(cut_by_arm(rows, 3), ["seconds"])
    >>> log.arms, log.pulls, log.starts, log.values
    (['a', 'b'], array([1, 2]), array([[0, 0, 2]]), (array([1., 3.]),))
    """
    arms, places = _united([shard.names for shard in shards])
    return _merged(arms, tuple(metrics), shards, places)


def _merged(
    arms: Sequence[str], metrics: tuple[str, ...], parts: Sequence[Ordered | Shard], places: Sequence[Codes]
) -> Ordered:
    """All parts as one, where the arms of each, all different, stand at these places."""
    pulls, broken = np.zeros(len(arms), np.int64), np.zeros(len(arms), np.int64)
    counted = all(part.broken is not None for part in parts)
    good = np.zeros((len(metrics), len(arms)), np.int64)
    counts = [part.good for part in parts]
    for part, count, own in zip(parts, counts, places, strict=True):
        pulls[own] += part.pulls
        if part.broken is not None:
            broken[own] += part.broken
        for d in range(len(metrics)):
            good[d, own] += count[d]
    starts = starts_of(good)
    merged = []
    for d, begins in enumerate(starts):
        flat, following = np.empty(begins[-1]), begins[:-1].copy()
        for part, count, own in zip(parts, counts, places, strict=True):
            lay_out(own, count[d], part.values[d], following, flat)
        flat += 0.0  # −0 becomes 0
        sort_within(flat, begins)
        merged.append(flat)
    return Ordered(arms, metrics, pulls, starts, tuple(merged), broken if counted else None)


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
