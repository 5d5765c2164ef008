"""Kernels that call each other, two of which are called from Python."""

from __future__ import annotations

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats


@kernel
def root(x: float) -> float:
    """A part of a part, which may fail, and says with what."""
    if x < 0.0:
        raise ValueError("no root of a number below 0, such as", x)
    return x**0.5


@kernel
def roots(values: Floats) -> Floats:
    """A part that makes an array."""
    found = np.empty(values.size)
    for i in range(values.size):
        found[i] = root(values[i])
    return found


@kernel
def sum_of_roots(values: Floats) -> float:
    return float(roots(values).sum())


@kernel
def longest_root(values: Floats) -> float:
    return float(roots(values).max())
