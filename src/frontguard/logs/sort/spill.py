"""Logs that do not fit in memory: rows → `Ordered` whose values are memory maps of temporary files.

Rows are kept in memory (`RowBuffer`) while they fit. When they do not, they are laid out arm by arm in the order of
names and appended to files, a *run*, and reading goes on. Names that turn up later fall between those of a run without
disturbing their order. So in the end any block of neighbouring arms is one stretch of every run: it is read from each
of them, sorted, and written once. Every value is written twice and read once, in long stretches, whatever the order
of the rows; what stays in memory is a few numbers an arm.
"""

from __future__ import annotations

import errno
import os
import tempfile
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import psutil

from frontguard._machine import usable_cores
from frontguard._typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.logs.sort.merge import lay_out
from frontguard.logs.sort.names import Codes
from frontguard.logs.sort.ordered import Ordered
from frontguard.logs.sort.progress import Clock
from frontguard.logs.sort.rows import ColumnBatch, RowBuffer, row_bytes, side_by_side, sort_here, starts_of

LEAST_MEMORY = 1 << 20
_PART_OF_AVAILABLE = 0.5


def ordered_from(
    batches: Iterable[ColumnBatch],
    metrics: Sequence[str],
    *,
    failed_below_or_at: Floats | None = None,
    memory: int | None = None,
    folder: Folder = None,
    clock: Clock | None = None,
) -> Ordered:
    """The measurements of all rows by arm, with about `memory` bytes at most for the rows, and on disk beyond that.

    `memory` is half of what is available unless it is given; a few numbers for each arm come on top. `folder` is where
    temporary files are made (better on a disk: the usual folder for them may itself be memory); the `clock` is told how
    far it is. NaN and infinite values failed, and so did those of metric d that are at or below `failed_below_or_at[d]`
    (0 where a logarithm will be taken, −∞ where any number will do).

    >>> from types import SimpleNamespace
    >>> batch = SimpleNamespace(arms=np.array(["b", "a", "b"]), values=[np.array([3.0, 2.0, 1.0])])
    >>> log = ordered_from([batch], ["seconds"], memory=2**30)
    >>> log.arms, log.values
    (['a', 'b'], (array([2., 1., 3.]),))
    """
    if memory is None:
        memory = max(LEAST_MEMORY, int(_PART_OF_AVAILABLE * available_memory()))
    if memory < LEAST_MEMORY:
        raise BadInput(f"memory: rows need {LEAST_MEMORY:,} bytes at least; got {memory:,}")
    kept = RowBuffer(metrics, failed_below_or_at)
    clock = clock or Clock()
    # Laying rows out takes as much again as the values of all metrics.
    most_rows = memory // (row_bytes(len(metrics)) + 8 * len(metrics))
    with ExitStack() as stack:
        runs: _Runs | None = None
        for batch in batches:
            for piece in _pieces(batch, most_rows):
                if kept.count + len(piece.arms) > most_rows:
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


def _pieces(batch: ColumnBatch, most: int) -> Iterator[ColumnBatch]:
    """A batch, cut where it has more rows than may be kept."""
    count = len(batch.arms)
    if count <= most:
        yield batch
        return
    for start in range(0, count, most):
        yield SimpleNamespace(
            arms=batch.arms[start : start + most], values=[column[start : start + most] for column in batch.values]
        )


@dataclass(frozen=True)
class _Run:
    """Where it begins and ends among the arms of all runs, and where it begins among the values of each metric."""

    first: int
    last: int
    values: list[int]


class _Runs:
    """The rows on disk: for each run its arms, in the order of names, how many values each has, and these."""

    def __init__(self, kept: RowBuffer, folder: Folder, stack: ExitStack) -> None:
        self.rows = 0
        self._kept = kept
        self._runs: list[_Run] = []
        self._pulls: Ints = np.zeros(0, np.int64)  # by code, like the next
        self._good: list[Ints] = [np.zeros(0, np.int64) for _ in kept.metrics]

        def stored(kind: Any) -> StoredArray:
            return stack.enter_context(StoredArray(folder, np.dtype(kind)))

        self._codes = stored(np.int32)
        self._counts = [stored(np.uint32) for _ in kept.metrics]
        self._values = [stored(np.float64) for _ in kept.metrics]
        self._results = [stored(np.float64) for _ in kept.metrics]

    def write(self) -> None:
        """Move the rows that are in memory to disk."""
        self.rows += self._kept.count
        order = self._kept.names.in_order()
        pulls = self._kept.pulls()
        present = order[pulls[order] > 0]
        counts, values = self._kept.take_grouped(order)
        first = self._codes.append(present)
        places = []
        for metric, (each, flat) in enumerate(zip(counts, values, strict=True)):
            self._counts[metric].append(each[present].astype(np.uint32))
            places.append(self._values[metric].append(flat))
            self._good[metric] = _sum(self._good[metric], each)
        self._pulls = _sum(self._pulls, pulls)
        self._runs.append(_Run(first, len(self._codes), places))

    def ordered(self, memory: int, clock: Clock) -> Ordered:
        """Read the runs block by block, sort, write."""
        order = self._kept.names.in_order()
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        pulls = self._pulls[order]
        starts = starts_of([each[order] for each in self._good])
        # Each thread holds a block of one metric sorted, and at most as much of one run.
        most = max(1, memory // (3 * 8 * usable_cores()))
        edges = _blocks(starts, most)
        arms_at, values_at = self._cut(rank, edges)

        def arrange(job: tuple[int, int]) -> None:
            block, metric = job
            first, last = int(edges[block]), int(edges[block + 1])
            begins = starts[metric, first : last + 1] - starts[metric, first]
            if begins[-1] > most:
                self._arrange_one(metric, int(starts[metric, first]), values_at[:, metric, block], most)
            else:
                whole = np.empty(int(begins[-1]))
                places = begins[:-1].copy()
                for at, found in zip(arms_at, values_at[:, metric], strict=True):
                    arms = rank[self._codes.read(at[block], at[block + 1])] - first
                    counts = self._counts[metric].read(at[block], at[block + 1])
                    lay_out(arms, counts, self._values[metric].read(*found[block]), places, whole)
                sort_here(whole, begins)
                self._results[metric].write(whole, int(starts[metric, first]))
            clock.sorted(int(pulls[first:last].sum()) / len(self._results))

        for metric, stored in enumerate(self._results):
            stored.extend_to(int(starts[metric, -1]))
        jobs = [(block, metric) for block in range(len(edges) - 1) for metric in range(len(self._results))]
        side_by_side(arrange, jobs)
        mapped = tuple(stored.mapped() for stored in self._results)
        return Ordered(self._kept.names.texts(order), self._kept.metrics, pulls, starts, mapped)

    def _cut(self, rank: Codes, edges: Ints) -> tuple[list[list[int]], Ints]:
        """Where the blocks of arms are in the files.

        For each run the edges of blocks among its arms; and an array (runs, M, blocks, 2) of where the values of a
        block begin and end.
        """
        codes = self._codes.mapped()
        arms_at = []
        values_at = np.zeros((len(self._runs), len(self._values), len(edges) - 1, 2), np.int64)
        for number, run in enumerate(self._runs):
            at = [bisect_left(codes, edge, run.first, run.last, key=rank.__getitem__) for edge in edges.tolist()]
            arms_at.append(at)
            for metric, counts in enumerate(self._counts):
                end = run.values[metric]
                for block in range(len(edges) - 1):
                    begin, end = end, end + int(counts.read(at[block], at[block + 1]).sum(dtype=np.int64))
                    values_at[number, metric, block] = begin, end
        return arms_at, values_at

    def _arrange_one(self, metric: int, start: int, found: Ints, most: int) -> None:
        """One arm with more values than a thread may hold: copied, and sorted where they are.

        A sort that goes through its array in stretches, forwards and backwards, gets along with a map of a file.
        """
        at = start
        for begin, end in found.tolist():
            for place in range(begin, end, most):
                part = self._values[metric].read(place, min(place + most, end))
                self._results[metric].write(part, at)
                at += len(part)
        self._results[metric].mapped(writable=True)[start:at].sort()


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
_AT_ONCE = 1 << 26  # bytes, of one call to the system


class StoredArray:
    """A flat array that grows at its end; threads may write and read different parts of it at the same time.

    >>> with StoredArray(None, np.dtype(np.int64)) as stored:
    ...     stored.append(np.array([5, 6])), stored.append(np.array([7]))
    ...     stored.read(1, 3), stored.mapped()
    (0, 2)
    (array([6, 7]), array([5, 6, 7]))
    """

    def __init__(self, folder: Folder, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._length = 0
        self._where = Path(tempfile.gettempdir() if folder is None else folder)
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(buffering=0, dir=self._where)  # noqa: SIM115
        except OSError as error:
            raise BadInput(f"no temporary file can be made in {self._where}: {error.strerror}") from None

    def __enter__(self) -> StoredArray:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._length

    def append(self, array: npt.NDArray[Any]) -> int:
        """Write at the end. Returns where that was."""
        start = self._length
        self.write(array, start)
        self._length = start + len(array)
        return start

    def extend_to(self, length: int) -> None:
        """Make it this long; what is not written before it is read will be zero."""
        self._length = max(self._length, length)

    def write(self, array: npt.NDArray[Any], start: int) -> None:
        """Write from element `start` on."""
        left = np.ascontiguousarray(array, self._dtype).data.cast("B")
        at = start * self._dtype.itemsize
        try:
            while left:
                done = os.pwrite(self._file.fileno(), left[:_AT_ONCE], at)
                left, at = left[done:], at + done
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise BadInput(
                f"the log does not fit in memory, and its temporary files do not fit in {self._where} "
                f"({error.strerror}): give a folder with more room, or more memory"
            ) from None

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Elements start … stop − 1."""
        array = np.empty(stop - start, self._dtype)
        left = array.data.cast("B")
        at = start * self._dtype.itemsize
        while left:
            part = os.pread(self._file.fileno(), min(len(left), _AT_ONCE), at)
            if not part:
                raise OSError(errno.EIO, f"a temporary file in {self._where} is shorter than what was written")
            left[: len(part)] = part
            left, at = left[len(part) :], at + len(part)
        return array

    def mapped(self, writable: bool = False) -> npt.NDArray[Any]:
        """The whole as a memory map, which outlives this object."""
        if self._length == 0:
            return np.empty(0, self._dtype)
        mode: Any = "r+" if writable else "r"
        return np.asarray(np.memmap(self._file, self._dtype, mode, shape=(self._length,)))

    def close(self) -> None:
        """Let go of the file; maps of it live on."""
        self._file.close()


def available_memory() -> int:
    """Bytes that can be had without taking them from others, within the limit of our control group if there is one.

    >>> available_memory() > 0
    True
    """
    limits = [psutil.virtual_memory().available, _of_group(Path("/sys/fs/cgroup"))]
    return min(int(limit) for limit in limits if limit is not None)


def _of_group(folder: Path) -> int | None:
    """What a container has left: its limit without what it uses, where files that are cached do not count."""
    try:
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        cached = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(limit - used + int(cached.get("file", 0)), limit // 8)
    except (OSError, ValueError):  # no group, or no limit
        return None
