"""A report out of a result: the parts that studies, runs, analyses and plain results have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR
from types import MappingProxyType

import numpy as np

from frontguard import plot
from frontguard._common.typing import Ints
from frontguard.phrases import percent
from frontguard.plot.picture import Panel, Picture, Region
from frontguard.reports.arms import Failures, arms_columns, arms_table, failures_part
from frontguard.reports.model import Fact, Figure, Kind, Report, Section
from frontguard.results import Result
from frontguard.verdicts import Verdict
from frontguard.words.certificate import assumptions, counted_metrics, status_in_words, tolerance_in_words
from frontguard.words.limits import all_limits
from frontguard.words.tables.names import with_short_names
from frontguard.words.threats import may_lie

MOST_MARKS = 500
"""In a matrix of all pairs of objectives; beyond, the first pair is shown, so that a report stays small."""

MOST_OBJECTIVES = 12
"""Of which facts are listed."""


def report_of(
    result: Result,  # with full names, which are made short for sentences and pictures
    *,
    kind: Kind,
    title: str,
    answer: str,
    guarantee: Sequence[str],
    steps: Sequence[Fact],
    anytime: bool | None = True,
    spread: str | None = None,
    side_by_side: bool = False,  # whether pulls were measured several at a time
    directed: bool = True,  # whether it is known which direction of each objective is better
    failed: Ints | None = None,  # (K,) pulls that failed, or values, where the report is on a log
    failures: Failures = MappingProxyType({}),
    said: Mapping[str, str] = MappingProxyType({}),  # by arm, what the last pull that failed had to say
    facts: Sequence[Fact] = (),
    pictures: tuple[Figure, ...] | None = None,  # instead of those that are made of the result
    robustness: Section = Report.robustness,
    open: Section = Report.open,
    course: Section = Report.course,
    more: tuple[Section, ...] = (),
    at_work: bool = True,  # whether somebody is, where it goes on
) -> Report:
    """The report on a result and its circumstances."""
    count = 0 if failed is None else int(failed.sum())
    failed_pulls = 0 if kind == "analysis" else count
    table = arms_table(result, failed)
    if table.rest:
        table = replace(table, rest=f"{table.rest} The CSV report has a row for every arm.")
    plain = with_short_names(result)
    return Report(
        title=title,
        kind=kind,
        answer=answer,
        status=result.status,
        status_words=status_in_words(result.status, at_work=at_work),
        facts=(*_facts(plain, failed_pulls, directed), *facts),
        pictures=_pictures(plain, directed) if pictures is None else pictures,
        table=table,
        certificate=tuple(guarantee),
        assumptions=assumptions(
            result.certificate,
            counted_metrics(plain),
            policy=result.policy,
            anytime=anytime,
            spread=spread,
            failed=count,
            aside=len(result.aside),
            side_by_side=side_by_side,
        ),
        failures=failures_part(failures, failed_pulls, result.pulls, said),
        warnings=result.warnings,
        reproduce=tuple(steps),
        columns=arms_columns(result, failed, failures),
        robustness=robustness,
        open=open,
        course=course,
        more=more,
        result=result,
    )


def _facts(result: Result, failed: int, directed: bool) -> list[Fact]:
    certificate = result.certificate
    sure = "none" if certificate.confidence is None else percent(certificate.confidence, ROUND_FLOOR)
    facts = [
        Fact("Arms", f"{len(result.arms):,}"),
        Fact("Pulls", f"{result.pulls:,}" + (f", {failed:,} failed" if failed else "")),
        Fact("Confidence", sure),
        Fact("Measurements that may lie", may_lie(certificate.threat, certificate.contamination)),
    ]
    listed = result.metrics[:MOST_OBJECTIVES]
    if not directed:
        return [*facts, Fact("Objectives", ", ".join(metric.name for metric in listed))]
    facts += [Fact(f"Objective {d}", tolerance_in_words(metric)) for d, metric in enumerate(listed, 1)]
    if more := len(result.metrics) - len(listed):
        facts.append(Fact("Further objectives", f"{more:,}"))
    if result.limits is not None:
        facts.append(Fact("Limits", all_limits(result.limits)))
    return facts


def _pictures(result: Result, directed: bool) -> tuple[Figure, ...]:
    objectives = len(result.metrics)
    if not np.isfinite(result.estimates).any():
        return ()  # there would be nothing on them
    alive = min(int((result.verdict_codes != Verdict.OUT).sum()), 250)
    if objectives > 2 and alive * objectives * (objectives - 1) // 2 > MOST_MARKS:
        heading = f"The front, in {result.metrics[0].name} and {result.metrics[1].name}"
        front = Figure(heading, plot.front(result, 0, 1))
    else:
        front = Figure("The front", plot.front(result))
    if not directed:
        return (replace(front, picture=without_directions(front.picture)),)
    if objectives > 2:
        return front, Figure("All objectives side by side", plot.parallel(result))
    return (front,)


def without_directions(picture: Picture) -> Picture:
    """The picture of a result of which nobody knows which direction is better: without arrows and shaded region."""

    def bare(panel: Panel | None) -> Panel | None:
        if panel is None:
            return None
        layers = tuple(layer for layer in panel.layers if not isinstance(layer, Region))
        return replace(panel, x=replace(panel.x, better=""), y=replace(panel.y, better=""), layers=layers)

    return replace(picture, rows=tuple(tuple(map(bare, row)) for row in picture.rows))
