"""Pictures on paper: drawn with matplotlib (extra `plot`), without its global state.

No text is ever read as mathematics or TeX: a name such as `$x_{` is a name. What no font at hand can show becomes a
replacement character. Ticks and words are set for the size the picture has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from frontguard.errors import BadInput
from frontguard.markup import clean
from frontguard.plot.layout.frames import Frame, Limits, limits
from frontguard.plot.layout.names import columns, in_columns, short
from frontguard.plot.layout.scales import ticks, when
from frontguard.plot.paper.layers import draw, legend_handle
from frontguard.plot.paper.words import drawable, families, heading, title, write
from frontguard.plot.picture import Axis, Panel, Picture

FORMATS = ("png", "pdf", "svg", "eps", "ps", "jpg", "jpeg", "tif", "tiff", "webp")
"""What can be saved, as far as the matplotlib at hand can. Its TeX formats would read names as TeX."""

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
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "frontguard",  # the same picture is the same file
}


def new_figure(**options: Any) -> Figure:
    """A figure of its own that needs no display."""
    figure = Figure(**options, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def drawn(picture: Picture) -> Figure:
    """The picture as a matplotlib figure, which can be changed and saved like any other."""
    with _own_style():
        figure = new_figure(figsize=(picture.width, picture.height), dpi=100)
        title(figure, picture.title, picture.width)
        drawn_panels = [
            (panel, axes, _panel(axes, panel, picture.width / across, picture.height / len(picture.rows)))
            for panel, axes, across in _axes(figure, picture)
        ]
        _legend(figure, picture)
        figure.draw_without_rendering()  # lays it out, and makes the ticks while our style holds
        for panel, axes, frame in drawn_panels:
            write(axes, panel, frame)
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
        figure.savefig(target, dpi=150, format=kind, metadata=_metadata(picture, kind))
    return target


def _metadata(picture: Picture, kind: str) -> dict[str, Any] | None:
    name, description = short(picture.title or picture.name, 200), clean(picture.description)[:2000]
    kinds: dict[str, dict[str, Any]] = {
        "png": {"Title": name, "Description": description},
        "svg": {"Title": name, "Description": description, "Date": None},
        "pdf": {"Title": name, "Subject": description, "CreationDate": None},
    }
    return kinds.get(kind)


@contextmanager
def _own_style() -> Iterator[None]:
    """matplotlib's defaults and our style upon them, whatever the user has set for other pictures; undone after."""
    with matplotlib.style.context("default"), matplotlib.rc_context({**_STYLE, "font.family": families()}):
        yield


# Panels ---------------------------------------------------------------------------------------------------------------


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
        draw(axes, layer, panel, frame, 2.0 + 0.01 * depth)
    axes.set_xlim(axes.get_xlim())  # from now on nothing moves them
    axes.set_ylim(axes.get_ylim())
    _ticks(axes, panel, frame, width, height)
    heading(axes, panel, width)
    axes.set_xlabel(_titled(panel.x, frame[0], round(11 * width)))
    axes.set_ylabel(_titled(panel.y, frame[1], round(11 * height)))
    return frame


def _ticks(axes: Axes, panel: Panel, frame: Frame, width: float, height: float) -> None:
    across = ticks(panel.x, *frame[0], most=round((4.0 if panel.x.names else 1.4) * width))
    up = ticks(panel.y, *frame[1], most=round((4.6 if panel.y.names else 1.9) * height))
    # Ticks have texts of their own, which are made now and keep the style of now.
    words = [drawable(short(word, 28 if panel.x.names else 16)) for _, word in across]
    room = 11.5 * width / max(len(words), 1)
    slanted = bool(panel.x.names) and max((columns(word) for word in words), default=0) > room
    axes.set_xticks([at for at, _ in across], words, rotation=35 if slanted else 0, ha="right" if slanted else "center",
                    rotation_mode="anchor" if slanted else "default")  # fmt: skip
    beside = [word for _, word in up]
    axes.set_yticks([at for at, _ in up], list(map(drawable, in_columns(beside, 30) if panel.y.names else beside)))
    axes.minorticks_off()
    for axis, own in ((axes.xaxis, panel.x), (axes.yaxis, panel.y)):
        axis.set_tick_params(length=0 if own.names else 3)


def _titled(axis: Axis, within: Limits, room: int) -> str:
    """The axis's title, and where good lies. In a title that runs upwards the same arrows point down and up."""
    text = f"{axis.title} ({when(*within)})" if axis.dates else axis.title
    if not axis.better:
        return drawable(short(text, room))
    return f"{drawable(short(text, max(12, room - 24)))}   {axis.direction}".strip()


# The legend -----------------------------------------------------------------------------------------------------------


def _legend(figure: Figure, picture: Picture) -> None:
    if not picture.legend:
        return
    kinds = [picture.drawn_as(look) for look in picture.legend]
    handles = [legend_handle(look, kind) for look, kind in zip(picture.legend, kinds, strict=True)]
    labels = [drawable(short(look.label, 44)) for look in picture.legend]
    beside = _legend_columns([columns(label) + 6 for label in labels], 13.0 * picture.width)
    order = [at for column in range(beside) for at in range(column, len(labels), beside)]  # it fills column by column
    figure.legend(
        [handles[at] for at in order], [labels[at] for at in order], loc="outside lower center", ncols=beside,
        frameon=False, columnspacing=1.6, handlelength=2.8 if any("line" in kind for kind in kinds) else 1.4,
    )  # fmt: skip


def _legend_columns(widths: list[int], room: float) -> int:
    """How many of the legend's entries fit beside each other, read line by line."""
    for beside in range(len(widths), 1, -1):
        if sum(max(widths[column::beside]) for column in range(beside)) <= room:
            return beside
    return 1
