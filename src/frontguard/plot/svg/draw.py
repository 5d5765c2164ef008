"""Draws a picture as plain SVG, for reports, notebooks and the live page. It needs no library, no style and no script.

All looks are attributes, words and lines have the colour of the text around the picture, and there is no reference to
anything elsewhere: it is right on white and on black, and wherever a page allows nothing. What has a key has a name
that stays the same from drawing to drawing, so that a page can move what is there already.

>>> from frontguard.plot.looks import IN
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
from dataclasses import replace
from zlib import crc32

import numpy as np

from frontguard.errors import BadInput
from frontguard.markup import Element, element
from frontguard.plot.frames import Rectangle, sheet_of
from frontguard.plot.labels import labels
from frontguard.plot.looks import Look
from frontguard.plot.picture import Panel, Picture, Rule
from frontguard.plot.svg.axes import BOLD, SMALL, PanelRoom, planned, surroundings
from frontguard.plot.svg.layers import Names, Pen, at, colour, elements, number, shape, spaced, words
from frontguard.plot.text import LINE, SIZE, apart, broken, width

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
    picture = stacked(picture)
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
        key = None if isinstance(label.layer, Rule) else at(label.layer.keys, label.index)
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
_WIDE = 7.5  # inches; what is wider has words that cannot be read on a phone
_STACKED = 6.6
_FRAME, _AROUND = 2.0, 1.1  # inches of height: of a frame without names, and of what stands around any


def stacked(picture: Picture) -> Picture:
    """The picture with panels below each other that were beside each other only because there was room.

    A drawing is as wide as the page lets it be, and its words shrink with it. Panels that share their upright axis are
    compared across, and stay where they are.
    """
    rows = [[panel for panel in row if panel is not None] for row in picture.rows]
    if picture.width <= _WIDE or max(map(len, rows), default=0) < 2 or any(map(_compared, rows)):
        return picture
    panels = [panel for row in rows for panel in row]
    inside = sum(_frame(panel) + _AROUND for panel in panels)
    above_and_below = 0.3 + (0.5 if picture.title else 0.0) + 0.11 * len(picture.legend)
    return replace(picture, rows=tuple((panel,) for panel in panels), width=_STACKED, height=inside + above_and_below)


def _compared(row: Sequence[Panel]) -> bool:
    """Whether panels beside each other have the same upright axis, which may be named at the first of them only."""
    titles = {panel.y.title for panel in row if panel.y.title}
    return len(row) > 1 and len(titles) <= 1 and len({(panel.y.names, panel.y.scale) for panel in row}) == 1


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
        shade = {"bar": "1" if look.filled else ".15", "area": ".6"}.get(areas[0], ".2")
        edged = areas[0] != "bar" or not look.filled
        edge = {"stroke": colour(look)} if edged else {}
        parts.append(element("rect", place | {"fill-opacity": shade} | edge))
    if kinds & {"line"} or ("mark" not in kinds and look.dash):
        dashed = {"stroke-dasharray": spaced(look.dash)} if look.dash else {}
        stroke = {"stroke": colour(look), "stroke-width": number(look.width), "fill": "none"}
        parts.append(element("path", {"d": f"M{number(x)} {number(y)}h17"} | stroke | dashed))
    if "mark" in kinds or not parts:
        parts.append(element("g", {"transform": f"translate({number(x + 8.0)} {number(y)})"}, shape(look)))
    return parts
