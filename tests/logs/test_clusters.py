"""Logs whose rows come in clusters: every format, what tools say of theirs, what is refused, how often it is wrong."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.random import Generator
from syrupy.assertion import SnapshotAssertion

from frontguard import Answer, Objective, Prescient, Share, Threat, analyze
from frontguard.errors import BadInput
from frontguard.evidence.clusters import Clustered, ClusterReader
from frontguard.logs.checks import CLUSTER_CHANCE, Sample, looks_like_cluster, resemblance
from frontguard.logs.design import clustered_from
from frontguard.logs.sort import usable_ranges
from frontguard.logs.sources import open_log
from frontguard.notices import InClusters, LooksClustered, SizesMatter, TooFewClusters, TooFewPulls
from frontguard.pareto.judge import judge
from frontguard.verdicts import Verdict
from tests.evidence.test_clusters import highest, naive_low
from tests.logs.sources.reading import parquet
from tests.support.snapshots import refused, said

SECONDS = Objective("seconds", "minimize")


def effects(
    rng: Generator, count: int, size: int, correlation: float, arms: tuple[str, ...] = ("a", "b")
) -> dict[str, Any]:
    """Rows of equal arms, all with the median 0, in `count` processes of `size` rows each."""
    rows = count * size
    drawn = [
        np.repeat(rng.normal(0.0, math.sqrt(correlation), count), size)
        + rng.normal(0.0, math.sqrt(1.0 - correlation), rows)
        for _ in arms
    ]
    return {
        "arm": np.repeat(arms, rows),
        "process": np.tile(np.repeat(np.arange(count), size), len(arms)),
        "seconds": np.concatenate(drawn),
    }


def told(found: Answer, kind: type) -> list[Any]:
    return [each for each in found.notices if isinstance(each, kind)]


def clustered(frame: dict[str, Any], objectives: list[Objective], cluster: str = "process") -> Clustered:
    names = [each.name for each in objectives]
    log = open_log(frame, metrics=names, cluster=cluster)
    return clustered_from(log.batches(), names, [cluster], usable=usable_ranges(names, objectives))


# Intervals ------------------------------------------------------------------------------------------------------------


def by_cluster(frame: dict[str, Any], arm: str) -> list[np.ndarray]:
    table = pd.DataFrame(frame)
    return [rows["seconds"].to_numpy() for _, rows in table[table["arm"] == arm].groupby("process")]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_boxes_are_those_of_the_naive_search(direction: Any) -> None:
    rng = np.random.default_rng(1)
    frame = effects(rng, 30, 6, 0.4)
    frame["seconds"][rng.random(360) < 0.04] = np.nan
    keep = rng.random(360) < 0.8  # clusters of several sizes
    frame = {name: column[keep] for name, column in frame.items()}
    metric = Objective("seconds", direction, quantile=0.4)
    level = metric.inner_quantile
    log = clustered(frame, [metric])
    intervals = ClusterReader(log, [metric], 0.1).read(Prescient(0.05))
    for i, arm in enumerate("ab"):
        groups = by_cluster(frame, arm)
        sign = -1.0 if direction == "minimize" else 1.0
        low = naive_low([sign * each for each in groups], Prescient(0.05).keep(level), 0.1 / 4)
        high = -naive_low([-sign * each for each in groups], Prescient(0.05).keep(1.0 - level), 0.1 / 4)
        assert (intervals.lower[i, 0], intervals.upper[i, 0]) == (low, high)
        assert low <= intervals.estimates[i, 0] <= high


def test_means_are_read_from_means_of_clusters() -> None:
    rng = np.random.default_rng(2)
    frame = effects(rng, 25, 4, 0.5)
    frame["seconds"] = np.clip(frame["seconds"] / 8 + 0.5, 0.0, 1.0)
    metric = Objective("seconds", "minimize", statistic="mean", bounds=(0, 1))
    intervals = ClusterReader(clustered(frame, [metric]), [metric], 0.08).read(Prescient(0.0))
    groups = by_cluster(frame, "b")
    upper, lacking = highest(groups), highest(groups, from_above=True)  # at 0.02, which is 0.08 for two arms and sides
    assert intervals.lower[1, 0] == pytest.approx(-upper)
    assert intervals.upper[1, 0] == pytest.approx(-(1.0 - lacking))


def test_arms_with_one_row_a_cluster_are_read_at_ranks() -> None:
    rng = np.random.default_rng(3)
    frame = effects(rng, 80, 1, 0.0)
    with_clusters = analyze(frame, minimize="seconds", cluster="process")
    without = analyze(frame, minimize="seconds", cluster="none")
    np.testing.assert_array_equal(with_clusters.lower, without.lower)
    np.testing.assert_array_equal(with_clusters.upper, without.upper)
    assert with_clusters.best_guess == without.best_guess


@pytest.mark.parametrize("threat", [Prescient(0.1), Share(0.1)])
def test_it_widens_and_says_what_it_counted(threat: Threat, snapshot: SnapshotAssertion) -> None:
    frame = effects(np.random.default_rng(4), 60, 10, 0.6)
    found = analyze(frame, minimize="seconds", cluster="process", threat=threat)
    without = analyze(frame, minimize="seconds", cluster="none", threat=threat)
    assert (found.lower <= without.lower).all()
    assert (found.upper >= without.upper).all()
    (notice,) = told(found, InClusters)
    assert (notice.rows, notice.clusters, notice.least, notice.most) == (1200, 120, 60, 60)
    assert 0.45 < notice.correlation < 0.75
    assert said(notice) == snapshot
    assert found.pulls == 1200


def test_a_known_deviation_is_refused(snapshot: SnapshotAssertion) -> None:
    metric = Objective("seconds", "minimize", statistic="mean", sigma=1.0)
    frame = effects(np.random.default_rng(5), 20, 2, 0.0)
    with refused(BadInput, snapshot):
        ClusterReader(clustered(frame, [metric]), [metric], 0.05)


# Formats --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "frame", "long", "two columns", "partition"])
def test_every_format_gives_the_same(tmp_path: Path, kind: str) -> None:
    frame = effects(np.random.default_rng(6), 40, 5, 0.5)
    want = analyze(frame, minimize="seconds", cluster="process", contamination=0.02)
    table = pd.DataFrame(frame)
    log: Any = table
    more: dict[str, Any] = {"cluster": "process"}
    if kind == "csv":
        log = tmp_path / "log.csv"
        table.to_csv(log, index=False)
    elif kind == "jsonl":
        log = tmp_path / "log.jsonl"
        table.to_json(log, orient="records", lines=True, double_precision=15)
        log.write_text("".join(json.dumps(row) + "\n" for row in table.to_dict("records")))
    elif kind == "parquet":
        log = parquet(tmp_path / "log.parquet", **{name: table[name].tolist() for name in table})
    elif kind == "long":
        log = table.rename(columns={"seconds": "value"}).assign(metric="seconds")
    elif kind == "two columns":
        log = table.assign(host=table["process"] % 5, turn=table["process"] // 5).drop(columns="process")
        more = {"cluster": ["host", "turn"]}
    elif kind == "partition":
        for process, rows in table.groupby("process"):
            folder = tmp_path / f"process={process}"
            folder.mkdir()
            rows.drop(columns="process").to_csv(folder / "part.csv", index=False)
        log = tmp_path
    found = analyze(log, minimize="seconds", contamination=0.02, **more)
    np.testing.assert_array_equal(found.lower, want.lower)
    np.testing.assert_array_equal(found.upper, want.upper)
    assert np.isfinite(found.lower).all()


def test_the_long_layout_counts_pulls_within_clusters() -> None:
    """Of two metrics in different numbers the rarer one failed in the rest, cluster by cluster."""
    rows = [("a", c, metric, float(i)) for c in range(30) for metric, n in (("x", 3), ("y", 2)) for i in range(n)]
    frame = pd.DataFrame(rows, columns=["arm", "host", "metric", "value"])
    found = analyze(frame, minimize=["x", "y"], quantile=0.5, cluster="host")
    assert found.pulls == 90
    assert found.log.failed.tolist() == [[0, 30]]
    assert told(found, InClusters)[0].clusters == 30


def test_rows_that_are_filtered_are_in_no_cluster(snapshot: SnapshotAssertion) -> None:
    frame = effects(np.random.default_rng(7), 40, 5, 0.5)
    frame["process"] = np.where(frame["process"] < 5, "", frame["process"].astype(str))
    with refused(BadInput, snapshot):
        analyze(frame, minimize="seconds", cluster="process")
    frame["kept"] = np.where(frame["process"] == "", "no", "yes")
    assert analyze(frame, minimize="seconds", cluster="process", where={"kept": "yes"}).pulls == 350


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"cluster": "proces"}, "no column is called 'proces' (did you mean 'process'?)"),
        ({"cluster": "seconds"}, "arm, metrics and cluster must be different columns; got 'seconds' more than once"),
        ({"cluster": "arm"}, "arm, metrics and cluster must be different columns; got 'arm' more than once"),
        ({"cluster": ["none", "process"]}, "'none' stands for no clusters, and by itself"),
        ({"cluster": 7}, "cluster must be names of columns; got 7"),
        ({"cluster": "process", "sketch": 200}, "sketch: these rows are in clusters by 'process'"),
        ({"cluster": "process", "append": "x.state"}, "append: these rows are in clusters by 'process'"),
        ({"cluster": "process", "executor": "dask://x:1"}, "executor: cluster cannot be combined with a Dask cluster"),
        ({"cluster": "process", "memory": 1 << 20}, "rows with clusters are kept in memory"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(more: dict[str, Any], sentence: str) -> None:
    frame = effects(np.random.default_rng(8), 200, 50 if "memory" in more else 2, 0.0)
    if "executor" in more:
        frame = {"nothing": []}
    with pytest.raises(BadInput) as error:
        analyze(frame, minimize="seconds", **more)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_state_and_a_study_have_no_other_clusters(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    frame = effects(np.random.default_rng(9), 20, 2, 0.0)
    analyze(frame, minimize="seconds", append=tmp_path / "log.state", cluster="none")
    with refused(BadInput, snapshot):
        analyze(tmp_path / "log.state", minimize="seconds", cluster="process")
    assert analyze(tmp_path / "log.state", minimize="seconds", cluster="none").pulls == 80


# Tools ----------------------------------------------------------------------------------------------------------------


def pyperf(path: Path, rng: Generator, runs: int, values: int) -> Path:
    benchmarks = [
        {
            "metadata": {"name": name},
            "runs": [
                {"values": (1.0 + rng.normal() / 10 + rng.normal(size=values) / 100).tolist()} for _ in range(runs)
            ],
        }
        for name in ("a", "b")
    ]
    path.write_text(json.dumps({"benchmarks": benchmarks}))
    return path


def pytest_benchmark(path: Path, rng: Generator, rounds: int) -> Path:
    tests = [
        {"name": name, "stats": {"data": rng.normal(at, 0.01, rounds).tolist()}} for name, at in (("a", 1), ("b", 2))
    ]
    path.write_text(json.dumps({"machine_info": {}, "benchmarks": tests}))
    return path


def test_a_run_of_pyperf_is_a_cluster(tmp_path: Path) -> None:
    path = pyperf(tmp_path / "p.json", np.random.default_rng(10), 20, 3)
    found = analyze(path, contamination=0.0)
    (notice,) = told(found, InClusters)
    assert (notice.columns, notice.rows, notice.clusters, notice.most) == (("process",), 120, 40, 20)
    assert notice.correlation > 0.9
    plain = analyze(path, contamination=0.0, cluster="none")
    assert not told(plain, InClusters)
    assert (plain.upper - plain.lower < found.upper - found.lower).all()


def test_a_file_of_pytest_benchmark_is_one_cluster_and_several_are_several(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    rng = np.random.default_rng(11)
    files = [pytest_benchmark(tmp_path / f"{n:02}.json", rng, 30) for n in range(30)]
    alone = analyze(files[0])
    assert alone.counts["undecided"] == 2
    assert alone.best_guess == ["a"]
    (notice,) = told(alone, TooFewClusters)
    assert not told(alone, TooFewPulls)
    assert (notice.most, notice.arms, notice.of) == (1, 2, 2)
    assert said(notice) == snapshot
    assert notice.first <= 20
    together = analyze(files)
    assert together.verdicts == {"a": "keep", "b": "beaten"}
    assert analyze(files[0], cluster="none").verdicts == {"a": "keep", "b": "beaten"}


def test_a_run_of_hyperfine_is_a_process_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    rng = np.random.default_rng(12)
    path.write_text(json.dumps({"results": [{"command": c, "times": rng.normal(1, 0.1, 30).tolist()} for c in "ab"]}))
    assert not told(analyze(path), InClusters)


# What was not declared ------------------------------------------------------------------------------------------------


def test_the_correlation_is_estimated_by_ranks() -> None:
    rng = np.random.default_rng(13)
    clusters = np.repeat(np.arange(200), 10)
    for correlation in (0.0, 0.4, 0.9):
        values = rng.normal(0, math.sqrt(correlation), 200)[clusters] + rng.normal(
            0, math.sqrt(1 - correlation), len(clusters)
        )
        values[:: len(values) // 20] = 1e9  # a few wild ones do not matter
        found = resemblance([Sample(values, clusters), Sample(values[::-1].copy(), clusters[::-1].copy())])
        assert found is not None
        assert found.correlation == pytest.approx(correlation, abs=0.1)
        assert (found.chance < CLUSTER_CHANCE) == (correlation > 0)


def test_there_is_nothing_to_see_of_single_rows_or_single_clusters() -> None:
    values = np.arange(50.0)
    assert resemblance([Sample(values, np.arange(50))]) is None
    assert resemblance([Sample(values, np.zeros(50, np.int64))]) is None
    assert resemblance([Sample(np.ones(50), np.arange(50) % 5)]) is None


@pytest.mark.parametrize(
    ("name", "like"),
    [("host", True), ("run", True), ("run_id", True), ("runId", True), ("HOSTNAME", True), ("pid", True),
     ("worker-3", True), ("session", True), ("users", True), ("node_name", True), ("date", True),
     ("runtime", False), ("seconds", False), ("updated", False), ("weekday", False), ("pruned", False)],
)  # fmt: skip
def test_names_that_look_like_clusters(name: str, like: bool) -> None:
    assert looks_like_cluster(name) == like


@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_hosts_that_alternate_within_a_file_are_seen(tmp_path: Path, kind: str, snapshot: SnapshotAssertion) -> None:
    rng = np.random.default_rng(14)
    hosts = np.tile(np.arange(4), 100)
    frame = {"arm": np.repeat(["a", "b"], 200), "host": hosts, "seconds": rng.normal(1 + 0.3 * (hosts == 1), 0.2)}
    log: Any = frame
    if kind == "csv":
        log = tmp_path / "log.csv"
        pd.DataFrame(frame).to_csv(log, index=False)
    (notice,) = told(analyze(log, minimize="seconds"), LooksClustered)
    assert (notice.column, notice.objective) == ("host", "seconds")
    assert notice.correlation > 0.15
    assert said(notice) == snapshot
    assert not told(analyze(log, minimize="seconds", cluster="host"), LooksClustered)
    assert not told(analyze(log, minimize="seconds", cluster="none"), LooksClustered)


def test_hosts_of_declared_processes_are_seen(snapshot: SnapshotAssertion) -> None:
    rng = np.random.default_rng(15)
    process = np.tile(np.repeat(np.arange(40), 5), 2)
    host = process % 4
    shift = rng.normal(0, 0.1, 4)[host] + rng.normal(0, 0.05, 40)[process]
    frame = {"arm": np.repeat(["a", "b"], 200), "host": host, "process": process, "seconds": shift}
    frame["seconds"] = 1 + shift + rng.normal(0, 0.05, 400)
    (notice,) = told(analyze(frame, minimize="seconds", cluster="process"), LooksClustered)
    assert (notice.column, notice.rows) == ("host", 10)
    assert said(notice) == snapshot
    assert not told(analyze(frame, minimize="seconds", cluster="host"), LooksClustered)
    frame["seconds"] = rng.normal(0, 0.05, 40)[process] + rng.normal(1, 0.05, 400)
    assert not told(analyze(frame, minimize="seconds", cluster="process"), LooksClustered)


def test_sizes_that_go_with_values_are_seen(snapshot: SnapshotAssertion) -> None:
    """Slow hosts have ten times as many rows: all rows say something else than a host drawn at random."""
    rng = np.random.default_rng(16)
    slow = np.arange(60) % 6 == 0
    host = np.repeat(np.arange(60), np.where(slow, 50, 2))
    values = np.where(slow, 3.0, 1.0)[host] + rng.normal(0, 0.05, len(host))
    frame = {"arm": ["a"] * len(host), "host": host, "seconds": values}
    (notice,) = told(analyze(frame, minimize="seconds", cluster="host"), SizesMatter)
    assert said(notice) == snapshot
    frame["seconds"] = rng.normal(1, 0.05, len(host))
    assert not told(analyze(frame, minimize="seconds", cluster="host"), SizesMatter)


def false_hints(rng: Generator, logs: int) -> int:
    """Hints of clean samples of several shapes and sizes, as `undeclared` would give them for three columns."""
    found = 0
    for _ in range(logs):
        arms, count, size = int(rng.integers(1, 20)), int(rng.integers(2, 30)), int(rng.integers(2, 20))
        draw = [rng.normal, rng.exponential, rng.standard_cauchy][int(rng.integers(3))]
        values = [np.round(draw(size=count * size), 1) for _ in range(arms)]
        for _ in range(3):
            clusters = rng.integers(0, count, count * size)
            seen = resemblance([Sample(each, clusters) for each in values])
            found += seen is not None and 3 * seen.chance <= CLUSTER_CHANCE
    return found


def test_clean_logs_hardly_ever_warn() -> None:
    assert false_hints(np.random.default_rng(15), 400) <= 4  # one percent; 0.4 are expected


# How often it is wrong ------------------------------------------------------------------------------------------------

CELLS = [(count, size, r) for count, size in ((20, 5), (20, 25), (1, 300)) for r in (0.0, 0.37, 0.9)]


def false_outs(count: int, size: int, correlation: float, logs: int) -> int:
    """In how many logs of two equal arms one is called certainly beaten, at a promised 5 %."""
    rng = np.random.default_rng([count, size, round(100 * correlation)])
    starts, begins = np.array([[0, count * size, 2 * count * size]]), np.array([0, count, 2 * count])
    wrong = 0
    for _ in range(logs):
        frame = effects(rng, count, size, correlation)
        halves = [
            (x := frame["seconds"][s], np.argsort(x)) for s in (slice(0, count * size), slice(count * size, None))
        ]
        log = Clustered(
            ["a", "b"], ("seconds",), np.full(2, count * size), starts,
            (np.concatenate([values[order] for values, order in halves]),),
            columns=("process",), begins=begins, sizes=np.full(2 * count, size),
            owners=(np.concatenate([order // size for _, order in halves]),), labels=np.tile(np.arange(count), 2),
        )  # fmt: skip
        intervals = ClusterReader(log, [SECONDS], 0.05).read(Prescient(0.0))
        wrong += bool((judge(intervals, 0.0, 0.0, 0.0).codes == Verdict.BEATEN).any())
    return wrong


@pytest.mark.parametrize(("count", "size", "correlation"), CELLS)
def test_equal_arms_are_told_apart_in_five_percent_at_most(count: int, size: int, correlation: float) -> None:
    assert false_outs(count, size, correlation, 200) <= 10


@pytest.mark.audit
@pytest.mark.parametrize(("count", "size", "correlation"), CELLS)
def test_equal_arms_are_told_apart_in_five_percent_at_most_of_many(count: int, size: int, correlation: float) -> None:
    assert false_outs(count, size, correlation, 2000) <= 100


def test_without_clusters_they_would_be_told_apart_falsely() -> None:
    rng = np.random.default_rng(16)
    frames = [effects(rng, 20, 25, 0.9) for _ in range(20)]
    outs = [analyze(frame, minimize="seconds", contamination=0, profile=False, cluster="none") for frame in frames]
    assert sum(found.counts["beaten"] > 0 for found in outs) >= 4


@pytest.mark.audit
def test_clean_logs_hardly_ever_warn_of_many() -> None:
    assert false_hints(np.random.default_rng(17), 5000) <= 50
