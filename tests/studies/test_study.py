"""The study: what it asks, what it makes of what it is told, and that its state is a function of its log alone."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontguard import BadInput, Certified, Gaussian, Malicious, Objective, Prescient, Share, Study
from frontguard.limits import columns_for
from frontguard.notices import SetAside
from frontguard.reports.study import study_report
from frontguard.storage.contract import End, Plan, UnknownStudy
from frontguard.storage.memory import MemoryStorage
from frontguard.studies.follow import Follower
from frontguard.studies.measurement import Measurement, usable
from frontguard.studies.replay import PROBE
from frontguard.studies.study import Pull
from frontguard.words.certificate import SIDE_BY_SIDE
from tests.storages import Place

SECONDS = Objective("seconds", "minimize", "10%")
BYTES = Objective("bytes", "minimize", 5.0)
ARMS = ("fast", "small", "bad")
TRUTH = {"fast": (1.0, 200.0), "small": (2.0, 100.0), "bad": (3.0, 300.0)}


def a_study(**settings: Any) -> Study:
    return Study(ARMS, [SECONDS, BYTES], Prescient(0.1), **{"seed": 5, **settings})


def measure(pull: Pull) -> list[float]:
    """What a pull measures, a function of the pull alone."""
    rng = np.random.default_rng([11, pull.id])
    seconds, size = TRUTH[pull.arm]
    if rng.random() < 0.05:
        seconds *= 10
    return [seconds * float(np.exp(rng.normal(0, 0.03))), size + float(rng.normal(0, 1))]


def work(study: Study, at_a_time: int = 1, most: int = 10**6) -> list[tuple[int, str]]:
    """Ask and tell until it is done; what was asked."""
    asked: list[tuple[int, str]] = []
    while len(asked) < most and (pulls := study.ask(at_a_time)):
        asked += [(pull.id, pull.arm) for pull in pulls]
        study.tell_many([(pull, measure(pull)) for pull in pulls])
    return asked


def same_state(one: Study, other: Study) -> None:
    for study in (one, other):
        study.catch_up()
    ours, theirs = one._replay.policy, other._replay.policy
    for name, array in ours.state().items():
        if name in ("pool", "columns"):
            continue  # where a sample lies in the pool depends on how it grew
        np.testing.assert_array_equal(array, theirs.state()[name], err_msg=name)
    np.testing.assert_array_equal(ours._outstanding, theirs._outstanding)
    assert one.result().to_dict() == other.result().to_dict()
    assert one.failures() == other.failures()


# What it answers


def test_it_certifies_the_front_and_says_so_in_the_users_units() -> None:
    study = a_study()
    work(study)
    result = study.result()
    assert study.done
    assert study.status == result.status == "certified"
    assert result.verdicts == {"fast": "in", "small": "in", "bad": "out"}
    for arm, (seconds, size) in TRUTH.items():
        low, high = result.intervals[arm]["seconds"]
        assert low <= seconds <= high
        low, high = result.intervals[arm]["bytes"]
        assert low <= size <= high
    certificate = result.to_dict()["certificate"]
    assert set(certificate) == {
        "accuracy", "coverage", "confidence", "threat", "contamination", "void", "arms", "aside", "limits"
    }  # fmt: skip
    assert certificate["accuracy"][0] <= 0.1 + 1e-12  # a share, as the tolerance was given
    assert certificate["accuracy"][1] <= 5.0
    assert study.ask() == []
    assert result.estimates[0, 0] == pytest.approx(1.0, rel=0.05)


def test_every_arm_begins_with_a_probe_and_pulls_are_interleaved_at_random() -> None:
    study = a_study()
    asked = [pull.arm for pull in study.ask(3 * PROBE)]
    assert {arm: asked.count(arm) for arm in ARMS} == dict.fromkeys(ARMS, PROBE)
    assert asked != sorted(asked)
    assert asked != [pull.arm for pull in a_study(seed=6).ask(3 * PROBE)]
    assert asked == [pull.arm for pull in a_study().ask(3 * PROBE)]


def test_asking_for_more_than_a_batch_gives_more_to_do() -> None:
    study = a_study()
    assert len(study.ask(100)) == 100
    assert len(study.ask(7)) == 7


def test_a_budget_is_kept_to_the_pull() -> None:
    study = Study(3, [Objective("quality", tolerance=1e-9)], Prescient(0.1), max_pulls=50)
    rng = np.random.default_rng(0)
    pulls = 0
    while batch := study.ask(4):
        pulls += len(batch)
        study.tell_many([(pull, [rng.normal()]) for pull in batch])
    assert pulls == study.result().pulls == 50
    assert study.status == "budget"


def test_a_budget_for_each_arm() -> None:
    study = Study(3, [Objective("quality", tolerance=1e-9)], Prescient(0.1), max_pulls_per_arm=20)
    rng = np.random.default_rng(0)
    while batch := study.ask(4):
        study.tell_many([(pull, [rng.normal()]) for pull in batch])
    assert study.status == "budget"
    assert study.result().pulls_per_arm.max() == 20


def test_it_waits_for_pulls_that_are_out_before_it_gives_up() -> None:
    study = Study(2, [Objective("quality", tolerance=1e-9)], Prescient(0.1), max_pulls=12)
    pulls = study.ask(12)
    assert len(pulls) == 12
    assert study.ask() == []
    assert not study.done
    study.tell_many([(pull, [0.0]) for pull in pulls])
    study.ask()
    assert study.done


def test_a_goal_out_of_reach_is_called_unreachable() -> None:
    study = Study(2, [Objective("quality", tolerance=0.01)], Prescient(0.3))
    while pulls := study.ask(50):
        study.tell_many([(pull, [float(np.random.default_rng(pull.id).normal())]) for pull in pulls])
    assert study.status == "unreachable"


# State is a replay of the log


@pytest.mark.parametrize("at_a_time", [1, 7])
def test_a_study_that_is_taken_up_goes_on_as_if_it_had_never_stopped(at_a_time: int) -> None:
    whole = a_study()
    expected = work(whole, at_a_time)
    storage = MemoryStorage()
    asked: list[tuple[int, str]] = []
    for _ in range(1000):
        study = a_study(storage=storage)
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
    twin = Certified.for_objectives(3, [SECONDS, BYTES], threat=Prescient(0.1), delta=0.05)
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
    np.testing.assert_array_equal(twin.standing.boxes, study._replay.policy.standing.boxes)
    np.testing.assert_array_equal(twin.estimates, study._replay.policy.estimates)


@given(st.data())
@settings(max_examples=40)
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
    study = a_study(max_pulls=400)
    while pulls := study.ask(10):
        for pull in pulls:
            if pull.arm == "fast" and pull.id % 3 == 0:
                study.fail(pull, "timeout after 1 s")
            else:
                study.tell(pull, measure(pull))
    assert [(alarm.arm, alarm.kind) for alarm in study.alarms()] == [("fast", "failures")]
    assert any("timeout after 1 s" in warning for warning in study.result().warnings)


# Leases, late and repeated tells


def test_a_pull_whose_lease_runs_out_has_failed_and_is_not_given_out_again() -> None:
    storage = MemoryStorage()
    slow = a_study(storage=storage, worker="slow", lease=0.5)
    other = a_study(storage=storage, worker="other")
    (pull,) = slow.ask()
    assert pull.id not in {given.id for given in other.ask(3)}
    time.sleep(0.55)
    assert pull.id not in {given.id for given in other.ask(3)}
    assert slow.tell(pull, measure(pull)) is False  # late: for the record
    assert storage.told("study").ends.tolist() == [End.OVERDUE]
    assert storage.late("study").values[0].tolist() == measure(pull)
    assert other.failures() == {pull.arm: {"nothing heard of its worker until its lease ran out": 1}}
    assert other.result().pulls == 1


def test_a_worker_that_renews_its_lease_keeps_its_pull() -> None:
    storage = MemoryStorage()
    slow = a_study(storage=storage, worker="slow", lease=0.5)
    other = a_study(storage=storage, worker="other")
    pulls = slow.ask(2)
    for _ in range(4):
        time.sleep(0.2)
        assert slow.renew(pulls[:1]) == 1
        other.ask()
    assert storage.told("study").pulls.tolist() == [pulls[1].id]
    assert slow.tell(pulls[0], measure(pulls[0])) is True


def test_pulls_can_be_given_up_and_what_was_never_begun_given_back() -> None:
    storage = MemoryStorage()
    study = a_study(storage=storage)
    one, two, three = study.ask(3)
    assert study.give_up([one]) == [True]
    assert study.give_up([one], End.LOST) == [False]
    assert study.give_back([three]) == 1
    assert [pull.id for pull in study.ask(2)] == [three.id, three.id + 1]
    assert study.tell(two, measure(two)) is True
    assert study.failures() == {one.arm: {"stopped before its end": 1}}
    with pytest.raises(BadInput, match="must say how a pull was given up"):
        study.give_up([three], End.TOLD)


def died_on_long_runs(seed: int, pulls: int = 400) -> Study:
    """Seconds of two arms: "a" takes 1 with probability 0.4 and otherwise 10, "b" takes 5, so "b" has the lower median.
    Workers die in runs of more than 6 seconds, and others take the study up.
    """
    rng = random.Random(seed)
    goal = [Objective("seconds", "minimize", tolerance="5%")]
    study = Study(["a", "b"], goal, Prescient(0.0), seed=seed, max_pulls=pulls, lease=1e-9)
    while asked := study.ask(10):
        for pull in asked:
            seconds = (1.0 if rng.random() < 0.4 else 10.0) if pull.arm == "a" else 5.0
            if seconds < 6.0:
                study.tell(pull, [seconds])  # all others are gone, and their leases run out
    return study


def test_workers_that_die_on_long_runs_do_not_put_the_best_arm_out() -> None:
    """Measured again until a worker survives it, "a" would always take 1 second, and put "b" out."""
    wrong = 0
    for seed in range(20):
        study = died_on_long_runs(seed)
        wrong += study.result().verdicts["b"] == "out"
        log = study.storage.told("study")
        assert sorted(log.pulls.tolist()) == list(range(1, len(log) + 1))
    assert wrong <= 3  # of 20, at a confidence of 95 %


def test_pulls_side_by_side_are_noticed_and_said() -> None:
    one, several = a_study(), a_study()
    work(one, 1, 30)
    for _ in range(10):
        several.tell_many([(pull, measure(pull)) for pull in reversed(several.ask(3))])
    assert not one.state().side_by_side
    assert several.state().side_by_side
    for study in (one, several):
        report = study_report(study.storage, study.name)
        assert (SIDE_BY_SIDE in report.assumptions) == study.state().side_by_side


def test_an_arm_is_set_aside_for_its_failures_and_not_because_its_users_stop_it() -> None:
    def after(end: End) -> dict[str, str]:
        study = a_study()
        for _ in range(200):
            if not (pulls := study.ask(3)):
                break
            for pull in pulls:
                if pull.arm == "fast" and pull.id < 150:
                    study.give_up([pull], end)
                else:
                    study.tell(pull, measure(pull))
        return dict(study.result().verdicts)

    assert after(End.LOST)["fast"] == "set aside"
    assert after(End.STOPPED)["fast"] != "set aside"


def test_tells_after_the_end_are_kept_and_the_answer_stands() -> None:
    storage = MemoryStorage()
    study = a_study(storage=storage)
    straggler = study.ask(40)[-1]
    work(study, 5)
    # The straggler's pull is part of an earlier plan and was never told: it counts as failed.
    before = study.result().to_dict()
    assert study.status == "certified"
    assert study.tell(straggler, [1e9, 1e9])
    assert study.result().to_dict() == before
    assert Study.open(storage).result().to_dict() == before


# Arms that fail


def test_an_arm_that_always_fails_is_set_aside_early() -> None:
    study = a_study()
    while pulls := study.ask(2):
        for pull in pulls:
            if pull.arm == "small":
                study.fail(pull, "exit code 1")
            else:
                study.tell(pull, measure(pull))
    result = study.result()
    assert study.status == "certified"
    assert result.verdicts == {"fast": "in", "small": "set aside", "bad": "out"}
    assert result.pulls_per_arm[1] <= PROBE + 2
    assert "arm 'small' was set aside" in result.warnings[0]
    assert "exit code 1" in result.warnings[0]


def test_a_study_against_any_share_is_stored_taken_up_and_certified() -> None:
    storage = MemoryStorage()

    def ours() -> Study:
        return Study(ARMS, [SECONDS, BYTES], Share(0.1), seed=5, storage=storage, name="s")

    work(ours(), most=100)
    study = ours()
    assert study.settings.threat == Share(0.1)
    work(study)
    result = study.result()
    assert result.verdicts == {"fast": "in", "small": "in", "bad": "out"}
    assert (result.certificate.threat, result.certificate.contamination) == ("share", 0.1)
    with pytest.raises(BadInput, match="other threat"):
        Study(ARMS, [SECONDS, BYTES], Malicious(0.1), seed=5, storage=storage, name="s")


def test_what_a_share_takes_counts_when_an_arm_fails_too_often_to_be_judged() -> None:
    """0.35 of the pulls fail and 0.2 may be replaced: of the half below a median nothing is left, ever."""
    study = Study(ARMS, [SECONDS, BYTES], Share(0.2), seed=5)
    rng = np.random.default_rng(1)
    while (pulls := study.ask(1)) and pulls[0].id < 6000:
        for pull in pulls:
            if pull.arm == "small" and rng.random() < 0.35:
                study.fail(pull, "crashed")
            else:
                study.tell(pull, measure(pull))
    assert study.result().verdicts["small"] == "set aside"


def test_an_arm_that_fails_too_often_to_be_judged_is_set_aside() -> None:
    study = a_study(max_pulls=5000)
    while pulls := study.ask(10):
        for pull in pulls:
            if pull.arm == "small" and np.random.default_rng([1, pull.id]).random() < 0.7:
                study.fail(pull, "crash")
            else:
                study.tell(pull, measure(pull))
    assert study.status == "certified"
    assert study.result().verdicts["small"] == "set aside"
    assert study.result().pulls_per_arm[1] < 200


def test_failures_within_the_contamination_change_no_verdict() -> None:
    study = a_study()
    while pulls := study.ask(5):
        for pull in pulls:
            if np.random.default_rng([2, pull.id]).random() < 0.08:
                study.fail(pull, "flaky")
            else:
                study.tell(pull, measure(pull))
    assert study.status == "certified"
    assert study.result().verdicts == {"fast": "in", "small": "in", "bad": "out"}
    assert sum(count["flaky"] for count in study.failures().values()) > 3


def test_if_every_arm_fails_nothing_is_certified() -> None:
    study = a_study()
    while pulls := study.ask(4):
        for pull in pulls:
            study.fail(pull, "no such file")
    assert study.status == "unreachable"
    assert study.result().pareto_set == []
    assert study.result().pulls <= 3 * (PROBE + 4)


# Taking up


def test_a_larger_budget_lets_a_study_go_on() -> None:
    storage = MemoryStorage()
    work(a_study(storage=storage, max_pulls=20))
    assert Study.open(storage).status == "budget"
    study = a_study(storage=storage, max_pulls=20)
    assert study.ask() == []  # the same budget, the same end
    study = a_study(storage=storage)
    work(study)
    assert study.status == "certified"
    same_state(study, Study.open(storage))


def test_a_looser_tolerance_may_end_a_study_that_had_none() -> None:
    storage = MemoryStorage()

    def wanted(tolerance: float) -> Study:
        return Study(2, [Objective("quality", tolerance=tolerance)], Prescient(0.3), storage=storage)

    def value(pull: Pull) -> list[float]:
        return [float(np.random.default_rng(pull.id).normal())]

    study = wanted(0.01)
    while pulls := study.ask(50):
        study.tell_many([(pull, value(pull)) for pull in pulls])
    assert study.status == "unreachable"
    pulls_then = study.result().pulls
    study = wanted(3.0)
    assert study.ask() == []
    assert study.status == "certified"
    assert study.result().pulls == pulls_then
    same_state(study, Study.open(storage))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arms": ("fast", "small", "worse")}, "other arms: number 3: 'bad' then, 'worse' now"),
        ({"arms": ("fast", "small")}, "other arms: 3 then, 2 now"),
        ({"threat": Prescient(0.2)}, "other threat"),
        ({"threat": Malicious(0.1)}, "other threat"),
        ({"confidence": 0.9}, "other confidence: 0.95 then, 0.9 now"),
        ({"seed": 1}, "other seed"),
        ({"objectives": [replace(SECONDS, direction="maximize"), BYTES]}, "other objectives"),
        ({"objectives": [replace(SECONDS, quantile=0.9), BYTES]}, "other objectives"),
        ({"objectives": [SECONDS]}, "other objectives: 2 then, 1 now"),
        ({"about": {"identity": {"command": "other"}}}, "other identity"),
    ],
)
def test_what_would_make_the_certificate_worthless_may_not_change(change: dict[str, Any], said: str) -> None:
    storage = MemoryStorage()
    given: dict[str, Any] = {
        "arms": ARMS, "objectives": [SECONDS, BYTES], "threat": Prescient(0.1), "seed": 5, "storage": storage,
        "about": {"identity": {"command": "prog"}},
    }  # fmt: skip
    Study(**given)
    with pytest.raises(BadInput) as refused:
        Study(**{**given, **change})
    assert said in str(refused.value)


def test_settings_survive_being_stored() -> None:
    storage = MemoryStorage()
    study = Study(
        ["ä", "b\n"], [Objective("x", "minimize", "3%", 0.9), "y"], Malicious(0.05), confidence=0.8, storage=storage,
        coverage=[0.1, 0.2], spread=Gaussian(0.5), max_pulls=100, seed=3, about={"identity": {"k": [1, "2"]}},
    )  # fmt: skip
    assert Study.open(storage).settings == study.settings


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arms": []}, "one at least"),
        ({"arms": ["a", "a"]}, "'a' more than once"),
        ({"arms": "abc"}, "list of names"),
        ({"arms": ["a", " "]}, "not blank"),
        ({"arms": ["a", "\ud800"]}, "UTF-8"),
        ({"objectives": ["\udfff"]}, "UTF-8"),
        ({"name": "\ud800"}, "UTF-8"),
        ({"arms": ["a", 3]}, "got 3"),
        ({"threat": "presient"}, "did you mean 'prescient'?"),
        ({"threat": 0.1}, "a model such as Prescient(0.1); got 0.1"),
        (
            {"contamination": 0.2},
            "must be left out where threat has its own, as Prescient(eps=0.1); got 0.2",
        ),
        ({"threat": None, "contamination": "50%"}, "contamination must be a probability from 0 to below 1/2"),
        ({"minimise": "seconds"}, "Study() has no argument 'minimise': say it of an objective"),
        ({"threat": Prescient(0.49), "spread": Gaussian(1.0), "confidence": 2}, "confidence"),
        ({"confidence": 95}, "confidence must be a probability"),
        ({"max_pulls": 0}, "pulls must be a whole number"),
        ({"seed": -1}, "seed"),
        ({"lease": 0.0}, "lease"),
        ({"lease": "soon"}, "lease must be a time, such as 90 (seconds)"),
        ({"name": ""}, "name"),
        ({"objectives": []}, "one at least"),
        ({"spread": "wide"}, "spread"),
    ],
)
def test_what_makes_no_study_is_refused(change: dict[str, Any], said: str) -> None:
    storage = MemoryStorage()
    given: dict[str, Any] = {"arms": ["a", "b"], "objectives": [SECONDS], "threat": Prescient(0.1), "storage": storage}
    with pytest.raises((BadInput, TypeError, ValueError)) as refused:
        Study(**{**given, **change})
    assert said in str(refused.value)


def test_open_needs_to_know_which_study() -> None:
    storage = MemoryStorage()
    with pytest.raises(UnknownStudy, match="0 studies"):
        Study.open(storage)
    a_study(storage=storage, name="one")
    assert Study.open(storage).name == "one"
    a_study(storage=storage, name="two")
    with pytest.raises(UnknownStudy, match="one, two"):
        Study.open(storage)
    with pytest.raises(UnknownStudy, match="three"):
        Study.open(storage, "three")


# Frames


def test_the_frame_has_every_told_pull_in_order() -> None:
    study = a_study()
    pulls = study.ask(4)
    study.tell(pulls[2], [1.5, 7.0])
    study.fail(pulls[0], "crash")
    frame = study.to_frame()
    assert frame.index.tolist() == [pulls[2].id, pulls[0].id]
    assert frame["arm"].tolist() == [pulls[2].arm, pulls[0].arm]
    assert frame["seconds"].tolist()[0] == 1.5
    assert np.isnan(frame["bytes"].tolist()[1])
    assert frame["failure"].tolist() == ["", "crash"]
    assert abs(frame["at"].iloc[0].timestamp() - time.time()) < 60


def test_a_plan_that_does_not_follow_is_not_added() -> None:
    study = a_study()
    study.ask()
    assert not study.storage.add_plan("study", Plan(1, 0, 1, np.array([0, 1]), "running"))
    assert not study.storage.add_plan("study", Plan(2, 0, 1, np.array([0, 1]), "running"))


def test_the_repr_says_what_is_compared_and_leaves_the_storage_alone(tmp_path: Path) -> None:
    study = Study(["a", "b"], [SECONDS], storage=tmp_path / "a.db", name="flags")
    study.tell(study.ask()[0], [1.0])
    study.status  # noqa: B018  reads what was told
    shown = f"<study 'flags' in SqliteStorage({str(tmp_path / 'a.db')!r}): 2 arms by seconds; 1 told pull read>"
    assert repr(study) == shown
    study.close()
    before = sorted(tmp_path.iterdir())
    assert repr(study) == shown
    assert sorted(tmp_path.iterdir()) == before


# Last words -----------------------------------------------------------------------------------------------------------


def test_what_failed_pulls_said_survives_a_resume(place: Place) -> None:
    with place.open() as storage:
        study = Study(["good", "bad"], [SECONDS], Prescient(0.1), storage=storage)
        for _ in range(3):
            came = []
            for pull in study.ask(10):
                said = f"line {pull.id}: no such\x1e flag"
                bad = Measurement(None, "exit code 1", said=said)
                came.append((pull, bad if pull.arm == "bad" else Measurement([1.0])))
            study.tell_measurements([(pull, usable(study.objectives, each, pull.id)) for pull, each in came])
        before = study.result()
        assert study.failures() == {"bad": Counter({"exit code 1": study.failures()["bad"].total()})}
    with place.open() as storage:
        again = Study.open(storage)
        (aside,) = [notice for notice in again.result().notices if isinstance(notice, SetAside)]
        assert re.fullmatch(r"exit code 1: line \d+: no such  flag", aside.last)
        assert aside.reasons == (("exit code 1", aside.failed),)
        assert again.result().notices == before.notices
        snapshot = Follower(storage, "study").catch_up().snapshot
        assert snapshot.said == {"bad": aside.last}
        assert set(again.to_frame()["failure"]) == {"", "exit code 1"}
        report = study_report(storage, "study")
        shown = str(report)
        assert aside.last in shown
        assert aside.last in str(report.failures)
