"""A page as a whole HTML document: what stands around its regions, and its script and style sheet."""

from __future__ import annotations

import re

from frontguard.markup import Element, element
from frontguard.web.pages.parts import Page


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
