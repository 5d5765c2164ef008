"""What a page or a report shows of a study at one moment. Made by `studies/follow.py`; plain data, never changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from frontguard._typing import Floats, Ints
from frontguard.objectives import Objective
from frontguard.studies.settings import Settings
from frontguard.studies.snapshot import Snapshot


@dataclass(frozen=True, eq=False)
class Moment:
    """What was known after so many pulls. Arrays have a row for each arm; values are in the metrics' units."""

    pulls: int
    at: float  # seconds since the epoch of the last pull that was counted; 0 if not known
    pulls_per_arm: Ints  # (K,)
    verdict_codes: Ints  # (K,)
    medians: Floats  # (K, M)
    low: Floats  # (K, M), low ≤ high whatever the direction; infinite where nothing is known
    high: Floats  # (K, M)
    uncertain: Floats  # (M,): within what the answer held then, to be compared with the tolerances; inf if unbounded


@dataclass(frozen=True, eq=False)
class History:
    """Moments in their order, thinned out so that there are a few hundred at most; the last one is the present."""

    arms: tuple[str, ...]
    objectives: tuple[Objective, ...]
    moments: tuple[Moment, ...]


@dataclass(frozen=True, eq=False)
class Rate:
    """How many pulls were told, and how many of them failed, in spans of equal length."""

    edges: Floats  # (n + 1,) seconds since the epoch
    told: Ints  # (n,)
    failed: Ints  # (n,)

    @property
    def per_minute(self) -> Floats:
        """Pulls a minute (n,)."""
        seconds = np.diff(self.edges)
        return np.asarray(60.0 * self.told / seconds, np.float64)


@dataclass(frozen=True, eq=False)
class Measurements:
    """The pulls of one arm in the order in which they were told, the last ones if there are very many."""

    arm: int
    name: str
    objectives: tuple[Objective, ...]
    total: int  # pulls of this arm altogether
    pulls: Ints  # (n,) numbers of the pulls in the study
    values: Floats  # (n, M) as measured, NaN where a metric failed
    reasons: tuple[str, ...]  # (n,) why a pull failed; "" if it did not
    workers: tuple[str, ...]  # (n,)
    at: Floats  # (n,) seconds since the epoch


@dataclass(frozen=True, eq=False)
class Overview:
    """A study at one moment: settings, the answer so far with its failures and forecast, how it came about."""

    name: str
    settings: Settings
    snapshot: Snapshot  # `.result` is in the metrics' units, `.result.warnings` include alarms
    history: History
    rate: Rate
    failed_at: dict[tuple[str, str], float]  # seconds since the epoch when an arm last failed, by arm and reason
    version: int  # grows whenever anything that is shown has changed
    told: int  # pulls that were told: those that failed and those that wait for a decision included
    out: int  # pulls handed out and not told yet
    began: float | None  # seconds since the epoch of the first told pull
    last: float | None  # and of the last one
