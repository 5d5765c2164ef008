"""Intervals as the small rule reads them."""

from __future__ import annotations

from frontguard._common.typing import Floats
from frontguard.evidence.intervals import ArmIntervals


def as_columns(intervals: ArmIntervals) -> Floats:
    """The same as an array (K, COLUMNS, M) in which no bound can gain anything any more."""
    return intervals.as_columns()
