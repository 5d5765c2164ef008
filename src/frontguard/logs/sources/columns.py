"""Columns become arms (text) and values (float64, NaN where a pull failed)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.logs.memory import as_numpy
from frontguard.phrases import error_line, shown
from frontguard.results import ArmParts

# Text ----------------------------------------------------------------------------------------------------------------


def as_text(column: Any, where: str) -> pa.Array:
    """A column of names as Arrow text, plain or as a dictionary; nulls stay null, and text stays what it is.

    Whole numbers become their decimal digits, truth values "true" and "false", dates and times ISO 8601, fractions the
    shortest text that gives them back ("1.0", not "1").
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    kind = column.type
    try:
        if pa.types.is_dictionary(kind):
            return _dictionary_text(column, where)
        if pa.types.is_string(kind):
            text = column
        elif pa.types.is_floating(kind):
            text = _float_text(column)
        elif pa.types.is_nested(kind) or pa.types.is_duration(kind):
            raise BadInput(f"{where}: names must be text, whole numbers, dates or the like; got the type {kind}")
        else:
            text = column.cast(pa.string())
        if not _is_ascii(text):
            text.validate(full=True)  # also that it is UTF-8, which a damaged file need not be
    except (pa.ArrowException, UnicodeError) as error:
        raise BadInput(f"{where}: names cannot be read as text, type {kind}: {error_line(error)}") from None
    return text


def _is_ascii(text: pa.StringArray) -> bool:
    """Whether all texts are ASCII, found out ten times as quickly as whether they are UTF-8."""
    _, ends, letters = text.buffers()
    if not len(text) or letters is None:
        return True
    bounds = np.frombuffer(ends, np.int32, len(text) + 1, 4 * text.offset)
    used = np.frombuffer(letters, np.uint8)[bounds[0] : bounds[-1]]
    return used.size == 0 or int(used.max()) < 128


def _dictionary_text(column: pa.DictionaryArray, where: str) -> pa.Array:
    column.validate(full=True)
    names = as_text(column.dictionary, where)
    if pa.types.is_dictionary(names.type) or names.null_count:
        return as_text(column.cast(column.type.value_type), where)
    return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), names)


def _float_text(column: pa.Array) -> pa.Array:
    """repr of every value; NaN, which is how some frames write a missing name, is missing."""
    coded = column.dictionary_encode()
    names = [None if value is None or value != value else repr(float(value)) for value in coded.dictionary.to_pylist()]
    return pa.array(names, pa.string()).take(coded.indices)


def text_of(value: Any, where: str) -> str | None:
    """A single name as text, by the same rules; None if it is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return None if math.isnan(value) else repr(float(value))
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadInput(f"{where}: half a surrogate pair, which is no text; got {shown(value)}") from None
        return str(value)
    if isinstance(value, (int, np.integer, Decimal)):
        return str(value)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise BadInput(f"{where}: names must be UTF-8; got {shown(value)}") from None
    raise BadInput(f"{where}: wanted a name, text or a number; got {shown(value)}")


def joined(parts: Sequence[pa.Array]) -> pa.Array:
    """One name out of several columns, as `phrases.slashed` has it. Null where a part is null, or all are empty.

    >>> import pyarrow as pa
    >>> joined([pa.array(["rust", "/bin/cc"]), pa.array(["128", ""])]).to_pylist()
    ['rust/128', '"/bin/cc"/']
    """
    if len(parts) == 1:
        return parts[0]
    written = []
    empty: Any = None
    for part in parts:
        coded = part if pa.types.is_dictionary(part.type) else part.dictionary_encode()
        texts = coded.dictionary
        quoted = pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")
        needed = pc.or_(pc.match_substring(texts, "/"), pc.starts_with(texts, '"'))
        written.append(pc.if_else(needed, quoted, texts).take(coded.indices))
        here = is_empty(part)
        empty = here if empty is None else pc.and_(empty, here)
    whole = pc.binary_join_element_wise(*written, "/")
    return pc.if_else(empty, pa.scalar(None, pa.string()), whole) if pc.any(empty).as_py() else whole


_PART = re.compile(r'"((?:[^"]|"")*)"(?:/|$)|([^/]*)(?:/|$)', re.DOTALL)


def parts_of(names: Sequence[str], columns: Sequence[str]) -> ArmParts | None:
    """What `joined` made names of, one for each of these columns; None if there is one only.

    A name is a code for its parts, which sorting, states and clusters carry as one text; here it is read back, exactly.

    >>> parts_of(['"/bin/cc"/', "rust/128"], ["compiler", "size"]).column(0)
    ['/bin/cc', 'rust']
    """
    width = len(columns)
    if width < 2:
        return None
    texts = pa.array(names, pa.large_string())
    has_quotes = pc.match_substring(texts, '"').to_numpy(zero_copy_only=False)
    quoted, plain = np.flatnonzero(has_quotes), np.flatnonzero(~has_quotes)
    flat = pc.split_pattern(texts.take(pa.array(plain)), "/").flatten()
    read = [_read_back(names[place], width) for place in quoted.tolist()]
    back = np.argsort(np.concatenate([plain, quoted]), kind="stable")
    different, codes = [], []
    for d in range(width):
        some = flat.take(pa.array(np.arange(d, width * len(plain), width)))
        column = pa.concat_arrays([some, pa.array([row[d] for row in read], some.type)]).dictionary_encode()
        different.append(tuple(column.dictionary.to_pylist()))
        codes.append(column.indices.to_numpy(zero_copy_only=False)[back])
    return ArmParts(tuple(columns), tuple(different), np.array(codes, np.int64))


def _read_back(name: str, width: int) -> list[str]:
    """The parts of one name."""
    parts, at = [], 0
    for _ in range(width):
        found = _PART.match(name, at)
        assert found is not None  # the second form matches anything, if only nothing
        parts.append(found[2] if found[1] is None else found[1].replace('""', '"'))
        at = found.end()
    return parts


def is_empty(texts: pa.Array) -> pa.Array:
    """Where a text is "" (not null)."""
    if pa.types.is_dictionary(texts.type):
        flags = pc.equal(pc.binary_length(texts.dictionary), 0)
        return pc.fill_null(flags.take(texts.indices), False)
    return pc.fill_null(pc.equal(pc.binary_length(texts), 0), False)


def whole_numbers(texts: pa.Array) -> pa.Array:
    """The same texts with whole numbers written one way: of one file 1, of another 1.0, and both are meant to be one.

    >>> import pyarrow as pa
    >>> whole_numbers(pa.array(["1.0", "1", "007.0", "1.5", None])).to_pylist()
    ['1', '1', '007', '1.5', None]
    """
    coded = texts if pa.types.is_dictionary(texts.type) else texts.dictionary_encode()
    plain = pc.replace_substring_regex(coded.dictionary, r"^(-?[0-9]+)\.0+$", r"\1")
    return plain.take(coded.indices)


def missing_names(texts: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Where an arm has no name, null or "", or None if all have one (the usual case, found out quickly)."""
    plain = texts.dictionary if pa.types.is_dictionary(texts.type) else texts
    shortest = pc.min(pc.binary_length(plain)).as_py()
    if not texts.null_count and shortest != 0:
        return None
    absent: npt.NDArray[np.bool_] = pc.or_(pc.is_null(texts), is_empty(texts)).to_numpy(zero_copy_only=False)
    return absent if absent.any() else None


# Numbers -------------------------------------------------------------------------------------------------------------


def refuse_unless_numbers(kind: Any, where: str) -> None:
    """Refuse a column that is not of numbers, or of true and false, by its type."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return
    if pa.types.is_boolean(kind):
        return
    hint = "; make it a number, of seconds for instance" if pa.types.is_duration(kind) else ""
    raise BadInput(f"{where} must be numbers; got the type {kind}{hint}")


def are_truths(kind: Any) -> bool:
    """Whether a type is that of true and false."""
    return bool(pa.types.is_boolean(kind.value_type if pa.types.is_dictionary(kind) else kind))


def as_numbers(column: Any, where: str) -> Floats:
    """A column of numbers, or of true and false, as float64; NaN where it is null, NaN or infinite.

    A copy, so that Arrow can have its memory back for the next batch: what it would have to take from the system
    instead costs more than copying.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    refuse_unless_numbers(column.type, where)
    try:
        column.validate(full=True)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        values = as_numpy(pc.cast(column, pa.float64(), safe=False)).copy()
    except pa.ArrowException as error:
        raise BadInput(f"{where}: numbers cannot be read: {error_line(error)}") from None
    return finite(values)


def number_in(value: Any, where: str) -> float:
    """A single number; NaN if it is missing, or too large."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return math.nan
    if isinstance(value, (int, float, Decimal, Fraction, np.integer, np.floating)) and not isinstance(value, bool):
        try:
            return float(value)
        except (OverflowError, ValueError):  # too large, and a signalling NaN
            return math.nan
    raise BadInput(f"{where}: wanted a number; got {shown(value)}")


def finite(values: Floats) -> Floats:
    """The same with NaN for infinite values; the array itself where there are none."""
    if not len(values) or (values.min() > -np.inf and values.max() < np.inf):  # not so if any is NaN
        return values
    wild = np.isinf(values)
    if wild.any():
        values = np.where(wild, np.nan, values)
    return values
