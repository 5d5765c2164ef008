"""CSV and JSON lines: read by Polars and, from the first row of which there is doubt, slowly row by row.

Polars reads what is plain at full speed and refuses, or shows, what is not: other numbers than its own, rows that lack
a field, quotes within a field. From there `careful` reads on, which takes every file that is sound, and says of any
other one which line and column is wrong.
"""

from __future__ import annotations

import bz2
import csv
import glob
import gzip
import os
import shutil
import sys
import tempfile
import weakref
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PanicException, PolarsError

from frontguard.errors import BadInput
from frontguard.logs.sources.careful import MISSING, TRUTHS, csv_rows, json_records, json_rows
from frontguard.logs.sources.files import LogFile, whole
from frontguard.logs.sources.reader import BATCH, LogTable, Picked, Request, one_column, pick
from frontguard.notices import UnfinishedLine
from frontguard.phrases import error_line

SEPARATORS = (",", ";", "\t", "|")
LONGEST_ROW = 1 << 26
"""Bytes of the longest row that is looked at; what is longer is a quote that was never closed, or no text file."""

_HEAD, _LONGEST_HEAD = 200, 1 << 20  # lines and letters that are looked at before any row is read
_MARK = "\ufeff"
_GZIP, _ZSTD, _BZIP2 = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh"
_BROKEN = (OSError, EOFError, ValueError, PolarsError)


class TextFile:
    """A text file that can be read from its beginning as often as is wanted, and its first lines.

    gzip and Zstandard are unpacked by Polars. What it does not read, bzip2 and standard input, is copied to a temporary
    file.
    """

    path: Path
    packed = False

    def __init__(self, file: LogFile) -> None:
        self.shown = file.shown
        try:
            raw: Any = sys.stdin.buffer if file.path is None else file.path.open("rb")
            with nullcontext() if file.path is None else raw:
                begin = raw.peek(8)
                if file.path is not None and not begin.startswith(_BZIP2):
                    self.path = file.path
                else:
                    self.path = self._copied(bz2.BZ2File(raw) if begin.startswith(_BZIP2) else raw)
                    with self.path.open("rb") as copy:
                        begin = copy.read(8)
        except (OSError, EOFError) as error:
            self.packed = getattr(error, "errno", None) is None  # of what unpacks it, not of the system
            raise self.broken(error) from None
        self._gzip = begin.startswith(_GZIP)
        self.packed = begin.startswith((_GZIP, _ZSTD))
        if begin.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise BadInput(f"{self.shown}: text must be UTF-8; this begins like UTF-16")
        self.head = self._first_lines()
        for line, text in enumerate(self.head, 1):
            if "\0" in text:
                raise BadInput(f"{self.shown}, line {line}: a zero byte; is this UTF-8 text, or is the file damaged?")

    def _copied(self, source: Any) -> Path:
        """A file with all that a source has, which is removed together with us."""
        number, name = tempfile.mkstemp(prefix="frontguard-log-")
        weakref.finalize(self, os.unlink, name)
        with open(number, "wb") as copy:
            shutil.copyfileobj(source, copy)
        return Path(name)

    def _first_lines(self) -> list[str]:
        head, size = [], 0
        for line in islice(self.lines(_LONGEST_HEAD), _HEAD):
            head.append(line)
            size += len(line)
            if size >= _LONGEST_HEAD:
                break
        return head

    def lines(self, longest: int | None = None) -> Iterator[str]:
        """Its lines with their ends, without the byte order mark; what is no UTF-8 as surrogates.

        A line that is longer than `longest` comes in pieces; unless that is given, a very long one is refused.
        """
        for number, line in enumerate(self._lines(longest or LONGEST_ROW), 1):
            if longest is None and len(line) >= LONGEST_ROW:
                raise BadInput(
                    f"{self.shown}, line {number}: a row longer than {LONGEST_ROW >> 20} MiB; is this a text file, and "
                    "are all quotes closed?"
                )
            yield line.removeprefix(_MARK) if number == 1 else line

    def document(self, instead: str = "") -> str:
        """All of it, if it can be one document; `instead` says what there may be for a larger one."""
        pieces = self.lines(_LONGEST_HEAD)
        text = whole(lambda _: next(pieces, "").encode("utf-8", "surrogateescape"), self.shown, instead=instead)
        return text.decode("utf-8", "surrogateescape")

    def _lines(self, longest: int) -> Iterator[str]:
        try:
            if self.packed and not self._gzip:
                for batch in pl.scan_lines(self.path, glob=False).collect_batches():
                    yield from (f"{line}\n" for line in batch.to_series())
                return
            with (gzip.open if self._gzip else open)(
                self.path, "rt", encoding="utf-8", errors="surrogateescape", newline=""
            ) as text:
                while line := text.readline(longest):
                    yield str(line)
        except _BROKEN as error:
            raise self.broken(error) from None

    def broken(self, error: BaseException) -> BadInput:
        """The error of a file that cannot be read, or unpacked."""
        if self.packed:
            return BadInput(
                f"{self.shown} is damaged or was cut in the middle: it cannot be unpacked ({error_line(error)})"
            )
        return BadInput(f"{self.shown} cannot be read: {getattr(error, 'strerror', 0) or error_line(error)}")

    def unfinished(self) -> bool:
        """Whether its last line has no end."""
        if self.packed or not self.path.stat().st_size:
            return False
        with self.path.open("rb") as raw:
            raw.seek(-1, 2)
            return raw.read(1) not in b"\r\n"


class _Doubt(Exception):
    """What Polars gave may not be what the file says."""


class TextTable(LogTable):
    """A text file as a table."""

    def __init__(self, file: LogFile, request: Request, text: TextFile | None = None) -> None:
        super().__init__(file.shown, ())
        self.text = text or TextFile(file)
        self.row_size = sum(map(len, self.text.head)) / max(1, len(self.text.head))
        self._seen = 0  # rows that were given
        self.names = self._look(file, request)

    @abstractmethod
    def _look(self, file: LogFile, request: Request) -> list[str]:
        """The names of the columns, from the first lines."""

    @abstractmethod
    def _ways(self, picked: Picked) -> list[Iterator[pl.DataFrame]]:
        """Ways to read the rows, the quickest first; each but the last stops where there is doubt."""

    def rows(self, picked: Picked) -> Iterator[pl.DataFrame]:
        """The rows, in pieces."""
        self._seen = 0
        *quick, careful = self._ways(picked)
        for way in quick:
            with suppress(_Doubt, PolarsError, PanicException, OSError):
                yield from self._following(way)
                return
        yield from self._following(careful)

    def _following(self, pieces: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Those of all rows that were not given yet."""
        done = 0
        for rows in pieces:
            new = rows[max(0, self._seen - done) :]
            done += len(rows)
            if len(new):
                self._seen = done
                yield new


# CSV -----------------------------------------------------------------------------------------------------------------


class CsvFile(TextTable):
    """One CSV file: its header was read and its separator found."""

    def _look(self, file: LogFile, request: Request) -> list[str]:
        self.decimal = request.decimal
        self.delimiter = _separator(self.text.head, request, file)
        names, self.header = _header(self.text.head, self.delimiter, self.shown)
        return names

    def _ways(self, picked: Picked) -> list[Iterator[pl.DataFrame]]:
        careful = csv_rows(self.text, self.names, self.header, self.delimiter, self.decimal, picked)
        begin, *_ = [*self.text.head[self.header :], ""]
        if begin.startswith(_MARK) or any(line.endswith("\r") for line in self.text.head):
            return [careful]  # Polars takes the mark for that of a file, and reads no lines that end with \r
        kinds = [pl.String] if self.decimal == "," else [pl.Float64, pl.String]
        return [*(self._scanned(picked, kind) for kind in kinds), careful]

    def rows(self, picked: Picked) -> Iterator[pl.DataFrame]:
        """The rows, in pieces."""
        yield from super().rows(picked)
        if self._seen and self.text.unfinished():
            self.notes.append(UnfinishedLine(self.shown))

    def _scanned(self, picked: Picked, kind: Any) -> Iterator[pl.DataFrame]:
        """The rows, with metrics read as numbers, or as text of which numbers are made."""
        texts, numbers = (
            {name: str(one_column(name, self.names, self.shown)) for name in names}
            for names in (picked.texts, picked.numbers)
        )
        positions = [str(index) for index in range(len(self.names))]
        columns = self._scan({index: kind if index in numbers.values() else pl.String for index in positions})
        odd: pl.DataFrame | None = None
        done = 0
        # All columns: of some alone Polars does not see that a row has too many fields.
        for rows in columns.collect_batches(chunk_size=BATCH):
            ends = rows[positions[-1]]
            if len(positions) > 1 and (ends.null_count() or (ends.dtype == pl.String and (ends == "").any())):
                odd = self._odd_lines() if odd is None else odd
                here = odd.filter(pl.col("row").is_between(done, done + len(rows), closed="left"))
                if (here["line"] != "").any():
                    raise _Doubt
                rows = rows.filter(~pl.int_range(done, done + len(rows), eager=True).is_in(here["row"].implode()))
            done += len(ends)
            yield pl.DataFrame(
                [rows[index].alias(name) for name, index in texts.items()]
                + [self._numbers(rows[index]).alias(name) for name, index in numbers.items()]
            )

    def _scan(self, schema: dict[str, Any]) -> pl.LazyFrame:
        return pl.scan_csv(
            self.text.path,
            has_header=False,
            skip_lines=self.header,
            schema=schema,
            separator=self.delimiter,
            empty_string_is_null=False,
            glob=False,
            raise_if_empty=False,
        )

    def _numbers(self, column: pl.Series) -> pl.Series:
        if column.dtype != pl.String:
            return column
        plain = column.str.strip_chars(" \t")
        plain = plain.set(plain.is_in(list(MISSING)), None)
        if plain.is_in(list(TRUTHS)).any():
            truths = plain.replace_strict(list(TRUTHS), list(TRUTHS.values()), default=None, return_dtype=pl.Boolean)
            if truths.null_count() > plain.null_count():
                raise _Doubt
            return truths
        if self.decimal == ",":
            if plain.str.contains(".", literal=True).any():
                raise _Doubt
            plain = plain.str.replace(",", ".", literal=True)
        numbers = plain.cast(pl.Float64, strict=False)
        if numbers.null_count() > plain.null_count():
            raise _Doubt
        return numbers

    def _odd_lines(self) -> pl.DataFrame:
        """The lines, by row, that have not as many fields as the header: blank ones, and others, which are in doubt.

        To Polars a line that lacks its last fields looks like one where these are empty.
        """
        lines = pl.scan_lines(self.text.path, glob=False, row_index_name="row").slice(self.header)
        unquoted = pl.col("line").str.replace_all(r'"[^"]*"', "")
        fields = unquoted.str.count_matches(self.delimiter, literal=True)
        odd = (fields != len(self.names) - 1) | unquoted.str.contains('"', literal=True)
        return lines.filter(odd).with_columns(pl.col("row").cast(pl.Int64) - self.header).collect(engine="streaming")


def _separator(head: list[str], request: Request, file: LogFile) -> str:
    """The separator with which the header has the wanted columns, or else the one that makes most columns."""
    found: list[tuple[int, str]] = []
    for separator in SEPARATORS:
        names: list[str] = []
        try:
            names, _ = _header(head, separator, file.shown)
            pick(request, [*names, *file.partition], file.shown)
        except BadInput:
            found.append((len(names), separator))
        else:
            return separator
    # max takes the first of several: the comma.
    return max(found, key=lambda pair: pair[0])[1]


def _header(head: list[str], delimiter: str, where: str) -> tuple[list[str], int]:
    """The names in the first line that is not blank, and how many lines there are up to its end."""
    reader = csv.reader(head, delimiter=delimiter)
    try:
        for names in reader:
            if any(name.strip() for name in names):
                return names, reader.line_num
    except csv.Error as error:
        raise BadInput(f"{where}: no header can be read: {error_line(error)}") from None
    raise BadInput(f"{where} is empty: wanted a line with the names of the columns, then rows")


# JSON lines ----------------------------------------------------------------------------------------------------------


_NO_NAME = r"^[\[{]|\x00"
"""What a list or an object looks like as text, and what Polars makes of half a surrogate pair."""


class JsonFile(TextTable):
    """One file of JSON lines, or one JSON list, which is read as a whole; the keys of its first rows were looked at."""

    def _look(self, file: LogFile, request: Request) -> list[str]:
        begin = "".join(self.text.head).lstrip()
        if not begin:
            raise BadInput(f"{self.shown} is empty: wanted rows, a JSON object each")
        self._list, self._in_doubt = begin.startswith("["), False
        named = {*(request.arm or ("arm",)), *request.metrics, *request.filter.columns, *(request.cluster or ())}
        keys: dict[str, None] = {}
        self._truths: dict[str, bool] = {}  # whether the first known value of a key is true or false
        try:
            for number, (_, record) in enumerate(self._records()):
                if number >= _HEAD and named <= keys.keys():
                    break
                keys.update(dict.fromkeys(record))
                for key, value in record.items():
                    if value is not None:
                        self._truths.setdefault(key, isinstance(value, bool))
        except BadInput:  # refused when its turn comes, unless a wanted key might have been there
            self._in_doubt = True
            if not named <= keys.keys():
                raise
        return list(keys)

    def _records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return json_records(self.text, as_list=self._list)

    def _ways(self, picked: Picked) -> list[Iterator[pl.DataFrame]]:
        careful = json_rows(self._records(), picked)
        return [careful] if self._list or self._in_doubt else [self._scanned(picked), careful]

    def _scanned(self, picked: Picked) -> Iterator[pl.DataFrame]:
        schema: dict[str, Any] = dict.fromkeys(picked.texts, pl.String)
        schema |= {name: pl.Boolean if self._truths.get(name) else pl.Float64 for name in picked.numbers}
        for rows in pl.scan_ndjson(glob.escape(str(self.text.path)), schema=schema).collect_batches(chunk_size=BATCH):
            if any(rows[name].str.contains(_NO_NAME).any() for name in picked.texts):
                raise _Doubt
            yield rows
