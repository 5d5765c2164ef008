"""Analyses of logs: which arms are certainly on the front, which certainly off, what is open, how robust that is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from frontguard._common.checks import refuse_unknown
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.clusters import Clustered
from frontguard.evidence.measurements import Ordered
from frontguard.logs.answer import answer, as_designed
from frontguard.logs.checks import (
    UnusableCheck,
    differences,
    in_clusters,
    refuse_ties,
    refuse_truths,
    repeated,
    undeclared,
)
from frontguard.logs.design import clustered_from
from frontguard.logs.of_state import about_state, new_sources, of_state, of_states
from frontguard.logs.sort import ArmNames, Clock, RowOrder, Watcher, ordered_from, usable_ranges
from frontguard.logs.sources import open_log
from frontguard.logs.sources.files import STDIN, find, is_address, state_files
from frontguard.logs.sources.log import Log
from frontguard.logs.sources.reader import RowFilter, is_frame
from frontguard.logs.state import CountedFile, LogState
from frontguard.notices import Notice, TakenAsRate
from frontguard.objectives import Objective
from frontguard.phrases import quoted, shown
from frontguard.question import TOLERANCE, Asked, Entry, Question, entries_of, refuse_without_chance, usual_tolerance
from frontguard.results import Answer
from frontguard.theory.threats import Threat

if TYPE_CHECKING:
    from frontguard.studies.study import Study


class AskedOfLog(Asked, total=False):
    """A question to a log in its short form, and how rows are read: see `frontguard.logs.sources.open_log`."""

    layout: str | None
    format: str | None
    metric_column: str
    value_column: str
    decimal: str
    missing_arms: str
    study: str | None


def analyze(  # noqa: PLR0913 (a public entry point)
    log: Any,
    *,
    arm: str | Sequence[str] | None = None,
    objectives: Iterable[Entry] | None = None,
    threat: Threat | str | None = None,
    question: Question | None = None,
    profile: bool | None = None,
    memory: int | None = None,
    folder: str | Path | None = None,
    append: str | Path | None = None,
    again: bool = False,
    sketch: int | None = None,
    executor: object = None,
    where: Mapping[str, Any] | None = None,
    progress: Watcher | None = None,
    **given: Unpack[AskedOfLog],
) -> Answer:
    """Return which arms of a log to keep, which are dropped and why, and how robust that is.

    Parameters
    ----------
    log
        A frame (pandas, Polars, Arrow), a file, directory or glob (CSV, Parquet, JSON lines), results of hyperfine,
        pyperf or pytest-benchmark, a study, or state files that earlier analyses left, which are merged. Of a study
        everything below is its own unless it is given; where nothing else is asked, the answer is the study's own.
    arm
        The column that names the arm, or several that do so together.
    objectives, threat, question
        As in `Study`; those of a study, or of results of other tools, unless given. So is all else that is asked, such
        as `minimize`, `tolerance`, `limits`, `contamination` or `cluster`: see `frontguard.question.Asked`.
    profile
        Whether to find up to which ε each verdict stands; unless said, for logs of up to 20,000 arms.
    memory, folder
        Bytes for rows, beyond which they go to temporary files, and where these are made.
    append, again
        A state file to which this log is added (and which is made if it is not there): the answer is about all that
        it has, and holds at every look at it unless `anytime=False` says that there is one. A file that it has counted
        already is refused, unless `again`.
    sketch
        Keep a sketch of this size k for each arm in the state, instead of all values: bounded memory, wider intervals.
        With `anytime`, from the state's beginning or not at all.
    executor
        "dask://HOST:PORT" or a `distributed.Client`: CSV, JSON lines or Parquet that the workers of this Dask cluster
        see is read and sorted there, with the same answer. A client is left open.
    where
        Columns with the value, or a list of values, of which a row must have one to count: {"host": "a"}. A filter that
        was chosen by looking at the values breaks the promise.
    layout, format, metric_column, value_column, decimal, missing_arms, study
        How rows are read: see `frontguard.logs.sources.open_log`.
    progress
        Called now and then with how far it is.

    Returns
    -------
    Answer
        Verdicts, intervals and the certificate; in `log` what only a log tells.

    Raises
    ------
    BadInput
        The log cannot be read, or what is asked does not fit it: where, what is wanted, what was given.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> frame = {"flag": ["-O1"] * 200 + ["-O2"] * 200, "seconds": np.r_[rng.normal(2, 1, 200), rng.normal(1, 1, 200)]}
    >>> found = analyze(frame, arm="flag", minimize="seconds", contamination=0.1)
    >>> found.verdicts, found.status
    ({'-O1': 'beaten', '-O2': 'keep'}, 'certified')
    >>> round(found.front_changes_at, 2)  # were more than that of the measurements replaced, nothing would be certain
    0.29
    """
    how = HowRead(log, arm, where, append, again, sketch, memory, folder, profile, progress)
    asked, reading = split(given, analyze)
    asking = Asking(question, objectives, threat, asked)
    _refuse_combinations(how, asking.draft, executor)
    if executor is not None:
        return _on_cluster(executor, how, asking, reading)
    format = reading.get("format")
    elsewhere = is_frame(log) or is_address(log) or (isinstance(log, str) and log == STDIN)
    files = None if elsewhere or (format == "study" and append is None) else find(log)
    if files is not None and format is None and (states := state_files(files)):
        return of_states(states, how, asking)
    counted = new_sources(files, append, again=again) if append is not None and files is not None else ()
    opened = open_log(
        log if files is None else files,
        arm=arm,
        metrics=asking.names,
        filter=where,
        cluster=asking.groups,
        **reading,
    )
    return _of_log(opened, counted, how, asking)


# What is asked --------------------------------------------------------------------------------------------------------


_LEFT_OUT = {
    **dict.fromkeys(
        ("cost", "max_cost", "max_pulls", "max_pulls_per_arm", "polish"),
        "a log is measured already, and nothing is left to choose",
    ),
    "spread": "intervals of a log assume nothing of the spread of its values",
}
"""Questions about measuring, and why they cannot be asked of a log."""

_OF_METRICS = ("tolerance", "quantile", "statistic", "bounds", "sigma", "exact", "coverage")


def split(given: AskedOfLog, function: Callable[..., Any]) -> tuple[Asked, dict[str, Any]]:
    """Return what is asked, and how rows are read, of the further keywords of a function."""
    refuse_unknown(given, function, AskedOfLog.__annotations__)
    asked = {name: value for name, value in given.items() if name in Asked.__annotations__}
    return cast(Asked, asked), {name: value for name, value in given.items() if name not in asked}


class Asking:
    """A question whose metrics the log may have; `tolerant`: those only named have the usual tolerance."""

    def __init__(
        self,
        base: Question | None,
        objectives: Iterable[Entry] | None,
        threat: Threat | str | None,
        asked: Asked,
        *,
        tolerant: bool = False,
    ) -> None:
        for name, why in _LEFT_OUT.items():
            if asked.get(name) or getattr(base, name, None):
                raise BadArgument(name, f"{why}; leave {name} out")
        self._base, self._threat, self.tolerant = base, threat, tolerant
        self._entries = entries_of(asked.get("maximize") or (), asked.get("minimize") or (), objectives)
        self._asked = cast(Asked, {key: value for key, value in asked.items() if key not in ("maximize", "minimize")})
        self.independent = asked.get("independent")
        self.named = base is not None or self._entries is not None
        if self.named:
            plain = [each for each in self._entries or () if not isinstance(each, Objective)]
            named = [each if isinstance(each, str) else each[0] for each in plain]
            self.draft = Question.of(
                self._entries, threat, question=base, usual=named if tolerant else (), **self._asked
            )
        else:
            rest = {key: value for key, value in self._asked.items() if key not in _OF_METRICS}
            if isinstance(rest.get("contamination"), Mapping):
                del rest["contamination"]
            self.draft = Question.of([("value", "maximize")], threat, **cast(Asked, rest))
        refuse_without_chance(self.draft, in_order=False)
        if self.draft.paired and not self.draft.pair:
            what = "paired" if self.draft.items is None else "items"
            raise BadArgument(what, "say by pair (--pair COLUMN) which column tells them apart")
        if asked.get("absent") and not self.draft.pair:
            raise BadArgument("absent", "it is said of a log with pairs; give --pair COLUMN, or leave it out")

    @property
    def names(self) -> list[str]:
        """The columns to read; none where that is left to the log."""
        return [each.name for each in self.draft.columns.metrics] if self.named else []

    @property
    def groups(self) -> list[str] | None:
        """The columns that say which rows belong together, as pairs or as clusters."""
        return list(self.draft.pair or self.draft.cluster) or None

    def of(self, found: Sequence[Objective], *, adaptive: bool = False, grows: bool = False) -> Question:
        """The question about these metrics, unless others are named."""
        if self.named:
            return _looked_at(self.draft, adaptive=adaptive, grows=grows)
        usual = [each.name for each in found] if self.tolerant else []
        question = Question.of(found, self._threat, usual=usual, **self._asked)
        return _looked_at(question, adaptive=adaptive, grows=grows)

    def of_study(self, own: Question) -> Question:
        """The question that a study asks, with what is asked otherwise."""
        asked = self.draft if self._base is not None else own.but(self._entries, self._threat, **self._asked)
        return _looked_at(asked, adaptive=True)


def _looked_at(question: Question, *, adaptive: bool, grows: bool = False) -> Question:
    """The question, anytime-valid if its source chose pulls by what it saw (`adaptive`) or `grows`, unless said."""
    if adaptive and question.anytime is False:
        raise BadArgument(
            "anytime", "the pulls of a study were chosen by what it had seen; leave --one-look (anytime=False) away"
        )
    return replace(question, anytime=adaptive or grows if question.anytime is None else question.anytime)


def with_rates(
    question: Question, metrics: Sequence[str], truths: Collection[str], *, tolerant: bool = False
) -> tuple[Question, tuple[TakenAsRate, ...]]:
    """The question with rates in place of medians, that nobody asked for, of columns of true and false (`truths`)."""
    named = set(metrics) if metrics and truths else set(truths)
    for each in question.objectives:
        if each.name in named:
            refuse_truths(each)
    rated = question.with_rates(named)
    changed = [new.name for new, old in zip(rated.objectives, question.objectives, strict=True) if new != old]
    changed += [new.metric for new, old in zip(rated.limits, question.limits, strict=True) if new != old]
    if tolerant:
        usual = [each for each in rated.objectives if each.name in changed and each.tolerance == TOLERANCE]
        rated = rated.but(tolerance={each.name: usual_tolerance(each) for each in usual})
    return rated, tuple(TakenAsRate(name) for name in dict.fromkeys(changed))


# Where rows come from -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HowRead:
    """The log, and how its rows are read and kept; see `analyze`."""

    log: Any
    arm: str | Sequence[str] | None
    where: Mapping[str, Any] | None
    append: str | Path | None
    again: bool
    sketch: int | None
    memory: int | None
    folder: str | Path | None
    profile: bool | None
    progress: Watcher | None

    @property
    def keeps_state(self) -> bool:
        """True if a state is made of the rows."""
        return self.append is not None or self.sketch is not None

    @property
    def arms(self) -> list[str]:
        """The columns that name the arm, where they are given."""
        return [self.arm] if isinstance(self.arm, str) else list(self.arm or ())

    @property
    def kind(self) -> Any:
        """A frame without rows, to remember its kind by; None of a log that is none."""
        if not is_frame(self.log):
            return None
        return self.log if isinstance(self.log, Mapping) else self.log[:0]


def _refuse_combinations(how: HowRead, draft: Question, executor: object) -> None:
    if draft.baseline is not None:
        raise BadArgument("baseline", "a gate compares arms with a baseline: gate(log, baseline=ARM)")
    if draft.independent and how.sketch is not None:
        raise BadArgument("independent", "pairs are read from all values, and a sketch does not have them")
    said = {
        "where": how.where, "pair": draft.pair, "cluster": draft.cluster, "append": how.append, "sketch": how.sketch,
    }  # fmt: skip
    for what, value in said.items():
        if value and executor is not None:
            raise BadArgument("executor", f"{what} cannot be combined with a Dask cluster; leave one of them out")


def _of_log(opened: Log, counted: tuple[CountedFile, ...], how: HowRead, asking: Asking) -> Answer:
    """The analysis of a log that is open, or of the state to which it is added."""
    if opened.cluster:
        _refuse_beside_clusters(opened, how, asking.draft)
    question = _question_of(opened, how, asking)
    for limit in question.limits:
        if limit.metric not in opened.metrics:
            raise BadInput(
                f"limits: {shown(limit.metric)} is none of {quoted(opened.metrics)}, which are read; say which columns "
                "to compare arms by (maximize, minimize)"
            )
    clock = Clock(how.progress, opened.expected_rows)
    if opened.layout == "long":  # it is read to its end before the first pull is known
        opened.on_rows = clock.read
    if opened.study is not None and not how.keeps_state:
        return _of_study(opened.study, question, how.profile, clock)
    ordered, question, notes = sorted_rows(opened, question, asking, clock, how.memory, how.folder)
    if not how.keeps_state:
        designed, noted = as_designed(ordered, question)
        notes += noted
        return answer(designed, question, profiled=how.profile, kind=how.kind, notes=notes, columns_of_arm=opened.arm)
    # Before anything is written:
    refuse_ties(ordered, question)
    about = about_state(opened, question, RowFilter.of(how.where))
    return of_state(LogState.from_ordered(ordered, about, counted), None, question, how, notes)


def _question_of(opened: Log, how: HowRead, asking: Asking) -> Question:
    if opened.study is None:
        found = opened.objectives or tuple(Objective(name, "minimize") for name in opened.metrics)
        return asking.of(found, grows=how.append is not None)
    study = opened.study.settings.question
    asked, own = asking.of_study(replace(study, anytime=True)), study.independent
    if asking.independent and not own:
        raise BadArgument(
            "independent", "the study was not begun with it; begin one with independent=True (run --independent)"
        )
    independent = own and not how.keeps_state if asking.independent is None else asking.independent
    return replace(asked, independent=independent)


def sorted_rows(
    opened: Log,
    question: Question,
    asking: Asking,
    clock: Clock,
    memory: int | None = None,
    folder: str | Path | None = None,
    clusters: ArmNames | None = None,
) -> tuple[Ordered, Question, tuple[Notice, ...]]:
    """The sorted rows of a log, with clusters that logs may share; the question, with rates; what was noticed."""
    watched = RowOrder(len(opened.file_names))
    unusable = UnusableCheck(question.columns.boxed, opened.metrics)
    usable = usable_ranges(opened.metrics, question.columns.boxed)
    batches = unusable.watched(opened.batches())
    how: dict[str, Any] = {"usable": usable, "memory": memory, "clock": clock}
    if opened.cluster:
        ordered: Ordered = clustered_from(batches, opened.metrics, opened.cluster, clusters=clusters, **how)
    else:
        ordered = ordered_from(batches, opened.metrics, folder=folder, watched=watched, **how)
    long = opened.metrics if opened.layout == "long" else ()
    question, rates = with_rates(question, long, opened.kinds.truths, tolerant=asking.tolerant)
    looked: tuple[Notice, ...] = ()
    if isinstance(ordered, Clustered):  # clusters may differ, and so may rows that stand side by side with their own
        hints = not question.pair
        if hints or ordered.dependent.any():
            looked = (in_clusters(ordered, question.objectives),)
    else:
        hints = asking.groups is None
        looked = differences(
            watched, opened.file_names, ordered.arms, ordered.metrics, question.objectives, question.contaminations
        )
        looked += repeated(ordered, question.objectives)
    if hints and opened.study is None:
        looked += undeclared(opened)
    return ordered, question, (*opened.notes, *rates, *unusable.notices(), *looked)


def _refuse_beside_clusters(opened: Log, how: HowRead, draft: Question) -> None:
    """Refuse what needs rows that are not in clusters, or others than those of a study."""
    if opened.study is not None:
        raise BadInput(
            "cluster, pair: the pulls of a study have the clusters that they were told with; leave both away"
        )
    none = "give --cluster none (cluster='none') if all rows are independent"
    for what, value in (("independent", draft.independent), ("append", how.append), ("sketch", how.sketch)):
        if value:
            raise BadArgument(
                what, f"these rows are in clusters by {quoted(opened.cluster)}; leave --{what} away, or {none}"
            )


def _on_cluster(executor: object, how: HowRead, asking: Asking, reading: Mapping[str, Any]) -> Answer:
    from frontguard.logs.on_dask import ordered_on_cluster

    if reading.get("study") is not None or reading.get("format") == "study":
        raise BadArgument("executor", "a study cannot be read on a cluster; wanted files that its workers see")
    if not asking.named:
        raise BadArgument("objectives", "name the columns to read on the cluster with maximize or minimize")
    question = asking.of(())
    options = {name: value for name, value in reading.items() if name != "study"}
    ordered, notes, truths = ordered_on_cluster(
        executor, how.log, arm=how.arm, metrics=asking.names, objectives=question.columns.boxed,
        progress=how.progress, memory=how.memory, folder=how.folder, **options,
    )  # fmt: skip
    question, rates = with_rates(question, (), truths)
    designed, noted = as_designed(ordered, question)
    return answer(designed, question, profiled=how.profile, notes=(*notes, *rates, *noted), columns_of_arm=how.arms)


def _of_study(study: Study, question: Question, profiled: bool | None, clock: Clock) -> Answer:
    """The study's own answer if nothing else is asked, and else what its log says to the question."""
    from frontguard.logs.of_study import other_answer, own_answer, read_study

    log = read_study(study)
    study.close()
    clock.read(len(log.arm_of))
    clock.all_read()
    if question == log.question:
        return own_answer(log, profiled=profiled, ahead=True)[0]
    return other_answer(log, question, profiled=profiled)
