"""Draws a picture as plain SVG, for reports, notebooks and the live page. It needs no library, no style and no script.

All looks are attributes, words and lines have the colour of the text around the picture, and there is no reference to
anything elsewhere: it is right on white and on black, and wherever a page allows nothing. What has a key has a name
that stays the same from drawing to drawing, so that a page can move what is there already.

>>> from frontguard.plot.picture import IN
>>> from frontguard.plot.picture import Axis, Points
>>> import numpy as np
>>> points = Points(np.array([1.0]), np.array([2.0]), IN, ("an arm",), keys=(7,))
>>> svg = drawn(Picture(((Panel(Axis("x"), Axis("y"), (points,)),),), "One arm"), prefix="front-")
>>> 'id="front-mark-7"' in svg.markup()
True
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import numpy as np

from frontguard.errors import BadInput
from frontguard.markup import Element, element
from frontguard.plot.frames import Frame, Limits, Rectangle, Scale, Sheet, Ticks, labels, limits, sheet_of, ticks
from frontguard.plot.layers import Names, Pen, colour, elements, nth, number, shape, spaced, words
from frontguard.plot.picture import Axis, Look, Panel, Picture, Rule, bar_shade
from frontguard.plot.text import LINE, SIZE, apart, broken, fitted, short, width

# The surroundings of a panel: its lines, ticks, titles, and the room that they need -----------------------------------


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
    shown = limits(panel)
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
    arrow = ("↑" if upright else "→") if "→" in axis.direction else "↓" if upright else "←"
    after = f"{arrow} {axis.better} is better" if axis.better else ""
    needed = width(after, SMALL) + 8.0 if after else 0.0
    long = width(short(axis.title, 200)) if axis.better else 0.0
    if after and (needed > 0.6 * room or room - needed < long < room - 20.0):  # without room the arrow alone must do
        after = arrow
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


# The drawing ----------------------------------------------------------------------------------------------------------


_INCH = 72.0  # units of the drawing: sizes of looks are points
_USUAL = 7.0  # inches
_HEADING = SIZE + 2.5


def drawn(picture: Picture, *, link: Callable[[int], str] | None = None, prefix: str = "") -> Element:
    """The picture as an `svg` element that takes the width it is given, up to its natural size.

    With `link`, everything that has a key is a link to link(key), and can be reached by keyboard. `prefix` begins
    every id: give pictures of one page different ones, and one picture the same whenever it is drawn again.
    """
    if re.fullmatch(r"[A-Za-z0-9_.-]*", prefix) is None:
        raise BadInput(f"prefix: wanted letters, digits, and any of _ . -; got {prefix!r}")
    # Without a prefix, ids say what they stand for: where two are the same, they also mean the same.
    words_of_it = f"{picture.name}\0{picture.title}\0{picture.description}"
    base = prefix or f"p{crc32(words_of_it.encode('utf-8', 'replace')):08x}-"
    # Wide pictures are drawn a little smaller than they say: on a phone their words can still be read.
    inch = _INCH * min(1.0, (_USUAL / picture.width) ** 0.4)
    wide = inch * picture.width
    heading = broken(picture.title, BOLD * (wide - 2 * EDGE), _HEADING) if picture.title else []
    legend = _legend_rows(picture.legend, wide - 2 * EDGE)
    top = EDGE + len(heading) * _HEADING * LINE + (4.0 if heading else 0.0)
    room = inch * picture.height - top - _legend_height(legend) - EDGE
    hatched: dict[str, str] = {}

    def hatch(colour: str) -> str:
        return hatched.setdefault(colour, f"{base}hatch-{colour.removeprefix('#')}")

    panels: list[Element] = []
    names = Names(prefix)
    placed, bottom = cells(picture, wide, top, room)
    for i, (plan, cell, frame) in enumerate(placed):
        names.panel = f"{i + 1}-" if len(placed) > 1 else ""
        panels.append(_panel(plan, cell, Pen(sheet_of(plan.panel, plan.shown, frame), names, link, hatch)))
    high = bottom + _legend_height(legend) + EDGE
    title, description = picture.title or picture.name, picture.description
    labels = {"aria-labelledby": f"{base}title {base}desc" if description else f"{base}title"}
    if link is not None:
        labels = {"aria-labelledby": f"{base}title"} | ({"aria-describedby": f"{base}desc"} if description else {})
    return element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "picture",
            "viewBox": f"0 0 {number(wide)} {number(high)}",
            "width": f"min(100%, {round(wide * 96.0 / _INCH)}px)",
            "preserveAspectRatio": "xMinYMin meet",
            "role": "img" if link is None else "group",
            **labels,
            "font-family": "system-ui, sans-serif",
            "font-size": number(SIZE),
            "fill": "currentColor",
        },
        element("title", {"id": f"{base}title"}, title),
        element("desc", {"id": f"{base}desc"}, description) if description else None,
        element("defs", {}, *(_hatching(colour, name) for colour, name in hatched.items())) if hatched else None,
        *(
            words(EDGE, EDGE + (i + 1) * _HEADING * LINE - 4.0, text, size=_HEADING, font_weight="600")
            for i, text in enumerate(heading)
        ),
        *panels,
        _legend(legend, picture, EDGE, bottom) if legend else None,
    )


def _panel(plan: PanelRoom, cell: Rectangle, pen: Pen) -> Element:
    return element(
        "g",
        {"class": "panel"},
        surroundings(plan, cell, pen.sheet),
        element("g", {"class": "layers"}, *elements(plan.panel, pen)),
        element("g", {"class": "words"}, *_labels(plan.panel, pen)),
    )


def _labels(panel: Panel, pen: Pen) -> Iterator[Element]:
    """Labels are in the colour of text, not in that of their line: no colour can be read on white and on black."""
    for label in labels(panel, pen.sheet, SMALL):
        left, top, right, _ = label.box(pen.sheet, SMALL)
        x, anchor = {1: (left, ""), 0: ((left + right) / 2.0, "middle"), -1: (right, "end")}[label.side[0]]
        key = None if isinstance(label.layer, Rule) else nth(label.layer.keys, label.index)
        yield words(x, top + 0.85 * SMALL, label.text, SMALL, anchor=anchor, **pen.names.of("word", key))


def _hatching(colour: str, name: str) -> Element:
    """Thin lines on a light ground: print shows the lines where it loses the ground."""
    area = {"width": "6", "height": "6", "fill": colour, "fill-opacity": ".06"}
    stroke = {"stroke": colour, "stroke-opacity": ".22", "stroke-width": "1"}
    turned = {"width": "6", "height": "6", "patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45)"}
    return element(
        "pattern",
        {"id": name} | turned,
        element("rect", area),
        element("path", {"d": "M3 0v6", "fill": "none"} | stroke),
    )


EDGE = 8.0
RIGHT = 14.0
"""The edge on the right, where half of a tick's word may stand."""

_BETWEEN = 22.0  # panels
_LEAST = 70.0  # of a frame, either way
_FRAME = 2.0  # inches of height of a frame without names


def _frame(panel: Panel) -> float:
    """Inches of height that a frame wants: a line for every name."""
    return max(_FRAME, LINE * SIZE / _INCH * len(panel.y.names))


def cells(
    picture: Picture, wide: float, top: float, room: float
) -> tuple[list[tuple[PanelRoom, Rectangle, Rectangle]], float]:
    """Each panel with its cell and frame, and where the last row ends. Frames are aligned in rows and columns."""
    columns = max((len(row) for row in picture.rows), default=0)
    if columns == 0:
        return [], top + max(room, 0.0)
    cell_width = (wide - EDGE - RIGHT - (columns - 1) * _BETWEEN) / columns
    shares = _shares(picture)
    plans = [
        [planned(panel, cell_width, max(_LEAST, share * room - 60.0)) if panel else None for panel in row]
        for row, share in zip(picture.rows, shares, strict=True)
    ]
    around = np.zeros((4, len(plans), columns))  # left, right, top and bottom of each frame
    for i, j in np.ndindex(around.shape[1:]):
        plan = plans[i][j] if j < len(plans[i]) else None
        if plan:
            around[:, i, j] = plan.left, plan.right, plan.top, plan.bottom
    shown = {(plan.panel.x.title, plan.panel.x.scale, plan.shown[0]) for row in plans for plan in row if plan}
    if columns > 1 or len(shown) == 1:  # panels below each other that show different things need not be aligned
        around[:2] = around[:2].max(axis=1, keepdims=True)
    tops, bottoms = around[2:].max(axis=2)
    free = room - tops.sum() - bottoms.sum() - (len(plans) - 1) * _BETWEEN * 0.6
    found = []
    y = top
    for i, row in enumerate(plans):
        frame_height = max(_LEAST, shares[i] * free)
        frame_width = max(_LEAST, cell_width - around[:2, i].sum() / columns)
        x, start = EDGE, y + tops[i]
        for plan, left, right in zip(row, *around[:2, i, : len(row)], strict=True):
            frame = (x + left, start, x + left + frame_width, start + frame_height)
            if plan:
                found.append((plan, (x, y, frame[2] + right, frame[3] + bottoms[i]), frame))
            x = frame[2] + right + _BETWEEN
        y = start + frame_height + bottoms[i] + 0.6 * _BETWEEN
    return found, y - 0.6 * _BETWEEN


def _shares(picture: Picture) -> list[float]:
    """How much of the height each row gets: as much as the others, or by what it has to name if it stands alone."""
    if any(len(row) != 1 for row in picture.rows):
        return [1.0 / len(picture.rows)] * len(picture.rows)
    wanted = [_frame(row[0]) if row[0] else _FRAME for row in picture.rows]
    return [each / sum(wanted) for each in wanted]


# The legend: each look as it occurs in the picture (a mark, a line, an area), with its label --------------------------

_SAMPLE, _APART = 22.0, 16.0
_ROW = SIZE * LINE + 3.0


def _legend_rows(legend: Sequence[Look], room: float) -> list[list[tuple[Look, str]]]:
    """The looks with their labels, cut where need be, over as many lines as they take."""
    found: list[list[tuple[Look, str]]] = []
    used = room
    labels = apart([look.label for look in legend], room - _SAMPLE - 4.0)
    for look, label in zip(legend, labels, strict=True):
        if not label:
            continue
        needed = _SAMPLE + width(label) + _APART
        if used + needed - _APART > room or not found:
            found.append([])
            used = 0.0
        found[-1].append((look, label))
        used += needed
    return found


def _legend_height(legend_rows: Sequence[object]) -> float:
    return len(legend_rows) * _ROW + 6.0 if legend_rows else 0.0


def _legend(legend_rows: list[list[tuple[Look, str]]], picture: Picture, left: float, top: float) -> Element:
    """Samples and labels from the upper left corner on."""
    parts: list[Element] = []
    for number_of_row, row in enumerate(legend_rows):
        x, y = left, top + 6.0 + (number_of_row + 0.5) * _ROW
        for look, label in row:
            parts.extend(_sample(look, picture, x, y))
            parts.append(words(x + _SAMPLE, y + 0.35 * SIZE, label))
            x += _SAMPLE + width(label) + _APART
    return element("g", {"class": "legend", "fill": "currentColor"}, *parts)


def _sample(look: Look, picture: Picture, x: float, y: float) -> list[Element]:
    kinds = picture.drawn_as(look, labelled=True)
    parts = []
    areas = [kind for kind in ("bar", "area", "box", "band") if kind in kinds]
    if areas and "mark" not in kinds:
        place = {"x": number(x), "y": number(y - 4.5), "width": "16", "height": "9", "fill": colour(look)}
        shade = {"bar": bar_shade(look), "area": 0.6}.get(areas[0], 0.2)
        parts.append(element("rect", place | {"fill-opacity": number(shade, 2), "stroke": colour(look)}))
    if kinds & {"line"} or ("mark" not in kinds and look.dash):
        dashed = {"stroke-dasharray": spaced(look.dash)} if look.dash else {}
        stroke = {"stroke": colour(look), "stroke-width": number(look.width), "fill": "none"}
        parts.append(element("path", {"d": f"M{number(x)} {number(y)}h17"} | stroke | dashed))
    if "mark" in kinds or not parts:
        parts.append(element("g", {"transform": f"translate({number(x + 8.0)} {number(y)})"}, shape(look)))
    return parts
