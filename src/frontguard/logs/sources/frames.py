"""Frames as logs, and answers in the kind of frame that came in: pandas, Polars (eager and lazy), Arrow, plain columns.

pandas and Arrow are read by themselves, all others through narwhals.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.logs.sources.reader import (
    BATCH,
    LogTable,
    Picked,
    Request,
    TableRows,
    needs,
    one_column,
    pick,
    refuse_mixed,
)
from frontguard.phrases import error_line, shown

Columns = Mapping[str, Any]


def is_frame(thing: object) -> bool:
    """Whether this is a frame rather than the place of a file; packages that are not loaded are not loaded for it."""
    if isinstance(thing, Mapping):
        return True
    if isinstance(thing, (str, bytes, Sequence)) or hasattr(thing, "__fspath__"):
        return False
    if _is(thing, "pyarrow", "Table", "RecordBatch") or _is(thing, "pandas", "DataFrame"):
        return True
    try:
        import narwhals as nw
    except ImportError:
        return hasattr(thing, "columns")  # and whoever reads it will say what it needs
    return isinstance(nw.from_native(thing, pass_through=True), (nw.DataFrame, nw.LazyFrame))


def _is(thing: object, package: str, *names: str) -> bool:
    module = sys.modules.get(package)
    return module is not None and isinstance(thing, tuple(getattr(module, name) for name in names))


class FrameTable(LogTable):
    """A frame whose columns are looked up by name; what is wanted of it is brought to Arrow when it is read."""

    def __init__(self, frame: Any, request: Request) -> None:
        self._at: Callable[[int], Any]
        if isinstance(frame, Mapping):
            _one_length(frame)
            columns = list(frame.values())
            self._at = lambda index: _arrow(columns[index])
            super().__init__("the columns", [str(name) for name in frame], len(columns[0]) if columns else 0)
        elif _is(frame, "pyarrow", "Table", "RecordBatch"):
            self._at = frame.column
            super().__init__("the table", frame.schema.names, len(frame))
        elif _is(frame, "pandas", "DataFrame"):
            whole = _with_index(frame, request)
            self._at = lambda index: _arrow(whole.iloc[:, index])
            super().__init__("the frame", [str(name) for name in whole.columns], len(whole))
        else:
            known = _through_narwhals(frame, request)
            self._at = lambda index: known.get_column(known.columns[index]).to_arrow()
            super().__init__("the frame", known.columns, len(known))

    def rows(self, picked: Picked) -> Iterator[TableRows]:
        """The rows, in pieces."""
        texts = [self._text(name) for name in picked.texts]
        read = [self._numbers(name) for name in picked.numbers]
        truths = frozenset(d for d, (_, are_truths) in enumerate(read) if are_truths)
        for begin in range(0, self.row_count or 0, BATCH):
            part = slice(begin, begin + BATCH)
            yield TableRows([text[part] for text in texts], [column[part] for column, _ in read], truths)

    def _column(self, name: str) -> tuple[Any, str]:
        """An Arrow array, or the list of values where the type does not say what they are; and its name in messages."""
        index = one_column(name, self.names, self.shown)
        where = f"{self.shown}, column {shown(name)}"
        try:
            return self._at(index), where
        except Exception as error:
            raise BadInput(f"{where}: its type cannot be read: {error_line(error)}") from None

    def _text(self, name: str) -> Any:
        import pyarrow as pa

        from frontguard.logs.sources.columns import as_text, text_of

        column, where = self._column(name)
        if isinstance(column, list):
            names = [text_of(value, f"{where}, row {row}") for row, value in enumerate(column, 1)]
            column = pa.array(names, pa.string())
        return as_text(column, where)

    def _numbers(self, name: str) -> tuple[Floats, bool]:
        """The values of a column, and whether they are true and false."""
        from frontguard.logs.sources.columns import are_truths, as_numbers, finite, number_in

        column, where = self._column(name)
        if not isinstance(column, list):
            return as_numbers(column, where), are_truths(column.type)
        truths = [isinstance(value, (bool, np.bool_)) for value in column]
        values = [
            float(value) if truth else number_in(value, f"{where}, row {row}")
            for row, (value, truth) in enumerate(zip(column, truths, strict=True), 1)
        ]
        found = finite(np.array(values, np.float64))
        if any(truths) and not (np.isnan(found) | truths).all():
            refuse_mixed(where)
        return found, any(truths)


def _through_narwhals(frame: Any, request: Request) -> Any:
    """What narwhals makes of a frame; of a lazy one, the wanted columns, computed."""
    try:
        import narwhals as nw
    except ImportError as error:
        needs("narwhals", error)
    try:
        known = nw.from_native(frame)
    except TypeError:
        raise BadInput(f"wanted a frame (pandas, Polars, Arrow, …) or a path; got {shown(type(frame))}") from None
    if not isinstance(known, nw.LazyFrame):
        return known
    try:
        names = known.collect_schema().names()
        picked = pick(request, names, "the frame")
        wanted = (*picked.texts, *picked.numbers)
        lazy: Any = known.select(*dict.fromkeys(names[one_column(each, names, "the frame")] for each in wanted))
        return lazy.collect(**({"engine": "streaming"} if known.implementation.is_polars() else {}))
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(f"the lazy frame cannot be computed: {error_line(error)}") from None


def _arrow(column: Any) -> Any:
    """A column as an Arrow array if its type says what it holds; otherwise the list of its values."""
    import pyarrow as pa

    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    if _is(column, "pandas", "Series") and column.dtype != object:
        try:
            return pa.Array.from_pandas(column)
        except (pa.ArrowException, TypeError, ValueError):
            return column.tolist()
    if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "iufbU":
        return pa.array(column)
    return column.tolist() if _is(column, "pandas", "Series") else list(column)


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
    """Columns by name (lists or arrays) as the kind of frame that `frame` is; plain columns for plain columns.

    >>> import pyarrow as pa
    >>> answer = {"arm": ["a", "b"], "verdict": ["in", "out"]}
    >>> same_kind(pa.table({"x": [1.0]}), answer).column_names
    ['arm', 'verdict']
    >>> same_kind({"x": [1.0]}, answer) == answer
    True
    """
    if isinstance(frame, Mapping):
        return {name: list(column) for name, column in table.items()}
    if _is(frame, "pandas", "DataFrame"):
        return sys.modules["pandas"].DataFrame(dict(table))
    if _is(frame, "pyarrow", "Table"):
        return sys.modules["pyarrow"].table(dict(table))
    if _is(frame, "pyarrow", "RecordBatch"):
        return sys.modules["pyarrow"].RecordBatch.from_pydict(dict(table))
    try:
        import narwhals as nw
    except ImportError as error:
        needs("narwhals", error)
    known: Any = nw.from_native(frame)
    if isinstance(known, nw.DataFrame):
        return nw.from_dict(dict(table), backend=known.implementation).to_native()
    if known.implementation.is_polars():
        return nw.from_dict(dict(table), backend="polars").lazy().to_native()
    # A lazy frame of an engine that holds no data of its own: Arrow, which all of them read.
    return nw.from_dict(dict(table), backend="pyarrow").to_native()
