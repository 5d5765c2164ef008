"""The table of arms of a report: the front first, up to a thousand rows, the rest counted; and columns of them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from frontguard._common.typing import Ints
from frontguard.logs.analysis import Analysis
from frontguard.phrases import natural, number_of, percent
from frontguard.reports.model import IN_TABLES, Column, Entry, ReportTable, Section, short
from frontguard.results import Result
from frontguard.words.certificate import FAILED_PULL
from frontguard.words.comparing.instead import places_on_list
from frontguard.words.tables.arm_table import arm_table, shown

Failures: TypeAlias = Mapping[str, Mapping[str, int]]
"""How often pulls failed, by arm and reason."""

MOST_ROWS = 1000
"""Arms that a report shows; its CSV has all."""

MOST_REASONS = 3
"""Why the pulls of an arm failed: so many reasons are told, and the others are counted."""

LONGEST_REASON = 160
"""Columns of a reason; of a longer one its beginning and its end are told."""

_MOST_FAILING = 60  # arms


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
    names = [short(result.arms[arm], IN_TABLES) for arm in rows.tolist()]
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
        return Section("Failures", words)
    worst = sorted(by_arm, key=lambda arm: (-by_arm[arm], natural(arm)))
    rows = tuple(row for arm in worst[:_MOST_FAILING] for row in _why(arm, failures[arm]))
    left = len(worst) - _MOST_FAILING
    rest = f"… and {number_of(left)} more with failures." if left > 0 else ""
    columns = (Column("arm"), Column("reason"), Column("pulls", number=True))
    tables = [ReportTable("Failed pulls by arm and reason", columns, rows, rest)]
    if said:
        last = tuple((Entry(short(arm)), Entry(short(text, 300))) for arm, text in list(said.items())[:_MOST_FAILING])
        tables.append(ReportTable("Last words of failed pulls", (Column("arm"), Column("the last one")), last))
    return Section("Failures", words, tables=tuple(tables))


def _why(arm: str, reasons: Mapping[str, int]) -> Iterator[tuple[Entry, ...]]:
    """A row for each of an arm's most frequent reasons, and one for the others."""
    often = sorted(reasons.items(), key=lambda each: -each[1])
    told = [(short(reason, LONGEST_REASON) or "no reason given", count) for reason, count in often[:MOST_REASONS]]
    if others := often[MOST_REASONS:]:
        told.append((f"{number_of(len(others), 'other reason')}", sum(count for _, count in others)))
    for reason, count in told:
        yield Entry(short(arm)), Entry(reason), Entry(f"{count:,}", float(count))


def arms_columns(result: Result, failed: Ints | None, failures: Failures) -> dict[str, Any]:
    """What is known of every arm, in its own order."""
    columns = result.columns()
    for d, name in enumerate(result.objectives):
        columns[name] = np.where(np.isfinite(result.inner.estimates[:, d]), columns[name], np.nan)
    if failed is not None and not isinstance(result, Analysis):
        columns["failed"] = failed
    if failures:
        columns["failures"] = [
            "; ".join(f"{count} x {reason}" for reason, count in failures.get(arm, {}).items()) for arm in result.arms
        ]
    return columns
