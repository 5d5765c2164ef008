"""Boxes as the small rule reads them."""

from __future__ import annotations

from frontguard._common.typing import Floats
from frontguard.evidence.boxes import (
    DOUBT_HIGH,
    DOUBT_LOW,
    ESTIMATE,
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    PLAIN_HIGH,
    PLAIN_LOW,
    ArmBoxes,
    unknown_boxes,
)


def as_columns(boxes: ArmBoxes) -> Floats:
    """The same as an array (K, COLUMNS, M) in which no bound can gain anything any more."""
    array = unknown_boxes(*boxes.lower.shape)
    for column in (LOW, LOW_FLOOR, PLAIN_LOW):
        array[:, column] = boxes.lower
    for column in (HIGH, HIGH_FLOOR, PLAIN_HIGH):
        array[:, column] = boxes.upper
    array[:, ESTIMATE] = boxes.estimates
    array[:, DOUBT_LOW], array[:, DOUBT_HIGH] = boxes.doubt_low, boxes.doubt_high
    return array
