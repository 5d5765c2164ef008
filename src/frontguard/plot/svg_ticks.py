"""Which ticks of an axis find room for their words, below a frame and beside it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from frontguard.plot.frames import Limits
from frontguard.plot.picture import Axis
from frontguard.plot.scales import Scale, Ticks, ticks
from frontguard.plot.svg_text import LINE, SIZE, broken, width
from frontguard.plot.wording import short

_DENSE = 10.0
"""Size of names in a long list; smaller ones cannot be read, and some of them are left out instead."""


@dataclass(frozen=True)
class Below:
    """A tick under a frame: where it is, around where its words stand, and these."""

    at: float
    centre: float
    lines: list[str]


def below(axis: Axis, shown: Limits, x: Scale, edges: tuple[float, float], most_lines: int) -> list[Below]:
    """As many ticks as have room beside each other, with words within the edges, from left to right."""
    wide = abs(x.end - x.start)
    if axis.names or axis.ticks is not None:
        return _beside_each_other(_named(axis, shown, x, edges, most_lines), edges)
    written: list[tuple[float, list[str]]] = []
    for most in range(min(8, max(3, int(wide / 32.0))), 1, -1):
        written = [(float(x(at)), [word]) for at, word in ticks(axis, *shown, most)]
        found = _beside_each_other(written, edges)
        if len(found) == len(written):
            break
    return _beside_each_other(written, edges)


def lines_needed(axis: Axis, shown: Limits, x: Scale, edges: tuple[float, float]) -> int:
    """One line under the axis, or two if names would have to be cut or left out in one."""
    if not axis.names and axis.ticks is None:
        return 1
    wanted = ticks(axis, *shown, len(axis.names) + 1)
    found = {text for tick in below(axis, shown, x, edges, 1) for text in tick.lines}
    return 1 if all(short(word, 200) in found for _, word in wanted if word.strip()) else 2


def _named(
    axis: Axis, shown: Limits, x: Scale, edges: tuple[float, float], most_lines: int
) -> list[tuple[float, list[str]]]:
    """Every one of a few long names, broken or cut; of many, those for which there is room."""
    wide = abs(x.end - x.start)
    found = ticks(axis, *shown, max(2, int(wide / 36.0)))
    places = [float(x(at)) for at, _ in found]
    near = min((abs(b - a) for a, b in pairwise(places)), default=wide) - 6.0
    named = []
    for place, (_, word) in zip(places, found, strict=True):
        to_the_edge = 2.0 * min(place - edges[0], edges[1] - place)
        room = max(min(near, to_the_edge), min(near, 80.0), 30.0)
        named.append((place, broken(word, room, most=most_lines)))
    return named


def _beside_each_other(found: list[tuple[float, list[str]]], edges: tuple[float, float]) -> list[Below]:
    kept: list[Below] = []
    reached = -float("inf")
    for at, lines in sorted(found):
        half = max((width(text) for text in lines), default=0.0) / 2.0
        centre = min(max(at, edges[0] + half), max(edges[1] - half, edges[0] + half))
        if lines and centre - half >= reached:
            kept.append(Below(at, centre, lines))
            reached = centre + half + 5.0
    return kept


def beside(axis: Axis, shown: Limits, height: float) -> tuple[Ticks, float]:
    """The ticks of an upright axis of that height, and the size of their words."""
    if axis.names:
        size = SIZE if len(axis.names) * SIZE * LINE <= height else _DENSE
        return ticks(axis, *shown, int(height / (size * 1.1))), size
    found = ticks(axis, *shown, int(min(7.0, height / 26.0)))
    return (_apart(found, axis, shown, height) if axis.ticks is not None else found), SIZE


def _apart(found: Ticks, axis: Axis, shown: Limits, height: float) -> Ticks:
    """Given ticks may lie anywhere: those that would be written over the one before are left out."""
    scale = Scale(*shown, 0.0, height, log=axis.scale == "log")
    kept: list[tuple[float, str]] = []
    for at, word in found:
        if not kept or float(scale(at)) - float(scale(kept[-1][0])) >= SIZE:
            kept.append((at, word))
    return tuple(kept)
