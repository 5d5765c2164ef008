"""Elements of pages and pictures: a tree that becomes HTML or SVG text, or plain values for a page that patches itself.

Names of arms, metrics and studies come from anywhere. Here a text is always data: it is escaped when the tree becomes
markup, and a page puts it into a text node. There is no way to put raw markup into a tree.

>>> element("p", {"class": "answer"}, "a < b & c").markup()
'<p class="answer">a &lt; b &amp; c</p>'
>>> element("img", {"src": "x", "onerror": "boom()"})
Traceback (most recent call last):
...
ValueError: an element may not have the attribute 'onerror'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any, TypeAlias

from frontguard.phrases import visible

Child: TypeAlias = "Element | str"

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
_VOID = frozenset(("br", "col", "hr", "img", "input", "link", "meta"))
_SHAPES = frozenset(("circle", "ellipse", "line", "path", "polygon", "polyline", "rect", "stop"))
_KEEPS_FIRST_LINE = frozenset(("pre", "textarea"))
_REFUSED = frozenset(("script", "style", "iframe", "frame", "object", "embed", "base", "foreignobject")) | frozenset(
    ("set", "animate", "animatemotion", "animatetransform")
)  # these could turn a link into another one
_LINKS = frozenset(("href", "src", "action", "formaction", "xlink:href", "poster", "srcset", "ping", "background"))
_KEPT = "\t\n\r\xa0\u3000\u200c\u200d"  # white space, and what joins letters of Persian and Hindi, and emoji
_PAINTS = frozenset(
    ("fill", "stroke", "filter", "mask", "clip-path", "cursor", "marker-start", "marker-mid", "marker-end")
)
_OWN_PAINT = re.compile(r"url\(#[\w.:-]+\)")


@dataclass(frozen=True)
class Element:
    """A tag with attributes and children, which are elements or texts. Made by `element`, which checks it."""

    tag: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    children: tuple[Child, ...] = ()

    def markup(self) -> str:
        """HTML or SVG text; if all of it is SVG, it is well-formed XML too."""
        pieces: list[str] = []
        self._write(pieces)
        return "".join(pieces)

    def _write(self, pieces: list[str]) -> None:
        pieces.append(f"<{self.tag}")
        pieces.extend(f' {name}="{_in_attribute(value)}"' for name, value in self.attributes.items())
        if self.tag in _SHAPES and not self.children:
            pieces.append("/>")
            return
        pieces.append(">")
        if self.tag in _VOID:
            return
        if self.tag in _KEEPS_FIRST_LINE and self.text().startswith("\n"):
            pieces.append("\n")  # parsers of HTML drop one
        for child in self.children:
            if isinstance(child, Element):
                child._write(pieces)
            else:
                pieces.append(_in_text(child))
        pieces.append(f"</{self.tag}>")

    def plain(self) -> list[Any]:
        """[tag, attributes, [children]] for JSON: what a page builds and patches itself from."""
        return [
            self.tag,
            {name: clean(value) for name, value in self.attributes.items()},
            [child.plain() if isinstance(child, Element) else clean(child) for child in self.children],
        ]

    def text(self) -> str:
        """All its text, one after another."""
        return "".join(child.text() if isinstance(child, Element) else child for child in self.children)


def element(tag: str, attributes: Mapping[str, object] | None = None, *children: Child | None) -> Element:
    """An element. Attributes and children that are None are left out; True means present, False absent.

    Refused: tags that carry code or other documents, attributes that are handlers or inline styles, and links to
    anything but this site, a place on the page, https, or a file beside it.
    """
    if _NAME.fullmatch(tag) is None or tag.lower() in _REFUSED:
        raise ValueError(f"an element may not be a {tag!r}")
    kept = {}
    for name, value in (attributes or {}).items():
        if value is None or value is False:
            continue
        if not _allowed(name):
            raise ValueError(f"an element may not have the attribute {name!r}")
        text = "" if value is True else str(value)
        if name.lower() in _LINKS and not _harmless(text):
            raise ValueError(f"{name} must lead to a place on this site or to https; got {text!r}")
        if name.lower() in _PAINTS and "(" in text and _OWN_PAINT.fullmatch(text) is None:
            raise ValueError(f"{name} may refer to url(#…) on its own page only; got {text!r}")
        kept[name] = text
    return Element(tag, kept, tuple(child for child in children if child is not None))


def clean(text: str) -> str:
    """A text as documents have it: white space stays, all else that is not visible becomes �.

    >>> clean("bell\\x07 and half a pair \\ud800, but tab\\t stays")
    'bell� and half a pair �, but tab\\t stays'
    """
    return visible(text, _KEPT)


def _in_text(text: str) -> str:
    written = escape(clean(text), quote=False)
    return written.replace("\r", "&#13;") if "\r" in written else written


def _in_attribute(text: str) -> str:
    written = escape(clean(text))
    if written.isprintable():
        return written
    return written.replace("\r", "&#13;").replace("\n", "&#10;").replace("\t", "&#9;")


@cache
def _allowed(name: str) -> bool:
    bare = name.lower()
    named = re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]*", name) is not None
    return named and bare != "style" and not bare.startswith("on")


def _harmless(link: str) -> bool:
    # Browsers drop tabs and line ends from links and read \\ as /, so that "/<tab>/elsewhere" would leave the site.
    if re.search(r"[\x00-\x1f\x7f\\]", link):
        return False
    if re.match(r"(?:https://|#|\?|/(?!/)|\./)", link):
        return True
    return re.fullmatch(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9]+)?(?:[?#].*)?", link) is not None
