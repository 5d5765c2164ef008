"""Boxes as the small rule reads them."""

from __future__ import annotations

from frontguard._common.typing import Floats
from frontguard.evidence.boxes import ArmBoxes


def as_columns(boxes: ArmBoxes) -> Floats:
    """The same as an array (K, COLUMNS, M) in which no bound can gain anything any more."""
    return boxes.as_columns()
