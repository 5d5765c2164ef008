"""What every answer of the live page has in common: its headers, and the plain pages that say what went wrong."""

from __future__ import annotations

from collections.abc import Iterable

from frontguard.markup import Element, element

__all__ = ["HEADERS", "PLAIN", "plain_page", "secured"]

Headers = list[tuple[bytes, bytes]]

PLAIN = "text/html; charset=utf-8"

HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
"""On every answer: nothing runs that is not ours, nobody frames us, reads us from elsewhere, or learns our address."""

_OURS = frozenset(name for name, _ in HEADERS) | {b"server"}


def secured(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers of an answer with `HEADERS`; not to be stored unless the answer says otherwise."""
    kept = [(name.lower(), value) for name, value in headers if name.lower() not in _OURS]
    if all(name != b"cache-control" for name, _ in kept):
        kept.append((b"cache-control", b"no-store"))
    return [*kept, *HEADERS]


def plain_page(title: str, *words: str, link: tuple[str, str] | None = None) -> str:
    """A page that says something in a few sentences, with a link below if there is somewhere to go.

    >>> "a &lt;b&gt;" in plain_page("Not found", "There is no a <b>.", link=("/", "All studies"))
    True
    """
    onward: Element | None = None
    if link is not None:
        onward = element("p", None, element("a", {"href": link[0]}, link[1]))
    page = element(
        "html",
        {"lang": "en"},
        element(
            "head",
            None,
            element("meta", {"charset": "utf-8"}),
            element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
            element("title", None, f"{title} · frontguard"),
            element("link", {"rel": "stylesheet", "href": "/static/page.css"}),
            element("link", {"rel": "icon", "href": "/static/icon.svg"}),
        ),
        element(
            "body",
            {"class": "plain"},
            element("main", None, element("h1", None, title), *(element("p", None, each) for each in words), onward),
        ),
    )
    return f"<!doctype html>\n{page.markup()}\n"
