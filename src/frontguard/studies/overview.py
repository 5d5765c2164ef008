"""A study at one moment, and how it came to it: plain data, never changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from frontguard._common.entries import ByArm, finite
from frontguard._common.typing import Floats, Ints
from frontguard.objectives import Objective
from frontguard.policies.forecast import likely, likely_cost
from frontguard.results import Answer, StudyDetails
from frontguard.storage.contract import Told

if TYPE_CHECKING:
    from frontguard.notices import Alarm
    from frontguard.studies.replay import Replay
    from frontguard.studies.settings import Settings


def answer_of(
    state: Replay,
    study: str,
    alarms: Sequence[Alarm],
    ahead: tuple[int | None, float | None] = (None, None),
    *,
    final: bool = False,
    **now: Any,
) -> Answer:
    """Return the answer of a study by its log, with `ahead` (pulls and cost by the forecast) and what holds only `now`.

    Only a `final` state says what further pulls could bring at best.
    """
    names, asked, (pulls, cost) = state.settings.arms, state.settings.question, ahead
    found = state.result(alarms)
    spent = 0.0 if found.cost is None else found.cost.spent
    details = StudyDetails(
        name=study,
        failures={name: count for name, count in zip(names, state.failures, strict=True) if count},
        said={names[arm]: said for arm, said in state.said.items()},
        reachable=state.policy.reachable().in_units(asked.objectives) if final else None,
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
            intervals = {name: finite(getattr(self, name)[arm]) for name in ("estimates", "low", "high")}
            known |= {"pulls_of_arm": int(self.pulls_per_arm[arm]), **intervals}
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
    answer: Answer  # in the metrics' units, its warnings include alarms
    history: History
    rate: Rate
    failed_at: dict[tuple[str, str], float]  # seconds since the epoch when an arm last failed, by arm and reason
    version: int  # grows whenever anything that is shown has changed
    told: int  # pulls that were told: those that failed and those that wait for a decision included
    out: int  # pulls handed out and not told yet
    at_work: bool  # whether anybody measures: somebody who lives has a pull, or told one just now
    began: float | None  # seconds since the epoch of the first told pull
    last: float | None  # and of the last one

    @property
    def status(self) -> str:
        """That of the answer; "paused" where it could go on and nobody is at work."""
        status = self.answer.status
        return "paused" if status == "running" and not self.at_work else status

    def entries(self, arm: int | None = None) -> Iterator[tuple[str, Any]]:
        """Entries of JSON: those of the answer, and how it came about, with an arm as far as that is concerned."""
        yield from self.answer.entries()
        failed_at: dict[str, dict[str, float]] = {}
        for (name, reason), at in self.failed_at.items():
            failed_at.setdefault(name, {})[reason] = at
        spec = self.settings.about.get("spec")
        yield "failed_at", ByArm(failed_at.items())
        yield "told", self.told
        yield "began", self.began
        yield "last", self.last
        yield "at_work", self.at_work
        yield "revision", self.version
        yield "history", [moment.to_dict(arm) for moment in self.history.moments]
        yield "rate", {name: finite(each) for name, each in vars(self.rate).items()}
        yield "seed", self.settings.seed
        yield "spec", spec if isinstance(spec, str) else None
