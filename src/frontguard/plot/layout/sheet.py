"""A panel where it is drawn: its frame and scales, and what of its boxes and bars is seen there.

Lengths are in points, and y grows downwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Bools, Floats
from frontguard.plot.layout.frames import Frame
from frontguard.plot.layout.scales import Scale
from frontguard.plot.picture import Bars, Boxes, Panel

Rectangle: TypeAlias = tuple[float, float, float, float]
"""Smallest x, smallest y, largest x, largest y."""


_BEYOND = 4.0  # of the frame, where what goes on is cut off


@dataclass(frozen=True)
class Sheet:
    """A panel's frame, and the scales that lead to it."""

    frame: Rectangle
    x: Scale
    y: Scale

    def inside(self, x: Floats, y: Floats) -> Bools:
        """Which positions are seen; rounding must not lose one on the edge."""
        left, top, right, bottom = self.frame
        return np.asarray((x >= left - 0.5) & (x <= right + 0.5) & (y >= top - 0.5) & (y <= bottom + 0.5))

    def within(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Positions cut off at the frame."""
        left, top, right, bottom = self.frame
        return np.clip(x, left, right), np.clip(y, top, bottom)

    def marks(self, x: npt.ArrayLike, y: npt.ArrayLike, half: float) -> Floats:
        """Rectangles (n, 4) around the values that are seen, which reach so far to each side."""
        at = np.stack([np.ravel(self.x(x)), np.ravel(self.y(y))], axis=1)
        at = at[self.inside(at[:, 0], at[:, 1])]
        return np.concatenate([at - half, at + half], axis=1)

    def boxes(self, layer: Boxes) -> tuple[Floats, Bools]:
        """Rectangles (n, 4) cut off a little beyond the frame, where their edges are not seen, and which are (n,)."""
        whole = self._rectangles((layer.x_low, layer.x_high), (layer.y_low, layer.y_high))
        # What is known exactly has a box without width or height, and browsers draw nothing of such a rectangle.
        missing = np.maximum(0.0, 1.0 - (whole[:, 2:] - whole[:, :2])) / 2.0
        whole = np.concatenate([whole[:, :2] - missing, whole[:, 2:] + missing], axis=1)
        # Of a box that is open all around nothing is known: it would only darken the panel.
        beyond = np.concatenate([whole[:, :2] < self.frame[:2], whole[:, 2:] > self.frame[2:]], axis=1).all(axis=1)
        return self._cut(whole, _BEYOND), self._meets(whole) & ~beyond

    def bars(self, layer: Bars) -> tuple[Floats, Bools]:
        """Rectangles (n, 4) cut off at the frame, and which of them are seen (n,)."""
        half = layer.thickness / 2.0
        sides, ends = (layer.at - half, layer.at + half), (np.zeros(len(layer.at)), layer.length)
        whole = self._rectangles(sides, ends) if layer.upright else self._rectangles(ends, sides)
        return self._cut(whole), self._meets(whole)

    def _rectangles(self, x: tuple[Floats, Floats], y: tuple[Floats, Floats]) -> Floats:
        (x0, x1), (y0, y1) = np.sort(self.x(np.stack(x)), axis=0), np.sort(self.y(np.stack(y)), axis=0)
        return np.stack([x0, y0, x1, y1], axis=1)

    def _cut(self, whole: Floats, beyond: float = 0.0) -> Floats:
        left, top, right, bottom = self.frame
        return np.clip(whole, np.tile((left, top), 2) - beyond, np.tile((right, bottom), 2) + beyond)

    def _meets(self, whole: Floats) -> Bools:
        return np.asarray((whole[:, 2:] >= self.frame[:2]).all(axis=1) & (whole[:, :2] <= self.frame[2:]).all(axis=1))


def sheet_of(panel: Panel, shown: Frame, frame: Rectangle) -> Sheet:
    """A panel that shows such values within such a frame; y grows upwards there, unless it is read from the top."""
    left, top, right, bottom = frame
    across = (right, left) if panel.x.reverse else (left, right)
    down = (top, bottom) if panel.y.reverse else (bottom, top)
    x = Scale(*shown[0], *across, log=panel.x.scale == "log")
    return Sheet(frame, x, Scale(*shown[1], *down, log=panel.y.scale == "log"))
