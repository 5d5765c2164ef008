"""Where words beside marks go, so that they cover neither each other nor the marks; a word without room is dropped.

It works on plain rectangles in pixels (or points), whichever way y grows, for every pencil alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Bools, Floats
from frontguard.plot.layout.frames import Frame
from frontguard.plot.layout.names import columns, short
from frontguard.plot.layout.sheet import Rectangle, sheet_of
from frontguard.plot.picture import Panel, Points

# Where a word's middle lies as seen from its mark, the best first: beside it, over and under it, then the corners.
_SIDES = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)], np.float64)


def placed(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    obstacles: npt.ArrayLike,
    frame: Rectangle,
    *,
    gap: float = 6.0,
    rather_not: npt.ArrayLike = (),
) -> list[tuple[float, float] | None]:
    """The corner with the smallest x and y for each word, or None where there is no room; the first come first.

    `points` are what the words belong to, `sizes` their widths and heights, `obstacles` rectangles that they must not
    touch (the marks: also their own), `frame` what they must stay within, `rather_not` what they avoid if they can.
    A word lies `gap` from the point it belongs to, or twice as far, on one of eight sides.

    >>> placed([(50, 50), (52, 50)], [(30, 10), (30, 10)], [], (0, 0, 100, 100))
    [(56.0, 45.0), (16.0, 45.0)]
    >>> placed([(50, 50)], [(200, 10)], [], (0, 0, 100, 100))
    [None]
    """
    hard = np.asarray(obstacles, np.float64).reshape(-1, 4)
    soft = np.asarray(rather_not, np.float64).reshape(-1, 4)
    answer: list[tuple[float, float] | None] = []
    for point, size in zip(points, sizes, strict=True):
        corners = _corners(np.asarray(point, np.float64), np.asarray(size, np.float64), gap)
        candidates = np.concatenate([corners, corners + np.asarray(size, np.float64)], axis=1)
        free = within(candidates, frame) & (touching(candidates, hard) == 0)
        if not free.any():
            answer.append(None)
            continue
        disliked = np.where(free, touching(candidates, soft), np.iinfo(np.int64).max)
        best = int(disliked.argmin())  # the first of the least: sides are in the order of preference
        answer.append((float(corners[best, 0]), float(corners[best, 1])))
        hard = np.concatenate([hard, candidates[best : best + 1]])
    return answer


def within_polygon(
    corners: Floats, size: tuple[float, float], obstacles: npt.ArrayLike, frame: Rectangle
) -> tuple[float, float] | None:
    """Where inside a polygon (n, 2) a word fits, off what is in the way: as near as can be to a corner of the frame.

    None if it fits nowhere.

    >>> square = np.array([(0.0, 0.0), (100.0, 0.0), (100.0, 100.0), (0.0, 100.0)])
    >>> x, y = within_polygon(square, (20.0, 10.0), [(0.0, 0.0, 60.0, 100.0)], (0.0, 0.0, 100.0, 100.0))
    >>> x >= 60.0
    True
    >>> within_polygon(square, (200.0, 10.0), [], (0.0, 0.0, 100.0, 100.0)) is None
    True
    """
    if len(corners) < 3:
        return None
    low, high, room = np.array(frame[:2]), np.array(frame[2:]), np.array(size)
    ways = np.linspace(low + 6.0, high - 6.0 - room, 13).T
    lowest = np.stack(np.meshgrid(*ways, indexing="ij"), axis=2).reshape(-1, 2)
    candidates = np.concatenate([lowest - 2.0, lowest + room + 2.0], axis=1)
    fits = within(candidates, frame) & (touching(candidates, np.asarray(obstacles).reshape(-1, 4)) == 0)
    words = np.concatenate([lowest, lowest + room], axis=1)
    for x, y in ((0, 1), (2, 1), (2, 3), (0, 3)):  # a polygon with a dent may hold the outer corners and not the inner
        fits &= contains(candidates[:, [x, y]], corners) & contains(words[:, [x, y]], corners)
    if not fits.any():
        return None
    away = np.abs(lowest + room / 2.0 - (low + high) / 2.0) / (high - low)
    best = int(np.where(fits, away.sum(axis=1), -1.0).argmax())
    return float(lowest[best, 0]), float(lowest[best, 1])


def readable(layer: Points, panel: Panel, frame: Frame) -> list[str]:
    """What is written beside marks where nothing is moved: "" for a name that would lie upon one before it.

    >>> from frontguard.plot.looks import PLAIN
    >>> from frontguard.plot.picture import Axis
    >>> layer = Points(np.array([0.5, 0.55, 0.5]), np.array([0.5, 0.5, 0.9]), PLAIN, (), ("first", "second", "third"))
    >>> readable(layer, Panel(Axis(), Axis(), ()), ((0.0, 1.0), (0.0, 1.0)))
    ['first', '', 'third']
    """
    sheet = sheet_of(panel, frame, (0.0, 0.0, 1.0, 1.0))
    x, y = sheet.x(layer.x), sheet.y(layer.y)
    kept: list[int] = []
    for i, name in enumerate(layer.written):
        wide = 0.015 * columns(short(name, 30))  # as shares of an ordinary panel
        if name and all(abs(y[i] - y[k]) > 0.05 or abs(x[i] - x[k]) > wide for k in kept):
            kept.append(i)
    return [name if i in kept else "" for i, name in enumerate(layer.written)]


def contains(points: Floats, corners: Floats) -> Bools:
    """Which points lie inside a polygon: those from which a ray crosses its outline an odd number of times."""
    x, y = points[:, 0, None], points[:, 1, None]
    (x0, y0), (x1, y1) = corners.T, np.roll(corners, -1, axis=0).T
    between = (y0 > y) != (y1 > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossed = between & (x < x0 + (y - y0) / (y1 - y0) * (x1 - x0))
    return np.asarray(crossed.sum(axis=1) % 2 == 1)


def _corners(point: Floats, size: Floats, gap: float) -> Floats:
    """The smallest corners (16, 2) of the rectangles around a point; those across a corner may come closer."""
    away = np.where((_SIDES != 0).all(axis=1, keepdims=True), 0.6 * gap, gap)
    middle = np.concatenate([point + _SIDES * (size / 2.0 + far * away) for far in (1.0, 2.0)])
    return np.asarray(middle - size / 2.0)


def within(candidates: Floats, frame: Rectangle) -> Bools:
    """Which candidates lie inside the frame."""
    inside = (candidates[:, :2] >= frame[:2]) & (candidates[:, 2:] <= frame[2:])
    return np.asarray(inside.all(axis=1))


def touching(candidates: Floats, others: Floats) -> npt.NDArray[np.int64]:
    """How many of the others each candidate overlaps; sharing an edge is no overlap, NaN overlaps nothing."""
    overlap = (candidates[:, None, :2] < others[None, :, 2:]) & (others[None, :, :2] < candidates[:, None, 2:])
    return np.asarray(overlap.all(axis=2).sum(axis=1), np.int64)
