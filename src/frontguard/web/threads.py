"""Threads for what takes long, so that the loop that talks to browsers stays free."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Answer = TypeVar("Answer")


class Threads:
    """Up to `most` threads, begun when needed, that take pieces of work one after another.

    They are daemons, unlike those of an executor: one that waits for a database must not keep the server from ending.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._begun = 0
        self._idle = 0
        self._lock = threading.Lock()

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """What `work` returns or raises, run in one of the threads."""
        future: Future[Answer] = Future()

        def settle() -> None:
            if not future.set_running_or_notify_cancel():
                return  # nobody waits any more
            try:
                future.set_result(work())
            except Exception as error:
                future.set_exception(error)

        with self._lock:
            self._work.put(settle)
            if self._idle == 0 and self._begun < self._most:
                self._begun += 1
                threading.Thread(target=self._take, name=f"{self._name}-{self._begun}", daemon=True).start()
        return await asyncio.wrap_future(future)

    def close(self, last: Callable[[], None] | None = None) -> None:
        """Let the threads end when they have done what they are at; one of them does `last` before."""
        if last is not None and self._begun:
            self._work.put(last)
        for _ in range(self._most):
            self._work.put(None)

    def _take(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            work = self._work.get()
            with self._lock:
                self._idle -= 1
            if work is None:
                return
            work()
            del work  # nothing is kept alive by a thread that waits
