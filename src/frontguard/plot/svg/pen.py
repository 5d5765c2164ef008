"""What is needed to draw on one panel: its frame and scales, names for what will be moved later, words to be placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from frontguard._typing import Floats
from frontguard.markup import Child, Element, element
from frontguard.plot.layout.placing import Rectangle, placed, touching
from frontguard.plot.layout.scales import Scale
from frontguard.plot.svg.text import HINT, LINE, SIZE, fitted, hint, number, width, words

_UNDER = 3.0  # what reaches below the baseline


@dataclass(frozen=True)
class Word:
    """A word that wants to stand beside a mark."""

    x: float
    y: float
    text: str
    names: dict[str, str]


@dataclass(frozen=True)
class Spot:
    """Where words may stand: their left end, the baseline of the first line, the lines into which they are broken.

    `ends` says that they belong to what is on their right.
    """

    x: float
    y: float
    lines: list[str]
    ends: bool = False

    def box(self, size: float) -> Rectangle:
        """The room that they take there."""
        wide = max(width(text, size) for text in self.lines)
        below = (len(self.lines) - 1) * size * LINE + _UNDER
        return self.x, self.y - size, self.x + wide, self.y + below


Remark: TypeAlias = list[Spot]
"""Words that belong to a line, by the places where they may stand, the best first."""


@dataclass
class Names:
    """Ids that stay the same from one drawing to the next, and are never given twice in one.

    With a prefix they are the document's ids; without one there may be other drawings that have the same, so they are
    only hooks for whoever looks at this drawing.
    """

    prefix: str
    panel: str = ""
    given: Counter[str] = field(default_factory=Counter)

    def of(self, kind: str, key: int | None) -> dict[str, str]:
        """The attribute that names a thing, for one with a key."""
        if key is None:
            return {}
        name = f"{self.panel}{kind}-{int(key)}"
        self.given[name] += 1
        if self.given[name] > 1:
            name = f"{name}-{self.given[name]}"
        return {"id": self.prefix + name} if self.prefix else {"data-key": name}


@dataclass
class Pen:
    """A panel's frame (left, top, right, bottom), its scales, and what was drawn that words must not cover."""

    frame: Rectangle
    x: Scale
    y: Scale
    names: Names
    link: Callable[[int], str] | None
    hatch: Callable[[str], str]  # the id of the hatching in a colour
    words: list[Word] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    marks: list[Floats] = field(default_factory=list)  # rectangles (n, 4)
    written: list[Floats] = field(default_factory=list)  # rectangles of words that have their place
    rules: list[Floats] = field(default_factory=list)  # rectangles around lines across the panel
    lines: list[Floats] = field(default_factory=list)  # rectangles of what words should rather not cover

    def clipped(self, *children: Child | None, room: float = 1.0) -> Element:
        """Children that are seen within the frame only: an inner drawing, which needs no name as a clip path would.

        `room` is for half of the strokes along the edge.
        """
        left, top, right, bottom = self.frame
        x, y, width, height = map(number, (left - room, top - room, right - left + 2 * room, bottom - top + 2 * room))
        attributes = {"x": x, "y": y, "width": width, "height": height, "viewBox": f"{x} {y} {width} {height}"}
        # It is no image of its own for those who listen.
        return element("svg", attributes | {"role": "presentation"}, *children)

    def within(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Positions cut off at the frame."""
        left, top, right, bottom = self.frame
        return np.clip(x, left, right), np.clip(y, top, bottom)

    def named(self, kind: str, key: int | None, said: str, attributes: dict[str, object], *children: Child) -> Element:
        """A thing with its name and hint: a link where things have keys and links are wanted, else a group."""
        names = {"class": kind} | self.names.of(kind, key)
        if key is not None and self.link is not None:
            label = said if len(said) <= HINT else said[: HINT - 1] + "…"
            linked = {"href": self.link(int(key)), "aria-label": label or f"{kind} {key}"}
            return element("a", names | linked | attributes, *children, hint(said))
        return element("g", names | attributes, *children, hint(said))


def at(values: tuple[str, ...], index: int) -> str:
    """The text of one of many, where there may be none."""
    return values[index] if index < len(values) else ""


def key_at(keys: tuple[int, ...], index: int) -> int | None:
    """The key of one of many, where there may be none."""
    return int(keys[index]) if index < len(keys) else None


_SIZE = SIZE - 1.0
_MOST = 120  # beside marks; more could not be read anyway


def placed_remarks(pen: Pen) -> list[Element]:
    """The words of lines: at the first of their places that is free, and of those rather clear of other lines.

    Words are in the colour of text, not in that of their line: no colour can be read on white and on black.
    """
    left, top, right, bottom = pen.frame
    found = []
    for remark in pen.remarks:
        boxes = np.array([spot.box(_SIZE) for spot in remark])
        within = (boxes[:, :2] >= (left, top)).all(axis=1) & (boxes[:, 2:] <= (right, bottom)).all(axis=1)
        clear = [touching(boxes, _all(taken)) == 0 for taken in (pen.written, pen.marks, pen.rules, pen.lines)]
        rank = np.stack([clear[0], within, *clear[1:]], axis=1) @ (16, 8, 4, 2, 1)
        best = int(np.argmax(rank))  # the first of the best
        pen.written.append(boxes[best : best + 1])
        spot = remark[best]
        start = float(boxes[best, 2 if spot.ends else 0])
        anchor = {"anchor": "end"} if spot.ends else {}
        for row, text in enumerate(spot.lines):
            found.append(words(start, spot.y + row * _SIZE * LINE, text, size=_SIZE, **anchor))
    return found


def placed_words(pen: Pen) -> list[Element]:
    """The words beside marks for which there is room."""
    left, _, right, _ = pen.frame
    wanted = [word for word in pen.words if word.text.strip()][:_MOST]
    texts = [fitted(word.text, 0.45 * (right - left), _SIZE) for word in wanted]
    widths = [width(text, _SIZE) for text in texts]
    where = placed(
        [(word.x, word.y) for word in wanted],
        [(wide, _SIZE * 1.1) for wide in widths],
        [(a, b, c, d) for a, b, c, d in _all([*pen.marks, *pen.written]).tolist()],
        pen.frame,
        rather_not=[(a, b, c, d) for a, b, c, d in _all([*pen.lines, *pen.rules]).tolist()],
    )
    found = []
    for word, text, wide, corner in zip(wanted, texts, widths, where, strict=True):
        if corner is not None:
            # A word to the left of its mark ends there, however wide it really is; one above it is centred.
            share, anchor = 0.0, {}
            if corner[0] + wide <= word.x:
                share, anchor = 1.0, {"anchor": "end"}
            elif corner[0] < word.x:
                share, anchor = 0.5, {"anchor": "middle"}
            x, y = corner[0] + share * wide, corner[1] + 0.85 * _SIZE
            found.append(words(x, y, text, size=_SIZE, **anchor, **word.names))
    return found


def _all(rectangles: list[Floats]) -> Floats:
    return np.concatenate([np.empty((0, 4)), *rectangles])
