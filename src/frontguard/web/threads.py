"""Threads for what takes long, so that the loop that talks to browsers stays free."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Answer = TypeVar("Answer")


class Threads:
    """Runs pieces of work in threads, up to `most` at a time.

    They are daemons, unlike those of an executor: one that waits for a database must not keep the server from ending.
    """

    def __init__(self, most: int, name: str) -> None:
        self._free = asyncio.Semaphore(most)
        self._name = name

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """What `work` returns or raises."""
        future: Future[Answer] = Future()

        def settle() -> None:
            if not future.set_running_or_notify_cancel():
                return  # nobody waits any more
            try:
                future.set_result(work())
            except Exception as error:
                future.set_exception(error)

        async with self._free:
            threading.Thread(target=settle, name=self._name, daemon=True).start()
            return await asyncio.wrap_future(future)
