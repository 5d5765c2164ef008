"""Dask clusters: how one is named and reached, and which of its workers can do our work.

A worker that cannot load what it is sent closes without a word; the task takes the next one along, until none is left,
and whoever waits for the answer waits for ever. So each worker is asked first what it has, within a time limit, by
calls that any Python understands, and tasks go to those that were found fit. Workers that join later are asked as well.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import platform
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from frontguard.errors import BadArgument
from frontguard.phrases import error_line, number_of, shown

PORT = 8786
"""Of a scheduler, unless said otherwise."""

PATIENCE = 60.0
"""Seconds to wait for a first worker, and for another one when all are gone."""

LIMIT = 60.0
"""Seconds for an answer, of the scheduler or of a worker; importing packages from a slow disk is part of it."""

SOON = 5.0
"""Seconds for what is not worth waiting for."""

_ADDRESS = re.compile(r"dask://(?P<protocol>[a-z]+://)?(?P<host>\[[^\]]+\]|[^:/\s]+)(?P<port>:\d+)?/?")
_PAUSE = 0.2  # seconds between two looks for a first worker


@dataclass(frozen=True)
class Worker:
    """A worker of a cluster, and what it lacks for our work: nothing if that is empty."""

    address: str
    host: str
    lacks: str

    def __str__(self) -> str:
        return f"{self.address} on {self.host}" if self.host else self.address


@dataclass(frozen=True)
class Needs:
    """Needs of a worker: packages as they are here, others of any version, and something that it can load."""

    like_here: tuple[str, ...] = ("frontguard", "numpy", "numba")
    any_version: tuple[str, ...] = ()
    load: bytes = b""  # pickled
    what: str = ""  # is loaded


class Cluster:
    """A cluster that was reached, and its fit workers."""

    def __init__(self, executor: object, needs: Needs, waiting: Callable[[str, float], None] | None = None) -> None:
        """Reach it and wait for a worker, telling `waiting` where and how long; refuse unfit workers by then."""
        self.client, self._ours = _client(executor)
        self.address = str(self.client.scheduler.address)
        self._needs = needs
        self._known: dict[str, Worker] = {}
        self._threads: dict[str, int] = {}
        self._alone_since: float | None = None
        try:
            self._wait_for_workers(waiting)
        except BaseException:
            self.close()
            raise

    def call(self, method: Callable[..., Any], *given: Any, limit: float | None = None, **options: Any) -> Any:
        """The answer of a method of the client; `TimeoutError` if that takes too long."""
        return self.client.sync(method, *given, callback_timeout=LIMIT if limit is None else limit, **options)

    @property
    def threads(self) -> dict[str, int]:
        """The threads of every fit worker, by address, as of the last look."""
        return self._threads

    def look(self) -> list[Worker]:
        """See who is there, and ask those that are new; gives those of them that are not fit."""
        there = self.call(self.client.nthreads)
        new = [address for address in there if address not in self._known]
        asked: list[Worker] = []
        if new:
            asked = self.call(self._ask_all, new, limit=LIMIT + 10.0)
            there = self.call(self.client.nthreads)  # who left meanwhile has not answered for that
        known = {**self._known, **{worker.address: worker for worker in asked}}
        self._known = {address: known[address] for address in there if address in known}
        self._threads = {address: int(there[address]) for address, worker in self._known.items() if not worker.lacks}
        return [worker for worker in asked if worker.lacks and worker.address in self._known]

    def watch(self) -> list[Worker]:
        """`look`, where a scheduler that does not answer has no workers; refused without any for `PATIENCE`."""
        try:
            unfit = self.look()
        except Exception:
            unfit, self._threads = [], {}
        self._alone_since = None if self._threads else self._alone_since or time.monotonic()
        if self._alone_since is not None and time.monotonic() - self._alone_since >= PATIENCE:
            raise BadArgument(
                "executor", f"the Dask cluster at {self.address} has had no fit worker for {PATIENCE:g} s"
            )
        return unfit

    def take_back(self, futures: Sequence[Any]) -> None:
        """Have tasks forgotten, as far as the cluster is still there."""
        with suppress(Exception):
            self.call(self.client.cancel, list(futures), limit=SOON)

    def called(self, address: str) -> str:
        """A worker in a message: its address and, where known, its host."""
        return str(self._known.get(address, address))

    def close(self) -> None:
        """Let go of the client if it is ours."""
        if self._ours:
            with suppress(Exception):  # of a cluster that is gone
                self.client.close(timeout=SOON)

    def _wait_for_workers(self, waiting: Callable[[str, float], None] | None) -> None:
        began = time.monotonic()
        while not self._threads:
            try:
                unfit = self.look()
            except (OSError, TimeoutError) as error:
                raise BadArgument(
                    "executor", f"the Dask scheduler at {self.address} does not answer: {said(error)}"
                ) from None
            if unfit:
                more = f" ({number_of(len(unfit) - 1, 'more worker')} cannot be used, either)" if len(unfit) > 1 else ""
                raise BadArgument("executor", f"the Dask worker {unfit[0]} {unfit[0].lacks}{more}")
            waited = time.monotonic() - began
            if not self._threads and waited >= PATIENCE:
                raise BadArgument(
                    "executor",
                    f"the Dask cluster at {self.address} has no workers, also after {PATIENCE:g} s of waiting",
                )
            if not self._threads:
                if waiting is not None:
                    waiting(self.address, waited)
                time.sleep(_PAUSE)

    async def _ask_all(self, addresses: Sequence[str]) -> list[Worker]:
        return await asyncio.gather(*map(self._ask, addresses))

    async def _ask(self, address: str) -> Worker:
        async def run(function: Callable[..., Any], *given: Any) -> Any:
            answers = await self.client.run(function, *given, workers=[address], on_error="return")
            return answers.get(address, ConnectionError("no answer"))

        host = ""
        try:
            async with asyncio.timeout(LIMIT):
                name = await run(socket.gethostname)
                host = name if isinstance(name, str) else ""
                return Worker(address, host, await self._lacks(run))
        except TimeoutError:
            return Worker(address, host, f"has not answered within {LIMIT:g} s")
        except Exception as error:  # an answer that cannot be read here
            return Worker(address, host, f"cannot be asked what it has: {said(error)}")

    async def _lacks(self, run: Callable[..., Any]) -> str:
        """The first thing that a worker lacks."""
        python = await run(platform.python_version)
        if _series(str(python)) != _series(platform.python_version()):
            return f"has Python {python}; wanted {_series(platform.python_version())}, as here"
        for name in (*self._needs.like_here, *self._needs.any_version):
            # An expression in text: a function would be sent as bytecode, or by the name of a module of ours.
            version = await run(eval, f"getattr(__import__({name!r}), '__version__', '')")
            if isinstance(version, Exception):
                return f"cannot import {name} ({said(version)}); wanted {name} {_version_here(name)}, as here"
            wanted = _version_here(name)
            # Releases of one series of the others read what each other wrote; of ours, nothing is promised.
            alike = version == wanted if name == "frontguard" else _series(str(version)) == _series(wanted)
            if not alike and name in self._needs.like_here:
                return f"has {name} {version or 'of no version'}; wanted {wanted}, as here"
        if self._needs.load:
            loaded = await run(pickle.loads, self._needs.load)
            if isinstance(loaded, Exception):
                what = self._needs.what
                return f"cannot load {what} ({said(loaded)}); it needs the module that defines {what}"
        return ""


@dataclass(frozen=True)
class LoadedAs:
    """Pickled, it becomes True wherever it is loaded, once `what` was loaded there: for that, nobody needs us."""

    what: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return callable, (self.what,)


def is_client(executor: object) -> bool:
    """True for a client of Dask's, which nobody can have who has not imported it."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(executor, distributed.Client)


def said(error: BaseException) -> str:
    """An error in a message."""
    return f"{type(error).__name__}: {error_line(error)}" if str(error).strip() else type(error).__name__


def _client(executor: object) -> tuple[Any, bool]:
    """A client of the cluster, and whether we opened it."""
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise BadArgument("executor", "a Dask cluster needs Dask: pip install 'frontguard[dask]'") from error
    if isinstance(executor, distributed.Client):
        if executor.asynchronous:
            raise BadArgument("executor", "the distributed.Client must not be an asynchronous one")
        return executor, False
    match = _ADDRESS.fullmatch(executor) if isinstance(executor, str) else None
    if match is None:
        raise BadArgument(
            "executor",
            f"a Dask scheduler is named 'dask://HOST:PORT', or given as a distributed.Client; got {shown(executor)}",
        )
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what its client meets is ours to say
    where = f"{match['protocol'] or 'tcp://'}{match['host']}{match['port'] or f':{PORT}'}"
    try:
        return _within(LIMIT, lambda: distributed.Client(where, set_as_default=False)), True
    except (OSError, ValueError) as error:  # a timeout is one
        raise BadArgument("executor", f"no Dask scheduler answers at {where}: {said(error)}") from None


def _within(seconds: float, make: Callable[[], Any]) -> Any:
    """The answer of `make`, in a thread: a client waits without end for whatever takes a connection and is mute."""
    made: Future[Any] = Future()

    def run() -> None:
        try:
            made.set_result(make())
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=run, name="frontguard-dask-connect", daemon=True).start()
    try:
        return made.result(seconds)
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"nothing within {seconds:g} s") from None


def _version_here(name: str) -> str:
    return str(getattr(import_module(name), "__version__", ""))


def _series(version: str) -> str:
    """The first two numbers of a version.

    >>> _series("3.11.7"), _series("2.0.0rc1")
    ('3.11', '2.0')
    """
    return ".".join(version.split(".")[:2])
