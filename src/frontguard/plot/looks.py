"""How things look in every picture: a colour, a mark, a filling and a dash, so that each of them alone would do.

The colours are Okabe and Ito's, which the colour-blind tell apart, darkened where they would not be seen on white; all
have a contrast of at least 3 on white and on near-black.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from frontguard.statements import Statement
from frontguard.verdicts import Verdict

Mark = Literal["circle", "cross", "square", "triangle", "diamond", "dot", "ring", "bar", "plus"]

THIN = ("cross", "plus", "bar")
"""Marks that are strokes and enclose nothing."""

PALE = ("cross", "plus")
"""Marks of what is done with: its boxes and bars are paler than others."""


@dataclass(frozen=True)
class Look:
    """What something is called in a legend, and what it looks like."""

    label: str
    colour: str  # "#rrggbb"; "" for the colour of text, whatever that is on the page
    mark: Mark = "circle"
    filled: bool = True
    dash: tuple[float, ...] = ()  # lengths of strokes and gaps; () is solid
    size: float = 7.0  # of a mark, in points
    width: float = 1.6  # of a line, in points


def box_shades(look: Look) -> tuple[float, float]:
    """How much of a look's colour fills a box, and how much edges it: a hollow mark has a hollow box."""
    fill, edge = (0.05, 0.3) if look.mark in PALE else (0.13, 0.6)
    return (fill if look.filled else 0.0), edge


BLUE, PINK, OCHRE, GREY, VERMILION, GREEN = "#0072B2", "#B5528C", "#B07A00", "#767676", "#D55E00", "#008F68"

IN = Look(Statement.LEGEND_IN(), BLUE, "circle", size=8.0)
UNDECIDED = Look("undecided", PINK, "triangle", size=8.0)
COVERED = Look("covered by one that is in", OCHRE, "square", filled=False)
OUT = Look(Statement.LEGEND_OUT(), GREY, "cross", size=6.0)
SET_ASIDE = Look("set aside: cannot be measured", GREY, "plus", size=6.0)
TRUTH = Look("truly on the front", VERMILION, "ring", filled=False, size=15.0)
BY_MEANS = Look("the front by means", VERMILION, "ring", filled=False, size=15.0)
GOAL = Look("goal", VERMILION, "bar", dash=(6.0, 4.0))
NOW = Look("certain now", BLUE, "dot")
FORECAST = Look("forecast", BLUE, "dot", filled=False, dash=(2.0, 3.0))
VALUE = Look("measured", BLUE, "dot", size=4.0)
SUSPECT = Look("suspected", VERMILION, "diamond", filled=False, size=8.0)
FAILED = Look("failed", GREY, "cross", size=6.0)
MANY = Look("many arms that are out, as a density", GREY, "square", size=8.0)
PLAIN = Look("", "", "dot")

VERDICTS: dict[Verdict, Look] = {
    Verdict.IN: IN,
    Verdict.UNDECIDED: UNDECIDED,
    Verdict.COVERED: COVERED,
    Verdict.OUT: OUT,
    Verdict.SET_ASIDE: SET_ASIDE,
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

    >>> style_sheet()[:25]
    ':root { --mark-in: #0072B'
    """
    marks = (f"--mark-{verdict.style}: {colour};" for verdict, colour in COLOURS.items())
    return f":root {{ {' '.join(marks)} }}\n"
