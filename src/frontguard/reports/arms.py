"""The table of arms: the front first, up to a thousand rows, the rest counted; and a row for every arm as records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._typing import Ints
from frontguard.logs.analysis import WORDS, Analysis
from frontguard.phrases import percent
from frontguard.reports.model import Cell, Column, Records, Subject, Table
from frontguard.reports.names import fitting, short
from frontguard.studies.snapshot import ASIDE, VERDICT_WORDS, number

__all__ = ["MOST_ROWS", "arms_records", "arms_table", "failures_table", "table_order"]


MOST_ROWS = 1000
"""Arms that a report shows; its CSV has all."""

_MOST_FAILURES = 200


def _verdict_words(subject: Subject) -> npt.NDArray[np.object_]:
    words = WORDS[subject.result.verdict_codes].copy()
    if subject.aside:
        for arm, name in enumerate(subject.result.arms):
            if name in subject.aside:
                words[arm] = ASIDE
    return words


def table_order(subject: Subject, most: int) -> Ints:
    """The arms to show: the front, open arms, covered ones, those set aside, those that are out.

    Where the front alone would fill the table, open arms get up to half of it.
    """
    words = _verdict_words(subject)
    groups = [np.flatnonzero(words == word) for word in VERDICT_WORDS]
    kept = max(most - len(groups[1]), most - most // 2)
    return np.concatenate([groups[0][:kept], *groups[1:]])[:most]


def arms_table(subject: Subject, most: int = MOST_ROWS) -> Table:
    """Verdict, estimate and interval in every objective, pulls, failures, who decides, how robust."""
    result, words = subject.result, _verdict_words(subject)
    rows = table_order(subject, most)
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
    places = {verdict: place for place, verdict in enumerate(VERDICT_WORDS)}
    intervals = _intervals(subject, rows)
    made = []
    for place, arm in enumerate(rows.tolist()):
        word = str(words[arm])
        cells = [Cell(names[place]), Cell(word, float(places[word]), look=word), *intervals[place]]
        cells.append(Cell(f"{int(result.pulls_per_arm[arm]):,}", float(result.pulls_per_arm[arm])))
        if failed is not None:
            cells.append(Cell(f"{int(failed[arm]):,}" if failed[arm] else "", float(failed[arm])))
        if (rivals >= 0).any():
            rival = int(result.decided_by[arm])
            cells.append(Cell(short(result.arms[rival]) if rival >= 0 else ""))
        if subject.stands is not None:
            cells.append(_stands(float(subject.stands[arm]), subject.resolution))
        made.append(tuple(cells))
    return Table("The arms", tuple(columns), tuple(made), _rest(words, rows))


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


def _rest(words: npt.NDArray[np.object_], rows: Ints) -> str:
    if len(rows) == len(words):
        return ""
    left = np.delete(words, rows)
    kinds, counts = np.unique(left.astype(str), return_counts=True)
    parts = ", ".join(f"{count:,} {kind}" for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True))
    return f"… and {len(left):,} more arms: {parts}. The CSV report has a row for every arm."


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
    columns: dict[str, Any] = {"arm": list(result.arms), "verdict": _verdict_words(subject).tolist()}
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
