"""A log that was opened: its tables, one after another, as batches of arms and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from frontguard._typing import Floats
from frontguard.errors import BadInput
from frontguard.logs.sources.columns import joined, missing_names
from frontguard.logs.sources.files import LogFile, LogFiles
from frontguard.logs.sources.reader import BATCH, Layout, LogTable, Picked, Request, TableRows, pick
from frontguard.notices import Notice, RowsWithoutArm
from frontguard.phrases import number_of, quoted, shown

if TYPE_CHECKING:
    import pyarrow as pa

    from frontguard.objectives import Objective


@dataclass(frozen=True, eq=False)
class Batch:
    """Some pulls: the arm of each, and its value of each metric, NaN where that failed.

    `arms` is an Arrow array of text, plain or a dictionary with 32 bit codes. A dictionary may hold names that no pull
    of the batch has. No name is null or empty.
    """

    arms: pa.Array
    values: list[Floats]

    def __len__(self) -> int:
        return len(self.arms)


class Log:
    """Measurements, ready to be read.

    `arm` and `metrics` are the columns that are read, `columns` all those of the first table. `rows_hint` and
    `bytes_hint` say how much there is, as far as that is known, `rows_read` and `bytes_read` how much was read.
    `objectives` are those of a study. `notes` are things worth telling that came up while reading.
    """

    def __init__(
        self,
        format: str,
        files: LogFiles,
        request: Request,
        open: Callable[[LogFile], LogTable] | None,  # None for what can be read once only
        first: LogTable,  # that of the first file, opened
        *,
        rows_hint: int | None = None,
        bytes_hint: int | None = None,
        objectives: tuple[Objective, ...] | None = None,
    ) -> None:
        self.format = format
        self.where = files.shown
        self.columns = _all_names(first, files.files[0])
        picked = pick(request, self.columns, files.files[0].shown)
        self.arm: tuple[str, ...] = request.arm or ("arm",)
        self.metrics = request.metrics
        self.layout: Layout = picked.layout
        self.rows_hint = rows_hint
        self.bytes_hint = bytes_hint
        self.rows_read = 0
        self.on_rows: Callable[[int], None] | None = None  # told `rows_read` as it grows
        self.objectives = objectives
        self.notes: list[Notice] = []
        self._request = replace(request, arm=self.arm, layout=picked.layout)
        self._files, self._open = files.files, open
        self._first: LogTable | None = first
        self._bytes_before = 0
        self._now: LogTable | None = None

    @property
    def bytes_read(self) -> int:
        """Bytes of the files that were read so far; 0 where only rows are counted."""
        return self._bytes_before + (0 if self._now is None else self._now.bytes_read)

    @property
    def share_read(self) -> float | None:
        """The share of the log that was read, from 0 to 1, or None if its size is not known."""
        if self.rows_hint:
            return min(1.0, self.rows_read / self.rows_hint)
        return min(1.0, self.bytes_read / self.bytes_hint) if self.bytes_hint else None

    def describe(self) -> str:
        """What this is, in a line."""
        source = f"{self.format}, {number_of(len(self._files), 'file')}" if self._files[0].path else self.format
        size = f", {self.rows_hint:,} rows" if self.rows_hint is not None else ""
        arm = " and ".join(map(repr, self.arm))
        return f"{self.where} ({source}{size}): {self.layout}, arm {arm}, metrics {', '.join(map(repr, self.metrics))}"

    def __repr__(self) -> str:
        return f"<log {self.describe()}>"

    def batches(self) -> Iterator[Batch]:
        """The pulls, in their order. May be called again, except on standard input."""
        if self._open is None and self._first is None:
            raise BadInput(f"{self.where} can be read once only")
        self.rows_read = self._bytes_before = 0
        self.notes.clear()
        named = self._named()
        if self.layout == "long":
            from frontguard.logs.sources.long import Gathered

            whole = Gathered(self.metrics, self.where)
            for rows in named:
                whole.take(rows)
            self._refuse_no_rows(whole.rows)
            named = whole.pulls(self.notes)
        pulls = 0
        for batch in _of_fair_size(named):
            pulls += len(batch)
            yield batch
        self._refuse_no_rows(pulls)

    def _refuse_no_rows(self, rows: int) -> None:
        if not rows:
            raise BadInput(f"{self.where} has no rows; its columns are {quoted(self.columns)}")

    def _named(self) -> Iterator[TableRows]:
        """TableRows with the columns of the arm joined to one, all of them with a name."""
        absent = _Nameless(self._request)
        for file in self._files:
            before_file = self.rows_read
            for rows in self._rows(file):
                width = len(self.arm)
                arms = joined(rows.texts[:width], self.arm)
                whole = TableRows([arms, *rows.texts[width:]], rows.numbers)
                before = self.rows_read - before_file
                self.rows_read += len(rows)
                if self.on_rows is not None:
                    self.on_rows(self.rows_read)
                kept = absent.without(whole, file.shown, before)
                if len(kept) and not absent.refusing:
                    yield kept
        absent.tell(self.notes)

    def _rows(self, file: LogFile) -> Iterator[TableRows]:
        table, self._first = self._first if file is self._files[0] else None, None
        if table is None:
            assert self._open is not None
            table = self._open(file)
        self._now = table
        picked = pick(self._request, _all_names(table, file), file.shown)
        given = {name: value for name, value in file.partition.items() if name not in table.names}
        for name in picked.numbers:
            if name in given:
                raise BadInput(f"{file.shown}: {shown(name)} is the name of a folder; a metric must be a column")
        within = Picked(picked.layout, tuple(name for name in picked.texts if name not in given), picked.numbers)
        for rows in table.rows(within):
            yield _completed(rows, picked.texts, given) if len(within.texts) < len(picked.texts) else rows
        self._bytes_before += table.bytes_read
        self._now = None
        self.notes += table.notes


class _Nameless:
    """TableRows whose arm has no name: dropped, or refused when all of them were counted."""

    def __init__(self, request: Request) -> None:
        self._drop = request.missing_arms == "drop"
        self._columns = request.arm
        self._count = 0
        self._first = ""

    @property
    def refusing(self) -> bool:
        """Whether there is something to be refused at the end, so that no more rows are wanted."""
        return self._count > 0 and not self._drop

    def without(self, rows: TableRows, where: str, before: int) -> TableRows:
        """The rows that have a name; `before` of the same table were read before them."""
        import pyarrow as pa

        absent = missing_names(rows.texts[0])
        if absent is None:
            return rows
        if not self._count:
            self._first = f"row {before + int(absent.argmax()) + 1} of {where}"
        self._count += int(absent.sum())
        kept = pa.array(~absent)
        return TableRows([text.filter(kept) for text in rows.texts], [column[~absent] for column in rows.numbers])

    def tell(self, notes: list[Notice]) -> None:
        """Refuse them, or note that they were dropped."""
        if not self._count:
            return
        found = RowsWithoutArm(self._count, tuple(self._columns), self._first, dropped=self._drop)
        if not self._drop:
            raise BadInput(f"{found}; wanted a name in every row, or missing_arms='drop' (--missing-arms drop)")
        notes.append(found)


def _all_names(table: LogTable, file: LogFile) -> list[str]:
    return [*table.names, *(name for name in file.partition if name not in table.names)]


def _completed(rows: TableRows, wanted: Sequence[str], given: Mapping[str, str | None]) -> TableRows:
    """TableRows with the columns that folders' names give."""
    import pyarrow as pa

    inner = iter(rows.texts)
    texts = [
        pa.repeat(pa.scalar(given[name], pa.string()), len(rows)) if name in given else next(inner) for name in wanted
    ]
    return TableRows(texts, rows.numbers)


def _of_fair_size(pieces: Iterator[TableRows]) -> Iterator[Batch]:
    """Batches of some 10⁵ rows out of pieces that may be smaller."""
    waiting: list[TableRows] = []
    size = 0
    for rows in pieces:
        waiting.append(rows)
        size += len(rows)
        if size >= BATCH:
            yield _merged(waiting)
            waiting, size = [], 0
    if size:
        yield _merged(waiting)


def _merged(pieces: list[TableRows]) -> Batch:
    import pyarrow as pa

    if len(pieces) == 1:
        return Batch(pieces[0].texts[0], pieces[0].numbers)
    texts = [rows.texts[0] for rows in pieces]
    coded = [pa.types.is_dictionary(text.type) for text in texts]
    if all(coded):
        arms = pa.chunked_array(texts).unify_dictionaries().combine_chunks()
    else:
        arms = pa.concat_arrays(
            [text.cast(pa.string()) if code else text for text, code in zip(texts, coded, strict=True)]
        )
    return Batch(arms, [np.concatenate(columns) for columns in zip(*(rows.numbers for rows in pieces), strict=True)])
