"""Labels of a panel: each stands at its own mark, on the first of its sides that is free, or is left out.

No font is asked: widths are about what they are in most. Hints, legends and tables have every name, so that a label
without room is no loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from frontguard._common.typing import Floats
from frontguard.plot.frames import Rectangle, Sheet
from frontguard.plot.picture import Bars, Layer, Lines, Panel, Points, Rule, Spans
from frontguard.plot.text import apart, width

Side = tuple[int, int]
"""Where a label lies as seen from its point: (1, 0) is to the right of it, (0, 1) above it."""

_LINE = 1.1  # the height of a label, as a multiple of its size
_GAP = 3.0
_MOST = 120  # labels that are tried; more could not be read anyway
_LONGEST = 0.45  # of the frame's width
_AROUND: tuple[Side, ...] = ((1, 0), (-1, 0), (0, 1), (0, -1))


@dataclass(frozen=True)
class Label:
    """A text at a point of a layer: the point in the user's units, the side of it, and how far away it begins."""

    text: str
    layer: Points | Bars | Spans | Rule
    index: int  # of what it belongs to within the layer
    at: tuple[float, float]
    side: Side
    reach: float

    def box(self, sheet: Sheet, size: float) -> Rectangle:
        """The room that it takes in letters of that size."""
        wide, high = width(self.text, size), _LINE * size
        across, up = self.side
        left = float(sheet.x(self.at[0])) + across * self.reach + wide * (across - 1) / 2.0
        top = float(sheet.y(self.at[1])) - up * self.reach - high * (up + 1) / 2.0
        return left, top, left + wide, top + high


def labels(panel: Panel, sheet: Sheet, size: float) -> list[Label]:
    """The labels of a panel that cover neither marks nor one another; what lies on top comes first."""
    wanted = [sides for layer in reversed(panel.layers) for sides in _wanted(layer, sheet)][:_MOST]
    names = apart([sides[0].text for sides in wanted], _LONGEST * (sheet.frame[2] - sheet.frame[0]), size)
    taken = np.concatenate([np.empty((0, 4)), *(_marks(layer, sheet) for layer in panel.layers)])
    found = []
    for name, sides in zip(names, wanted, strict=True):
        for label in (replace(side, text=name) for side in sides):
            box = label.box(sheet, size)
            if _inside(box, sheet.frame) and not _touches(box, taken):
                found.append(label)
                taken = np.append(taken, [box], axis=0)
                break
    return found


def _wanted(layer: Layer, sheet: Sheet) -> Iterator[list[Label]]:
    """For everything in a layer that has a label and is seen, the places of that, the best first.

    They are twice: close by, and farther away, as there may be a ring around a mark.
    """
    match layer:
        case Points():
            x, y, sides, reach = layer.x, layer.y, _AROUND, layer.look.size / 2.0 + _GAP
        case Bars() | Spans():
            x, y = (layer.at, layer.high) if layer.upright else (layer.high, layer.at)
            sides = ((0, 1),) if layer.upright else ((1, 0),)
            reach = _GAP if isinstance(layer, Bars) else layer.look.size / 2.0 + _GAP  # its end may have a mark on it
        case Rule() if layer.written.strip():
            yield _of_rule(layer, sheet)
            return
        case _:
            return
    for i, text in enumerate(layer.written):
        at = float(x[i]), float(y[i])
        if text.strip() and sheet.inside(sheet.x(at[0]), sheet.y(at[1])):
            yield [Label(text, layer, i, at, side, far * reach) for far in (1.0, 2.0) for side in sides]


def _of_rule(rule: Rule, sheet: Sheet) -> list[Label]:
    """The label at the upper or right end of a line across the panel, on either side of it."""
    x, y = sheet.x, sheet.y
    if rule.upright:
        at = rule.at, y.high if y.end < y.start else y.low
    else:
        at = x.high if x.end > x.start else x.low, rule.at
    sides = ((1, -1), (-1, -1)) if rule.upright else ((-1, 1), (-1, -1))
    return [Label(rule.written, rule, 0, at, side, _GAP) for side in sides]


def _marks(layer: Layer, sheet: Sheet) -> Floats:
    """Rectangles (n, 4) that no label may cover."""
    if isinstance(layer, Points) or (isinstance(layer, Lines) and layer.marks):
        return sheet.marks(layer.x, layer.y, layer.look.size / 2.0)
    if isinstance(layer, Bars):
        bars, seen = sheet.bars(layer)
        return bars[seen]
    return np.empty((0, 4))


def _inside(box: Rectangle, frame: Rectangle) -> bool:
    return box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]


def _touches(box: Rectangle, others: Floats) -> bool:
    """Whether it overlaps one of the others (n, 4); sharing an edge is no overlap."""
    left, top, right, bottom = others.T
    return bool(((box[0] < right) & (left < box[2]) & (box[1] < bottom) & (top < box[3])).any())
