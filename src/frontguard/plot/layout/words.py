"""The words on a panel: beside marks, rules and arrows, and within regions, as far as there is room for them.

For pencils that place words themselves. Nobody's font is asked: widths are about what they are in most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from frontguard._common.typing import Floats
from frontguard.plot.layout.frames import steps
from frontguard.plot.layout.names import LINE, apart, broken, fitted, short, width
from frontguard.plot.layout.placing import placed, touching, within, within_polygon
from frontguard.plot.layout.sheet import Rectangle, Sheet
from frontguard.plot.picture import Arrow, Bars, Boxes, Layer, Lines, Panel, Points, Region, Rule, Spans

_UNDER = 3.0  # what reaches below the baseline
_MOST = 120  # beside marks; more could not be read anyway
_SHARES = {"start": 0.0, "middle": 0.5, "end": 1.0}


@dataclass(frozen=True)
class Word:
    """Where words of a layer stand: where the baseline of their first line begins, has its middle or ends."""

    x: float
    y: float
    lines: list[str]
    layer: Layer
    anchor: Literal["start", "middle", "end"] = "start"
    index: int = 0  # of what they belong to within the layer

    def box(self, size: float) -> Rectangle:
        """The room that they take."""
        wide = max(width(text, size) for text in self.lines)
        left = self.x - _SHARES[self.anchor] * wide
        below = (len(self.lines) - 1) * size * LINE + _UNDER
        return left, self.y - size, left + wide, self.y + below


@dataclass
class _Taken:
    """Rectangles (n, 4) of what is on a panel: words must not cover marks and other words, and rather not the rest."""

    marks: Floats
    rules: Floats
    lines: Floats
    words: Floats


def written(panel: Panel, sheet: Sheet, size: float) -> list[Word]:
    """The words of all layers that have a place, in letters of that size."""
    taken = _taken(panel, sheet)
    return [
        *at_ends(panel, sheet, size, taken),
        *_within_regions(panel, sheet, size, taken),
        *_beside_lines(panel, sheet, size, taken),
        *_beside_marks(panel, sheet, size, taken),
    ]


def _taken(panel: Panel, sheet: Sheet) -> _Taken:
    nothing = np.empty((0, 4))
    marks, rules, lines = [nothing], [nothing], [nothing]
    for layer in panel.layers:
        match layer:
            case Points():
                marks.append(sheet.marks(layer.x, layer.y, layer.look.size / 2.0 + 1.0))
            case Bars():
                bars, seen = sheet.bars(layer)
                marks.append(bars[seen])
            case Boxes():
                boxes, _, seen = sheet.boxes(layer)
                lines.append(boxes[seen])
            case Lines():
                if layer.marks:
                    marks.append(sheet.marks(layer.x, layer.y, layer.look.size / 2.0))
                x, y = sheet.x(np.atleast_2d(layer.x)), sheet.y(np.atleast_2d(layer.y))
                corners = np.stack(steps(x, y) if layer.step else (x, y), axis=2)
                ends = corners[:, :-1], corners[:, 1:]  # of each piece
                lines.append(np.concatenate([np.minimum(*ends), np.maximum(*ends)], axis=2).reshape(-1, 4))
            case Rule():
                left, top, right, bottom = sheet.frame
                where, half = _place(layer, sheet), layer.look.width / 2.0 + 1.0
                across = (where - half, top, where + half, bottom)
                rules.append(np.array([across if layer.upright else (left, where - half, right, where + half)]))
    return _Taken(np.concatenate(marks), np.concatenate(rules), np.concatenate(lines), nothing)


def at_ends(panel: Panel, sheet: Sheet, size: float, taken: _Taken | None = None) -> list[Word]:
    """What is written behind bars and spans: for all of them or, where one would be cut off or lie upon another, none.

    A word that would lie upon a mark is left out alone.
    """
    taken = taken or _taken(panel, sheet)
    found: list[Word] = []
    for layer in panel.layers:
        if not isinstance(layer, Bars | Spans) or not any(layer.written):
            continue
        ends, seen = sheet.bars(layer) if isinstance(layer, Bars) else sheet.spans(layer)
        gap = 4.0 if isinstance(layer, Bars) else layer.look.size / 2.0 + 4.0  # a span's end may have a mark on it
        for i in np.flatnonzero(seen & np.isfinite(ends).all(axis=1)).tolist():
            left, top, right, bottom = ends[i].tolist()
            text = [short(layer.written[i], 30)]
            if layer.written[i] and layer.upright:
                found.append(Word((left + right) / 2.0, top - gap, text, layer, "middle", i))
            elif layer.written[i]:
                found.append(Word(right + gap, (top + bottom) / 2.0 + 0.35 * size, text, layer, "start", i))
    if not found:
        return []
    boxes = np.array([word.box(size) for word in found])
    figures = boxes + np.array([0.0, 0.2 * size, 0.0, -_UNDER])  # which do not reach below their line
    close = touching(figures, figures) > 1  # each touches itself
    left, top, right, bottom = sheet.frame
    room = left, top - _UNDER, right, bottom + _UNDER  # what reaches below a letter may leave the frame
    if close.any() or not within(boxes, room).all():
        return []
    free = touching(figures, np.concatenate([taken.marks, taken.words])) == 0
    taken.words = np.concatenate([taken.words, boxes[free]])
    return [word for word, fits in zip(found, free.tolist(), strict=True) if fits]


def _within_regions(panel: Panel, sheet: Sheet, size: float, taken: _Taken) -> Iterator[Word]:
    left, _, right, _ = sheet.frame
    for layer in panel.layers:
        if isinstance(layer, Region) and layer.written:
            corners = np.stack([sheet.x(layer.x), sheet.y(layer.y)], axis=1)
            text = fitted(layer.written, 0.7 * (right - left), size)
            room = width(text, size), 1.1 * size
            obstacles = np.concatenate([taken.marks, taken.words])
            corner = within_polygon(corners[~np.isnan(corners).any(axis=1)], room, obstacles, sheet.frame)
            if corner is not None:
                taken.words = np.append(taken.words, [(*corner, corner[0] + room[0], corner[1] + room[1])], axis=0)
                yield Word(corner[0], corner[1] + 0.85 * size, [text], layer)


def _beside_lines(panel: Panel, sheet: Sheet, size: float, taken: _Taken) -> Iterator[Word]:
    """The words of rules and arrows: at the first of their places that is free, and of those rather clear of lines."""
    for layer in panel.layers:
        spots: list[Word] = []
        if isinstance(layer, Rule) and layer.written.strip():
            spots = _beside_rule(layer, sheet, size)
        elif isinstance(layer, Arrow) and layer.written.strip():
            spots = _beside_arrow(layer, sheet, size)
        if not spots:
            continue
        boxes = np.array([spot.box(size) for spot in spots])
        clear = [touching(boxes, each) == 0 for each in (taken.words, taken.marks, taken.rules, taken.lines)]
        rank = np.stack([clear[0], within(boxes, sheet.frame), *clear[1:]], axis=1) @ (16, 8, 4, 2, 1)
        best = int(np.argmax(rank))  # the first of the best
        taken.words = np.append(taken.words, boxes[best : best + 1], axis=0)
        yield spots[best]


def _beside_rule(rule: Rule, sheet: Sheet, size: float) -> list[Word]:
    """On either side of the line, from its end inwards; an upright line's over several lines if that fits better."""
    left, top, right, bottom = sheet.frame
    where, steps_along = _place(rule, sheet), np.linspace(0.0, 1.0, 17)
    first, last = (left, right) if rule.upright else (top, bottom)
    if not first - 0.5 <= where <= last + 0.5:
        return []
    if not rule.upright:
        lines = [fitted(rule.written, 0.7 * (right - left), size)]
        along = right - 3.0 - steps_along * (right - left - width(lines[0], size) - 6.0)
        return [Word(x, y, lines, rule, "end") for x in along.tolist() for y in (where - 4.0, where + size + 1.0)]
    room = min(max(where - left, right - where) - 5.0, 0.8 * (right - left))
    whole = broken(rule.written, room, size, most=3)
    narrow = broken(rule.written, max(0.6 * width(whole[0], size), 30.0), size, most=3)
    spots = []
    for lines in (whole, narrow if not any(text.endswith("…") for text in narrow) else whole):
        further = (len(lines) - 1) * size * LINE
        for y in (top + size + steps_along * (bottom - top - size - further - 4.0)).tolist():
            spots += [Word(where + 4.0, y, lines, rule), Word(where - 4.0, y, lines, rule, "end")]
    return spots


def _place(rule: Rule, sheet: Sheet) -> float:
    return float((sheet.x if rule.upright else sheet.y)(rule.at))


def _beside_arrow(arrow: Arrow, sheet: Sheet, size: float) -> list[Word]:
    """Where the arrow comes from: behind its beginning, else over or under it."""
    left, _, right, _ = sheet.frame
    (x0, x1), (y0, y1) = (ends.tolist() for ends in sheet.within(sheet.x(arrow.x), sheet.y(arrow.y)))
    length = float(np.hypot(x1 - x0, y1 - y0))
    if not length > 0.0:
        return []
    across, down = (x1 - x0) / length, (y1 - y0) / length
    lines = [fitted(arrow.written, 0.4 * (right - left), size)]
    wide = width(lines[0], size)
    behind = x0 - wide / 2.0 - across * (wide / 2.0 + 4.0), y0 + 0.35 * size - down * size
    inwards = min(max(x0 - wide / 2.0, left + 2.0), right - wide - 2.0)
    return [
        Word(behind[0] + wide, behind[1], lines, arrow, "end") if across > 0.3 else Word(*behind, lines, arrow),
        Word(inwards, y0 - 6.0, lines, arrow),
        Word(inwards, y0 + size + 4.0, lines, arrow),
    ]


def _beside_marks(panel: Panel, sheet: Sheet, size: float, taken: _Taken) -> Iterator[Word]:
    left, _, right, _ = sheet.frame
    found = [
        (layer, i, x, y, text)
        for layer in panel.layers
        if isinstance(layer, Points) and layer.written
        for i, (x, y, text) in enumerate(zip(sheet.x(layer.x), sheet.y(layer.y), layer.written, strict=True))
        if text.strip() and sheet.inside(x, y)
    ][:_MOST]
    names = apart([text for *_, text in found], 0.45 * (right - left), size)
    wanted = [(*each[:4], name) for each, name in zip(found, names, strict=True)]
    widths = [width(text, size) for text in names]
    corners = placed(
        [(x, y) for _, _, x, y, _ in wanted],
        [(wide, 1.1 * size) for wide in widths],
        np.concatenate([taken.marks, taken.words]),
        sheet.frame,
        rather_not=np.concatenate([taken.lines, taken.rules]),
    )
    for (layer, i, at, _, text), wide, corner in zip(wanted, widths, corners, strict=True):
        if corner is not None:
            # A word to the left of its mark ends there, however wide it really is; one above it is centred.
            side: Literal["start", "middle", "end"] = "middle" if corner[0] < at else "start"
            side = "end" if corner[0] + wide <= at else side
            yield Word(corner[0] + _SHARES[side] * wide, corner[1] + 0.85 * size, [text], layer, side, i)
