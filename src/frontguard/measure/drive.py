"""The loop that measures: asks a study for pulls, submits them to workers, and tells what came back.

It is the same for commands (`frontguard run`) and for functions (`identify`). As many pulls are under way as there are
workers, never more, so that the next plan sees all that could be seen; with one worker, a fixed seed gives the same
pulls in the same order however often the study is stopped between them.

A pull that was begun ends once: with what came back of it, or given up, and then it counts as failed. So a run that is
to stop waits for what is under way; and while pulls are under way, a thread renews their leases (`_heartbeat`).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue

from frontguard._common.checks import checked_count
from frontguard.errors import BadInput
from frontguard.measure.executors import LostPull
from frontguard.objectives import Objective
from frontguard.storage.contract import End, Pull, Unavailable
from frontguard.studies.measurement import BOOLEAN, DIED, Measurement, failure_in_words, usable
from frontguard.studies.replay import PROBE
from frontguard.studies.study import Study

LOOK = 0.2
"""Seconds between two looks at the clock, at `cancel` and, through `on_change`, at the study."""

SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two questions for pulls while others have to tell theirs first."""

STORAGE_LIMIT = 300.0
"""Seconds for which a storage may be out of order before the run is given up."""

BEATS = 4
"""How often a lease is renewed before it would run out."""

_LASTING = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError, ValueError)


def lasting(error: Exception) -> bool:
    """Return True if no waiting mends an error of a storage. Others may pass: a server that restarts, a full disk."""
    return isinstance(error, _LASTING) and not isinstance(error, Unavailable)


Finished = tuple[Pull, Measurement]
Submit = Callable[[Pull], Future[Measurement]]


@dataclass(frozen=True)
class RunProgress:
    """Progress of a run."""

    told: int  # pulls that this run has told
    failed: int  # how many of these failed, in part or in full
    out: int  # pulls under way
    rate: float  # pulls told a second, of late
    seconds: float  # since the run began
    stopping: bool = False  # nothing more is asked for: what is under way is waited for


class NotTold(RuntimeError):
    """Pulls were measured that the storage did not take; they are in `finished`, to be told by hand."""

    def __init__(self, message: str, finished: Sequence[Finished]) -> None:
        super().__init__(message)
        self.finished = tuple(finished)


class Broken(RuntimeError):
    """The executor takes no more pulls. All that was measured has been told."""


class FirstMistake(BadInput):
    """Every first pull of every arm failed: what measures is at fault. Nothing was stored."""


@dataclass
class Loop:
    """One run: `run` measures until the study is done ("done"), the time is over ("time") or it is "cancelled"."""

    study: Study
    submit: Submit
    """Begins a pull. An exception is a failed pull, but for `BadInput` and `KeyboardInterrupt`, which end the run."""

    workers: int
    """How many pulls are under way at a time."""

    until: float | None = None
    """When to stop, by `time.monotonic()`: what is under way then is waited for, unless `cancel` is set."""

    on_change: Callable[[RunProgress], None] = lambda now: None
    """Called every `LOOK` seconds, in this thread, and at the end."""

    cancel: threading.Event = field(default_factory=threading.Event)
    """Stops the run: what has not begun is given back, what has is waited for, however long it takes."""

    give_up: threading.Event = field(default_factory=threading.Event)
    """Stops the run: what does not come back within `patience` seconds is given up, and counts as failed."""

    abandon: Callable[[], None] | None = None
    """Called once when pulls under way are no longer wanted. Without it, those of a study that is done are told."""

    hold_back: Callable[[Sequence[Finished]], bool] | None = None
    """Asked before anything is told for the first time; while it says True, finished pulls are kept. If it raises
    `FirstMistake`, none of them is told and the study is forgotten, unless others are at it."""

    patience: float = 5.0
    storage_limit: float = STORAGE_LIMIT

    def __post_init__(self) -> None:
        checked_count(self.workers, "workers")
        self.under_way: dict[int, tuple[Pull, Future[Measurement]]] = {}
        self.back: SimpleQueue[int] = SimpleQueue()  # pulls whose futures are done
        self.finished: list[Finished] = []  # and not told yet
        self.ended: list[tuple[Pull, End]] = []  # given up, and not told yet
        self.unbegun: list[Pull] = []  # to be given back
        self.held: dict[int, Pull] = {}  # ours, from asking to telling
        self.begun: set[int] = set()  # those of them that were submitted
        self.renewed = time.time()
        self.told = self.failed = 0
        self.broken, self.stopping, self.reclaimed = "", False, False
        self.ask_at, self.pause = 0.0, SHORTEST_PAUSE
        self.trouble: tuple[float, Exception] | None = None  # since when the storage is out of order, and how
        self.retry_at, self.retry_pause = 0.0, 0.1
        self.began = self.shown_at = time.monotonic()
        self.lately: deque[tuple[float, int]] = deque([(self.began, 0)])

    def run(self) -> str:
        """Measure, and say why it ended."""
        try:
            with self._heartbeat():
                why = self._measure()
                self._wind_up(why)
        except BaseException as error:
            self._break_off(error)
            raise
        if self.broken:
            raise Broken(self.broken)
        return why

    def _measure(self) -> str:
        while True:
            if self.cancel.is_set() or self.give_up.is_set():
                return "cancelled"
            if self.until is not None and time.monotonic() >= self.until:
                return "time"
            if self.broken or self._ask():
                return "done"
            now, wait = time.monotonic(), LOOK
            if len(self.under_way) < self.workers:
                wait = min(wait, max(self.ask_at, self.retry_at) - now)
            if self.finished and self.hold_back is None:
                wait = min(wait, self.retry_at - now)
            self._collect(max(wait, 0.0))
            self._tell()
            self._show()

    @contextmanager
    def _heartbeat(self) -> Iterator[None]:
        """Renew our leases now and then, in a thread of its own: a pull may be evaluated in this one."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(self.study.lease / BEATS):
                self._renew()

        thread = threading.Thread(target=beat, name="frontguard-heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(STORAGE_LIMIT)

    def _renew(self) -> None:
        held = list(self.held)
        if held:
            with suppress(Exception):  # whatever is wrong with the storage, the loop that asks and tells finds out
                self.study.renew(held)
        self.renewed = time.time()

    def _ask(self) -> bool:
        """Submit as many pulls as there are free workers; whether the study is done."""
        free = self.workers - len(self.under_way)
        now = time.monotonic()
        tell_first = self.trouble is not None and self.finished and self.hold_back is None
        if free <= 0 or now < self.ask_at or now < self.retry_at or tell_first:
            return False
        if time.time() - self.renewed > self.study.lease / 2:  # as after a sleep of the machine
            self._renew()
        try:
            pulls = self.study.ask(free)
        except Exception as error:
            self._note_trouble(error)
            return False
        self.held.update((pull.id, pull) for pull in pulls)
        for pull in pulls:  # before the storage is asked anything else, and fails: nobody else will get them
            self._begin(pull)
        try:
            done = len(pulls) < free and self.study.done
            if not (pulls or done or self.under_way or self.reclaimed) and self.pause >= LONGEST_PAUSE:
                # All that is left is in other hands, or in ours by a question whose answer never reached us.
                self.reclaimed = self.study.reclaim() >= 0
        except Exception as error:
            self._note_trouble(error)
            return False
        if not self.finished:
            self._note_recovery()
        if len(pulls) == free:
            self.ask_at, self.pause = 0.0, SHORTEST_PAUSE
        else:
            self.ask_at, self.pause = now + self.pause, min(2.0 * self.pause, LONGEST_PAUSE)
            if not self.under_way:
                self.hold_back = None  # nothing will come that could change its mind
        return done and not self.finished

    def _begin(self, pull: Pull) -> None:
        if self.broken or self.cancel.is_set() or self.give_up.is_set():
            self.unbegun.append(pull)
            return
        self.begun.add(pull.id)
        try:
            future = self.submit(pull)
        except RuntimeError as error:
            if isinstance(error, BrokenExecutor):
                self.broken = _broken(error)
            elif "after" in str(error) and "shutdown" in str(error):
                self.broken = f"the executor was shut down while the study went on: {error}"
            else:
                raise
            self.unbegun.append(pull)
            return
        self.under_way[pull.id] = pull, future
        future.add_done_callback(lambda _: self.back.put(pull.id))

    def _collect(self, patience: float) -> None:
        try:
            self._take(self.back.get(timeout=patience) if patience > 0.0 else self.back.get_nowait())
            while True:
                self._take(self.back.get_nowait())
        except Empty:
            pass

    def _take(self, number: int) -> None:
        pull, future = self.under_way.pop(number)
        if future.cancelled():
            if self.stopping:  # by us, before it began
                self.unbegun.append(pull)
                return
            self.broken = f"the executor gave up pull {number} of arm {pull.arm!r}: is what it runs on still there?"
            self.ended.append((pull, End.LOST))
            return
        error = future.exception()
        if isinstance(error, (BadInput, KeyboardInterrupt)):
            self.ended.append((pull, End.STOPPED if isinstance(error, KeyboardInterrupt) else End.LOST))
            raise error
        if isinstance(error, LostPull):
            self.ended.append((pull, End.LOST))
            return
        if isinstance(error, BrokenExecutor):
            # The arm may have brought it down, so this is an observation: left out, a deadly arm would look fine.
            self.broken = _broken(error)
            came = Measurement(None, DIED)
        elif error is not None:
            came = Measurement.failure(error)
        else:
            came = future.result()
        if came.cancelled:
            self.ended.append((pull, End.STOPPED))
        else:
            came = usable(self.study.metrics, self.study.with_cost(came), number, settled=False)
            self.finished.append((pull, replace(came, at=time.time())))

    def _tell(self) -> None:
        """Tell all that is finished in one durable step, unless it is to be held back or the storage to be spared."""
        if not (self.finished or self.ended or self.unbegun) or time.monotonic() < self.retry_at:
            return
        if self.finished and self.hold_back is not None and self.hold_back(self.finished):
            return
        try:
            if self.finished:
                self.hold_back = None
                self.study.settle([came.values for _, came in self.finished])
                told = [(pull, usable(self.study.metrics, came, pull.id)) for pull, came in self.finished]
                self._count(told, self.study.tell_many(told))
                self.finished.clear()
            for pull, end in list(self.ended):
                self._count([(pull, _NOTHING)], self.study.give_up([pull], end))
                self.ended.pop(0)
            if self.unbegun:
                self.study.give_back(self.unbegun)
                self._let_go(self.unbegun)
                self.unbegun.clear()
        except Exception as error:
            if lasting(error):
                raise self._not_told(error) from error
            self._note_trouble(error)
            return
        self._note_recovery()
        self.ask_at = 0.0

    def _count(self, told: Sequence[Finished], new: Sequence[bool]) -> None:
        self.told += sum(new)
        self.failed += sum(bool(came.reason) for (_, came), is_new in zip(told, new, strict=True) if is_new)
        self._let_go([pull for pull, _ in told])

    def _let_go(self, pulls: Sequence[Pull]) -> None:
        for pull in pulls:
            self.held.pop(pull.id, None)
            self.begun.discard(pull.id)

    def _note_trouble(self, error: Exception) -> None:
        """Take an error of the storage for one that passes, unless no waiting mends it."""
        if lasting(error):
            raise error
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
        what = f"the storage of study {self.study.name!r} has been out of order{since}: {failure_in_words(error)}"
        lost = f"{len(self.finished)} measured pulls could not be told (they are in the error's `finished`)"
        return NotTold(f"{what}. {lost}; all others are stored, and the study can be taken up again", self.finished)

    def _wind_up(self, why: str) -> None:
        """Let what is under way come back and tell it; what is no longer wanted is given up after some patience."""
        self._call_off()
        self.hold_back = None
        leave_at: float | None = None
        while self.under_way or self.finished or self.ended or self.unbegun:
            nobody_waits = (
                self.give_up.is_set()
                or self.broken
                or (why == "cancelled" and not self.under_way)  # it is the storage that is waited for
                or (why == "time" and self.cancel.is_set())
                or (why == "done" and self.abandon is not None)
            )
            if leave_at is None and nobody_waits:
                leave_at = time.monotonic() + self.patience
                self._abandon()
            if leave_at is not None and time.monotonic() >= leave_at:
                if self.finished and self.trouble is not None:
                    raise self._not_told(self.trouble[1]) from self.trouble[1]
                break
            self._collect(min(LOOK, 0.02 if self.finished or self.ended else LOOK))
            self._tell()
            self._show()
        self._give_up_the_rest(End.STOPPED)
        self._show(at_once=True)

    def _call_off(self) -> None:
        self.stopping = True
        for _, future in list(self.under_way.values()):
            future.cancel()  # what has not begun

    def _abandon(self) -> None:
        if self.abandon is not None:
            self.abandon()

    def _give_up_the_rest(self, end: End) -> None:
        self.ended += [(pull, end) for pull, _ in self.under_way.values()]
        self.under_way.clear()
        self.retry_at = 0.0
        self._tell()

    def _break_off(self, error: BaseException) -> None:
        """After an error: what is finished is told all the same, unless this is what failed or what is held back."""
        self._call_off()
        self._abandon()
        if isinstance(error, NotTold):
            return
        if isinstance(error, FirstMistake):
            if not self.study.forget():  # others are at it
                self.study.give_up(list(self.held.values()), End.LOST)
            return
        self.hold_back = None
        while True:
            try:
                self._collect(0.0)
                break
            except (BadInput, KeyboardInterrupt):  # of another pull: one is enough
                continue
        accounted = {pull.id for pull, _ in self.finished} | {pull.id for pull, _ in self.ended}
        accounted |= {pull.id for pull in self.unbegun} | set(self.under_way)
        end = End.STOPPED if isinstance(error, KeyboardInterrupt) else End.LOST
        left = [pull for number, pull in self.held.items() if number not in accounted]
        self.ended += [(pull, end) for pull in left if pull.id in self.begun]
        self.unbegun += [pull for pull in left if pull.id not in self.begun]
        self._give_up_the_rest(end)
        if self.finished and self.trouble is not None:
            raise self._not_told(self.trouble[1]) from error

    def _show(self, at_once: bool = False) -> None:
        now = time.monotonic()
        if now - self.shown_at < LOOK and not at_once:
            return
        self.shown_at = now
        self.lately.append((now, self.told))
        while now - self.lately[0][0] > 30.0 and len(self.lately) > 2:
            self.lately.popleft()
        since, before = self.lately[0]
        rate = (self.told - before) / max(now - since, 1e-9)
        self.on_change(RunProgress(self.told, self.failed, len(self.under_way), rate, now - self.began, self.stopping))


_NOTHING = Measurement(None, "given up")


def _broken(error: BaseException) -> str:
    why = f"the executor takes no more pulls ({failure_in_words(error)})"
    return f"{why}. What was under way is told as failed; take the study up again with a new executor"


ENOUGH_ARMS = 20
"""So many different arms that fail alike from the start are taken for all."""


@dataclass
class FirstPulls:
    """Holds back the first pulls while all fail alike, or a value cannot be used; raises when that is no accident."""

    arms: int
    objectives: Sequence[Objective]
    what: str
    in_words: Callable[[Pull, Measurement], str] = lambda pull, came: came.reason  # why one failed
    alike: bool = True  # whether only those of one `cause` fail alike

    def __call__(self, finished: Sequence[Finished]) -> bool:
        """Return True to go on holding them back."""
        for pull, came in finished:
            if came.cause == BOOLEAN:
                said = self.in_words(pull, came)
                raise FirstMistake(f"the first pull of arm {pull.arm!r}, which was not counted: {said}")
        enough = len(finished) >= PROBE and len({pull.index for pull, _ in finished}) >= min(self.arms, ENOUGH_ARMS)
        if self._unusable(finished, refuse=enough) and not enough:
            return True
        causes = {came.cause for _, came in finished}
        if "" in causes or (self.alike and len(causes) > 1):
            return False
        if enough:
            pull, came = finished[0]
            what = f"{self.what} failed in all of the first {len(finished)} pulls, which were not counted"
            raise FirstMistake(f"{what}; that of {pull.arm!r}: {self.in_words(pull, came)}") from came.error
        return True

    def _unusable(self, finished: Sequence[Finished], *, refuse: bool) -> bool:
        """Return True if values cannot be used as declared; where most are such, that is refused on demand."""
        found = False
        for d, objective in enumerate(self.objectives):
            values = [(pull.arm, came.values[d]) for pull, came in finished]
            numbers = [(arm, value) for arm, value in values if value is not None and not isinstance(value, bool)]
            wrong = [(arm, value) for arm, value in numbers if objective.fault(value)]
            found = found or bool(wrong)
            if refuse and 2 * len(wrong) > len(finished):
                arm, value = wrong[0]
                said = objective.unusable(len(wrong), len(finished), value, arm)
                raise FirstMistake(f"of the first pulls, which were not counted, {said}")
        return found
