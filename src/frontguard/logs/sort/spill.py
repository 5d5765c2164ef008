"""Logs that do not fit in memory: rows → `Ordered` whose values are memory maps of temporary files.

Rows are kept in memory (`RowBuffer`) while they fit. When they do not, they are laid out arm by arm in the order of
names and appended to files, a *run*, and reading goes on. Names that turn up later fall between those of a run without
disturbing their order. So in the end any block of neighbouring arms is one stretch of every run: it is laid out from
all of them in a map of the result's file, and sorted there. Every value is written twice and read once, in long
stretches, whatever the order of the rows; what stays in memory is a few numbers an arm.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from frontguard._common.machine import available_memory, side_by_side, usable_cores
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.logs.sort.merge import lay_out
from frontguard.logs.sort.names import Codes
from frontguard.logs.sort.order import RowOrder
from frontguard.logs.sort.ordered import Ordered, starts_of
from frontguard.logs.sort.progress import Clock
from frontguard.logs.sort.rows import Batch, RowBuffer, sort_within

LEAST_MEMORY = 1 << 20
_PART_OF_AVAILABLE = 0.5


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
    if memory is None:
        memory = max(LEAST_MEMORY, int(_PART_OF_AVAILABLE * available_memory()))
    if memory < LEAST_MEMORY:
        raise BadArgument("memory", f"rows need {LEAST_MEMORY:,} bytes at least; got {memory:,}")
    kept = RowBuffer(metrics, usable, watched)
    clock = clock or Clock()
    # The code of an arm and the values of all metrics; laying rows out takes as much again as the values.
    most_rows = memory // (4 + 2 * 8 * len(metrics))
    with ExitStack() as stack:
        runs: _Runs | None = None
        for batch in batches:
            for piece in _pieces(batch, most_rows):
                if kept.count + len(piece) > most_rows:
                    runs = runs or _Runs(kept, folder, stack)
                    runs.write()
                kept.add(piece)
                clock.read(kept.count + (runs.rows if runs else 0))
        clock.all_read()
        if runs is None:
            ordered = kept.ordered()
            clock.sorted(int(ordered.pulls.sum()))
            return ordered
        runs.write()
        return runs.ordered(memory, clock)


def _pieces(batch: Batch, most: int) -> Iterator[Batch]:
    """A batch, cut where it has more rows than may be kept."""
    for start in range(0, len(batch), most):
        part = slice(start, start + most)
        yield replace(batch, arms=batch.arms[part], values=[column[part] for column in batch.values])


@dataclass(frozen=True, eq=False)
class _Run:
    """Rows on disk: arms in the order of names, how many good values of each metric each has, and where these begin."""

    arms: Codes  # (k,), those that have rows
    good: npt.NDArray[np.uint32]  # (M, k)
    begins: list[int]  # (M,), in the files of values; arm after arm


class _Runs:
    """All rows on disk."""

    def __init__(self, kept: RowBuffer, folder: Folder, stack: ExitStack) -> None:
        self.rows = 0
        self._kept = kept
        self._runs: list[_Run] = []
        self._pulls: Ints = np.zeros(0, np.int64)  # by code, as is the next
        self._broken: Ints = np.zeros(0, np.int64)
        self._values, self._results = ([StoredArray(folder, stack) for _ in kept.metrics] for _ in range(2))

    def write(self) -> None:
        """Move the rows that are in memory to disk."""
        self.rows += self._kept.count
        order = self._kept.names.in_order()
        pulls, broken = self._kept.pulls(), self._kept.broken()
        arms = order[pulls[order] > 0]
        counts, values = self._kept.take_grouped(order)
        good = np.array([each[arms] for each in counts], np.uint32)
        self._runs.append(
            _Run(arms, good, [file.append(flat) for file, flat in zip(self._values, values, strict=True)])
        )
        self._pulls, self._broken = _sum(self._pulls, pulls), _sum(self._broken, broken)

    def ordered(self, memory: int, clock: Clock) -> Ordered:
        """Lay the runs out block by block, and sort."""
        metrics, order = self._kept.metrics, self._kept.names.in_order()
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        pulls, good = self._pulls[order], np.zeros((len(metrics), len(order)), np.int64)
        for run in self._runs:
            good[:, rank[run.arms]] += run.good
        self._kept.watched.choose(pulls, order, len(metrics))
        starts = starts_of(good)
        # A block of each thread, and at most as much of one run, stay in memory while they are worked on.
        edges = _blocks(starts, max(1, memory // (3 * 8 * usable_cores())))
        # Where blocks begin and end among the arms of each run (blocks + 1,), and among the values (M, blocks + 1).
        arms_at = [np.searchsorted(rank[run.arms], edges) for run in self._runs]
        values_at = [
            np.array(run.begins)[:, None] + starts_of(run.good)[:, at]
            for run, at in zip(self._runs, arms_at, strict=True)
        ]
        for file, begins in zip(self._results, starts, strict=True):
            file.reserve(int(begins[-1]))

        def arrange(job: tuple[int, int]) -> None:
            block, metric = job
            first, last = int(edges[block]), int(edges[block + 1])
            begins = starts[metric, first : last + 1]
            whole = self._results[metric].mapped(int(begins[0]), int(begins[-1]))
            begins = begins - begins[0]
            places = begins[:-1].copy()
            for run, at, found in zip(self._runs, arms_at, values_at, strict=True):
                some = slice(*at[block : block + 2])
                values = self._values[metric].mapped(*found[metric, block : block + 2].tolist())
                lay_out(rank[run.arms[some]] - first, run.good[metric, some], values, places, whole)
            self._kept.watched.take(metric, first, whole, begins)
            sort_within(whole, begins, threads=False)
            clock.sorted(int(pulls[first:last].sum()) / len(metrics))

        side_by_side(arrange, product(range(len(edges) - 1), range(len(metrics))))
        results = tuple(file.mapped() for file in self._results)
        for flat in results:
            flat.flags.writeable = False
        return Ordered(self._kept.names.texts(order), metrics, pulls, starts, results, self._broken[order])


def _sum(known: Ints, more: Ints) -> Ints:
    """The sum, by code; `more` has all arms that `known` has."""
    more[: len(known)] += known
    return more


def _blocks(starts: Ints, most: int) -> Ints:
    """Ranges of neighbouring arms, as edges, that have at most `most` values of any metric, or are one arm alone."""
    edges = [0]
    arms = starts.shape[1] - 1
    while edges[-1] < arms:
        ends = [int(np.searchsorted(each, each[edges[-1]] + most, side="right")) - 1 for each in starts]
        edges.append(max(min([*ends, arms]), edges[-1] + 1))
    return np.array(edges, np.int64)


Folder = Path | str | None

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StoredArray:
    """A flat array of float64 in a temporary file, which is open as long as the stack is; its maps live on.

    >>> with ExitStack() as stack:
    ...     stored = StoredArray(None, stack)
    ...     stored.append(np.array([5.0, 6.0])), stored.append(np.array([7.0]))
    ...     stored.mapped()
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

    def mapped(self, start: int = 0, stop: int | None = None) -> Floats:
        """Elements start … stop − 1, all unless told, as a memory map: in memory no longer than it is in use."""
        count = (self._length if stop is None else stop) - start
        if count == 0:
            return np.empty(0)
        return np.asarray(np.memmap(self._file, np.float64, "r+", 8 * start, (count,)))

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
