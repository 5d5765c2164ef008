"""What every reader promises (`reader.LogTable`), asked of all of them: add a sample here, and a new one is asked too.

Every sample holds the same six pulls of two arms, one of them failed.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Prescient
from frontguard.errors import BadInput
from frontguard.logs.analyze import analyze
from frontguard.logs.sources import Log, open_log
from frontguard.logs.sources.log import FORMATS
from frontguard.logs.sources.reader import BATCH, LogTable, Picked
from frontguard.studies import Study
from tests.logs.sources.reading import parquet, rows_of
from tests.support.snapshots import refused

PULLS = [("b", 1.5), ("a", 2.0), ("b", 2.5), ("a", None), ("a", 3.5), ("b", 4.0)]
BY_ARM = [("b", 1.5), ("b", 2.5), ("b", 4.0), ("a", 2.0), ("a", None), ("a", 3.5)]  # tools keep them so
ARMS, VALUES = [arm for arm, _ in PULLS], [value for _, value in PULLS]


def as_csv(path: Path) -> Path:
    path.write_text("arm,seconds\n" + "".join(f"{arm},{'' if x is None else x}\n" for arm, x in PULLS))
    return path


def as_jsonl(path: Path) -> Path:
    path.write_text("".join(json.dumps({"arm": arm, "seconds": x}) + "\n" for arm, x in PULLS))
    return path


def as_list(path: Path) -> Path:
    path.write_text(json.dumps([{"arm": arm, "seconds": x} for arm, x in PULLS]))
    return path


def as_parquet(path: Path) -> Path:
    return parquet(path, arm=ARMS, seconds=VALUES)


def as_document(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(json.dumps(document))
    return path


def times(arm: str) -> list[float | None]:
    return [x for name, x in PULLS if name == arm]


def as_hyperfine(path: Path) -> Path:
    return as_document(path, {"results": [{"command": arm, "times": times(arm)} for arm in "ba"]})


def as_pyperf(path: Path) -> Path:
    runs = [{"metadata": {"name": arm}, "runs": [{"values": [x]} for x in times(arm)]} for arm in "ba"]
    return as_document(path, {"benchmarks": runs})


def as_pytest_benchmark(path: Path) -> Path:
    tests = [{"name": arm, "stats": {"data": times(arm)}} for arm in "ba"]
    return as_document(path, {"machine_info": {}, "benchmarks": tests})


def as_study(path: Path) -> Path:
    with Study(["a", "b"], [Objective("seconds", "minimize")], Prescient(0.1), storage=path).storage as storage:
        study = Study.open(storage)
        waiting = {arm: times(arm) for arm in "ab"}
        for pull in study.ask(20):
            if waiting[pull.arm]:
                value = waiting[pull.arm].pop(0)
                study.fail(pull, "lost") if value is None else study.tell(pull, [value])
        study.give_back()  # what nobody began: what is under way is a row without values
    return path


def as_columns(path: Path) -> dict[str, Any]:
    return {"arm": ARMS, "seconds": VALUES}


def as_arrow(path: Path) -> Any:
    import pyarrow as pa

    return pa.table(as_columns(path))


def as_pandas(path: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(as_columns(path))


def as_polars(path: Path) -> Any:
    return polars.DataFrame(as_columns(path))


SAMPLES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "log.csv": ("csv", as_csv),
    "log.parquet": ("parquet", as_parquet),
    "log.jsonl": ("jsonl", as_jsonl),
    "list.json": ("jsonl", as_list),
    "hyperfine.json": ("hyperfine", as_hyperfine),
    "pyperf.json": ("pyperf", as_pyperf),
    "tests.json": ("pytest-benchmark", as_pytest_benchmark),
    "study.db": ("study", as_study),
    "columns": ("frame", as_columns),
    "arrow": ("frame", as_arrow),
    "pandas": ("frame", as_pandas),
    "polars": ("frame", as_polars),
}


def test_every_format_has_a_sample() -> None:
    assert {format for format, _ in SAMPLES.values()} == {*FORMATS, "frame"}


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Any]:
    format, make = SAMPLES[request.param]
    return format, make(tmp_path / request.param)


def table_of(log: Log) -> LogTable:
    assert log._first is not None
    return log._first


def test_all_rows_come_in_their_order_and_again_when_opened_again(sample: tuple[str, Any]) -> None:
    format, where = sample
    log = open_log(where, metrics=["seconds"])
    assert log.format == format
    found = rows_of(log)
    if format == "study":
        assert sorted(found, key=repr) == sorted(PULLS, key=repr)
    else:
        assert found in (PULLS, BY_ARM)
    assert log.rows_read == len(PULLS)
    assert rows_of(log) == found, "a second time"
    assert log.notes == []
    assert log.rows_hint in (None, len(PULLS))


def test_the_picked_columns_and_no_others_in_their_order(sample: tuple[str, Any]) -> None:
    _, where = sample
    table = table_of(open_log(where, metrics=["seconds"]))
    assert {"arm", "seconds"} <= set(table.names)
    pieces = list(table.rows(Picked("wide", ("arm",), ("seconds",))))
    assert sum(map(len, pieces)) == len(PULLS)
    for piece in pieces:
        assert piece.schema == {"arm": polars.String, "seconds": polars.Float64}
        assert len(piece) <= BATCH
    rows = [(arm, None if math.isnan(x) else x) for piece in pieces for arm, x in piece.fill_null(math.nan).rows()]
    assert sorted(rows, key=repr) == sorted(PULLS, key=repr)


def test_a_column_that_is_not_there_is_refused_in_one_line_when_it_is_opened(
    sample: tuple[str, Any], snapshot: SnapshotAssertion
) -> None:
    _, where = sample
    with refused(BadInput, snapshot) as caught:
        open_log(where, metrics=["secnds"])
    line = str(caught.value)
    assert "\n" not in line
    assert isinstance(where, (str, Path)) is (str(where) in line)


@pytest.mark.parametrize("name", [name for name, (format, _) in SAMPLES.items() if format != "frame"])
def test_a_file_that_was_cut_is_refused_in_one_line_that_names_it(name: str, tmp_path: Path) -> None:
    format, make = SAMPLES[name]
    path = make(tmp_path / name)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b",")] if format in ("csv", "jsonl") else whole[: len(whole) // 2])
    with pytest.raises(BadInput) as caught:
        rows_of(open_log(path, metrics=["seconds"], format=format))
    line = str(caught.value)
    assert "\n" not in line
    assert str(path) in line


WITH_POLARS_ALONE = """
import sys
for package in ("pyarrow", "pandas", "narwhals"):
    sys.modules[package] = None  # an import of it fails
from frontguard import analyze
for path in sys.argv[1:]:
    print(sorted(analyze(path, arm="arm", minimize="seconds").arms))
"""


def test_files_are_analysed_with_polars_alone(tmp_path: Path) -> None:
    names = ["log.csv", "log.parquet", "log.jsonl", "hyperfine.json"]
    paths = [str(SAMPLES[name][1](tmp_path / name)) for name in names]
    command = [sys.executable, "-c", WITH_POLARS_ALONE, *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert (done.stderr, done.stdout.splitlines()) == ("", ["['a', 'b']"] * len(names))


def test_a_polars_frame_is_answered_by_one() -> None:
    found = analyze(as_polars(Path()), arm="arm", minimize="seconds")
    assert isinstance(found.to_frame(), polars.DataFrame)


def test_a_library_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    where = as_csv(tmp_path / "log.csv")
    monkeypatch.setitem(sys.modules, "polars", None)
    with refused(BadInput, snapshot):
        open_log(where, metrics=["seconds"])
    with pytest.raises(BadInput):
        open_log(as_columns(tmp_path), metrics=["seconds"])
