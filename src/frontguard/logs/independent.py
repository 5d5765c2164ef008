"""Logs whose arms were measured independently of each other: what two of them say together, beside the boxes.

What an arm's rows say of m is an end at every level: m < L(a) with probability e⁻ᵃ at most, and m > H(a) likewise. Two
boxes bound m_j − m_i by H_j(a) − L_i(a) for one large a, so that none of all boxes fails. Where arms are independent,
the level up to which both fail is a sum of two independent numbers; H_j(a) − L_i(b) is looked at for all a + b that are
improbable enough, and the largest of these is a sharper bound. Since both levels may be those of any number of rows,
the threshold is the one for evidence that is the largest of all time (`evidence.apart`), whoever lies, and however the
log came about. It serves quantiles, means and rates alike. Proof: docs/theory.md, (u).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadArgument
from frontguard.evidence.boxes import ArmBoxes
from frontguard.evidence.pairs import MOST_ARMS
from frontguard.evidence.statistics import EXACT, NORMAL_MEAN
from frontguard.logs.boxes import Ahead, BoxReader
from frontguard.logs.sort.ordered import Ordered, Readable
from frontguard.notices import IndependentArms
from frontguard.objectives import Objective
from frontguard.theory.threats import Threat

if TYPE_CHECKING:
    from frontguard.studies.settings import Settings

SHARE = 0.5
"""Of δ, what evidence on pairs gets; intervals have the rest. Tolerances of a log may be tried: rivals get nothing."""

STEP = 0.25
"""How far apart the levels are at which ends are read."""


@dataclass(frozen=True, eq=False)
class IndependentLog(Ordered):
    """A log whose arms are independent of each other. Of a study, `arms_of_study` is how many arms share δ."""

    arms_of_study: int = field(default=0, kw_only=True)
    ordered_pairs: int = field(default=0, kw_only=True)  # that are compared; all unless given

    @classmethod
    def of(cls, log: Readable, *, arms_of_study: int = 0, ordered_pairs: int = 0) -> IndependentLog:
        """The same log; refuses one of too many arms, and one whose values are kept in part only."""
        if not isinstance(log, Ordered):
            raise BadArgument("independent", "all values are needed, and sketches do not keep them; leave it away")
        arms = arms_of_study or len(log.pulls)
        if arms > MOST_ARMS:
            raise BadArgument(
                "independent", f"pairs of up to {MOST_ARMS} arms are looked at; got {arms:,}: leave it away"
            )
        return cls(**vars(log), arms_of_study=arms_of_study, ordered_pairs=ordered_pairs)


def as_independent(log: Readable, compared: int = 0) -> tuple[IndependentLog, IndependentArms]:
    """The log as one of independent arms, of which so many ordered pairs are compared; and what is said of that."""
    return IndependentLog.of(log, ordered_pairs=compared), IndependentArms(len(log.pulls))


def independent_as_study(settings: Settings, given: bool | None, *, state: bool) -> bool:
    """Whether the arms of a study are taken as independent: its own unless given; not where a state is made of it."""
    own = settings.question.independent
    if given and not own:
        raise BadArgument(
            "independent",
            "the study was not begun with it, so that its pulls may share items, seeds or clusters; begin "
            "one with independent=True (run --independent)",
        )
    return own and not state if given is None else given


def levels_for(delta: float) -> int:
    """N: the fewest steps that the levels of two independent arms together exceed with probability δ' at most.

    An arm's level, in steps, is l at least with probability rˡ at most, r = e^(−1/4): two of them are N at least with
    rᴺ (1 + N (1 − r)).

    >>> levels_for(0.001)
    37
    """
    r = math.exp(-STEP)
    N = max(1, math.floor(-math.log(delta) / STEP))
    while r**N * (1.0 + N * (1.0 - r)) > delta * (1.0 - 1e-9):
        N += 1
    return N


class IndependentBoxReader(BoxReader):
    """Reads boxes off a log of independent arms, and what two of them say together, which has half of δ.

    >>> from frontguard import Prescient
    >>> values = np.concatenate([np.arange(0.0, 1000.0), np.arange(90.0, 1090.0)])
    >>> log = IndependentLog(["a", "b"], ("speed",), np.array([1000, 1000]), np.array([[0, 1000, 2000]]), (values,))
    >>> boxes = IndependentBoxReader(log, [Objective("speed")], 0.05).read(Prescient(0.0))
    >>> float(boxes.upper[0, 0] - boxes.lower[1, 0]), float(boxes.apart[0, 1, 0])
    (-11.0, -31.0)
    """

    ordered: IndependentLog
    of_boxes = 1.0 - SHARE

    def __init__(
        self,
        ordered: Readable,
        objectives: Sequence[Objective],
        delta: float,
        *,
        anytime: bool = False,
        among: Ints | None = None,
    ) -> None:
        super().__init__(ordered, objectives, delta, anytime=anytime, among=among)
        self._compared = [d for d, kind in enumerate(self._kinds) if kind != EXACT]
        here = max(1, len(self.ordered.pulls))
        K = self.ordered.arms_of_study or here
        bounds = max(1, (self.ordered.ordered_pairs or K * (K - 1)) * len(self._compared))
        self._steps = levels_for(SHARE * delta * K / here / bounds)  # what is given is the part of these arms

    def read(self, threat: Threat) -> ArmBoxes:
        """The boxes under this threat model, and what pairs say."""
        return self._with_pairs(super().read(threat), threat, self._now)

    def foresee(self, threat: Threat, least: int) -> ArmBoxes:
        """The same if every arm had `least` pulls at least, its sample having gone on in the same proportions."""
        return self._with_pairs(super().foresee(threat, least), threat, self._ahead(least))

    def _with_pairs(self, boxes: ArmBoxes, threat: Threat, ahead: Ahead) -> ArmBoxes:
        n = len(self._arms)
        apart = np.full((n, n, len(self.objectives)), np.inf)
        if n > 1:
            low, high = self._at_levels(threat, ahead)
            for place, d in enumerate(self._compared):
                apart[:, :, d] = _largest_left(low[:, :, place], high[:, :, place])
        return replace(boxes, apart=apart)

    def _at_levels(self, threat: Threat, ahead: Ahead) -> tuple[Floats, Floats]:
        """Lower and upper ends (N, n, compared) at the levels 1/4, 2/4, …, N/4: at a higher one, never a closer one."""
        shape = (self._steps, len(self._arms), len(self._compared))
        low, high = np.empty(shape), np.empty(shape)
        for step in range(self._steps):
            share = math.exp(-STEP * (step + 1))
            ranks: dict[float, Ints] = {}
            for place, d in enumerate(self._compared):
                # Of a mixture for both sides, one may have the whole probability of being false.
                one = 0.5 * share if self._anytime and self._kinds[d] == NORMAL_MEAN else share
                low[step, :, place], high[step, :, place] = self._interval(d, threat, ahead, one, ranks)
        return np.minimum.accumulate(low), np.maximum.accumulate(high)


def _largest_left(low: Floats, high: Floats) -> Floats:
    """Of ends (N, n) the largest H_j − L_i, by j and i (n, n), of two levels that are N + 1 steps together."""
    found = np.full((low.shape[1], low.shape[1]), -np.inf)
    for of_i, of_j in zip(low, high[::-1], strict=True):
        np.maximum(found, of_j[:, None] - of_i[None, :], out=found)
    return found
