"""How each layer of a picture is drawn with matplotlib. An end that goes on for ever is drawn to beyond the edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon

from frontguard._typing import Floats
from frontguard.plot.layout.frames import Limits, clipped, steps
from frontguard.plot.looks import Look
from frontguard.plot.picture import (
    Arrow,
    Band,
    Bars,
    Boxes,
    Density,
    Layer,
    Lines,
    Panel,
    Points,
    Region,
    Rule,
    Spans,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Frame: TypeAlias = tuple[Limits, Limits]

TEXT = "#333333"
"""The colour of what has none of its own."""

_MARKS = {
    "circle": ("o", 1.0), "cross": ("x", 1.0), "square": ("s", 0.9), "triangle": ("^", 1.05), "diamond": ("D", 0.85),
    "dot": ("o", 0.75), "ring": ("o", 1.0), "bar": ("|", 1.2), "plus": ("+", 1.1),
}  # fmt: skip
_BEYOND = 0.1


def colour(look: Look) -> str:
    """Its colour, or that of text."""
    return look.colour or TEXT


def draw(axes: Axes, layer: Layer, panel: Panel, frame: Frame, depth: float) -> None:
    """Draw one layer; `depth` orders them."""
    logs = panel.x.scale == "log", panel.y.scale == "log"
    match layer:
        case Region():
            _region(axes, layer, frame, logs)
        case Points():
            _points(axes, layer, frame, depth)
        case Boxes():
            _boxes(axes, layer, frame, logs, depth)
        case Lines():
            _lines(axes, layer, frame, logs, depth)
        case Band():
            x = np.asarray(layer.x, np.float64)
            low, high = (clipped(side, frame[1], beyond=_BEYOND, log=logs[1]) for side in (layer.low, layer.high))
            shade = to_rgba(colour(layer.look), 0.16), to_rgba(colour(layer.look), 0.45)
            axes.fill_between(
                x, low, high, facecolor=shade[0], edgecolor=shade[1], linewidth=0.6, zorder=depth,
                step="post" if layer.step else None,
            )  # fmt: skip
        case Spans():
            _spans(axes, layer, frame, logs, depth)
        case Bars():
            _bars(axes, layer, frame, depth)
        case Density():
            _density(axes, layer, depth)
        case Rule():
            across = axes.axvline if layer.upright else axes.axhline
            across(layer.at, **line(layer.look), zorder=depth)
        case Arrow():
            axes.annotate(
                "", (layer.x[1], layer.y[1]), (layer.x[0], layer.y[0]), zorder=depth + 1,
                arrowprops={"arrowstyle": "-|>", "color": colour(layer.look), "linewidth": layer.look.width,
                            "shrinkA": 0, "shrinkB": 2},
            ).set_in_layout(False)  # fmt: skip


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
    return {
        "color": colour(look),
        "linewidth": look.width,
        "linestyle": (0, look.dash) if look.dash else "-",
    }


def filling(look: Look) -> dict[str, Any]:
    """How a bar is filled, so that verdicts can be told apart without colour: full, pale, hatched or empty."""
    if not look.filled:
        return {"facecolor": "white", "edgecolor": colour(look), "linewidth": 1.0}
    if look.mark == "triangle":
        return {"facecolor": to_rgba(colour(look), 0.25), "edgecolor": colour(look), "linewidth": 0.8, "hatch": "/////"}
    if look.mark in ("cross", "plus"):
        return {"facecolor": to_rgba(colour(look), 0.45), "edgecolor": colour(look), "linewidth": 0.6}
    return {"facecolor": colour(look), "edgecolor": colour(look), "linewidth": 0.6}


def legend_handle(look: Look, drawn_as: frozenset[str]) -> Any:
    """What stands beside a look's name."""
    if drawn_as == {"area"}:
        return Patch(**filling(look)) if look.filled else Patch(facecolor="white", edgecolor=colour(look))
    style = mark(look)
    if "line" in drawn_as:
        style |= line(look)
        style |= {} if "mark" in drawn_as else {"marker": "none"}
    else:
        style |= {"linestyle": "none"}
    style["markersize"] = min(style["markersize"], 11.0)
    return Line2D([], [], **style)


def _points(axes: Axes, layer: Points, frame: Frame, depth: float) -> None:
    x, y = clipped(layer.x, frame[0]), clipped(layer.y, frame[1])
    there = ~(np.isnan(x) | np.isnan(y))
    # A mark on the edge is drawn in full; one that lies outside is not.
    whole = not _outside(layer, frame)
    (marks,) = axes.plot(
        np.where(np.isfinite(layer.x), layer.x, x)[there], np.where(np.isfinite(layer.y), layer.y, y)[there],
        **mark(layer.look), linestyle="none", zorder=depth, clip_on=not whole,
    )  # fmt: skip
    marks.set_in_layout(False)


def _outside(layer: Points, frame: Frame) -> bool:
    """Whether any mark with a finite place lies outside the frame, so that marks must be cut off."""
    (x_low, x_high), (y_low, y_high) = frame
    out = (layer.x < x_low) | (layer.x > x_high) | (layer.y < y_low) | (layer.y > y_high)
    return bool((out & np.isfinite(layer.x) & np.isfinite(layer.y)).any())


def _region(axes: Axes, layer: Region, frame: Frame, logs: tuple[bool, bool]) -> None:
    if layer.x.size < 3:
        return
    ends = zip((layer.x, layer.y), frame, logs, strict=True)
    corners = np.stack([clipped(side, within, beyond=_BEYOND, log=log) for side, within, log in ends], axis=1)
    shade = colour(layer.look)
    axes.add_patch(Polygon(corners, facecolor=to_rgba(shade, 0.07), edgecolor="none", zorder=1.0))
    axes.add_patch(
        Polygon(corners, fill=False, edgecolor=to_rgba(shade, 0.28), linewidth=0.9, hatch="///", zorder=1.01)
    )


def _boxes(axes: Axes, layer: Boxes, frame: Frame, logs: tuple[bool, bool], depth: float) -> None:
    x_low, x_high = (clipped(side, frame[0], beyond=_BEYOND, log=logs[0]) for side in (layer.x_low, layer.x_high))
    y_low, y_high = (clipped(side, frame[1], beyond=_BEYOND, log=logs[1]) for side in (layer.y_low, layer.y_high))
    corners = _rectangles(x_low, y_low, x_high, y_high)
    shade = colour(layer.look)
    pale = layer.look.mark in ("cross", "plus")
    axes.add_collection(
        PolyCollection(
            corners, facecolors=[to_rgba(shade, 0.05 if pale else 0.13)],
            edgecolors=[to_rgba(shade, 0.3 if pale else 0.6)], linewidths=0.8, zorder=depth,
        ),
        autolim=False,
    )  # fmt: skip


def _rectangles(x_low: Floats, y_low: Floats, x_high: Floats, y_high: Floats) -> Any:
    """Corners (n, 4, 2) of the rectangles that have a place."""
    corners = np.stack(
        [np.stack(corner, axis=1) for corner in ((x_low, y_low), (x_high, y_low), (x_high, y_high), (x_low, y_high))],
        axis=1,
    )
    return corners[np.isfinite(corners).all(axis=(1, 2))]


def _lines(axes: Axes, layer: Lines, frame: Frame, logs: tuple[bool, bool], depth: float) -> None:
    style = {**line(layer.look), "alpha": layer.opacity, "zorder": depth}
    for x, y in zip(layer.x, layer.y, strict=True):
        x, y = (
            np.where(np.isinf(side), clipped(side, within, beyond=_BEYOND, log=log), side)
            for side, within, log in zip((x, y), frame, logs, strict=True)
        )
        axes.plot(*(steps(x, y) if layer.step else (x, y)), **style)
        if layer.marks:
            axes.plot(x, y, **mark(layer.look), linestyle="none", alpha=layer.opacity, zorder=depth)


def _spans(axes: Axes, layer: Spans, frame: Frame, logs: tuple[bool, bool], depth: float) -> None:
    within, log = (frame[1], logs[1]) if layer.upright else (frame[0], logs[0])
    low, high = (clipped(end, within, beyond=_BEYOND, log=log) for end in (layer.low, layer.high))
    ends = [np.stack([layer.at, end], axis=1)[:, :: 1 if layer.upright else -1] for end in (low, high)]
    segments = np.stack(ends, axis=1)
    there = np.isfinite(segments).all(axis=(1, 2))
    points = there & (low == high)  # so that an interval of a single value can be seen
    for which, cap in ((there & ~points, "butt"), (points, "round")):
        if which.any():
            axes.add_collection(
                LineCollection(
                    list(segments[which]), colors=[to_rgba(colour(layer.look), layer.opacity)],
                    linewidths=layer.thickness, capstyle=cap, zorder=depth,
                ),
                autolim=False,
            )  # fmt: skip


def _bars(axes: Axes, layer: Bars, frame: Frame, depth: float) -> None:
    half = layer.thickness / 2.0
    within = frame[1] if layer.upright else frame[0]
    ends = clipped(np.zeros(layer.at.size), within), clipped(layer.length, within)
    sides = layer.at - half, layer.at + half
    corners = (
        _rectangles(sides[0], ends[0], sides[1], ends[1])
        if layer.upright
        else _rectangles(ends[0], sides[0], ends[1], sides[1])
    )
    axes.add_collection(PolyCollection(corners, **filling(layer.look), zorder=depth), autolim=False)


def _density(axes: Axes, layer: Density, depth: float) -> None:
    counts = np.asarray(layer.counts, np.float64)
    i, j = np.nonzero(counts)
    if i.size == 0:
        return
    x, y = layer.x_edges, layer.y_edges
    strength = 0.12 + 0.68 * np.log1p(counts[i, j]) / np.log1p(counts.max())
    faces = np.tile(to_rgba(colour(layer.look)), (i.size, 1))
    faces[:, 3] = strength
    axes.add_collection(
        PolyCollection(
            _rectangles(x[i], y[j], x[i + 1], y[j + 1]), facecolors=faces, edgecolors="none", linewidths=0.0,
            zorder=depth, antialiased=False,
        ),
        autolim=False,
    )  # fmt: skip
