"""A report out of its subject: the parts that studies, runs, analyses and plain results have in common."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import frontguard
from frontguard.phrases import article, percent
from frontguard.plot.picture import Picture
from frontguard.reports.arms import arms_records, arms_table, failures_table
from frontguard.reports.model import Fact, Figure, Report, Section, Subject, with_short_names
from frontguard.verdicts import Verdict
from frontguard.words.certificate import assumptions, status_in_words, tolerance_in_words

MOST_MARKS = 500
"""In a matrix of all pairs of objectives; beyond, the first pair is shown, so that a report stays small."""

MOST_OBJECTIVES = 12
"""Of which facts are listed."""


def report_of(subject: Subject) -> Report:
    """The report on a result."""
    result = subject.result
    certificate = result.certificate
    failed = 0 if subject.failed is None else int(subject.failed.sum())
    table = arms_table(subject)
    if table.rest:
        table = replace(table, rest=f"{table.rest} The CSV report has a row for every arm.")
    return Report(
        title=subject.title,
        kind=subject.kind,
        answer=subject.answer,
        status=subject.status,
        status_words=status_in_words(subject.status),
        facts=(*_facts(subject, failed), *subject.facts),
        pictures=_pictures(subject) if subject.pictures is None else subject.pictures,
        table=table,
        certificate=subject.guarantee,
        assumptions=assumptions(
            certificate,
            with_short_names(result).metrics,
            policy=result.policy,
            anytime=subject.anytime,
            spread=subject.spread,
            failed=failed,
            aside=len(result.aside),
            side_by_side=subject.side_by_side,
        ),
        robustness=subject.robustness,
        open=subject.open,
        failures=_failures(subject, failed),
        warnings=subject.warnings,
        course=subject.course,
        more=subject.more,
        reproduce=subject.steps,
        records=arms_records(subject),
        made=made_now(),
    )


def made_now() -> str:
    """By which version, and when."""
    return f"Made by frontguard {frontguard.__version__} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC."


def _facts(subject: Subject, failed: int) -> list[Fact]:
    result, certificate = with_short_names(subject.result), subject.result.certificate
    lies = "none (ε = 0)"
    if certificate.contamination:
        lies = f"up to {percent(certificate.contamination)} of each arm's, by {article(certificate.threat)} attacker"
    facts = [
        Fact("Arms", f"{len(result.arms):,}"),
        Fact("Pulls", f"{result.pulls:,}" + (f", {failed:,} failed" if failed and subject.kind != "analysis" else "")),
        Fact("Confidence", percent(certificate.confidence)),
        Fact("Measurements that may lie", lies),
    ]
    if subject.directed:
        every = [tolerance_in_words(metric) for metric in result.metrics]
        more = len(every) - MOST_OBJECTIVES
        facts += [Fact(f"Objective {d + 1}", said) for d, said in enumerate(every[:MOST_OBJECTIVES])]
        if more > 0:
            facts.append(Fact("Further objectives", f"{more:,}"))
    else:
        facts.append(Fact("Objectives", ", ".join(metric.name for metric in result.metrics[:MOST_OBJECTIVES])))
    return facts


def _pictures(subject: Subject) -> tuple[Figure, ...]:
    from frontguard import plot

    result = with_short_names(subject.result)
    objectives = len(result.metrics)
    alive = min(int((result.verdict_codes != Verdict.OUT).sum()), 250)
    if objectives > 2 and alive * objectives * (objectives - 1) // 2 > MOST_MARKS:
        heading = f"The front, in {result.metrics[0].name} and {result.metrics[1].name}"
        pictures = [shown(heading, plot.front(result, 0, 1))]
    else:
        pictures = [shown("The front", plot.front(result))]
    if objectives > 2:
        pictures.append(shown("All objectives side by side", plot.parallel(result)))
    if not subject.directed:
        pictures = [replace(each, picture=without_directions(each.picture)) for each in pictures[:1]]
    return tuple(pictures)


def shown(heading: str, picture: Picture) -> Figure:
    """A picture with its caption as words."""
    return Figure(heading, picture, picture.caption)


def without_directions(picture: Picture) -> Picture:
    """The picture of a result of which nobody knows which direction is better: without arrows and shaded region."""
    from frontguard.plot.picture import Panel, Region

    def bare(panel: Panel | None) -> Panel | None:
        if panel is None:
            return None
        layers = tuple(layer for layer in panel.layers if not isinstance(layer, Region))
        return replace(panel, x=replace(panel.x, better=""), y=replace(panel.y, better=""), layers=layers)

    return replace(picture, rows=tuple(tuple(map(bare, row)) for row in picture.rows))


def _failures(subject: Subject, failed: int) -> Section:
    table = failures_table(subject)
    tables = () if table is None else (table,)
    words: tuple[str, ...] = ()
    if failed and subject.kind != "analysis":
        pulls = subject.result.pulls
        words = (
            f"{failed:,} of {pulls:,} pulls failed ({percent(failed / max(pulls, 1))}). Each counts as a measurement "
            "that could "
            "have been anything, on either side: leaving it out would favour arms that fail when they are slow.",
        )
    return Section("Failures", words, tables=tables)
