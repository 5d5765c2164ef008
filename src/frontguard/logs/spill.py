"""Logs put together, and logs that do not fit in memory: `Ordered` whose values are memory maps of temporary files.

Rows that do not fit in memory are laid out arm by arm in the order of names and appended to files, a *run*, and reading
goes on. Names that turn up later fall between those of a run without disturbing their order. So in the end any block of
neighbouring arms is one stretch of every run: it is laid out from all of them in a map of the result's file, and sorted
there (`merge_ordered`). The result depends on what the logs hold, not on their order or grouping: zeros lose their
sign, because −0 and 0 compare equal and would keep the order in which they came.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import kernel
from frontguard._common.machine import side_by_side, usable_cores
from frontguard._common.typing import Codes, Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.measurements import Ordered
from frontguard.logs.sort import Clock, Folder, RowOrder, sort_within, starts_of


def merge_ordered(
    logs: Sequence[Ordered],
    metrics: Sequence[str],
    *,
    room: Callable[[int], Any] = np.empty,
    most: int | None = None,
    watched: RowOrder | None = None,
    clock: Clock | None = None,
) -> Ordered:
    """The log that holds the rows of all, which must have these metrics, `most` values, or all, at a time in threads.

    `room` makes that for a metric's values. `watched` sees them before they are sorted, if they are in their rows'
    order.

    >>> first = Ordered(["a", "b"], ("ms",), np.array([2, 1]), np.array([[0, 2, 3]]), (np.array([1.0, 5.0, 2.0]),))
    >>> second = Ordered(["a", "c"], ("ms",), np.array([1, 4]), np.array([[0, 1, 1]]), (np.array([3.0]),))
    >>> both = merge_ordered([first, second], ["ms"])
    >>> both.arms, both.pulls.tolist(), both.starts.tolist(), both.values[0].tolist()
    (['a', 'b', 'c'], [3, 1, 4], [[0, 3, 4, 4]], [1.0, 3.0, 5.0, 2.0])
    """
    for log in logs:
        same_metrics(metrics, log.metrics)
    arms, places = united([log.arms for log in logs])
    pulls, broken = np.zeros((2, len(arms)), np.int64)
    good = np.zeros((len(metrics), len(arms)), np.int64)
    counts = [log.good for log in logs]
    for log, count, own in zip(logs, counts, places, strict=True):
        pulls[own] += log.pulls
        broken[own] += 0 if log.broken is None else log.broken
        good[:, own] += count
    if watched is not None:
        watched.choose(pulls, arms, len(metrics))
    starts = starts_of(good)
    edges = _blocks(starts, most or int(starts.max(initial=1)))
    at = [np.searchsorted(own, edges) for own in places]  # where blocks begin and end among the arms of each log
    results = [room(int(begins[-1])) for begins in starts]

    def arrange(job: tuple[int, int]) -> None:
        block, metric = job
        first, last = int(edges[block]), int(edges[block + 1])
        begins = starts[metric, first : last + 1]
        flat = results[metric][int(begins[0]) : int(begins[-1])]
        begins = begins - begins[0]
        following = begins[:-1].copy()
        for log, count, own, cuts in zip(logs, counts, places, at, strict=True):
            some = slice(cuts[block], cuts[block + 1])
            own_start, own_end = log.starts[metric, cuts[block : block + 2]].tolist()
            lay_out(own[some] - first, count[metric, some], log.values[metric][own_start:own_end], following, flat)
        flat += 0.0  # −0 becomes 0
        if watched is not None:
            watched.take(metric, first, flat, begins)
        sort_within(flat, begins, threads=most is None)
        if clock is not None:
            clock.sorted(int(pulls[first:last].sum()) / len(metrics))

    side_by_side(arrange, product(range(len(edges) - 1), range(len(metrics))), threads=most is not None)
    counted = all(log.broken is not None for log in logs)
    values = tuple(result[:] for result in results)
    return Ordered(arms, tuple(metrics), pulls, starts, values, broken if counted else None)


def _blocks(starts: Ints, most: int) -> Ints:
    """Edges of ranges of neighbouring arms with at most `most` values of any metric, or of one arm alone."""
    edges = [0]
    arms = starts.shape[1] - 1
    while edges[-1] < arms:
        ends = [int(np.searchsorted(each, each[edges[-1]] + most, side="right")) - 1 for each in starts]
        edges.append(max(min([*ends, arms]), edges[-1] + 1))
    return np.array(edges, np.int64)


def united(lists: Sequence[Sequence[str]]) -> tuple[list[str], list[Codes]]:
    """All names of some lists, ordered, and where in it the names of each list stand.

    >>> united([["a", "c"], ["b", "c"]])
    (['a', 'b', 'c'], [array([0, 2], dtype=int32), array([1, 2], dtype=int32)])
    """
    arms = sorted({name for names in lists for name in names})
    place = {name: index for index, name in enumerate(arms)}
    return arms, [np.fromiter(map(place.__getitem__, each), np.int32, len(each)) for each in lists]


def same_metrics(first: Sequence[str], second: Sequence[str]) -> None:
    """Refuse two logs that do not measure the same, and say what differs."""
    if tuple(first) == tuple(second):
        return
    order = " in the same order" if set(first) == set(second) else ""
    raise BadInput(
        f"logs that are added must have the same metrics{order}; got {', '.join(map(repr, first))} and "
        f"{', '.join(map(repr, second))}"
    )


@kernel(over="arms")
def lay_out(arms: Codes, counts: npt.NDArray[Any], values: Floats, places: Ints, whole: Floats) -> None:
    """Put each arm's stretch of `values` behind what it has already, and move its place on."""
    taken = 0
    for k in range(arms.shape[0]):
        place = places[arms[k]]
        count = int(counts[k])
        whole[place : place + count] = values[taken : taken + count]
        places[arms[k]] = place + count
        taken += count


_HELD = 4  # the part of the memory, as one of so many, that runs may have before they go to disk


class LogParts:
    """Logs laid out by arm that become one, with about `memory` bytes of values at most, and on disk beyond that."""

    def __init__(self, metrics: Sequence[str], memory: int, folder: Folder, stack: ExitStack) -> None:
        self.metrics, self.memory, self.rows = tuple(metrics), memory, 0
        self._folder, self._stack = folder, stack
        self._runs: list[Ordered] = []
        self._held: list[Ordered] = []  # of these, those that are in memory
        self._files: list[StoredArray] = []  # of the values of each metric, once there are any

    def add(self, run: Ordered) -> None:
        """Take a log, whose values are in the order of its arms."""
        self.rows += int(run.pulls.sum())
        self._held.append(run)
        if sum(flat.nbytes for each in self._held for flat in each.values) <= self.memory // _HELD:
            return
        self._files = self._files or [StoredArray(self._folder, self._stack) for _ in self.metrics]
        files: Any = tuple(self._files)  # of which slices are read, as of arrays
        for each in self._held:
            begins = [file.append(flat) for file, flat in zip(self._files, each.values, strict=True)]
            self._runs.append(replace(each, starts=each.starts + np.array(begins)[:, None], values=files))
        self._held = []

    def ordered(self, clock: Clock, watched: RowOrder | None = None) -> Ordered:
        """All of them as one log, sorted."""
        runs = self._runs + self._held
        if not self._files:
            return merge_ordered(runs, self.metrics, watched=watched, clock=clock)

        def room(length: int) -> StoredArray:
            stored = StoredArray(self._folder, self._stack)
            stored.reserve(length)
            return stored

        # A block of each thread, and at most as much of one run, stay in memory while they are worked on.
        most = max(1, self.memory // (3 * 8 * usable_cores()))
        found = merge_ordered(runs, self.metrics, room=room, most=most, watched=watched, clock=clock)
        for flat in found.values:
            flat.flags.writeable = False
        return found


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
        """Make an empty one of zeros, on room taken at once: writing to a map that does not fit ends the process."""
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
