"""How far the reading and sorting of a log has come, and how long it will still take."""

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
