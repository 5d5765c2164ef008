"""The report on an analysis of a log, and on a plain result of a policy."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from frontguard.documents.base import Origin
from frontguard.logs.analysis import Analysis
from frontguard.phrases import percent
from frontguard.reports.make import report_of, shown
from frontguard.reports.model import (
    Column,
    Entry,
    Fact,
    Figure,
    Kind,
    Report,
    ReportTable,
    Section,
    Step,
    Subject,
    short,
    shown_in_units,
    with_short_names,
)
from frontguard.results import Result
from frontguard.studies.overview import Snapshot
from frontguard.verdicts import Verdict
from frontguard.words import analysis as summary
from frontguard.words.certificate import guarantee
from frontguard.words.study import answer as study_answer

_MOST_FAILED = 100
_MOST_LEVELS = 60


def origin_steps(origin: Origin) -> list[Step]:
    """What is known of how it was made."""
    steps = [
        Step("Version", f"frontguard {origin.version}" if origin.version else ""),
        Step("Data", ", ".join(origin.source) if isinstance(origin.source, list) else origin.source or ""),
        Step("Seed", "" if origin.seed is None else str(origin.seed)),
        Step("Answered", origin.at or ""),
        Step("Command", origin.command or "", verbatim=True),
        Step("Spec", origin.spec or "", verbatim=True),
    ]
    return [step for step in steps if step.text.strip()]


# Analyses -------------------------------------------------------------------------------------------------------------


def analysis_report(found: Analysis, origin: Origin | None = None) -> Report:
    """The report on an analysis."""
    plain = with_short_names(found)
    origin = origin or Origin()
    verdicts = ", ".join(f"{count:,} {word}" for word, count in found.counts.items() if count)
    return report_of(
        Subject(
            kind="analysis",
            title=_title(plain, origin),
            answer=summary.answer(plain),
            status=found.status,
            result=found,
            guarantee=tuple(
                said for said in (guarantee(plain, anytime=plain.anytime), summary.by_means(plain)) if said
            ),
            anytime=found.anytime,
            failed=found.failed.sum(axis=1) if found.failed.size else None,
            facts=(Fact("Verdicts", verdicts),),
            robustness=robustness_part(plain),
            open=Section("What would settle the open arms", listed=tuple(_to_settle(plain))),
            steps=tuple(_steps(origin)),
            warnings=found.warnings,
            stands=None if found.profile is None else found.profile.per_arm,
            resolution=0.001 if found.profile is None else found.profile.resolution,
            more=tuple(part for part in (_failed_values(plain),) if part is not None),
            course=pulls_part(plain),
        )
    )


def _title(found: Analysis, origin: Origin) -> str:
    names = (
        " and ".join([", ".join(found.objectives[:-1]), found.objectives[-1]])
        if len(found.objectives) > 1
        else found.objectives[0]
    )
    return f"{_file_names(origin.source)}: {names}" if origin.source else f"Analysis of a log: {names}"


def _file_names(source: str | list[str]) -> str:
    """The last parts of paths, which say what it is; where it lies is among the steps to make it again.

    >>> _file_names(["/data/monday.csv", "tuesday.csv"])
    'monday.csv, tuesday.csv'
    """
    each = [source] if isinstance(source, str) else source
    return ", ".join(re.split(r"[/\\\\]", part)[-1] or part for part in each)


def _to_settle(found: Analysis) -> list[str]:
    lines = summary.to_settle(found, most=12)
    now = summary.holds_now(found) if lines else None
    return [*lines, *([now] if now else [])]


def _steps(origin: Origin) -> list[Step]:
    steps = origin_steps(origin)
    if not any(step.label == "Command" for step in steps):
        steps.append(Step("From Python", "frontguard.analyze(log, …).report('report.html')", verbatim=True))
    return steps


def pulls_part(result: Result) -> Section:
    """How much was measured, as a picture; blank if nothing was."""
    from frontguard import plot

    pictures = (shown("Pulls of each arm", plot.pulls(with_short_names(result))),) if result.pulls else ()
    return Section("How much was measured", shown=pictures)


def robustness_part(found: Analysis) -> Section:
    """How dirty the data may be before verdicts change: words, and a picture if there is a profile."""
    from frontguard import plot

    said = summary.robustness(found)
    if found.profile is None or said is None:
        return Section("How robust it is")
    shown_too: tuple[Figure, ...] = ()
    if (~np.isnan(found.profile.per_arm)).any() and len(found.profile.levels):
        picture = plot.robustness(found)
        shown_too = (Figure("Arms that stay on the front", picture, picture.caption, _levels(found)),)
    explained = (
        "“Stands up to” in the table is the largest share of replaced measurements up to which an arm's verdict stays "
        f"what it is, to {percent(found.profile.resolution)}."
    )
    return Section("How robust it is", (said, explained), shown=shown_too)


def _levels(found: Analysis) -> ReportTable | None:
    profile = found.profile
    if profile is None:
        return None
    changes = np.flatnonzero(np.r_[True, np.diff(profile.in_front) != 0])[:_MOST_LEVELS]
    rows = tuple(
        (
            Entry(percent(float(profile.levels[j])), float(profile.levels[j])),
            Entry(f"{int(profile.in_front[j]):,}", float(profile.in_front[j])),
        )
        for j in changes.tolist()
    )
    columns = (Column("share replaced, from", number=True), Column("arms in", number=True))
    return ReportTable("Arms that are in, by the share of replaced measurements", columns, rows)


def _failed_values(found: Analysis) -> Section | None:
    said = summary.failures(found) if found.failed.size else None
    if said is None:
        return None
    each = found.failed.sum(axis=1)
    order = np.argsort(-each, kind="stable")
    order = order[each[order] > 0]
    rows = tuple(
        (
            Entry(short(found.arms[arm])),
            *(Entry(f"{int(count):,}" if count else "", float(count)) for count in found.failed[arm].tolist()),
            Entry(f"{int(found.pulls_per_arm[arm]):,}", float(found.pulls_per_arm[arm])),
        )
        for arm in order[:_MOST_FAILED].tolist()
    )
    left = len(order) - len(rows)
    columns = (
        Column("arm"),
        *(Column(name, "failed", number=True) for name in found.objectives),
        Column("pulls", number=True),
    )
    table = ReportTable("Values that failed, by arm", columns, rows, f"… and {left:,} more arms." if left else "")
    return Section("Failures", (said,), tables=(table,))


# Plain results --------------------------------------------------------------------------------------------------------


def result_report(
    result: Result,
    origin: Origin | None = None,
    *,
    kind: Kind = "result",
    title: str = "",
    directed: bool = True,
) -> Report:
    """The report on what a policy answered."""
    directed = directed and bool(result.metrics)
    full = shown_in_units(result)
    plain = with_short_names(full)
    snapshot = Snapshot(study="", result=plain)
    answer = study_answer(snapshot) if full.arms else "There are no arms."
    if full.status == "certified" and len(full.metrics) == 1 and not directed:
        answer = f"{len(plain.pareto_set)} of {len(plain.arms)} arms are returned: {', '.join(plain.pareto_set[:12])}."
    mean_based = full.policy == "Auer-A1"
    return report_of(
        Subject(
            kind=kind,
            title=title or f"{result.policy}: {len(result.arms):,} arms",
            answer=answer,
            status=full.status,
            result=full,
            guarantee=(guarantee(snapshot.result, failed=snapshot.failed),),
            anytime=None if mean_based else True,
            directed=directed,
            open=open_part(plain),
            steps=tuple(origin_steps(origin or Origin())),
            warnings=full.warnings,
            course=pulls_part(plain),
        )
    )


def open_part(result: Result, ahead: Sequence[str] = ()) -> Section:
    """The arms that are undecided, and against whom; `ahead` says what would settle all of them."""
    heading = "What would settle the open arms"
    opened = np.flatnonzero(result.verdict_codes == Verdict.UNDECIDED)
    if not len(opened):
        return Section(heading)
    lines = []
    for arm in opened[:12].tolist():
        rival = int(result.decided_by[arm])
        against = f" how it compares with {result.arms[rival]}" if rival >= 0 else " nothing is known of it yet"
        lines.append(f"{result.arms[arm]}:{against}.")
    if len(opened) > 12:
        lines.append(f"… and {len(opened) - 12:,} more.")
    return Section(heading, tuple(ahead), listed=tuple(lines))
