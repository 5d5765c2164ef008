"""A function to be compiled and kept: it takes an array, and makes one."""

from __future__ import annotations

import numpy as np

from frontguard._common.typing import Floats


def ascending(values: Floats) -> Floats:
    """The values in order."""
    return np.sort(values)
