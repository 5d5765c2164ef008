"""The files of pictures that `frontguard reproduce` writes, and Figure 1's canvas. Needs the extra `plot`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from frontguard._typing import Floats
from frontguard.experiments.results import Row
from frontguard.experiments.tables import groups_of
from frontguard.plot import sample_complexity
from frontguard.plot.looks import BLUE, VERMILION
from frontguard.plot.paper.draw import new_figure
from frontguard.policies import RPSI
from frontguard.theory.spread import Subgaussian
from frontguard.theory.threats import Oblivious
from frontguard.verdicts import Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def write_figures(results: Sequence[Row], directory: Path) -> list[Path]:
    """One picture for every data set and variant, and Figure 1; returns their paths."""
    paths = []
    for rows in groups_of(results).values():
        path = directory / f"{_slug(rows[0].dataset)}-{_slug(rows[0].variant)}.png"
        paths.append(sample_complexity(rows).save(path))
    path = directory / "figure1.png"
    draw_figure1(find_decision()).savefig(path, dpi=150)
    return [*paths, path]


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


def draw_figure1(decision: Decision) -> Figure:
    """Three panels: elimination, O₁, O₂. Outlined boxes are m̂ ± (D + U), shaded ones m̂ ± U; circles mark
    what is compared.
    """
    figure = new_figure(figsize=(12.0, 4.6))
    elimination, first, second = figure.subplots(1, 3, sharex=True, sharey=True)
    _draw_elimination(elimination, decision)
    _draw_first(first, decision)
    _draw_second(second, decision)
    for axes in (elimination, first, second):
        axes.set_xlabel("objective 1")
        axes.set_aspect("equal")
        axes.grid(visible=True, alpha=0.25)
    elimination.set_ylabel("objective 2")
    figure.suptitle("One decision of R-PSI: boxes m̂ ± (D + U), shaded m̂ ± U; circles are the points compared")
    return figure


def _names(arms: list[int]) -> str:
    return "{" + ", ".join(str(i + 1) for i in arms) + "}"


def _draw_elimination(axes: Axes, decision: Decision) -> None:
    _boxes(axes, decision, list(decision.undecided_before))
    for loser, winner in decision.eliminated.items():
        reach = decision.bias + decision.widths
        _compared(axes, decision.medians[loser] + reach[loser], decision.medians[winner] - reach[winner])
        axes.set_title(f"Elimination:\narm {winner + 1} eliminates arm {loser + 1}", fontsize=10)


def _draw_first(axes: Axes, decision: Decision) -> None:
    _boxes(axes, decision, decision.remaining)
    for i in decision.remaining:
        holder = decision.holder(i)
        if holder is not None:
            _compared(axes, decision.lifted(i), decision.medians[holder] + decision.widths[holder])
        else:
            axes.plot(*decision.lifted(i), marker="o", markersize=9, markerfacecolor="none", color=VERMILION)
    axes.set_title(
        f"O₁ = {_names(decision.first_candidates)}:\nno arm of S reaches beyond their m̂ − U + α", fontsize=10
    )


def _draw_second(axes: Axes, decision: Decision) -> None:
    _boxes(axes, decision, decision.remaining)
    waiting = "none of them can eliminate another arm"
    for i in decision.first_candidates:
        held = decision.held(i)
        if held is not None:
            waiting = f"arm {i + 1} may yet eliminate arm {held + 1} and waits"
            _compared(axes, decision.lifted(held), decision.medians[i] + decision.widths[i])
    axes.set_title(f"O₂ = {_names(decision.second_candidates)}:\n{waiting}", fontsize=10)


def _boxes(axes: Axes, decision: Decision, arms: list[int]) -> None:
    from matplotlib.patches import Rectangle

    for i in arms:
        centre = decision.medians[i]
        for reach, shaded in ((decision.widths[i] + decision.bias, False), (decision.widths[i], True)):
            corner = (float(centre[0] - reach), float(centre[1] - reach))
            alpha, fill = (0.25, True) if shaded else (1.0, False)
            axes.add_patch(Rectangle(corner, 2 * reach, 2 * reach, color=BLUE, alpha=alpha, fill=fill, linewidth=1.4))
        axes.plot(*centre, marker="+", color="black")
        axes.annotate(f"arm {i + 1}", (centre[0], centre[1]), textcoords="offset points", xytext=(4, 4))


def _compared(axes: Axes, lower: Floats, upper: Floats) -> None:
    axes.plot(
        [lower[0], upper[0]],
        [lower[1], upper[1]],
        color=VERMILION,
        linestyle=":",
        marker="o",
        markersize=9,
        markerfacecolor="none",
    )
