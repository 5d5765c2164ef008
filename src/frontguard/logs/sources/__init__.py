"""Logs of every kind as one: arms, and the values of each metric, in batches that fit in memory.

`open_log` takes a file, a directory, a glob or a list of these (CSV, Parquet, JSON lines, results of other tools, a
study), or a frame. What is wrong with the names of columns is said when it is opened; what is wrong with a row, when
its batch comes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from frontguard.errors import BadInput
from frontguard.logs.sources.columns import Request
from frontguard.logs.sources.errors import needs
from frontguard.logs.sources.files import STDIN, Place, find, is_address, one_format
from frontguard.logs.sources.log import FOREIGN, Batch, Log, Part, Table
from frontguard.phrases import shown

__all__ = ["Batch", "Log", "frame_columns", "open_log"]


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
) -> Log:
    r"""Open a log: what is wrong with its place, its format or its columns is said here.

    Parameters
    ----------
    where
        A file, a directory (all files in it, hive partitions such as `arm=fast/` included), a glob, a list of these,
        "-" (standard input), the address of a study's storage, or a frame.
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

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("flags;seconds\n-O2;1.5\n007;NA\n")
    >>> log = open_log(path, arm="flags", metrics=["seconds"])
    >>> [(batch.arms.to_pylist(), batch.values[0].tolist()) for batch in log.batches()]
    [(['-O2', '007'], [1.5, nan])]
    >>> open_log(path, arm="flag", metrics=["seconds"])
    Traceback (most recent call last):
    ...
    frontguard.errors.BadInput: ...log.csv: no column is called 'flag' (did you mean 'flags'?); its columns are 'flags',
    'seconds'
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        needs("pyarrow", error)
    from frontguard.logs.sources.formats import checked_format, format_of
    from frontguard.logs.sources.frames import is_frame

    request = Request.of(
        arm,
        metrics,
        layout,
        metric_column=metric_column,
        value_column=value_column,
        decimal=decimal,
        missing_arms=missing_arms,
    )
    wanted = checked_format(format)
    if isinstance(where, Log):
        return where
    if is_frame(where):
        return _frame_log(where, request)
    if isinstance(where, bytes) or not isinstance(where, (str, os.PathLike, Sequence)):
        raise BadInput(f"a log must be a path, a glob, a list of these, or a frame; got {shown(where)}")
    if is_address(where) or wanted == "study":
        return _study_log(os.fspath(where), request, study)  # type: ignore[arg-type]
    if isinstance(where, str) and where == STDIN:
        return _stdin_log(request, wanted)
    places = find(where)
    kind = wanted or one_format(places, [format_of(place) for place in places])
    if kind == "study":
        if len(places) > 1:
            raise BadInput(f"one study is read at a time; got {len(places)} files")
        return _study_log(str(places[0].path), request, study)
    if kind in FOREIGN:
        return _foreign_log(kind, places, request)
    return _files_log(kind, places, request, _name(where, places))


def frame_columns(
    frame: Any,
    arm: str | Sequence[str] | None = None,
    metrics: Sequence[str] = (),
    *,
    layout: str | None = None,
    metric_column: str = "metric",
    value_column: str = "value",
    missing_arms: str = "refuse",
) -> Log:
    """A frame as a log: pandas, Polars (eager or lazy), Arrow, others that narwhals knows, or a dict of columns.

    >>> log = frame_columns({"arm": ["a", 7, "a"], "x": [1, None, 2.5]}, metrics=["x"])
    >>> [(batch.arms.to_pylist(), batch.values[0].tolist()) for batch in log.batches()]
    [(['a', '7', 'a'], [1.0, nan, 2.5])]
    """
    return _frame_log(
        frame,
        Request.of(
            arm,
            metrics,
            layout,
            metric_column=metric_column,
            value_column=value_column,
            decimal=".",
            missing_arms=missing_arms,
        ),
    )


def _name(where: Any, places: Sequence[Place]) -> str:
    return (
        os.fspath(where) if isinstance(where, (str, os.PathLike)) else f"{places[0].shown} and {len(places) - 1} more"
    )


def _frame_log(frame: Any, request: Request) -> Log:
    from frontguard.logs.sources.frames import FrameTable

    table = FrameTable.of(frame, request)
    part = Part(lambda: table, table.shown, {})
    return Log("frame", table.shown, request, [part], table, rows_hint=table.row_count)


def _study_log(where: str, request: Request, study: str | None) -> Log:
    from frontguard.logs.sources.study import StudyTable

    table = StudyTable.open(where, study)
    asked = replace(request, metrics=request.metrics or tuple(table.names[1:]), layout="wide")
    part = Part(lambda: StudyTable.open(where, study), table.shown, {})
    objectives = tuple(each for name in asked.metrics for each in table.objectives if each.name == name)
    return Log("study", table.shown, asked, [part], table, rows_hint=table.row_count, objectives=objectives)


def _foreign_log(kind: str, places: Sequence[Place], request: Request) -> Log:
    from frontguard.logs.sources.foreign import foreign_table

    table = foreign_table(kind, places)
    asked = replace(request, metrics=request.metrics or tuple(table.metrics[:1]), layout="wide")
    table.refuse_absent(asked.metrics)
    part = Part(lambda: table, table.shown, {})
    return Log(kind, table.shown, asked, [part], table)


def _stdin_log(request: Request, format: str | None) -> Log:
    from frontguard.logs.sources.blocks import ByteFile
    from frontguard.logs.sources.csv import CsvFile
    from frontguard.logs.sources.formats import text_format
    from frontguard.logs.sources.json import JsonFile

    place = find(STDIN)[0]
    file = ByteFile(place)
    kind = format or text_format(file)
    if kind not in ("csv", "jsonl"):
        raise BadInput(f"standard input must be CSV or JSON lines; got {kind}: give the path of a file")
    table: Table = CsvFile.open(place, request, file) if kind == "csv" else JsonFile.open(place, _keys(request), file)
    part = Part(lambda: table, place.shown, {})
    return Log(kind, place.shown, request, [part], table, once=True)


def _keys(request: Request) -> tuple[str, ...]:
    return (*(request.arm or ("arm",)), *request.metrics)


def _files_log(kind: str, places: Sequence[Place], request: Request, where: str) -> Log:
    from frontguard.logs.sources.csv import CsvFile
    from frontguard.logs.sources.json import JsonFile
    from frontguard.logs.sources.parquet import ParquetFile

    def opener(place: Place) -> Callable[[], Table]:
        if kind == "csv":
            return lambda: CsvFile.open(place, request)
        if kind == "jsonl":
            return lambda: JsonFile.open(place, _keys(request))
        return lambda: ParquetFile.open(place)

    parts = [Part(opener(place), place.shown, place.partition) for place in places]
    if kind == "parquet":  # the ends of all files, so that a damaged one is found before hours of reading
        files = [ParquetFile.open(place) for place in places]
        return Log(kind, where, request, parts, files[0], rows_hint=sum(file.row_count for file in files))
    size = sum(place.path.stat().st_size for place in places if place.path is not None)
    return Log(kind, where, request, parts, parts[0].open(), bytes_hint=size)
