"""How far the reading and sorting of a log has come, and how long it will still take."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from frontguard.logs.sources.log import Log

_SORTING = 0.5
"""About how long it takes to sort a row, relative to reading it: for the time left before any row is sorted."""
_PAUSE = 0.25  # seconds between two messages


@dataclass(frozen=True)
class Progress:
    """All rows are read, and then all of them are sorted."""

    stage: Literal["reading", "sorting"]
    rows: int  # read, or sorted
    total: int | None  # None while it is not known
    seconds: float  # since the beginning
    seconds_left: float | None


class Clock:
    """Tells `progress` a few times a second, and at the end of each stage."""

    def __init__(self, progress: Callable[[Progress], None] | None, rows: int | None) -> None:
        self._progress, self._expected = progress, rows
        self._began = self._told = time.monotonic()
        self._read = 0
        self._reading: float | None = None  # seconds, when it is over
        self._sorted = 0.0
        self._lock = threading.Lock()

    def read(self, rows: int) -> None:
        """So many rows have been read in all."""
        self._read = rows
        self._tell()

    def all_read(self) -> None:
        """There are no more rows to read."""
        self._expected = self._read
        self._tell(at_once=True)
        self._reading = time.monotonic() - self._began

    def sorted(self, rows: float) -> None:
        """So many more rows have been sorted; several threads may say so."""
        with self._lock:
            self._sorted += rows
            self._tell(at_once=round(self._sorted) >= self._read)

    def _tell(self, at_once: bool = False) -> None:
        now = time.monotonic()
        if self._progress is None or (now < self._told + _PAUSE and not at_once):
            return
        self._told = now
        seconds = now - self._began
        if self._reading is None:
            total = None if self._expected is None else max(self._expected, self._read)
            left = None
            if total is not None and self._read:
                left = seconds / self._read * ((1.0 + _SORTING) * total - self._read)
            self._progress(Progress("reading", self._read, total, seconds, left))
        else:
            done = min(round(self._sorted), self._read)
            each = (seconds - self._reading) / done if done else _SORTING * self._reading / max(self._read, 1)
            self._progress(Progress("sorting", done, self._read, seconds, each * (self._read - done)))


__all__ = ["Watcher", "told"]

Watcher = Callable[[Progress], None]

_TELL_PAUSE = 0.5
_SORTING_SHARE = 0.5  # how long sorting takes, in terms of reading


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
        while not over.wait(_TELL_PAUSE):
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
    return replace(progress, total=total, seconds_left=progress.seconds * ((1.0 + _SORTING_SHARE) / share - 1.0))
