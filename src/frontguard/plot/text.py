"""Text in pictures: names on one line, not too long and harmless; values, intervals and lists in sentences.

A name may be anything: 10,000 characters, several lines, control characters, halves of surrogate pairs, a hundred
accents on one letter, or an order to write whatever follows from right to left. Widths are in columns of a terminal, or
in ems: about how wide a text is in a proportional font, without a font to ask.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache

from frontguard._common.typing import Floats
from frontguard.phrases import LEAST_NAME, between, cells_of, fitting_names, joined, number, visible

SIZE = 12.0
"""Of most words in an SVG, in units of the drawing; a drawing of 7 inches is 504 units wide."""

LINE = 1.25
"""From one line of words to the next, as a multiple of their size."""

_NARROW = frozenset("iljtfrI.,:;'|!()[]{}`\"·- −")
_BROAD = frozenset("mwMW@%&—…→←↑↓∞<>=+~#^")
_LONGEST = 400  # characters of a name of which anything is shown
_STORM = re.compile("([\u0300-\u036f]{4})[\u0300-\u036f]+")  # of accents; no language needs more on a letter


@lru_cache(4096)
def _em(character: str) -> float:
    """The width of a character as a multiple of the size of the font, rather too much than too little."""
    if character in _NARROW:
        return 0.38
    if character in _BROAD:
        return 0.95
    if character.isascii():
        return 0.72 if character.isupper() else 0.61
    category = unicodedata.category(character)
    if category in ("Mn", "Me"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.3 if category == "So" else 1.05  # emoji are broader still
    return 0.5 if category in ("No", "Lm") else 0.75


def ems(text: str) -> float:
    """About how wide a text is in a proportional font, as a multiple of its size.

    >>> ems("") == 0.0 and ems("日本") > ems("ab") > ems("il")
    True
    """
    return sum(map(_em, text))


def width(text: str, size: float = SIZE) -> float:
    """The same in a font of that size."""
    return size * ems(text)


def short(name: str, most: float = 60, wide: Callable[[str], float] = cells_of) -> str:
    """A name on one line in at most so many columns; what is left out becomes an ellipsis.

    >>> short("a name\\nthat goes on and on", 12)
    'a name that…'
    >>> short("-O3 -march=native", 24)
    '-O3 -march=native'
    >>> short("\\u202eevil\\x00")
    '�evil�'
    """
    line = _one_line(name)
    if wide(line) <= most:
        return line
    kept = bisect_right(range(len(line)), most, key=lambda count: wide(line[:count] + "…")) - 1
    return line[: max(kept, 0)].rstrip(" …") + "…"


def _one_line(name: str) -> str:
    words = " ".join(_STORM.sub(r"\1", name).split())
    return visible(words if len(words) <= _LONGEST else words[:_LONGEST] + "…")


def wrapped(text: str, most: float, lines: int = 2, wide: Callable[[str], float] = cells_of) -> list[str]:
    """A text in at most so many lines of at most so many columns, broken between words; the last may be shortened.

    >>> wrapped("what the front is, how sure we are, and who was attacked", 24, 2)
    ['what the front is, how', 'sure we are, and who wa…']
    >>> wrapped("", 24)
    []
    """
    found: list[str] = []
    for word in _one_line(text).split():
        if found and (len(found) == lines or wide(f"{found[-1]} {word}") <= most):
            found[-1] += f" {word}"
        else:
            found.append(word)
    return [short(line, most, wide) for line in found]


def fitted(text: str, room: float, size: float = SIZE) -> str:
    """A text on one line that fits into the room, with an ellipsis for what does not.

    >>> fitted("a name that goes on and on", 60.0)
    'a name…'
    """
    return short(text, room / size, ems)


def broken(text: str, room: float, size: float = SIZE, most: int = 2) -> list[str]:
    """A text in at most so many lines that fit into the room, broken between words; the last is cut if need be.

    >>> broken("one two three four", 60.0)
    ['one two', 'three four']
    """
    return wrapped(text, room / size, most, ems)


def in_columns(names: Sequence[str], most: int) -> list[str]:
    """Names on one line each of so many columns, the long ones cut where they can still be told apart."""
    return fitting_names([_one_line(name) for name in names], most)


def apart(names: Sequence[str], room: float, size: float = SIZE) -> list[str]:
    """The same in a proportional font.

    >>> apart(["compile with everything O2 lto", "compile with everything O3 lto", "base"], 100.0)
    ['compile…O2 lto', 'compile…O3 lto', 'base']
    """
    lines = [_one_line(name) for name in names]
    long = [line for line in lines if width(line, size) > room]
    most = int(2.0 * room / size)  # so many fit if they are narrow
    kept = fitting_names(long, most)
    while most > LEAST_NAME and any(width(line, size) > room for line in kept):
        most -= 1
        kept = fitting_names(long, most)
    cut = dict(zip(long, kept, strict=True))
    return [fitted(cut.get(line, line), room, size) for line in lines]  # in a tiny room cut once more


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
    return between(low, high)


def with_intervals(names: Sequence[str], middle: Floats, low: Floats, high: Floats, wide: int) -> str:
    """Values of several objectives, each with its interval; names are at most so wide."""
    each = zip(names, middle.tolist(), low.tolist(), high.tolist(), strict=True)
    return "; ".join(f"{short(name, wide)} {number(value)} {interval(*ends)}" for name, value, *ends in each)


def listed(names: Sequence[str], most: int = 5, total: int | None = None) -> str:
    """Names in a sentence, the first ones if they are many; `total` if not all that there are were given.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], most=2), listed(["a"]), listed([])
    ('a, b and c', 'a, b and 2 more', 'a', 'none')
    """
    shown = in_columns(names[:most], 32)
    more = (len(names) if total is None else total) - len(shown)
    if more > 0:
        return f"{', '.join(shown)} and {more:,} more"
    return joined(shown) if shown else "none"


def sentences(*parts: str) -> str:
    """Sentences one after another, as many as there is room for; empty ones are left out.

    >>> sentences("Two arms are in.", "", "One is out.")
    'Two arms are in. One is out.'
    """
    told = ""
    for part in filter(None, parts):
        longer = f"{told} {part}".strip()
        if len(longer) > MOST_TOLD:
            break
        told = longer
    return told
