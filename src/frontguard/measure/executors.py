"""Who evaluates a Python function: this thread, threads, processes, any `concurrent.futures.Executor`, a Dask cluster.

Each is a `Workers`: it takes a candidate and the number of a pull, and gives a future of what was measured. An
exception in the function is a measurement that failed, made into words where it was raised: not every exception
survives the way between processes, and one that does not would take the whole executor with it.

Worker processes are our own rather than those of a `ProcessPoolExecutor`, which breaks as a whole when one of its
processes dies: nobody could say which of the arms that were being measured was to blame. Those of `pebble` share one
pipe: a process that is killed while it holds the pipe's lock breaks the pool as well, and a function that ends its
process with exit code 0 leaves its pull waiting for ever. Here each has its own pipe, so a death is charged to the one
pull that it interrupted, with its signal, and only that process is started anew. They are spawned, never forked: a fork
of a process with running threads (numba's, the caller's) may hang for ever.
"""

from __future__ import annotations

import multiprocessing
import pickle
import re
import signal
import sys
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any

from frontguard._machine import usable_cores
from frontguard.errors import BadInput
from frontguard.measure.futures import LostPull
from frontguard.phrases import one_line
from frontguard.studies.measurement import CANCELLED, DIED, Measurement, failure_in_words

KINDS = "'serial', 'threads', 'processes', 'dask://HOST:PORT', a concurrent.futures.Executor or a distributed.Client"
DASK_PORT = 8786
DASK_PATIENCE = 60.0
"""Seconds to wait for a first worker of a Dask cluster."""


@dataclass(frozen=True)
class Measure:
    """The function, ready to be sent to a worker; `named` are its parameters that get the number of the pull."""

    evaluate: Callable[..., Any]
    named: tuple[str, ...] = ()

    def __call__(self, candidate: Any, pull: int) -> Measurement:
        """Evaluate once."""
        try:
            return Measurement(self.evaluate(candidate, **dict.fromkeys(self.named, pull)))
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

    def submit(self, candidate: Any, pull: int) -> Future[Measurement]:
        """Begin to evaluate a candidate."""
        future: Future[Measurement] = Future()
        self.busy_here = True
        try:
            future.set_result(self.measure(candidate, pull))
        finally:
            self.busy_here = False
        return future

    def abandon(self) -> None:
        """End evaluations that are under way, where that can be done."""

    def close(self, wait: bool) -> None:
        """Let go of the workers; with `wait`, after what they are at."""


class Pool(Workers):
    """Any executor. One that is not `ours` is left open."""

    def __init__(self, measure: Measure, executor: Executor, count: int, ours: bool) -> None:
        super().__init__(measure)
        self.executor, self.count, self._ours = executor, count, ours

    def submit(self, candidate: Any, pull: int) -> Future[Measurement]:
        """Begin to evaluate a candidate."""
        return self.executor.submit(self.measure, candidate, pull)

    def close(self, wait: bool) -> None:
        """Let go of the executor if it is ours."""
        if self._ours:
            self.executor.shutdown(wait=wait, cancel_futures=True)


class Dask(Workers):
    """A Dask cluster. Its scheduler runs a task again elsewhere when a worker is lost; a pull is not measured again.

    A task claims its pull at the scheduler before it measures. One that finds its pull claimed comes after a worker
    that was lost with it, and measures nothing: which tasks lose their workers may have to do with what they measure.
    """

    def __init__(self, measure: Measure, client: Any, count: int | None, ours: bool) -> None:
        super().__init__(measure)
        if client.asynchronous:
            raise BadInput("executor: the distributed.Client must not be an asynchronous one")
        try:
            _check_cluster(client, measure)
            self.count = count or max(sum(client.nthreads().values()), 1)
        except BaseException:
            if ours:
                client.close()
            raise
        self._client, self._ours = client, ours
        self._run = uuid.uuid4().hex
        self._tasks: dict[int, Any] = {}  # by pull, until they are done: a task that nobody holds is dropped
        self._done: SimpleQueue[int] = SimpleQueue()

    def submit(self, candidate: Any, pull: int) -> Future[Measurement]:
        """Begin to evaluate a candidate."""
        self._clear_up()
        future: Future[Measurement] = Future()
        future.set_running_or_notify_cancel()  # whether a task has begun is not known here: it cannot be taken back
        task = self._client.submit(_measure_once, self.measure, candidate, pull, self._claim(pull), pure=False)
        self._tasks[pull] = task
        task.add_done_callback(lambda done: self._came_back(pull, done, future))
        return future

    def _came_back(self, pull: int, task: Any, future: Future[Measurement]) -> None:
        self._done.put(pull)
        if task.status == "finished":
            measurement = task.result()
            if measurement is None:
                future.set_exception(LostPull(f"the Dask worker that was at pull {pull} is gone"))
            else:
                future.set_result(measurement)
        elif task.status == "error":
            error = task.exception()
            gone = type(error).__name__ == "KilledWorker"
            future.set_exception(LostPull(DIED) if gone else error)
        else:  # cancelled, or lost with the scheduler
            future.set_exception(LostPull(f"the Dask cluster gave up pull {pull}"))

    def _claim(self, pull: int) -> str:
        return f"frontguard-{self._run}-{pull}"

    def _clear_up(self) -> None:
        """Let go of tasks that are done, here and at the scheduler."""
        event = import_module("distributed").Event
        with suppress(Empty):
            while True:
                pull = self._done.get_nowait()
                self._tasks.pop(pull, None)
                event(self._claim(pull), client=self._client).clear()

    def close(self, wait: bool) -> None:
        """Take back what is still to be evaluated; let go of the client if it is ours."""
        with suppress(Exception):  # of a cluster that is gone
            self._client.cancel(list(self._tasks.values()))
            self._clear_up()
        if self._ours:
            self._client.close()


def _measure_once(measure: Measure, candidate: Any, pull: int, claim: str) -> Measurement | None:
    """On a Dask worker: measure, unless another worker had begun to."""
    event = import_module("distributed").Event(claim)
    if event.is_set():
        return None
    event.set()
    return measure(candidate, pull)


class Processes(Workers):
    """Processes of our own, one for each of `count` threads that talk to them."""

    can_be_stopped = True

    def __init__(self, measure: Measure, count: int, timeout: float | None) -> None:
        super().__init__(measure)
        self.count, self._timeout = count, timeout
        try:
            self._pickled = pickle.dumps(measure)
        except Exception as error:
            raise BadInput(
                f"evaluate cannot be sent to a worker process: {failure_in_words(error)}. Define it at the top of a "
                "module, or use executor='threads'"
            ) from None
        self._idle = [_Process(self._pickled)]  # the first at once: a function that cannot be sent is refused here
        self._all = set(self._idle)
        self._lock = threading.Lock()
        self._abandoned = False
        self._threads = ThreadPoolExecutor(count, "frontguard-process")

    def submit(self, candidate: Any, pull: int) -> Future[Measurement]:
        """Begin to evaluate a candidate."""
        try:
            task = pickle.dumps((candidate, pull))
        except Exception as error:
            raise BadInput(f"arms: a value cannot be sent to a worker process: {failure_in_words(error)}") from None
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
            else:
                self._all.discard(process)
        return measurement if process.alive or not self._abandoned else Measurement(None, CANCELLED)

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
            raise BadInput(
                f"executor: a worker process did not start ({self._buried()}). In a script, call identify() under "
                "`if __name__ == '__main__':`, since every worker process imports the script"
            ) from None
        if problem:
            self.close()
            raise BadInput(
                f"evaluate cannot be loaded in a worker process: {problem}. Define it in a module or script that can "
                "be imported, or use executor='threads'"
            )

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
            return _lost_on_the_way("what was returned cannot be read here", error)
        return measurement

    def kill(self) -> None:
        """End it whatever it is doing."""
        self._process.kill()

    def close(self) -> None:
        """Let it come to its end, which it does when the pipe is closed."""
        self._pipe.close()
        self._process.join(5.0)
        if self._process.is_alive():
            self._process.kill()
        self._buried()

    def _buried(self) -> str:
        """How it ended, in words; all that is left of it is let go of."""
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
        pipe.send_bytes(_answer(measure, task))


def _answer(measure: Measure, task: bytes) -> bytes:
    try:
        candidate, pull = pickle.loads(task)
    except Exception as error:
        return pickle.dumps(_lost_on_the_way("the arm's value cannot be read there", error))
    measurement = measure(candidate, pull)
    try:
        return pickle.dumps(measurement)
    except Exception as error:
        return pickle.dumps(_lost_on_the_way("what was returned cannot be sent", error))


def _lost_on_the_way(what: str, error: Exception) -> Measurement:
    return Measurement(None, f"{what}: {failure_in_words(error)}", what)


def open_workers(
    executor: object, measure: Measure, *, workers: int | None = None, timeout: float | None = None
) -> Workers:
    """The workers that `executor` names: one of KINDS.

    >>> open_workers("fibers", Measure(abs))
    Traceback (most recent call last):
    ...
    frontguard.errors.BadInput: executor must be 'serial', 'threads', 'processes', 'dask://HOST:PORT', a
    concurrent.futures.Executor or a distributed.Client; got 'fibers'
    """
    if timeout is not None and executor != "processes":
        raise BadInput("timeout needs executor='processes': only a process can be ended while it evaluates")
    if executor == "serial":
        if workers not in (None, 1):
            raise BadInput(f"workers: there is one with executor='serial'; got {workers!r}")
        return Workers(measure)
    if executor == "processes":
        return Processes(measure, workers or usable_cores(), timeout)
    if executor == "threads":
        count = workers or usable_cores()
        return Pool(measure, ThreadPoolExecutor(count, "frontguard"), count, ours=True)
    if isinstance(executor, str) and executor.startswith("dask:"):
        return Dask(measure, _dask_client(executor), workers, ours=True)
    distributed = sys.modules.get("distributed")  # a client could not be given if nobody had imported it
    if distributed is not None and isinstance(executor, distributed.Client):
        return Dask(measure, executor, workers, ours=False)
    if isinstance(executor, Executor):
        count = workers or getattr(executor, "_max_workers", None) or usable_cores()
        return Pool(measure, executor, count, ours=False)
    raise BadInput(f"executor must be {KINDS}; got {executor!r}")


def _check_cluster(client: Any, measure: Measure) -> None:
    """See that there are workers, and that they can load the function."""
    try:
        client.wait_for_workers(1, timeout=DASK_PATIENCE)
    except TimeoutError:
        raise BadInput(f"executor: the Dask cluster at {client.scheduler.address} has no workers") from None
    try:
        client.submit(callable, measure, pure=False).result()
    except Exception as error:
        said = one_line(str(error), 300)
        raise BadInput(
            f"evaluate cannot be loaded on the Dask workers: {said} Workers need frontguard, and the module that "
            "defines evaluate"
        ) from error


def _dask_client(address: str) -> Any:
    match = re.fullmatch(r"dask://(?P<protocol>[a-z]+://)?(?P<host>\[[^\]]+\]|[^:/\s]+)(?P<port>:\d+)?/?", address)
    if match is None:
        raise BadInput(f"executor: a Dask scheduler is named 'dask://HOST:PORT'; got {address!r}")
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise ImportError("executor 'dask://…' needs Dask: pip install 'frontguard[dask]'") from error
    where = f"{match['protocol'] or 'tcp://'}{match['host']}{match['port'] or f':{DASK_PORT}'}"
    try:
        return distributed.Client(where, set_as_default=False)
    except OSError as error:  # a timeout is one
        raise BadInput(f"executor: no Dask scheduler answers at {where}: {failure_in_words(error)}") from None
