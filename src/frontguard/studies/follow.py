"""Following a study from outside: its log is read as it grows, and never written to.

A follower does what a worker does to know the answer (replay, watch for alarms), and keeps what people want to see
beside it. It reads the log in pieces, so that no transaction lasts and no writer waits; and what it costs to bring an
overview up to date grows with the arms and with what is new, not with all that was told before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from frontguard.results import Verdict
from frontguard.studies.alarms import Watch
from frontguard.studies.contract import Storage
from frontguard.studies.forecast import forecast
from frontguard.studies.history import Recorder, Spans, moment_of
from frontguard.studies.measured import Measured
from frontguard.studies.overview import Measurements, Overview
from frontguard.studies.replay import NOT_USABLE, Replay, inner_values
from frontguard.studies.settings import Settings
from frontguard.studies.snapshot import Snapshot
from frontguard.studies.study import alarms_of, result_of

__all__ = ["Follower"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]

PIECE = 20_000
"""Told pulls that are read at a time."""

RECENT = 1000
"""Pulls, of the last minute at most, by which the present rate is judged."""

PAIRS = 50_000
"""Pairs of arms that are not out up to which the forecast is made anew at every look; with more of them, ..."""

STEP = 1.01
"""... only when so many times the pulls were told."""


class Follower:
    """One study in a storage, which may have been opened read-only.

    May be used from several threads: each call waits for a piece of the log at most. Settings that are amended
    meanwhile (tolerances, budget) make it read the log anew.

    >>> from frontguard import Objective, Prescient, Study
    >>> study = Study(["a", "b"], [Objective("speed", tolerance=0.1)], Prescient(0.1))
    >>> follower = Follower(study.storage, "study")
    >>> study.tell_many([(pull, [1.0 if pull.arm == "a" else 2.0]) for pull in study.ask(30)])
    [True, ...
    >>> overview = follower.catch_up()
    >>> overview.told, overview.snapshot.result.pulls, overview.out
    (30, 30, 0)
    >>> follower.measurements(1, most=2).values.tolist()
    [[2.0], [2.0]]
    >>> follower.catch_up() is overview  # as long as nothing is new
    True
    """

    def __init__(self, storage: Storage, name: str) -> None:
        self.name = name
        self._storage = storage
        self._lock = threading.RLock()
        self._overview: Overview | None = None
        self._version = 0
        self._begin(storage.settings(name))

    def _begin(self, text: str) -> None:
        """Forget the log, and take these settings."""
        settings = Settings.from_json(text)
        self._text = text
        self._replay = Replay(settings)
        self._watch = Watch(settings.arms, settings.objectives, settings.threat, spread=settings.spread)
        self._recorder = Recorder(settings)
        self._spans = Spans()
        self._measured = Measured(settings)
        self._failed_at: dict[tuple[str, str], float] = {}
        self._began: float | None = None
        self._last: float | None = None
        self._shown: tuple[int, int, int] | None = None  # plans, told pulls and leases of the last overview
        self._foreseen: tuple[int, int | None] = (-1, None)  # after so many pulls, so many were left

    @property
    def overview(self) -> Overview | None:
        """The last overview; None before the first."""
        return self._overview

    def catch_up(self, progress: Progress | None = None) -> Overview:
        """Read what is new, and say how things stand; the same overview again as long as nothing changes.

        `progress` is called after every piece that was read: told pulls so far, and in all.
        """
        with self._lock:
            text = self._storage.settings(self.name)
            plans, told = self._storage.size(self.name)
            # Fewer than were read: somebody has put another log in the place of this one.
            if text != self._text or told < self._replay.read or plans < self._replay.plans:
                self._begin(text)
        reading = True
        while reading:
            with self._lock:
                before = self._replay.plans, self._replay.read
                # Behind: a plan was made while we read, and counts pulls that were told after those that we have.
                if plans > self._replay.plans or told > self._replay.read or self._replay.behind:
                    self._read_piece()
                so_far = self._replay.read
                # A log that promises what does not come is not waited for: the next call looks again.
                reading = (so_far < told or self._replay.behind) and before != (self._replay.plans, so_far)
            if progress is not None:
                progress(so_far, max(told, so_far))
        with self._lock:
            return self._look()

    def measurements(self, arm: int, most: int = 2000) -> Measurements:
        """The last `most` pulls of an arm (a position) that were read."""
        with self._lock:
            return self._measured.of(arm, most)

    def values(self, most: int) -> tuple[Ints, Floats]:
        """Arms (n,), by position, and values (n, M) of the first `most` pulls that were read; NaN where one failed."""
        with self._lock:
            return self._measured.values(most)

    # In the lock ------------------------------------------------------------------------------------------------------

    def _read_piece(self) -> None:
        replay = self._replay
        plans, told = replay.catch_up(self._storage, self.name, most=PIECE, on_decision=self._recorder.look)
        for plan in plans:
            self._watch.plan(plan.arms)
        if not len(told):
            return
        inner = inner_values(replay.settings.objectives, told.values)
        self._watch.tell(told.pulls, inner, told.reasons)
        failed = np.isnan(inner)
        any_failed = np.asarray(failed.any(axis=1), np.bool_)
        reasons = tuple(
            (reason or NOT_USABLE) if bad else "" for reason, bad in zip(told.reasons, any_failed.tolist(), strict=True)
        )
        values = np.where(failed, np.nan, told.values)
        arms = replay.arms_of(told.pulls)
        self._measured.add(arms, told.pulls, values, reasons, told.workers, told.at)
        for row in np.flatnonzero(any_failed).tolist():
            self._failed_at[replay.settings.arms[arms[row]], reasons[row]] = float(told.at[row])
        self._spans.add(told.at, any_failed)
        known = told.at[told.at > 0.0]
        if len(known):
            first, last = float(known.min()), float(known.max())
            self._began = first if self._began is None else min(first, self._began)
            self._last = last if self._last is None else max(last, self._last)

    def _look(self) -> Overview:
        replay = self._replay
        out = len(self._storage.leases(self.name))
        now = (replay.plans, replay.read, out)
        if self._overview is not None and now == self._shown:
            return self._overview
        state = replay.with_everything()
        self._version += 1
        self._overview = Overview(
            name=self.name,
            settings=replay.settings,
            snapshot=self._snapshot(state, out),
            history=self._recorder.history(moment_of(state)),
            rate=self._spans.rate(),
            failed_at=dict(self._failed_at),
            version=self._version,
            told=replay.read,
            out=out,
            began=self._began,
            last=self._last,
        )
        self._shown = now
        return self._overview

    def _snapshot(self, state: Replay, out: int) -> Snapshot:
        settings, policy = state.settings, state.policy
        names = settings.arms
        return Snapshot(
            study=self.name,
            result=result_of(state, alarms_of(self._replay, self._watch)),
            failures={name: count for name, count in zip(names, state.failures, strict=True) if count},
            aside=frozenset(names[arm] for arm in policy.aside.tolist()),
            reachable=policy.reachable().in_units(settings.objectives) if state.stopped else None,
            pulls_left=self._pulls_left(state),
            most_pulls=settings.budget.pulls,
            seconds=0.0 if self._began is None or self._last is None else self._last - self._began,
            rate=self._rate(),
            busy=out,
        )

    def _pulls_left(self, state: Replay) -> int | None:
        codes = state.policy.verdict_codes
        alive = int((codes != Verdict.OUT).sum())
        pulls, left = self._foreseen
        if alive * alive > PAIRS and pulls <= state.told < STEP * pulls and not state.stopped:
            return None if left is None else max(1, left - (state.told - pulls))
        left = forecast(state.policy).pulls_left
        self._foreseen = (state.told, left)
        return left

    def _rate(self) -> float | None:
        """Pulls a second in the last minute before the last one, as far as can be told."""
        at = np.sort(self._measured.recent(RECENT))
        at = at[(at > 0.0) & (at >= at[-1] - 60.0)] if len(at) else at
        if len(at) < 2 or at[-1] == at[0]:
            return None
        return float((len(at) - 1) / (at[-1] - at[0]))
