"""The goal of a gate: candidates against a baseline, until each is certainly worse in each metric, or not worse.

Two things differ from the other goals, both for the sake of machines that drift while they measure (docs/theory.md,
(y)). Intervals are those of the present samples and are not intersected with earlier ones, of which a drift would leave
less than is true. And the baseline and all candidates that are open get equally many pulls in every batch, whatever was
measured: in random order, whatever drifts then hits them alike. What is certain once is kept as it was found, and a
candidate of which everything is certain is not pulled any more.

Where there are limits, a candidate has to keep to them as well: beyond one it is worse, and open as long as it is not
certain that it keeps to all.
"""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.comparisons.effects import sharpened
from frontguard.comparisons.gate import Outcome, outcomes_of
from frontguard.errors import BadArgument
from frontguard.evidence.boxes import COLUMNS, ESTIMATE, HIGH, HIGH_FLOOR, LOW, LOW_FLOOR
from frontguard.evidence.differences import Differences
from frontguard.pareto.limits import LimitRule, keeping_of
from frontguard.pareto.sampling import WEARY, keep_to_budget
from frontguard.pareto.standing import CERTIFIED, UNREACHABLE, Standing
from frontguard.verdicts import Verdict

CANDIDATE, BASELINE = range(2)
SEEN_LOW, SEEN_HIGH, SEEN_ESTIMATE = range(3)


class AgainstBaseline:
    """What is certain of K arms against one of them, as it was found: in M objectives, and of Q limits.

    Parameters
    ----------
    baseline
        The number of an arm.
    tolerances
        By how much a candidate may be worse (M,), in inner values.
    differences
        Evidence on differences beside the intervals; the sharper of the two counts.
    """

    def __init__(self, baseline: int, tolerances: Floats, limits: LimitRule, differences: Differences) -> None:
        arms = differences.compared.arms
        if not 0 <= baseline < arms:
            raise BadArgument("baseline", must=f"be in 0..{arms - 1}", got=f"{baseline}")
        self.baseline, self.limits = baseline, limits
        self._tolerances, self._usable = tolerances, differences.usable
        M, Q = len(tolerances), len(limits.columns)
        # By what each pair was last compared: the ends and the estimate of the candidate and of its baseline, ...
        self.seen: Floats = np.empty((arms, 2, 3, M))
        self.seen[:, :, SEEN_LOW], self.seen[:, :, SEEN_HIGH], self.seen[:, :, SEEN_ESTIMATE] = -np.inf, np.inf, np.nan
        # ... upper bounds of the candidate less its baseline, and of the baseline less the candidate, beside these, ...
        self.apart: Floats = np.full((arms, 2, M), np.inf)
        # ... and the ends and the estimate of what the candidate is limited in.
        self.limited: Floats = np.empty((arms, 3, Q))
        self.limited[:, SEEN_LOW], self.limited[:, SEEN_HIGH], self.limited[:, SEEN_ESTIMATE] = -np.inf, np.inf, np.nan

    def copy(self) -> Self:
        """Return the same, to go on with by itself: arrays are replaced, and never written to."""
        return copy(self)

    @property
    def outcomes(self) -> Ints:
        """The `Outcome` (K, M + Q) of each arm, in each objective and limit; those of the baseline are not worse."""
        mine, its = self.seen[:, CANDIDATE], self.seen[:, BASELINE]
        worst, best = mine[:, SEEN_LOW] - its[:, SEEN_HIGH], mine[:, SEEN_HIGH] - its[:, SEEN_LOW]
        compared = self._against(*sharpened(worst, best, self.apart[:, CANDIDATE], self.apart[:, BASELINE]))
        return np.concatenate([compared, self._kept(self.limited[:, SEEN_LOW], self.limited[:, SEEN_HIGH])], axis=1)

    def _against(self, worst: Floats, best: Floats) -> Ints:
        found = outcomes_of(worst, best, self._tolerances)
        found[self.baseline] = Outcome.NOT_WORSE
        return found

    def _kept(self, low: Floats, high: Floats) -> Ints:
        places = self.limits._replace(columns=np.arange(low.shape[1]))
        found = keeping_of(low, high, places)  # within, open, beyond: in the order of outcomes
        found[self.baseline] = Outcome.NOT_WORSE
        return found

    def look(self, boxes: Floats) -> None:
        """Compare anew what is open; what is certain stays as it was found."""
        K, M = len(boxes), len(self._tolerances)
        ends = boxes[:, [LOW, HIGH, ESTIMATE]]
        ends[:, SEEN_ESTIMATE][np.isneginf(ends[:, SEEN_ESTIMATE])] = np.nan
        now = np.stack([ends, np.broadcast_to(ends[self.baseline], ends.shape)], axis=1)[..., :M]
        apart = np.full((K, 2, M), np.inf)
        if boxes.shape[1] > COLUMNS:
            apart[:, CANDIDATE] = boxes[:, COLUMNS + self.baseline, :M]
            apart[:, BASELINE] = boxes[self.baseline, COLUMNS : COLUMNS + K, :M]
        still = self.outcomes == Outcome.OPEN
        self.seen = np.where(still[:, None, None, :M], now, self.seen)
        self.apart = np.where(still[:, None, :M], apart, self.apart)
        self.limited = np.where(still[:, None, M:], ends[..., self.limits.columns], self.limited)

    def want(self, standing: Standing) -> None:
        """Want the baseline and every candidate that is open and may come to be decided; or stop."""
        records, control = standing.arms, standing.control
        there = records["status"] != Verdict.SET_ASIDE
        open_still = (self.outcomes == Outcome.OPEN) & there[:, None]
        records["wanted"] = 0
        if not there[self.baseline] or not there.any():
            control["stop"] = UNREACHABLE
        elif not open_still.any():
            control["stop"] = CERTIFIED
        else:
            hopeful = (open_still & ~self._stuck(standing)).any(axis=1)
            if not hopeful.any():
                control["stop"] = UNREACHABLE
                return
            # A baseline that gets no more pulls would fall behind candidates that do.
            if records["pulls"][self.baseline] < control["max_per_arm"][0]:
                records["wanted"] = hopeful
                records["wanted"][self.baseline] = 1
            keep_to_budget(standing)

    def _stuck(self, standing: Standing) -> Bools:
        """Which checks (K, M + Q) would stay open for ever if the samples go on as they are; believed after many pulls.

        Of differences beside the intervals it is not known where they end: these are given up by a budget alone.
        """
        boxes, pulls, M = standing.boxes, standing.arms["pulls"], len(self._tolerances)
        many = (pulls >= WEARY) & (pulls[self.baseline] >= WEARY)
        if not many.any():
            return np.zeros((len(pulls), M + len(self.limits.columns)), np.bool_)
        low, high = boxes[:, LOW_FLOOR], boxes[:, HIGH_FLOOR]
        its = self.baseline
        compared = self._against(low[:, :M] - high[its, :M], high[:, :M] - low[its, :M])
        compared[:, self._usable] = Outcome.NOT_WORSE
        kept = self._kept(low[:, self.limits.columns], high[:, self.limits.columns])
        return np.asarray((np.concatenate([compared, kept], axis=1) == Outcome.OPEN) & many[:, None])
