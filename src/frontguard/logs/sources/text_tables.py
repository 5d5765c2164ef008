"""CSV and JSON lines as tables: read by Polars and, from the first row of which there is doubt, slowly row by row.

Polars reads what is plain at full speed and refuses, or shows, what is not: other numbers than its own, rows that lack
a field, quotes within a field. From there on Python's own readers give every row as texts. They take every file that is
sound, and know the line and column of whatever is wrong.
"""

from __future__ import annotations

import bz2
import csv
import glob
import gzip
import json
import os
import re
import shutil
import sys
import tempfile
import weakref
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import polars as pl
from polars.exceptions import PanicException, PolarsError

from frontguard.errors import BadInput
from frontguard.logs.sources.files import LogFile, whole
from frontguard.logs.sources.reader import (
    BATCH,
    LogTable,
    Picked,
    Request,
    numbers_in,
    one_column,
    pick,
    refuse_mixed,
    text_of,
)
from frontguard.notices import UnfinishedLine
from frontguard.phrases import error_line, number_of, shown

LONGEST_ROW = 1 << 26
"""Bytes of the longest row; what is longer is a quote that was never closed, or no text file."""

HEAD = 200
"""Lines that are looked at before any row is read."""

MARK = "\ufeff"
_LONGEST_HEAD = 1 << 20  # letters, likewise
_GZIP, _ZSTD, _BZIP2 = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh"
_BROKEN = (OSError, EOFError, ValueError, PolarsError)
_NO_UTF8 = re.compile("[\udc80-\udcff]+")  # bytes that are none, as they were decoded


class TextFile:
    """A text file that is read from its beginning at will; bzip2 and standard input by a temporary copy."""

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
        self.head: list[str] = []
        for text in islice(self.lines(_LONGEST_HEAD, HEAD), HEAD):
            self.head.append(text)
            if sum(map(len, self.head)) >= _LONGEST_HEAD:
                break
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

    def lines(self, longest: int | None = None, most: int | None = None) -> Iterator[str]:
        """Its lines with their ends, no byte order mark, surrogates for no UTF-8; long ones in pieces, or refused."""
        for number, line in enumerate(self._lines(longest or LONGEST_ROW, most), 1):
            if longest is None and len(line) >= LONGEST_ROW:
                raise BadInput(
                    f"{self.shown}, line {number}: a row longer than {LONGEST_ROW >> 20} MiB; is this a text file, and "
                    "are all quotes closed?"
                )
            yield line.removeprefix(MARK) if number == 1 else line

    def document(self, instead: str = "") -> str:
        """All of it, if it can be one document; `instead` says what there may be for a larger one."""
        pieces = self.lines(_LONGEST_HEAD)
        text = whole(lambda _: next(pieces, "").encode("utf-8", "surrogateescape"), self.shown, instead=instead)
        return text.decode("utf-8", "surrogateescape")

    def _lines(self, longest: int, most: int | None) -> Iterator[str]:
        try:
            if self.packed and not self._gzip:
                found = pl.scan_lines(self.path, glob=False)
                if most is None:  # of a file that was cut, any batch may be missing before the error comes
                    found.select(pl.len()).collect(engine="streaming")
                for batch in found.collect_batches() if most is None else [found.head(most).collect()]:
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
        """True if its last line has no end."""
        if self.packed or not self.path.stat().st_size:
            return False
        with self.path.open("rb") as raw:
            raw.seek(-1, 2)
            return raw.read(1) not in b"\r\n"


def utf8(text: str, where: str) -> str:
    """A text that was decoded, refused if some of its bytes are no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        wrong = _NO_UTF8.findall(text)[0].encode("utf-8", "surrogateescape")
        raise BadInput(f"{where}: text must be UTF-8; got {shown(wrong)}") from None
    return text


SEPARATORS = (",", ";", "\t", "|")

_CUT = " (was the file cut in the middle?)"
_INSTEAD = "; JSON lines, an object a line without the brackets and commas around them, are read piece by piece"

Record = tuple[str, list[str | None]]
"""A row: the words for its place, and its picked fields as texts."""


class _Doubt(Exception):
    """Rows that Polars gave may not be those of the file."""


class TextTable(LogTable):
    """A text file as a table."""

    decimal = "."

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
    def _scans(self, picked: Picked) -> list[Iterator[pl.DataFrame]]:
        """The rows as Polars reads them, in the quickest way first; each ends with an error where there is doubt."""

    @abstractmethod
    def _records(self, picked: Picked) -> Iterator[Record]:
        """The rows one by one, texts before numbers; refuses what is wrong."""

    def rows(self, picked: Picked) -> Iterator[pl.DataFrame]:
        """The rows, in pieces."""
        self._seen = 0
        for scan in self._scans(picked):
            with suppress(_Doubt, PolarsError, PanicException, OSError):
                yield from self._following(scan)
                return
        yield from self._following(self._carefully(picked))

    def _following(self, pieces: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """All rows that were not given yet."""
        done = 0
        for rows in pieces:
            new = rows[max(0, self._seen - done) :]
            done += len(rows)
            if len(new):
                self._seen = done
                yield new

    def _carefully(self, picked: Picked) -> Iterator[pl.DataFrame]:
        truths: dict[str, bool] = {}  # whether a column of numbers holds true and false, once a value is known
        records = self._records(picked)
        while part := list(islice(records, BATCH)):
            names = (*picked.texts, *picked.numbers)
            rows = pl.DataFrame(
                [pl.Series(name, [row[1][k] for row in part], pl.String) for k, name in enumerate(names)]
            )
            wrong = []
            for name in picked.numbers:
                texts = rows[name]
                numbers, first = numbers_in(texts, self.decimal, truths.get(name))
                if first is not None:
                    wrong.append((first, name, texts[first]))
                if numbers.null_count() < len(numbers):
                    truths[name] = numbers.dtype == pl.Boolean
                rows = rows.with_columns(numbers.alias(name))
            if wrong:
                row, name, text = min(wrong)
                self._refuse(text, f"{part[row][0]}, column {shown(name)}")
            yield rows

    def _refuse(self, text: str, where: str) -> NoReturn:
        """Refuse a text that is no number, or one in a column of true and false, or the other way round."""
        points, commas = (numbers_in(pl.Series([text]), decimal)[1] is None for decimal in (".", ","))
        if points if self.decimal == "." else commas:
            refuse_mixed(where)
        hint = ""
        if commas:
            hint = "; a decimal comma? say decimal=',' (--decimal ,)"
        elif points:
            hint = "; a decimal point, where decimal commas were announced"
        raise BadInput(f"{where}: wanted a number; got {shown(text)}{hint}")


class CsvFile(TextTable):
    """One CSV file: its header was read and its separator found."""

    def _look(self, file: LogFile, request: Request) -> list[str]:
        self.decimal = request.decimal
        self.delimiter = _separator(self.text.head, request, file)
        names, self.header = _header(self.text.head, self.delimiter, self.shown)
        return names

    def rows(self, picked: Picked) -> Iterator[pl.DataFrame]:
        """The rows, in pieces."""
        yield from super().rows(picked)
        if self._seen and self.text.unfinished():
            self.notes.append(UnfinishedLine(self.shown))

    def _scans(self, picked: Picked) -> list[Iterator[pl.DataFrame]]:
        begin, *_ = [*self.text.head[self.header :], ""]
        if begin.startswith(MARK) or any(line.endswith("\r") for line in self.text.head):
            return []  # Polars takes the mark for that of a file, and reads no lines that end with \r
        kinds = [pl.String] if self.decimal == "," else [pl.Float64, pl.String]
        return [self._scanned(picked, kind) for kind in kinds]

    def _scanned(self, picked: Picked, kind: Any) -> Iterator[pl.DataFrame]:
        """The rows, with metrics read as numbers, or as text of which numbers are made."""
        texts, numbers = (
            {name: str(one_column(name, self.names, self.shown)) for name in names}
            for names in (picked.texts, picked.numbers)
        )
        positions = [str(index) for index in range(len(self.names))]
        columns = pl.scan_csv(
            self.text.path,
            has_header=False,
            skip_lines=self.header,
            schema={index: kind if index in numbers.values() else pl.String for index in positions},
            separator=self.delimiter,
            empty_string_is_null=False,
            glob=False,
            raise_if_empty=False,
        )
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
            if any(rows[index].str.contains("\n", literal=True).any() for index in texts.values()):
                raise _Doubt  # a quote that lacks its end makes rows a part of a text
            yield pl.DataFrame(
                [rows[index].alias(name) for name, index in texts.items()]
                + [self._numbers(rows[index]).alias(name) for name, index in numbers.items()]
            )

    def _numbers(self, column: pl.Series) -> pl.Series:
        if column.dtype != pl.String:
            return column
        numbers, wrong = numbers_in(column, self.decimal)
        if wrong is not None:
            raise _Doubt
        return numbers

    def _odd_lines(self) -> pl.DataFrame:
        """The lines, by row, with other fields than the header: blank, or in doubt, as Polars fills up short ones."""
        lines = pl.scan_lines(self.text.path, glob=False, row_index_name="row").slice(self.header)
        unquoted = pl.col("line").str.replace_all(r'"[^"]*"', "")
        fields = unquoted.str.count_matches(self.delimiter, literal=True)
        odd = (fields != len(self.names) - 1) | unquoted.str.contains('"', literal=True)
        return lines.filter(odd).with_columns(pl.col("row").cast(pl.Int64) - self.header).collect(engine="streaming")

    def _records(self, picked: Picked) -> Iterator[Record]:
        places = [(name, one_column(name, self.names, self.shown)) for name in (*picked.texts, *picked.numbers)]
        width = len(self.names)
        reader = csv.reader(islice(self.text.lines(), self.header, None), delimiter=self.delimiter, strict=True)
        line, following = 0, self.header + 1  # where the row begins, and the next one
        try:
            for record in reader:
                line, following = following, self.header + reader.line_num + 1
                where = f"{self.shown}, line {line}"
                if not record and width > 1:
                    continue
                record = record or [""]  # of a single column, a row without a value
                if len(record) != width:
                    cut = len(record) < width and not any(reader) and self.text.unfinished()
                    commas = self.delimiter == "," and len(record) > width and self.decimal == "."
                    hint = _CUT if cut else " (commas in numbers, or text without quotes?)" if commas else ""
                    raise BadInput(f"{where}: {number_of(len(record), 'field')} where the header has {width}{hint}")
                yield where, [utf8(record[index], f"{where}, column {shown(name)}") for name, index in places]
        except csv.Error as error:
            wrong = f"a quote is opened and never closed{_CUT}" if "end of data" in str(error) else error_line(error)
            raise BadInput(f"{self.shown}, line {following}: {wrong}") from None


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


_NO_NAME = r"^[\[{]|\x00"
"""The beginning of a list or an object as text, and the byte that Polars makes of half a surrogate pair."""


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
            for number, (_, record) in enumerate(self._objects()):
                if number >= HEAD and named <= keys.keys():
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

    def _scans(self, picked: Picked) -> list[Iterator[pl.DataFrame]]:
        return [] if self._list or self._in_doubt else [self._scanned(picked)]

    def _scanned(self, picked: Picked) -> Iterator[pl.DataFrame]:
        schema: dict[str, Any] = dict.fromkeys(picked.texts, pl.String)
        schema |= {name: pl.Boolean if self._truths.get(name) else pl.Float64 for name in picked.numbers}
        for rows in pl.scan_ndjson(glob.escape(str(self.text.path)), schema=schema).collect_batches(chunk_size=BATCH):
            if any(rows[name].str.contains(_NO_NAME).any() for name in picked.texts):
                raise _Doubt
            yield rows

    def _records(self, picked: Picked) -> Iterator[Record]:
        for place, record in self._objects():
            names = [_name(record.get(name), f"{place}, column {shown(name)}") for name in picked.texts]
            values = [_value(record.get(name), f"{place}, column {shown(name)}") for name in picked.numbers]
            yield place, names + values

    def _objects(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The objects, each with the words for its place."""
        for place, record in self._listed() if self._list else self._by_line():
            if not isinstance(record, dict):
                raise BadInput(f"{place}: wanted an object with a key for each column; got {shown(record)}")
            yield place, record

    def _by_line(self) -> Iterator[tuple[str, Any]]:
        for number, line in enumerate(self.text.lines(), 1):
            if line.strip():
                place = f"{self.shown}, line {number}"
                try:
                    yield place, parsed(utf8(line, place))
                except NotJson as error:
                    cut = _CUT if not line.endswith(("\n", "\r")) else ""
                    raise BadInput(f"{place}: {error_line(error)}{cut}") from None

    def _listed(self) -> Iterator[tuple[str, Any]]:
        try:
            records = parsed(utf8(self.text.document(_INSTEAD), self.shown))
        except NotJson as error:
            raise BadInput(f"{self.shown} is no JSON list, or was cut in the middle: {error_line(error)}") from None
        return ((f"{self.shown}, object {number}", record) for number, record in enumerate(records, 1))


class _Written(str):  # a number
    __slots__ = ()


class NotJson(ValueError):
    """A text that is no JSON; where in it, if that is known, is in the message."""


def parsed(text: str) -> Any:
    """A JSON value with its numbers as they are written; a key that stands twice in an object is refused."""
    try:
        return json.loads(
            text, parse_int=_Written, parse_float=_Written, parse_constant=_Written, object_pairs_hook=_without_repeats
        )
    except json.JSONDecodeError as error:
        raise NotJson(f"no JSON at character {error.colno}: {error.msg}") from None
    except RecursionError:
        raise NotJson("JSON nested too deeply") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise NotJson(f"the key {shown(twice)} stands more than once")
    return record


def _name(value: Any, where: str) -> str | None:
    """A name; a number becomes the digits that Polars makes of it: 1.0 is 1, and 1e5 is 100000."""
    if not isinstance(value, _Written):
        return text_of(value, where)
    if value.lstrip("-").isdigit():
        return "0" if value == "-0" else str(value)
    return np.format_float_positional(float(value), trim="-")


def _value(value: Any, where: str) -> str | None:
    """A number, or true or false, as it is written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is not None and not isinstance(value, _Written):
        raise BadInput(f"{where}: wanted a number or null; got {shown(value)}")
    return value
