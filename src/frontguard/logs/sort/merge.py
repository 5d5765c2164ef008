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

from frontguard._compiled import kernel
from frontguard._typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.logs.sort.names import ArmNames, Codes
from frontguard.logs.sort.ordered import Ordered
from frontguard.logs.sort.rows import Rows, sort_within, starts_of

__all__ = ["merge_ordered", "same_metrics", "united"]


def merge_ordered(first: Ordered, second: Ordered) -> Ordered:
    """The log that holds the rows of both.

    >>> first = Ordered(["a", "b"], ("ms",), np.array([2, 1]), np.array([[0, 2, 3]]), (np.array([1.0, 5.0, 2.0]),))
    >>> second = Ordered(["a", "c"], ("ms",), np.array([1, 4]), np.array([[0, 1, 1]]), (np.array([3.0]),))
    >>> both = merge_ordered(first, second)
    >>> both.arms, both.pulls.tolist(), both.starts.tolist(), both.values[0].tolist()
    (['a', 'b', 'c'], [3, 1, 4], [[0, 3, 4, 4]], [1.0, 3.0, 5.0, 2.0])
    """
    same_metrics(first.metrics, second.metrics)
    arms, in_first, in_second = united(first.arms, second.arms)
    pulls = _placed(first.pulls, in_first, len(arms)) + _placed(second.pulls, in_second, len(arms))
    starts = np.zeros((len(first.metrics), len(arms) + 1), np.int64)
    values = []
    for d in range(len(first.metrics)):
        counts = _placed(first.good[d], in_first, len(arms)) + _placed(second.good[d], in_second, len(arms))
        np.cumsum(counts, out=starts[d, 1:])
        merged = np.empty(starts[d, -1])
        _merge_runs(
            np.ascontiguousarray(first.values[d]),
            np.ascontiguousarray(first.starts[d]),
            _sources(in_first, len(arms)),
            np.ascontiguousarray(second.values[d]),
            np.ascontiguousarray(second.starts[d]),
            _sources(in_second, len(arms)),
            merged,
        )
        values.append(merged)
    return Ordered(arms, first.metrics, pulls, starts, tuple(values))


def united(first: Sequence[str], second: Sequence[str]) -> tuple[list[str], Ints, Ints]:
    """All names of two ordered lists, ordered, and where in it the names of each list stand.

    >>> united(["a", "c"], ["b", "c"])
    (['a', 'b', 'c'], array([0, 2]), array([1, 2]))
    """
    if list(first) == list(second):
        same = np.arange(len(first), dtype=np.int64)
        return list(first), same, same
    arms: list[str] = []
    in_first, in_second = np.empty(len(first), np.int64), np.empty(len(second), np.int64)
    behind = 0  # names of the second list that are placed
    ahead = second[0] if len(second) else None
    for index, name in enumerate(first):
        while ahead is not None and ahead < name:
            in_second[behind] = len(arms)
            arms.append(ahead)
            behind += 1
            ahead = second[behind] if behind < len(second) else None
        in_first[index] = len(arms)
        if ahead == name:
            in_second[behind] = len(arms)
            behind += 1
            ahead = second[behind] if behind < len(second) else None
        arms.append(name)
    in_second[behind:] = np.arange(len(arms), len(arms) + len(second) - behind)
    arms.extend(second[behind:])
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


def _placed(counts: Ints, places: Ints, size: int) -> Ints:
    found = np.zeros(size, np.int64)
    found[places] = counts
    return found


def _sources(places: Ints, size: int) -> Ints:
    """For every arm of the union its index in one of the lists, −1 where it is not there."""
    found = np.full(size, -1, np.int64)
    found[places] = np.arange(len(places))
    return found


@kernel
def _merge_runs(
    first: Floats,
    first_starts: Ints,
    from_first: Ints,
    second: Floats,
    second_starts: Ints,
    from_second: Ints,
    merged: Floats,
) -> None:
    """Merge the runs of every arm into `merged`, one arm after another."""
    out = 0
    for arm in range(len(from_first)):
        a, a_end, b, b_end = 0, 0, 0, 0
        if from_first[arm] >= 0:
            a, a_end = first_starts[from_first[arm]], first_starts[from_first[arm] + 1]
        if from_second[arm] >= 0:
            b, b_end = second_starts[from_second[arm]], second_starts[from_second[arm] + 1]
        while a < a_end and b < b_end:
            if second[b] < first[a]:
                merged[out] = second[b] + 0.0  # −0 becomes 0
                b += 1
            else:
                merged[out] = first[a] + 0.0
                a += 1
            out += 1
        while a < a_end:
            merged[out] = first[a] + 0.0
            a += 1
            out += 1
        while b < b_end:
            merged[out] = second[b] + 0.0
            b += 1
            out += 1


@kernel
def without(values: Floats, starts: Ints, dropped: Bools, kept_starts: Ints) -> Floats:
    """The values of the arms that are not dropped; `kept_starts` (K + 1,) is filled in, dropped arms being empty."""
    size = 0
    for arm in range(len(dropped)):
        kept_starts[arm] = size
        if not dropped[arm]:
            size += starts[arm + 1] - starts[arm]
    kept_starts[len(dropped)] = size
    kept = np.empty(size, np.float64)
    for arm in range(len(dropped)):
        if not dropped[arm]:
            kept[kept_starts[arm] : kept_starts[arm + 1]] = values[starts[arm] : starts[arm + 1]]
    return kept


@dataclass(frozen=True, eq=False)
class Piece:
    """Some arms: their names, pulls and, for each metric, how many good values they have and these, not sorted."""

    names: Any  # an Arrow array of text (K,)
    pulls: Ints  # (K,)
    counts: list[Ints]  # M times (K,)
    values: list[Floats]  # M flat arrays, arm after arm


def cut_by_arm(rows: Rows, parts: int) -> list[Piece]:
    """One piece for each of `parts` parts; some may be empty. There are no rows afterwards."""
    import pyarrow as pa

    part_of = (rows.names.hashes % np.uint64(parts)).astype(np.int64)
    order: Codes = np.argsort(part_of, kind="stable").astype(np.int32)
    edges = np.searchsorted(part_of[order], np.arange(parts + 1))
    pulls = rows.pulls()
    names = rows.names.arrow()
    counts, values = rows.take_grouped(order)
    starts = starts_of([each[order] for each in counts])
    pieces = []
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        arms = order[first:last]
        own = [flat[begin[first] : begin[last]] for flat, begin in zip(values, starts, strict=True)]
        pieces.append(Piece(names.take(pa.array(arms)), pulls[arms], [each[arms] for each in counts], own))
    return pieces


def put_together(pieces: Sequence[Piece], metrics: Sequence[str]) -> Ordered:
    """The arms of all pieces, with the values of each from all of them, sorted.

    >>> from types import SimpleNamespace
    >>> rows = Rows(["seconds"])
    >>> rows.add(SimpleNamespace(arms=np.array(["b", "a", "b"]), values=[np.array([3.0, np.nan, 1.0])]))
    >>> log = put_together(cut_by_arm(rows, 3), ["seconds"])
    >>> log.arms, log.pulls, log.starts, log.values
    (['a', 'b'], array([1, 2]), array([[0, 0, 2]]), (array([1., 3.]),))
    """
    names = ArmNames()
    codes = [names.codes(piece.names) for piece in pieces]
    order = names.in_order()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    ranks = [rank[each] for each in codes]
    pulls = np.zeros(len(order), np.int64)
    good = [np.zeros(len(order), np.int64) for _ in metrics]
    for piece, arms in zip(pieces, ranks, strict=True):  # no arm is twice in a piece
        pulls[arms] += piece.pulls
        for total, counts in zip(good, piece.counts, strict=True):
            total[arms] += counts
    starts = starts_of(good) if metrics else np.zeros((0, len(order) + 1), np.int64)
    values = []
    for metric, begins in enumerate(starts):
        flat, places = np.empty(begins[-1]), begins[:-1].copy()
        for piece, arms in zip(pieces, ranks, strict=True):
            lay_out(arms, piece.counts[metric], piece.values[metric], places, flat)
        sort_within(flat, begins)
        values.append(flat)
    return Ordered(names.texts(order), tuple(metrics), pulls, starts, tuple(values))


@kernel
def lay_out(arms: Codes, counts: npt.NDArray[Any], values: Floats, places: Ints, whole: Floats) -> None:
    """Put each arm's stretch of `values` behind what it has already, and move its place on."""
    taken = 0
    for k in range(arms.shape[0]):
        place = places[arms[k]]
        count = int(counts[k])
        whole[place : place + count] = values[taken : taken + count]
        places[arms[k]] = place + count
        taken += count
