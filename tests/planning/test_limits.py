"""Plans with limits: arms around them, what stays open for ever against values by hand, what simulated runs take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from syrupy.assertion import SnapshotAssertion

from frontguard import Certified, Gaussian, Limit, Malicious, Objective, Prescient, Question
from frontguard.limits import columns_for, parse_limits
from frontguard.pareto.relations import LimitRule
from frontguard.planning.cost import ends_of, make_plan
from frontguard.planning.reach import LimitFloor, limit_floors
from frontguard.planning.task import ROWS, Pilot, Task, truly_within
from frontguard.simulation import RewardSource, Streams, simulate_one
from frontguard.simulation.engine import drive_by_turns
from frontguard.simulation.environments import bootstrap
from tests.support.snapshots import refused

SECONDS = Objective("seconds", "minimize", 0.2)
RATE = Objective("solved", "maximize", tolerance=0.1, statistic="mean", bounds=(0, 1))


def task(*limits: str, metrics: tuple[Objective, ...] = (SECONDS,), **more: Any) -> Task:
    given: dict[str, Any] = {"spread": Gaussian(0.5), "threat": Prescient(0.0), **more}
    asked = Question.of(metrics, limits=limits, confidence=0.9, goal="front", **given)
    return Task(asked, tuple(str(n) for n in range(40)), 4.0)


def test_arms_lie_to_either_side_of_their_limits() -> None:
    asked = task("p95(seconds)<=300", "mean(safe)>=0.4", "bytes>=7", "p95(seconds)<=299")
    environment = asked.environment(seed=0, run=0)
    true, _ = truly_within(environment, asked.columns)
    assert str(asked.columns.gates[0]) == "p95(seconds) ≤ 300"
    assert asked.columns.sources == (0, 0, 1, 2)
    slow = -environment.law.quantile(0.05)[:, 1]  # the 0.95-quantile of seconds, which are minimised
    assert np.allclose(slow, -true[:, 1])
    assert slow.min() >= 298.0 - 0.05
    assert slow.max() <= 302.0 + 0.05
    assert 8 <= (slow <= 300.0).sum() <= 32
    assert np.allclose(slow - 0.5 * norm.ppf(0.95), -true[:, 0], atol=0.05)  # of the same values
    assert 0.0 <= true[:, 2].min() < 0.3 < 0.7 < true[:, 2].max() <= 1.0
    assert ((true[:, 3] >= 5.0) & (true[:, 3] <= 9.0)).all()


def floors(asked: Task) -> tuple[LimitFloor, ...]:
    return limit_floors(asked.columns, asked.threat, asked.noise, asked.pilot, ends_of(asked, None))


def test_what_stays_open_of_a_limit_is_what_an_attack_leaves_of_its_quantile() -> None:
    eps = 0.02
    kept = (1.0 - eps) * 0.05
    longest = 0.5 * (norm.ppf(0.05) - norm.ppf((kept - eps) / (1.0 - eps)))  # all replacements far above
    (floor,) = floors(task("p95(seconds)<=300", threat=Prescient(eps)))
    assert floor.width == pytest.approx(longest, rel=1e-9)
    assert (floor.within, floor.beyond, floor.open_arms) == (True, True, None)
    (floor,) = floors(task("p95(seconds)<=300", threat=Malicious(0.06)))
    assert (floor.within, floor.beyond) == (False, True)
    (floor,) = floors(task("p95(seconds)>=300", threat=Malicious(0.06)))
    assert (floor.within, floor.beyond) == (True, False)
    (floor,) = floors(task("mean(safe)>=0.4", metrics=(RATE,), sigma=None, threat=Prescient(0.1)))
    assert floor.width == pytest.approx(1 / 9)


def test_values_for_a_mean_and_for_a_median_are_the_ends_of_its_bounds() -> None:
    asked = task("mean(seconds,0,9)<=3", metrics=(SECONDS,))
    true, _ = truly_within(asked.environment(seed=0, run=0), asked.columns)
    assert set(np.unique(true[:, 0]).round(9)) <= {-9.0, 0.0}  # medians of values that are 0 or 9
    assert ((true[:, 1] > -9.0) & (true[:, 1] < 0.0)).all()


def pilot_of(latencies: tuple[float, ...], rates: tuple[float, ...]) -> Pilot:
    """So many rows of each arm, whose medians of latency and rates are these."""
    rows, columns = 200, columns_for((RATE,), parse_limits(["latency<=100"]))
    places = (np.arange(rows) + 0.5) / rows
    raw = [
        np.column_stack([places < rate, latency * (0.9 + 0.2 * places[::-1])])
        for latency, rate in zip(latencies, rates, strict=True)
    ]
    names = tuple("abcd"[: len(rates)])
    return Pilot(names, columns.observed(np.concatenate(raw)), np.repeat(np.arange(len(rates)), rows))


def on_pilot(threat: Any, latencies: tuple[float, ...], rates: tuple[float, ...]) -> Task:
    asked = Question.of([RATE], threat, confidence=0.9, limits=[Limit("latency", at_most=100)])
    pilot = pilot_of(latencies, rates)
    return Task(asked, pilot.names, pilot=pilot)


def test_a_pilot_says_which_arms_would_stay_open_and_whether_any_method_could_know() -> None:
    near = make_plan(on_pilot(Prescient(0.2), (101.0, 50.0, 150.0), (0.95, 0.4, 0.4)), runs=2)
    assert near.limits[0].open_arms == ("a",)
    assert near.possible_up_to is not None
    assert not near.possible  # a may be within, and then nothing else covers it
    assert near.of("certified").certified == 0
    # Its median is beyond while less than that share of it is replaced: of 200 values, 45 % are at most 100.
    most = near.possible_up_to
    assert (0.5 - 0.5 * most / (1 - most)) == pytest.approx(0.45, abs=0.02)
    far = make_plan(on_pilot(Prescient(0.02), (120.0, 50.0, 150.0), (0.95, 0.4, 0.1)), runs=2)
    assert far.limits[0].open_arms == ()
    assert far.possible
    assert far.of("certified").certified == 2


def test_arms_beyond_a_limit_cost_less_than_arms_near_to_it() -> None:
    mean = {
        latency: make_plan(on_pilot(Prescient(0.0), (latency, 50.0), (0.9, 0.3)), runs=3).of("certified").mean
        for latency in (103.0, 108.0, 200.0)
    }
    assert mean[103.0] > 1.5 * mean[108.0]
    assert mean[108.0] > mean[200.0]


def test_the_engine_decides_as_ask_and_tell_do(snapshot: SnapshotAssertion) -> None:
    columns = columns_for((SECONDS,), parse_limits(["p75(memory)<=4", "seconds<=9"]))
    rng = np.random.default_rng(3)
    truth = np.array([[1.0, 3.0], [2.0, 5.0], [1.5, 3.4], [4.0, 1.0]])
    raw = truth[:, None] + rng.normal(0.0, 0.5, (4, ROWS, 2))
    environment = bootstrap(columns.observed(raw.reshape(-1, 2)), np.repeat(np.arange(4), ROWS))
    for goal, budget in (("list", None), ("front", 150)):
        policy = Certified.for_objectives(
            4, (SECONDS,), threat=Prescient(0.02), limits=["p75(memory)<=4", "seconds<=9"], goal=goal, max_pulls=budget
        )
        assert len(LimitRule.of(columns.gates).columns) == 2
        by_turns = policy.fresh()
        drive_by_turns(by_turns, Streams(RewardSource(environment, None), 5, 1))
        ended = simulate_one(policy, environment, seed=5, run=1)
        assert isinstance(ended, Certified)
        assert ended.status == by_turns.status
        assert ended.pulls_per_arm.tolist() == by_turns.pulls_per_arm.tolist()
        assert ended.verdict_codes.tolist() == by_turns.verdict_codes.tolist()
        assert np.array_equal(ended.standing.intervals, by_turns.standing.intervals)
        assert ended.standing.arms["keeping"].tolist() == by_turns.standing.arms["keeping"].tolist()
    wrong = Certified.for_objectives(4, (SECONDS,), threat=Prescient(0.02))
    with refused(ValueError, snapshot):
        simulate_one(wrong, environment)
