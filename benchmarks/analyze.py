"""`frontguard analyze --json` of a large log beside `median by arm` of Polars: fresh processes, from start to exit.

10 million rows, 50,000 arms with whole numbers as names, two metrics, read from Parquet and from CSV. All arms are
equal, which is the most work: none is out, and of each it is asked what would settle it. A third log, in Parquet, has
arms that differ, as those of most logs do. It is all that a user waits for, with Python's own start, imports (kernels
are compiled before), reading, grouping, sorting, intervals, verdicts and the JSON of all arms, written to a file.
Polars reads the same file and finds the medians alone. In turns; by the clock and in processor time, each the shortest
of a few. FRONTGUARD_BENCH_SCALE=0.1 makes the logs shorter; FRONTGUARD_BENCH_FOLDER says where they are written (and
removed again).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.processes import Run, fresh
from benchmarks.tables import Row, heading, peer

SCALE = float(os.environ.get("FRONTGUARD_BENCH_SCALE", "1"))
ROWS, ARMS = int(10_000_000 * SCALE), int(50_000 * SCALE)
METRICS = ["speed", "quality"]
TIMES = 5

MEDIANS = """
import sys
import polars as pl
path, engine = sys.argv[1:]
log = pl.scan_parquet(path) if path.endswith(".parquet") else pl.scan_csv(path)
medians = log.group_by("arm").agg(pl.col("speed", "quality").median()).collect(engine=engine)
assert medians.height, "no arms"
"""


EQUAL, DIFFERENT = "arms", "arms that differ"


def write_logs(folder: Path) -> list[tuple[str, str, Path]]:
    """What arms are like, the format and the file: the same rows as Parquet and as CSV, and others as Parquet."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(3)
    columns = {
        "arm": rng.integers(0, ARMS, ROWS),
        "speed": rng.lognormal(size=ROWS).round(6),
        "quality": rng.normal(size=ROWS).round(6),
    }
    table = pa.table(columns)
    paths = [folder / "log.parquet", folder / "log.csv", folder / "different.parquet"]
    pa.parquet.write_table(table, paths[0])
    pa.csv.write_csv(table, paths[1])
    # What is quick is mostly less good; arms lie further apart than the values of one do.
    quick = rng.normal(size=ARMS)
    good = rng.normal(size=ARMS) - 0.3 * quick
    for name, centres in (("speed", quick), ("quality", good)):
        columns[name] = (rng.normal(size=ROWS) + 3.0 * centres[columns["arm"]]).round(6)
    pa.parquet.write_table(pa.table(columns), paths[2])
    os.sync()  # or the system would write them to its disk while the first of them is measured
    return list(zip((EQUAL, EQUAL, DIFFERENT), ("Parquet", "CSV", "Parquet"), paths, strict=True))


def shortest(runs: list[Run]) -> tuple[float, float]:
    """By the clock, and of processors."""
    return min(run.wall for run in runs), min(run.processor for run in runs)


def main() -> Iterator[Row]:
    place = os.environ.get("FRONTGUARD_BENCH_FOLDER")
    with tempfile.TemporaryDirectory(dir=place) as name:
        heading(f"{ROWS:,} rows of {ARMS:,} arms, 2 metrics, are written")
        folder = Path(name)
        for arms, kind, path in write_logs(folder):
            heading(f"{kind}, {arms}: analyze --json / median by arm, fresh processes in turns, {TIMES} times")
            command = str(Path(sys.executable).with_name("frontguard"))
            ours = [command, "analyze", str(path), "--maximize", "speed", "--maximize", "quality", "--json"]
            theirs = {each: [sys.executable, "-c", MEDIANS, str(path), each] for each in ("in-memory", "streaming")}
            answer = folder / "answer.json"
            fresh(ours, output=answer)  # compiles what is not compiled yet, and has the file in memory
            assert len(json.loads(answer.read_bytes())["verdicts"]) == ARMS
            runs: dict[str, list[Run]] = {each: [] for each in ("ours", *theirs)}
            for _ in range(TIMES):
                runs["ours"].append(fresh(ours, output=answer))
                for each, arguments in theirs.items():
                    runs[each].append(fresh(arguments))
            found = {each: shortest(measured) for each, measured in runs.items()}
            for each, (wall, processor) in found.items():
                print(f"  {wall:6.2f} s by the clock, {processor:6.2f} s of processors: {each}", flush=True)
            for clock, what in ((0, "by the clock"), (1, "processor time")):
                best = min(theirs, key=lambda each: found[each][clock])
                mine, other = found["ours"][clock], found[best][clock]
                details = f"{mine:.2f} s, Polars ({best}) {other:.2f} s"
                of_them = f", {arms}" if arms == DIFFERENT else ""
                yield Row(
                    f"analyze of {kind}{of_them} / median by arm, {what}",
                    mine / other,
                    at_most=2.0,
                    details=details,
                    beside=peer("polars"),
                )
