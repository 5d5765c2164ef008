"""Each kind of layer as SVG elements, and the pen that draws them: a panel on its sheet, names, links and hatchings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeVar

import numpy as np

from frontguard._common.typing import Floats
from frontguard.markup import Child, Element, element
from frontguard.phrases import shortened
from frontguard.plot.layout.frames import runs, steps
from frontguard.plot.layout.sheet import Sheet
from frontguard.plot.looks import Look
from frontguard.plot.picture import Arrow, Band, Bars, Boxes, Density, Lines, Panel, Points, Region, Rule, Spans
from frontguard.plot.svg.shapes import HINT, brush, colour, hint, number, polygon, polyline, shape, spaced

T = TypeVar("T")


@dataclass
class Names:
    """Ids that stay the same from one drawing to the next, and are never given twice in one.

    With a prefix they are the document's ids; without one there may be other drawings that have the same, so they are
    only hooks for whoever looks at this drawing.
    """

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
    """A panel on its sheet, names for what is drawn there, links by key if they are wanted, ids of hatchings."""

    sheet: Sheet
    names: Names
    link: Callable[[int], str] | None
    hatch: Callable[[str], str]  # the id of the hatching in a colour

    def clipped(self, *children: Child | None, room: float = 1.0) -> Element:
        """Children that are seen within the frame only: an inner drawing, which needs no name as a clip path would.

        `room` is for half of the strokes along the edge.
        """
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


def at(values: Sequence[T], index: int) -> T | None:
    """One of many, where there may be none."""
    return values[index] if index < len(values) else None


def stroke(look: Look) -> dict[str, str]:
    """The attributes of a line."""
    said = {"fill": "none", "stroke": colour(look), "stroke-width": number(look.width), "stroke-linejoin": "round"}
    return said | ({"stroke-dasharray": spaced(look.dash)} if look.dash else {})


def _points(layer: Points, pen: Pen) -> Iterator[Element]:
    x, y = pen.sheet.x(layer.x), pen.sheet.y(layer.y)
    seen: list[int] = np.flatnonzero(pen.sheet.inside(x, y)).tolist()
    places = [(number(x[i]), number(y[i])) for i in seen]
    if layer.keys:
        mark = shape(layer.look)
        for i, (across, down) in zip(seen, places, strict=True):
            moved: dict[str, object] = {"transform": f"translate({across} {down})"}
            yield pen.named("mark", at(layer.keys, i), at(layer.hints, i), moved, mark)
        return
    if not places:
        return
    painted, outline = brush(layer.look)
    if not any(layer.hints):
        yield element("path", {"d": "".join(f"M{a} {d}{outline}" for a, d in places)} | painted)
        return
    yield element(
        "g",
        painted | {"pointer-events": "all"},
        *(
            element("path", {"d": f"M{across} {down}{outline}"}, hint(at(layer.hints, i)))
            for i, (across, down) in zip(seen, places, strict=True)
        ),
    )


def _boxes(layer: Boxes, pen: Pen) -> Iterator[Element]:
    boxes, seen = pen.sheet.boxes(layer)
    painted = stroke(layer.look) | {"stroke-width": "1"}
    if layer.look.filled:
        painted |= {"fill": colour(layer.look), "fill-opacity": ".1"}
    for i in np.flatnonzero(seen).tolist():
        names = {"class": "box"} | pen.names.of("box", at(layer.keys, i))
        yield element("rect", names | _rect(boxes[i]) | painted, hint(at(layer.hints, i)))


def _rect(box: Floats) -> dict[str, str]:
    x0, y0, x1, y1 = box.tolist()
    return {"x": number(x0), "y": number(y0), "width": number(x1 - x0), "height": number(y1 - y0)}


def _lines(layer: Lines, pen: Pen) -> Iterator[Element]:
    drawn = []
    painted = stroke(layer.look) | ({"opacity": f"{layer.opacity:.2g}"} if layer.opacity < 1.0 else {})
    for i, (row_x, row_y) in enumerate(zip(np.atleast_2d(layer.x), np.atleast_2d(layer.y), strict=True)):
        x, y = pen.sheet.x(row_x), pen.sheet.y(row_y)
        path = polyline(*(steps(x, y) if layer.step else (x, y)))
        if path:
            parts = [element("path", {"d": path})]
            if layer.marks:
                attributes, outline = brush(layer.look)
                inside = pen.sheet.inside(x, y)
                places = [f"M{number(a)} {number(b)}{outline}" for a, b in zip(x[inside], y[inside], strict=True)]
                solid = {"stroke-dasharray": "none"} if layer.look.dash else {}
                parts.append(element("path", {"d": "".join(places)} | attributes | solid))
            drawn.append(pen.named("line", at(layer.keys, i), at(layer.hints, i), {}, *parts))
    if drawn:
        room = layer.look.size / 2.0 + 1.0 if layer.marks else 1.0
        yield pen.clipped(element("g", painted, *drawn), room=room)


def _spans(layer: Spans, pen: Pen) -> Iterator[Element]:
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
        drawn.append(pen.named("span", at(layer.keys, i), at(layer.hints, i), {}, *stretch))
    if drawn:
        yield element("g", {"class": "spans", "stroke": colour(layer.look), "fill": "none"}, *drawn)


def _bars(layer: Bars, pen: Pen) -> Iterator[Element]:
    bars, seen = pen.sheet.bars(layer)
    solid: dict[str, object] = {"fill": colour(layer.look)}
    if not layer.look.filled:
        solid |= {"fill-opacity": ".15", "stroke": colour(layer.look)}
    drawn = [
        pen.named("bar", at(layer.keys, i), at(layer.hints, i), {}, element("rect", _rect(bars[i])))
        for i in np.flatnonzero(seen).tolist()
    ]
    if drawn:
        yield element("g", solid, *drawn)


def _rule(rule: Rule, pen: Pen) -> Iterator[Element]:
    left, top, right, bottom = pen.sheet.frame
    where = float((pen.sheet.x if rule.upright else pen.sheet.y)(rule.at))
    first, last = (left, right) if rule.upright else (top, bottom)
    if not first - 0.5 <= where <= last + 0.5:
        return
    place = number(where)
    path = f"M{place} {number(top)}V{number(bottom)}" if rule.upright else f"M{number(left)} {place}H{number(right)}"
    yield element("path", {"class": "rule", "d": path} | stroke(rule.look))


def _arrow(arrow: Arrow, pen: Pen) -> Iterator[Element]:
    (x0, x1), (y0, y1) = pen.sheet.within(pen.sheet.x(arrow.x), pen.sheet.y(arrow.y))
    length = float(np.hypot(x1 - x0, y1 - y0))
    if not length > 0.0:
        return
    along = np.array([x1 - x0, y1 - y0]) / length
    across = np.array([-along[1], along[0]])
    tip, head = np.array([x1, y1]), min(7.0, length)
    wings = [tip - head * along + side * 0.45 * head * across for side in (1.0, -1.0)]
    shaft = tip - 0.8 * head * along
    path = f"M{spaced([x0, y0])}L{spaced(shaft.tolist())}"
    point = f"M{spaced(tip.tolist())}L{spaced([*wings[0].tolist(), *wings[1].tolist()])}z"
    tone = colour(arrow.look)
    line_look = {"fill": "none", "stroke": tone, "stroke-width": number(arrow.look.width)}
    yield element(
        "g",
        {"class": "arrow"},
        element("path", {"d": path} | line_look),
        element("path", {"d": point, "fill": tone}),
    )


def _band(layer: Band, pen: Pen) -> Iterator[Element]:
    """The area between two lines, in pieces where one of them is unknown."""
    x, low, high = pen.sheet.x(layer.x), pen.sheet.y(layer.low), pen.sheet.y(layer.high)
    pieces = []
    for first, behind in runs(x, low + high):
        part = slice(first, behind)
        across, under, over = x[part], low[part], high[part]
        if layer.step:
            (across, under), (_, over) = steps(across, under), steps(across, over)
        if layer.step and behind < len(x) and not np.isnan(x[behind]):
            # The last step before a gap is known until the gap begins.
            across, under, over = np.append(across, x[behind]), np.append(under, under[-1]), np.append(over, over[-1])
        pieces.append(polygon(np.concatenate([across, across[::-1]]), np.concatenate([over, under[::-1]])))
    path = "".join(pieces)
    if not path:
        return
    tone = {"fill": colour(layer.look), "fill-opacity": ".2"}
    yield pen.clipped(pen.named("band", layer.key, layer.hint, {}, element("path", {"d": path} | tone)))


def _density(layer: Density, pen: Pen) -> Iterator[Element]:
    """Cells, the darker the more lie in them; cells with as many are one path, which keeps thousands small."""
    counts = np.asarray(layer.counts)
    most = int(counts.max(initial=0))
    if most <= 0:
        return
    x, y = pen.sheet.within(pen.sheet.x(layer.x_edges), pen.sheet.y(layer.y_edges))
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


def _region(layer: Region, pen: Pen) -> Iterator[Element]:
    """A polygon, lightly shaded and hatched."""
    x, y = pen.sheet.x(layer.x), pen.sheet.y(layer.y)
    known = ~(np.isnan(x) | np.isnan(y))
    path = polygon(x[known], y[known])
    if not path:
        return
    fill = {"fill": f"url(#{pen.hatch(colour(layer.look))})"}
    yield pen.clipped(element("path", {"class": "region", "d": path} | fill))


_ELEMENTS: dict[type, Callable[[Any, Pen], Iterator[Element]]] = {
    Points: _points,
    Boxes: _boxes,
    Lines: _lines,
    Band: _band,
    Spans: _spans,
    Bars: _bars,
    Density: _density,
    Region: _region,
    Rule: _rule,
    Arrow: _arrow,
}


def elements(panel: Panel, pen: Pen) -> Iterator[Element]:
    """What the layers of a panel look like, from the lowest to the highest.

    Boxes that follow each other have one parent, whatever their verdicts: a page can move them from one to another.
    It cuts them off at the frame, so that one that goes on has no edge there.
    """
    for boxed, layers in groupby(panel.layers, lambda layer: isinstance(layer, Boxes)):
        found = [each for layer in layers for each in _ELEMENTS[type(layer)](layer, pen)]
        yield from [pen.clipped(*found)] if boxed and found else found
