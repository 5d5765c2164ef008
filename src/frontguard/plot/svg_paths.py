"""Arrays of places as the text of paths."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from frontguard.plot.svg_text import number

Floats = npt.NDArray[np.float64]


def runs(x: Floats, y: Floats) -> list[tuple[int, int]]:
    """The stretches (first, behind the last) without NaN.

    >>> runs(np.array([1.0, 2.0, np.nan, 4.0]), np.zeros(4))
    [(0, 2), (3, 4)]
    """
    good = np.concatenate([[False], ~(np.isnan(x) | np.isnan(y)), [False]])
    edges = np.flatnonzero(good[1:] != good[:-1])
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


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
