"""Frames as logs, and answers in the kind of frame that came in: pandas, Polars (eager and lazy), Arrow, plain columns.

pandas and Arrow are read by themselves, all others through narwhals.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from frontguard._typing import Floats
from frontguard.errors import BadInput
from frontguard.logs.sources.columns import BATCH, Picked, Request, Rows, as_numbers, as_text, finite, pick
from frontguard.logs.sources.errors import needs, one_column
from frontguard.notices import Notice
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
        return False
    return isinstance(nw.from_native(thing, pass_through=True), (nw.DataFrame, nw.LazyFrame))


def _is(thing: object, package: str, *names: str) -> bool:
    module = sys.modules.get(package)
    return module is not None and isinstance(thing, tuple(getattr(module, name) for name in names))


@dataclass
class FrameTable:
    """A frame whose columns are looked up by name; what is wanted of it is brought to Arrow when it is read."""

    shown: str
    frame: Any
    names: list[str]
    notes: list[Notice] = field(default_factory=list)

    @classmethod
    def of(cls, frame: Any, request: Request) -> FrameTable:
        """Look at the names, and bring in what is wanted of a lazy frame."""
        if isinstance(frame, Mapping):
            _one_length(frame)
            return cls("the columns", frame, [str(name) for name in frame])
        if _is(frame, "pandas", "DataFrame"):
            return cls("the frame", _with_index(frame, request), [])._with_names()
        if _is(frame, "pyarrow", "Table", "RecordBatch"):
            return cls("the table", frame, list(frame.schema.names))
        return cls._through_narwhals(frame, request)

    def _with_names(self) -> FrameTable:
        self.names = [str(name) for name in self.frame.columns]
        return self

    @classmethod
    def _through_narwhals(cls, frame: Any, request: Request) -> FrameTable:
        try:
            import narwhals as nw
        except ImportError as error:
            needs("narwhals", error)
        try:
            known = nw.from_native(frame)
        except TypeError:
            raise BadInput(f"wanted a frame (pandas, Polars, Arrow, …) or a path; got {shown(type(frame))}") from None
        if isinstance(known, nw.LazyFrame):
            try:
                names = known.collect_schema().names()
                picked = pick(request, names, "the frame")
                chosen = list(dict.fromkeys(names[one_column(each, names, "the frame")] for each in _all(picked)))
                lazy: Any = known.select(*chosen)
                known = lazy.collect(**({"engine": "streaming"} if known.implementation.is_polars() else {}))
            except BadInput:
                raise
            except Exception as error:
                raise BadInput(f"the lazy frame cannot be computed: {error_line(error)}") from None
        return cls("the frame", known, list(known.columns))

    @property
    def row_count(self) -> int:
        """Rows of the frame."""
        if isinstance(self.frame, Mapping):
            return len(next(iter(self.frame.values()))) if self.frame else 0
        return len(self.frame)

    def rows(self, picked: Picked) -> Iterator[Rows]:
        """The rows, in pieces."""
        texts = [self._text(name) for name in picked.texts]
        numbers = [self._numbers(name) for name in picked.numbers]
        for begin in range(0, self.row_count, BATCH):
            part = slice(begin, begin + BATCH)
            yield Rows([text[part] for text in texts], [column[part] for column in numbers])

    def _column(self, name: str) -> tuple[Any, str]:
        index = one_column(name, self.names, self.shown)
        where = f"{self.shown}, column {shown(name)}"
        if isinstance(self.frame, Mapping):
            return list(self.frame.values())[index], where
        if _is(self.frame, "pandas", "DataFrame"):
            return self.frame.iloc[:, index], where
        if _is(self.frame, "pyarrow", "Table", "RecordBatch"):
            return self.frame.column(index), where
        try:
            return self.frame.get_column(self.names[index]).to_arrow(), where
        except Exception as error:
            raise BadInput(f"{where}: its type cannot be read: {error_line(error)}") from None

    def _text(self, name: str) -> Any:
        import pyarrow as pa

        column, where = self._column(name)
        if not isinstance(column, (pa.Array, pa.ChunkedArray)):
            column = _arrow(column)
        if isinstance(column, list):
            names = [text_of(value, f"{where}, row {row}") for row, value in enumerate(column, 1)]
            column = pa.array(names, pa.string())
        return as_text(column, where)

    def _numbers(self, name: str) -> Floats:
        import pyarrow as pa

        column, where = self._column(name)
        if not isinstance(column, (pa.Array, pa.ChunkedArray)):
            column = _arrow(column)
        if isinstance(column, list):
            values = [_number(value, f"{where}, row {row}") for row, value in enumerate(column, 1)]
            return finite(np.array(values, np.float64))
        return as_numbers(column, where)


def _arrow(column: Any) -> Any:
    """A column as an Arrow array if its type says what it holds; otherwise the list of its values."""
    import pyarrow as pa

    values = column
    if _is(column, "pandas", "Series"):
        if column.dtype != object:
            try:
                return pa.Array.from_pandas(column)
            except (pa.ArrowException, TypeError, ValueError):
                return column.tolist()
        return column.tolist()
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iufbU":
        return pa.array(values)
    return list(values)


def text_of(value: Any, where: str) -> str | None:
    """A single name as text, by the rules of `columns.as_text`."""
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


def _number(value: Any, where: str) -> float:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return math.nan
    if isinstance(value, (int, float, Decimal, Fraction, np.integer, np.floating)) and not isinstance(value, bool):
        try:
            return float(value)
        except (OverflowError, ValueError):  # too large, and a signalling NaN
            return math.nan
    raise BadInput(f"{where}: wanted a number; got {shown(value)}")


def _with_index(frame: Any, request: Request) -> Any:
    """A pandas frame whose index has the name of a wanted column, with the index as a column."""
    wanted = {*(request.arm or ("arm",)), *request.metrics, request.metric_column, request.value_column}
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


def _all(picked: Picked) -> tuple[str, ...]:
    return (*picked.texts, *picked.numbers)


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
