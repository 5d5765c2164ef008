"""The pieces of which all pages are made, what stands around them, and the addresses that they have.

A URL leads to numbers of a study and an arm, and says a few known words. No name stands in one, or is read from one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Self
from urllib.parse import urlencode

from frontguard.errors import BadInput
from frontguard.markup import Child, Element, element
from frontguard.phrases import cut_in_the_middle, one_line, shortened
from frontguard.plot.picture import Picture
from frontguard.plot.svg import drawn
from frontguard.studies.follow import Overview
from frontguard.verdicts import Verdict
from frontguard.words.answers import STATUSES

VIEWS = ("front", "pairs", "parallel")
ROWS = ("some", "all")
SORTS = ("verdict", "name", "pulls", "failed")
"""What the table may be sorted by, beside the objectives, which are m0, m1, …; a minus before it turns it around."""

_NUMBER = "(?:0|[1-9][0-9]{0,2})"
_OBJECTIVE = (_NUMBER, "a whole number from 0 to 999")
_CHOICES = {
    "x": _OBJECTIVE,
    "y": _OBJECTIVE,
    "view": ("|".join(VIEWS), f"one of {', '.join(VIEWS)}"),
    "rows": ("|".join(ROWS), f"one of {', '.join(ROWS)}"),
    "sort": (
        f"-?(?:{'|'.join(SORTS)}|m{_NUMBER})",
        f"one of {', '.join(SORTS)}, or m0, m1, … for an objective, with a minus before it to turn it around",
    ),
}
"""What a query may say of what: a pattern, and the same in words."""


@dataclass(frozen=True)
class ViewOptions:
    """Axes, view, rows and order of the table. What a URL leaves out has its default here."""

    x: int | None = None  # number of the objective along the bottom
    y: int | None = None
    view: str = "front"
    rows: str = "some"
    sort: str = "verdict"

    @classmethod
    def read(cls, query: Mapping[str, str] | Iterable[tuple[str, str]]) -> Self:
        """The options of a query."""
        given: dict[str, Any] = {}
        for name, text in query.items() if isinstance(query, Mapping) else query:
            if name not in _CHOICES:
                raise BadInput(f"the query may hold {', '.join(_CHOICES)}; got {shortened(name, 40)!r}")
            if name in given:
                raise BadInput(f"{name} must be given once in the query; got it twice")
            pattern, wanted = _CHOICES[name]
            if re.fullmatch(pattern, text) is None:
                raise BadInput(f"{name} must be {wanted}; got {shortened(text, 40)!r}")
            given[name] = int(text) if name in ("x", "y") else text
        return cls(**given)

    def within(self, objectives: int) -> Self:
        """These options if the study has so many objectives; refused if they speak of one that it has not."""
        asked = {"x": self.x, "y": self.y}
        if (column := self.sort.removeprefix("-")) not in SORTS:
            asked["sort"] = int(column[1:])
        for name, number in asked.items():
            if number is not None and number >= objectives:
                raise BadInput(
                    f"{name} must speak of one of the {objectives} objectives, numbered from 0; got {number}"
                )
        return self

    def axes(self, objectives: int) -> tuple[int, int]:
        """The objectives on the axes: as chosen, the first two unless said otherwise; two different ones if there are.

        >>> ViewOptions(x=1).axes(3), ViewOptions(y=0).axes(3), ViewOptions(x=2, y=2).axes(3), ViewOptions().axes(1)
        ((1, 0), (1, 0), (2, 0), (0, 0))
        """
        if objectives < 2:
            return 0, 0
        x, y = self.x, self.y
        if x is None:
            x = 1 if y == 0 else 0
        if y is None or y == x:
            y = 1 if x == 0 else 0
        return x, y

    @property
    def chosen(self) -> dict[str, Any]:
        """The options that differ from the defaults."""
        usual = type(self)()
        return {name: value for name, value in vars(self).items() if value != getattr(usual, name)}

    def query(self) -> str:
        """The query that says so, with its question mark; empty if nothing differs from the defaults."""
        return f"?{urlencode(self.chosen)}" if self.chosen else ""


@dataclass(frozen=True)
class Address:
    """The list of studies, a study, or an arm of it."""

    study: int | None = None
    arm: int | None = None
    options: ViewOptions = field(default_factory=ViewOptions)

    @property
    def _path(self) -> str:
        arm = "" if self.arm is None else f"/arm/{self.arm}"
        return "/studies" if self.study is None else f"/study/{self.study}{arm}"

    @property
    def page(self) -> str:
        """The URL of the page."""
        return "/" if self.study is None else f"{self._path}{self.options.query()}"

    @property
    def twin(self) -> str:
        """The URL of the same as JSON."""
        return f"{self._path}.json{self.options.query()}"

    @property
    def events(self) -> str:
        """The URL of the events that keep it up to date."""
        return f"/events{self._path}{self.options.query()}"

    def to(self, arm: int | None = None, **changed: Any) -> str:
        """The URL of the study or of an arm of it, with the same options but for those that are changed.

        >>> Address(2, 7, ViewOptions(x=1)).to(), Address(2).to(3, sort="-pulls")
        ('/study/2?x=1', '/study/2/arm/3?sort=-pulls')
        """
        return Address(self.study, arm, replace(self.options, **changed)).page


LONGEST_REASON = 400  # columns: of a longer one its beginning and its end are told
MOST_FAILURES = 100
_LONGEST_LABEL = 60  # characters of a column's name in a card
_KNOWN = frozenset(("verdict", "verdicts", "status"))  # columns whose words say by themselves what they are

_PLACES = (
    *("head", "trouble", "message", "studies", "reading", "answer", "warnings", "verdict", "compared", "facts"),
    *("picture", "boxes", "values", "certainty", "pulls", "rate", "table", "failures", "latest", "reproduce"),
)


@dataclass(frozen=True)
class Page:
    """A page as data; events bring its regions up to date one by one, and `twin` is the URL of the same as JSON."""

    title: str
    regions: dict[str, Element]
    active: str  # studies, study, arm, reading or message
    twin: str = ""


def region(name: str, heading: str | None, *children: Child | None, kind: str = "section") -> Element:
    """A part of a page, with a heading that names it for those who jump from one to the next."""
    attributes = {"id": name, "class": "region", "data-place": f"{_PLACES.index(name):02d}"}
    if heading is None:
        return element(kind, attributes, *children)
    named = element("h2", {"id": f"{name}-heading"}, heading)
    return element(kind, attributes | {"aria-labelledby": f"{name}-heading"}, named, *children)


def nothing(name: str) -> Element:
    """A region that has nothing to say now. It stays in its place, unseen."""
    return element("section", {**region(name, None).attributes, "hidden": True})


def head(title: Child, *below: Child | None, above: Sequence[Child] = ()) -> Element:
    """The region that begins a page: the way back to the list and to what is `above`, the title, and what is below."""
    way = element("nav", {"aria-label": "Where this is"}, element("a", {"href": "/"}, "All studies"), *above)
    return region("head", None, way, element("h1", {}, title), *below, kind="header")


def line(kind: str, *words: Child) -> Element:
    """A paragraph of a kind that the style sheet knows: answer, about, note, rest, waiting, …"""
    return element("p", {"class": kind}, *words)


def definition(terms: Iterable[tuple[str, Child]]) -> Element:
    """Terms and what is said of them, each pair in a group of its own."""
    groups = (element("div", {}, element("dt", {}, term), element("dd", {}, said)) for term, said in terms)
    return element("dl", {}, *groups)


def called(text: str) -> Element:
    """A name that came from elsewhere: shown as it is, and its direction of writing kept to itself."""
    return element("bdi", {"class": "name"}, text)


def arm_link(name: str, address: Address, arm: int) -> Element:
    """The name of an arm, which leads to its page."""
    return element("a", {"href": address.to(arm)}, called(name))


def verdict_mark(verdict: Verdict) -> Element:
    """A verdict in a word, with its colour and shape."""
    return element("span", {"class": f"verdict {verdict.word}"}, verdict.word)


def status_chip(status: str) -> Element:
    """A status in a word or two, with its shape."""
    return element("span", {"class": f"chip {status}", "data-status": status}, STATUSES[status])


def moment(at: float | None, *, ago: bool = True) -> Child:
    """A time: in UTC here, and on a page with a script how long ago that is."""
    if at is None or not 0.0 < at < 253402300000.0:  # the year 9999
        return "never"
    when = datetime.fromtimestamp(at, UTC)
    attributes = {"datetime": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "data-at": f"{at:.0f}" if ago else None}
    return element("time", attributes, when.strftime("%Y-%m-%d %H:%M:%S UTC"))


def headings(texts: Sequence[Child], figures: Sequence[Child] = (), after: Sequence[Child] = ()) -> list[Element]:
    """The heads of columns; those of figures stand to the right, as the figures do."""
    return [
        *(element("th", {"scope": "col"}, text) for text in texts),
        *(element("th", {"scope": "col", "class": "figure"}, text) for text in figures),
        *(element("th", {"scope": "col"}, text) for text in after),
    ]


def table(heads: Iterable[Element], rows: Iterable[Element], caption: str | None = None, **attributes: str) -> Element:
    """A table that scrolls where it is wide, and whose rows are cards on a phone; the caption is for listeners."""
    said = element("caption", {"class": "unseen"}, caption) if caption else None
    named = list(heads)
    head = element("thead", {}, element("tr", {}, *named))
    labels = [one_line(_label(cell), _LONGEST_LABEL) for cell in named]
    body = element("tbody", {}, *(_labelled(row, labels) for row in rows))
    kinds = " ".join(filter(None, [attributes.get("class"), "cards"]))
    return element("div", {"class": "wide"}, element("table", attributes | {"class": kinds}, said, head, body))


def _label(head: Child) -> str:
    """The name of a column, without what is said below it."""
    if isinstance(head, str):
        return head
    return "".join(_label(child) for child in head.children if isinstance(child, str) or child.tag != "small")


def _labelled(row: Element, labels: Sequence[str]) -> Element:
    """The row with the name of its column in every cell but those that speak for themselves."""
    cells = [
        replace(cell, attributes={**cell.attributes, "data-label": label})
        if isinstance(cell, Element) and cell.tag == "td" and cell.children and label not in _KNOWN
        else cell
        for cell, label in zip(row.children, labels, strict=False)
    ]
    return replace(row, children=tuple(cells))


def name_cell(*words: Child) -> Element:
    """The cell that a row is called after."""
    return element("th", {"scope": "row"}, *words)


def cell(*words: Child) -> Element:
    """A cell of words."""
    return element("td", {}, *words)


def figure_cell(*words: Child) -> Element:
    """A cell of figures."""
    return element("td", {"class": "figure"}, *words)


def failures_region(overview: Overview, arms: Sequence[str], *said: Element, address: Address | None = None) -> Element:
    """A table of failures by reason, the most frequent first; with the study's `address`, of all its arms by name."""
    counted = [
        (-times, number, reason)
        for number, arm in enumerate(arms)
        for reason, times in overview.answer.state.failures.get(arm, {}).items()
    ]
    if not counted:
        return nothing("failures")
    rows = []
    for times, number, reason in sorted(counted)[:MOST_FAILURES]:
        name, at = arms[number], overview.failed_at.get((arms[number], reason))
        rows.append(
            element(
                "tr",
                {},
                name_cell(arm_link(name, address, number)) if address else None,
                cell(called(cut_in_the_middle(reason, LONGEST_REASON))),
                figure_cell(f"{-times:,}"),
                cell(moment(at) if at else "not known"),
            )
        )
    heads = headings(("arm", "reason") if address else ("reason",), ("times",), ("last",))
    left = len(counted) - len(rows)
    rest = line("rest", f"… and {left:,} more{'' if address else ' reasons'}") if left else None
    return region("failures", "Failures", *said, table(heads, rows), rest)


def figure(picture: Picture, name: str, link: str = "", *, widest: float = 5.8, captioned: bool = True) -> Element:
    """A picture with its caption, at most so many inches wide; `link` is where an arm leads, with {} for its number."""
    if picture.width > widest:
        picture = replace(picture, width=widest, height=picture.height * (0.4 + 0.6 * widest / picture.width))
    svg = drawn(picture, link=(lambda arm: link.replace("{}", str(arm))) if link else None, prefix=f"{name}-")
    caption = element("figcaption", {}, picture.caption) if picture.caption and captioned else None
    return element("figure", {"id": f"{name}-figure"}, svg, caption)


def message_page(heading: str, *said: str) -> Page:
    """A page that has nothing but something to say: that there is no such study, say. It is not kept up to date."""
    said_so = region("message", None, *(line("answer", each) for each in said))
    regions = {"head": head(heading), "message": said_so}
    return Page(heading, regions, "message")


def with_trouble(page: Page, said: str) -> Page:
    """Return the page with a word that the storage cannot be read now; what is shown is the last that was."""
    if not said:
        return page
    note = line("note", "What is shown here is the last that could be read. Trying again.")
    trouble = region("trouble", "The storage cannot be read", element("p", {"role": "alert"}, said), note)
    return replace(page, regions=page.regions | {"trouble": trouble})


def document(page: Page, *, events: str = "", version: str = "") -> str:
    """The page as HTML, with the URL of its `events` and the `version` of its script and style sheet."""
    if re.fullmatch(r"[A-Za-z0-9_.-]*", version) is None:
        raise ValueError(f"version must consist of letters, digits, dots and dashes; got {version!r}")
    tail = f"?v={version}" if version else ""
    title = f"{page.title} · frontguard"
    head = element(
        "head",
        {},
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", {}, title),
        element("link", {"rel": "icon", "href": "/static/icon.svg", "type": "image/svg+xml"}),
        element("link", {"rel": "stylesheet", "href": f"/static/page.css{tail}"}),
        element("link", {"rel": "alternate", "type": "application/json", "href": page.twin}) if page.twin else None,
    )
    attributes = {"data-page": page.active, "data-version": version or None, "data-events": events or None}
    skip = element("a", {"class": "skip", "href": "#main"}, "To the content")
    main = element("main", {"id": "main", "tabindex": "-1"}, *page.regions.values())
    body = element("body", attributes, skip, _bar(bool(events)), main, _foot(page))
    # An element may not be a script. This one is ours: it is named here, and nothing of it comes from anywhere else.
    # It is small and not deferred, so that a theme that was chosen is there before anything is painted.
    script = f'<script src="/static/page.js{tail}"></script>'
    opened = head.markup().removesuffix("</head>")
    return f'<!doctype html>\n<html lang="en">{opened}{script}</head>{body.markup()}</html>\n'


def _bar(live: bool) -> Element:
    """The bar above every page. What the script needs is hidden until there is one."""
    state = {"id": "connection", "role": "status", "data-state": "still"}
    return element(
        "div",
        {"class": "topbar"},
        element("a", {"href": "/", "class": "brand"}, "frontguard"),
        element("p", state, "as it was when loaded" if live else ""),
        element("button", {"type": "button", "id": "theme", "class": "quiet", "hidden": True}, "Theme: auto"),
        element("p", {"id": "news", "class": "unseen", "aria-live": "polite"}),
    )


def _foot(page: Page) -> Element:
    keys = "Keys: / filters the arms, arrows move between arms in the picture."
    twin = element("p", {}, element("a", {"href": page.twin}, "This page as JSON")) if page.twin else None
    return element("footer", {}, twin, element("p", {"id": "keys", "hidden": True}, keys))
