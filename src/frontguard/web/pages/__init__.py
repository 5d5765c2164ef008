"""The pages of the live view, made of elements: a page is a function of what a study is at the moment.

The first answer to a visitor holds all of a page, and it is complete without a script. The script only keeps it up to
date: it is sent the regions that changed, as plain values, and patches what it shows. `data-place` on a region says
where it stands among the others, `data-key` on rows which is which.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from frontguard.errors import BadInput
from frontguard.markup import Element, element
from frontguard.phrases import one_line
from frontguard.studies.overview import Measurements, Overview
from frontguard.web.pages import arm as page_arm
from frontguard.web.pages import study as page_study
from frontguard.web.pages.list import Unread, reading_region, studies_region
from frontguard.web.pages.options import Options
from frontguard.web.pages.parts import (
    STATUSES,
    Page,
    arm_url,
    called,
    nothing,
    region,
    status_chip,
    status_of,
    study_url,
)
from frontguard.web.pages.table import table_region

__all__ = [
    "Options",
    "Page",
    "Unread",
    "arm_page",
    "document",
    "message_page",
    "reading_page",
    "studies_page",
    "study_page",
    "with_trouble",
]


def studies_page(overviews: Sequence[Overview | Unread], numbers: Sequence[int] | None = None) -> Page:
    """All studies of the storage. They are numbered from 1 in their order unless `numbers` says otherwise."""
    numbers = range(1, len(overviews) + 1) if numbers is None else numbers
    regions = {
        "head": region("head", None, element("h1", {}, "Studies"), kind="header"),
        "trouble": nothing("trouble"),
        "studies": studies_region(overviews, numbers),
    }
    return Page("Studies", regions, "studies", "/studies.json")


def study_page(overview: Overview, number: int, options: Options | None = None) -> Page:
    """A study: the answer, how far it is, pictures, the arms, what failed, how it was made."""
    options = (options or Options()).within(len(overview.settings.objectives))
    regions = {
        "head": page_study.head_region(overview),
        "trouble": nothing("trouble"),
        "answer": page_study.answer_region(overview),
        "warnings": page_study.warnings_region(overview),
        "facts": page_study.facts_region(overview),
        "picture": page_study.picture_region(overview, number, options),
        "certainty": page_study.certainty_region(overview),
        "pulls": page_study.pulls_region(overview, number, options),
        "rate": page_study.rate_region(overview),
        "table": table_region(overview, number, options),
        "failures": page_study.failures_region(overview, number, options),
        "reproduce": page_study.reproduce_region(overview),
    }
    title = f"{one_line(overview.name)}: {STATUSES[status_of(overview)]}"
    return Page(title, regions, "study", f"/study/{number}.json{options.query()}")


def arm_page(
    overview: Overview, number: int, arm: int, measurements: Measurements, options: Options | None = None
) -> Page:
    """An arm of a study: its verdict and why, how its box shrank, what was measured."""
    names = overview.snapshot.result.arms
    if not 0 <= arm < len(names):
        raise BadInput(f"arm must be a number from 0 to {len(names) - 1}; got {arm}")
    options = (options or Options()).within(len(overview.settings.objectives))
    regions = {
        "head": page_arm.head_region(overview, number, arm, options),
        "trouble": nothing("trouble"),
        "verdict": page_arm.verdict_region(overview, number, arm, options),
        "boxes": page_arm.boxes_region(overview, arm),
        "values": page_arm.values_region(overview, measurements),
        "failures": page_arm.failures_region(overview, measurements),
        "latest": page_arm.latest_region(measurements),
    }
    title = f"{one_line(names[arm])}: {overview.snapshot.result.verdict(arm).word}"
    return Page(title, regions, "arm", f"{arm_url(number, arm)}.json{options.query()}")


def reading_page(name: str, number: int, told_so_far: int, told_in_all: int) -> Page:
    """A study whose log is being read for the first time."""
    back = element("nav", {"aria-label": "Where this is"}, element("a", {"href": "/"}, "All studies"))
    line = element("p", {"class": "about"}, status_chip("reading"))
    regions = {
        "head": region("head", None, back, element("h1", {}, called(name)), line, kind="header"),
        "trouble": nothing("trouble"),
        "reading": reading_region(told_so_far, told_in_all),
    }
    return Page(f"{one_line(name)}: {STATUSES['reading']}", regions, "reading", f"{study_url(number)}.json")


def message_page(heading: str, said: str) -> Page:
    """A page that has nothing but something to say: that there is no such study, say. It is not kept up to date."""
    back = element("nav", {"aria-label": "Where this is"}, element("a", {"href": "/"}, "All studies"))
    regions = {
        "head": region("head", None, back, element("h1", {}, heading), kind="header"),
        "message": region("message", None, element("p", {"class": "answer"}, said)),
    }
    return Page(heading, regions, "message")


def with_trouble(page: Page, said: str) -> Page:
    """The same page with a word that the storage cannot be read at the moment; what is shown is the last that was."""
    if not said:
        return page
    words = element("p", {"role": "alert"}, said)
    note = element("p", {"class": "note"}, "What is shown here is the last that could be read. Trying again.")
    trouble = region("trouble", "The storage cannot be read", words, note)
    return replace(page, regions=page.regions | {"trouble": trouble})


def document(page: Page, *, events: str = "", version: str = "") -> str:
    """The page as a whole HTML document, with its script and style sheet linked.

    `events` is the URL of the events that keep it up to date, and `version` that of script and style sheet.
    """
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
    body = element("body", attributes, _skip(), _bar(bool(events)), _main(page), _foot(page))
    # An element may not be a script. This one is ours: it is named here, and nothing of it comes from anywhere else.
    # It is small and not deferred, so that a theme that was chosen is there before anything is painted.
    script = f'<script src="/static/page.js{tail}"></script>'
    opened = head.markup().removesuffix("</head>")
    return f'<!doctype html>\n<html lang="en">{opened}{script}</head>{body.markup()}</html>\n'


def _skip() -> Element:
    return element("a", {"class": "skip", "href": "#main"}, "To the content")


def _bar(live: bool) -> Element:
    """The bar above every page. What the script needs is hidden until there is one."""
    theme = element("button", {"type": "button", "id": "theme", "class": "quiet", "hidden": True}, "Theme: auto")
    connection = element(
        "p",
        {"id": "connection", "role": "status", "data-state": "still"},
        "as it was when loaded" if live else "",
    )
    return element(
        "div",
        {"class": "topbar"},
        element("a", {"href": "/", "class": "brand"}, "frontguard"),
        connection,
        theme,
        element("p", {"id": "news", "class": "unseen", "aria-live": "polite"}),
    )


def _main(page: Page) -> Element:
    return element("main", {"id": "main", "tabindex": "-1"}, *page.regions.values())


def _foot(page: Page) -> Element:
    keys = element(
        "p", {"id": "keys", "hidden": True}, "Keys: / filters the arms, arrows move between arms in the picture."
    )
    twin = element("p", {}, element("a", {"href": page.twin}, "This page as JSON")) if page.twin else None
    return element("footer", {}, twin, keys)
