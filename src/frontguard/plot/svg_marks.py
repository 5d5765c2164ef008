"""Marks as paths, drawn around the place where the pen is, so that one path can hold many of them."""

from __future__ import annotations

import math
from functools import cache

from frontguard.markup import Element, element
from frontguard.plot.looks import Look, Mark

_OPEN = frozenset(("cross", "plus", "bar"))
"""Marks that are strokes and enclose nothing."""


def colour(look: Look) -> str:
    """Its colour, or that of the text around the picture."""
    return look.colour or "currentColor"


def paint(look: Look) -> dict[str, str]:
    """The attributes of a mark's strokes and filling."""
    if look.filled and look.mark not in _OPEN and look.mark != "ring":
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


def _short(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text
