"""What may be told of a pull: checked before anything is written."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from numbers import Real

import numpy as np

from frontguard.errors import BadInput
from frontguard.objectives import Objective

Values = Mapping[str, float | None] | Sequence[float | None] | float
LONGEST_REASON = 2000
"""Characters of a reason that are kept."""


def checked_values(objectives: Sequence[Objective], values: object, reason: str | None, pull: int) -> tuple[float, ...]:
    """The values of one pull in the order of the objectives, NaN where a measurement failed.

    Values come by name or in order. A value that is missing, NaN or infinite is refused, because it may be a mistake
    of the caller's; told as None together with a reason it is a failed measurement.

    >>> metrics = [Objective("seconds", "minimize", "2%"), Objective("bytes", "minimize")]
    >>> checked_values(metrics, {"bytes": 10, "seconds": 0.5}, None, 7)
    (0.5, 10.0)
    >>> checked_values(metrics, [0.5, None], "out of memory", 7)
    (0.5, nan)
    >>> checked_values(metrics, {"second": 0.5, "bytes": 10}, None, 7)
    Traceback (most recent call last):
    ...
    frontguard.errors.BadInput: pull 7: no objective is called 'second' (did you mean 'seconds'?); wanted seconds, bytes
    """
    names = [objective.name for objective in objectives]
    given = _in_order(names, values, pull)
    return tuple(
        _checked_value(objective, value, reason, pull) for objective, value in zip(objectives, given, strict=True)
    )


def checked_reason(reason: object, pull: int) -> str:
    """Why a pull failed: a text that says something."""
    if not isinstance(reason, str) or not reason.strip():
        raise BadInput(f"pull {pull}: a failed pull needs a reason, a text that is not blank; got {reason!r}")
    return reason.replace("\0", "�").encode("utf-8", "replace").decode("utf-8").strip()[:LONGEST_REASON]


def _in_order(names: list[str], values: object, pull: int) -> list[object]:
    if isinstance(values, Mapping):
        for name in values:
            if name not in names:
                near = get_close_matches(str(name), names, n=1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise BadInput(f"pull {pull}: no objective is called {name!r}{hint}; wanted {', '.join(names)}")
        missing = [name for name in names if name not in values]
        if missing:
            raise BadInput(f"pull {pull}: no value for {', '.join(missing)}; wanted one for each of {', '.join(names)}")
        return [values[name] for name in names]
    if isinstance(values, (str, bytes)):
        raise BadInput(f"pull {pull}: values must be numbers, by name or in order; got {_in_a_line(values)}")
    if isinstance(values, np.ndarray) and values.ndim <= 1:
        values = values.tolist()
    if isinstance(values, Sequence):
        if len(values) != len(names):
            raise BadInput(
                f"pull {pull}: wanted {len(names)} values, one for each of {', '.join(names)}; got {len(values)}"
            )
        return list(values)
    if len(names) == 1 and not isinstance(values, np.ndarray):
        return [values]
    raise BadInput(f"pull {pull}: values must be {len(names)} numbers, by name or in order; got {_in_a_line(values)}")


def _checked_value(objective: Objective, value: object, reason: str | None, pull: int) -> float:
    if value is None and reason is not None:
        return math.nan
    where = f"pull {pull}: value of {objective.name!r}"
    if value is None or isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise BadInput(f"{where} must be a real number{_or_failed(value)}; got {_in_a_line(value)}")
    try:
        number = float(value)
    except OverflowError:
        raise BadInput(f"{where} must be a number below 1.8e308; got {len(str(value))} digits") from None
    if not math.isfinite(number):
        raise BadInput(f"{where} must be finite{_or_failed(None)}; got {number}")
    if objective.relative and number <= 0.0:
        raise BadInput(
            f"{where} must be positive, since its tolerance {objective.tolerance!r} is relative; got {number}"
        )
    return number


def _in_a_line(value: object, most: int = 120) -> str:
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _or_failed(value: object) -> str:
    return "" if value is not None else ", or the pull told as failed with a reason: study.fail(pull, reason)"
