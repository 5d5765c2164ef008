"""The live page for everybody: names, headings, tabs, contrast, narrow screens, themes, no unwanted motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import pytest

from tests.support.browsers import OpenPage, Watched, watched_page
from tests.support.measuring import TRUTH
from tests.support.serving import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ARMS = tuple(TRUTH)
VIEWS = {
    "studies": "/",
    "study": "/study/1",
    "parallel": "/study/1?view=parallel",
    "arm": f"/study/1/arm/{ARMS.index('-O3 -funroll-all-loops')}",
}

Visited = Callable[[str], Watched]


@pytest.fixture(scope="module")
def visited(browser: Browser, half_way: Served) -> Iterator[Visited]:
    """A function that gives a page of a view, opened once for all tests that only look at it."""
    opened: dict[str, Watched] = {}

    def visit(view: str) -> Watched:
        if view not in opened:
            opened[view] = watched_page(browser)
            opened[view].page.goto(half_way.url + VIEWS[view])
            opened[view].page.wait_for_selector("#connection[data-state=live]")
        return opened[view]

    yield visit
    for watched in opened.values():
        assert watched.complaints() == []
        watched.context.close()


# The name of an element as a screen reader computes it, near enough: label, text, title.
NAMES = """
(() => {
    const named = node => {
        const by = node.getAttribute('aria-labelledby');
        if (by) return by.split(/\\s+/).map(id => document.getElementById(id)?.textContent ?? '').join(' ').trim();
        const own = [...node.children].find(each => each.localName === 'title');
        return (node.getAttribute('aria-label') ?? (node.labels?.[0]?.textContent || own?.textContent ||
            node.textContent || node.getAttribute('title') || node.getAttribute('alt') || '')).trim();
    };
    const seen = node => node.checkVisibility({visibilityProperty: true});
    return {
        unnamed: [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary, ' +
            '[role=meter], [role=img], [role=progressbar], [role=group], img, section[aria-labelledby], nav')]
            .filter(node => seen(node) && !named(node)).map(node => node.outerHTML.slice(0, 200)),
        headings: [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(seen)
            .map(node => Number(node.localName[1])),
        pictures: [...document.querySelectorAll('svg:not(svg svg)')].filter(node => seen(node) &&
            !node.closest('[aria-hidden=true]') && !(node.getAttribute('role') && named(node)))
            .map(node => node.outerHTML.slice(0, 200)),
        twice: [...document.querySelectorAll('[id]')].map(node => node.id)
            .filter((id, place, all) => all.indexOf(id) !== place),
        loose: [...document.querySelectorAll('td, th')].filter(node => !node.closest('table')).length,
        headless: [...document.querySelectorAll('table')].filter(node => !node.querySelector('th[scope=col]')).length,
        lang: document.documentElement.lang,
        title: document.title,
        mains: document.querySelectorAll('main').length,
        live: document.querySelectorAll('[aria-live], [role=status]').length,
    };
})()
"""


@pytest.mark.parametrize("view", VIEWS)
def test_everything_has_a_name_and_its_place(visited: Visited, view: str) -> None:
    found = visited(view).page.evaluate(NAMES)
    assert found["unnamed"] == []
    assert found["pictures"] == []
    assert found["twice"] == []
    assert found["headless"] == 0
    assert found["lang"] == "en"
    assert found["title"]
    assert found["mains"] == 1
    assert found["live"] >= 1
    levels = found["headings"]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


REACHED = """
(() => {
    const at = document.activeElement;
    const style = getComputedStyle(at);
    return {
        key: [at.localName, at.id, at.getAttribute('href'), at.textContent.slice(0, 40)].join(' '),
        seen: at.matches(':focus-visible') && (style.outlineStyle !== 'none' || at.namespaceURI.includes('svg')),
    };
})()
"""


@pytest.mark.parametrize("view", VIEWS)
def test_everything_is_reached_by_tab(visited: Visited, view: str) -> None:
    page = visited(view).page
    # One arm of each picture is in the order of tabs: the arrows go on from there.
    wanted = page.evaluate(
        """[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary, pre[tabindex]')]
            .filter(node => node.checkVisibility({visibilityProperty: true}) && node.tabIndex >= 0 && !node.disabled)
            .map(at => [at.localName, at.id, at.getAttribute('href'), at.textContent.slice(0, 40)].join(' '))"""
    )
    pictures = page.evaluate("[...document.querySelectorAll('figure > svg')].filter(p => p.querySelector('a')).length")
    assert page.evaluate("document.querySelectorAll('figure > svg a[tabindex=\"0\"]').length") == pictures
    reached, unseen = [], []
    for _ in range(3 * len(wanted) + 20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        at = page.evaluate(REACHED)
        reached.append(at["key"])
        if not at["seen"]:
            unseen.append(at["key"])
        if len(reached) > 1 and at["key"] == reached[0]:
            break
    assert set(wanted) <= set(reached), set(wanted) - set(reached)
    assert unseen == []  # where one is can be seen


# Texts with their colours and what lies behind them, down to where it is opaque.
COLOURS = """
(() => {
    const numbers = text => (text.match(/[\\d.]+(?:e-?\\d+)?/g) ?? []).map(Number);
    const colour = text => {
        const [r, g, b, a = 1] = numbers(text);
        return text.startsWith('color(srgb') ? [255 * r, 255 * g, 255 * b, a] : [r, g, b, a];
    };
    const over = (front, back) => [0, 1, 2].map(i => front[i] * front[3] + back[i] * (1 - front[3])).concat(1);
    const behind = node => {
        const layers = [];
        for (let at = node; at; at = at.parentElement) {
            const back = colour(getComputedStyle(at).backgroundColor);
            layers.push(back);
            if (back[3] === 1) break;
        }
        const canvas = matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
        return layers.reverse().reduce((back, front) => over(front, back), canvas);
    };
    const faded = node => {
        let whole = 1;
        for (let at = node; at; at = at.parentElement) whole *= Number(getComputedStyle(at).opacity);
        return whole;
    };
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !node.checkVisibility({visibilityProperty: true})) continue;
        if (node.closest('title, desc, option, .unseen, .skip, [aria-hidden=true]')) continue;
        const style = getComputedStyle(node);
        const svg = node.namespaceURI.includes('svg');
        const ink = colour(svg ? style.fill : style.color);
        ink[3] *= faded(node) * (svg ? Number(style.fillOpacity) : 1);
        const back = behind(svg ? node.closest('svg').parentElement : node);
        const [one, other] = [light(over(ink, back)), light(back)].sort((a, b) => b - a);
        const size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        found.push([(one + 0.05) / (other + 0.05), large ? 3 : 4.5,
            `${node.localName}.${node.getAttribute('class')} ${walker.currentNode.data.trim().slice(0, 40)}`]);
    }
    return found;
})()
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_texts_stand_out_from_what_is_behind_them(
    visited: Visited, view: str, scheme: Literal["light", "dark"]
) -> None:
    page = visited(view).page
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    texts = page.evaluate(COLOURS)
    page.emulate_media(color_scheme="null", reduced_motion="null")
    assert len(texts) > 10
    assert [(round(ratio, 2), wanted, text) for ratio, wanted, text in texts if ratio < wanted - 0.01] == []


def test_the_measure_of_contrast_is_the_known_one(open_page: OpenPage) -> None:
    page = open_page().page
    page.set_content(
        "<body style='background:#fff'><p style='color:#767676'>a</p><p style='color:#000'>b</p>"
        "<div style='background:#000'><p style='color:#fff;opacity:0.5'>c</p></div>"
    )
    ratios = {text.split()[-1]: ratio for ratio, _, text in page.evaluate(COLOURS)}
    assert ratios["a"] == pytest.approx(4.54, abs=0.01)  # the grey that is known to be just enough
    assert ratios["b"] == pytest.approx(21.0)
    assert ratios["c"] == pytest.approx(5.28, abs=0.05)  # 50 % grey on black


@pytest.mark.parametrize("width", [320, 380, 1200])
@pytest.mark.parametrize("view", VIEWS)
def test_nothing_has_to_be_scrolled_sideways(visited: Visited, view: str, width: int) -> None:
    page = visited(view).page
    page.set_viewport_size({"width": width, "height": 700})
    assert page.evaluate("[innerWidth, document.documentElement.scrollWidth <= innerWidth]") == [width, True]


def test_the_theme_is_kept(open_page: OpenPage, half_way: Served) -> None:
    watched = open_page(color_scheme="light")
    page = watched.page
    page.goto(f"{half_way.url}/study/1")
    page.wait_for_selector("#connection[data-state=live]")
    background = (
        "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.documentElement).backgroundColor"
    )
    light = page.evaluate(background)
    page.click("#theme")
    page.click("#theme")
    assert "dark" in page.inner_text("#theme")
    dark = page.evaluate(background)
    assert dark != light
    page.reload()
    assert page.evaluate(background) == dark
    assert watched.complaints() == []


def test_no_motion_where_none_is_wanted(open_page: OpenPage, half_way: Served) -> None:
    page = open_page(reduced_motion="reduce").page
    page.goto(f"{half_way.url}/study/1")
    page.wait_for_selector("#picture svg rect[id]", state="attached")
    longest = page.evaluate(
        """Math.max(...[...document.querySelectorAll('*')].flatMap(node => {
            const style = getComputedStyle(node);
            return [style.transitionDuration, style.animationDuration].flatMap(t => t.split(',').map(parseFloat));
        }))"""
    )
    assert longest <= 0.01
