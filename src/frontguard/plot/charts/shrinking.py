"""Boxes shrinking over pulls: how an answer came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from frontguard._typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.phrases import number, number_of
from frontguard.plot.arms import (
    FACTOR,
    RELATIVE_FACTOR,
    axis_of,
    beside_each_other,
    drawable,
    frame,
    interval,
    listed,
    position_of,
    sentences,
)
from frontguard.plot.layout.names import short
from frontguard.plot.looks import CONTESTANTS, Look
from frontguard.plot.picture import Axis, Band, Layer, Lines, Panel, Picture
from frontguard.studies.overview import History, Moment
from frontguard.verdicts import Verdict

MOST = len(CONTESTANTS)
"""Arms that can be told apart in one picture."""

_FRONT = 4  # of these, so many from the front if there are rivals too
_COMPARED = 50  # arms of the front with which rivals are compared


def shrinking(history: History, arms: Sequence[str | int] | None = None) -> Picture:
    """The intervals of some arms over the pulls of the whole study, with their estimates; a panel for each objective.

    `arms` are names or numbers, six at most; without them the front and those that come nearest to it are shown.
    """
    if not history.moments:
        raise BadInput("shrinking(history) needs one moment at least; got none")
    chosen = (
        _telling(history)
        if arms is None
        else [position_of(history.arms, arm, "each of `arms`", "an arm") for arm in arms]
    )
    if not 0 < len(chosen) <= MOST or len(set(chosen)) < len(chosen):
        raise BadInput(
            f"arms must be 1 to {MOST} different ones; got {len(chosen)}: {listed([str(a) for a in chosen])}"
        )
    looks = [replace(look, label=short(history.arms[arm], 40)) for look, arm in zip(CONTESTANTS, chosen, strict=False)]
    panels = [_panel(history, d, chosen, looks) for d in range(len(history.objectives))]
    across = 1 if len(panels) == 1 else 2
    rows = beside_each_other(panels, across)
    last = history.moments[-1]
    return Picture(
        rows=rows,
        legend=tuple(looks),
        description=sentences(
            f"How the intervals of {listed([history.arms[i] for i in chosen])} became narrower over "
            f"{number_of(last.pulls, 'pull')}.",
            *(_ends_at(history, arm, last) for arm in chosen),
        ),
        caption="The band is where the true value lies, the line the estimate; a band that touches the edge goes on "
        "beyond it. Bands that have come apart are decided in that objective.",
        width=7.5 if across == 1 else 11.0,
        height=0.9 + 3.2 * len(rows),
        name="shrinking",
    )


def _panel(history: History, d: int, chosen: list[int], looks: list[Look]) -> Panel:
    objective = history.objectives[d]
    moments = [moment for moment in history.moments if moment.pulls > 0] or list(history.moments)
    x = np.array([moment.pulls for moment in moments], np.float64)
    low, high, middle = (
        drawable([getattr(moment, what)[chosen, d] for moment in moments])  # (moments, arms)
        for what in ("low", "high", "medians")
    )
    if objective.relative:
        low = np.where(low <= 0.0, -np.inf, low)
    middle = np.where(np.isfinite(middle), middle, np.nan)
    seen = frame(*_settled(low, high, middle), RELATIVE_FACTOR if objective.relative else FACTOR)
    layers: list[Layer] = []
    for k, (arm, look) in enumerate(zip(chosen, looks, strict=True)):
        # Of what is not bounded at all there is nothing to show; such bands would only darken the panel.
        known = ~np.isnan(middle[:, k]) & (np.isfinite(low[:, k]) | np.isfinite(high[:, k]))
        if known.any():
            ends = low[known, k], high[known, k]
            layers.append(Band(x[known], *ends, replace(look, label=""), look.label, key=arm, step=True))
    for k, (arm, look) in enumerate(zip(chosen, looks, strict=True)):
        layers.append(Lines(x[None, :], middle[None, :, k], look, hints=(look.label,), keys=(arm,), step=True))
    return Panel(
        Axis(title="pulls of the whole study", scale="log" if x[-1] > 3.0 * max(x[0], 1.0) else "linear"),
        axis_of(objective.name, objective.minimized, *seen),
        tuple(layers),
    )


def _settled(low: Floats, high: Floats, middle: Floats) -> tuple[Floats, Floats]:
    """What an axis is made for: where estimates and intervals are in the end, not how wide they once were."""
    known = np.isfinite(high[-1]) & np.isfinite(low[-1])
    width = high[-1][known] - low[-1][known]
    usual = float(np.median(width)) if len(width) else 0.0
    # An end that is unusually far out was chosen by an attacker, or is there after few pulls: it goes over the edge.
    ends = np.concatenate([low[-1], high[-1]])
    near = np.isfinite(ends)
    near[near] = np.abs(ends[near] - np.tile(middle[-1], 2)[near]) <= 2.0 * usual
    centres = np.concatenate([middle[-1], ends[near]])
    if not np.isfinite(centres).any():
        centres = middle.ravel()
    return centres, np.concatenate([low.ravel(), high.ravel(), middle.ravel()])


def _telling(history: History) -> list[int]:
    """Arms of the front, and those others that come nearest to it; the contenders for it while there is none."""
    last = history.moments[-1]
    values = _inner(history, last)
    known = np.isfinite(values).all(axis=1)
    ins = np.flatnonzero((last.verdict_codes == Verdict.IN) & known)
    others = np.flatnonzero((last.verdict_codes != Verdict.IN) & known)
    if not len(ins) and not len(others):
        return list(range(min(MOST, len(history.arms))))
    against = ins if len(ins) else others
    gaps = _gaps(values, others, against[: _COMPARED if len(ins) else None][: _COMPARED * 4])
    # Who is not out yet comes before who is, however near.
    gone = last.verdict_codes[others] == Verdict.OUT
    rivals = others[np.lexsort((gaps, gone))]
    room = _FRONT if len(rivals) >= MOST - _FRONT else MOST - len(rivals)
    front = ins if len(ins) <= room else ins[np.argsort(-values[ins, 0], kind="stable")][_spread(len(ins), room)]
    return [*front.tolist(), *rivals[: MOST - len(front)].tolist()]


def _spread(total: int, count: int) -> Ints:
    """So many positions from the first to the last, evenly."""
    return np.unique(np.round(np.linspace(0, total - 1, count)).astype(np.int64))


def _inner(history: History, moment: Moment) -> Floats:
    """Estimates, larger is better, in units of their spread between arms."""
    values = drawable(moment.medians)
    for d, objective in enumerate(history.objectives):
        with np.errstate(divide="ignore", invalid="ignore"):
            column = np.log(values[:, d]) if objective.relative else values[:, d]
        column = -column if objective.minimized else column
        finite = column[np.isfinite(column)]
        width = float(np.subtract(*np.quantile(finite, [0.9, 0.1]))) if len(finite) else 1.0
        values[:, d] = column / (width or 1.0)
    return values


def _gaps(values: Floats, some: Ints, against: Ints) -> Floats:
    """By how much the nearest of them is beaten at most: Δ_i = max over j of the least lead of j (negative: none)."""
    gaps = np.full(len(some), -np.inf)
    for j in against.tolist():
        lead = (values[j] - values[some]).min(axis=1)
        lead[some == j] = -np.inf
        gaps = np.maximum(gaps, lead)
    return gaps


def _ends_at(history: History, arm: int, last: Moment) -> str:
    values = "; ".join(
        f"{short(objective.name, 24)} {number(float(last.medians[arm, d]))} "
        f"{interval(float(last.low[arm, d]), float(last.high[arm, d]))}"
        for d, objective in enumerate(history.objectives)
    )
    return f"{short(history.arms[arm], 32)} is {Verdict(int(last.verdict_codes[arm])).word} now: {values}."
