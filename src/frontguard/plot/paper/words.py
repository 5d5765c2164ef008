"""Words on paper: which characters the fonts at hand can show, titles, and names beside marks."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patheffects import AbstractPathEffect, withStroke

from frontguard.plot.layout.frames import Frame
from frontguard.plot.layout.names import LINE, columns, wrapped
from frontguard.plot.layout.sheet import sheet_of
from frontguard.plot.layout.words import written
from frontguard.plot.paper.layers import colour
from frontguard.plot.picture import Bars, Panel, Points, Region, Spans

_SIZE = 8.5  # of words within a panel, in points
_SIDES = {"start": "left", "middle": "center", "end": "right"}

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


def write(axes: Axes, panel: Panel, shown: Frame) -> None:
    """Words beside rules, arrows and marks, and within regions: where there is room, now that the layout is known."""
    point = axes.figure.dpi / 72.0  # in pixels
    edges, high = axes.get_window_extent(), axes.figure.bbox.height
    frame = (edges.x0 / point, (high - edges.y1) / point, edges.x1 / point, (high - edges.y0) / point)
    for word in written(panel, sheet_of(panel, shown, frame), _SIZE):
        for row, text in enumerate(word.lines):
            down = word.y + row * _SIZE * LINE
            x, y = axes.transData.inverted().transform((word.x * point, high - down * point))
            label = axes.annotate(
                drawable(text), (x, y), ha=_SIDES[word.anchor], va="baseline", fontsize=_SIZE, zorder=4.0,
                color="#222222" if isinstance(word.layer, Points | Bars | Spans) else colour(word.layer.look),
                fontstyle="italic" if isinstance(word.layer, Region) else "normal", annotation_clip=False,
            )  # fmt: skip
            label.set_in_layout(False)
            label.set_path_effects(_HALO)
