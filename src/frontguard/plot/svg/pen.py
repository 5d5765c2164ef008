"""What is needed to draw on one panel: its frame and scales, and names for what will be moved later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from frontguard.markup import Child, Element, element
from frontguard.phrases import shortened
from frontguard.plot.layout.sheet import Sheet
from frontguard.plot.svg.shapes import HINT, hint, number


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


@dataclass(frozen=True)
class Pen:
    """A panel on its sheet, names for what is drawn there, links by key if they are wanted, ids of hatchings."""

    sheet: Sheet
    names: Names
    link: Callable[[int], str] | None
    hatch: Callable[[str], str]  # the id of the hatching in a colour

    def clipped(self, *children: Child | None, room: float = 1.0) -> Element:
        """Children that are seen within the frame only: an inner drawing, which needs no name as a clip path would.

        `room` is for half of the strokes along the edge.
        """
        left, top, right, bottom = self.sheet.frame
        x, y, width, height = map(number, (left - room, top - room, right - left + 2 * room, bottom - top + 2 * room))
        attributes = {"x": x, "y": y, "width": width, "height": height, "viewBox": f"{x} {y} {width} {height}"}
        # It is no image of its own for those who listen.
        return element("svg", attributes | {"role": "presentation"}, *children)

    def named(self, kind: str, key: int | None, said: str, attributes: dict[str, object], *children: Child) -> Element:
        """A thing with its name and hint: a link where things have keys and links are wanted, else a group."""
        names = {"class": kind} | self.names.of(kind, key)
        if key is not None and self.link is not None:
            linked = {"href": self.link(int(key)), "aria-label": shortened(said, HINT) or f"{kind} {key}"}
            return element("a", names | linked | attributes, *children, hint(said))
        return element("g", names | attributes, *children, hint(said))


def at(values: tuple[str, ...], index: int) -> str:
    """The text of one of many, where there may be none."""
    return values[index] if index < len(values) else ""


def key_at(keys: tuple[int, ...], index: int) -> int | None:
    """The key of one of many, where there may be none."""
    return int(keys[index]) if index < len(keys) else None
