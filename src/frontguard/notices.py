"""Events as records: an arm excluded, bounds refuted, a budget over, failures, alarms, rows left out.

One class is one kind of notice: its fields, its sentence (a template of the fields, or `__str__`), and whether it
warns. A notice is stored, passed on and compared as a record, and nothing reads sentences back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING
from typing import TYPE_CHECKING, Any, ClassVar, Literal, dataclass_transform

from frontguard._common.entries import plain
from frontguard.objectives import Objective
from frontguard.phrases import MOST_NAMES, cost_in_words, joined, number_of, one_line, percent, quoted
from frontguard.statements import Statement

Reasons = tuple[tuple[str, int], ...]
"""Why pulls failed and how often, the most frequent first."""

KINDS: list[type[Notice]] = []
"""Every kind of notice, in the order in which they are defined here."""


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class Notice:
    """Base of all notices, each a frozen dataclass. `str(notice)` is its sentence."""

    if TYPE_CHECKING:  # a field of the subclasses, and their last one
        kind: ClassVar[str]
    warns: ClassVar[bool] = True  # whether people have to be told, or it is only on the record
    template: ClassVar[str] = ""  # the sentence, unless `__str__` makes it
    about: ClassVar[tuple[str, ...]] = ("arm", "objective")  # fields that stay the same at every later moment

    def __init_subclass__(
        cls, *, warns: bool | None = None, about: tuple[str, ...] | None = None, kw_only: bool = False
    ) -> None:
        """Make a dataclass of it, and its name the `kind` of its records: `DriftAlarm` is "drift"."""
        cls.warns = cls.warns if warns is None else warns
        cls.about = cls.about if about is None else about
        kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__.removesuffix("Alarm")).lower()
        if kind and not kind.startswith("_"):
            cls.kind = kind
            cls.__annotations__["kind"] = Literal[kind]
            KINDS.append(cls)
        dataclass(frozen=True, kw_only=kw_only)(cls)

    @property
    def subject(self) -> tuple[str, ...]:
        """Its subject, the same at every later moment: by this, each thing is said once."""
        fields = vars(self)
        return self.kind, *(str(fields[name]) for name in self.about if fields.get(name) is not None)

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values that JSON can hold."""
        return {name: plain(value) for name, value in {"kind": self.kind, **vars(self)}.items()}

    def __str__(self) -> str:
        return self.template.format(**vars(self))


# What measurements show -----------------------------------------------------------------------------------------------


class SpreadRefuted(Notice):
    """The measurements of some arms contradict R, which is given up for them."""

    arms: int
    of: int

    def __str__(self) -> str:
        return Statement.SPREAD_REFUTED(arms=self.arms, of=self.of)


class ContaminationRefuted(Notice):
    """The measurements of some arms, by `names` if known, cannot be of one distribution with at most ε replaced.

    Those made `in_blocks` cannot have constant ratios to other arms.
    """

    arms: int
    of: int
    contamination: float
    names: tuple[str, ...] = ()
    in_blocks: bool = False

    def __str__(self) -> str:
        named = quoted(self.names, MOST_NAMES) if self.names else f"{self.arms} of {self.of} arms"
        said = Statement.RATIOS_DRIFT if self.in_blocks else Statement.CONTAMINATION_REFUTED
        return said(arms=named, contamination=percent(self.contamination))


class NotPositive(Notice, about=("objective",)):  # the declaration, whichever arm is the example
    """`count` of `of` values of an objective are not positive, as its tolerance, a percentage, needs them to be.

    They count as failed. `example` is one of them, of an `arm`.
    """

    objective: str
    arm: str
    count: int
    of: int
    example: float
    tolerance: str

    def __str__(self) -> str:
        objective = Objective(self.objective, "maximize", tolerance=self.tolerance)
        said = objective.unusable(self.count, self.of, self.example, self.arm)
        return f"{said}. They count as failed pulls, which could have measured anything"


class OutOfBounds(Notice, about=("objective",)):
    """`count` of `of` values of an objective do not lie between its bounds, which its mean needs.

    They count as failed. `example` is one of them, of an `arm`.
    """

    template: ClassVar[str] = (
        "{count:,} of {of:,} values of {objective!r} do not lie between its bounds {low:g} and {high:g}, such as "
        "{example:g} of arm {arm!r}. They count as failed pulls, which could have measured anything; if such values "
        "can be right, give wider bounds"
    )
    objective: str
    arm: str
    count: int
    of: int
    example: float
    low: float
    high: float


class ExactDiffers(Notice, about=("objective",)):
    """`arms` arms were measured differently in an objective that was declared exact: `first` and `second`, of `arm`.

    Nothing is known of these arms in that objective any more.
    """

    objective: str
    arm: str
    arms: int
    first: float
    second: float

    def __str__(self) -> str:
        others = f" (and {number_of(self.arms - 1, 'arm')} more)" if self.arms > 1 else ""
        return (
            f"{self.objective!r} was said to be exact, but arm {self.arm!r} has {self.first:.10g} and "
            f"{self.second:.10g}{others}. Nothing is said of its {self.objective!r} any more. If it does vary, begin "
            "anew without `exact`"
        )


class TakenAsRate(Notice, warns=False):
    """The values of an objective are true or false, so that their mean, a rate, counts and not their median."""

    template: ClassVar[str] = "the values of {objective!r} are true or false: their mean, a rate, is what counts here"
    objective: str


class LooksDirtier(Notice, about=()):  # the measurements as a whole
    """Samples look far dirtier than the declared contamination: a hint for the eye, on which nothing rests.

    `share` of the values of the worst arm and objective look wrong: "far" from the others, "apart" as a group of their
    own, or "ties", one value again and again; and so in `arms` of the `of` arms that were looked at.
    """

    arm: str
    objective: str
    share: float
    sign: Literal["far", "apart", "ties"]
    arms: int
    of: int
    contamination: float

    def __str__(self) -> str:
        looks = {"far": "lie far from the others", "apart": "are a group apart", "ties": "are one and the same value"}
        return (
            f"a hint: the measurements look dirtier than declared ({percent(self.contamination)}): of arm "
            f"{self.arm!r}, {percent(self.share)} of {self.objective!r} {looks[self.sign]}{_so_with(self)}. Look at "
            "them, or declare more contamination"
        )


class RowsDiffer(Notice, about=()):  # the log as a whole
    """The rows of a log do not look alike, between its files or from the first to the last: a hint for the eye.

    Of the worst of `arms` of `of` arms, two `parts` (files, or which quarter of its rows) have these `medians`;
    `chance` is the probability, about, that rows in random order would differ as much anywhere.
    """

    arm: str
    objective: str
    between: Literal["files", "rows"]
    parts: tuple[str, str]
    medians: tuple[float, float]
    chance: float
    arms: int
    of: int

    def __str__(self) -> str:
        files = self.between == "files"
        low, high = (
            f"{value:.4g} in {part if files else f'quarter {part} of its rows'}"
            for part, value in zip(self.parts, self.medians, strict=True)
        )
        looks = "the files do not look alike" if files else "the rows drift, or differ in batches, or were sorted"
        return (
            f"a hint: {looks}: of arm {self.arm!r}, {self.objective!r} has the median {low} and {high} (p = "
            f"{self.chance:.1g}){_so_with(self)}. If they are not measurements of one thing, analyse "
            f"{'the files' if files else 'such parts'} apart"
        )


class LooksClustered(Notice, about=("column",)):
    """Rows depend on each other within what a `column` tells apart, which was not declared: a hint for the eye.

    Its values have `rows` rows on average, with this rank `correlation` in an `objective`, so that the variance of a
    mean is `inflation` times that of independent rows, which would look so in any column with the probability `chance`.
    Where clusters were `declared`, by these columns, they stand in the place of rows.
    """

    column: str
    objective: str
    correlation: float
    rows: float
    inflation: float
    chance: float
    declared: tuple[str, ...] = ()

    def __str__(self) -> str:
        each = f"cluster by {_quoted(self.declared)}" if self.declared else "row"
        these = f"clusters by {_quoted(self.declared)}" if self.declared else "rows"
        return (
            f"a hint: {these} with the same {self.column!r} resemble each other: their {self.objective!r} has a "
            f"correlation of {self.correlation:.2f} (p = {self.chance:.1g}), and there are {self.rows:.3g} of them on "
            f"average. The answer takes every {each} for an observation of its own: --cluster {self.column} "
            f"(cluster={self.column!r}) allows for it"
        )


class NeighboursAlike(Notice, about=()):
    """Rows of an arm resemble the next: rank `correlation`, and its `chance` in random order; a hint for the eye."""

    template: ClassVar[str] = (
        "a hint: rows that stand side by side resemble each other: of arm {arm!r}, {objective!r} has a correlation of "
        "{correlation:.2f} from one row to the next (p = {chance:.1g}). Give stretches of rows a column, and "
        "--cluster COLUMN"
    )
    arm: str
    objective: str
    correlation: float
    chance: float


class OneAfterTheOther(Notice, about=()):
    """Rows of the log `first` end, by a `column`, at `until`, before those of `second` begin, at `since`."""

    template: ClassVar[str] = (
        "a hint: by {column!r}, all of {first} (until {until}) was measured before {second} (from {since}): what "
        "changed in between looks like a difference. Measure both in turn"
    )
    column: str
    first: str
    until: str
    second: str
    since: str


class RowsRepeated(Notice, about=()):
    """Every value of every arm stands so many `times` in the log."""

    template: ClassVar[str] = (
        "every value of each arm stands {times} times in these {rows:,} rows, and copies count as measurements: give "
        "each row once"
    )
    times: int
    rows: int


# What a study finds ---------------------------------------------------------------------------------------------------


class Excluded(Notice):
    """An arm cannot be measured, and is no longer pulled. `last` is what its last pull had to say, where known."""

    arm: str
    failed: int
    pulls: int
    reasons: Reasons
    last: str = ""

    def __str__(self) -> str:
        last = f": {self.last}" if self.last else ""
        return (
            f"{self.arm} is excluded: {self.failed} of {self.pulls} runs failed ({reasons_in_words(self.reasons)}); "
            f"the answer is about the other arms{last}"
        )


class BudgetOver(Notice, warns=False):  # the answer says so
    """The study stopped, or will, because a budget (of cost, in a `unit`) is used up."""

    budget: Literal["max_pulls", "max_pulls_per_arm", "max_time", "max_cost"]
    limit: float
    unit: str = ""

    def __str__(self) -> str:
        if self.budget == "max_time":
            return f"the time of {self.limit:g} s is over"
        if self.budget == "max_cost":
            return f"the budget of {cost_in_words(self.limit, self.unit)} is used up"
        each = " of each arm" if self.budget == "max_pulls_per_arm" else ""
        return f"the budget of {self.limit:,.0f} pulls{each} is used up"


class Polished(Notice, warns=False):
    """Pulls went on after the certificate: of `arms` that are not out, `unsteady` ones moved while their pulls doubled.

    That is by more than the `share` of a tolerance or, where nothing is tolerated, of how far they are `apart`.
    """

    template: ClassVar[str] = (
        "estimates of {unsteady:,} of the {arms:,} arms that are not out are not steady: they moved by more than "
        "{share:.3g} of their tolerance, or of how far apart arms are where nothing is tolerated, while pulls doubled"
    )
    arms: int
    unsteady: int
    share: float
    over: bool  # or pulls go on
    apart: bool = False


class CostsUnknown(Notice):
    """Pulls did not say what they cost, which is taken to be what others of the arm, or of other arms, did."""

    template: ClassVar[str] = (
        "{pulls:,} of {of:,} pulls did not say what they cost, a number from 0 as metric {metric!r}: they are taken to "
        "have cost what others did, and nothing where none said so"
    )
    metric: str
    pulls: int
    of: int
    silent: int = 0  # such arms

    def __str__(self) -> str:
        if self.pulls < self.of:
            return super().__str__()
        return (
            f"none of {number_of(self.of, 'pull')} said what it cost, a number from 0 as metric {self.metric!r}: "
            "a budget of it, max_cost, cannot be kept, and ends the study"
        )


class NotCounted(Notice, warns=False):
    """Some of the told pulls do not count: each is in a cluster of which its arm has an earlier one."""

    template: ClassVar[str] = (
        "{pulls:,} of {of:,} told pulls do not count: of a cluster of an arm only its first pull does"
    )
    pulls: int
    of: int


class ClustersUsedUp(Notice):
    """The last pulls of arms (the first of them by name) fell into clusters that they had already, and do not count."""

    names: tuple[str, ...]
    arms: int
    pulls: int

    def __str__(self) -> str:
        more = f" and {self.arms - len(self.names):,} more" if self.arms > len(self.names) else ""
        return (
            f"the last {self.pulls} pulls of {_quoted(self.names)}{more} fell into clusters that had been measured, "
            "and do not count: measure in new ones (another host, day, process)"
        )


class Alarm(Notice):
    """Evidence, after so many `pulls` of an arm, of more contamination than declared; of whole pulls or a metric."""

    arm: str
    objective: str | None
    pulls: int
    contamination: float


class FailuresAlarm(Alarm):
    """`failed` of `of` pulls failed, or gave no value of the objective; `chance` of so many under ε.

    Where ε is a share, it makes `allowed` at most. If clean pulls have `diluted` it since, numbers are of its moment.
    """

    failed: int
    of: int
    reasons: Reasons
    chance: float
    diluted: bool = False
    allowed: int | None = None

    def __str__(self) -> str:
        failed = "failed" if self.objective is None else f"gave no {self.objective!r}"
        why = f" ({reasons_in_words(self.reasons)})" if self.reasons else ""
        seen = (
            f"of its first {self.of} pulls {self.failed} {failed}"
            if self.diluted
            else f"{self.failed} of {self.of} pulls {failed}{why}"
        )
        eps, chance = percent(self.contamination), f"{self.chance:.2g}"
        against = Statement.TOO_MANY_FAILED(contamination=eps, failed=self.failed, chance=chance)
        if self.allowed is not None:
            against = Statement.MORE_FAILED_THAN_A_SHARE(contamination=eps, allowed=self.allowed)
        return f"arm {self.arm!r}: {seen}; {against}"


class DriftAlarm(Alarm):
    """A share `same_side` of successive values lie on the same side of a value; `most` would, in random order."""

    value: float
    same_side: float
    most: float

    def __str__(self) -> str:
        time = Objective(str(self.objective), "maximize").is_time and "cpu" not in str(self.objective)
        remedy = "; measure cpu_seconds where the work is CPU-bound" if time else ""
        return (
            f"arm {self.arm!r}, {self.objective!r}: {percent(self.same_side)} of successive values among the "
            f"first {self.pulls} lie on the same side of {self.value:.4g}; "
            f"{Statement.DRIFTS(allowed=_allowed(self.contamination), most=percent(self.most))}: a drift, throttling, "
            f"or a neighbour in bursts{remedy}"
        )


class SpreadAlarm(Alarm):
    """No interval of a width holds more than `held` values; by the spread bound R one should hold `due`."""

    width: float
    logarithms: bool  # whether the width is one of logarithms, as for relative tolerances
    held: int
    due: int

    def __str__(self) -> str:
        return (
            f"arm {self.arm!r}, {self.objective!r}: no interval of width {self.width:.4g}"
            f"{' in logarithms' if self.logarithms else ''} holds more than {self.held} of the first {self.pulls} "
            f"values; {Statement.SPREADS(allowed=_allowed(self.contamination), due=self.due)}"
        )


# What a log has or lacks ----------------------------------------------------------------------------------------------


class _TooFew(Notice, kw_only=True):
    """Nothing is known of `arms` (the first by name), which have `most` pulls, or clusters, or fewer.

    An arm needs `first` before any of its intervals has an end, `whole` before all have two; None where none would do.
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

    def which(self) -> dict[str, str]:
        """The arms, as sentences count and name them."""
        more = f" … and {self.arms - len(self.names):,} more" if self.arms > len(self.names) else ""
        names = ", ".join(map(repr, self.names)) + more
        return {"names": names, "arms": f"{self.arms:,}", "of": f"{self.of:,}"}


class TooFewPulls(_TooFew, kw_only=True):
    """Arms have too few pulls for anything to be known of them."""

    def __str__(self) -> str:
        said = Statement.TOO_FEW_PULLS(**self.which(), most=f"{self.most:,}")
        return f"{said}: {least_pulls(self.contamination, self.first, self.whole)}" if self.metrics else said


class InClusters(Notice, warns=False):
    """The rows of an arm that have the same value in these `columns` are a cluster, which is one observation.

    An arm has `least` to `most` of all `clusters`; `correlation` is the largest of ranks within them, None where it
    cannot be seen. `by_median`: what counts of a cluster is its median.
    """

    columns: tuple[str, ...]
    rows: int
    clusters: int
    least: int
    most: int
    correlation: float | None = None
    by_median: bool = False

    def __str__(self) -> str:
        columns = _quoted(self.columns)
        each = _span(self.least, self.most)
        alike = "" if self.correlation is None else f"; within them ranks have a correlation of {self.correlation:.2f}"
        counted = f"{self.rows:,} rows are {number_of(self.clusters, 'cluster')} by {columns}, {each} of an arm{alike}."
        said = Statement.SESSIONS if self.by_median else Statement.CLUSTERS
        return f"{counted} {said(columns=columns)}"


class SizesMatter(Notice, about=()):
    """The estimate by all rows of an `arm` lies outside the interval of a cluster drawn at random, as of `arms`."""

    arm: str
    objective: str
    arms: int

    def __str__(self) -> str:
        others = f", and those of {number_of(self.arms - 1, 'other arm')}" if self.arms > 1 else ""
        return (
            f"all rows of arm {self.arm!r}{others} together put {self.objective!r} outside its interval: clusters with "
            "many rows differ from those with few. If slow or bad ones have more rows, or fewer, because they are, the "
            "answer is wrong"
        )


class InPairs(Notice, warns=False):
    """Arms were measured on the same `blocks`, which `columns` tell apart (rep, in a study), and are compared on them.

    An arm has measured `least` to `most`. Of a list of `items`, 0 for none, `complete` arms have measured all, of which
    a share `hidden` may have been replaced. `looked` is False where arms are too many for their pairs to be looked at.
    """

    columns: tuple[str, ...]
    blocks: int
    least: int
    most: int
    items: int = 0
    complete: int = 0
    hidden: float = 0.0
    arms: int = 0
    looked: bool = True

    def __str__(self) -> str:
        columns = _quoted(self.columns)
        if not self.looked:
            return (
                f"{self.arms:,} arms on {self.blocks:,} different {columns} are too many for all pairs to be looked "
                "at: arms are compared by their intervals only"
            )
        said = [Statement.PAIRS(columns=columns, each=_span(self.least, self.most))]
        if self.items:
            said.append(Statement.LIST(items=f"{self.items:,}"))
        if self.items and self.complete:
            measured = f"{self.complete:,} of {number_of(self.arms)}"
            left = Statement.LIST_LEFT if self.hidden else Statement.LIST_KNOWN
            said.append(left(arms=measured, hidden=percent(self.hidden, ROUND_CEILING)))
        return " ".join(said)


class AbsentPairs(Notice, about=()):
    """`absent` of `of` pairs of an arm and `columns` have no row, `most` of `arm`; unless by chance, they failed."""

    columns: tuple[str, ...]
    absent: int
    of: int
    arm: str
    most: int
    failed: bool = True

    def __str__(self) -> str:
        said = (
            f"{self.absent:,} of {self.of:,} combinations of arm and {_quoted(self.columns)} have no row in the log, "
            f"{self.most:,} of them of arm {self.arm!r}"
        )
        if self.failed:
            return f"{said}. They count as failed, unless chance alone decided which: --absent random"
        return f"{said}. If chance alone did not decide which, this answer is wrong"


class UnevenRepeats(Notice, about=()):
    """`often` of `of` pairs of an arm and what `columns` tell apart have more rows than others, many of `arm`."""

    columns: tuple[str, ...]
    often: int
    of: int
    arm: str

    def __str__(self) -> str:
        return (
            f"{self.often:,} of {self.of:,} combinations of arm and {_quoted(self.columns)} have more rows than "
            f"others, many of them of arm {self.arm!r}, and count by their mean: give first tries only"
        )


class IndependentArms(Notice, warns=False):
    """The `arms` are compared in pairs besides, which takes for granted that they are measured independently."""

    template: ClassVar[str] = Statement.INDEPENDENT.text
    arms: int


class InRatios(Notice, warns=False):
    """The `arms` are compared by their ratios within randomised blocks besides."""

    template: ClassVar[str] = Statement.RATIOS.text
    arms: int


class RatiosContradicted(Notice):
    """Ratios of some arms within blocks contradict how their intervals differ."""

    arms: int
    of: int

    def __str__(self) -> str:
        return Statement.RATIOS_CONTRADICTED(arms=self.arms, of=self.of)


class TooFewClusters(_TooFew, kw_only=True):
    """Arms have too few clusters, which these `columns` tell apart, for anything to be known of them."""

    columns: tuple[str, ...]

    def __str__(self) -> str:
        most = "one is" if self.most == 1 else f"at most {self.most:,} of them each are"
        said = Statement.TOO_FEW_CLUSTERS(**self.which(), columns=_quoted(self.columns), most=most)
        needed = least_pulls(self.contamination, self.first, self.whole, "cluster")
        return (
            f"{said}: {needed}. Measure in more of them (of a benchmark, run it again and give all files); or "
            "--cluster none, if rows do not depend on each other"
        )


class RowsWithoutArm(Notice):
    """Rows that name no arm; `first` says where the first one is. They were `dropped`, unless they are refused."""

    rows: int
    columns: tuple[str, ...]
    first: str
    dropped: bool = True

    def __str__(self) -> str:
        rows = "1 row has" if self.rows == 1 else f"{self.rows} rows have"
        columns, dropped = _quoted(self.columns), "; dropped" if self.dropped else ""
        return f"{rows} no arm (column {columns} is missing or empty), the first is {self.first}{dropped}"


class RowsLeftOut(Notice):
    """Only rows with one of these values in each of these columns count: `rows` of `of`, if counted, have not."""

    where: tuple[tuple[str, tuple[str, ...]], ...]
    rows: int | None = None
    of: int | None = None

    def __str__(self) -> str:
        parts = [f"{column!r} {' or '.join(map(repr, values))}" for column, values in self.where]
        if any(len(values) > _VALUES_SHOWN for _, values in self.where):
            parts = [f"{column!r} one of {len(values)} values" for column, values in self.where]
        left = "" if self.rows is None or self.of is None else f"; {self.rows:,} of {self.of:,} rows are left out"
        return f"only rows with {joined(parts)} count{left}"


class ArmsWithoutRows(Notice):
    """Arms that have no row of any of the wanted metrics were left out."""

    template: ClassVar[str] = "{where}: left out for want of a row of any of the metrics, arms: {arms:,}"
    where: str
    arms: int


class UnfinishedLine(Notice):
    """The last line of a file does not end with a line break."""

    template: ClassVar[str] = (
        "{where}: the last line does not end with a line break; if the file was cut there, its last row may be wrong"
    )
    where: str


class UnderWay(Notice):
    """Pulls that were handed out and have not come back are read as failed ones."""

    template: ClassVar[str] = "{pulls:,} pulls are under way, and count as failed until they come back"
    pulls: int


# What a run meets -----------------------------------------------------------------------------------------------------


class AllFailed(Notice, about=()):  # the run as a whole
    """All of the first pulls failed; `last` is what one of them, of an arm, had to say."""

    template: ClassVar[str] = "all of the first {pulls} pulls failed; one of arm {arm!r}: {last}"
    pulls: int
    arm: str
    last: str


class Stopping(Notice, warns=False):
    """The run is to stop, by a person or because its time is over, and waits for the pulls that are under way."""

    template: ClassVar[str] = (
        "stopping: waiting for pulls that are under way ({under_way:,}); Ctrl-C now gives them up, to count as failed"
    )
    under_way: int
    why: Literal["interrupted", "time"] = "interrupted"


class WaitingForWorkers(Notice, warns=False):
    """A cluster has no workers, and one is waited for, for so many seconds at most."""

    template: ClassVar[str] = "waiting for a worker of the Dask cluster at {cluster}, {seconds:g} s at most"
    cluster: str
    seconds: float


class WorkerLeftOut(Notice, about=("worker",)):
    """A worker that joined a cluster gets no work, because of what it lacks."""

    template: ClassVar[str] = "the Dask worker {worker} gets no work: it {lacks}"
    worker: str
    lacks: str


class StorageTrouble(Notice):
    """The storage cannot be read for the moment."""

    template: ClassVar[str] = "the storage cannot be read, trying again: {why}"
    why: str


class StepFailed(Notice, about=("arm", "step")):
    """A step beside the pulls of an arm failed: a warm-up, what comes after a pull, or its cleanup."""

    template: ClassVar[str] = "arm {arm!r}: its {step} step failed ({why}); the pulls count as they are"
    arm: str
    step: Literal["warm-up", "after", "cleanup"]
    why: str


class CleaningUp(Notice, warns=False):
    """The run is over, and arms are still being cleaned up."""

    template: ClassVar[str] = "cleaning up (arms: {arms:,})"
    arms: int


# Parts of sentences ---------------------------------------------------------------------------------------------------

_REASONS_SHOWN = 3
_VALUES_SHOWN = 6


def reasons_in_words(reasons: Reasons) -> str:
    """Reasons of failures with their counts, the most frequent first.

    >>> reasons_in_words((("exit code 1", 3), ("timeout after 10 s", 1)))
    '3 × exit code 1, 1 × timeout after 10 s'
    """
    shown = [f"{count} × {one_line(reason)}" for reason, count in reasons[:_REASONS_SHOWN]]
    rest = sum(count for _, count in reasons[_REASONS_SHOWN:])
    return ", ".join([*shown, f"{rest} for other reasons"] if rest else shown)


def least_pulls(contamination: float, first: int | None, whole: int | None, unit: str = "pull") -> str:
    """Return how many pulls, or clusters of them, an arm needs at least before anything can be said of it.

    >>> least_pulls(0.1, 12, 12), least_pulls(0.1, 12, 20)
    ('as asked, an arm needs at least 12 pulls before anything can be said of it',
     'as asked, an arm needs at least 12 pulls before anything can be said of it, and 20 before all of its intervals are
     bounded')
    """
    if first is None:
        return Statement.NO_PULLS_DO(eps=percent(contamination), what="anything")
    said = Statement.LEAST_PULLS(first=number_of(first, unit))
    if whole is None:
        return f"{said}; {Statement.NO_PULLS_DO(eps=percent(contamination), what='all of its intervals')}"
    return said if first == whole else said + Statement.LEAST_WHOLE(whole=f"{whole:,}")


def _so_with(notice: LooksDirtier | RowsDiffer) -> str:
    return f"; so it is with {notice.arms} of {notice.of} arms" if notice.arms > 1 else ""


def _quoted(names: tuple[str, ...]) -> str:
    return joined([repr(name) for name in names])


def _span(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _allowed(contamination: float) -> str:
    return f"with at most {percent(contamination)} contamination" if contamination else "without contamination"


def said_once(notices: Iterable[Notice]) -> tuple[str, ...]:
    """Return the sentences of the notices that warn, each once."""
    return tuple(dict.fromkeys(str(notice) for notice in notices if notice.warns))


def warnings_in_short(some: Iterable[Notice], most: int = MOST_NAMES) -> list[str]:
    """Return a handful of sentences of each kind of notice that warns, each once; the rest is counted.

    >>> excluded = [Excluded(f"O{i}", failed=5, pulls=5, reasons=(("exit code 1", 5),)) for i in range(9)]
    >>> warnings_in_short(excluded, 1)
    ['O0 is excluded: 5 of 5 runs failed (5 × exit code 1); the answer is about the other arms',
     'and 8 more of this kind; --json has them all']
    """
    kinds: dict[type[Notice], dict[str, None]] = {}
    for notice in some:
        if notice.warns:
            kinds.setdefault(type(notice), {})[str(notice)] = None
    said = []
    for alike in kinds.values():
        said += list(alike)[:most]
        if len(alike) > most:
            said.append(f"and {len(alike) - most:,} more of this kind; --json has them all")
    return said
