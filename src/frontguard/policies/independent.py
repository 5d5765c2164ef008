"""The certified policy for arms that are measured independently of each other: it compares them in pairs as well.

It decides by `pareto.rule` like `Certified`, which reads what the evidence of two arms says together beside the boxes,
wherever that is sharper (`evidence.apart`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Ints
from frontguard.errors import BadArgument
from frontguard.evidence.apart import apart_rule, comparable, refresh_apart, shares_of, unknown_levels
from frontguard.evidence.boxes import COLUMNS, checked_statistics, unknown_boxes
from frontguard.evidence.pairs import MOST_ARMS
from frontguard.evidence.statistics import Statistic
from frontguard.notices import IndependentArms, Notice
from frontguard.pareto.limits import LimitRule
from frontguard.policies.certified import Certified
from frontguard.policies.pending import Pending
from frontguard.theory.threats import Threat


class Independent(Certified):
    """`Certified`, for arms whose measurements do not depend on each other: that is taken for granted.

    Half of δ is for the evidence on pairs of arms and on rivals, more where only means with a known deviation count.
    Up to 300 arms, of which quantiles count, or means with a known deviation.

    Parameters
    ----------
    foreseen
        Whether `accuracy` was fixed before anything was measured. If not, evidence on rivals does not count: which arm
        is the best rival of another depends on it. Nor does it where there are limits, and once an arm is set aside.

    >>> from frontguard import Prescient
    >>> policy = Independent(2, 1, threat=Prescient(0.1), accuracy=0.1)
    >>> while not policy.done:
    ...     arms = policy.ask()
    ...     policy.tell(arms, [[float(arm)] for arm in arms])
    >>> policy.result().verdicts, policy.result().status
    ({'0': 'out', '1': 'in'}, 'certified')
    """

    def __init__(
        self,
        arms: int,
        objectives: int,
        *,
        threat: Threat,
        delta: float = 0.1,
        quantiles: npt.ArrayLike = 0.5,
        statistics: Sequence[Statistic] | None = None,
        limits: LimitRule | None = None,
        foreseen: bool = True,
        **settings: Any,
    ) -> None:
        counted = checked_statistics(statistics, quantiles, max(objectives, len(statistics or ())), threat)[:objectives]
        if arms > MOST_ARMS:
            raise BadArgument(
                "independent", f"pairs of up to {MOST_ARMS} arms are looked at; got {arms}: leave it away"
            )
        if not comparable(counted).any():
            raise BadArgument(
                "independent",
                "arms are compared by quantiles, and by means with a known deviation (sigma) whose "
                "tolerance is no percentage; got no such objective: leave it away",
            )
        self._shares = shares_of(counted, arms=arms, rivals=limits is None or not len(limits.columns))
        super().__init__(
            arms, objectives, threat=threat, delta=delta, quantiles=quantiles, statistics=statistics, limits=limits,
            **settings,
        )  # fmt: skip
        self.apart = apart_rule(
            threat, counted, self.rule, arms=arms, delta=delta, shares=self._shares, rivals=foreseen
        )
        self._begin()

    def _delta_of_boxes(self, delta: float) -> float:
        return self._shares.boxes * delta

    def _begin(self) -> None:
        super()._begin()
        self._read_at = np.zeros(self.arms, np.int64)  # pulls that were asked for when an arm's evidence was read
        if hasattr(self, "apart"):  # which is made of what the boxes are read by
            boxes = unknown_boxes(self.arms, self.width, pairs=True, rivals=bool(self.apart.levels[1] > 0))
            self.standing = self.standing._replace(boxes=boxes)
            self.levels = unknown_levels(self.arms, self.objectives, self.apart)

    def set_aside(self, arms: Iterable[int]) -> None:
        """Go on without arms that cannot be measured, and without evidence on rivals; see `Certified.set_aside`.

        Among the others the best rival of an arm may be another one, which was not fixed beforehand.
        """
        super().set_aside(arms)
        self._forget_rivals()

    def _forget_rivals(self) -> None:
        """Once an arm is set aside, believe nothing that is said of rivals."""
        if len(self.aside):
            self.standing.boxes[:, COLUMNS + self.arms :] = np.inf

    def with_pending(self, pending: Pending) -> Self:
        """A copy that has taken what is pending; see `Certified.with_pending`."""
        policy = super().with_pending(pending)
        policy.levels, policy._read_at = self.levels.copy(), self._read_at.copy()
        return policy

    def _notices(self) -> tuple[Notice, ...]:
        """Also that arms are taken to be independent."""
        return (*super()._notices(), IndependentArms(self.arms))

    def _refresh(self, touched: Ints, pulls: Ints) -> bool:
        """Boxes, and what two arms' evidence says together of the arms that are not out.

        Two arms are looked at as they stand at one moment: of one that was not told, pulls may have been started since.
        """
        found_false = super()._refresh(touched, pulls)
        standing = self.standing
        asked = standing.arms["pulls"] + self._outstanding
        changed = np.union1d(touched, np.flatnonzero(asked != self._read_at))
        self._read_at = asked
        alive = np.sort(self._alive)
        refresh_apart(standing.boxes, self.levels, self.samples, asked, alive, changed, self.rule, self.apart)
        self._forget_rivals()
        return found_false
