"""Pulls on a Dask cluster: each is a task on a worker that was found fit (`_common.dask`), and is measured once.

The scheduler runs a task again elsewhere when a worker is lost. So a task claims its pull at the scheduler before it
measures, and one that finds its pull claimed measures nothing: which tasks lose their workers may have to do with what
they measure.

The function, the arm's value and what comes back travel as bytes, which are read where errors can be caught: Dask lets
a worker go that cannot read what it was sent.
"""

from __future__ import annotations

import pickle
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any

from frontguard._common import dask as _dask
from frontguard._common.dask import Cluster, LoadedAs, Needs
from frontguard.errors import BadArgument, BadInput
from frontguard.measure.executors import LostPull, Measure, Workers, answered, lost_on_the_way
from frontguard.notices import Notice, WaitingForWorkers, WorkerLeftOut
from frontguard.studies.measurement import DIED, Measurement, failure_in_words
from frontguard.words.terminal import write_line

LOOK = 2.0
"""Seconds between two looks at who is there."""

_SAY_AFTER = 1.0  # seconds of waiting for a worker


@dataclass
class _Task:
    """A pull under way: with whom, if it was sent already, and who waits for it."""

    candidate: bytes  # with what is given of the pull
    future: Future[Measurement]
    sent: Any = None
    workers: frozenset[str] = frozenset()


class Dask(Workers):
    """The fit workers of a Dask cluster."""

    def __init__(self, measure: Measure, executor: object, count: int | None) -> None:
        super().__init__(measure)
        pickled = import_module("cloudpickle").dumps
        try:
            self._pickle: Callable[[Any], bytes] = pickled
            self._measure = pickled(measure)
            load = pickled(LoadedAs(measure))
        except Exception as error:
            raise BadInput(f"evaluate cannot be sent to a Dask worker: {failure_in_words(error)}") from None
        say_once = cache(lambda cluster: _say(WaitingForWorkers(cluster, _dask.PATIENCE)))

        def waiting(cluster: str, seconds: float) -> None:
            if seconds >= _SAY_AFTER:
                say_once(cluster)

        self._cluster = Cluster(executor, Needs(load=load, what="evaluate"), waiting)
        self.count = count or sum(self._cluster.threads.values())
        self._run = uuid.uuid4().hex
        self._tasks: dict[int, _Task] = {}  # by pull, until they are done: a task that nobody holds is dropped
        self._done: SimpleQueue[int] = SimpleQueue()  # pulls whose claims can be forgotten
        self._lock = threading.Lock()
        self._broken = ""
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="frontguard-dask", daemon=True)
        self._watcher.start()

    def submit(self, candidate: Any, given: Mapping[str, Any]) -> Future[Measurement]:
        """Begin to evaluate a candidate."""
        if self._broken:
            raise BrokenExecutor(self._broken)
        pull: int = given["pull"]
        try:
            pickled = self._pickle((candidate, dict(given)))
        except Exception as error:
            raise BadArgument("arms", f"a value cannot be sent to a Dask worker: {failure_in_words(error)}") from None
        task = _Task(pickled, Future())
        with self._lock:
            self._tasks[pull] = task
            self._send(pull, task)
        return task.future

    def _send(self, pull: int, task: _Task) -> None:
        """Hand a task to the fit workers, if there are any now; the caller has the lock."""
        workers = sorted(self._cluster.threads)
        # Once it is sent, it is not known here whether it has begun: it cannot be taken back.
        if not workers or not task.future.set_running_or_notify_cancel():
            return
        task.workers = frozenset(workers)
        task.sent = self._cluster.client.submit(
            _measure_once, self._measure, task.candidate, self._claim(pull), workers=workers, pure=False
        )
        task.sent.add_done_callback(lambda done: self._came_back(pull, done, task.future))

    def _came_back(self, pull: int, task: Any, future: Future[Measurement]) -> None:
        with self._lock:
            self._tasks.pop(pull, None)
        self._done.put(pull)
        came: Measurement | Exception
        try:
            came = self._outcome(pull, task)
        except Exception as error:
            came = lost_on_the_way("what was returned cannot be read here", error)
        with suppress(InvalidStateError):  # given up meanwhile
            if isinstance(came, Measurement):
                future.set_result(came)
            else:
                future.set_exception(came)

    def _outcome(self, pull: int, task: Any) -> Measurement | Exception:
        if task.status == "finished":
            answer = task.result()
            if answer is None:
                return LostPull(f"the Dask worker that was at pull {pull} is gone")
            measurement: Measurement = pickle.loads(answer)
            return measurement
        if task.status == "error":
            error: Exception = task.exception()
            return LostPull(DIED) if type(error).__name__ == "KilledWorker" else error
        return LostPull(f"the Dask cluster gave up pull {pull}")  # cancelled, or lost with the scheduler

    def _claim(self, pull: int) -> str:
        return f"frontguard-{self._run}-{pull}"

    def _clear_up(self) -> None:
        """Have the scheduler forget the claims of pulls that are done."""
        event = import_module("distributed").Event
        with suppress(Empty):
            while True:
                claim = event(self._claim(self._done.get_nowait()), client=self._cluster.client)
                self._cluster.call(claim.clear, limit=_dask.SOON)

    def _watch(self) -> None:
        """Keep an eye on the workers until it is over: use those that join, and wait for none that is gone."""
        while not self._over.wait(LOOK):
            try:
                for unfit in self._cluster.watch():
                    _say(WorkerLeftOut(str(unfit), unfit.lacks))
            except BadArgument as error:
                with self._lock:
                    self._broken = error.why
                    tasks = list(self._tasks.values())
                for task in tasks:
                    with suppress(InvalidStateError):
                        task.future.set_exception(LostPull(error.why))
                return
            with suppress(Exception):  # of a scheduler that does not answer
                self._clear_up()
            fit = self._cluster.threads
            with self._lock:
                for pull, task in list(self._tasks.items()):
                    if task.sent is None:
                        self._send(pull, task)
                    elif fit and not task.workers & fit.keys():
                        with suppress(InvalidStateError):  # it came back before
                            task.future.set_exception(LostPull(f"the Dask workers that had pull {pull} are gone"))
                        task.sent.cancel()

    def close(self, wait: bool) -> None:
        """Take back what is still to be evaluated; let go of the client if it is ours."""
        self._over.set()
        with self._lock:
            sent = [task.sent for task in self._tasks.values() if task.sent is not None]
        self._cluster.take_back(sent)
        with suppress(Exception):  # of a cluster that is gone
            self._clear_up()
        self._cluster.close()


def _measure_once(measure: bytes, candidate: bytes, claim: str) -> bytes | None:
    """On a worker: measure, unless another worker had begun to."""
    event = import_module("distributed").Event(claim)
    if event.is_set():
        return None
    event.set()
    return answered(pickle.loads(measure), lambda: pickle.loads(candidate))


def _say(notice: Notice) -> None:
    with suppress(OSError):
        write_line(f"frontguard: {notice}")
