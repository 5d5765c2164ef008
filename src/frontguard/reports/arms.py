"""The table of arms: the front first, up to a thousand rows, the rest counted; and a row for every arm as records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from frontguard._typing import Ints
from frontguard.logs.analysis import Analysis
from frontguard.phrases import number, percent
from frontguard.reports.model import Cell, Column, Records, Subject, Table
from frontguard.reports.names import fitting, short
from frontguard.results import Result
from frontguard.words.arm_table import WORDS, counts, rank, shown

__all__ = ["MOST_ROWS", "arms_records", "arms_table", "failures_table"]


MOST_ROWS = 1000
"""Arms that a report shows; its CSV has all."""

_MOST_FAILURES = 200


def arms_table(subject: Subject, most: int = MOST_ROWS) -> Table:
    """Verdict, estimate and interval in every objective, pulls, failures, who decides, how robust."""
    result = subject.result
    rows = shown(result, most)
    columns = [Column("arm"), Column("verdict")]
    columns += [
        Column(short(metric.name), f"{metric.quantile_word} [low, high]", number=True) for metric in result.metrics
    ]
    columns.append(Column("pulls", number=True))
    failed = subject.failed if subject.failed is not None and subject.failed.any() else None
    if failed is not None:
        columns.append(Column("failed", number=True))
    rivals = result.decided_by[rows]
    if (rivals >= 0).any():
        columns.append(Column("decided by"))
    if subject.stands is not None:
        columns.append(Column("stands up to", "share replaced", number=True))
    names = fitting([result.arms[arm] for arm in rows.tolist()])
    intervals = _intervals(subject, rows)
    made = []
    for place, arm in enumerate(rows.tolist()):
        verdict = result.verdict(arm)
        cells = [Cell(names[place]), Cell(verdict.word, float(rank(verdict)), look=verdict.word), *intervals[place]]
        cells.append(Cell(f"{int(result.pulls_per_arm[arm]):,}", float(result.pulls_per_arm[arm])))
        if failed is not None:
            cells.append(Cell(f"{int(failed[arm]):,}" if failed[arm] else "", float(failed[arm])))
        if (rivals >= 0).any():
            rival = int(result.decided_by[arm])
            cells.append(Cell(short(result.arms[rival]) if rival >= 0 else ""))
        if subject.stands is not None:
            cells.append(_stands(float(subject.stands[arm]), subject.resolution))
        made.append(tuple(cells))
    return Table("The arms", tuple(columns), tuple(made), _rest(result, rows))


def _intervals(subject: Subject, rows: Ints) -> list[list[Cell]]:
    result = subject.result
    columns = []
    for d, metric in enumerate(result.metrics):
        centre = metric.outward(result.estimates[rows, d]).tolist()
        low, high = (ends.tolist() for ends in metric.outward_interval(result.lower[rows, d], result.upper[rows, d]))
        least = 0.0 if metric.relative else -math.inf  # where nothing is known, an interval begins there
        columns.append([_interval(*each, least) for each in zip(centre, low, high, strict=True)])
    return [list(cells) for cells in zip(*columns, strict=True)]


def _interval(centre: float, low: float, high: float, least: float) -> Cell:
    between = f"[{number(low)}, {number(high)}]"
    if math.isfinite(centre):
        return Cell(f"{number(centre)} {between}", centre)
    if low > least or math.isfinite(high):
        return Cell(between, low if low > least else high)
    return Cell("not known")


def _stands(level: float, resolution: float) -> Cell:
    if math.isnan(level):
        return Cell("")
    return Cell("any below 50%" if level + resolution >= 0.5 - 1e-9 else percent(level), level)


def _rest(result: Result, rows: Ints) -> str:
    left = np.delete(np.arange(len(result.arms)), rows)
    if not len(left):
        return ""
    return f"… and {len(left):,} more arms: {counts(result, left)}. The CSV report has a row for every arm."


def failures_table(subject: Subject) -> Table | None:
    """Arms that failed with the reasons and how often, the most frequent first; None without reasons."""
    counted = sorted(
        ((count, arm, reason) for arm, reasons in subject.reasons.items() for reason, count in reasons.items()),
        key=lambda each: -each[0],
    )
    if not counted:
        return None
    rows = tuple(
        (Cell(short(arm)), Cell(short(reason, 200)), Cell(f"{count:,}", float(count)))
        for count, arm, reason in counted[:_MOST_FAILURES]
    )
    left = len(counted) - len(rows)
    rest = f"… and {left:,} more kinds of failures." if left else ""
    return Table(
        "Failed pulls by arm and reason", (Column("arm"), Column("reason"), Column("pulls", number=True)), rows, rest
    )


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
