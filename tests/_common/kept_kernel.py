"""A function to be compiled and kept: it takes an array, and makes one."""

from __future__ import annotations

import numpy as np

from frontguard._common.typing import Floats


def turned(values: Floats) -> Floats:
    """The values from the last to the first; to sort them would take numba a second more to compile."""
    found = np.empty(values.size)
    for i in range(values.size):
        found[values.size - 1 - i] = values[i]
    return found
