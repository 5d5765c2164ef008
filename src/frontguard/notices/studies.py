"""What a study finds: arms set aside, budgets that are over, what is not counted, alarms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from frontguard.notices.record import Notice, Reasons


@dataclass(frozen=True)
class SetAside(Notice):
    """An arm cannot be measured, and is no longer pulled. `last` is what its last pull had to say, where known."""

    arm: str
    failed: int
    pulls: int
    reasons: Reasons
    last: str = ""
    kind: Literal["set_aside"] = "set_aside"


@dataclass(frozen=True)
class BudgetOver(Notice):
    """The study stopped, or will, because a budget is used up: pulls of all arms, of each arm, seconds of a run, cost.

    The `unit` is that of the cost, and empty for the others.
    """

    warns: ClassVar[bool] = False  # the answer says so
    budget: Literal["max_pulls", "max_pulls_per_arm", "max_time", "max_cost"]
    limit: float
    unit: str = ""
    kind: Literal["budget_over"] = "budget_over"


@dataclass(frozen=True)
class Polished(Notice):
    """After the certificate pulls went on: of `arms` that are not out so many are still `unsteady`.

    An arm is steady when none of its estimates moved by more than the `share` of its tolerance while its pulls doubled;
    where nothing is tolerated (`apart` says whether that is so), of how far apart the arms are.
    """

    warns: ClassVar[bool] = False
    arms: int
    unsteady: int
    share: float
    over: bool  # or pulls go on
    apart: bool = False
    kind: Literal["polished"] = "polished"


@dataclass(frozen=True)
class CostsUnknown(Notice):
    """More than half of the told pulls, or several of an arm and none of its others, did not say what they cost.

    That is taken to be what others of the arm did; of the arms of which none did, what a pull of other arms does.
    """

    metric: str
    pulls: int
    of: int
    silent: int = 0  # such arms
    kind: Literal["costs_unknown"] = "costs_unknown"


@dataclass(frozen=True)
class NotCounted(Notice):
    """So many of the told pulls do not count: each is in a cluster of which its arm has an earlier one."""

    warns: ClassVar[bool] = False
    pulls: int
    of: int
    kind: Literal["not_counted"] = "not_counted"


@dataclass(frozen=True)
class ClustersUsedUp(Notice):
    """The last `pulls` pulls of `arms` arms (the first of them by name) all fell into clusters that they had already.

    No more of them are asked for: they would not count.
    """

    names: tuple[str, ...]
    arms: int
    pulls: int
    kind: Literal["clusters_used_up"] = "clusters_used_up"


@dataclass(frozen=True)
class Alarm(Notice):
    """Evidence that the data of an arm are dirtier than the declared contamination allows.

    `objective` is None where whole pulls are concerned; `pulls` are those of the arm after which it was found.
    """

    arm: str
    objective: str | None
    pulls: int
    contamination: float


@dataclass(frozen=True)
class FailuresAlarm(Alarm):
    """`failed` of `of` pulls failed, or gave no value of the objective; `chance` of so many under ε.

    Where ε is a share and leaves nothing to chance, `allowed` is how many it makes at most. Where clean pulls have come
    since and `diluted` it, these are the numbers of the moment when it was found.
    """

    failed: int
    of: int
    reasons: Reasons
    chance: float
    diluted: bool = False
    allowed: int | None = None
    kind: Literal["failures"] = "failures"


@dataclass(frozen=True)
class DriftAlarm(Alarm):
    """A share `same_side` of successive values lie on the same side of a value; `most` would, in random order."""

    value: float
    same_side: float
    most: float
    kind: Literal["drift"] = "drift"


@dataclass(frozen=True)
class SpreadAlarm(Alarm):
    """No interval of a width holds more than `held` values; by the spread bound R one should hold `due`."""

    width: float
    logarithms: bool  # whether the width is one of logarithms, as for relative tolerances
    held: int
    due: int
    kind: Literal["spread"] = "spread"
