"""Results of hyperfine, pyperf and pytest-benchmark, from the tools themselves where they can be run here.

The samples were written by hyperfine 1.15; the schemas before and after it are spelled out below.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.logs.sources import Log, open_log
from tests.support.snapshots import refused

SAMPLES = Path(__file__).parent / "samples"


def pulls(log: Log) -> dict[str, list[list[float]]]:
    """Values by arm: a list of rows."""
    found: dict[str, list[list[float]]] = {}
    for batch in log.batches():
        for arm, *values in zip(batch.arms.to_list(), *(column.tolist() for column in batch.values), strict=True):
            found.setdefault(arm, []).append(values)
    return found


def written(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


# hyperfine ------------------------------------------------------------------------------------------------------------


def test_hyperfine_with_parameters() -> None:
    path = SAMPLES / "hyperfine_parameters.json"
    document = json.loads(path.read_text())
    log = open_log(path)
    assert (log.format, log.metrics, log.arm) == ("hyperfine", ("seconds",), ("arm",))
    found = pulls(log)
    # mode is not part of the command, so that two results have each of them.
    assert sorted(found) == [f"head -c {n} /dev/zero (mode={m}, size={n})" for n in "12" for m in "ab"]
    for result in document["results"]:
        name = f"{result['command']} (mode={result['parameters']['mode']}, size={result['parameters']['size']})"
        assert found[name] == [[value] for value in result["times"]]
    by_size = pulls(open_log(path, arm="size", metrics=["seconds"]))
    assert {size: len(rows) for size, rows in by_size.items()} == {"1": 8, "2": 8}
    both = pulls(open_log(path, arm=["size", "mode"]))
    assert sorted(both) == ["1/a", "1/b", "2/a", "2/b"]


def test_hyperfine_runs_that_failed_by_exit_code() -> None:
    path = SAMPLES / "hyperfine_failures.json"
    flaky, steady = json.loads(path.read_text())["results"]
    assert set(flaky["exit_codes"]) == {0, 3}, "the sample has both"
    found = pulls(open_log(path))
    for (value,), time, code in zip(found[flaky["command"]], flaky["times"], flaky["exit_codes"], strict=True):
        assert value == time if code == 0 else math.isnan(value)
    assert found["true"] == [[value] for value in steady["times"]]


def test_hyperfine_early_schema(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """Up to 1.10: one `parameter` without a name, no exit codes, no median before 1.6."""
    results = [
        {
            "command": "sort",
            "mean": 2,
            "stddev": 1,
            "user": 1.0,
            "system": 0.1,
            "min": 1,
            "max": 3,
            "times": [1, 3],
            "parameter": p,
        }
        for p in ("10", "20")
    ]
    path = written(tmp_path / "old.json", {"results": results})
    assert pulls(open_log(path)) == {"sort (parameter=10)": [[1.0], [3.0]], "sort (parameter=20)": [[1.0], [3.0]]}
    with refused(BadInput, snapshot):
        open_log(path, metrics=["seconds", "user"])


def test_hyperfine_memory_beside_times(tmp_path: Path) -> None:
    """From 1.19: a list with the peak memory of every run; null for a run that a signal ended."""
    result = {
        "command": "x",
        "times": [1.0, 2.0, 4.0],
        "memory_usage_byte": [100, 200, 300],
        "exit_codes": [0, None, 0],
    }
    path = written(tmp_path / "memory.json", {"results": [result]})
    found = pulls(open_log(path, metrics=["seconds", "memory"]))["x"]
    np.testing.assert_array_equal(found, [[1.0, 100.0], [np.nan, np.nan], [4.0, 300.0]])


@pytest.mark.parametrize("nested", [False, True])
def test_hyperfine_schema_of_measurements(tmp_path: Path, nested: bool) -> None:
    def run(wall: float, code: int | None) -> dict[str, Any]:
        time = {"time_wall_clock": wall, "time_user": wall / 2, "time_system": wall / 4}
        record: dict[str, Any] = {name: {"value": value, "unit": "second"} for name, value in time.items()}
        return record | {"peak_memory_usage": {"value": 4096.0, "unit": "byte"}, "exit_code": code}

    runs: Any = [run(1.0, 0), run(2.0, 1), run(3.0, None)]
    result = {"command": "x", "measurements": {"measurements": runs} if nested else runs, "parameters": {"n": "1"}}
    path = written(tmp_path / "new.json", {"results": [result]})
    found = pulls(open_log(path, metrics=["seconds", "user", "system", "memory"]))
    np.testing.assert_array_equal(found["x"], [[1.0, 0.5, 0.25, 4096.0], [np.nan] * 4, [np.nan] * 4])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"times": None}, "result 1, times: wanted a list of numbers; got None"),
        ({"times": [1.0, "2"]}, "result 1, times: wanted a number; got '2'"),
        ({"times": [1.0, True]}, "wanted a number; got True"),
        ({"exit_codes": [0]}, "its lists must have one length; got 1, 2"),
        ({"command": 7}, "'command' must be a text; got 7"),
        ({"measurements": 5}, "'measurements' must be a list; got 5"),
        ({"measurements": [{"time_wall_clock": {"value": 1, "unit": "hour"}}]}, "the unit must be one of second, byte"),
    ],
)
def test_hyperfine_that_is_wrong(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = written(tmp_path / "h.json", {"results": [{"command": "x", "times": [1.0, 2.0]} | change]})
    with pytest.raises(BadInput) as refused:
        open_log(path)
    assert message in str(refused.value)


def test_hyperfine_without_times_says_how_to_have_them(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = written(tmp_path / "h.json", {"results": [{"command": "x", "mean": 1.0}]})
    with refused(BadInput, snapshot):
        open_log(path)


def test_several_files_are_one_log_and_equal_commands_one_arm(tmp_path: Path) -> None:
    written(tmp_path / "1.json", {"results": [{"command": "x", "times": [1.0]}]})
    written(tmp_path / "2.json", {"results": [{"command": "x", "times": [2.0]}, {"command": "y", "times": [3.0]}]})
    assert pulls(open_log(tmp_path)) == {"x": [[1.0], [2.0]], "y": [[3.0]]}
    assert pulls(open_log(str(tmp_path / "*.json"))) == pulls(open_log(tmp_path))


# pyperf ---------------------------------------------------------------------------------------------------------------


def suite(path: Path, values: int = 3) -> dict[str, list[float]]:
    """Two benchmarks as pyperf itself writes them, with warm-ups and a run that only calibrates."""
    import pyperf

    random = np.random.default_rng(5)
    kept: dict[str, list[float]] = {}
    benchmarks = []
    for name in ("sum", "len"):
        runs = [
            pyperf.Run([], warmups=[(1, 9.0)], metadata={"name": name, "calibrate_loops": 1}, collect_metadata=False)
        ]
        for _ in range(4):
            measured = random.lognormal(size=values).tolist()
            kept.setdefault(name, []).extend(measured)
            about = {"name": name, "mem_max_rss": 1_000_000 + len(kept[name])}
            runs.append(pyperf.Run(measured, warmups=[(1, 99.0)], metadata=about, collect_metadata=False))
        benchmarks.append(pyperf.Benchmark(runs))
    pyperf.BenchmarkSuite(benchmarks).dump(str(path))
    return kept


def test_pyperf(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    kept = suite(tmp_path / "p.json")
    log = open_log(tmp_path / "p.json")
    assert (log.format, log.metrics) == ("pyperf", ("seconds",))
    assert pulls(log) == {name: [[value] for value in values] for name, values in kept.items()}
    with refused(BadInput, snapshot):
        open_log(tmp_path / "p.json", metrics=["memory"])


def test_pyperf_packed_and_with_memory_where_a_run_has_one_value(tmp_path: Path) -> None:
    kept = suite(tmp_path / "p.json", values=1)
    (tmp_path / "q.json.gz").write_bytes(gzip.compress((tmp_path / "p.json").read_bytes()))
    found = pulls(open_log(tmp_path / "q.json.gz", metrics=["seconds", "memory"]))
    assert found["sum"] == [[value, 1_000_001.0 + index] for index, value in enumerate(kept["sum"])]


def test_pyperf_of_bytes_is_named_by_its_unit(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    import pyperf

    run = pyperf.Run([10, 12], metadata={"name": "m", "unit": "byte"}, collect_metadata=False)
    pyperf.BenchmarkSuite([pyperf.Benchmark([run])]).dump(str(tmp_path / "p.json"))
    log = open_log(tmp_path / "p.json")
    assert log.metrics == ("bytes",)
    assert pulls(log) == {"m": [[10.0], [12.0]]}
    with refused(BadInput, snapshot):
        open_log(tmp_path / "p.json", metrics=["byts"])


# pytest-benchmark -----------------------------------------------------------------------------------------------------

TESTS = """
import pytest

@pytest.mark.parametrize("n", [10, 100])
def test_sum(benchmark, n):
    benchmark.pedantic(sum, args=(range(n),), rounds=5, iterations=3)
"""


def run_benchmarks(folder: Path, *options: str) -> None:
    (folder / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "test_it.py"]
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120, env=outside)


def test_pytest_benchmark(tmp_path: Path) -> None:
    run_benchmarks(tmp_path, "--benchmark-json=b.json")
    document = json.loads((tmp_path / "b.json").read_text())
    kept = {each["name"]: [[value] for value in each["stats"]["data"]] for each in document["benchmarks"]}
    assert set(kept) == {"test_sum[10]", "test_sum[100]"}
    log = open_log(tmp_path / "b.json")
    assert (log.format, log.metrics) == ("pytest-benchmark", ("seconds",))
    assert pulls(log) == kept
    assert pulls(open_log(tmp_path / "b.json", arm="n")) == {"10": kept["test_sum[10]"], "100": kept["test_sum[100]"]}


def test_pytest_benchmark_without_data_says_which_option_keeps_them(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    run_benchmarks(tmp_path, "--benchmark-save=x", f"--benchmark-storage={(tmp_path / 'store').as_uri()}")
    (path,) = (tmp_path / "store").rglob("*.json")
    with refused(BadInput, snapshot):
        open_log(path)


def test_tests_of_one_name_in_two_files_are_told_apart(tmp_path: Path) -> None:
    each = [
        {"name": "t", "fullname": f"{file}::t", "stats": {"data": [value]}}
        for file, value in (("a.py", 1.0), ("b.py", 2.0))
    ]
    path = written(tmp_path / "b.json", {"machine_info": {}, "benchmarks": each})
    assert pulls(open_log(path)) == {"a.py::t": [[1.0]], "b.py::t": [[2.0]]}


# Others ---------------------------------------------------------------------------------------------------------------


def test_a_document_of_another_kind_and_one_that_was_cut(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = written(tmp_path / "x.json", {"hello": 1, "world": 2})
    path.write_text(json.dumps({"hello": 1}, indent=1))
    with refused(BadInput, snapshot):
        open_log(path)
    whole = (SAMPLES / "hyperfine_failures.json").read_text()
    path.write_text(whole[: len(whole) // 2])
    with refused(BadInput, snapshot):
        open_log(path)
    with refused(BadInput, snapshot):
        open_log(SAMPLES / "hyperfine_failures.json", format="pyperf")
    with refused(BadInput, snapshot):
        open_log(written(path, {"results": []}))
