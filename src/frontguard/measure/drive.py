"""The loop that measures: asks a study for pulls, submits them to workers, and tells what came back.

It is the same for commands (`frontguard run`) and for functions (`identify`): whoever calls it gives a `submit` that
turns a pull into a future. As many pulls are under way as there are workers, never more, so that the next plan sees all
that could be seen; with one worker, a fixed seed gives the same pulls in the same order however often the study is
interrupted.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue

from frontguard._checks import checked_count
from frontguard.errors import BadInput
from frontguard.storage.contract import Pull, Unavailable
from frontguard.studies.measurement import DIED, Measurement, failure_in_words, usable
from frontguard.studies.study import Study

LOOK = 0.2
"""Seconds between two looks at the clock, at `cancel` and, through `on_change`, at the study."""

SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two questions for pulls while others have to tell theirs first."""

STORAGE_LIMIT = 300.0
"""Seconds for which a storage may be out of order before the run is given up."""

_LASTING = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError, ValueError)


def lasting(error: Exception) -> bool:
    """Whether no waiting mends an error of a storage. All others may pass: a server that restarts, a full disk."""
    return isinstance(error, _LASTING) and not isinstance(error, Unavailable)


Finished = tuple[Pull, Measurement]
Submit = Callable[[Pull], Future[Measurement]]


@dataclass(frozen=True)
class RunProgress:
    """How far a run has come."""

    told: int  # pulls that this run has told
    failed: int  # how many of these failed, in part or in full
    out: int  # pulls under way
    rate: float  # pulls told a second, of late
    seconds: float  # since the run began


class NotTold(RuntimeError):
    """Pulls were measured that the storage did not take; they are in `finished`, to be told by hand."""

    def __init__(self, message: str, finished: Sequence[Finished]) -> None:
        super().__init__(message)
        self.finished = tuple(finished)


class Broken(RuntimeError):
    """The executor takes no more pulls. All that was measured has been told."""


def drive(
    study: Study,
    submit: Submit,
    *,
    workers: int,
    until: float | Callable[[], bool] | None = None,
    on_change: Callable[[RunProgress], None] | None = None,
    cancel: threading.Event | None = None,
    abandon: Callable[[], None] | None = None,
    hold_back: Callable[[Sequence[Finished]], bool] | None = None,
    patience: float = 5.0,
    storage_limit: float = STORAGE_LIMIT,
) -> str:
    """Measure until the study is done ("done"), the time is over ("time") or it is cancelled ("cancelled").

    Parameters
    ----------
    submit
        Begins a pull; the future gives a `Measurement`. An exception is a failed pull, but for `BadInput` and
        `KeyboardInterrupt`, which end the run.
    workers
        How many pulls are under way at a time.
    until
        When to stop: a moment of `time.monotonic()`, or a function that says so.
    on_change
        Called every `LOOK` seconds, in this thread, and at the end.
    cancel
        Stops the run when it is set: nothing more is asked for, what has not begun is cancelled, what has is waited for
        up to `patience` seconds. What is not told by then is left to the next run.
    abandon
        Called once when pulls under way are no longer wanted, for whatever reason; what then comes back as cancelled is
        not told. Without it, pulls under way at the end are waited for and told.
    hold_back
        Asked before anything is told for the first time; while it says True, finished pulls are kept. It may raise,
        and then none of them is told.
    storage_limit
        Seconds for which a storage that is out of order is tried again. Measured values are kept meanwhile; when the
        time is over they are in the `NotTold` that is raised.
    """
    over = until if callable(until) else lambda: until is not None and time.monotonic() >= until
    stop = cancel or threading.Event()
    loop = _Loop(
        study, submit, checked_count(workers, "workers"), over, stop, on_change, abandon, hold_back, storage_limit
    )
    return loop.run(patience)


@dataclass
class _Loop:
    """One run: what is under way, what is finished and not yet told, and what stands in the way."""

    study: Study
    submit: Submit
    workers: int
    over: Callable[[], bool]
    cancel: threading.Event
    on_change: Callable[[RunProgress], None] | None
    abandon: Callable[[], None] | None
    hold_back: Callable[[Sequence[Finished]], bool] | None
    storage_limit: float

    def __post_init__(self) -> None:
        self.under_way: dict[int, tuple[Pull, Future[Measurement]]] = {}
        self.back: SimpleQueue[int] = SimpleQueue()  # pulls whose futures are done
        self.finished: list[Finished] = []  # and not told yet
        self.told = self.failed = 0
        self.broken, self.stopping, self.reclaimed = "", False, False
        self.ask_at, self.pause = 0.0, SHORTEST_PAUSE
        self.trouble: tuple[float, Exception] | None = None  # since when the storage is out of order, and how
        self.retry_at, self.retry_pause = 0.0, 0.1
        self.began = self.shown_at = time.monotonic()
        self.lately: deque[tuple[float, int]] = deque([(self.began, 0)])

    def run(self, patience: float) -> str:
        try:
            why = self._measure()
            self._wind_up(why, patience)
        except BaseException as error:
            self._break_off(error)
            raise
        if self.broken:
            raise Broken(self.broken)
        return why

    def _measure(self) -> str:
        while True:
            if self.cancel.is_set():
                return "cancelled"
            if self.over():
                return "time"
            if self.broken or self._ask():
                return "done"
            self._collect(self._patience())
            self._tell()
            self._show()

    # Asking -----------------------------------------------------------------------------------------------------------

    def _ask(self) -> bool:
        """Submit as many pulls as there are free workers; whether the study is done."""
        free = self.workers - len(self.under_way)
        now = time.monotonic()
        tell_first = self.trouble is not None and self.finished and self.hold_back is None
        if free <= 0 or now < self.ask_at or now < self.retry_at or tell_first:
            return False
        try:
            pulls = self.study.ask(free)
            done = len(pulls) < free and self.study.done
            if not (pulls or done or self.under_way or self.reclaimed) and self.pause >= LONGEST_PAUSE:
                # All that is left is in other hands, or in ours by a question whose answer never reached us.
                self.reclaimed = self.study.give_back() >= 0
        except Exception as error:
            if lasting(error):
                raise
            self._note_trouble(error)
            return False
        if not self.finished:
            self._note_recovery()
        for pull in pulls:
            if pull.id not in self.under_way:  # a pull that outlived its lease is ours again: it is under way already
                self._begin(pull)
        if len(pulls) == free:
            self.ask_at, self.pause = 0.0, SHORTEST_PAUSE
        else:
            self.ask_at, self.pause = now + self.pause, min(2.0 * self.pause, LONGEST_PAUSE)
            if not self.under_way:
                self.hold_back = None  # nothing will come that could change its mind
        return done and not self.finished

    def _begin(self, pull: Pull) -> None:
        try:
            future = self.submit(pull)
        except BrokenExecutor as error:
            self.broken = _broken(error)
            return
        except RuntimeError as error:
            if "after" not in str(error) or "shutdown" not in str(error):
                raise
            self.broken = f"the executor was shut down while the study went on: {error}"
            return
        self.under_way[pull.id] = pull, future
        future.add_done_callback(lambda _: self.back.put(pull.id))

    def _patience(self) -> float:
        """How long to wait for a pull to come back."""
        now = time.monotonic()
        wait = LOOK
        if len(self.under_way) < self.workers:
            wait = min(wait, max(self.ask_at, self.retry_at) - now)
        if self.finished and self.hold_back is None:
            wait = min(wait, self.retry_at - now)
        return max(wait, 0.0)

    # Telling ----------------------------------------------------------------------------------------------------------

    def _collect(self, patience: float) -> None:
        """Take all that is back; wait for the first if there is none."""
        try:
            self._take(self.back.get(timeout=patience) if patience > 0.0 else self.back.get_nowait())
            while True:
                self._take(self.back.get_nowait())
        except Empty:
            pass

    def _take(self, number: int) -> None:
        pull, future = self.under_way.pop(number)
        if future.cancelled():
            if not self.stopping:
                self.broken = f"the executor gave up pull {number} of arm {pull.arm!r}: is what it runs on still there?"
            return
        error = future.exception()
        if isinstance(error, (BadInput, KeyboardInterrupt)):
            raise error
        if isinstance(error, BrokenExecutor):
            # The arm may have brought it down, so this is an observation: left out, a deadly arm would look fine.
            self.broken = _broken(error)
            came = Measurement(None, DIED)
        elif error is not None:
            came = Measurement.failure(error)
        else:
            came = future.result()
        if not came.cancelled:
            came = usable(self.study.objectives, came, number)
            self.finished.append((pull, replace(came, at=time.time())))

    def _tell(self) -> None:
        """Tell all that is finished in one durable step, unless it is to be held back or the storage to be spared."""
        if not self.finished or time.monotonic() < self.retry_at:
            return
        if self.hold_back is not None and self.hold_back(self.finished):
            return
        self.hold_back = None
        try:
            new = self.study.tell_measurements(self.finished)
        except Exception as error:
            if lasting(error):
                raise self._not_told(error) from error
            self._note_trouble(error)
            return
        self._note_recovery()
        self.told += sum(new)
        self.failed += sum(came.failed for (_, came), is_new in zip(self.finished, new, strict=True) if is_new)
        self.finished.clear()
        self.ask_at = 0.0

    def _note_trouble(self, error: Exception) -> None:
        now = time.monotonic()
        since = now if self.trouble is None else self.trouble[0]
        self.trouble = since, error
        if now - since >= self.storage_limit:
            raise self._not_told(error) from error
        self.retry_at, self.retry_pause = now + self.retry_pause, min(2.0 * self.retry_pause, 5.0)

    def _note_recovery(self) -> None:
        self.trouble, self.retry_at, self.retry_pause = None, 0.0, 0.1

    def _not_told(self, error: Exception) -> NotTold:
        since = f" for {time.monotonic() - self.trouble[0]:.0f} s" if self.trouble else ""
        return NotTold(
            f"the storage of study {self.study.name!r} has been out of order{since}: {failure_in_words(error)}. "
            f"{len(self.finished)} measured pulls could not be told (they are in the error's `finished`); all "
            "others are stored, and the study can be taken up again",
            self.finished,
        )

    # The end ----------------------------------------------------------------------------------------------------------

    def _wind_up(self, why: str, patience: float) -> None:
        """Let what is under way come back, as far as it is wanted, and tell it."""
        self._call_off()
        self.hold_back = None
        hasty = why == "cancelled" or self.abandon is not None
        leave_at = time.monotonic() + patience if hasty else None
        while self.under_way or self.finished:
            if leave_at is None and self.cancel.is_set():
                leave_at = time.monotonic() + patience
            if leave_at is not None and time.monotonic() >= leave_at:
                if not self.finished or self.trouble is None:
                    break
                raise self._not_told(self.trouble[1]) from self.trouble[1]
            self._collect(min(LOOK, 0.02 if self.finished else LOOK))
            self._tell()
            self._show()
        self._show(at_once=True)

    def _call_off(self) -> None:
        self.stopping = True
        for _, future in list(self.under_way.values()):
            future.cancel()
        if self.abandon is not None:
            self.abandon()

    def _break_off(self, error: BaseException) -> None:
        """After an error: what is finished is told all the same, unless this is what failed or what is held back."""
        self._call_off()
        if isinstance(error, NotTold) or (self.hold_back is not None and isinstance(error, BadInput)):
            return
        self.hold_back = None
        self.retry_at = 0.0
        while True:
            try:
                self._collect(0.0)
                break
            except (BadInput, KeyboardInterrupt):  # of another pull: one is enough
                continue
        self._tell()
        if self.finished and self.trouble is not None:
            raise self._not_told(self.trouble[1]) from error

    def _show(self, at_once: bool = False) -> None:
        now = time.monotonic()
        if self.on_change is None or (now - self.shown_at < LOOK and not at_once):
            return
        self.shown_at = now
        self.lately.append((now, self.told))
        while now - self.lately[0][0] > 30.0 and len(self.lately) > 2:
            self.lately.popleft()
        since, before = self.lately[0]
        rate = (self.told - before) / max(now - since, 1e-9)
        self.on_change(RunProgress(self.told, self.failed, len(self.under_way), rate, now - self.began))


def _broken(error: BaseException) -> str:
    return (
        f"the executor takes no more pulls ({failure_in_words(error)}). What was under way is told as failed; take the "
        "study up again with a new executor"
    )
