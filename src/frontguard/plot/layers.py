"""Each kind of layer as SVG elements, and the pen that draws them: a panel on its sheet, names, links and hatchings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import groupby
from typing import Any, TypeVar

import numpy as np

from frontguard._common.typing import Floats
from frontguard.markup import Child, Element, element
from frontguard.phrases import shortened
from frontguard.plot import picture as parts
from frontguard.plot.frames import Sheet, runs
from frontguard.plot.text import SIZE

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
    if layer.keys:
        mark = shape(layer.look)
        for i, (across, down) in zip(seen, places, strict=True):
            moved: dict[str, object] = {"transform": f"translate({across} {down})"}
            yield pen.named("mark", nth(layer.keys, i), nth(layer.hints, i), moved, mark)
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
            element("path", {"d": f"M{across} {down}{outline}"}, hint(nth(layer.hints, i)))
            for i, (across, down) in zip(seen, places, strict=True)
        ),
    )


def _boxes(layer: parts.Boxes, pen: Pen) -> Iterator[Element]:
    boxes, seen = pen.sheet.boxes(layer)
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
            parts = [element("path", {"d": path})]
            if layer.marks:
                attributes, outline = brush(layer.look)
                inside = pen.sheet.inside(x, y)
                places = [f"M{number(a)} {number(b)}{outline}" for a, b in zip(x[inside], y[inside], strict=True)]
                solid = {"stroke-dasharray": "none"} if layer.look.dash else {}
                parts.append(element("path", {"d": "".join(places)} | attributes | solid))
            drawn.append(pen.named("line", nth(layer.keys, i), nth(layer.hints, i), {}, *parts))
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
    bars, seen = pen.sheet.bars(layer)
    solid: dict[str, object] = {"fill": colour(layer.look), "stroke": colour(layer.look)}
    solid["fill-opacity"] = number(parts.bar_shade(layer.look), 2)
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


def _region(layer: parts.Region, pen: Pen) -> Iterator[Element]:
    """A polygon, lightly shaded and hatched."""
    x, y = pen.sheet.x(layer.x), pen.sheet.y(layer.y)
    known = ~(np.isnan(x) | np.isnan(y))
    path = polygon(x[known], y[known])
    if not path:
        return
    fill = {"fill": f"url(#{pen.hatch(colour(layer.look))})"}
    yield pen.clipped(element("path", {"class": "region", "d": path} | fill))


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
    """What the layers of a panel look like, from the lowest to the highest.

    Boxes that follow each other have one parent, whatever their verdicts: a page can move them from one to another.
    It cuts them off at the frame, so that one that goes on has no edge there.
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
    if look.filled and look.mark not in parts.THIN and look.mark != "ring":
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
    """What is said when one points at something."""
    return element("title", {}, shortened(text, HINT)) if text else None
