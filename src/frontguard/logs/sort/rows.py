"""Rows of a log → `Ordered`: the measurements of each arm side by side and sorted.

Rows come in batches. `RowBuffer` keeps them as they come: the code of the arm and the value of each metric. Then they
are counted by arm, laid out arm by arm in the order of names (a counting sort: every value is moved once), and sorted
within each arm. Metrics and ranges of arms are independent of each other, so that threads share the work; what comes
out does not depend on how it was shared, nor on the order of the rows.

`ArmNames` gives each different name a number, 0, 1, 2, … in order of first appearance. Polars encodes the names of a
batch; a table maps its codes, which all of the process shares, to ours. Names that are small whole numbers, as such or
as text, are looked up in such a table by themselves: no text is made or hashed per row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import kernel
from frontguard._common.machine import side_by_side
from frontguard._common.typing import Bools, Codes, Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.logs.sort.order import RowOrder
from frontguard.logs.sort.ordered import Ordered, sort_within, starts_of
from frontguard.objectives import Objective

if TYPE_CHECKING:
    import polars as pl


_LARGEST = float(np.finfo(np.float64).max)
ANY_NUMBER, POSITIVE, TRUTHS = (-_LARGEST, _LARGEST), (float(np.nextafter(0.0, 1.0)), _LARGEST), (0.0, 1.0)
"""Values that count: all that are finite, those above 0, and 0 and 1."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some pulls: the arm of each, and its value of each of M metrics, NaN where that failed.

    `arms` are text or whole numbers, none of them null. So are `clusters`, where pulls depend on each other within
    these.
    """

    arms: pl.Series
    values: list[Floats]
    file: int = 0  # of the log, from which they come
    clusters: pl.Series | None = None
    truths: frozenset[int] = frozenset()  # the metrics whose values are true and false, 1 and 0

    def __len__(self) -> int:
        return len(self.arms)


# Names of arms as codes ----------------------------------------------------------------------------------------------

_LARGEST_NAME = 1 << 24  # whole numbers below this are looked up by themselves
_TENS = 10 ** np.arange(1, 10, dtype=np.uint32)
_UNKNOWN = -1


class ArmNames:
    """All names met so far.

    >>> import polars as pl
    >>> names = ArmNames()
    >>> names.codes(pl.Series(["b", "a", "b"])), names.codes(pl.Series(["c", "a"]))
    (array([0, 1, 0], dtype=int32), array([2, 1], dtype=int32))
    >>> names.in_order(), names.texts(names.in_order())
    (array([1, 0, 2], dtype=int32), ['a', 'b', 'c'])
    """

    def __init__(self) -> None:
        self._code_of: dict[str, int] = {}
        self._by_category = _Table()
        self._by_number = _Table()

    def __len__(self) -> int:
        return len(self._code_of)

    @cached_property
    def _categories(self) -> pl.Series:
        """Keeps the codes of Polars alive between batches."""
        import polars as pl

        return pl.Series([], dtype=pl.Categorical)

    def codes(self, names: pl.Series) -> Codes:
        """The codes (n,) of these names: text, or whole numbers."""
        if names.null_count():
            row = int(names.is_null().to_numpy().argmax())
            raise BadArgument(
                "arm", f"{names.null_count():,} rows have no arm, the first of them row {row + 1:,} of its batch"
            )
        known = names if names.dtype.is_integer() else _numbered(names)
        if known is not None:
            numbers = known.to_numpy()
            if not len(numbers) or (numbers.min() >= 0 and numbers.max() < _LARGEST_NAME):
                return self._coded(self._by_number, numbers, names)
        texts = names.cast(str)
        return self._coded(self._by_category, texts.cast(self._categories.dtype).to_physical().to_numpy(), texts)

    def _coded(self, table: _Table, keys: npt.NDArray[Any], names: pl.Series) -> Codes:
        """The codes of names with these keys; a new name gets the next code."""
        codes = table.look_up(keys)
        new = np.flatnonzero(codes == _UNKNOWN)
        if len(new):
            first = new[np.sort(np.unique(keys[new], return_index=True)[1])]
            texts = names.gather(first).cast(str).to_list()
            table.places[keys[first]] = [self._code_of.setdefault(text, len(self._code_of)) for text in texts]
            codes = table.look_up(keys)
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


class _Table:
    """Codes by a key that is a whole number."""

    def __init__(self) -> None:
        self.places: Codes = np.empty(0, np.int32)

    def look_up(self, keys: npt.NDArray[Any]) -> Codes:
        """The codes (n,) of these keys, −1 where there is none."""
        if len(keys) and keys.max() >= len(self.places):
            more = max(int(keys.max()) + 1, 2 * len(self.places)) - len(self.places)
            self.places = np.concatenate([self.places, np.full(more, _UNKNOWN, np.int32)])
        found: Codes = self.places[keys]
        return found


# Rows -----------------------------------------------------------------------------------------------------------------


class RowBuffer:
    """Rows as they came, in memory, batch by batch.

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
        self._usable: Floats = np.asarray(given, np.float64)
        if self._usable.shape != (len(self.metrics), 2) or np.isnan(self._usable).any():
            raise BadInput(
                f"usable needs a least and a largest number for each of {len(self.metrics)} metrics; "
                f"got {self._usable.tolist()}"
            )
        self._usable = np.clip(self._usable, *ANY_NUMBER)
        self._codes: list[Codes] = []
        self._parts: list[int] = []  # of the log, as `watched` tells them apart
        self._values: list[list[Floats]] = [[] for _ in self.metrics]
        self._failed = [False for _ in self.metrics]  # whether any value did

    def add(self, batch: Batch) -> None:
        """Append the rows of a batch."""
        codes = self.names.codes(batch.arms)
        columns = [np.asarray(column, np.float64) for column in batch.values]
        if len(columns) != len(self.metrics) or any(column.shape != codes.shape for column in columns):
            got = ", ".join(f"{column.shape}" for column in columns)
            raise BadInput(
                f"a batch of {len(codes):,} rows needs {len(self.metrics)} columns as long; got {got or 'none'}"
            )
        self._codes.append(codes)
        for d, (column, ends, kept) in enumerate(zip(columns, self._usable, self._values, strict=True)):
            # Whatever the tolerance needs of numbers, false is no failure.
            good = _without_failures(column, TRUTHS if d in batch.truths else ends)
            self._failed[d] |= good is not column
            kept.append(good)
        self._parts.append(self.watched.part_of(batch.file))
        self.count += len(codes)

    def pulls(self) -> Ints:
        """Rows of each arm (K,), by code."""
        counts = np.zeros(len(self.names), np.int64)
        if self._codes:  # all in one call: a kernel that knows how much there is to do begins as machine code
            _count(np.concatenate(self._codes), counts)
        return counts

    def broken(self) -> Ints:
        """Rows of each arm (K,), by code, that lack the value of any metric."""
        counts = np.zeros(len(self.names), np.int64)
        if any(self._failed):
            for codes, *columns in zip(self._codes, *self._values, strict=True):
                _count(codes[_any_failed(columns)], counts)
        return counts

    def laid_out(self) -> Ordered:
        """The measurements by arm, those of each in the order of rows.

        Rows are let go of while this goes on: there are none afterwards.
        """
        order, pulls, broken = self.names.in_order(), self.pulls(), self.broken()
        every_code, last = self._codes, len(self._codes) - 1
        following = [*self._parts[1:], -1]

        def grouped(metric: int) -> tuple[Ints, Floats]:
            def counted(number: int, counts: Ints) -> None:
                part = self._parts[number]
                if self.watched.files > 1 and part != following[number]:
                    self.watched.end(metric, part, counts, run_over=number == last)

            # As many as there are rows, where no value failed; files are told apart by counting.
            known = None if self._failed[metric] or self.watched.files > 1 else pulls
            found = _grouped(every_code, self._values[metric], order, counted, known)
            self._values[metric] = []
            return found

        pairs = side_by_side(grouped, range(len(self.metrics)))
        self._codes, self._parts, self.count = [], [], 0
        self._failed = [False for _ in self.metrics]
        some = order[pulls[order] > 0]  # others had rows before
        starts, values = starts_of([counts[some] for counts, _ in pairs]), tuple(together for _, together in pairs)
        return Ordered(self.names.texts(some), self.metrics, pulls[some], starts, values, broken[some])

    def ordered(self) -> Ordered:
        """The measurements by arm, sorted. There are no rows afterwards."""
        log = self.laid_out()
        self.watched.choose(log.pulls, log.arms, len(self.metrics))
        return _sorted(log, self.watched)


def sorted_pulls(
    arms: Sequence[str],
    objectives: Sequence[Objective],
    arm_of: Ints,
    values: Floats,
    counted: Sequence[Objective] | None = None,
) -> Ordered:
    """The measurements by arm, in the order of `arms`, of pulls of arms 0 … K − 1 (n,) with values (n, M).

    `counted`: what is read of these metrics, where it is more than the objectives. What one of it cannot use failed.

    >>> pulls = np.array([0, 1, 0]), np.array([[3.0], [np.nan], [1.0]])
    >>> log = sorted_pulls(["b", "a"], [Objective("ms", "minimize")], *pulls)
    >>> log.arms, log.pulls, log.starts, log.values, log.failed_pulls
    (['b', 'a'], array([2, 1]), array([[0, 2, 2]]), (array([1., 3.]),), array([0, 1]))
    """
    metrics = tuple(objective.name for objective in objectives)
    codes = np.ascontiguousarray(arm_of, np.int32)
    order = np.arange(len(arms), dtype=np.int32)
    ranges = usable_ranges(metrics, objectives if counted is None else counted)
    columns = [_without_failures(*each) for each in zip(np.asarray(values, np.float64).T, ranges, strict=True)]
    pairs = [_grouped([codes], [column], order) for column in columns]
    pulls, broken = (
        np.bincount(some, minlength=len(arms)).astype(np.int64) for some in (codes, codes[_any_failed(columns)])
    )
    starts, sample = starts_of([good for good, _ in pairs]), tuple(together for _, together in pairs)
    return _sorted(Ordered(arms, metrics, pulls, starts, sample, broken))


def usable_ranges(metrics: Sequence[str], objectives: Sequence[Objective]) -> Floats:
    """The least and the largest value (M, 2) of each metric that counts; others failed, as `Objective.usable` has it.

    Where several things count of one metric, the values that all of them can use.

    >>> usable_ranges(["stars"], [Objective("stars", statistic="mean", bounds=(1, 5))]).tolist()
    [[1.0, 5.0]]
    """
    known: dict[str, tuple[float, float]] = {}
    for objective in objectives:
        low, high = _usable(objective)
        least, most = known.get(objective.name, ANY_NUMBER)
        known[objective.name] = max(low, least), min(high, most)
    return np.array([known.get(name, ANY_NUMBER) for name in metrics], np.float64).reshape(len(metrics), 2)


def _usable(objective: Objective) -> tuple[float, float]:
    if objective.bounds is not None:
        return objective.bounds
    # Logarithms are compared of what is positive; those of a mean are taken of the mean alone.
    return POSITIVE if objective.relative and objective.statistic != "mean" else ANY_NUMBER


def _grouped(
    codes: Sequence[Codes],
    columns: Sequence[Floats],
    order: Codes,
    counted: Callable[[int, Ints], None] = lambda number, counts: None,
    known: Ints | None = None,
) -> tuple[Ints, Floats]:
    """Counts of the good values of one metric of each arm (K,), by code, and these values, arm by arm in this order.

    `counted` is told the number of each batch, and how many there are up to its end. `known`: how many there are, where
    that needs no counting.
    """
    counts = np.zeros(len(order), np.int64) if known is None else known.copy()
    for number, (some, column) in enumerate(zip(codes, columns, strict=True)):
        if known is None:
            _count_good(some, column, counts)
            counted(number, counts)
    places = np.empty(len(counts), np.int64)
    places[order] = np.cumsum(counts[order]) - counts[order]
    together = np.empty(int(counts.sum()))
    for some, column in zip(codes, columns, strict=True):
        _scatter(some, column, places, together)
    return counts, together


def _sorted(log: Ordered, watched: RowOrder | None = None) -> Ordered:
    """A log that is laid out by arm, sorted where it is."""
    for metric, (flat, begins) in enumerate(zip(log.values, log.starts, strict=True)):
        if watched is not None:
            watched.take(metric, 0, flat, begins)
        sort_within(flat, begins)
    return log


def _any_failed(columns: Sequence[Floats]) -> Bools:
    """The rows (n,) that lack the value of any of the metrics, whose columns are (n,) each."""
    return np.asarray(np.logical_or.reduce([np.isnan(column) for column in columns]), np.bool_)


def _without_failures(column: Floats, usable: Floats | tuple[float, float]) -> Floats:
    """The same, NaN for whatever failed: the column itself where nothing did."""
    if not len(column) or (column.min() >= usable[0] and column.max() <= usable[1]):  # not so if any is NaN
        return column
    return np.where((column >= usable[0]) & (column <= usable[1]), column, np.nan)


# Kernels --------------------------------------------------------------------------------------------------------------


@kernel(over="codes")
def _count(codes: Codes, counts: Ints) -> None:
    for row in range(codes.shape[0]):
        counts[codes[row]] += 1


@kernel(over="codes")
def _count_good(codes: Codes, column: Floats, counts: Ints) -> None:
    for row in range(codes.shape[0]):
        counts[codes[row]] += not np.isnan(column[row])


@kernel(over="codes")
def _scatter(codes: Codes, column: Floats, places: Ints, together: Floats) -> None:
    """Put each good value in its arm's next place.

    −0 becomes 0: they are equal, and which of them comes first when sorted would depend on the order of the rows.
    """
    for row in range(codes.shape[0]):
        value = column[row]
        if not np.isnan(value):
            place = places[codes[row]]
            together[place] = value + 0.0
            places[codes[row]] = place + 1
