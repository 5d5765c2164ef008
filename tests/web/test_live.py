"""The live page while a study runs: a real server, a real study in another process, a real browser.

The page is opened before there is a study; boxes appear; verdicts change; arms are opened; the server is killed and
comes back; the study ends. The page is never loaded anew by the visitor.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from frontguard import Study
from tests.support.browsers import OpenPage, Watched, until
from tests.support.measuring import NAME, OBJECTIVES, TRUTH, Machine, Measuring, advance, begin
from tests.support.servers import PostgresServer
from tests.support.serving import Served, serve, served

if TYPE_CHECKING:
    from playwright.sync_api import Page

ARMS = tuple(TRUTH)
NUMBERS = re.compile(r"-?(?:[\d.]*\d|inf)")
LOST = ("net::ERR_",)  # what a browser says of a server that is gone


# What a page says -----------------------------------------------------------------------------------------------------


def mark(page: Page) -> None:
    """Note something in the document that a reload would lose."""
    page.evaluate("window.sameDocument = true")


def same_document(page: Page) -> bool:
    return bool(page.evaluate("window.sameDocument === true"))


def verdicts(page: Page) -> dict[str, str]:
    """Verdict by arm, as the table says."""
    rows: list[list[str]] = page.eval_on_selector_all(
        "#arms tbody tr",
        "rows => rows.map(row => ['th .name', '.verdict'].map(each => row.querySelector(each).textContent))",
    )
    return {row[0]: row[1] for row in rows}


def pulls(page: Page) -> int:
    """How many pulls the page knows of."""
    return int(re.sub(r"\D", "", (page.text_content("#facts dd") or "0").split(" of ")[0]))


def boxes(page: Page) -> dict[str, tuple[float, float, float, float]]:
    """Where the boxes of the picture stand, by their ids."""
    found: list[Any] = page.eval_on_selector_all(
        "#picture svg [id^=picture-box-]",
        "all => all.map(box => [box.id, ...['x', 'y', 'width', 'height'].map(side => box.getBBox()[side])])",
    )
    return {each[0]: tuple(each[1:]) for each in found}


def agrees(page: Page, server: Served, study: Study, where: str = "/study/1") -> None:
    """The page, its twin and the study's own result say the same."""
    result = study.result()
    until(page, lambda: pulls(page) == result.pulls, f"{result.pulls} pulls")
    assert verdicts(page) == result.verdicts
    estimates, low, high = result.estimates, result.lower, result.upper
    cells: list[list[str]] = page.eval_on_selector_all(
        "#arms tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    for row in cells:
        arm = result.arms.index(row[0])
        for d in range(len(OBJECTIVES)):
            estimate, least, most = (
                float(each.replace(",", "").replace("−", "-").replace("∞", "inf"))
                for each in NUMBERS.findall(row[2 + d])
            )
            width = high[arm, d] - low[arm, d]
            assert estimate == pytest.approx(estimates[arm, d], rel=5e-3, abs=0.1 * width)
            assert low[arm, d] - 0.1 * width <= least <= low[arm, d]  # rounded outwards
            assert high[arm, d] <= most <= high[arm, d] + 0.1 * width
        assert row[2 + len(OBJECTIVES)] == f"{result.pulls_per_arm[arm]:,}"
    twin = server.json(f"{where}.json")
    assert twin["status"] == result.status
    plain = result.to_dict()
    assert [twin[key] for key in ("verdicts", "estimates", "intervals")] == [
        plain[key] for key in ("verdicts", "estimates", "intervals")
    ]


# The story ------------------------------------------------------------------------------------------------------------


def story(watched: Watched, storage: Path, log: Path, while_served: Callable[[Served], None]) -> None:
    """From before the study is there until after its end."""
    page = watched.page
    server = serve(storage, log=log)
    study: Measuring | None = None
    try:
        # Nothing is there, and the page says so; then the study is begun and appears.
        page.goto(server.url)
        assert "No study yet" in page.inner_text("main")
        mark(page)
        study = Measuring.start(storage)
        page.wait_for_selector(f"#studies .name:text-is('{NAME}')")
        assert same_document(page)
        page.click(f"a:has-text('{NAME}')")
        page.wait_for_url("**/study/1")
        page.wait_for_selector("#arms tbody tr")
        page.wait_for_selector("#connection[data-state=live]")
        mark(page)
        assert set(verdicts(page).values()) == {"undecided"}
        assert boxes(page) == {}

        # Boxes appear with the first pulls, and shrink.
        study.go(60)
        page.wait_for_selector("#picture svg [id^=picture-box-]", state="attached")
        study.arrived()
        until(page, lambda: pulls(page) == 60, "60 pulls")
        first = boxes(page)  # of most arms nothing is known on one side yet
        assert first
        study.go(200)
        # A verdict changes while one looks, and those who listen are told.
        until(page, lambda: {"keep", "beaten"} <= set(verdicts(page).values()), "verdicts")
        until(page, lambda: ": " in (page.text_content("#news") or ""), "news")
        assert study.arrived()["result"]["verdicts"] == {**verdicts_when(page, 200)}
        moved = boxes(page)
        assert len(moved) >= len(ARMS) - 1
        assert any(moved[each] != place for each, place in first.items() if each in moved)
        assert same_document(page)
        while_served(server)

        # The server dies while the study goes on.
        study.go(300)
        server.kill()
        page.wait_for_selector("#connection[data-state=lost]")
        assert "connection lost" in page.inner_text("#connection")
        study.arrived()
        study.go(320)
        told = study.arrived()["told"]
        assert pulls(page) < told
        server = serve(storage, port=server.port, log=log)
        page.wait_for_selector("#connection[data-state=live]")
        until(page, lambda: pulls(page) == told, "what was told meanwhile")
        assert same_document(page)

        # The end.
        study.go("end")
        end = study.arrived()
        assert end["status"] == "certified"
        page.wait_for_selector("#head .chip.certified")
        assert same_document(page)
        assert verdicts(page) == end["result"]["verdicts"]
        assert "Keep" in page.inner_text("#answer")
        with_all = Study.open(storage, NAME, read_only=True)
        agrees(page, server, with_all)
        with_all.close()
        assert study.end() == 0  # it never saw an error
        assert watched.complaints(but=LOST) == []
        assert server.stop() == 130
    finally:
        if study is not None and study.process.poll() is None:
            study.process.kill()
            study.end()
        if server.process.poll() is None:
            server.kill()


def verdicts_when(page: Page, wanted: int) -> dict[str, str]:
    until(page, lambda: pulls(page) == wanted, f"{wanted} pulls")
    return verdicts(page)


def test_the_page_follows_a_study_through_all(open_page: OpenPage, tmp_path: Path) -> None:
    path = tmp_path / "study.db"

    def never_writes(server: Served) -> None:
        """The server has the study's file open, and cannot write to it."""
        held = Path(f"/proc/{server.process.pid}/fd")
        if not held.exists():
            return
        opened = {each: os.readlink(each) for each in held.iterdir() if each.is_symlink()}
        ours = [each for each, target in opened.items() if target == str(path)]
        assert ours
        for each in ours:
            flags = (held.parent / "fdinfo" / each.name).read_text().split("flags:")[1].split()[0]
            assert int(flags, 8) & os.O_ACCMODE == os.O_RDONLY, opened[each]

    story(open_page(), path, tmp_path / "serve.log", never_writes)
    assert "Traceback" not in (tmp_path / "serve.log").read_text()


def test_over_postgresql(open_page: OpenPage, tmp_path: Path, postgres: PostgresServer) -> None:
    """The storage differs, and the page does not: what it shows arrives, and the end of the study does."""
    url, log, watched = postgres.new_database(), tmp_path / "serve.log", open_page()
    page = watched.page
    with served(url, log=log) as server:
        study = Measuring.start(url)
        try:
            page.goto(f"{server.url}/study/1")
            page.wait_for_selector("#connection[data-state=live]")
            mark(page)
            study.go(60)
            until(page, lambda: pulls(page) == 60, "60 pulls")
            study.arrived()
            study.go("end")
            end = study.arrived()
            page.wait_for_selector("#head .chip.certified")
            assert verdicts(page) == end["result"]["verdicts"]
            assert same_document(page)
            assert study.end() == 0
        finally:
            if study.process.poll() is None:
                study.process.kill()
                study.end()
        assert watched.complaints() == []
    said = log.read_text()
    assert "Traceback" not in said
    assert postgres.password not in said


def test_a_study_that_is_over_is_not_touched(open_page: OpenPage, tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = begin(path)
    advance(study, Machine(), None)
    study.close()
    before = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in tmp_path.iterdir()}
    watched = open_page()
    with served(path) as server:
        watched.page.goto(f"{server.url}/study/1")
        watched.page.wait_for_selector("#connection[data-state=live]")
        agrees(watched.page, server, Study.open(path, NAME, read_only=True))
        assert watched.complaints() == []
        server.stop()
    after = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in tmp_path.iterdir()}
    assert after["study.db"] == before["study.db"]
    assert {name for name in after if not name.endswith(("-wal", "-shm"))} == {"study.db"}


# What a visitor does --------------------------------------------------------------------------------------------------


def test_an_arm_is_opened_by_a_click(open_page: OpenPage, half_way: Served) -> None:
    watched = open_page()
    page = watched.page
    page.goto(f"{half_way.url}/study/1")
    page.click("#arms tbody th a:has-text('-Os')")
    page.wait_for_selector("#values svg")
    arm = ARMS.index("-Os")
    assert page.url == f"{half_way.url}/study/1/arm/{arm}"
    assert page.inner_text("h1") == "-Os"
    twin = half_way.json(f"/study/1/arm/{arm}.json")
    assert page.inner_text("#head .verdict") == twin["verdicts"][twin["name"]]
    assert page.locator("#latest tbody tr").count() == min(50, twin["pulls_per_arm"][twin["name"]])
    page.click("#next-arm")
    page.wait_for_url(f"**/study/1/arm/{arm + 1}")
    page.go_back()
    page.go_back()
    page.wait_for_selector("#arms")
    # In the picture too.
    page.locator("#picture svg a[href]").first.dispatch_event("click")
    page.wait_for_url("**/study/1/arm/*")
    assert watched.complaints() == []


def test_an_arm_is_opened_by_keyboard(open_page: OpenPage, half_way: Served) -> None:
    watched = open_page()
    page = watched.page
    page.goto(f"{half_way.url}/study/1")
    page.wait_for_selector("#connection[data-state=live]")
    inside = "document.activeElement.closest('#picture svg a[href]') !== null"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate(inside):
            break
    assert page.evaluate(inside)
    first = page.evaluate("document.activeElement.getAttribute('href')")
    moved = set()
    for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
        assert page.evaluate(inside)
        moved.add(page.evaluate("document.activeElement.getAttribute('href')"))
    assert moved - {first}
    wanted = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{wanted}")
    page.wait_for_selector("#verdict table")
    assert watched.complaints() == []


def test_axes_are_chosen(open_page: OpenPage, half_way: Served) -> None:
    watched = open_page()
    page = watched.page
    page.goto(f"{half_way.url}/study/1")
    page.wait_for_selector("#connection[data-state=live]")
    page.select_option("#axis-x", "1")
    page.wait_for_url("**/study/1?*x=1*")
    page.wait_for_selector("#connection[data-state=live]")
    assert page.input_value("#axis-x") == "1"
    assert page.input_value("#axis-y") == "0"
    page.click("#view-parallel")
    page.wait_for_url("**view=parallel*")
    page.wait_for_selector("#picture svg")
    page.click("#sort-pulls")
    page.wait_for_url("**sort=pulls*")
    counts = [int(text.replace(",", "")) for text in page.locator("#arms tbody tr td:nth-child(5)").all_inner_texts()]
    assert counts == sorted(counts, reverse=True)
    assert watched.complaints() == []


def test_rows_are_filtered_by_name(open_page: OpenPage, half_way: Served) -> None:
    watched = open_page()
    page = watched.page
    page.goto(f"{half_way.url}/study/1")
    page.wait_for_selector("#connection[data-state=live]")
    page.keyboard.press("/")
    page.keyboard.type("o3")
    seen = page.locator("#arms tbody tr:visible th").all_inner_texts()
    assert sorted(seen) == sorted(arm for arm in ARMS if "O3" in arm)
    page.keyboard.press("Escape")
    assert page.locator("#arms tbody tr:visible th").count() == len(ARMS)
    assert watched.complaints() == []


def test_without_a_script_the_page_says_it_all(open_page: OpenPage, half_way: Served) -> None:
    watched = open_page(java_script_enabled=False)
    page = watched.page
    page.goto(f"{half_way.url}/study/1")
    assert page.locator("#arms tbody tr").count() == len(ARMS)
    assert page.locator("#picture svg a[href]").count() >= len(ARMS)
    with page.expect_navigation():  # or what is there might be neither page
        page.click("#sort-name")
    assert page.locator("#arms tbody th").all_inner_texts() == sorted(ARMS, key=str.casefold)
    page.select_option("#axis-x", "1")
    with page.expect_navigation():
        page.click("form.axes button")
    assert "x=1" in page.url
    with page.expect_navigation():
        page.click("#arms tbody th a:has-text('-Os')")
    assert page.inner_text("h1") == "-Os"
