"""Parquet: the wanted columns only, several row groups at once, a row group at most of each in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from frontguard.errors import BadInput
from frontguard.logs.sources.blocks import LONGEST_ROW, prefetched
from frontguard.logs.sources.columns import are_truths, as_numbers, as_text, refuse_unless_numbers
from frontguard.logs.sources.files import LogFile
from frontguard.logs.sources.numbered import NumberedNames
from frontguard.logs.sources.reader import BATCH, LogTable, Picked, Request, TableRows, one_column
from frontguard.phrases import error_line, shown

_LARGE_GROUP = 1 << 22
"""Rows beyond which a row group is read batch by batch rather than at once in a thread."""

_BATCH = 1 << 20
"""Rows of a batch: of smaller ones there are more, and threads wait for Python's lock between them."""

_STORED_DICTIONARY = 900_000
"""Bytes of names up to which a column was stored as a dictionary throughout: writers give that up at a mebibyte."""

_FIRST = 1 << 10
"""Rows of the first batch, from which that is seen."""

Naming = Callable[[pa.Array, str], pa.Array]

_BROKEN = (pa.ArrowException, OSError, UnicodeError, OverflowError, MemoryError)


class ParquetFile(LogTable):
    """One Parquet file whose end, which says what it holds, was read."""

    row_count: int

    def __init__(self, file: LogFile, request: Request | None = None) -> None:
        self.file = file
        try:
            with _opened(file) as opened:
                self.schema, self.metadata = opened.schema_arrow, opened.metadata
                super().__init__(file.shown, self.schema.names, int(self.metadata.num_rows))
                largest = max(map(self._row_size, range(self.metadata.num_row_groups)), default=0)
        except _BROKEN as error:
            raise BadInput(
                f"{file.shown} is no Parquet file, or is damaged or cut in the middle: {error_line(error)}"
            ) from None
        if largest > LONGEST_ROW:
            raise BadInput(f"{file.shown}: rows of more than {LONGEST_ROW >> 20} MiB, which no measurements take")

    def _row_size(self, group: int) -> int:
        """Bytes of a row of a group, unpacked, on average and by what the file says: whoever reads it makes room."""
        about = self.metadata.row_group(group)
        return int(about.total_byte_size) // max(int(about.num_rows), 1)

    def rows(self, picked: Picked) -> Iterator[TableRows]:
        """The rows, in pieces."""
        texts, numbers = (
            [self.names[one_column(name, self.names, self.shown)] for name in names]
            for names in (picked.texts, picked.numbers)
        )
        for name in numbers:
            refuse_unless_numbers(self.schema.field(name).type, self._called(name))
        groups = range(self.metadata.num_row_groups)
        named = {name: self._naming(name) for name in texts}
        seen = 0
        try:
            coded = self._stored_as_codes(texts)
            group = partial(self._group, named, texts, numbers, coded)
            ahead = _LARGE_GROUP * len(groups) // max(self.row_count, 1)  # as many as have the rows of a large one
            pieces = (
                prefetched(lambda number: list(group(number)), groups, ahead)
                if ahead
                else ([rows] for number in groups for rows in group(number))
            )
            for piece in pieces:
                for rows in piece:
                    seen += len(rows)
                    yield rows
        except _BROKEN as error:
            raise BadInput(f"{self.shown} is damaged: after row {seen}, {error_line(error)}") from None
        if seen != self.row_count:
            raise BadInput(f"{self.shown} is damaged: it says that it has {self.row_count} rows; got {seen}")

    def _stored_as_codes(self, texts: list[str]) -> list[str]:
        """Text columns that are read as dictionaries: those stored as such, for which it is three times as quick.

        Whether they are is seen from a first batch: the library's own view of the file's metadata must not be asked,
        since it ends the process on a damaged file.
        """
        named = [name for name in dict.fromkeys(texts) if pa.types.is_string(self.schema.field(name).type)]
        if not named or self.row_count <= BATCH:
            return []
        with _opened(self.file, self.metadata, named) as file:
            first = next(file.iter_batches(_FIRST, columns=named, use_threads=False), None)
        if first is None:
            return []
        names = {name: first.column(name).dictionary for name in named}
        most = self.row_count // (2 * self.metadata.num_row_groups)
        return [name for name, found in names.items() if found.nbytes <= _STORED_DICTIONARY and len(found) <= most]

    def _naming(self, name: str) -> Naming:
        """How a column becomes text: whole numbers with what other row groups know of them."""
        return NumberedNames().texts if pa.types.is_integer(self.schema.field(name).type) else as_text

    def _group(
        self, named: dict[str, Naming], texts: list[str], numbers: list[str], coded: list[str], group: int
    ) -> Iterator[TableRows]:
        """The rows of one row group."""
        columns = list(dict.fromkeys((*texts, *numbers)))
        truths = frozenset(d for d, name in enumerate(numbers) if are_truths(self.schema.field(name).type))
        with _opened(self.file, self.metadata, coded) as file:
            for batch in file.iter_batches(_BATCH, row_groups=[group], columns=columns, use_threads=False):
                yield TableRows(
                    [named[name](batch.column(name), self._called(name)) for name in texts],
                    [as_numbers(batch.column(name), self._called(name)) for name in numbers],
                    truths,
                )

    def _called(self, column: str) -> str:
        return f"{self.shown}, column {shown(column)}"


def _opened(file: LogFile, metadata: Any = None, coded: list[str] | None = None) -> Any:
    # Not mapped into memory: a file that shrinks meanwhile would kill the process. Checksums are verified where a file
    # has them.
    return pq.ParquetFile(
        file.path,
        metadata=metadata,
        read_dictionary=coded,
        pre_buffer=False,
        buffer_size=1 << 20,
        page_checksum_verification=True,
    )
