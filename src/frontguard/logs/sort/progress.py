"""Progress of reading and sorting a log, and the time that is left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

_SORTING = 0.5
"""About how long it takes to sort a row, relative to reading it: for the time left before any row is sorted."""
_PAUSE = 0.25  # seconds between two messages


@dataclass(frozen=True)
class LogProgress:
    """All rows are read, and then all of them are sorted; on a cluster a worker may have to be waited for first."""

    stage: Literal["waiting", "reading", "sorting"]
    rows: int  # read, or sorted
    total: int | None  # None while it is not known
    seconds: float  # since the beginning
    seconds_left: float | None


Watcher = Callable[[LogProgress], None]


class Clock:
    """Tells a watcher a few times a second, and at the end of each stage.

    How much is left is known from the number of `rows` that are expected.
    """

    def __init__(self, watcher: Watcher | None = None, rows: int | None = None) -> None:
        self._watcher, self._expected = watcher, rows
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
        if self._watcher is None or (now < self._told + _PAUSE and not at_once):
            return
        self._told = now
        seconds = now - self._began
        if self._reading is None:
            total = None if self._expected is None else max(self._expected, self._read)
            share = self._read / total if total else None
            left = seconds * ((1.0 + _SORTING) / share - 1.0) if share else None
            self._watcher(LogProgress("reading", self._read, total, seconds, left))
        else:
            done = min(round(self._sorted), self._read)
            each = (seconds - self._reading) / done if done else _SORTING * self._reading / max(self._read, 1)
            self._watcher(LogProgress("sorting", done, self._read, seconds, each * (self._read - done)))
