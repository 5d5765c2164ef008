"""How each layer of a picture is drawn with matplotlib. An end that goes on for ever is drawn to beyond the edge."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon

from frontguard._common.typing import Floats
from frontguard.plot import picture as parts
from frontguard.plot.layout.frames import Frame, bounded, clipped, inside, rectangles, steps
from frontguard.plot.looks import PALE, Look, box_shades
from frontguard.plot.picture import Layer, Panel

TEXT = "#333333"
"""The colour of what has none of its own."""

_MARKS = {
    "circle": ("o", 1.0), "cross": ("x", 1.0), "square": ("s", 0.9), "triangle": ("^", 1.05), "diamond": ("D", 0.85),
    "dot": ("o", 0.75), "ring": ("o", 1.0), "bar": ("|", 1.2), "plus": ("+", 1.1),
}  # fmt: skip


def colour(look: Look) -> str:
    """Its colour, or that of text."""
    return look.colour or TEXT


def draw(axes: Axes, layer: Layer, panel: Panel, frame: Frame, depth: float) -> None:
    """Draw one layer; `depth` orders them."""
    layer = bounded(layer, panel, frame, beyond=0.1)
    match layer:
        case parts.Region():
            _region(axes, layer)
        case parts.Points():
            there = ~(np.isnan(layer.x) | np.isnan(layer.y))
            # A mark on the edge is drawn in full; one that lies outside is not.
            outside = (there & ~inside(layer.x, layer.y, frame)).any()
            (marks,) = axes.plot(
                layer.x[there], layer.y[there], **mark(layer.look), linestyle="none", zorder=depth, clip_on=outside
            )
            marks.set_in_layout(False)
        case parts.Boxes():
            fill, edge = box_shades(layer.look)
            _polygons(
                axes, rectangles(layer.x_low, layer.y_low, layer.x_high, layer.y_high), depth, linewidths=0.8,
                facecolors=[shade(layer.look, fill)], edgecolors=[shade(layer.look, edge)],
            )  # fmt: skip
        case parts.Lines():
            style: dict[str, Any] = {"alpha": layer.opacity, "zorder": depth}
            for x, y in zip(layer.x, layer.y, strict=True):
                axes.plot(*(steps(x, y) if layer.step else (x, y)), **line(layer.look), **style)
                if layer.marks:
                    axes.plot(x, y, **mark(layer.look), linestyle="none", **style)
        case parts.Band():
            axes.fill_between(
                layer.x, layer.low, layer.high, facecolor=shade(layer.look, 0.16), edgecolor=shade(layer.look, 0.45),
                linewidth=0.6, zorder=depth, step="post" if layer.step else None,
            )  # fmt: skip
        case parts.Spans():
            _spans(axes, layer, depth)
        case parts.Bars():
            half, within = layer.thickness / 2.0, frame[1] if layer.upright else frame[0]
            start, end = clipped(np.zeros(layer.at.size), within), clipped(layer.length, within)
            low, high = layer.at - half, layer.at + half
            corners = rectangles(low, start, high, end) if layer.upright else rectangles(start, low, end, high)
            _polygons(axes, corners, depth, **filling(layer.look))
        case parts.Density():
            _density(axes, layer, depth)
        case parts.Rule():
            across = axes.axvline if layer.upright else axes.axhline
            across(layer.at, **line(layer.look), zorder=depth)
        case parts.Arrow():
            axes.annotate(
                "", (layer.x[1], layer.y[1]), (layer.x[0], layer.y[0]), zorder=depth + 1,
                arrowprops={"arrowstyle": "-|>", "color": colour(layer.look), "linewidth": layer.look.width,
                            "shrinkA": 0, "shrinkB": 2},
            ).set_in_layout(False)  # fmt: skip


def shade(look: Look, opacity: float) -> tuple[float, float, float, float]:
    """Its colour, of which only so much is seen."""
    return to_rgba(colour(look), opacity)


def mark(look: Look) -> dict[str, Any]:
    """A mark's shape, size and filling."""
    shape, factor = _MARKS[look.mark]
    hollow = not look.filled or look.mark == "ring"
    return {
        "marker": shape,
        "markersize": factor * look.size,
        "color": colour(look),
        "markerfacecolor": "none" if hollow else colour(look),
        "markeredgecolor": colour(look),
        "markeredgewidth": 1.5 if hollow or shape in "x+|" else 0.4,
    }


def line(look: Look) -> dict[str, Any]:
    """A line's colour, width and dashes."""
    return {"color": colour(look), "linewidth": look.width, "linestyle": (0, look.dash) if look.dash else "-"}


def filling(look: Look) -> dict[str, Any]:
    """How a bar is filled, so that verdicts can be told apart without colour: full, pale, hatched or empty."""
    if not look.filled:
        return {"facecolor": "white", "edgecolor": colour(look), "linewidth": 1.0}
    if look.mark == "triangle":
        return {"facecolor": shade(look, 0.25), "edgecolor": colour(look), "linewidth": 0.8, "hatch": "/////"}
    if look.mark in PALE:
        return {"facecolor": shade(look, 0.45), "edgecolor": colour(look), "linewidth": 0.6}
    return {"facecolor": colour(look), "edgecolor": colour(look), "linewidth": 0.6}


def legend_handle(look: Look, drawn_as: frozenset[str]) -> Any:
    """What stands beside a look's name."""
    if drawn_as and not drawn_as & {"line", "mark"}:
        return Patch(**filling(look)) if look.filled else Patch(facecolor="white", edgecolor=colour(look))
    style = mark(look)
    if "line" in drawn_as:
        style |= line(look)
        style |= {} if "mark" in drawn_as else {"marker": "none"}
    else:
        style |= {"linestyle": "none"}
    style["markersize"] = min(style["markersize"], 11.0)
    return Line2D([], [], **style)


def _polygons(axes: Axes, corners: Floats, depth: float, **style: Any) -> None:
    axes.add_collection(PolyCollection(list(corners), **style, zorder=depth), autolim=False)


def _region(axes: Axes, layer: parts.Region) -> None:
    if layer.x.size < 3:
        return
    corners = np.stack([layer.x, layer.y], axis=1)
    axes.add_patch(Polygon(corners, facecolor=shade(layer.look, 0.07), edgecolor="none", zorder=1.0))
    edge = shade(layer.look, 0.28)
    axes.add_patch(Polygon(corners, fill=False, edgecolor=edge, linewidth=0.9, hatch="///", zorder=1.01))


def _spans(axes: Axes, layer: parts.Spans, depth: float) -> None:
    ends = [np.stack([layer.at, end], axis=1)[:, :: 1 if layer.upright else -1] for end in (layer.low, layer.high)]
    segments = np.stack(ends, axis=1)
    there = np.isfinite(segments).all(axis=(1, 2))
    points = there & (layer.low == layer.high)  # so that an interval of a single value can be seen
    for which, cap in ((there & ~points, "butt"), (points, "round")):
        if which.any():
            axes.add_collection(
                LineCollection(
                    list(segments[which]), colors=[shade(layer.look, layer.opacity)], linewidths=layer.thickness,
                    capstyle=cap, zorder=depth,
                ),
                autolim=False,
            )  # fmt: skip


def _density(axes: Axes, layer: parts.Density, depth: float) -> None:
    counts = np.asarray(layer.counts, np.float64)
    i, j = np.nonzero(counts)
    if i.size:
        x, y = layer.x_edges, layer.y_edges
        faces = np.tile(shade(layer.look, 1.0), (i.size, 1))
        faces[:, 3] = 0.12 + 0.68 * np.log1p(counts[i, j]) / np.log1p(counts.max())
        style = {"facecolors": faces, "edgecolors": "none", "linewidths": 0.0, "antialiased": False}
        _polygons(axes, rectangles(x[i], y[j], x[i + 1], y[j + 1]), depth, **style)
