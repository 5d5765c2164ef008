"""A study at one moment, with all that a person who watches it wants to know: plain data, never changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from frontguard._common.entries import ByArm, finite, gathered
from frontguard._common.typing import Floats, Ints
from frontguard.comparisons.outcomes import GateResult
from frontguard.notices import BudgetOver
from frontguard.objectives import Objective
from frontguard.policies.forecast import likely, likely_cost
from frontguard.results import Certificate, Result
from frontguard.storage.contract import Told

if TYPE_CHECKING:
    from frontguard.notices import Alarm
    from frontguard.studies.replay import Replay
    from frontguard.studies.settings import Settings


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The answer so far, what failed, what is under way, and how far it is to the end."""

    study: str
    result: Result
    failures: dict[str, Counter[str]] = field(default_factory=dict)  # by arm, then by reason
    said: dict[str, str] = field(default_factory=dict)  # by arm, what the last pull that failed had to say, if anything
    reachable: Certificate | None = None  # in the objectives' units; what further pulls could bring at best
    pulls_left: int | None = None  # by the forecast
    max_pulls: int | None = None  # the budget
    cost_left: float | None = None  # by the forecast, where pulls have costs: what was spent is in the result
    max_cost: float | None = None  # the budget
    seconds: float = 0.0  # since the run began
    max_time: float | None = None
    rate: float | None = None  # pulls a second
    busy: int = 0  # pulls under way
    side_by_side: bool = False  # whether pulls were measured several at a time
    preparing: tuple[str, ...] = ()  # arms
    gate: GateResult | None = None  # where candidates are compared with a baseline

    def entries(self) -> Iterator[tuple[str, Any]]:
        """Entries of `to_dict`: those of the result, and what only a study tells."""
        yield from self.result.entries()
        yield "study", self.study
        yield "failures", ByArm((arm, dict(reasons)) for arm, reasons in self.failures.items())
        yield "set_aside", sorted(self.aside)
        yield "goal", {each.name: each.tolerance for each in self.objectives}
        yield "pulls_left", self.pulls_left
        yield "pulls_left_range", self.pulls_left_range and list(self.pulls_left_range)
        yield "cost_left", self.cost_left
        yield "cost_left_range", self.cost_left_range and list(self.cost_left_range)
        yield "max_pulls", self.max_pulls
        yield "max_cost", self.max_cost
        yield "max_time", self.max_time
        yield "seconds", round(self.seconds, 3)
        yield "pulls_a_second", self.rate
        yield "under_way", self.busy
        yield "side_by_side", self.side_by_side

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold; what is infinite or not known becomes None."""
        return gathered(self.entries())

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "JSON") -> Snapshot:
        """The state that `to_dict` gave, be it through JSON; the error says where in `where` it is none."""
        from frontguard._common.reading import read
        from frontguard.schema import AnyAnswer

        given = read(AnyAnswer, values, where)
        return cls(
            study=given.study,
            result=Result.of(given),
            failures={arm: Counter(reasons) for arm, reasons in given.failures.items()},
            pulls_left=given.pulls_left,
            max_pulls=given.max_pulls,
            cost_left=given.cost_left,
            max_cost=given.max_cost,
            seconds=given.seconds,
            max_time=given.max_time,
            rate=given.pulls_a_second,
            busy=given.under_way,
            side_by_side=given.side_by_side,
        )

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What is measured, with the goal."""
        return self.result.metrics

    @property
    def pulls(self) -> int:
        """Pulls that were told."""
        return self.result.pulls

    @property
    def failed(self) -> int:
        """How many of these failed."""
        return sum(sum(reasons.values()) for reasons in self.failures.values())

    @property
    def failed_per_arm(self) -> Ints:
        """How many pulls of each arm (K,) failed."""
        return np.array([sum(self.failures.get(arm, {}).values()) for arm in self.result.arms], np.int64)

    @property
    def pulls_left_range(self) -> tuple[int, int] | None:
        """Between how many more pulls it will likely take."""
        return None if self.pulls_left is None else likely(self.pulls_left, self.pulls)

    @property
    def seconds_left_range(self) -> tuple[float, float] | None:
        """The same in seconds, at the present rate."""
        pulls = self.pulls_left_range
        return None if pulls is None or not self.rate else (pulls[0] / self.rate, pulls[1] / self.rate)

    @property
    def seconds_left(self) -> float | None:
        """Until certified, by the forecast and at the present rate."""
        if self.pulls_left is None or not self.rate:
            return None
        return self.pulls_left / self.rate

    @property
    def cost_left_range(self) -> tuple[float, float] | None:
        """Between how much more it will likely cost."""
        spent = 0.0 if self.result.cost is None else self.result.cost.spent
        return None if self.cost_left is None else likely_cost(self.cost_left, spent)

    @property
    def aside(self) -> list[str]:
        """Arms that cannot be measured."""
        return self.result.aside

    @property
    def shortfall(self) -> BudgetOver | None:
        """Which budget will end before the certificate is there, by the forecast."""
        if self.pulls_left is None:
            return None
        if self.max_pulls is not None and self.pulls + self.pulls_left > self.max_pulls:
            return BudgetOver("max_pulls", self.max_pulls)
        cost = self.result.cost
        if self.cost_left is not None and cost is not None and self.max_cost is not None:
            if cost.spent + self.cost_left > self.max_cost:
                return BudgetOver("max_cost", self.max_cost, cost.unit)
        left = self.seconds_left
        if left is not None and self.max_time is not None and self.seconds + left > self.max_time:
            return BudgetOver("max_time", self.max_time)
        return None


def snapshot_of(
    state: Replay,
    study: str,
    alarms: Sequence[Alarm],
    ahead: tuple[int | None, float | None],
    *,
    final: bool,
    **now: Any,
) -> Snapshot:
    """The state of a study by its log, with `ahead` (pulls and cost by the forecast) and what holds only `now`.

    Only a `final` state says what further pulls could bring at best.
    """
    names, budget = state.settings.arms, state.settings.question
    return Snapshot(
        study=study,
        result=state.result(alarms),
        failures={name: count for name, count in zip(names, state.failures, strict=True) if count},
        said={names[arm]: said for arm, said in state.said.items()},
        reachable=state.policy.reachable().in_units(state.settings.question.objectives) if final else None,
        pulls_left=ahead[0],
        max_pulls=budget.max_pulls,
        cost_left=ahead[1],
        max_cost=budget.max_cost,
        side_by_side=state.side_by_side,
        **now,
    )


@dataclass(frozen=True, eq=False)
class Moment:
    """What was known after so many pulls. Arrays have a row for each arm; values are in the metrics' units."""

    pulls: int
    at: float  # seconds since the epoch of the last pull that was counted; 0 if not known
    pulls_per_arm: Ints  # (K,)
    verdict_codes: Ints  # (K,)
    estimates: Floats  # (K, M)
    low: Floats  # (K, M), low ≤ high whatever the direction; infinite where nothing is known
    high: Floats  # (K, M)
    uncertain: Floats  # (M,): within what the answer held then, to be compared with the tolerances; inf if unbounded

    def to_dict(self, arm: int | None = None) -> dict[str, Any]:
        """Plain values that JSON can hold: within what the answer held, and with an arm what was known of it."""
        known: dict[str, Any] = {"pulls": self.pulls, "at": self.at, "uncertain": finite(self.uncertain)}
        if arm is not None:
            boxes = {name: finite(getattr(self, name)[arm]) for name in ("estimates", "low", "high")}
            known |= {"pulls_of_arm": int(self.pulls_per_arm[arm]), **boxes}
        return known


@dataclass(frozen=True, eq=False)
class History:
    """Moments in their order, thinned out so that there are a few hundred at most; the last one is the present."""

    arms: tuple[str, ...]
    objectives: tuple[Objective, ...]
    moments: tuple[Moment, ...]


@dataclass(frozen=True, eq=False)
class Rate:
    """How many pulls were told, and how many of them failed, in spans of equal length."""

    edges: Floats  # (n + 1,) seconds since the epoch
    told: Ints  # (n,)
    failed: Ints  # (n,)


@dataclass(frozen=True, eq=False)
class Measurements(Told):
    """The told pulls of one arm, the last ones if there are very many: `after` so many of its pulls."""

    arm: int
    name: str
    objectives: tuple[Objective, ...]

    @property
    def total(self) -> int:
        """Pulls of this arm altogether."""
        return self.after + len(self)


@dataclass(frozen=True, eq=False)
class Overview:
    """A study at one moment: settings, the answer so far with its failures and forecast, how it came about."""

    name: str
    settings: Settings
    snapshot: Snapshot  # `.result` is in the metrics' units, `.result.warnings` include alarms
    history: History
    rate: Rate
    failed_at: dict[tuple[str, str], float]  # seconds since the epoch when an arm last failed, by arm and reason
    version: int  # grows whenever anything that is shown has changed
    told: int  # pulls that were told: those that failed and those that wait for a decision included
    out: int  # pulls handed out and not told yet
    began: float | None  # seconds since the epoch of the first told pull
    last: float | None  # and of the last one

    def entries(self, arm: int | None = None) -> Iterator[tuple[str, Any]]:
        """Entries of JSON: those of the state, and how it came about, with an arm as far as that is concerned."""
        yield from self.snapshot.entries()
        failed_at: dict[str, dict[str, float]] = {}
        for (name, reason), at in self.failed_at.items():
            failed_at.setdefault(name, {})[reason] = at
        spec = self.settings.about.get("spec")
        yield "failed_at", ByArm(failed_at.items())
        yield "told", self.told
        yield "began", self.began
        yield "last", self.last
        yield "revision", self.version
        yield "history", [moment.to_dict(arm) for moment in self.history.moments]
        yield "rate", {name: finite(each) for name, each in vars(self.rate).items()}
        yield "seed", self.settings.seed
        yield "spec", spec if isinstance(spec, str) else None
