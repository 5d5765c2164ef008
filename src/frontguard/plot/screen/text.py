"""Texts for plotly, which takes `<b>` for bold, `&lt;` for <, and `$x$` for TeX: here they are nothing but texts."""

from __future__ import annotations

from html import escape

from frontguard.plot.layout.names import short, wrapped


def plain(text: str, most: int) -> str:
    """A text on one line that plotly shows as it is, in at most so many columns.

    >>> plain("<b>a & b</b> $x$", 40)
    '&lt;b&gt;a &amp; b&lt;/b&gt; &#36;x&#36;'
    """
    return _escaped(short(text, most))


def lines(text: str, most: int, at_most: int) -> str:
    """The same over several lines."""
    return "<br>".join(_escaped(line) for line in wrapped(text, most, at_most))


def hint(text: str) -> str:
    """What is shown under the pointer: lines as they are given, each of them broken and shortened if need be."""
    return "<br>".join(lines(line, 60, 4) for line in text.split("\n")[:12])


def _escaped(text: str) -> str:
    # plotly looks for TeX before it reads entities: a dollar sign that is one is none to MathJax.
    return escape(text, quote=False).replace("$", "&#36;")
