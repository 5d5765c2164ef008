"""Arguments that many functions take, checked in one place."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Bools, Floats
from frontguard.errors import BadArgument, BadInput


def real_number(value: object, name: str) -> float:
    """Return `value` as a float; refuse whatever is not a finite real number.

    >>> real_number("0.1", "delta (δ)")
    Traceback (most recent call last):
    ...
    frontguard.errors.BadArgument: delta (δ) must be a finite real number; got '0.1'
    """
    # bool is a Real to Python, but True as a share of measurements is a mistake of the caller's.
    if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise BadArgument(name, must="be a finite real number", got=repr(value))


def positive_number(value: object, name: str) -> float:
    """Return `value` as a float; refuse whatever is not positive and finite."""
    number = real_number(value, name)
    if number <= 0.0:
        raise BadArgument(name, must="be positive", got=repr(number))
    return number


def checked_delta(value: object) -> float:
    """Return δ as a float; refuse whatever is not strictly between 0 and 1."""
    delta = real_number(value, "delta (δ)")
    if not 0.0 < delta < 1.0:
        raise BadInput(f"delta (δ), the allowed probability of failure, must satisfy 0 < delta < 1; got {delta!r}")
    return delta


def checked_count(value: object, name: str) -> int:
    """Return `value` as an int; refuse whatever is not a whole number, at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise BadArgument(name, must="be a whole number, at least 1", got=repr(value))
    return int(value)


def one_for_each(
    value: npt.ArrayLike,
    objectives: int,
    name: str,
    good: Callable[[Floats], Bools],
    wanted: str,
    of: str = "objective",
) -> Floats:
    """A finite number for each objective (M,), or arm, from one for all or one for each; refuse what is not `good`."""
    array = np.asarray(value, np.float64)
    if array.shape not in ((), (objectives,)):
        raise BadArgument(name, must=f"be one number or {objectives}, one for each {of}", got=f"{array.shape}")
    wrong = ~(np.isfinite(array) & good(array))
    if wrong.any():
        raise BadArgument(name, must=f"be {wanted}", got=repr(float(array[wrong][0])))
    return np.broadcast_to(array, (objectives,)).copy()
