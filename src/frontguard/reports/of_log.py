"""The report on an analysis of a log, and on a plain result of a policy."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from frontguard import plot
from frontguard.logs.analysis import Analysis
from frontguard.phrases import joined, listed, percent
from frontguard.reports.arms import failed_pulls, report_of
from frontguard.reports.model import FAILED, OPEN, ROBUST, Fact, Figure, Report, Section, shown_in_units
from frontguard.results import Origin, Result
from frontguard.studies.overview import Snapshot
from frontguard.verdicts import Verdict
from frontguard.words import analysis as summary
from frontguard.words.arm_table import names_in_short, with_short_names
from frontguard.words.certificate import guarantee
from frontguard.words.counted import rates
from frontguard.words.limits import why_by_limits
from frontguard.words.study import answer as study_answer
from frontguard.words.threats import what_eps_is

MOST_NAMED = 5
"""Files and objectives that a title lists."""


def origin_steps(origin: Origin | None) -> list[Fact]:
    """What is known of how it was made."""
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


# Analyses -------------------------------------------------------------------------------------------------------------


def analysis_report(found: Analysis, origin: Origin | None = None) -> Report:
    """The report on an analysis."""
    found = shown_in_units(found)
    plain = with_short_names(found)
    verdicts = ", ".join(f"{count:,} {word}" for word, count in found.counts.items() if count)
    to_settle = summary.to_settle(plain, most=12)
    if to_settle and (now := summary.holds_now(plain)):
        to_settle.append(now)
    steps = origin_steps(origin)
    if not any(step.label == "Command" for step in steps):
        steps.append(Fact("From Python", "frontguard.analyze(log, …).report('report.html')", verbatim=True))
    return report_of(
        found,
        "analysis",
        f"{_file_names(origin) or 'Analysis of a log'}: {_few(plain.objectives)}",
        summary.answer(plain),
        certificate=[said for said in (guarantee(plain, anytime=plain.anytime), summary.by_means(plain)) if said],
        anytime=found.anytime,
        failed=failed_pulls(found),
        facts=(
            Fact("Verdicts", verdicts),
            *(Fact("Rows", each) for each in summary.rows_chosen(found)),
            *(Fact("Rates", each) for each in (rates(found.notices),) if each),
            *(Fact("Clusters", each) for each in (summary.clusters(found),) if each),
        ),
        parts=(
            robustness_part(plain),
            Section(OPEN, listed=tuple(to_settle)),
            pulls_part(plain),
            Section("A best guess", tuple(summary.best_guess(plain))),
            _failures(plain),
        ),
        steps=steps,
    )


def _few(names: Sequence[str]) -> str:
    return joined(names) if len(names) <= MOST_NAMED else listed(names, MOST_NAMED)


def _file_names(origin: Origin | None) -> str:
    """The last parts of paths, which say what it is; where it lies is among the steps to make it again.

    >>> _file_names(Origin(source=["/data/monday.csv", "tuesday.csv"]))
    'monday.csv, tuesday.csv'
    """
    return listed([re.split(r"[/\\\\]", part)[-1] or part for part in _sources(origin)], MOST_NAMED)


def pulls_part(result: Result) -> Section:
    """How much was measured, as a picture; blank if nothing was."""
    pictures = (Figure("Pulls of each arm", plot.pulls(with_short_names(result))),) if result.pulls else ()
    return Section("How much was measured", shown=pictures)


def robustness_part(found: Analysis, *notes: str) -> Section:
    """How dirty the data may be before verdicts are no longer certain: words, and a picture if there is a profile."""
    profile = found.profile
    if profile is None:
        return Section(ROBUST)
    explained = (
        f"“Stands up to” in the table is the largest {what_eps_is(found.certificate.threat)} (ε) with which an arm's "
        f"verdict is certain, to {percent(profile.resolution)}."
    )
    known = len(profile.levels) > 0 and (~np.isnan(profile.per_arm)).any()
    picture = (Figure("Up to what verdicts stand", plot.robustness(found)),) if known else ()
    said = summary.robustness(found), explained if known else None, *notes
    return Section(ROBUST, tuple(filter(None, said)), shown=picture)


def _failures(found: Analysis) -> Section:
    """How many values failed; the table has how many of each arm."""
    said = summary.failures(found) if found.failed.size else None
    return Section(FAILED, () if said is None else (said,))


# Plain results --------------------------------------------------------------------------------------------------------


def result_report(result: Result, origin: Origin | None = None) -> Report:
    """The report on what a policy answered."""
    full = shown_in_units(result)
    plain = with_short_names(full)
    answer = study_answer(Snapshot(study="", result=plain)) if full.arms else "There are no arms."
    if full.status == "certified" and len(full.metrics) == 1 and not result.metrics:
        answer = f"{len(plain.pareto_set)} of {len(plain.arms)} arms are returned: {names_in_short(plain.pareto_set)}."
    return report_of(
        full,
        "result",
        f"{result.policy}: {len(result.arms):,} arms",
        answer,
        certificate=(guarantee(plain),),
        anytime=None if full.policy == "Auer-A1" else True,  # which goes by means
        directed=bool(result.metrics),
        parts=(open_part(plain), pulls_part(plain)),
        steps=origin_steps(origin),
    )


def open_part(result: Result, ahead: Sequence[str] = ()) -> Section:
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
