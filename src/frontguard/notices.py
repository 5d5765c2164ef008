"""What happened, as records: an arm set aside, bounds refuted, a budget over, failures, alarms, rows left out.

A notice has a kind and fields, and is stored, passed on and compared as such. It becomes a sentence in one place,
`frontguard.words.notices`, and nothing reads sentences back. A new kind is a class here, a line in `AnyNotice`, and
a sentence there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from frontguard._common.attached import attached

Reasons = tuple[tuple[str, int], ...]
"""Why pulls failed and how often, the most frequent first."""


@dataclass(frozen=True)
class Notice:
    """Base of all notices. `str(notice)` is its sentence."""

    warns: ClassVar[bool] = True  # whether people have to be told, or it is only on the record

    @property
    def subject(self) -> tuple[str, ...]:
        """What it is about, the same at every later moment: by this, each thing is said once."""
        fields = vars(self)
        return tuple(str(fields[name]) for name in ("kind", "arm", "objective") if fields.get(name) is not None)

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values that JSON can hold."""
        return {name: plain(value) for name, value in {"kind": vars(self)["kind"], **vars(self)}.items()}

    def __str__(self) -> str:
        return str(attached("sentence")(self))


# What a policy finds --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SpreadRefuted(Notice):
    """The measurements of some arms contradict R, which is given up for them."""

    arms: int
    of: int
    kind: Literal["spread_refuted"] = "spread_refuted"


@dataclass(frozen=True)
class ContaminationRefuted(Notice):
    """The measurements of some arms cannot come from one distribution with at most a share ε replaced."""

    arms: int
    of: int
    contamination: float
    kind: Literal["contamination_refuted"] = "contamination_refuted"


# What measurements lack -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OfObjective(Notice):
    """Something about an objective as it was declared, of which an arm is given as an example."""

    objective: str

    @property
    def subject(self) -> tuple[str, ...]:
        """It is about the declaration, whichever arm is taken as its example."""
        return (str(vars(self)["kind"]), self.objective)


@dataclass(frozen=True)
class NotPositive(OfObjective):
    """`count` of `of` values of an objective are not positive, as its tolerance, a percentage, needs them to be.

    They count as failed. `example` is one of them, of an `arm`.
    """

    arm: str
    count: int
    of: int
    example: float
    tolerance: str
    kind: Literal["not_positive"] = "not_positive"


@dataclass(frozen=True)
class OutOfBounds(OfObjective):
    """`count` of `of` values of an objective do not lie between its bounds, which its mean needs.

    They count as failed. `example` is one of them, of an `arm`.
    """

    arm: str
    count: int
    of: int
    example: float
    low: float
    high: float
    kind: Literal["out_of_bounds"] = "out_of_bounds"


@dataclass(frozen=True)
class ExactDiffers(OfObjective):
    """`arms` arms were measured differently in an objective that was declared exact: `first` and `second`, of `arm`.

    Nothing is known of these arms in that objective any more.
    """

    arm: str
    arms: int
    first: float
    second: float
    kind: Literal["exact_differs"] = "exact_differs"


@dataclass(frozen=True)
class TakenAsRate(Notice):
    """The values of an objective are true or false, so that their mean, a rate, counts and not their median."""

    warns: ClassVar[bool] = False
    objective: str
    kind: Literal["taken_as_rate"] = "taken_as_rate"


# What a study finds ---------------------------------------------------------------------------------------------------


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
    """More than half of the told pulls did not say what they cost, which is taken to be what others of the arm did."""

    metric: str
    pulls: int
    of: int
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


# What samples look like -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LooksDirtier(Notice):
    """Samples look far dirtier than the declared contamination: a hint for the eye, on which nothing rests.

    `share` of the values of the worst arm and objective look wrong, by a sign: "far" from the others, "apart" as a
    group of their own, or "ties", one value again and again. So it is with `arms` of the `of` arms that were looked at.
    """

    arm: str
    objective: str
    share: float
    sign: Literal["far", "apart", "ties"]
    arms: int
    of: int
    contamination: float
    kind: Literal["looks_dirtier"] = "looks_dirtier"

    @property
    def subject(self) -> tuple[str, ...]:
        """It is about the measurements as a whole, whichever arm is the worst."""
        return (self.kind,)


@dataclass(frozen=True)
class RowsDiffer(Notice):
    """The rows of a log do not look alike, between its files or from the first to the last: a hint for the eye.

    Of the worst arm and objective, two `parts` (files, or which quarter of its rows) have these `medians`; `chance`
    is the probability, about, that rows in random order would differ as much anywhere. So it is with `arms` of the `of`
    arms that were looked at.
    """

    arm: str
    objective: str
    between: Literal["files", "rows"]
    parts: tuple[str, str]
    medians: tuple[float, float]
    chance: float
    arms: int
    of: int
    kind: Literal["rows_differ"] = "rows_differ"

    @property
    def subject(self) -> tuple[str, ...]:
        """It is about the log as a whole, whichever arm is the worst."""
        return (self.kind,)


@dataclass(frozen=True)
class LooksClustered(Notice):
    """Rows depend on each other within what a `column` tells apart, which was not declared: a hint for the eye.

    Of one `objective`, rows with the same value in the column have the rank `correlation`, with `rows` of them on
    average, so that the variance of a mean is `inflation` times what it would be of independent rows. `chance` is the
    probability, about, that independent rows would look so in any column.
    """

    column: str
    objective: str
    correlation: float
    rows: float
    inflation: float
    chance: float
    kind: Literal["looks_clustered"] = "looks_clustered"

    @property
    def subject(self) -> tuple[str, ...]:
        """It is about the column, whichever metric shows it best."""
        return (self.kind, self.column)


# What a log has or lacks ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TooFewPulls(Notice):
    """Nothing is known of `arms` (the first of them by name) because they have `most` pulls each or fewer.

    With so many arms and `metrics`, at this confidence and contamination, an arm needs `first` pulls at least before
    any of its intervals has an end, and `whole` before all have two; None where no number would do.
    """

    names: tuple[str, ...]
    arms: int
    of: int
    most: int
    metrics: int = 0  # 0 where the rest is not known, as of what earlier versions printed
    confidence: float = 0.0
    contamination: float = 0.0
    first: int | None = None
    whole: int | None = None
    kind: Literal["too_few_pulls"] = "too_few_pulls"


@dataclass(frozen=True)
class InClusters(Notice):
    """The rows of an arm that have the same value in these `columns` are a cluster, which is one observation.

    There are so many `clusters` of all arms, `least` to `most` of an arm. `correlation` is that of ranks within
    clusters, the largest of any objective; None where it cannot be seen.
    """

    warns: ClassVar[bool] = False
    columns: tuple[str, ...]
    rows: int
    clusters: int
    least: int
    most: int
    correlation: float | None = None
    kind: Literal["in_clusters"] = "in_clusters"


@dataclass(frozen=True)
class InPairs(Notice):
    """Arms were measured on the same `blocks`, which `columns` tell apart (rep, in a study), and are compared on them.

    `least` to `most` of these were measured by an arm. `items` is the length of the list that they are of, 0 for none;
    `complete` says how many arms have measured all of it, so that nothing failed, and `hidden` which share of it may
    have been replaced. `looked` is False where arms are too many for their pairs to be looked at.
    """

    warns: ClassVar[bool] = False
    columns: tuple[str, ...]
    blocks: int
    least: int
    most: int
    items: int = 0
    complete: int = 0
    hidden: float = 0.0
    arms: int = 0
    looked: bool = True
    kind: Literal["in_pairs"] = "in_pairs"


@dataclass(frozen=True)
class IndependentArms(Notice):
    """So many `arms` are compared in pairs besides, which takes for granted that they are measured independently."""

    warns: ClassVar[bool] = False
    arms: int
    kind: Literal["independent_arms"] = "independent_arms"


@dataclass(frozen=True)
class TooFewClusters(Notice):
    """Nothing is known of `arms` (the first of them by name) because they have `most` clusters each or fewer.

    An arm needs `first` clusters at least before any of its intervals has an end, and `whole` before all have two; None
    where no number would do. The rest is as in `TooFewPulls`.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    arms: int
    of: int
    most: int
    metrics: int
    confidence: float
    contamination: float
    first: int | None = None
    whole: int | None = None
    kind: Literal["too_few_clusters"] = "too_few_clusters"


@dataclass(frozen=True)
class RowsWithoutArm(Notice):
    """Rows that name no arm; `first` says where the first one is. They were `dropped`, unless they are refused."""

    rows: int
    columns: tuple[str, ...]
    first: str
    dropped: bool = True
    kind: Literal["rows_without_arm"] = "rows_without_arm"


@dataclass(frozen=True)
class RowsLeftOut(Notice):
    """Only rows count that have one of these values in each of these columns: `rows` of `of` have not.

    How many is None where it was not counted: in a state that was made so.
    """

    where: tuple[tuple[str, tuple[str, ...]], ...]
    rows: int | None = None
    of: int | None = None
    kind: Literal["rows_left_out"] = "rows_left_out"


@dataclass(frozen=True)
class ArmsWithoutRows(Notice):
    """Arms that have no row of any of the wanted metrics were left out."""

    where: str
    arms: int
    kind: Literal["arms_without_rows"] = "arms_without_rows"


@dataclass(frozen=True)
class UnfinishedLine(Notice):
    """The last line of a file does not end with a line break."""

    where: str
    kind: Literal["unfinished_line"] = "unfinished_line"


@dataclass(frozen=True)
class UnderWay(Notice):
    """Pulls that were handed out and have not come back are read as failed ones."""

    pulls: int
    kind: Literal["under_way"] = "under_way"


# What a run meets -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AllFailed(Notice):
    """All of the first pulls failed; `last` is what one of them, of an arm, had to say."""

    pulls: int
    arm: str
    last: str
    kind: Literal["all_failed"] = "all_failed"

    @property
    def subject(self) -> tuple[str, ...]:
        """It is about the run, whichever arm is taken as its example."""
        return (self.kind,)


@dataclass(frozen=True)
class Stopping(Notice):
    """The run is to stop, by a person or because its time is over, and waits for the pulls that are under way."""

    warns: ClassVar[bool] = False
    under_way: int
    why: Literal["interrupted", "time"] = "interrupted"
    kind: Literal["stopping"] = "stopping"


@dataclass(frozen=True)
class WaitingForWorkers(Notice):
    """A cluster has no workers, and one is waited for, for so many seconds at most."""

    warns: ClassVar[bool] = False
    cluster: str
    seconds: float
    kind: Literal["waiting_for_workers"] = "waiting_for_workers"


@dataclass(frozen=True)
class WorkerLeftOut(Notice):
    """A worker that joined a cluster gets no work, because of what it lacks."""

    worker: str
    lacks: str
    kind: Literal["worker_left_out"] = "worker_left_out"

    @property
    def subject(self) -> tuple[str, ...]:
        """It is about that worker."""
        return (self.kind, self.worker)


@dataclass(frozen=True)
class StorageTrouble(Notice):
    """The storage cannot be read for the moment."""

    why: str
    kind: Literal["storage_trouble"] = "storage_trouble"


@dataclass(frozen=True)
class StepFailed(Notice):
    """A step beside the pulls of an arm failed: a warm-up, what comes after a pull, or its cleanup."""

    arm: str
    step: Literal["warm-up", "after", "cleanup"]
    why: str
    kind: Literal["step_failed"] = "step_failed"

    @property
    def subject(self) -> tuple[str, ...]:
        """Each step of an arm is a thing of its own."""
        return (self.kind, self.arm, self.step)


@dataclass(frozen=True)
class CleaningUp(Notice):
    """The run is over, and arms are still being cleaned up."""

    warns: ClassVar[bool] = False
    arms: int
    kind: Literal["cleaning_up"] = "cleaning_up"


AnyNotice = (
    SpreadRefuted
    | ContaminationRefuted
    | NotPositive
    | OutOfBounds
    | ExactDiffers
    | TakenAsRate
    | SetAside
    | BudgetOver
    | CostsUnknown
    | Polished
    | NotCounted
    | ClustersUsedUp
    | FailuresAlarm
    | DriftAlarm
    | SpreadAlarm
    | LooksDirtier
    | RowsDiffer
    | LooksClustered
    | TooFewPulls
    | InClusters
    | InPairs
    | IndependentArms
    | TooFewClusters
    | RowsWithoutArm
    | RowsLeftOut
    | ArmsWithoutRows
    | UnfinishedLine
    | UnderWay
    | AllFailed
    | Stopping
    | WaitingForWorkers
    | WorkerLeftOut
    | StorageTrouble
    | StepFailed
    | CleaningUp
)
"""Every kind of notice, told apart by its `kind`: for those who read records back."""


def plain(value: Any) -> Any:
    """A value of a record as JSON can hold it: tuples as lists, and None for what is not finite."""
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
