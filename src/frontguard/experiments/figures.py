"""The files of pictures that `frontguard reproduce` writes, and the paper's Figure 1. Needs the extra `plot`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from frontguard._common.typing import Floats
from frontguard.experiments.results import Row
from frontguard.experiments.tables import groups_of
from frontguard.plot import sample_complexity
from frontguard.plot.looks import BLUE, VERMILION, Look
from frontguard.plot.picture import Axis, Boxes, Layer, Lines, Panel, Picture, Points
from frontguard.policies import RPSI
from frontguard.theory.spread import Subgaussian
from frontguard.theory.threats import Oblivious
from frontguard.verdicts import Verdict


def write_figures(results: Sequence[Row], directory: Path) -> list[Path]:
    """One picture for every data set and variant, and Figure 1; returns their paths."""
    paths = []
    for rows in groups_of(results).values():
        path = directory / f"{_slug(rows[0].dataset)}-{_slug(rows[0].variant)}.png"
        paths.append(sample_complexity(rows).save(path))
    return [*paths, figure1(find_decision()).save(directory / "figure1.png")]


def _slug(text: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


MEDIANS = np.array([[-0.5, 1.5], [0.0, 2.0], [2.2, 0.6], [1.1, -0.5]])
DEVIATION = 0.1
EPS = 0.1
ACCURACY = 0.15
REPLACEMENT = -3.0


@dataclass(frozen=True, eq=False)
class Decision:
    """One decision of R-PSI: what it knew, which arms were in S before it, and what it decided. Arms count from 0."""

    medians: Floats
    widths: Floats
    bias: float
    accuracy: float
    undecided_before: tuple[int, ...]
    eliminated: dict[int, int]
    moved_to_p: tuple[int, ...]

    @property
    def remaining(self) -> list[int]:
        """S after the elimination."""
        return [i for i in self.undecided_before if i not in self.eliminated]

    def holder(self, i: int) -> int | None:
        """An arm j of S with m̂_i − U_i + α ⪯ m̂_j + U_j (line 20), which keeps i out of O₁; None if there is none."""
        return next((j for j in self.remaining if j != i and self._holds(j, i)), None)

    def held(self, i: int) -> int | None:
        """An arm j of S with m̂_j − U_j + α ⪯ m̂_i + U_i (line 23), which keeps i out of O₂; None if there is none."""
        return next((j for j in self.remaining if j != i and self._holds(i, j)), None)

    def _holds(self, j: int, i: int) -> bool:
        return bool((self.lifted(i) <= self.medians[j] + self.widths[j]).all())

    def lifted(self, i: int) -> Floats:
        """m̂_i − U_i + α, the point that is compared in the identification."""
        point: Floats = self.medians[i] - self.widths[i] + self.accuracy
        return point

    @property
    def first_candidates(self) -> list[int]:
        """O₁: the arms of S that no other arm of S holds."""
        return [i for i in self.remaining if self.holder(i) is None]

    @property
    def second_candidates(self) -> list[int]:
        """O₂: the arms of O₁ that hold no arm of S."""
        return [i for i in self.first_candidates if self.held(i) is None]


def find_decision(seed: int = 0) -> Decision:
    """Step R-PSI until a decision eliminates arm 4 by arm 3, has O₁ = {2, 3} and O₂ = {3} (arms counted from 1)."""
    generator = np.random.default_rng(seed)
    policy = RPSI(4, 2, threat=Oblivious(EPS), spread=Subgaussian(DEVIATION), accuracy=ACCURACY)
    while not policy.done:
        before = tuple(int(i) for i in np.flatnonzero(policy.result().verdict_codes == Verdict.UNDECIDED))
        arms = policy.ask()
        rewards = generator.normal(MEDIANS[arms], DEVIATION)
        rewards[generator.random(rewards.shape) < EPS] = REPLACEMENT
        policy.tell(arms, rewards)
        decision = _decision(policy, before)
        if decision.eliminated == {3: 2} and decision.first_candidates == [1, 2] and decision.second_candidates == [2]:
            return decision
    raise RuntimeError(f"no decision of this run (seed {seed}) shows all three steps of Figure 1; try another seed")


def _decision(policy: RPSI, before: tuple[int, ...]) -> Decision:
    status, medians = policy.result().verdict_codes, policy.medians
    reach = policy.widths + policy.bias
    eliminated = {}
    for i in before:
        if status[i] == Verdict.OUT:
            by = [j for j in before if j != i and (medians[i] + reach[i] <= medians[j] - reach[j]).all()]
            eliminated[i] = by[0]
    moved = tuple(i for i in before if status[i] == Verdict.IN)
    return Decision(medians, policy.widths, policy.bias, policy.accuracy, before, eliminated, moved)


_OUTER = Look("m̂ ± (D + U)", BLUE, "square", filled=False, width=1.4)
_INNER = Look("m̂ ± U", BLUE, "square")
_CENTRE = Look("", "", "plus")
_COMPARED = Look("the points compared", VERMILION, "circle", filled=False, dash=(1.0, 3.0), size=9.0)


def figure1(decision: Decision) -> Picture:
    """Three panels: elimination, O₁, O₂, and in each of them the points that are compared."""
    medians, widths = decision.medians, decision.widths
    reach = widths + decision.bias
    (loser, winner), *_ = decision.eliminated.items()
    waiting = "none of them can eliminate another arm"
    kept_out, kept_waiting = [], []
    for i in decision.remaining:
        holder = decision.holder(i)
        lifted = decision.lifted(i)
        kept_out.append((lifted, lifted if holder is None else medians[holder] + widths[holder]))
    for i in decision.first_candidates:
        held = decision.held(i)
        if held is not None:
            waiting = f"arm {i + 1} may yet eliminate arm {held + 1} and waits"
            kept_waiting.append((decision.lifted(held), medians[i] + widths[i]))
    panels = (
        _panel(
            decision,
            decision.undecided_before,
            [(medians[loser] + reach[loser], medians[winner] - reach[winner])],
            "Elimination",
            f"arm {winner + 1} eliminates arm {loser + 1}",
        ),
        _panel(
            decision,
            decision.remaining,
            kept_out,
            f"O₁ = {_names(decision.first_candidates)}",
            "no arm of S reaches beyond their m̂ − U + α",
        ),
        _panel(decision, decision.remaining, kept_waiting, f"O₂ = {_names(decision.second_candidates)}", waiting),
    )
    return Picture(
        rows=(panels,), title="One decision of R-PSI", legend=(_OUTER, _INNER, _COMPARED), width=12.0, height=4.6
    )


def _names(arms: list[int]) -> str:
    return "{" + ", ".join(str(i + 1) for i in arms) + "}"


def _panel(
    decision: Decision, arms: Sequence[int], compared: list[tuple[Floats, Floats]], title: str, note: str
) -> Panel:
    """The boxes of some arms and lines between the points compared, on the axes that all panels share."""
    centres, widths = decision.medians[list(arms)], decision.widths[list(arms)]
    x, y = centres.T
    layers: list[Layer] = []
    for reach, look in ((widths + decision.bias, _OUTER), (widths, _INNER)):
        layers.append(Boxes(x - reach, y - reach, x + reach, y + reach, look))
    ends = np.reshape(compared, (-1, 2, 2))
    layers.append(Lines(ends[:, :, 0], ends[:, :, 1], _COMPARED, marks=True))
    layers.append(Points(x, y, _CENTRE, written=tuple(f"arm {i + 1}" for i in arms)))
    farthest = (decision.widths + decision.bias + 0.1)[:, None]
    lows, highs = (decision.medians - farthest).min(axis=0), (decision.medians + farthest).max(axis=0)
    across, along = (
        Axis(f"objective {d + 1}", low=float(low), high=float(high))
        for d, (low, high) in enumerate(zip(lows, highs, strict=True))
    )
    return Panel(across, along, tuple(layers), title, note)
