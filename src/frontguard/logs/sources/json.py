"""JSON lines: one object a row. Also a JSON document that is a list of such objects.

Pieces of about a megabyte are parsed by Arrow in threads; what it refuses is read again line by line, which takes ids
that are numbers as they are written, and says where a mistake is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import product, zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from frontguard.errors import BadInput
from frontguard.logs.sources.blocks import BLOCK, Block, ByteFile, TextTable
from frontguard.logs.sources.columns import as_numbers, text_of
from frontguard.logs.sources.reader import Picked, Request, TableRows, refuse_mixed
from frontguard.logs.sources.whole import whole
from frontguard.phrases import error_line, shown

_MIXED = 3
"""Names that may be numbers here and texts there, before the slow reader is left to find out."""

_LOOKED_AT = 100
"""Rows whose keys are taken for those of all, unless a wanted one is not among them."""

_INSTEAD = "; JSON lines, an object a line without the brackets and commas around them, are read piece by piece"


class Written(str):
    """A number as it is written."""

    __slots__ = ()


class NotJson(ValueError):
    """A text that is no JSON; where in it, if that is known, is in the message."""


def parsed(text: str) -> Any:
    """A JSON value with its numbers as they are written; a key that stands twice in an object is refused."""
    try:
        return json.loads(
            text, parse_int=Written, parse_float=Written, parse_constant=Written, object_pairs_hook=_without_repeats
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


class JsonFile(TextTable):
    """One file of JSON lines, or one JSON list, which is read as a whole; the keys of its first rows were looked at."""

    def _look(self, text: ByteFile, request: Request) -> list[str]:
        begin = text.head.lstrip()
        if not begin:
            raise BadInput(f"{self.shown} is empty: wanted rows, a JSON object each")
        self._records = _list(text) if begin.startswith(b"[") else None
        rows = _first(text) if self._records is None else _numbered(self._records, self.shown)
        named = (*(request.arm or ("arm",)), *request.metrics, *request.filter.columns, *(request.cluster or ()))
        return _keys(rows, frozenset(named))

    def rows(self, picked: Picked) -> Iterator[TableRows]:
        """The rows, in pieces."""
        parser = _JsonParser(self.shown, picked)
        if self._records is not None:
            yield parser.of_records(_numbered(self._records, self.shown))
        else:
            yield from self._parsed(parser.rows)


class _JsonParser:
    """What a thread needs to make rows of a block."""

    def __init__(self, where: str, picked: Picked) -> None:
        self.where = where
        self.picked = picked
        self._kinds = list(product((pa.string(), pa.int64()), repeat=min(len(picked.texts), _MIXED)))
        self._usual = 0  # which of the kinds of names fitted last
        self._truths: frozenset[int] = frozenset()  # the numbers that were true and false last

    def rows(self, block: Block) -> TableRows:
        for which in sorted(range(len(self._kinds)), key=lambda each: each != self._usual):
            try:
                rows = self._quickly(block, which)
            except pa.ArrowException:
                continue
            self._usual = which
            return rows
        rows = self.of_records(_lines(block, self.where))
        self._truths = rows.truths or self._truths
        return rows

    def _quickly(self, block: Block, which: int) -> TableRows:
        whole = pa.json.ReadOptions(use_threads=False, block_size=max(len(block.data), 1 << 10) + 1)
        truths = self._truths
        table = pa.json.read_json(pa.BufferReader(block.data), whole, _options(self.picked, self._kinds[which], truths))
        texts = [table.column(name).combine_chunks().cast(pa.string()) for name in self.picked.texts]
        for text in texts:
            text.validate(full=True)
        numbers = [as_numbers(table.column(name), self.where) for name in self.picked.numbers]
        return TableRows(texts, numbers, frozenset(d for d in truths if not np.isnan(numbers[d]).all()))

    def of_records(self, records: Iterable[tuple[str, Any]]) -> TableRows:
        """Rows of objects that the slow reader gave, each with the words for its place."""
        texts: list[list[str | None]] = [[] for _ in self.picked.texts]
        numbers: list[list[float]] = [[] for _ in self.picked.numbers]
        kinds: list[set[bool]] = [set() for _ in self.picked.numbers]  # whether values are truths
        for place, record in records:
            _refuse_unless_object(record, place)
            for column, name in zip(texts, self.picked.texts, strict=True):
                value = record.get(name)
                unsigned = value == "-0" and isinstance(value, Written)
                column.append(text_of("0" if unsigned else value, f"{place}, column {shown(name)}"))
            for values, kind, name in zip(numbers, kinds, self.picked.numbers, strict=True):
                value = record.get(name)
                values.append(_number(value, place, name))
                if not np.isnan(values[-1]):
                    kind.add(isinstance(value, bool))
                    if len(kind) > 1:
                        refuse_mixed(f"{place}, column {shown(name)}")
        return TableRows(
            [pa.array(column, pa.string()) for column in texts],
            [np.array(each, np.float64) for each in numbers],
            frozenset(d for d, kind in enumerate(kinds) if True in kind),
        )


def _options(picked: Picked, kinds: Sequence[pa.DataType], truths: frozenset[int]) -> pa.json.ParseOptions:
    """How Arrow is to read: these columns as these types, the others not at all."""
    texts = list(zip_longest(picked.texts, kinds, fillvalue=pa.string()))
    fields = texts + [(name, pa.bool_() if d in truths else pa.float64()) for d, name in enumerate(picked.numbers)]
    return pa.json.ParseOptions(explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore")


def _number(value: Any, place: str, name: str) -> float:
    if value is None:
        return float("nan")
    if not isinstance(value, (Written, bool)):
        raise BadInput(f"{place}, column {shown(name)}: wanted a number or null; got {shown(value)}")
    number = float(value)
    return number if np.isfinite(number) else float("nan")


def _list(file: ByteFile) -> list[Any]:
    """All objects of a document that is a JSON list."""
    try:
        records = parsed(whole(file.read, file.file.shown, instead=_INSTEAD).decode())
    except (NotJson, UnicodeDecodeError) as error:
        raise BadInput(f"{file.file.shown} is no JSON list, or was cut in the middle: {error_line(error)}") from None
    if not isinstance(records, list):
        raise BadInput(f"{file.file.shown}: wanted a list of objects; got {shown(records)}")
    return records


def _lines(block: Block, where: str) -> Iterator[tuple[str, Any]]:
    """What stands on each line that is not blank, with the words for its place."""
    lines = block.data.split(b"\n")
    for number, line in enumerate(lines, block.line):
        if not line.strip():
            continue
        place = f"{where}, line {number}"
        try:
            yield place, parsed(line.decode())
        except UnicodeDecodeError as error:
            raise BadInput(f"{place}: text must be UTF-8; got {shown(line[error.start : error.end])}") from None
        except NotJson as error:
            last = block.unfinished and number == block.line + len(lines) - 1
            cut = " (was the file cut in the middle?)" if last else ""
            raise BadInput(f"{place}: {error_line(error)}{cut}") from None


def _numbered(records: Iterable[Any], where: str) -> Iterator[tuple[str, Any]]:
    return ((f"{where}, object {number}", record) for number, record in enumerate(records, 1))


def _refuse_unless_object(record: Any, place: str) -> None:
    if not isinstance(record, dict):
        raise BadInput(f"{place}: wanted an object with a key for each column; got {shown(record)}")


def _first(file: ByteFile) -> Iterator[tuple[str, Any]]:
    """The rows at the beginning that are at hand."""
    head = file.head if len(file.head) < BLOCK else file.head[: file.head.rfind(b"\n") + 1]
    return _lines(Block(head, 1, unfinished=not head.endswith(b"\n")), file.file.shown)


def _keys(rows: Iterable[tuple[str, Any]], wanted: frozenset[str]) -> list[str]:
    """The keys of the first rows, in order of appearance; of more rows if a wanted one has not appeared.

    A row that cannot be read is refused when its turn comes, unless a wanted key might have been there.
    """
    keys: dict[str, None] = {}
    try:
        for number, (place, record) in enumerate(rows):
            if number >= _LOOKED_AT and wanted <= keys.keys():
                break
            _refuse_unless_object(record, place)
            keys.update(dict.fromkeys(record))
    except BadInput:
        if not wanted <= keys.keys():
            raise
    return list(keys)
