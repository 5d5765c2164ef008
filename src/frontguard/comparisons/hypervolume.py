"""The hypervolume of a front: how much of the space beyond a reference point it dominates, exactly.

Of a result, two are known: that of the lower ends of the intervals that are returned, which the true front has at
least, and that of the upper ends of all, which it has at most (docs/theory.md, (x)). Units are those of the metrics.

Larger is better in every coordinate of points. Two coordinates take a sort, more the recursion of While, Bradstreet and
Barone ("A fast way of calculating exact hypervolumes", 2012): what a point adds to those after it is its own interval
less what these cover of that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from frontguard._common.checks import real_number
from frontguard._common.typing import Bools, Floats
from frontguard.comparisons.effects import Comparable, known_ends
from frontguard.errors import BadInput
from frontguard.phrases import did_you_mean, quoted, shown

MOST: Final = {3: 2000, 4: 600, 5: 250, 6: 120}
"""Points that no other beats up to which it is computed, by the number of coordinates. It takes a second or two."""

MARGIN = 0.1
"""How far beyond the worst estimate the reference lies unless given, as a share of the estimates' range."""

_FURTHER = 60  # the same for more coordinates
_FILTERED = 20_000  # points among which those that others beat are found


@dataclass(frozen=True)
class Hypervolume:
    """The volume that the front dominates beyond `reference`: at least, about, at most; None if it takes too long."""

    reference: tuple[tuple[str, float], ...]  # metric → value
    certain: float | None
    estimate: float | None
    possible: float | None
    confidence: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold; what is not bounded or not known becomes None."""
        volumes = {"certain": self.certain, "estimate": self.estimate, "possible": self.possible}
        known = {name: None if each is None or math.isinf(each) else each for name, each in volumes.items()}
        return {"reference": dict(self.reference), **known}


def front_volume(
    intervals: Comparable, listed: Bools, contending: Bools, reference: Mapping[str, float] | None = None
) -> Hypervolume:
    """The hypervolumes of a result; by default beyond a tenth of the range below the worst, so that the ends count."""
    signs = np.array([-1.0 if metric.minimized else 1.0 for metric in intervals.metrics])

    def upward(inner: Floats) -> Floats:
        return signs * np.stack([metric.outward(inner[:, d]) for d, metric in enumerate(intervals.metrics)], axis=1)

    centre = upward(intervals.estimates)
    beyond = _reference(intervals, centre[contending], signs, reference or {})
    lower, upper = known_ends(intervals.lower, intervals.upper)
    low, high = upward(lower[listed]), upward(upper[contending])
    there = listed & np.isfinite(centre).all(axis=1)
    named = tuple((metric.name, float(value)) for metric, value in zip(intervals.metrics, signs * beyond, strict=True))
    certain, estimate, possible = (hypervolume(points, beyond) for points in (low, centre[there], high))
    return Hypervolume(named, certain, estimate, possible, intervals.confidence)


def _reference(intervals: Comparable, centre: Floats, signs: Floats, given: Mapping[str, float]) -> Floats:
    names = [metric.name for metric in intervals.metrics]
    for name in given:
        if name not in names:
            hint = did_you_mean(name, names) if isinstance(name, str) else ""
            raise BadInput(f"reference must be of the metrics {quoted(names)}{hint}; got {shown(name)}")
    found = np.zeros(len(names))
    for d, name in enumerate(names):
        known = centre[np.isfinite(centre[:, d]), d]
        if len(known):
            worst, best = float(known.min()), float(known.max())
            found[d] = worst - MARGIN * ((best - worst) or abs(worst) or 1.0)
        if name in given:
            found[d] = signs[d] * real_number(given[name], f"the reference of {shown(name)}")
    return found


def hypervolume(points: Floats, reference: Floats) -> float | None:
    """The volume of all that lies above the reference (M,) and below one of the points (n, M); None beyond `MOST`.

    >>> hypervolume(np.array([[1.0, 3.0], [2.0, 1.0]]), np.zeros(2))
    4.0
    >>> hypervolume(np.array([[1.0, 3.0, 1.0], [2.0, 1.0, 1.0], [1.0, 1.0, 2.0]]), np.zeros(3))
    5.0
    """
    intervals = points - reference
    intervals = intervals[(intervals > 0.0).all(axis=1)]
    if not len(intervals):
        return 0.0
    if np.isinf(intervals).any():
        return math.inf
    M = intervals.shape[1]
    if M > 2 and (len(intervals) > _FILTERED or int(standing_out(intervals).sum()) > MOST.get(M, _FURTHER)):
        return None
    return _volume(intervals)


def standing_out(points: Floats) -> Bools:
    """Which points (n,) no other one is at least as good as in every coordinate; of equal ones the first."""
    order = np.lexsort(tuple(-points.T))
    kept = np.zeros(len(points), np.bool_)
    front = np.empty_like(points)
    count = 0
    for place in order.tolist():  # whoever beats a point comes before it
        if not (front[:count] >= points[place]).all(axis=1).any():
            front[count] = points[place]
            kept[place] = True
            count += 1
    return kept


def _volume(intervals: Floats) -> float:
    """Return the volume of intervals from the origin, by their last coordinate: each less what those after it cover."""
    if intervals.shape[1] == 1:
        return float(intervals.max(initial=0.0))
    if intervals.shape[1] == 2:
        return _area(intervals)
    intervals = intervals[standing_out(intervals)]
    intervals = intervals[np.argsort(intervals[:, -1], kind="stable")]
    total = 0.0
    for place, own in enumerate(intervals):
        covered = _volume(np.minimum(intervals[place + 1 :, :-1], own[:-1]))
        total += float(own[-1]) * (float(own[:-1].prod()) - covered)
    return total


def _area(intervals: Floats) -> float:
    order = np.lexsort((-intervals[:, 1], -intervals[:, 0]))  # the widest first
    x, y = intervals[order, 0], intervals[order, 1]
    highest = np.maximum.accumulate(y)
    rises = np.diff(highest, prepend=0.0)
    return float((x * rises).sum())
