"""Reports as one HTML file that needs nothing else, and results as markup for notebooks.

The content security policy allows one style and one script, both by their hashes, so that whatever a name may hold, it
cannot run, load or send anything. In a notebook there is no script, and no style that could leak into the page.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import count

from frontguard import plot
from frontguard.comparisons.effects import Comparisons
from frontguard.comparisons.picks import Pick
from frontguard.markup import Child, Element, clean, element
from frontguard.phrases import number_of, one_line
from frontguard.plot.picture import style_sheet
from frontguard.plot.svg import drawn
from frontguard.reports.report import (
    Column,
    Entry,
    Fact,
    Figure,
    Report,
    ReportTable,
    Section,
    arms_table,
    comparison_table,
)
from frontguard.results import Answer
from frontguard.words.answers import answer, whole
from frontguard.words.arm_table import shown_in_units, with_short_names
from frontguard.words.comparisons import beside_in_words, choice_in_words, given_up

_LONG = 400  # characters from which on an answer is set smaller
_FILTERED = 12  # rows from which on they can be filtered
_NARROW = 540.0  # units of a drawing that is read on a phone as a whole
_LONG_NAME = 40  # characters of a name from which on names get more room
_TALL = 40  # rows from which on a table gets a box of its own to scroll in


def document(report: Report) -> str:
    """The whole file."""
    css, script = style_sheet() + _static("report.css"), _static("report.js")
    body = _Body(report)
    # Here alone markup is put together by hand, of our own files and of escaped text.
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy(css, script))}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(clean(one_line(report.title, 200)))}</title>\n"
        f"<style>{css}</style>\n</head>\n<body>\n"
        + "\n".join(part.markup() for part in body.made())
        + f"\n<script>{script}</script>\n</body>\n</html>\n"
    )


def policy(css: str, script: str) -> str:
    """The content security policy of a page with this style and this script."""
    return (
        f"default-src 'none'; style-src '{_hash(css)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _static(name: str) -> str:
    return (files("frontguard.reports") / "static" / name).read_text(encoding="utf-8")


class _Body:
    """The elements of one report; pictures, parts and tables are numbered through, so that their ids differ."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._pictures = count(1)
        self._tables = count(1)

    def made(self) -> list[Element]:
        report = self.report
        facts = (element("div", {}, *_fact(fact)) for fact in report.facts)
        warnings = _section("warnings", "Warnings", _list(report.warnings), **{"class": "warnings"})
        steps = element("dl", {"class": "steps"}, *(child for step in report.reproduce for child in _fact(step)))
        return [
            element("a", {"class": "skip", "href": "#table"}, "Skip to the table"),
            element("header", {}, element("h1", {"dir": "auto"}, one_line(report.title, 300)), *self._answer()),
            element(
                "main",
                {},
                *(self._figure(each, "h2" if len(report.pictures) > 1 else None) for each in report.pictures),
                warnings if report.warnings else None,
                element("section", {"aria-label": "In short"}, element("dl", {"class": "facts"}, *facts)),
                self._main_table(),
                *map(self._part, report.parts),
                _section("again", "How to reproduce it", steps) if report.reproduce else None,
            ),
            element("footer", {}, element("p", {}, report.made)),
        ]

    def _answer(self) -> list[Element]:
        report = self.report
        long = " long" if len(report.answer) > _LONG else ""
        kind = report.status if report.status in ("certified", "budget", "unreachable", "running") else ""
        return [
            element("p", {"class": f"answer{long}", "dir": "auto"}, report.answer),
            element("p", {"class": f"status {kind}".strip()}, report.status_words),
        ]

    def _main_table(self) -> Element:
        table = self.report.table
        box = element(
            "div",
            {"class": "filter", "id": "filter", "hidden": True},
            element("label", {"for": "filter-text"}, "Show rows with"),
            element("input", {"id": "filter-text", "type": "search", "autocomplete": "off", "spellcheck": "false"}),
            element("span", {"id": "filter-told", "role": "status"}),
        )
        useful = box if len(table.rows) >= _FILTERED else None
        return _section("table-heading", table.caption, useful, *self._table(table, caption=False), id="table")

    def _part(self, part: Section) -> Element:
        several = len(part.shown) + len(part.tables) > 1
        return _section(
            f"part-{next(self._tables)}",
            part.heading,
            *(element("p", {"dir": "auto"}, said) for said in part.words),
            _list(part.listed) if part.listed else None,
            *(self._figure(each, "h3" if several or each.heading != part.heading else None) for each in part.shown),
            *(child for table in part.tables for child in self._table(table)),
        )

    def _figure(self, shown: Figure, heading: str | None) -> Element:
        caption = shown.picture.caption
        svg = drawn(shown.picture, prefix=f"p{next(self._pictures)}-")
        # Whether its words would be too small on a phone that shows all of it.
        wide = float(svg.attributes["viewBox"].split()[2]) > _NARROW
        return element(
            "figure",
            {},
            element(heading, {"dir": "auto"}, shown.heading) if heading else None,
            element("div", {"class": "canvas wide" if wide else "canvas"}, svg),
            element("figcaption", {"dir": "auto"}, caption) if caption else None,
        )

    def _table(self, table: ReportTable, *, caption: bool = True) -> list[Element]:
        name = f"caption-{next(self._tables)}"
        heads = [
            element(
                "th",
                {"scope": "col", "class": "n" if column.number else None},
                element("button", {"type": "button", "disabled": True}, column.heading),
                _below(column),
            )
            for column in table.columns
        ]
        numbers = [column.number for column in table.columns]
        body = [_row(row, numbers) for row in table.rows]
        made = element(
            "table",
            {"class": " ".join(["sortable", *_kinds(table)])},
            element(
                "caption",
                {"id": name},
                table.caption if caption else number_of(len(table.rows), "row"),
                None if caption else element("span", {"class": "hint"}, "; click a heading to sort"),
            ),
            element("thead", {}, element("tr", {}, *heads)),
            element("tbody", {}, *body),
        )
        tall = " tall" if len(table.rows) > _TALL else ""
        box = element(
            "div", {"class": f"scroll{tall}", "role": "region", "tabindex": "0", "aria-labelledby": name}, made
        )
        return [box, *([element("p", {"class": "rest"}, table.rest)] if table.rest else [])]


def _section(name: str, heading: str, *children: Element | None, **attributes: str) -> Element:
    """A section that is called after its heading, which has this id."""
    return element("section", attributes | {"aria-labelledby": name}, element("h2", {"id": name}, heading), *children)


def _list(lines: Sequence[str]) -> Element:
    return element("ul", {}, *(element("li", {"dir": "auto"}, line) for line in lines))


def _fact(fact: Fact) -> list[Element]:
    value: Child = element("pre", {"tabindex": "0"}, element("code", {}, fact.value)) if fact.verbatim else fact.value
    return [element("dt", {}, fact.label), element("dd", {"dir": "auto"}, value)]


def _kinds(table: ReportTable) -> list[str]:
    """Classes of a table: `named` if its rows have names, `long` if these are long."""
    if table.columns[0].number:
        return []
    return ["named", "long"] if any(len(row[0].text) > _LONG_NAME for row in table.rows) else ["named"]


def _row(row: Sequence[Entry], numbers: Sequence[bool]) -> Element:
    cells = []
    for place, cell in enumerate(row):
        attributes: dict[str, object] = {}
        if place == 0 and not numbers[0]:
            attributes = {"scope": "row", "dir": "auto"}
        elif cell.verdict is not None:
            attributes = {"class": f"v {cell.verdict.word}"}
        elif numbers[place]:
            attributes = {"class": "n"}
        if cell.order is not None and cell.order == cell.order and cell.text:
            attributes["data-o"] = f"{cell.order:.7g}"
        cells.append(element("th" if "scope" in attributes else "td", attributes, cell.text))
    return element("tr", {}, *cells)


# Results in notebooks: markup that stands alone in a page of somebody else's, without script or style ----------------

MOST_ROWS = 100
"""Arms that a notebook shows."""

_numbers = count(1)  # so that no two pictures of a notebook have the same ids


def result_html(result: Answer) -> str:
    """The markup of a result or an analysis."""
    if result.gate is not None:
        return element("div", {"class": "frontguard"}, element("pre", {}, whole(result))).markup()
    full = shown_in_units(result)
    plain = with_short_names(full)
    table = arms_table(full, MOST_ROWS)
    picture = drawn(plot.front(plain), prefix=f"frontguard-{next(_numbers)}-")
    how = ", ".join(dict.fromkeys([plain.policy, plain.status]))  # a policy may be called as a status is
    parts = [
        element("p", {"dir": "auto"}, element("strong", {}, answer(plain))),
        element("p", {}, f"{how}, {plain.pulls:,} pulls of {number_of(len(plain.arms))}"),
        element("div", {"align": "left"}, picture),
        _plain_table(table.columns, table.rows),
    ]
    if table.rest:
        parts.append(element("p", {}, table.rest))
    return element("div", {"class": "frontguard"}, *parts).markup()


def comparisons_html(compared: Comparisons) -> str:
    """The markup of comparisons with a baseline."""
    table = comparison_table(compared, range(min(len(compared), MOST_ROWS)))
    parts = [
        element("p", {"dir": "auto"}, element("strong", {}, table.caption)),
        _plain_table(table.columns, table.rows),
        *(element("p", {}, said) for said in (table.rest, beside_in_words(compared)) if said),
    ]
    return element("div", {"class": "frontguard"}, *parts).markup()


def pick_html(pick: Pick) -> str:
    """The markup of a choice."""
    parts = [element("p", {"dir": "auto"}, element("strong", {}, choice_in_words(pick)))]
    parts += [element("p", {"dir": "auto"}, said) for said in given_up(pick)]
    return element("div", {"class": "frontguard"}, *parts).markup()


def _plain_table(columns: tuple[Column, ...], rows: Sequence[tuple[Entry, ...]]) -> Element:
    """A table without classes: where a column of figures stands is said by attributes."""
    sides = ["right" if column.number else "left" for column in columns]
    heads = [
        element("th", {"scope": "col", "align": side}, column.heading, _below(column))
        for column, side in zip(columns, sides, strict=True)
    ]
    body = [element("tr", {}, *map(_plain_cell, row, sides, count())) for row in rows]
    return element(
        "table",
        {"border": "0", "cellpadding": "4"},
        element("thead", {}, element("tr", {}, *heads)),
        element("tbody", {}, *body),
    )


def _plain_cell(cell: Entry, side: str, place: int) -> Element:
    named = {"scope": "row"} if place == 0 else {}
    return element("th" if named else "td", {"align": side, "nowrap": side == "right", **named}, cell.text)


def _below(column: Column) -> Element | None:
    return element("small", {}, f" {column.below}") if column.below else None
