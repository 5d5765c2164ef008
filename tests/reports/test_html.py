"""The HTML report: one file that needs nothing, runs nothing but its own script, and is in order for all readers."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Prescient, Study
from frontguard.reports.html import document
from frontguard.reports.report import Report
from frontguard.reports.write import report_on, text_of
from tests.reports.samples import ARMS, flags, large, open_analysis, rows, study_in
from tests.support.browsers import OpenPage
from tests.support.snapshots import said


class Read(HTMLParser):
    """What a browser would see, taken down by the standard library's parser."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw = {"style": "", "script": ""}
        self.texts: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in self.raw:
            self.raw[self._inside] += data
        else:
            self.texts.append(data)

    def having(self, *names: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag in names]


@pytest.fixture(scope="module")
def study() -> Study:
    return study_in(None)


@pytest.fixture(scope="module")
def reports(study: Study) -> dict[str, Report]:
    return {
        "study": report_on(study),
        "analysis": report_on(open_analysis()),
        "result": report_on(study.result()),
        "reproduce": report_on(rows()),
    }


KINDS = ["study", "analysis", "result", "reproduce"]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_its_own_style_and_script_may_do_anything(kind: str, reports: dict[str, Report]) -> None:
    read = Read(document(reports[kind]))
    (policy,) = (each["content"] for each in read.having("meta") if each.get("http-equiv") == "Content-Security-Policy")
    allowed = dict(part.strip().split(" ", 1) for part in str(policy).split(";"))
    hashes = {
        name: "'sha256-" + base64.b64encode(hashlib.sha256(raw.encode()).digest()).decode() + "'"
        for name, raw in read.raw.items()
    }
    assert allowed == {
        "default-src": "'none'",
        "style-src": hashes["style"],
        "script-src": hashes["script"],
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert len(read.having("script")) == len(read.having("style")) == 1
    assert read.having("script") == [{}]
    for tag, attributes in read.tags:
        assert tag not in ("iframe", "object", "embed", "link", "base", "img", "form"), tag
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "action")]
        assert str(attributes.get("href", "#")).startswith("#")
    assert "</" not in read.raw["style"]
    assert "</" not in read.raw["script"]
    assert not re.search(r"innerHTML|eval|insertAdjacent|document\.write|@import|url\(", "".join(read.raw.values()))


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_in_order_for_those_who_listen_to_it(kind: str, reports: dict[str, Report]) -> None:
    read = Read(document(reports[kind]))
    assert read.having("html") == [{"lang": "en"}]
    assert len(read.having("main")) == len(read.having("header")) == len(read.having("footer")) == 1
    levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    pointed = [a[key] for _, a in read.tags for key in ("aria-labelledby", "for", "aria-describedby") if a.get(key)]
    assert {each for names in pointed for each in str(names).split()} <= set(ids)
    assert {str(a["href"])[1:] for a in read.having("a") if "href" in a} <= set(ids)
    tables = len(read.having("table"))
    assert len(read.having("caption")) == tables
    assert all(attributes.get("scope") in ("col", "row") for attributes in read.having("th"))
    named = [each for each in read.having("svg") if each.get("role") == "img" and each.get("aria-label")]
    assert len(named) == len(reports[kind].pictures) + sum(len(part.shown) for part in reports[kind].parts)


def test_it_opens_with_the_answer_and_the_picture(
    reports: dict[str, Report], study: Study, snapshot: SnapshotAssertion
) -> None:
    text = document(reports["study"])
    report = reports["study"]
    order = [
        text.index(mark) for mark in ('class="answer"', "<svg", "<table", "What is certain", "How to reproduce it")
    ]
    assert order == sorted(order)
    assert said(report.answer) == snapshot
    verdicts = {row[0].text: row[1].text for row in report.table.rows}
    assert verdicts == {**study.result().verdicts, "broken": "excluded"}


def test_names_are_data(reports: dict[str, Report]) -> None:
    text = document(reports["study"])
    assert "<b>" not in text
    said = "".join(Read(text).texts)
    for name in ARMS:
        assert name in said


@pytest.mark.parametrize(
    ("arms", "objectives", "more"), [(1000, 2, ""), (1000, 3, ""), (1000, 5, ""), (1000, 2, " " + "long " * 1000)]
)
def test_it_stays_small(arms: int, objectives: int, more: str) -> None:
    report = report_on(large(arms, objectives, more=more))
    assert len(document(report).encode()) < 1_000_000
    assert len(report.table.rows) == arms
    assert len("".join(text_of(report, "csv")).splitlines()) == arms + 1


def test_of_very_many_arms_the_front_is_shown_and_the_rest_counted(snapshot: SnapshotAssertion) -> None:
    found = large(3000, 2)
    report = report_on(found)
    assert len(report.table.rows) == 1000
    shown = [row[1].text for row in report.table.rows]
    assert shown.count("keep") == found.counts["keep"]
    assert shown == sorted(shown, key=["keep", "undecided", "matched", "beaten"].index)
    left = found.counts["beaten"] - shown.count("beaten")
    assert left == 2000
    assert said(report.table.rest) == snapshot


# In a browser ---------------------------------------------------------------------------------------------------------


def column(page: Any, number: int) -> list[str]:
    cells: list[str] = page.eval_on_selector_all(
        f"#table tbody tr:not([hidden]) > :nth-child({number})", "cells => cells.map(cell => cell.textContent)"
    )
    return cells


def test_the_table_can_be_sorted_and_filtered(open_page: OpenPage, tmp_path: Path) -> None:
    report = report_on(flags())
    path = tmp_path / "report.html"
    path.write_text(document(report), encoding="utf-8")
    watched = open_page()
    page = watched.page
    page.goto(path.as_uri())
    before = column(page, 1)
    assert before == [row[0].text for row in report.table.rows]
    time = page.locator("#table th", has=page.get_by_role("button", name="time", exact=True))
    time.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert time.get_attribute("aria-sort") == "ascending"
    medians = [float(text.split()[0].replace(",", "")) for text in column(page, 3)]
    assert medians == sorted(medians)
    page.keyboard.press("Enter")
    assert time.get_attribute("aria-sort") == "descending"
    assert [float(text.split()[0].replace(",", "")) for text in column(page, 3)] == medians[::-1]
    size = page.locator("#table th", has=page.get_by_role("button", name="bytes", exact=True))
    size.get_by_role("button").click()
    assert time.get_attribute("aria-sort") is None
    sizes = [float(text.split()[0].replace(",", "")) for text in column(page, 4)]
    assert sizes == sorted(sizes)  # as numbers: 9,985 comes after 10,000 in no case
    page.get_by_label("Show rows with").fill("matched")
    assert set(column(page, 2)) == {"matched"}
    assert page.get_by_role("status").text_content() == f"{flags().counts['matched']} of 20 rows"
    page.keyboard.press("Escape")
    assert len(column(page, 1)) == 20
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 380, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert watched.complaints() == []


# On a phone -----------------------------------------------------------------------------------------------------------

PHONE = {"width": 360, "height": 740}
METRICS = ["seconds", "peak memory in bytes", "cost per million requests", "x" * 100, "accuracy on the held-out set"]

# Cells that reach beyond the window, or that hide a part of what is in them.
CUT = """selector => [...document.querySelectorAll(selector)].filter(cell => {
    const box = cell.getBoundingClientRect();
    return box.width > 0 && (box.left < 0 || box.right > innerWidth || cell.scrollWidth > cell.clientWidth + 1);
}).map(cell => cell.textContent)"""


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on arms with names of two hundred characters, five metrics, and failures with long reasons."""
    arms = [f"{'a name that goes on ' * 9}until {k}".ljust(200, "x") for k in range(14)]
    study = Study(arms, [Objective(name, "minimize", "5%") for name in METRICS], Prescient(0.05))
    for number, pull in enumerate(study.ask(280)):
        if pull.index == 3:
            study.fail(pull, f"<b>exit code {number % 5}</b>: {'w' * 300} at the end {number % 5}")
        else:
            study.tell(pull, [1234567.0 + pull.index + 0.1 * (number % 7) for _ in METRICS])
    path = tmp_path_factory.mktemp("phone") / "report.html"
    path.write_text(document(report_on(study)), "utf-8")
    return path


def test_a_table_fits_a_phone(long_names: Path, open_page: OpenPage) -> None:
    watched = open_page(viewport=PHONE)
    page = watched.page
    page.goto(long_names.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate(CUT, ".scroll, .scroll :is(th, td)") == []
    cell = page.locator("#table tbody tr").first.locator("td.n").first
    assert page.evaluate("cell => getComputedStyle(cell, '::before').content", cell.element_handle()) == '"seconds"'
    page.locator("#table thead button", has_text="pulls").click()
    page.get_by_label("Show rows with").fill("until 1")
    assert page.locator("#table tbody tr:visible").count() == 5  # 1 and 10 to 13
    assert watched.complaints() == []


def test_without_a_script_the_names_stay_while_the_table_is_scrolled(long_names: Path, open_page: OpenPage) -> None:
    page = open_page(viewport=PHONE, java_script_enabled=False).page
    page.goto(long_names.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box, name = page.locator("#table .scroll"), page.locator("#table tbody th").first
    before = name.bounding_box()
    box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    assert box.evaluate("box => box.scrollLeft") > 100
    after = name.bounding_box()
    assert before is not None
    assert after is not None
    assert after["x"] == pytest.approx(before["x"], abs=1)


def test_reasons_of_failures_most_frequent_first_and_cut_in_the_middle(long_names: Path, open_page: OpenPage) -> None:
    page = open_page().page
    page.goto(long_names.as_uri())
    table = page.locator("table", has_text="Failed pulls by arm and reason")
    reasons = table.locator("tbody tr td:nth-child(2)").all_text_contents()
    times = [int(text) for text in table.locator("tbody tr td:nth-child(3)").all_text_contents()]
    assert len(reasons) == 4
    assert all(text.startswith("<b>exit code ") and "…" in text and "at the end" in text for text in reasons[:3])
    assert reasons[3] == "2 other reasons"
    assert times[:3] == sorted(times[:3], reverse=True)
    assert max(map(len, reasons)) == 160
