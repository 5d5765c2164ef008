"""How far the reading of a log is, on stderr: a bar on a terminal, lines elsewhere, nothing if it is quick."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from frontguard.words.progress import in_words

if TYPE_CHECKING:
    from frontguard.logs.sort.progress import LogProgress

FIRST, EVERY = 2.0, 10.0
"""Seconds before anything is shown, and between two lines."""


class ReadingLines:
    """A line after two seconds, and then every ten."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._next = time.monotonic() + FIRST

    def __call__(self, progress: LogProgress) -> None:
        """Write a line if it is time for one."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + EVERY
            print(in_a_line(progress), file=self._stream or sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is left to be cleared."""


class ReadingBar:
    """A bar with the rows and the time left, which appears after two seconds and is gone at the end."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()

    def __call__(self, progress: LogProgress) -> None:
        """Redraw."""
        with self._lock:
            if self._bar is None:
                if time.monotonic() < self._began + FIRST:
                    return
                self._start()
            done = _all_sorted(progress)
            self._bar.update(
                self._task,
                description="comparing" if done else progress.stage,
                completed=progress.rows,
                total=progress.total,
                rows=f"{progress.rows:,} rows",
                left="" if done else in_words(progress.seconds_left),
            )

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rows]} {task.fields[left]}"))
        self._bar = RichProgress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("reading", total=None, rows="", left="")
        self._bar.start()

    def close(self) -> None:
        """Clear the line."""
        if self._bar is not None:
            self._bar.stop()


def in_a_line(progress: LogProgress) -> str:
    """Where the work is.

    >>> from frontguard.logs.sort.progress import LogProgress
    >>> in_a_line(LogProgress("reading", 2_000_000, 8_000_000, 3.0, 11.5))
    'reading: 2,000,000 of 8,000,000 rows, 12 s left'
    >>> in_a_line(LogProgress("sorting", 80, 80, 3.0, 0.0))
    '80 rows read and sorted; comparing the arms'
    """
    if _all_sorted(progress):
        return f"{progress.rows:,} rows read and sorted; comparing the arms"
    of = f" of {progress.total:,}" if progress.total is not None else ""
    return f"{progress.stage}: {progress.rows:,}{of} rows, {in_words(progress.seconds_left)}"


def _all_sorted(progress: LogProgress) -> bool:
    return progress.stage == "sorting" and progress.rows == progress.total


@contextmanager
def shown_reading() -> Iterator[ReadingLines | ReadingBar]:
    """What to tell the progress of a log to."""
    shown = ReadingBar() if sys.stderr.isatty() else ReadingLines()
    try:
        yield shown
    finally:
        shown.close()
