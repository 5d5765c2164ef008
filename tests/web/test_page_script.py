"""The page's script in a real Chromium: what it patches, what it leaves alone, how it finds a lost connection again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.markup import Element, element
from frontguard.web.pages import study_page
from frontguard.web.parts import Address, Page, document, region, status_chip
from tests.support.browsers import OpenPage, Watched
from tests.web.examples import Example
from tests.web.harness import Harness


@pytest.fixture
def harness() -> Iterator[Harness]:
    made = Harness()
    yield made
    made.close()


@pytest.fixture(scope="module")
def growing() -> list[Page]:
    """The pages of a study with nothing measured, with 64 pulls, with 200 more, and at its end."""
    example = Example()
    return [study_page(example.go(count).overview, Address(1)) for count in (0, 64, 200, 2000)]


Visit = Callable[..., Watched]


@pytest.fixture
def visit(harness: Harness, open_page: OpenPage) -> Visit:
    def go(page: Page, **options: Any) -> Watched:
        harness.page = page
        watched = open_page(**options)
        watched.page.goto(harness.url)
        watched.page.wait_for_selector("#connection[data-state=live]")
        return watched

    return go


def made_of(**regions: Element) -> Page:
    return Page("Made up", regions, "study")


def rows(*keys: str, verdict: str = "undecided") -> Element:
    """A table of arms as the page has it, in this order."""
    body = (
        element(
            "tr",
            {"data-key": key, "data-verdict": verdict},
            element(
                "th", {}, element("a", {"href": f"/study/1/arm/{key}"}, element("bdi", {"class": "name"}, f"arm {key}"))
            ),
            element("td", {}, verdict),
        )
        for key in keys
    )
    tools = element("div", {"id": "filter-place", "data-local": "filter"})
    return region("table", "Arms", tools, element("table", {"id": "arms"}, element("tbody", {}, *body)))


def said(text: str, name: str = "answer") -> Element:
    return region(name, None, element("p", {"class": "answer"}, text))


# Patching -------------------------------------------------------------------------------------------------------------


def test_rows_that_move_stay_the_same_nodes_and_keep_the_focus(harness: Harness, visit: Visit) -> None:
    page = visit(made_of(table=rows("1", "2", "3"))).page
    page.evaluate("() => { for (const row of document.querySelectorAll('tr')) row.mine = row.dataset.key; }")
    page.focus("tr[data-key='1'] a")
    harness.send({"table": rows("3", "4", "1")})
    page.wait_for_selector("tr[data-key='4']")
    keys = "() => [...document.querySelectorAll('#arms tr')].map(row => [row.dataset.key, row.mine ?? null])"
    assert page.evaluate(keys) == [["3", "3"], ["4", None], ["1", "1"]]
    assert page.evaluate("() => document.activeElement.getAttribute('href')") == "/study/1/arm/1"


def test_the_focus_stays_where_nodes_cannot_be_moved_in_place(harness: Harness, visit: Visit) -> None:
    page = visit(made_of(table=rows("1", "2", "3"))).page
    page.evaluate("() => { delete Element.prototype.moveBefore; }")
    page.focus("tr[data-key='3'] a")
    harness.send({"table": rows("3", "2", "1")})
    page.wait_for_function("() => document.querySelector('#arms tr').dataset.key === '3'")
    assert page.evaluate("() => document.activeElement.getAttribute('href')") == "/study/1/arm/3"


def test_what_the_visitor_opened_selected_and_scrolled_stays(harness: Harness, visit: Visit) -> None:
    def told(number: int) -> Element:
        lines = "\n".join(f"line {line}" for line in range(200))
        return region(
            "reproduce",
            "How",
            element("p", {}, f"number {number}"),
            element("p", {"id": "steady"}, "some words that stay"),
            element("details", {}, element("summary", {}, "More"), element("pre", {"id": "long"}, lines)),
        )

    page = visit(made_of(reproduce=told(1))).page
    page.click("summary")
    page.evaluate(
        """() => {
            document.getElementById('long').scrollTop = 120;
            const text = document.getElementById('steady').firstChild;
            getSelection().setBaseAndExtent(text, 5, text, 10);
        }"""
    )
    harness.send({"reproduce": told(2)})
    page.wait_for_selector("text=number 2")
    assert page.evaluate("() => document.querySelector('details').open") is True
    assert page.evaluate("() => document.getElementById('long').scrollTop") == 120
    assert page.evaluate("() => String(getSelection())") == "words"


def test_boxes_in_a_picture_are_moved_not_made_anew(harness: Harness, visit: Visit) -> None:
    def picture(x: int) -> Element:
        box = element("rect", {"id": "picture-box-7", "x": x, "y": "1", "width": "10", "height": "10"})
        return region("picture", "Front", element("figure", {}, element("svg", {"viewBox": "0 0 100 100"}, box)))

    page = visit(made_of(picture=picture(5))).page
    page.evaluate("() => { document.getElementById('picture-box-7').mine = true; }")
    harness.send({"picture": picture(50)})
    page.wait_for_selector("#picture-box-7[x='50']")
    assert page.evaluate("() => document.getElementById('picture-box-7').mine") is True
    new = region("picture", "Front", element("figure", {}, element("svg", {}, element("rect", {"id": "new"}))))
    harness.send({"picture": new})
    page.wait_for_selector("#new", state="attached")
    assert page.evaluate("() => document.getElementById('new') instanceof SVGRectElement") is True


def test_any_page_becomes_any_other_as_if_it_had_been_loaded(
    harness: Harness, visit: Visit, growing: list[Page]
) -> None:
    pages = growing
    page = visit(pages[0]).page
    # What the script adds of its own is taken out; the rest must be what a browser makes of the whole document.
    bare = """text => {
        const there = text ? new DOMParser().parseFromString(text, 'text/html') : document;
        const main = there.getElementById('main').cloneNode(true);
        for (const each of main.querySelectorAll('#filter-place, time')) each.replaceChildren();
        for (const each of main.querySelectorAll('time')) each.removeAttribute('title');
        for (const each of main.querySelectorAll('svg [tabindex]')) each.removeAttribute('tabindex');
        main.normalize();
        return main.innerHTML;
    }"""
    for turn, wanted in enumerate([*pages[1:], pages[0], pages[2], pages[3]]):
        harness.send(dict(wanted.regions), title=f"turn {turn}")
        page.wait_for_function("title => document.title === title", arg=f"turn {turn} · frontguard")
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.evaluate(bare, "") == page.evaluate(bare, document(wanted))


def test_regions_come_and_go_in_their_places(harness: Harness, visit: Visit) -> None:
    page = visit(made_of(answer=said("first"), table=rows("1"))).page
    harness.send({"facts": said("facts", "facts"), "answer": None})
    page.wait_for_selector("#facts")
    assert page.evaluate("() => [...document.getElementById('main').children].map(each => each.id)") == [
        "facts",
        "table",
    ]
    harness.send({"answer": said("again")})
    page.wait_for_selector("#answer")
    ids = page.evaluate("() => [...document.getElementById('main').children].map(each => each.id)")
    assert ids == ["answer", "facts", "table"]


# Hostile trees --------------------------------------------------------------------------------------------------------


def test_hostile_trees_run_nothing_even_if_a_server_sent_them(harness: Harness, visit: Visit) -> None:
    run = "window.__hacked=1"
    link = "javascript:window.__hacked=1"
    trees: list[Any] = [
        ["script", {}, [run]],
        ["svg", {"onload": run}, [["script", {}, [run]], ["a", {"href": link, "id": "bad-svg-link"}, ["x"]]]],
        ["svg", {}, [["animate", {"attributeName": "href", "to": link}, []], ["set", {"onbegin": run}, []]]],
        ["svg", {}, [["foreignObject", {}, [["iframe", {"srcdoc": f"<script>parent.{run}</script>"}, []]]]]],
        ["iframe", {"src": link}, []],
        ["img", {"src": "x", "onerror": run}, []],
        ["style", {}, ["* { display: none }"]],
        ["link", {"rel": "stylesheet", "href": "/x.css"}, []],
        ["base", {"href": "https://example.org/"}, []],
        ["meta", {"http-equiv": "refresh", "content": "0;url=/gone"}, []],
        ["object", {"data": link}, []],
        ["p", {"onclick": run, "ONMOUSEOVER": run, "style": "position:fixed", "id": "bad-p"}, ["x"]],
        ["a", {"href": link, "id": "bad-link"}, ["x"]],
        ["a", {"href": " \tjavascript:x", "id": "bad-space"}, ["x"]],
        ["a", {"href": "//example.org/", "id": "bad-host"}, ["x"]],
        ["a", {"href": "/\\example.org/", "id": "bad-slash"}, ["x"]],
        ["a", {"href": "data:text/html,x", "id": "bad-data"}, ["x"]],
        ["form", {"action": link, "id": "bad-form"}, [["button", {"formaction": link, "id": "bad-button"}, []]]],
        ["svg", {}, [["rect", {"fill": "url(https://example.org/x)", "id": "bad-paint"}, []]]],
        ["p", {"x y": "1", "<b>": "2", "id": "bad-names"}, ["<img src=x onerror=window.__hacked=1>"]],
        ["__proto__", {}, []],
        [["p"], {}, []],
        ["p", None, []],
        {"tag": "p"},
        None,
        7,
        ["p", {"id": "last"}, ["the end"]],
    ]
    watched = visit(made_of(answer=said("fine")))
    page = watched.page
    harness.send({"answer": ["section", {"id": "answer", "data-place": "05", "onclick": run}, trees]})
    page.wait_for_selector("#last")
    kept = "() => [...document.querySelectorAll('#answer, #answer *')].flatMap(each => each.getAttributeNames())"
    assert set(page.evaluate(kept)) == {"id", "data-place"}
    names = page.evaluate("() => [...new Set([...document.querySelectorAll('#answer *')].map(each => each.localName))]")
    assert set(names) == {"svg", "a", "p", "form", "button", "rect"}
    assert page.text_content("#bad-names") == "<img src=x onerror=window.__hacked=1>"
    harness.send({"main": ["main", {"id": "main"}, []], "news": ["p", {"id": "news"}, ["x"]], "answer": said("well")})
    page.wait_for_selector("text=well")
    assert page.url == harness.url
    assert watched.complaints() == []


def test_refused_attributes_are_refused_on_nodes_that_are_there(harness: Harness, visit: Visit) -> None:
    link = element("a", {"href": "/study/1", "id": "link"}, "x")
    watched = visit(made_of(answer=region("answer", None, link)))
    bad = ["a", {"href": "javascript:window.__hacked=1", "id": "link", "onfocus": "window.__hacked=1"}, ["changed"]]
    harness.send({"answer": ["section", {"id": "answer"}, [bad]]})
    watched.page.wait_for_selector("text=changed")
    watched.page.focus("#link")
    assert watched.page.get_attribute("#link", "href") in (None, "/study/1")
    assert watched.page.get_attribute("#link", "onfocus") is None
    assert watched.complaints() == []


# Connection -----------------------------------------------------------------------------------------------------------


def test_a_lost_connection_is_said_and_found_again(harness: Harness, visit: Visit) -> None:
    page = visit(made_of(answer=said("before"), table=rows("1"))).page
    harness.page = made_of(answer=said("after"))
    harness.refusing = 3  # by then the browser itself has given up
    harness.drop()
    page.wait_for_selector("#connection[data-state=lost]:text-is('connection lost, trying again')")
    page.wait_for_selector("text=after")
    page.wait_for_selector("#connection[data-state=live]")
    assert page.query_selector("#table") is None  # what is not in the first event any more is gone
    assert harness.opened == 5
    harness.send({"answer": said("and on")})
    page.wait_for_selector("text=and on")


def test_a_restarted_server_goes_on_and_a_new_version_reloads(harness: Harness, visit: Visit) -> None:
    page = visit(made_of(answer=said("before"))).page
    page.evaluate("() => { window.same = true; }")
    port = harness.port
    harness.close()
    page.wait_for_selector("#connection[data-state=lost]")
    second = Harness(port, page=made_of(answer=said("second")))
    try:
        page.wait_for_selector("text=second")
        assert page.evaluate("() => window.same") is True
    finally:
        second.close()
    third = Harness(port, page=made_of(answer=said("third")), version="two")
    try:
        page.wait_for_selector("text=third")
        page.wait_for_function("() => window.same === undefined && document.body.dataset.version === 'two'")
    finally:
        third.close()


def test_a_page_that_slept_connects_anew(harness: Harness, visit: Visit) -> None:
    page = visit(made_of(answer=said("before"))).page
    look = """([hidden, later]) => {
        const now = performance.timeOrigin + performance.now() + 1000 * later;
        Date.now = () => now;
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.evaluate(look, [True, 0])
    page.evaluate(look, [False, 5])
    page.evaluate(look, [True, 5])
    assert harness.opened == 1  # a short look elsewhere costs nothing
    harness.page = made_of(answer=said("after"))
    page.evaluate(look, [False, 3600])
    page.wait_for_selector("text=after")
    assert harness.opened == 2


def test_many_events_in_one_frame_are_shown_at_once(harness: Harness, visit: Visit) -> None:
    page = visit(made_of(answer=said("0"), facts=said("0", "facts"))).page
    page.evaluate(
        """() => {
            window.changes = 0;
            window.real = window.requestAnimationFrame;
            window.requestAnimationFrame = callback => { window.frame = callback; return 1; };
            new MutationObserver(() => window.changes++).observe(
                document.getElementById('main'), { subtree: true, characterData: true, childList: true });
        }"""
    )
    for number in range(1, 30):
        harness.send({"answer": said(f"{number}")}, title=f"t{number}")
    harness.send({"facts": said("done", "facts")}, title="last")
    page.wait_for_function("() => document.title === 'last · frontguard'")
    assert page.evaluate("() => window.changes") == 0
    page.evaluate("() => window.frame()")
    assert page.text_content("#answer") == "29"
    assert page.text_content("#facts") == "done"


# For people -----------------------------------------------------------------------------------------------------------


def test_verdicts_are_announced_politely(harness: Harness, visit: Visit, snapshot: SnapshotAssertion) -> None:
    page = visit(made_of(table=rows("1", "2"))).page
    harness.send({"table": rows("1", "2", verdict="keep")})
    page.wait_for_function("() => document.getElementById('news').textContent !== ''")
    assert page.text_content("#news") == snapshot
    assert page.get_attribute("#news", "aria-live") == "polite"


def test_a_changed_status_is_announced_and_many_changes_are_counted(harness: Harness, visit: Visit) -> None:
    def head(status: str) -> Element:
        return region("head", None, element("h1", {}, "A study"), status_chip(status), kind="header")

    arms = [str(number) for number in range(9)]
    page = visit(made_of(head=head("running"), table=rows(*arms))).page
    harness.send({"head": head("certified"), "table": rows(*arms, verdict="keep")})
    page.wait_for_function("() => document.getElementById('news').textContent !== ''")
    told = "the study is now: certified; arm arm 0: keep; arm arm 1: keep; and 7 more changes"
    assert page.text_content("#news") == told


def test_the_filter_is_reached_by_a_key_and_outlasts_updates(harness: Harness, visit: Visit) -> None:
    page = visit(made_of(table=rows("1", "2", "31"))).page
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.id") == "filter"
    page.keyboard.type("ARM 3")
    shown = "() => [...document.querySelectorAll('#arms tr')].filter(row => !row.hidden).map(row => row.dataset.key)"
    assert page.evaluate(shown) == ["31"]
    harness.send({"table": rows("32", "31", "2")})
    page.wait_for_selector("tr[data-key='32']", state="attached")
    assert page.evaluate(shown) == ["32", "31"]
    assert page.input_value("#filter") == "ARM 3"
    assert page.evaluate("() => document.activeElement.id") == "filter"
    page.keyboard.press("Escape")
    assert len(page.evaluate(shown)) == 3


def test_arrows_move_between_arms_in_the_picture(harness: Harness, visit: Visit, growing: list[Page]) -> None:
    page = visit(growing[-1]).page
    marks = page.evaluate("() => document.querySelectorAll('#picture svg a[tabindex=\"0\"]').length")
    assert marks == 1
    page.focus("#picture svg a[tabindex='0']")
    where = "() => document.activeElement.getAttribute('href')"
    centre = "() => { const box = document.activeElement.getBoundingClientRect(); return box.x + box.width / 2; }"
    seen = {page.evaluate(where)}
    for key in ("ArrowLeft",) * 4 + ("ArrowRight",) * 4:
        before = page.evaluate(centre)
        page.keyboard.press(key)
        after = page.evaluate(centre)
        assert after <= before if key == "ArrowLeft" else after >= before
        seen.add(page.evaluate(where))
    assert len(seen) == 4
    before = page.evaluate(where)
    harness.send(dict(harness.page.regions), title="patched")
    page.wait_for_function("() => document.title === 'patched · frontguard'")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate(where) == before
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{before}")


def test_choosing_an_axis_goes_to_its_url(visit: Visit, growing: list[Page]) -> None:
    page = visit(growing[-1]).page
    page.select_option("#axis-x", "1")
    page.wait_for_url("**/study/1?x=1&y=1#picture")


def test_the_theme_is_kept(harness: Harness, visit: Visit) -> None:
    page = visit(made_of(answer=said("x")), color_scheme="light").page
    ground = "() => getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    assert page.evaluate(ground) == light
    page.click("#theme")
    assert page.evaluate(ground) != light
    page.reload()
    assert page.text_content("#theme") == "Theme: dark"
    assert page.evaluate(ground) != light


def test_times_are_told_by_the_visitors_clock(harness: Harness, visit: Visit) -> None:
    page = visit(made_of(answer=said("x"))).page
    now = page.evaluate("() => Date.now() / 1000")
    times = [element("time", {"data-at": now - ago, "datetime": "2001-01-01"}, "then") for ago in (-50, 7.5, 150, 7300)]
    harness.send({"answer": region("answer", None, *times)})
    page.wait_for_selector("#answer time")
    page.wait_for_function("() => !document.querySelector('#answer time').textContent.includes('then')")
    told = page.evaluate("() => [...document.querySelectorAll('#answer time')].map(each => each.textContent)")
    assert told[0] == "just now"
    assert told[1] in {f"{seconds} s ago" for seconds in range(7, 60)}
    assert told[2:] == ["2 min ago", "2 h ago"]


def test_without_a_script_the_page_says_it_all(harness: Harness, open_page: OpenPage, growing: list[Page]) -> None:
    harness.page = growing[-1]
    page = open_page(java_script_enabled=False).page
    page.goto(harness.url)
    assert "fast, good" in page.inner_text("#answer")
    assert page.locator("#picture svg a").count() >= 4
    assert page.locator("#theme").is_hidden()
    assert page.locator("form.axes button").is_visible()


def test_no_page_is_wider_than_a_phone(harness: Harness, visit: Visit) -> None:
    example = Example([f"a long name of an arm with-many-words-{'x' * 60}-{i}" for i in range(4)]).go(600)
    page = visit(study_page(example.overview, Address(1)), viewport={"width": 380, "height": 700}).page
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 380
