"""Coordinates for plotly, and where words beside marks go, by a guess at how many pixels a panel has."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from frontguard._typing import Floats
from frontguard.plot.layout.frames import Limits, clipped, inside
from frontguard.plot.layout.names import columns, short
from frontguard.plot.layout.placing import Rectangle, placed, within_polygon
from frontguard.plot.looks import Look
from frontguard.plot.picture import Axis, Boxes, Panel, Points, Region, Rule
from frontguard.plot.screen.looks import POINT
from frontguard.plot.screen.text import plain

BEYOND = 0.3
"""How far outside the frame, as a share of it, things end that go on for ever."""

_LETTER, _LINE = 6.8, 16.0  # pixels that a word takes for each column, and in height


@dataclass(frozen=True)
class Place:
    """Where traces go: the panel, what it shows, its size in pixels, and the legend's names by look."""

    panel: Panel
    frame: tuple[Limits, Limits]
    size: tuple[float, float]
    named: dict[Look, str]

    def x(self, values: Floats, *, beyond: float = BEYOND) -> list[Any]:
        """Values of x for plotly, infinite ones beyond the edge, None for those that are no numbers."""
        return coordinates(values, self.frame[0], self.panel.x, beyond)

    def y(self, values: Floats, *, beyond: float = BEYOND) -> list[Any]:
        """Values of y for plotly."""
        return coordinates(values, self.frame[1], self.panel.y, beyond)

    def group(self, look: Look) -> dict[str, Any]:
        """What joins a trace to its entry of the legend, which shows and hides it."""
        name = self.named.get(key_of(look), "")
        return {"showlegend": False, **({"legendgroup": name} if name else {})}


def key_of(look: Look) -> Look:
    """A look without its name: layers and legends may call it differently."""
    return replace(look, label="")


def coordinates(values: Floats, within: Limits, axis: Axis, beyond: float = BEYOND) -> list[Any]:
    """Values for an axis of plotly: dates in milliseconds, what has no place on it beyond the edge.

    >>> coordinates(np.array([1.0, np.inf, np.nan]), (0.0, 2.0), Axis(), 0.5)
    [1.0, 3.0, None]
    >>> coordinates(np.array([5.0]), (0.0, 9.0), Axis(dates=True))
    [5000.0]
    """
    log = axis.scale == "log"
    values = np.asarray(values, np.float64)
    off = np.isinf(values) | (values <= 0.0) if log else np.isinf(values)
    shown = np.where(off, clipped(values, within, beyond=beyond, log=log), values)
    return numbers(1000.0 * shown if axis.dates else shown)


def numbers(values: Floats) -> list[Any]:
    """Plain numbers, None where there is none."""
    return [value if math.isfinite(value) else None for value in np.asarray(values, np.float64).tolist()]


def joined(rows: list[list[Any]]) -> list[Any]:
    """Polylines one after another, with gaps between them."""
    return [value for row in rows for value in (*row, None)]


# Words ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Word:
    """A name beside the point with this number, on one of plotly's sides, so many pixels from it."""

    number: int
    text: str
    side: str
    distance: float


def words_beside(layer: Points, place: Place) -> list[Word]:
    """The words for which there is room, beside those of the panel's other layers; the uppermost choose first."""
    taken: list[Rectangle] = []
    for other in reversed(place.panel.layers):
        if isinstance(other, Points) and any(other.written):
            words = _words(other, place, taken)
            if other is layer:
                return words
    return []


def _words(layer: Points, place: Place, taken: list[Rectangle]) -> list[Word]:
    """The words of one layer; the room they take is added to what is taken."""
    seen = inside(layer.x, layer.y, place.frame)
    wanted = [i for i, text in enumerate(layer.written) if text and seen[i]]
    x, y = _pixels(layer.x, place, 0), _pixels(layer.y, place, 1)
    points = [(float(x[i]), float(y[i])) for i in wanted]
    sizes = [(_LETTER * columns(short(layer.written[i], 30)), _LINE) for i in wanted]
    gap = POINT * layer.look.size / 2.0 + 3.0
    obstacles, frame = [*_marks(place), *taken], (0.0, 0.0, *place.size)
    corners = placed(points, sizes, obstacles, frame, gap=gap, rather_not=_boxes(place))
    found = []
    for i, point, size, corner in zip(wanted, points, sizes, corners, strict=True):
        if corner is not None:
            found.append(_word(i, plain(layer.written[i], 30), point, size, corner))
            taken.append((*corner, corner[0] + size[0], corner[1] + size[1]))
    return found


def _word(
    number: int, text: str, point: tuple[float, float], size: tuple[float, float], corner: tuple[float, float]
) -> Word:
    along, above = (corner[d] + size[d] / 2.0 - point[d] for d in (0, 1))
    upright = "middle" if abs(above) < 1.0 else "top" if above > 0 else "bottom"
    side = f"{upright} {'center' if abs(along) < 1.0 else 'right' if along > 0 else 'left'}"
    return Word(number, text, side, max(abs(along) - size[0] / 2.0, abs(above) - size[1] / 2.0, 0.0))


def spot_within(layer: Region, place: Place) -> tuple[float, float] | None:
    """Where the middle of a region's word goes; None without room."""
    if layer.x.size < 3:
        return None
    corners = np.stack([_pixels(layer.x, place, 0), _pixels(layer.y, place, 1)], axis=1)
    size = _LETTER * columns(short(layer.written, 40)), _LINE
    corner = within_polygon(corners, size, [*_marks(place), *_boxes(place)], (0.0, 0.0, *place.size))
    if corner is None:
        return None
    middle = [(corner[d] + size[d] / 2.0) / place.size[d] for d in (0, 1)]
    return _value(middle[0], place.panel.x, place.frame[0]), _value(middle[1], place.panel.y, place.frame[1])


def spot_of_rule(layer: Rule, place: Place) -> tuple[float, float, str]:
    """Where a rule's word goes, and on which side: at its end; each upright rule's below that of the one before."""
    if not layer.upright:
        return _value(1.0, place.panel.x, place.frame[0]), layer.at, "top left"
    rules = [other for other in place.panel.layers if isinstance(other, Rule) and other.upright and other.written]
    before = next(k for k, other in enumerate(rules) if other is layer)
    share = 1.0 - before * (_LINE + 2.0) / place.size[1]
    width = _LETTER * columns(short(layer.written, 40))
    fits = float(_pixels(np.array([layer.at]), place, 0)[0]) + width < place.size[0]
    return layer.at, _value(share, place.panel.y, place.frame[1]), "bottom right" if fits else "bottom left"


def _pixels(values: Floats, place: Place, d: int) -> Floats:
    """Positions from the left or from below."""
    axis, (low, high) = (place.panel.x, place.panel.y)[d], place.frame[d]
    values = clipped(values, (low, high))
    if axis.scale == "log":
        share = (np.log(values) - math.log(low)) / (math.log(high) - math.log(low))
    else:
        share = (values - low) / (high - low)
    return np.asarray(place.size[d] * (1.0 - share if axis.reverse else share))


def _value(share: float, axis: Axis, within: Limits) -> float:
    low, high = within
    share = 1.0 - share if axis.reverse else share
    return low * (high / low) ** share if axis.scale == "log" else low + share * (high - low)


def _marks(place: Place) -> list[Rectangle]:
    found: list[Rectangle] = []
    for layer in place.panel.layers:
        if isinstance(layer, Points):
            half = POINT * layer.look.size / 2.0
            x, y = _pixels(layer.x, place, 0), _pixels(layer.y, place, 1)
            found += [(a - half, b - half, a + half, b + half) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return found


def _boxes(place: Place) -> list[Rectangle]:
    found: list[Rectangle] = []
    for layer in place.panel.layers:
        if isinstance(layer, Boxes):
            x = _pixels(layer.x_low, place, 0), _pixels(layer.x_high, place, 0)
            y = _pixels(layer.y_low, place, 1), _pixels(layer.y_high, place, 1)
            ends = np.stack([np.minimum(*x), np.minimum(*y), np.maximum(*x), np.maximum(*y)], axis=1)
            found += [(a, b, c, d) for a, b, c, d in ends.tolist()]
    return found
