"""Studies with limits: what they answer is true of a known world, whatever fails and whoever lies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import (
    Answer,
    BadInput,
    Certified,
    Limit,
    Malicious,
    Objective,
    Prescient,
    Study,
    Threat,
    identify,
)
from frontguard.storage.contract import open_storage
from frontguard.studies.follow import Follower
from frontguard.verdicts import FEASIBLE, INFEASIBLE, OPEN, Feasibility, Verdict
from frontguard.words.plan import out_of_reach
from tests.support.snapshots import refused, said

ARMS = ["fast", "good", "slow", "worst"]
MEDIANS = {"fast": (1.0, 5.0), "good": (3.0, 2.0), "slow": (5.0, 3.0), "worst": (9.0, 2.5)}  # seconds, memory
CLEAN = Prescient(0.0)


def measured(study: Study, seed: int, lies: float = 0.0, fails: float = 0.0, at_a_time: int = 20) -> Answer:
    """The study, measured until it stops: normal noise, some pulls that fail, and lies that make bad arms look good."""
    rng = np.random.default_rng(seed)
    while pulls := study.ask(at_a_time):
        for pull in pulls:
            if rng.random() < fails:
                study.fail(pull, "out of luck")
                continue
            seconds, memory = rng.normal(MEDIANS[pull.arm], 0.5)
            if rng.random() < lies:
                seconds, memory = (50.0, 50.0) if pull.arm == "good" else (0.1, 0.1)
            study.tell(pull, {"seconds": seconds, "memory": memory})
    return study.result()


def test_front_of_the_arms_within() -> None:
    study = Study(ARMS, [Objective("seconds", "minimize", 0.5)], CLEAN, limits=["memory<=4"])
    result = measured(study, 1)
    assert result.status == "certified"
    assert result.verdicts == {"fast": "beaten", "good": "keep", "slow": "beaten", "worst": "beaten"}
    assert result.limits is not None
    assert result.limits.codes[:2, 0].tolist() == [INFEASIBLE, FEASIBLE]
    assert result.decided_by.tolist() == [-1, -1, 1, 1]
    assert result.objectives == ("seconds",)
    assert result.lower.shape == (4, 1)  # everything that shows objectives shows these
    assert study.to_frame().columns.tolist()[:3] == ["arm", "seconds", "memory"]


def test_arms_that_are_certainly_beaten_need_not_be_resolved() -> None:
    study = Study(ARMS, [Objective("seconds", "minimize", 0.5)], CLEAN, limits=["memory<=2.5"], blocks=False)
    result = measured(study, 2)
    assert result.status == "certified"
    assert result.limits is not None
    assert result.limits.codes[3, 0] == OPEN
    assert result.pulls_per_arm[3] < 30


def test_limit_on_another_quantile_of_an_objective() -> None:
    study = Study(ARMS, [Objective("seconds", "minimize", 0.5)], CLEAN, limits=["p90(seconds)<=2.5", "memory<=9"])
    result = measured(study, 3)
    assert result.pareto_set == ["fast"]
    assert study.settings.question.columns.sources == (0, 0, 1)


def test_no_arm_is_within() -> None:
    study = Study(ARMS, [Objective("seconds", "minimize", 0.5)], CLEAN, limits=["memory<=1"])
    result = measured(study, 4)
    assert (result.status, result.pareto_set) == ("certified", [])
    assert set(result.verdicts.values()) == {"beaten"}


def test_one_arm_that_is_open_is_not_returned() -> None:
    study = Study(["good"], [Objective("seconds", "minimize", 0.5)], CLEAN, limits=["memory<=2"], max_pulls=200)
    assert measured(study, 5).verdicts == {"good": "undecided"}
    study = Study(["good"], [Objective("seconds", "minimize", 0.5)], CLEAN, limits=["memory<=3"], max_pulls=200)
    assert measured(study, 5).verdicts == {"good": "keep"}


def test_limit_that_no_number_of_pulls_resolves_ends_the_study() -> None:
    limits = [Limit("memory", at_most=2.0)]  # what "good" has, and one measurement in ten is a lie
    study = Study(["good", "slow"], [Objective("seconds", "minimize", 0.5)], Prescient(0.1), limits=limits)
    result = measured(study, 6, lies=0.1)
    assert result.status == "unreachable"
    assert result.verdicts["good"] == "undecided"
    assert result.pulls < 20_000
    tolerant = [Limit("memory", at_most=2.0, tolerance=0.5)]
    study = Study(["good", "slow"], [Objective("seconds", "minimize", 0.5)], Prescient(0.1), limits=tolerant)
    assert measured(study, 6, lies=0.1).verdicts == {"good": "keep", "slow": "beaten"}


def test_metric_that_always_fails_sets_its_arm_aside() -> None:
    study = Study(["a", "b"], [Objective("seconds", "minimize", 0.5)], CLEAN, limits=["memory<=3"])
    while pulls := study.ask(10):
        for pull in pulls:
            study.tell(pull, [1.0, None if pull.arm == "a" else 2.0], "no memory" if pull.arm == "a" else None)
    assert study.result().verdicts == {"a": "excluded", "b": "keep"}


def test_study_goes_on_with_its_limits_and_follower_says_the_same(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    file = tmp_path / "study.db"
    objectives, limits = [Objective("seconds", "minimize", 0.5)], ["memory<=4", "p90(seconds)<=20"]
    short = Study(ARMS, objectives, CLEAN, storage=file, limits=limits, max_pulls=60)
    measured(short, 7)
    short.close()
    with refused(BadInput, snapshot):
        Study(ARMS, objectives, CLEAN, storage=file, limits=["memory<=4"], max_pulls=60)
    with refused(BadInput, snapshot):
        Study(ARMS, objectives, CLEAN, storage=file, limits=["p75(memory)<=4", "p90(seconds)<=20"])
    longer = Study(ARMS, objectives, CLEAN, storage=file, limits=["memory<=6", "p90(seconds)<=20"])
    result = measured(longer, 8)
    assert result.pareto_set == ["fast"]
    longer.close()
    again = Study.open(file, read_only=True)
    assert again.settings.question.limits == longer.settings.question.limits
    assert again.result().verdicts == result.verdicts
    follower = Follower(open_storage(file, read_only=True), "study")
    shown = follower.catch_up().answer
    assert shown.limits is not None
    assert result.limits is not None
    assert np.array_equal(shown.limits.codes, result.limits.codes)
    assert [each.name for each in follower.measurements(0).objectives] == ["seconds", "memory"]


def test_values_that_a_limit_needs_are_asked_for(snapshot: SnapshotAssertion) -> None:
    study = Study(ARMS, [("x", "maximize")], CLEAN, limits=["memory<=4"])
    (pull,) = study.ask()
    with refused(BadInput, snapshot):
        study.tell(pull, {"x": 1.0})


def test_identify_with_limits() -> None:
    def bake(minutes: int, seed: int) -> dict[str, float]:
        noise = np.random.default_rng(seed)
        return {"taste": -abs(minutes - 40) + noise.normal(), "burnt": float(noise.random() < minutes / 60)}

    result = identify(
        bake, arms={"short": 20, "right": 40, "long": 60}, objectives=[Objective("taste", "maximize", tolerance=3)],
        limits=["mean(burnt)<=0.5"], contamination=0, executor="serial",
    )  # fmt: skip
    assert result.pareto_set == ["short"]
    assert result.limits is not None
    assert result.limits.of_arms.tolist()[1:] == [INFEASIBLE, INFEASIBLE]


def false_claims(result: Answer, limit: float) -> bool:
    """Whether a verdict, or what is said of a limit, is false of the world."""
    assert result.limits is not None
    for arm, (seconds, memory) in MEDIANS.items():
        place = result.arms.index(arm)
        keeping, verdict = Feasibility(int(result.limits.codes[place, 0])), result.verdict(place)
        if (keeping is Feasibility.FEASIBLE and memory > limit) or (
            keeping is Feasibility.INFEASIBLE and memory <= limit
        ):
            return True
        better = [other for other, (its, uses) in MEDIANS.items() if uses <= limit and its < seconds]
        if verdict is Verdict.KEEP and (memory > limit or any(seconds - MEDIANS[each][0] > 0.5 for each in better)):
            return True
        if verdict is Verdict.BEATEN and memory <= limit and not better:
            return True
    return False


@pytest.mark.parametrize(("threat", "lies"), [(Prescient(0.1), 0.1), (Malicious(0.05), 0.05)])
def test_what_is_said_of_limits_is_seldom_false(threat: Threat, lies: float) -> None:
    """At confidence 50 % at most half of the studies may be wrong somewhere; many looks, failures and an attacker."""
    wrong = 0
    for seed in range(24):
        study = Study(ARMS, [Objective("seconds", "minimize", 0.5)], threat, confidence=0.5, seed=seed,
                      limits=["memory<=4.9"], max_pulls=300)  # fmt: skip
        rng, found = np.random.default_rng(seed), False
        while pulls := study.ask(30):
            for pull in pulls:
                seconds, memory = rng.normal(MEDIANS[pull.arm], 0.5)
                if rng.random() < 0.05:
                    study.fail(pull, "out of luck")
                elif rng.random() < lies:
                    study.tell(pull, (50.0, 50.0) if pull.arm == "good" else (0.1, 0.1))
                else:
                    study.tell(pull, (seconds, memory))
            found = found or false_claims(study.result(), 4.9)
        wrong += found or false_claims(study.result(), 4.9)
    assert wrong <= 12


def test_limit_that_lies_hide_for_ever_is_told_before_the_first_pull(snapshot: SnapshotAssertion) -> None:
    objectives = [Objective("seconds", "minimize", 0.5)]
    study = Study(ARMS, objectives, Malicious(0.1), limits=["p95(memory)<=4", "memory<=9"])
    assert [gate.column for gate in study.settings.never_within()] == [1]
    assert said("\n".join(out_of_reach(study.settings))) == snapshot
    assert not Study(ARMS, objectives, Malicious(0.1), limits=["p80(memory)<=4"]).settings.never_within()


def test_policy_with_limits_is_saved_and_goes_on(tmp_path: Path) -> None:
    policy = Certified.for_objectives(
        3, [Objective("x", "maximize", tolerance=0.3)], threat=CLEAN, limits=["y>=0", "p75(x)>=-9"]
    )
    rng = np.random.default_rng(2)
    truth = np.array([[2.0, -1.0], [1.0, 1.0], [-2.0, 2.0]])

    def pull(arms: np.ndarray) -> np.ndarray:
        values = rng.normal(truth[arms], 1.5)
        return np.column_stack([values[:, 0], values[:, 1], values[:, 0]])

    for _ in range(2):
        policy.tell(arms := policy.ask(), pull(arms))
    policy.save(tmp_path / "policy.json")
    again = Certified.load(tmp_path / "policy.json")
    while not policy.done:
        arms = policy.ask()
        assert np.array_equal(arms, again.ask())
        values = pull(arms)
        policy.tell(arms, values)
        again.tell(arms, values)
    assert policy.result().verdicts == again.result().verdicts
    assert policy.result().pareto_set == ["1"]


def test_values_of_an_arm_are_its_own_where_there_are_limits() -> None:
    study = Study(
        ["a", "b"],
        [Objective("x", "maximize"), Objective("y", "maximize", exact=True)],
        Prescient(0.0),
        limits=["p90(z)<=9"],
    )
    for pull in study.ask(6):
        study.tell(pull, {"x": 1.0 + pull.index, "y": 10.0 + pull.id, "z": 100.0})
    policy = study.settings.policy()
    policy.expect([0, 1, 1])
    rows = np.array([[1.0, 5.0, 7.0], [2.0, 6.0, 8.0], [3.0, 6.0, 9.0]])
    policy.take([0, 1, 1], study.settings.question.columns.observed(rows))
    assert policy.values_of(1, 0).tolist() == [2.0, 3.0]
    assert policy.values_of(1, 1).tolist() == [6.0, 6.0]
    assert any(notice.kind == "exact_differs" for notice in study.result().notices)  # type: ignore[attr-defined]
