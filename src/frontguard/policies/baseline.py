"""The goal of a gate: candidates against a baseline, until each is certainly worse in each metric, or not worse.

Two things differ from the other goals, for the sake of machines that drift while they measure (docs/theory.md, (y)).
Intervals are not intersected with earlier ones, of which a drift would leave less than is true. And the baseline and
all open candidates get equally many pulls in every batch, in random order, so that drift hits them alike. What is
certain once is kept. Where two samples tell (`differences.looks`), they do, in place of intervals (`BySamples`).
"""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Self

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.comparisons.effects import Intervals
from frontguard.comparisons.outcomes import Outcome, outcomes_between, outcomes_of_checks
from frontguard.errors import BadArgument
from frontguard.evidence.differences import Differences
from frontguard.evidence.differences.looks import TwoSamples, looks_until
from frontguard.evidence.differences.two_sample import CheckBounds
from frontguard.evidence.intervals import COLUMNS, ESTIMATE, HIGH, HIGH_FLOOR, LOW, LOW_FLOOR
from frontguard.evidence.power import SampleTest
from frontguard.pareto.relations import CERTIFIED, UNREACHABLE, LimitRule, Standing, keeping_of
from frontguard.pareto.sampling import WEARY, keep_to_budget
from frontguard.verdicts import Verdict

CANDIDATE, BASELINE = range(2)
SEEN_ESTIMATE, SEEN_LOW, SEEN_HIGH = range(3)

TRIED = (0.0, 0.01, 0.02, 0.03, 0.05, 0.07, *(np.arange(10, 50, 2) / 100.0).tolist(), 0.49)
"""Contaminations at which all looks are taken again, to find up to which an outcome stands."""


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

    def look(self, intervals: Floats, evidence: Differences) -> None:
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
        """Tell which checks (K, M + Q) stay open for ever as samples go on; differences end by budgets alone."""
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


class _Called:
    """The findings of looks at two samples of K arms in M objectives; each line by the first look that told."""

    def __init__(self, arms: int, objectives: int, baseline: int) -> None:
        ahead, behind, line = (np.full((arms, objectives), np.inf) for _ in range(3))
        worse, counts = (np.zeros((arms, objectives), np.bool_) for _ in range(2))
        self.bounds = CheckBounds(ahead, behind, line, worse, counts)
        self.lines = np.full((arms, objectives), int(Outcome.OPEN))
        ahead[baseline] = behind[baseline] = line[baseline] = 0.0
        self.lines[baseline] = Outcome.NOT_WORSE

    def take(self, arm: int, found: CheckBounds, tolerances: Floats) -> None:
        """Add what a look says of an arm (M,): bounds hold at all looks at once."""
        for bound, now in zip(self.bounds[:3], found[:3], strict=True):
            bound[arm] = np.minimum(bound[arm], now)
        still = self.lines[arm] == Outcome.OPEN
        said = np.where(found.worse, int(Outcome.WORSE), self.lines[arm])
        said[found.line <= tolerances] = Outcome.NOT_WORSE
        self.lines[arm, still] = said[still]
        self.bounds.worse[arm] = self.lines[arm] == Outcome.WORSE
        self.bounds.that_counts[arm] |= found.that_counts

    def outcomes(self, tolerances: Floats) -> Ints:
        """Return those (K, M) of all checks together: none is worse, or each by itself."""
        if (self.lines == Outcome.WORSE).any():
            return self.lines
        behind = np.where(self.lines == Outcome.NOT_WORSE, -np.inf, self.bounds.behind)
        return outcomes_of_checks(behind, self.bounds.line, self.bounds.worse, tolerances)


class BySamples(AgainstBaseline):
    """Outcomes by the two samples of each candidate and its baseline, at looks; of what is exact, by its value."""

    def __init__(self, baseline: int, tolerances: Floats, limits: LimitRule, differences: Differences) -> None:
        super().__init__(baseline, tolerances, limits, differences)
        assert isinstance(differences, TwoSamples)
        self._evidence = differences
        self._looked: Ints = np.zeros(differences.compared.arms, np.int64)  # looks at each arm
        self._called = self._nothing()

    def _nothing(self) -> _Called:
        return _Called(len(self.seen), len(self._tolerances), self.baseline)

    def copy(self) -> Self:
        """Return the same, to go on with by itself."""
        other = copy(self)
        other._looked, other._called = self._looked.copy(), deepcopy(self._called)
        return other

    @property
    def outcomes(self) -> Ints:
        """The `Outcome` (K, M) of each arm, in each objective; those of the baseline are not worse."""
        return self._called.outcomes(self._tolerances)

    @property
    def bounds(self) -> CheckBounds:
        """Bounds of arms against the baseline (K, M), by all looks so far."""
        return self._called.bounds

    def look(self, intervals: Floats, evidence: Differences) -> None:
        """Look at all new samples that are complete."""
        assert isinstance(evidence, TwoSamples)
        super().look(intervals, evidence)
        self._evidence = evidence
        for arm in np.flatnonzero((self._called.lines == Outcome.OPEN).any(axis=1)).tolist():
            until = looks_until(len(evidence.common(arm)))
            for look in range(self._looked[arm], until):
                self._called.take(arm, evidence.bounds(arm, look, self._tolerances), self._tolerances)
            self._looked[arm] = until
            self._take_exact(self._called, arm, intervals)

    def _take_exact(self, called: _Called, arm: int, intervals: Floats) -> None:
        ends = intervals[:, [LOW, HIGH], : len(self._tolerances)]
        known = self._evidence.exact & np.isfinite(ends[[arm, self.baseline]]).all(axis=(0, 1))
        gap = np.full(len(known), np.inf)
        gap[known] = ends[self.baseline, 0, known] - ends[arm, 0, known]
        beyond = known & (gap > self._tolerances)
        called.take(arm, CheckBounds(np.where(known, -gap, np.inf), gap, gap, beyond, beyond), self._tolerances)

    def stands(self, intervals: Floats) -> tuple[Ints, Floats]:
        """Return the outcomes (K, M) without contamination, and the last ε tried up to which they are the same."""
        threat, looks = self._evidence.threat, list(enumerate(self._looked.tolist()))
        first, lasts, stands = self.outcomes, np.zeros(self._called.lines.shape), np.ones((), np.bool_)
        for eps in sorted({*TRIED, threat.eps, threat.least}):
            called = self._nothing()
            for arm, look in ((arm, look) for arm, until in looks for look in range(until)):
                found = self._evidence.bounds(arm, look, self._tolerances, type(threat)(eps))
                called.take(arm, found, self._tolerances)
            for arm, _ in looks:
                self._take_exact(called, arm, intervals)
            now = called.outcomes(self._tolerances)
            first, stands = (now, now != Outcome.OPEN) if eps == 0.0 else (first, stands & (now == first))
            lasts[stands] = eps
            if not stands.any():
                break
        return first, lasts

    def least_found(self, d: int, candidates: Ints) -> tuple[int, float, float, int | None] | None:
        """Return what as many blocks find in an objective: see `SampleTest.found_in`. Candidates are counted."""
        seen, arms = self._evidence, np.delete(np.arange(len(self.seen)), self.baseline)[candidates]
        level, tolerance = seen.levels[d], float(self._tolerances[d])
        test = SampleTest(seen.threat.of(d), level, tolerance, seen.half, seen.line, blocks=True)
        return test.found_in(seen.samples(arm, d) for arm in arms.tolist())

    def _stuck(self, standing: Standing) -> Bools:
        """Tell which checks (K, M) no samples would decide, if they went on as they are: neither medians nor sums."""
        stays = super()._stuck(standing)
        for arm in np.flatnonzero(stays.any(axis=1)).tolist():
            stays[arm] &= ~self._evidence.may_come(arm, self._tolerances)
        return stays
