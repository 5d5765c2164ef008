"""Sample complexity and success against ε for every policy, with the paper's numbers beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frontguard.errors import BadInput
from frontguard.phrases import number, number_of, percent
from frontguard.plot.looks import CONTESTANTS, Look
from frontguard.plot.picture import Axis, Layer, Lines, Panel, Picture, Points, Spans
from frontguard.plot.text import short

_APART = 0.0025  # in ε, so that policies with the same success do not hide each other
_SAMPLES = Axis(title="samples", better="lower", scale="log")
_SUCCESSFUL = Axis(title="successful runs", better="higher", percent=True, low=-0.05, high=1.08)


def sample_complexity(rows: Sequence[Any]) -> Picture:
    """Samples (logarithmic) and ratio of successful runs against ε; bars are 95 % intervals, hollow marks the paper's.

    `rows` are those of an experiment (`experiments.results.Row`), one a policy and ε; there is a row of panels for each
    data set and variant.
    """
    if not rows:
        raise BadInput("sample_complexity(rows) needs one result at least; got none")
    titles = {row.policy: row.policy_title for row in rows}
    looks = {
        policy: replace(CONTESTANTS[k % len(CONTESTANTS)], label=short(title, 40))
        for k, (policy, title) in enumerate(titles.items())
    }
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(row.title, []).append(row)
    grid = []
    for group, own in groups.items():
        heading = ("Sample complexity", "Success") if len(groups) == 1 else (f"{group}: samples", f"{group}: success")
        grid.append((_panel(own, looks, _SAMPLES, heading[0], success=False),))
        grid.append((_panel(own, looks, _SUCCESSFUL, heading[1], success=True),))
    printed = {row.policy for row in rows if row.published is not None}
    legend: list[Look] = []
    for policy, look in looks.items():
        legend += [look, _printed(look)] if policy in printed else [look]
    return Picture(
        rows=tuple(grid),
        title=next(iter(groups)) if len(groups) == 1 else "",
        legend=tuple(legend),
        caption="Samples: mean of runs. Bars are 95 % intervals; hollow marks are the numbers that the paper printed.",
        width=7.0,
        height=0.9 + 2.8 * len(grid),
        name="sample-complexity",
    )


def _of(rows: Sequence[Any], policy: str) -> list[Any]:
    return sorted((row for row in rows if row.policy == policy), key=lambda row: row.epsilon)


def _printed(look: Look) -> Look:
    return replace(look, label=f"{look.label}, paper", filled=False, size=11.0)


def _samples(row: Any) -> tuple[float, float, float, str]:
    """The value and the ends of its bar, and what is said of them."""
    spread = row.score.sc
    said = f"{number(spread.mean)} samples, {number_of(row.runs, 'run')}"
    if row.runs == 1:  # which has no spread
        return spread.mean, spread.mean, spread.mean, said
    # A bar on a logarithmic axis must stay above zero.
    return spread.mean, max(spread.low, 0.5 * min(1.0, spread.mean)), spread.high, said


def _success(row: Any) -> tuple[float, float, float, str]:
    score = row.score
    return score.rsr, score.rsr_low, score.rsr_high, f"{percent(score.rsr)} of {number_of(row.runs, 'run')} successful"


def _panel(rows: Sequence[Any], looks: dict[str, Look], axis: Axis, title: str, *, success: bool) -> Panel:
    layers: list[Layer] = []
    present = [policy for policy in looks if any(row.policy == policy for row in rows)]
    for k, policy in enumerate(present):
        own, look = _of(rows, policy), looks[policy]
        quiet = replace(look, label="")
        x = np.array([row.epsilon for row in own])
        if success:
            x = x + _APART * (k - (len(present) - 1) / 2.0)
        value, low, high, said = zip(*map(_success if success else _samples, own), strict=True)
        y = np.array(value)
        hints = tuple(f"{look.label}, ε {row.epsilon:g}: {each}" for row, each in zip(own, said, strict=True))
        layers += [
            Spans(x, np.array(low), np.array(high), quiet, upright=True, opacity=0.5, thickness=3.0),
            Lines(x[None, :], y[None, :], look),
            Points(x, y, quiet, hints=hints),
        ]
        known = [(at, row.published) for at, row in zip(x.tolist(), own, strict=True) if row.published]
        if known:
            theirs = [paper.rsr if success else paper.sc for _, paper in known]
            what = "successful" if success else "samples"
            hints = tuple(f"{look.label} in the paper: {number(each)} {what}" for each in theirs)
            layers.append(Points(np.array([at for at, _ in known]), np.array(theirs), _printed(look), hints=hints))
    return Panel(Axis(title="contamination ε"), axis, tuple(layers), title=title)
