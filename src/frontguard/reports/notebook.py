"""Results in notebooks: the answer, a picture and a table, as markup that stands alone in a page of somebody else's.

There is no script, and no style that could leak into the page: a few attributes of old do what is needed.
"""

from __future__ import annotations

from itertools import count

from frontguard.logs.analysis import Analysis
from frontguard.markup import Element, element
from frontguard.plot.svg.draw import drawn
from frontguard.reports.arms import arms_table
from frontguard.reports.model import Column, Entry, Subject, shown_in_units, with_short_names
from frontguard.results import Result
from frontguard.studies.overview import Snapshot

MOST_ROWS = 100
"""Arms that a notebook shows."""

_numbers = count(1)  # so that no two pictures of a notebook have the same ids


def result_html(result: Result) -> str:
    """The markup of a result or an analysis."""
    from frontguard import plot

    full = shown_in_units(result)
    plain = with_short_names(full)
    subject = _subject(full, _answer(plain))
    table = arms_table(subject, MOST_ROWS)
    picture = drawn(plot.front(plain), prefix=f"frontguard-{next(_numbers)}-")
    parts = [
        element("p", {"dir": "auto"}, element("strong", {}, subject.answer)),
        element("p", {}, repr_line(plain)),
        element("div", {"align": "left"}, picture),
        element(
            "table",
            {"border": "0", "cellpadding": "4"},
            element("thead", {}, element("tr", {}, *(_heading(column) for column in table.columns))),
            element("tbody", {}, *(_row(row, table.columns) for row in table.rows)),
        ),
    ]
    if table.rest:
        parts.append(element("p", {}, table.rest))
    return element("div", {"class": "frontguard"}, *parts).markup()


def repr_line(result: Result) -> str:
    """How it was found, in a line."""
    how = ", ".join(dict.fromkeys([result.policy, result.status]))  # a policy may be called as a status is
    return f"{how}, {result.pulls:,} pulls of {len(result.arms):,} {'arm' if len(result.arms) == 1 else 'arms'}"


def _answer(result: Result) -> str:
    if isinstance(result, Analysis):
        from frontguard.words.analysis import answer

        return answer(result)
    from frontguard.words.study import answer as study_answer

    return study_answer(Snapshot(study="", result=result))


def _subject(result: Result, answer: str) -> Subject:
    stands = failed = None
    resolution = 0.001
    if isinstance(result, Analysis):
        failed = result.failed.sum(axis=1) if result.failed.size else None
        if result.profile is not None:
            stands, resolution = result.profile.per_arm, result.profile.resolution
    return Subject(
        kind="result",
        title="",
        answer=answer,
        status=result.status,
        result=result,
        guarantee=(),
        failed=failed,
        stands=stands,
        resolution=resolution,
    )


def _heading(column: Column) -> Element:
    below = element("small", {}, f" {column.below}") if column.below else None
    return element("th", {"scope": "col", "align": "right" if column.number else "left"}, column.heading, below)


def _row(row: tuple[Entry, ...], columns: tuple[Column, ...]) -> Element:
    cells = [
        element(
            "th" if place == 0 else "td",
            {
                "align": "right" if column.number else "left",
                "nowrap": column.number or None,
                "scope": "row" if place == 0 else None,
            },
            cell.text,
        )
        for place, (cell, column) in enumerate(zip(row, columns, strict=True))
    ]
    return element("tr", {}, *cells)
