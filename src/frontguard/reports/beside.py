"""What is asked for beside an answer, in a report: one arm to choose, and all arms against a baseline."""

from __future__ import annotations

from dataclasses import replace

from frontguard import plot
from frontguard.comparisons.effects import Comparisons
from frontguard.comparisons.picks import Asked, Beside
from frontguard.errors import BadInput
from frontguard.phrases import visible
from frontguard.reports.model import (
    Column,
    Entry,
    Figure,
    Report,
    ReportTable,
    Section,
    in_table,
    short,
    shown_in_units,
)
from frontguard.results import Result
from frontguard.words.arm_table import with_short_names
from frontguard.words.comparisons import (
    beside_in_words,
    choice_in_words,
    contrast_in_words,
    effect_cell,
    left_in_words,
    rows_of,
)

MOST_ROWS = 1000
"""Arms that a report's table of comparisons shows; its CSV has all."""


def asked_for(report: Report, asked: Asked) -> Report:
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
            Section(heading, said_too, shown=_pictures(result, compared), tables=(comparison_table(result, compared),))
        )
    columns = {**report.columns, **beside.columns(len(result.arms))}
    return replace(report, compared=tuple(parts), columns=columns)


def _pictures(result: Result, compared: Comparisons) -> tuple[Figure, ...]:
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
