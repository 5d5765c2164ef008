"""Telling a caller how far the reading of a log is, also where the number of rows is not known beforehand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from frontguard.logs.clock import Progress
from frontguard.logs.log import Log

__all__ = ["Watcher", "told"]

Watcher = Callable[[Progress], None]

_PAUSE = 0.5
_SORTING = 0.5  # how long sorting takes, in terms of reading


@contextmanager
def told(watcher: Watcher | None, log: Log) -> Iterator[Watcher | None]:
    """A watcher for whoever reads the log, that adds how much of it is left by the bytes that were read.

    The long layout is read to its end before the first pull is known; a thread tells of it meanwhile.
    """
    if watcher is None:
        yield None
        return
    if log.layout != "long":
        yield lambda progress: watcher(_completed(progress, log))
        return
    began, over = time.monotonic(), threading.Event()

    def look() -> None:
        while not over.wait(_PAUSE):
            seconds = time.monotonic() - began
            watcher(_completed(Progress("reading", log.rows_read, log.rows_hint, seconds, None), log))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()

    def tell(progress: Progress) -> None:
        over.set()
        watcher(progress)

    try:
        yield tell
    finally:
        over.set()
        thread.join()


def _completed(progress: Progress, log: Log) -> Progress:
    """With the rows there are by the share that was read, and the time left, where these were not known."""
    share = log.share_read
    if progress.stage != "reading" or progress.seconds_left is not None or not share:
        return progress
    total = progress.total if progress.total is not None else round(progress.rows / share)
    return replace(progress, total=total, seconds_left=progress.seconds * ((1.0 + _SORTING) / share - 1.0))
