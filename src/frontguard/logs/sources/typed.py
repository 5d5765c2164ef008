"""Tables whose columns have types: Parquet files, and frames of pandas, Polars, Arrow and others, and plain columns.

Answers come in the kind of frame that came in (`same_kind`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from frontguard.errors import BadInput
from frontguard.logs.sources.files import LogFile
from frontguard.logs.sources.reader import (
    BATCH,
    LogTable,
    Picked,
    Request,
    as_names,
    as_numbers,
    is_of,
    number_in,
    one_column,
    pick,
    refuse_mixed,
    text_of,
)
from frontguard.phrases import error_line, shown

if TYPE_CHECKING:
    import polars as pl

Columns = Mapping[str, Any]


def _selected(picked: Picked, kinds: Mapping[str, Any], where: str) -> list[pl.Expr]:
    """The picked columns as names and numbers, by their types."""
    ways = [(name, as_names) for name in picked.texts] + [(name, as_numbers) for name in picked.numbers]
    return [way(name, kinds[name], f"{where}, column {shown(name)}") for name, way in ways]


class ParquetFile(LogTable):
    """One Parquet file whose end, which says what it holds, was read."""

    row_count: int

    def __init__(self, file: LogFile) -> None:
        import polars as pl

        self._scan = pl.scan_parquet(str(file.path), glob=False, hive_partitioning=False)
        try:
            self._kinds = dict(self._scan.collect_schema())
            super().__init__(file.shown, list(self._kinds), int(self._scan.select(pl.len()).collect().item()))
        except _broken() as error:
            raise BadInput(
                f"{file.shown} is no Parquet file, or is damaged or cut in the middle: {error_line(error)}"
            ) from None

    def rows(self, picked: Picked) -> Iterator[pl.DataFrame]:
        """The rows, in pieces."""
        wanted = {
            name: self.names[one_column(name, self.names, self.shown)] for name in (*picked.texts, *picked.numbers)
        }
        kinds = {name: self._kinds[column] for name, column in wanted.items()}
        columns = self._scan.select(**wanted)
        seen = 0
        try:
            for rows in columns.select(_selected(picked, kinds, self.shown)).collect_batches(chunk_size=BATCH):
                seen += len(rows)
                yield rows
        except _broken() as error:
            raise BadInput(f"{self.shown} is damaged: after row {seen}, {error_line(error)}") from None
        if seen != self.row_count:
            raise BadInput(f"{self.shown} is damaged: it says that it has {self.row_count} rows; got {seen}")


def _broken() -> tuple[type[BaseException], ...]:
    from polars.exceptions import PanicException, PolarsError

    return PolarsError, PanicException, OSError, MemoryError


class FrameTable(LogTable):
    """A frame whose columns are looked up by name; those that are wanted are brought to Polars when they are read."""

    def __init__(self, frame: Any, request: Request) -> None:
        import polars as pl

        self._at: Callable[[int], Any]
        if isinstance(frame, Mapping):
            _one_length(frame)
            columns = list(frame.values())
            self._at = columns.__getitem__
            super().__init__("the columns", [str(name) for name in frame], len(columns[0]) if columns else 0)
        elif is_of(frame, "pandas", "DataFrame"):
            whole = _with_index(frame, request)
            self._at = lambda index: whole.iloc[:, index]
            super().__init__("the frame", [str(name) for name in whole.columns], len(whole))
        elif is_of(frame, "pyarrow", "Table", "RecordBatch"):
            self._at = frame.column
            super().__init__("the table", frame.schema.names, len(frame))
        else:
            known = _computed(frame, request) if isinstance(frame, pl.LazyFrame) else pl.DataFrame(frame)
            self._at = known.to_series
            super().__init__("the frame", known.columns, len(known))

    def rows(self, picked: Picked) -> Iterator[pl.DataFrame]:
        """The rows, in pieces."""
        import polars as pl

        wanted = [(name, False) for name in picked.texts] + [(name, True) for name in picked.numbers]
        whole = pl.DataFrame([self._column(name, numbers).alias(name) for name, numbers in wanted])
        try:
            yield from whole.select(_selected(picked, whole.schema, self.shown)).iter_slices(BATCH)
        except _broken() as error:
            raise BadInput(f"{self.shown} cannot be read: {error_line(error)}") from None

    def _column(self, name: str, numbers: bool) -> pl.Series:
        column = self._at(one_column(name, self.names, self.shown))
        where = f"{self.shown}, column {shown(name)}"
        try:
            found = _series(column)
        except Exception as error:
            raise BadInput(f"{where}: its type cannot be read: {error_line(error)}") from None
        return _by_value(column, numbers, where) if found is None else found


def _series(column: Any) -> pl.Series | None:
    """A column as Polars has it, if its type says what it holds."""
    import polars as pl

    if isinstance(column, pl.Series):
        return column
    if isinstance(column, np.ndarray):
        return pl.Series(column) if column.ndim == 1 and column.dtype.kind in "iufbU" else None
    if is_of(column, "pandas", "Series"):
        if isinstance(column.dtype, np.dtype):
            return pl.Series(column.to_numpy()) if column.dtype.kind in "iufbmM" else None
        try:
            return pl.Series(column)
        except (ImportError, TypeError, ValueError, pl.exceptions.PolarsError):  # without pyarrow, for instance
            return None
    return pl.Series(column) if hasattr(column, "__arrow_c_stream__") or hasattr(column, "__arrow_c_array__") else None


def _by_value(column: Any, numbers: bool, where: str) -> pl.Series:
    """A column of Python's own values, looked at one by one."""
    import polars as pl

    values = column.tolist() if hasattr(column, "tolist") else list(column)
    if not numbers:
        return pl.Series(
            [text_of(value, f"{where}, row {row}") for row, value in enumerate(values, 1)], dtype=pl.String
        )
    found = [
        bool(value) if isinstance(value, (bool, np.bool_)) else number_in(value, f"{where}, row {row}")
        for row, value in enumerate(values, 1)
    ]
    kinds = {isinstance(value, bool) for value in found if value == value}
    if len(kinds) > 1:
        refuse_mixed(where)
    if True in kinds:
        return pl.Series([value if value == value else None for value in found], dtype=pl.Boolean)
    return pl.Series(found, dtype=pl.Float64)


def _computed(frame: pl.LazyFrame, request: Request) -> pl.DataFrame:
    try:
        names = frame.collect_schema().names()
        picked = pick(request, names, "the frame")
        wanted = dict.fromkeys(names[one_column(each, names, "the frame")] for each in (*picked.texts, *picked.numbers))
        return frame.select(*wanted).collect(engine="streaming")
    except _broken() as error:
        raise BadInput(f"the lazy frame cannot be computed: {error_line(error)}") from None


def _with_index(frame: Any, request: Request) -> Any:
    """A pandas frame whose index has the name of a wanted column, with the index as a column."""
    wanted = {*(request.arm or ("arm",)), *request.metrics, request.metric_column, request.value_column}
    wanted |= {*request.filter.columns, *(request.cluster or ())}
    there = {str(name) for name in frame.columns}
    levels = [name for name in frame.index.names if name is not None and str(name) in wanted - there]
    return frame.reset_index(level=levels) if levels else frame


def _one_length(columns: Columns) -> None:
    sizes = {}
    for name, column in columns.items():
        if isinstance(column, (str, bytes)) or not hasattr(column, "__len__") or not hasattr(column, "__iter__"):
            raise BadInput(f"column {shown(name)} must be a list or an array; got {shown(column)}")
        sizes[name] = len(column)
    if len(set(sizes.values())) > 1:
        raise BadInput(
            f"columns must have one length; got {', '.join(f'{size} of {shown(name)}' for name, size in sizes.items())}"
        )


def same_kind(frame: Any, table: Columns) -> Any:
    """Columns by name (lists or arrays) as the kind of frame that `frame` is; Polars where it cannot be made.

    >>> import polars as pl
    >>> answer = {"arm": ["a", "b"], "verdict": ["keep", "beaten"]}
    >>> same_kind(pl.LazyFrame({"x": [1.0]}), answer).collect().columns
    ['arm', 'verdict']
    >>> same_kind({"x": [1.0]}, answer) == answer
    True
    """
    if isinstance(frame, Mapping):
        return {name: list(column) for name, column in table.items()}
    if is_of(frame, "pandas", "DataFrame"):
        return sys.modules["pandas"].DataFrame(dict(table))
    if is_of(frame, "pyarrow", "Table"):
        return sys.modules["pyarrow"].table(dict(table))
    if is_of(frame, "pyarrow", "RecordBatch"):
        return sys.modules["pyarrow"].RecordBatch.from_pydict(dict(table))
    import polars as pl

    return pl.LazyFrame(table) if isinstance(frame, pl.LazyFrame) else pl.DataFrame(table)
