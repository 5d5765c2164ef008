"""The state of a study is a replay of its log, whoever reads it and when."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontguard import Certified, Prescient, Study
from frontguard.limits import columns_for
from frontguard.storage.contract import MemoryStorage, Plan
from frontguard.studies.replay import PROBE
from frontguard.studies.study import Pull
from tests.studies.toy import ARMS, BYTES, SECONDS, a_study, measure, same_state, work


@pytest.mark.parametrize("at_a_time", [1, 7])
def test_a_study_that_is_taken_up_goes_on_as_if_it_had_never_stopped(at_a_time: int) -> None:
    whole = a_study()
    expected = work(whole, at_a_time)
    storage = MemoryStorage()
    asked: list[tuple[int, str]] = []
    for _ in range(1000):
        study = a_study(storage=storage, worker="the only one")  # plans have pulls for all who are at work
        if study.done:
            break
        asked += work(study, at_a_time, most=3 * at_a_time)
    assert asked == expected
    same_state(whole, a_study(storage=storage))
    same_state(whole, Study.open(storage))


def test_the_state_is_that_of_a_plain_loop_over_the_log() -> None:
    """The naive twin: every plan from the beginning, pull by pull, on a policy of its own."""
    study = a_study()
    work(study, 4)
    told = study.storage.told("study")
    twin = Certified.for_objectives(3, [SECONDS, BYTES], threat=Prescient(0.1), delta=0.05, blocks=True)
    arm_of: dict[int, int] = {}
    done = 0
    for plan in study.storage.plans("study"):
        for n in range(done, plan.told):
            twin.take([arm_of[int(told.pulls[n])]], columns_for((SECONDS, BYTES)).observed(told.values[n : n + 1]))
        done = plan.told
        twin.decide()
        for offset, arm in enumerate(plan.arms.tolist()):
            arm_of[plan.first + offset] = arm
        twin.expect(plan.arms)
    assert twin.status == "certified"
    assert twin.result(ARMS).verdicts == study.result().verdicts
    np.testing.assert_array_equal(twin.standing.intervals, study._replay.policy.standing.intervals)
    np.testing.assert_array_equal(twin.estimates, study._replay.policy.estimates)


@given(st.data())
@settings(max_examples=12)
def test_any_number_of_workers_in_any_order_agree(data: st.DataObject) -> None:
    storage = MemoryStorage()
    workers = [a_study(storage=storage, worker=f"w{n}") for n in range(3)]
    held: list[Pull] = []
    told: set[int] = set()
    for _ in range(data.draw(st.integers(1, 60), label="steps")):
        worker = workers[data.draw(st.integers(0, 2), label="worker")]
        if held and data.draw(st.booleans(), label="tell"):
            group = [held.pop(data.draw(st.integers(0, len(held) - 1))) for _ in range(min(len(held), 3))]
            if data.draw(st.integers(0, 9)) == 0:
                counted = worker.tell_many([(pull, "crashed") for pull in group], failed=True)
            else:
                counted = worker.tell_many([(pull, measure(pull)) for pull in group])
            assert all(counted)
            told |= {pull.id for pull in group}
        else:
            asked = worker.ask(data.draw(st.integers(1, 20), label="pulls"))
            assert not told & {pull.id for pull in asked}
            assert not {pull.id for pull in held} & {pull.id for pull in asked}
            held += asked
    fresh = Study.open(storage)
    for worker in workers:
        same_state(worker, fresh)
    assert sorted(storage.told("study").pulls.tolist()) == sorted(told)
    policy = fresh._replay.policy
    assert policy._waiting + fresh._replay.told == fresh._replay.planned


def test_results_between_plans_change_nothing() -> None:
    watched, unwatched = a_study(), a_study()
    for study in (watched, unwatched):
        for pull in study.ask(3 * PROBE)[:-4]:
            study.tell(pull, measure(pull))
            if study is watched:
                study.result()
                study.failures()
    same_state(watched, unwatched)
    assert work(watched) == work(unwatched)
    same_state(watched, unwatched)


def test_a_plan_that_came_second_is_dropped() -> None:
    storage = MemoryStorage()
    one, other = a_study(storage=storage, worker="one"), a_study(storage=storage, worker="other")
    pulls = one.ask(3 * PROBE)
    other.catch_up()
    one.tell_many([(pull, measure(pull)) for pull in pulls[:6]])
    proposed = other._replay.propose(4)  # it has not seen the six
    assert proposed is not None
    one.ask(1)  # makes the second plan, knowing the six
    assert not storage.add_plan("study", proposed[1])
    assert other.ask(1)
    same_state(one, other)


def test_a_replay_does_not_depend_on_who_reads_when() -> None:
    storage = MemoryStorage()
    driver, reader = a_study(storage=storage), Study.open(storage)
    while pulls := driver.ask(2):
        driver.tell_many([(pull, measure(pull)) for pull in pulls])
        if pulls[0].id % 7 == 0:
            reader.catch_up()
    same_state(driver, reader)


class Hasty(MemoryStorage):
    """Between two reads of its log, another worker asks and tells."""

    other: Study | None = None

    def _meanwhile(self) -> None:
        if self.other is not None:
            other, self.other = self.other, None
            work(other, at_a_time=3 * PROBE, most=6 * PROBE)
            self.other = other

    def plans(self, study: str, after: int = 0) -> list[Plan]:
        self._meanwhile()
        plans = super().plans(study, after)
        self._meanwhile()
        return plans


def test_a_log_that_grows_while_it_is_read_is_read_right() -> None:
    storage = Hasty()
    other = a_study(storage=storage, worker="other")
    reader = Study.open(storage, worker="reader")
    storage.other = other
    for _ in range(50):
        reader.result()
        if reader.done:
            break
    storage.other = None
    work(other, 5)
    assert other.status == "certified"
    same_state(reader, other)
    same_state(reader, Study.open(storage))


def test_failures_beyond_the_contamination_raise_an_alarm() -> None:
    study = a_study(max_pulls=400, blocks=False)
    while pulls := study.ask(10):
        for pull in pulls:
            if pull.arm == "fast" and pull.id % 3 == 0:
                study.fail(pull, "timeout after 1 s")
            else:
                study.tell(pull, measure(pull))
    assert [(alarm.arm, alarm.kind) for alarm in study.alarms()] == [("fast", "failures")]
    assert any("timeout after 1 s" in warning for warning in study.result().warnings)
