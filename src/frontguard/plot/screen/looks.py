"""Looks in plotly's terms: symbols, dashes, fillings, colours that let what is behind shine through."""

from __future__ import annotations

from typing import Any

from frontguard.plot.looks import Look

TEXT = "#333333"
"""The colour of what has none of its own."""

POINT = 96.0 / 72.0
"""Pixels."""

_SYMBOLS = {
    "circle": "circle", "cross": "x-thin", "square": "square", "triangle": "triangle-up", "diamond": "diamond",
    "dot": "circle", "ring": "circle", "bar": "line-ns", "plus": "cross-thin",
}  # fmt: skip
_SIZES = {"dot": 0.75, "square": 0.9, "diamond": 1.1, "triangle": 1.05}
_THIN = ("cross", "plus", "bar")


def colour(look: Look) -> str:
    """Its colour, or that of text."""
    return look.colour or TEXT


def see_through(look: Look, opacity: float) -> str:
    """Its colour, of which only so much is seen.

    >>> see_through(Look("", "#0072B2"), 0.25)
    'rgba(0, 114, 178, 0.25)'
    """
    shade = colour(look)
    red, green, blue = (int(shade[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity:g})"


def marker(look: Look) -> dict[str, Any]:
    """A mark's shape, size and filling."""
    hollow = not look.filled or look.mark in (*_THIN, "ring")
    return {
        "symbol": _SYMBOLS[look.mark] + ("-open" if hollow else ""),
        "size": POINT * _SIZES.get(look.mark, 1.0) * look.size,
        "color": colour(look),
        "line": {"width": 2.0 if hollow else 0.5, "color": colour(look)},
    }


def line(look: Look) -> dict[str, Any]:
    """A line's colour, width and dashes."""
    dash = ",".join(f"{POINT * length:g}px" for length in look.dash)
    return {"color": colour(look), "width": POINT * look.width, "dash": dash or "solid"}


def filling(look: Look) -> dict[str, Any]:
    """How a bar is filled, so that verdicts can be told apart without colour: full, pale, hatched or empty."""
    outline = {"color": colour(look), "width": 1.0}
    if not look.filled:
        return {"color": "white", "line": outline}
    if look.mark == "triangle":
        return {"color": see_through(look, 0.3), "line": outline, "pattern": {"shape": "/", "fgcolor": colour(look)}}
    return {"color": see_through(look, 0.45 if look.mark in _THIN else 1.0), "line": outline}
