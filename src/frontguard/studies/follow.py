"""Following a study from outside: its log is read as it grows, in pieces so that no writer waits, never written."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from sys import intern
from typing import Any

import numpy as np

from frontguard._common.entries import ByArm, finite
from frontguard._common.machine import renew_after_fork
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.objectives import Objective
from frontguard.policies.forecast import forecast
from frontguard.results import Answer
from frontguard.storage.contract import Storage, Told
from frontguard.studies.measurement import is_lost
from frontguard.studies.pulls import NOT_USABLE, counted_and_held, reasons_of
from frontguard.studies.replay import Replay, answer_of
from frontguard.studies.settings import Settings

Progress = Callable[[int, int], None]

PIECE = 20_000
"""Told pulls that are read at a time."""

RECENT = 1000
"""Pulls, of the last minute at most, by which the present rate is judged."""

PAIRS = 50_000
"""Pairs of arms that are not out up to which the forecast is made anew at every look; with more of them, ..."""

STEP = 1.01
"""... only when so many times the pulls were told."""

REST = 10.0
"""Seconds after a pull was told in which a study without pulls under way is called running: workers plan, too."""


@dataclass(frozen=True, eq=False)
class Moment:
    """The state after so many pulls. Arrays have a row for each arm; values are in the metrics' units."""

    pulls: int
    at: float  # seconds since the epoch of the last pull that was counted; 0 if not known
    pulls_per_arm: Ints  # (K,)
    verdict_codes: Ints  # (K,)
    estimates: Floats  # (K, M)
    low: Floats  # (K, M), low ≤ high whatever the direction; infinite where nothing is known
    high: Floats  # (K, M)
    uncertain: Floats  # (M,): within what the answer held then, to be compared with the tolerances; inf if unbounded

    def to_dict(self, arm: int | None = None) -> dict[str, Any]:
        """Plain values that JSON can hold: within what the answer held, and with an arm what was known of it."""
        known: dict[str, Any] = {"pulls": self.pulls, "at": self.at, "uncertain": finite(self.uncertain)}
        if arm is not None:
            intervals = {name: finite(getattr(self, name)[arm]) for name in ("estimates", "low", "high")}
            known |= {"pulls_of_arm": int(self.pulls_per_arm[arm]), **intervals}
        return known


@dataclass(frozen=True, eq=False)
class History:
    """Moments in their order, thinned out so that there are a few hundred at most; the last one is the present."""

    arms: tuple[str, ...]
    objectives: tuple[Objective, ...]
    moments: tuple[Moment, ...]


@dataclass(frozen=True, eq=False)
class Rate:
    """Numbers of pulls that were told, and of those that failed, in spans of equal length."""

    edges: Floats  # (n + 1,) seconds since the epoch
    told: Ints  # (n,)
    failed: Ints  # (n,)


@dataclass(frozen=True, eq=False)
class Measurements(Told):
    """The told pulls of one arm, the last ones if there are very many: `after` so many of its pulls."""

    arm: int
    name: str
    objectives: tuple[Objective, ...]

    @property
    def total(self) -> int:
        """Pulls of this arm altogether."""
        return self.after + len(self)


@dataclass(frozen=True, eq=False)
class Overview:
    """A study at one moment: settings, the answer so far with its failures and forecast, how it came about."""

    name: str
    settings: Settings
    answer: Answer  # in the metrics' units, its warnings include alarms
    history: History
    rate: Rate
    failed_at: dict[tuple[str, str], float]  # seconds since the epoch when an arm last failed, by arm and reason
    version: int  # grows whenever anything that is shown has changed
    told: int  # pulls that were told: those that failed and those that wait for a decision included
    out: int  # pulls handed out and not told yet
    at_work: bool  # whether anybody measures: somebody who lives has a pull, or told one just now
    began: float | None  # seconds since the epoch of the first told pull
    last: float | None  # and of the last one

    @property
    def status(self) -> str:
        """That of the answer; "paused" where it could go on and nobody is at work."""
        status = self.answer.status
        return "paused" if status == "running" and not self.at_work else status

    def entries(self, arm: int | None = None) -> Iterator[tuple[str, Any]]:
        """Entries of JSON: those of the answer, and how it came about, with an arm as far as that is concerned."""
        yield from self.answer.entries()
        failed_at: dict[str, dict[str, float]] = {}
        for (name, reason), at in self.failed_at.items():
            failed_at.setdefault(name, {})[reason] = at
        spec = self.settings.about.get("spec")
        yield "failed_at", ByArm(failed_at.items())
        yield "told", self.told
        yield "began", self.began
        yield "last", self.last
        yield "at_work", self.at_work
        yield "revision", self.version
        yield "history", [moment.to_dict(arm) for moment in self.history.moments]
        yield "rate", {name: finite(each) for name, each in vars(self.rate).items()}
        yield "seed", self.settings.seed
        yield "spec", spec if isinstance(spec, str) else None


class Follower:
    """One study in a storage, for several threads; where settings are amended, its log is read anew.

    Parameters
    ----------
    storage, name
        Where the study is, and what it is called.

    Raises
    ------
    BadInput
        There is no such study.

    >>> from frontguard import Objective, Study
    >>> study = Study(["a", "b"], [Objective("speed", "maximize", tolerance=0.1)])
    >>> _ = study.tell_many([(pull, [1.0 if pull.arm == "a" else 2.0]) for pull in study.ask(30)])
    >>> overview = Follower(study.storage, "study").catch_up()
    >>> overview.told, overview.answer.pulls
    (30, 30)
    """

    def __init__(self, storage: Storage, name: str) -> None:
        self.name = name
        self._storage = storage
        self._lock = threading.RLock()
        self.overview: Overview | None = None  # the last one
        self._version = 0
        self._begin(storage.settings(name))
        renew_after_fork(self)

    def _start_anew(self) -> None:
        self._begin(self._text)

    def _begin(self, text: str) -> None:
        """Forget the log, and take these settings."""
        settings = Settings.from_json(text, self.name)
        self._text = text
        self._replay = Replay(settings)
        self._recorder = Recorder(settings)
        self._pulls = _PullsByArm(settings)
        self._failed_at: dict[tuple[str, str], float] = {}
        self._last = -math.inf  # when the last pull was told
        self._shown: tuple[int, int, int, bool] | None = None  # plans, told pulls, leases of the last overview; at work
        # After so many pulls: how many are left, at what cost.
        self._foreseen: tuple[int, int | None, float | None] = (-1, None, None)

    def catch_up(self, progress: Progress | None = None) -> Overview:
        """Read what is new, and say how things stand. `progress` is called after every piece (told pulls, in all)."""
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
            # What was read may have been told after other settings: rates count from the first true or false on.
            settled = self._storage.settings(self.name) == self._text
            if settled:
                return self._look()
        return self.catch_up(progress)

    def measurements(self, arm: int, most: int = 2000) -> Measurements:
        """The last `most` pulls of an arm (a position) that were read."""
        with self._lock:
            return self._pulls.of(arm, most)

    def values(self) -> tuple[Ints, Floats, Ints, Ints]:
        """Return arms (n,), values (n, M) and repeats of the pulls that count; and the arms of those that wait."""
        with self._lock:
            counted, held = counted_and_held(self._pulls.joined(), self._replay.arm_of)
            return self._replay.arms_of(counted.pulls), counted.values, held, self._replay.reps_of(counted.pulls)

    def _read_piece(self) -> None:
        replay = self._replay
        told = replay.catch_up(self._storage, self.name, most=PIECE, on_decision=self._recorder.look)
        if not len(told):
            return
        columns = replay.settings.question.columns
        told = replace(told, values=told.values[:, : len(columns.metrics)])  # without what pulls cost
        failed, inner = np.isnan(told.values), np.isnan(columns.observed(told.values))
        for d, source in enumerate(columns.sources):  # values that one of the things read of them cannot use
            failed[:, source] |= inner[:, d]
        any_failed = np.asarray(failed.any(axis=1), np.bool_)
        reasons = tuple(
            (reason or NOT_USABLE) if bad else ""
            for reason, bad in zip(reasons_of(told), any_failed.tolist(), strict=True)
        )
        arms = replay.arms_of(told.pulls)
        self._pulls.add(arms, replace(told, values=np.where(failed, np.nan, told.values), reasons=reasons))
        for row in np.flatnonzero(any_failed).tolist():
            self._failed_at[replay.settings.arms[arms[row]], reasons[row]] = float(told.at[row])
        self._last = float(told.at.max(initial=self._last, where=told.at > 0.0))

    def _look(self) -> Overview:
        replay = self._replay
        leases, clock = self._storage.leases(self.name), self._storage.now()
        alive = {lease.worker for lease in leases if lease.deadline > clock}
        out, at_work = len(leases), clock - self._last < REST or not all(map(is_lost, alive))
        now = (replay.plans, replay.read, out, at_work)
        if self.overview is not None and now == self._shown:
            return self.overview
        state = replay.with_everything()
        at, failed = self._pulls.moments()
        began = float(at.min(initial=math.inf, where=at > 0.0))
        self._version += 1
        self.overview = Overview(
            name=self.name,
            settings=replay.settings,
            answer=answer_of(
                state,
                self.name,
                self._replay.alarms(),
                self._ahead(state),
                seconds=max(self._last - began, 0.0),
                pulls_a_second=_present_rate(at[-RECENT:]) if at_work else None,
                under_way=out,
            ),
            history=self._recorder.history(moment_of(state)),
            rate=rate_of(at, failed),
            failed_at=dict(self._failed_at),
            version=self._version,
            told=replay.read,
            out=out,
            at_work=at_work,
            began=began if math.isfinite(began) else None,
            last=self._last if math.isfinite(self._last) else None,
        )
        self._shown = now
        return self.overview

    def _ahead(self, state: Replay) -> tuple[int | None, float | None]:
        """Return how many pulls are left by the forecast, and what they cost."""
        alive = int(state.policy.alive.sum())
        pulls, left, cost = self._foreseen
        if alive * alive > PAIRS and pulls <= state.told < STEP * pulls and not state.stopped:
            fewer = None if left is None else max(1, left - (state.told - pulls))
            return fewer, None if cost is None or not left or fewer is None else cost * fewer / left
        found = forecast(state.believed)
        left, cost = found.pulls_left, state.cost_of(found)
        self._foreseen = (state.told, left, cost)
        return left, cost


def _present_rate(at: Floats) -> float | None:
    """Pulls a second in the last minute before the last of these moments (n,), as far as can be told."""
    at = np.sort(at[at > 0.0])
    at = at[at >= at[-1] - 60.0] if len(at) else at
    if len(at) < 2 or at[-1] == at[0]:
        return None
    return float((len(at) - 1) / (at[-1] - at[0]))


MOST_MOMENTS = 200
"""Moments that are kept at most; fewer where arms are so many that they would fill `MOST_BYTES`."""

MOST_BYTES = 50_000_000

MOST_SPANS = 120
"""Spans of time that are kept at most."""

FIRST_SPAN = 0.25
"""Seconds of a span at first. A power of two, so that edges are exact however often it is doubled."""

_GRAIN = 2.0**-16  # seconds to which the first edge is rounded: moments of this century have so many exact digits


def moment_of(replay: Replay) -> Moment:
    """Return the present moment, in the metrics' units."""
    objectives = replay.settings.question.objectives
    result = replay.policy.result().in_units(objectives)
    return Moment(
        pulls=result.pulls,
        at=replay.at,
        pulls_per_arm=result.pulls_per_arm,
        verdict_codes=result.verdict_codes,
        estimates=result.estimates,
        low=result.lower,
        high=result.upper,
        uncertain=np.array(result.nearest.amounts(objectives), np.float64),
    )


class Recorder:
    """Keeps moments of a replay: `look` after every decision, and `history` with the present at its end."""

    def __init__(self, settings: Settings, most: int | None = None) -> None:
        self._settings = settings
        arms, objectives = len(settings.arms), len(settings.question.objectives)
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
        return History(self._settings.arms, self._settings.question.objectives, (*earlier, present))


def _thin(moments: list[Moment], most: int) -> None:
    """Leave out moments whose neighbours are nearest to each other, never the first or the last."""
    while len(moments) > max(most, 1):
        if len(moments) == 2:
            moments.pop(0)
            continue
        pulls = np.array([moment.pulls for moment in moments], np.float64)
        del moments[1 + int(np.argmin(pulls[2:] / pulls[:-2]))]


def rate_of(at: Floats, failed: Bools, most: int = MOST_SPANS) -> Rate:
    """Count pulls (n,) told at these moments, unless not known (0), and failed ones, in `most` equal spans or fewer."""
    known = np.isfinite(at) & (at > 0.0)
    at, failed = at[known], failed[known]
    origin, width = math.floor(at.min() / _GRAIN) * _GRAIN if len(at) else 0.0, FIRST_SPAN
    while len(at) and (at.max() - origin) // width >= most:
        width *= 2.0
    spans = ((at - origin) // width).astype(np.int64)
    told = np.bincount(spans)
    edges = np.asarray(origin + width * np.arange(len(told) + 1), np.float64)
    return Rate(edges, told, np.bincount(spans[failed], minlength=len(told)))


class _PullsByArm:
    """Told pulls with their arms, in pieces of up to `PIECE`: those of one arm are picked out when it is looked at."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._none = Told.of((), len(settings.question.columns.metrics))
        self._pieces: list[tuple[Ints, Told]] = []
        self._count = np.zeros(len(settings.arms), np.int64)

    def add(self, arms: Ints, told: Told) -> None:
        self._count += np.bincount(arms, minlength=len(self._count))
        told = replace(
            told, reasons=tuple(map(intern, told.reasons)), workers=tuple(map(intern, map(str, told.workers)))
        )
        if self._pieces and len(self._pieces[-1][1]) + len(told) <= PIECE:
            earlier, before = self._pieces.pop()
            arms, told = np.concatenate([earlier, arms]), Told.joined([before, told])
        self._pieces.append((arms, told))

    def moments(self) -> tuple[Floats, Bools]:
        """Return when pulls (n,) were told, and whether they failed."""
        at = [piece.at for _, piece in self._pieces]
        failed = [np.isnan(piece.values).any(axis=1) for _, piece in self._pieces]
        return np.concatenate([np.empty(0), *at]), np.concatenate([np.empty(0, np.bool_), *failed])

    def joined(self) -> Told:
        return Told.joined([self._none, *(told for _, told in self._pieces)])

    def of(self, arm: int, most: int) -> Measurements:
        """The last `most` pulls of an arm in their order."""
        if not 0 <= arm < len(self._count):
            raise BadArgument("arm", must=f"be a position from 0 to {len(self._count) - 1}", got=repr(arm))
        if most < 1:
            raise BadInput(f"most must be a whole number from 1; got {most!r}")
        found: list[Told] = []
        for arms, piece in reversed(self._pieces):
            found.append(piece.rows(np.flatnonzero(arms == arm)[-most:]))
            most -= len(found[-1])
            if most == 0:
                break
        told = Told.joined([self._none, *found[::-1]])
        return Measurements(
            arm=arm,
            name=self._settings.arms[arm],
            objectives=self._settings.question.columns.metrics,
            **(vars(told) | {"after": int(self._count[arm]) - len(told)}),
        )
