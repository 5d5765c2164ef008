"""Long studies: how long it takes to open one and to ask it for a pull, as its log grows.

To open is to read the log, each record held against its checksum, and to replay it through the policy, to where the
answer is known and the next pull can be asked for. To ask is a call of `Study.ask` with a tell of what was asked for
after each, as one worker does it: the lease is written to the disk before the pull is handed out. A plan of the policy
covers some percent of what was told, so that most asks lease a pull of the last plan and a few make a new one, which
are in the mean. What the disk takes is the disk's: processor time is ours, and the clock's stands beside that of a bare
commit of SQLite.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory

import apsw
import numpy as np

from benchmarks.tables import Row, heading
from frontguard.objectives import Objective
from frontguard.storage.contract import Plan, Tell
from frontguard.storage.sqlite import SqliteStorage
from frontguard.studies.study import Study
from frontguard.theory.threats import Prescient

ARMS = 50
OBJECTIVES = (Objective("speed", "maximize"), Objective("quality", "maximize"))
SIZES = (10**4, 10**5, 10**6)
ASKS = 2000
TIMES = 3


def large_study(path: Path, pulls: int) -> None:
    """A study that nothing can end: as its policy would, it plans a few percent more each time."""
    Study(ARMS, OBJECTIVES, Prescient(0.0), storage=path, name="s", seed=0).close()
    rng = np.random.default_rng(0)
    with SqliteStorage(path) as storage:
        number = planned = 0
        while planned < pulls:
            arms = np.arange(min(max(ARMS, planned // 33), pulls - planned)) % ARMS
            number += 1
            assert storage.add_plan("s", Plan(number, planned, planned + 1, arms))
            values = rng.normal(size=(len(arms), 2)).tolist()
            told = [
                Tell(planned + i, (x, y), worker=f"w{i % 8}", at=1e9 + planned + i)
                for i, (x, y) in enumerate(values, start=1)
            ]
            storage.tell("s", told)
            planned += len(arms)


def read_storage(path: Path) -> int:
    """Its plans and told pulls, each checked against its checksum."""
    with SqliteStorage(path) as storage:
        storage.plans("s")
        return len(storage.told("s"))


def open_study(path: Path) -> int:
    """Open it and replay its log through the policy, to where the next pull can be asked for."""
    study = Study.open(path, "s")
    study.catch_up()
    result = study.result()
    study.close()
    return int(result.pulls)


def fastest(work: Callable[[Path], int], path: Path, pulls: int) -> tuple[float, float]:
    """Wall and processor time, each the shortest of a few."""
    found = []
    for _ in range(TIMES):
        begun, busy = time.perf_counter(), time.process_time()
        assert work(path) == pulls
        found.append((time.perf_counter() - begun, time.process_time() - busy))
    walls, processor = zip(*found, strict=True)
    return min(walls), min(processor)


def asking(path: Path) -> tuple[list[float], list[float]]:
    """Wall and processor times of asks, each followed by a tell that is not timed."""
    study = Study.open(path, "s")
    study.catch_up()
    values = np.random.default_rng(1).normal(size=(ASKS, 2)).tolist()  # alike for all arms: nothing is ever decided
    walls, processor = [], []
    for told in values:
        begun, busy = time.perf_counter(), time.thread_time()
        (pull,) = study.ask()
        processor.append(time.thread_time() - busy)
        walls.append(time.perf_counter() - begun)
        study.tell(pull, told)
    study.close()
    return walls, processor


def bare_commit(path: Path) -> float:
    """The median time of a commit of one row, synced as ours are."""
    db = apsw.Connection(str(path))
    assert db.pragma("journal_mode", "wal") == "wal"
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, content BLOB)")
    times = []
    for _ in range(ASKS // 4):
        begun = time.perf_counter()
        db.execute("INSERT INTO t VALUES (NULL, ?)", (bytes(40),))
        times.append(time.perf_counter() - begun)
    db.close()
    return median(times)


def main() -> Iterator[Row]:
    sqlite = f"SQLite {apsw.sqlite_lib_version()}"
    with TemporaryDirectory(prefix="benchmark-", dir=".") as folder:
        heading(f"studies of {', '.join(f'{pulls:,}' for pulls in SIZES)} pulls are written")
        paths = {pulls: Path(folder).resolve() / f"{pulls}.db" for pulls in SIZES}
        for pulls, path in paths.items():
            large_study(path, pulls)
        heading("opening")
        seconds = {}
        for what, work in (("reading all plans and told pulls", read_storage), ("opening a study", open_study)):
            for pulls, path in paths.items():
                seconds[pulls] = fastest(work, path, pulls)
                print(f"  {seconds[pulls][0]:.2f} s  {what}, {pulls:,}, {path.stat().st_size / 1e6:.0f} MB", flush=True)
            growth = seconds[10**6][1] / seconds[10**5][1]
            yield Row(f"{what}: 10⁶ told pulls / 10⁵, processor time", growth, at_most=15, beside=sqlite)
        wall, processor = seconds[10**6]
        details = f"{wall:.2f} s by the clock"
        yield Row("opening a study of 10⁶ pulls, processor time", processor, at_most=4.0, unit="s", details=details)
        heading(f"asking: {ASKS:,} times, a lease is on the disk before its pull is handed out")
        ratios = []
        for pulls, path in paths.items():
            bare = bare_commit(Path(folder) / f"bare-{pulls}.db")
            walls, busy = asking(path)
            bare = min(bare, bare_commit(Path(folder) / f"bare-{pulls}-again.db"))
            average, median_wall, longest = 1e3 * mean(busy), 1e3 * median(walls), 1e3 * max(walls)
            details = (
                f"by the clock median {median_wall:.2f} ms, longest {longest:.1f} ms; a bare commit {1e3 * bare:.2f} ms"
            )
            what = f"an ask after {pulls:,} pulls, processor time, mean of {ASKS:,}"
            yield Row(what, average, at_most=1.0, unit="ms", details=details)
            ratios.append(median(walls) / bare)
        yield Row("an ask / a bare commit that waits for the disk", max(ratios), at_most=3.0, beside=sqlite)
