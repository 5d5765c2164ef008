"""CSV and JSON lines read row by row: slow, exact, and with the line and column of whatever is wrong."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from frontguard.errors import BadInput
from frontguard.logs.sources.reader import BATCH, Picked, one_column, refuse_mixed
from frontguard.logs.sources.values import number_column, text_of
from frontguard.phrases import error_line, number_of, shown

if TYPE_CHECKING:
    from frontguard.logs.sources.text import TextFile

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

TRUTHS = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
"""What stands in a metric for true and false, where nothing else does."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NO_UTF8 = re.compile("[\udc80-\udcff]+")  # bytes that are none, as they were decoded
_CUT = " (was the file cut in the middle?)"
_INSTEAD = "; JSON lines, an object a line without the brackets and commas around them, are read piece by piece"


class _Row(NamedTuple):
    """The picked fields of a row, and the words for its place."""

    place: str
    texts: list[str | None]
    numbers: list[float | bool]


def _frames(rows: Iterable[_Row], picked: Picked) -> Iterator[pl.DataFrame]:
    """Rows as frames. A column of numbers that holds true and false as well is refused where that shows."""
    kinds: list[set[bool]] = [set() for _ in picked.numbers]  # whether values are truths
    following = iter(rows)
    while part := list(islice(following, BATCH)):
        for row in part:
            for name, kind, value in zip(picked.numbers, kinds, row.numbers, strict=True):
                if not math.isnan(value):
                    kind.add(isinstance(value, bool))
                    if len(kind) > 1:
                        refuse_mixed(f"{row.place}, column {shown(name)}")
        yield pl.DataFrame(
            [pl.Series(name, [row.texts[k] for row in part], pl.String) for k, name in enumerate(picked.texts)]
            + [number_column([row.numbers[k] for row in part]).alias(name) for k, name in enumerate(picked.numbers)]
        )


# CSV -----------------------------------------------------------------------------------------------------------------


def csv_rows(
    text: TextFile, names: Sequence[str], header: int, delimiter: str, decimal: str, picked: Picked
) -> Iterator[pl.DataFrame]:
    """The rows of a CSV file with these columns, after so many lines of its header."""
    texts, numbers = (
        [(name, one_column(name, names, text.shown)) for name in some] for some in (picked.texts, picked.numbers)
    )
    width = len(names)

    def rows() -> Iterator[_Row]:
        for line, record, last in _records(text, header, delimiter, single=width == 1):
            place = f"{text.shown}, line {line}"
            if len(record) != width:
                cut = last and len(record) < width and text.unfinished()
                commas = delimiter == "," and len(record) > width and decimal == "."
                hint = _CUT if cut else " (commas in numbers, or text without quotes?)" if commas else ""
                raise BadInput(f"{place}: {number_of(len(record), 'field')} where the header has {width}{hint}")
            yield _Row(
                place,
                [_text(record[index], f"{place}, column {shown(name)}") for name, index in texts],
                [_number(record[index], decimal, f"{place}, column {shown(name)}") for name, index in numbers],
            )

    return _frames(rows(), picked)


def _records(text: TextFile, header: int, delimiter: str, *, single: bool) -> Iterator[tuple[int, list[str], bool]]:
    """The rows, each with the line that it begins on, and whether it is the last.

    Blank lines are none, unless there is a single column, where they are rows without a value.
    """
    reader = csv.reader(islice(text.lines(), header, None), delimiter=delimiter, strict=True)
    before, waiting = 0, None
    try:
        for record in reader:
            if record or single:
                if waiting is not None:
                    yield (*waiting, False)
                waiting = header + before + 1, record or [""]
            before = reader.line_num
    except csv.Error as error:
        wrong = f"a quote is opened and never closed{_CUT}" if "end of data" in str(error) else error_line(error)
        raise BadInput(f"{text.shown}, line {header + before + 1}: {wrong}") from None
    if waiting is not None:
        yield (*waiting, True)


def _text(field: str, where: str) -> str:
    try:
        field.encode()
    except UnicodeEncodeError:
        wrong = _NO_UTF8.findall(field)[0].encode("utf-8", "surrogateescape")
        raise BadInput(f"{where}: text must be UTF-8; got {shown(wrong)}") from None
    return field


def _number(field: str, decimal: str, where: str) -> float | bool:
    """The number that a field holds, or true or false; NaN for a missing or infinite one."""
    truth = TRUTHS.get(field.strip(" \t"))
    value = plain_number(field, decimal) if truth is None else truth
    if value is not None:
        return value
    hint = ""
    if decimal == "." and plain_number(field, ",") is not None:
        hint = "; a decimal comma? say decimal=',' (--decimal ,)"
    elif decimal == "," and plain_number(field, ".") is not None:
        hint = "; a decimal point, where decimal commas were announced"
    raise BadInput(f"{where}: wanted a number; got {shown(field)}{hint}")


def plain_number(text: str, decimal: str = ".") -> float | None:
    """The number that a field holds, NaN for a missing or infinite one, None if it is neither.

    >>> plain_number(" 1.5"), plain_number("1e3"), plain_number("NA"), plain_number("12ms"), plain_number("1,5", ",")
    (1.5, 1000.0, nan, None, 1.5)
    """
    plain = text.strip(" \t")
    if plain in MISSING:
        return math.nan
    if decimal == ",":
        if "." in plain:
            return None
        plain = plain.replace(",", ".", 1)
    if _NUMBER.fullmatch(plain) is None:
        return None
    value = float(plain)
    return value if math.isfinite(value) else math.nan


# JSON ----------------------------------------------------------------------------------------------------------------


class _Written(str):
    """A number as it is written."""

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


def json_records(text: TextFile, *, as_list: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file, one a line or all in a list, each with the words for its place."""
    for place, record in _listed(text) if as_list else _by_line(text):
        if not isinstance(record, dict):
            raise BadInput(f"{place}: wanted an object with a key for each column; got {shown(record)}")
        yield place, record


def _by_line(text: TextFile) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.lines(), 1):
        if not line.strip():
            continue
        place = f"{text.shown}, line {number}"
        _text(line, place)
        try:
            yield place, parsed(line)
        except NotJson as error:
            cut = _CUT if not line.endswith(("\n", "\r")) else ""
            raise BadInput(f"{place}: {error_line(error)}{cut}") from None


def _listed(text: TextFile) -> Iterator[tuple[str, Any]]:
    """All objects of a document that is a JSON list."""
    try:
        records = parsed(_text(text.document(_INSTEAD), text.shown))
    except NotJson as error:
        raise BadInput(f"{text.shown} is no JSON list, or was cut in the middle: {error_line(error)}") from None
    if not isinstance(records, list):
        raise BadInput(f"{text.shown}: wanted a list of objects; got {shown(records)}")
    return ((f"{text.shown}, object {number}", record) for number, record in enumerate(records, 1))


def json_rows(records: Iterable[tuple[str, dict[str, Any]]], picked: Picked) -> Iterator[pl.DataFrame]:
    """The rows of a file of JSON objects."""

    def rows() -> Iterator[_Row]:
        for place, record in records:
            yield _Row(
                place,
                [_name(record.get(name), f"{place}, column {shown(name)}") for name in picked.texts],
                [_value(record.get(name), f"{place}, column {shown(name)}") for name in picked.numbers],
            )

    return _frames(rows(), picked)


def _name(value: Any, where: str) -> str | None:
    """A name; a number becomes the digits that Polars makes of it: 1.0 is 1, and 1e5 is 100000."""
    if not isinstance(value, _Written):
        return text_of(value, where)
    if value.lstrip("-").isdigit():
        return "0" if value == "-0" else str(value)
    return np.format_float_positional(float(value), trim="-")


def _value(value: Any, where: str) -> float | bool:
    if value is None:
        return math.nan
    if isinstance(value, bool):
        return value
    if not isinstance(value, _Written):
        raise BadInput(f"{where}: wanted a number or null; got {shown(value)}")
    number = float(value)
    return number if math.isfinite(number) else math.nan
