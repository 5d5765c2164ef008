"""What a log says: which arms are certainly on the front, which certainly off, what is open, and how robust that is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from frontguard._checks import real_number
from frontguard._typing import Floats
from frontguard.errors import BadInput
from frontguard.evidence.boxes import ArmBoxes
from frontguard.logs.analysis import Analysis
from frontguard.logs.boxes import BoxReader, mean_front, means
from frontguard.logs.counted import CountedFile, marked
from frontguard.logs.more_pulls import Needed, needed
from frontguard.logs.profile import profile as robustness
from frontguard.logs.sort.ordered import Readable
from frontguard.logs.sort.progress import Clock, Watcher
from frontguard.logs.sort.rows import failure_floors
from frontguard.logs.sort.spill import ordered_from
from frontguard.logs.sources import open_log
from frontguard.logs.sources.files import STDIN, LogFiles, find, is_address
from frontguard.logs.sources.frames import is_frame
from frontguard.logs.sources.log import Log
from frontguard.logs.sources.reader import no_column
from frontguard.logs.state import LogState, append_to
from frontguard.logs.state.file import MARK
from frontguard.notices import Notice, TooFewPulls
from frontguard.objectives import Objective, parse_objectives, tolerances
from frontguard.pareto.judge import Verdicts, judge, promised_now
from frontguard.phrases import did_you_mean, quoted, shown
from frontguard.results import Certificate
from frontguard.theory.threats import Threat, threat_named

MOST_PROFILED = 20_000
"""Arms up to which the robustness profile is made unless it is asked for: beyond, it takes longer than the answer."""


@dataclass(frozen=True)
class Question:
    """What is asked of a log, whatever it holds."""

    objectives: tuple[Objective, ...]
    threat: Threat
    confidence: float = 0.95
    coverage: tuple[float, ...] | None = None  # inner values; as the tolerances unless given
    anytime: bool = False

    @property
    def delta(self) -> float:
        """δ."""
        return round(1.0 - self.confidence, 12)

    def goal(self) -> dict[str, Floats]:
        """γ, c and the margin, as inner values (M,); see `Certified`."""
        accuracy = tolerances(self.objectives)
        coverage = accuracy if self.coverage is None else np.array(self.coverage)
        return {"accuracy": accuracy, "coverage": coverage, "margin": np.maximum(accuracy - coverage, 0.0) / 2}


def analyze(
    log: Any,
    *,
    arm: str | Sequence[str] | None = None,
    maximize: str | Sequence[str] = (),
    minimize: str | Sequence[str] = (),
    objectives: Iterable[Objective | str | tuple[str, str]] | None = None,
    tolerance: float | str | Mapping[str, float | str] | None = None,
    quantile: float | Mapping[str, float] | None = None,
    threat: str | Threat = "prescient",
    contamination: float = 0.1,
    confidence: float = 0.95,
    anytime: bool | None = None,
    profile: bool | None = None,
    memory: int | None = None,
    folder: str | Path | None = None,
    append: str | Path | None = None,
    again: bool = False,
    sketch: int | None = None,
    cluster: Any = None,
    progress: Watcher | None = None,
    **reading: Any,
) -> Analysis:
    """Say which arms of a log are certainly on the front, which certainly off, what is open, and how robust that is.

    Parameters
    ----------
    log
        A frame (pandas, Polars, Arrow), a file, directory or glob (CSV, Parquet, JSON lines), results of hyperfine,
        pyperf or pytest-benchmark, a study, or state files that earlier analyses left, which are merged.
    arm
        The column that names the arm, or several that do so together.
    maximize, minimize, objectives
        Columns of metrics with their directions, or `Objective`s. A study has its own.
    tolerance, quantile
        One for all metrics, or by name. Without, those of the objectives, and else 0 and 1/2. With tolerance 0 an arm
        is in if it is certainly on the front.
    threat, contamination
        Who may have replaced measurements, and which share of each arm's.
    anytime
        Use boundaries that hold however often the log was looked at while it grew. Without, the number of rows must not
        have been chosen by looking at the values. Unless said, for studies, which choose what to pull by what they saw.
    profile
        Whether to find up to which ε each verdict stands; unless said, for logs of up to 20,000 arms.
    memory, folder
        Bytes for rows, beyond which they go to temporary files, and where these are made.
    append, again
        A state file to which this log is added (and which is made if it is not there): the answer is about all that
        it has. A file that it has counted already is refused, unless `again`.
    sketch
        Keep a sketch of this size k for each arm in the state, instead of all values: bounded memory, wider boxes.
    cluster
        Partitioned Parquet is read on this Dask cluster, a `distributed.Client` or "HOST:PORT".
    reading
        Of the input: see `frontguard.logs.sources.open_log`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> frame = {"flag": ["-O1"] * 200 + ["-O2"] * 200, "seconds": np.r_[rng.normal(2, 1, 200), rng.normal(1, 1, 200)]}
    >>> found = analyze(frame, arm="flag", minimize="seconds", contamination=0.1)
    >>> found.verdicts, found.status
    ({'-O1': 'out', '-O2': 'in'}, 'certified')
    >>> round(found.front_changes_at, 2)  # were more than that of the measurements replaced, nothing would be certain
    0.29
    """
    model = threat if isinstance(threat, Threat) else threat_named(threat, contamination)
    level = _confidence(confidence)
    given = _given(maximize, minimize, objectives)

    def ask(metrics: tuple[Objective, ...], *, adaptive: bool = False) -> Question:
        chosen = _adjusted(metrics, tolerance=tolerance, quantile=quantile)
        return Question(chosen, model, level, anytime=adaptive if anytime is None else anytime)

    if cluster is not None:
        if not given:
            raise BadInput("objectives: name the columns to read on the cluster with maximize or minimize")
        if append is not None or sketch is not None:
            raise BadInput(
                "cluster: a log on a cluster cannot be added to a state file; analyse its parts one by one for that"
            )
        from frontguard.logs.cluster import ordered_on_cluster

        question = ask(given)
        names = [objective.name for objective in given]
        floors = failure_floors(names, question.objectives)
        with ordered_on_cluster(cluster, log, arm=arm or "arm", metrics=names, failed_below_or_at=floors) as there:
            return answer(there, question, profiled=profile)
    kind: Any = None
    notes: tuple[Notice, ...] = ()
    format = reading.get("format")
    files = find(log) if _is_of_files(log) and (format != "study" or append is not None) else None
    if files is not None and format is None and (states := _state_files(files)):
        state = LogState.merge_all([LogState.load(path) for path in states], again=again)
        adaptive = bool(state.about.get("adaptive"))
        question = ask(_asked_of_state(state, given, arm, states[0]), adaptive=adaptive)
    else:
        names = [objective.name for objective in given]
        sources = _new_sources(files, append, again=again) if append is not None and files is not None else ()
        opened = open_log(log if files is None else files, arm=arm, metrics=names, **reading)
        metrics = given or opened.objectives or tuple(Objective(name, "minimize") for name in opened.metrics)
        adaptive = opened.format == "study"
        question = ask(metrics, adaptive=adaptive)
        clock = Clock(progress, opened.rows_hint, lambda: opened.share_read)
        if opened.layout == "long":  # it is read to its end before the first pull is known
            opened.on_rows = clock.read
        ordered = ordered_from(
            opened.batches(),
            opened.metrics,
            failed_below_or_at=failure_floors(opened.metrics, question.objectives),
            memory=memory,
            folder=folder,
            clock=clock,
        )
        if is_frame(log):  # no rows of it, to remember its kind by
            kind = log if isinstance(log, Mapping) else log[:0]
        notes = tuple(opened.notes)
        if append is None and sketch is None:
            return answer(ordered, question, profiled=profile, kind=kind, notes=notes)
        relative = [each.name for each in question.objectives if each.relative]
        about: dict[str, Any] = {"arm": list(opened.arm), "layout": opened.layout, "relative": relative}
        if adaptive:  # what a state of such rows promises holds with the boundaries for many looks only
            about["adaptive"] = True
        state = LogState.from_ordered(ordered, about, sources)
    if sketch is not None:
        state = state.sketched(sketch)
    if append is not None:
        state = append_to(append, state, again=again)
    readable, delta = state.readable(question.delta)
    _refuse_not_positive(readable, question.objectives)
    return answer(readable, question, delta=delta, profiled=profile, kind=kind, notes=notes)


def answer(
    ordered: Readable,
    question: Question,
    *,
    delta: float | None = None,
    profiled: bool | None = None,
    kind: Any = None,
    notes: tuple[Notice, ...] = (),
) -> Analysis:
    """The analysis of sorted measurements; `delta` is what is left of δ for the boxes."""
    delta = question.delta if delta is None else delta
    goal: dict[str, Any] = dict(question.goal())
    reader = BoxReader(ordered, question.objectives, delta, anytime=question.anytime)
    boxes = reader.read(question.threat)
    verdicts = judge(boxes, **goal)
    more = needed(reader, question.threat, verdicts, **goal) if verdicts.undecided.any() else None
    wanted = len(ordered.pulls) <= MOST_PROFILED if profiled is None else profiled
    columns = [ordered.metrics.index(objective.name) for objective in question.objectives]
    averages = means(ordered, question.objectives)
    return Analysis(
        policy="analysis",
        status=_status(verdicts, more),
        arms=tuple(ordered.arms),
        objectives=tuple(objective.name for objective in question.objectives),
        verdict_codes=verdicts.codes,
        estimates=np.where(np.isneginf(boxes.estimates), np.nan, boxes.estimates),
        lower=boxes.lower,
        upper=boxes.upper,
        pulls_per_arm=ordered.pulls,
        decided_by=verdicts.decided_by,
        certificate=_certificate(question, goal, promised_now(boxes, verdicts, **goal)),
        outlook=_certificate(question, goal, (verdicts.accuracy_slack, verdicts.coverage_slack)),
        notices=notes + _too_few(ordered, boxes),
        failed=(ordered.pulls - ordered.good[columns]).T,
        means=averages,
        mean_front=mean_front(averages, question.objectives),
        profile=robustness(reader, question.threat, **goal) if wanted else None,
        needed=more,
        anytime=question.anytime,
        kind=kind,
    ).in_units(question.objectives)  # type: ignore[return-value]


def _status(verdicts: Verdicts, more: Needed | None) -> str:
    """certified if every arm is decided, unreachable if no number of pulls would decide one, else budget."""
    if more is None:
        return "certified"
    return "budget" if (more.limit <= 1).any() else "unreachable"


def _certificate(question: Question, goal: dict[str, Floats], slacks: tuple[float, float]) -> Certificate:
    accuracy, coverage = (
        tuple(np.maximum(goal[name] + slack, 0.0).tolist())
        for name, slack in zip(("accuracy", "coverage"), slacks, strict=True)
    )
    return Certificate(
        accuracy=accuracy,
        coverage=coverage,
        confidence=question.confidence,
        threat=question.threat.name,
        contamination=question.threat.eps,
    )


def _too_few(ordered: Readable, boxes: ArmBoxes) -> tuple[TooFewPulls, ...]:
    """What keeps a log from saying more than it does."""
    unknown = np.flatnonzero((np.isneginf(boxes.lower) & np.isposinf(boxes.upper)).any(axis=1))
    if not len(unknown):
        return ()
    names = tuple(ordered.arms[i] for i in unknown[:3].tolist())
    return (TooFewPulls(names, len(unknown), len(ordered.pulls), int(ordered.pulls[unknown].max())),)


def _given(
    maximize: str | Sequence[str],
    minimize: str | Sequence[str],
    objectives: Iterable[Objective | str | tuple[str, str]] | None,
) -> tuple[Objective, ...]:
    """The objectives in whichever way they were given; none if they are left to the log."""
    most, least = ([names] if isinstance(names, str) else list(names) for names in (maximize, minimize))
    if objectives is not None:
        if most or least:
            raise BadInput("objectives cannot be combined with maximize and minimize: give them one way")
        return parse_objectives(objectives)
    named = [*((name, "maximize") for name in most), *((name, "minimize") for name in least)]
    return parse_objectives(named) if named else ()


def _adjusted(
    objectives: tuple[Objective, ...],
    *,
    tolerance: float | str | Mapping[str, float | str] | None,
    quantile: float | Mapping[str, float] | None,
) -> tuple[Objective, ...]:
    """The objectives with the tolerances and quantiles that were given for all or by name."""
    names = [objective.name for objective in objectives]
    wanted: dict[str, Mapping[str, Any]] = {
        what: given if isinstance(given, Mapping) else dict.fromkeys(names, given)
        for what, given in (("tolerance", tolerance), ("quantile", quantile))
    }
    for what, by_name in wanted.items():
        for name in by_name:
            if name not in names:
                raise BadInput(
                    f"{what}: {shown(name)} is not one of the metrics{did_you_mean(str(name), names)}; they are "
                    f"{quoted(names)}"
                )
    changed = []
    for each in objectives:
        changes: dict[str, Any] = {what: by_name.get(each.name) for what, by_name in wanted.items()}
        changed.append(replace(each, **{what: value for what, value in changes.items() if value is not None}))
    return tuple(changed)


def _confidence(confidence: object) -> float:
    value = real_number(confidence, "confidence")
    if not 0.0 < value < 1.0:
        raise BadInput(f"confidence must be a probability between 0 and 1, such as 0.95; got {confidence!r}")
    return value


def _is_of_files(log: Any) -> bool:
    if isinstance(log, Log) or is_frame(log) or is_address(log):
        return False
    return not (isinstance(log, str) and log == STDIN)


def _new_sources(found: LogFiles, state: str | Path, *, again: bool) -> tuple[CountedFile, ...]:
    """The marks by which a state knows the files that it has counted, before these are read for nothing."""
    known = LogState.load(state).sources if Path(state).expanduser().exists() else ()
    marks: list[CountedFile] = []
    for path in (file.path for file in found.files if file.path is not None):
        source, before = marked(path, known=(*known, *marks))
        if before is not None and not again:
            rest = (
                "give the rows that are new in a file of their own"
                if before.grew
                else f"--again (again=True) counts it once more; the state answers by itself as the log {state}"
            )
            raise BadInput(f"{before}; {rest}")
        marks.append(source)
    return tuple(marks)


def _state_files(found: LogFiles) -> list[Path]:
    """The state files that a log is, if it is of these; none otherwise."""
    paths = [file.path for file in found.files if file.path is not None]
    states = [path for path in paths if _is_state(path)]
    if states and len(states) < len(found.files):
        other = next(file.shown for file in found.files if file.path not in states)
        raise BadInput(
            f"state files and logs cannot be read as one log; got {states[0]} and {other}: add the log to the state "
            "with --append (append=)"
        )
    return states


def _is_state(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MARK)) == MARK
    except OSError:  # whoever reads it will say so
        return False


def _asked_of_state(
    state: LogState, given: tuple[Objective, ...], arm: str | Sequence[str] | None, where: Path
) -> tuple[Objective, ...]:
    """The objectives that are asked of a state, all of which it must have."""
    if not given:
        raise BadInput(
            f"{where} is a state of {quoted(state.metrics)}; say which of them to maximize and which to minimize"
        )
    for objective in given:
        if objective.name not in state.metrics:
            no_column(objective.name, list(state.metrics), str(where))
    arms = [arm] if isinstance(arm, str) else list(arm or ())
    if arms and "arm" in state.about and list(state.about["arm"]) != arms:
        raise BadInput(f"{where}: its arm is {quoted(state.about['arm'])}; got {quoted(arms)}")
    return given


def _refuse_not_positive(readable: Readable, objectives: Sequence[Objective]) -> None:
    """A state that kept values ≤ 0 cannot be asked with a relative tolerance: there they are failed pulls."""
    for objective in objectives:
        if objective.relative:
            column = readable.metrics.index(objective.name)
            some = np.flatnonzero(readable.good[column])
            lowest = readable.at(column, some, np.ones(len(some), np.int64), -1)
            if (lowest <= 0.0).any():
                raise BadInput(
                    f"tolerance of {shown(objective.name)} must be absolute: the state was made without a relative one "
                    f"and has values that are not positive, such as {float(lowest.min()):g}"
                )
