"""A picture as data: panels with axes, and layers of marks on them; how things look; and text on one line.

All coordinates are in the user's units; an infinite one means "beyond the edge", where whoever draws clips it.

Each of a colour, a mark, a filling and a dash would alone tell verdicts apart. The colours are Okabe and Ito's, which
the colour-blind tell apart, darkened to a contrast of at least 3 on white and on near-black.

A name may be anything: 10,000 characters, several lines, control characters, halves of surrogate pairs, a hundred
accents on one letter, or an order to write whatever follows from right to left. Widths are in columns of a terminal.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Bools, Floats
from frontguard.errors import BadInput
from frontguard.phrases import between, cells_of, fitting_names, visible
from frontguard.verdicts import Verdict

if TYPE_CHECKING:
    from frontguard.markup import Element


# Text on one line, and how wide it is ---------------------------------------------------------------------------------


SIZE = 12.0
"""Of most words in an SVG, in units of the drawing; a drawing of 7 inches is 504 units wide."""

LINE = 1.25
"""From one line of words to the next, as a multiple of their size."""

_EM = 0.64  # the width of a column in a broad font, as a multiple of its size
_LONGEST = 400  # characters of a name of which anything is shown
_STORM = re.compile("([\u0300-\u036f]{4})[\u0300-\u036f]+")  # of accents; no language needs more on a letter


def width(text: str, size: float = SIZE) -> float:
    """About how wide a text is in a proportional font of that size."""
    return _EM * size * cells_of(text)


def columns(room: float, size: float = SIZE) -> int:
    """About how many letters of that size have room beside each other."""
    return int(room / (_EM * size))


def short(name: str, most: int = 60) -> str:
    """A name on one line in at most so many columns; what is left out becomes an ellipsis.

    >>> short("a name\\nthat goes on and on", 12)
    'a name that…'
    >>> short("-O3 -march=native", 24)
    '-O3 -march=native'
    >>> short("\\u202eevil\\x00")
    '�evil�'
    """
    line = _one_line(name)
    if cells_of(line) <= most:
        return line
    kept = bisect_right(range(len(line)), most, key=lambda count: cells_of(line[:count] + "…")) - 1
    return line[: max(kept, 0)].rstrip(" …") + "…"


def _one_line(name: str) -> str:
    words = " ".join(_STORM.sub(r"\1", name).split())
    return visible(words if len(words) <= _LONGEST else words[:_LONGEST] + "…")


def wrapped(text: str, most: int, lines: int = 2) -> list[str]:
    """A text in at most so many lines of at most so many columns, broken between words; the last may be shortened.

    >>> wrapped("what the front is, how sure we are, and who was attacked", 24, 2)
    ['what the front is, how', 'sure we are, and who wa…']
    >>> wrapped("", 24)
    []
    """
    found: list[str] = []
    for word in _one_line(text).split():
        if found and (len(found) == lines or cells_of(f"{found[-1]} {word}") <= most):
            found[-1] += f" {word}"
        else:
            found.append(word)
    return [short(line, most) for line in found]


def in_columns(names: Sequence[str], most: int) -> list[str]:
    """Names on one line of so many columns each, the long ones cut where they can still be told apart."""
    kept = fitting_names([_one_line(name) for name in names], most)
    return [short(name, most) for name in kept]  # in a tiny room cut once more


MOST_TOLD = 600
"""Characters that a description has at most: it is read aloud."""


def interval(low: float, high: float) -> str:
    """An interval in words; a side that nothing is known of is infinite.

    >>> interval(1.2, 1.31), interval(-math.inf, 3.0), interval(-math.inf, math.inf)
    ('[1.2, 1.31]', '[−∞, 3]', 'not bounded yet')
    """
    if not math.isfinite(low) and not math.isfinite(high):
        return "not bounded yet"
    return between(low, high)


def sentences(*parts: str) -> str:
    """Sentences one after another, as many as there is room for; empty ones are left out.

    >>> sentences("Two arms are in.", "", "One is out.")
    'Two arms are in. One is out.'
    """
    told = ""
    for part in filter(None, parts):
        longer = f"{told} {part}".strip()
        if len(longer) > MOST_TOLD:
            break
        told = longer
    return told


Mark = Literal["circle", "cross", "square", "triangle", "diamond", "dot", "ring", "bar", "plus"]

THIN = ("cross", "plus", "bar")
"""Marks that are strokes and enclose nothing."""

PALE = ("cross", "plus")
"""Marks of what is done with: its boxes and bars are paler than others."""


@dataclass(frozen=True)
class Look:
    """A name in a legend, and how it is drawn."""

    label: str
    colour: str  # "#rrggbb"; "" for the colour of text, whatever that is on the page
    mark: Mark = "circle"
    filled: bool = True
    dash: tuple[float, ...] = ()  # lengths of strokes and gaps; () is solid
    size: float = 7.0  # of a mark, in points
    width: float = 1.6  # of a line, in points


def bar_shade(look: Look) -> float:
    """Opacity of a bar's filling, so that verdicts can be told apart without colour."""
    if not look.filled:
        return 0.0
    return 0.45 if look.mark in PALE else 0.25 if look.mark == "triangle" else 1.0


def box_shades(look: Look) -> tuple[float, float]:
    """Opacities of a box's filling and edge: a hollow mark has a hollow box."""
    fill, edge = (0.05, 0.3) if look.mark in PALE else (0.13, 0.6)
    return (fill if look.filled else 0.0), edge


BLUE, PINK, OCHRE, GREY, VERMILION, GREEN = "#0072B2", "#B5528C", "#B07A00", "#767676", "#D55E00", "#008F68"

KEEP = Look(Verdict.KEEP.word, BLUE, "circle", size=8.0)
UNDECIDED = Look(Verdict.UNDECIDED.word, PINK, "triangle", size=8.0)
MATCHED = Look(Verdict.MATCHED.word, OCHRE, "square", filled=False)
BEATEN = Look(Verdict.BEATEN.word, GREY, "cross", size=6.0)
EXCLUDED = Look(Verdict.EXCLUDED.word, GREY, "plus", size=6.0)
TRUTH = Look("truly on the front", VERMILION, "ring", filled=False, size=15.0)
BY_MEANS = Look("the front by means", VERMILION, "ring", filled=False, size=15.0)
GOAL = Look("goal", VERMILION, "bar", dash=(6.0, 4.0))
NOW = Look("certain now", BLUE, "dot")
FORECAST = Look("forecast", BLUE, "dot", filled=False, dash=(2.0, 3.0))
VALUE = Look("measured", BLUE, "dot", size=4.0)
SUSPECT = Look("suspected", VERMILION, "diamond", filled=False, size=8.0)
FAILED = Look("failed", GREY, "cross", size=6.0)
MANY = Look("many beaten arms, as a density", GREY, "square", size=8.0)
PLAIN = Look("", "", "dot")

VERDICTS: dict[Verdict, Look] = {
    Verdict.KEEP: KEEP,
    Verdict.UNDECIDED: UNDECIDED,
    Verdict.MATCHED: MATCHED,
    Verdict.BEATEN: BEATEN,
    Verdict.EXCLUDED: EXCLUDED,
}
"""By verdict, in the order in which legends name them."""

COLOURS: dict[Verdict, str] = {verdict: look.colour for verdict, look in VERDICTS.items()}
"""The colour of each verdict, everywhere but in terminals, which have colours of their own (`words`)."""

CONTESTANTS: tuple[Look, ...] = (
    Look("", BLUE, "circle"),
    Look("", VERMILION, "square", dash=(6.0, 3.0)),
    Look("", GREEN, "triangle", dash=(8.0, 3.0, 2.0, 3.0)),
    Look("", PINK, "diamond", dash=(2.0, 2.0)),
    Look("", OCHRE, "plus", dash=(1.0, 4.0)),
    Look("", GREY, "cross", dash=(10.0, 4.0)),
)
"""For things that have no verdict, such as policies or arms beside each other; by their order."""


def style_sheet() -> str:
    """The colours of verdicts for style sheets, which take their shades from them.

    >>> style_sheet()[:28]
    ':root { --mark-keep: #0072B2'
    """
    marks = (f"--mark-{verdict.word}: {colour};" for verdict, colour in COLOURS.items())
    return f":root {{ {' '.join(marks)} }}\n"


@dataclass(frozen=True)
class Axis:
    """One direction of a panel. With `names`, positions 0, 1, 2, … are called so; `better` says where good lies."""

    title: str = ""
    better: Literal["", "lower", "higher"] = ""  # written beside the title, with an arrow
    scale: Literal["linear", "log"] = "linear"
    names: tuple[str, ...] = ()
    low: float | None = None  # where the axis begins; by the finite data unless given
    high: float | None = None
    reverse: bool = False  # larger values to the left or below: for lists that are read from the top
    ticks: tuple[tuple[float, str], ...] | None = None  # instead of those that the scale would have

    def holds(self, values: Floats) -> Bools:
        """Mask of the values between its ends, as far as these are given."""
        low = -np.inf if self.low is None else self.low
        return np.asarray((values >= low) & (values <= (np.inf if self.high is None else self.high)))

    @property
    def direction(self) -> str:
        """The better direction in words with an arrow; "" without one.

        >>> Axis(better="lower").direction, Axis(better="lower", reverse=True).direction
        ('← lower is better', 'lower is better →')
        """
        forward = (self.better == "higher") != self.reverse
        return self.better and (f"{self.better} is better →" if forward else f"← {self.better} is better")


@dataclass(frozen=True, eq=False)
class Points:
    """Marks at (x, y). `hints` are shown when one points at them, `written` beside them all the time ("" for none)."""

    x: Floats
    y: Floats
    look: Look
    hints: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    keys: tuple[int, ...] = ()  # numbers of arms: whoever shows a moving picture knows by them what is what


@dataclass(frozen=True, eq=False)
class Boxes:
    """Rectangles from (x_low, y_low) to (x_high, y_high), lightly filled; ends may be infinite."""

    x_low: Floats
    y_low: Floats
    x_high: Floats
    y_high: Floats
    look: Look
    hints: tuple[str, ...] = ()
    keys: tuple[int, ...] = ()

    @property
    def corners(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The lowest x and y of each, and the highest."""
        return self.x_low, self.y_low, self.x_high, self.y_high


@dataclass(frozen=True, eq=False)
class Lines:
    """Polylines, one for each row of x and y (n, points); NaN interrupts a line. `opacity` for many of them."""

    x: Floats
    y: Floats
    look: Look
    hints: tuple[str, ...] = ()
    keys: tuple[int, ...] = ()
    opacity: float = 1.0
    marks: bool = False  # also the look's mark at every point


@dataclass(frozen=True, eq=False)
class Band:
    """The area between `low` and `high` over x (points,), lightly filled."""

    x: Floats
    low: Floats
    high: Floats
    look: Look
    hint: str = ""
    key: int | None = None


@dataclass(frozen=True, eq=False)
class Spans:
    """Thick short lines: at `at` across, from `low` to `high` along x (or along y if `upright`)."""

    at: Floats
    low: Floats
    high: Floats
    look: Look
    upright: bool = False
    hints: tuple[str, ...] = ()
    keys: tuple[int, ...] = ()
    opacity: float = 0.5
    thickness: float = 5.0  # points


@dataclass(frozen=True, eq=False)
class Bars:
    """Solid bars at positions `at`, from 0 to `high` along x, or along y if `upright`."""

    at: Floats
    high: Floats
    look: Look
    upright: bool = False
    thickness: float = 0.8  # in units of `at`
    hints: tuple[str, ...] = ()
    keys: tuple[int, ...] = ()

    @property
    def corners(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The lowest x and y of each, and the highest."""
        before, after = self.at - self.thickness / 2.0, self.at + self.thickness / 2.0
        zero = np.zeros_like(self.high)
        return (before, zero, after, self.high) if self.upright else (zero, before, self.high, after)


@dataclass(frozen=True, eq=False)
class Density:
    """Numbers of things in the cells of a grid: counts (len(x_edges) − 1, len(y_edges) − 1), darker for more."""

    x_edges: Floats
    y_edges: Floats
    counts: npt.NDArray[np.int64]
    look: Look
    hint: str = "{count} arms"


@dataclass(frozen=True, eq=False)
class Region:
    """A shaded polygon, behind everything; its corners may be infinite."""

    x: Floats
    y: Floats
    look: Look


@dataclass(frozen=True)
class Rule:
    """A line right across the panel at one value of x (upright) or y."""

    at: float
    look: Look
    upright: bool = False


_KINDS = {Points: "mark", Lines: "line", Rule: "line", Bars: "bar", Boxes: "box", Band: "band"}
Layer: TypeAlias = Points | Boxes | Lines | Band | Spans | Bars | Density | Region | Rule


@dataclass(frozen=True, eq=False)
class Panel:
    """Axes and what lies on them, the first layer lowest. `note` is a short remark below the title."""

    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    title: str = ""
    note: str = ""


@dataclass(frozen=True, eq=False)
class Picture:
    """Panels in rows, a title and a legend. Its methods draw it.

    `width` and `height` are in inches at the size it is meant to be read.

    >>> from frontguard.demo.cases import analyze_reviews
    >>> picture = analyze_reviews().analysis.plot()
    >>> picture.svg().markup()[:4], len(picture.panels)
    ('<svg', 1)
    """

    rows: tuple[tuple[Panel | None, ...], ...]
    title: str = ""
    legend: tuple[Look, ...] = ()
    width: float = 7.0
    height: float = 5.0
    caption: str = ""  # what to look at, in a sentence or two
    name: str = "picture"  # a short one, for files and links

    @property
    def panels(self) -> list[Panel]:
        """All panels, row by row."""
        return [panel for row in self.rows for panel in row if panel is not None]

    @property
    def description(self) -> str:
        """The titles of the axes, and the caption: for those who cannot see it."""
        axes = dict.fromkeys((axis.title, axis.direction) for panel in self.panels for axis in (panel.x, panel.y))
        titles = [f"{short(title, 40)} {direction}".strip() for title, direction in axes if title]
        return sentences(f"{', '.join(titles)}." if titles else "", self.caption)

    def drawn_as(self, look: Look) -> frozenset[str]:
        """The kinds of things with this look, whatever its label: "mark", "line", "bar", "box", "band", "area"."""
        found: set[str] = set()
        for layer in (layer for panel in self.panels for layer in panel.layers):
            if replace(layer.look, label=look.label) != look:
                continue
            found.add(_KINDS.get(type(layer), "area"))
            if isinstance(layer, Lines) and layer.marks:
                found.add("mark")
        return frozenset(found)

    def matplotlib(self) -> Any:
        """A matplotlib figure, for paper; needs the extra `plot`."""
        from frontguard.plot.paper import drawn

        return drawn(self)

    def plotly(self) -> Any:
        """A plotly figure, for the screen: zoom, and hints under the pointer; needs the extra `plotly`."""
        from frontguard.plot.plotly import drawn

        return drawn(self)

    def svg(self) -> Element:
        """An SVG element; needs nothing else."""
        from frontguard.plot.svg import drawn

        return drawn(self)

    def save(self, path: str | Path) -> Path:
        """Write it: .svg by our own hand, .html with plotly, .png, .pdf and what else matplotlib knows with that."""
        target = Path(path)
        try:
            match target.suffix.lower():
                case ".svg":
                    target.write_text(self.svg().markup() + "\n", encoding="utf-8")
                case ".html" | ".htm":
                    self.plotly().write_html(target, include_plotlyjs=True, full_html=True)
                case "":
                    raise BadInput(f"{path}: wanted a file name that ends in .png, .pdf, .svg or .html; got no ending")
                case _:
                    from frontguard.plot.paper import saved

                    saved(self, target)
        except OSError as error:
            raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from None
        return target

    def _repr_html_(self) -> str:
        return self.svg().markup()


def looks_of(layers: Sequence[Layer]) -> tuple[Look, ...]:
    """The looks that occur and have a label, each once, in their order: a legend."""
    return tuple(dict.fromkeys(layer.look for layer in layers if layer.look.label))
