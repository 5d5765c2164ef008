"""The legend below a picture: each look as it occurs in it (a mark, a line, an area), with its label."""

from __future__ import annotations

from collections.abc import Sequence

from frontguard.markup import Element, element
from frontguard.plot.looks import Look
from frontguard.plot.picture import Band, Bars, Boxes, Density, Lines, Panel, Points, Region, Rule, Spans
from frontguard.plot.svg.shapes import colour, shape, spaced
from frontguard.plot.svg.text import LINE, SIZE, fitted, number, width, words

_SAMPLE, _APART = 22.0, 16.0
_ROW = SIZE * LINE + 3.0


def rows(legend: Sequence[Look], room: float) -> list[list[tuple[Look, str]]]:
    """The looks with their labels, cut where need be, over as many lines as they take."""
    found: list[list[tuple[Look, str]]] = []
    used = room
    for look in legend:
        label = fitted(look.label, room - _SAMPLE - 4.0)
        if not label:
            continue
        needed = _SAMPLE + width(label) + _APART
        if used + needed - _APART > room or not found:
            found.append([])
            used = 0.0
        found[-1].append((look, label))
        used += needed
    return found


def height(legend_rows: Sequence[object]) -> float:
    """Of the whole legend."""
    return len(legend_rows) * _ROW + 6.0 if legend_rows else 0.0


def drawn(legend_rows: list[list[tuple[Look, str]]], panels: Sequence[Panel], left: float, top: float) -> Element:
    """Samples and labels from the upper left corner on."""
    parts: list[Element] = []
    for number_of_row, row in enumerate(legend_rows):
        x, y = left, top + 6.0 + (number_of_row + 0.5) * _ROW
        for look, label in row:
            parts.extend(_sample(look, panels, x, y))
            parts.append(words(x + _SAMPLE, y + 0.35 * SIZE, label))
            x += _SAMPLE + width(label) + _APART
    return element("g", {"class": "legend", "fill": "currentColor"}, *parts)


def _sample(look: Look, panels: Sequence[Panel], x: float, y: float) -> list[Element]:
    kinds = _kinds(look, panels)
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


def _kinds(look: Look, panels: Sequence[Panel]) -> set[str]:
    """How a look is used."""
    found = set()
    for panel in panels:
        for layer in panel.layers:
            if layer.look != look:
                continue
            match layer:
                case Points():
                    found.add("mark")
                case Lines():
                    found |= {"line", "mark"} if layer.marks else {"line"}
                case Rule():
                    found.add("line")
                case Band():
                    found.add("band")
                case Boxes():
                    found.add("box")
                case Bars():
                    found.add("bar")
                case Spans() | Density() | Region():
                    found.add("area")
    return found
