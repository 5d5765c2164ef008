"""Telling a person how far it is: a bar on a terminal, plain lines now and then elsewhere, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol, Self, TextIO


class Progress(Protocol):
    """What the runner tells: `show(cell, finished runs, all runs, seconds left)`, as often as it likes."""

    def show(self, cell: str, done: int, total: int, left: float | None) -> None:
        """Say where the work is."""


class Silent:
    """Says nothing."""

    def show(self, cell: str, done: int, total: int, left: float | None) -> None:
        """Say nothing."""


class Lines:
    """A plain line after `first` seconds and then every `every` seconds; nothing for work that is over
    sooner.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        first: float = 2.0,
        every: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._clock = clock
        self._every = every
        self._next = clock() + first

    def show(self, cell: str, done: int, total: int, left: float | None) -> None:
        """Write a line if it is time for one."""
        now = self._clock()
        if now >= self._next and done < total:
            self._next = now + self._every
            print(f"{done}/{total} runs, {in_words(left)}: {cell}", file=self._stream or sys.stderr, flush=True)


class Bar:
    """A bar with the current cell and the time left, on a terminal. Use as a context."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("runs, {task.fields[left]}: {task.description}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=None, left="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, cell: str, done: int, total: int, left: float | None) -> None:
        """Redraw."""
        self._bar.update(self._task, description=cell, completed=done, total=total, left=in_words(left))


def in_words(seconds: float | None) -> str:
    """The time left as a person says it.

    >>> in_words(None), in_words(3.2), in_words(200), in_words(9000)
    ('time left not known yet', '4 s left', '3 min 20 s left', '2 h 30 min left')
    """
    if seconds is None:
        return "time left not known yet"
    whole = int(-(-seconds // 1))
    if whole < 60:
        return f"{whole} s left"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s left"
    return f"{whole // 3600} h {whole % 3600 // 60} min left"


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """A bar on a terminal, plain lines now and then elsewhere; both on stderr."""
    if sys.stderr.isatty():
        with Bar() as bar:
            yield bar
    else:
        yield Lines()
