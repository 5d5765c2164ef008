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
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from frontguard._common.machine import available_memory, side_by_side, usable_cores
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.logs.sort.merge import lay_out
from frontguard.logs.sort.names import Codes
from frontguard.logs.sort.order import RowOrder
from frontguard.logs.sort.ordered import Ordered
from frontguard.logs.sort.progress import Clock
from frontguard.logs.sort.rows import Batch, RowBuffer, sort_within, starts_of

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


class _Runs:
    """The rows on disk: for each run its arms, in the order of names, how many values each has, and these."""

    def __init__(self, kept: RowBuffer, folder: Folder, stack: ExitStack) -> None:
        self.rows = 0
        self._kept = kept
        # Where each run stands among the arms of all runs, and where it begins among the values of each metric.
        self._runs: list[tuple[slice, list[int]]] = []
        self._pulls: Ints = np.zeros(0, np.int64)  # by code, like the next two
        self._broken: Ints = np.zeros(0, np.int64)
        self._good: list[Ints] = [np.zeros(0, np.int64) for _ in kept.metrics]
        self._codes = StoredArray(np.int32, folder, stack)
        self._counts = [StoredArray(np.uint32, folder, stack) for _ in kept.metrics]
        self._values = [StoredArray(np.float64, folder, stack) for _ in kept.metrics]
        self._results = [StoredArray(np.float64, folder, stack) for _ in kept.metrics]

    def write(self) -> None:
        """Move the rows that are in memory to disk."""
        self.rows += self._kept.count
        order = self._kept.names.in_order()
        pulls, broken = self._kept.pulls(), self._kept.broken()
        present = order[pulls[order] > 0]
        counts, values = self._kept.take_grouped(order)
        first = self._codes.append(present)
        places = []
        for metric, (each, flat) in enumerate(zip(counts, values, strict=True)):
            self._counts[metric].append(each[present])
            places.append(self._values[metric].append(flat))
            self._good[metric] = _sum(self._good[metric], each)
        self._pulls, self._broken = _sum(self._pulls, pulls), _sum(self._broken, broken)
        self._runs.append((slice(first, self._codes.length), places))

    def ordered(self, memory: int, clock: Clock) -> Ordered:
        """Lay the runs out block by block, and sort."""
        order = self._kept.names.in_order()
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        pulls = self._pulls[order]
        self._kept.watched.choose(pulls, order, len(self._results))
        starts = starts_of([each[order] for each in self._good])
        # A block of each thread, and at most as much of one run, stay in memory while they are worked on.
        edges = _blocks(starts, max(1, memory // (3 * 8 * usable_cores())))
        arms_at, values_at = self._cut(rank, edges)
        for stored, begins in zip(self._results, starts, strict=True):
            stored.reserve(int(begins[-1]))

        def arrange(job: tuple[int, int]) -> None:
            block, metric = job
            first, last = int(edges[block]), int(edges[block + 1])
            begins = starts[metric, first : last + 1]
            whole = self._results[metric].mapped(int(begins[0]), int(begins[-1]))
            begins = begins - begins[0]
            places = begins[:-1].copy()
            for at, found in zip(arms_at, values_at[:, metric], strict=True):
                arms = rank[self._codes.mapped(*at[block : block + 2])] - first
                counts = self._counts[metric].mapped(*at[block : block + 2])
                lay_out(arms, counts, self._values[metric].mapped(*found[block : block + 2]), places, whole)
            self._kept.watched.take(metric, first, whole, begins)
            sort_within(whole, begins, threads=False)
            clock.sorted(int(pulls[first:last].sum()) / len(self._results))

        side_by_side(arrange, product(range(len(edges) - 1), range(len(self._results))))
        results = tuple(stored.mapped() for stored in self._results)
        for flat in results:
            flat.flags.writeable = False
        return Ordered(self._kept.names.texts(order), self._kept.metrics, pulls, starts, results, self._broken[order])

    def _cut(self, rank: Codes, edges: Ints) -> tuple[Ints, Ints]:
        """Where the blocks of arms begin and end in the files, run by run.

        Edges among the arms (runs, blocks + 1), and among the values of each metric (runs, M, blocks + 1).
        """
        arms_at = np.empty((len(self._runs), len(edges)), np.int64)
        values_at = np.empty((len(self._runs), len(self._counts), len(edges)), np.int64)
        for number, (own, begins) in enumerate(self._runs):
            within = np.searchsorted(rank[self._codes.mapped(own.start, own.stop)], edges)
            arms_at[number] = own.start + within
            for metric, begin in enumerate(begins):
                counts = self._counts[metric].mapped(own.start, own.stop)
                values_at[number, metric] = begin + starts_of([counts])[0, within]
        return arms_at, values_at


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
    """A flat array in a temporary file, which is open as long as the stack is; its maps live on.

    >>> with ExitStack() as stack:
    ...     stored = StoredArray(np.int64, None, stack)
    ...     stored.append(np.array([5, 6])), stored.append(np.array([7]))
    ...     stored.mapped()
    (0, 2)
    array([5, 6, 7])
    """

    def __init__(self, kind: Any, folder: Folder, stack: ExitStack) -> None:
        self.length = 0
        self._kind = np.dtype(kind)
        self._where = Path(tempfile.gettempdir() if folder is None else folder)
        try:
            self._file: IO[bytes] = stack.enter_context(tempfile.TemporaryFile(buffering=0, dir=self._where))  # noqa: SIM115
        except OSError as error:
            raise BadInput(f"no temporary file can be made in {self._where}: {error.strerror}") from None

    def append(self, array: npt.NDArray[Any]) -> int:
        """Write at the end. Returns where that was."""
        start = self.length
        left = np.ascontiguousarray(array, self._kind).view(np.uint8).data
        with self._in_words():
            while len(left):
                left = left[self._file.write(left) :]
        self.length += len(array)
        return start

    def reserve(self, length: int) -> None:
        """Make an empty one this long, of zeros.

        The disk's room is taken at once: to write to the map of a file that turns out not to fit ends the process.
        """
        if not length or not hasattr(os, "posix_fallocate"):
            self.append(np.zeros(length, self._kind))
            return
        with self._in_words():
            os.posix_fallocate(self._file.fileno(), 0, length * self._kind.itemsize)
        self.length = length

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

    def mapped(self, start: int = 0, stop: int | None = None) -> npt.NDArray[Any]:
        """Elements start … stop − 1, all unless told, as a memory map: in memory no longer than it is in use."""
        count = int((self.length if stop is None else stop) - start)
        if count == 0:
            return np.empty(0, self._kind)
        return np.asarray(np.memmap(self._file, self._kind, "r+", int(start) * self._kind.itemsize, (count,)))
