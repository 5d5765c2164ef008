"""The terminal: lines and consoles that pass on nothing it would obey, and tables that are never wider than it.

Names and what programs write come from strangers; only the colours are ours. In a table whatever names a row is there
and never wraps. What finds no room is left out whole, and said, rather than squeezed: half a number is a wrong number.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from frontguard.phrases import cells_of, fitting_names, joined, number_of, time_range, visible_lines

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.segment import Segment

    from frontguard.logs.sort import LogProgress


LINES, COLUMNS = 24, 80
"""Of a small terminal, on which the answer on ten arms finds room: warnings that do not are counted."""

GAP = 2
"""Cells between two columns."""

COMFORTABLE, LEAST = 20, 12
"""Cells that the names of rows get, if they need as many, before anything is left out; and before all else is."""


def write_line(message: str, stream: TextIO | None = None) -> None:
    """Write a message to a stream, stderr unless given, at once."""
    print(visible_lines(message), file=stream or sys.stderr, flush=True)


def console(**options: Any) -> Console:
    """A console of rich that prints texts as they are: no name is markup, nor a command to the terminal."""
    from rich.console import Console as RichConsole

    class PlainConsole(RichConsole):
        def render(self, *what: Any, **how: Any) -> Iterator[Segment]:
            for each in super().render(*what, **how):
                yield each if each.control else each._replace(text=visible_lines(each.text))

    return PlainConsole(highlight=False, markup=False, emoji=False, **options)


@dataclass(frozen=True)
class TextColumn:
    """A heading and cells, each of one or more lines; numbers are set to the right."""

    heading: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    number: bool = False
    styles: tuple[str, ...] = ()  # of each cell, where it has one of its own

    @cached_property
    def width(self) -> int:
        """Cells of the widest line."""
        return max((cells_of(line) for lines in (self.heading, *self.cells) for line in lines), default=0)

    @classmethod
    def of(cls, heading: str, cells: Sequence[str], styles: Sequence[str] = (), *, number: bool = False) -> TextColumn:
        """A column of texts, in which a line ends where a text says so."""
        lines = tuple(tuple(cell.split("\n")) for cell in cells)
        return cls(tuple(heading.split("\n")), lines, number, tuple(styles))


def width_of(columns: Sequence[TextColumn]) -> int:
    """Cells of the whole table."""
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def drawn(columns: Sequence[TextColumn], styles: Sequence[str] = ()) -> Group:
    """The table for rich to print: headings in bold, then the rows, each in its style."""
    from rich.console import Group as RichGroup
    from rich.text import Text

    lines = [Text("  ".join(line).rstrip(), style="bold") for line in _lines(columns, [c.heading for c in columns])]
    for row in range(len(columns[0].cells)):
        for line in _lines(columns, [column.cells[row] for column in columns]):
            text = Text(style=styles[row] if styles else "")
            for place, (column, part) in enumerate(zip(columns, line, strict=True)):
                last = place == len(columns) - 1
                text.append(part.rstrip() if last else part + " " * GAP, column.styles[row] if column.styles else None)
            text.rstrip()
            lines.append(text)
    for text in lines:
        text.no_wrap, text.overflow = True, "crop"
    return RichGroup(*lines)


def _lines(columns: Sequence[TextColumn], cells: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """The lines of a row, its cells filled up to the width of their columns."""
    return [
        [_filled(part, column) for part, column in zip(parts, columns, strict=True)]
        for parts in zip_longest(*cells, fillvalue="")
    ]


def _filled(text: str, column: TextColumn) -> str:
    blank = " " * (column.width - cells_of(text))
    return blank + text if column.number else text + blank


def fitted(
    columns: Sequence[TextColumn], width: int, gives_way: Sequence[int] = (), least: int = COMFORTABLE
) -> tuple[list[TextColumn], list[str]]:
    """The columns for which there is room, and what the others are called.

    The first, which names the rows, always stays; its names are shortened in the middle, but if they need them, they
    get `least` cells. Of the others those whose places are given go first, in this order; then the last ones.
    """
    names, *_ = columns
    going = [*gives_way, *(place for place in range(len(columns) - 1, 0, -1) if place not in gives_way)]
    kept = list(range(1, len(columns)))
    for place in going:
        if min(names.width, least) + GAP * len(kept) + sum(columns[each].width for each in kept) <= width:
            break
        kept.remove(place)
    room = width - sum(columns[place].width + GAP for place in kept)
    texts = fitting_names([" ".join(cell) for cell in names.cells], room)
    shown = replace(names, cells=tuple((text,) for text in texts))
    gone = [column for place, column in enumerate(columns) if place and place not in kept]
    return [shown, *(columns[place] for place in kept)], [" ".join(column.heading) for column in gone]


def titled(
    title: str,
    columns: Sequence[TextColumn],
    width: int,
    *,
    gives_way: Sequence[int] = (),
    elsewhere: str = "",
) -> Group:
    """A table below its title, as much of it as finds room, and what does not."""
    from rich.console import Group as RichGroup
    from rich.text import Text

    kept, gone = fitted(columns, width, gives_way)
    said = left_out(gone, elsewhere)
    return RichGroup(Text(title, style="italic"), drawn(kept), *([Text(said)] if said else []))


def left_out(what: Sequence[str], elsewhere: str = "") -> str:
    """Return what a table leaves out, and how to see it; "" if nothing.

    >>> left_out(["the intervals"], "--csv FILE")
    'Not shown: the intervals (--csv FILE has all).'
    """
    return f"Not shown: {joined(list(what))}{f' ({elsewhere} has all)' if elsewhere else ''}." if what else ""


FIRST, EVERY = 2.0, 10.0
"""Seconds before anything is shown, and between two lines."""


class ProgressDisplay:
    """Shows how far it is. As a context, it clears its bar at the end."""

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
        """Show how many of all runs are done; `cell` says of what the next ones are."""
        if done < total:
            self.tell(f"{done}/{total} runs, {time_left(left)}: {cell}", done, total)

    def reading(self, progress: LogProgress) -> None:
        """Show how far the reading and sorting of a log is."""
        self.tell(reading_in_words(progress), progress.rows, progress.total)

    def counted(self, what: str, done: int, total: int) -> None:
        """Show how many of something are done."""
        if done < total:
            self.tell(f"{done:,} of {total:,} {what}", done, total)

    def pulls(self, told: int, failed: int, seconds: float, rate: float) -> None:
        """Show how many pulls were made; nobody knows how many it will be."""
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
    """Return how far the reading of a log is.

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
