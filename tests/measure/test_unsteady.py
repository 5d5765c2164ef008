"""The loop that measures while its storage is out of order for a while, or for good."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput
from frontguard.measure.drive import NotTold
from frontguard.storage.contract import MemoryStorage, Plan, Pull, Tell
from frontguard.storage.postgres import PostgresStorage
from frontguard.studies.measurement import Measurement
from frontguard.studies.study import Study
from tests.measure.driving import (
    FRONT,
    WAIT,
    a_study,
    at_once,
    drive,
    given_up,
    reasons,
    through,
    told,
    values_of,
)
from tests.support.servers import PostgresServer
from tests.support.snapshots import refused


class Unsteady(MemoryStorage):
    """A storage that is out of order for a while: before it writes, or after it wrote and before it could say so."""

    def __init__(self, fails: Callable[[int], bool], wrote: bool) -> None:
        super().__init__()
        self.calls, self.fails, self.wrote = 0, fails, wrote

    def tell(self, study: str, tells: Sequence[Tell]) -> list[bool]:
        self.calls += 1
        if self.fails(self.calls):
            if self.wrote:
                super().tell(study, tells)
            raise ConnectionError("server closed the connection")
        return super().tell(study, tells)


@pytest.mark.parametrize("wrote", [False, True])
def test_values_are_kept_until_the_storage_takes_them(wrote: bool, threads: ThreadPoolExecutor) -> None:
    measured: list[int] = []

    def measure(pull: Pull) -> Measurement:
        measured.append(pull.id)
        return values_of(pull)

    study = a_study(Unsteady(lambda call: call in (1, 2, 9, 15), wrote))
    assert drive(study, through(threads, measure), workers=3) == "done"
    assert sorted(measured) == sorted(told(study)) == sorted(set(measured))
    assert study.result().pareto_set == FRONT


def test_values_that_the_storage_never_takes_are_in_the_error(
    threads: ThreadPoolExecutor, snapshot: SnapshotAssertion
) -> None:
    study = a_study(Unsteady(lambda call: call > 5, wrote=False))
    with refused(NotTold, snapshot) as caught:
        drive(study, through(threads), workers=2, storage_limit=0.3)
    assert caught.value.finished
    assert {pull.id for pull, _ in caught.value.finished}.isdisjoint(told(study))
    assert all(tell.values == tuple(values_of(pull).values) for pull, tell in caught.value.finished)


def test_a_cancelled_run_does_not_drop_what_the_storage_will_not_take() -> None:
    cancel = threading.Event()

    def fails(call: int) -> bool:
        if call == 4:
            cancel.set()
        return call >= 4

    study = a_study(Unsteady(fails, wrote=False))
    with pytest.raises(NotTold) as caught:
        drive(study, at_once(), workers=1, cancel=cancel, patience=0.2)
    assert [pull.id for pull, _ in caught.value.finished] == [4]


def test_a_database_server_that_goes_away_and_comes_back(postgres: PostgresServer, threads: ThreadPoolExecutor) -> None:
    measured: list[int] = []
    later = threading.Timer(0.7, postgres.start)
    with PostgresStorage(postgres.new_database(), patience=0.1) as storage:  # the rest is left to the loop
        study = a_study(storage, max_pulls=40)

        def measure(pull: Pull) -> Measurement:
            measured.append(pull.id)
            if pull.id == 10:
                postgres.stop("immediate")
                later.start()
            return values_of(pull)

        assert drive(study, through(threads, measure), workers=3) == "done"
        later.join()
        assert sorted(measured) == sorted(told(study)) == sorted(set(measured))
        assert study.result().pareto_set == FRONT


class Forgetful(MemoryStorage):
    """Hands pulls out, and now and then the answer is lost on the way."""

    calls = 0

    def hand_out(self, study: str, most: int, worker: str, **options: Any) -> list[Pull]:
        self.calls += 1
        given = super().hand_out(study, most, worker, **options)
        if self.calls in (3, 5):
            raise ConnectionError("server closed the connection")
        return given


def test_a_study_file_that_another_process_holds_is_waited_for(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    import apsw

    from frontguard.storage.sqlite import SqliteStorage

    path = tmp_path / "study.db"
    study = a_study(SqliteStorage(path, wait=0.02), max_pulls=30)
    holder = apsw.Connection(str(path))
    holder.set_busy_timeout(int(1000 * WAIT))
    held = threading.Event()

    def measure(pull: Pull) -> Measurement:
        if not held.is_set():
            held.set()
            holder.execute("BEGIN IMMEDIATE")
            threading.Timer(0.3, holder.execute, ["ROLLBACK"]).start()
        return values_of(pull)

    assert drive(study, through(threads, measure), workers=2) == "done"
    assert held.is_set()
    assert sorted(told(study)) == list(range(1, len(told(study)) + 1))
    assert reasons(study) == [""] * len(told(study))
    holder.close()
    study.close()


def test_pulls_that_were_handed_out_to_nobody_come_back() -> None:
    study = a_study(Forgetful(), max_pulls=12)
    assert drive(study, at_once(), workers=2) == "done"
    assert sorted(told(study)) == list(range(1, 13))


class Interrupted(MemoryStorage):
    """Fails once between two answers to one question: some pulls are handed out, and no plan can be made for more."""

    failed = False

    def add_plan(self, study: str, plan: Plan) -> bool:
        if not self.failed and self.leases(study):
            self.failed = True
            raise ConnectionError("server closed the connection")
        return super().add_plan(study, plan)


def test_what_was_handed_out_before_the_storage_failed_is_measured() -> None:
    storage, seen = Interrupted(), list[int]()
    study = a_study(storage, max_pulls=40)

    def measure(pull: Pull) -> Measurement:
        seen.append(pull.id)
        return values_of(pull)

    assert drive(study, at_once(measure), workers=7) == "done"
    assert storage.failed
    assert sorted(seen) == sorted(told(study)) == list(range(1, len(seen) + 1))
    assert given_up(study) == {}


def test_what_was_handed_out_before_nobody_could_say_whether_all_is_done_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study, seen = a_study(max_pulls=40), list[int]()
    fewer = False

    def ask(pulls: int = 1) -> list[Pull]:
        nonlocal fewer
        given = Study.ask(study, pulls)
        fewer = not fewer and 0 < len(given) < pulls
        return given

    def done(self: Study) -> bool:
        if fewer:
            raise ConnectionError("server closed the connection")
        return was.__get__(self)  # type: ignore[no-any-return]

    def measure(pull: Pull) -> Measurement:
        seen.append(pull.id)
        return values_of(pull)

    was: Any = Study.done
    monkeypatch.setattr(study, "ask", ask)
    monkeypatch.setattr(Study, "done", property(done))
    assert drive(study, at_once(measure), workers=7, storage_limit=20.0) == "done"
    assert sorted(seen) == sorted(told(study)) == list(range(1, len(seen) + 1))
    assert given_up(study) == {}


class Spoilt(MemoryStorage):
    def tell(self, study: str, tells: Sequence[Tell]) -> list[bool]:
        raise BadInput("the file is damaged")


def test_what_waiting_cannot_mend_is_raised_at_once(snapshot: SnapshotAssertion) -> None:
    with refused(NotTold, snapshot) as caught:
        drive(a_study(Spoilt()), at_once(), workers=1, storage_limit=1e9)
    assert len(caught.value.finished) == 1
