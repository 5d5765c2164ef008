"""Parquet: ids, numbers, row groups, damage."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.logs.sources import open_log
from tests.logs.sources.reading import parquet, refusal, rows_of
from tests.support.snapshots import refused, said


@pytest.mark.parametrize(
    ("names", "texts"),
    [
        (pa.array([7, -1, 10**15]), ["7", "-1", "1000000000000000"]),
        (pa.array([2**64 - 1, 0, 1], pa.uint64()), ["18446744073709551615", "0", "1"]),
        (pa.array([True, False, True]), ["true", "false", "true"]),
        (pa.array([dt.date(2024, 2, 1)] * 3), ["2024-02-01"] * 3),
        (pa.array([1.0, 0.1, 1e16]), ["1.0", "0.1", "1e+16"]),
        (pa.array([Decimal("1.50")] * 3), ["1.50"] * 3),
        (pa.array([b"a", "ä".encode(), b"c"]), ["a", "ä", "c"]),
        (pa.array(["a", "NA", "a"]).dictionary_encode(), ["a", "NA", "a"]),
        (pa.array([5, 6, 5]).dictionary_encode(), ["5", "6", "5"]),
        (pa.array(["x", "y", "z"], pa.large_string()), ["x", "y", "z"]),
    ],
)
def test_ids_of_parquet_become_text(tmp_path: Path, names: pa.Array, texts: list[str]) -> None:
    log = open_log(parquet(tmp_path / "l.parquet", arm=names, x=[1.0, 2.0, 3.0]), metrics=["x"])
    assert rows_of(log) == [(text, value) for text, value in zip(texts, [1.0, 2.0, 3.0], strict=True)]
    assert (log.rows_hint, log.rows_read, log.expected_rows) == (3, 3, 3)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, None, 3]),
        pa.array([1, None, 3], pa.uint8()),
        pa.array([1.0, np.nan, 3.0], pa.float32()),
        pa.array([1.0, -np.inf, 3.0]),
        pa.array([Decimal("1"), None, Decimal("3")]),
        pa.array([np.float16(1), None, np.float16(3)], pa.float16()),
    ],
)
def test_numbers_of_parquet(tmp_path: Path, values: pa.Array) -> None:
    log = open_log(parquet(tmp_path / "l.parquet", arm=["a", "b", "c"], x=values), metrics=["x"])
    assert rows_of(log) == [("a", 1.0), ("b", None), ("c", 3.0)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        *((["1", "2"], "String"), ([[1.0], [2.0]], "List(")),
        *(([dt.timedelta(1)] * 2, "Duration("), ([dt.date(2024, 1, 1)] * 2, "Date")),
    ],
)
def test_columns_that_are_not_numbers(tmp_path: Path, values: Any, kind: str, snapshot: SnapshotAssertion) -> None:
    path = parquet(tmp_path / "l.parquet", arm=["a", "b"], x=values)
    with pytest.raises(BadInput) as caught:
        rows_of(open_log(path, metrics=["x"]))
    assert said(caught.value) == snapshot


def test_damaged_parquet(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    columns = {"arm": random.integers(0, 50, 9000).astype(str), "x": random.random(9000)}
    pq.write_table(pa.table(columns), tmp_path / "l.parquet")
    whole = (tmp_path / "l.parquet").read_bytes()
    for cut in (whole[:-10], whole[: len(whole) // 2], whole[:4], b"PAR1" + b"\0" * 100 + b"PAR1"):
        assert "is no Parquet file" in refusal(tmp_path / "l.parquet", cut)  # and then what Polars says
    assert refusal(tmp_path / "l.parquet", b"").startswith("l.parquet is no Parquet file")


def test_parquet_whose_text_is_not_utf8(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    names = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"a\xffb"))
    path = parquet(tmp_path / "l.parquet", arm=names, x=[1.0, 2.0])
    with refused(BadInput, snapshot):
        rows_of(open_log(path, metrics=["x"]))


def test_parquet_that_says_another_number_of_rows_than_it_has(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = parquet(tmp_path / "l.parquet", arm=["a", "b", "c"], x=[1.0, 2.0, 3.0])
    whole = path.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little")
    lies = 0
    for at in range(len(whole) - 8 - footer, len(whole) - 8):
        if whole[at] == 6:  # three, as the format writes it
            path.write_bytes(whole[:at] + b"\x08" + whole[at + 1 :])
            try:
                said = open_log(path, metrics=["x"]).rows_hint
            except BadInput:
                continue
            if said == 4:
                lies += 1
                with refused(BadInput, snapshot):
                    rows_of(open_log(path, metrics=["x"]))
    assert lies, "one of the bytes is the number of rows"


@pytest.mark.parametrize("arms", [40, 120_000])
def test_many_rows_in_many_groups(tmp_path: Path, arms: int) -> None:
    count = 300_000
    names = [f"arm {i}" for i in range(arms)]
    of = np.random.default_rng(1).integers(0, arms, count)
    table = pa.table({"arm": pa.array(names).take(pa.array(of)), "x": np.arange(count, dtype=float), "y": of})
    pq.write_table(table, tmp_path / "l.parquet", row_group_size=70_000)
    batches = list(open_log(tmp_path / "l.parquet", metrics=["y", "x"]).batches())
    assert max(map(len, batches)) <= 1 << 18
    assert np.array_equal(np.concatenate([batch.values[1] for batch in batches]), np.arange(count))
    assert np.array_equal(np.concatenate([batch.values[0] for batch in batches]), of)
    assert [name for batch in batches for name in batch.arms.cast(str).to_list()] == table.column("arm").to_pylist()
