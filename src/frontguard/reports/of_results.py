"""The reports on a study, on a run that is only known by its JSON, on an analysis, a plain result, and a gate."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from frontguard import plot
from frontguard._common.typing import Bools
from frontguard.logs.of_study import Differing, StudyLog, own_answer
from frontguard.notices import RowsLeftOut
from frontguard.phrases import joined, listed, number_of, percent
from frontguard.reports.report import (
    CERTAIN,
    COURSE,
    FAILED,
    OPEN,
    ROBUST,
    Column,
    Entry,
    Fact,
    Figure,
    Kind,
    Progress,
    Report,
    ReportTable,
    Section,
    course_of,
    failures_part,
    objective_facts,
    progress_facts,
    report_of,
    study_steps,
    time_facts,
)
from frontguard.results import Answer, Origin
from frontguard.storage.contract import Storage
from frontguard.studies.alarms import suspects
from frontguard.studies.follow import Follower, Measurements, Overview
from frontguard.studies.pulls import under_way
from frontguard.verdicts import Verdict
from frontguard.words import answers as summary
from frontguard.words import gate
from frontguard.words.answers import more_to_come
from frontguard.words.arm_table import counts, names_in_short, shown_in_units, with_short_names
from frontguard.words.asked import why_by_limits
from frontguard.words.certificate import guarantee

MOST_NAMED = 5
"""Files and objectives that a title lists."""


def origin_steps(origin: Origin | None) -> list[Fact]:
    """The steps of how it was made, as far as they are known."""
    origin = origin or Origin()
    steps = [
        Fact("Version", f"frontguard {origin.version}" if origin.version else ""),
        Fact("Data", ", ".join(_sources(origin))),
        Fact("Seed", "" if origin.seed is None else str(origin.seed)),
        Fact("Answered", origin.at or ""),
        Fact("Command", origin.command or "", verbatim=True),
        Fact("Spec", origin.spec or "", verbatim=True),
    ]
    return [step for step in steps if step.value.strip()]


def _sources(origin: Origin | None) -> list[str]:
    source = (origin and origin.source) or []
    return [source] if isinstance(source, str) else source


def analysis_report(found: Answer, origin: Origin | None = None) -> Report:
    """The report on an analysis."""
    found = shown_in_units(found)
    plain = with_short_names(found)
    names, steps = plain.objectives, origin_steps(origin)
    named = joined(names) if len(names) <= MOST_NAMED else listed(names, MOST_NAMED)
    if not any(step.label == "Command" for step in steps):
        steps.append(Fact("From Python", "frontguard.analyze(log, …).report('report.html')", verbatim=True))
    return report_of(
        found,
        "analysis",
        f"{_file_names(origin) or 'Analysis of a log'}: {named}",
        summary.answer(plain),
        certificate=[said for said in (guarantee(plain), summary.by_means(plain)) if said],
        facts=(
            Fact("Verdicts", counts(found)),
            *(Fact("Rows", str(each)) for each in found.notices if isinstance(each, RowsLeftOut)),
        ),
        parts=(
            robustness_part(plain),
            Section(OPEN, listed=(*summary.blocked(plain, most=12), *_to_decide(plain))),
            pulls_part(plain),
            Section(FAILED, tuple(filter(None, [summary.failures(plain)]))),
        ),
        steps=steps,
    )


def _to_decide(found: Answer) -> list[str]:
    return [] if found.status == "certified" else [summary.next_line(found)]


def _file_names(origin: Origin | None) -> str:
    """The last parts of paths, which say what it is; where it lies is among the steps to make it again.

    >>> _file_names(Origin(source=["/data/monday.csv", "tuesday.csv"]))
    'monday.csv, tuesday.csv'
    """
    return listed([re.split(r"[/\\\\]", part)[-1] or part for part in _sources(origin)], MOST_NAMED)


def pulls_part(result: Answer) -> Section:
    """A picture of the pulls; blank if there are none."""
    pictures = (Figure("Pulls of each arm", plot.pulls(with_short_names(result))),) if result.pulls else ()
    return Section("How much was measured", shown=pictures)


def robustness_part(found: Answer, *notes: str) -> Section:
    """The part on how many lies verdicts stand: words, and a picture if there is a profile."""
    profile = None if found.log is None else found.log.profile
    if profile is None:
        return Section(ROBUST)
    explained = (
        "“Stands up to” in the table is the largest contamination (ε) with which an arm's verdict is certain, to "
        f"{percent(profile.resolution)}."
    )
    known = len(profile.levels) > 0 and (~np.isnan(profile.per_arm)).any()
    picture = (Figure("Up to what verdicts stand", plot.robustness(found)),) if known else ()
    said = summary.robustness(found), explained if known else None, *notes
    return Section(ROBUST, tuple(filter(None, said)), shown=picture)


def result_report(result: Answer, origin: Origin | None = None) -> Report:
    """The report on what a policy answered."""
    full = shown_in_units(result)
    plain = with_short_names(full)
    answer = summary.answer(plain) if full.arms else "There are no arms."
    if full.status == "certified" and len(full.metrics) == 1 and not result.metrics:
        answer = f"{len(plain.pareto_set)} of {len(plain.arms)} arms are returned: {names_in_short(plain.pareto_set)}."
    return report_of(
        full,
        "result",
        f"{result.policy}: {len(result.arms):,} arms",
        answer,
        certificate=(guarantee(plain),),
        parts=(open_part(plain), pulls_part(plain)),
        steps=origin_steps(origin),
    )


def open_part(result: Answer, ahead: Sequence[str] = ()) -> Section:
    """The arms that are undecided, and against whom; `ahead` says what would settle all of them."""
    opened = np.flatnonzero(result.verdict_codes == Verdict.UNDECIDED)
    if not len(opened):
        return Section(OPEN)
    lines = []
    for arm in opened[:12].tolist():
        rival = int(result.decided_by[arm])
        against = f" how it compares with {result.arms[rival]}" if rival >= 0 else " nothing is known of it yet"
        if (limited := why_by_limits(result, arm)) is not None:
            against = f" {limited.partition('what is left open is ')[2]}"
        lines.append(f"{result.arms[arm]}:{against}.")
    if len(opened) > 12:
        lines.append(f"… and {len(opened) - 12:,} more.")
    return Section(OPEN, tuple(ahead), listed=tuple(lines))


_MOST_VALUES = 1500  # raw values of an arm in a picture


def study_report(
    storage: Storage, name: str, *, where: str = "", said: str = "", progress: Progress | None = None
) -> Report:
    """The report on a study in a storage, which is only read. `where` is how one gets there, without a password."""
    follower = Follower(storage, name)
    overview = follower.catch_up(None if progress is None else partial(progress, "pulls read"))
    settings, answer = overview.settings, overview.answer
    arms, values, held, reps = follower.values()  # which it has read: the storage is not asked again
    out = np.concatenate([held, under_way(storage, name, overview.told)])
    log = StudyLog(settings, answer, arms, values, reps, out)
    found, differing = own_answer(log, progress=None if progress is None else partial(progress, "shares of lies tried"))
    plain = with_short_names(found)
    return _report(
        "study",
        found,
        said,
        robustness_part(plain, where_they_differ(differing)),
        _course(overview, follower, plain),
        facts=(*progress_facts(plain), *time_facts(overview)),
        at_work=overview.at_work,
        steps=study_steps(overview, where),
    )


def run_report(found: Answer, origin: Origin | None = None, *, said: str = "", where: str = "") -> Report:
    """The report on the answer of a study without the course of it, which only its storage has."""
    steps, name = origin_steps(origin), found.state.name
    if where:
        again = shlex.join(["frontguard", "report", where, "--study", name])
        steps.insert(1, Fact("Study", f"{name} in {where}"))
        steps.append(Fact("With robustness and course", again, verbatim=True))
    found = shown_in_units(found)
    facts, at_work = progress_facts(with_short_names(found)), found.state.under_way > 0
    return _report("run", found, said, Section(ROBUST), pulls_part(found), facts=facts, at_work=at_work, steps=steps)


def _report(kind: Kind, found: Answer, said: str, robustness: Section, course: Section, **more: Any) -> Report:
    """The report with `more` of what `report_of` takes; `said` is the answer, unless it is made here."""
    plain, state = with_short_names(found), found.state
    guaranteed = []
    if len(found.excluded) < len(found.arms):
        guaranteed.append(guarantee(plain))
    if plain.pulls and plain.status != "running":
        guaranteed += filter(None, [summary.by_means(plain)])
    ahead = (f"{more_to_come(plain)[0].upper()}{more_to_come(plain)[1:]}.",) if found.status != "certified" else ()
    report = report_of(
        found,
        kind,
        state.name,
        said or summary.answer(plain),
        certificate=guaranteed,
        parts=(
            robustness,
            open_part(plain, ahead),
            failures_part(state.failures, found.failed, found.pulls, state.said),
            course,
        ),
        **more,
    )
    if not state.failures:
        return report
    reasons = [
        "; ".join(f"{count} x {reason}" for reason, count in state.failures.get(arm, {}).items()) for arm in found.arms
    ]
    return replace(report, columns={**report.columns, "failures": reasons})


def where_they_differ(differing: Differing) -> str:
    """The reason why some arms have no figure; blank if all that are decided have one."""
    if not differing.arms:
        return ""
    bound = " and with a spread bound" if differing.spread else ""
    front = " So it cannot be said either up to which ε the front as a whole is certain."
    return (
        f"For {number_of(differing.arms)} no figure is given: the study decided with intervals that were intersected "
        f"over time{bound}, and the log read as it is now would leave open what the study could decide."
        f"{front if differing.front else ''}"
    )


def _course(overview: Overview, follower: Follower, plain: Answer) -> Section:
    history = replace(overview.history, arms=plain.arms, objectives=plain.metrics)
    pictures = list(course_of(overview, plain).values())
    if len(history.moments) > 1:
        pictures.insert(0, Figure("Intervals while it was measured", plot.shrinking(history)))
    most = _most_suspicious(overview, follower)
    if most is not None:
        measured, share = most
        brief = replace(measured, name=plain.arms[measured.arm], objectives=plain.metrics)
        picture = plot.measurements(brief, history, contamination=overview.settings.question.contaminations)
        heading = f"Measurements of {brief.name}, the arm with most values that look wrong ({percent(share)})"
        pictures.append(Figure(heading, picture))
    return Section(COURSE, shown=tuple(pictures))


def _most_suspicious(overview: Overview, follower: Follower) -> tuple[Measurements, float] | None:
    """The arm with the largest share of values that look contaminated or failed; None if no value of any arm does."""
    best: tuple[Measurements, float] | None = None
    counts = overview.answer.pulls_per_arm
    for arm in np.argsort(-counts, kind="stable")[:2000].tolist():
        if counts[arm] < 10:
            break
        measured = follower.measurements(arm, _MOST_VALUES)
        wrong: Bools = np.asarray(np.isnan(measured.values).any(axis=1))
        for d, objective in enumerate(measured.objectives):
            if objective.has_quantile:
                wrong = wrong | suspects(measured.values[:, d], relative=objective.relative)
        share = float(wrong.mean()) if len(wrong) else 0.0
        if share > (0.0 if best is None else best[1]):
            best = measured, share
    return best


def gate_report(found: Answer, origin: Origin | None = None) -> Report:
    """The report on a gate: the answer, and a row for each check, what is worse first."""
    rows = [cells for cells, _ in sorted(gate.rows(found), key=lambda row: -row[1])]
    outcome, baselines = gate.of(found).outcome, dict.fromkeys(pair.baseline for pair in gate.of(found).pairs)
    return Report(
        title=f"Gate against {listed(list(baselines))}",
        kind="gate",
        answer=gate.answer(found),
        status=outcome.word,
        status_words=gate.WORDS[outcome],
        facts=(Fact("Pulls", f"{found.pulls:,}"), *objective_facts(found.metrics)),
        pictures=(),
        table=ReportTable(
            "The checks", tuple(map(Column, gate.HEADINGS)), tuple(tuple(map(Entry, row)) for row in rows)
        ),
        parts=(Section(CERTAIN, tuple(gate.remarks(found, explain=True))),),
        warnings=found.warnings,
        reproduce=tuple(origin_steps(origin)),
        columns={heading: [row[place] for row in rows] for place, heading in enumerate(gate.HEADINGS)},
    )
