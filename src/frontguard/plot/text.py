"""Text in pictures: names on one line, not too long and harmless; values, intervals and lists in sentences.

A name may be anything: 10,000 characters, several lines, control characters, halves of surrogate pairs, a hundred
accents on one letter, or an order to write whatever follows from right to left. Widths are in columns of a terminal, or
in ems: about how wide a text is in a proportional font, without a font to ask.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

from frontguard._common.typing import Floats
from frontguard.phrases import LEAST_NAME, fitting_names, joined, number

SIZE = 12.0
"""Of most words in an SVG, in units of the drawing; a drawing of 7 inches is 504 units wide."""

LINE = 1.25
"""From one line of words to the next, as a multiple of their size."""

_DIRECTING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Embeddings, overrides and isolates: they would reach beyond the name. What is right to left by itself stays so."""

_NARROW = frozenset("iljtfrI.,:;'|!()[]{}`\"·- −")
_BROAD = frozenset("mwMW@%&—…→←↑↓∞<>=+~#^")
_LONGEST = 400  # columns of a name of which anything is shown
_READ = 20_000  # characters of a name; nobody reads on
_ACCENTS = 4  # on one letter; no language that is written needs more


@lru_cache(4096)
def _columns(character: str) -> float:
    if _has_no_width(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


@lru_cache(4096)
def _em(character: str) -> float:
    """The width of a character as a multiple of the size of the font, rather too much than too little."""
    if character in _NARROW:
        return 0.38
    if character in _BROAD:
        return 0.95
    if character.isascii():
        return 0.72 if character.isupper() else 0.61
    if _has_no_width(character):
        return 0.0
    category = unicodedata.category(character)
    if unicodedata.east_asian_width(character) in "WF":
        return 1.3 if category == "So" else 1.05  # emoji are broader still
    return 0.5 if category in ("No", "Lm") else 0.75


def _has_no_width(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me", "Cf") or bool(unicodedata.combining(character))


def columns(text: str) -> int:
    """How wide a text is in columns of a terminal: two for wide characters, none for accents.

    >>> columns("front"), columns("日本"), columns("e\\u0301")
    (5, 4, 1)
    """
    return int(sum(map(_columns, text)))


def width(text: str, size: float = SIZE) -> float:
    """About how wide a text is in a proportional font of that size.

    >>> width("") == 0.0 and width("日本") > width("ab") > width("il")
    True
    """
    return size * sum(map(_em, text))


def short(name: str, most: float = 60, wide: Callable[[str], float] = _columns) -> str:
    """A name on one line in at most so many columns; what is left out becomes an ellipsis.

    >>> short("a name\\nthat goes on and on", 12)
    'a name that…'
    >>> short("-O3 -march=native", 24)
    '-O3 -march=native'
    >>> short("\\u202eevil\\x00")
    '�evil�'
    """
    kept: list[str] = []
    used, accents = 0.0, 0
    fits_with_ellipsis = 0  # how many of the characters kept leave room for one
    for character in " ".join(name[:_READ].split()) + ("" if len(name) <= _READ else "…" * (2 * int(most) + 2)):
        character = _harmless(character)
        step = wide(character)
        accents = accents + 1 if step == 0 else 0
        if accents > _ACCENTS:
            continue
        used += step
        if used > most:
            return "".join(kept[:fits_with_ellipsis]).rstrip(" …\u200d") + "…"
        kept.append(character)
        if used <= most - wide("…"):
            fits_with_ellipsis = len(kept)
    return "".join(kept)


def wrapped(text: str, most: float, lines: int = 2, wide: Callable[[str], float] = _columns) -> list[str]:
    """A text in at most so many lines of at most so many columns, broken between words; the last may be shortened.

    >>> wrapped("what the front is, how sure we are, and who was attacked", 24, 2)
    ['what the front is, how', 'sure we are, and who wa…']
    >>> wrapped("", 24)
    []
    """
    words = short(text, most * lines * 2, wide).split(" ")
    answer: list[str] = []
    while words and len(answer) < lines - 1:
        line = words.pop(0)
        while words and sum(map(wide, f"{line} {words[0]}")) <= most:
            line = f"{line} {words.pop(0)}"
        answer.append(line)
    return [short(line, most, wide) for line in (*answer, " ".join(words)) if line]


def fitted(text: str, room: float, size: float = SIZE) -> str:
    """A text on one line that fits into the room, with an ellipsis for what does not.

    >>> fitted("a name that goes on and on", 60.0)
    'a name…'
    """
    return short(text, room / size, _em)


def apart(names: Sequence[str], room: float, size: float = SIZE) -> list[str]:
    """Names on one line each that fit into the room, the long ones cut where they can still be told apart.

    >>> apart(["compile with everything O2 lto", "compile with everything O3 lto", "base"], 100.0)
    ['compile…O2 lto', 'compile…O3 lto', 'base']
    """
    return list(_told_apart(tuple(names), room, size))


@lru_cache(64)  # a live page draws the same names twice a second
def _told_apart(names: tuple[str, ...], room: float, size: float) -> tuple[str, ...]:
    lines = tuple(short(name, _LONGEST) for name in names)
    long = [line for line in lines if width(line, size) > room]
    if not long:
        return lines
    most = int(room / max(width(line, size) / columns(line) for line in long)) + 1
    kept = fitting_names(long, most)
    while most > LEAST_NAME and any(width(line, size) > room for line in kept):
        most -= 1
        kept = fitting_names(long, most)
    cut = dict(zip(long, kept, strict=True))
    return tuple(fitted(cut.get(line, line), room, size) for line in lines)  # in a tiny room cut once more


def in_columns(names: Sequence[str], most: int) -> list[str]:
    """The same in columns."""
    return fitting_names([short(name, _LONGEST) for name in names], most)


def broken(text: str, room: float, size: float = SIZE, most: int = 2) -> list[str]:
    """A text in at most so many lines that fit into the room, broken between words; the last is cut if need be.

    >>> broken("one two three four", 60.0)
    ['one two', 'three four']
    """
    return wrapped(text, room / size, most, _em)


@lru_cache(4096)
def _harmless(character: str) -> str:
    if character in _DIRECTING or unicodedata.category(character) in ("Cc", "Cs", "Cn"):
        return "�"
    return character


# Sentences of descriptions, captions and hints ---------------------------------------------------------------------

MOST_TOLD = 600
"""Characters that a description has at most: it is read aloud."""


def interval(low: float, high: float) -> str:
    """An interval in words; a side that nothing is known of is infinite.

    >>> interval(1.2, 1.31), interval(-math.inf, 3.0), interval(-math.inf, math.inf)
    ('[1.2, 1.31]', '[−∞, 3]', 'not bounded yet')
    """
    if not math.isfinite(low) and not math.isfinite(high):
        return "not bounded yet"
    return f"[{number(low)}, {number(high)}]"


def with_intervals(names: Sequence[str], middle: Floats, low: Floats, high: Floats, wide: int) -> str:
    """Values of several objectives, each with its interval; names are at most so wide."""
    each = zip(names, middle.tolist(), low.tolist(), high.tolist(), strict=True)
    return "; ".join(f"{short(name, wide)} {number(value)} {interval(*ends)}" for name, value, *ends in each)


def listed(names: Sequence[str], most: int = 5, wide: int = 32, total: int | None = None) -> str:
    """Names in a sentence, the first ones if they are many; `total` if not all that there are were given.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], most=2), listed(["a"]), listed([])
    ('a, b and c', 'a, b and 2 more', 'a', 'none')
    """
    shown = in_columns(names[:most], wide)
    more = (len(names) if total is None else total) - len(shown)
    if more > 0:
        return f"{', '.join(shown)} and {more:,} more"
    return joined(shown) if shown else "none"


def sentences(*parts: str, most: int = MOST_TOLD) -> str:
    """Sentences one after another, as many as there is room for; empty ones are left out.

    >>> sentences("Two arms are in.", "", "One is out.", most=30)
    'Two arms are in. One is out.'
    >>> sentences("Two arms are in.", "One is out.", most=20)
    'Two arms are in.'
    """
    told = ""
    for part in filter(None, parts):
        longer = f"{told} {part}".strip()
        if len(longer) > most:
            break
        told = longer
    return told


def captioned(*parts: str) -> str:
    """All of the sentences, empty ones left out."""
    return " ".join(filter(None, parts))
