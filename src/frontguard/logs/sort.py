"""Rows of a log → `Ordered`: the measurements of each arm side by side and sorted (`ordered_from`).

Values that are missing, NaN, infinite, or that an objective cannot use failed: they count as pulls, and are not kept.

Rows come in batches. `RowBuffer` keeps them as they come: the code of the arm and the value of each metric. Then they
are counted by arm, laid out arm by arm in the order of names (a counting sort: every value is moved once), and sorted
within each arm. Threads share the work by metrics and ranges of arms; what comes out depends neither on that nor on the
order of the rows. What does not fit in memory goes by way of temporary files (`spill`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import expect, kernel
from frontguard._common.machine import available_memory, side_by_side
from frontguard._common.typing import Codes, Floats, Ints
from frontguard.errors import BadArgument
from frontguard.evidence.measurements import Ordered
from frontguard.objectives import Objective

if TYPE_CHECKING:
    import polars as pl

Folder = Path | str | None

_LARGEST = float(np.finfo(np.float64).max)
ANY_NUMBER, POSITIVE, TRUTHS = (-_LARGEST, _LARGEST), (float(np.nextafter(0.0, 1.0)), _LARGEST), (0.0, 1.0)
"""Values that count: all that are finite, those above 0, and 0 and 1."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some pulls: the arm of each, and its cluster if there are any (text or whole numbers), and values, NaN failed."""

    arms: pl.Series
    values: list[Floats]
    file: int = 0  # of the log, from which they come
    clusters: pl.Series | None = None
    truths: frozenset[int] = frozenset()  # the metrics whose values are true and false, 1 and 0

    def __len__(self) -> int:
        return len(self.arms)

    def pieces(self, most: int) -> Iterator[Batch]:
        """The batch, cut where it has more rows than that; pieces have no clusters."""
        for start in range(0, len(self), most):
            part = slice(start, start + most)
            yield replace(self, arms=self.arms[part], values=[column[part] for column in self.values])


_LARGEST_NAME = 1 << 24  # whole numbers below this are looked up by themselves
_TENS = 10 ** np.arange(1, 10, dtype=np.uint32)
_UNKNOWN = -1


class ArmNames:
    """All names met so far, with a number for each, 0, 1, 2, … in order of first appearance.

    Polars encodes the names of a batch; a table maps its codes to ours. Small whole numbers, as such or as text, are
    looked up in a table by themselves: no text is made or hashed per row.

    >>> import polars as pl
    >>> names = ArmNames()
    >>> names.codes(pl.Series(["b", "a", "b"])), names.codes(pl.Series(["c", "a"]))
    (array([0, 1, 0], dtype=int32), array([2, 1], dtype=int32))
    >>> names.in_order(), names.texts(names.in_order())
    (array([1, 0, 2], dtype=int32), ['a', 'b', 'c'])
    """

    def __init__(self) -> None:
        self._code_of: dict[str, int] = {}
        none = np.empty(0, np.int32)
        self._tables = {"category": none, "number": none}  # codes by a key that is a whole number

    def __len__(self) -> int:
        return len(self._code_of)

    @cached_property
    def _categories(self) -> pl.Series:
        import polars as pl  # whose codes live as long as this

        return pl.Series([], dtype=pl.Categorical)

    def codes(self, names: pl.Series) -> Codes:
        """The codes (n,) of these names: text, or whole numbers."""
        if names.null_count():
            row = int(names.is_null().to_numpy().argmax())
            raise BadArgument(
                "arm", f"{names.null_count():,} rows have no arm, the first of them row {row + 1:,} of its batch"
            )
        texts = names if names.dtype.is_integer() else names.cast(str)
        known = texts if texts.dtype.is_integer() else _numbered(texts)
        if known is not None:
            numbers = known.to_numpy()
            if not len(numbers) or (numbers.min() >= 0 and numbers.max() < _LARGEST_NAME):
                return self._coded("number", numbers, texts)
        texts = texts.cast(str)
        return self._coded("category", texts.cast(self._categories.dtype).to_physical().to_numpy(), texts)

    def _coded(self, kind: str, keys: npt.NDArray[Any], names: pl.Series) -> Codes:
        """The codes of names with these keys; a new name gets the next code."""
        table = self._tables[kind]
        if len(keys) and keys.max() >= len(table):
            more = max(int(keys.max()) + 1, 2 * len(table)) - len(table)
            table = self._tables[kind] = np.concatenate([table, np.full(more, _UNKNOWN, np.int32)])
        codes: Codes = table[keys]
        new = np.flatnonzero(codes == _UNKNOWN)
        if len(new):
            first = new[np.sort(np.unique(keys[new], return_index=True)[1])]
            texts = names.gather(first).cast(str).to_list()
            table[keys[first]] = [self._code_of.setdefault(text, len(self._code_of)) for text in texts]
            codes = table[keys]
        return codes

    @property
    def names(self) -> list[str]:
        """All names (K,), by code."""
        return list(self._code_of)

    def code(self, name: str) -> int:
        """The code of a name that was met."""
        return self._code_of[name]

    def in_order(self) -> Codes:
        """The codes (K,) of the names in plain text order."""
        import polars as pl

        return pl.Series(self.names, dtype=pl.String).arg_sort().to_numpy().astype(np.int32)

    def texts(self, codes: Codes) -> list[str]:
        """The names of these codes."""
        names = self.names
        return [names[code] for code in codes.tolist()]


def _numbered(names: pl.Series) -> pl.Series | None:
    """The whole numbers that names stand for, where every one is written as its number is: "7", not "007" or "+7"."""
    import polars as pl

    if not len(names) or not names[0].isdigit():
        return None
    numbers = names.cast(pl.UInt32, strict=False)
    if numbers.null_count():
        return None
    values = numbers.to_numpy()
    more_digits = sum((values >= ten).view(np.uint8) for ten in _TENS)
    return numbers if np.array_equal(names.str.len_bytes().to_numpy() - 1, more_digits) else None


QUARTERS = 4
MOST_FILES = 64  # that are told apart; beyond, neighbours are taken together

_MOST_SAMPLES = 128  # arms times metrics of which values are kept: those with most rows
_MOST_VALUES = 256  # that are kept of each, in all parts together
_FEWEST_VALUES = 32  # of an arm below which nothing is kept: so few show hardly anything
_FIRST_ARMS = 4096  # that are counted by file: those that turn up first


class RowOrder:
    """Keeps a bounded number of values of some arms and files in the order of their rows, which sorting loses."""

    code_of: Callable[[str], int]  # of the name of an arm, as whoever reads the rows has it

    def __init__(self, files: int = 1) -> None:
        self.files = min(files, MOST_FILES)
        self._all_files = files
        self._counts: dict[tuple[int, int], Ints] = {}  # of a metric and part of the files: good values, by code
        self._codes: dict[int, int] = {}  # of the arms that are looked at, by position
        # By arm (its position) and metric: values of each part of the files, of each quarter of the rows, and the first
        # ones, side by side as they stand there.
        self.by_file: dict[tuple[int, int], list[Floats]] = {}
        self.by_quarter: dict[tuple[int, int], list[Floats]] = {}
        self.first: dict[tuple[int, int], Floats] = {}

    def _part_of(self, file: int) -> int:
        return file * self.files // self._all_files

    def count(self, metric: int, file: int, codes: Codes, values: Floats) -> None:
        """Take notice of rows of a file: the codes of their arms and values, NaN where these failed."""
        if self.files > 1:
            counts = self._counts.setdefault((metric, self._part_of(file)), np.zeros(_FIRST_ARMS, np.int64))
            counts += np.bincount(codes[~np.isnan(values) & (codes < _FIRST_ARMS)], minlength=_FIRST_ARMS)

    def choose(self, pulls: Ints, arms: Sequence[str], metrics: int) -> None:
        """Decide which arms are looked at, all rows being known: pulls (K,) and names (K,) by position."""
        most = np.argsort(-pulls, kind="stable")[: max(1, _MOST_SAMPLES // metrics)]
        self._codes = {arm: self.code_of(arms[arm]) for arm in most.tolist() if pulls[arm] >= _FEWEST_VALUES}

    def take(self, metric: int, first: int, values: Floats, starts: Ints) -> None:
        """Keep samples of arms from position `first` on, whose values stand in the order of rows. Threads may call."""
        for arm, code in self._codes.items():
            if not first <= arm < first + len(starts) - 1:
                continue
            own = values[starts[arm - first] : starts[arm - first + 1]]
            if len(own) < _FEWEST_VALUES:
                continue
            quarters = np.linspace(0, len(own), QUARTERS + 1).astype(np.int64)
            self.by_quarter[arm, metric] = _thinned(own, quarters)
            self.first[arm, metric] = own[:_MOST_VALUES].copy()
            if self.files > 1 and code < _FIRST_ARMS:
                counts = [self._counts.get((metric, part)) for part in range(self.files)]  # none of files without rows
                of_parts = [0 if each is None else int(each[code]) for each in counts]
                self.by_file[arm, metric] = _thinned(own, np.cumsum([0, *of_parts]))

    def file_names(self, names: Sequence[str]) -> list[str]:
        """Names of the parts of the files."""
        parts: list[list[str]] = [[] for _ in range(self.files)]
        for number, name in enumerate(names):
            parts[self._part_of(number)].append(name)
        return [part[0] if len(part) == 1 else f"{part[0]} and {len(part) - 1} more" for part in parts]


def _thinned(values: Floats, edges: Ints) -> list[Floats]:
    """The values between edges, some of each part, evenly spread over it, if there are too many."""
    most = max(8, _MOST_VALUES // (len(edges) - 1))
    parts = []
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        count = end - begin
        at = np.arange(count) if count <= most else (np.arange(most) + 0.5) * (count / most)
        parts.append(values[begin + at.astype(np.int64)])
    return parts


_SORTING = 0.5  # about how long it takes to sort a row, relative to reading it
_PAUSE = 0.25  # seconds between two messages


@dataclass(frozen=True)
class LogProgress:
    """All rows are read, and then all of them are sorted; on a cluster a worker may have to be waited for first."""

    stage: Literal["waiting", "reading", "sorting"]
    rows: int  # read, or sorted
    total: int | None  # None while it is not known
    seconds: float  # since the beginning
    seconds_left: float | None


Watcher = Callable[[LogProgress], None]


class Clock:
    """Tells a watcher a few times a second, and at the end of each stage, how far it is; `rows` are expected."""

    def __init__(self, watcher: Watcher | None = None, rows: int | None = None) -> None:
        self._watcher, self._expected = watcher, rows
        self._began = self._told = time.monotonic()
        self._read = 0
        self._reading: float | None = None  # seconds, when it is over
        self._sorted = 0.0
        self._lock = threading.Lock()

    def read(self, rows: int) -> None:
        """Take notice that so many rows have been read in all."""
        self._read = rows
        self._tell()

    def all_read(self) -> None:
        """Take notice that there are no more rows to read."""
        self._expected = self._read
        self._tell(at_once=True)
        self._reading = time.monotonic() - self._began

    def sorted(self, rows: float) -> None:
        """Take notice that so many more rows have been sorted; several threads may say so."""
        with self._lock:
            self._sorted += rows
            self._tell(at_once=round(self._sorted) >= self._read)

    def _tell(self, at_once: bool = False) -> None:
        now = time.monotonic()
        if self._watcher is None or (now < self._told + _PAUSE and not at_once):
            return
        self._told = now
        seconds = now - self._began
        if self._reading is None:
            total = None if self._expected is None else max(self._expected, self._read)
            share = self._read / total if total else None
            left = seconds * ((1.0 + _SORTING) / share - 1.0) if share else None
            self._watcher(LogProgress("reading", self._read, total, seconds, left))
        else:
            done = min(round(self._sorted), self._read)
            each = (seconds - self._reading) / done if done else _SORTING * self._reading / max(self._read, 1)
            self._watcher(LogProgress("sorting", done, self._read, seconds, each * (self._read - done)))


LEAST_MEMORY = 1 << 20
"""Bytes for rows, at least."""


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

    `memory` is half of what is available unless given; a few numbers for each arm come on top. `folder` is where
    temporary files are made (better on a disk: the usual folder for them may itself be memory). NaN and infinite values
    failed, and so did those of metric d outside `usable[d]` (`usable_ranges`). `watched` keeps some in their order.

    >>> import polars as pl
    >>> batch = Batch(pl.Series(["b", "a", "b"]), [np.array([3.0, 2.0, 1.0])])
    >>> log = ordered_from([batch], ["seconds"], memory=2**30)
    >>> log.arms, log.values
    (['a', 'b'], (array([2., 1., 3.]),))
    """
    memory, kept, clock = memory_for_rows(memory), RowBuffer(metrics, usable, watched), clock or Clock()
    # The code of an arm and the values of all metrics; laying rows out takes as much again as the values.
    most_rows = memory // (4 + 2 * 8 * len(metrics))
    runs = None
    with ExitStack() as files:
        for batch in batches:
            for piece in batch.pieces(most_rows):
                if kept.count + len(piece) > most_rows:
                    if runs is None:
                        from frontguard.logs.spill import LogParts  # which most logs do not need

                        runs = LogParts(metrics, memory, folder, files)
                    runs.add(kept.laid_out())
                kept.add(piece)
                clock.read(kept.count + (0 if runs is None else runs.rows))
        clock.all_read()
        if runs is not None:
            runs.add(kept.laid_out())
            return runs.ordered(clock, kept.watched)
    ordered = kept.ordered()
    clock.sorted(int(ordered.pulls.sum()))
    return ordered


def memory_for_rows(memory: int | None) -> int:
    """Bytes that rows may take: half of what is available unless given."""
    if memory is None:
        return max(LEAST_MEMORY, available_memory() // 2)
    if memory < LEAST_MEMORY:
        raise BadArgument("memory", f"rows need {LEAST_MEMORY:,} bytes at least; got {memory:,}")
    return memory


class RowBuffer:
    """Rows as they came, in memory.

    >>> import polars as pl
    >>> rows = RowBuffer(["seconds"])
    >>> rows.add(Batch(pl.Series(["b", "a", "b"]), [np.array([3.0, 2.0, 1.0])]))
    >>> rows.add(Batch(pl.Series(["b"]), [np.array([np.nan])]))
    >>> log = rows.ordered()
    >>> log.arms, log.pulls, log.starts, log.values
    (['a', 'b'], array([1, 3]), array([[0, 1, 3]]), (array([2., 1., 3.]),))
    """

    def __init__(self, metrics: Sequence[str], usable: Floats | None = None, watched: RowOrder | None = None) -> None:
        self.metrics = tuple(metrics)
        self.names = ArmNames()
        self.watched = watched or RowOrder()
        self.watched.code_of = self.names.code
        self.count = 0
        given = [ANY_NUMBER] * len(self.metrics) if usable is None else usable
        self._usable = np.clip(np.asarray(given, np.float64), *ANY_NUMBER)
        self._codes: list[Codes] = []
        self._values: list[list[Floats]] = [[] for _ in self.metrics]
        self._failed = [False for _ in self.metrics]  # whether any value did

    def add(self, batch: Batch) -> None:
        """Append the rows of a batch."""
        codes = self.names.codes(batch.arms)
        columns = [np.asarray(column, np.float64) for column in batch.values]
        self._codes.append(codes)
        for d, (column, ends, kept) in enumerate(zip(columns, self._usable, self._values, strict=True)):
            # Whatever the tolerance needs of numbers, false is no failure.
            good = _without_failures(column, TRUTHS if d in batch.truths else ends)
            self._failed[d] |= good is not column
            kept.append(good)
            self.watched.count(d, batch.file, codes, good)
        self.count += len(codes)

    def laid_out(self) -> Ordered:
        """The measurements by arm, those of each in the order of rows, which are let go of while this goes on."""
        order = self.names.in_order()
        pulls, broken = np.zeros((2, len(order)), np.int64)  # by code: rows, and those that lack the value of a metric
        for codes, *columns in zip(self._codes, *self._values, strict=True):
            pulls += np.bincount(codes, minlength=len(order))
            if any(self._failed):
                lacking = np.logical_or.reduce([np.isnan(column) for column in columns])
                broken += np.bincount(codes[lacking], minlength=len(order))

        def grouped(metric: int) -> tuple[Ints, Floats]:
            columns, self._values[metric] = self._values[metric], []
            counts = _good_counts(self._codes, columns, len(order)) if self._failed[metric] else pulls
            return counts, _grouped(self._codes, columns, counts, order)

        pairs = side_by_side(grouped, range(len(self.metrics)))
        self._codes, self.count = [], 0
        self._failed = [False for _ in self.metrics]
        some = order[pulls[order] > 0]  # others had rows before
        starts, values = starts_of([counts[some] for counts, _ in pairs]), tuple(together for _, together in pairs)
        return Ordered(self.names.texts(some), self.metrics, pulls[some], starts, values, broken[some])

    def ordered(self) -> Ordered:
        """The measurements by arm, sorted. There are no rows afterwards."""
        log = self.laid_out()
        self.watched.choose(log.pulls, log.arms, len(self.metrics))
        for metric, (flat, begins) in enumerate(zip(log.values, log.starts, strict=True)):
            self.watched.take(metric, 0, flat, begins)
            sort_within(flat, begins)
        return log


def sorted_pulls(
    arms: Sequence[str],
    objectives: Sequence[Objective],
    arm_of: Ints,
    values: Floats,
    counted: Sequence[Objective] | None = None,
) -> Ordered:
    """The measurements by arm, as in `arms`, of pulls (n,) with values (n, M), usable as `counted` says."""
    metrics = [objective.name for objective in objectives]
    usable = usable_ranges(metrics, objectives if counted is None else counted)
    return by_arm(arms, metrics, arm_of, list(np.asarray(values, np.float64).T), usable)


def by_arm(
    arms: Sequence[str], metrics: Sequence[str], arm_of: Ints, columns: Sequence[Floats], usable: Floats
) -> Ordered:
    """The measurements by arm of rows with arms (n,) and M columns (n,), of which `usable` (M, 2) did not fail."""
    codes, order = np.ascontiguousarray(arm_of, np.int32), np.arange(len(arms), dtype=np.int32)
    good = [_without_failures(*each) for each in zip(columns, usable, strict=True)]
    failed = codes[np.logical_or.reduce([np.isnan(column) for column in good])]
    counts = [_good_counts([codes], [column], len(arms)) for column in good]
    values = tuple(_grouped([codes], [column], each, order) for column, each in zip(good, counts, strict=True))
    starts = starts_of(counts)
    for flat, begins in zip(values, starts, strict=True):
        sort_within(flat, begins)
    pulls, broken = (np.bincount(some, minlength=len(arms)) for some in (codes, failed))
    return Ordered(arms, tuple(metrics), pulls, starts, values, broken)


def usable_ranges(metrics: Sequence[str], objectives: Sequence[Objective]) -> Floats:
    """The least and the largest value (M, 2) of each metric that all objectives can use; others failed."""
    known: dict[str, tuple[float, float]] = {}
    for objective in objectives:
        # Logarithms are compared of what is positive; those of a mean are taken of the mean alone.
        low, high = objective.bounds or (POSITIVE if objective.positive else ANY_NUMBER)
        least, most = known.get(objective.name, ANY_NUMBER)
        known[objective.name] = max(low, least), min(high, most)
    return np.array([known.get(name, ANY_NUMBER) for name in metrics], np.float64).reshape(len(metrics), 2)


def _good_counts(codes: Sequence[Codes], columns: Sequence[Floats], arms: int) -> Ints:
    """Counts (K,) of the good values of a metric, by code."""
    counts = np.zeros(arms, np.int64)
    for some, column in zip(codes, columns, strict=True):
        counts += np.bincount(some[~np.isnan(column)], minlength=arms)
    return counts


def _grouped(codes: Sequence[Codes], columns: Sequence[Floats], counts: Ints, order: Codes) -> Floats:
    """The good values of a metric, arm by arm in this order, of which there are so many, by code."""
    if sum(map(len, codes)) < _MANY:
        places = np.empty(len(order), np.min_scalar_type(len(order)))
        places[order] = np.arange(len(order))
        column = np.concatenate([np.empty(0), *columns])
        good = ~np.isnan(column)
        own = places[np.concatenate([order[:0], *codes])[good]]
        together: Floats = column[good][np.argsort(own, kind="stable")]
        together += 0.0  # as in `_scatter`
        return together
    places = np.empty(len(counts), np.int64)
    places[order] = np.cumsum(counts[order]) - counts[order]
    together = np.empty(int(counts.sum()))
    expect(1e-6 * len(together), _scatter)
    for some, column in zip(codes, columns, strict=True):
        _scatter(some, column, places, together)
    return together


def _without_failures(column: Floats, usable: Floats | tuple[float, float]) -> Floats:
    """Return the column, NaN for whatever failed: the column itself where nothing did."""
    if not len(column) or (column.min() >= usable[0] and column.max() <= usable[1]):  # not so if any is NaN
        return column
    return np.where((column >= usable[0]) & (column <= usable[1]), column, np.nan)


def starts_of(counts: Sequence[Ints] | npt.NDArray[Any]) -> Ints:
    """The places (M, K + 1) at which the values of each arm begin, by the counts of each metric, M times (K,)."""
    return np.cumsum(np.pad(np.asarray(counts), ((0, 0), (1, 0))), axis=1, dtype=np.int64)


_MANY = 1 << 20  # rows from which on a kernel pays, even if machine code must be loaded for it
_ALONE = 1024  # arms with more values than this are sorted where they are
_TOGETHER = 1 << 17  # values of a matrix: as many as the processor's cache holds


def sort_within(values: Floats, starts: Ints, *, threads: bool = True) -> None:
    """Sort values[starts[i] : starts[i + 1]], all of them finite, in place for each arm i; in threads unless told.

    >>> values = np.array([3.0, 1.0, 2.0, 9.0, 8.0])
    >>> sort_within(values, np.array([0, 3, 3, 5]))
    >>> values
    array([1., 2., 3., 8., 9.])
    """
    side_by_side(lambda arms: _sort_some(values, starts, arms), _alike(np.diff(starts)), threads=threads)


def _alike(counts: Ints) -> Iterator[Ints]:
    """Arms that are sorted together: all that have two values at least, those with about as many side by side."""
    order = np.argsort(counts, kind="stable")
    counts = counts[order]
    first = int(np.searchsorted(counts, 2))
    while first < len(order):
        widest = int(counts[first]) + int(counts[first]) // 8
        last = int(np.searchsorted(counts, widest, side="right"))
        last = min(last, first + max(1, _TOGETHER // widest)) if widest <= _ALONE else first + 1
        yield order[first:last]
        first = last


def _sort_some(values: Floats, starts: Ints, arms: Ints) -> None:
    if len(arms) == 1:
        values[starts[arms[0]] : starts[arms[0] + 1]].sort()
        return
    matrix = np.empty((len(arms), int(starts[arms[-1] + 1] - starts[arms[-1]])))
    _gather(values, starts, arms, matrix)
    matrix.sort(axis=1)
    _put_back(values, starts, arms, matrix)


@kernel(over="matrix")
def _gather(values: Floats, starts: Ints, arms: Ints, matrix: Floats) -> None:
    for row in range(arms.shape[0]):
        start = starts[arms[row]]
        count = starts[arms[row] + 1] - start
        for k in range(count):
            matrix[row, k] = values[start + k]
        for k in range(count, matrix.shape[1]):
            matrix[row, k] = np.inf


@kernel(over="matrix")
def _put_back(values: Floats, starts: Ints, arms: Ints, matrix: Floats) -> None:
    for row in range(arms.shape[0]):
        start = starts[arms[row]]
        for k in range(starts[arms[row] + 1] - start):
            values[start + k] = matrix[row, k]


@kernel(over="codes")
def _scatter(codes: Codes, column: Floats, places: Ints, together: Floats) -> None:
    """Put each good value in its arm's next place; −0 becomes 0, or the order of rows would show."""
    for row in range(codes.shape[0]):
        value = column[row]
        if not np.isnan(value):
            place = places[codes[row]]
            together[place] = value + 0.0
            places[codes[row]] = place + 1
