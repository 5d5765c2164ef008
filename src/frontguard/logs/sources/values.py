"""Columns become names (text, or whole numbers) and numbers (float64, or true and false), null where one is missing."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from polars.datatypes import DataType

from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.phrases import shown
from frontguard.results import ArmParts

# Columns of a type ---------------------------------------------------------------------------------------------------


def as_names(column: str, kind: DataType, where: str) -> pl.Expr:
    """A column of names: text stays what it is, and so do whole numbers, whose digits are their names.

    Truth values become "true" and "false", dates and times ISO 8601, fractions the shortest text that gives them back
    ("1.0", not "1"); NaN, which is how some frames write a missing name, is missing.
    """
    names = pl.col(column)
    if kind == pl.String or kind.is_integer():
        return names
    if kind.is_nested() or kind in (pl.Duration, pl.Object):
        raise BadInput(f"{where}: names must be text, whole numbers, dates or the like; got the type {kind}")
    return (names.fill_nan(None) if kind.is_float() else names).cast(pl.String)


def as_numbers(column: str, kind: DataType, where: str) -> pl.Expr:
    """A column of numbers as float64; one of true and false as it is."""
    if kind == pl.Boolean:
        return pl.col(column)
    if kind.is_numeric() or kind == pl.Null:
        return pl.col(column).cast(pl.Float64)
    hint = "; make it a number, of seconds for instance" if kind == pl.Duration else ""
    raise BadInput(f"{where} must be numbers; got the type {kind}{hint}")


_WORDS = ("", "NA", "N/A", "#N/A", "NaN", "null", "none")
_WILD = ("NaN", "inf", "infinity")
MISSING = [
    sign + cased
    for words, signs in ((_WORDS, ("",)), (_WILD, ("", "+", "-")))
    for sign in signs
    for word in words
    for cased in (word, word.lower(), word.upper(), word.capitalize())
]
"""Texts that stand in a metric for no value, also with blanks around them. Infinite values are not known either."""

TRUTHS = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
"""Texts that stand in a metric for true and false, where nothing else does."""


def numbers_in(texts: pl.Series, decimal: str = ".", truths: bool | None = None) -> tuple[pl.Series, int | None]:
    """The numbers that texts stand for, or true and false, null where one is missing; and the first row with neither.

    A column holds numbers or truths (`truths`): of which kind its first known value is, unless that was said.

    >>> found, wrong = numbers_in(pl.Series([" 1.5", "1e3", "NA", "12ms"]))
    >>> found.to_list(), wrong
    ([1.5, 1000.0, None, None], 3)
    >>> numbers_in(pl.Series(["1,5"]), ",")[0].to_list(), numbers_in(pl.Series(["true", "1"]))[1]
    ([1.5], 1)
    """
    plain = texts.str.strip_chars(" \t")
    plain = plain.set(plain.is_in(MISSING), None)
    if truths is None:
        truths = any(word in TRUTHS for word in plain.drop_nulls().head(1))
    if truths:
        found = plain.replace_strict(list(TRUTHS), list(TRUTHS.values()), default=None, return_dtype=pl.Boolean)
    elif decimal == ",":
        found = (
            plain.str.replace(".", "?", literal=True).str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
        )
    else:
        found = plain.cast(pl.Float64, strict=False)
    wrong = found.is_null() & plain.is_not_null()
    return found, wrong.arg_max() if wrong.any() else None


def floats(column: pl.Series) -> Floats:
    """The values of a column as NumPy has them; NaN where they are null or infinite."""
    values: Floats = column.cast(pl.Float64).to_numpy()
    if not len(values) or (values.min() > -np.inf and values.max() < np.inf):  # not so if any is NaN
        return values
    return np.where(np.isinf(values), np.nan, values)


# Names ---------------------------------------------------------------------------------------------------------------


def joined(columns: Sequence[str]) -> pl.Expr:
    """One name out of several columns, as `phrases.slashed` has it. Null where a part is null, or all are empty.

    >>> pl.DataFrame({"a": ["rust", "/bin/cc"], "b": ["128", ""]}).select(joined(["a", "b"])).to_series().to_list()
    ['rust/128', '"/bin/cc"/']
    """
    if len(columns) == 1:
        return pl.col(columns[0])
    parts = [pl.col(column).cast(pl.String) for column in columns]
    quote = pl.lit('"')
    written = [
        pl.when(part.str.contains("/", literal=True) | part.str.starts_with('"'))
        .then(quote + part.str.replace_all('"', '""', literal=True) + quote)
        .otherwise(part)
        for part in parts
    ]
    empty = pl.all_horizontal([part == "" for part in parts])
    return pl.when(~empty).then(pl.concat_str(written, separator="/")).alias(columns[0])


def whole_numbers(column: str) -> pl.Expr:
    """The same names with whole numbers written one way: of one file 1, of another 1.0, and both are meant to be one.

    >>> names = pl.DataFrame({"host": ["1.0", "1", "007.0", "1.5", None]})
    >>> names.select(whole_numbers("host")).to_series().to_list()
    ['1', '1', '007', '1.5', None]
    """
    return pl.col(column).cast(pl.String).str.replace(r"^(-?[0-9]+)\.0+$", "${1}")


_PART = re.compile(r'"((?:[^"]|"")*)"(?:/|$)|([^/]*)(?:/|$)', re.DOTALL)


def parts_of(names: Sequence[str], columns: Sequence[str]) -> ArmParts | None:
    """The parts that `joined` made names of, one for each of these columns; None if there is one only.

    A name is a code for its parts, which sorting, states and clusters carry as one text; here it is read back, exactly.

    >>> parts_of(['"/bin/cc"/', "rust/128"], ["compiler", "size"]).column(0)
    ['/bin/cc', 'rust']
    """
    width = len(columns)
    if width < 2:
        return None
    read = [_read_back(name, width) if '"' in name else name.split("/") for name in names]
    different, codes = [], []
    for d in range(width):
        code_of: dict[str, int] = {}
        codes.append([code_of.setdefault(parts[d], len(code_of)) for parts in read])
        different.append(tuple(code_of))
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


# Single values -------------------------------------------------------------------------------------------------------


def is_missing(value: Any) -> bool:
    """True for None, and for what pandas has for it."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def text_of(value: Any, where: str) -> str | None:
    """A single name as text, by the same rules; None if it is missing."""
    if is_missing(value):
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


def number_in(value: Any, where: str) -> float:
    """A single number; NaN if it is missing, or too large."""
    if is_missing(value):
        return math.nan
    if isinstance(value, (int, float, Decimal, Fraction, np.integer, np.floating)) and not isinstance(value, bool):
        try:
            return float(value)
        except (OverflowError, ValueError):  # too large, and a signalling NaN
            return math.nan
    raise BadInput(f"{where}: wanted a number; got {shown(value)}")
