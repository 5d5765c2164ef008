"""Logs on one machine: reading, grouping and sorting beside the medians by arm of Polars and DuckDB, and out of core.

Takes minutes and some gigabytes of disk, so it runs by name only: `python -m benchmarks logs`. With
FRONTGUARD_BENCH_SCALE=0.1 all logs are a tenth as long; FRONTGUARD_BENCH_FOLDER says where they are written (and
removed again).

Memory is measured from outside: what is sorted out of core is sorted by a process of its own, whose VmHWM (the most
that it ever had in memory, pages of mapped files included) is read from /proc while it waits to be let go.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import Row, heading, peer

SCALE = float(os.environ.get("FRONTGUARD_BENCH_SCALE", "1"))
METRICS = ["speed", "quality"]
TIMES = 3
MEMORY = max(1 << 20, int(SCALE * (1 << 29)))
"""Bytes for the rows out of core: the smallest of the three logs does not fit either."""
MOST_MEMORY = 8 * 2**30


def write_log(path: Path, rows: int, arms: int, seed: int) -> None:
    """Parquet with texts as arms and two metrics, one value in a hundred missing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    names = pa.array([f"arm-{number:07d}" for number in range(arms)])
    writer = None
    for start in range(0, rows, 1_000_000):
        count = min(1_000_000, rows - start)
        missing = rng.random(count) < 0.01
        columns = {
            "arm": names.take(pa.array(rng.integers(0, arms, count))),
            "speed": pa.array(rng.lognormal(size=count), mask=missing),
            "quality": pa.array(rng.normal(size=count)),
        }
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def ours(paths: list[Path], memory: int | None = None, folder: Path | None = None) -> Any:
    """Read, group and sort: all that is needed before intervals are read at ranks."""
    from frontguard.logs.sort import ordered_from
    from frontguard.logs.sources import open_log

    log = open_log(paths, arm="arm", metrics=METRICS, format="parquet")
    return ordered_from(log.batches(), METRICS, memory=memory, folder=folder)


def polars_medians(path: Path, engine: str) -> Callable[[], Any]:
    import polars as pl

    query = pl.scan_parquet(path).group_by("arm").agg(pl.col(METRICS).median())
    kind: Any = engine
    return lambda: query.collect(engine=kind)


def duckdb_medians(path: Path) -> Callable[[], Any]:
    import duckdb

    query = f"SELECT arm, median(speed) AS speed, median(quality) AS quality FROM '{path}' GROUP BY arm"
    connection: Any = duckdb
    return lambda: connection.sql(query).to_arrow_table()


def middle_of(log: Any, metric: int, more: int) -> Any:
    """The lower (1) or upper (2) median of each arm, all of which have values."""
    return log.at(metric, np.arange(len(log.pulls)), (log.good[metric] + more) // 2)


def check_against(log: Any, medians: Any) -> None:
    """The rivals and we must have the same medians."""
    table = medians.sort("arm")
    assert table["arm"].to_list() == list(log.arms)
    for metric, name in enumerate(METRICS):
        middle = 0.5 * (middle_of(log, metric, 1) + middle_of(log, metric, 2))
        np.testing.assert_allclose(middle, table[name].to_numpy(), rtol=1e-12, atol=1e-15)  # how halves are added


def beside_medians(folder: Path) -> list[Row]:
    rows, arms = int(20_000_000 * SCALE), int(100_000 * SCALE)
    path = folder / "medians.parquet"
    write_log(path, rows, arms, seed=1)
    rivals = {
        "Polars": polars_medians(path, "in-memory"),
        "Polars, streaming": polars_medians(path, "streaming"),
        "DuckDB": duckdb_medians(path),
    }
    check_against(ours([path]), rivals["Polars, streaming"]())  # also warms up
    seconds: dict[str, float] = {}
    for _ in range(TIMES):  # in turns, so that all meet the machine in the same moods
        for name, run in {"ours": lambda: ours([path]), **rivals}.items():
            began = time.perf_counter()
            run()
            seconds[name] = min(seconds.get(name, np.inf), time.perf_counter() - began)
    path.unlink()
    fastest = min(rivals, key=seconds.__getitem__)
    heading(f"{rows:,} rows, {arms:,} arms, 2 metrics in Parquet: read, grouped and sorted / median by arm")
    for name in rivals:
        print(f"  {seconds[name]:.2f} s  {name}", flush=True)
    return [
        Row(
            "read, grouped and sorted / the fastest median by arm",
            seconds["ours"] / seconds[fastest],
            at_most=1.5,
            details=f"ours {seconds['ours']:.2f} s, {fastest} {seconds[fastest]:.2f} s",
            beside=peer("polars", "duckdb"),
        )
    ]


def out_of_core(folder: Path) -> list[Row]:
    parts, arms = 10, int(1_000_000 * SCALE)
    paths = [folder / f"part-{number}.parquet" for number in range(parts)]
    for number, path in enumerate(paths):
        write_log(path, int(10_000_000 * SCALE), arms, seed=10 + number)
    rows = []
    heading(f"out of core, {arms:,} arms, {MEMORY >> 20:,} MiB for rows: time for a row, relative to the shortest log")
    base = None
    for files in (2, 5, 10):
        found = run_apart(paths[:files], folder)
        each = found["seconds"] / found["rows"]
        base = base or each
        details = f"{found['seconds']:.1f} s, {each * 1e9:.0f} ns a row"
        what = f"out of core, {found['rows']:,} rows"
        rows.append(Row(f"{what}: a row / a row of the shortest", each / base, at_most=1.25, details=details))
        rows.append(Row(f"{what}: peak memory", found["VmHWM"] / 2**30, at_most=MOST_MEMORY / 2**30, unit="GiB"))
    return rows


def run_apart(paths: list[Path], folder: Path) -> dict[str, Any]:
    """Sort in a process of its own; what it found, with the most memory that it had."""
    command = [sys.executable, "-m", "benchmarks.logs", str(folder), *map(str, paths)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found: dict[str, Any] = json.loads(process.stdout.readline())
        status = Path(f"/proc/{process.pid}/status").read_text()
        found["VmHWM"] = next(1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
        process.communicate("done\n")
    return found


def sort_apart(folder: Path, paths: list[Path]) -> None:
    """What `run_apart` starts."""
    write_log(folder / "small.parquet", 100_000, 10, seed=0)
    ours([folder / "small.parquet"], 1 << 20, folder)  # loads the kernels
    began = time.perf_counter()
    log = ours(paths, MEMORY, folder)
    middle = [middle_of(log, metric, 1) for metric in range(len(METRICS))]
    seconds = time.perf_counter() - began
    assert all(np.isfinite(each).all() for each in middle)
    rows = int(log.pulls.sum())
    print(json.dumps({"seconds": seconds, "rows": rows, "arms": len(log.arms)}), flush=True)
    sys.stdin.readline()


def main() -> list[Row]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("FRONTGUARD_BENCH_FOLDER")) as name:
        return beside_medians(Path(name)) + out_of_core(Path(name))


if __name__ == "__main__":
    sort_apart(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
