"""The contract of readers: all tables that a log may come as, and what is asked of them: which columns, which rows.

To add a reader: a module with a subclass of `LogTable`, one line in `formats.py`, and one in the list of
`tests/logs/sources/test_readers.py`. For the results of another tool, which come as one JSON document, a line in the
`TOOLS` of `tools.py` is enough.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args

from frontguard.errors import BadArgument, BadInput, NoColumn
from frontguard.notices import Notice, RowsLeftOut
from frontguard.phrases import did_you_mean, joined, quoted, shown

if TYPE_CHECKING:
    import polars as pl

    from frontguard.objectives import Objective

Layout = Literal["wide", "long"]

NO_CLUSTER = "none"
"""The cluster to give where every row counts by itself, whatever a tool's results say of their processes."""

BATCH = 1 << 17
"""Rows of a batch: large enough that the loop over batches costs nothing, small enough for the processor's cache."""


ARM, CLUSTER, METRIC, PULL, VALUE = "\0arm", "\0cluster", "\0metric", "\0pull", "\0value"
"""Names of columns once a log has put its rows in order; no log has columns of these names."""


def in_some_clusters(cluster: object) -> bool:
    """True if a column, or several, was given as the cluster.

    >>> in_some_clusters("host"), in_some_clusters(None), in_some_clusters(["none"])
    (True, False, False)
    """
    return cluster is not None and cluster not in (NO_CLUSTER, [NO_CLUSTER])


# Which rows count -----------------------------------------------------------------------------------------------------

MOST_SEEN = 1000
"""Values of a column that are remembered for the message that none of them is wanted."""


@dataclass(frozen=True)
class RowFilter:
    """For each of some columns the values, as texts, of which a row must have one; "" is a value that is missing.

    >>> RowFilter.of({"host": "a", "size": [16, 8]}).wanted
    (('host', ('a',)), ('size', ('16', '8')))
    """

    wanted: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> RowFilter:
        """Of columns and values as a user gives them: one for a column, or several of which any will do."""
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
            wanted.append((column, tuple(sorted({_text(value, column) for value in several}))))
        return cls(tuple(sorted(wanted)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it looks at."""
        return tuple(column for column, _ in self.wanted)

    def to_dict(self) -> dict[str, list[str]]:
        """Plain values, the same for the same filter."""
        return {column: list(values) for column, values in self.wanted}


ALL_ROWS = RowFilter()


def _alike(values: Iterable[str]) -> list[str]:
    """Values as they are compared: 8.0 is 8, as where the column has fractions, but 007 is no 7.

    >>> _alike(["8", "8.0", "0.5", "007", "1e3"])
    ['8', '8', '0.5', '007', '1e3']
    """
    import polars as pl

    from frontguard.logs.sources.values import whole_numbers

    return pl.DataFrame({"value": list(values)}).select(whole_numbers("value")).to_series().to_list()


def _text(value: Any, column: str) -> str:
    from frontguard.logs.sources.values import text_of

    return text_of(value, f"where, column {shown(column)}") or ""


class Sieve:
    """A filter at work on the rows of a log, piece by piece."""

    def __init__(self, filter: RowFilter, where: str) -> None:
        from frontguard.logs.sources.values import whole_numbers

        self._filter, self._where = filter, where
        self._rows = self._kept = 0
        self._seen: dict[str, set[str]] = {column: set() for column in filter.columns}  # while no row is kept
        # As they are compared 8.0 is 8, but 007 is no 7.
        self._alike = {column: whole_numbers(column).fill_null("") for column in filter.columns}

    def kept(self, rows: pl.DataFrame) -> pl.Series:
        """A mask (n,) of the rows that fit."""
        import polars as pl

        alike = rows.select(**self._alike)
        fits = alike.select(
            pl.all_horizontal(pl.col(name).is_in(_alike(values)) for name, values in self._filter.wanted)
        ).to_series()
        self._rows += len(fits)
        self._kept += int(fits.sum())
        if not self._kept:
            for name, seen in self._seen.items():
                if len(seen) < MOST_SEEN:
                    seen.update(alike[name].unique().head(MOST_SEEN))
        return fits

    def notice(self) -> RowsLeftOut:
        """The notice of rows left out, after the last row; refused if that was all of them."""
        if self._rows and not self._kept:
            for name, values in self._filter.wanted:
                seen = self._seen[name]
                if len(seen) < MOST_SEEN and not seen.intersection(_alike(values)):
                    hint = did_you_mean(values[0], seen) if len(values) == 1 else ""
                    raise BadInput(
                        f"{self._where}: no row has {quoted(values)} in the column {shown(name)}{hint}; there "
                        f"{'is' if len(seen) == 1 else 'are'} {quoted(sorted(seen))}"
                    )
            all_of = joined([f"{shown(name)} {quoted(values)}" for name, values in self._filter.wanted])
            raise BadInput(f"{self._where}: none of its {self._rows:,} rows has {all_of} at once")
        return RowsLeftOut(self._filter.wanted, self._rows - self._kept, self._rows)


# Which columns are read -----------------------------------------------------------------------------------------------


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
        arms = (arm,) if isinstance(arm, str) else tuple(arm or ())
        if isinstance(metrics, str):
            metrics = (metrics,)
        clusters = tuple(cluster or ()) if isinstance(cluster, (list, tuple)) else () if cluster is None else (cluster,)
        for what, names in (("arm", arms), ("metrics", metrics), ("cluster", clusters)):
            wrong = [name for name in names if not isinstance(name, str)]
            if wrong:
                raise BadArgument(what, must="be names of columns", got=shown(wrong[0]))
        if NO_CLUSTER in clusters and len(clusters) > 1:
            raise BadArgument(
                "cluster", f"{NO_CLUSTER!r} stands for no clusters, and by itself; got {quoted(clusters)}"
            )
        different((*arms, *metrics), "arm and metrics")
        declared = None if cluster is None else () if clusters == (NO_CLUSTER,) else clusters
        different((*(arms or ("arm",)), *metrics, *(declared or ())), "arm, metrics and cluster")
        request = cls(arms, tuple(metrics), cluster=declared, **how)
        if request.layout is not None and request.layout not in get_args(Layout):
            raise BadArgument("layout", must="be 'wide', 'long' or None (guessed)", got=shown(request.layout))
        if request.decimal not in (".", ","):
            raise BadArgument("decimal", must="be '.' or ','", got=shown(request.decimal))
        if request.missing_arms not in ("refuse", "drop"):
            raise BadArgument("missing_arms", must="be 'refuse' or 'drop'", got=shown(request.missing_arms))
        return request


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

    - What is wrong with the whole (not there, damaged, of another format) is said when it is opened; what is wrong with
      a row, when the row comes. Either way it is a `BadInput` of one line: what is wrong, where (file, line or row,
      column), what was wanted and what was got. Nothing that could change a number is guessed.
    - `rows` gives the picked columns under the picked names and no others, texts before numbers, and all rows in the
      order of the table, in pieces: a file of any size is read in bounded memory, unless it is one document.
    - Names are text, or whole numbers, and null where one is missing. Numbers are Float64, null or NaN where one is
      missing, or Boolean in a column that holds true and false; what is neither is refused.
    - Opened again, a table gives the same rows. What is worth telling of it (`notes`) is complete after its last row.
    """

    metrics: tuple[str, ...] = ()
    """The metrics that are read if none are named; then a row is a pull, and a column a metric."""

    objectives: tuple[Objective, ...] | None = None
    """Objectives of a study."""

    cluster: tuple[str, ...] = ()
    """Columns that say together in which cluster a row was measured, where that is known of the table."""

    row_size: float | None = None
    """Bytes of a row, about, where it is not known how many there are."""

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
        raise BadInput(f"{where}: say which column is the arm; its columns are {quoted(names)}")
    arm = request.arm or ("arm",)
    if not request.metrics:
        raise BadInput(f"{where}: say which columns are the metrics; its columns are {quoted(names)}")
    layout = request.layout or _guessed(request, names)
    if layout == "wide":
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


def _guessed(request: Request, names: Sequence[str]) -> Layout:
    """Wide if the metrics are columns; long if none of them is, and there are columns for their names and values."""
    long = request.metric_column in names and request.value_column in names
    return "long" if long and not any(name in names for name in request.metrics) else "wide"


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
