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
from frontguard.comparisons.effects import Intervals
from frontguard.comparisons.outcomes import Outcome, outcomes_between
from frontguard.errors import BadArgument
from frontguard.evidence.intervals import COLUMNS, ESTIMATE, HIGH, HIGH_FLOOR, LOW, LOW_FLOOR, Differences
from frontguard.pareto.relations import CERTIFIED, UNREACHABLE, LimitRule, Standing, keeping_of
from frontguard.pareto.sampling import WEARY, keep_to_budget
from frontguard.verdicts import Verdict

CANDIDATE, BASELINE = range(2)
SEEN_ESTIMATE, SEEN_LOW, SEEN_HIGH = range(3)


class AgainstBaseline:
    """The outcomes that are certain of K arms against one of them, as they were found: M objectives and Q limits.

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
        self.baseline = baseline
        self._tolerances, self._usable = tolerances, differences.usable
        M = len(tolerances)
        # Each objective and each limit is a check, by the column of intervals that it reads.
        self._columns = np.concatenate([np.arange(M), limits.columns])
        self._limits = limits._replace(columns=np.arange(M, len(self._columns)))
        # By what each check was last made: the ends and the estimate of the candidate and of its baseline, ...
        self.seen: Floats = np.empty((arms, 2, 3, len(self._columns)))
        self.seen[:, :, SEEN_LOW], self.seen[:, :, SEEN_HIGH], self.seen[:, :, SEEN_ESTIMATE] = -np.inf, np.inf, np.nan
        # ... and upper bounds of the candidate less its baseline, and of the baseline less the candidate, beside these.
        self.apart: Floats = np.full((arms, 2, M), np.inf)

    def copy(self) -> Self:
        """Return the same, to go on with by itself: arrays are replaced, and never written to."""
        return copy(self)

    @property
    def outcomes(self) -> Ints:
        """The `Outcome` (K, M + Q) of each arm, in each objective and limit; those of the baseline are not worse."""
        mine, its = (Intervals(*self.seen[:, side].transpose(1, 0, 2)) for side in (CANDIDATE, BASELINE))
        return self._against(its, mine, (self.apart[:, CANDIDATE], self.apart[:, BASELINE]))

    def _against(self, its: Intervals, mine: Intervals, apart: tuple[Floats, Floats]) -> Ints:
        compared = outcomes_between(its, mine, apart, self._tolerances)
        found = np.concatenate([compared, keeping_of(mine.lower, mine.upper, self._limits)], axis=1)
        found[self.baseline] = Outcome.NOT_WORSE
        return found

    def look(self, intervals: Floats) -> None:
        """Make anew the checks that are open; what is certain stays as it was found."""
        K, M = len(intervals), len(self._tolerances)
        ends = intervals[:, [ESTIMATE, LOW, HIGH]][..., self._columns]
        ends[:, SEEN_ESTIMATE][np.isneginf(ends[:, SEEN_ESTIMATE])] = np.nan
        now = np.stack([ends, np.broadcast_to(ends[self.baseline], ends.shape)], axis=1)
        apart = np.full((K, 2, M), np.inf)
        if intervals.shape[1] > COLUMNS:
            apart[:, CANDIDATE] = intervals[:, COLUMNS + self.baseline, :M]
            apart[:, BASELINE] = intervals[self.baseline, COLUMNS : COLUMNS + K, :M]
        still = self.outcomes == Outcome.OPEN
        self.seen = np.where(still[:, None, None, :], now, self.seen)
        self.apart = np.where(still[:, None, :M], apart, self.apart)

    def want(self, standing: Standing) -> None:
        """Want the baseline and every candidate that is open and may come to be decided; or stop."""
        records, control = standing.arms, standing.control
        there = records["status"] != Verdict.EXCLUDED
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
        """Tell which checks (K, M + Q) would stay open for ever if the samples go on as they are, after many pulls.

        Of differences beside the intervals it is not known where they end: these are given up by a budget alone.
        """
        intervals, pulls, M = standing.intervals, standing.arms["pulls"], len(self._tolerances)
        many = (pulls >= WEARY) & (pulls[self.baseline] >= WEARY)
        if not many.any():
            return np.zeros((len(pulls), len(self._columns)), np.bool_)
        low, high = intervals[:, LOW_FLOOR][:, self._columns], intervals[:, HIGH_FLOOR][:, self._columns]
        mine = Intervals(low, low, high)
        its = mine.at(slice(self.baseline, self.baseline + 1))
        unknown = np.full((len(pulls), M), np.inf)
        stays = self._against(its, mine, (unknown, unknown)) == Outcome.OPEN
        stays[:, :M] &= ~self._usable
        return np.asarray(stays & many[:, None])
