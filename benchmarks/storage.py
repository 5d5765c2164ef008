"""Durable tells a second, with 8 processes on one disk: ours, Optuna's on SQLite, and bare commits of SQLite itself.

Timed is telling alone: trials and pulls are made beforehand. The contestants take turns in short rounds, because the
speed of a disk changes from minute to minute; each round has a new file in the current folder. All commits are synced
in full: Optuna's in the rollback journal that it uses as it comes, with the SQLite of Python itself; ours and
the bare ones in a write-ahead log. The bare ones insert a row of 40 bytes and wait for each other as ours do.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import numpy as np

from benchmarks.tables import Row, heading, peer
from frontguard.storage.contract import Plan, Tell
from frontguard.storage.sqlite.storage import SqliteStorage

WORKERS = 8
SECONDS = 3.0  # a round
ROUNDS = 5
PULLS = 40_000  # for each worker and round: more than can be told

Work = Callable[[], int]  # tells some, and says how many


# Contestants: a function that makes the file, and one that gives a worker its work ------------------------------------


def make_ours(path: Path) -> None:
    with SqliteStorage(path) as storage:
        storage.create("s", "", 2)
        storage.add_plan("s", Plan(1, 0, 1, np.zeros(WORKERS * PULLS, np.int64)))


def ours(path: Path, worker: int, batch: int) -> Work:
    storage = SqliteStorage(path)
    pulls = iter(range(worker * PULLS + 1, (worker + 1) * PULLS + 1, batch))

    def work() -> int:
        first = next(pulls)
        told = storage.tell(
            "s", [Tell(pull, (0.5, 1.5), worker=f"w{worker}", at=time.time()) for pull in range(first, first + batch)]
        )
        assert all(told)
        return batch

    return work


def make_bare(path: Path) -> None:
    db = apsw.Connection(str(path))
    assert db.pragma("journal_mode", "wal") == "wal"
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, content BLOB)")
    db.close()


def bare(path: Path, worker: int, batch: int) -> Work:
    db = apsw.Connection(str(path))
    waited = [0.0]

    def wait(attempts: int) -> bool:
        waited[0] = time.monotonic()
        time.sleep(random.uniform(0.0002, 0.0018))
        return True

    db.set_busy_handler(wait)
    db.execute("PRAGMA synchronous = FULL")
    content = bytes(40)

    def work() -> int:
        if time.monotonic() - waited[0] < 0.1:
            time.sleep(random.uniform(0.0, 0.001))
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO t VALUES (NULL, ?)", (content,))
        db.execute("COMMIT")
        return 1

    return work


OPTUNA_TRIALS = 60  # for each worker and round


def make_optuna(path: Path) -> None:
    import optuna
    from sqlalchemy import event

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
    # Here alone, where nothing is timed: the workers' own connections sync.
    event.listen(storage.engine, "connect", lambda db, _: db.execute("PRAGMA synchronous = OFF"))
    storage.engine.dispose()
    study = optuna.create_study(storage=storage, study_name="s", directions=["minimize", "minimize"])
    for _ in range(WORKERS * OPTUNA_TRIALS):
        study.add_trial(optuna.trial.create_trial(state=optuna.trial.TrialState.RUNNING))


def optunas(path: Path, worker: int, batch: int) -> Work:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(storage=f"sqlite:///{path}", study_name="s")
    trials = iter(range(worker * OPTUNA_TRIALS, (worker + 1) * OPTUNA_TRIALS))

    def work() -> int:
        study.tell(next(trials), [0.5, 1.5])
        return 1

    return work


CONTESTANTS: dict[str, tuple[Callable[[Path], None], Callable[[Path, int, int], Work], int]] = {
    "bare SQLite commits": (make_bare, bare, 1),
    "ours, one at a time": (make_ours, ours, 1),
    "ours, in batches of ten": (make_ours, ours, 10),
    "Optuna": (make_optuna, optunas, 1),
}


# Rounds ---------------------------------------------------------------------------------------------------------------


def work_for_a_while(name: str, path: Path, worker: int, start: Any, results: Any) -> None:
    work = CONTESTANTS[name][1](path, worker, CONTESTANTS[name][2])
    start.wait()
    begun = time.perf_counter()
    done = 0
    try:
        while time.perf_counter() - begun < SECONDS:
            done += work()
    except StopIteration:  # all that were made are told
        pass
    results.put((done, time.perf_counter() - begun))


def rate(name: str, folder: Path) -> float:
    """Tells a second of all workers together."""
    path = folder / "studies.db"
    CONTESTANTS[name][0](path)
    processes = multiprocessing.get_context("spawn")  # nothing is inherited
    start, results = processes.Barrier(WORKERS), processes.Queue()
    workers = [
        processes.Process(target=work_for_a_while, args=(name, path, worker, start, results))
        for worker in range(WORKERS)
    ]
    for process in workers:
        process.start()
    found = [results.get(timeout=600.0) for _ in workers]
    for process in workers:
        process.join()
    return float(sum(done for done, _ in found) / max(seconds for _, seconds in found))


def main() -> list[Row]:
    optuna, sqlite = peer("optuna"), f"SQLite {apsw.sqlite_lib_version()}"
    heading(f"durable tells a second, {WORKERS} processes, {sqlite}: median of {ROUNDS} rounds")
    rates: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    for _ in range(ROUNDS):
        for name in CONTESTANTS:
            with TemporaryDirectory(prefix="benchmark-", dir=".") as folder:
                rates[name].append(rate(name, Path(folder).resolve()))
    for name, found in rates.items():
        print(f"  {median(found):8.0f}    {name}  (from {min(found):.0f} to {max(found):.0f})", flush=True)

    def ratio(one: str, other: str) -> float:
        # Round by round: what shared a minute shared the disk.
        return median(a / b for a, b in zip(rates[one], rates[other], strict=True))

    return [
        Row("tells, one at a time / Optuna's", ratio("ours, one at a time", "Optuna"), at_least=10, beside=optuna),
        Row("in batches of ten / Optuna's", ratio("ours, in batches of ten", "Optuna"), at_least=100, beside=optuna),
        Row("one at a time / bare commits", ratio("ours, one at a time", "bare SQLite commits"), beside=sqlite),
    ]
