"""The contract of readers: all tables that a log may come as, and what is asked of them: which columns, which rows.

To add a reader: a module with a subclass of `LogTable`, its format in `log.py`, and a line in the list of
`tests/logs/sources/test_readers.py`. For the results of another tool, which come as one JSON document, a function in
`tools.py` is enough.
"""

from __future__ import annotations

import math
import re
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args

import numpy as np

from frontguard._common.typing import Floats
from frontguard.errors import BadArgument, BadInput, NoColumn, Unnamed
from frontguard.notices import Notice, RowsLeftOut
from frontguard.phrases import did_you_mean, quoted, shown
from frontguard.phrases import joined as listed
from frontguard.results import ArmParts

if TYPE_CHECKING:
    import polars as pl
    from polars.datatypes import DataType

    from frontguard.objectives import Objective

Layout = Literal["wide", "long"]

NO_CLUSTER = "none"
"""The cluster to give where every row counts by itself, whatever a tool's results say of their processes."""

BATCH = 1 << 17
"""Rows of a batch: enough that the loop over batches costs nothing, and few enough for the processor's cache."""

ARM, CLUSTER, METRIC, PULL, VALUE = "\0arm", "\0cluster", "\0metric", "\0pull", "\0value"
"""Names of columns once a log has put its rows in order; no log has columns of these names."""


def is_frame(thing: object) -> bool:
    """True for a frame, False for the place of a file."""
    if isinstance(thing, Mapping):
        return True
    if isinstance(thing, (str, bytes, Sequence)) or hasattr(thing, "__fspath__"):
        return False
    return (
        hasattr(thing, "__arrow_c_stream__")
        or is_of(thing, "pandas", "DataFrame")
        or is_of(thing, "polars", "LazyFrame")
    )


def is_of(thing: object, package: str, *names: str) -> bool:
    """True for a thing of one of these classes of a package, which nobody can have who has not loaded it."""
    module = sys.modules.get(package)
    return module is not None and isinstance(thing, tuple(getattr(module, name) for name in names))


def in_some_clusters(cluster: object) -> bool:
    """True if a column, or several, was given as the cluster.

    >>> in_some_clusters("host"), in_some_clusters(None), in_some_clusters(["none"])
    (True, False, False)
    """
    return cluster is not None and cluster not in (NO_CLUSTER, [NO_CLUSTER])


_MOST_SEEN = 1000  # values of a column that are remembered for the message that none of them is wanted


@dataclass(frozen=True)
class RowFilter:
    """For each of some columns the values, as texts, of which a row must have one; "" is a value that is missing.

    >>> RowFilter.of({"host": "a", "size": [16, 8]}).wanted
    (('host', ('a',)), ('size', ('16', '8')))
    """

    wanted: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> RowFilter:
        """The filter of columns and values as a user gives them: one for a column, or several of which any will do."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise BadArgument("where", must="be columns and the values that are wanted", got=shown(given))
        wanted = []
        for column, values in given.items():
            if not isinstance(column, str):
                raise BadArgument("where", must="name columns", got=shown(column))
            several = values if isinstance(values, (list, tuple, set, frozenset)) else [values]
            if not several:
                raise BadArgument("where", f"{shown(column)} needs a value at least; got none")
            texts = {text_of(value, f"where, column {shown(column)}") or "" for value in several}
            wanted.append((column, tuple(sorted(texts))))
        return cls(tuple(sorted(wanted)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it looks at."""
        return tuple(column for column, _ in self.wanted)

    def to_dict(self) -> dict[str, list[str]]:
        """Plain values, the same for the same filter."""
        return {column: list(values) for column, values in self.wanted}


ALL_ROWS = RowFilter()


class Sieve:
    """A filter at work on the rows of a log, piece by piece."""

    def __init__(self, filter: RowFilter, where: str) -> None:
        import polars as pl

        self._filter, self._where = filter, where
        self._rows = self._kept = 0
        self._seen: dict[str, set[str]] = {column: set() for column in filter.columns}  # while no row is kept
        # As they are compared 8.0 is 8, but 007 is no 7.
        self._alike = {column: whole_numbers(column).fill_null("") for column in filter.columns}
        self._values = {
            column: pl.DataFrame({column: values}).select(self._alike[column]).to_series().to_list()
            for column, values in filter.wanted
        }

    def kept(self, rows: pl.DataFrame) -> pl.Series:
        """A mask (n,) of the rows that fit."""
        import polars as pl

        alike = rows.select(**self._alike)
        fits = alike.select(
            pl.all_horizontal(pl.col(name).is_in(values) for name, values in self._values.items())
        ).to_series()
        self._rows += len(fits)
        self._kept += int(fits.sum())
        if not self._kept:
            for name, seen in self._seen.items():
                if len(seen) < _MOST_SEEN:
                    seen.update(alike[name].unique().head(_MOST_SEEN))
        return fits

    def notice(self) -> RowsLeftOut:
        """The notice of rows left out, after the last row; refused if that was all of them."""
        if self._rows and not self._kept:
            for name, values in self._filter.wanted:
                seen = self._seen[name]
                if len(seen) < _MOST_SEEN and not seen.intersection(self._values[name]):
                    hint = did_you_mean(values[0], seen) if len(values) == 1 else ""
                    raise BadInput(
                        f"{self._where}: no row has {quoted(values)} in the column {shown(name)}{hint}; there "
                        f"{'is' if len(seen) == 1 else 'are'} {quoted(sorted(seen))}"
                    )
            all_of = listed([f"{shown(name)} {quoted(values)}" for name, values in self._filter.wanted])
            raise BadInput(f"{self._where}: none of its {self._rows:,} rows has {all_of} at once")
        return RowsLeftOut(self._filter.wanted, self._rows - self._kept, self._rows)


@dataclass(frozen=True)
class Request:
    """The arguments of `open_log`, checked."""

    arm: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    layout: Layout | None = None
    metric_column: str = "metric"
    value_column: str = "value"
    decimal: str = "."
    missing_arms: Literal["refuse", "drop"] = "refuse"
    filter: RowFilter = ALL_ROWS
    cluster: tuple[str, ...] | None = None  # None: what the table says of itself

    @classmethod
    def of(
        cls,
        arm: str | Sequence[str] | None,
        metrics: Sequence[str],
        cluster: str | Sequence[str] | None = None,
        **how: Any,
    ) -> Request:
        """Take the arguments of `open_log`, and refuse what they cannot be."""
        arms, names, clusters = (
            _names(what, given) for what, given in (("arm", arm), ("metrics", metrics), ("cluster", cluster))
        )
        if NO_CLUSTER in clusters and len(clusters) > 1:
            raise BadArgument(
                "cluster", f"{NO_CLUSTER!r} stands for no clusters, and by itself; got {quoted(clusters)}"
            )
        declared = None if cluster is None else () if clusters == (NO_CLUSTER,) else clusters
        different((*arms, *names), "arm and metrics")
        different((*(arms or ("arm",)), *names, *(declared or ())), "arm, metrics and cluster")
        request = cls(arms, names, cluster=declared, **how)
        if request.layout is not None and request.layout not in get_args(Layout):
            raise BadArgument("layout", must="be 'wide', 'long' or None (guessed)", got=shown(request.layout))
        if request.decimal not in (".", ","):
            raise BadArgument("decimal", must="be '.' or ','", got=shown(request.decimal))
        if request.missing_arms not in ("refuse", "drop"):
            raise BadArgument("missing_arms", must="be 'refuse' or 'drop'", got=shown(request.missing_arms))
        return request


def _names(what: str, given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given or ())
    for name in names:
        if not isinstance(name, str):
            raise BadArgument(what, must="be names of columns", got=shown(name))
    return names


@dataclass(frozen=True)
class Picked:
    """The columns to read of one table: texts (arm, in the long layout the metric's name, the cluster, what rows are
    chosen by), and numbers.
    """

    layout: Layout
    texts: tuple[str, ...]
    numbers: tuple[str, ...]


class LogTable(ABC):
    """A table that was opened: the names of its columns are known, its rows are still to come.

    Every reader promises, and `tests/logs/sources/test_readers.py` asks of all of them:

    - What is wrong with the whole is said when it is opened; what is wrong with a row, when the row comes. Either way
      it is a `BadInput` of one line: what, where (file, line or row, column), what was wanted and what was got. Nothing
      that could change a number is guessed.
    - `rows` gives the picked columns under the picked names, texts before numbers, and all rows in their order, in
      pieces: a file of any size is read in bounded memory, unless it is one document.
    - Names are text, or whole numbers, and null where one is missing. Numbers are Float64, null or NaN where one is
      missing, or Boolean in a column that holds true and false; what is neither is refused.
    - Opened again, a table gives the same rows. `notes` are complete after its last row.
    """

    metrics: tuple[str, ...] = ()
    """Those that are read if none are named; then a row is a pull."""

    objectives: tuple[Objective, ...] | None = None
    """Objectives of a study."""

    cluster: tuple[str, ...] = ()
    """Columns that say in which cluster a row was measured, where that is known."""

    row_size: float | None = None
    """Bytes, about, where it is not known how many rows there are."""

    def __init__(self, shown: str, names: Sequence[str], row_count: int | None = None) -> None:
        self.shown = shown  # how it is called in messages
        self.names = list(names)
        self.row_count = row_count  # None while it is not known
        self.notes: list[Notice] = []

    @abstractmethod
    def rows(self, picked: Picked) -> Iterator[pl.DataFrame]:
        """The rows, in pieces."""


def pick(request: Request, names: Sequence[str], where: str) -> Picked:
    """The columns to read of a table that has columns `names`; a missing one is refused with the nearest match."""
    if not request.arm and "arm" not in names:
        raise Unnamed(f"{where}: say which column is the arm", quoted(names))
    arm = request.arm or ("arm",)
    if not request.metrics:
        raise Unnamed(f"{where}: say which columns are the metrics", quoted(names))
    long = {request.metric_column, request.value_column} <= set(names) and not set(request.metrics) & set(names)
    if (request.layout or ("long" if long else "wide")) == "wide":
        picked = Picked("wide", arm, request.metrics)
    else:
        different((*arm, request.metric_column, request.value_column), "arm, metric and value")
        picked = Picked("long", (*arm, request.metric_column), (request.value_column,))
    clusters = request.cluster or ()
    different((*picked.texts, *clusters, *picked.numbers), "arm, metrics and cluster")
    picked = replace(picked, texts=(*picked.texts, *clusters))
    chosen_by = tuple(name for name in request.filter.columns if name not in picked.texts)
    for name in chosen_by:
        if name in picked.numbers:
            raise BadArgument(
                "where", f"{shown(name)} is a metric; rows must not be chosen by the values that are judged"
            )
    for name in (*picked.texts, *chosen_by, *picked.numbers):
        one_column(name, names, where)
    return replace(picked, texts=(*picked.texts, *chosen_by))


def no_column(name: str, names: Sequence[str], where: str) -> NoReturn:
    """Refuse a column that is not there."""
    there = f"its columns are {quoted(names)}" if names else "it has no columns"
    raise NoColumn(f"{where}: no column is called {shown(name)}{did_you_mean(name, names)}; {there}", name)


def one_column(name: str, names: Sequence[str], where: str) -> int:
    """The position of a column, which must be there once. A name that differs by blanks around it alone is the name."""
    found = [index for index, each in enumerate(names) if each == name]
    if not found:
        found = [index for index, each in enumerate(names) if each.strip() == name.strip()]
    if not found:
        no_column(name, names, where)
    if len(found) > 1:
        raise BadInput(f"{where}: {len(found)} columns are called {shown(name)}; wanted one")
    return found[0]


def different(names: Sequence[str], what: str) -> None:
    """Refuse a list in which a name stands twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BadArgument(what, must="be different columns", got=f"{shown(twice[0])} more than once")


def refuse_mixed(where: str) -> NoReturn:
    """Refuse a column that holds both numbers and truth values."""
    raise BadInput(f"{where}: wanted numbers, or true and false; got both: write true as 1 and false as 0 throughout")


def as_names(column: str, kind: DataType, where: str) -> pl.Expr:
    """A column of names, by the rules of docs/logs-input.md; NaN, as some frames write a missing name, is null."""
    import polars as pl

    names = pl.col(column)
    if kind == pl.String or kind.is_integer():
        return names
    if kind.is_nested() or kind in (pl.Duration, pl.Object):
        raise BadInput(f"{where}: names must be text, whole numbers, dates or the like; got the type {kind}")
    return (names.fill_nan(None) if kind.is_float() else names).cast(pl.String)


def as_numbers(column: str, kind: DataType, where: str) -> pl.Expr:
    """A column of numbers as float64; one of true and false as it is."""
    import polars as pl

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
    """The numbers, or `truths`, as the first is, that texts stand for, null for none; and the first row with neither.

    >>> import polars as pl
    >>> found, wrong = numbers_in(pl.Series([" 1.5", "1e3", "NA", "12ms"]))
    >>> found.to_list(), wrong
    ([1.5, 1000.0, None, None], 3)
    >>> numbers_in(pl.Series(["1,5"]), ",")[0].to_list(), numbers_in(pl.Series(["true", "1"]))[1]
    ([1.5], 1)
    """
    import polars as pl

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
    import polars as pl

    values: Floats = column.cast(pl.Float64).to_numpy()
    if not len(values) or (values.min() > -np.inf and values.max() < np.inf):  # not so if any is NaN
        return values
    return np.where(np.isinf(values), np.nan, values)


def joined(columns: Sequence[str]) -> pl.Expr:
    """One name of several columns, as `phrases.slashed` has it. Null where a part is null, or all are empty.

    >>> import polars as pl
    >>> pl.DataFrame({"a": ["rust", "/bin/cc"], "b": ["128", ""]}).select(joined(["a", "b"])).to_series().to_list()
    ['rust/128', '"/bin/cc"/']
    """
    import polars as pl

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
    """The names with whole numbers written one way: 1.0 as 1.

    >>> import polars as pl
    >>> names = pl.DataFrame({"host": ["1.0", "1", "007.0", "1.5", None]})
    >>> names.select(whole_numbers("host")).to_series().to_list()
    ['1', '1', '007', '1.5', None]
    """
    import polars as pl

    return pl.col(column).cast(pl.String).str.replace(r"^(-?[0-9]+)\.0+$", "${1}")


_PART = re.compile(r'"((?:[^"]|"")*)"(?:/|$)|([^/]*)(?:/|$)', re.DOTALL)


def parts_of(names: Sequence[str], columns: Sequence[str]) -> ArmParts | None:
    """The parts that `joined` made names of, one for each of these columns; None if there is one only.

    >>> parts_of(['"/bin/cc"/', "rust/128"], ["compiler", "size"]).column(0)
    ['/bin/cc', 'rust']
    """
    width = len(columns)
    if width < 2:
        return None
    read = []
    for name in names:
        found = _PART.findall(name)[:width] if '"' in name else [("", part) for part in name.split("/")]
        read.append([plain or quoted.replace('""', '"') for quoted, plain in found])
    different, codes = [], []
    for d in range(width):
        code_of: dict[str, int] = {}
        codes.append([code_of.setdefault(parts[d], len(code_of)) for parts in read])
        different.append(tuple(code_of))
    return ArmParts(tuple(columns), tuple(different), np.array(codes, np.int64))


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
