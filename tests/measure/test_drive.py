"""The loop that measures, with real threads and a storage in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput
from frontguard.measure.drive import Broken, FirstMistake, Loop, RunProgress
from frontguard.storage.contract import End, MemoryStorage, Pull
from frontguard.studies.measurement import CANCELLED, Measurement
from frontguard.studies.study import Study
from tests.measure.driving import (
    FRONT,
    WAIT,
    a_study,
    at_once,
    drive,
    drive_up_to,
    given_up,
    measured,
    reasons,
    through,
    told,
    values_of,
)
from tests.support.snapshots import refused
from tests.support.waiting import until

# To the end -----------------------------------------------------------------------------------------------------------


def test_measures_until_the_study_is_done(threads: ThreadPoolExecutor) -> None:
    study, seen = a_study(), list[RunProgress]()
    assert drive(study, through(threads), workers=4, on_change=seen.append) == "done"
    assert study.status == "certified"
    assert study.result().pareto_set == FRONT
    assert sorted(told(study)) == sorted(set(told(study)))
    assert seen[-1].told == len(told(study))
    assert (seen[-1].failed, seen[-1].out) == (0, 0)
    assert study.storage.leases(study.name) == []


def test_as_many_are_under_way_as_there_are_workers_and_never_more() -> None:
    study, now, most, lock = a_study(max_pulls=200), 0, 0, threading.Lock()
    meet = threading.Barrier(3)

    def measure(pull: Pull) -> Measurement:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        if pull.id <= 3:
            meet.wait(WAIT)  # broken unless three are under way together
        with lock:
            now -= 1
        return values_of(pull)

    with ThreadPoolExecutor(16) as pool:
        assert drive(study, through(pool, measure), workers=3) == "done"
    assert most == 3


def test_a_slow_pull_keeps_nobody_waiting(threads: ThreadPoolExecutor) -> None:
    study, free = a_study(max_pulls=60), threading.Event()

    def measure(pull: Pull) -> Measurement:
        if pull.id == 2:
            assert free.wait(WAIT)
        elif study.storage.size(study.name)[1] > 20:  # told, not only measured
            free.set()
        return values_of(pull)

    assert drive(study, through(threads, measure), workers=2) == "done"
    assert reasons(study).count("") == len(told(study))
    assert told(study).index(2) >= 20


def test_waits_for_the_pulls_of_others() -> None:
    study = a_study(max_pulls=15)
    other = Study.open(study.storage, worker="elsewhere")
    theirs = other.ask(4)

    def tell_later(progress: RunProgress) -> None:
        if progress.told == 11 and theirs:
            other.tell_many([(pull, values_of(pull).values) for pull in theirs])
            theirs.clear()

    assert drive(study, at_once(), workers=2, on_change=tell_later) == "done"
    assert sorted(told(study)) == list(range(1, 16))
    assert study.status != "running"  # it did not give up before


class OwnClock(MemoryStorage):
    """Leases run out by a clock that stands still until a test lets time pass."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def pass_(self, seconds: float, pull: Pull) -> None:
        """Let time pass, and wait until the lease of a pull that is under way is renewed."""
        (end,) = (each.deadline for each in self.leases("study") if each.id == pull.id)
        self._now += seconds
        until(lambda: any(each.id == pull.id and each.deadline > end for each in self.leases("study")))


def test_a_worker_that_lives_keeps_its_lease(threads: ThreadPoolExecutor) -> None:
    """A pull that takes many times its lease, while another worker of the study asks for what is lost."""
    storage, begun = OwnClock(), list[int]()
    study, other = (a_study(storage, max_pulls=15, lease=0.4, worker=name) for name in ("here", "elsewhere"))

    def measure(pull: Pull) -> Measurement:
        begun.append(pull.id)
        if pull.id == 1:
            for _ in range(10):
                storage.pass_(0.1, pull)
                other._give_up_the_lost()
        return values_of(pull)

    assert drive(study, through(threads, measure), workers=2) == "done"
    assert sorted(begun) == sorted(set(begun)) == sorted(told(study))
    assert set(study.storage.told("study").ends.tolist()) == {End.TOLD}


def test_a_pull_evaluated_in_this_thread_keeps_its_lease() -> None:
    storage = OwnClock()
    study, other = (a_study(storage, max_pulls=3, lease=0.4, worker=name) for name in ("here", "elsewhere"))

    def measure(pull: Pull) -> Measurement:
        if pull.id == 2:
            for _ in range(5):
                storage.pass_(0.1, pull)
                other._give_up_the_lost()
        return values_of(pull)

    assert drive(study, at_once(measure), workers=1) == "done"
    assert study.storage.told("study").ends.tolist() == [End.TOLD] * 3


# Failures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([1.0, float("nan")], "value of 'lightness' must be finite; got nan"),
        ([float("inf"), 1.0], "value of 'quality' must be finite; got inf"),
        ([1.0], "wanted 2 values, one for each of quality, lightness; got 1"),
        (["1", 1.0], "value of 'quality' must be a real number; got '1'"),
        ("fast", "values must be 2 numbers, by name or in order; got 'fast'"),
        (None, "values must be 2 numbers, by name or in order; got None"),
        ({"quality": 1.0}, "no value for lightness; wanted one for each of quality, lightness"),
        (
            {"qualty": 1.0, "lightness": 1.0},
            "no objective is called 'qualty' (did you mean 'quality'?); wanted quality, lightness",
        ),
    ],
)
def test_values_that_cannot_be_used_are_failed_pulls(given: object, reason: str) -> None:
    study = a_study()
    drive(study, at_once(lambda pull: Measurement(given) if pull.arm == "bad" else values_of(pull)), workers=1)
    assert study.failures() == {"bad": {reason: 5}}
    assert study.result().pareto_set == FRONT


def test_an_exception_of_a_future_is_a_failed_pull() -> None:
    study = a_study()

    def measure(pull: Pull) -> Measurement:
        if pull.arm == "bad":
            raise OSError("no\nsuch device")
        return values_of(pull)

    assert drive(study, at_once(measure), workers=1) == "done"
    assert study.failures() == {"bad": {"OSError: no": 5}}


def test_a_metric_that_failed_alone_leaves_the_others_standing() -> None:
    study = a_study(max_pulls=6)
    half = Measurement({"quality": 2.0}, "scale broken")
    nothing = Measurement({}, "exit code 1")
    drive(study, at_once(lambda pull: half if pull.id % 2 else nothing), workers=1)
    frame = study.to_frame().sort_index()
    assert frame["quality"].tolist()[::2] == [2.0] * 3
    assert frame["quality"].isna().tolist() == [False, True] * 3
    assert frame["lightness"].isna().all()
    assert frame["failure"].tolist() == ["scale broken", "exit code 1"] * 3


def test_bad_input_of_a_worker_ends_the_run_and_tells_the_rest(snapshot: SnapshotAssertion) -> None:
    study = a_study()

    def measure(pull: Pull) -> Measurement:
        if pull.id == 9:
            raise BadInput("evaluate cannot be loaded")
        return values_of(pull)

    with refused(BadInput, snapshot):
        drive(study, at_once(measure), workers=2)
    assert measured(study) == [*range(1, 9), 10]
    assert given_up(study) == {9: End.LOST}
    assert study.storage.leases(study.name) == []


def test_an_executor_that_is_shut_down_is_named(threads: ThreadPoolExecutor, snapshot: SnapshotAssertion) -> None:
    study = a_study()

    def submit(pull: Pull) -> Future[Any]:
        if pull.id == 12:
            threads.shutdown(wait=False)
        return threads.submit(values_of, pull)

    with refused(Broken, snapshot):
        drive(study, submit, workers=2)
    assert set(range(1, 12)).issuperset(told(study))
    assert len(told(study)) >= 10  # the eleventh may have been called off before it began
    assert study.storage.leases(study.name) == []
    assert study.ask(1)[0].id in (11, 12)  # what was not begun is handed out


def test_a_future_that_somebody_else_cancels_is_a_lost_pull(snapshot: SnapshotAssertion) -> None:
    study = a_study()

    def submit(pull: Pull) -> Future[Any]:
        future = at_once()(pull)
        if pull.id == 5:
            future = Future()
            future.cancel()
        return future

    with refused(Broken, snapshot):
        drive(study, submit, workers=1)
    assert told(study) == [1, 2, 3, 4, 5]
    assert given_up(study) == {5: End.LOST}


# Stopping and going on ------------------------------------------------------------------------------------------------


def test_a_run_that_is_cancelled_waits_for_what_is_under_way() -> None:
    study, cancel, free = a_study(), threading.Event(), threading.Event()
    looks: list[RunProgress] = []

    def measure(pull: Pull) -> Measurement:
        cancel.set()
        assert free.wait(WAIT)
        return values_of(pull)

    def look(progress: RunProgress) -> None:
        looks.append(progress)
        if sum(each.stopping for each in looks) > 2:  # some time after the run was cancelled
            free.set()

    with ThreadPoolExecutor(1) as pool:  # four are submitted, one begins
        options: dict[str, Any] = {"cancel": cancel, "on_change": look, "patience": 0.0}
        assert drive(study, through(pool, measure), workers=4, **options) == "cancelled"
    assert measured(study) == told(study) == [1]
    assert {each.out for each in looks if each.stopping and each.told == 0} >= {1}
    assert study.storage.leases(study.name) == []
    assert [pull.id for pull in study.ask(3)] == [2, 3, 4]  # never begun: given back


def test_what_is_given_up_has_failed_and_is_not_measured_again(threads: ThreadPoolExecutor) -> None:
    study, cancel, give_up, unwanted = a_study(), threading.Event(), threading.Event(), threading.Event()

    def measure(pull: Pull) -> Measurement:
        if pull.id == 20:
            cancel.set()
            give_up.set()
        if pull.id >= 19:
            return Measurement(None, CANCELLED) if unwanted.wait(WAIT) else values_of(pull)
        return values_of(pull)

    options: dict[str, Any] = {"cancel": cancel, "give_up": give_up, "abandon": unwanted.set}
    assert drive(study, through(threads, measure), workers=2, **options) == "cancelled"
    assert measured(study) == list(range(1, 19))
    assert given_up(study) == {19: End.STOPPED, 20: End.STOPPED}
    assert study.storage.leases(study.name) == []
    begun: list[int] = []
    again = a_study(study.storage)
    assert drive(again, at_once(lambda pull: begun.append(pull.id) or values_of(pull)), workers=2) == "done"  # type: ignore[func-returns-value]
    assert min(begun) == 21
    assert {reason for why in again.failures().values() for reason in why} == {"stopped before its end"}


def test_pulls_that_do_not_end_are_given_up_after_some_patience_and_their_values_are_late() -> None:
    study, give_up, free = a_study(), threading.Event(), threading.Event()

    def measure(pull: Pull) -> Measurement:
        give_up.set()
        assert free.wait(WAIT)
        study.tell(pull, values_of(pull).values)
        return values_of(pull)

    with ThreadPoolExecutor(1) as pool:
        assert drive(study, through(pool, measure), workers=1, give_up=give_up, patience=0.05) == "cancelled"
        free.set()
    assert given_up(study) == {1: End.STOPPED}
    assert study.storage.late(study.name).pulls.tolist() == [1]


def test_the_end_of_the_time_waits_and_ctrl_c_ends_the_waiting() -> None:
    study, cancel, free = a_study(), threading.Event(), threading.Event()
    looks: list[RunProgress] = []

    def measure(pull: Pull) -> Measurement:
        loop.until = time.monotonic()
        assert free.wait(WAIT)
        return values_of(pull)

    def look(progress: RunProgress) -> None:
        looks.extend([progress] * progress.stopping)
        if len(looks) > 2:
            cancel.set()

    with ThreadPoolExecutor(1) as pool:
        loop = Loop(study, through(pool, measure), workers=1, cancel=cancel, on_change=look, patience=0.05)
        assert loop.run() == "time"
        free.set()
    assert given_up(study) == {1: End.STOPPED}


def test_what_is_under_way_when_the_study_is_done_is_not_waited_for(threads: ThreadPoolExecutor) -> None:
    study, unwanted = a_study(), threading.Event()

    def measure(pull: Pull) -> Measurement:
        if pull.id == 2:
            return Measurement(None, CANCELLED) if unwanted.wait(WAIT) else values_of(pull)
        return values_of(pull)

    assert drive(study, through(threads, measure), workers=2, abandon=unwanted.set) == "done"
    assert unwanted.is_set()
    assert given_up(study) == {2: End.STOPPED}
    assert study.result().pareto_set == FRONT


def test_stops_when_the_time_is_over() -> None:
    study = a_study()
    assert drive(study, at_once(), workers=1, until=time.monotonic() - 1.0) == "time"
    assert told(study) == []
    assert drive_up_to(study, 7) == "time"
    assert told(study) == list(range(1, 8))
    assert drive(study, at_once(), workers=1, until=time.monotonic() + WAIT) == "done"


def test_an_interrupted_run_with_one_worker_goes_on_as_if_it_had_not_been() -> None:
    whole, parts = a_study(), a_study()
    drive(whole, at_once(), workers=1)
    stops = iter(range(5, 1000, 7))
    while not parts.done:
        stop = next(stops)
        parts = a_study(parts.storage)
        drive_up_to(parts, stop)
    assert told(whole) == told(parts)
    assert whole.storage.told("study").values.tolist() == parts.storage.told("study").values.tolist()
    assert whole.result().to_dict() == parts.result().to_dict()


# Holding back ---------------------------------------------------------------------------------------------------------


def test_pulls_are_held_back_until_they_are_let_go() -> None:
    study, sizes = a_study(max_pulls=10), list[tuple[int, int]]()

    def hold_back(finished: Sequence[Any]) -> bool:
        sizes.append((len(finished), len(told(study))))
        return len(finished) < 4

    drive(study, at_once(), workers=1, hold_back=hold_back)
    assert sizes == [(1, 0), (2, 0), (3, 0), (4, 0)]
    assert sorted(told(study)) == list(range(1, 11))


def test_what_is_held_back_at_the_end_is_told() -> None:
    study = a_study(max_pulls=3)
    assert drive(study, at_once(), workers=1, hold_back=lambda finished: True) == "done"
    assert told(study) == [1, 2, 3]


def test_what_is_refused_is_not_told(snapshot: SnapshotAssertion) -> None:
    def refuse(finished: Sequence[Any]) -> bool:
        if len(finished) == 3:
            raise FirstMistake("all wrong")
        return True

    study = a_study()
    with refused(FirstMistake, snapshot):
        drive(study, at_once(), workers=1, hold_back=refuse)
    assert study.storage.studies() == []  # as if it had not been

    study = a_study()
    (theirs,) = Study.open(study.storage, worker="elsewhere").ask()
    with refused(FirstMistake, snapshot):
        drive(study, at_once(), workers=1, hold_back=refuse)
    assert given_up(study) == {2: End.LOST, 3: End.LOST, 4: End.LOST}  # not forgotten: another is at it
    assert [lease.id for lease in study.storage.leases("study")] == [theirs.id]
