"""Planning: floors and limits against values by hand and scipy, first pulls against the policies, pulls by laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from syrupy.assertion import SnapshotAssertion

from frontguard import (
    RPSI,
    BadInput,
    Certified,
    Gaussian,
    Malicious,
    Objective,
    Oblivious,
    Prescient,
    Question,
    Share,
    Subgaussian,
    Threat,
)
from frontguard.planning import cost
from frontguard.planning.cost import MOST_ARMS, CostPlan, SimulatedCost, ends_of, make_plan, simulate_cost
from frontguard.planning.reach import (
    affordable_width,
    attacked_levels,
    bias_floor,
    can_certify,
    largest_contamination,
    lasting_length,
    pilot_limits,
)
from frontguard.planning.task import Pilot, Task
from frontguard.simulation import RewardSource, Streams, simulate_one
from frontguard.simulation.adversaries import strongest
from frontguard.simulation.environments import gaussian
from frontguard.theory.spread import Uniform
from tests.support.snapshots import refused


def task(threat: Threat, accuracy: float, coverage: float | None = None, **more: Any) -> Task:
    of_task = {name: more.pop(name) for name in ("span", "pilot") if name in more}
    names = tuple(str(n) for n in range(more.pop("arms", 6)))
    asked: dict[str, Any] = {"confidence": 0.9, "goal": "front", "spread": Gaussian(0.2), **more}
    if coverage is not None:
        asked["coverage"] = [coverage] * 2
    return Task(
        Question.of([("a", "maximize"), ("b", "maximize")], threat, tolerance=accuracy, **asked), names, **of_task
    )


@cache
def usual_plan() -> CostPlan:
    """One that several look at."""
    return make_plan(task(Prescient(0.1), 0.2), runs=4)


# Floors and limits.


def test_the_floor_is_what_lemma_3_says_for_normal_rewards() -> None:
    assert bias_floor(1.0, Malicious(0.2)) == pytest.approx(2 * 0.5244005127, abs=1e-9)  # Φ⁻¹(0.7)
    assert bias_floor(0.2, Prescient(0.1)) == pytest.approx(0.4 * norm.ppf(0.5 + 0.1 / 1.8), rel=1e-12)
    assert bias_floor(3.0, Oblivious(0.0)) == 0.0


def test_two_normal_arms_at_the_floor_can_be_made_to_look_alike_and_no_farther() -> None:
    """TV(N(0,1), N(s,1)) = ε/(1−ε) is where (1−ε)F + εH can be the same law for both: s must be the floor 2D."""
    eps = 0.15
    s = bias_floor(1.0, Prescient(eps))
    assert 2 * norm.cdf(s / 2) - 1 == pytest.approx(eps / (1 - eps), rel=1e-12)


@pytest.mark.parametrize("threat", [Oblivious(0.1), Prescient(0.2), Malicious(0.15), Share(0.15)])
def test_attacked_levels_are_where_simulated_attacks_put_the_rewards(threat: Threat) -> None:
    environment = gaussian([[0.0], [-1.0]], 1.0)  # arm 0 is the front: pushed down; arm 1 up
    asked = Task(Question.of([("a", "maximize")], threat, tolerance=0.1, spread=Gaussian(1.0)), ("1", "2"))
    streams = Streams(RewardSource(environment, asked.attack(environment)), seed=1)
    down, up = streams.take(0, 200_000)[:, 0], streams.take(1, 200_000)[:, 0] + 1.0
    for t in (0.0, 0.05):
        kept = threat.lasting(0.5 + t)
        low, high = attacked_levels(threat, t, threat.eps)[0], attacked_levels(threat, t, 0.0)[1]
        assert np.quantile(down, kept) == pytest.approx(norm.ppf(low), abs=0.02)
        assert np.quantile(up, 1.0 - kept) == pytest.approx(norm.ppf(high), abs=0.02)


def test_the_lasting_length_without_r() -> None:
    """Replacements all on one side are worst for normal rewards: level 2h away from the median, malicious ε more."""
    assert lasting_length(1.0, Prescient(0.1)) == pytest.approx(norm.ppf(0.5 + 0.1 / 0.9), rel=1e-12)
    assert lasting_length(2.0, Malicious(0.1)) == pytest.approx(2.0 * (norm.ppf(0.7) + norm.ppf(0.6)), rel=1e-12)
    assert lasting_length(1.0, Malicious(0.3)) == math.inf  # 1/2 − 2ε < 0: nothing is left below
    assert lasting_length(1.0, Malicious(0.3), Gaussian(1.0)) < math.inf
    assert lasting_length(1.0, Prescient(0.0)) == 0.0
    assert lasting_length(2.0, Share(0.1)) == pytest.approx(lasting_length(2.0, Malicious(0.1)), rel=1e-12)


@given(st.floats(0.01, 5.0), st.floats(0.01, 0.3), st.floats(0.0, 1.0))
def test_the_lasting_length_is_never_below_the_floor_and_r_never_harms(sigma: float, eps: float, loose: float) -> None:
    for threat in (Prescient(eps), Malicious(eps)):
        for spread in (Gaussian(sigma * (1.0 + loose)), Subgaussian(sigma)):
            length = lasting_length(sigma, threat, spread)
            assert bias_floor(sigma, threat) * (1 - 1e-12) <= length <= lasting_length(sigma, threat)


def test_the_affordable_width() -> None:
    assert affordable_width(0.3, 0.3) == pytest.approx(0.3)
    assert affordable_width(0.3, 0.0) == pytest.approx(0.15)
    assert affordable_width(0.3, 9.0) == pytest.approx(0.3)
    D, alpha = 0.2, 0.1  # the paper's guarantee, 2D + α and 2D, leaves R-PSI the widths U ≤ α/4 at which it stops
    assert affordable_width(2 * D + alpha, 2 * D) == pytest.approx(2 * (D + alpha / 4))


def test_the_largest_contamination_solves_the_floor() -> None:
    plan = make_plan(task(Prescient(0.05), 0.1), runs=1)
    h = norm.cdf(0.25) - 0.5  # 2 · 0.2 · Φ⁻¹(1/2 + h) = 0.1
    assert plan.possible_up_to == pytest.approx(2 * h / (1 + 2 * h), abs=1e-9)
    plan = make_plan(task(Malicious(0.05), 0.1), runs=1)
    assert plan.possible_up_to == pytest.approx(h, abs=1e-9)
    without_r = largest_contamination(lambda eps: lasting_length(0.2, Malicious(eps)) <= 0.1)
    assert without_r is not None
    assert 0.2 * (norm.ppf(0.5 + 2 * without_r) + norm.ppf(0.5 + without_r)) == pytest.approx(0.1)
    assert plan.safe_up_to is not None
    assert without_r <= plan.safe_up_to <= plan.possible_up_to
    assert plan.possible
    assert plan.safe == (plan.safe_up_to > 0.05)
    assert largest_contamination(lambda eps: False) is None
    assert largest_contamination(lambda eps: True) == pytest.approx(0.5)


@pytest.mark.parametrize("model", [Prescient, Malicious])
def test_arms_that_tie_are_certified_below_the_safe_limit_and_not_beyond_the_possible_one(model: type[Threat]) -> None:
    """Two arms tie. Pushed the same way, their intervals are as long as they can be, and neither decides the other."""
    safe_up_to = largest_contamination(lambda eps: lasting_length(0.2, model(eps)) <= 0.2)
    possible_up_to = largest_contamination(lambda eps: bias_floor(0.2, model(eps)) <= 0.2)
    assert safe_up_to is not None
    assert possible_up_to is not None
    environment = gaussian(np.zeros((2, 1)), 0.2)
    for directions in ([-1, -1], [1, 1], [-1, 1], [0, 0]):
        eps = 0.8 * safe_up_to
        policy = Certified(2, 1, threat=model(eps), accuracy=0.2, max_pulls=200_000)
        assert (
            simulate_one(policy, environment, strongest(environment, model(eps), directions)).result().status
            == "certified"
        )
    eps = 1.1 * possible_up_to
    policy = Certified(2, 1, threat=model(eps), accuracy=0.2, max_pulls=200_000)
    attack = strongest(environment, model(eps), [-1, -1])
    assert simulate_one(policy, environment, attack).result().status != "certified"


# The first pulls.


@pytest.mark.parametrize("threat", [Oblivious(0.0), Prescient(0.1), Malicious(0.1)])
@pytest.mark.parametrize("spread", [None, Gaussian(0.2), Subgaussian(1.0)])
def test_nothing_can_be_said_before_the_policys_first_batch(threat: Threat, spread: Gaussian | None) -> None:
    noise = spread or Gaussian(0.2)
    asked = task(threat, 0.1, arms=16, confidence=0.95, spread=noise)
    number = min(end for end in ends_of(asked, spread) if end is not None)
    policy = Certified(16, 2, threat=threat, accuracy=0.1, delta=0.05, spread=spread)
    assert np.bincount(policy.ask()).tolist() == [number] * 16


def test_the_first_pulls_of_rpsi_are_its_first_phase() -> None:
    plan = usual_plan()
    policy = RPSI(6, 2, threat=Prescient(0.1), spread=Gaussian(0.2), accuracy=0.1, delta=0.1)
    assert np.bincount(policy.ask()).tolist() == [plan.first_pulls["R-PSI"]] * 6


# The pilot.


def pilot_of(*columns: object, arms: int = 2) -> Pilot:
    values = np.column_stack([np.asarray(column, np.float64) for column in columns])
    owners = np.repeat(np.arange(arms), len(values) // arms)
    return Pilot(tuple(f"arm {i}" for i in range(arms)), values, owners)


def test_a_pilots_limits_are_its_quantiles_at_what_the_attacker_cannot_take() -> None:
    values = np.random.default_rng(0).normal(size=2000)
    pilot = pilot_of(values)
    low, high = pilot_limits(pilot, Malicious(0.1))
    np.testing.assert_allclose(low.ravel(), np.quantile(values.reshape(2, -1), 0.4, axis=1), atol=1e-12)
    np.testing.assert_allclose(high.ravel(), np.quantile(values.reshape(2, -1), 0.6, axis=1), atol=1e-12)
    low, high = pilot_limits(pilot, Prescient(0.2), attacked=True)  # keep = 0.4: (0.4 − 0.2)/0.8 and 0.6/0.8
    halves = values.reshape(2, -1)
    np.testing.assert_allclose(low.ravel(), np.quantile(halves, 0.25, axis=1), atol=1e-12)
    np.testing.assert_allclose(high.ravel(), np.quantile(halves, 0.75, axis=1), atol=1e-12)


def test_failed_measurements_widen_a_pilots_limits_on_both_sides() -> None:
    values = np.tile(np.arange(100.0), 2)
    failing = values.copy()
    failing[:10] = np.nan  # of arm 0, the smallest ten
    low, high = pilot_limits(pilot_of(failing), Oblivious(0.0))
    # Level 1/2 of 100, of which 10 may be anything: between the levels 40/90 and 50/90 of the others.
    np.testing.assert_allclose([low[0, 0], high[0, 0]], np.quantile(np.arange(10.0, 100.0), [4 / 9, 5 / 9]))
    assert low[1, 0] == high[1, 0] == 49.5


def test_whether_boxes_allow_a_set() -> None:
    apart = np.array([[0.0], [1.0]])
    assert can_certify(apart - 0.4, apart + 0.4, np.array([0.0]), np.array([0.0]))  # arm 0 is out
    assert not can_certify(apart - 0.6, apart + 0.6, np.array([0.1]), np.array([0.1]))
    assert can_certify(apart - 0.6, apart + 0.6, np.array([0.2]), np.array([0.2]))  # H_0 − L_1 = 0.2
    ties = np.zeros((3, 2))
    assert can_certify(ties - 0.1, ties + 0.1, np.full(2, 0.2), np.zeros(2))
    assert not can_certify(ties - 0.1, ties + 0.1, np.full(2, 0.19), np.full(2, 0.19))
    assert not can_certify(ties - math.inf, ties + math.inf, np.full(2, 9.0), np.full(2, 9.0))


def test_a_pilot_plan_knows_its_floor_and_when_its_goal_is_lost(snapshot: SnapshotAssertion) -> None:
    rng = np.random.default_rng(3)
    first = np.concatenate([rng.normal(0, 1, 400), rng.normal(0.5, 2, 400)])
    pilot = pilot_of(first, rng.normal(0, 1, 800))
    goal = task(Malicious(0.1), 1.0, arms=2, pilot=pilot, spread=None)
    goal = replace(goal, question=goal.question.but(tolerance={"a": 1.0, "b": 0.8}))
    plan = make_plan(goal, runs=2)
    widths = np.diff(np.quantile(first.reshape(2, -1), [0.4, 0.6], axis=1), axis=0).ravel()
    assert plan.floor[0] == pytest.approx(widths.max())
    assert plan.floor_arms is not None
    assert plan.floor_arms[0] == "arm 1"
    assert plan.possible_up_to is not None
    low, high = pilot_limits(pilot, Malicious(plan.possible_up_to + 1e-6))
    assert not can_certify(low, high, goal.accuracy, goal.coverage)
    assert {row.policy for row in plan.costs} == {"certified", "R-PSI"}
    with refused(BadInput, snapshot):
        pilot_of(np.arange(4.0))


# The pulls.


@pytest.mark.parametrize("model", [Oblivious, Prescient, Malicious])
def test_more_contamination_and_smaller_tolerances_take_more_pulls(model: type[Threat]) -> None:
    @cache
    def rows(eps: float, accuracy: float) -> Sequence[Any]:
        return simulate_cost(task(model(eps), accuracy, span=1.0), runs=4)

    def pulls(eps: float, accuracy: float, policy: str, attack: str = "none") -> float:
        return next(row.mean for row in rows(eps, accuracy) if (row.policy, row.attack) == (policy, attack))

    for policy in ("certified", "certified without R", "R-PSI"):
        assert pulls(0.0, 0.2, policy) < pulls(0.08, 0.2, policy)
        assert pulls(0.04, 0.3, policy) < pulls(0.04, 0.15, policy)
    assert pulls(0.08, 0.2, "certified") < pulls(0.08, 0.2, "certified", "worst")


def test_theorem_1_bounds_what_rpsi_is_seen_to_take() -> None:
    plan = usual_plan()
    assert plan.theorem1_gaps is not None
    assert plan.theorem1_worst_case is not None
    assert plan.of("R-PSI").most < plan.theorem1_worst_case
    assert plan.of("R-PSI", "worst").mean < plan.theorem1_gaps <= plan.theorem1_worst_case


def test_rpsi_is_run_for_the_goal_if_it_can_promise_it_and_says_what_it_promises_otherwise() -> None:
    rpsi = usual_plan().of("R-PSI")
    floor = 0.4 * norm.ppf(0.5 + 0.1 / 1.8)
    assert rpsi.accuracy == pytest.approx((0.2, 0.2))
    assert rpsi.coverage == pytest.approx((floor, floor))
    rpsi = make_plan(task(Prescient(0.1), 0.2, spread=Subgaussian(0.2)), runs=1).of("R-PSI")
    D = 0.2 * math.sqrt(2) * (math.sqrt(-math.log(0.5 - 0.1 / 1.8)) + math.sqrt(math.log(2)))
    assert rpsi.accuracy == pytest.approx((2 * D + 0.2,) * 2)


def test_long_runs_are_cut_off_and_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "MOST_PULLS", 50_000)
    rows = simulate_cost(task(Prescient(0.0), 1e-5, span=1e-4), runs=2)
    certified = rows[0]
    assert (certified.capped, certified.most) == (2, 50_000)
    assert rows[-1].policy == "R-PSI"
    assert rows[-1].note


def test_many_arms_are_reckoned_from_some_with_the_same_share_of_delta() -> None:
    def planned(arms: int, delta: float) -> list[SimulatedCost]:
        asked = Question.of([("a", "maximize")], "prescient", tolerance=0.5, confidence=1 - delta, spread=Gaussian(0.2))
        return simulate_cost(Task(asked, tuple(str(n) for n in range(arms))), runs=1)

    some, many = planned(MOST_ARMS, 0.01)[0], planned(10 * MOST_ARMS, 0.1)[0]
    assert (many.mean, many.most) == (10 * some.mean, 10 * some.most)


def test_the_same_seed_gives_the_same_plan_and_another_another() -> None:
    first, again, other = (simulate_cost(task(Prescient(0.1), 0.2), runs=3, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    "wrong",
    [
        {"spread": Uniform(1.0)},
        {"coverage": math.nan},
        {"arms": 1},
    ],
)
def test_what_cannot_be_planned_is_refused(wrong: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        make_plan(task(Prescient(0.1), 0.1, **wrong))


def test_values_of_which_nothing_is_known_vary_by_their_tolerance() -> None:
    metrics = [
        Objective("seconds", tolerance="20%", quantile=0.95),
        Objective("max_rss", tolerance=1e6),
        ("x", "maximize"),
    ]
    unknown = Task(Question.of(metrics, Prescient(0.0)), ("a", "b"))
    law = unknown.environment(0, 0).law
    spread = np.abs(law.quantile(0.975) - law.quantile(0.025)) / (2 * norm.ppf(0.975))
    assert spread == pytest.approx(np.tile([np.log(1.2), 1e6, 1.0], (2, 1)), rel=0.02)
    known = Task(Question.of(metrics[:1], Prescient(0.0), spread=Gaussian(0.5)), ("a", "b"))
    assert not known.assumed
    assert known.noise(known.metrics[0]) == 0.5
