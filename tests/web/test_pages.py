"""Pages as elements: what they say, and that names stay data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective
from frontguard.markup import Element
from frontguard.web.pages import (
    SOME_ROWS,
    arm_page,
    order_of,
    reading_page,
    studies_page,
    study_page,
)
from frontguard.web.parts import VIEWS, Address, Page, ViewOptions, document, message_page, with_trouble
from frontguard.web.watchers import Seen
from tests.support.snapshots import refused
from tests.web.examples import METRICS, Example

HOSTILE = "<script>window.__hacked=1</script>\"'&lt; ]]> <!-- \u202e {0} $x$"


@pytest.fixture(scope="module")
def begun() -> Example:
    close = [[1.0, 1.0], [1.02, 1.01], [1.04, 1.03], [1.1, 0.9]]
    metrics = [Objective("seconds", "minimize", "1%"), Objective("quality", "maximize", 0.01)]
    return Example(objectives=metrics, truth=close).go(64)


@pytest.fixture(scope="module")
def three() -> Example:
    return Example(["a", "b", "c"], METRICS, truth=[[1, 2, 3], [2, 3, 1], [3, 1, 2]]).go(3000)


def elements(tree: Element) -> Iterator[Element]:
    yield tree
    for child in tree.children:
        if isinstance(child, Element):
            yield from elements(child)


def found(page: Page, region: str, tag: str, **attributes: str) -> list[Element]:
    wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
    return [
        each
        for each in elements(page.regions[region])
        if each.tag == tag and wanted.items() <= dict(each.attributes).items()
    ]


class Links(HTMLParser):
    """All links, ids and texts of a document, by a parser that is not ours."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("href", "src", "action"):
                self.links.append(value or "")
            elif name == "id":
                self.ids.append(value or "")
            elif name.startswith("on") or name == "style":
                self.handlers.append(name)


# What a study's page says ---------------------------------------------------------------------------------------------


def test_the_answer_comes_in_a_sentence(certified: Example, snapshot: SnapshotAssertion) -> None:
    page = study_page(certified.overview, Address(1))
    assert certified.study.status == "certified"
    assert certified.study.result().pareto_set == ["fast", "good"]
    (said,) = found(page, "answer", "p", **{"class": "answer"})
    assert said.text() == snapshot
    assert page.title == "flags: certified"
    (chip,) = [each for each in elements(page.regions["head"]) if "data-status" in each.attributes]
    assert (chip.text(), chip.attributes["data-status"]) == ("certified", "certified")


def test_every_arm_has_its_row_with_verdict_interval_pulls_and_who_decided(certified: Example) -> None:
    result = certified.study.result()
    page = study_page(certified.overview, Address(3, options=ViewOptions(sort="name")))
    rows = found(page, "table", "tr", data_key="0") + found(page, "table", "tr", data_key="1")
    texts = [[cell.text() for cell in row.children if isinstance(cell, Element)] for row in rows]
    for arm, cells in enumerate(texts):
        low, high = result.intervals[result.arms[arm]]["seconds"]
        assert cells[:2] == [result.arms[arm], result.verdicts[result.arms[arm]]]
        centre, _, ends = cells[2].rstrip("]").partition(" [")
        least, most = map(float, ends.split(", "))
        assert float(centre) == pytest.approx(result.estimates[arm, 0], rel=1e-3)
        assert (least <= low, most >= high) == (True, True)
        assert cells[4] == str(result.pulls_per_arm[arm])
    assert texts[1][5] == result.arms[result.decided_by[1]]
    assert found(page, "table", "a", href="/study/3/arm/1?sort=name")


def test_the_facts_count_and_say_what_is_certain_beside_the_goal(begun: Example, certified: Example) -> None:
    early, done = (study_page(each.overview, Address(1)).regions["facts"].text() for each in (begun, certified))
    accuracy = begun.overview.answer.nearest.to_dict()["accuracy"]
    assert 0.02 < min(accuracy) < max(accuracy) < 0.03  # with a tolerance of 0.01: not there yet
    for said in ("64", "Pulls a minute", "more runs", "certain within 2.19% of seconds (goal 1%)"):
        assert said in early
    assert "goal" not in done


def test_nothing_measured_yet_is_said_so() -> None:
    page = study_page(Example().overview, Address(1))
    assert "Nothing is measured yet" in page.regions["picture"].text()
    assert "hidden" in page.regions["certainty"].attributes
    assert not found(page, "picture", "svg")
    assert "undecided" in page.regions["table"].text()


def test_failures_are_told_with_reason_and_count_and_alarms_are_warnings() -> None:
    example = Example(failing=[1], reason=HOSTILE).go(600)
    page = study_page(example.overview, Address(1))
    count = example.study.failures()["slow"][HOSTILE]
    assert count > 0
    told = example.storage.told("flags")
    last = max(at for at, reason in zip(told.at.tolist(), told.reasons, strict=True) if reason)
    when = f"{datetime.fromtimestamp(last, UTC):%Y-%m-%d %H:%M:%S} UTC"
    assert [cell.text() for cell in found(page, "failures", "td")] == [HOSTILE, f"{count:,}", when]
    assert "is excluded" in page.regions["warnings"].text()
    arm = arm_page(example.overview, Address(1, 1), example.follower.measurements(1))
    assert arm.title == "slow: excluded"
    assert f"{count} of {count} runs failed" in arm.regions["verdict"].text()
    assert [cell.text() for cell in found(arm, "failures", "td")] == [HOSTILE, f"{count:,}", when]


def test_the_settings_stand_below_with_the_spec() -> None:
    spec = "[study]\nname = 'a </pre><script>'\n"
    example = Example(seed=11, about={"spec": spec}, max_pulls=1234)
    page = study_page(example.overview, Address(1))
    region = page.regions["reproduce"]
    (pre,) = [each for each in elements(region) if each.tag == "pre"]
    assert pre.text() == spec
    for said in ("up to 10% (prescient)", "95%", "11", "5%"):
        assert said in region.text()
    assert "1,234 pulls" in page.regions["facts"].text()


def test_pictures_link_arms_and_ids_are_unique(certified: Example, three: Example) -> None:
    for example in (certified, three):
        for view in VIEWS:
            read = Links(
                document(
                    study_page(example.overview, Address(2, options=ViewOptions(view=view))), events="/events/study/2"
                )
            )
            assert len(read.ids) == len(set(read.ids))
            assert any(link.startswith("/study/2/arm/0") for link in read.links)
            assert all(link.startswith(("/", "#")) and not link.startswith("//") for link in read.links)
    assert any(
        a.attributes["href"] == "/study/2/arm/1"
        for a in found(study_page(certified.overview, Address(2)), "picture", "a")
    )


def test_the_axes_can_be_chosen_where_there_are_some(three: Example, certified: Example) -> None:
    page = study_page(three.overview, Address(1, options=ViewOptions(x=2, y=0, sort="pulls")))
    chosen = [each.text() for each in found(page, "picture", "option", selected="")]
    assert chosen == ["bytes", "seconds"]
    assert found(page, "picture", "input", name="sort", value="pulls")
    views = [each.attributes["href"] for each in found(page, "picture", "a") if "id" in each.attributes]
    assert "/study/1?x=2&y=0&view=pairs&sort=pulls#picture" in views
    assert not found(study_page(Example(["a"], METRICS[:1]).go(40).overview, Address(1)), "picture", "select")


# Order and rows -------------------------------------------------------------------------------------------------------


def test_the_table_can_be_sorted_by_links(three: Example) -> None:
    overview = three.overview
    estimates = overview.answer.estimates
    assert order_of(overview, "m0") == np.argsort(estimates[:, 0]).tolist()  # seconds: less is better
    assert order_of(overview, "m1") == np.argsort(-estimates[:, 1]).tolist()  # quality: more is better
    assert order_of(overview, "-m1") == np.argsort(estimates[:, 1]).tolist()
    assert order_of(overview, "-name") == [2, 1, 0]
    page = study_page(overview, Address(1, options=ViewOptions(sort="m1")))
    (head,) = [each for each in found(page, "table", "th") if each.attributes.get("aria-sort")]
    assert head.attributes["aria-sort"] == "descending"
    assert found(page, "table", "a", href="/study/1?sort=-m1#table")


def test_arms_without_a_value_come_last_either_way() -> None:
    overview = Example(failing=[0]).go(200).overview
    assert order_of(overview, "m0")[-1] == order_of(overview, "-m0")[-1] == 0


def test_the_front_comes_first_and_many_arms_are_cut_with_a_link(certified: Example) -> None:
    assert order_of(certified.overview, "verdict")[:2] == [0, 2]
    overview = Example([f"arm {i}" for i in range(SOME_ROWS + 7)], METRICS[:1]).overview
    page = study_page(overview, Address(1))
    assert len([each for each in found(page, "table", "tr") if "data-key" in each.attributes]) == SOME_ROWS
    assert "… and 7 undecided." in page.regions["table"].text()
    assert found(page, "table", "a", href="/study/1?rows=all#table")
    everything = study_page(overview, Address(1, options=ViewOptions(rows="all")))
    assert len([each for each in found(everything, "table", "tr") if "data-key" in each.attributes]) == SOME_ROWS + 7


# An arm's page --------------------------------------------------------------------------------------------------------


def test_an_arms_page_says_why_and_shows_what_was_measured(certified: Example) -> None:
    measured = certified.follower.measurements(1)
    page = arm_page(certified.overview, Address(4, 1, ViewOptions(y=0)), measured)
    (said,) = found(page, "verdict", "p", **{"class": "answer"})
    why = certified.study.result().explain("slow")
    assert said.text() == f"{why[0].upper()}{why[1:]}."
    assert found(page, "head", "a", rel="prev", href="/study/4/arm/0?y=0")
    assert found(page, "head", "a", rel="next", href="/study/4/arm/2?y=0")
    assert found(page, "boxes", "svg")
    assert len(found(page, "values", "figure")) == 2
    rows = [each for each in found(page, "latest", "tr") if "data-key" in each.attributes]
    assert [int(each.attributes["data-key"]) for each in rows] == measured.pulls[::-1][:50].tolist()


def test_an_arm_that_was_never_pulled_has_a_page() -> None:
    example = Example()
    page = arm_page(example.overview, Address(1, 0), example.follower.measurements(0))
    assert "Not measured yet" in page.regions["verdict"].text() or "not measured yet" in page.regions["verdict"].text()


# Other pages ----------------------------------------------------------------------------------------------------------


def test_the_list_of_studies(certified: Example) -> None:
    page = studies_page(
        [
            Seen(1, "flags", certified.overview),
            Seen(2, "second", told=10, total=40),
            Seen(5, "third", trouble="locked"),
        ]
    )
    texts = [
        [cell.text() for cell in each.children if isinstance(cell, Element)] for each in found(page, "studies", "tr")
    ]
    assert texts[1][:4] == ["flags", "certified", "4", f"{certified.overview.answer.pulls:,}"]
    assert texts[1][4].split() == ["2", "keep", "2", "beaten"]
    assert texts[2][:2] == ["second", "being read"]
    assert "10 of 40 runs" in texts[2][2]
    assert texts[3] == ["third", "cannot be read", "locked"]
    assert found(page, "studies", "a", href="/study/5")
    assert "No study yet" in studies_page([]).regions["studies"].text()


def test_pages_without_a_study(begun: Example) -> None:
    assert "120 of 1,000 runs" in reading_page(Seen(1, "x", told=120, total=1000)).regions["reading"].text()
    assert "nowhere" in message_page("No such study", "It is nowhere.").regions["message"].text()
    page = study_page(begun.overview, Address(1))
    assert "hidden" in page.regions["trouble"].attributes
    trouble = with_trouble(page, "study.db is locked").regions["trouble"]
    assert "study.db is locked" in trouble.text()
    assert "hidden" not in trouble.attributes
    assert with_trouble(page, "") is page


def test_regions_name_themselves_and_know_their_place(certified: Example) -> None:
    pages = [
        study_page(certified.overview, Address(1)),
        arm_page(certified.overview, Address(1, 0), certified.follower.measurements(0)),
        studies_page([Seen(1, "flags", certified.overview)]),
        reading_page(Seen(1, "x")),
    ]
    for page in pages:
        assert [each.attributes["id"] for each in page.regions.values()] == list(page.regions)
        places = [each.attributes["data-place"] for each in page.regions.values()]
        assert places == sorted(set(places))


# The document ---------------------------------------------------------------------------------------------------------


def test_the_document_has_no_code_but_one_script_of_ours(certified: Example, snapshot: SnapshotAssertion) -> None:
    text = document(study_page(certified.overview, Address(1)), events="/events/study/1?x=0", version="abc123")
    read = Links(text)
    assert text.startswith('<!doctype html>\n<html lang="en">')
    assert read.tags.count("script") == 1
    assert '<script src="/static/page.js?v=abc123"></script>' in text
    assert "style" not in read.tags
    assert read.handlers == []
    assert 'data-events="/events/study/1?x=0"' in text
    assert 'data-version="abc123"' in text
    assert read.tags.count("h1") == read.tags.count("main") == 1
    with refused(ValueError, snapshot):
        document(study_page(certified.overview, Address(1)), version='"><script>')


def test_hostile_names_are_text_everywhere() -> None:
    hostile = [f"{HOSTILE}{i}" for i in range(3)]
    metrics = [Objective(f"{HOSTILE}m{d}", "maximize", tolerance=0.05) for d in range(2)]
    example = Example(hostile, metrics, name=HOSTILE, reason=HOSTILE, failing=[2], about={"spec": HOSTILE}).go(300)
    pages = [study_page(example.overview, Address(1, options=ViewOptions(view=view))) for view in VIEWS]
    pages += [arm_page(example.overview, Address(1, arm), example.follower.measurements(arm)) for arm in range(3)]
    pages += [
        studies_page([Seen(1, HOSTILE, example.overview)]),
        reading_page(Seen(1, HOSTILE, total=5)),
        message_page(HOSTILE, HOSTILE),
    ]
    for page in pages:
        read = Links(document(page, events="/events/studies"))
        assert read.tags.count("script") == 1
        assert read.handlers == []
        assert all(re.fullmatch(r"[/#?][A-Za-z0-9/?=&#._-]*", link) for link in read.links), read.links
    for name in hostile:
        assert name in pages[0].regions["table"].text()


# Size -----------------------------------------------------------------------------------------------------------------


def test_a_thousand_arms_stay_small() -> None:
    truth = np.random.default_rng(1).uniform(1.0, 3.0, (1000, 2))
    example = Example([f"-O{i % 4} -funroll-loops --param=x={i}" for i in range(1000)], truth=truth).go(6000)
    page = study_page(example.overview, Address(1))
    assert len(document(page).encode()) < 300_000
    regions = {name: region.plain() for name, region in page.regions.items()}
    assert len(json.dumps(regions, ensure_ascii=False, separators=(",", ":")).encode()) < 300_000


def test_a_study_that_nobody_measures_is_not_called_running(begun: Example) -> None:
    at_work, paused = (replace(begun.overview, at_work=each) for each in (True, False))
    for overview, word in ((at_work, "running"), (paused, "paused")):
        seen = Seen(1, "flags", overview)
        measured = begun.follower.measurements(0)
        pages = studies_page([seen]), study_page(overview, Address(1)), arm_page(overview, Address(1, 0), measured)
        chips = [each for page in pages for region in page.regions for each in found(page, region, "span")]
        assert {each.attributes["data-status"] for each in chips if "data-status" in each.attributes} == {word}
        assert pages[1].title.endswith(word)
    assert "Under way" not in study_page(paused, Address(1)).regions["facts"].text()
