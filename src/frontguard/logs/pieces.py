"""Logs taken apart by arm and put together again.

A log that is read in several places is cut by arm: every arm belongs to one of P parts, by a hash of its name, on which
all places agree. What one place has of a part is a *piece*; all pieces of a part together are the whole of its arms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._compiled import kernel
from frontguard.logs.arm_names import ArmNames, Codes
from frontguard.logs.groups import Rows, starts_of
from frontguard.logs.ordered import Floats, Ints, Ordered
from frontguard.logs.sorting import sort_within


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
