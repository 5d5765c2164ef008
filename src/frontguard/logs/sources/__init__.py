"""Logs of every kind as one: arms, and the values of each metric, in batches that fit in memory.

`open_log` takes a file, a directory, a glob or a list of these (CSV, Parquet, JSON lines, results of other tools, a
study), or a frame. What is wrong with the names of columns is said when it is opened; what is wrong with a row, when
its batch comes. It knows errors, notices, objectives and, for a study as a log, studies. To read on:

- `reader`: what a reader is (`LogTable`), and what is asked of it
- `formats`: the list of all formats with their readers, and which of them a file has
- `text_tables` (CSV and JSON lines), `typed` (Parquet and frames) and `tools`
  (hyperfine, pyperf and pytest-benchmark): the readers
- `files`: the files that a path, a directory, a glob or a list stands for
- `log`: tables one after another become batches of pulls; `values` makes names and numbers of what is in a column
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from frontguard.errors import BadArgument, BadInput
from frontguard.logs.sort.rows import Batch
from frontguard.logs.sources.files import LogFile, LogFiles, find, is_address, refuse_unless_file
from frontguard.logs.sources.log import Log
from frontguard.logs.sources.reader import LogTable, Request, RowFilter
from frontguard.logs.sources.typed import FrameTable, is_frame
from frontguard.phrases import shown

__all__ = ["Batch", "Log", "open_log"]


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
        A file, a directory (all files in it, hive partitions such as `arm=fast/` included), a glob, a list of these,
        "-" (standard input), what `files.find` made of them, the address of a study's storage, or a frame.
    arm
        The column that says which arm a row is of, or several that say it together. "arm" unless given.
    metrics
        The columns to read, or in the long layout the names of the metrics. May be left out for a study (its
        objectives) and for results of other tools (their usual metric).
    layout
        "wide": a row a pull, a column a metric. "long": a row a value, with columns for the metric's name and its value
        (`metric_column`, `value_column`). Guessed unless given: wide if any of the metrics is a column.
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
        The column that says in which cluster (process, host, day) a row was measured, or several that say it together;
        "none" where every row counts by itself. Unless given, what the results of other tools say of their processes.

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
    _refuse_without_polars()
    from frontguard.logs.sources.formats import FORMATS, format_of
    from frontguard.logs.sources.tools import TOOLS, ToolTable

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
    if isinstance(where, Log):
        return where
    if not isinstance(where, LogFiles) and is_frame(where):
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
    if kind in TOOLS:
        table = ToolTable(kind, found.files)
        table.refuse_absent(request.metrics)
        return _table_log(kind, table, request)
    return files_log(kind, found, request)


def _refuse_without_polars() -> None:
    try:
        import polars  # noqa: F401
    except ImportError as error:
        raise BadInput("reading logs needs polars: pip install 'frontguard[logs]'") from error


def files_log(kind: str, found: LogFiles, request: Request) -> Log:
    """The log of files that are a table each."""
    from frontguard.logs.sources.formats import FILES

    def open(file: LogFile) -> LogTable:
        return FILES[kind](file, request)

    if kind == "parquet":  # the ends of all files, so that a damaged one is found before hours of reading
        tables = [open(file) for file in found.files]
        return Log(kind, found, request, open, tables[0], rows_hint=sum(table.row_count or 0 for table in tables))
    size = sum(file.path.stat().st_size for file in found.files if file.path is not None)
    first = open(found.files[0])
    return Log(
        kind, found, request, open, first, expected_rows=round(size / first.row_size) if first.row_size else None
    )


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
    from frontguard.logs.sources.formats import FILES, text_format
    from frontguard.logs.sources.text_tables import TextFile

    text = TextFile(found.files[0])
    kind = format or text_format(text)
    if kind not in ("csv", "jsonl"):
        raise BadInput(f"standard input must be CSV or JSON lines; got {kind}: give the path of a file")
    return Log(kind, found, request, None, FILES[kind](found.files[0], request, text))
