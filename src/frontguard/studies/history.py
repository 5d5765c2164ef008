"""How a study came about, recorded while its log is read: moments of its answer, and pulls over time.

Both are kept small however long a study goes on: moments are thinned out evenly in the logarithm of pulls, and spans of
time double in length whenever there are too many.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from frontguard.studies.overview import History, Moment, Rate
from frontguard.studies.replay import Replay
from frontguard.studies.settings import Settings
from frontguard.studies.snapshot import amounts

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MOST_MOMENTS = 200
"""Moments that are kept at most; fewer where arms are so many that they would fill `MOST_BYTES`."""

MOST_BYTES = 50_000_000

MOST_SPANS = 120
"""Spans of time that are kept at most."""

FIRST_SPAN = 0.25
"""Seconds of a span at first. A power of two, so that edges are exact however often it is doubled."""

_GRAIN = 2.0**-16  # seconds to which the first edge is rounded: moments of this century have so many exact digits


def moment_of(replay: Replay) -> Moment:
    """What is known now, in the metrics' units."""
    objectives = replay.settings.objectives
    result = replay.policy.result().in_units(objectives)
    low, high = result.bounds
    return Moment(
        pulls=result.pulls,
        at=replay.at,
        pulls_per_arm=result.pulls_per_arm,
        verdict_codes=result.verdict_codes,
        medians=result.medians,
        low=low,
        high=high,
        uncertain=np.array(amounts(result.certificate, objectives), np.float64),
    )


class Recorder:
    """Keeps moments of a replay: `look` after every decision, and `history` with the present at its end."""

    def __init__(self, settings: Settings, most: int | None = None) -> None:
        self._settings = settings
        arms, objectives = len(settings.arms), len(settings.objectives)
        fitting = MOST_BYTES // (8 * arms * (2 + 3 * objectives))
        self.most = max(2, min(MOST_MOMENTS, fitting) if most is None else most)  # the present included
        self._moments: list[Moment] = []

    def look(self, replay: Replay) -> None:
        """Keep this moment if enough has happened since the last one."""
        pulls = replay.told
        if pulls == 0:
            return
        kept = self._moments
        if kept and pulls > kept[-1].pulls:
            # Half the distance that moments have in the end: finer ones would be thinned out at once.
            enough = math.log(pulls / kept[0].pulls) / (2.0 * self.most)
            if math.log(pulls / kept[-1].pulls) < enough:
                return
        elif kept:
            kept.pop()  # a later decision on the same pulls
        kept.append(moment_of(replay))
        _thin(kept, self.most - 1)

    def history(self, present: Moment) -> History:
        """All moments that were kept, and the present."""
        earlier = [moment for moment in self._moments if moment.pulls < present.pulls]
        return History(self._settings.arms, self._settings.objectives, (*earlier, present))


def _thin(moments: list[Moment], most: int) -> None:
    """Leave out moments whose neighbours are nearest to each other, never the first or the last."""
    while len(moments) > max(most, 1):
        if len(moments) == 2:
            moments.pop(0)
            continue
        pulls = np.array([moment.pulls for moment in moments], np.float64)
        del moments[1 + int(np.argmin(pulls[2:] / pulls[:-2]))]


class Spans:
    """Pulls over time: counts in spans of equal length, of which there are never more than `most`.

    >>> spans = Spans()
    >>> spans.add(np.array([100.0, 100.1, 103.0]), np.array([False, True, False]))
    >>> spans.rate().told.tolist(), int(spans.rate().failed.sum())
    ([2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 1)
    """

    def __init__(self, most: int = MOST_SPANS) -> None:
        self._most = most
        self._origin = 0.0
        self._width = FIRST_SPAN
        self._counts = np.zeros((0, 2), np.int64)  # told, and failed ones among them

    def add(self, at: Floats, failed: Bools) -> None:
        """Count pulls (n,) told at these moments. Those whose moment is not known (0) are left out."""
        known = np.isfinite(at) & (at > 0.0)
        at, failed = at[known], failed[known]
        if not len(at):
            return
        self._make_room(float(at.min()), float(at.max()))
        place = np.searchsorted(self._edges(), at, side="right") - 1
        self._counts[:, 0] += np.bincount(place, minlength=len(self._counts))
        self._counts[:, 1] += np.bincount(place[failed], minlength=len(self._counts))

    def rate(self) -> Rate:
        """The counts so far."""
        return Rate(self._edges(), self._counts[:, 0].copy(), self._counts[:, 1].copy())

    def _edges(self) -> Floats:
        return np.asarray(self._origin + self._width * np.arange(len(self._counts) + 1), np.float64)

    def _make_room(self, first: float, last: float) -> None:
        """Have spans from the first moment to the last; workers' clocks differ, so that the first may come later."""
        if not len(self._counts):
            self._origin = math.floor(first / _GRAIN) * _GRAIN
        while True:
            before = max(0, math.ceil((self._origin - first) / self._width))
            after = max(0, math.floor((last - self._origin) / self._width) + 1 - len(self._counts))
            if before + len(self._counts) + after <= self._most:
                break
            self._width *= 2.0
            odd = len(self._counts) % 2
            padded = np.concatenate([self._counts, np.zeros((odd, 2), np.int64)])
            self._counts = padded.reshape(-1, 2, 2).sum(axis=1)
        self._origin -= before * self._width
        room = (np.zeros((count, 2), np.int64) for count in (before, after))
        self._counts = np.concatenate([next(room), self._counts, next(room)])
