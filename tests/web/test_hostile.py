"""Names are data: two hundred hostile texts as names of studies, arms, metrics and workers, as reasons of failures and
as the spec, in everything that shows them, opened in a real Chromium. Nothing of them runs, and each is shown as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from frontguard import Objective, Prescient, Study, analyze, plot, write_report
from frontguard.phrases import cut_in_the_middle
from frontguard.plot.picture import Picture
from frontguard.results import Answer
from frontguard.storage.contract import open_storage
from frontguard.studies.follow import Follower, Overview
from tests.support.browsers import OpenPage, Watched, until
from tests.support.hostile import LOADED, SURROGATES, TEXTS, shown
from tests.support.hostile_studies import SPEC, Hostile, truth
from tests.support.serving import Served, served

COLUMNS = 40  # metrics of the studies whose metrics are hostile


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Studies: the first with all texts as arms, then some with all of them as metrics, then all as names."""
    path = tmp_path_factory.mktemp("hostile") / "studies.db"
    arms = Hostile(path, TEXTS[0], TEXTS, (TEXTS[38], TEXTS[90]))
    for _ in range(6):
        arms.measure(4 * len(TEXTS))
    names = iter(TEXTS[1:])
    for first in range(0, len(TEXTS), COLUMNS):
        metrics = Hostile(path, next(names), TEXTS[first : first + 3], TEXTS[first : first + COLUMNS])
        metrics.measure(60)
    with closing(open_storage(path)) as opened:
        for name in names:
            Study(["a", "b"], [("speed", "maximize")], Prescient(0.1), storage=opened, name=name)
    return path


@pytest.fixture(scope="module")
def server(storage: Path) -> Iterator[Served]:
    with served(storage) as running:
        yield running


@pytest.fixture(scope="module")
def overview(storage: Path) -> Overview:
    return _follower(storage, TEXTS[0]).catch_up()


def _follower(storage: Path, name: str) -> Follower:
    return Follower(open_storage(storage, read_only=True), name)


@pytest.fixture(scope="module")
def pictures(overview: Overview, storage: Path) -> list[Picture]:
    """All that a study can be seen in."""
    result, history = overview.answer, overview.history
    follower = _follower(storage, TEXTS[0])
    follower.catch_up()
    wide = _follower(storage, TEXTS[1]).catch_up().answer
    return [
        plot.front(result),
        plot.parallel(result),
        plot.pulls(result),
        plot.shrinking(history),
        plot.certainty(history, overview.answer.state.pulls_left),
        plot.rate(overview.rate),
        plot.measurements(follower.measurements(7), history),
        plot.pairs(wide),
        plot.parallel(wide),
    ]


def harmless(watched: Watched) -> None:
    """Nothing ran, tried to run, or was loaded because of a text."""
    assert watched.complaints() == []
    assert [url for url in watched.requests if LOADED in url] == []


def names_in(watched: Watched, selector: str) -> list[str]:
    """The texts of elements, as scripts see them."""
    found: list[str] = watched.page.eval_on_selector_all(selector, "all => all.map(each => each.textContent)")
    return [shown(text) for text in found]


# The texts themselves -------------------------------------------------------------------------------------------------


def test_the_texts_are_many_and_would_be_accepted_as_names() -> None:
    assert len(TEXTS) >= 200
    assert len(set(TEXTS)) == len(TEXTS)
    Study(list(TEXTS), [Objective(text, "maximize") for text in TEXTS], Prescient(0.1))


def test_the_texts_bite_where_nothing_guards(open_page: OpenPage) -> None:
    watched = open_page()
    watched.page.set_content("<p>nothing is escaped here</p>")
    watched.page.evaluate(
        """texts => { for (const text of texts) {
            const frame = document.createElement('iframe');
            frame.srcdoc = `<p title="x">${text}</p>`;
            document.body.append(frame);
        } }""",
        list(TEXTS),
    )
    # A frame that a text has led elsewhere has no document that could be seen from here.
    watched.page.wait_for_function(
        "[...document.querySelectorAll('iframe')].every(f => !f.contentDocument || f.contentDocument.body)"
    )

    def bitten() -> bool:
        ran = set(watched.hacked) | {text.split()[-1] for text in watched.dialogs}
        loaded = {url for url in watched.requests if LOADED in url}
        return len(ran) >= 50 and len(loaded) >= 10

    until(watched.page, bitten, "that fifty ran and ten were loaded")


# The live page --------------------------------------------------------------------------------------------------------


def test_study_and_its_updates(open_page: OpenPage, storage: Path, server: Served) -> None:
    watched = open_page()
    page = watched.page
    page.goto(f"{server.url}/study/1?rows=all")
    page.wait_for_selector("#arms tbody tr")
    assert sorted(names_in(watched, "#arms tbody th .name")) == sorted(shown(text) for text in TEXTS)
    assert shown(page.text_content("h1 .name") or "") == shown(TEXTS[0])
    assert shown(page.text_content("#spec pre") or "").strip() == shown(SPEC).strip()
    assert TEXTS[38] in names_in(watched, "#arms thead .name")
    reasons = names_in(watched, "#failures td .name")
    assert reasons
    assert set(reasons) <= {shown(text) for text in TEXTS} | {shown(cut_in_the_middle(text, 400)) for text in TEXTS}
    harmless(watched)
    # What comes by an event is made by the page's script, not by the parser.
    page.evaluate("document.querySelector('main').dataset.seen = 'once'")
    before = page.text_content("#facts dd")
    again = Hostile(storage, TEXTS[0], TEXTS, (TEXTS[38], TEXTS[90]))
    again.told = 7
    again.measure(300)
    again.study.close()
    page.wait_for_function("before => document.querySelector('#facts dd').textContent !== before", arg=before)
    assert page.get_attribute("main", "data-seen") == "once"  # the same document
    assert sorted(names_in(watched, "#arms tbody th .name")) == sorted(shown(text) for text in TEXTS)
    harmless(watched)


@pytest.mark.parametrize("query", ["view=parallel", "sort=name", "x=1&y=0", "sort=-failed&rows=all"])
def test_views(open_page: OpenPage, server: Served, query: str) -> None:
    watched = open_page()
    watched.page.goto(f"{server.url}/study/1?{query}")
    watched.page.wait_for_selector("#picture svg")
    for mark in watched.page.query_selector_all("#picture svg a")[:3]:
        mark.dispatch_event("mouseover")
        mark.focus()
    harmless(watched)


def test_arm_pages(open_page: OpenPage, server: Served) -> None:
    watched = open_page()
    for arm in range(0, len(TEXTS), 40):
        watched.page.goto(f"{server.url}/study/1/arm/{arm}")
        watched.page.wait_for_selector("#verdict table")
        assert shown(watched.page.text_content("h1 .name") or "") == shown(TEXTS[arm])
        workers = names_in(watched, "#latest td .name")
        assert workers
        assert set(workers) <= {shown(text) for text in TEXTS} | {shown(cut_in_the_middle(text, 400)) for text in TEXTS}
    harmless(watched)


def test_metrics(open_page: OpenPage, server: Served) -> None:
    watched = open_page()
    page = watched.page
    for number, first in enumerate(range(0, len(TEXTS), COLUMNS), start=2):
        for query in ("?x=3&y=5", "?view=pairs", "?view=parallel") if number == 2 else ("?x=3&y=5",):
            page.goto(f"{server.url}/study/{number}{query}")
            page.wait_for_selector("#picture svg")
            wanted = [shown(text) for text in TEXTS[first : first + COLUMNS]]
            assert names_in(watched, "#arms thead .name") == wanted
            if query.startswith("?x"):
                assert names_in(watched, "#axis-x option") == wanted
        page.goto(f"{server.url}/study/{number}/arm/0")
        page.wait_for_selector("#values svg")
    harmless(watched)


def test_the_filter_takes_anything(open_page: OpenPage, server: Served) -> None:
    watched = open_page()
    page = watched.page
    page.goto(f"{server.url}/study/1?rows=all")
    page.wait_for_selector("#arms tbody tr")
    page.keyboard.press("/")
    for text in TEXTS[::20]:
        page.keyboard.insert_text(text[:200])
        page.keyboard.press("Control+a")
    harmless(watched)


@pytest.mark.parametrize(
    "path",
    ["/study/<script>__hacked=1</script>", "/study/1?view=<script>__hacked=1</script>", "/<svg onload=__hacked=1>"],
)
def test_what_a_visitor_asks_for_is_data_too(open_page: OpenPage, server: Served, path: str) -> None:
    watched = open_page()
    answer = watched.page.goto(server.url + path)
    assert answer is not None
    assert answer.status in (400, 404)
    assert "<script>__hacked" not in watched.page.content()
    assert watched.complaints(but=("status of 4",)) == []


# Reports --------------------------------------------------------------------------------------------------------------


def test_report(open_page: OpenPage, storage: Path, tmp_path: Path) -> None:
    study = Study.open(storage, TEXTS[0], read_only=True)
    path = tmp_path / "report.html"
    write_report(study, path)
    study.close()
    watched = open_page()
    page = watched.page
    page.goto(path.as_uri())
    everything = shown(page.text_content("body") or "")
    missing = [text for text in TEXTS if shown(text)[:60] not in everything]
    assert missing == []
    for button in page.query_selector_all("th button"):
        button.click()
        button.click()
    for box in page.query_selector_all("input"):
        for text in TEXTS[::20]:
            box.fill(" ".join(text[:200].split()))
    for part in page.query_selector_all("details"):
        part.evaluate("each => { each.open = true; }")
    harmless(watched)


def test_report_of_hostile_metrics(open_page: OpenPage, storage: Path, tmp_path: Path) -> None:
    watched = open_page()
    for number, first in list(enumerate(range(0, len(TEXTS), COLUMNS), start=1))[::4]:
        study = Study.open(storage, TEXTS[number], read_only=True)
        path = tmp_path / f"report-{number}.html"
        write_report(study, path)
        study.close()
        watched.page.goto(path.as_uri())
        everything = shown(watched.page.text_content("body") or "")
        assert [text for text in TEXTS[first : first + COLUMNS] if shown(text)[:60] not in everything] == []
    harmless(watched)


def hostile_analysis() -> Any:
    """An analysis of a log whose arms and columns are hostile."""
    medians = truth(TEXTS, 2)
    log = {
        TEXTS[60]: [arm for arm in TEXTS for _ in range(20)],
        TEXTS[61]: [medians[arm][0] * (1.0 + 0.01 * (n % 7)) for arm in TEXTS for n in range(20)],
        TEXTS[62]: [medians[arm][1] * (1.0 + 0.01 * (n % 5)) for arm in TEXTS for n in range(20)],
    }
    return analyze(log, arm=TEXTS[60], minimize=[TEXTS[61], TEXTS[62]], contamination=0.1, tolerance="1%")


def test_report_of_a_hostile_log(open_page: OpenPage, tmp_path: Path) -> None:
    analysis = hostile_analysis()
    path = tmp_path / "analysis.html"
    write_report(analysis, path)
    watched = open_page()
    watched.page.goto(path.as_uri())
    everything = shown(watched.page.text_content("body") or "")
    assert [text for text in analysis.arms if shown(text)[:60] not in everything] == []
    harmless(watched)
    watched = open_page()  # without the report's own policy
    watched.page.set_content("<link rel=icon href=data:,>" + analysis._repr_html_())
    for picture in (plot.front(analysis), plot.robustness(analysis), plot.pulls(analysis)):
        watched.page.goto(picture.save(tmp_path / "picture.svg").as_uri())
    watched.page.goto(plot.robustness(analysis).save(tmp_path / "picture.html").as_uri())
    watched.page.wait_for_selector(".main-svg")
    harmless(watched)


# Notebooks ------------------------------------------------------------------------------------------------------------


def surrogate_result() -> Answer:
    """A result as it may be in memory, with names that no storage would take."""
    study = Study(3, [Objective("one", "maximize"), Objective("two", "maximize")], Prescient(0.05))
    study.tell_many([(pull, [pull.index, 2.0 - pull.index]) for pull in study.ask(60)])
    metrics = tuple(Objective(text, "maximize") for text in SURROGATES[:2])
    return replace(study.result(), arms=SURROGATES, objectives=SURROGATES[:2], metrics=metrics)


def test_notebook(open_page: OpenPage, overview: Overview, pictures: list[Picture]) -> None:
    result = overview.answer
    shows = [result._repr_html_(), surrogate_result()._repr_html_()]
    shows += [picture._repr_html_() for picture in pictures]
    watched = open_page()
    page = watched.page
    # A notebook puts what it is given into its own page, or into a frame of it. There is no policy that would help.
    page.set_content("<link rel=icon href=data:,>" + "<hr>".join(shows))
    assert shown(TEXTS[0]) in shown(page.text_content("body") or "")
    page.evaluate(
        """shows => { for (const text of shows) {
            const frame = document.createElement('iframe');
            frame.srcdoc = text;
            document.body.append(frame);
            const inside = document.createElement('div');
            inside.innerHTML = text;
            document.body.append(inside);
        } }""",
        shows,
    )
    page.wait_for_timeout(300)
    harmless(watched)


# Pictures -------------------------------------------------------------------------------------------------------------


def test_svg_files(open_page: OpenPage, pictures: list[Picture], tmp_path: Path) -> None:
    watched = open_page()
    for number, picture in enumerate(pictures):
        path = picture.save(tmp_path / f"{number}.svg")
        watched.page.goto(path.as_uri())
        assert watched.page.evaluate("document.documentElement.tagName") == "svg"
        assert watched.page.query_selector("parsererror") is None
    harmless(watched)


def test_plotly(open_page: OpenPage, pictures: list[Picture], tmp_path: Path) -> None:
    drawn = [picture.plotly() for picture in pictures]
    parts = [figure.to_html(full_html=False, include_plotlyjs=number == 0) for number, figure in enumerate(drawn)]
    path = tmp_path / "plotly.html"
    path.write_text("<!doctype html><meta charset=utf-8><link rel=icon href=data:,>" + "\n".join(parts), "utf-8")
    watched = open_page()
    page = watched.page
    page.goto(path.as_uri())
    page.wait_for_function("n => document.querySelectorAll('.main-svg').length >= n", arg=len(drawn))
    # Hints are drawn when one points at something.
    page.evaluate(
        """() => { for (const one of document.querySelectorAll('.js-plotly-plot')) {
            for (let curve = 0; curve < one.data.length; curve++) {
                for (let point = 0; point < 60; point += 7) {
                    try { Plotly.Fx.hover(one, [{curveNumber: curve, pointNumber: point}]); } catch { /* no such */ }
                }
            }
        } }"""
    )
    harmless(watched)
    assert page.query_selector_all("a[*|href^='javascript']") == []


def test_matplotlib(pictures: list[Picture], tmp_path: Path) -> None:
    for number, picture in enumerate(pictures):
        picture.save(tmp_path / f"{number}.png")  # warnings are errors, and so is bad mathematics
    plot.front(surrogate_result()).save(tmp_path / "surrogates.png")


# The list of studies --------------------------------------------------------------------------------------------------


def test_list_of_studies(open_page: OpenPage, server: Served) -> None:
    """The last of all: from now on the server watches every study, which takes it long."""
    watched = open_page()
    watched.page.goto(server.url)
    watched.page.wait_for_function("n => document.querySelectorAll('#studies tbody tr').length >= n", arg=len(TEXTS))
    assert names_in(watched, "#studies tbody th .name") == [shown(text) for text in TEXTS]
    harmless(watched)
