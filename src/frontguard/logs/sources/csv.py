"""CSV and its relatives: strict about structure, lenient about separators, ids as text.

Whole rows of about a megabyte are parsed by Arrow, several at once in threads. What Arrow refuses is read again slowly,
to say which line, column and text it was.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.logs.sources.blocks import Block, ByteFile, TextTable
from frontguard.logs.sources.columns import as_numbers
from frontguard.logs.sources.files import LogFile
from frontguard.logs.sources.reader import Picked, Request, TableRows, one_column, pick, refuse_mixed
from frontguard.notices import UnfinishedLine
from frontguard.phrases import error_line, shown

SEPARATORS = (",", ";", "\t", "|")

_WORDS = ("", "NA", "N/A", "#N/A", "NaN", "null", "none")
_WILD = ("NaN", "inf", "infinity")
MISSING = frozenset(
    sign + cased
    for words, signs in ((_WORDS, ("",)), (_WILD, ("", "+", "-")))
    for sign in signs
    for word in words
    for cased in (word, word.lower(), word.upper(), word.capitalize())
)
"""What stands in a metric for no value: as it is, or with blanks around it. Infinite values are not known either."""

TRUTHS = {word: float(word.lower() == "true") for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
"""What stands in a metric for 1 and 0, where nothing else does."""

MARK = b"\xef\xbb\xbf"  # the byte order mark

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class CsvFile(TextTable):
    """One CSV file: its header was read and its separator found."""

    def _look(self, text: ByteFile, request: Request) -> list[str]:
        if not text.head.strip():
            raise BadInput(f"{self.shown} is empty: wanted a line with the names of the columns, then rows")
        if b"\0" in text.head:
            _refuse_nul(self.shown, Block(text.head, 1))
        self.decimal = request.decimal
        self.delimiter = _separator(text.head, request, self.file)
        names, size, self._lines = _header(text.head, self.delimiter, self.shown)
        self._header = text.head[:size]
        return names

    def rows(self, picked: Picked) -> Iterator[TableRows]:
        """The rows, in pieces."""
        parser = _CsvParser(self, picked)
        yield from self._parsed(parser.rows, header=self._header, lines=self._lines, delimiter=self.delimiter)


class _CsvParser:
    """What a thread needs to make rows of a block."""

    def __init__(self, source: CsvFile, picked: Picked) -> None:
        self.source = source
        self.where = source.shown
        self.texts = [one_column(name, source.names, self.where) for name in picked.texts]
        self.numbers = [one_column(name, source.names, self.where) for name in picked.numbers]
        self.single = len(source.names) == 1  # then an empty line is a row without a value
        positions = [str(index) for index in range(len(source.names))]
        wanted = [positions[index] for index in (*self.texts, *self.numbers)]
        self._read = pa.csv.ReadOptions(column_names=positions, use_threads=False, block_size=(1 << 31) - 1)
        self._parse = {
            quoted: pa.csv.ParseOptions(
                delimiter=source.delimiter, newlines_in_values=quoted, ignore_empty_lines=not self.single
            )
            for quoted in (False, True)
        }
        self._wanted = wanted
        self._truths: frozenset[int] = frozenset()  # the columns of numbers that held true and false last
        self._as_text = self._conversion(dict.fromkeys(self.numbers, pa.string()))

    def _conversion(self, numbers: Mapping[int, pa.DataType]) -> pa.csv.ConvertOptions:
        kinds = {str(index): pa.string() for index in self.texts} | {str(each): numbers[each] for each in numbers}
        return pa.csv.ConvertOptions(
            include_columns=self._wanted,
            column_types=kinds,
            null_values=sorted(MISSING),
            true_values=[word for word, value in TRUTHS.items() if value],
            false_values=[word for word, value in TRUTHS.items() if not value],
            strings_can_be_null=False,
            decimal_point=self.source.decimal,
        )

    def rows(self, block: Block) -> TableRows:
        if b"\0" in block.data:
            _refuse_nul(self.where, block)
        try:
            rows = self._quickly(block, self._truths)
        except pa.ArrowException as error:
            rows = self._carefully(block, error)
        if block.unfinished and len(rows):
            self.source.notes.append(UnfinishedLine(self.where))
        return rows

    def _quickly(self, block: Block, truths: frozenset[int]) -> TableRows:
        """The rows as Arrow reads them, with true and false in some of the columns of numbers."""
        kinds = {index: pa.bool_() if d in truths else pa.float64() for d, index in enumerate(self.numbers)}
        table = self._table(block, self._conversion(kinds))
        numbers = [as_numbers(table.column(i), self.where) for i in range(len(self.texts), table.num_columns)]
        return TableRows(self._names_in(table), numbers, self._seen(truths, numbers))

    def _carefully(self, block: Block, error: pa.ArrowException) -> TableRows:
        """The same where Arrow refuses: with other columns of true and false, or one by one."""
        self._refuse_bad_structure(block)
        try:
            table = self._table(block, self._as_text)
        except pa.ArrowException:
            raise BadInput(f"{self.where}, line {block.line} or after: {error_line(error)}") from None
        columns = [table.column(len(self.texts) + d) for d in range(len(self.numbers))]
        truths = frozenset(
            d for d, column in enumerate(columns) if pc.any(pc.is_in(column, pa.array(list(TRUTHS)))).as_py()
        )
        if truths:
            self._truths = truths
            with suppress(pa.ArrowException):
                return self._quickly(block, truths)
        numbers, truths = self._slowly(block)
        return TableRows(self._names_in(table), numbers, truths)

    def _names_in(self, table: pa.Table) -> list[pa.Array]:
        return [table.column(i).combine_chunks() for i in range(len(self.texts))]

    @staticmethod
    def _seen(truths: frozenset[int], numbers: list[Floats]) -> frozenset[int]:
        """Those of the columns that have a value here."""
        return frozenset(d for d in truths if not np.isnan(numbers[d]).all())

    def _table(self, block: Block, conversion: pa.csv.ConvertOptions) -> pa.Table:
        if not self.single and block.data[:1] in b"\r\n" and not block.data.strip(b"\r\n"):
            return pa.table({name: pa.array([], conversion.column_types[name]) for name in conversion.include_columns})
        parse = self._parse[b'"' in block.data]
        data = block.data
        if data.startswith(MARK):  # Arrow takes it for the beginning of a file; here it is a part of a field
            data = MARK + data
        return pa.csv.read_csv(pa.BufferReader(data), self._read, parse, conversion)

    def _records(self, block: Block) -> Iterator[tuple[int, list[str]]]:
        """The rows of a block by the slow reader, each with the line that it begins on."""
        text = io.StringIO(block.data.decode("utf-8", "surrogateescape"), newline="")
        reader = csv.reader(text, delimiter=self.source.delimiter)
        before = 0
        try:
            for record in reader:
                if record or self.single:
                    yield block.line + before, record or [""]
                before = reader.line_num
        except csv.Error as error:
            raise BadInput(f"{self.where}, line {block.line + before}: {error_line(error)}") from None

    def _refuse_bad_structure(self, block: Block) -> None:
        """Find the first row with too few or too many fields, or with a name that is not UTF-8."""
        width = len(self.source.names)
        for line, record in self._records(block):
            if len(record) != width:
                self._refuse_width(block, line, record)
            for index in self.texts:
                try:
                    record[index].encode()
                except UnicodeEncodeError:
                    raise BadInput(
                        f"{self.where}, line {line}, column {shown(self.source.names[index])}: text must be UTF-8; "
                        f"got {shown(record[index].encode('utf-8', 'surrogateescape'))}"
                    ) from None

    def _refuse_width(self, block: Block, line: int, record: Sequence[str]) -> None:
        last = line + 1 >= block.line + block.data.rstrip(b"\r\n").count(b"\n") + 1
        width = len(self.source.names)
        hint = ""
        if block.unfinished and last and len(record) < width:
            hint = " (was the file cut in the middle?)"
        elif self.source.delimiter == "," and len(record) > width and self.source.decimal == ".":
            hint = " (commas in numbers, or text without quotes?)"
        raise BadInput(
            f"{self.where}, line {line}: {len(record)} field{'s' if len(record) != 1 else ''} where the header has "
            f"{width}{hint}"
        )

    def _slowly(self, block: Block) -> tuple[list[Floats], frozenset[int]]:
        """The numbers of a block whose structure is sound, one by one, and the columns of true and false."""
        values: list[list[float]] = [[] for _ in self.numbers]
        kinds: list[set[bool]] = [set() for _ in self.numbers]  # whether values are truths
        for line, record in self._records(block):
            for column, kind, index in zip(values, kinds, self.numbers, strict=True):
                truth = TRUTHS.get(record[index].strip(" \t"))
                number = number_of(record[index], self.source.decimal) if truth is None else truth
                if number is None:
                    self._refuse_text(line, index, record[index])
                elif not np.isnan(number):
                    kind.add(truth is not None)
                    if len(kind) > 1:
                        refuse_mixed(f"{self.where}, line {line}, column {shown(self.source.names[index])}")
                column.append(number)  # type: ignore[arg-type]
        truths = frozenset(d for d, kind in enumerate(kinds) if True in kind)
        return [np.array(column, np.float64) for column in values], truths

    def _refuse_text(self, line: int, index: int, text: str) -> None:
        hint = ""
        if self.source.decimal == "." and number_of(text, ",") is not None:
            hint = "; a decimal comma? say decimal=',' (--decimal ,)"
        elif self.source.decimal == "," and number_of(text, ".") is not None:
            hint = "; a decimal point, where decimal commas were announced"
        raise BadInput(
            f"{self.where}, line {line}, column {shown(self.source.names[index])}: wanted a number; "
            f"got {shown(text)}{hint}"
        )


def number_of(text: str, decimal: str = ".") -> float | None:
    """The number that a field holds, NaN for a missing or infinite one, None if it is neither.

    >>> number_of(" 1.5"), number_of("1e3"), number_of("NA"), number_of("12ms"), number_of("1,5", ",")
    (1.5, 1000.0, nan, None, 1.5)
    """
    plain = text.strip(" \t")
    if plain in MISSING:
        return float("nan")
    if decimal == ",":
        if "." in plain:
            return None
        plain = plain.replace(",", ".", 1)
    if _NUMBER.fullmatch(plain) is None:
        return None
    value = float(plain)
    return value if np.isfinite(value) else float("nan")


def _separator(head: bytes, request: Request, file: LogFile) -> str:
    """The separator with which the header has the wanted columns, or else the one that makes most columns."""
    found: list[tuple[int, str]] = []
    for separator in SEPARATORS:
        names: list[str] = []
        try:
            names, _, _ = _header(head, separator, file.shown)
            pick(request, [*names, *file.partition], file.shown)
        except BadInput:
            found.append((len(names), separator))
        else:
            return separator
    # max takes the first of several: the comma.
    return max(found, key=lambda pair: pair[0])[1]


def _header(head: bytes, delimiter: str, where: str) -> tuple[list[str], int, int]:
    """The names in the first line that is not blank; how many bytes and lines there are up to its end."""
    size = lines = 0

    def counted() -> Iterator[str]:
        nonlocal size, lines
        for line in io.StringIO(head.decode("utf-8", "surrogateescape"), newline=""):
            size += len(line.encode("utf-8", "surrogateescape"))
            lines += 1
            yield line

    try:
        for names in csv.reader(counted(), delimiter=delimiter):
            if names:
                return names, size, lines
    except csv.Error as error:
        raise BadInput(f"{where}: no header can be read: {error_line(error)}") from None
    raise BadInput(f"{where} is empty: wanted a line with the names of the columns, then rows")


def _refuse_nul(where: str, block: Block) -> None:
    line = block.line + block.data[: block.data.index(b"\0")].count(b"\n")
    raise BadInput(f"{where}, line {line}: a zero byte; is this UTF-8 text, or is the file damaged?")
