"""How far the work is, for whoever waits: a bar on a terminal, a plain line now and then elsewhere, on stderr.

Work that is over within two seconds says nothing. Whoever works tells its state as often as it likes, from any thread,
by the method of `ProgressDisplay` for its kind of work.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from frontguard.phrases import number_of, time_range
from frontguard.words.terminal import console, write_line

if TYPE_CHECKING:
    from frontguard.logs.sort import LogProgress

FIRST, EVERY = 2.0, 10.0
"""Seconds before anything is shown, and between two lines."""


class ProgressDisplay:
    """Shows how far it is. As a context, it clears its bar at the end.

    It goes to stderr as it is by then, unless a stream is given; and has a bar on a terminal, unless said otherwise.
    """

    def __init__(self, stream: TextIO | None = None, *, bar: bool | None = None, first: float = FIRST) -> None:
        self._stream = stream
        self._next = time.monotonic() + first
        self._wants_bar = (stream or sys.stderr).isatty() if bar is None else bar
        self._bar: Any = None  # once there is something to show
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, cell: str, done: int, total: int, left: float | None) -> None:
        """So many runs of all are done; `cell` says of what the next ones are."""
        if done < total:
            self.tell(f"{done}/{total} runs, {time_left(left)}: {cell}", done, total)

    def reading(self, progress: LogProgress) -> None:
        """So far is the reading and sorting of a log."""
        self.tell(reading_in_words(progress), progress.rows, progress.total)

    def counted(self, what: str, done: int, total: int) -> None:
        """So many of something are done."""
        if done < total:
            self.tell(f"{done:,} of {total:,} {what}", done, total)

    def pulls(self, told: int, failed: int, seconds: float, rate: float) -> None:
        """So many pulls were made; nobody knows how many it will be."""
        some = f", {failed} of them failed" if failed else ""
        self.tell(f"frontguard: {told} pulls in {seconds:.0f} s{some}; {rate:.3g} a second")

    def tell(self, sentence: str, done: int = 0, total: int | None = None) -> None:
        """Show a sentence, with a bar for the share that is done, if it is time for it."""
        with self._lock:
            now = time.monotonic()
            if now < self._next:
                return
            if self._wants_bar:
                self._draw(sentence, done, total)
            else:
                self._next = now + EVERY
                write_line(sentence, self._stream)

    def _draw(self, sentence: str, done: int, total: int | None) -> None:
        from rich.markup import escape
        from rich.progress import BarColumn, Progress, TextColumn

        if self._bar is None:
            screen = console(file=self._stream, stderr=self._stream is None)
            self._bar = Progress(BarColumn(), TextColumn("{task.description}"), console=screen, transient=True)
            self._bar.add_task("", total=None)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=escape(sentence), completed=done, total=total)


def reading_in_words(progress: LogProgress) -> str:
    """Where the reading of a log is.

    >>> from frontguard.logs.sort import LogProgress
    >>> reading_in_words(LogProgress("reading", 2_000_000, 8_000_000, 3.0, 11.5))
    'reading: 2,000,000 of 8,000,000 rows, about 12 s left'
    >>> reading_in_words(LogProgress("sorting", 80, 80, 3.0, 0.0))
    '80 rows read and sorted; comparing the arms'
    >>> reading_in_words(LogProgress("waiting", 0, None, 3.0, None))
    'waiting for a worker of the Dask cluster'
    """
    if progress.stage == "waiting":
        return "waiting for a worker of the Dask cluster"
    if progress.stage == "sorting" and progress.rows == progress.total:
        return f"{number_of(progress.rows, 'row')} read and sorted; comparing the arms"
    of = f" of {progress.total:,}" if progress.total is not None else ""
    return f"{progress.stage}: {progress.rows:,}{of} rows, {time_left(progress.seconds_left)}"


def time_left(seconds: float | None) -> str:
    """The time left as a person says it.

    >>> time_left(None), time_left(0.0), time_left(3.2), time_left(200), time_left(9000)
    ('time left not known yet', 'less than a second left', 'about 4 s left', 'about 3.3 min left', 'about 2.5 h left')
    """
    if seconds is None:
        return "time left not known yet"
    if seconds < 1.0:
        return "less than a second left"
    whole = math.ceil(seconds)
    return f"about {time_range(whole, whole)} left"
