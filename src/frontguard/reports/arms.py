"""The table of arms of a report: the front first, up to a thousand rows, the rest counted; and columns of them all."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from frontguard._typing import Ints
from frontguard.logs.analysis import Analysis
from frontguard.phrases import percent
from frontguard.reports.model import Column, Entry, ReportTable, Section, fitting, short
from frontguard.results import WORDS, Result
from frontguard.words.arm_table import arm_table, shown
from frontguard.words.certificate import FAILED_PULL

Failures: TypeAlias = Mapping[str, Mapping[str, int]]
"""How often pulls failed, by arm and reason."""

MOST_ROWS = 1000
"""Arms that a report shows; its CSV has all."""

_MOST_FAILURES = 200


def arms_table(result: Result, failed: Ints | None = None, most: int = MOST_ROWS) -> ReportTable:
    """Verdict, estimate and interval in every objective, pulls, failures (K,), who decides, how robust."""
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
    names = fitting([result.arms[arm] for arm in rows.tolist()])
    entries = tuple(
        tuple(
            Entry(
                name if column == "arm" else short(cell.full),
                cell.value,
                row.verdict if column == "verdict" else None,
            )
            for column, cell in row.cells.items()
        )
        for name, row in zip(names, made.rows, strict=True)
    )
    columns = tuple(Column(short(each.heading), each.below, each.number) for each in made.columns)
    return ReportTable("The arms", columns, entries, f"{made.rest}." if made.rest else "")


def failed_pulls(found: Analysis) -> Ints | None:
    """How many pulls of each arm (K,) lack a value; None where that is not known."""
    return found.failed_pulls if found.failed_pulls.size else None


def failures_part(
    failures: Failures, failed: int, pulls: int, said: Mapping[str, str] = MappingProxyType({})
) -> Section:
    """How many pulls failed; of which arms and for which reasons, if these are known, the most frequent first.

    And what the last pull of an arm that failed had to say, by arm, where that is known.
    """
    words: tuple[str, ...] = ()
    if failed:
        words = (
            f"{failed:,} of {pulls:,} pulls failed ({percent(failed / max(pulls, 1))}). {FAILED_PULL} Leaving it out "
            "would favour arms that fail when they are slow.",
        )
    counted = sorted(
        ((count, arm, reason) for arm, reasons in failures.items() for reason, count in reasons.items()),
        key=lambda each: -each[0],
    )
    if not counted:
        return Section("Failures", words)
    rows = tuple(
        (Entry(short(arm)), Entry(short(reason, 200)), Entry(f"{count:,}", float(count)))
        for count, arm, reason in counted[:_MOST_FAILURES]
    )
    left = len(counted) - len(rows)
    rest = f"… and {left:,} more kinds of failures." if left else ""
    columns = (Column("arm"), Column("reason"), Column("pulls", number=True))
    tables = [ReportTable("Failed pulls by arm and reason", columns, rows, rest)]
    if said:
        last = tuple((Entry(short(arm)), Entry(short(text, 300))) for arm, text in list(said.items())[:_MOST_FAILURES])
        tables.append(ReportTable("Last words of failed pulls", (Column("arm"), Column("the last one")), last))
    return Section("Failures", words, tables=tuple(tables))


def arms_columns(result: Result, failed: Ints | None, failures: Failures) -> dict[str, Any]:
    """What is known of every arm, in its own order."""
    medians, (low, high) = np.where(np.isfinite(result.estimates), result.medians, np.nan), result.bounds
    columns: dict[str, Any] = {"arm": list(result.arms), "verdict": WORDS[result.verdict_codes].tolist()}
    for d, metric in enumerate(result.metrics):
        columns[metric.name] = medians[:, d]
        columns[f"{metric.name} low"], columns[f"{metric.name} high"] = low[:, d], high[:, d]
    columns["pulls"] = result.pulls_per_arm
    if failed is not None:
        columns["failed"] = failed
    columns["decided by"] = [result.arms[j] if j >= 0 else "" for j in result.decided_by.tolist()]
    if isinstance(result, Analysis) and result.profile is not None:
        columns["stands up to"] = result.profile.per_arm
    if failures:
        columns["failures"] = [
            "; ".join(f"{count} x {reason}" for reason, count in failures.get(arm, {}).items()) for arm in result.arms
        ]
    return columns
