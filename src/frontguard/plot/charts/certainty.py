"""The certificate against the goal, over pulls: how far the answer was from what is wanted, and when it will do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frontguard._typing import Floats
from frontguard.errors import BadInput
from frontguard.objectives import Objective, parse_tolerance
from frontguard.phrases import number, number_of, rounded
from frontguard.plot.arms import captioned, drawable, listed, sentences
from frontguard.plot.layout.names import short
from frontguard.plot.looks import CONTESTANTS, FORECAST, GOAL, Look
from frontguard.plot.picture import Axis, Layer, Lines, Panel, Picture, Points, Rule
from frontguard.studies.overview import History
from frontguard.words.certificate import amount, tolerance

_MOST = 300.0
_LOOKS = tuple(look for look in CONTESTANTS if look.colour != GOAL.colour)


def certainty(history: History, pulls_left: int | None = None) -> Picture:
    """Within how many tolerances the answer held after so many pulls, for each objective; 1 is the goal.

    `pulls_left` is a forecast, drawn as a dashed line to where the goal would be reached. Objectives without a
    tolerance have no goal and are left out.
    """
    if not history.moments:
        raise BadInput("certainty(history) needs one moment at least; got none")
    x = np.array([moment.pulls for moment in history.moments], np.float64)
    uncertain = drawable([moment.uncertain for moment in history.moments]).reshape(len(x), -1)
    goals = np.array([parse_tolerance(objective.tolerance).amount for objective in history.objectives])
    drawn = np.flatnonzero(goals > 0.0).tolist()
    shares = np.where(np.isfinite(uncertain), uncertain, np.nan)
    with np.errstate(over="ignore"):
        shares = drawable(shares / np.where(goals > 0.0, goals, np.nan))
    layers: list[Layer] = []
    legend: list[Look] = []
    for k, d in enumerate(drawn):
        look = replace(_LOOKS[k % len(_LOOKS)], label=short(history.objectives[d].name, 40))
        layers.append(Lines(x[None, :], _above_zero(shares[:, d])[None, :], look, hints=(_now(history, d),), step=True))
        legend.append(look)
    layers.append(Rule(1.0, replace(GOAL, label=""), written="goal"))
    ahead = _ahead(x, shares[:, drawn], pulls_left)
    if ahead is not None:
        layers.append(ahead)
        legend.append(ahead.look)
    without = [objective.name for objective, goal in zip(history.objectives, goals, strict=True) if goal == 0.0]
    last = x[-1] if pulls_left is None else x[-1] + pulls_left
    first = float(x[x > 0].min()) if (x > 0).any() else 1.0
    panel = Panel(
        Axis(title="pulls of the whole study", scale="log" if last > 3.0 * first else "linear"),
        Axis(title="certain within × goal", scale="log", high=_ceiling(shares)),
        tuple(layers),
        note="" if drawn else "no objective has a tolerance: there is no goal to be reached",
    )
    return Picture(
        rows=((panel,),),
        legend=tuple(legend),
        description=sentences(
            f"Within what the answer holds, against the goal, over {number_of(int(x[-1]), 'pull')}.",
            *(f"{_now(history, d)}." for d in drawn[:6]),
            _foreseen(pulls_left),
            f"Without a goal: {listed(without)}." if without else "",
        ),
        caption=captioned(
            "At 1 the answer holds within the tolerance, which is the goal.",
            _foreseen(pulls_left),
            f"Left out, since their tolerance is 0: {listed(without)}." if without else "",
        ),
        width=7.0,
        height=4.0,
        name="certainty",
    )


def _ceiling(shares: Floats) -> float | None:
    """Where the axis ends: some hundreds of tolerances are as good as nothing certain, and would hide the rest."""
    known = shares[np.isfinite(shares)]
    if not len(known) or float(known.max()) <= _MOST:
        return None
    last = shares[-1][np.isfinite(shares[-1])]
    return max(_MOST, 3.0 * float(last.max(initial=0.0)))


def _above_zero(shares: Floats) -> Floats:
    """A certificate can be exact, 0 tolerances wide; on a logarithmic axis that is drawn as a hundredth."""
    return np.where(shares <= 0.0, 0.01, shares)


def _now(history: History, d: int) -> str:
    objective: Objective = history.objectives[d]
    value = float(history.moments[-1].uncertain[d])
    if not np.isfinite(value):
        return f"{short(objective.name, 32)}: nothing certain yet, goal {tolerance(objective)}"
    return f"{short(objective.name, 32)}: certain within {amount(value, objective)} now, goal {tolerance(objective)}"


def _foreseen(pulls_left: int | None) -> str:
    if pulls_left is None:
        return ""
    return f"Forecast: about {rounded(pulls_left)} more pulls." if pulls_left > 0 else "The goal is reached."


def _ahead(x: Floats, shares: Floats, pulls_left: int | None) -> Lines | Points | None:
    """Dashed lines from where each objective stands to where the goal is; a mark there while nothing is certain."""
    if not pulls_left or pulls_left <= 0:
        return None
    there = float(x[-1] + pulls_left)
    now = shares[-1]
    starts = now[np.isfinite(now) & (now > 1.0)]
    hint = f"forecast: the goal after about {number(there)} pulls"
    if not len(starts):
        return Points(np.array([there]), np.array([1.0]), replace(FORECAST, mark="ring"), hints=(hint,))
    ends = np.stack([starts, np.ones(len(starts))], axis=1)
    return Lines(np.tile([float(x[-1]), there], (len(starts), 1)), ends, FORECAST, hints=(hint,) * len(starts))
