"""Beaten arms, as they would be in the moments that count now, where pulls come in blocks (docs/theory.md, (aa)).

A beaten arm gets no more pulls, and on a machine whose speed changes its interval is that of earlier moments. How
it differed from an arm that was measured in the same blocks holds in later ones, too, if what changes changes all arms
alike. So it is carried along with the arm that put it out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.intervals import (
    DOUBT_HIGH,
    DOUBT_LOW,
    ESTIMATE,
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    PLAIN_HIGH,
    PLAIN_LOW,
)

LOWER, UPPER, MIDDLE = (LOW, LOW_FLOOR, PLAIN_LOW), (HIGH, HIGH_FLOOR, PLAIN_HIGH), (ESTIMATE, DOUBT_LOW, DOUBT_HIGH)


class Carried(NamedTuple):
    """The arm that each of K arms is carried along with, −1 for none, and the intervals of both when that began."""

    by: Ints  # (K,)
    own: Floats  # (K, COLUMNS, C)
    its: Floats  # (K, COLUMNS, C)

    @classmethod
    def nothing(cls, intervals: Floats) -> Carried:
        """Return that no arm is beaten."""
        return cls(np.full(len(intervals), -1), intervals.copy(), intervals.copy())

    def after(self, intervals: Floats, out: Ints, by: Ints) -> Carried:
        """Return the same, once these arms are `out` (n,), each beaten `by` another one (n,)."""
        new = self.by[out] != by
        arms, rivals = out[new], by[new]
        found = Carried(np.full(len(intervals), -1), self.own.copy(), self.its.copy())
        found.by[out] = by
        found.own[arms], found.its[arms] = intervals[arms], intervals[rivals]
        return found

    def move(self, intervals: Floats, moving: Bools) -> None:
        """Bring the intervals of the beaten arms to the present moments, in columns (C,) that are `moving`."""
        for i in np.flatnonzero(self.by >= 0).tolist():
            own, then, now = self.own[i], self.its[i], intervals[self.by[i]]
            if (then == now).all():
                continue
            with np.errstate(invalid="ignore"):
                for columns, before, after in ((LOWER, HIGH, LOW), (UPPER, LOW, HIGH), (MIDDLE, ESTIMATE, ESTIMATE)):
                    moved = own[list(columns)] + (now[after] - then[before])
                    intervals[i, list(columns)] = np.where(moving, moved, own[list(columns)])
