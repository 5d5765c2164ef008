"""A log is opened: its tables, one after another, become batches of arms and values."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from frontguard.errors import BadArgument, BadInput
from frontguard.logs.sort import Batch
from frontguard.logs.sources.files import LogFile, LogFiles, find, is_address, refuse_unless_file
from frontguard.logs.sources.reader import (
    ARM,
    BATCH,
    CLUSTER,
    METRIC,
    PULL,
    VALUE,
    Layout,
    LogTable,
    Picked,
    Request,
    RowFilter,
    Sieve,
    floats,
    is_frame,
    joined,
    pick,
    refuse_mixed,
    whole_numbers,
)
from frontguard.logs.sources.typed import FrameTable, ParquetFile
from frontguard.notices import ArmsWithoutRows, Notice, RowsWithoutArm
from frontguard.phrases import did_you_mean, error_line, number_of, quoted, shown

if TYPE_CHECKING:
    import polars as pl

    from frontguard.logs.sources.text_tables import TextFile
    from frontguard.studies.study import Study


def open_log(
    where: Any,
    *,
    arm: str | Sequence[str] | None = None,
    metrics: Sequence[str] = (),
    layout: str | None = None,
    format: str | None = None,
    metric_column: str = "metric",
    value_column: str = "value",
    decimal: str = ".",
    missing_arms: str = "refuse",
    study: str | None = None,
    filter: Mapping[str, Any] | None = None,
    cluster: str | Sequence[str] | None = None,
) -> Log:
    r"""Open a log: what is wrong with its place, its format or its columns is said here.

    Parameters
    ----------
    where
        A file, a directory (hive partitions such as `arm=fast/` included), a glob, a list of these, "-" (standard
        input), what `files.find` made of them, the address of a study's storage, or a frame.
    arm
        The column that says which arm a row is of, or several that say it together. "arm" unless given.
    metrics
        The columns to read, or in the long layout the names of the metrics. May be left out for a study and for results
        of other tools, which have their own.
    layout
        "wide": a row a pull, a column a metric. "long": a row a value, with columns for the metric's name and its value
        below. Guessed unless given: wide if any of the metrics is a column.
    metric_column, value_column
        Of the long layout.
    format
        "csv", "parquet", "jsonl", "hyperfine", "pyperf", "pytest-benchmark" or "study"; guessed unless given.
    decimal
        "," for CSV with decimal commas.
    missing_arms
        "refuse" a log with rows whose arm is missing or empty, or "drop" these rows.
    study
        The name of the study, where a storage has several.
    filter
        Columns with the value, or the several values, of which a row must have one to count: {"host": "a"}.
    cluster
        The column that says in which cluster (process, host, day) a row was measured, or several together; "none" where
        every row counts by itself. Unless given, what the results of other tools say of their processes.

    Returns
    -------
    Log
        Its rows come in `batches()`.

    Raises
    ------
    BadInput
        It cannot be read, or has no such column.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("flags;seconds\n-O2;1.5\n007;NA\n")
    >>> log = open_log(path, arm="flags", metrics=["seconds"])
    >>> [(batch.arms.to_list(), batch.values[0].tolist()) for batch in log.batches()]
    [(['-O2', '007'], [1.5, nan])]
    >>> open_log(path, arm="flag", metrics=["seconds"])
    Traceback (most recent call last):
    ...
    frontguard.errors.NoColumn: ...log.csv: no column is called 'flag' (did you mean 'flags'?); its columns are 'flags',
    'seconds'
    >>> log = open_log({"arm": ["a", 7, "a"], "x": [1, None, 2.5]}, metrics=["x"])
    >>> [(batch.arms.to_list(), batch.values[0].tolist()) for batch in log.batches()]
    [(['a', '7', 'a'], [1.0, nan, 2.5])]
    """
    try:
        import polars  # noqa: F401
    except ImportError as error:
        raise BadInput("reading logs needs polars: pip install 'frontguard[logs]'") from error
    request = Request.of(
        arm,
        metrics,
        layout=layout,
        metric_column=metric_column,
        value_column=value_column,
        decimal=decimal,
        missing_arms=missing_arms,
        filter=RowFilter.of(filter),
        cluster=cluster,
    )
    if format is not None and format not in FORMATS:
        raise BadArgument("format", must=f"be one of {', '.join(FORMATS)}, or None (guessed)", got=shown(format))
    if is_frame(where):
        return _table_log("frame", FrameTable(where, request), request)
    if is_address(where) or (format == "study" and isinstance(where, (str, os.PathLike))):
        return _study_log(os.fspath(where), request, study)
    found = find(where)
    if found.files[0].path is None and len(found.files) == 1:
        return _stdin_log(found, request, format)
    kind = format or format_of(found.files)
    if kind == "study":
        if len(found.files) > 1:
            raise BadInput(f"one study is read at a time; got {len(found.files)} files")
        return _study_log(str(found.files[0].path), request, study)
    if kind in TABLES:
        return files_log(kind, found, request)
    from frontguard.logs.sources.tools import ToolTable

    return _table_log(kind, ToolTable(kind, found.files, request), request)


def files_log(kind: str, found: LogFiles, request: Request) -> Log:
    """The log of files that are a table each."""

    def open(file: LogFile) -> LogTable:
        return ParquetFile(file) if kind == "parquet" else _text_table(kind, file, request)

    if kind == "parquet":  # the ends of all files, so that a damaged one is found before hours of reading
        tables = [open(file) for file in found.files]
        return Log(kind, found, request, open, tables[0], rows_hint=sum(table.row_count or 0 for table in tables))
    size = sum(file.path.stat().st_size for file in found.files if file.path is not None)
    first = open(found.files[0])
    rows = round(size / first.row_size) if first.row_size else None
    return Log(kind, found, request, open, first, expected_rows=rows)


def _text_table(kind: str, file: LogFile, request: Request, text: TextFile | None = None) -> LogTable:
    from frontguard.logs.sources.text_tables import CsvFile, JsonFile  # which need Polars

    return CsvFile(file, request, text) if kind == "csv" else JsonFile(file, request, text)


def _table_log(kind: str, table: LogTable, request: Request, again: Callable[[LogFile], LogTable] | None = None) -> Log:
    """The log of a single table, which can be read again."""
    if table.metrics:  # it has its own
        request = replace(request, metrics=request.metrics or table.metrics, layout="wide")
    alone = LogFiles(table.shown, (LogFile(None, table.shown),))
    return Log(kind, alone, request, again or (lambda _: table), table)


def _study_log(where: str, request: Request, study: str | None) -> Log:
    from frontguard.logs.of_study import StudyPulls

    if request.filter.columns:
        raise BadArgument("where", "all pulls of a study count; got a filter of its rows")
    if not is_address(where) and (path := Path(where)).exists():
        refuse_unless_file(path)
    table = StudyPulls(where, study)
    log = _table_log("study", table, request, lambda _: StudyPulls(where, study))
    log.study = table.study
    return log


def _stdin_log(found: LogFiles, request: Request, format: str | None) -> Log:
    from frontguard.logs.sources.text_tables import TextFile

    text = TextFile(found.files[0])
    kind = format or _text_format(text)
    if kind not in ("csv", "jsonl"):
        raise BadInput(f"standard input must be CSV or JSON lines; got {kind}: give the path of a file")
    return Log(kind, found, request, None, _text_table(kind, found.files[0], request, text))


TABLES = ("csv", "parquet", "jsonl")
"""Formats of files that are a table each."""

FORMATS = (*TABLES, "hyperfine", "pyperf", "pytest-benchmark", "study")

_BY_BEGINNING = {b"PAR1": "parquet", b"SQLite format 3\0": "study"}
_BY_ENDING = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), "study"),
}


def format_of(files: Sequence[LogFile]) -> str:
    """The format that all these files have."""
    formats = [_format_of(file) for file in files]
    counts = Counter(formats)
    if len(counts) > 1:
        # The rarest one is most likely the file that does not belong.
        rare = min(counts, key=lambda each: (counts[each], each))
        seen = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        raise BadInput(
            f"all files of a log must have one format; got {seen}, for instance {files[formats.index(rare)].shown} as "
            f"{rare}"
        )
    return formats[0]


def _format_of(file: LogFile) -> str:
    """The format of a file by its first bytes, then its name, then its text."""
    if file.path is None:
        raise BadInput("standard input is a log by itself: it cannot be one of several files")
    try:
        with file.path.open("rb") as opened:
            begin = opened.read(16)
    except OSError as error:
        raise BadInput(f"{file.shown} cannot be read: {error.strerror or error_line(error)}") from None
    for beginning, name in _BY_BEGINNING.items():
        if begin.startswith(beginning):
            return name
    if file.ending in _BY_ENDING:
        return _BY_ENDING[file.ending]
    from frontguard.logs.sources.text_tables import TextFile
    from frontguard.logs.sources.tools import document_of, keys_of, tool_of

    found = _text_format(TextFile(file))
    if found != "document":
        return found
    document = document_of(file)
    if (tool := tool_of(document)) is None:
        raise BadInput(
            f"{file.shown}: wanted JSON lines, a list of objects, or what hyperfine, pyperf or pytest-benchmark write; "
            f"got a document with {keys_of(document)}"
        )
    return tool


def _text_format(text: TextFile) -> str:
    """The format of a text by its beginning: "csv", "jsonl" or, for one JSON object over many lines, "document"."""
    from frontguard.logs.sources.text_tables import NotJson, parsed
    from frontguard.logs.sources.tools import tool_of

    begin = "".join(text.head).lstrip()
    if not begin.startswith("{"):
        return "jsonl" if begin.startswith("[") else "csv"
    first, _, rest = begin.strip().partition("\n")
    try:
        record = parsed(first)
    except NotJson:
        return "document"
    return "jsonl" if rest.strip() or tool_of(record) is None else "document"


class ColumnKinds:
    """Metrics that were found to hold numbers, and those with true and false: a column holds either."""

    def __init__(self) -> None:
        self.numbers: set[str] = set()
        self.truths: set[str] = set()

    def add(self, names: Sequence[str], rows: pl.DataFrame, where: str) -> None:
        """Take note of some rows, whose numbers have these names."""
        self.truths |= {names[index] for index in truths_in(rows, names)}
        for name in names:
            if name not in self.numbers and rows[name].dtype.is_float() and rows[name].is_finite().any():
                self.numbers.add(name)
        self._refuse_both(where)

    def merge(self, other: ColumnKinds, where: str) -> None:
        """Take note of what another one has seen."""
        self.numbers |= other.numbers
        self.truths |= other.truths
        self._refuse_both(where)

    def _refuse_both(self, where: str) -> None:
        for name in sorted(self.numbers & self.truths):
            refuse_mixed(f"{where}, column {shown(name)}")


def truths_in(rows: pl.DataFrame, names: Sequence[str]) -> frozenset[int]:
    """Indices of the columns that hold true and false, and any of these here."""
    import polars as pl

    return frozenset(
        d for d, name in enumerate(names) if rows[name].dtype == pl.Boolean and rows[name].null_count() < len(rows)
    )


def is_absent(names: pl.Series, kept: pl.Series | None) -> pl.Series | None:
    """A mask of kept rows without a name, null or ""; None if all have one."""
    absent = names.is_null() if names.dtype.is_integer() else names.fill_null("") == ""
    if kept is not None:
        absent &= kept
    return absent if absent.any() else None


class Log:
    """Measurements, ready to be read."""

    def __init__(
        self,
        format: str,
        files: LogFiles,
        request: Request,
        open: Callable[[LogFile], LogTable] | None,  # None for what can be read once only
        first: LogTable,  # that of the first file, opened
        *,
        rows_hint: int | None = None,
        expected_rows: int | None = None,
    ) -> None:
        self.format = format
        self.where = files.shown
        self.columns = _all_names(first, files.files[0])  # of the first table; those that are read:
        self.arm: tuple[str, ...] = request.arm or ("arm",)
        self.metrics = request.metrics
        self.cluster: tuple[str, ...] = first.cluster if request.cluster is None else request.cluster
        self.in_processes = bool(first.cluster)  # whether a tool said which process made which rows
        request = replace(request, cluster=self.cluster)
        self.layout: Layout = pick(request, self.columns, files.files[0].shown).layout
        self.rows_hint = first.row_count if rows_hint is None else rows_hint  # None where it is not known
        self.expected_rows = expected_rows if self.rows_hint is None else self.rows_hint  # about
        self.rows_read = 0
        self.on_rows: Callable[[int], None] | None = None  # told `rows_read` as it grows
        self.objectives = first.objectives and tuple(
            objective for name in self.metrics for objective in first.objectives if objective.name == name
        )
        self.study: Study | None = None  # that it is the log of
        self.notes: list[Notice] = []  # of what came up while it was read
        self.kinds = ColumnKinds()
        self._request = replace(request, arm=self.arm, layout=self.layout)
        self._files, self._open = files.files, open
        self._first: LogTable | None = first
        self._file = 0  # that is read

    @property
    def file_names(self) -> list[str]:
        """Names of its files."""
        return [file.shown for file in self._files]

    def __repr__(self) -> str:
        source = f"{self.format}, {number_of(len(self._files), 'file')}" if self._files[0].path else self.format
        size = f", {self.rows_hint:,} rows" if self.rows_hint is not None else ""
        arm, metrics = " and ".join(map(repr, self.arm)), ", ".join(map(repr, self.metrics))
        return f"<log {self.where} ({source}{size}): {self.layout}, arm {arm}, metrics {metrics}>"

    def first_rows(self, cluster: Sequence[str], most: int, files: int = 8) -> Iterator[Batch]:
        """Batches of about the first `most` rows of some files, by clusters; nothing of a log read once only."""
        if self._open is None or self.layout == "long":
            return
        step = -(-len(self._files) // files)
        some = self._files[::step]
        for file in some:
            request = replace(self._request, cluster=tuple(cluster))
            log = Log(self.format, LogFiles(file.shown, (file,)), request, self._open, self._open(file))
            with closing(log.batches(may_be_empty=True)) as batches:
                left = most // len(some)
                for batch in batches:
                    yield batch
                    left -= len(batch)
                    if left <= 0:
                        break

    def batches(self, *, may_be_empty: bool = False) -> Generator[Batch, None, None]:
        """The pulls in order, on every call but on standard input; refused if none, unless `may_be_empty`."""
        if self._open is None and self._first is None:
            raise BadInput(f"{self.where} can be read once only")
        self.rows_read = 0
        self.notes.clear()
        self.kinds = ColumnKinds()
        named = self._named()
        if self.layout == "long":
            whole = Gathered(self.metrics, self.where)
            for rows in named:
                whole.take(rows)
            self._refuse_no_rows(whole.rows)
            named = whole.pulls(self.notes, truths=bool(self.kinds.truths))
        pulls = 0
        for rows in named:
            pulls += len(rows)
            values = [floats(rows[name]) for name in self.metrics]
            clusters = rows[CLUSTER] if self.cluster else None
            yield Batch(rows[ARM], values, self._file, clusters, truths_in(rows, self.metrics))
        if not may_be_empty:
            self._refuse_no_rows(pulls)

    def _refuse_no_rows(self, rows: int) -> None:
        if not rows:
            raise BadInput(f"{self.where} has no rows; its columns are {quoted(self.columns)}")

    def _named(self) -> Iterator[pl.DataFrame]:
        """Rows with one column for the arm and one for the cluster; refused if any is missing, or has no arm."""
        import polars as pl

        drop, filter = self._request.missing_arms == "drop", self._request.filter
        sieve = Sieve(filter, self.where) if filter.columns else None
        nameless, first = 0, ""
        if self.layout == "wide":
            values = [pl.col(name) for name in self.metrics]
        else:
            metric, value = pl.col(self._request.metric_column), pl.col(self._request.value_column)
            values = [metric.cast(pl.String).alias(METRIC), value.alias(VALUE)]
        for number, file in enumerate(self._files):
            before_file = self.rows_read
            self._file = 0 if self.layout == "long" else number  # where a pull may be of several files
            for rows in self._rows(file):
                row = self.rows_read - before_file + 1  # the first of these
                self.rows_read += len(rows)
                if self.on_rows is not None:
                    self.on_rows(self.rows_read)
                kept = None if sieve is None else sieve.kept(rows)
                named = rows.select(joined(self.arm).alias(ARM), *values)
                if self.cluster:
                    written = rows.select(whole_numbers(name) for name in self.cluster)
                    named = named.with_columns(written.select(joined(self.cluster)).to_series().alias(CLUSTER))
                absent = is_absent(named[ARM], kept)
                if absent is not None:
                    first = first or f"row {row + int(absent.arg_max() or 0)} of {file.shown}"
                    nameless += int(absent.sum())
                    kept = ~absent if kept is None else kept & ~absent
                if self.cluster:
                    outside = is_absent(named[CLUSTER], kept)
                    if outside is not None:
                        raise BadInput(
                            f"{file.shown}, row {row + int(outside.arg_max() or 0)}: no cluster (column "
                            f"{quoted(self.cluster)} is missing or empty); wanted one in every row"
                        )
                if kept is not None:
                    named = named.filter(kept)
                if len(named) and (drop or not nameless):
                    yield named
        if nameless:
            found = RowsWithoutArm(nameless, self.arm, first, dropped=drop)
            if not drop:
                refuse_nameless(found)
            self.notes.append(found)
        if sieve is not None:
            self.notes.append(sieve.notice())

    def _rows(self, file: LogFile) -> Iterator[pl.DataFrame]:
        import polars as pl

        table, self._first = self._first if file is self._files[0] else None, None
        if table is None:
            assert self._open is not None
            table = self._open(file)
        picked = pick(self._request, _all_names(table, file), file.shown)
        given = {name: value for name, value in file.partition.items() if name not in table.names}
        for name in picked.numbers:
            if name in given:
                raise BadInput(f"{file.shown}: {shown(name)} is the name of a folder; a metric must be a column")
        within = Picked(picked.layout, tuple(name for name in picked.texts if name not in given), picked.numbers)
        folders = [pl.lit(given[name], pl.String).alias(name) for name in picked.texts if name in given]
        for rows in table.rows(within):
            self.kinds.add(picked.numbers, rows, file.shown)
            yield rows.with_columns(folders) if folders else rows
        self.notes += table.notes


def refuse_nameless(found: RowsWithoutArm) -> NoReturn:
    """Refuse a log for its rows without an arm."""
    raise BadInput(
        f"{replace(found, dropped=False)}; wanted a name in every row, or missing_arms='drop' (--missing-arms drop)"
    )


def _all_names(table: LogTable, file: LogFile) -> list[str]:
    return [*table.names, *(name for name in file.partition if name not in table.names)]


class Gathered:
    """Rows of the long layout (a row a value): the k-th value of each metric of an arm makes its k-th pull."""

    def __init__(self, metrics: Sequence[str], where: str) -> None:
        self.metrics = list(metrics)
        self.where = where
        self.rows = 0
        self._parts: list[pl.DataFrame] = []
        self._others: set[str] = set()  # metrics that nobody asked for
        self._arms: set[str] = set()  # of rows of these

    def take(self, rows: pl.DataFrame) -> None:
        """Add rows; the name of the metric must not be missing."""
        import polars as pl

        absent = is_absent(rows[METRIC], None)
        if absent is not None:
            first = self.rows + int(absent.arg_max() or 0) + 1
            raise BadInput(f"{self.where}: row {first} has no name of a metric; wanted one in every row")
        self.rows += len(rows)
        rows = rows.with_columns(pl.col(ARM).cast(pl.String))
        wanted = pl.col(METRIC).is_in(self.metrics)
        others = rows.filter(~wanted)
        self._others.update(others[METRIC].unique())
        self._arms.update(others[ARM].unique())
        self._parts.append(rows.filter(wanted).with_columns(pl.col(VALUE).cast(pl.Float64)))

    def pulls(self, notes: list[Notice], *, truths: bool) -> Iterator[pl.DataFrame]:
        """The pulls, with a column for each metric; `truths` says that values are true and false."""
        import polars as pl

        whole = pl.concat(self._parts)
        there = set(whole[METRIC].unique())
        for name in self.metrics:
            if name not in there:
                others = sorted(self._others)
                raise BadInput(
                    f"{self.where}: no row is of the metric {shown(name)}{did_you_mean(name, others)}; "
                    f"others there are {quoted(others) if others else 'none'}"
                )
        without = len(self._arms.difference(whole[ARM].unique()))
        if without:
            notes.append(ArmsWithoutRows(self.where, without))
        kind = pl.Boolean if truths else pl.Float64
        of_pull = [name for name in (ARM, CLUSTER) if name in whole.columns]
        numbered = whole.with_columns(pl.int_range(pl.len()).over([*of_pull, METRIC]).alias(PULL))
        together = numbered.pivot(METRIC, index=[*of_pull, PULL], values=VALUE)
        yield from together.select(*of_pull, pl.col(self.metrics).cast(kind)).iter_slices(BATCH)
