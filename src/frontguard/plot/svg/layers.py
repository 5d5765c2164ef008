"""Each kind of layer as SVG elements, in their order from the lowest to the highest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from frontguard._typing import Floats
from frontguard.markup import Element, element
from frontguard.plot.layout.frames import runs, steps
from frontguard.plot.layout.placing import contains, touching
from frontguard.plot.looks import Look
from frontguard.plot.picture import Arrow, Band, Bars, Boxes, Density, Layer, Lines, Points, Region, Rule, Spans
from frontguard.plot.svg.pen import Pen, Remark, Spot, Word, at, key_at
from frontguard.plot.svg.shapes import brush, colour, dashes, line, polygon, polyline, rectangle, shape, spaced
from frontguard.plot.svg.text import LINE, SIZE, broken, fitted, hint, number, width, words


def elements(layer: Layer, pen: Pen) -> Iterator[Element]:
    """What a layer looks like on a panel."""
    match layer:
        case Points():
            return _points(layer, pen)
        case Boxes():
            return _boxes(layer, pen)
        case Lines():
            return _lines(layer, pen)
        case Band():
            return band(layer, pen)
        case Spans():
            return _spans(layer, pen)
        case Bars():
            return _bars(layer, pen)
        case Density():
            return density(layer, pen)
        case Region():
            return region(layer, pen)
        case Rule():
            return _rule(layer, pen)
        case Arrow():
            return _arrow(layer, pen)


def stroke(look: Look) -> dict[str, str]:
    """The attributes of a line."""
    said = {"fill": "none", "stroke": colour(look), "stroke-width": number(look.width), "stroke-linejoin": "round"}
    return said | ({"stroke-dasharray": spaced(look.dash)} if look.dash else {})


def _points(layer: Points, pen: Pen) -> Iterator[Element]:
    x, y = pen.x(layer.x), pen.y(layer.y)
    left, top, right, bottom = pen.frame
    room = 0.5  # rounding must not lose a mark on the edge
    inside = (x >= left - room) & (x <= right + room) & (y >= top - room) & (y <= bottom + room)
    seen: list[int] = np.flatnonzero(inside).tolist()
    half = layer.look.size / 2.0 + 1.0
    pen.marks.append(np.stack([x - half, y - half, x + half, y + half], axis=1)[inside])
    places = [(number(x[i]), number(y[i])) for i in seen]
    for i in seen:
        if at(layer.written, i):
            names = pen.names.of("word", key_at(layer.keys, i))
            pen.words.append(Word(float(x[i]), float(y[i]), layer.written[i], names))
    if layer.keys:
        mark = shape(layer.look)
        for i, (across, down) in zip(seen, places, strict=True):
            moved: dict[str, object] = {"transform": f"translate({across} {down})"}
            yield pen.named("mark", key_at(layer.keys, i), at(layer.hints, i), moved, mark)
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
    flat = np.stack([pen.x(layer.x_low), pen.x(layer.x_high)]), np.stack([pen.y(layer.y_low), pen.y(layer.y_high)])
    (x0, x1), (y0, y1) = np.sort(flat[0], axis=0), np.sort(flat[1], axis=0)
    left, top, right, bottom = pen.frame
    meets = (x1 >= left) & (x0 <= right) & (y1 >= top) & (y0 <= bottom)
    opens = np.stack([x0 < left - 0.5, y0 < top - 0.5, x1 > right + 0.5, y1 > bottom + 0.5], axis=1)
    (x0, y0), (x1, y1) = pen.within(x0, y0), pen.within(x1, y1)
    # What is known exactly has a box without width or height, and browsers draw nothing of such a rectangle.
    x0, x1 = _widened(x0, x1)
    y0, y1 = _widened(y0, y1)
    # Of a box that is open all around nothing is known: it would only darken the panel.
    seen = np.flatnonzero(meets & ~opens.all(axis=1))
    pen.lines.append(np.stack([x0, y0, x1, y1], axis=1)[seen])
    tone = colour(layer.look)
    for i in seen.tolist():
        wide, high = x1[i] - x0[i], y1[i] - y0[i]
        place = {"x": number(x0[i]), "y": number(y0[i]), "width": number(wide), "height": number(high)}
        open_ends: list[bool] = opens[i].tolist()
        filling = {"fill": tone, "fill-opacity": ".05" if any(open_ends) else ".1"}
        if not layer.look.filled:
            filling = {"fill": "none"}
        dashed: dict[str, str] = {}
        if any(open_ends):
            dashed = {"stroke-dasharray": dashes(rectangle(wide, high, *open_ends))}
        elif layer.look.dash:
            dashed = {"stroke-dasharray": spaced(layer.look.dash)}
        names = {"class": "box"} | pen.names.of("box", key_at(layer.keys, i))
        yield element("rect", names | place | filling | {"stroke": tone} | dashed, hint(at(layer.hints, i)))


def _widened(low: Floats, high: Floats, least: float = 1.0) -> tuple[Floats, Floats]:
    """The same ends, `least` apart at least."""
    missing = np.maximum(0.0, least - (high - low)) / 2.0
    return low - missing, high + missing


def _lines(layer: Lines, pen: Pen) -> Iterator[Element]:
    drawn = []
    painted = stroke(layer.look) | ({"opacity": f"{layer.opacity:.2g}"} if layer.opacity < 1.0 else {})
    for i, (row_x, row_y) in enumerate(zip(np.atleast_2d(layer.x), np.atleast_2d(layer.y), strict=True)):
        x, y = pen.x(row_x), pen.y(row_y)
        line_x, line_y = steps(x, y) if layer.step else (x, y)
        path = polyline(line_x, line_y)
        if path:
            key = key_at(layer.keys, i)
            parts = [element("path", {"d": path})]
            if layer.marks:
                attributes, outline = brush(layer.look)
                marked = _seen(x, y, pen)
                half = layer.look.size / 2.0
                pen.marks.append(np.array([(a - half, b - half, a + half, b + half) for a, b in marked]).reshape(-1, 4))
                places = [f"M{number(a)} {number(b)}{outline}" for a, b in marked]
                solid = {"stroke-dasharray": "none"} if layer.look.dash else {}
                parts.append(element("path", {"d": "".join(places)} | attributes | solid))
            drawn.append(pen.named("line", key, at(layer.hints, i), {}, *parts))
            pen.lines.extend(_rectangles(line_x, line_y))
    if drawn:
        room = layer.look.size / 2.0 + 1.0 if layer.marks else 1.0
        yield pen.clipped(element("g", painted, *drawn), room=room)


def _seen(x: Floats, y: Floats, pen: Pen) -> list[tuple[float, float]]:
    left, top, right, bottom = pen.frame
    inside = (x >= left - 1) & (x <= right + 1) & (y >= top - 1) & (y <= bottom + 1)
    return list(zip(x[inside].tolist(), y[inside].tolist(), strict=True))


def _rectangles(x: Floats, y: Floats) -> list[Floats]:
    """Around the pieces of a line, for words to stay clear of it."""
    return [
        np.stack(
            [
                np.minimum(x[a : b - 1], x[a + 1 : b]),
                np.minimum(y[a : b - 1], y[a + 1 : b]),
                np.maximum(x[a : b - 1], x[a + 1 : b]),
                np.maximum(y[a : b - 1], y[a + 1 : b]),
            ],
            axis=1,
        )
        for a, b in runs(x, y)
        if b - a > 1
    ]


def _spans(layer: Spans, pen: Pen) -> Iterator[Element]:
    along, across = (pen.y, pen.x) if layer.upright else (pen.x, pen.y)
    start, end, where = along(layer.low), along(layer.high), across(layer.at)
    left, top, right, bottom = pen.frame
    first, last, before, after = (top, bottom, left, right) if layer.upright else (left, right, top, bottom)
    pale = layer.opacity < 1.0
    broad = {"stroke-width": number(layer.thickness)} | ({"stroke-opacity": f"{layer.opacity:.2g}"} if pale else {})
    low, high = np.minimum(start, end), np.maximum(start, end)
    seen = (high >= first) & (low <= last) & (where >= before - 0.5) & (where <= after + 0.5)
    drawn = []
    for i in np.flatnonzero(seen).tolist():
        a, b = max(low[i], first), min(high[i], last)
        opens = bool(low[i] < first - 0.5), bool(high[i] > last + 0.5)
        place = number(where[i])
        path = f"M{place} {number(a)}V{number(b)}" if layer.upright else f"M{number(a)} {place}H{number(b)}"
        dashed = {"stroke-dasharray": dashes(line(b - a, *opens))} if any(opens) else {}
        stretch = [element("path", {"d": path} | broad | dashed)]
        if pale:  # what is pale may not be seen: the line within it is
            stretch.append(element("path", {"d": path} | dashed))
        drawn.append(pen.named("span", key_at(layer.keys, i), at(layer.hints, i), {}, *stretch))
    if drawn:
        yield element("g", {"class": "spans", "stroke": colour(layer.look), "fill": "none"}, *drawn)


def _bars(layer: Bars, pen: Pen) -> Iterator[Element]:
    along, across = (pen.y, pen.x) if layer.upright else (pen.x, pen.y)
    half = layer.thickness / 2.0
    sides = np.sort(np.stack([across(layer.at - half), across(layer.at + half)]), axis=0)
    ends = np.sort(np.stack([along(np.zeros(len(layer.at))), along(layer.length)]), axis=0)
    (x0, x1), (y0, y1) = (sides, ends) if layer.upright else (ends, sides)
    left, top, right, bottom = pen.frame
    meets = (x1 >= left) & (x0 <= right) & (y1 >= top) & (y0 <= bottom)
    (x0, y0), (x1, y1) = pen.within(x0, y0), pen.within(x1, y1)
    pen.marks.append(np.stack([x0, y0, x1, y1], axis=1)[meets])
    solid: dict[str, object] = {"fill": colour(layer.look)}
    if not layer.look.filled:
        solid |= {"fill-opacity": ".15", "stroke": colour(layer.look)}
    drawn = []
    for i in np.flatnonzero(meets).tolist():
        place = {"x": x0[i], "y": y0[i], "width": x1[i] - x0[i], "height": y1[i] - y0[i]}
        bar = element("rect", {name: number(value) for name, value in place.items()})
        drawn.append(pen.named("bar", key_at(layer.keys, i), at(layer.hints, i), {}, bar))
    if drawn:
        yield element("g", solid, *drawn)


def _rule(rule: Rule, pen: Pen) -> Iterator[Element]:
    left, top, right, bottom = pen.frame
    where = float((pen.x if rule.upright else pen.y)(rule.at))
    first, last = (left, right) if rule.upright else (top, bottom)
    if not first - 0.5 <= where <= last + 0.5:
        return
    place = number(where)
    path = f"M{place} {number(top)}V{number(bottom)}" if rule.upright else f"M{number(left)} {place}H{number(right)}"
    half = rule.look.width / 2.0 + 1.0
    ends = (where - half, top, where + half, bottom) if rule.upright else (left, where - half, right, where + half)
    pen.rules.append(np.array([ends]))
    if fitted(rule.written, right - left):
        pen.remarks.append(_word_of(rule, where, pen))
    yield element("path", {"class": "rule", "d": path} | stroke(rule.look))


def _word_of(rule: Rule, where: float, pen: Pen) -> Remark:
    """On either side of the line, from its end inwards; an upright line's over several lines if that fits better."""
    left, top, right, bottom = pen.frame
    size, steps_along = SIZE - 1.0, np.linspace(0.0, 1.0, 17)
    if not rule.upright:
        text = fitted(rule.written, 0.7 * (right - left), size)
        wide = width(text, size)
        along = right - wide - 3.0 - steps_along * (right - left - wide - 6.0)
        return [Spot(x, y, [text], ends=True) for x in along.tolist() for y in (where - 4.0, where + size + 1.0)]
    room = min(max(where - left, right - where) - 5.0, 0.8 * (right - left))
    whole = broken(rule.written, room, size, most=3)
    narrow = broken(rule.written, max(0.6 * width(whole[0], size), 30.0), size, most=3)
    spots = []
    for lines in (whole, narrow if not any(text.endswith("…") for text in narrow) else whole):
        wide, further = max(width(text, size) for text in lines), (len(lines) - 1) * size * LINE
        for y in (top + size + steps_along * (bottom - top - size - further - 4.0)).tolist():
            spots += [Spot(where + 4.0, y, lines), Spot(where - 4.0 - wide, y, lines, ends=True)]
    return spots


def _arrow(arrow: Arrow, pen: Pen) -> Iterator[Element]:
    (x0, x1), (y0, y1) = pen.within(pen.x(arrow.x), pen.y(arrow.y))
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
    if arrow.written.strip():
        size = SIZE - 1.0
        left, _, right, _ = pen.frame
        text = fitted(arrow.written, 0.4 * (right - left), size)
        wide = width(text, size)
        # The word stands where the arrow comes from: behind it, else over or under its beginning.
        behind = float(x0 - wide / 2.0 - along[0] * (wide / 2.0 + 4.0)), float(y0 + 0.35 * size - along[1] * size)
        inwards = float(min(max(x0 - wide / 2.0, left + 2.0), right - wide - 2.0))
        above, below = float(y0) - 6.0, float(y0) + size + 4.0
        spots = [Spot(*behind, [text], ends=bool(along[0] > 0.3))]
        pen.remarks.append([*spots, Spot(inwards, above, [text]), Spot(inwards, below, [text])])
    line_look = {"fill": "none", "stroke": tone, "stroke-width": number(arrow.look.width)}
    yield element(
        "g",
        {"class": "arrow"},
        element("path", {"d": path} | line_look),
        element("path", {"d": point, "fill": tone}),
    )


def band(layer: Band, pen: Pen) -> Iterator[Element]:
    """The area between two lines, in pieces where one of them is unknown."""
    x, low, high = pen.x(layer.x), pen.y(layer.low), pen.y(layer.high)
    pieces = []
    for first, behind in runs(x, low + high):
        part = slice(first, behind)
        across, under = (steps if layer.step else _straight)(x[part], low[part])
        _, over = (steps if layer.step else _straight)(x[part], high[part])
        if layer.step and behind < len(x) and not np.isnan(x[behind]):
            # The last step before a gap is known until the gap begins.
            across, under, over = (np.append(a, a[-1]) for a in (across, under, over))
            across[-1] = x[behind]
        pieces.append(polygon(np.concatenate([across, across[::-1]]), np.concatenate([over, under[::-1]])))
    path = "".join(pieces)
    if not path:
        return
    tone = {"fill": colour(layer.look), "fill-opacity": ".2"}
    yield pen.clipped(pen.named("band", layer.key, layer.hint, {}, element("path", {"d": path} | tone)))


def _straight(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    return x, y


def density(layer: Density, pen: Pen) -> Iterator[Element]:
    """Cells, the darker the more lie in them; cells with as many are one path, which keeps thousands small."""
    counts = np.asarray(layer.counts)
    most = int(counts.max(initial=0))
    if most <= 0:
        return
    x, y = pen.x(layer.x_edges), pen.y(layer.y_edges)
    x, y = pen.within(x, y)
    gap = 0.4  # so that one sees cells
    shapes = []
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
            shapes.append(element("path", {"d": "".join(cells), "fill-opacity": f"{shade:.2f}"[1:]}, said))
    yield element("g", {"class": "density", "fill": colour(layer.look)}, *shapes)


def region(layer: Region, pen: Pen) -> Iterator[Element]:
    """A polygon, lightly shaded and hatched."""
    x, y = pen.x(layer.x), pen.y(layer.y)
    known = ~(np.isnan(x) | np.isnan(y))
    path = polygon(x[known], y[known])
    if not path:
        return
    fill = {"fill": f"url(#{pen.hatch(colour(layer.look))})"}
    yield pen.clipped(element("path", {"class": "region", "d": path} | fill))


def word_inside(layer: Region, pen: Pen) -> Element | None:
    """A region's word, where there is room: in the polygon, off the marks, and near a corner of the frame."""
    x, y = pen.x(layer.x), pen.y(layer.y)
    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    if not layer.written or len(x) < 3:
        return None
    left, top, right, bottom = pen.frame
    size = SIZE - 1.0
    text = fitted(layer.written, 0.7 * (right - left), size)
    wide, high, gap = width(text, size), size * 1.1, 6.0
    middle = (left + right) / 2.0, (top + bottom) / 2.0
    places = [
        (across, down)
        for across in np.linspace(left + gap, right - gap - wide, 13).tolist()
        for down in np.linspace(top + gap, bottom - gap - high, 13).tolist()
    ]
    places.sort(key=lambda at: (-abs(at[0] + wide / 2 - middle[0]) / (right - left)
                                - abs(at[1] + high / 2 - middle[1]) / (bottom - top)))  # fmt: skip
    marks = np.concatenate([np.empty((0, 4)), *pen.marks, *pen.written])
    for across, down in places:
        box = np.array([(across - 2, down - 2), (across + wide + 2, down - 2), (across - 2, down + high + 2)])
        box = np.concatenate([box, [(across + wide + 2, down + high + 2)]])
        within = across >= left and across + wide <= right and down >= top and down + high <= bottom
        if (
            within
            and not touching(np.array([[*box[0], *box[3]]]), marks).any()
            and contains(box, np.stack([x, y], axis=1)).all()
        ):
            pen.written.append(np.array([[across, down, across + wide, down + high]]))
            return words(across, down + 0.85 * size, text, size=size, opacity=".8", font_style="italic")
    return None
