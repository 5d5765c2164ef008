"""Draws a picture as plain SVG, for reports, notebooks and the live page. It needs no library, no style and no script.

All looks are attributes, words and lines have the colour of the text around the picture, and there is no reference to
anything elsewhere: it is right on white and on black, and wherever a page allows nothing. What has a key has a name
that stays the same from drawing to drawing, so that a page can move what is there already.

>>> from frontguard.plot.looks import IN
>>> import numpy as np
>>> points = Points(np.array([1.0]), np.array([2.0]), IN, ("an arm",), keys=(7,))
>>> svg = drawn(Picture(((Panel(Axis("x"), Axis("y"), (points,)),),), "One arm"), prefix="front-")
>>> 'id="front-mark-7"' in svg.markup()
True
"""

from __future__ import annotations

import re
from collections.abc import Callable
from zlib import crc32

from frontguard.errors import BadInput
from frontguard.markup import Element, element
from frontguard.plot import svg_legend
from frontguard.plot.picture import Axis, Panel, Picture, Points, Region
from frontguard.plot.placing import Rectangle
from frontguard.plot.svg_areas import word_inside
from frontguard.plot.svg_axes import Plan, scales, surroundings
from frontguard.plot.svg_layers import elements
from frontguard.plot.svg_layout import EDGE, cells, stacked
from frontguard.plot.svg_pen import Names, Pen
from frontguard.plot.svg_text import BOLD, LINE, SIZE, broken, number, words
from frontguard.plot.svg_words import placed_remarks, placed_words

__all__ = ["Axis", "Panel", "Picture", "Points", "drawn"]

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
    legend = svg_legend.rows(picture.legend, wide - 2 * EDGE)
    top = EDGE + len(heading) * _HEADING * LINE + (4.0 if heading else 0.0)
    room = inch * picture.height - top - svg_legend.height(legend) - EDGE
    hatched: dict[str, str] = {}

    def hatch(colour: str) -> str:
        return hatched.setdefault(colour, f"{base}hatch-{colour.removeprefix('#')}")

    panels: list[Element] = []
    names = Names(prefix)
    placed, bottom = cells(picture, wide, top, room)
    for i, (plan, cell, frame) in enumerate(placed):
        names.panel = f"{i + 1}-" if len(placed) > 1 else ""
        panels.append(_panel(plan, cell, frame, names, link, hatch))
    high = bottom + svg_legend.height(legend) + EDGE
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
        svg_legend.drawn(legend, picture.panels, EDGE, bottom) if legend else None,
    )


def _panel(
    plan: Plan,
    cell: Rectangle,
    frame: Rectangle,
    names: Names,
    link: Callable[[int], str] | None,
    hatch: Callable[[str], str],
) -> Element:
    pen = Pen(frame, *scales(plan, frame), names, link, hatch)
    layers = [each for layer in plan.panel.layers for each in elements(layer, pen)]
    regions = [word_inside(layer, pen) for layer in plan.panel.layers if isinstance(layer, Region)]
    return element(
        "g",
        {"class": "panel"},
        surroundings(plan, cell, frame),
        element("g", {"class": "layers"}, *layers),
        element("g", {"class": "words"}, *regions, *placed_remarks(pen), *placed_words(pen)),
    )


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
