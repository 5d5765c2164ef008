"""Marks, paths and words as SVG. Marks are drawn around the place where the pen is: one path can hold many of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from frontguard._common.typing import Floats
from frontguard.markup import Element, element
from frontguard.phrases import shortened
from frontguard.plot.layout.frames import runs
from frontguard.plot.layout.names import SIZE
from frontguard.plot.looks import THIN, Look, Mark

HINT = 1000
"""Characters of a hint under the pointer; a name may have more."""


def number(value: float, decimals: int = 1) -> str:
    """A coordinate, with one decimal: a tenth of a unit is less than a pixel.

    >>> number(12.04), number(-0.01), number(3.25), number(0.128, 2)
    ('12', '0', '3.2', '0.13')
    """
    text = f"{value:.{decimals}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


_short = partial(number, decimals=2)  # for marks, which are small


def colour(look: Look) -> str:
    """Its colour, or that of the text around the picture."""
    return look.colour or "currentColor"


def paint(look: Look) -> dict[str, str]:
    """The attributes of a mark's strokes and filling."""
    if look.filled and look.mark not in THIN and look.mark != "ring":
        return {"fill": colour(look)}
    return {"fill": "none", "stroke": colour(look), "stroke-width": _short(max(look.width, 1.6))}


def shape(look: Look) -> Element:
    """A mark around 0, 0."""
    return element("path", {"d": _outline(look.mark, look.size)} | paint(look))


def brush(look: Look) -> tuple[dict[str, str], str]:
    """Attributes and relative path for many marks in little space: round ones are lines without length."""
    if look.filled and look.mark in ("circle", "dot"):
        round_end = {"stroke": colour(look), "stroke-width": _short(look.size), "stroke-linecap": "round"}
        return round_end | {"fill": "none"}, "h0"
    return paint(look), _outline(look.mark, look.size)


@cache
def _outline(mark: Mark, size: float) -> str:
    r = size / 2.0
    match mark:
        case "circle" | "ring" | "dot":
            arc = f"a{_short(r)} {_short(r)} 0 1 0 "
            return f"m{_short(-r)} 0{arc}{_short(2 * r)} 0{arc}{_short(-2 * r)} 0z"
        case "square":
            side = 0.9 * size
            return f"m{_short(-side / 2)} {_short(-side / 2)}h{_short(side)}v{_short(side)}h{_short(-side)}z"
        case "triangle":
            # Around its centre of mass, and a bit larger, so that it weighs as much as a circle.
            high, half = 1.15 * r, 1.1 * r
            return f"m0 {_short(-high)}l{_short(half)} {_short(1.7 * high)}h{_short(-2 * half)}z"
        case "diamond":
            d = 1.2 * r
            return f"m0 {_short(-d)}l{_short(d)} {_short(d)}l{_short(-d)} {_short(d)}l{_short(-d)} {_short(-d)}z"
        case "cross":
            d = r / math.sqrt(2.0) * 1.15
            return (
                f"m{_short(-d)} {_short(-d)}l{_short(2 * d)} {_short(2 * d)}m0 {_short(-2 * d)}"
                f"l{_short(-2 * d)} {_short(2 * d)}"
            )
        case "plus":
            return f"m{_short(-r)} 0h{_short(2 * r)}m{_short(-r)} {_short(-r)}v{_short(2 * r)}"
        case "bar":
            return f"m{_short(-r)} 0h{_short(2 * r)}"


def polyline(x: Floats, y: Floats) -> str:
    """A line through the places; NaN interrupts it, and a place alone is a stroke without length.

    >>> polyline(np.array([1.0, 2.0, np.nan, 4.0]), np.array([1.0, 1.5, 0.0, 3.0]))
    'M1 1L2 1.5M4 3h0'
    """
    pieces = []
    for first, behind in runs(x, y):
        places = _distinct(x[first:behind], y[first:behind])
        pieces.append(f"M{places[0]}" + (f"L{' '.join(places[1:])}" if len(places) > 1 else "h0"))
    return "".join(pieces)


def polygon(x: Floats, y: Floats) -> str:
    """A closed line.

    >>> polygon(np.array([0.0, 2.0, 2.0]), np.array([0.0, 0.0, 1.0]))
    'M0 0L2 0 2 1z'
    """
    places = _distinct(x, y)
    return f"M{places[0]}L{' '.join(places[1:])}z" if len(places) > 2 else ""


def _distinct(x: Floats, y: Floats) -> list[str]:
    """Places as text, without those that would be written like the one before."""
    across, down = np.round(x, 1), np.round(y, 1)
    if len(across) > 2:
        kept = np.concatenate([[True], (across[1:] != across[:-1]) | (down[1:] != down[:-1])])
        across, down = across[kept], down[kept]
    return [f"{number(a)} {number(d)}" for a, d in zip(across.tolist(), down.tolist(), strict=True)]


def spaced(values: Sequence[float]) -> str:
    """Numbers with spaces between."""
    return " ".join(map(number, values))


def words(x: float, y: float, text: str, size: float = SIZE, *, anchor: str = "", **attributes: object) -> Element:
    """A text element with its baseline at y."""
    place = {"x": number(x), "y": number(y), "font-size": number(size) if size != SIZE else None}
    given = {name.replace("_", "-"): value for name, value in attributes.items()}
    return element("text", place | {"text-anchor": anchor or None} | given, text)


def hint(text: str | None) -> Element | None:
    """What is said when one points at something."""
    return element("title", {}, shortened(text, HINT)) if text else None
