"""The certified policy: an anytime guarantee that needs no assumption on the rewards' shape, and few pulls.

How it decides is written in `certified_rule`; why that may be trusted, in docs/theory.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from frontguard._checks import checked_count, checked_delta, real_number
from frontguard._typing import Floats, Ints
from frontguard.errors import BadInput, OutOfTurn
from frontguard.evidence.boundaries import STEPS
from frontguard.evidence.boxes import LARGEST, BoxRule, box_rule
from frontguard.evidence.samples import Table, empty_pool, empty_table, take_in
from frontguard.notices import ContaminationRefuted, Notice, SpreadRefuted
from frontguard.objectives import Objective, parse_objectives, quantiles, tolerances
from frontguard.pareto.rule import (
    ARM,
    BUDGET,
    CONTROL,
    ESTIMATE,
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    PLAIN_HIGH,
    PLAIN_LOW,
    REFUTED,
    RUNNING,
    STOPS,
    absorb,
    batch_of,
    decide,
    refresh_all,
)
from frontguard.policies.ahead import Ahead
from frontguard.policies.base import Policy, State
from frontguard.results import Certificate, Result
from frontguard.theory.spread import SpreadBound
from frontguard.theory.threats import Threat, threat_named
from frontguard.verdicts import OUT, Verdict

GROWTH = 0.03
"""By how much the pulls of an arm grow at a time: the cost of deciding stays small, and little is pulled in vain."""


class Certified(Policy):
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
    spread
        R, if the spread of the rewards around their medians is known; it saves pulls and, at large ε, makes answers
        possible at all. None assumes nothing.
    t_bar
        Up to where R is known.
    quantiles
        Which quantile of the rewards counts: 1/2, the median, or another level; one for all or one for each objective.
    margin
        By how much an arm has to be beaten in the point estimates not to be returned; half of γ − c unless given.
    most_pulls, most_pulls_per_arm
        Budgets. Without them it goes on until it is certified, or sees that it cannot be, or has pulled an arm 2²⁰
        times.

    >>> from frontguard import Prescient
    >>> policy = Certified(2, 1, threat=Prescient(0.1), accuracy=0.1)
    >>> while not policy.done:
    ...     arms = policy.ask()
    ...     policy.tell(arms, [[float(arm)] for arm in arms])
    >>> policy.result().verdicts, policy.result().status
    ({'0': 'out', '1': 'in'}, 'certified')
    """

    name: ClassVar[str] = "certified"

    def __init__(
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
        margin: npt.ArrayLike | None = None,
        most_pulls: int | None = None,
        most_pulls_per_arm: int | None = None,
        growth: float = GROWTH,
    ) -> None:
        super().__init__(arms, objectives)
        rule = box_rule(
            threat,
            arms=self.arms,
            objectives=self.objectives,
            delta=delta,
            spread=spread,
            t_bar=t_bar,
            quantiles=quantiles,
        )
        allowed = _tolerance(accuracy, self.objectives, "accuracy")
        covering = allowed if coverage is None else _tolerance(coverage, self.objectives, "coverage")
        beaten = np.maximum(allowed - covering, 0.0) / 2
        if margin is not None:
            beaten = _tolerance(margin, self.objectives, "margin")
        if not 0.0 < real_number(growth, "growth") <= 1.0:
            raise BadInput(f"growth must be above 0 and at most 1; got {growth!r}")
        control = np.zeros(1, CONTROL)
        control["alive"] = self.arms
        everything, each = np.iinfo(np.int64).max, LARGEST
        if most_pulls is not None:
            everything = checked_count(most_pulls, "most_pulls")
        if most_pulls_per_arm is not None:
            each = min(LARGEST, checked_count(most_pulls_per_arm, "most_pulls_per_arm"))
        control["most_pulls"], control["most_per_arm"] = everything, each
        control["first"] = _first_pulls(rule)
        control["growth"] = growth
        control["accuracy_slack"] = control["coverage_slack"] = np.inf
        self._set_up(threat, checked_delta(delta), rule, allowed, covering, beaten, control)

    @classmethod
    def for_objectives(
        cls, arms: int, objectives: Iterable[Objective | str | tuple[str, str]], *, threat: Threat, **settings: Any
    ) -> Self:
        """The policy for objectives in the user's terms: directions, tolerances (also relative) and quantiles.

        Their tolerances are both accuracy and coverage. Tell it what `objectives.inward_matrix` makes of measurements.

        >>> from frontguard import Objective, Prescient
        >>> seconds = Objective("seconds", "minimize", tolerance="2%", quantile=0.9)
        >>> policy = Certified.for_objectives(3, [seconds, ("size", "minimize")], threat=Prescient(0.1))
        >>> policy.accuracy.round(4).tolist(), policy.rule.quantiles.round(4).tolist()
        ([0.0198, 0.0], [0.1, 0.5])
        """
        parsed = parse_objectives(objectives)
        return cls(
            arms,
            len(parsed),
            threat=threat,
            **{"accuracy": tolerances(parsed), "quantiles": quantiles(parsed), **settings},
        )

    def _set_up(
        self,
        threat: Threat,
        delta: float,
        rule: BoxRule,
        accuracy: Floats,
        coverage: Floats,
        margin: Floats,
        control: Table,
    ) -> None:
        self.threat = threat
        self.delta = delta
        self.rule = rule
        self.accuracy = accuracy
        self.coverage = coverage
        self.margin = margin
        self._start = control.copy()
        self._control = control
        self._table = np.zeros(self.arms, ARM)
        self._table["wanted"] = 1
        self._table["decided_by"] = -1
        self._alive = np.arange(self.arms)
        self._boxes = np.zeros((self.arms, self.objectives, 7))
        self._boxes[..., [LOW, LOW_FLOOR, PLAIN_LOW]] = -np.inf
        self._boxes[..., [HIGH, HIGH_FLOOR, PLAIN_HIGH]] = np.inf
        self._centres = np.full((self.arms, self.objectives, 3), -np.inf)
        self._columns = empty_table(self.arms * self.objectives)
        self._pool = empty_pool(self.arms * self.objectives)
        self._beside = np.empty(0)  # values that were not merged into the pool yet, see `with_ahead`
        self._pool_users: WeakSet[Certified] = WeakSet([self])  # policies that read this very pool
        self._front = np.empty(self.arms, np.int64)
        self._touched: set[int] = set()  # arms with values that no decision has seen
        self._told_since = 0  # pulls told since the last decision
        self._all_seen = False  # whether every arm has been pulled: before, there is nothing to decide
        self._deciding = True

    @property
    def done(self) -> bool:
        """Whether it has stopped: certified, out of budget, or for want of anything that could help."""
        return bool(self._control["stop"][0] != RUNNING)

    @property
    def verdict_codes(self) -> Ints:
        """The `Verdict` of every arm as a number."""
        return self._table["status"].copy()

    @property
    def pulls_per_arm(self) -> Ints:
        """How often every arm was pulled, failed pulls included."""
        return self._table["pulls"].copy()

    @property
    def estimates(self) -> Floats:
        """Empirical quantiles (K, M) of the pulls that did not fail; −∞ where there are none."""
        return self._centres[..., ESTIMATE].copy()

    @property
    def status(self) -> str:
        """running, certified, budget or unreachable."""
        return STOPS[int(self._control["stop"][0])]

    def halt(self) -> None:
        """Stop here, because the caller's time or patience is over: the status is `budget`, what holds now stands."""
        if not self.done:
            self._control["stop"] = BUDGET

    def ask(self, pulls: int | None = None) -> Ints:
        """The arms to pull next: the next batch or, given `pulls`, that many which are useful together.

        With a number it may be called while pulls are still out; these are taken into account.
        """
        if self.done:
            raise OutOfTurn(f"{self.name} has stopped ({self.status}): read result()")
        if pulls is None:
            if self._waiting:
                raise OutOfTurn(
                    f"{self.name} still waits for {self._waiting} pulls of the last ask(): tell them first, or ask "
                    "for a number of pulls"
                )
            wanted = self._wanted()
            counts = np.array([batch_of(self._table, self._control, int(i)) for i in wanted], np.int64)
            left = int(self._control["most_pulls"][0] - self._control["pulls"][0])
            asked = np.repeat(wanted, counts)[:left]
        else:
            wanted = self._wanted()
            at = self._table["pulls"][wanted] + self._outstanding[wanted]
            asked = self._some(checked_count(pulls, "pulls"), wanted, at)
        self.expect(asked)
        return asked

    def _wanted(self) -> Ints:
        """The arms that stand in the way of the certificate, or whose rivals do."""
        alive = self._alive[: int(self._control["alive"][0])]
        wanted: Ints = np.sort(alive[self._table["wanted"][alive] == 1])
        return wanted

    def _some(self, pulls: int, wanted: Ints, at: Ints) -> Ints:
        """So many pulls of the wanted arms, which stand `at` so many, each to the one that has fewest."""
        at = at.copy()
        asked = np.empty(pulls, np.int64)
        for n in range(pulls):
            least = int(np.argmin(at))
            if at[least] >= self._control["most_per_arm"][0]:
                asked = asked[:n]
                break
            asked[n] = wanted[least]
            at[least] += 1
        return np.sort(asked)

    # For those who keep a log and replay it, and so say themselves when to decide -------------------------------------

    def next_pulls(self, at_least: int = 1, probe: int | None = None) -> Ints:
        """Arms worth pulling next, `at_least` so many pulls, whatever is out already; expects none of them yet.

        An arm's first batch begins with `probe` pulls, if given: should it fail them all, no more are spent on it.
        """
        wanted = self._wanted()
        if not len(wanted):
            return wanted
        have, out = self._table["pulls"][wanted], self._outstanding[wanted]
        first, each = int(self._control["first"][0]), int(self._control["most_per_arm"][0])
        grown = have + np.maximum(1, np.ceil(self._control["growth"][0] * have)).astype(np.int64)
        goal = np.where(have < first, first, grown)
        if probe is not None:
            goal = np.where(have < probe, min(probe, first), goal)
        counts = np.maximum(np.minimum(goal, each) - have - out, 0)
        asked: Ints = np.repeat(wanted, counts)
        if len(asked) < at_least:
            asked = np.concatenate([asked, self._some(at_least - len(asked), wanted, have + out + counts)])
        return np.sort(asked)

    def expect(self, arms: npt.ArrayLike) -> None:
        """Count pulls of `arms` as asked for."""
        asked = self._checked_arms(arms)
        np.add.at(self._outstanding, asked, 1)
        self._waiting += len(asked)

    def take(self, arms: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """As `tell`, but decide nothing yet."""
        self._deciding = False
        try:
            self.tell(arms, values)
        finally:
            self._deciding = True

    def decide(self) -> None:
        """Decide on all that was told; pulls that are out count as failed."""
        self._decide()

    def set_aside(self, arms: Iterable[int]) -> None:
        """Go on without arms that cannot be measured: the answer is about the others."""
        alive = self._alive[: int(self._control["alive"][0])]
        for arm in arms:
            self._table["wanted"][arm] = self._table["candidate"][arm] = 0
            self._table["status"][arm], self._table["decided_by"][arm] = Verdict.SET_ASIDE, -1
            alive = alive[alive != arm]
        self._alive[: len(alive)] = alive
        self._control["alive"] = len(alive)

    @property
    def aside(self) -> Ints:
        """The arms that were set aside."""
        return np.flatnonzero(self._table["status"] == Verdict.SET_ASIDE)

    def carry_on(self) -> None:
        """Take a stop back: the caller knows that the study went on, with a larger budget or another goal."""
        self._control["stop"] = RUNNING

    def copy(self) -> Self:
        """The same policy in the same state, to try something on."""
        policy = self.fresh()
        policy._restore({name: array.copy() for name, array in self._moving_arrays().items()})
        policy._outstanding, policy._waiting = self._outstanding.copy(), self._waiting
        return policy

    def with_ahead(self, ahead: Ahead) -> Self:
        """A copy that has taken what is ahead, as `take` would, and has decided nothing; this policy is left as it is.

        Samples are shared and read together with what is ahead of them, so that the cost grows with the arms and not
        with the pulls. Whoever takes more, this policy or the copy, does so on samples of its own if the other is
        still there.
        """
        self._merge()
        policy = type(self).__new__(type(self))
        policy.__dict__.update(self.__dict__)
        policy._control, policy._table = self._control.copy(), self._table.copy()
        policy._alive, policy._outstanding = self._alive.copy(), self._outstanding.copy()
        policy._boxes, policy._centres = self._boxes.copy(), self._centres.copy()
        policy._columns, policy._front = self._columns.copy(), self._front.copy()
        policy._table["pulls"] += ahead.counts
        policy._control["pulls"] += len(ahead)
        policy._outstanding -= ahead.counts
        policy._waiting -= len(ahead)
        policy._told_since += len(ahead)
        policy._touched = self._touched | set(np.flatnonzero(ahead.counts).tolist())
        policy._beside = ahead.lent_to(policy, policy._columns)
        self._pool_users.add(policy)
        return policy

    def _merge(self) -> None:
        """Take what lies beside the pool into it."""
        if len(self._beside):
            self._own_pool()
            self._pool = take_in(self._pool, self._beside, self._columns)
            self._beside = np.empty(0)

    def _own_pool(self) -> None:
        """Have a pool that nobody else reads, before it is written to."""
        if len(self._pool_users) > 1:
            self._pool_users.discard(self)
            self._pool, self._pool_users = self._pool.copy(), WeakSet([self])

    def _checked_values(self, values: npt.ArrayLike, pulls: int) -> Floats:
        """As in the base class, but NaN is welcome: that measurement failed and may have been anything."""
        array = np.asarray(values)
        if np.issubdtype(array.dtype, np.floating):
            failed = np.isnan(array)
            checked = super()._checked_values(np.where(failed, 0.0, array), pulls)
            return np.where(failed.reshape(checked.shape), np.nan, checked)
        return super()._checked_values(array, pulls)

    def _absorb(self, arms: Ints, values: Floats) -> None:
        self._merge()
        self._own_pool()
        self._pool = absorb(self._table, self._control, self._pool, self._columns, arms, values)
        self._touched.update(np.unique(arms).tolist())

    def tell(self, arms: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Take the values (n, M) of pulls of `arms` (n,), which were asked for; NaN where a measurement failed.

        It decides when nothing is out any more, and while pulls are out whenever some percent of new ones have come.
        Pulls that are out count as failed meanwhile.
        """
        before = self._control["pulls"][0]
        super().tell(arms, values)
        if not self._touched:  # the batch was complete, and it has decided
            return
        self._told_since += int(self._control["pulls"][0] - before)
        if self._waiting and self._told_since > self._control["growth"][0] * before:
            self._decide()

    def _next_batch(self) -> Ints:
        raise NotImplementedError("ask() is its own")

    def _decide(self) -> None:
        if self.done or not self._deciding:  # pulls that were out when it stopped: welcome, but the answer stands
            return
        refresh_all(
            self._table, self._boxes, self._centres, self._control, np.array(sorted(self._touched), np.int64),
            self._outstanding, self._pool, self._beside, self._columns, self.rule.quantiles, *self.rule.arrays,
        )  # fmt: skip
        self._touched.clear()
        self._told_since = 0
        if not self._all_seen:
            self._all_seen = bool(((self._table["pulls"] > 0) | (self._table["status"] == Verdict.SET_ASIDE)).all())
        if self._all_seen and self._control["alive"][0]:
            decide(
                self._table, self._boxes, self._centres, self._alive, self._control, self.accuracy, self.coverage,
                self.margin, self._front,
            )  # fmt: skip

    def certificate(self) -> Certificate:
        """What holds now: the smallest accuracy and coverage with which the present candidates could be returned."""
        return self._certificate(float(self._control["accuracy_slack"][0]), float(self._control["coverage_slack"][0]))

    def _certificate(self, accuracy_slack: float, coverage_slack: float) -> Certificate:
        return Certificate(
            accuracy=_one_or_all(np.maximum(self.accuracy + accuracy_slack, 0.0)),
            coverage=_one_or_all(np.maximum(self.coverage + coverage_slack, 0.0)),
            confidence=1.0 - self.delta,
            threat=self.threat.name,
            contamination=self.threat.eps,
        )

    def reachable(self) -> Certificate:
        """What further pulls could bring the certificate to at best, if the samples went on as they are.

        The attacker can hide that much for ever: no number of pulls shrinks a box below its `floors`.
        """
        candidates = np.flatnonzero(self._table["candidate"] > 0)
        status = self._table["status"]
        others = np.flatnonzero((self._table["candidate"] == 0) & (status != OUT) & (status != Verdict.SET_ASIDE))
        low, high = self.floors[..., 0], self.floors[..., 1]
        accuracy, coverage = -np.inf, -np.inf
        for i in candidates:
            rivals = np.concatenate([candidates[candidates != i], others])
            accuracy = max(accuracy, float((high[rivals] - low[i] - self.accuracy).min(axis=1).max(initial=-np.inf)))
        for i in others:
            nearest = float((high[i] - low[candidates] - self.coverage).max(axis=1).min(initial=np.inf))
            coverage = max(coverage, nearest)
        return self._certificate(accuracy, coverage)

    @property
    def floors(self) -> Floats:
        """Per arm and objective the interval (K, M, 2) that no further pull can shrink, as far as samples show it."""
        ends = self._boxes[..., [LOW_FLOOR, HIGH_FLOOR]]
        return np.sort(ends, axis=-1)  # in the long run R may promise more than can be: an empty interval

    def result(self, arm_names: Sequence[str] | None = None, objective_names: Sequence[str] | None = None) -> Result:
        """The answer so far; final once `done`."""
        result = self._result(
            half_widths=np.zeros((self.arms, self.objectives)),
            decided_by=self._table["decided_by"],
            certificate=self.certificate(),
            arm_names=arm_names,
            objective_names=objective_names,
        )
        return replace(
            result,
            status=self.status,
            lower=self._boxes[..., LOW].copy(),
            upper=self._boxes[..., HIGH].copy(),
            notices=self._notices(),
        )

    def _notices(self) -> tuple[Notice, ...]:
        """Which assumptions were given up, because measurements contradict them."""
        spread, threat = (int((self._boxes[..., REFUTED] == what).any(axis=1).sum()) for what in (1, 2))
        found: list[Notice] = []
        if spread:
            found.append(SpreadRefuted(spread, self.arms))
        if threat:
            found.append(ContaminationRefuted(threat, self.arms, self.threat.eps))
        return tuple(found)

    def fresh(self) -> Self:
        """The same policy without any observations."""
        policy = type(self).__new__(type(self))
        Policy.__init__(policy, self.arms, self.objectives)
        policy._set_up(
            self.threat, self.delta, self.rule, self.accuracy, self.coverage, self.margin, self._start.copy()
        )
        return policy

    def _settings(self) -> dict[str, Any]:
        return {"threat": self.threat.name, "eps": self.threat.eps, "delta": self.delta}

    @classmethod
    def _from_settings(cls, settings: dict[str, Any], arrays: State) -> Self:
        policy = cls.__new__(cls)
        Policy.__init__(policy, settings["arms"], settings["objectives"])
        rule = BoxRule(*(arrays[f"rule_{name}"] for name in BoxRule.__dataclass_fields__))
        policy._set_up(
            threat_named(settings["threat"], settings["eps"]), settings["delta"], rule,
            arrays["accuracy"], arrays["coverage"], arrays["margin"], arrays["start"],
        )  # fmt: skip
        return policy

    def _arrays(self) -> State:
        return {
            **{f"rule_{name}": getattr(self.rule, name) for name in BoxRule.__dataclass_fields__},
            "accuracy": self.accuracy,
            "coverage": self.coverage,
            "margin": self.margin,
            "start": self._start,
            **self._moving_arrays(),
        }

    def _moving_arrays(self) -> State:
        self._merge()
        return {
            "control": self._control,
            "arm_records": self._table,
            "alive": self._alive,
            "boxes": self._boxes,
            "centres": self._centres,
            "touched": np.array(sorted(self._touched), np.int64),
            "told_since": np.array(self._told_since),
            "sample_records": self._columns,
            "sample_pool": self._pool[: int(self._columns["count"][-1])],
        }

    def _restore(self, arrays: State) -> None:
        self._control = arrays["control"]
        self._table = arrays["arm_records"]
        self._alive = arrays["alive"]
        self._boxes = arrays["boxes"]
        self._centres = arrays["centres"]
        self._touched = set(arrays["touched"].tolist())
        self._told_since = int(arrays["told_since"])
        self._columns = arrays["sample_records"]
        self._pool, self._beside = arrays["sample_pool"], np.empty(0)


def _tolerance(value: npt.ArrayLike, objectives: int, name: str) -> Floats:
    array = np.asarray(value, np.float64)
    if array.shape not in ((), (objectives,)):
        raise BadInput(f"{name} must be one number or {objectives}, one for each objective; got {array.shape}")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise BadInput(f"{name} must be finite and not negative; got {array.tolist()!r}")
    return np.broadcast_to(array, (objectives,)).copy()


def _first_pulls(rule: BoxRule) -> int:
    """Pulls after which every objective can have a box: before, deciding would be in vain."""
    needed = 1
    for tables in (rule.low_ranks, rule.high_ranks):
        for objective in tables:
            useful = np.flatnonzero((objective > 0).any(axis=0))
            if len(useful):
                needed = max(needed, int(np.ceil((useful[0] / STEPS) ** 2)))
    return needed


def _one_or_all(values: Floats) -> float | tuple[float, ...]:
    return float(values[0]) if (values == values[0]).all() else tuple(float(value) for value in values)
