"""Words that look for a free place on a panel: beside marks, along lines."""

from __future__ import annotations

import numpy as np

from frontguard.markup import Element
from frontguard.plot.placing import placed
from frontguard.plot.svg_pen import Floats, Pen
from frontguard.plot.svg_text import LINE, SIZE, fitted, width, words

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
        clear = [_touched(boxes, _all(taken)) == 0 for taken in (pen.written, pen.marks, pen.rules, pen.lines)]
        rank = np.stack([clear[0], within, *clear[1:]], axis=1) @ (16, 8, 4, 2, 1)
        best = int(np.argmax(rank))  # the first of the best
        pen.written.append(boxes[best : best + 1])
        spot = remark[best]
        start = float(boxes[best, 2 if spot.ends else 0])
        anchor = {"anchor": "end"} if spot.ends else {}
        for row, text in enumerate(spot.lines):
            found.append(words(start, spot.y + row * _SIZE * LINE, text, size=_SIZE, **anchor))
    return found


def _touched(boxes: Floats, others: Floats) -> Floats:
    """How many of the others each box touches."""
    touching = (others[None, :, :2] < boxes[:, None, 2:]) & (others[None, :, 2:] > boxes[:, None, :2])
    return np.asarray(touching.all(axis=2).sum(axis=1), np.float64)


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
