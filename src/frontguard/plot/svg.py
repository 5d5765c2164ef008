"""Draws a picture as plain SVG, for reports, notebooks and the live page. It needs no library, no style and no script.

All looks are attributes, and words have the colour of the page's text: it is right on white and on black. What has a
key has a name that stays the same from drawing to drawing, so that a page can move what is there already.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import groupby, pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np

from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.markup import Child, Element, element
from frontguard.phrases import shortened
from frontguard.plot import picture as parts
from frontguard.plot.frames import Frame, Limits, Rectangle, Scale, Sheet, Ticks, labels, limits, runs, sheet_of, ticks
from frontguard.plot.picture import (
    LINE,
    SIZE,
    THIN,
    Axis,
    Look,
    Panel,
    Picture,
    bar_shade,
    columns,
    in_columns,
    short,
    width,
    wrapped,
)

T = TypeVar("T")

_INCH = 72.0  # units of the drawing: sizes of looks are points
_USUAL = 7.0  # inches
_HEADING = SIZE + 2.5
_TITLE = SIZE + 1.0
_SMALL = SIZE - 1.0
_BOLD = 0.9  # the share of a room that words in bold may take by the measure of ordinary ones
_EDGE, _RIGHT = 8.0, 26.0  # of the drawing: on the right, half of a tick's word may stand
_BETWEEN = 22.0  # panels
_LEAST = 70.0  # of a frame, either way
_FRAME = 2.0  # inches of height of a frame without names
_GAP = 6.0  # from the words of ticks to the frame
_FREE = 24.0  # right of a frame, where nothing else begins
_DENSE = 10.0  # size of names in a long list; some of them are left out rather than written smaller


def drawn(picture: Picture, *, link: Callable[[int], str] | None = None, prefix: str = "") -> Element:
    """The picture as an `svg` element that takes the width it is given, up to its natural size.

    With `link`, everything that has a key is a link to link(key). `prefix` begins every id, unique on a page.
    """
    if re.fullmatch(r"[A-Za-z0-9_.-]*", prefix) is None:
        raise BadInput(f"prefix: wanted letters, digits, and any of _ . -; got {prefix!r}")
    # Wide pictures are drawn a little smaller than they say: on a phone their words can still be read.
    inch = _INCH * min(1.0, (_USUAL / picture.width) ** 0.4)
    wide = inch * picture.width
    heading = wrapped(picture.title, columns(_BOLD * (wide - 2 * _EDGE), _HEADING)) if picture.title else []
    legend = _legend_rows(picture.legend, wide - 2 * _EDGE)
    top = _EDGE + len(heading) * _HEADING * LINE + (4.0 if heading else 0.0)
    room = inch * picture.height - top - _legend_height(legend) - _EDGE
    panels: list[Element] = []
    names = Names(prefix)
    placed, bottom = cells(picture, wide, top, room)
    for i, (plan, cell, frame) in enumerate(placed):
        names.panel = f"{i + 1}-" if len(placed) > 1 else ""
        pen = Pen(sheet_of(plan.panel, plan.shown, frame), names, link)
        drawn_layers = element("g", {"class": "layers"}, *elements(plan.panel, pen))
        labelled = element("g", {"class": "words"}, *_labels(plan.panel, pen))
        panels.append(element("g", {"class": "panel"}, surroundings(plan, cell, pen.sheet), drawn_layers, labelled))
    high = bottom + _legend_height(legend) + _EDGE
    return element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "picture",
            "viewBox": f"0 0 {number(wide)} {number(high)}",
            "width": f"min(100%, {round(wide * 96.0 / _INCH)}px)",
            "preserveAspectRatio": "xMinYMin meet",
            "role": "img" if link is None else "group",
            "aria-label": picture.title or picture.name,
            "font-family": "system-ui, sans-serif",
            "font-size": number(SIZE),
            "fill": "currentColor",
        },
        element("desc", {}, picture.description),
        *(
            words(_EDGE, _EDGE + (i + 1) * _HEADING * LINE - 4.0, text, size=_HEADING, font_weight="600")
            for i, text in enumerate(heading)
        ),
        *panels,
        _legend(legend, picture, _EDGE, bottom) if legend else None,
    )


def _labels(panel: Panel, pen: Pen) -> Iterator[Element]:
    """Labels are in the colour of text, not in that of their mark: no colour can be read on white and on black."""
    for label in labels(panel, pen.sheet, _SMALL):
        left, top, right, _ = label.box(pen.sheet, _SMALL)
        x, anchor = (left, "") if label.side > 0 else (right, "end")
        names = pen.names.of("word", nth(label.layer.keys, label.index))
        yield words(x, top + 0.85 * _SMALL, label.text, _SMALL, anchor=anchor, **names)


def cells(
    picture: Picture, wide: float, top: float, room: float
) -> tuple[list[tuple[PanelRoom, Rectangle, Rectangle]], float]:
    """Each panel with its cell and frame, and where the last row ends. Frames are aligned in rows and columns."""
    across = max((len(row) for row in picture.rows), default=0)
    if across == 0:
        return [], top + max(room, 0.0)
    cell_width = (wide - _EDGE - _RIGHT - (across - 1) * _BETWEEN) / across
    shares = _shares(picture)
    plans = [
        [planned(panel, cell_width, max(_LEAST, share * room - 60.0)) if panel else None for panel in row]
        for row, share in zip(picture.rows, shares, strict=True)
    ]
    every = [plan for row in plans for plan in row if plan]
    left = max((plan.left for plan in every), default=0.0)  # so that frames are in line
    tops = [max((plan.top for plan in row if plan), default=0.0) for row in plans]
    bottoms = [max((plan.bottom for plan in row if plan), default=0.0) for row in plans]
    free = room - sum(tops) - sum(bottoms) - (len(plans) - 1) * _BETWEEN * 0.6
    frame_width = max(_LEAST, cell_width - left)
    found = []
    y = top
    for row, share, above, below in zip(plans, shares, tops, bottoms, strict=True):
        start, end = y + above, y + above + max(_LEAST, share * free)
        for j, plan in enumerate(row):
            x = _EDGE + j * (left + frame_width + _BETWEEN)
            if plan:
                frame = (x + left, start, x + left + frame_width, end)
                found.append((plan, (x, y, frame[2], end + below), frame))
        y = end + below + 0.6 * _BETWEEN
    return found, y - 0.6 * _BETWEEN


def _shares(picture: Picture) -> list[float]:
    """Shares of the height: equal ones, or by the names of each row where all stand alone."""
    if any(len(row) != 1 for row in picture.rows):
        return [1.0 / len(picture.rows)] * len(picture.rows)
    wanted = [max(_FRAME, LINE * SIZE / _INCH * len(row[0].y.names)) if row[0] else _FRAME for row in picture.rows]
    return [each / sum(wanted) for each in wanted]


# The surroundings of a panel: its lines, ticks, titles, and the room that they need -----------------------------------


@dataclass(frozen=True)
class PanelRoom:
    """A panel with what it shows and the room that its surroundings need, before its place is known."""

    panel: Panel
    shown: Frame
    title: list[str]
    note: list[str]
    left: float  # room for the y ticks
    top: float
    bottom: float


def _tick_lines(panel: Panel) -> int:
    return 2 if panel.x.names else 1


def planned(panel: Panel, cell_width: float, frame_height: float) -> PanelRoom:
    """The room that a panel's surroundings need in a cell of that width."""
    shown = limits(panel)
    title = wrapped(panel.title, columns(_BOLD * cell_width, _TITLE))
    note = wrapped(panel.note, columns(cell_width, _SMALL))
    named, titled = (bool(axis.title or axis.better) * (SIZE * LINE + 3.0) for axis in (panel.y, panel.x))
    found, size = beside(panel.y, shown[1], frame_height)
    widest = max((width(word, size) for _, word in found), default=0.0)
    left = min(widest, 0.44 * cell_width) + _GAP + 2.0 if widest else 4.0
    top = len(title) * _TITLE * LINE + len(note) * _SMALL * LINE + named + 6.0
    return PanelRoom(panel, shown, title, note, left, top, _tick_lines(panel) * SIZE * LINE + 4.0 + titled)


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
        y += _TITLE * LINE
        yield words(x, y - 4.0, text, size=_TITLE, font_weight="600")
    for text in plan.note:
        y += _SMALL * LINE
        yield words(x, y - 4.0, text, size=_SMALL, opacity=".8")
    axis = plan.panel.y
    if axis.title or axis.better:
        yield _titled(axis, x, frame[1] - 8.0, cell[2] - cell[0], upright=True)


def _titled(axis: Axis, x: float, y: float, room: float, *, upright: bool) -> Element:
    """An axis's title and beside it where good lies; centred around x unless upright."""
    arrow = ("↑" if upright else "→") if "→" in axis.direction else "↓" if upright else "←"
    after = f"{arrow} {axis.better} is better" if axis.better else ""
    needed = width(after, _SMALL) + 8.0 if after else 0.0
    long = width(short(axis.title, 200)) if axis.better else 0.0
    if after and (needed > 0.6 * room or room - needed < long < room - 20.0):  # without room the arrow alone must do
        after = arrow
        needed = width(after, _SMALL) + 8.0
    title = short(axis.title, columns(room - needed)) if axis.title else ""
    beside = element("tspan", {"dx": "6" if title else None, "font-size": number(_SMALL), "opacity": ".8"}, after)
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
    texts = in_columns([word for _, word in places], columns(room, size))
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
    lines = _tick_lines(plan.panel)
    found = below(axis, plan.shown[0], x, (cell[0], cell[2] + _FREE), lines)
    if not axis.names:
        yield _grid("".join(f"M{number(at)} {number(top)}V{number(bottom)}" for at, _, _ in found))
    y = bottom + SIZE + 4.0
    labels = [words(centre, y + row * SIZE * LINE, text) for _, centre, said in found for row, text in enumerate(said)]
    yield element("g", {"text-anchor": "middle", "opacity": ".8", "class": "ticks"}, *labels)
    if axis.title or axis.better:
        room = right - left + 2.0 * min(_FREE, left - cell[0])
        yield _titled(axis, (left + right) / 2.0, y + lines * SIZE * LINE + 2.0, room, upright=False)


def _grid(path: str) -> Element:
    faint = {"fill": "none", "stroke": "currentColor", "stroke-opacity": ".12"}
    return element("path", {"class": "grid", "d": path} | faint)


Below: TypeAlias = tuple[float, float, list[str]]
"""A tick under a frame: where it is, around where its words stand, and these."""


def below(axis: Axis, shown: Limits, x: Scale, edges: tuple[float, float], most_lines: int) -> list[Below]:
    """Ticks that have room beside each other, with words within the edges, from left to right."""
    wide = abs(x.end - x.start)
    if axis.names or axis.ticks is not None:  # long names are broken or cut; of many, those for which there is room
        named = [(float(x(at)), word) for at, word in ticks(axis, *shown, max(2, int(wide / 36.0)))]
        near = min((abs(b - a) for (a, _), (b, _) in pairwise(named)), default=wide) - 6.0
        broken = [(at, wrapped(word, columns(max(near, 30.0)), most_lines)) for at, word in named]
        return _beside_each_other(broken, edges)
    found: list[Below] = []
    for most in range(min(8, max(3, int(wide / 32.0))), 1, -1):
        written = [(float(x(at)), [word]) for at, word in ticks(axis, *shown, most)]
        found = _beside_each_other(written, edges)
        if len(found) == len(written):
            break
    return found


def _beside_each_other(found: list[tuple[float, list[str]]], edges: tuple[float, float]) -> list[Below]:
    kept: list[Below] = []
    reached = -float("inf")
    for at, lines in sorted(found):
        half = max((width(text) for text in lines), default=0.0) / 2.0
        centre = min(max(at, edges[0] + half), max(edges[1] - half, edges[0] + half))
        if lines and centre - half >= reached:
            kept.append((at, centre, lines))
            reached = centre + half + 5.0
    return kept


def beside(axis: Axis, shown: Limits, height: float) -> tuple[Ticks, float]:
    """The ticks of an upright axis of that height, and the size of their words."""
    if axis.names:
        size = SIZE if len(axis.names) * SIZE * LINE <= height else _DENSE
        return ticks(axis, *shown, int(height / (size * 1.1))), size
    return ticks(axis, *shown, int(min(7.0, height / 26.0))), SIZE


# The legend: each look as it occurs in the picture (a mark, a line, an area), with its label --------------------------

_SAMPLE, _APART = 22.0, 16.0
_ROW = SIZE * LINE + 3.0


def _legend_rows(legend: Sequence[Look], room: float) -> list[list[tuple[Look, str]]]:
    """The looks with their labels, cut where need be, over as many lines as they take."""
    found: list[list[tuple[Look, str]]] = []
    used = room
    labels = in_columns([look.label for look in legend], columns(room - _SAMPLE - 4.0))
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
    pieces: list[Element] = []
    for number_of_row, row in enumerate(legend_rows):
        x, y = left, top + 6.0 + (number_of_row + 0.5) * _ROW
        for look, label in row:
            pieces.extend(_sample(look, picture, x, y))
            pieces.append(words(x + _SAMPLE, y + 0.35 * SIZE, label))
            x += _SAMPLE + width(label) + _APART
    return element("g", {"class": "legend", "fill": "currentColor"}, *pieces)


def _sample(look: Look, picture: Picture, x: float, y: float) -> list[Element]:
    kinds = picture.drawn_as(look)
    pieces = []
    areas = [kind for kind in ("bar", "area", "box", "band") if kind in kinds]
    if areas and "mark" not in kinds:
        place = {"x": number(x), "y": number(y - 4.5), "width": "16", "height": "9", "fill": colour(look)}
        shade = {"bar": bar_shade(look), "area": 0.6}.get(areas[0], 0.2)
        pieces.append(element("rect", place | {"fill-opacity": number(shade, 2), "stroke": colour(look)}))
    if kinds & {"line"} or ("mark" not in kinds and look.dash):
        dashed = {"stroke-dasharray": spaced(look.dash)} if look.dash else {}
        stroke = {"stroke": colour(look), "stroke-width": number(look.width), "fill": "none"}
        pieces.append(element("path", {"d": f"M{number(x)} {number(y)}h17"} | stroke | dashed))
    if "mark" in kinds or not pieces:
        pieces.append(element("g", {"transform": f"translate({number(x + 8.0)} {number(y)})"}, shape(look)))
    return pieces


@dataclass
class Names:
    """Ids that stay the same from drawing to drawing, never given twice in one; without a prefix, `data-key` hooks."""

    prefix: str
    panel: str = ""
    given: Counter[str] = field(default_factory=Counter)

    def of(self, kind: str, key: int | None) -> dict[str, str]:
        """The attribute that names a thing, for one with a key."""
        if key is None:
            return {}
        name = f"{self.panel}{kind}-{int(key)}"
        self.given[name] += 1
        if self.given[name] > 1:
            name = f"{name}-{self.given[name]}"
        return {"id": self.prefix + name} if self.prefix else {"data-key": name}


@dataclass(frozen=True)
class Pen:
    """A panel on its sheet, names for what is drawn there, links by key if they are wanted."""

    sheet: Sheet
    names: Names
    link: Callable[[int], str] | None

    def clipped(self, *children: Child | None, room: float = 1.0) -> Element:
        """Children cut off at the frame by an inner drawing, with `room` for half of the strokes at the edge."""
        left, top, right, bottom = self.sheet.frame
        x, y, width, height = map(number, (left - room, top - room, right - left + 2 * room, bottom - top + 2 * room))
        attributes = {"x": x, "y": y, "width": width, "height": height, "viewBox": f"{x} {y} {width} {height}"}
        # It is no image of its own for those who listen.
        return element("svg", attributes | {"role": "presentation"}, *children)

    def named(
        self, kind: str, key: int | None, said: str | None, attributes: dict[str, object], *children: Child
    ) -> Element:
        """A thing with its name and hint: a link where things have keys and links are wanted, else a group."""
        names = {"class": kind} | self.names.of(kind, key)
        if key is not None and self.link is not None:
            linked = {"href": self.link(int(key)), "aria-label": shortened(said or f"{kind} {key}", HINT)}
            return element("a", names | linked | attributes, *children, hint(said))
        return element("g", names | attributes, *children, hint(said))


def nth(values: Sequence[T], index: int) -> T | None:
    """One of many, where there may be none."""
    return values[index] if index < len(values) else None


def stroke(look: parts.Look) -> dict[str, str]:
    """The attributes of a line."""
    said = {"fill": "none", "stroke": colour(look), "stroke-width": number(look.width), "stroke-linejoin": "round"}
    return said | ({"stroke-dasharray": spaced(look.dash)} if look.dash else {})


def _points(layer: parts.Points, pen: Pen) -> Iterator[Element]:
    x, y = pen.sheet.x(layer.x), pen.sheet.y(layer.y)
    seen: list[int] = np.flatnonzero(pen.sheet.inside(x, y)).tolist()
    places = [(number(x[i]), number(y[i])) for i in seen]
    if layer.keys or any(layer.hints):
        mark = shape(layer.look)
        for i, (across, down) in zip(seen, places, strict=True):
            moved: dict[str, object] = {"transform": f"translate({across} {down})"}
            yield pen.named("mark", nth(layer.keys, i), nth(layer.hints, i), moved, mark)
    elif places:  # one path: there may be thousands
        painted, outline = brush(layer.look)
        yield element("path", {"d": "".join(f"M{a} {d}{outline}" for a, d in places)} | painted)


def _boxes(layer: parts.Boxes, pen: Pen) -> Iterator[Element]:
    boxes, seen = pen.sheet.rectangles(layer, beyond=4.0)  # where their edges are not seen
    painted = stroke(layer.look) | {"stroke-width": "1"}
    if layer.look.filled:
        painted |= {"fill": colour(layer.look), "fill-opacity": ".1"}
    for i in np.flatnonzero(seen).tolist():
        names = {"class": "box"} | pen.names.of("box", nth(layer.keys, i))
        yield element("rect", names | _rect(boxes[i]) | painted, hint(nth(layer.hints, i)))


def _rect(box: Floats) -> dict[str, str]:
    x0, y0, x1, y1 = box.tolist()
    return {"x": number(x0), "y": number(y0), "width": number(x1 - x0), "height": number(y1 - y0)}


def _lines(layer: parts.Lines, pen: Pen) -> Iterator[Element]:
    drawn = []
    painted = stroke(layer.look) | ({"opacity": f"{layer.opacity:.2g}"} if layer.opacity < 1.0 else {})
    for i, (row_x, row_y) in enumerate(zip(np.atleast_2d(layer.x), np.atleast_2d(layer.y), strict=True)):
        x, y = pen.sheet.x(row_x), pen.sheet.y(row_y)
        path = polyline(x, y)
        if path:
            pieces = [element("path", {"d": path})]
            if layer.marks:
                attributes, outline = brush(layer.look)
                inside = pen.sheet.inside(x, y)
                places = [f"M{number(a)} {number(b)}{outline}" for a, b in zip(x[inside], y[inside], strict=True)]
                solid = {"stroke-dasharray": "none"} if layer.look.dash else {}
                pieces.append(element("path", {"d": "".join(places)} | attributes | solid))
            drawn.append(pen.named("line", nth(layer.keys, i), nth(layer.hints, i), {}, *pieces))
    if drawn:
        room = layer.look.size / 2.0 + 1.0 if layer.marks else 1.0
        yield pen.clipped(element("g", painted, *drawn), room=room)


def _spans(layer: parts.Spans, pen: Pen) -> Iterator[Element]:
    along, across = (pen.sheet.y, pen.sheet.x) if layer.upright else (pen.sheet.x, pen.sheet.y)
    start, end, where = along(layer.low), along(layer.high), across(layer.at)
    left, top, right, bottom = pen.sheet.frame
    first, last, before, after = (top, bottom, left, right) if layer.upright else (left, right, top, bottom)
    pale = layer.opacity < 1.0
    broad = {"stroke-width": number(layer.thickness)} | ({"stroke-opacity": f"{layer.opacity:.2g}"} if pale else {})
    low, high = np.minimum(start, end), np.maximum(start, end)
    seen = (high >= first) & (low <= last) & (where >= before - 0.5) & (where <= after + 0.5)
    drawn = []
    for i in np.flatnonzero(seen).tolist():
        a, b = max(low[i], first), min(high[i], last)
        place = number(where[i])
        path = f"M{place} {number(a)}V{number(b)}" if layer.upright else f"M{number(a)} {place}H{number(b)}"
        stretch = [element("path", {"d": path} | broad)]
        if pale:  # what is pale may not be seen: the line within it is
            stretch.append(element("path", {"d": path}))
        drawn.append(pen.named("span", nth(layer.keys, i), nth(layer.hints, i), {}, *stretch))
    if drawn:
        yield element("g", {"class": "spans", "stroke": colour(layer.look), "fill": "none"}, *drawn)


def _bars(layer: parts.Bars, pen: Pen) -> Iterator[Element]:
    bars, seen = pen.sheet.rectangles(layer)
    solid: dict[str, object] = {"fill": colour(layer.look), "stroke": colour(layer.look)}
    solid["fill-opacity"] = number(bar_shade(layer.look), 2)
    drawn = [
        pen.named("bar", nth(layer.keys, i), nth(layer.hints, i), {}, element("rect", _rect(bars[i])))
        for i in np.flatnonzero(seen).tolist()
    ]
    if drawn:
        yield element("g", solid, *drawn)


def _rule(rule: parts.Rule, pen: Pen) -> Iterator[Element]:
    left, top, right, bottom = pen.sheet.frame
    where = float((pen.sheet.x if rule.upright else pen.sheet.y)(rule.at))
    first, last = (left, right) if rule.upright else (top, bottom)
    if not first - 0.5 <= where <= last + 0.5:
        return
    place = number(where)
    path = f"M{place} {number(top)}V{number(bottom)}" if rule.upright else f"M{number(left)} {place}H{number(right)}"
    yield element("path", {"class": "rule", "d": path} | stroke(rule.look))


def _band(layer: parts.Band, pen: Pen) -> Iterator[Element]:
    """The area between two lines, in pieces where one of them is unknown."""
    x, low, high = pen.sheet.x(layer.x), pen.sheet.y(layer.low), pen.sheet.y(layer.high)
    pieces = []
    for first, behind in runs(x, low + high):
        part = slice(first, behind)
        across, under, over = x[part], low[part], high[part]
        pieces.append(polygon(np.concatenate([across, across[::-1]]), np.concatenate([over, under[::-1]])))
    path = "".join(pieces)
    if not path:
        return
    tone = {"fill": colour(layer.look), "fill-opacity": ".2"}
    yield pen.clipped(pen.named("band", layer.key, layer.hint, {}, element("path", {"d": path} | tone)))


def _density(layer: parts.Density, pen: Pen) -> Iterator[Element]:
    """Cells, the darker the more lie in them; cells with as many are one path, which keeps thousands small."""
    counts = np.asarray(layer.counts)
    most = int(counts.max(initial=0))
    if most <= 0:
        return
    left, top, right, bottom = pen.sheet.frame
    x = np.clip(pen.sheet.x(layer.x_edges), left, right)
    y = np.clip(pen.sheet.y(layer.y_edges), top, bottom)
    gap = 0.4  # so that one sees cells
    drawn = []
    for count in np.unique(counts[counts > 0]).tolist():
        cells = []
        for i, j in np.argwhere(counts == count).tolist():
            (x0, x1), (y0, y1) = sorted((x[i], x[i + 1])), sorted((y[j], y[j + 1]))
            if x1 - x0 > gap and y1 - y0 > gap:
                wide, high = number(x1 - x0 - gap), number(y1 - y0 - gap)
                cells.append(f"M{number(x0)} {number(y0)}h{wide}v{high}h-{wide}z")
        if cells:
            shade = 0.12 + 0.6 * np.log1p(count) / np.log1p(most)
            said = hint(layer.hint.replace("{count}", f"{count:,}"))
            drawn.append(element("path", {"d": "".join(cells), "fill-opacity": f"{shade:.2f}"[1:]}, said))
    yield element("g", {"class": "density", "fill": colour(layer.look)}, *drawn)


def _region(layer: parts.Region, pen: Pen) -> Iterator[Element]:
    x, y = pen.sheet.x(layer.x), pen.sheet.y(layer.y)
    known = ~(np.isnan(x) | np.isnan(y))
    path = polygon(x[known], y[known])
    if not path:
        return
    shade = {"fill": colour(layer.look), "fill-opacity": ".1"}
    yield pen.clipped(element("path", {"class": "region", "d": path} | shade))


_ELEMENTS: dict[type, Callable[[Any, Pen], Iterator[Element]]] = {
    parts.Points: _points,
    parts.Boxes: _boxes,
    parts.Lines: _lines,
    parts.Band: _band,
    parts.Spans: _spans,
    parts.Bars: _bars,
    parts.Density: _density,
    parts.Region: _region,
    parts.Rule: _rule,
}


def elements(panel: parts.Panel, pen: Pen) -> Iterator[Element]:
    """Elements of the layers of a panel, the lowest first.

    Boxes that follow each other have one parent, so that a page can move them from one verdict to another.
    """
    for boxed, layers in groupby(panel.layers, lambda layer: isinstance(layer, parts.Boxes)):
        found = [each for layer in layers for each in _ELEMENTS[type(layer)](layer, pen)]
        yield from [pen.clipped(*found)] if boxed and found else found


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


def colour(look: parts.Look) -> str:
    """Its colour, or that of the text around the picture."""
    return look.colour or "currentColor"


def paint(look: parts.Look) -> dict[str, str]:
    """The attributes of a mark's strokes and filling."""
    if look.filled and look.mark not in THIN and look.mark != "ring":
        return {"fill": colour(look)}
    return {"fill": "none", "stroke": colour(look), "stroke-width": _short(max(look.width, 1.6))}


def shape(look: parts.Look) -> Element:
    """A mark around 0, 0."""
    return element("path", {"d": _outline(look.mark, look.size)} | paint(look))


def brush(look: parts.Look) -> tuple[dict[str, str], str]:
    """Attributes and relative path for many marks in little space: round ones are lines without length."""
    if look.filled and look.mark in ("circle", "dot"):
        round_end = {"stroke": colour(look), "stroke-width": _short(look.size), "stroke-linecap": "round"}
        return round_end | {"fill": "none"}, "h0"
    return paint(look), _outline(look.mark, look.size)


@cache
def _outline(mark: parts.Mark, size: float) -> str:
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
    """A hint that is shown under the pointer."""
    return element("title", {}, shortened(text, HINT)) if text else None
