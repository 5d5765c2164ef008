"""The policy of a study, and its alarms, as a function of its log.

The policy decides when a plan is made, and only then: on the told pulls that the plan counts, with the pulls of earlier
plans that were not told by then counted as failed. So the state after the n-th plan is the same in every process
that reads the log, whoever made the plan, and the state of a study that was interrupted is that of one that was not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import expect
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.comparisons.effects import Intervals
from frontguard.comparisons.outcomes import Check, GateDetails, GatePair, Outcome, gate_pair, least_found
from frontguard.errors import BadInput, OutOfTurn
from frontguard.evidence.intervals import DOUBT_HIGH, DOUBT_LOW, REFUTED
from frontguard.evidence.kinds import LARGEST
from frontguard.evidence.statistics import least_level, statistic_of
from frontguard.limits import only_two_of
from frontguard.notices import (
    Alarm,
    BudgetOver,
    ClustersUsedUp,
    ContaminationRefuted,
    CostsUnknown,
    DriftAlarm,
    ExactDiffers,
    Excluded,
    FailuresAlarm,
    NotCounted,
    Notice,
    NotPositive,
    OutOfBounds,
    Polished,
    TakenAsRate,
)
from frontguard.objectives import refuse_forgotten_percent
from frontguard.phrases import shown
from frontguard.policies.baseline import BASELINE, CANDIDATE, SEEN_ESTIMATE, BySamples
from frontguard.policies.certified import Certified
from frontguard.policies.forecast import PullForecast, likely, likely_cost
from frontguard.policies.holding import Pending
from frontguard.question import Question
from frontguard.results import Answer, StudyDetails
from frontguard.storage.contract import End, Plan, Storage, Told
from frontguard.studies.alarms import MOST_VALUES, SampleLook, Watch, arms_that_matter, dirtier_than, look_at
from frontguard.studies.pulls import SLACK, USED_UP, Spending, Taken, checked_plans, checked_told, not_a_log, reasons_of
from frontguard.studies.settings import Settings
from frontguard.verdicts import Verdict

How = Literal["done", "time", "cancelled"]

PROBE = 5
"""Pulls of an arm before its first batch goes on: by then an arm that always fails is known as such."""

_DECIDING = 1e-4  # seconds that it takes to interpret a decision, for each arm

HOPELESS = 1e-3
"""Probability with which an arm that can be measured is taken for one that cannot."""


@dataclass
class _Noted:
    """Told pulls that no plan counts yet, prepared for a decision on them: new ones are added to what was prepared."""

    taken: Taken
    pending: Pending
    pieces: int = 0  # of what was read


class Replay:
    """A study's log as far as it was read, and the policy and the alarms that it makes."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.policy = settings.policy()
        question = settings.question
        self.watch = Watch(settings.arms, question.objectives, question.threat, spread=question.spread)
        self.plans = 0
        self.status = "running"  # of the last plan
        self.told = 0  # told pulls that the policy has taken
        self.at = 0.0  # when the last of them was told, in seconds since the epoch
        self._taken = Taken(settings)
        self.side_by_side = False  # whether pulls were told in another order than that in which they were started
        self._last_pull = 0
        self.planned = 0  # pulls of all plans so far ...
        self._arm_of = np.empty(64, np.int64)  # ... and their arms, with room to grow ...
        self._rep_of = np.empty(64, np.int64)  # ... which pull of the arm each is, or of which block ...
        self._asked = np.zeros(len(settings.arms), np.int64)  # ... how many each arm has ...
        self._blocks = 0  # ... and in how many blocks, where they come in these
        self._ahead: list[Told] = []  # told pulls that were read and that no plan counts yet, in pieces ...
        self._passed = 0  # ... of the first piece those that a plan counts ...
        self._count_ahead = 0  # ... how many the others are ...
        self._noted: _Noted | None = None  # ... and what of them was prepared for a decision
        self._looks: dict[tuple[int, int], tuple[int, SampleLook]] = {}  # by arm and objective, after so many values
        self._later: list[Plan] = []  # plans that were read and that count told pulls that were not

    @property
    def read(self) -> int:
        """Told pulls that were read."""
        return self.told + self._count_ahead

    @property
    def behind(self) -> bool:
        """True if plans were read that count told pulls which were not."""
        return bool(self._later)

    @property
    def stopped(self) -> bool:
        """True if the study has come to an end that no later change of settings has overruled."""
        return self.status != "running" and self.plans > self.settings.reopened_after

    @property
    def failures(self) -> dict[str, Counter[str]]:
        """The failures of arms with any, by reason."""
        return {self.settings.arms[arm]: counts for arm, counts in sorted(self._taken.reasons.items())}

    @property
    def _spending(self) -> Spending | None:
        return self._taken.spending

    @property
    def polishing(self) -> bool:
        """True if there is a certificate, and it goes on for steady estimates."""
        return self.settings.question.polish and not self.stopped and self.policy.status == "certified"

    @property
    def status_now(self) -> str:
        """The status of the study: of the last plan if it has stopped there; certified while it is polished."""
        return self.status if self.stopped else "certified" if self.polishing else "running"

    @property
    def arm_of(self) -> Ints:
        """The arms of all planned pulls."""
        return self._arm_of[: self.planned]

    def arms_of(self, pulls: npt.ArrayLike) -> Ints:
        """The arms of planned pulls."""
        arms: Ints = self.arm_of[np.asarray(pulls, np.int64) - 1]
        return arms

    def reps_of(self, pulls: npt.ArrayLike) -> Ints:
        """Which pull of its arm each of these planned pulls is, from 1; in randomised blocks, which block it is in."""
        reps: Ints = self._rep_of[np.asarray(pulls, np.int64) - 1]
        return reps

    def catch_up(
        self,
        storage: Storage,
        study: str,
        *,
        most: int | None = None,
        on_decision: Callable[[Replay], None] | None = None,
    ) -> Told:
        """Read what is new in the log, `most` told pulls of it if given, and return these.

        Plans after told pulls, so that every pull that was read is one of a plan that was read; then the told pulls
        that the last plan counts and that have come in between. A plan that counts more than were read waits for them.
        `on_decision` is called after every decision that a plan was made by.
        """
        new = storage.told(study, after=self.read, up_to=None if most is None else self.read + most)
        new = checked_told(new, self.settings, study)
        self._later += checked_plans(storage.plans(study, after=self.plans + len(self._later)), self.settings, study)
        if most is None and self._later and self._later[-1].told > self.read + len(new):
            new = Told.joined([new, storage.told(study, after=self.read + len(new), up_to=self._later[-1].told)])
            if self._later[-1].told > self.read + len(new):
                raise not_a_log(study, f"plan {self._later[-1].number} counts told pulls that there are not")
        if len(new):
            self._ahead.append(new)
            self._count_ahead += len(new)
        expect(_DECIDING * len(self._later) * len(self.settings.arms))
        while self._later and self._later[0].told <= self.read:
            plan = self._later.pop(0)
            if plan.told < self.told or plan.first != self.planned + 1:
                raise not_a_log(study, f"plan {plan.number} does not follow on the one before")
            self._take(plan.told - self.told, study)
            self._decide()
            if on_decision is not None:
                on_decision(self)
            self._add(plan)
            self.watch.plan(plan.arms)
        if len(new) and new.pulls.max() > self.planned:
            raise not_a_log(study, f"pull {new.pulls.max()} was told before it was planned")
        inner = self.settings.question.columns.observed(new.values)[:, : len(self.settings.question.objectives)]
        stopped = np.asarray(new.ends == End.STOPPED)
        self.watch.tell(new.pulls, inner, reasons_of(new), stopped=stopped, clusters=new.clusters)
        # One worker tells pulls one after another, in the order of their numbers; several do not.
        measured = new.pulls[new.ends == End.TOLD]
        if len(measured):
            order = np.concatenate([[self._last_pull], measured])
            self.side_by_side = self.side_by_side or bool((np.diff(order) < 0).any())
            self._last_pull = int(order.max())
        return new

    def _add(self, plan: Plan) -> None:
        before, self.planned = self.planned, self.planned + len(plan.arms)
        if self.planned > len(self._arm_of):
            self._arm_of = np.concatenate([self._arm_of, np.empty(self.planned, np.int64)])
            self._rep_of = np.concatenate([self._rep_of, np.empty(self.planned, np.int64)])
        # A copy of this replay shares the arrays, and writes where this one does not look.
        self._arm_of[before : self.planned] = plan.arms
        order = np.argsort(plan.arms, kind="stable")
        ranks = np.arange(1, len(order) + 1) - np.searchsorted(plan.arms[order], plan.arms[order])
        self._rep_of[before + order] = ranks + (self._blocks if self.policy.blocks else self._asked[plan.arms[order]])
        self._blocks += int(ranks.max(initial=0))
        self._asked = self._asked + np.bincount(plan.arms, minlength=len(self._asked))
        self.policy.expect(plan.arms)
        self.plans, self.status = plan.number, plan.status

    def _take(self, count: int, study: str) -> None:
        """Let the policy have the next `count` told pulls."""
        if count <= 0:
            return
        if len(self._ahead) > 1:
            self._ahead, self._passed = [Told.joined(self._pieces_ahead())], 0
        taken = self._ahead[0].part(self._passed, self._passed + count)
        if taken.pulls.max() > self.planned:
            raise not_a_log(study, f"pull {taken.pulls.max()} was told before it was planned")
        # What is left stays where it is: cut off anew for every plan, a long log would be copied again and again.
        self._passed += count
        self._count_ahead -= count
        if not self._count_ahead:
            self._ahead, self._passed = [], 0
        self._noted = None
        try:
            pulls, inner, left_out = self._taken.take(taken, self.arm_of)
            self.policy.take(self.arms_of(pulls), inner, self.reps_of(pulls))
            self.policy.dismiss(left_out)
        except OutOfTurn:
            raise not_a_log(study, "a pull was told twice") from None
        self.told += len(taken)
        self.at = float(taken.at[-1])

    def _pieces_ahead(self) -> list[Told]:
        """The told pulls that no plan counts yet."""
        return [self._ahead[0].part(self._passed), *self._ahead[1:]] if self._passed else self._ahead

    def _decide(self) -> None:
        self.policy.carry_on()  # if an earlier stop were to stand, there would be nothing left to decide
        self.policy.exclude(self._hopeless())
        if self._spending is not None:  # of pulls that are back: no choice may depend on what the next one will be
            self.policy.weigh(self._spending.typical)
        self.policy.decide()

    def _hopeless(self) -> list[int]:
        """Arms to exclude: all pulls so far failed (but those a user stopped), or too many for any bound ever."""
        pulls = self.policy.pulls_per_arm - self._taken.stopped
        failures = self._taken.failed - self._taken.stopped[:, None]
        there = (pulls >= PROBE) & self.policy.alive
        suspects = np.flatnonzero((failures > 0).any(axis=1) & there)
        excluded = set(self.policy.excluded.tolist())
        eps = self.settings.question.threat.eps
        found = []
        for arm in suspects.tolist():
            if arm in excluded:
                continue
            from scipy.special import bdtrc  # few studies come here

            n, worst = int(pulls[arm]), int(failures[arm].max())
            always = worst == n and max(eps, 0.25) ** n <= HOPELESS
            if always or any(
                failed / n > share and float(bdtrc(failed - 1, n, share)) <= HOPELESS / len(pulls)
                for failed, share in zip(failures[arm].tolist(), self._bearable, strict=False)  # limits come behind
            ):
                found.append(arm)
        return found

    @cached_property
    def _bearable(self) -> list[float]:
        """For each objective the share of failed pulls beyond which nothing bounds it; a mean is always bounded."""
        question = self.settings.question
        return [
            1.0 if each.exact else question.threat.of(d).lasting(least_level(statistic_of(each)))
            for d, each in enumerate(question.objectives)
        ]

    def propose(self, at_least: int) -> tuple[Replay, Plan] | None:
        """The next plan, and this replay with it, a copy; None if pulls have to come back first. Refuses slips."""
        after = self._with_ahead()
        after._decide()
        after._refuse_slips()
        policy = after.believed
        waiting = after.planned - after.told
        budget = self.settings.question
        left = (budget.max_pulls or np.iinfo(np.int64).max) - after.planned
        arms = np.empty(0, np.int64)
        status = policy.status
        over = "certified" if status == "certified" else "budget"  # if a budget is, while estimates are polished
        if len(policy.excluded) == policy.arms:
            status = "unreachable"
        elif status == "certified" and policy is not after.policy:
            status = "unreachable"  # the others are decided, and no pulls decide those that were given up
        elif not policy.done and left <= 0:
            status = over
        elif not policy.done:
            arms = after._worth_asking(policy.next_pulls(at_least, PROBE))
            # At random, so that whatever drifts hits all arms alike; by number, so that it can be repeated.
            planned = self._in_random_order(arms)
            arms = planned[:left]
            if after._spending is not None and budget.max_cost is not None:
                arms = after._spending.affordable(arms, after._asked - after._spending.pulls, budget.max_cost)
            arms = self._whole_blocks(arms, planned)
            status = "running" if len(arms) or waiting else over
        if not len(arms) and waiting and status != "certified":
            return None
        plan = Plan(after.plans + 1, after.told, after.planned + 1, arms, status)
        after._add(plan)
        return after, plan

    def _in_random_order(self, arms: Ints) -> Ints:
        """The pulls of the next plan, shuffled; each arm once before any comes again, where they come in blocks."""
        rng = np.random.default_rng([self.settings.seed, self.plans + 1])
        if not self.policy.blocks:
            return rng.permutation(arms)
        arms = np.sort(arms)
        block = (np.arange(len(arms)) - np.searchsorted(arms, arms)) // self.policy.differences.block
        return np.asarray(arms[np.lexsort((rng.random(len(arms)), block))])

    def _whole_blocks(self, arms: Ints, planned: Ints) -> Ints:
        """Return the planned pulls that a budget leaves; whole blocks where these are compared as a whole."""
        size = self.policy.differences.block * len(np.unique(planned))
        if self.policy.differences.block == 1 or len(arms) == len(planned):
            return arms
        same = arms == planned[: len(arms)]
        return planned[: int(np.append(same, False).argmin()) // size * size]

    def _refuse_slips(self) -> None:
        """Refuse, once all arms have a batch, a tolerance without its percent sign, or medians of two values."""
        policy, asked = self.policy, self.settings.question
        first = int(policy.standing.control["first"][0])
        seen = (policy.pulls_per_arm >= first) | ~policy.alive
        if not seen.all():
            return
        M = len(asked.objectives)
        if len(seen) > 1:  # a few noisy values may be small by chance: what counts is where estimates may be
            its = slice(None) if asked.baseline is None else [self.settings.arms.index(asked.baseline)]
            whose = "the largest estimate" if asked.baseline is None else shown(asked.baseline)
            ends = policy.standing.intervals[its][:, [DOUBT_LOW, DOUBT_HIGH], :M]
            ends = ends[np.isfinite(policy.estimates[its]).all(axis=1)].reshape(-1, M)
            refuse_forgotten_percent(asked.objectives, policy.estimates[its], whose, ends)
        for d, each in enumerate(asked.columns.boxed):
            if each.by_default and (two := policy.only_two_values(d)) is not None:
                low, high = np.sort(each.as_measured(two)).tolist()
                raise BadInput(each.only_two(low, high) if d < M else only_two_of(each.name, low, high))

    def _worth_asking(self, arms: Ints) -> Ints:
        """Return those pulls whose arms have clusters left, and no more than the budget of an arm."""
        if not self._taken.counted.left_out.any():
            return arms
        arms = arms[~self._taken.counted.used_up[arms]]
        most = self.settings.question.max_pulls_per_arm
        if most is None:
            return arms
        order = np.argsort(arms, kind="stable")
        ranks = np.arange(len(arms)) - np.searchsorted(arms[order], arms[order])
        have = np.bincount(self.arm_of, minlength=len(self.settings.arms))
        return np.asarray(arms[order][have[arms[order]] + ranks < most])

    def with_everything(self) -> Replay:
        """This replay with all that was read decided on, between two plans, for what arms and news cost."""
        if self.stopped or not self._count_ahead:
            return self
        after = self._with_ahead()
        # In blocks it is decided on whole ones, which the next plan does: see `policies.certified.BLOCK_GROWTH`. A gate
        # looks at whole ones only, whenever that is.
        in_blocks = self.policy.blocks and self.policy.against is None
        if not (in_blocks and self.policy.standing.control["decisions"][0]):
            after._decide()
        return after

    def _with_ahead(self) -> Replay:
        """A copy that has taken all that was read, and decided nothing on it yet; this one is left as it is."""
        question, by_rep = self.settings.question, self.policy.differences.in_blocks
        if self._noted is None:
            self._noted = _Noted(self._taken.copy(), Pending(len(self.settings.arms), len(question.columns.boxed)))
        noted = self._noted
        for piece in self._pieces_ahead()[noted.pieces :]:
            pulls, inner, left_out = noted.taken.take(piece, self.arm_of)
            noted.pending.add(self.arms_of(pulls), inner, self.reps_of(pulls) if by_rep else None)
            noted.pending.dismiss(left_out)
            noted.pieces += 1
        after = Replay.__new__(Replay)
        after.__dict__.update(self.__dict__)
        after.policy = self.policy.with_pending(noted.pending)
        after._taken = noted.taken.copy()
        after.told = self.read
        after.at = float(self._ahead[-1].at[-1]) if self._ahead else self.at
        after._ahead, after._passed, after._count_ahead, after._noted = [], 0, 0, None
        after._later = list(self._later)
        return after

    def alarms(self) -> list[Alarm]:
        """The alarms, without those for failures of arms that were excluded by the last plan."""
        excluded = {self.settings.arms[arm] for arm in self.policy.excluded.tolist()}
        return [each for each in self.watch.alarms() if not isinstance(each, FailuresAlarm) or each.arm not in excluded]

    def _doubted(self, alarms: Iterable[Alarm]) -> Bools:
        """Return the arms (K,) and columns (C,) whose intervals or alarms contradict assumptions."""
        found: Bools = self.policy.refuted
        if not self.policy.by_present_samples:
            found = found.copy()
            names = [each.name for each in self.settings.question.objectives]
            for alarm in alarms:
                if isinstance(alarm, DriftAlarm) and alarm.objective is not None:
                    found[self.settings.arms.index(alarm.arm), names.index(alarm.objective)] = True
        return found

    @property
    def believed(self) -> Certified:
        """The policy, gone on without arms whose measurements contradict what is assumed, where there are any."""
        return self._believed(self._doubted(self.watch.alarms()))

    def _believed(self, doubted: Bools) -> Certified:
        if not doubted.any():
            return self.policy
        policy = self.policy.copy()
        policy.carry_on()
        policy.give_up(doubted)
        policy.decide()
        return policy

    def result(self, alarms: Sequence[Alarm]) -> Answer:
        """The answer in the units of the objectives, with what happened to arms and which alarms there are."""
        settings, doubted = self.settings, self._doubted(alarms)
        policy = self._believed(doubted)
        result = policy.result(settings.arms, [objective.name for objective in settings.question.objectives])
        reasons = self._taken.reasons
        excluded = tuple(
            Excluded(
                arm=settings.arms[arm],
                failed=sum(reasons[arm].values()),
                pulls=int(result.pulls_per_arm[arm]),
                reasons=tuple(reasons[arm].most_common()),
                last=self._taken.said.get(arm, ""),
            )
            for arm in self.policy.excluded.tolist()
        )
        status = self.status_now
        if doubted.any():
            codes = np.where(doubted.any(axis=1), Verdict.UNDECIDED, result.verdict_codes)
            result = replace(result, verdict_codes=codes)
            status = "unreachable" if status == "certified" else status
        arms = arms_that_matter(result.verdict_codes, result.decided_by, result.pulls_per_arm)
        not_counted = int(self._taken.counted.left_out.sum())  # because of their clusters
        hint = dirtier_than(settings.question.contaminations, self._samples(arms))
        refuted = tuple(settings.arms[arm] for arm in np.flatnonzero(doubted.any(axis=1)))
        notices = (
            *(TakenAsRate(name) for name in settings.rates),
            *self._unusable_values(),
            *self._exact_that_differ(),
            *excluded,
            *(
                replace(each, names=refuted) if isinstance(each, ContaminationRefuted) else each
                for each in result.notices
            ),
            *alarms,
            *(() if hint is None else (hint,)),
            *((NotCounted(not_counted, self.told),) if not_counted else ()),
            *self._costs_unknown(),
            *self._why_budget(status),
            *self._polished(status),
        )
        if status == "certified" and settings.question.baseline is not None and result.having(Verdict.UNDECIDED).any():
            status = "running"  # the gate is decided, and not all of the front, of which a result speaks
        kept = policy.kept(settings.question.columns.gates)
        spent = None if self._spending is None else self._spending.so_far()
        told = replace(result, status=status, notices=notices, parts=settings.parts, cost=spent)
        return replace(told.keeping_to(kept).in_units(settings.question.objectives), question=settings.question)

    def gate(self, result: Answer, how: How = "done", *, profile: bool = False) -> GateDetails:
        """The gate against the baseline; `how` the run ended, if the study has not; with a `profile` up to which ε."""
        policy, settings = self.policy, self.settings
        assert policy.against is not None
        its, outcomes, seen = policy.against.baseline, policy.against.outcomes, policy.against.seen
        M, arms, pulls = policy.objectives, settings.arms, result.pulls_per_arm.tolist()
        asked = settings.question
        gates = tuple(replace(gate, column=M + q) for q, gate in enumerate(asked.columns.gates))  # as they were checked
        pairs, samples = [], policy.against if isinstance(policy.against, BySamples) else None
        if samples is not None:
            unknown = outcomes, np.full(outcomes.shape, np.nan)
            clean, lasts = samples.stands(policy.standing.intervals) if profile else unknown
        for arm, name in enumerate(arms):
            if arm != its:
                ends = Intervals(*seen[arm][[BASELINE, CANDIDATE]].transpose(1, 0, 2))
                names, counts = (name, name, arms[its]), (pulls[arm], pulls[its])
                if samples is not None:
                    found = GatePair(*names, tuple(_checks(asked, samples, arm, clean[arm], lasts[arm])), *counts)
                else:
                    found = gate_pair(asked, gates, names, counts, ends, policy.against.apart[arm], outcomes[arm])
                excluded = tuple(arms[each] for each in (its, arm) if arms[each] in result.excluded)
                pairs.append(replace(found, excluded=excluded))
        status = self.status if self.stopped else "running" if how == "done" else how
        if (outcomes != Outcome.OPEN).all():
            status = "decided"
        elif status == "certified":  # of the arms that could be measured
            status = "unmeasured"
        at_worst = None if samples is None else tuple(samples.bounds.behind.max(axis=0).tolist())
        least = (
            ()
            if not (profile or self.stopped)
            else least_found(asked, pairs, None if samples is None else samples.least_found)
        )
        return GateDetails(tuple(pairs), status, at_worst=at_worst, least_found=least)

    def _samples(self, arms: Ints) -> Iterator[tuple[str, str, SampleLook]]:
        """Yield looks at every so many-th value of quantile objectives: of 0 and 1, all are far from the others."""
        policy, objectives = self.policy, self.settings.question.objectives
        for arm in arms.tolist():
            for d, objective in enumerate(objectives):
                if not objective.has_quantile:
                    continue
                have = int(policy.samples.columns[arm * policy.width + d]["count"])
                count, look = self._looks.get((arm, d), (-1, None))
                if look is None or count != have:
                    look = look_at(objective.as_measured(policy.values_of(arm, d, 1 + have // MOST_VALUES)))
                    self._looks[arm, d] = have, look
                yield self.settings.arms[arm], objective.name, look

    def _unusable_values(self) -> Iterator[NotPositive | OutOfBounds]:
        """That values which its tolerance or bounds cannot use failed, for each objective with any."""
        for d, (arm, example) in sorted(self._taken.examples.items()):
            objective, name = self.settings.question.columns.boxed[d], self.settings.arms[arm]
            count = int(self._taken.unusable[d])
            if objective.bounds is None:
                yield NotPositive(objective.name, name, count, self.told, example, str(objective.tolerance))
            else:
                yield OutOfBounds(objective.name, name, count, self.told, example, *objective.bounds)

    def _exact_that_differ(self) -> Iterator[ExactDiffers]:
        """For each objective that was said to be exact and is not, an arm of which two values are there."""
        policy, objectives = self.policy, self.settings.question.objectives
        for d, objective in enumerate(objectives):
            arms = np.flatnonzero(policy.standing.intervals[:, REFUTED, d])
            if objective.exact and len(arms):
                held = policy.values_of(int(arms[0]), d)
                one, other = np.sort(objective.as_measured([held.min(), held.max()])).tolist()
                yield ExactDiffers(objective.name, self.settings.arms[arms[0]], len(arms), one, other)

    def _polished(self, status: str) -> tuple[Polished, ...]:
        """Return how steady estimates are, where that is asked for and there is a certificate."""
        if not self.settings.question.polish or status != "certified":
            return ()
        there = self.policy.alive
        unsteady, apart = len(self.policy.unsteady), bool((self.policy.accuracy == 0.0).any())
        return (Polished(int(there.sum()), unsteady, self.policy.polish, self.stopped, apart),)

    def cost_of(self, ahead: PullForecast) -> float | None:
        """Return the cost of the pulls that are foreseen; None where there is no telling, or pulls have no costs."""
        if self._spending is None or ahead.pulls_left is None:
            return None
        if ahead.of_arms is None:
            return 0.0  # none are left
        known = np.isfinite(self._spending.typical).any()
        return float((ahead.of_arms * self._spending.expected).sum()) if known else None

    def _costs_unknown(self) -> tuple[CostsUnknown, ...]:
        """That most pulls, or all of several of an arm, do not say what they cost, where it is so."""
        spending = self._spending
        if spending is None or spending.cost.metric is None:
            return ()
        unknown, told = int(spending.unknown.sum()), int(spending.pulls.sum())
        silent = int(((spending.unknown == spending.pulls) & (spending.pulls > 1)).sum())
        return (CostsUnknown(spending.cost.metric, unknown, told, silent),) if silent or 2 * unknown > told else ()

    def _why_budget(self, status: str) -> tuple[Notice, ...]:
        """Say what was used up, where that is why the study stopped: a budget, or the clusters of some arms."""
        if status != "budget":
            return ()
        asked, spending, used_up = self.settings.question, self._spending, self._taken.counted.used_up
        if asked.max_pulls is not None and self.planned >= asked.max_pulls:
            return (BudgetOver("max_pulls", asked.max_pulls),)
        if asked.max_cost is not None and asked.cost is not None and spending is not None:
            there = self.policy.alive
            dearest = float(spending.expected[there].max(initial=0.0))
            if float(spending.by_arm.sum()) + dearest > asked.max_cost * (1.0 + SLACK):  # not even one more pull
                return (BudgetOver("max_cost", asked.max_cost, asked.cost.unit),)
        most = asked.max_pulls_per_arm
        if asked.items and (most is None or most >= asked.items):  # of a list, which says so itself
            return ()
        if used_up.any():
            names = tuple(self.settings.arms[arm] for arm in np.flatnonzero(used_up).tolist())
            return (ClustersUsedUp(names[:3], len(names), USED_UP),)
        if asked.max_pulls is not None:
            return (BudgetOver("max_pulls", asked.max_pulls),)
        return (BudgetOver("max_pulls_per_arm", most or LARGEST),)


def _checks(asked: Question, against: BySamples, arm: int, clean: Ints, lasts: Floats) -> Iterator[Check]:
    """Yield what two samples say of a candidate, in each metric, and up to which ε; `clean` is what they say at 0."""
    bounds, estimates = against.bounds, against.seen[arm, :, SEEN_ESTIMATE]
    for d, metric in enumerate(asked.objectives):
        yield Check.by_samples(
            metric,
            (float(estimates[BASELINE, d]), float(estimates[CANDIDATE, d])),
            (float(bounds.ahead[arm, d]), float(bounds.behind[arm, d])),
            (int(against.outcomes[arm, d]), int(clean[d])),
            float(lasts[d]),
            declared=asked.threat.of(d).eps,
            that_counts=bool(bounds.that_counts[arm, d]),
        )


def answer_of(
    state: Replay,
    study: str,
    alarms: Sequence[Alarm],
    ahead: tuple[int | None, float | None] = (None, None),
    **now: Any,
) -> Answer:
    """Return the answer of a study by its log, with the forecast `ahead`, what holds `now`, and at its end, at best."""
    names, asked, (pulls, cost) = state.settings.arms, state.settings.question, ahead
    found = state.result(alarms)
    spent = 0.0 if found.cost is None else found.cost.spent
    ended = state.stopped and asked.baseline is None
    details = StudyDetails(
        name=study,
        failures=state.failures,
        said={names[arm]: said for arm, said in state._taken.said.items()},
        reachable=state.believed.reachable().in_units(asked.objectives) if ended else None,
        pulls_left=pulls,
        pulls_left_range=None if pulls is None else likely(pulls, found.pulls),
        cost_left=cost,
        cost_left_range=None if cost is None else likely_cost(cost, spent),
        max_pulls=asked.max_pulls,
        max_cost=asked.max_cost,
        side_by_side=state.side_by_side,
        **now,
    )
    return replace(found, study=details, gate=None if asked.baseline is None else state.gate(found))
