"""What a log says: which arms are certainly on the front, which certainly off, what is open, and how robust that is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from frontguard._common.checks import checked_count
from frontguard._common.written import checked_confidence, checked_goal, explains_arguments
from frontguard.errors import BadArgument, BadInput
from frontguard.limits import Limit, columns_for, parse_limits
from frontguard.logs.adjusted import adjusted
from frontguard.logs.analysis import Analysis
from frontguard.logs.answer import Question, answer
from frontguard.logs.checks import (
    UnusableCheck,
    differences,
    in_clusters,
    out_of_bounds,
    refuse_ties,
    refuse_truths,
    undeclared,
)
from frontguard.logs.clustered import ClusterRows
from frontguard.logs.independent import as_independent, independent_as_study, refuse_dependent
from frontguard.logs.paired import check_counted, in_pairs
from frontguard.logs.sort.order import RowOrder
from frontguard.logs.sort.ordered import Ordered, Readable
from frontguard.logs.sort.progress import Clock, Watcher
from frontguard.logs.sort.rows import usable_ranges
from frontguard.logs.sort.spill import ordered_from
from frontguard.logs.sources import open_log
from frontguard.logs.sources.files import STDIN, LogFiles, find, is_address
from frontguard.logs.sources.filter import RowFilter
from frontguard.logs.sources.log import Log
from frontguard.logs.sources.reader import in_some_clusters, no_column
from frontguard.logs.sources.typed import is_frame
from frontguard.logs.state import MARK, CountedFile, LogState, append_to, marked
from frontguard.notices import Notice, RowsLeftOut, TakenAsRate
from frontguard.objectives import Counted, Objective, parse_objectives
from frontguard.phrases import quoted, shown
from frontguard.theory.threats import Threat, threat_of

if TYPE_CHECKING:
    from frontguard.studies.study import Study

_READING = tuple(signature(open_log).parameters)


@explains_arguments(*_READING)
def analyze(
    log: Any,
    *,
    arm: str | Sequence[str] | None = None,
    maximize: str | Sequence[str] = (),
    minimize: str | Sequence[str] = (),
    objectives: Iterable[Objective | str | tuple[str, str]] | None = None,
    tolerance: float | str | Mapping[str, float | str] | None = None,
    quantile: float | Mapping[str, float] | None = None,
    statistic: Counted | Mapping[str, Counted] | None = None,
    bounds: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    sigma: float | Mapping[str, float] | None = None,
    exact: str | Sequence[str] = (),
    limits: Iterable[Limit | str] | None = None,
    threat: Threat | str | None = None,
    contamination: float | str | None = None,
    confidence: float | str | None = None,
    goal: str | None = None,
    anytime: bool | None = None,
    profile: bool | None = None,
    memory: int | None = None,
    folder: str | Path | None = None,
    append: str | Path | None = None,
    again: bool = False,
    sketch: int | None = None,
    executor: object = None,
    where: Mapping[str, Any] | None = None,
    cluster: str | Sequence[str] | None = None,
    pair: str | Sequence[str] | None = None,
    items: int | None = None,
    independent: bool | None = None,
    progress: Watcher | None = None,
    **reading: Any,
) -> Analysis:
    """Say which arms of a log are certainly on the front, which certainly off, what is open, and how robust that is.

    Parameters
    ----------
    log
        A frame (pandas, Polars, Arrow), a file, directory or glob (CSV, Parquet, JSON lines), results of hyperfine,
        pyperf or pytest-benchmark, a study, or state files that earlier analyses left, which are merged. Of a study
        everything below is its own unless it is given; where nothing else is asked, the answer is the study's own.
    arm
        The column that names the arm, or several that do so together.
    maximize, minimize, objectives
        Columns of metrics with their directions, or `Objective`s.
    tolerance, quantile
        One for all metrics, or by name. Without, those of the objectives, and else 0 and 1/2. With tolerance 0 an arm
        is in if it is certainly on the front.
    statistic, bounds, sigma
        "mean" where the mean of a metric counts and not a quantile, with the `bounds` that no value can exceed, such as
        (0, 1), or a known deviation `sigma`; for all metrics, or by name: {"solved": "mean"}. True and false are a rate
        without this being said.
    exact
        Metrics that are the same whenever they are measured, such as sizes.
    limits
        What arms must keep to: `Limit`s, or texts such as "p95(latency)<=300", of any columns. Those of a study unless
        given.
    threat, contamination, confidence
        As in `Study`; those of a study unless given, and else "prescient", 0.1 and 0.95.
    goal
        "list", as few arms as are enough, or "front", all that none beats; that of a study unless given, and else the
        list.
    anytime
        Use boundaries that hold however often the log was looked at while it grew. Without, the number of rows must not
        have been chosen by looking at the values. Studies choose what to pull by what they saw: theirs are always so.
    profile
        Whether to find up to which ε each verdict stands; unless said, for logs of up to 20,000 arms.
    memory, folder
        Bytes for rows, beyond which they go to temporary files, and where these are made.
    append, again
        A state file to which this log is added (and which is made if it is not there): the answer is about all that
        it has. A file that it has counted already is refused, unless `again`.
    sketch
        Keep a sketch of this size k for each arm in the state, instead of all values: bounded memory, wider boxes.
        With `anytime`, from the state's beginning or not at all.
    executor
        "dask://HOST:PORT" or a `distributed.Client`: CSV, JSON lines or Parquet that the workers of this Dask cluster
        see is read and sorted there, with the same answer. A client is left open.
    where
        Columns with the value, or a list of values, of which a row must have one to count: {"host": "a"}. A filter that
        was chosen by looking at the values breaks the promise.
    cluster
        The column that says in which cluster (process, host, user, day) a row was measured, or several that say it
        together: rows of an arm and cluster may depend on each other, and count as one observation. "none": every row
        counts. Unless given, what the results of pyperf and pytest-benchmark say of their processes.
    pair, items
        The column that says on what a row was measured (question, seed, day), or several that say it together: arms are
        compared by their differences on the same ones, too, where means with bounds count. Rows of an arm with the same
        one count as one observation, by their mean. `items`: how many there are of them in all, each measured once by
        an arm; what counts are then the means over this list, which are known once all are measured.
    independent
        Whether what is measured of one arm does not depend on what is measured of another: arms are then compared in
        pairs, too, up to 300 of them. It is taken for granted, and said. That of a study unless given.
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
    model = threat_of(threat, contamination)
    level = 0.95 if confidence is None else checked_confidence(confidence)
    aim = "list" if goal is None else checked_goal(goal)
    entries = entries_of(maximize, minimize, objectives)
    given = () if entries is None else parse_objectives(entries)
    kept_to = () if limits is None else parse_limits(limits)

    def ask(metrics: tuple[Objective, ...], *, adaptive: bool = False, under: Threat = model) -> Question:
        if adaptive and anytime is False:
            raise BadArgument(
                "anytime",
                "the pulls of a study were chosen by what it had seen, and bounds for one look do not hold of "
                "these; leave --one-look (anytime=False) away",
            )
        chosen = adjusted(metrics, tolerance, quantile, statistic, bounds, sigma, exact)
        looks = adaptive if anytime is None else anytime
        return Question(chosen, under, level, anytime=looks, limits=kept_to, aim=aim, independent=bool(independent))

    if independent:
        refuse_dependent(pair, cluster, executor, sketch)
    pairing = _checked_pairs(pair, items, cluster, log)
    cluster = pairing if pairing is not None else cluster
    chosen = RowFilter.of(where)
    if chosen.columns and (executor is not None or isinstance(log, Log)):
        raise BadArgument(
            "where", "rows can be chosen of files and frames; got a cluster, or a log that is open already"
        )
    if cluster is not None and isinstance(log, Log):
        raise BadArgument("cluster", "it can be said of files and frames; got a log that is open already")
    if executor is not None:
        refused = {"append": append, "sketch": sketch, "memory": memory, "folder": folder, "pair": pairing}
        refused |= {"cluster": cluster}
        for what, value in refused.items():
            if value is not None:
                raise BadArgument(
                    "executor", f"{what} cannot be combined with a Dask cluster, where the workers keep the values"
                )
        return _on_cluster(executor, log, arm, ask(given), profile, progress, reading)
    kind: Any = None
    notes: tuple[Notice, ...] = ()
    format = reading.get("format")
    states: list[Path] = []
    files = find(log) if _is_of_files(log) and (format != "study" or append is not None) else None
    if files is not None and format is None and (states := _state_files(files)):
        if in_some_clusters(cluster):
            raise BadArgument("cluster", f"a state does not keep clusters; got the state {states[0]}: analyse the logs")
        state = LogState.merge_all([LogState.load(path) for path in states], again=again)
        adaptive = bool(state.about.get("adaptive"))
        question = ask(_asked_of_state(state, given, kept_to, arm, states[0]), adaptive=adaptive)
        question = replace(question, objectives=_as_in_state(question.objectives, state))
        notes = _chosen_in_state(state, chosen, states[0])
    else:
        names = [metric.name for metric in columns_for(given, kept_to).metrics] if given else []
        sources = _new_sources(files, append, again=again) if append is not None and files is not None else ()
        whole = log if files is None else files
        opened = open_log(whole, arm=arm, metrics=names, filter=where, cluster=cluster, **reading)
        if opened.cluster:
            _refuse_beside_clusters(opened, append, sketch, independent=bool(independent))
        metrics = given or opened.objectives or tuple(Objective(name, "minimize") for name in opened.metrics)
        for limit in kept_to:
            if limit.metric not in opened.metrics:
                raise BadInput(
                    f"limits: {shown(limit.metric)} is none of {quoted(opened.metrics)}, which are read unless told "
                    "otherwise; say which columns to compare arms by (maximize, minimize)"
                )
        adaptive = opened.study is not None
        under = model
        if opened.study is not None:
            from frontguard.logs.of_study import question_of  # studies, of which most logs know nothing

            own = question_of(opened.study.settings)
            metrics = _as_in_study(entries, given, own.objectives)
            under = threat_of(threat, contamination, own.threat)
        question = ask(metrics, adaptive=adaptive, under=under)
        if opened.study is not None:
            question = replace(
                question,
                confidence=own.confidence if confidence is None else level,
                aim=own.aim if goal is None else aim,
                coverage=_coverage(own, metrics) if tolerance is None else None,
                limits=own.limits if limits is None else kept_to,
                independent=independent_as_study(opened.study.settings, independent, state=bool(append or sketch)),
            )
        clock = Clock(progress, opened.expected_rows)
        if opened.layout == "long":  # it is read to its end before the first pull is known
            opened.on_rows = clock.read
        if opened.study is not None and append is None and sketch is None:
            return _of_study(opened.study, question, profile, clock)
        watched = RowOrder(len(opened.file_names))
        unusable = UnusableCheck(question.columns.boxed, opened.metrics)
        usable = usable_ranges(opened.metrics, question.columns.boxed)
        batches = unusable.watched(opened.batches())
        grouped = None
        if opened.cluster:
            grouped = ClusterRows(opened.cluster, opened.metrics, usable, memory)
            batches = grouped.watched(batches)
        ordered = ordered_from(
            batches,
            opened.metrics,
            usable=usable,
            memory=memory,
            folder=folder,
            clock=clock,
            watched=watched,
        )
        question, rates = with_rates(question, opened.metrics if opened.layout == "long" else (), opened.kinds.truths)
        looked: tuple[Notice, ...]
        if grouped is None:
            files_of, eps = opened.file_names, question.threat.eps
            looked = differences(watched, files_of, ordered.arms, ordered.metrics, question.objectives, eps)
            if cluster is None and opened.study is None:
                looked += undeclared(opened)
        else:  # clusters may differ, and so do rows that stand side by side with those of their cluster
            clustered = grouped.beside(ordered)
            ordered = clustered
            looked = () if pairing and not clustered.dependent.any() else (in_clusters(clustered, question.objectives),)
            if pairing:
                check_counted(question.columns.boxed, items or 0)
                ordered, noted = in_pairs(clustered, question.columns.boxed, question.threat, question.delta, items)
                looked += (noted,)
        if is_frame(log):  # no rows of it, to remember its kind by
            kind = log if isinstance(log, Mapping) else log[:0]
        notes = (*opened.notes, *rates, *unusable.notices(), *looked)
        if append is None and sketch is None:
            if question.independent:
                ordered, noted_arms = as_independent(ordered)
                notes += (noted_arms,)
            return answer(ordered, question, profiled=profile, kind=kind, notes=notes, columns_of_arm=opened.arm)
        # Before anything is written:
        refuse_ties(ordered, question.objectives, question.columns.boxed[len(question.objectives) :])
        relative = [each.name for each in question.objectives if each.relative and each.statistic != "mean"]
        about: dict[str, Any] = {"arm": list(opened.arm), "layout": opened.layout, "relative": relative}
        if len(opened.arm) > 1:  # how they were made one name
            about["joined"] = "/"
        bounded = {each.name: list(each.bounds) for each in question.columns.boxed if each.bounds is not None}
        if bounded:  # beyond which values failed, and of which sketches keep the sums
            about["bounds"] = bounded
        if adaptive:  # what a state of such rows promises holds with the boundaries for many looks only
            about["adaptive"] = True
        if chosen.columns:
            about["where"] = chosen.to_dict()
        state = LogState.from_ordered(ordered, about, sources)
    if sketch is not None:
        if question.anytime:
            _refuse_late_sketches(append, state if states else None)
        state = state.sketched(sketch)
    if append is not None:
        state = append_to(append, state, again=again)
    readable, delta = state.readable(question.delta, anytime=question.anytime)
    _refuse_unusable(readable, question.columns.boxed)
    if question.independent:
        readable, noted_arms = as_independent(readable)
        notes += (noted_arms,)
    together = state.about["arm"] if state.about.get("joined") == "/" else ()
    return answer(readable, question, delta=delta, profiled=profile, kind=kind, notes=notes, columns_of_arm=together)


def _refuse_beside_clusters(
    opened: Log, append: str | Path | None, sketch: int | None, *, independent: bool = False
) -> None:
    """A study has its clusters already; states and sketches do not keep those of rows, and pairs are of single rows."""
    if independent:
        raise BadArgument(
            "independent",
            f"these rows are in clusters by {quoted(opened.cluster)}, and arms are compared in pairs only "
            "where every row is an observation; leave independent away, or give --cluster none (cluster='none') if all "
            "rows are independent",
        )
    if opened.study is not None:
        raise BadInput(
            "cluster, pair: the pulls of a study have the clusters that they were told with, and their repeats; leave "
            "cluster and pair away"
        )
    for what, value in (("append", append), ("sketch", sketch)):
        if value is not None:
            raise BadArgument(
                what,
                f"a state does not keep clusters, and these rows are in some by {quoted(opened.cluster)}; "
                f"analyse the files together without --{what}, or give --cluster none (cluster='none') if all rows are "
                "independent",
            )


def _checked_pairs(
    pair: str | Sequence[str] | None, items: int | None, cluster: str | Sequence[str] | None, log: Any
) -> str | Sequence[str] | None:
    """The columns of pairs; refuses them beside what they cannot be combined with."""
    if pair is None or len(pair) == 0:
        if items is not None:
            raise BadArgument("items", "say by pair (--pair COLUMN) which column tells them apart")
        return None
    if cluster is not None:
        raise BadArgument("pair", "rows of an arm that share one count as one observation already; leave cluster away")
    if isinstance(log, Log):
        raise BadArgument("pair", "it can be said of files and frames; got a log that is open already")
    if items is not None:
        checked_count(items, "items")
    return pair


def _on_cluster(
    executor: object,
    log: Any,
    arm: str | Sequence[str] | None,
    question: Question,
    profiled: bool | None,
    progress: Watcher | None,
    reading: Mapping[str, Any],
) -> Analysis:
    """The analysis of a log that the workers of a Dask cluster read and sort."""
    from frontguard.logs.on_dask import ordered_on_cluster

    if reading.get("study") is not None or reading.get("format") == "study":
        raise BadArgument("executor", "a study cannot be read on a cluster; wanted files that its workers see")
    names = [metric.name for metric in question.columns.metrics]
    if not question.objectives:
        raise BadArgument("objectives", "name the columns to read on the cluster with maximize or minimize")
    usable = usable_ranges(names, question.columns.boxed)
    how = {name: value for name, value in reading.items() if name != "study"}
    with ordered_on_cluster(
        executor, log, arm=arm, metrics=names, usable=usable, objectives=question.objectives, progress=progress, **how
    ) as there:
        columns = [arm] if isinstance(arm, str) else list(arm or ())
        question, rates = with_rates(question, (), there.truths)
        found = answer(there, question, profiled=profiled, notes=rates, columns_of_arm=columns)
        return replace(found, notices=there.notes + found.notices)


def _of_study(study: Study, question: Question, profiled: bool | None, clock: Clock) -> Analysis:
    """The study's own answer if nothing else is asked, and else what its log says to the question."""
    from frontguard.logs.of_study import other_answer, own_answer, read_study

    log = read_study(study)
    study.close()
    clock.read(len(log.arm_of))
    clock.all_read()
    if question == log.question:
        found, _ = own_answer(log, profiled=profiled, ahead=True)
    else:
        found = other_answer(log, question, profiled=profiled)
    clock.sorted(len(log.arm_of))
    return found


def _as_in_study(
    entries: Sequence[Objective | str | tuple[str, str]] | None, given: Sequence[Objective], own: Sequence[Objective]
) -> tuple[Objective, ...]:
    """The objectives that were given, with what was not said of them as the study has it; all of its own without."""
    if entries is None:
        return tuple(own)
    known = {each.name: each for each in own}
    return tuple(
        each
        if isinstance(entry, Objective)
        else known[each.name]
        if isinstance(entry, str)
        else replace(known[each.name], direction=each.direction)
        for entry, each in zip(entries, given, strict=True)
    )


def _coverage(own: Question, metrics: Sequence[Objective]) -> tuple[float, ...] | None:
    """The study's coverage of these objectives; None where it goes by the tolerances, or these are others by now."""
    if own.coverage is None:
        return None
    known = dict(zip(own.objectives, own.coverage, strict=True))
    return tuple(known[each] for each in metrics) if all(each in known for each in metrics) else None


def entries_of(
    maximize: str | Sequence[str],
    minimize: str | Sequence[str],
    objectives: Iterable[Objective | str | tuple[str, str]] | None,
) -> list[Objective | str | tuple[str, str]] | None:
    """The objectives in whichever way they were given; None if they are left to the log."""
    most, least = ([names] if isinstance(names, str) else list(names) for names in (maximize, minimize))
    if objectives is not None:
        if most or least:
            raise BadInput("objectives cannot be combined with maximize and minimize: give them one way")
        if isinstance(objectives, (str, Objective, Mapping)) or not isinstance(objectives, Iterable):
            parse_objectives(objectives)  # which says what is wrong with them
        return list(objectives)
    named = [*((name, "maximize") for name in most), *((name, "minimize") for name in least)]
    return list(named) or None


def with_rates(
    question: Question, metrics: Sequence[str], truths: Collection[str]
) -> tuple[Question, tuple[TakenAsRate, ...]]:
    """The question with rates in place of the medians of true and false that nobody asked for.

    `truths` are the columns that hold these; in the long layout, the column of all `metrics`.
    """
    named = set(metrics) if metrics and truths else set(truths)
    objectives, notices = [], []
    for each in question.objectives:
        if each.name in named:
            refuse_truths(each)
            if each.by_default:
                each = replace(each, statistic="mean", bounds=(0.0, 1.0))
                notices.append(TakenAsRate(each.name))
        objectives.append(each)
    limits, names = [], {each.name for each in objectives}
    for limit in question.limits:
        if limit.metric in named - names and limit.statistic is None:
            limit = replace(limit, statistic="mean", bounds=(0.0, 1.0))
            notices.append(TakenAsRate(limit.metric))
        limits.append(limit)
    return replace(question, objectives=tuple(objectives), limits=tuple(limits)), tuple(dict.fromkeys(notices))


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


def _refuse_late_sketches(append: str | Path | None, read: LogState | None) -> None:
    """Looks at a state with all its values had all of δ: with sketches from now on, there is none left to pay these."""
    there = append is not None and Path(append).expanduser().exists()
    before = LogState.load(append) if there and append is not None else read
    if before is not None and isinstance(before.data, Ordered):
        raise BadArgument(
            "sketch",
            "the state keeps all values, and looks at it have used all of the doubt that the confidence "
            "leaves; for many looks (--anytime) begin a state with --sketch, or keep the values",
        )


def _is_state(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MARK)) == MARK
    except OSError:  # whoever reads it will say so
        return False


def _asked_of_state(
    state: LogState,
    given: tuple[Objective, ...],
    limits: tuple[Limit, ...],
    arm: str | Sequence[str] | None,
    where: Path,
) -> tuple[Objective, ...]:
    """The objectives that are asked of a state, all of which it must have."""
    if not given:
        raise BadInput(
            f"{where} is a state of {quoted(state.metrics)}; say which of them to maximize and which to minimize"
        )
    for metric in columns_for(given, limits).metrics:
        if metric.name not in state.metrics:
            no_column(metric.name, list(state.metrics), str(where))
    arms = [arm] if isinstance(arm, str) else list(arm or ())
    if arms and "arm" in state.about and list(state.about["arm"]) != arms:
        raise BadInput(f"{where}: its arm is {quoted(state.about['arm'])}; got {quoted(arms)}")
    return given


def _chosen_in_state(state: LogState, chosen: RowFilter, path: Path) -> tuple[Notice, ...]:
    """What a state says of the rows that were chosen for it, of which others cannot be chosen any more."""
    own = RowFilter.of(state.about.get("where"))
    if chosen.columns and chosen != own:
        got = f"of those with {own.to_dict()}" if own.columns else "of all rows"
        raise BadArgument(
            "where", f"the rows of a state cannot be told apart any more; {path} is {got}: filter the logs"
        )
    return (RowsLeftOut(own.wanted),) if own.columns else ()


def _as_in_state(objectives: Sequence[Objective], state: LogState) -> tuple[Objective, ...]:
    """The objectives, with the mean where nobody said what counts and the state was made for one."""
    bounds = state.about.get("bounds", {})
    return tuple(
        replace(each, statistic="mean", bounds=tuple(bounds[each.name]))
        if each.by_default and each.name in bounds
        else each
        for each in objectives
    )


def _refuse_unusable(readable: Readable, objectives: Sequence[Objective]) -> None:
    """A state that kept values which an objective cannot use is not asked for it: for that they would have failed."""
    for objective in objectives:
        if not objective.relative and objective.bounds is None:
            continue
        column = readable.metrics.index(objective.name)
        some = np.flatnonzero(readable.good[column])
        for ranks, side in ((np.ones_like(some), -1), (readable.good[column][some], 1)):
            values = readable.at(column, some, ranks, side)
            wrong = np.flatnonzero(~objective.usable(values))
            if not len(wrong):
                continue
            worst = wrong[np.argmax(np.abs(values[wrong]))]
            value, arm = float(values[worst]), readable.arms[int(some[worst])]
            what = f"the state has values of {shown(objective.name)} that"
            if objective.bounds is not None:
                raise BadInput(f"{what} {out_of_bounds(objective, value, arm)}")
            raise BadInput(
                f"{what} are not positive, such as {value:g} of arm {shown(arm)}: {objective.needs_positive}"
            )
