"""Names as they are written in pictures: on one line, not too long, and never in charge of the text around them.

A name may be anything: 10,000 characters, several lines, control characters, halves of surrogate pairs, a hundred
accents on one letter, or an order to write whatever follows from right to left.
"""

from __future__ import annotations

import unicodedata

_DIRECTING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Embeddings, overrides and isolates: they would reach beyond the name. What is right to left by itself stays so."""

_READ = 20_000  # characters of a name; nobody reads on
_ACCENTS = 4  # on one letter; no language that is written needs more


def columns(text: str) -> int:
    """How wide a text is in columns of a terminal: two for wide characters, none for accents.

    >>> columns("front"), columns("日本"), columns("e\\u0301")
    (5, 4, 1)
    """
    return sum(_columns(character) for character in text)


def short(name: str, most: int = 24) -> str:
    """A name on one line in at most so many columns; what is left out becomes an ellipsis.

    >>> short("a name\\nthat goes on and on", 12)
    'a name that…'
    >>> short("-O3 -march=native", 24)
    '-O3 -march=native'
    >>> short("\\u202eevil\\x00")
    '�evil�'
    """
    kept: list[str] = []
    width, accents = 0, 0
    fits_with_ellipsis = 0  # how many of the characters kept leave room for one
    for character in " ".join(name[:_READ].split()) + ("" if len(name) <= _READ else "…" * (most + 1)):
        step = _columns(character)
        accents = accents + 1 if step == 0 else 0
        if accents > _ACCENTS:
            continue
        width += step
        if width > most:
            return "".join(kept[:fits_with_ellipsis]).rstrip(" …\u200d") + "…"
        kept.append(_harmless(character))
        if width <= most - 1:
            fits_with_ellipsis = len(kept)
    return "".join(kept)


def wrapped(text: str, most: int, lines: int = 2) -> list[str]:
    """A text in at most so many lines of at most so many columns, broken between words; the last may be shortened.

    >>> wrapped("what the front is, how sure we are, and who was attacked", 24, 2)
    ['what the front is, how', 'sure we are, and who wa…']
    >>> wrapped("", 24)
    []
    """
    words = short(text, most * lines * 2).split(" ")
    answer: list[str] = []
    while words and len(answer) < lines:
        line = words.pop(0)
        while words and columns(f"{line} {words[0]}") <= most and len(answer) < lines:
            line = f"{line} {words.pop(0)}"
        answer.append(line)
    if words:
        answer[-1] = f"{answer[-1]}…" if columns(answer[-1]) < most else f"{answer[-1]} {words[0]}"
    return [short(line, most) for line in answer if line]


def _harmless(character: str) -> str:
    if character in _DIRECTING or unicodedata.category(character) in ("Cc", "Cs", "Cn"):
        return "�"
    return character


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
