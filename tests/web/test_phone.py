"""The live page on a phone, with five metrics and names of two hundred characters: everything is seen without scrolling
sideways, and the name stands above what is said of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frontguard import Objective
from frontguard.web.pages import arm_page, study_page
from frontguard.web.parts import Address, ViewOptions
from tests.support.browsers import OpenPage
from tests.web.examples import Example
from tests.web.harness import Harness

NAMES = [f"{'a name that goes on ' * 9}until {k}".ljust(200, "x") for k in range(6)]
METRICS = ["seconds", "peak memory in bytes", "cost per million requests", "x" * 100, "accuracy on the held-out set"]
PHONE = {"width": 360, "height": 740}

# Cells that reach beyond the window, or that hide a part of what is in them.
CUT = """selector => [...document.querySelectorAll(selector)].filter(cell => {
    const box = cell.getBoundingClientRect();
    return box.width > 0 && (box.left < 0 || box.right > innerWidth || cell.scrollWidth > cell.clientWidth + 1);
}).map(cell => cell.textContent)"""

CELLS = "#arms tbody :is(th, td), #failures tbody :is(th, td), .wide"


@pytest.fixture(scope="module")
def example() -> Example:
    goals = [Objective(name, "minimize", "5%") for name in METRICS]
    return Example(NAMES, goals, failing=[1], reason="exit code 1: " + "w" * 300).go(400)


@pytest.fixture
def harness() -> Iterator[Harness]:
    made = Harness()
    yield made
    made.close()


def test_the_table_of_arms(example: Example, harness: Harness, open_page: OpenPage) -> None:
    harness.page = study_page(example.overview, Address(1))
    watched = open_page(viewport=PHONE)
    page = watched.page
    page.goto(harness.url)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate(CUT, CELLS) == []
    card = page.locator("#arms tbody tr").first
    name, figure = card.locator("th .name"), card.locator("td.figure").first
    assert name.is_visible()
    assert name.bounding_box()["y"] < figure.bounding_box()["y"]  # type: ignore[index]
    said = page.evaluate("cell => getComputedStyle(cell, '::before').content", figure.element_handle())
    assert said == '"seconds"'
    page.locator("#sort-pulls").click()  # it can still be sorted
    assert watched.complaints(but=("404",)) == []


def test_the_tables_of_an_arm(example: Example, harness: Harness, open_page: OpenPage) -> None:
    for arm in (0, 1):
        harness.page = arm_page(example.overview, Address(1, arm), example.follower.measurements(arm))
        page = open_page(viewport=PHONE).page
        page.goto(harness.url)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.evaluate(CUT, "tbody :is(th, td), .wide") == []


def test_on_a_desk_it_is_a_table(example: Example, harness: Harness, open_page: OpenPage) -> None:
    harness.page = study_page(example.overview, Address(1))
    page = open_page(viewport={"width": 1440, "height": 900}).page
    page.goto(harness.url)
    cells = page.locator("#arms tbody tr").first.locator("td.figure")
    tops = {round(cells.nth(k).bounding_box()["y"]) for k in range(3)}  # type: ignore[index]
    assert len(tops) == 1
    assert page.evaluate("cell => getComputedStyle(cell, '::before').content", cells.first.element_handle()) == "none"


def test_names_are_sorted_as_people_do(harness: Harness, open_page: OpenPage) -> None:
    example = Example(["size 1024", "size 128", "Size 9", "a"]).go(60)
    harness.page = study_page(example.overview, Address(1, options=ViewOptions(sort="name")))
    page = open_page().page
    page.goto(harness.url)
    shown = page.locator("#arms tbody th .name").all_text_contents()
    assert shown == ["a", "Size 9", "size 128", "size 1024"]


def test_the_answer_has_short_names_that_differ(example: Example, harness: Harness, open_page: OpenPage) -> None:
    harness.page = study_page(example.overview, Address(1))
    page = open_page().page
    page.goto(harness.url)
    said = page.locator("#answer .answer").text_content() or ""
    (inside,) = example.overview.answer.pareto_set
    assert inside not in said
    assert "until 0" in said
