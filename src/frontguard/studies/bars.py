"""Intervals as characters on a common scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from frontguard.objectives import Objective
from frontguard.results import Result, Verdict

Floats = npt.NDArray[np.float64]

_FARTHEST = 6.0  # how many times as long a scale may get for the sake of arms that are out


@dataclass(frozen=True)
class Strokes:
    """What bars are drawn with."""

    dash: str = "─"
    centre: str = "●"
    left: str = "├"
    right: str = "┤"
    beyond_left: str = "◂"
    beyond_right: str = "▸"
    full: str = "█"
    empty: str = "░"
    cut: str = "…"


FINE = Strokes()
ASCII = Strokes("-", "o", "|", "|", "<", ">", "#", ".", "~")


@dataclass(frozen=True, eq=False)
class Axis:
    """Estimates and intervals of an objective along an axis on which the metric grows to the right.

    It is drawn from `start` to `end`.

    Positions are inner values, turned round for a metric that is minimised: logarithms where its tolerance is relative.
    """

    objective: Objective
    low: Floats  # (K,)
    centre: Floats  # (K,)
    high: Floats  # (K,)
    start: float
    end: float

    @classmethod
    def of(cls, result: Result, d: int, aside: frozenset[str] = frozenset()) -> Axis:
        """The d-th objective of a result in units.

        The scale holds all estimates, unless they lie so far apart that those of the arms that are not out would fall
        together; then these.
        """
        objective = result.metrics[d]
        low, centre, high = result.lower[:, d], result.estimates[:, d], result.upper[:, d]
        if objective.minimized:
            low, centre, high = -high, -centre, -low
        usable = np.isfinite(centre) & np.array([arm not in aside for arm in result.arms])
        start, end = _scale(low[usable], centre[usable], high[usable])
        kept = usable & (result.verdict_codes != Verdict.OUT)
        if kept.any():
            nearer = _scale(low[kept], centre[kept], high[kept])
            if end - start > _FARTHEST * (nearer[1] - nearer[0]):
                start, end = nearer
        return cls(objective, low, centre, high, start, end)

    def ends(self) -> tuple[float, float]:
        """The ends of the scale in the metric's units."""
        sign = -1.0 if self.objective.minimized else 1.0
        first, last = self.objective.outward([sign * self.start, sign * self.end]).tolist()
        return first, last

    def bar(self, arm: int, width: int, strokes: Strokes = FINE) -> str:
        """The interval and the estimate of an arm; blank if it has none."""
        ends = float(self.low[arm]), float(self.centre[arm]), float(self.high[arm])
        if not math.isfinite(ends[1]):
            return " " * width
        return bar(*ends, on=(self.start, self.end), width=width, strokes=strokes)


def bar(low: float, centre: float, high: float, *, on: tuple[float, float], width: int, strokes: Strokes = FINE) -> str:
    """An interval and the estimate in it on the scale `on`; an arrow where it goes on beyond the scale.

    >>> bar(1.0, 2.0, 4.0, on=(0.0, 10.0), width=21)
    '  ├─●───┤            '
    >>> bar(-math.inf, 2.0, 3.0, on=(0.0, 10.0), width=11)
    '◂─●┤       '
    >>> bar(5.0, 20.0, math.inf, on=(0.0, 10.0), width=11)
    '     ├────▸'
    """
    start, end = on
    if not start < end or width < 1:
        return " " * width

    def place(value: float) -> int:
        share = (min(max(value, start), end) - start) / (end - start)
        return round(share * (width - 1))

    cells = [" "] * width
    first, last = place(low), place(high)
    cells[first : last + 1] = strokes.dash * (last - first + 1)
    cells[first], cells[last] = strokes.left, strokes.right
    if low < start:
        cells[first] = strokes.beyond_left
    if high > end:
        cells[last] = strokes.beyond_right
    if start <= centre <= end:
        cells[place(centre)] = strokes.centre
    return "".join(cells)


def _scale(low: Floats, centre: Floats, high: Floats) -> tuple[float, float]:
    """From the least estimate to the greatest, with the intervals as far as these do not dwarf that."""
    if not len(centre):
        return 0.0, 0.0
    start, end = float(centre.min()), float(centre.max())
    ends = np.concatenate([low, high])
    ends = ends[np.isfinite(ends)]
    room = end - start
    if room == 0.0:
        room = float(np.abs(ends - start).max(initial=0.0)) or 0.1 * abs(start) or 1.0
        start, end = start - room / 2, end + room / 2  # an estimate alone stands in the middle
    near = ends[(ends >= start - room) & (ends <= end + room)]
    return float(near.min(initial=start)), float(near.max(initial=end))
