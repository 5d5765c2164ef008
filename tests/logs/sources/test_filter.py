"""Rows that are chosen by what stands in other columns: beside plain lists, in every kind of log."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import analyze
from frontguard.errors import BadInput
from frontguard.logs.sources import open_log
from frontguard.notices import RowsLeftOut
from tests.cli.commands import run
from tests.logs.sources.reading import rows_of
from tests.support.snapshots import refused, said

KINDS = ("csv", "jsonl", "parquet", "partitions", "dict", "pandas", "index", "polars", "lazy", "arrow")


def some_rows(count: int = 300) -> list[dict[str, Any]]:
    """Of three arms, on three hosts or an unknown one, with whole and broken sizes, some of them of no arm."""
    chance = random.Random(1)
    return [
        {
            "arm": chance.choice(["a", "b", "c"]),
            "host": chance.choice(["h1", "h2", "h3", None]),
            "size": chance.choice([8, 16]),
            "load": chance.choice([0.5, 2.0]),
            "x": float(row),
        }
        for row in range(count)
    ]


def as_kind(kind: str, rows: list[dict[str, Any]], folder: Path) -> Any:
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    if kind == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, rows[0])
        writer.writeheader()
        writer.writerows(rows)
        (folder / "l.csv").write_text(text.getvalue())
        return folder / "l.csv"
    if kind == "jsonl":
        (folder / "l.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return folder / "l.jsonl"
    if kind == "parquet":
        pq.write_table(pa.table(columns), folder / "l.parquet", row_group_size=70)
        return folder / "l.parquet"
    if kind == "partitions":
        pq.write_to_dataset(pa.table(columns), folder / "d", partition_cols=["host"])
        return folder / "d"
    if kind == "index":
        return pd.DataFrame(columns).set_index(["host", "size"])
    frames = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "lazy": pl.LazyFrame, "arrow": pa.table, "dict": dict}
    return frames[kind](columns)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "filter",
    [
        {"host": "h1"},
        {"host": ["h1", "h3"], "size": 8},
        {"size": "16"},
        {"load": 2},
        {"load": 0.5, "arm": ["a", "c"]},
        {"host": None},
        {"host": ["", "h2"]},
    ],
    ids=str,
)
def test_rows_that_fit_are_kept(kind: str, filter: dict[str, Any], tmp_path: Path) -> None:
    rows = some_rows()
    wanted = {name: values if isinstance(values, list) else [values] for name, values in filter.items()}
    fitting = [
        row
        for row in rows
        if all(any(str(row[name] or "") in (str(v or ""), f"{v}.0") for v in wanted[name]) for name in wanted)
    ]
    log = open_log(as_kind(kind, rows, tmp_path), metrics=["x"], filter=filter)
    found = rows_of(log)
    expected = [(row["arm"], row["x"]) for row in fitting]
    assert (sorted(found) if kind == "partitions" else found) == (
        sorted(expected) if kind == "partitions" else expected
    )
    (notice,) = log.notes
    assert isinstance(notice, RowsLeftOut)
    assert (notice.rows, notice.of) == (len(rows) - len(fitting), len(rows))


def test_the_long_layout_standard_input_and_tools(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("arm,host,metric,value\na,1,x,1\na,2,x,2\nb,1,x,3\n,2,x,4\n")
    assert rows_of(open_log(tmp_path / "l.csv", metrics=["x"], filter={"host": 1})) == [("a", 1.0), ("b", 3.0)]
    times = [{"command": "sleep", "parameters": {"n": n}, "times": [float(n), float(n) + 0.5]} for n in "12"]
    (tmp_path / "h.json").write_text(json.dumps({"results": times}))
    assert rows_of(open_log(tmp_path / "h.json", filter={"n": "2"})) == [("sleep (n=2)", 2.0), ("sleep (n=2)", 2.5)]
    rows = "".join(f"{arm},{host},{value}\n" for arm in "ab" for host in "xy" for value in range(40))
    options = ("--maximize", "v", "--where", "host=x", "--json")
    ran = run("analyze", "-", *options, cwd=tmp_path, given=f"arm,host,v\n{rows}".encode())
    assert json.loads(ran.stdout)["pulls"] == 80


@pytest.mark.parametrize(
    ("filter", "refusal"),
    [
        ({"hots": "a"}, "no column is called 'hots' (did you mean 'host'?); its columns are 'arm', 'host', 'day', 'x'"),
        ({"host": "c"}, "no row has 'c' in the column 'host'; there are 'a', 'b'"),
        ({"host": ["c", "d"]}, "no row has 'c', 'd' in the column 'host'; there are 'a', 'b'"),
        ({"host": "a", "day": "2"}, "none of its 2 rows has 'day' '2' and 'host' 'a' at once"),
        ({"x": "1"}, "where: 'x' is a metric; rows must not be chosen by the values that are judged"),
        ({"host": []}, "where: 'host' needs a value at least; got none"),
        ({1: "a"}, "where must name columns; got 1"),
        ("host", "where must be columns and the values that are wanted; got 'host'"),
        ({"host": [["a"]]}, "where, column 'host': wanted a name, text or a number; got ['a']"),
    ],
)
def test_what_no_row_can_fit_is_refused(filter: Any, refusal: str, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("arm,host,day,x\na,a,1,1\nb,b,2,2\n")
    with pytest.raises(BadInput) as refused:
        analyze(tmp_path / "l.csv", maximize="x", where=filter)
    assert str(refused.value).replace(f"{tmp_path}/", "").removeprefix("l.csv: ") == refusal


def test_rows_that_do_not_fit_need_no_arm(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "l.csv").write_text("arm,host,x\n,b,1\na,a,2\n,a,3\n")
    with refused(BadInput, snapshot):
        rows_of(open_log(tmp_path / "l.csv", metrics=["x"], filter={"host": "a"}))
    (tmp_path / "l.csv").write_text("arm,host,x\n,b,1\na,a,2\n")
    assert rows_of(open_log(tmp_path / "l.csv", metrics=["x"], filter={"host": "a"})) == [("a", 2.0)]


def test_a_state_remembers_which_rows_it_is_of(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    for day in (1, 2):
        rows = "".join(f"{arm},{host},{value + day}\n" for arm in "ab" for host in "xyz" for value in range(40))
        (tmp_path / f"{day}.csv").write_text(f"arm,host,v\n{rows}")
    state = tmp_path / "log.state"

    def appended(day: int, **where: Any) -> Any:
        return analyze(tmp_path / f"{day}.csv", maximize="v", append=state, **where)

    appended(1, where={"host": ["x", "y"]})
    for where in ({}, {"where": {"host": "x"}}, {"where": {"host": ["x", "y"], "arm": "a"}}):
        with refused(BadInput, snapshot):
            appended(2, **where)
    assert appended(2, where={"host": ("y", "x", "y")}).pulls == 320
    for same in ({}, {"where": {"host": ["x", "y"]}}):
        found = analyze(state, maximize="v", **same)
        assert said(found.notices[0]) == snapshot
    with refused(BadInput, snapshot):
        analyze(state, maximize="v", where={"host": "x"})


def test_the_filter_is_part_of_the_answer_and_of_its_report(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rows = "".join(f"{arm},{host},{value}\n" for arm in "ab" for host in "xyz" for value in range(40))
    (tmp_path / "l.csv").write_text(f"arm,host,v\n{rows}")
    options = ("l.csv", "--maximize", "v", "--where", "host=x", "--where", "host=z", "--where", "arm=a")
    ran = run("analyze", *options, "--json", cwd=tmp_path)
    found = json.loads(ran.stdout)
    assert found["pulls"] == 80
    notice = "only rows with 'arm' 'a' and 'host' 'x' or 'z' count; 160 of 240 rows are left out"
    assert found["notices"][0] == {
        "kind": "rows_left_out",
        "where": [["arm", ["a"]], ["host", ["x", "z"]]],
        "rows": 160,
        "of": 240,
    }
    assert notice in found["warnings"]
    (tmp_path / "a.json").write_text(ran.stdout)
    assert run("report", "a.json", "-o", "r.md", cwd=tmp_path).returncode == 0
    assert notice in (tmp_path / "r.md").read_text()
    ran = run("analyze", "l.csv", "--maximize", "v", "--where", "host", cwd=tmp_path)
    assert ran.returncode == 2
    assert said(ran.stderr) == snapshot
