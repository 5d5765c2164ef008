"""Scales and their ticks: where a value lies on an axis, which values are round enough to be named, and how.

>>> ticks(Axis(), 0.0, 1.0, 5)
((0.0, '0'), (0.2, '0.2'), (0.4, '0.4'), (0.6, '0.6'), (0.8, '0.8'), (1.0, '1'))
>>> [word for _, word in ticks(Axis(scale="log"), 0.5, 2e5, 8)]
['1', '10', '100', '1,000', '10,000', '100,000']
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Floats
from frontguard.plot.picture import Axis

Ticks: TypeAlias = tuple[tuple[float, str], ...]

FAR = 100.0
"""What is beyond the ends lies at most so many lengths of the axis away, so that coordinates stay short."""

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@dataclass(frozen=True)
class Scale:
    """Maps values from `low` to `high` (rising) to positions from `start` to `end` (either way).

    >>> Scale(1.0, 100.0, 0.0, 50.0, log=True)(np.array([1.0, 10.0, 100.0])).tolist()
    [0.0, 25.0, 50.0]
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, values: npt.ArrayLike) -> Floats:
        """Positions of values. Infinite ones, and 0 and less on a log scale, lie far beyond an end; NaN stays."""
        low, high, given = self.low, self.high, np.asarray(values, np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.log:
                given = np.log10(np.where(given < 0.0, 0.0, given))
                low, high = math.log10(low), math.log10(high)
            # Halved, so that the length of an axis from -1e308 to 1e308 is still a number.
            share = (given / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)
        return np.asarray(self.start + np.clip(share, -FAR, 1.0 + FAR) * (self.end - self.start))


def ticks(axis: Axis, low: float, high: float, most: int) -> Ticks:
    """Values to name on an axis that shows low to high, with their names; about `most` of them, rising.

    An axis's own ticks and names are kept, as far as they are seen; of too many, every second or third … is left.
    """
    most = max(most, 2)
    if axis.ticks is not None:
        return tuple(sorted((at, word) for at, word in axis.ticks if low <= at <= high))
    if axis.names:
        named = [(float(i), name) for i, name in enumerate(axis.names) if low <= i <= high]
        return tuple(named[:: max(1, math.ceil(len(named) / most))])
    percent = axis.percent and abs(high) < 1e300 and abs(low) < 1e300  # a hundred times as much must be a number
    unit, sign = (100.0, "%") if percent else (1.0, "")
    if axis.scale == "log":
        values = log_ticks(unit * low, unit * high, most)
        written = [labels([value])[0] for value in values]  # each for itself: they are of all sizes
    else:
        values = round_ticks(unit * low, unit * high, most)
        written = labels(values)
    return tuple((value / unit, word + sign) for value, word in zip(values, written, strict=True))


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten within low … high, at most `most` + 1 of them.

    >>> round_ticks(0.13, 0.48, 5)
    [0.2, 0.3, 0.4]
    >>> round_ticks(-1.0, 1.0, 4)
    [-1.0, -0.5, 0.0, 0.5, 1.0]
    """
    least = (high / max(most, 1)) - (low / max(most, 1))
    if not 0.0 < least < math.inf:
        return []
    power = math.floor(math.log10(least))
    for factor in (1, 2, 5, 10, 20):
        step = _times_power(factor, power)
        # A step that is smaller than what floats can tell apart at these values would name one value twice.
        if step >= least * (1.0 - 1e-9) and step >= 4.0 * math.ulp(max(abs(low), abs(high))):
            break
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    found = [_times_power(factor * i, power) for i in range(first, min(last, first + most + 1) + 1)]
    room = 1e-9 * step  # an end that is round itself is named although floats may put the tick just outside
    return [min(max(value, low), high) if value - room <= high and value + room >= low else value for value in found]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Powers of ten within low … high, or every n-th of them; with 2 and 5 times these if there is room.

    >>> log_ticks(0.9, 120.0, 8)
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
    >>> log_ticks(3.0, 7.0, 4)
    [3.0, 4.0, 5.0, 6.0, 7.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in ((1, 2, 5), (1, 5), (1,)):
        found = [_times_power(factor, power) for power in range(first, last + 1) for factor in factors]
        found = [value for value in found if low * (1 - 1e-12) <= value <= high * (1 + 1e-12)]
        if len(found) <= most:
            break
    else:
        powers = [power for power in range(first, last + 1) if low <= _times_power(1, power) <= high]
        every = math.ceil(len(powers) / most)
        whole = [power for power in powers if power % every == 0]
        # One tick alone tells no scale.
        found = [_times_power(1, power) for power in (whole if len(whole) > 1 else powers[::every])]
    if len(found) >= 3 or high / low > 50.0:
        return found
    return [value for value in round_ticks(low, high, most) if value > 0.0] or found


def labels(values: Sequence[float]) -> list[str]:
    """The values as people write them, all with as many decimals as tell them apart.

    >>> labels([0.0, 0.5, 1.0]), labels([0.0, 500.0, 1000.0]), labels([0.0, 2e7, 4e7])
    (['0', '0.5', '1'], ['0', '500', '1,000'], ['0', '2×10⁷', '4×10⁷'])
    """
    largest = max((abs(value) for value in values), default=0.0)
    smallest = min((abs(value) for value in values if value), default=0.0)
    plain = largest < 1e7 and (smallest >= 1e-4 or largest >= 1.0)
    apart = min((b - a for a, b in pairwise(sorted(values))), default=1e-9 * largest)
    written: list[str] = []
    for digits in range(1, 18):
        written = [_written(value, digits, plain) for value in values]
        # Enough digits: the words say the values, and not only different ones.
        if all(abs(float(f"{value:.{digits}g}") - value) <= 1e-3 * apart for value in values):
            break
    return written


def _written(value: float, digits: int, plain: bool) -> str:
    if value == 0.0:
        return "0"
    if plain:
        decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        return _without_zeros(f"{value:,.{decimals}f}").replace("-", "−")
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    raised = "10" + str(int(power)).translate(_SUPERSCRIPTS)
    mantissa = _without_zeros(mantissa).replace("-", "−")
    return {"1": raised, "−1": f"−{raised}"}.get(mantissa, f"{mantissa}×{raised}")


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _times_power(factor: int, power: int) -> float:
    """factor · 10^power, as exact as a float can be; infinite or 0 where none can."""
    return float(f"{factor}e{power}")
