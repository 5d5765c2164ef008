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
from frontguard.logs.sort.names import ArmNames, Codes
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
    arms, *places = united(first.arms, second.arms)
    return _merged(arms, first.metrics, [first, second], [each.astype(np.int32) for each in places])


def united(first: Sequence[str], second: Sequence[str]) -> tuple[list[str], Ints, Ints]:
    """All names of two ordered lists, ordered, and where in it the names of each list stand.

    >>> united(["a", "c"], ["b", "c"])
    (['a', 'b', 'c'], array([0, 2]), array([1, 2]))
    """
    arms = sorted({**dict.fromkeys(first), **dict.fromkeys(second)})
    place = {name: index for index, name in enumerate(arms)}
    in_first, in_second = (np.fromiter(map(place.__getitem__, each), np.int64, len(each)) for each in (first, second))
    return arms, in_first, in_second


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

    names: Any  # an Arrow array of text (K,)
    pulls: Ints  # (K,)
    broken: Ints  # (K,)
    good: list[Ints]  # M times (K,)
    values: list[Floats]  # M flat arrays, arm after arm

    def __sizeof__(self) -> int:
        arrays = [self.pulls, self.broken, *self.good, *self.values]
        return int(self.names.nbytes) + sum(array.nbytes for array in arrays)


def cut_by_arm(rows: RowBuffer, parts: int) -> list[Shard]:
    """The rows in so many shards, some of which may be empty. There are no rows afterwards."""
    import pyarrow as pa

    part_of = (rows.names.hashes % np.uint64(parts)).astype(np.int64)
    order: Codes = np.argsort(part_of, kind="stable").astype(np.int32)
    edges = np.searchsorted(part_of[order], np.arange(parts + 1))
    pulls, broken = rows.pulls(), rows.broken()
    names = rows.names.arrow()
    counts, values = rows.take_grouped(order)
    starts = starts_of([each[order] for each in counts])
    shards = []
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        arms = order[first:last]
        own = [flat[begin[first] : begin[last]] for flat, begin in zip(values, starts, strict=True)]
        shards.append(
            Shard(names.take(pa.array(arms)), pulls[arms], broken[arms], [each[arms] for each in counts], own)
        )
    return shards


def merge_shards(shards: Sequence[Shard], metrics: Sequence[str]) -> Ordered:
    """The arms of all shards, with the values of each from all of them, sorted.

    >>> import pyarrow as pa
    >>> from frontguard.logs.sort.rows import Batch
    >>> rows = RowBuffer(["seconds"])
    >>> rows.add(Batch(pa.array(["b", "a", "b"]), [np.array([3.0, np.nan, 1.0])]))
    >>> log = merge_shards(cut_by_arm(rows, 3), ["seconds"])
    >>> log.arms, log.pulls, log.starts, log.values
    (['a', 'b'], array([1, 2]), array([[0, 0, 2]]), (array([1., 3.]),))
    """
    names = ArmNames()
    codes = [names.codes(shard.names) for shard in shards]
    order = names.in_order()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return _merged(names.texts(order), tuple(metrics), shards, [rank[code] for code in codes])


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
