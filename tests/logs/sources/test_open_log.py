"""Where logs come from and how they are laid out: arms, the long layout, places, standard input, studies."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Prescient
from frontguard.errors import BadInput
from frontguard.logs.sources import open_log
from frontguard.phrases import error_line, quoted, shown
from frontguard.studies import Study
from tests.logs.sources.reading import parquet, read, refusal, rows_of
from tests.support.snapshots import refused, said

# Arms -----------------------------------------------------------------------------------------------------------------


def test_several_columns_form_the_arm(tmp_path: Path) -> None:
    data = "opt,n,x\n-O1,4,1\n-O2,,2\n"
    assert read(tmp_path / "l.csv", data, arm=["opt", "n"]) == [("-O1/4", 1.0), ("-O2/", 2.0)]


def test_joined_names_differ_where_the_values_do(tmp_path: Path) -> None:
    parts = ["", "a", "/", "//", "\\", '"', '""', '"/', '/"', 'a"', '"a"/"a"', '"a/a"']
    pairs = [(a, b) for a in parts for b in parts if a or b]
    log = open_log(
        {"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "x": [1.0] * len(pairs)}, arm=["a", "b"], metrics=["x"]
    )
    assert len({arm for arm, _ in rows_of(log)}) == len(pairs)


def test_rows_without_an_arm_are_counted_and_refused_or_dropped(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rows = 300_000
    body = "".join("a,1\n" if i % 100_000 else ",2\n" for i in range(1, rows + 1))
    line = refusal(tmp_path / "l.csv", f"arm,x\n{body}")
    assert said(line) == snapshot
    path = parquet(tmp_path / "l.parquet", arm=["a", None, "b", ""], x=[1.0, 2.0, 3.0, 4.0])
    with refused(BadInput, snapshot):
        rows_of(open_log(path, metrics=["x"]))
    log = open_log(path, metrics=["x"], missing_arms="drop")
    assert rows_of(log) == [("a", 1.0), ("b", 3.0)]
    assert len(log.notes) == 1
    assert "dropped" in str(log.notes[0])


# The long layout ------------------------------------------------------------------------------------------------------


def test_long_layout(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    data = "arm,metric,value\na,x,1\nb,y,5\na,y,2\na,x,3\nb,x,NA\nb,z,9\nc,z,1\n"
    path = tmp_path / "l.csv"
    path.write_text(data)
    log = open_log(path, metrics=["x", "y"])
    assert log.layout == "long"
    # a has x twice and y once: its second y failed.
    assert rows_of(log) == [("a", 1.0, 2.0), ("b", None, 5.0), ("a", 3.0, None)]  # by the first row of each
    assert said("\n".join(map(str, log.notes))) == snapshot
    assert "did you mean" not in refusal(path, data, metrics=["q"])
    assert refusal(path, data, metrics=["x", "Z"]).endswith(
        "no row is of the metric 'Z' (did you mean 'z'?); others there are 'y', 'z'"
    )
    assert said(refusal(path, "arm,metric,value\na,x,1\na,,2\n")) == snapshot
    assert read(path, "arm;m;v\na;x;1\n", metric_column="m", value_column="v") == [("a", 1.0)]
    assert said(refusal(path, "arm,metric,x\na,x,1\n", layout="long")) == snapshot


values = st.one_of(st.none(), st.floats(-1e6, 1e6))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), values), min_size=1, max_size=60))
def test_long_layout_against_lists(rows: list[tuple[str, str, float | None]]) -> None:
    by_arm: dict[str, dict[str, list[float | None]]] = {}
    for arm, metric, value in rows:
        if metric != "z":
            by_arm.setdefault(arm, {"x": [], "y": []})[metric].append(value)
    expected = []
    for arm, kept in by_arm.items():
        for k in range(max(map(len, kept.values()))):
            expected.append((arm, *(kept[m][k] if k < len(kept[m]) else None for m in "xy")))
    columns = {"arm": [row[0] for row in rows], "metric": [row[1] for row in rows], "value": [row[2] for row in rows]}
    if {"x", "y"} <= {row[1] for row in rows}:
        assert sorted(rows_of(open_log(columns, metrics=["x", "y"])), key=repr) == sorted(expected, key=repr)
    else:
        with pytest.raises(BadInput):
            rows_of(open_log(columns, metrics=["x", "y"]))


# Places ---------------------------------------------------------------------------------------------------------------


def test_directories_globs_and_partitions(tmp_path: Path) -> None:
    for name, value in (("fast", 1), ("a%2Fb", 2)):
        (tmp_path / "d" / f"arm={name}").mkdir(parents=True)
        (tmp_path / "d" / f"arm={name}" / "1.csv").write_text(f"x,y\n{value},0\n")
    (tmp_path / "d" / "_SUCCESS").write_text("")
    (tmp_path / "d" / ".hidden.csv").write_text("nonsense")
    expected = [("a/b", 2.0), ("fast", 1.0)]
    log = open_log(tmp_path / "d", metrics=["x"])
    assert rows_of(log) == expected
    assert (log.rows_hint, log.expected_rows) == (None, 4)  # both files by their size, headers and all
    assert repr(log).endswith("d (csv, 2 files): wide, arm 'arm', metrics 'x'>")
    assert rows_of(open_log(str(tmp_path / "d" / "*" / "*.csv"), metrics=["x"])) == expected
    assert rows_of(open_log(str(tmp_path / "d" / "**" / "*.csv"), metrics=["x"])) == expected
    files = [tmp_path / "d" / "arm=fast", tmp_path / "d" / "arm=a%2Fb"]
    assert rows_of(open_log(files, metrics=["x"])) == expected[::-1]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_partitions_of_other_formats_and_a_metric_that_is_a_folder(
    tmp_path: Path, suffix: str, snapshot: SnapshotAssertion
) -> None:
    for name in ("p", "q"):
        folder = tmp_path / f"arm={name}" / "x=5"
        folder.mkdir(parents=True)
        if suffix == "parquet":
            pq.write_table(pa.table({"y": [1.0]}), folder / "1.parquet")
        else:
            (folder / "1.jsonl").write_text('{"y": 1}\n')
    assert rows_of(open_log(tmp_path, metrics=["y"])) == [("p", 1.0), ("q", 1.0)]
    with refused(BadInput, snapshot):
        rows_of(open_log(tmp_path, metrics=["x"]))


def test_places_that_are_not_there(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    for where in (
        tmp_path / "no.csv",
        tmp_path / "*.csv",
        tmp_path,
        [],
        "",
        7,
    ):
        with refused(BadInput, snapshot):
            open_log(str(where) if isinstance(where, Path) else where, metrics=["x"])
    (tmp_path / "a.csv").write_text("arm,x\na,1\n")
    parquet(tmp_path / "b.parquet", arm=["a"], x=[1.0])
    with refused(BadInput, snapshot):
        open_log(tmp_path, metrics=["x"])
    (tmp_path / "b.parquet").unlink()
    (tmp_path / "c.csv").write_text("arm,y\na,1\n")
    with refused(BadInput, snapshot):
        rows_of(open_log(tmp_path, metrics=["x"]))


def test_what_is_asked_for_is_checked(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "l.csv"
    data = "a,b,x\n1,2,3\n"
    assert said(refusal(path, data, arm=None)) == snapshot
    assert said(refusal(path, data, arm="a", metrics=[])) == snapshot
    assert said(refusal(path, data, arm="x")) == snapshot
    assert "layout must be" in refusal(path, data, layout="tall")
    assert said(refusal(path, data, format="xls")) == snapshot
    assert "decimal must be" in refusal(path, data, decimal="'")
    assert "missing_arms must be" in refusal(path, data, missing_arms="keep")
    assert "metrics must be names" in refusal(path, data, metrics=[1])


def test_the_content_counts_more_than_the_name(tmp_path: Path) -> None:
    path = parquet(tmp_path / "l.csv", arm=["a"], x=[1.0])
    assert rows_of(open_log(path, metrics=["x"])) == [("a", 1.0)]


READER = """
import sys
from frontguard.logs.sources import open_log
from frontguard.errors import BadInput
try:
    log = open_log("-", metrics=["x"])
    print([(b.arms.cast(str).to_list(), b.values[0].tolist()) for b in log.batches()])
    next(log.batches())
except BadInput as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"arm,x\na,1\n", "[(['a'], [1.0])]\nstandard input can be read once only\n"),
        (b'{"arm": "a", "x": 1}\n', "[(['a'], [1.0])]\nstandard input can be read once only\n"),
        (gzip.compress(b"arm,x\na,1\n", mtime=0), "[(['a'], [1.0])]\nstandard input can be read once only\n"),
        (b"", "standard input is empty: wanted a line with the names of the columns, then rows\n"),
    ],
)
def test_standard_input(data: bytes, answer: str) -> None:
    done = subprocess.run([sys.executable, "-c", READER], input=data, capture_output=True, check=True, timeout=120)
    assert done.stdout.decode() == answer


# Studies --------------------------------------------------------------------------------------------------------------


def test_a_study_is_a_log(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    objectives = [Objective("seconds", "minimize", tolerance="5%"), Objective("size", "maximize", tolerance=1.0)]
    path = tmp_path / "study.db"
    told = []
    with Study(["a", "b"], objectives, Prescient(0.1), storage=path, name="s").storage as storage:
        study = Study.open(storage)
        for number, pull in enumerate(study.ask(10)):
            if number == 3:
                study.fail(pull, "timeout")
                told.append((pull.arm, None, None))
            else:
                study.tell(pull, [1.0 + number, 2.0 * number])
                told.append((pull.arm, 1.0 + number, 2.0 * number))
    log = open_log(path)
    assert (log.format, log.metrics, log.rows_hint) == ("study", ("seconds", "size"), 10)
    assert log.objectives == tuple(objectives)
    assert rows_of(log) == told
    assert rows_of(log) == told, "a second time"
    only = open_log(f"sqlite:///{path}", metrics=["size"])
    assert only.objectives == (objectives[1],)
    assert rows_of(only) == [(arm, size) for arm, _, size in told]
    with refused(BadInput, snapshot):
        open_log(path, metrics=["sise"])
    Study(["a"], objectives, Prescient(0.1), storage=path, name="empty").close()
    with refused(BadInput, snapshot):
        open_log(path)
    with refused(BadInput, snapshot):
        open_log(path, study="empty")
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 200)
    with pytest.raises(BadInput):
        open_log(path)


def test_messages_are_short_and_on_one_line() -> None:
    assert len(shown("x\n" * 1000)) <= 60
    assert "\n" not in error_line(ValueError("first\nsecond"))
    assert error_line(ValueError("")) == "ValueError"
    assert quoted(map(str, range(100))).endswith("and 88 more")
