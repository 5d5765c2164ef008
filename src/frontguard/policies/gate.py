"""The policy of a gate: pulls a baseline and candidates until each is certainly worse in each metric, or not worse.

It is the certified policy with another goal. Two things differ besides, both for the sake of machines that drift while
they measure (docs/theory.md, (y)). Boxes are those of the present samples and are not intersected with earlier ones, of
which a drift would leave less than is true. And the baseline and all candidates that are open get equally many pulls in
every batch, whatever was measured: in random order, whatever drifts then hits them alike. What is certain once is kept
as it was found, and a candidate of which everything is certain is not pulled any more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.comparisons.gate import Outcome, outcomes_of
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.boxes import (
    DOUBT_HIGH,
    DOUBT_LOW,
    ESTIMATE,
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    ArmBoxes,
    refresh_all,
    unknown_boxes,
)
from frontguard.evidence.statistics import EXACT
from frontguard.pareto.judge import judge, promised_now
from frontguard.pareto.sampling import WEARY, keep_to_budget
from frontguard.pareto.standing import CERTIFIED, UNREACHABLE
from frontguard.policies.certified import Certified
from frontguard.results import Result
from frontguard.verdicts import Verdict

CANDIDATE, BASELINE = range(2)
SEEN_LOW, SEEN_HIGH, SEEN_ESTIMATE = range(3)


class Gatekeeper(Certified):
    """Compare candidates with a baseline until it is certain of each whether it is worse by more than the tolerance.

    Takes what `Certified` does, where `accuracy` is the tolerance, and `baseline`, the number of an arm.

    >>> from frontguard import Prescient
    >>> policy = Gatekeeper(2, 1, threat=Prescient(0.1), accuracy=0.1, baseline=0)
    >>> while not policy.done:
    ...     arms = policy.ask()
    ...     policy.tell(arms, [[-float(arm)] for arm in arms])
    >>> policy.status, [Outcome(code).word for code in policy.outcomes[1]]
    ('certified', ['worse'])
    """

    name: ClassVar[str] = "gate"

    def __init__(self, arms: int, objectives: int, *, baseline: int, **settings: Any) -> None:
        self.baseline = baseline
        super().__init__(arms, objectives, **settings)
        if not 0 <= self.baseline < self.arms:
            raise BadArgument("baseline", must=f"be in 0..{self.arms - 1}", got=f"{self.baseline}")
        if len(self.limits.columns):
            raise BadInput("limits: a gate compares candidates with their baseline, and has no limits")

    def _begin(self) -> None:
        super()._begin()
        # By what each pair was last compared, of the candidate and of its baseline: the ends and the estimate.
        self.seen: Floats = np.empty((self.arms, 2, 3, self.objectives))
        self.seen[:, :, SEEN_LOW], self.seen[:, :, SEEN_HIGH], self.seen[:, :, SEEN_ESTIMATE] = -np.inf, np.inf, np.nan

    # What is certain --------------------------------------------------------------------------------------------------

    @property
    def outcomes(self) -> Ints:
        """The `Outcome` (K, M) of each arm against the baseline, in each objective; its own are not worse."""
        mine, its = self.seen[:, CANDIDATE], self.seen[:, BASELINE]
        return self._against(mine[:, SEEN_LOW] - its[:, SEEN_HIGH], mine[:, SEEN_HIGH] - its[:, SEEN_LOW])

    def _against(self, worst: Floats, best: Floats) -> Ints:
        found = outcomes_of(worst, best, self.accuracy)
        found[self.baseline] = Outcome.NOT_WORSE
        return found

    def _decide(self) -> None:
        if self.done:  # pulls that were out when it stopped: welcome, but the answer stands
            return
        standing = self.standing
        touched = np.flatnonzero(self._touched)
        pulls = standing.arms["pulls"][touched] + self._outstanding[touched]  # those that are out count as failed
        standing.boxes[touched] = unknown_boxes(len(touched), self.width)
        refresh_all(standing.boxes, touched, self.samples, pulls, self.rule)
        self._touched[:] = False
        self._told_since = 0
        standing.control["decisions"] += 1
        self._look()
        self._want()

    def _look(self) -> None:
        """Compare anew what is open; what is certain stays as it was found."""
        boxes = self.standing.boxes[:, [LOW, HIGH, ESTIMATE], : self.objectives]
        now = np.stack([boxes, np.broadcast_to(boxes[self.baseline], boxes.shape)], axis=1)
        now[:, :, SEEN_ESTIMATE][np.isneginf(now[:, :, SEEN_ESTIMATE])] = np.nan
        still = self.outcomes == Outcome.OPEN
        self.seen = np.where(still[:, None, None, :], now, self.seen)  # a new array: copies of this policy share it

    # Whom to pull -----------------------------------------------------------------------------------------------------

    def _want(self) -> None:
        """Want the baseline and every candidate that is open and may come to be decided; or stop."""
        records, control = self.standing.arms, self.standing.control
        there = records["status"] != Verdict.SET_ASIDE
        open_still = (self.outcomes == Outcome.OPEN) & there[:, None]
        records["wanted"] = 0
        if not there[self.baseline] or not there.any():
            control["stop"] = UNREACHABLE
        elif not open_still.any():
            control["stop"] = CERTIFIED
        else:
            hopeful = (open_still & ~self._stuck()).any(axis=1)
            if not hopeful.any():
                control["stop"] = UNREACHABLE
                return
            # A baseline that gets no more pulls would fall behind candidates that do.
            if records["pulls"][self.baseline] < control["max_per_arm"][0]:
                records["wanted"] = hopeful
                records["wanted"][self.baseline] = 1
            keep_to_budget(self.standing)

    def _stuck(self) -> Bools:
        """Which pairs (K, M) would stay open for ever, if the samples go on as they are; believed after many pulls."""
        boxes, pulls = self.standing.boxes[..., : self.objectives], self.standing.arms["pulls"]
        many = (pulls >= WEARY) & (pulls[self.baseline] >= WEARY)
        if not many.any():
            return np.zeros((self.arms, self.objectives), np.bool_)
        its = boxes[self.baseline]
        lasting = self._against(
            boxes[:, LOW_FLOOR] - its[HIGH_FLOOR],
            boxes[:, HIGH_FLOOR] - its[LOW_FLOOR],
        )
        return np.asarray((lasting == Outcome.OPEN) & many[:, None])

    # Answers ----------------------------------------------------------------------------------------------------------

    def result(self, arm_names: Any = None, objective_names: Any = None) -> Result:
        """The front as far as the boxes tell, which is not what was asked: of that, see `outcomes` and `seen`."""
        found = super().result(arm_names, objective_names)
        kept = np.flatnonzero(found.verdict_codes != Verdict.SET_ASIDE)
        if not len(kept):
            return found
        columns = (LOW, HIGH, ESTIMATE, DOUBT_LOW, DOUBT_HIGH)
        boxes = ArmBoxes(*(self.standing.boxes[kept, column, : self.objectives] for column in columns))
        aims = self.accuracy, self.coverage, self.goal.margin, None, self.goal.name
        verdicts = judge(boxes, *aims)
        codes, decided_by = found.verdict_codes.copy(), found.decided_by.copy()
        codes[kept] = verdicts.codes
        decided_by[kept] = np.where(verdicts.decided_by >= 0, kept[verdicts.decided_by], -1)
        exact = self.rule.kinds[: self.objectives] == EXACT
        now = self._certificate(*promised_now(boxes, verdicts, *aims, exact=exact))
        return replace(
            found,
            verdict_codes=codes,
            decided_by=decided_by,
            certificate=replace(found.certificate, accuracy=now.accuracy, coverage=now.coverage),
            outlook=None,
            guess=None if verdicts.front.any() else found.guess,
        )
