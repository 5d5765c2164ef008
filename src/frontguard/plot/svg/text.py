"""Words in an SVG: how wide they are about, without a font to ask; where they must be cut or broken into lines."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from frontguard.markup import Element, element
from frontguard.plot.layout.names import short

SIZE = 12.0
"""Of most words, in units of the drawing; a drawing of 7 inches is 504 units wide."""

LINE = 1.25
"""From one line of words to the next, as a multiple of their size."""

BOLD = 0.9
"""The share of a room that words in bold may take by the measure of ordinary ones."""

HINT = 1000
"""Characters of a hint under the pointer; a name may have more."""

_NARROW = frozenset("iljtfrI.,:;'|!()[]{}`\"·- −")
_BROAD = frozenset("mwMW@%&—…→←↑↓∞<>=+~#^")


def number(value: float) -> str:
    """A coordinate, with one decimal: a tenth of a unit is less than a pixel.

    >>> number(12.04), number(-0.01), number(3.25)
    ('12', '0', '3.2')
    """
    text = f"{value:.1f}"
    if text.endswith(".0"):
        text = text[:-2]
    return "0" if text == "-0" else text


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
    if category in ("Mn", "Me", "Cf") or unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.3 if category == "So" else 1.05  # emoji are broader still
    return 0.5 if category in ("No", "Lm") else 0.75


def width(text: str, size: float = SIZE) -> float:
    """About how wide a text is.

    >>> width("") == 0.0 and width("日本") > width("ab") > width("il")
    True
    """
    return size * sum(map(_em, text))


def fitted(text: str, room: float, size: float = SIZE) -> str:
    """A text on one line that fits into the room, with an ellipsis for what does not.

    >>> fitted("a name that goes on and on", 60.0)
    'a name…'
    """
    cut = short(text, max(2, int(room / (0.36 * size))))
    if width(cut, size) <= room:
        return cut
    kept, used = "", width("…", size)
    for character in cut.removesuffix("…"):
        used += size * _em(character)
        if used > room:
            break
        kept += character
    return kept.rstrip(" \u200d") + "…"


def broken(text: str, room: float, size: float = SIZE, most: int = 2) -> list[str]:
    """A text in at most so many lines that fit into the room, broken between words; the last is cut if need be.

    >>> broken("one two three four", 60.0)
    ['one two', 'three four']
    """
    words = short(text, max(2, most * int(room / (0.36 * size)))).split(" ")
    lines: list[str] = []
    line = ""
    for index, word in enumerate(words):
        longer = f"{line} {word}" if line else word
        if width(longer, size) <= room or not line:
            line = longer
        elif len(lines) == most - 1:
            line = " ".join([line, *words[index:]])
            break
        else:
            lines.append(line)
            line = word
    return [fitted(each, room, size) for each in (*lines, line) if each]


def words(x: float, y: float, text: str, *, size: float = SIZE, anchor: str = "", **attributes: object) -> Element:
    """A text element with its baseline at y."""
    given: dict[str, object] = {name.replace("_", "-"): value for name, value in attributes.items()}
    return element(
        "text",
        {"x": number(x), "y": number(y)}
        | ({"font-size": number(size)} if size != SIZE else {})
        | ({"text-anchor": anchor} if anchor else {})
        | given,
        text,
    )


def hint(text: str) -> Element | None:
    """What is said when one points at something."""
    if not text:
        return None
    return element("title", {}, text if len(text) <= HINT else text[: HINT - 1] + "…")
