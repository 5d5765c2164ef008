"""Workers for a Python function: this thread, threads, processes, any `concurrent.futures.Executor`, a Dask cluster.

Each is a `Workers`. An exception in the function is a measurement that failed, made into words where it was raised: not
every exception survives the way between processes.

Worker processes are our own, each with its own pipe, so that a death is charged to the one pull that it interrupted: a
`ProcessPoolExecutor` breaks as a whole, and those of `pebble` share a pipe, whose lock may die with one of them. They
are spawned: a fork of a process with running threads (numba's, the caller's) may hang for ever.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, Self

from frontguard._common.dask import LoadedAs, is_client
from frontguard._common.machine import usable_cores
from frontguard.errors import BadArgument, BadInput
from frontguard.studies.measurement import CANCELLED, DIED, Measurement, failure_in_words

KINDS = "'serial', 'threads', 'processes', 'dask://HOST:PORT', a concurrent.futures.Executor or a distributed.Client"
_ELSE = "Define it at the top of a module that can be imported, or use executor='threads'"

PATIENCE = 60.0
"""Seconds in which an executor that was given must have loaded the function."""


class LostPull(Exception):
    """The worker of a pull is gone, and nobody knows what it would have measured."""


@dataclass(frozen=True)
class Measure:
    """The function, ready to be sent to a worker."""

    evaluate: Callable[..., Any]
    named: tuple[str, ...] = ()  # its parameters that get something of the pull

    def __call__(self, candidate: Any, given: Mapping[str, Any]) -> Measurement:
        """Evaluate once; `given` are the values of all such parameters, by name."""
        try:
            return Measurement.of(self.evaluate(candidate, **{name: given[name] for name in self.named}))
        except (Exception, SystemExit) as error:
            return Measurement.failure(error)


class Workers:
    """Evaluates in the calling thread; the other kinds differ in where."""

    count = 1
    can_be_stopped = False
    """Whether `abandon` ends evaluations that are under way."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.busy_here = False  # evaluating in the calling thread, which Ctrl-C then interrupts

    def submit(self, candidate: Any, given: Mapping[str, Any]) -> Future[Measurement]:
        """Begin to evaluate a candidate."""
        future: Future[Measurement] = Future()
        self.busy_here = True
        try:
            future.set_result(self.measure(candidate, given))
        finally:
            self.busy_here = False
        return future

    def abandon(self) -> None:
        """End evaluations that are under way, where that can be done."""

    def close(self, wait: bool) -> None:
        """Let go of the workers; with `wait`, after what they are at."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(wait=kind is None)


class Pool(Workers):
    """Any executor. One that is not `ours` is left open."""

    def __init__(self, measure: Measure, executor: Executor, count: int, ours: bool) -> None:
        super().__init__(measure)
        self.executor, self.count, self._ours = executor, count, ours

    def submit(self, candidate: Any, given: Mapping[str, Any]) -> Future[Measurement]:
        """Begin to evaluate a candidate."""
        return self.executor.submit(self.measure, candidate, given)

    def close(self, wait: bool) -> None:
        """Let go of the executor if it is ours."""
        if self._ours:
            self.executor.shutdown(wait=wait, cancel_futures=True)


class Processes(Workers):
    """Processes of our own, one for each of `count` threads that talk to them."""

    can_be_stopped = True

    def __init__(self, measure: Measure, count: int, timeout: float | None) -> None:
        super().__init__(measure)
        self.count, self._timeout = count, timeout
        try:
            self._pickled = pickle.dumps(measure)
        except Exception as error:
            raise BadInput(f"evaluate cannot be sent to a worker process: {failure_in_words(error)}. {_ELSE}") from None
        self._idle = [_Process(self._pickled)]  # the first at once: a function that cannot be sent is refused here
        self._all = set(self._idle)
        self._lock = threading.Lock()
        self._abandoned = False
        self._threads = ThreadPoolExecutor(count, "frontguard-process")

    def submit(self, candidate: Any, given: Mapping[str, Any]) -> Future[Measurement]:
        """Begin to evaluate a candidate."""
        try:
            task = pickle.dumps((candidate, dict(given)))
        except Exception as error:
            why = failure_in_words(error)
            raise BadArgument("arms", f"a value cannot be sent to a worker process: {why}") from None
        return self._threads.submit(self._measured, task)

    def _measured(self, task: bytes) -> Measurement:
        with self._lock:
            if self._abandoned:
                return Measurement(None, CANCELLED)
            process = self._idle.pop() if self._idle else None
        if process is None:
            process = _Process(self._pickled)
            with self._lock:
                self._all.add(process)
                if self._abandoned:  # meanwhile
                    process.kill()
        measurement = process.ask(task, self._timeout)
        with self._lock:
            if process.alive:
                self._idle.append(process)
                return measurement
            self._all.discard(process)
        return Measurement(None, CANCELLED) if self._abandoned else measurement

    def abandon(self) -> None:
        """End the processes that are at work."""
        with self._lock:
            self._abandoned = True
            for process in self._all.difference(self._idle):
                process.kill()

    def close(self, wait: bool) -> None:
        """End all processes: idle ones come to their end by themselves."""
        if not wait:
            self.abandon()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self._all:
            process.close()
        self._all.clear()


class _Process:
    """One worker process and the pipe to it. Used by one thread at a time; `kill` by any."""

    _spawning = threading.Lock()

    def __init__(self, pickled: bytes) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, pickled), name="frontguard-worker")
        with self._spawning:
            self._process.start()
        theirs.close()
        self.alive = True
        try:
            problem = self._pipe.recv()
        except (EOFError, OSError):
            why = f"a worker process did not start ({self._buried()})"
            raise BadArgument(
                "executor", f"{why}. In a script, call identify() under `if __name__ == '__main__':`"
            ) from None
        if problem:
            self.close()
            raise BadInput(f"evaluate cannot be loaded in a worker process: {problem}. {_ELSE}")

    def ask(self, task: bytes, timeout: float | None) -> Measurement:
        """Have one pull measured; if that takes longer than `timeout` or ends the process, so the measurement says."""
        try:
            self._pipe.send_bytes(task)
            if not self._pipe.poll(timeout):
                self.kill()
                self._buried()
                return Measurement(None, f"timeout after {timeout:g} s")
            answer = self._pipe.recv_bytes()
        except (EOFError, OSError):
            return Measurement(None, f"{DIED} ({self._buried()})")
        try:
            measurement: Measurement = pickle.loads(answer)
        except Exception as error:
            return lost_on_the_way("what was returned cannot be read here", error)
        return measurement

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        """Let it come to its end, which it does when the pipe is closed."""
        self._pipe.close()
        self._process.join(5.0)
        if self._process.is_alive():
            self._process.kill()
        self._buried()

    def _buried(self) -> str:
        """Return how it ended, in words, and let go of all that is left of it."""
        self.alive = False
        self._pipe.close()
        self._process.join()
        code = self._process.exitcode or 0
        if code >= 0:
            return f"exit code {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"


def _serve(pipe: Connection, pickled: bytes) -> None:
    """The life of a worker process: load the function, then evaluate whatever is asked until the pipe is closed."""
    # Ctrl-C is for the parent, which ends us. A handler rather than SIG_IGN, which programs that the function starts
    # would inherit.
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        measure: Measure = pickle.loads(pickled)
    except Exception as error:
        pipe.send(failure_in_words(error))
        return
    pipe.send("")
    while True:
        try:
            task = pipe.recv_bytes()
        except (EOFError, OSError):
            return
        pipe.send_bytes(answered(measure, partial(pickle.loads, task)))


def answered(measure: Measure, load: Callable[[], tuple[Any, Mapping[str, Any]]]) -> bytes:
    """Measure what `load` gives for another process, and return the measurement ready to be sent."""
    try:
        candidate, given = load()
    except Exception as error:
        return pickle.dumps(lost_on_the_way("the arm's value cannot be read there", error))
    measurement = measure(candidate, given)
    try:
        return pickle.dumps(measurement)
    except Exception as error:
        return pickle.dumps(lost_on_the_way("what was returned cannot be sent", error))


def lost_on_the_way(what: str, error: Exception) -> Measurement:
    """A pull of which something could not be sent or read."""
    return Measurement(None, f"{what}: {failure_in_words(error)}", what)


def open_workers(
    executor: object, measure: Measure, *, workers: int | None = None, timeout: float | None = None
) -> Workers:
    """The workers that `executor` names: one of KINDS.

    >>> open_workers("fibers", Measure(abs))
    Traceback (most recent call last):
    ...
    frontguard.errors.BadArgument: executor must be 'serial', 'threads', 'processes', 'dask://HOST:PORT', a
    concurrent.futures.Executor or a distributed.Client; got 'fibers'
    """
    if timeout is not None and executor != "processes":
        raise BadInput("timeout needs executor='processes': only a process can be ended while it evaluates")
    if executor == "serial":
        if workers not in (None, 1):
            raise BadArgument("workers", f"there is one with executor='serial'; got {workers!r}")
        return Workers(measure)
    if executor == "processes":
        return Processes(measure, workers or usable_cores(), timeout)
    if executor == "threads":
        count = workers or usable_cores()
        return Pool(measure, ThreadPoolExecutor(count, "frontguard"), count, ours=True)
    if is_client(executor) or (isinstance(executor, str) and executor.startswith("dask:")):
        from frontguard.measure.dask import Dask

        return Dask(measure, executor, workers)
    if isinstance(executor, Executor):
        _refuse_unloadable(executor, measure)
        count = workers or getattr(executor, "_max_workers", None) or usable_cores()
        return Pool(measure, executor, count, ours=False)
    raise BadArgument("executor", must=f"be {KINDS}", got=repr(executor))


def _refuse_unloadable(executor: Executor, measure: Measure) -> None:
    """See that an executor's processes can load the function: one that cannot is lost, in some without a word."""
    if isinstance(executor, ThreadPoolExecutor):
        return
    try:
        pickled = pickle.dumps(LoadedAs(measure))
    except Exception as error:
        if not isinstance(executor, ProcessPoolExecutor):  # it may have a way of its own to send functions, or threads
            return
        raise BadInput(f"evaluate cannot be sent to the executor: {failure_in_words(error)}. {_ELSE}") from None
    kind = type(executor).__name__
    try:
        executor.submit(pickle.loads, pickled).result(PATIENCE)
    except TimeoutError:
        raise BadArgument("executor", f"{kind} has not loaded evaluate within {PATIENCE:g} s; is it free?") from None
    except Exception as error:
        why = f"evaluate cannot be loaded by {kind}: {failure_in_words(error)}"
        raise BadInput(f"{why}. Its processes need frontguard and the module that defines evaluate") from None
