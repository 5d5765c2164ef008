"""Lines that go on beyond the edge of a panel: they run out in dashes there, by the lengths of strokes and gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from frontguard.plot.svg_text import number

Pieces: TypeAlias = list[tuple[float, bool]]
"""Lengths along a line, each with whether it is drawn."""

_TAIL: Pieces = [(3.0, False), (4.0, True), (3.0, False), (2.0, True), (3.0, False), (1.0, True)]
_TAIL_LENGTH = sum(length for length, _ in _TAIL)


def line(length: float, opens_first: bool, opens_last: bool) -> Pieces:
    """A line of which one end or both go on."""
    ends = opens_first + opens_last
    if not ends:
        return [(length, True)]
    if length < 2.0 * _TAIL_LENGTH * ends:
        dashes = max(1, round(length / 5.0))
        return [(length / dashes * share, drawn) for _ in range(dashes) for share, drawn in ((0.6, True), (0.4, False))]
    return [
        *(_TAIL[::-1] if opens_first else []),
        (length - _TAIL_LENGTH * ends, True),
        *(_TAIL if opens_last else []),
    ]


def rectangle(width: float, height: float, left: bool, top: bool, right: bool, bottom: bool) -> Pieces:
    """The outline of a rectangle, from its upper left corner to the right and around; open edges are not drawn."""
    return [
        *([(width, False)] if top else line(width, left, right)),
        *([(height, False)] if right else line(height, top, bottom)),
        *([(width, False)] if bottom else line(width, right, left)),
        *([(height, False)] if left else line(height, bottom, top)),
    ]


def dashes(pieces: Pieces) -> str:
    """Strokes and gaps in turn, a stroke first, as SVG wants them.

    >>> dashes([(10.0, True), (5.0, True), (4.0, False), (2.0, True)])
    '15 4 2 0'
    >>> dashes([(10.0, False), (5.0, True)])
    '0 10 5 0'
    """
    merged: list[float] = []
    for length, drawn in pieces:
        if (len(merged) % 2 == 1) == drawn and merged:
            merged[-1] += length
        elif drawn or merged:
            merged.append(length)
        else:
            merged += [0.0, length]
    if len(merged) % 2 == 1:
        merged.append(0.0)
    return spaced(merged)


def spaced(values: Sequence[float]) -> str:
    """Numbers with spaces between."""
    return " ".join(map(number, values))
