"""Pictures on paper: drawn with matplotlib (extra `plot`), without its global state. No text is read as TeX."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.phrases import cells_of
from frontguard.plot import picture as parts
from frontguard.plot.frames import Frame, bounded, inside, labels, limits, rectangles, sheet_of, ticks
from frontguard.plot.picture import Axis, Layer, Look, Panel, Picture, bar_shade, box_shades, in_columns, short, wrapped

try:
    import matplotlib.style
    from matplotlib import font_manager
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import ListedColormap, to_rgba
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.patheffects import AbstractPathEffect, withStroke
except ImportError:
    raise BadInput("pictures need matplotlib: install the extra with pip install 'frontguard[plot]'") from None

FORMATS = ("png", "pdf", "svg", "eps", "ps", "jpg", "jpeg", "tif", "tiff", "webp")
"""What can be saved, as far as the matplotlib at hand can. Its TeX formats would read names as TeX."""

_UNDATED: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""So that the same picture is the same file."""

_STYLE: dict[Any, Any] = {
    "text.usetex": False,
    "text.parse_math": False,
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.labelsize": 9.5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "axes.labelcolor": "#222222",
    "text.color": "#222222",
    "lines.scale_dashes": False,  # dashes are in points
    "svg.hashsalt": "frontguard",  # the same picture is the same file
}


_FALLBACKS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "WenQuanYi Zen Hei", "Hiragino Sans",
    "PingFang SC", "Yu Gothic", "Microsoft YaHei", "Malgun Gothic", "Noto Sans Arabic", "Noto Sans Hebrew",
    "Noto Sans Devanagari", "Arial Unicode MS", "Noto Emoji", "Symbola",
)  # fmt: skip
"""Asked, where they are installed, for what the first font lacks."""

_SIZE = 8.5  # of labels within a panel, in points

_HALO: list[AbstractPathEffect] = [withStroke(linewidth=2.0, foreground="white", alpha=0.8)]
"""Keeps labels readable over lines and bars."""


def drawn(picture: Picture) -> Figure:
    """The picture as a matplotlib figure, which can be changed and saved like any other."""
    with _own_style():
        figure = Figure(figsize=(picture.width, picture.height), dpi=100, layout="constrained")
        FigureCanvasAgg(figure)  # which needs no display
        if picture.title:
            title = "\n".join(wrapped(picture.title, round(10.0 * picture.width), 3))
            figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        drawn_panels = [
            (panel, axes, _panel(axes, panel, picture.width / across, picture.height / len(picture.rows)))
            for panel, axes, across in _axes(figure, picture)
        ]
        _legend(figure, picture)
        figure.draw_without_rendering()  # lays it out, and makes the ticks while our style holds
        for panel, axes, frame in drawn_panels:
            _labels(axes, panel, frame)
    return figure


def saved(picture: Picture, path: str | Path) -> Path:
    """Draw it into a file of the kind that its name ends in."""
    target = Path(path)
    figure = drawn(picture)
    kinds = [kind for kind in FORMATS if kind in figure.canvas.get_supported_filetypes()]
    kind = target.suffix.lower().removeprefix(".")
    if kind not in kinds:
        wanted = ", ".join(f".{kind}" for kind in [*kinds, "html"])
        raise BadInput(f"{path}: wanted a file name that ends in one of {wanted}; got {target.suffix or 'no ending'!r}")
    with _own_style():
        figure.savefig(target, dpi=150, format=kind, metadata=_UNDATED.get(kind))
    return target


@contextmanager
def _own_style() -> Iterator[None]:
    """matplotlib's defaults and our style upon them, whatever the user has set for other pictures; undone after."""
    installed = set(font_manager.get_font_names())
    own = {**_STYLE, "font.family": ["DejaVu Sans", *(name for name in _FALLBACKS if name in installed)]}
    with matplotlib.style.context("default"), matplotlib.rc_context(own), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+")  # what no font here has becomes an empty box
        yield


def _axes(figure: Figure, picture: Picture) -> Iterator[tuple[Panel, Axes, int]]:
    """Axes for every panel that is there, and how many lie beside each other. A shorter row has wider panels."""
    cells = math.lcm(*(len(row) or 1 for row in picture.rows))  # one grid for all, so that columns are in line
    grid = figure.add_gridspec(max(len(picture.rows), 1), cells)
    for i, row in enumerate(picture.rows):
        for j, panel in enumerate(row):
            if panel is not None:
                span = cells // len(row)
                yield panel, figure.add_subplot(grid[i, j * span : (j + 1) * span]), len(row)


def _panel(axes: Axes, panel: Panel, width: float, height: float) -> Frame:
    """Draw axes and layers; words wait until the layout is known."""
    frame = limits(panel)
    axes.set_xscale(panel.x.scale)
    axes.set_yscale(panel.y.scale)
    axes.set_xlim(*(frame[0][::-1] if panel.x.reverse else frame[0]))
    axes.set_ylim(*(frame[1][::-1] if panel.y.reverse else frame[1]))
    axes.set_axisbelow(True)
    for axis, side in ((axes.xaxis, panel.x), (axes.yaxis, panel.y)):
        if not side.names:
            axis.grid(visible=True, color="#e6e6e6", linewidth=0.7)
    for depth, layer in enumerate(panel.layers):
        _draw(axes, layer, panel, frame, 2.0 + 0.01 * depth)
    _ticks(axes, panel, frame, width, height)
    _heading(axes, panel, width)
    axes.set_xlabel(_titled(panel.x, round(11 * width)))
    axes.set_ylabel(_titled(panel.y, round(11 * height)))
    return frame


def _ticks(axes: Axes, panel: Panel, frame: Frame, width: float, height: float) -> None:
    across = ticks(panel.x, *frame[0], most=round((4.0 if panel.x.names else 1.4) * width))
    up = ticks(panel.y, *frame[1], most=round((4.6 if panel.y.names else 1.9) * height))
    # Ticks have texts of their own, which are made now and keep the style of now.
    words = [short(word, 28 if panel.x.names else 16) for _, word in across]
    long = panel.x.names and len(words) * max(map(cells_of, words), default=0) > 11.5 * width
    slanted: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks([at for at, _ in across], words, **(slanted if long else {}))
    beside = [word for _, word in up]
    axes.set_yticks([at for at, _ in up], in_columns(beside, 30) if panel.y.names else beside)
    axes.minorticks_off()
    axes.tick_params("x", length=0 if panel.x.names else 3)
    axes.tick_params("y", length=0 if panel.y.names else 3)


def _titled(axis: Axis, room: int) -> str:
    """The axis's title, and where good lies. In a title that runs upwards the same arrows point down and up."""
    if not axis.better:
        return short(axis.title, room)
    return f"{short(axis.title, max(12, room - 24))}   {axis.direction}".strip()


def _heading(axes: Axes, panel: Panel, width: float) -> None:
    note = wrapped(panel.note, round(13.0 * width), 2)
    lines = wrapped(panel.title, round(11.5 * width), 3)
    if lines:
        axes.set_title("\n".join(lines), loc="left", pad=6 + 11.5 * len(note))
    if note:
        axes.annotate("\n".join(note), (0.0, 1.0), (0, 5), "axes fraction", "offset points", fontsize=8.5,
                      color="#555555", va="bottom", ha="left", annotation_clip=False)  # fmt: skip


def _labels(axes: Axes, panel: Panel, shown: Frame) -> None:
    """Labels beside marks, where there is room, now that the layout is known."""
    point = axes.figure.dpi / 72.0  # in pixels
    edges, high = axes.get_window_extent(), axes.figure.bbox.height
    frame = (edges.x0 / point, (high - edges.y1) / point, edges.x1 / point, (high - edges.y0) / point)
    for label in labels(panel, sheet_of(panel, shown, frame), _SIZE):
        text = axes.annotate(
            label.text, label.at, (label.side * label.reach, 0.0), textcoords="offset points", color="#222222",
            ha="left" if label.side > 0 else "right", va="center", fontsize=_SIZE, zorder=4.0, annotation_clip=False,
        )  # fmt: skip
        text.set_in_layout(False)
        text.set_path_effects(_HALO)


def _legend(figure: Figure, picture: Picture) -> None:
    if not picture.legend:
        return
    kinds = [picture.drawn_as(look) for look in picture.legend]
    handles = [_legend_handle(look, kind) for look, kind in zip(picture.legend, kinds, strict=True)]
    names = [short(look.label, 44) for look in picture.legend]
    beside = max(1, int(13.0 * picture.width / (max(map(cells_of, names)) + 6)))
    figure.legend(
        handles, names, loc="outside lower center", ncols=beside, frameon=False, columnspacing=1.6,
        handlelength=2.8 if any("line" in kind for kind in kinds) else 1.4,
    )  # fmt: skip


_TEXT = "#333333"  # the colour of what has none of its own

_MARKS = {
    "circle": ("o", 1.0), "cross": ("x", 1.0), "square": ("s", 0.9), "triangle": ("^", 1.05), "diamond": ("D", 0.85),
    "dot": ("o", 0.75), "ring": ("o", 1.0), "bar": ("|", 1.2), "plus": ("+", 1.1),
}  # fmt: skip


def _colour(look: Look) -> str:
    return look.colour or _TEXT


def _draw(axes: Axes, layer: Layer, panel: Panel, frame: Frame, depth: float) -> None:
    layer = bounded(layer, panel, frame, beyond=0.1)
    match layer:
        case parts.Region() if layer.x.size > 2:
            shades = {"facecolors": [_shade(layer.look, 0.07)], "edgecolors": [_shade(layer.look, 0.28)]}
            _polygons(axes, np.stack([layer.x, layer.y], axis=1)[None], 1.0, linewidths=0.9, **shades)
        case parts.Points():
            there = ~(np.isnan(layer.x) | np.isnan(layer.y))
            # A mark on the edge is drawn in full; one that lies outside is not.
            outside = (there & ~inside(layer.x, layer.y, frame)).any()
            (marks,) = axes.plot(
                layer.x[there], layer.y[there], **_mark(layer.look), linestyle="none", zorder=depth, clip_on=outside
            )
            marks.set_in_layout(False)
        case parts.Boxes():
            fill, edge = box_shades(layer.look)
            style = {"facecolors": [_shade(layer.look, fill)], "edgecolors": [_shade(layer.look, edge)]}
            _polygons(axes, rectangles(layer, frame), depth, linewidths=0.8, **style)
        case parts.Lines():
            seen: dict[str, Any] = {"alpha": layer.opacity, "zorder": depth}
            for x, y in zip(layer.x, layer.y, strict=True):
                axes.plot(x, y, **_line(layer.look), **seen)
                if layer.marks:
                    axes.plot(x, y, **_mark(layer.look), linestyle="none", **seen)
        case parts.Band():
            axes.fill_between(
                layer.x, layer.low, layer.high, facecolor=_shade(layer.look, 0.16), edgecolor=_shade(layer.look, 0.45),
                linewidth=0.6, zorder=depth,
            )  # fmt: skip
        case parts.Spans():
            _spans(axes, layer, depth)
        case parts.Bars():
            _polygons(axes, rectangles(layer, frame), depth, **_filling(layer.look))
        case parts.Density():
            _density(axes, layer, depth)
        case parts.Rule():
            across = axes.axvline if layer.upright else axes.axhline
            across(layer.at, **_line(layer.look), zorder=depth)


def _shade(look: Look, opacity: float) -> tuple[float, float, float, float]:
    """Its colour, of which only so much is seen."""
    return to_rgba(_colour(look), opacity)


def _mark(look: Look) -> dict[str, Any]:
    shape, factor = _MARKS[look.mark]
    hollow = not look.filled or look.mark == "ring"
    return {
        "marker": shape,
        "markersize": factor * look.size,
        "color": _colour(look),
        "markerfacecolor": "none" if hollow else _colour(look),
        "markeredgecolor": _colour(look),
        "markeredgewidth": 1.5 if hollow or shape in "x+|" else 0.4,
    }


def _line(look: Look) -> dict[str, Any]:
    return {"color": _colour(look), "linewidth": look.width, "linestyle": (0, look.dash) if look.dash else "-"}


def _filling(look: Look) -> dict[str, Any]:
    return {"facecolor": _shade(look, bar_shade(look)), "edgecolor": _colour(look), "linewidth": 0.8}


def _legend_handle(look: Look, drawn_as: frozenset[str]) -> Any:
    """The sample beside a look's name."""
    if drawn_as and not drawn_as & {"line", "mark"}:
        return Patch(**_filling(look))
    style = _mark(look)
    if "line" in drawn_as:
        style |= _line(look)
        style |= {} if "mark" in drawn_as else {"marker": "none"}
    else:
        style |= {"linestyle": "none"}
    style["markersize"] = min(style["markersize"], 11.0)
    return Line2D([], [], **style)


def _polygons(axes: Axes, corners: Floats, depth: float, **style: Any) -> None:
    axes.add_collection(PolyCollection(list(corners), **style, zorder=depth), autolim=False)


def _spans(axes: Axes, layer: parts.Spans, depth: float) -> None:
    across = axes.vlines if layer.upright else axes.hlines
    there = np.isfinite(layer.at) & np.isfinite(layer.low) & np.isfinite(layer.high)
    points = there & (layer.low == layer.high)  # so that an interval of a single value can be seen
    for which, cap in ((there & ~points, "butt"), (points, "round")):
        across(
            layer.at[which], layer.low[which], layer.high[which], colors=[_shade(layer.look, layer.opacity)],
            linewidth=layer.thickness, capstyle=cap, zorder=depth,
        )  # fmt: skip


def _density(axes: Axes, layer: parts.Density, depth: float) -> None:
    most = layer.counts.max(initial=0)
    if most:
        shades = ListedColormap([_shade(layer.look, 0.12 + 0.68 * share / 255.0) for share in range(256)])
        counts = np.ma.masked_equal(np.log1p(layer.counts.T) / np.log1p(most), 0.0)
        axes.pcolormesh(layer.x_edges, layer.y_edges, counts, cmap=shades, vmin=0.0, vmax=1.0, zorder=depth)
