"""Plans with means, exact values and known deviations: floors, what an attack leaves, and what is simulated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from syrupy.assertion import SnapshotAssertion

from frontguard import Certified, Gaussian, Malicious, Objective, Prescient, Question, Share
from frontguard.errors import BadInput
from frontguard.evidence.intervals import HIGH, LOW
from frontguard.evidence.statistics import statistics_of
from frontguard.pareto.relations import lasting_intervals
from frontguard.planning.cost import make_plan
from frontguard.planning.reach import mean_floor, means_below_floor, pilot_limits
from frontguard.planning.task import Pilot, Task
from frontguard.simulation import RewardSource, Streams, simulate_one
from frontguard.theory.threats import Threat
from tests.support.snapshots import refused
from tests.support.worlds import bernoulli

RATE = Objective("solved", "maximize", tolerance=0.2, statistic="mean", bounds=(0, 1))
STARS = Objective("stars", "minimize", statistic="mean", bounds=(1, 5))
SIZE = Objective("bytes", "minimize", exact=True)
KNOWN = Objective("ms", "maximize", statistic="mean", sigma=0.5)
THREATS: tuple[Threat, ...] = (Prescient(0.1), Malicious(0.1), Share(0.1), Prescient(0.0))


def told(objective: Objective, threat: Threat, values: np.ndarray) -> Certified:
    """A policy of two arms with these values."""
    policy = Certified.for_objectives(2, [objective], threat=threat, max_pulls_per_arm=len(values))
    for arm in range(2):
        policy.expect(np.full(len(values), arm))
        policy.take(np.full(len(values), arm), objective.observed(values)[:, None])
    policy.decide()
    return policy


@pytest.mark.parametrize("threat", THREATS)
@pytest.mark.parametrize("objective", [RATE, STARS])
def test_the_floor_is_what_the_policy_finds_that_no_pull_can_shrink(threat: Threat, objective: Objective) -> None:
    low, high = objective.bounds or (0.0, 1.0)
    values = np.repeat([low, high], [300, 700])
    ends = lasting_intervals(told(objective, threat, values).standing.intervals)[0, [LOW, HIGH], 0]
    assert ends[1] - ends[0] == pytest.approx(mean_floor(objective, threat), abs=1e-9)
    pilot = Pilot(("a", "b"), np.tile(objective.observed(values), 2)[:, None], np.repeat([0, 1], 1000))
    limits = pilot_limits(pilot, threat, statistics_of([objective]))
    assert [float(end[0, 0]) for end in limits] == pytest.approx(ends)


def test_which_tolerances_are_below_the_floor() -> None:
    half = Objective("half", "maximize", tolerance="5%", statistic="mean", bounds=(0, 2))
    found = means_below_floor([RATE, STARS, half, SIZE, Objective("x", "maximize")], Malicious(0.1))
    assert [(each.name, round(floor, 9)) for each, floor in found] == [("stars", 0.8), ("half", 0.2)]
    assert not means_below_floor([RATE], Prescient(0.1))
    assert not means_below_floor([STARS], Prescient(0.0))


def extremes(values: np.ndarray, threat: Threat) -> list[float]:
    """The least and the largest mean of clean laws of which an attacker could make this one: linear programmes."""
    support = np.unique(np.concatenate([values, [0.0, 1.0]]))
    seen = np.array([(values == x).mean() for x in support])
    n, eps = len(support), threat.eps
    sums = {"A_eq": [np.concatenate([np.ones(n), np.zeros(n)])], "b_eq": [1.0]}
    if threat.chooses_hits:  # |F − P| adds up to 2ε at most: the second half of the variables are the differences
        above, below = np.hstack([np.eye(n), -np.eye(n)]), np.hstack([-np.eye(n), -np.eye(n)])
        total = np.concatenate([np.zeros(n), np.ones(n)])
        limits: Any = {"A_ub": np.vstack([above, below, total]), "b_ub": np.concatenate([seen, -seen, [2.0 * eps]])}
    else:
        limits = {"A_ub": np.hstack([np.eye(n), np.zeros((n, n))]), "b_ub": seen / (1.0 - eps)}
    cost = np.concatenate([support, np.zeros(n)])
    return [sign * linprog(sign * cost, **sums, **limits).fun for sign in (1.0, -1.0)]


@pytest.mark.parametrize("threat", THREATS)
@pytest.mark.parametrize("name", ["rates", "stars", "uniform"])
def test_what_is_left_to_any_method_is_what_an_attacker_could_hide(threat: Threat, name: str) -> None:
    rng = np.random.default_rng(5)
    values = {
        "rates": np.repeat([0.0, 1.0], [14, 26]),
        "stars": rng.choice(5, size=40) / 4.0,
        "uniform": rng.random(40),
    }[name]
    pilot = Pilot(("a", "b"), np.tile(values, 2)[:, None], np.repeat([0, 1], 40))
    counted = statistics_of([Objective("y", "maximize", statistic="mean", bounds=(0, 1))])
    left = [float(end[0, 0]) for end in pilot_limits(pilot, threat, counted, any_method=True)]
    assert left == pytest.approx(extremes(values, threat), abs=1e-7)
    ours = [float(end[0, 0]) for end in pilot_limits(pilot, threat, counted)]
    assert ours[0] <= left[0] + 1e-9
    assert left[1] <= ours[1] + 1e-9
    if name == "rates":  # of which no method can do better
        assert ours == pytest.approx(left)


@pytest.mark.parametrize("threat", [Prescient(0.1), Malicious(0.1), Share(0.1)])
def test_the_worst_attack_keeps_within_bounds_and_leaves_what_is_exact(threat: Threat) -> None:
    environment = bernoulli([[0.8, 1.0], [0.5, 1.0]])
    counted = statistics_of([RATE, SIZE])
    attack = Task(Question.of([RATE, SIZE], threat), ("a", "b")).attack(environment)
    streams = Streams(RewardSource(environment, attack), seed=1)
    pilot = Pilot(("a", "b"), np.repeat([[0.8, 1.0], [0.5, 1.0]], 50, axis=0), np.repeat([0, 1], 50))
    least, most = pilot_limits(pilot, threat, counted, attacked=True)
    for arm in range(2):
        values = streams.take(arm, 4000)
        assert set(np.unique(values[:, 0])) <= {0.0, 1.0}
        assert (values[:, 1] == 1.0).all()
        seen = Pilot(("a", "b"), np.tile(values, (2, 1)), np.repeat([0, 1], 4000))
        low, high = pilot_limits(seen, threat, counted)
        assert least[arm, 0] - 0.03 <= low[0, 0]
        assert high[0, 0] <= most[arm, 0] + 0.03


def test_a_policy_of_rates_is_simulated_and_right() -> None:
    environment = bernoulli([[0.95, 0.2], [0.6, 0.7], [0.3, 0.1]])
    wanted = [Objective(name, "maximize", tolerance=0.1, statistic="mean", bounds=(0, 1)) for name in ("x", "y")]
    policy = Certified.for_objectives(3, wanted, threat=Prescient(0.02), max_pulls=20_000)
    for run in range(5):
        attack = Task(Question.of(wanted, Prescient(0.02)), ("0", "1", "2")).attack(environment)
        ended = simulate_one(policy, environment, attack, run=run)
        assert ended.result().status == "certified"
        assert ended.result().verdicts["2"] in ("beaten", "matched")
        low, high = ended.result().lower, ended.result().upper
        assert (low <= np.asarray(environment.means)).all()
        assert (np.asarray(environment.means) <= high).all()


def test_a_plan_of_rates_normal_values_and_sizes() -> None:
    metrics = (RATE, Objective("x", "maximize", tolerance=1.0), SIZE)
    asked = Question.of(metrics, Prescient(0.05), confidence=0.9, goal="front", spread=Gaussian(0.5))
    task = Task(asked.but(tolerance={"solved": 0.2, SIZE.name: 0.0}), ("a", "b", "c", "d"))
    assert not task.medians_only
    plan = make_plan(task, runs=2)
    assert plan.floor[0] == pytest.approx(0.05 / 0.95)
    assert plan.floor[2] == 0.0
    assert plan.possible_up_to == pytest.approx(0.2 / 1.2)  # ε / (1−ε) = 0.2
    assert "R-PSI" not in {row.policy for row in plan.costs}  # it knows medians only
    assert plan.of("certified").certified == 2
    environment = task.environment(0, 0)
    values = environment.sample(1, 5000)
    assert set(np.unique(values[:, 0])) == {0.0, 1.0}
    assert values[:, 0].mean() == pytest.approx(float(np.asarray(environment.means)[1, 0]), abs=0.03)
    assert values[:, 1].std() == pytest.approx(0.5, rel=0.05)
    assert np.ptp(values[:, 2]) == 0.0


def test_a_known_deviation_goes_without_contamination_only(snapshot: SnapshotAssertion) -> None:
    plan = make_plan(Task(Question.of([KNOWN], Prescient(0.0), confidence=0.9), ("a", "b", "c")), runs=2)
    assert plan.of("certified").certified == 2
    assert plan.floor == (0.0,)
    with refused(BadInput, snapshot):
        Task(Question.of([KNOWN], Prescient(0.1)), ("a", "b", "c"))
