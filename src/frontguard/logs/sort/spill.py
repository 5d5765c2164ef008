"""Logs that do not fit in memory: rows → `Ordered` whose values are memory maps of temporary files.

Rows are kept in memory (`RowBuffer`) while they fit. When they do not, they are laid out arm by arm in the order of
names and appended to files, a *run*, and reading goes on. Names that turn up later fall between those of a run without
disturbing their order. So in the end any block of neighbouring arms is one stretch of every run: it is laid out from
all of them in a map of the result's file, and sorted there (`merge_ordered`). Every value is written twice and read
once, in long stretches, whatever the order of the rows; what stays in memory is a few numbers an arm.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from frontguard._common.machine import available_memory, usable_cores
from frontguard._common.typing import Floats
from frontguard.errors import BadArgument, BadInput
from frontguard.logs.sort.order import RowOrder
from frontguard.logs.sort.ordered import Ordered, merge_ordered
from frontguard.logs.sort.progress import Clock
from frontguard.logs.sort.rows import Batch, RowBuffer

LEAST_MEMORY = 1 << 20
_PART_OF_AVAILABLE = 0.5
_HELD = 4  # the part of the memory, as one of so many, that runs may have before they go to disk


def ordered_from(
    batches: Iterable[Batch],
    metrics: Sequence[str],
    *,
    usable: Floats | None = None,
    memory: int | None = None,
    folder: Folder = None,
    clock: Clock | None = None,
    watched: RowOrder | None = None,
) -> Ordered:
    """The measurements of all rows by arm, with about `memory` bytes at most for the rows, and on disk beyond that.

    `memory` is half of what is available unless it is given; a few numbers for each arm come on top. `folder` is where
    temporary files are made (better on a disk: the usual folder for them may itself be memory); the `clock` is told how
    far it is. NaN and infinite values failed, and so did those of metric d that do not lie between the two numbers
    `usable[d]` (`rows.usable_ranges`). `watched` keeps some values in the order of rows.

    >>> import polars as pl
    >>> batch = Batch(pl.Series(["b", "a", "b"]), [np.array([3.0, 2.0, 1.0])])
    >>> log = ordered_from([batch], ["seconds"], memory=2**30)
    >>> log.arms, log.values
    (['a', 'b'], (array([2., 1., 3.]),))
    """
    kept = RowBuffer(metrics, usable, watched)
    clock = clock or Clock()
    with LogParts(metrics, memory, folder) as runs:
        # The code of an arm and the values of all metrics; laying rows out takes as much again as the values.
        most_rows = runs.memory // (4 + 2 * 8 * len(metrics))
        for batch in batches:
            for piece in _pieces(batch, most_rows):
                if kept.count + len(piece) > most_rows:
                    runs.add(kept.laid_out())
                kept.add(piece)
                clock.read(kept.count + runs.rows)
        clock.all_read()
        if runs.rows:
            runs.add(kept.laid_out())
            return runs.ordered(clock, kept.watched)
        ordered = kept.ordered()
        clock.sorted(int(ordered.pulls.sum()))
        return ordered


def _pieces(batch: Batch, most: int) -> Iterator[Batch]:
    """A batch, cut where it has more rows than may be kept."""
    for start in range(0, len(batch), most):
        part = slice(start, start + most)
        yield replace(batch, arms=batch.arms[part], values=[column[part] for column in batch.values])


class LogParts:
    """Logs laid out by arm that become one, in about `memory` bytes at most for values, and on disk beyond that."""

    def __init__(self, metrics: Sequence[str], memory: int | None = None, folder: Folder = None) -> None:
        if memory is None:
            memory = max(LEAST_MEMORY, int(_PART_OF_AVAILABLE * available_memory()))
        if memory < LEAST_MEMORY:
            raise BadArgument("memory", f"rows need {LEAST_MEMORY:,} bytes at least; got {memory:,}")
        self.metrics, self.memory, self.rows = tuple(metrics), memory, 0
        self._folder, self._stack = folder, ExitStack()
        self._runs: list[Ordered] = []
        self._held = 0  # bytes of those that are in memory
        self._files: list[StoredArray] = []  # of the values of each metric, once there are any

    def __enter__(self) -> LogParts:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _new_file(self, length: int = 0) -> StoredArray:
        stored = StoredArray(self._folder, self._stack)
        stored.reserve(length)
        return stored

    def add(self, run: Ordered) -> None:
        """Take a log, whose values are in the order of its arms."""
        self.rows += int(run.pulls.sum())
        self._held += sum(flat.nbytes for flat in run.values)
        self._runs.append(run)
        if self._held <= self.memory // _HELD:
            return
        self._files = self._files or [self._new_file() for _ in self.metrics]
        self._runs = [self._on_disk(each) for each in self._runs]
        self._held = 0

    def _on_disk(self, run: Ordered) -> Ordered:
        if run.values and isinstance(run.values[0], StoredArray):
            return run
        begins = [file.append(flat) for file, flat in zip(self._files, run.values, strict=True)]
        files: Any = tuple(self._files)  # of which slices are read, as of arrays
        return replace(run, starts=run.starts + np.array(begins)[:, None], values=files)

    def ordered(self, clock: Clock, watched: RowOrder | None = None) -> Ordered:
        """All of them as one log, sorted."""
        if not self._files:
            return merge_ordered(self._runs, self.metrics, watched=watched, clock=clock)
        # A block of each thread, and at most as much of one run, stay in memory while they are worked on.
        most = max(1, self.memory // (3 * 8 * usable_cores()))
        found = merge_ordered(self._runs, self.metrics, room=self._new_file, most=most, watched=watched, clock=clock)
        for flat in found.values:
            flat.flags.writeable = False
        return found


Folder = Path | str | None

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StoredArray:
    """A flat array of float64 in a temporary file, which is open as long as the stack is; its maps live on.

    >>> with ExitStack() as stack:
    ...     stored = StoredArray(None, stack)
    ...     stored.append(np.array([5.0, 6.0])), stored.append(np.array([7.0]))
    ...     stored[:]
    (0, 2)
    array([5., 6., 7.])
    """

    def __init__(self, folder: Folder, stack: ExitStack) -> None:
        self._length = 0
        self._where = Path(tempfile.gettempdir() if folder is None else folder)
        try:
            self._file: IO[bytes] = stack.enter_context(tempfile.TemporaryFile(buffering=0, dir=self._where))  # noqa: SIM115
        except OSError as error:
            raise BadInput(f"no temporary file can be made in {self._where}: {error.strerror}") from None

    def append(self, array: Floats) -> int:
        """Write at the end. Returns where that was."""
        start, self._length = self._length, self._length + len(array)
        left = np.ascontiguousarray(array).view(np.uint8).data
        with self._in_words():
            while len(left):
                left = left[self._file.write(left) :]
        return start

    def reserve(self, length: int) -> None:
        """Make an empty one this long, of zeros.

        The disk's room is taken at once: to write to the map of a file that turns out not to fit ends the process.
        """
        if not length or not hasattr(os, "posix_fallocate"):
            self.append(np.zeros(length))
            return
        with self._in_words():
            os.posix_fallocate(self._file.fileno(), 0, 8 * length)
        self._length = length

    def __getitem__(self, part: slice) -> Floats:
        """Elements start … stop − 1, all unless told, as a memory map: in memory no longer than it is in use."""
        start, stop, _ = part.indices(self._length)
        if stop == start:
            return np.empty(0)
        return np.asarray(np.memmap(self._file, np.float64, "r+", 8 * start, (stop - start,)))

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise BadInput(
                f"the log does not fit in memory, and its temporary files do not fit in {self._where} "
                f"({error.strerror}): give a folder with more room, or more memory"
            ) from None
