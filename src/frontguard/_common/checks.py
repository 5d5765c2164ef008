"""Arguments, and what users write in Python, options and spec files, checked in one place.

A `name` is what the user calls a value: `confidence` in Python, `--confidence` as an option. Nothing heavy is imported
here: the help of the command line needs it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from inspect import signature
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final

from frontguard.errors import BadArgument, BadInput
from frontguard.phrases import did_you_mean

if TYPE_CHECKING:
    import numpy.typing as npt

    from frontguard._common.typing import Bools, Floats

WANTED_TIME: Final = "a time, such as 90 (seconds), '30 min' or '2 h', above 0 and below 30 years"

_AMOUNT = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(%?)\s*")
_TIME = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)
_UNITS = {"": 1, "s": 1, "sec": 1, "second": 1, "seconds": 1, "min": 60, "minute": 60, "minutes": 60, "m": 60,
          "h": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400}  # fmt: skip


def read_amount(text: str) -> tuple[float, bool] | None:
    """The number that a text is, and whether it is written as a percentage; None if it is none.

    >>> read_amount("0.7 %"), read_amount("1e-3"), read_amount("2 percent")
    ((0.007, True), (0.001, False), None)
    """
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    if not match[2]:
        return float(match[1]), False
    # float("0.7e-2") rather than 0.7 / 100: the nearest double to the share that was written.
    mantissa, _, exponent = match[1].lower().partition("e")
    return float(f"{mantissa}e{int(exponent or 0) - 2}"), True


def _probability(value: object) -> float:
    """A number, or the text of one or of a percentage; NaN for all else."""
    if isinstance(value, str):
        read = read_amount(value)
        return math.nan if read is None else read[0] + 0.0
    return _plain_number(value) + 0.0


def _plain_number(value: object) -> float:
    """A real number as a float, infinite where it is too large for one; NaN for all else, also for True and False."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def checked_share(value: object, name: str = "contamination") -> float:
    """The probability ε with which measurements are replaced, or the share of them that are.

    >>> checked_share("10%"), checked_share(0.1), checked_share(" 0.1 ")
    (0.1, 0.1, 0.1)
    """
    share = _probability(value)
    if not 0.0 <= share < 0.5:
        majority = ": from one half on, what is replaced is the majority" if share >= 0.5 else ""
        raise BadArgument(
            name, must=f"be a probability from 0 to below 1/2, such as 0.1 or '10%'{majority}", got=repr(value)
        )
    return share


def checked_confidence(value: object, name: str = "confidence") -> float:
    """The probability with which an answer must hold.

    >>> checked_confidence("95%")
    0.95
    """
    level = _probability(value)
    if not 0.0 < level < 1.0:
        raise BadArgument(name, must="be a probability between 0 and 1, such as 0.95 or '95%'", got=repr(value))
    return level


GOALS = ("front", "list")
"""All arms that none beats, the paper's set; or as few as are enough, the short list."""


def checked_goal(value: object, name: str = "goal") -> str:
    """The goal: which arms are to be returned."""
    if not isinstance(value, str) or value not in GOALS:
        raise BadArgument(
            name, must="be 'list' (as few arms as are enough) or 'front' (all that none beats)", got=repr(value)
        )
    return value


def checked_truth(value: object, name: str) -> bool:
    """True or False, and nothing that Python takes for one of them."""
    if not isinstance(value, bool):
        raise BadArgument(name, must="be True or False", got=repr(value))
    return value


def checked_seconds(value: object, name: str) -> float:
    """Seconds, from a number of them or a text such as "30 min".

    >>> checked_seconds("1.5 h", "timeout"), checked_seconds(90, "timeout")
    (5400.0, 90.0)
    """
    seconds = _plain_number(value)
    if isinstance(value, str) and (match := _TIME.fullmatch(value)) and match[2].lower() in _UNITS:
        seconds = float(match[1]) * _UNITS[match[2].lower()]
    if not 0.0 < seconds < 10.0**9:
        raise BadArgument(name, must=f"be {WANTED_TIME}", got=repr(value))
    return seconds


def refuse_unknown(given: Iterable[str], function: Callable[..., Any], more: Iterable[str]) -> None:
    """Refuse further keywords that a function was given and that are none of `more`, with those that may be meant.

    >>> def find(arms, **asked): ...
    >>> refuse_unknown(["objctives"], find, ["objectives"])
    Traceback (most recent call last):
    ...
    TypeError: find() has no argument 'objctives' (did you mean 'objectives'?)
    """
    known = [*signature(function).parameters, *more]
    for name in given:
        if name not in more:
            raise TypeError(f"{function.__name__}() has no argument {name!r}{did_you_mean(name, known)}")


def real_number(value: object, name: str) -> float:
    """Return `value` as a float; refuse whatever is not a finite real number."""
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
    import numpy as np

    array = np.asarray(value, np.float64)
    if array.shape not in ((), (objectives,)):
        raise BadArgument(name, must=f"be one number or {objectives}, one for each {of}", got=f"{array.shape}")
    wrong = ~(np.isfinite(array) & good(array))
    if wrong.any():
        raise BadArgument(name, must=f"be {wanted}", got=repr(float(array[wrong][0])))
    return np.broadcast_to(array, (objectives,)).copy()
