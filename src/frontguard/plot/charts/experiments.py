"""Sample complexity and success against ε for every policy, with the paper's numbers beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from frontguard.errors import BadInput
from frontguard.phrases import number, number_of
from frontguard.plot.arms import listed, sentences
from frontguard.plot.layout.names import short
from frontguard.plot.looks import CONTESTANTS, Look
from frontguard.plot.picture import Axis, Layer, Lines, Panel, Picture, Points, Spans

_APART = 0.0025  # in ε, so that policies with the same success do not hide each other


class _Spread(Protocol):
    @property
    def mean(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


class _Score(Protocol):
    @property
    def sc(self) -> _Spread: ...
    @property
    def rsr(self) -> float: ...
    @property
    def rsr_low(self) -> float: ...
    @property
    def rsr_high(self) -> float: ...


class _Printed(Protocol):
    @property
    def sc(self) -> float: ...
    @property
    def rsr(self) -> float: ...


class _Row(Protocol):
    """One policy at one ε: its samples `sc` and success `rsr` over so many runs, and what the paper printed."""

    @property
    def title(self) -> str: ...
    @property
    def policy(self) -> str: ...
    @property
    def policy_title(self) -> str: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def runs(self) -> int: ...
    @property
    def score(self) -> _Score: ...
    @property
    def published(self) -> _Printed | None: ...


def sample_complexity(rows: Sequence[_Row]) -> Picture:
    """Samples (logarithmic) and ratio of successful runs against ε; bars are 95 % intervals, hollow marks the paper's.

    `rows` are those of an experiment, one a policy and ε; there is a row of panels for each data set and variant.
    """
    if not rows:
        raise BadInput("sample_complexity(rows) needs one result at least; got none")
    policies = dict.fromkeys(row.policy for row in rows)
    titles = {row.policy: row.policy_title for row in rows}
    looks = {
        policy: replace(CONTESTANTS[k % len(CONTESTANTS)], label=short(titles[policy], 40))
        for k, policy in enumerate(policies)
    }
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        groups.setdefault(row.title, []).append(row)
    grid = []
    for group, own in groups.items():
        title = group if len(groups) > 1 else ""
        grid.append((_samples(own, looks, title), _success(own, looks, title)))
    printed = {row.policy for row in rows if row.published is not None}
    legend = [
        entry
        for policy, look in looks.items()
        for entry in (look, _printed(look))
        if entry is look or policy in printed
    ]
    return Picture(
        rows=tuple(grid),
        title=next(iter(groups)) if len(groups) == 1 else "",
        legend=tuple(legend),
        description=sentences(
            f"Samples and success against contamination for {listed([titles[policy] for policy in policies])}.",
            *(_told(own, titles) for own in groups.values()),
        ),
        caption="Samples: mean of runs. Bars are 95 % intervals; hollow marks are the numbers that the paper printed.",
        width=9.5,
        height=0.9 + 3.2 * len(grid),
        name="sample-complexity",
    )


def _of(rows: Sequence[_Row], policy: str) -> list[_Row]:
    return sorted((row for row in rows if row.policy == policy), key=lambda row: row.epsilon)


def _printed(look: Look) -> Look:
    return replace(look, label=f"{look.label}, paper", filled=False, size=11.0)


def _samples(rows: Sequence[_Row], looks: dict[str, Look], title: str) -> Panel:
    layers: list[Layer] = []
    for policy, look in looks.items():
        own = _of(rows, policy)
        spread = [row.score.sc for row in own]
        # One run has no spread, and a bar on a logarithmic axis must stay above zero.
        low = [
            max(s.low, 0.5 * min(1.0, s.mean)) if row.runs > 1 else s.mean for row, s in zip(own, spread, strict=True)
        ]
        high = [s.high if row.runs > 1 else s.mean for row, s in zip(own, spread, strict=True)]
        layers.extend(
            _measured(
                [row.epsilon for row in own],
                [s.mean for s in spread],
                low,
                high,
                look,
                tuple(
                    f"{look.label}, ε {row.epsilon:g}: {number(row.score.sc.mean)} samples, "
                    f"{number_of(row.runs, 'run')}"
                    for row in own
                ),
            )
        )
        layers.extend(_published(own, look, [row.published.sc for row in own if row.published], "samples"))
    top = "Sample complexity" if not title else f"{title}: samples"
    return Panel(_epsilon_axis(), Axis(title="samples", better="lower", scale="log"), tuple(layers), title=top)


def _success(rows: Sequence[_Row], looks: dict[str, Look], title: str) -> Panel:
    layers: list[Layer] = []
    present = [policy for policy in looks if any(row.policy == policy for row in rows)]
    for k, policy in enumerate(present):
        own, look = _of(rows, policy), looks[policy]
        aside = _APART * (k - (len(present) - 1) / 2.0)
        layers.extend(
            _measured(
                [row.epsilon + aside for row in own],
                [row.score.rsr for row in own],
                [row.score.rsr_low for row in own],
                [row.score.rsr_high for row in own],
                look,
                tuple(
                    f"{look.label}, ε {row.epsilon:g}: {row.score.rsr:.1%} of {number_of(row.runs, 'run')} successful"
                    for row in own
                ),
            )
        )
        layers.extend(_published(own, look, [row.published.rsr for row in own if row.published], "successful", aside))
    top = "Success" if not title else f"{title}: success"
    return Panel(
        _epsilon_axis(),
        Axis(title="successful runs", better="higher", percent=True, low=-0.05, high=1.08),
        tuple(layers),
        title=top,
    )


def _epsilon_axis() -> Axis:
    return Axis(title="contamination ε")


def _measured(
    x: list[float], y: list[float], low: list[float], high: list[float], look: Look, hints: tuple[str, ...]
) -> list[Layer]:
    if not x:
        return []
    across, along = np.array(x), np.array(y)
    quiet = replace(look, label="")
    return [
        Spans(across, np.array(low), np.array(high), quiet, upright=True, opacity=0.5, thickness=3.0),
        Lines(across[None, :], along[None, :], look),
        Points(across, along, quiet, hints=hints),
    ]


def _published(own: list[_Row], look: Look, values: list[float], what: str, aside: float = 0.0) -> list[Layer]:
    if not values:
        return []
    x = np.array([row.epsilon + aside for row in own if row.published])
    hints = tuple(f"{look.label} in the paper: {number(value)} {what}" for value in values)
    return [Points(x, np.array(values), _printed(look), hints=hints)]


def _told(rows: Sequence[_Row], titles: dict[str, str]) -> str:
    parts = []
    for policy in dict.fromkeys(row.policy for row in rows):
        own = _of(rows, policy)
        samples = sorted(row.score.sc.mean for row in own)
        worst = min(row.score.rsr for row in own)
        parts.append(
            f"{short(titles[policy], 24)} {number(samples[0])} to {number(samples[-1])} samples, "
            f"success {worst:.0%} at least"
        )
    return f"{rows[0].title}: {'; '.join(parts)}."
