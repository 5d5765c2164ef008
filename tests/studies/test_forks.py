"""Children that are forked while threads of their parent are in the middle of something go on with the same study."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from frontguard import Objective, Prescient, Study
from frontguard.studies.follow import Follower
from tests.support.forks import fork
from tests.support.storages import Place


@contextmanager
def at_work(study: Study, follower: Follower) -> Iterator[None]:
    """Threads that never rest: they ask, tell, look."""
    over = threading.Event()
    wrong: list[BaseException] = []

    def go(work: object) -> None:
        try:
            while not over.is_set():
                work()  # type: ignore[operator]
        except BaseException as error:
            wrong.append(error)

    def measure() -> None:
        study.tell_many([(pull, [float(pull.index)]) for pull in study.ask(3)])

    threads = [threading.Thread(target=go, args=(work,)) for work in (measure, study.result, follower.catch_up)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(60.0)
    assert not wrong, wrong


def used(study: Study, follower: Follower) -> tuple[int, int, bool]:
    """What a child does with what it inherited: everything."""
    told = [study.tell(pull, [float(pull.index)]) for pull in study.ask(2)]
    result = study.result()
    seen = follower.catch_up().told
    return sum(told), len(told), seen >= sum(told) and math.isfinite(result.pulls)


@pytest.mark.parametrize("kind", ["memory", "sqlite", "sqlite-rollback", "postgres"])
def test_a_child_goes_on_with_an_inherited_study(kind: str, request: pytest.FixtureRequest) -> None:
    from tests.support.storages import STORAGES

    place: Place = STORAGES[kind](request, request.getfixturevalue("tmp_path"))
    with place.open() as storage:
        # Tolerances that are never reached: there is always something to ask for.
        study = Study(["a", "b"], [Objective("x", "maximize", tolerance=1e-9)], Prescient(0.3), storage=storage)
        follower = Follower(storage, study.name)
        study.tell_many([(pull, [float(pull.index)]) for pull in study.ask(20)])
        assert used(study, follower) == (2, 2, True)  # and everything is compiled
        with at_work(study, follower):
            children = []
            for _ in range(8):
                time.sleep(0.005)
                children.append(fork(lambda: used(study, follower)))
            for child in children:
                told, asked, fine = child.result(60.0)
                assert told == asked
                assert fine
        assert study.result().pulls >= 22


def test_a_lock_that_another_thread_holds_is_not_inherited() -> None:
    study = Study(["a", "b"], [Objective("x", "maximize", tolerance=0.1)], Prescient(0.1))
    follower = Follower(study.storage, study.name)
    study.tell_many([(pull, [float(pull.index)]) for pull in study.ask(20)])
    pulls = study.result().pulls
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with study._lock, follower._lock:
            study._replay = None  # type: ignore[assignment]  # in the middle of something
            held.set()
            over.wait(60.0)

    replay, thread = study._replay, threading.Thread(target=hold)
    thread.start()
    held.wait(60.0)
    try:
        child = fork(lambda: (study.result().pulls, follower.catch_up().told))
        assert child.result(60.0) == (pulls, pulls)
    finally:
        over.set()
        thread.join()
        study._replay = replay
