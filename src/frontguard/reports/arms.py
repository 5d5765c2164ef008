"""The table of arms of a report: the front first, up to a thousand rows, the rest counted; and records of every arm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from frontguard.logs.analysis import Analysis
from frontguard.reports.model import Column, Entry, Records, ReportTable, Subject, fitting, short
from frontguard.results import WORDS
from frontguard.words.arm_table import arm_table, shown

MOST_ROWS = 1000
"""Arms that a report shows; its CSV has all."""

_MOST_FAILURES = 200


def arms_table(subject: Subject, most: int = MOST_ROWS) -> ReportTable:
    """Verdict, estimate and interval in every objective, pulls, failures, who decides, how robust."""
    result = subject.result
    rows = shown(result, most)
    made = arm_table(
        result,
        rows,
        failed=subject.failed if subject.failed is not None and subject.failed.any() else None,
        deciders=bool((result.decided_by[rows] >= 0).any()),
        stands=subject.stands,
        resolution=subject.resolution,
    )
    names = fitting([result.arms[arm] for arm in rows.tolist()])
    entries = tuple(
        tuple(
            Entry(
                name if column == "arm" else short(cell.full),
                cell.value,
                row.verdict.word if column == "verdict" else "",
            )
            for column, cell in row.cells.items()
        )
        for name, row in zip(names, made.rows, strict=True)
    )
    columns = tuple(Column(short(each.heading), each.below, each.number) for each in made.columns)
    return ReportTable("The arms", columns, entries, f"{made.rest}." if made.rest else "")


def failures_table(subject: Subject) -> ReportTable | None:
    """Arms that failed with the reasons and how often, the most frequent first; None without reasons."""
    counted = sorted(
        ((count, arm, reason) for arm, reasons in subject.reasons.items() for reason, count in reasons.items()),
        key=lambda each: -each[0],
    )
    if not counted:
        return None
    rows = tuple(
        (Entry(short(arm)), Entry(short(reason, 200)), Entry(f"{count:,}", float(count)))
        for count, arm, reason in counted[:_MOST_FAILURES]
    )
    left = len(counted) - len(rows)
    rest = f"… and {left:,} more kinds of failures." if left else ""
    columns = (Column("arm"), Column("reason"), Column("pulls", number=True))
    return ReportTable("Failed pulls by arm and reason", columns, rows, rest)


# For machines ---------------------------------------------------------------------------------------------------------


def arms_records(subject: Subject) -> Records:
    """A row for every arm in its own order; what is not known is None."""
    result = subject.result
    if isinstance(result, Analysis) and subject.kind == "analysis":
        columns: dict[str, Any] = result.columns()
    else:
        columns = _columns(subject)
    return Records(tuple(columns), _rows(list(columns.values())))


def _rows(columns: list[Any]) -> Iterator[tuple[Any, ...]]:
    count = len(columns[0])
    for start in range(0, count, 20_000):  # numbers become Python's own in pieces: a million arms need little memory
        part = [column[start : start + 20_000] for column in columns]
        yield from zip(*(each if isinstance(each, list) else each.tolist() for each in part), strict=True)


def _columns(subject: Subject) -> dict[str, Any]:
    result = subject.result
    medians, (low, high) = np.where(np.isfinite(result.estimates), result.medians, np.nan), result.bounds
    columns: dict[str, Any] = {"arm": list(result.arms), "verdict": WORDS[result.verdict_codes].tolist()}
    for d, metric in enumerate(result.metrics):
        columns[metric.name] = medians[:, d]
        columns[f"{metric.name} low"], columns[f"{metric.name} high"] = low[:, d], high[:, d]
    columns["pulls"] = result.pulls_per_arm
    if subject.failed is not None:
        columns["failed"] = subject.failed
    columns["decided by"] = [result.arms[j] if j >= 0 else "" for j in result.decided_by.tolist()]
    if subject.stands is not None:
        columns["stands up to"] = subject.stands
    if subject.reasons:
        columns["failures"] = [
            "; ".join(f"{count} x {reason}" for reason, count in subject.reasons.get(arm, {}).items())
            for arm in result.arms
        ]
    return columns
