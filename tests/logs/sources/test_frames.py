from __future__ import annotations

import datetime as dt
import io
import json
import math
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.logs.sources import Log, open_log, typed
from frontguard.logs.sources.typed import same_kind
from tests.support.snapshots import refused, said

Row = tuple[Any, ...]
KINDS = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "pandas object": lambda columns: pd.DataFrame(
        {name: pd.Series(list(column), dtype=object) for name, column in columns.items()}
    ),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "polars lazy": lambda columns: pl.LazyFrame(columns, strict=False),
    "arrow": pa.table,
    "record batch": pa.RecordBatch.from_pydict,
    # Imported when it is used: it complains, when Python ends, of what is not collected (tests/conftest.py).
    "duckdb": lambda columns: import_module("duckdb").from_arrow(pa.table(columns)),
}


def rows_of(log: Log) -> list[Row]:
    return [
        (arm, *(None if math.isnan(value) else value for value in values))
        for batch in log.batches()
        for arm, *values in zip(
            batch.arms.cast(str).to_list(), *(column.tolist() for column in batch.values), strict=True
        )
    ]


def refusal(frame: Any, **options: Any) -> str:
    with pytest.raises(BadInput) as refused:
        rows_of(open_log(frame, **{"arm": "arm", "metrics": ["x"], **options}))
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame(kind: str, snapshot: SnapshotAssertion) -> None:
    frame = KINDS[kind]({"arm": ["a", "NA", "007"], "x": [1.0, None, 2.5], "y": [1, 2, 3], "host": ["h", "h", "i"]})
    log = open_log(frame, arm="arm", metrics=["y", "x"])
    assert rows_of(log) == [("a", 1.0, 1.0), ("NA", 2.0, None), ("007", 3.0, 2.5)]
    assert rows_of(open_log(frame, metrics=["x"])) == [("a", 1.0), ("NA", None), ("007", 2.5)]
    assert (log.format, log.rows_hint, log.expected_rows) == ("frame", 3, 3)
    joined = rows_of(open_log(frame, arm=["host", "arm"], metrics=["y"]))
    assert joined[0] == ("h/a", 1.0)
    assert said(refusal(frame, metrics=["z"])) == snapshot
    assert said(refusal(frame, arm="Arm")) == snapshot


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_kind_comes_out(kind: str) -> None:
    frame = KINDS[kind]({"arm": ["a"], "x": [1.0]})
    answer = same_kind(frame, {"arm": ["a", "b"], "low": np.array([1.0, 2.0]), "verdict": ["keep", "beaten"]})
    assert type(answer) is (pl.DataFrame if kind == "duckdb" else type(frame))
    plain = {
        "pandas": lambda: answer.to_dict("list"),
        "pandas object": lambda: answer.to_dict("list"),
        "polars": lambda: answer.to_dict(as_series=False),
        "polars lazy": lambda: answer.collect().to_dict(as_series=False),
        "duckdb": lambda: answer.to_dict(as_series=False),
        "dict": lambda: answer,
    }.get(kind, lambda: answer.to_pydict())()
    assert plain == {"arm": ["a", "b"], "low": [1.0, 2.0], "verdict": ["keep", "beaten"]}


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_frame_and_rows_without_an_arm(kind: str) -> None:
    assert "has no rows" in refusal(pa.table({"arm": pa.array([], pa.string()), "x": pa.array([], pa.float64())}))
    frame = KINDS[kind]({"arm": ["a", None, "b", None], "x": [1.0, 2.0, 3.0, 4.0]})
    assert refusal(frame).startswith("2 rows have no arm (column 'arm' is missing or empty), the first is row 2 of the")
    assert rows_of(open_log(frame, metrics=["x"], missing_arms="drop")) == [("a", 1.0), ("b", 3.0)]


@pytest.mark.parametrize(
    ("names", "texts"),
    [
        (pd.Series([1, 2, 3]), ["1", "2", "3"]),
        (pd.Series([1, 2, 3], dtype="Int64"), ["1", "2", "3"]),
        (pd.Series([1.0, 2.5, 3.0]), ["1.0", "2.5", "3.0"]),
        (pd.Series(["a", "b", "a"], dtype="category"), ["a", "b", "a"]),
        (pd.Series([1, 2, 1], dtype="category"), ["1", "2", "1"]),
        (pd.Series([True, False, True]), ["true", "false", "true"]),
        (pd.Series(["a", 7, 1.5], dtype=object), ["a", "7", "1.5"]),
        (pd.Series([True, dt.date(2024, 1, 2), b"b"], dtype=object), ["true", "2024-01-02", "b"]),
        (
            pd.Series([dt.datetime(2024, 1, 2, 3, 4, 5), Decimal("1.50"), np.int64(7)], dtype=object),
            ["2024-01-02 03:04:05", "1.50", "7"],
        ),
    ],
)
def test_ids_of_pandas_become_text(names: pd.Series, texts: list[str]) -> None:
    log = open_log(pd.DataFrame({"arm": names, "x": [1.0, 2.0, 3.0]}), metrics=["x"])
    assert [arm for arm, _ in rows_of(log)] == texts


def test_names_of_an_index_count_as_columns() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index(["a", "b"], name="arm"))
    assert rows_of(open_log(frame, metrics=["x"])) == [("a", 1.0), ("b", 2.0)]
    assert list(frame.columns) == ["x"], "the frame is left as it was"


def test_categories_that_no_row_has_are_no_arms() -> None:
    frame = pd.DataFrame({"arm": pd.Categorical(["a", "a"], categories=["a", "never"]), "x": [1.0, 2.0]})
    assert rows_of(open_log(frame, metrics=["x"])) == [("a", 1.0), ("a", 2.0)]
    long = pl.DataFrame(
        {"arm": ["a"], "metric": ["x"], "value": [1.0]}, schema_overrides={"arm": pl.Enum(["never", "a"])}
    )
    assert rows_of(open_log(long, metrics=["x"])) == [("a", 1.0)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.Series([1.0, "12ms"], dtype=object), "the frame, column 'x', row 2: wanted a number; got '12ms'"),
        (pd.Series([1, True], dtype=object), "the frame, column 'x': wanted numbers, or true and false; got both"),
        (pd.Series(["1", "2"]), "the frame, column 'x' must be numbers; got the type"),
        (pd.to_timedelta(pd.Series([1, 2]), unit="s"), "column 'x' must be numbers; got the type Duration("),
        (pd.Series([1 + 2j, 3]), "column 'x'"),
        (pd.Series([[1], [2]]), "column 'x'"),
    ],
)
def test_text_and_mixed_types_in_a_metric(values: pd.Series, message: str) -> None:
    assert message in refusal(pd.DataFrame({"arm": ["a", "b"], "x": values}))


def test_other_frames_that_cannot_be_used(snapshot: SnapshotAssertion) -> None:
    assert "2 columns are called 'x'" in refusal(pd.DataFrame([["a", 1, 2]], columns=["arm", "x", "x"]))
    assert said(refusal({"arm": ["a"], "x": [1, 2]})) == snapshot
    assert said(refusal({"arm": ["a"], "x": 1})) == snapshot
    assert said(refusal(pl.DataFrame({"arm": [[1], [2]], "x": [1.0, 2.0]}))) == snapshot
    failing = pl.LazyFrame({"arm": ["a"], "x": ["b"]}).with_columns(pl.col("x").cast(pl.Float64))
    assert "cannot be computed" in refusal(failing)  # and then what Polars says
    assert "row 1: wanted a name" in refusal({"arm": [object()], "x": [1.0]})
    assert "half a surrogate pair" in refusal({"arm": ["\ud800"], "x": [1.0]})
    with refused(BadInput, snapshot):
        open_log(object(), metrics=["x"])


def test_huge_numbers() -> None:
    log = open_log({"arm": ["a", "b", "c"], "x": [2**63, 10**400, Decimal("sNaN")]}, metrics=["x"])
    assert rows_of(log) == [("a", 2.0**63), ("b", None), ("c", None)]


# Every shape, against plain Python ------------------------------------------------------------------------------------

names = st.one_of(
    st.sampled_from(["a", "b", "NA", "007", "1e5", " ", "x,y", "q\\"]),
    st.text("aäß\n\"',;=\\ ", min_size=1, max_size=4),
)
numbers = st.one_of(st.none(), st.floats(), st.integers(-(10**6), 10**6).map(float))


def known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(names, names, numbers, numbers), min_size=1, max_size=40),
    form=st.sampled_from([*KINDS, "csv", "jsonl", "parquet", "json list"]),
    together=st.booleans(),
    batch=st.sampled_from([1, 3, 1 << 17]),
)
def test_frames_of_every_shape(rows: list[Row], form: str, together: bool, batch: int, tmp_path: Path) -> None:
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("arm", "part", "x", "y"))}
    if form.startswith("pandas") or form == "polars":
        # NaN and null are one there.
        columns |= {name: [math.nan if v is None else v for v in columns[name]] for name in "xy"}
    if form in KINDS:
        source: Any = KINDS[form](
            columns if form not in ("arrow", "record batch", "duckdb", "polars lazy") else _typed(columns)
        )
    else:
        source = tmp_path / f"log.{form.split()[0]}"
        source.write_bytes(_written(form, columns))
    arm = ["arm", "part"] if together else "arm"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typed, "BATCH", batch)
        found = rows_of(open_log(source, arm=arm, metrics=["y", "x"]))

    def name(row: Row) -> str:
        parts = ['"' + part.replace('"', '""') + '"' if "/" in part or part[:1] == '"' else part for part in row[:2]]
        return "/".join(parts) if together else row[0]

    assert found == [(name(row), known(row[3]), known(row[2])) for row in rows]


def _typed(columns: dict[str, list[Any]]) -> Any:
    kinds = {"arm": pa.string(), "part": pa.string(), "x": pa.float64(), "y": pa.float64()}
    return {name: pa.array(column, kinds[name]) for name, column in columns.items()}


def _written(form: str, columns: dict[str, list[Any]]) -> bytes:
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if form == "csv":
        return (
            pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns.items()})
            .to_csv(index=False, na_rep="NA")
            .encode()
        )
    if form == "parquet":
        sink = io.BytesIO()
        pq.write_table(pa.table(_typed(columns)), sink, row_group_size=7)
        return sink.getvalue()
    if form == "json list":
        return json.dumps(records).encode()
    return "".join(json.dumps(record) + "\n" for record in records).encode()
