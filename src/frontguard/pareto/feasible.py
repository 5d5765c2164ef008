"""What limits make of intervals: who is beyond, and what the rule may read of an arm that is not certainly within.

An arm is *within* if all its limits' intervals lie within, *beyond* if one lies outside, and *open* otherwise. The
front is that of the arms that truly are within, so one that is open can neither put out, nor cover, nor be in: in what
the rule reads, its lower ends are −∞ (docs/theory.md (p)). What it may still become is said by the floors, from which
the rule sees what more pulls can bring: they stay as they are if its limits would be kept for ever, the upper ones are
as low as can be if one would not be, and the lower ones −∞ unless all would.

Each is written for one arm of an array of intervals (K, COLUMNS, C), and right below for a million arms; columns are
those of the M objectives, and behind them what only limits ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.intervals import (
    DOUBT_HIGH,
    DOUBT_LOW,
    ESTIMATE,
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    ArmIntervals,
)
from frontguard.evidence.samples import Table
from frontguard.limits import Gate
from frontguard.verdicts import FEASIBLE, INFEASIBLE, OPEN

LOWEST = -1e300
"""Below any value, yet such that differences with −∞ are numbers."""


class LimitRule(NamedTuple):
    """Q limits by the columns of intervals that they read, and the inner values that are asked of these."""

    columns: Ints  # (Q,)
    within: Floats  # (Q,): an arm keeps to it whose lower end is at least this ...
    beyond: Floats  # (Q,): ... and is beyond if its upper end is below this

    @classmethod
    def of(cls, gates: Sequence[Gate]) -> LimitRule:
        """These limits."""
        return cls(
            np.array([gate.column for gate in gates], np.int64),
            np.array([gate.within for gate in gates], np.float64),
            np.array([gate.beyond for gate in gates], np.float64),
        )

    def check(self, width: int) -> None:
        """Refuse limits of columns that there are not."""
        if not len(self.columns) == len(self.within) == len(self.beyond):
            raise BadInput("limits must have a column and two ends each")
        if not ((self.columns >= 0) & (self.columns < width)).all():
            raise BadInput(f"limits must be of columns from 0 to {width - 1}; got {self.columns.tolist()}")


@kernel
def _keeping(intervals: Floats, i: int, low: int, high: int, limits: LimitRule) -> int:
    """How arm i stands to its limits, if the ends of its intervals are those of the columns `low` and `high`."""
    worst = FEASIBLE
    for q in range(limits.columns.shape[0]):
        d = limits.columns[q]
        if not intervals[i, low, d] >= limits.within[q]:
            worst = max(worst, INFEASIBLE if intervals[i, high, d] < limits.beyond[q] else OPEN)
    return worst


def keeping_of(lower: Floats, upper: Floats, limits: LimitRule) -> Ints:
    """How each of K arms stands to each of Q limits (K, Q), by its intervals (K, C)."""
    low, high = lower[:, limits.columns], upper[:, limits.columns]
    return np.where(low >= limits.within, FEASIBLE, np.where(high < limits.beyond, INFEASIBLE, OPEN))


@kernel
def veil_arm(intervals: Floats, i: int, limits: LimitRule, arms: Table, veiled: Floats) -> None:
    """Bring what the rule reads of arm i, intervals (K, COLUMNS, M) and its record, up to date with its intervals."""
    M = veiled.shape[2]
    for column in range(intervals.shape[1]):
        for d in range(M):
            veiled[i, column, d] = intervals[i, column, d]
    arms[i].keeping = _keeping(intervals, i, LOW, HIGH, limits)
    if arms[i].keeping != OPEN:
        return
    seems = _keeping(intervals, i, ESTIMATE, ESTIMATE, limits)
    in_the_end = _keeping(intervals, i, LOW_FLOOR, HIGH_FLOOR, limits)
    for d in range(M):
        veiled[i, LOW, d] = -np.inf
        if in_the_end != FEASIBLE:
            veiled[i, LOW_FLOOR, d] = -np.inf
        if in_the_end == INFEASIBLE:
            veiled[i, HIGH_FLOOR, d] = LOWEST
        if seems != FEASIBLE:  # it beats nobody, and is no candidate where another is
            veiled[i, ESTIMATE, d] = veiled[i, DOUBT_LOW, d] = veiled[i, DOUBT_HIGH, d] = -np.inf


@kernel(over="intervals")
def veil(intervals: Floats, limits: LimitRule, arms: Table, veiled: Floats) -> None:
    """`veil_arm` for all arms."""
    for i in range(intervals.shape[0]):
        veil_arm(intervals, i, limits, arms, veiled)


def veiled_intervals(intervals: ArmIntervals, limits: LimitRule, objectives: int) -> tuple[ArmIntervals, Ints]:
    """What is read of K arms with intervals (K, C), in the M objectives, and how each arm stands to its limits (K,)."""
    keeping = keeping_of(intervals.lower, intervals.upper, limits).max(axis=1)
    seems = keeping_of(intervals.estimates, intervals.estimates, limits).max(axis=1)
    apart = None if intervals.apart is None else intervals.apart[:, :, :objectives]
    read = replace(ArmIntervals(*(array[:, :objectives].copy() for array in intervals.alone)), apart=apart)
    read.lower[keeping == OPEN] = -np.inf
    unlikely = (keeping == OPEN) & (seems != FEASIBLE)
    read.estimates[unlikely] = read.doubt_low[unlikely] = read.doubt_high[unlikely] = -np.inf
    return read, keeping
