"""Scales and ticks, limits, sheets and labels, for all renderers. On a `Sheet`, lengths are points; y grows down."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Bools, Floats
from frontguard.plot import picture as parts
from frontguard.plot.picture import Axis, Bars, Boxes, Layer, Lines, Panel, Points, columns, in_columns, width

# Where a value lies on an axis, which values are round enough to be named, and how -----------------------------------


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
    """About `most` rising values to name between low and high; of an axis's own names, every n-th of too many."""
    most = max(most, 2)
    if axis.ticks is not None:
        return tuple(sorted((at, word) for at, word in axis.ticks if low <= at <= high))
    if axis.names:
        named = [(float(i), name) for i, name in enumerate(axis.names) if low <= i <= high]
        return tuple(named[:: max(1, math.ceil(len(named) / most))])
    if axis.scale == "log":  # each for itself: they are of all sizes
        return tuple((value, tick_words([value])[0]) for value in log_ticks(low, high, most))
    values = round_ticks(low, high, most)
    return tuple(zip(values, tick_words(values), strict=True))


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


def tick_words(values: Sequence[float]) -> list[str]:
    """The values as people write them, all with as many decimals as tell them apart.

    >>> tick_words([0.0, 0.5, 1.0]), tick_words([0.0, 500.0, 1000.0]), tick_words([0.0, 2e7, 4e7])
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
        text = f"{value:,.{decimals}f}".replace("-", "−")
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    raised = "10" + str(int(power)).translate(_SUPERSCRIPTS)
    mantissa = mantissa.replace("-", "−")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return {"1": raised, "−1": f"−{raised}"}.get(mantissa, f"{mantissa}×{raised}")


def _times_power(factor: int, power: int) -> float:
    """factor · 10^power, as exact as a float can be; infinite or 0 where none can."""
    return float(f"{factor}e{power}")


Limits: TypeAlias = tuple[float, float]
Frame: TypeAlias = tuple[Limits, Limits]
"""What a panel shows along x and y."""

PADDING = 0.06
"""Free space on either side, as a share of what the data take."""

_LARGEST = 1e300  # beyond this no drawing library can compute with coordinates


def limits(panel: Panel) -> Frame:
    """Return the ends of both axes: rising, finite, and positive on a log scale."""
    # What is shaded behind the rest must not decide, unless there is nothing else.
    decisive = [layer for layer in panel.layers if not isinstance(layer, parts.Region)] or panel.layers
    xs = [values for layer in decisive for values in _reach(layer)[0]]
    ys = [values for layer in decisive for values in _reach(layer)[1]]
    return _limits(panel.x, xs), _limits(panel.y, ys)


def clipped(values: Floats, within: Limits) -> Floats:
    """The values cut off at the limits; NaN stays NaN.

    >>> clipped(np.array([-np.inf, 0.5, 7.0, np.nan]), (0.0, 2.0)).tolist()
    [0.0, 0.5, 2.0, nan]
    """
    return np.clip(np.asarray(values, np.float64), *within)


def widened(within: Limits, share: float, *, log: bool = False) -> Limits:
    """Limits with a share of their range added at either end.

    >>> widened((0.0, 2.0), 0.5), widened((1.0, 100.0), 0.5, log=True)
    ((-1.0, 3.0), (0.1, 1000.0))
    """
    low, high = within
    if not share:
        return within
    if log:
        factor = (high / low) ** share
        return low / factor, high * factor
    return low - share * (high - low), high + share * (high - low)


def inside(x: Floats, y: Floats, frame: Frame) -> npt.NDArray[np.bool_]:
    """Mask of the points within the frame; those without a finite place do not.

    >>> inside(np.array([1.0, 9.0, np.nan]), np.array([1.0, 1.0, 1.0]), ((0.0, 2.0), (0.0, 2.0))).tolist()
    [True, False, False]
    """
    (x_low, x_high), (y_low, y_high) = frame
    answer: npt.NDArray[np.bool_] = (x >= x_low) & (x <= x_high) & (y >= y_low) & (y <= y_high)
    return answer


def runs(x: Floats, y: Floats) -> list[tuple[int, int]]:
    """The stretches (first, behind the last) without NaN.

    >>> runs(np.array([1.0, 2.0, np.nan, 4.0]), np.zeros(4))
    [(0, 2), (3, 4)]
    """
    good = np.concatenate([[False], ~(np.isnan(x) | np.isnan(y)), [False]])
    edges = np.flatnonzero(good[1:] != good[:-1])
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def rectangles(layer: Boxes | Bars, frame: Frame) -> Floats:
    """Corners (n, 4, 2) of the boxes that have a place, or of bars as far as they are seen."""
    x_low, y_low, x_high, y_high = layer.corners
    if isinstance(layer, Bars):
        x_low, x_high, y_low, y_high = (
            clipped(each, frame[d]) for each, d in ((x_low, 0), (x_high, 0), (y_low, 1), (y_high, 1))
        )
    around = ((x_low, y_low), (x_high, y_low), (x_high, y_high), (x_low, y_high))
    corners = np.stack([np.stack(corner, axis=1) for corner in around], axis=1)
    return np.asarray(corners[np.isfinite(corners).all(axis=(1, 2))])


def middle(low: Floats, high: Floats, within: Limits) -> Floats:
    """The middle of what is seen of intervals."""
    return (clipped(low, within) + clipped(high, within)) / 2.0


def bounded(layer: Layer, panel: Panel, frame: Frame, beyond: float) -> Layer:
    """The layer without infinite coordinates: areas end a share of the range `beyond` the frame, marks at its edge."""
    if isinstance(layer, (parts.Density, parts.Rule)):
        return layer
    places = (
        ("at", "x") if isinstance(layer, (parts.Band, parts.Spans, parts.Bars)) else ()
    )  # stay: only the ends are cut
    cut: dict[str, Any] = {}
    for along, within, axis in zip(_coordinates(layer), frame, (panel.x, panel.y), strict=True):
        log = axis.scale == "log"
        for name in set(along).difference(places):
            values = np.asarray(getattr(layer, name), np.float64)
            share = 0.0 if isinstance(layer, parts.Points) else beyond
            cut[name] = clipped(values, widened(within, share, log=log))
            if isinstance(layer, (parts.Points, parts.Lines)):
                cut[name] = np.where(np.isinf(values) | (log & (values <= 0.0)), cut[name], values)
    return replace(layer, **cut)


def _limits(axis: Axis, parts: Sequence[Floats]) -> Limits:
    if axis.names:
        low, high = -0.5, len(axis.names) - 0.5
    else:
        log = axis.scale == "log"
        reached = _range(axis, parts, log)
        low, high = widened(reached, PADDING, log=log)
        if log:  # as far as there are numbers
            low, high = max(low, min(reached[0], 1.0 / _LARGEST)), min(high, max(reached[1], _LARGEST))
    low, high = (low if axis.low is None else axis.low), (high if axis.high is None else axis.high)
    if not low < high:  # given ends that leave nothing between them
        high = low * 10.0 if axis.scale == "log" else low + max(1.0, abs(low))
    return float(low), float(high)


def _range(axis: Axis, parts: Sequence[Floats], log: bool) -> Limits:
    """Lowest and highest of what can be shown, never equal."""
    values = np.concatenate([np.empty(0), *parts])
    values = values[np.isfinite(values) & (np.abs(values) < _LARGEST)]
    if log:
        values = values[values > 1.0 / _LARGEST]
    values = values[axis.holds(values)]
    if values.size == 0:  # beside the end that is given, or an ordinary range
        low = axis.low if axis.low is not None else 1.0 if log else 0.0
        if axis.low is None and axis.high is not None:
            low = axis.high / 10.0 if log else axis.high - 1.0
        return low, (low * 10.0 if log else low + 1.0)
    low, high = float(values.min()), float(values.max())
    if low < high:
        return low, high
    if log:
        return low / 2.0, high * 2.0
    half = 0.1 * abs(low) or 0.5
    return low - half, high + half


def _reach(layer: Layer) -> tuple[list[Floats], list[Floats]]:
    """The x and y that a layer would like to be seen."""
    if isinstance(layer, parts.Bars):
        return list(layer.corners[::2]), list(layer.corners[1::2])
    x, y = ([np.ravel(getattr(layer, name)) for name in names] for names in _coordinates(layer))
    return x, y


def _coordinates(layer: Layer) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of a layer's coordinates along x and along y."""
    match layer:
        case parts.Boxes():
            return ("x_low", "x_high"), ("y_low", "y_high")
        case parts.Band():
            return ("x",), ("low", "high")
        case parts.Bars():
            return (("at",), ("high",)) if layer.upright else (("high",), ("at",))
        case parts.Spans():
            return (("at",), ("low", "high")) if layer.upright else (("low", "high"), ("at",))
        case parts.Density():
            return ("x_edges",), ("y_edges",)
        case parts.Rule():
            return (("at",), ()) if layer.upright else ((), ("at",))
        case _:
            return ("x",), ("y",)


Rectangle: TypeAlias = tuple[float, float, float, float]
"""Smallest x, smallest y, largest x, largest y."""


@dataclass(frozen=True)
class Sheet:
    """A panel's frame, and the scales that lead to it."""

    frame: Rectangle
    x: Scale
    y: Scale

    def inside(self, x: Floats, y: Floats) -> Bools:
        """Mask of the positions that are seen; rounding must not lose one on the edge."""
        left, top, right, bottom = self.frame
        return np.asarray((x >= left - 0.5) & (x <= right + 0.5) & (y >= top - 0.5) & (y <= bottom + 0.5))

    def marks(self, x: npt.ArrayLike, y: npt.ArrayLike, half: float) -> Floats:
        """Rectangles (n, 4) around the values that are seen, which reach so far to each side."""
        at = np.stack([np.ravel(self.x(x)), np.ravel(self.y(y))], axis=1)
        at = at[self.inside(at[:, 0], at[:, 1])]
        return np.concatenate([at - half, at + half], axis=1)

    def rectangles(self, layer: Boxes | Bars, beyond: float = 0.0) -> tuple[Floats, Bools]:
        """Rectangles (n, 4) cut off so far beyond the frame, and which are seen (n,)."""
        x_low, y_low, x_high, y_high = layer.corners
        ends = [np.sort(self.x([x_low, x_high]), axis=0), np.sort(self.y([y_low, y_high]), axis=0)]
        low, high = np.stack(ends, axis=2)
        # What is known exactly has a box without width or height, and browsers draw nothing of such a rectangle.
        missing = np.maximum(0.0, 1.0 - (high - low)) / 2.0 if isinstance(layer, Boxes) else 0.0
        low, high = low - missing, high + missing
        first, last = np.array(self.frame[:2]), np.array(self.frame[2:])
        # Of a box that is open all around nothing is known: it would only darken the panel.
        seen = ((high >= first) & (low <= last)).all(axis=1) & ~((low < first) & (high > last)).all(axis=1)
        cut = np.clip(np.stack([low, high], axis=1), first - beyond, last + beyond)
        return cut.reshape(-1, 4), np.asarray(seen)


def sheet_of(panel: Panel, shown: Frame, frame: Rectangle) -> Sheet:
    """A panel that shows such values within such a frame; y grows upwards there, unless it is read from the top."""
    left, top, right, bottom = frame
    across = (right, left) if panel.x.reverse else (left, right)
    down = (top, bottom) if panel.y.reverse else (bottom, top)
    x = Scale(*shown[0], *across, log=panel.x.scale == "log")
    return Sheet(frame, x, Scale(*shown[1], *down, log=panel.y.scale == "log"))


# Labels: each stands at its own mark, to the right or to the left of it, or is left to the hint under the pointer -----


_GAP = 3.0  # between a label and all marks
_BESIDE = 4.5  # from a mark to its name, which so begins beyond a ring around it
_MOST = 120  # labels that are tried; more could not be read anyway
_LONGEST = 0.5  # of the frame's width


@dataclass(frozen=True)
class Label:
    """A text to the right of a point in the user's units (side 1), or to the left of it (−1), and how far away."""

    text: str
    layer: Points
    index: int  # of the point within the layer
    at: tuple[float, float]
    side: int
    reach: float

    def box(self, sheet: Sheet, size: float) -> Rectangle:
        """The room that it takes in letters of that size."""
        wide, high = width(self.text, size), 1.1 * size
        left = float(sheet.x(self.at[0])) + self.side * self.reach + wide * (self.side - 1) / 2.0
        top = float(sheet.y(self.at[1])) - high / 2.0
        return left, top, left + wide, top + high


def labels(panel: Panel, sheet: Sheet, size: float) -> list[Label]:
    """The labels for which there is room at their own marks; those of what lies on top come first."""
    marks = np.concatenate([np.empty((0, 4)), *(_marks(layer, sheet) for layer in panel.layers)])
    wanted = [label for layer in reversed(panel.layers) for label in _wanted(layer, sheet)][:_MOST]
    left, top, right, bottom = sheet.frame
    names = in_columns([label.text for label in wanted], columns(_LONGEST * (right - left), size))
    found, taken = [], np.empty((0, 4))
    for name, label in zip(names, wanted, strict=True):
        for side in (1, -1):
            placed = replace(label, text=name, side=side)
            box = placed.box(sheet, size)
            free = (_gaps(box, marks) >= _GAP - 1e-6).all() and (_gaps(box, taken) >= 0.0).all()
            if free and left <= box[0] and top <= box[1] and box[2] <= right and box[3] <= bottom:
                found.append(placed)
                taken = np.append(taken, [box], axis=0)
                break
    return found


def _wanted(layer: Layer, sheet: Sheet) -> Iterator[Label]:
    """The labels of the points of a layer that are seen."""
    if not isinstance(layer, Points):
        return
    for i, text in enumerate(layer.written):
        at = float(layer.x[i]), float(layer.y[i])
        if text.strip() and sheet.inside(sheet.x(at[0]), sheet.y(at[1])):
            yield Label(text, layer, i, at, 1, _BESIDE + layer.look.size / 2.0)


def _marks(layer: Layer, sheet: Sheet) -> Floats:
    """Rectangles (n, 4) that no label may cover; a ring is around a mark that has a label itself."""
    if (isinstance(layer, Points) and layer.look.mark != "ring") or (isinstance(layer, Lines) and layer.marks):
        return sheet.marks(layer.x, layer.y, layer.look.size / 2.0)
    if isinstance(layer, Bars):
        bars, seen = sheet.rectangles(layer)
        return bars[seen]
    return np.empty((0, 4))


def _gaps(box: Rectangle, others: Floats) -> Floats:
    """Distances of the others (n, 4) from it, less than 0 where they overlap."""
    apart = np.maximum(others[:, :2] - box[2:], box[:2] - others[:, 2:])
    return np.asarray(apart.max(axis=1))
