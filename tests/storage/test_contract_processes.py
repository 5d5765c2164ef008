"""The storage contract among processes: nobody starves, nothing is lost by a kill, readers see prefixes."""

from __future__ import annotations

import math
import os
import random
import time
from pathlib import Path

import numpy as np
import pytest

from frontguard.storage.contract import End, Plan, Storage, Tell
from tests.support.forks import Child, fork, shared
from tests.support.storages import SHARED, STORAGES, Place
from tests.support.waiting import patience

WRITERS = 8
LONGER = 20
"""How many times its tells a writer goes on for until all others had a turn: the machine may give it its own first."""


def begin(storage: Storage, pulls: int) -> None:
    storage.create("s", "", 2)
    storage.add_plan("s", Plan(1, 0, 1, np.zeros(pulls, np.int64)))


def told_by(pull: int) -> Tell:
    return Tell(pull, (float(pull), -float(pull)), worker=str(os.getpid()), at=float(pull))


# Many writers ---------------------------------------------------------------------------------------------------------


def hammer(place: Place, each: int) -> None:
    """Processes that tell one pull after another, all at once; then see what became of it."""
    most = LONGER * each
    with place.open() as storage:
        begin(storage, WRITERS * most)
    ready = shared(WRITERS)
    done = shared(WRITERS)  # tells acknowledged so far
    waits = shared(WRITERS, most)

    def write(writer: int) -> int:
        acknowledged = 0
        with place.open() as storage:
            storage.size("s")
            ready[writer] = 1.0
            while ready.sum() < WRITERS:
                time.sleep(0.001)
            for i in range(most):
                if i >= each and done.all():
                    break
                started = time.perf_counter()
                acknowledged += storage.tell("s", [told_by(writer * most + i + 1)]) == [True]
                waits[writer, i] = time.perf_counter() - started
                done[writer] = i + 1.0
        return acknowledged

    children = [fork(lambda writer=writer: write(writer)) for writer in range(WRITERS)]  # type: ignore[misc]
    acknowledged = [child.result(patience=1200.0) for child in children]

    assert acknowledged == done.tolist()
    assert each <= min(acknowledged) <= max(acknowledged) < most, acknowledged
    with place.open() as storage:
        told = storage.told("s")
        assert storage.size("s") == (1, sum(acknowledged))
    assert (told.values[:, 0] == told.pulls).all()
    for writer, number in enumerate(acknowledged):  # each writer's own in the order in which it told them
        own = told.pulls[(told.pulls - 1) // most == writer]
        assert own.tolist() == list(range(writer * most + 1, writer * most + number + 1))
    longest = max(patience(10.0), 400.0 * float(np.median(waits[waits > 0.0])))
    assert waits.max() <= longest, f"longest wait: {waits.max()} s"


@pytest.mark.parametrize("name", SHARED)
def test_no_writer_fails_or_starves(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    # The rollback journal syncs three times a commit; it is the fallback, and fewer tells show the same.
    hammer(STORAGES[name](request, tmp_path), each=40 if name == "sqlite-rollback" else 100)


@pytest.mark.audit
@pytest.mark.parametrize("name", ["sqlite", "postgres"])
def test_no_writer_fails_or_starves_for_long(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    hammer(STORAGES[name](request, tmp_path), each=5_000)


def test_readers_see_prefixes(shared_place: Place) -> None:
    writers, each = 3, 60
    with shared_place.open() as storage:
        begin(storage, writers * each)

    def write(writer: int) -> None:
        mine = list(range(writer * each + 1, (writer + 1) * each + 1))
        with shared_place.open() as storage:
            while mine:
                batch, mine = mine[: 1 + writer], mine[1 + writer :]
                storage.tell("s", [told_by(pull) for pull in batch])
                time.sleep(0.002)  # readers have their turns, however few processors there are

    def read() -> tuple[int, list[int]]:
        seen: list[int] = []
        looks = 0
        with shared_place.open() as storage:
            while len(seen) < writers * each:
                new = storage.told("s", after=len(seen))
                plans, size = storage.size("s")
                assert plans == 1
                assert size >= len(seen) + len(new)
                assert (new.values[:, 0] == new.pulls).all()
                whole = storage.told("s", 0, len(seen) + len(new)).pulls.tolist()
                assert whole[: len(seen)] == seen  # what was read stays as it was
                seen += new.pulls.tolist()
                assert whole == seen
                looks += len(new) > 0
        return looks, seen

    readers = [fork(read) for _ in range(2)]
    children = [fork(lambda writer=writer: write(writer)) for writer in range(writers)]  # type: ignore[misc]
    for child in children:
        child.result()
    (looks, one), (more, other) = (reader.result() for reader in readers)
    assert one == other
    assert max(looks, more) > 1  # they did read while there was writing


def test_of_plans_raced_by_processes_one_is_added(shared_place: Place) -> None:
    with shared_place.open() as storage:
        begin(storage, 0)  # a plan without pulls

    def race(process: int) -> list[int]:
        with shared_place.open() as storage:
            return [n for n in range(2, 22) if storage.add_plan("s", Plan(n, 0, n - 1, np.array([process])))]

    children = [fork(lambda process=process: race(process)) for process in range(4)]  # type: ignore[misc]
    added = {n: process for process, child in enumerate(children) for n in child.result()}
    with shared_place.open() as storage:
        plans = storage.plans("s", after=1)
    assert [p.number for p in plans] == list(range(2, 22))
    assert {p.number: int(p.arms[0]) for p in plans} == added


def test_a_study_raced_by_processes_is_created_once(shared_place: Place) -> None:
    def race(process: int) -> bool:
        with shared_place.open() as storage:  # the first to come makes the tables, too
            try:
                storage.create("s", str(process), 2)
            except ValueError:
                return False
            return True

    children = [fork(lambda process=process: race(process)) for process in range(6)]  # type: ignore[misc]
    created = [child.result() for child in children]
    assert sum(created) == 1
    with shared_place.open() as storage:
        assert storage.settings("s") == str(created.index(True))


def test_pulls_that_are_given_back_go_round(shared_place: Place) -> None:
    workers, pulls = 4, 40
    with shared_place.open() as storage:
        begin(storage, pulls)

    def work(worker: int) -> int:
        rng, had = random.Random(worker), 0
        with shared_place.open() as storage:
            while storage.size("s")[1] < pulls:
                given = storage.hand_out("s", 3, f"w{worker}", deadline=1000.0)
                had += len(given)
                back = [pull.id for pull in given if rng.random() < 0.5]
                assert storage.give_back("s", f"w{worker}", back) == len(back)
                told = [pull.id for pull in given if pull.id not in back]
                assert storage.tell("s", [told_by(pull) for pull in told]) == [True] * len(told)  # nobody else had it
        return had

    children = [fork(lambda worker=worker: work(worker)) for worker in range(workers)]  # type: ignore[misc]
    assert sum(child.result() for child in children) > pulls
    with shared_place.open() as storage:
        assert sorted(storage.told("s").pulls.tolist()) == list(range(1, pulls + 1))
        assert storage.leases("s") == []


# Death ----------------------------------------------------------------------------------------------------------------


def test_no_pull_of_killed_workers_is_handed_out_again(shared_place: Place) -> None:
    workers, each, deadline = 12, 2, 1000.0
    with shared_place.open() as storage:
        begin(storage, workers * each)
    held = shared(workers, each)

    def hold(worker: int) -> None:
        storage = shared_place.open()
        leases = storage.hand_out("s", each, f"w{worker}", deadline=deadline)
        held[worker] = [lease.id for lease in leases]
        time.sleep(600.0)

    children = [fork(lambda worker=worker: hold(worker)) for worker in range(workers)]  # type: ignore[misc]
    try:
        end = time.monotonic() + 120.0
        while not held.all() and time.monotonic() < end:
            time.sleep(0.005)
    finally:
        for child in children:
            child.kill()
    assert sorted(held.ravel().tolist()) == list(range(1, workers * each + 1))  # each pull had one holder

    with shared_place.open() as storage:
        assert len(storage.leases("s")) == workers * each
        assert storage.hand_out("s", 999, "new", deadline=2000.0) == []
        gone = [
            Tell(lease.id, (math.nan, math.nan), worker=lease.worker, end=End.LOST) for lease in storage.leases("s")
        ]
        assert storage.tell("s", gone) == [True] * (workers * each)
        assert storage.hand_out("s", 999, "new", deadline=2000.0) == []
        # What one of the dead had told in its last moment comes late.
        pull = int(held[3, 0])
        assert storage.tell("s", [told_by(pull)]) == [False]
        assert storage.late("s").pulls.tolist() == [pull]


def test_a_lease_is_as_durable_as_what_is_told(shared_place: Place) -> None:
    """No pull is handed out twice, however often those who ask are killed."""
    rng, kills = random.Random(9), 6
    with shared_place.open() as storage:
        begin(storage, 100_000)
        seen = shared(kills)
        for kill in range(kills):

            def take(kill: int = kill) -> None:
                own = shared_place.open()
                while True:
                    (pull,) = own.hand_out("s", 1, f"w{kill}", deadline=1000.0)
                    assert pull.id > seen[:kill].max(initial=0.0)
                    seen[kill] = pull.id

            child: Child = fork(take)
            while seen[kill] == 0.0:
                time.sleep(0.0005)
            time.sleep(rng.uniform(0.0, 0.02))
            child.kill()
        leases = storage.leases("s")
        assert [lease.id for lease in leases] == list(range(1, len(leases) + 1))
        assert len(leases) >= seen[-1]


def test_what_was_acknowledged_survives_a_kill(shared_place: Place) -> None:
    rng = random.Random(5)
    kills, most = 10, 2_000
    with shared_place.open() as storage:
        begin(storage, kills * most)
        storage.told("s")  # this handle stays open while others die
        acknowledged = shared(kills)
        for kill in range(kills):

            def write(kill: int = kill) -> None:
                own = shared_place.open()
                for i in range(most):
                    first = kill * most + 1 + i
                    if own.tell("s", [told_by(first)]) == [True]:
                        acknowledged[kill] += 1.0

            child: Child = fork(write)
            while acknowledged[kill] == 0.0:
                time.sleep(0.0005)
            time.sleep(rng.uniform(0.0, 0.03))
            child.kill()
            least = acknowledged[kill]
            found = storage.told("s").pulls
            assert len(set(found.tolist())) == len(found)
            own = found[(found - 1) // most == kill]
            assert own.tolist() == list(range(kill * most + 1, kill * most + 1 + len(own)))  # in order, without a hole
            assert least <= len(own) <= least + 1  # one may have been written and not yet acknowledged
        assert storage.tell("s", [told_by(kills * most)]) == [True]  # and nothing is locked


def test_a_handle_of_the_parent_works_in_a_forked_child(shared_place: Place) -> None:
    with shared_place.open() as storage:
        begin(storage, 40)
        storage.tell("s", [told_by(40)])  # a connection is open now

        def work(child: int) -> list[bool]:
            answers = [storage.tell("s", [told_by(child * 10 + i + 1)])[0] for i in range(9)]
            assert len(storage.told("s")) >= 10
            return answers

        children = [fork(lambda child=child: work(child)) for child in range(3)]  # type: ignore[misc]
        for i in range(9):
            assert storage.tell("s", [told_by(30 + i + 1)]) == [True]  # at the same time
        assert [child.result() for child in children] == [[True] * 9] * 3
        assert storage.size("s") == (1, 37)
        assert len(storage.told("s")) == 37
