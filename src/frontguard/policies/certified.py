"""The certified policy: an anytime guarantee for rewards of any shape (`pareto.rule`, docs/theory.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import checked_count, checked_delta, one_for_each, real_number
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument, BadInput, OutOfTurn
from frontguard.evidence.differences import Compared, Sampled, evidence_of
from frontguard.evidence.differences.looks import TwoSamples, next_look
from frontguard.evidence.intervals import (
    BEST_HIGH,
    COLUMNS,
    DOUBT_HIGH,
    DOUBT_LOW,
    ESTIMATE,
    HIGH,
    LOW,
    REFUTED,
    ArmIntervals,
    checked_statistics,
    first_and_whole,
    first_bounded,
    refresh_all,
    refute,
)
from frontguard.evidence.kinds import LARGEST, Statistic
from frontguard.evidence.statistics import BOUNDED_MEAN, EXACT, statistics_of
from frontguard.limits import Gate, Limit, columns_for, parse_limits
from frontguard.notices import ContaminationRefuted, Notice, SpreadRefuted
from frontguard.objectives import Objective, parse_objectives, tolerances
from frontguard.pareto.judge import (
    front_of_estimates,
    judge,
    promised_amounts,
    promised_now,
)
from frontguard.pareto.relations import (
    BUDGET,
    CERTIFIED,
    CONTROL,
    NOT_RETURNED,
    RUNNING,
    STOPS,
    Goal,
    LimitRule,
    Standing,
    checked_tolerance,
    keeping_of,
    lasting_intervals,
    new_standing,
    pair_bounds,
    promised_of_pairs,
    rival_bounds,
    veil,
)
from frontguard.pareto.rule import decide, reachable
from frontguard.pareto.sampling import (
    POLISH,
    most_urgent,
    next_batch,
    nothing_steady,
    relative_costs,
    spread_evenly,
    want_unsteady,
    worth_pulling,
)
from frontguard.policies.baseline import AgainstBaseline, BySamples
from frontguard.policies.holding import Carried, Holding, Pending
from frontguard.question import AUTO, Question
from frontguard.results import Answer, Certificate, Guess, Intervals, Kept
from frontguard.theory.spread import SpreadBound
from frontguard.theory.threats import Threat
from frontguard.verdicts import Verdict

GROWTH = 0.01
"""By how much the pulls of an arm grow at a time: the cost of deciding stays small, and little is pulled in vain."""

BLOCK_GROWTH = 0.2
"""The same where pulls come in randomised blocks: each look has a chance of its own to be wrong (theory.md, (aa))."""


class Certified(Holding):
    """Identify the Pareto set with a certificate that holds at any time, for rewards of any shape.

    Parameters
    ----------
    arms, objectives
        K and M.
    threat
        The threat model with its ε.
    accuracy
        γ: a number, or one for each objective. No returned arm is beaten by more than this in every objective.
    coverage
        c: likewise; for every arm on the front a returned one is at most this much worse in any objective. As
        `accuracy` unless given.
    delta
        δ, the probability with which the guarantee may fail.
    spread, t_bar
        R, if the spread of the rewards around their medians is known, up to t̄: it saves pulls and, at large ε, makes
        answers possible at all. None assumes nothing.
    quantiles
        The quantile of the rewards that counts: 1/2, the median, or another level; one for all or for each objective.
    statistics
        What counts of each objective, where it is not a quantile (`evidence.statistics`), and behind these what counts
        for limits alone: a pull has as many values.
    limits
        Constraints: see `for_objectives`. The front is that of the feasible arms.
    goal
        "front", the paper's: all arms that none beats by more than γ. Or "list": as few as are enough for every other
        arm to be beaten, or no better than a returned one by more than c. "gate" follows from a baseline.
    baseline
        The number of an arm: compare all others with it, in place of looking for a front (`policies.baseline`).
    paired, items
        The r-th pulls of all arms are of the same item, seed or day, and arms are also compared within these. `items`:
        they are those of a finite list, drawn at random, and what counts are means over it.
    blocks
        Pulls come in randomised blocks, each arm that is not beaten once in each, and intervals are those of the
        present samples: for machines whose speed changes (theory.md, (aa)). `ask` gives whole blocks, in no order.
    independent, foreseen
        Measurements of different arms do not depend on each other: arms are also compared by their evidence together.
        `foreseen`: γ was fixed before anything was measured.
    margin
        About point estimates: by how much an arm has to be beaten not to be returned (half of γ − c unless given); with
        a list, by how much a returned one may be worse than an arm that is left out for it (half of c unless given).
    costs
        The cost of a pull of each arm, in any unit, if not all alike: pulls go where more is gained for the cost. What
        is certain does not depend on it.
    polish
        Go on after the certificate until estimates are steady: over a doubling of an arm's pulls none of its estimates
        moved by more than this share of the tolerance (0 for not at all), or a budget is over.
    max_pulls, max_pulls_per_arm
        Budgets. Without them it ends when it is certified, cannot be, or has pulled an arm 2²⁰ times.
    growth
        By which share of its pulls an arm is pulled before it is looked at again.

    Raises
    ------
    BadInput
        A parameter is outside its range, or two of them exclude each other.

    >>> from frontguard import Prescient
    >>> policy = Certified(2, 1, threat=Prescient(0.1), accuracy=0.1)
    >>> while not policy.done:
    ...     arms = policy.ask()
    ...     policy.tell(arms, [[float(arm)] for arm in arms])
    >>> policy.result().verdicts, policy.result().status
    ({'0': 'beaten', '1': 'keep'}, 'certified')
    >>> gate = Certified(2, 1, threat=Prescient(0.1), accuracy=0.1, baseline=1)
    >>> while not gate.done:
    ...     arms = gate.ask()
    ...     gate.tell(arms, [[float(arm)] for arm in arms])
    >>> gate.against.outcomes.tolist()  # 2: certainly worse
    [[2], [0]]
    """

    name: ClassVar[str] = "certified"
    rolling: ClassVar[bool] = True
    takes_failures: ClassVar[bool] = True
    standing: Standing

    def __init__(  # noqa: PLR0913 (a public entry point)
        self,
        arms: int,
        objectives: int,
        *,
        threat: Threat,
        accuracy: npt.ArrayLike,
        coverage: npt.ArrayLike | None = None,
        delta: float = 0.1,
        spread: SpreadBound | Any | None = None,
        t_bar: float = 0.49,
        quantiles: npt.ArrayLike = 0.5,
        statistics: Sequence[Statistic] | None = None,
        limits: LimitRule | None = None,
        goal: str = "front",
        margin: npt.ArrayLike | None = None,
        costs: npt.ArrayLike | None = None,
        polish: float = 0.0,
        max_pulls: int | None = None,
        max_pulls_per_arm: int | None = None,
        growth: float | None = None,
        blocks: bool = False,
        baseline: int | None = None,
        paired: bool = False,
        items: int = 0,
        independent: bool = False,
        foreseen: bool = True,
    ) -> None:
        super().__init__(arms, objectives)
        self.threat, self.delta = threat, checked_delta(delta)
        self.limits = LimitRule.of(()) if limits is None else limits
        wider = 0 if limits is None else len(statistics or ())
        counted = checked_statistics(statistics, quantiles, max(self.objectives, wider), threat)
        items = checked_count(items, "items") if items else 0
        self.rule, self.differences = evidence_of(
            Compared(self.arms, self.objectives, baseline), threat, counted, delta=self.delta, spread=spread,
            t_bar=t_bar, paired=paired, items=items, blocks=blocks, independent=independent, foreseen=foreseen,
            limited=len(self.limits.columns) > 0,
        )  # fmt: skip
        self.kinds = self.rule.kinds[: len(counted)]
        self.limits.check(self.width)
        self.baseline = baseline
        allowed = checked_tolerance(accuracy, self.objectives, "accuracy")
        covering = allowed if coverage is None else checked_tolerance(coverage, self.objectives, "coverage")
        beaten = None if margin is None else checked_tolerance(margin, self.objectives, "margin")
        self.goal = Goal.of(allowed, covering, goal, beaten)
        # Of an arm that may not be matched within γ, what holds of the best one does not say enough.
        self._best = self.rule.best if (covering >= allowed).all() else -1
        self.costs = one_for_each(
            1.0 if costs is None else costs, self.arms, "costs", lambda array: array >= 0.0, "finite and not negative",
            of="arm",
        )  # fmt: skip
        self.polish = real_number(polish, "polish")
        if not 0.0 <= self.polish <= 1.0:
            raise BadArgument("polish", must="be a share of the tolerance from 0 to 1", got=repr(polish))
        self.blocks = blocks
        growth = (BLOCK_GROWTH if blocks else GROWTH) if growth is None else growth
        if not 0.0 < real_number(growth, "growth") <= 1.0:
            raise BadInput(f"growth must be above 0 and at most 1; got {growth!r}")
        control = np.zeros(1, CONTROL)
        everything, each = np.iinfo(np.int64).max, LARGEST
        if max_pulls is not None:
            everything = checked_count(max_pulls, "max_pulls")
        if max_pulls_per_arm is not None:
            each = min(LARGEST, checked_count(max_pulls_per_arm, "max_pulls_per_arm"))
        each = min(each, items) if items else each
        size = self.differences.block
        each = each // size * size if each > size else each  # what is left of a block says nothing
        control["max_pulls"], control["max_per_arm"] = everything, each
        # Before every objective can have an interval, deciding would be in vain. Limits need not be known of every arm.
        control["first"] = max([1, *(end for end in self._first_bounded() if end is not None)])
        if size > 1:
            control["first"] = next_look(1)
        control["growth"] = growth
        control["accuracy_slack"] = control["coverage_slack"] = np.inf
        self._start = control
        self._begin()

    def _first_bounded(self) -> list[int | None]:
        return first_bounded(self.rule)[: 2 * self.objectives]

    def _begin(self) -> None:
        super()._begin()
        self.rule = self.rule._replace(best=self._best)
        self.differences = self.differences.copy()
        self.differences.begin()
        self.against: AgainstBaseline | None = None
        if self.baseline is not None:
            kind = BySamples if isinstance(self.differences, TwoSamples) else AgainstBaseline
            self.against = kind(self.baseline, self.goal.accuracy, self.limits, self.differences)
        self.standing = new_standing(self.arms, self.differences.unknown(self.width), self._start.copy())
        self.standing.arms["cost"] = relative_costs(self.costs)
        self._carried = Carried.nothing(self.standing.intervals) if self.blocks else None
        self._hold_nothing(counted=self.kinds == BOUNDED_MEAN)
        self._touched = np.zeros(self.arms, np.bool_)  # arms with values that no decision has seen
        self._told_since = 0  # pulls told since the last decision
        self._certified = 0  # 1 once what is returned is certified, and better estimates are waited for
        self._moving = nothing_steady(self.arms, self.objectives)
        self._all_seen = False  # every arm has been pulled: before, there is nothing to decide

    @classmethod
    def for_objectives(
        cls,
        arms: int,
        objectives: Iterable[Objective | str | tuple[str, str]],
        *,
        threat: Threat,
        limits: Iterable[Limit | str] = (),
        **settings: Any,
    ) -> Self:
        """Return the policy for objectives in the user's terms, whose tolerances are accuracy and coverage.

        Tell it what `objectives.inward_matrix`, or with `limits` `limits.Columns.observed`, makes of measurements.
        """
        parsed = parse_objectives(objectives)
        columns = columns_for(parsed, parse_limits(limits))
        # R, if it is given, was given for the objectives.
        others = (each._replace(spread=False) for each in statistics_of(columns.boxed[len(parsed) :]))
        counted = (*statistics_of(parsed), *others)
        return cls(
            arms,
            len(parsed),
            threat=threat,
            limits=LimitRule.of(columns.gates),
            **{"accuracy": tolerances(parsed), "statistics": counted, **settings},
        )

    @classmethod
    def for_question(cls, question: Question, arms: Sequence[str], **settings: Any) -> Self:
        """Return the policy that answers a question about these arms; `settings` are those of the constructor.

        >>> from frontguard import Question
        >>> Certified.for_question(Question.of(minimize="seconds", tolerance="5%"), ["a", "b"]).arms
        2
        """
        if question.contamination == AUTO:
            raise BadArgument("contamination", "'auto' is for logs: pulls are planned for one; say it, or leave it out")
        optional: dict[str, Any] = {} if question.coverage is None else {"coverage": question.coverage}
        return cls.for_objectives(
            len(arms),
            question.objectives,
            threat=question.threat,
            delta=question.delta,
            spread=question.spread,
            polish=POLISH if question.polish else 0.0,
            max_pulls_per_arm=question.max_pulls_per_arm,
            limits=question.limits,
            goal=question.goal,
            baseline=None if question.baseline is None else list(arms).index(question.baseline),
            paired=question.paired,
            items=question.items or 0,
            independent=question.independent,
            blocks=question.in_blocks,
            **optional,
            **settings,
        )

    @property
    def width(self) -> int:
        """Values of a pull: one for each objective, and those that are only limited."""
        return len(self.kinds)

    @property
    def accuracy(self) -> Floats:
        """γ (M,)."""
        return self.goal.accuracy

    @property
    def coverage(self) -> Floats:
        """c (M,)."""
        return self.goal.coverage

    @property
    def done(self) -> bool:
        """True once it has stopped: certified, out of budget, or for want of anything that could help."""
        return bool(self.standing.control["stop"][0] != RUNNING)

    @property
    def pulls_per_arm(self) -> Ints:
        """Pulls of every arm, failed ones included."""
        return self.standing.arms["pulls"].copy()

    @property
    def estimates(self) -> Floats:
        """Empirical quantiles (K, M) of the pulls that did not fail; −∞ where there are none."""
        return self.standing.intervals[:, ESTIMATE, : self.objectives].copy()

    @property
    def status(self) -> str:
        """The state: running, certified (also while it goes on for steady estimates), budget or unreachable."""
        return "certified" if self._certified else STOPS[int(self.standing.control["stop"][0])]

    def halt(self) -> None:
        """Stop here, because the caller's time or patience is over: the status is `budget`, what holds now stands."""
        if not self.done:
            self.standing.control["stop"] = CERTIFIED if self._certified else BUDGET
        if self._calls is not None:
            self._calls.append(("halt",))

    def weigh(self, costs: npt.ArrayLike) -> None:
        """Hold what a pull of each arm (K,) costs against what it gains from now on; NaN where that is not known."""
        self.standing.arms["cost"] = relative_costs(costs)
        self._calls = None

    def _next(self, pulls: int | None) -> Ints:
        arms, control = self.standing.arms, self.standing.control
        if pulls is not None:
            wanted, _ = most_urgent(self.standing, self._outstanding, pulls)
            at, most = arms["pulls"][wanted] + self._outstanding[wanted], int(control["max_per_arm"][0])
            return spread_evenly(pulls, wanted, at, most)
        if self.blocks:
            return self._next_blocks(1, None)[: int(control["max_pulls"][0] - control["pulls"][0])]
        wanted, counts = next_batch(self.standing)
        return np.repeat(wanted, np.maximum(counts, 0))[: int(control["max_pulls"][0] - control["pulls"][0])]

    def _next_blocks(self, at_least: int, probe: int | None) -> Ints:
        """Return blocks of the arms that are not beaten, `at_least` so many pulls; first what arms lack."""
        control, wanted = self.standing.control[0], np.flatnonzero(self.standing.arms["wanted"])
        if not len(wanted):
            return wanted
        asked = self.standing.arms["pulls"][wanted] + self._outstanding[wanted]
        level, size = int(asked.max()), self.differences.block
        if size > 1:  # equally many of all, up to the next look, whatever each has
            have = int(asked.min())
            more = next_look(have + max(1, -(-at_least // len(wanted)))) - have if have or probe is None else size
            return np.repeat(wanted, min(more, int(control["max_per_arm"]) - level))
        if (asked == level).all():
            first = int(control["first"])
            goal = level + max(1, math.ceil(control["growth"] * level)) if level >= first else first
            if probe is not None and self.standing.arms["pulls"][wanted].min() < probe:
                goal = min(probe, goal)
            goal = max(goal, level + -(-at_least // len(wanted)))
            level = min(goal, int(control["max_per_arm"]))
        return np.repeat(wanted, np.maximum(level - asked, 0))

    @property
    def alive(self) -> Bools:
        """The arms (K,) of which more pulls may be wanted: neither put out nor excluded."""
        there = np.zeros(self.arms, np.bool_)
        there[self._alive] = True
        return there

    def _verdicts(self) -> tuple[Ints, Ints]:
        """Return what may be said of the arms: of those that cannot be the best, that they are beaten, or matched.

        The rule puts an arm out by an end that holds of the best arm. That it is beaten takes H, which holds of all; if
        not, a kept arm is as good as the best one, within γ, and so as this one (docs/theory.md, (dd)).
        """
        codes, decided_by = super()._verdicts()
        alive, out = self._alive, np.flatnonzero(codes == Verdict.BEATEN)
        if self.rule.best < 0 or not len(alive) or not len(out):
            return codes, decided_by
        ends = self.standing.intervals[:, :, 0]
        first = int(alive[ends[alive, LOW].argmax()])
        low, high = np.full(len(out), ends[first, LOW]), ends[out, HIGH]
        if self._carried is not None:  # as they were when they were put out
            low, high = self._carried.its[out, LOW, 0], self._carried.own[out, HIGH, 0]
        kept = alive[codes[alive] == Verdict.KEEP]
        by = int(kept[ends[kept, LOW].argmax()]) if len(kept) else first
        beaten = high < low
        codes[out] = np.where(beaten, Verdict.BEATEN, Verdict.MATCHED if len(kept) else Verdict.UNDECIDED)
        decided_by[out] = np.where(beaten, decided_by[out] if self._carried is not None else first, by)
        return codes, decided_by

    @property
    def _alive(self) -> Ints:
        """The arms that are neither beaten nor excluded."""
        return self.standing.alive[: int(self.standing.control["alive"][0])]

    # For those who keep a log and replay it, and so say themselves when to decide -------------------------------------

    def next_pulls(self, at_least: int = 1, probe: int | None = None) -> Ints:
        """Return arms worth pulling, `at_least` so many pulls beside those out; first `probe` of a new arm."""
        if self.blocks:
            return self._next_blocks(at_least, probe)
        return worth_pulling(self.standing, self._outstanding, at_least, probe)

    def expect(self, arms: npt.ArrayLike) -> None:
        """Count pulls of `arms` as asked for."""
        self._expect(self._checked_arms(arms))
        self._calls = None

    def take(self, arms: npt.ArrayLike, values: npt.ArrayLike, reps: npt.ArrayLike | None = None) -> None:
        """Take values as `tell` does, but decide nothing yet."""
        self._take(arms, values, reps)
        self._calls = None

    def dismiss(self, arms: npt.ArrayLike) -> None:
        """Drop pulls of `arms` that were asked for and that do not count, neither as values nor as failed."""
        dismissed, counts = np.unique(self._checked_arms(arms), return_counts=True)
        if (counts > self._outstanding[dismissed]).any():
            raise OutOfTurn(f"{self.name} has fewer pulls out than are to be dismissed")
        self._outstanding[dismissed] -= counts
        self._waiting -= int(counts.sum())
        self._touched[dismissed] = True
        self._calls = None

    def decide(self) -> None:
        """Decide on all that was told; pulls that are out count as failed."""
        self._decide()
        self._calls = None

    def exclude(self, arms: Iterable[int]) -> None:
        """Go on without arms that cannot be measured: the answer is about the others."""
        alive, records = self._alive, self.standing.arms
        for arm in arms:
            records["wanted"][arm] = records["candidate"][arm] = 0
            records["status"][arm], records["decided_by"][arm] = Verdict.EXCLUDED, -1
            alive = alive[alive != arm]
            self.standing.control["revive"] = 1  # those that only this one put out come back
        self.standing.alive[: len(alive)] = alive
        self.standing.control["alive"] = len(alive)
        if len(self.excluded):
            self.differences.exclude(self.standing.intervals)
            if self.rule.best >= 0:  # which of the others is the best may depend on what was measured
                self.rule = self.rule._replace(best=-1)
                self._touched[:] = True
        self._calls = None

    @property
    def by_present_samples(self) -> bool:
        """True if intervals are those of the present samples, and are not intersected with earlier ones."""
        return self.blocks or self.against is not None

    @property
    def refuted(self) -> Bools:
        """The arms and columns (K, C) whose measurements contradict what is assumed: nothing is known of them."""
        found = np.asarray((self.standing.intervals[:, REFUTED] == 2.0) & (self.kinds != EXACT))
        found[:, : self.objectives] |= self.differences.refuted
        return found

    def give_up(self, which: Bools) -> None:
        """Forget all about these arms and columns (K, C), and go on with the other arms, as with arms excluded."""
        for arm, d in np.argwhere(which).tolist():
            refute(self.standing.intervals[arm, :, d])
        self.exclude(np.flatnonzero(which.any(axis=1)).tolist())

    @property
    def excluded(self) -> Ints:
        """The arms that were excluded."""
        return np.flatnonzero(self.standing.arms["status"] == Verdict.EXCLUDED)

    def carry_on(self) -> None:
        """Take a stop back: the study went on, with a larger budget or another goal."""
        self.standing.control["stop"] = RUNNING
        self._calls = None

    def copy(self) -> Self:
        """Return the same policy in the same state, to try something on."""
        return self.with_pending(Pending(self.arms, self.width))

    def with_pending(self, pending: Pending) -> Self:
        """Return a copy that has taken what is pending and decided nothing; it shares samples, and costs little."""
        self._merge()
        policy = copy(self)
        policy._calls = None
        policy.standing, policy.columns = self.standing.copy(), self.columns.copy()
        policy._outstanding, policy._touched = self._outstanding - pending.counts, self._touched.copy()
        policy._waiting -= len(pending)
        policy.dismiss(pending.dismissed)
        policy._count(np.flatnonzero(pending.counts), pending.counts[pending.counts > 0])
        policy.differences = self.differences.copy()
        for arms, reps, values in pending.by_block:
            policy.differences.add(arms, reps, values)
        policy.against = None if self.against is None else self.against.copy()
        self._lend(policy, pending)
        return policy

    def _count(self, arms: Ints, counts: Ints) -> None:
        """Count so many told pulls of each of these arms."""
        self.standing.arms["pulls"][arms] += counts
        self.standing.control["pulls"] += counts.sum()
        self._told_since += int(counts.sum())
        self._touched[arms] = True

    def _absorb(self, arms: Ints, values: Floats, reps: Ints | None) -> None:
        if self.differences.in_blocks:
            if reps is None:  # in the order of telling
                first = np.searchsorted(arms, arms)
                reps = self.standing.arms["pulls"][arms] + 1 + np.arange(len(arms)) - first
            self.differences.add(arms, reps, values)
        self._hold(arms, values)
        self._count(*np.unique(arms, return_counts=True))

    def _enough(self, told: int) -> bool:
        """Decide when nothing is out any more, and before that whenever some percent of new pulls have come."""
        control = self.standing.control
        if not self._waiting:
            return told > 0
        return bool(self._told_since > control["growth"][0] * (control["pulls"][0] - told))

    def _decide(self) -> None:
        if self.done:  # pulls that were out when it stopped: welcome, but the answer stands
            return
        standing = self.standing
        touched = np.flatnonzero(self._touched)
        if self._refresh(touched):
            standing.control["revive"] = 1
        self._touched[:] = False
        self._told_since = 0
        if self.against is not None:
            standing.control["decisions"] += 1
            self.against.look(standing.intervals, self.differences)
            self.against.want(standing)
            self._look_at_estimates()
            return
        if not self._all_seen:
            arms = standing.arms
            self._all_seen = bool(((arms["pulls"] > 0) | (arms["status"] == Verdict.EXCLUDED)).all())
        if self._all_seen and (standing.arms["status"] != Verdict.EXCLUDED).any():
            self._judge()
            if self._carried is not None:
                self._go_on_in_blocks(self._carried)

    def _go_on_in_blocks(self, carried: Carried) -> None:
        """Want every arm that is not beaten, and carry those along that are."""
        arms, alive = self.standing.arms, self._alive
        if not self.done:
            arms["wanted"][alive] = 1
        out = np.flatnonzero(arms["status"] == Verdict.BEATEN)
        if len(alive):
            by = np.where(arms["decided_by"][out] >= 0, arms["decided_by"][out], alive[0])
            self._carried = carried.after(self.standing.intervals, out, by)

    def _judge(self) -> None:
        """Decide on the intervals. What was certified stays until another set is, unless its grounds were given up."""
        standing = self.standing
        before = standing.copy() if self._certified and not standing.control["revive"][0] else None
        decide(self.read_by_rule(), self.goal)
        if before is not None and standing.control["stop"][0] != CERTIFIED:
            for array, kept in ((standing.arms, before.arms), (standing.alive, before.alive)):
                array[:] = kept
            standing.control[:] = before.control
            standing.control["stop"] = CERTIFIED
        self._look_at_estimates()

    @property
    def unsteady(self) -> Ints:
        """The arms that are not beaten and whose estimates still move, or were not looked at for long enough."""
        alive = self._alive
        return np.sort(alive[~self._moving.steady[alive]])

    def _look_at_estimates(self) -> None:
        """Go on for the arms whose estimates still move, if it is certified and is to be polished."""
        self._certified = int(bool(self.polish) and self.standing.control["stop"][0] == CERTIFIED)
        if self._certified:
            scale = np.where(self.goal.accuracy > 0.0, self.goal.accuracy, self.standing.scales[: self.objectives])
            self._moving = want_unsteady(self.standing, self._moving, self.polish * scale)

    def _refresh(self, touched: Ints) -> bool:
        """Update what is known of arms that were told; return whether some of it was found false."""
        intervals = self.standing.intervals
        asked = self.standing.arms["pulls"] + self._outstanding  # those that are out count as failed
        if self.blocks:
            touched = touched[self.standing.arms["status"][touched] != Verdict.BEATEN]
        if self.by_present_samples:
            self.differences.forget(intervals, touched)  # the present samples count
        found_false = bool(refresh_all(intervals, touched, self.samples, asked[touched], self.rule))
        if self._carried is not None:
            self._carried.move(intervals, self.kinds != EXACT)
        if self.rule.best < 0:  # from when on nothing is read that holds of the best arm, also of arms that come back
            intervals[:, BEST_HIGH] = intervals[:, HIGH]
        if self.differences.columns:  # else there is nothing beside the intervals
            found_false |= self.differences.refresh(
                Sampled(intervals, self.samples, asked, touched, np.sort(self._alive))
            )
            if len(self.excluded):
                self.differences.exclude(intervals)
        return found_false

    def read_by_rule(self) -> Standing:
        """Return the state of the arms with the intervals that the rule reads: see `pareto.relations` for limits."""
        standing = self.standing
        if not len(self.limits.columns):
            return standing
        veiled = np.empty((self.arms, standing.intervals.shape[1], self.objectives))
        veil(standing.intervals, self.limits, standing.arms, veiled)
        return standing._replace(intervals=veiled)

    def certificate(self) -> Certificate:
        """Return what holds now of the kept arms: the least accuracy and coverage with which they can be returned."""
        alive, standing = self._alive, self.standing
        if standing.intervals.shape[1] > COLUMNS and self.against is None:
            intervals = standing.intervals[:, :, : self.objectives]
            returned = standing.arms["status"][alive] == Verdict.KEEP
            return self._certificate(*promised_of_pairs(intervals, alive, returned, self.goal))
        lower, upper = (standing.intervals[alive, column, : self.objectives] for column in (LOW, BEST_HIGH))
        inside, exact = standing.arms["status"][alive] == Verdict.KEEP, self.kinds[: self.objectives] == EXACT
        return self._certificate(*promised_amounts(lower, upper, inside, self.goal, exact))

    def outlook(self) -> Certificate:
        """Return how near the goal is: the least accuracy and coverage with which candidates could be returned."""
        control = self.standing.control
        return self._with_slacks(float(control["accuracy_slack"][0]), float(control["coverage_slack"][0]))

    def _with_slacks(self, accuracy: float, coverage: float) -> Certificate:
        return self._certificate(self.accuracy + accuracy, self.coverage + coverage)

    def _certificate(self, accuracy: Floats, coverage: Floats) -> Certificate:
        return Certificate(
            accuracy=_one_or_all(np.maximum(accuracy, 0.0)),
            coverage=_one_or_all(np.maximum(coverage, 0.0)),
            confidence=1.0 - self.delta,
            threat=self.threat.name,
            contamination=self.threat.eps,
            by_column=self.threat.by_column,
        )

    def reachable(self) -> Certificate:
        """Return the best that further pulls could bring the certificate to, samples going on: floors are for ever."""
        standing, alive = self.read_by_rule(), self._alive
        if standing.intervals.shape[1] == COLUMNS:
            return self._with_slacks(*reachable(standing, self.goal))
        lasting = lasting_intervals(standing.intervals)[:, :, : self.objectives]
        returned = standing.arms["candidate"][alive] != NOT_RETURNED
        return self._certificate(*promised_of_pairs(lasting, alive, returned, self.goal))

    def result(self, arm_names: Sequence[str] | None = None, objective_names: Sequence[str] | None = None) -> Answer:
        """Return the answer so far, final once `done`, with a guess where no arm is kept; `against` has a gate's."""
        found = replace(super().result(arm_names, objective_names), goal=self.goal.name)
        if self.against is not None:
            found = self._judged_now(found)
        intervals, M = self.standing.intervals, self.objectives
        found = replace(found, apart=rival_bounds(intervals, found.decided_by, M), pairs=pair_bounds(intervals, M))
        codes = found.verdict_codes
        if not found.pulls or (codes == Verdict.KEEP).any():
            return found
        alive = (codes != Verdict.BEATEN) & (codes != Verdict.EXCLUDED)
        front = front_of_estimates(self.standing.intervals[:, ESTIMATE], alive, **self._aims)
        # After how many pulls something can be said at least, pairs do not tell beforehand.
        in_pairs = self.differences.in_blocks and not self.blocks
        least = (None, None) if in_pairs else first_and_whole(self._first_bounded())
        return replace(found, guess=Guess(front, *least))

    def _judged_now(self, found: Answer) -> Answer:
        """Return the answer with the verdicts of the present intervals on the arms that could be measured."""
        kept = np.flatnonzero(found.verdict_codes != Verdict.EXCLUDED)
        found = replace(found, outlook=None)
        if not len(kept):
            return found
        columns = (LOW, HIGH, ESTIMATE, DOUBT_LOW, DOUBT_HIGH)
        intervals = ArmIntervals(*(self.standing.intervals[kept, column] for column in columns))
        verdicts = judge(intervals, **self._aims)
        codes, decided_by = found.verdict_codes.copy(), found.decided_by.copy()
        codes[kept] = verdicts.codes
        decided_by[kept] = np.where(verdicts.decided_by >= 0, kept[verdicts.decided_by], -1)
        exact = self.kinds[: self.objectives] == EXACT
        now = self._certificate(*promised_now(intervals, verdicts, **self._aims, exact=exact))
        promised = replace(found.certificate, accuracy=now.accuracy, coverage=now.coverage)
        return replace(found, verdict_codes=codes, decided_by=decided_by, certificate=promised)

    @property
    def _aims(self) -> dict[str, Any]:
        """The goal as `judge` takes it."""
        tolerances = {"accuracy": self.accuracy, "coverage": self.coverage, "margin": self.goal.margin}
        limits = self.limits if len(self.limits.columns) else None
        return {**tolerances, "goal": self.goal.name, "limits": limits}

    def _bounds(self) -> tuple[Floats, Floats]:
        intervals = self.standing.intervals
        return intervals[:, LOW, : self.objectives], intervals[:, HIGH, : self.objectives]

    def kept(self, gates: Sequence[Gate]) -> Kept | None:
        """Return how arms stand to the limits that it was made with; None without."""
        if not gates:
            return None
        columns, intervals = self.limits.columns, self.standing.intervals
        low, high, estimates = (intervals[:, each] for each in (LOW, HIGH, ESTIMATE))
        inner = Intervals(
            np.where(np.isneginf(estimates), np.nan, estimates)[:, columns], low[:, columns], high[:, columns]
        )
        return Kept(tuple(gates), keeping_of(low, high, self.limits), inner)

    def _notices(self) -> tuple[Notice, ...]:
        """Return which assumptions were given up, because measurements contradict them."""
        without_spread = (self.standing.intervals[:, REFUTED] == 1.0).any(axis=1)
        found: list[Notice] = []
        if without_spread.any():
            found.append(SpreadRefuted(int(without_spread.sum()), self.arms))
        if self.refuted.any():
            arms, alone = int(self.refuted.any(axis=1).sum()), bool(self.differences.refuted.any())
            found.append(ContaminationRefuted(arms, self.arms, self.threat.eps, in_blocks=alone))
        return (*found, *self.differences.notices())


def _one_or_all(values: Floats) -> float | tuple[float, ...]:
    return float(values[0]) if (values == values[0]).all() else tuple(float(value) for value in values)
