"""The surroundings of a panel: its lines, ticks, titles, and the room that they need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from frontguard.markup import Element, element
from frontguard.plot.frames import Frame, Limits, Rectangle, Sheet, limits, sheet_of
from frontguard.plot.picture import Axis, Panel
from frontguard.plot.scales import Scale, Ticks, ticks
from frontguard.plot.svg.layers import number, words
from frontguard.plot.text import LINE, SIZE, apart, broken, fitted, short, width

BOLD = 0.9
"""The share of a room that words in bold may take by the measure of ordinary ones."""

TITLE = SIZE + 1.0
SMALL = SIZE - 1.0
_GAP = 6.0
_FREE = 12.0  # right of a frame, where nothing else begins


@dataclass
class PanelRoom:
    """A panel with what it shows and the room that its surroundings need, before its place is known."""

    panel: Panel
    shown: Frame
    title: list[str]
    note: list[str]
    left: float  # room for the y ticks
    right: float  # room for half of the last word under the x axis
    top: float
    bottom: float
    tick_lines: int  # lines of the words under the x ticks


def planned(panel: Panel, cell_width: float, frame_height: float) -> PanelRoom:
    """How much room a panel's surroundings need in a cell of that width."""
    x_limits, y_limits = limits(panel)
    shown = _drawable(x_limits, panel.x), _drawable(y_limits, panel.y)
    title = broken(panel.title, BOLD * cell_width, TITLE) if panel.title else []
    note = broken(panel.note, cell_width, SMALL) if panel.note else []
    top = len(title) * TITLE * LINE + len(note) * SMALL * LINE
    top += SIZE * LINE + 3.0 if panel.y.title or panel.y.better else 0.0
    found, size = beside(panel.y, shown[1], frame_height)
    widest = max((width(word, size) for _, word in found), default=0.0)
    left = min(widest, 0.44 * cell_width) + _GAP + 2.0 if widest else 4.0
    plan = PanelRoom(panel, shown, title, note, left, 0.0, top + 6.0, 0.0, 1)
    wide = max(cell_width - left, 1.0)
    x = sheet_of(panel, shown, (left, 0.0, left + wide, 1.0)).x
    found_below = below(panel.x, shown[0], x, (0.0, cell_width + _FREE), 2)
    plan.tick_lines = max((len(tick.lines) for tick in found_below), default=1)
    # By how much the last word would reach beyond what is always free.
    ends = [tick.centre + width(text) / 2.0
            for tick in below(panel.x, shown[0], x, (0.0, 2.0 * cell_width), 1) for text in tick.lines]  # fmt: skip
    named = bool(panel.x.names) or panel.x.ticks is not None
    plan.right = 0.0 if named else min(max(max(ends, default=0.0) - cell_width - _FREE, 0.0), 0.15 * wide)
    plan.bottom = plan.tick_lines * SIZE * LINE + 4.0
    plan.bottom += SIZE * LINE + 3.0 if panel.x.title or panel.x.better else 0.0
    return plan


def _drawable(shown: Limits, axis: Axis) -> Limits:
    """Limits with which one can compute: padding the largest and smallest floats leads beyond what there are."""
    low, high = shown
    least, most = (1e-305 if axis.scale == "log" else -1e305), 1e305
    low, high = max(low, least), min(high, most)
    return (low, high) if low < high else (least, most)


def surroundings(plan: PanelRoom, cell: Rectangle, sheet: Sheet) -> Element:
    """The lines and words of a panel's axes, and its title."""
    frame = sheet.frame
    left, top, right, bottom = map(number, frame)
    corner = f"M{left} {top}V{bottom}H{right}"
    return element(
        "g",
        {"class": "axes", "fill": "currentColor"},
        *_headings(plan, cell, frame),
        *_below(plan, cell, frame, sheet.x),
        *_beside(plan, cell, frame, sheet.y),
        element("path", {"d": corner, "fill": "none", "stroke": "currentColor", "stroke-opacity": ".6"}),
    )


def _headings(plan: PanelRoom, cell: Rectangle, frame: Rectangle) -> Iterator[Element]:
    top = frame[1] - plan.top  # headings of panels in a row end at the same height
    x, y = cell[0], top
    for text in plan.title:
        y += TITLE * LINE
        yield words(x, y - 4.0, text, size=TITLE, font_weight="600")
    for text in plan.note:
        y += SMALL * LINE
        yield words(x, y - 4.0, text, size=SMALL, opacity=".8")
    axis = plan.panel.y
    if axis.title or axis.better:
        yield _titled(axis, x, frame[1] - 8.0, cell[2] - cell[0], upright=True)


def _titled(axis: Axis, x: float, y: float, room: float, *, upright: bool) -> Element:
    """An axis's title and beside it where good lies; centred around x unless upright."""
    after = ""
    if axis.better:
        to_the_end = (axis.better == "higher") != axis.reverse
        arrow = ("↑" if to_the_end else "↓") if upright else ("→" if to_the_end else "←")
        after = f"{arrow} {axis.better} is better"
    needed = width(after, SMALL) + 8.0 if after else 0.0
    long = width(short(axis.title, 200)) if axis.better else 0.0
    if after and (needed > 0.6 * room or room - needed < long < room - 20.0):  # without room the arrow alone must do
        after = after[0] if axis.better else ""
        needed = width(after, SMALL) + 8.0
    title = fitted(axis.title, room - needed) if axis.title else ""
    beside = element("tspan", {"dx": "6" if title else None, "font-size": number(SMALL), "opacity": ".8"}, after)
    attributes = {"x": number(x), "y": number(y), "text-anchor": None if upright else "middle", "class": "title"}
    return element("text", attributes, title or None, beside if after else None)


def _beside(plan: PanelRoom, cell: Rectangle, frame: Rectangle, y: Scale) -> Iterator[Element]:
    left, top, right, bottom = frame
    axis = plan.panel.y
    found, size = beside(axis, plan.shown[1], bottom - top)
    places = [(float(y(at)), word) for at, word in found]
    if not axis.names:
        yield _grid("".join(f"M{number(left)} {number(at)}H{number(right)}" for at, _ in places))
    room = left - cell[0] - _GAP
    texts = [word for _, word in places]
    texts = apart(texts, room, size) if axis.names else [fitted(word, room, size) for word in texts]
    labels = [
        words(left - _GAP, at + 0.35 * size, word, size=size)
        for (at, _), word in zip(places, texts, strict=True)
        if word
    ]
    yield element("g", {"text-anchor": "end", "opacity": ".8", "class": "ticks"}, *labels)


def _below(plan: PanelRoom, cell: Rectangle, frame: Rectangle, x: Scale) -> Iterator[Element]:
    left, top, right, bottom = frame
    axis = plan.panel.x
    # Words may reach a little beyond the frame, as far as nothing else begins.
    found = below(axis, plan.shown[0], x, (cell[0], cell[2] + _FREE), plan.tick_lines)
    if not axis.names:
        yield _grid("".join(f"M{number(tick.at)} {number(top)}V{number(bottom)}" for tick in found))
    y = bottom + SIZE + 4.0
    labels = [words(tick.centre, y + row * SIZE * LINE, text) for tick in found for row, text in enumerate(tick.lines)]
    yield element("g", {"text-anchor": "middle", "opacity": ".8", "class": "ticks"}, *labels)
    if axis.title or axis.better:
        down = y + (plan.tick_lines - 1) * SIZE * LINE + SIZE * LINE + 2.0
        yield _titled(axis, (left + right) / 2.0, down, right - left, upright=False)


def _grid(path: str) -> Element:
    faint = {"fill": "none", "stroke": "currentColor", "stroke-opacity": ".12"}
    return element("path", {"class": "grid", "d": path} | faint)


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
    found: list[Below] = []
    for most in range(min(8, max(3, int(wide / 32.0))), 1, -1):
        written = [(float(x(at)), [word]) for at, word in ticks(axis, *shown, most)]
        found = _beside_each_other(written, edges)
        if len(found) == len(written):
            break
    return found


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
