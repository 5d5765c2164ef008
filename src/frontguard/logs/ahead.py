"""Work done ahead by threads, taken in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def reading_threads() -> int:
    """How many threads read at once: more than a few wait for the disk and hold more in memory."""
    return max(1, min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))


def ahead(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """`work` of every item in order, a few items ahead of the one taken; an error comes where its item would have.

    >>> list(ahead(lambda n: n * n, range(5)))
    [0, 1, 4, 9, 16]
    """
    threads = reading_threads()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="frontguard-log")
    waiting: deque[Future[R]] = deque()
    late: Exception | None = None  # of the items themselves: raised after what came before it
    try:
        following = iter(items)
        while late is None:
            try:
                waiting.append(pool.submit(work, next(following)))
            except StopIteration:
                break
            except Exception as error:
                late = error
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if late is not None:
            raise late
    finally:
        for future in waiting:
            future.cancel()
        pool.shutdown(wait=True)
