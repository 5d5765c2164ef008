"""A report out of a result: what studies, runs, analyses and plain results have in common, and the tables of arms.

The table has the front first, up to a thousand rows, and counts the rest; the columns for machines have all arms. What
is asked for beside the answer, one arm to choose and all arms against a baseline, has tables of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from frontguard import plot
from frontguard._common.typing import Ints
from frontguard.comparisons.effects import Comparisons
from frontguard.comparisons.picks import Beside, BesideQuestion
from frontguard.errors import BadInput
from frontguard.logs.analysis import Analysis
from frontguard.phrases import natural, number_of, percent, visible
from frontguard.reports.model import (
    FAILED,
    Column,
    Entry,
    Fact,
    Figure,
    Kind,
    Report,
    ReportTable,
    Section,
    certain,
    in_table,
    short,
    shown_in_units,
)
from frontguard.results import Result
from frontguard.verdicts import Verdict
from frontguard.words.arm_table import arm_table, shown, with_short_names
from frontguard.words.certificate import (
    FAILED_PULL,
    assumptions,
    counted_metrics,
    status_in_words,
    tolerance_in_words,
)
from frontguard.words.comparisons import (
    beside_in_words,
    choice_in_words,
    contrast_in_words,
    effect_cell,
    left_in_words,
    rows_of,
)
from frontguard.words.instead import places_on_list
from frontguard.words.limits import all_limits
from frontguard.words.threats import may_lie

Failures: TypeAlias = Mapping[str, Mapping[str, int]]
"""How often pulls failed, by arm and reason."""

MOST_ROWS = 1000
"""Arms that a report shows; its CSV has all."""

MOST_REASONS = 3
"""Why the pulls of an arm failed: so many reasons are told, and the others are counted."""

LONGEST_REASON = 160
"""Columns of a reason; of a longer one its beginning and its end are told."""

_MOST_FAILING = 60  # arms

MOST_MARKS = 500
"""In a matrix of all pairs of objectives; beyond, the first pair is shown, so that a report stays small."""

MOST_OBJECTIVES = 12
"""Of which facts are listed."""


def report_of(
    result: Result,
    kind: Kind,
    title: str,
    answer: str,
    *,
    certificate: Sequence[str],
    parts: Sequence[Section],
    steps: Sequence[Fact],
    facts: Sequence[Fact] = (),
    failed: Ints | None = None,
    at_work: bool = True,
    **assumed: Any,
) -> Report:
    """Return the report on a result, whose full names are made short for sentences and pictures.

    `failed` are the pulls (K,) that failed, or values, where the report is on a log. `at_work` if
    somebody is, where it goes on. `assumed` is given to
    `assumptions`.
    """
    count = 0 if failed is None else int(failed.sum())
    table = arms_table(result, failed)
    if table.rest:
        table = replace(table, rest=f"{table.rest} The CSV report has a row for every arm.")
    plain = with_short_names(result)
    metrics, aside = counted_metrics(plain), len(result.aside)
    rests_on: dict[str, Any] = {
        "policy": result.policy,
        "anytime": True,
        "spread": None,
        "failed": count,
        "aside": aside,
    } | assumed
    every = *certain(certificate, assumptions(result.certificate, metrics, **rests_on)), *parts
    columns = result.columns()
    for d, name in enumerate(result.objectives):
        columns[name] = np.where(np.isfinite(result.inner.estimates[:, d]), columns[name], np.nan)
    if failed is not None and kind != "analysis":
        columns["failed"] = failed
    return Report(
        title=title,
        kind=kind,
        answer=answer,
        status=result.status,
        status_words=status_in_words(result.status, at_work=at_work),
        facts=(*facts_of(plain, 0 if kind == "analysis" else count), *facts),
        pictures=_pictures(plain),
        table=table,
        parts=tuple(part for part in every if not part.blank),
        warnings=result.warnings,
        reproduce=tuple(steps),
        columns=columns,
        result=result,
    )


def facts_of(result: Result, failed: int = 0) -> list[Fact]:
    """Of what a result is, and what was asked."""
    certificate = result.certificate
    sure = "none" if certificate.confidence is None else percent(certificate.confidence, ROUND_FLOOR)
    facts = [
        Fact("Arms", f"{len(result.arms):,}"),
        Fact("Pulls", f"{result.pulls:,}" + (f", {failed:,} failed" if failed else "")),
        Fact("Confidence", sure),
        Fact("Measurements that may lie", may_lie(certificate.threat, certificate.contamination)),
    ]
    listed = result.metrics[:MOST_OBJECTIVES]
    facts += [Fact(f"Objective {d}", tolerance_in_words(metric)) for d, metric in enumerate(listed, 1)]
    if more := len(result.metrics) - len(listed):
        facts.append(Fact("Further objectives", f"{more:,}"))
    if result.limits is not None:
        facts.append(Fact("Limits", all_limits(result.limits)))
    return facts


def _pictures(result: Result) -> tuple[Figure, ...]:
    objectives = len(result.metrics)
    if not np.isfinite(result.estimates).any():
        return ()  # there would be nothing on them
    alive = min(int((result.verdict_codes != Verdict.OUT).sum()), 250)
    if objectives > 2 and alive * objectives * (objectives - 1) // 2 > MOST_MARKS:
        heading = f"The front, in {result.metrics[0].name} and {result.metrics[1].name}"
        front = Figure(heading, plot.front(result, 0, 1))
    else:
        front = Figure("The front", plot.front(result))
    if objectives > 2:
        return front, Figure("All objectives side by side", plot.parallel(result))
    return (front,)


# The table of arms ---------------------------------------------------------------------------------------------------


def arms_table(result: Result, failed: Ints | None = None, most: int = MOST_ROWS) -> ReportTable:
    """Verdict, estimate and interval in every objective, pulls, failures (K,), who decides, how robust.

    Where the goal is the list, also what a listed arm is best at, or what one costs that does for another.
    """
    rows = shown(result, most)
    profile = result.profile if isinstance(result, Analysis) else None
    made = arm_table(
        result,
        rows,
        failed=failed if failed is not None and failed.any() else None,
        deciders=bool((result.decided_by[rows] >= 0).any()),
        stands=None if profile is None else profile.per_arm,
        resolution=0.0 if profile is None else profile.resolution,
    )
    names = [in_table(result.arms[arm]) for arm in rows.tolist()]
    places = places_on_list(result, rows)
    told = any(places)
    kept = [each for each in made.columns[2:] if not (told and each.name == "instead")]
    entries = tuple(
        (
            Entry(name),
            Entry(row.verdict.word, row.cells["verdict"].value, row.verdict),
            *(Entry(short(part)) for part in (() if result.parts is None else result.parts.row(row.arm))),
            *(Entry(short(row.cells[each.name].full), row.cells[each.name].value) for each in kept),
            *((Entry(short(places[n])),) if told else ()),
        )
        for n, (name, row) in enumerate(zip(names, made.rows, strict=True))
    )
    parts = () if result.parts is None else tuple(Column(short(part)) for part in result.parts.names)
    rest = [Column(short(each.heading), each.below, each.number) for each in kept]
    if told:
        rest.append(Column("best at, or take instead"))
    caption = f"The arms ({short(made.key)})" if made.key else "The arms"
    return ReportTable(
        caption, (Column("arm"), Column("verdict"), *parts, *rest), entries, f"{made.rest}." if made.rest else ""
    )


def failed_pulls(found: Analysis) -> Ints | None:
    """How many pulls of each arm (K,) lack a value; None where that is not known."""
    return found.failed_pulls if found.failed_pulls.size else None


def failures_part(
    failures: Failures, failed: int, pulls: int, said: Mapping[str, str] = MappingProxyType({})
) -> Section:
    """How many pulls failed; of which arms and why, if that is known: arms that fail most first, and of each the most
    frequent reasons. And what the last pull of an arm that failed had to say, by arm, where that is known.
    """
    words: tuple[str, ...] = ()
    if failed:
        words = (
            f"{failed:,} of {pulls:,} pulls failed ({percent(failed / max(pulls, 1))}). {FAILED_PULL} Leaving it out "
            "would favour arms that fail when they are slow.",
        )
    by_arm = {arm: sum(reasons.values()) for arm, reasons in failures.items() if reasons}
    if not by_arm:
        return Section(FAILED, words)
    worst = sorted(by_arm, key=lambda arm: (-by_arm[arm], natural(arm)))
    rows = tuple(row for arm in worst[:_MOST_FAILING] for row in _why(arm, failures[arm]))
    left = len(worst) - _MOST_FAILING
    rest = f"… and {number_of(left)} more with failures." if left > 0 else ""
    columns = (Column("arm"), Column("reason"), Column("pulls", number=True))
    tables = [ReportTable("Failed pulls by arm and reason", columns, rows, rest)]
    if said:
        last = tuple((Entry(short(arm)), Entry(short(text, 300))) for arm, text in list(said.items())[:_MOST_FAILING])
        tables.append(ReportTable("Last words of failed pulls", (Column("arm"), Column("the last one")), last))
    return Section(FAILED, words, tables=tuple(tables))


def _why(arm: str, reasons: Mapping[str, int]) -> Iterator[tuple[Entry, ...]]:
    """A row for each of an arm's most frequent reasons, and one for the others."""
    often = sorted(reasons.items(), key=lambda each: -each[1])
    told = [(short(reason, LONGEST_REASON) or "no reason given", count) for reason, count in often[:MOST_REASONS]]
    if others := often[MOST_REASONS:]:
        told.append((f"{number_of(len(others), 'other reason')}", sum(count for _, count in others)))
    for reason, count in told:
        yield Entry(short(arm)), Entry(reason), Entry(f"{count:,}", float(count))


# Comparisons and picks beside the answer ------------------------------------------------------------------------------


def asked_for(report: Report, asked: BesideQuestion) -> Report:
    """A report with what is asked for beside what it is about."""
    if asked.nothing:
        return report
    if report.result is None:
        raise BadInput(f"--baseline and --pick: wanted with a report on arms; got one on {report.kind}")
    result = shown_in_units(report.result)
    return with_beside(report, result, result.beside(asked))


def with_beside(report: Report, result: Result, beside: Beside) -> Report:
    """A report on a result, with comparisons of it and the arm to choose."""
    parts = []
    if beside.pick is not None:
        others = beside.pick.others
        tables = () if others is None or not len(others) else (comparison_table(result, others),)
        parts.append(Section("Which one to take", (choice_in_words(beside.pick),), tables=tables))
    if beside.compared is not None:
        compared = beside.compared
        heading = f"Compared with {short(visible(compared.baseline))}"
        said_too = tuple(each for each in (beside_in_words(compared),) if each)
        parts.append(
            Section(heading, said_too, shown=_forest(result, compared), tables=(comparison_table(result, compared),))
        )
    columns = {**report.columns, **beside.columns(len(result.arms))}
    return replace(report, parts=(*parts, *report.parts), columns=columns)


def _forest(result: Result, compared: Comparisons) -> tuple[Figure, ...]:
    if not len(compared):
        return ()
    plain = with_short_names(result)
    baseline = plain.arms[result.place(compared.baseline)]
    return (Figure("How much better or worse", plot.forest(plain, baseline)),)


def comparison_table(result: Result, compared: Comparisons, most: int = MOST_ROWS) -> ReportTable:
    """Arms against a baseline, a column for each metric."""
    rows = rows_of(result, compared, most)
    chosen = [compared.of(row) for row in rows.tolist()]
    names = [in_table(each.arm) for each in chosen]
    columns = [Column("arm")]
    for metric in compared.metrics:
        better = "lower" if metric.minimized else "higher"
        columns += [Column(short(metric.name), f"× or +, {better} is better", number=True), Column("", "certain")]
    entries = []
    for name, each in zip(names, chosen, strict=True):
        row = [Entry(name)]
        for effect in each.effects:
            cell = effect_cell(effect)
            row += [
                Entry(f"{cell.estimate} {cell.interval}".strip(), cell.order),
                Entry(contrast_in_words(effect), float(effect.contrast)),
            ]
        entries.append(tuple(row))
    caption = f"Against {short(visible(compared.baseline))}"
    return ReportTable(caption, tuple(columns), tuple(entries), left_in_words(compared, rows))
