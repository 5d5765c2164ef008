"""Results in notebooks: the answer, a picture and a table, as markup that stands alone in a page of somebody else's.

There is no script, and no style that could leak into the page: a few attributes of old do what is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from frontguard import plot
from frontguard.comparisons.effects import Comparisons
from frontguard.comparisons.picks import Pick
from frontguard.logs.analysis import Analysis
from frontguard.markup import Element, element
from frontguard.phrases import number_of, visible
from frontguard.plot.svg.draw import drawn
from frontguard.reports.model import Column, Entry, shown_in_units
from frontguard.reports.result import arms_table, failed_pulls
from frontguard.results import Result
from frontguard.studies.overview import Snapshot
from frontguard.words import analysis, study
from frontguard.words.arm_table import with_short_names
from frontguard.words.comparisons import beside_in_words, choice_in_words, effect_cell, given_up, left_in_words

MOST_ROWS = 100
"""Arms that a notebook shows."""

_numbers = count(1)  # so that no two pictures of a notebook have the same ids


def result_html(result: Result) -> str:
    """The markup of a result or an analysis."""
    full = shown_in_units(result)
    plain = with_short_names(full)
    table = arms_table(full, failed_pulls(full) if isinstance(full, Analysis) else None, MOST_ROWS)
    picture = drawn(plot.front(plain), prefix=f"frontguard-{next(_numbers)}-")
    how = ", ".join(dict.fromkeys([plain.policy, plain.status]))  # a policy may be called as a status is
    parts = [
        element("p", {"dir": "auto"}, element("strong", {}, _answer(plain))),
        element("p", {}, f"{how}, {plain.pulls:,} pulls of {number_of(len(plain.arms))}"),
        element("div", {"align": "left"}, picture),
        _table(table.columns, table.rows),
    ]
    if table.rest:
        parts.append(element("p", {}, table.rest))
    return element("div", {"class": "frontguard"}, *parts).markup()


def comparisons_html(compared: Comparisons) -> str:
    """The markup of comparisons with a baseline."""
    rows = [compared.of(row) for row in range(min(len(compared), MOST_ROWS))]
    columns = (Column("arm"), *(Column(metric.name, number=True) for metric in compared.metrics))
    cells = [(Entry(visible(each.arm)), *(Entry(effect_cell(effect).full) for effect in each.effects)) for each in rows]
    left = left_in_words(compared, range(len(rows)))
    parts = [
        element("p", {"dir": "auto"}, element("strong", {}, f"Against {visible(compared.baseline)}")),
        _table(columns, cells),
        *(element("p", {}, said) for said in (left, beside_in_words(compared)) if said),
    ]
    return element("div", {"class": "frontguard"}, *parts).markup()


def pick_html(pick: Pick) -> str:
    """The markup of a choice."""
    parts = [element("p", {"dir": "auto"}, element("strong", {}, choice_in_words(pick)))]
    parts += [element("p", {"dir": "auto"}, said) for said in given_up(pick)]
    return element("div", {"class": "frontguard"}, *parts).markup()


def _table(columns: tuple[Column, ...], rows: Sequence[tuple[Entry, ...]]) -> Element:
    return element(
        "table",
        {"border": "0", "cellpadding": "4"},
        element("thead", {}, element("tr", {}, *(_heading(column) for column in columns))),
        element("tbody", {}, *(_row(row, columns) for row in rows)),
    )


def _answer(result: Result) -> str:
    if isinstance(result, Analysis):
        return analysis.answer(result)
    return study.answer(Snapshot(study="", result=result))


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
