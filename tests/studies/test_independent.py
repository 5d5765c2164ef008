"""Studies of arms that are taken as independent of each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Oblivious, Study, identify
from frontguard._common.compiled import INTERPRETED, kernels
from frontguard.commands.spec import spec_from_arms
from frontguard.errors import BadInput
from frontguard.evidence.differences.apart import Apart
from frontguard.evidence.intervals import COLUMNS
from frontguard.pareto.relations import LimitRule
from frontguard.policies import Certified
from frontguard.question import Question
from frontguard.simulation.engine import drive_by_turns, simulate_one
from frontguard.simulation.environments import gaussian
from frontguard.simulation.streams import RewardSource, Streams
from frontguard.studies.settings import Settings
from tests.support.snapshots import refused, said

VOLTS = Objective("volts", "maximize", tolerance=0.05, statistic="mean", sigma=1.0)
CLEAN = Oblivious(0.0)


def test_a_study_compares_in_pairs_and_says_what_it_takes_for_granted(snapshot: SnapshotAssertion) -> None:
    study, draw = Study(["a", "b"], [VOLTS], CLEAN, independent=True), np.random.default_rng(0)
    while pulls := study.ask(8):
        study.tell_many([(pull, {"volts": draw.normal(0.4 * pull.index)}) for pull in pulls])
    found = study.result()
    assert (found.status, found.verdicts["b"]) == ("certified", "keep")
    (notice,) = [notice for notice in found.notices if notice.kind == "independent_arms"]
    assert said(notice) == snapshot
    assert found.differences is not None
    low, high = (float(ends[0, 0]) for ends in found.differences)  # of the first arm less the one that decides it
    assert low <= -0.4 <= high
    assert high < found.upper[0, 0] - found.lower[1, 0]
    again = Settings.from_json(study.settings.to_json())
    assert again.question.independent
    assert type(again.policy().differences) is Apart
    with refused(BadInput, snapshot):
        study.settings.taken_up(Settings(("a", "b"), Question((VOLTS,), CLEAN)), 0)


def test_tolerances_that_were_changed_by_looking_leave_rivals_out() -> None:
    begun = Settings(("a", "b", "c"), Question((VOLTS,), CLEAN, independent=True))
    wider = replace(begun, question=begun.question.but(tolerance=0.2))
    longer = begun.taken_up(replace(begun, question=begun.question.but(max_pulls=9)), 3)
    changed = longer.taken_up(wider, 4)
    assert longer.foreseen
    assert not changed.foreseen
    assert not changed.taken_up(begun, 5).foreseen  # what was looked at was looked at
    again = Settings.from_json(changed.to_json())
    assert again == changed
    arms, intervals = 3, [each.policy().standing.intervals.shape[1] for each in (begun, changed)]
    assert intervals == [COLUMNS + 2 * arms, COLUMNS + arms]
    plain = Settings(("a", "b", "c"), Question((VOLTS,), CLEAN))
    assert plain.taken_up(replace(plain, question=plain.question.but(tolerance=0.2)), 1).foreseen


def test_arms_that_share_something_are_refused(snapshot: SnapshotAssertion) -> None:
    score = Objective("score", "maximize", statistic="mean", bounds=(0, 1))
    for settings in (
        {"objectives": [score], "paired": True},
        {"objectives": [score]},
    ):
        with refused(BadInput, snapshot):
            Study(["arm-0", "arm-1"], settings.pop("objectives"), CLEAN, independent=True, **settings)  # type: ignore[arg-type]
    study = Study(2, [VOLTS], CLEAN, independent=True)
    with refused(BadInput, snapshot):
        study.tell(study.ask()[0], {"volts": 0.5}, cluster="host")

    def by_repeat(arm: str, rep: int) -> float:
        return float(rep)

    with refused(BadInput, snapshot):
        identify(by_repeat, arms=["a", "b"], objectives=[VOLTS], contamination=0, independent=True)
    with refused(BadInput, snapshot):
        spec_from_arms(["a=./ask {rep}", "b=./ask x {rep}"], independent=True).check_commands()


def test_simulated_runs_are_those_of_ask_and_tell_and_a_saved_policy_goes_on(tmp_path: Path) -> None:
    environment = gaussian([[0.0, 1.0], [1.0, 0.0], [0.2, 0.1]], sigma=0.4)
    policy = Certified(3, 2, independent=True, threat=CLEAN, accuracy=0.6, max_pulls=80)
    with kernels(INTERPRETED):
        simulated = simulate_one(policy, environment, seed=3)
        live, streams = policy.fresh(), Streams(RewardSource(environment, None), seed=3, run=0)
        drive_by_turns(live, streams, max_pulls=60)
        live.save(tmp_path / "policy.json")
        live = Certified.load(tmp_path / "policy.json")
        drive_by_turns(live, streams)
    assert isinstance(simulated, Certified)
    assert simulated.pulls_per_arm.tolist() == live.pulls_per_arm.tolist()
    np.testing.assert_array_equal(simulated.standing.intervals, live.standing.intervals)
    np.testing.assert_array_equal(simulated.differences.levels, live.differences.levels)
    assert (simulated.standing.intervals[:, COLUMNS:] < np.inf).any()


def test_simulated_runs_keep_to_limits() -> None:
    environment = gaussian([[1.0], [0.0]], sigma=0.1)
    beyond_2 = LimitRule(np.array([0]), np.array([2.0]), np.array([2.0]))  # at least 2, which no arm is
    policy = Certified(2, 1, independent=True, threat=CLEAN, accuracy=0.3, max_pulls=200, limits=beyond_2)
    with kernels(INTERPRETED):
        simulated = simulate_one(policy, environment, seed=3)
        live = policy.fresh()
        drive_by_turns(live, Streams(RewardSource(environment, None), seed=3, run=0))
    assert simulated.pulls_per_arm.tolist() == live.pulls_per_arm.tolist()
    assert simulated.result().verdicts == live.result().verdicts == {"0": "beaten", "1": "beaten"}
