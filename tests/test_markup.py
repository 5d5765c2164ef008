"""Markup: whatever a text holds, parsers of HTML and XML read it back as text, and nothing that runs can be made."""

from __future__ import annotations

import json
import unicodedata
import xml.etree.ElementTree as ElementTree
from functools import partial
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard.markup import Element, clean, element
from tests.support.snapshots import refusals

ANY_TEXT = st.text(
    st.one_of(
        st.characters(exclude_categories=()),  # surrogates and control characters too
        st.sampled_from("<>&\"'`=/ \t\n\r\x00\x0b\x1b\x7f\x85\ud800\udfff\ufffe\uffff\u202e]-;#xX0"),
    ),
    max_size=30,
)


def naively_clean(text: str) -> str:
    def fit(character: str) -> bool:
        return character in " \t\n\r\xa0\u3000\u200c\u200d" or unicodedata.category(character)[0] not in "CZ"

    return "".join(character if fit(character) else "\ufffd" for character in text)


class Reader(HTMLParser):
    """Collects what a parser of HTML finds."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(ANY_TEXT, ANY_TEXT)
@example("]]>", "--><!--")
@example("</p><script>boom()</script>", '" onload="boom()')
@example("&lt;&#60;&amp;amp;", "&quot;&#34;")
@example("a\r\nb\rc", "tab\there\nand\rthere")
def test_any_text_is_read_back_by_html_and_xml(text: str, value: str) -> None:
    tree = element("p", {"title": value}, text, element("b", {}, text), element("path", {"d": value}))
    markup = tree.markup()
    html = Reader(markup)
    assert [tag for tag, _ in html.tags] == ["p", "b", "path"]
    assert html.text == naively_clean(text) * 2
    assert html.tags[0][1] == {"title": naively_clean(value)}
    assert html.tags[2][1] == {"d": naively_clean(value)}
    xml = ElementTree.fromstring(markup.encode("utf-8"))
    assert "".join(xml.itertext()) == naively_clean(text) * 2
    assert xml.attrib == {"title": naively_clean(value)}


@given(ANY_TEXT, ANY_TEXT)
def test_plain_values_are_json_with_the_same_texts(text: str, value: str) -> None:
    plain = element("p", {"title": value}, text, element("b", {}, "x")).plain()
    sent = json.loads(json.dumps(plain, ensure_ascii=False).encode("utf-8"))
    assert sent == ["p", {"title": naively_clean(value)}, [naively_clean(text), ["b", {}, ["x"]]]]


@given(ANY_TEXT)
def test_cleaning_is_what_it_says_and_cleans_once(text: str) -> None:
    assert clean(text) == naively_clean(text)
    assert clean(clean(text)) == clean(text)


def test_tags_that_run_or_break_out_are_refused(snapshot: SnapshotAssertion) -> None:
    tags = (
        *("script", "SCRIPT", "style", "Style", "iframe", "object", "embed", "base", "foreignObject", "foreignobject"),
        *("set", "animate", "animateTransform", "", "a b", "p><script", "svg:script", "1", "b/"),
    )
    assert refusals(ValueError, [partial(element, tag) for tag in tags]) == snapshot


def test_attributes_that_run_or_break_out_are_refused(snapshot: SnapshotAssertion) -> None:
    names = ("onclick", "ONLOAD", "oNfocus", "style", "STYLE", "", "a b", 'x"', "x>", "a=b", "a/b", "on", "a\n")
    assert refusals(ValueError, [partial(element, "p", {name: "x"}) for name in names]) == snapshot


def test_links_elsewhere_are_refused(snapshot: SnapshotAssertion) -> None:
    links = (
        *("javascript:boom()", "JaVaScRiPt:boom()", " javascript:boom()", "java\tscript:boom()", "\x01javascript:b()"),
        *("data:text/html,boom", "vbscript:boom", "//elsewhere", "/\\elsewhere", "/\t/elsewhere", "/\n/elsewhere"),
        *("\\\\elsewhere", "http://elsewhere", "file:///etc/passwd", "x:y", "a/../b", "", "?a\nb"),
    )
    assert refusals(ValueError, [partial(element, "a", {"href": link}) for link in links]) == snapshot
    for name in ("HREF", "src", "action", "formaction", "xlink:href", "Xlink:Href", "ping"):
        refusals(ValueError, [partial(element, "a", {name: link}) for link in links])


@pytest.mark.parametrize(
    "link", ["/", "/study/1/arm/7?x=0&y=1", "#top", "?view=pairs", "./a.csv", "report.html", "https://example.org/a b"]
)
def test_links_on_the_site_and_https_are_kept(link: str) -> None:
    assert Reader(element("a", {"href": link}).markup()).tags == [("a", {"href": link})]


def test_paints_refer_to_the_page_itself_only(snapshot: SnapshotAssertion) -> None:
    paints = ("url(https://elsewhere/x.svg#a)", "URL(//e)", "url( #a )", "url(#a) url(b)", "var(--x)")
    assert refusals(ValueError, [partial(element, "path", {"fill": paint}) for paint in paints]) == snapshot
    for name in ("stroke", "FILL", "mask", "clip-path", "filter", "marker-end", "cursor"):
        refusals(ValueError, [partial(element, "path", {name: paint}) for paint in paints])


def test_paints_by_name_and_own_patterns_are_kept_and_words_may_say_url() -> None:
    tree = element("path", {"fill": "url(#front-hatch)", "stroke": "#0072B2", "data-name": "url(x)"})
    assert tree.markup() == '<path fill="url(#front-hatch)" stroke="#0072B2" data-name="url(x)"/>'


def test_none_and_false_are_left_out_true_is_present() -> None:
    tree = element("option", {"selected": True, "disabled": False, "value": None}, None, "a", None)
    assert tree == Element("option", {"selected": ""}, ("a",))


def test_void_elements_and_shapes_close_as_html_and_xml_want() -> None:
    assert element("p", {}, "a", element("br"), "b").markup() == "<p>a<br>b</p>"
    assert element("g", {}, element("rect", {"x": 1})).markup() == '<g><rect x="1"/></g>'
    assert element("rect", {}, element("title", {}, "hint")).markup() == "<rect><title>hint</title></rect>"
    assert element("td").markup() == "<td></td>"  # <td/> would stay open in HTML


@pytest.mark.parametrize("tag", ["pre", "textarea"])
def test_a_first_empty_line_is_kept_where_html_drops_one(tag: str) -> None:
    assert element(tag, {}, "\nfirst").markup() == f"<{tag}>\n\nfirst</{tag}>"
    assert element(tag, {}, "first").markup() == f"<{tag}>first</{tag}>"
    assert element("p", {}, "\nfirst").markup() == "<p>\nfirst</p>"


def test_text_is_all_text_in_order() -> None:
    assert element("p", {"title": "no"}, "a", element("b", {}, "b", element("i", {}, "c")), "d").text() == "abcd"
