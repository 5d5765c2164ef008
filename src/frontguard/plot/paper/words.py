"""Words on paper: which characters the fonts at hand can show, titles, and names beside marks."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import font_manager
from matplotlib.font_manager import FontProperties
from matplotlib.patheffects import AbstractPathEffect, withStroke

from frontguard.plot.layout.frames import Frame, clipped, inside
from frontguard.plot.layout.names import columns, short, wrapped
from frontguard.plot.layout.placing import Rectangle, placed, within_polygon
from frontguard.plot.paper.layers import colour
from frontguard.plot.picture import Arrow, Boxes, Lines, Panel, Points, Region, Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation


_FALLBACKS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "WenQuanYi Zen Hei", "Hiragino Sans",
    "PingFang SC", "Yu Gothic", "Microsoft YaHei", "Malgun Gothic", "Noto Sans Arabic", "Noto Sans Hebrew",
    "Noto Sans Devanagari", "Arial Unicode MS", "Noto Emoji", "Symbola",
)  # fmt: skip
"""Asked, where they are installed, for what the first font lacks."""

_HALO: list[AbstractPathEffect] = [withStroke(linewidth=2.0, foreground="white", alpha=0.8)]
"""Keeps words readable over lines and bars."""


@lru_cache(maxsize=1)
def families() -> list[str]:
    """The fonts to use, in this order: one that is always there, then what is installed for other scripts."""
    installed = {entry.name for entry in font_manager.fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _FALLBACKS if name in installed)]


@lru_cache(maxsize=1)
def _characters() -> frozenset[int]:
    """What these fonts can show."""
    known: set[int] = set()
    for family in families():
        path = font_manager.findfont(FontProperties(family=family))
        known.update(font_manager.get_font(path).get_charmap())
    return frozenset(known)


def drawable(text: str) -> str:
    """The text with a replacement for each character that no font here has: matplotlib would warn of each."""
    known = _characters()
    if all(ord(character) in known for character in text):
        return text
    return "".join(_shown(character, known) for character in text)


def _shown(character: str, known: frozenset[int]) -> str:
    if ord(character) in known or character == "\n":
        return character
    return "" if unicodedata.category(character) in ("Cf", "Mn", "Me") else "�"


def title(figure: Figure, text: str, width: float) -> None:
    """The picture's title, over as many lines as it takes, up to three."""
    lines = wrapped(text, round(10.0 * width), 3)
    if lines:
        figure.suptitle(drawable("\n".join(lines)), x=0.01, ha="left", fontsize=12, fontweight="bold")


def heading(axes: Axes, panel: Panel, width: float) -> None:
    """A panel's title, and its note in small letters below that."""
    if panel.y.names:  # they stand beside the panel and take of its width
        width -= 0.07 * min(30, max(columns(name) for name in panel.y.names))
    note = wrapped(panel.note, round(13.0 * width), 2)
    lines = wrapped(panel.title, round(11.5 * width), 3)
    if lines:
        axes.set_title(drawable("\n".join(lines)), loc="left", pad=6 + 11.5 * len(note))
    if note:
        axes.annotate(drawable("\n".join(note)), (0.0, 1.0), (0, 5), "axes fraction", "offset points", fontsize=8.5,
                      color="#555555", va="bottom", ha="left", annotation_clip=False)  # fmt: skip


def write(axes: Axes, panel: Panel, frame: Frame) -> None:
    """Words beside rules, arrows and marks, and within regions: where there is room, now that the layout is known."""
    edges = axes.get_window_extent()
    bounds = (edges.x0, edges.y0, edges.x1, edges.y1)
    obstacles = [rectangle for layer in panel.layers if isinstance(layer, Points) for rectangle in _marks(axes, layer)]
    for layer in panel.layers:
        if isinstance(layer, Rule) and layer.written:
            obstacles.append(_beside_rule(axes, layer, frame))
    rather_not = [*_boxes(axes, panel, frame), *_crossed(axes, panel, frame)]
    _beside_arrows(axes, panel, obstacles, bounds, rather_not)
    _beside_marks(axes, panel, frame, obstacles, bounds, rather_not)
    for layer in panel.layers:
        if isinstance(layer, Region) and layer.written:
            _within_region(axes, layer, frame, [*obstacles, *rather_not], bounds)


def _beside_marks(
    axes: Axes, panel: Panel, frame: Frame, obstacles: list[Rectangle], bounds: Rectangle,
    rather_not: list[Rectangle],
) -> None:  # fmt: skip
    words: list[tuple[Annotation, tuple[float, float], float]] = []
    for layer in reversed(panel.layers):  # the uppermost have the first choice
        if not isinstance(layer, Points) or not layer.written:
            continue
        seen = inside(layer.x, layer.y, frame)
        for x, y, text, there in zip(layer.x, layer.y, layer.written, seen, strict=True):
            if text and there:
                words.append((_word(axes, short(text, 30), float(x), float(y)), _pixel(axes, x, y), layer.look.size))
    if not words:
        return
    unit = _points(axes)
    gap = unit * (max(size for *_, size in words) / 2.0 + 2.5)
    sizes = [_size(word) for word, *_ in words]
    corners = placed([at for _, at, _ in words], sizes, obstacles, bounds, gap=gap, rather_not=rather_not)
    for (word, (x, y), _), size, corner in zip(words, sizes, corners, strict=True):
        if corner is None:
            word.remove()
        else:
            word.set_position(((corner[0] - x) / unit, (corner[1] - y) / unit))
            obstacles.append((*corner, corner[0] + size[0], corner[1] + size[1]))


def _beside_arrows(
    axes: Axes, panel: Panel, obstacles: list[Rectangle], bounds: Rectangle, rather_not: list[Rectangle]
) -> None:
    unit = _points(axes)
    for layer in panel.layers:
        if isinstance(layer, Arrow) and layer.written:
            word = _word(axes, short(layer.written, 30), layer.x[0], layer.y[0], colour(layer.look))
            x, y = _pixel(axes, layer.x[0], layer.y[0])
            size = _size(word)
            (corner,) = placed([(x, y)], [size], obstacles, bounds, gap=4.0 * unit, rather_not=rather_not)
            if corner is None:
                word.remove()
            else:
                word.set_position(((corner[0] - x) / unit, (corner[1] - y) / unit))
                obstacles.append((*corner, corner[0] + size[0], corner[1] + size[1]))


def _beside_rule(axes: Axes, layer: Rule, frame: Frame) -> Rectangle:
    """At the upper end of an upright rule, running down it; at the right end of another, above it."""
    text, shade = drawable(short(layer.written, 40)), colour(layer.look)
    if layer.upright:
        near_the_end = _pixel(axes, layer.at, frame[1][0])[0] > axes.get_window_extent().x1 - 20
        word = axes.annotate(text, (layer.at, 1.0), (-2 if near_the_end else 2, -3), axes.get_xaxis_transform(),
                             "offset points", rotation=90, va="top", ha="right" if near_the_end else "left", fontsize=8,
                             color=shade)  # fmt: skip
    else:
        word = axes.annotate(text, (1.0, layer.at), (-3, 2), axes.get_yaxis_transform(), "offset points", va="bottom",
                             ha="right", fontsize=8, color=shade)  # fmt: skip
    word.set_in_layout(False)
    word.set_path_effects(_HALO)
    extent = word.get_window_extent()
    return extent.x0, extent.y0, extent.x1, extent.y1


def _within_region(axes: Axes, layer: Region, frame: Frame, obstacles: list[Rectangle], bounds: Rectangle) -> None:
    if layer.x.size < 3:
        return
    corners = axes.transData.transform(np.stack([clipped(layer.x, frame[0]), clipped(layer.y, frame[1])], axis=1))
    word = _word(axes, short(layer.written, 40), 0.0, 0.0, colour(layer.look))
    word.set_fontstyle("italic")
    width, height = _size(word)
    corner = within_polygon(corners, (width, height), obstacles, bounds)
    word.remove()
    if corner is not None:
        x, y = axes.transData.inverted().transform((corner[0], corner[1]))
        axes.text(x, y, word.get_text(), color=colour(layer.look), fontstyle="italic", fontsize=8.5, va="bottom",
                  ha="left", zorder=3.5).set_in_layout(False)  # fmt: skip


def _word(axes: Axes, text: str, x: float, y: float, shade: str = "#222222") -> Annotation:
    word = axes.annotate(drawable(text), (x, y), (0, 0), "data", "offset points", fontsize=8.5, va="bottom", ha="left",
                         color=shade, zorder=4.0, annotation_clip=False)  # fmt: skip
    word.set_in_layout(False)
    word.set_path_effects(_HALO)
    return word


def _size(word: Annotation) -> tuple[float, float]:
    extent = word.get_window_extent()
    return float(extent.width), float(extent.height)


def _points(axes: Axes) -> float:
    """How many pixels a point has."""
    return float(axes.figure.dpi) / 72.0


def _pixel(axes: Axes, x: float, y: float) -> tuple[float, float]:
    at = axes.transData.transform((x, y))
    return float(at[0]), float(at[1])


def _marks(axes: Axes, layer: Points) -> list[Rectangle]:
    """The room that its marks take, in pixels."""
    there = np.isfinite(layer.x) & np.isfinite(layer.y)
    at = axes.transData.transform(np.stack([layer.x[there], layer.y[there]], axis=1))
    half = (layer.look.size / 2.0 + 0.5) * _points(axes)
    return [(x - half, y - half, x + half, y + half) for x, y in at.tolist()]


def _boxes(axes: Axes, panel: Panel, frame: Frame) -> list[Rectangle]:
    found: list[Rectangle] = []
    for layer in panel.layers:
        if isinstance(layer, Boxes) and layer.x_low.size:
            low = np.stack([clipped(layer.x_low, frame[0]), clipped(layer.y_low, frame[1])], axis=1)
            high = np.stack([clipped(layer.x_high, frame[0]), clipped(layer.y_high, frame[1])], axis=1)
            ends = axes.transData.transform(low), axes.transData.transform(high)
            both = np.concatenate([np.minimum(*ends), np.maximum(*ends)], axis=1)
            found += [(a, b, c, d) for a, b, c, d in both.tolist()]
    return found


def _crossed(axes: Axes, panel: Panel, frame: Frame) -> list[Rectangle]:
    """Small squares along lines and arrows: words had better not lie on them."""
    found: list[Rectangle] = []
    for layer in panel.layers:
        if isinstance(layer, (Lines, Arrow)):
            xs, ys = np.atleast_2d(np.asarray(layer.x, np.float64)), np.atleast_2d(np.asarray(layer.y, np.float64))
            for x, y in zip(xs[:50], ys[:50], strict=True):
                x, y = clipped(x, frame[0]), clipped(y, frame[1])
                at = axes.transData.transform(np.stack([x, y], axis=1))
                between = np.concatenate([at[:-1] + share * np.diff(at, axis=0) for share in np.linspace(0, 1, 12)])
                found += [(x - 1, y - 1, x + 1, y + 1) for x, y in between.tolist()]
    return found
