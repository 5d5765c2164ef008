"""The robustness profile: how much more of the data may be lies before verdicts are no longer certain."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_FLOOR

import numpy as np

from frontguard._common.typing import Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.logs.robustness import Profile
from frontguard.phrases import are, natural, number_of, percent
from frontguard.plot.arms import Arms, in_rows, read
from frontguard.plot.looks import BY_MEANS, GOAL, IN, Look
from frontguard.plot.picture import Axis, Layer, Lines, Panel, Picture, Points, Rule
from frontguard.plot.text import sentences, short
from frontguard.results import Result
from frontguard.statements import Statement
from frontguard.verdicts import Verdict

OTHERS = 30
"""Arms that are not on the front and are shown, the most fragile ones."""

MOST_FRONT = 40
"""Arms of the front that are shown, the most fragile ones if there are more."""

_LIES = Axis(title="how much may lie, ε", percent=True, low=0.0, high=0.5)
_LIES_WRITTEN = replace(_LIES, high=0.62, ticks=tuple((k / 10, f"{10 * k}%") for k in range(6)))
"""The same with room for a figure behind the longest bar."""

_APART = 0.09  # rules nearer to each other than this have no words beside them
_MARKED = 40  # levels that are marked on the line; more would be a row of beads


def robustness(result: Result, profile: Profile | None = None) -> Picture:
    """How many arms are in, and up to which share ε of lies each verdict stands. An analysis carries its profile.

    >>> from frontguard.demo.cases import analyze_reviews
    >>> [panel.title for panel in robustness(analyze_reviews().analysis).panels]
    ['How many are in', 'Up to what each verdict stands']
    """
    known = getattr(result, "profile", None) if profile is None else profile
    if known is None:
        raise BadInput(
            "robustness(result) needs the robustness profile: give it as `profile`, or analyse the log with one"
        )
    if len(known.per_arm) != len(result.arms):
        raise BadArgument(
            "profile", must=f"be of the {len(result.arms)} arms of the result", got=f"{len(known.per_arm)} arms"
        )
    arms = read(result)
    declared = float(known.levels[0])
    order = _fragile_first(arms, known)
    without = int(np.isnan(known.per_arm).sum())
    left = len(arms.names) - without - len(order)
    # Without a level for the front as a whole, how many arms are in at each level says nothing.
    panels: tuple[Panel, ...] = ()
    if not np.isnan(known.front):
        panels += (_count_panel(known, declared, arms.result.goal),)
    if len(order):
        panels += (_arms_panel(arms, known, declared, order),)
    return Picture(
        rows=(panels,),
        legend=tuple(arms.looks(order)),
        caption=sentences(
            "A longer bar is a verdict that more lies are needed to shake.",
            f"{number_of(left)} less fragile {are(left)} not drawn." if left else "",
            f"{number_of(without)} without a figure." if without else "",
        ),
        width=10.0 if len(panels) > 1 else 7.0,
        height=max(3.6, 1.6 + 0.22 * len(order)),
        name="robustness",
    )


def _count_panel(known: Profile, declared: float, answer: str) -> Panel:
    order = np.argsort(known.levels, kind="stable")
    levels, counts = known.levels[order], known.in_front[order].astype(np.float64)
    layers: list[Layer] = [Lines(levels[None, :], counts[None, :], replace(IN, label="", width=2.0), step=True)]
    if len(levels) <= _MARKED:
        hints = tuple(
            f"{number_of(int(n))} in at {percent(e)} lies" for e, n in zip(levels.tolist(), counts, strict=True)
        )
        layers.append(Points(levels, counts, replace(IN, label="", mark="dot", size=4.0), hints=hints))
    changes = known.front < 0.5
    # Numbers are in the note; two words need room beside each other.
    apart = not changes or known.front - declared >= _APART
    layers.append(Rule(declared, replace(GOAL, label=""), upright=True, written="declared" if apart else ""))
    if changes:
        look = Look("", BY_MEANS.colour)
        layers.append(Rule(known.front, look, upright=True, written="uncertain" if apart else ""))
    most = int(counts.max())
    # Whole numbers of arms, with room above for what is written beside the rules.
    ticks = tuple((float(n), str(n)) for n in range(most + 1)) if most <= 6 else None
    return Panel(
        _LIES,
        Axis(title="arms that are in", low=0.0, high=1.5 * max(1, most), ticks=ticks),
        tuple(layers),
        title="How many are in",
        note=Statement.NOTED(answer=answer, declared=percent(declared), level=percent(known.front))
        if changes
        else Statement.NOTED_BELOW_HALF(answer=answer, declared=percent(declared)),
    )


def _arms_panel(arms: Arms, known: Profile, declared: float, order: Ints) -> Panel:
    def hint(i: int) -> str:
        return f"{short(arms.names[i])}: {_stands(arms.result.verdict(i).word, known.per_arm[i])} lies"

    def written(i: int) -> str:
        return percent(float(known.per_arm[i]), ROUND_FLOOR)

    layers = in_rows(arms, order, known.per_arm, np.full(len(arms.names), declared), known.per_arm, hint, written)
    layers.append(Rule(declared, replace(GOAL, label=""), upright=True))
    lines = Axis(names=arms.named(order), reverse=True)
    return Panel(_LIES_WRITTEN, lines, tuple(layers), title="Up to what each verdict stands")


def _stands(verdict: str, eps: float) -> str:
    return Statement.STANDS_UP_TO(verdict=verdict, eps=percent(float(eps), ROUND_FLOOR))


def _fragile_first(arms: Arms, known: Profile) -> Ints:
    """The arms of the front, then others; of each, those first whose verdict falls first; together, by name."""
    decided = ~np.isnan(known.per_arm)
    order = np.flatnonzero(decided)
    order = order[np.argsort(known.per_arm[order], kind="stable")]
    ins = arms.codes[order] == Verdict.IN
    shown = [*order[ins][:MOST_FRONT].tolist(), *order[~ins][:OTHERS].tolist()]
    shown.sort(key=lambda arm: (arms.codes[arm] != Verdict.IN, known.per_arm[arm], natural(arms.names[arm])))
    return np.array(shown, np.int64)
