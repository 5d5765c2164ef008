"""How things look in every picture: a colour, a mark, a filling and a dash, so that each of them alone would do.

The colours are Okabe and Ito's, which the colour-blind tell apart, darkened where they would not be seen on white; all
have a contrast of at least 3 on white and on near-black.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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


IN = Look("in: on the front", "#0072B2", "circle", size=8.0)
UNDECIDED = Look("undecided", "#B5528C", "triangle", size=8.0)
COVERED = Look("covered by one that is in", "#B07A00", "square", filled=False)
OUT = Look("out: certainly beaten", "#767676", "cross", size=6.0)
SET_ASIDE = Look("set aside: cannot be measured", "#767676", "plus", size=6.0)
TRUTH = Look("truly on the front", "#D55E00", "ring", filled=False, size=15.0)
BY_MEANS = Look("the front by means", "#D55E00", "ring", filled=False, size=15.0)
GOAL = Look("goal", "#D55E00", "bar", dash=(6.0, 4.0))
NOW = Look("certain now", "#0072B2", "dot")
FORECAST = Look("forecast", "#0072B2", "dot", filled=False, dash=(2.0, 3.0))
VALUE = Look("measured", "#0072B2", "dot", size=4.0)
SUSPECT = Look("suspected", "#D55E00", "diamond", filled=False, size=8.0)
FAILED = Look("failed", "#767676", "cross", size=6.0)
MANY = Look("many arms that are out, as a density", "#767676", "square", size=8.0)
PLAIN = Look("", "", "dot")

VERDICTS: dict[Verdict, Look] = {
    Verdict.IN: IN,
    Verdict.UNDECIDED: UNDECIDED,
    Verdict.COVERED: COVERED,
    Verdict.OUT: OUT,
    Verdict.SET_ASIDE: SET_ASIDE,
}
"""By verdict, in the order in which legends name them."""

CONTESTANTS: tuple[Look, ...] = (
    Look("", "#0072B2", "circle"),
    Look("", "#D55E00", "square", dash=(6.0, 3.0)),
    Look("", "#008F68", "triangle", dash=(8.0, 3.0, 2.0, 3.0)),
    Look("", "#B5528C", "diamond", dash=(2.0, 2.0)),
    Look("", "#B07A00", "plus", dash=(1.0, 4.0)),
    Look("", "#767676", "cross", dash=(10.0, 4.0)),
)
"""For things that have no verdict, such as policies or arms beside each other; by their order."""
