"""Durable tells, and asks with their tells, of 8 processes: ours, Optuna's, and bare commits of SQLite itself.

Tells are timed alone, on SQLite: trials and pulls are made beforehand. An ask and a tell is timed as users make them,
by `Study` and by Optuna's random sampler, with the longest that a process took for one after its first; also on
PostgreSQL, where there is one (tests/support/servers.py). Ours is an adaptive study of 8 arms.

The contestants take turns in short rounds, because the speed of a disk changes from minute to minute; each round has a
new file in the current folder, or a new database. All commits are synced in full: Optuna's in the rollback journal that
it uses as it comes, with the SQLite of Python itself; ours and the bare ones in a write-ahead log. The bare ones insert
a row of 40 bytes, wait for each other as ours do, and sync under the lock, as SQLite does.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import apsw
import numpy as np

from benchmarks.tables import Row, heading, peer
from frontguard.storage.contract import Plan, Tell
from frontguard.storage.sqlite import SqliteStorage
from frontguard.studies.study import Study

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


def make_our_study(place: Path | str) -> None:
    Study(8, [("a", "maximize"), ("b", "maximize")], contamination=0.1, storage=place, name="s").close()


def our_asks(place: Path | str, worker: int, batch: int) -> Work:
    study, draw = Study.open(place, "s"), random.Random(worker).gauss

    def work() -> int:
        (pull,) = study.ask()
        assert study.tell(pull, (draw(0.02 * pull.index, 1.0), draw(-0.02 * pull.index, 1.0)))
        return 1

    return work


def _address(place: Path | str) -> str:
    return f"sqlite:///{place}" if isinstance(place, Path) else place.replace("postgresql:", "postgresql+psycopg:")


def make_optunas_study(place: Path | str) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    optuna.create_study(storage=_address(place), study_name="s", directions=["minimize", "minimize"])


def optunas_asks(place: Path | str, worker: int, batch: int) -> Work:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(storage=_address(place), study_name="s", sampler=optuna.samplers.RandomSampler())

    def work() -> int:
        study.tell(study.ask(), [0.5, 1.5])
        return 1

    return work


CONTESTANTS: dict[str, tuple[Callable[[Any], None], Callable[[Any, int, int], Work], int]] = {
    "bare SQLite commits": (make_bare, bare, 1),
    "ours, one at a time": (make_ours, ours, 1),
    "ours, in batches of ten": (make_ours, ours, 10),
    "Optuna": (make_optuna, optunas, 1),
    "our asks": (make_our_study, our_asks, 1),
    "Optuna's asks": (make_optunas_study, optunas_asks, 1),
}
TELLS, ASKS = tuple(CONTESTANTS)[:4], tuple(CONTESTANTS)[4:]


# Rounds ---------------------------------------------------------------------------------------------------------------


class Round(NamedTuple):
    """What the workers did together a second, and the longest that any of them took for one after its first."""

    rate: float
    longest: float


def work_for_a_while(name: str, place: Path | str, worker: int, start: Any, results: Any) -> None:
    work = CONTESTANTS[name][1](place, worker, CONTESTANTS[name][2])
    start.wait()
    begun = now = time.perf_counter()
    done, longest = 0, 0.0
    try:
        while now - begun < SECONDS:
            before, more = now, work()
            now = time.perf_counter()
            longest = max(longest, now - before if done else 0.0)
            done += more
    except StopIteration:  # all that were made are told
        pass
    results.put((done, time.perf_counter() - begun, longest))


def one_round(name: str, place: Path | str) -> Round:
    CONTESTANTS[name][0](place)
    processes = multiprocessing.get_context("spawn")  # nothing is inherited
    start, results = processes.Barrier(WORKERS), processes.Queue()
    workers = [
        processes.Process(target=work_for_a_while, args=(name, place, worker, start, results))
        for worker in range(WORKERS)
    ]
    for process in workers:
        process.start()
    found = [results.get(timeout=600.0) for _ in workers]
    for process in workers:
        process.join()
    done, seconds, longest = zip(*found, strict=True)
    return Round(sum(done) / max(seconds), max(longest))


def in_turns(names: Sequence[str], database: Callable[[], str] | None = None) -> dict[str, list[Round]]:
    """Rounds of these contestants, each in a new file, or in a new database."""
    rounds: dict[str, list[Round]] = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name in names:
            with TemporaryDirectory(prefix="benchmark-", dir=".") as folder:
                place = Path(folder).resolve() / "studies.db" if database is None else database()
                rounds[name].append(one_round(name, place))
    for name, found in rounds.items():
        rates = [each.rate for each in found]
        longest = median(each.longest for each in found)
        print(f"  {median(rates):8.0f}    {name}  (from {min(rates):.0f} to {max(rates):.0f}; longest {longest:.2f} s)")
    return rounds


def ratio(one: Sequence[Round], other: Sequence[Round], what: Callable[[Round], float]) -> float:
    # Round by round: what shared a minute shared the disk.
    return median(what(a) / what(b) for a, b in zip(one, other, strict=True))


def rows_of_asks(where: str, database: Callable[[], str] | None = None) -> list[Row]:
    heading(f"an ask and its tell on {where}, {WORKERS} processes: median of {ROUNDS} rounds")
    ours, others = in_turns(ASKS, database).values()
    optuna = peer("optuna")
    return [
        Row(f"asks on {where} / Optuna's", ratio(ours, others, attrgetter("rate")), at_least=3, beside=optuna),
        Row(
            f"longest of them on {where} / Optuna's",
            ratio(ours, others, attrgetter("longest")),
            at_most=1,
            beside=optuna,
        ),
    ]


def main() -> Iterator[Row]:
    from tests.support.servers import NoServer, shared_server

    optuna, sqlite = peer("optuna"), f"SQLite {apsw.sqlite_lib_version()}"
    heading(f"durable tells a second, {WORKERS} processes, {sqlite}: median of {ROUNDS} rounds")
    bare_ones, single, batches, others = in_turns(TELLS).values()
    rate = attrgetter("rate")
    yield Row("tells, one at a time / Optuna's", ratio(single, others, rate), at_least=10, beside=optuna)
    yield Row("in batches of ten / Optuna's", ratio(batches, others, rate), at_least=100, beside=optuna)
    yield Row("one at a time / bare commits", ratio(single, bare_ones, rate), beside=sqlite)
    yield from rows_of_asks("SQLite")
    try:
        server = shared_server()
    except NoServer as reason:
        print(f"  not measured on PostgreSQL: {reason}")
    else:
        yield from rows_of_asks("PostgreSQL", server.new_database)
