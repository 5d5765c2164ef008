"""The forecast: within a factor of three of the truth, nearly always, and silent where it knows nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from frontguard import Certified, Gaussian, Malicious, Prescient, Share
from frontguard.policies.forecast import PullForecast, forecast, likely
from frontguard.simulation import RewardSource, Streams, simulate_one
from frontguard.simulation.adversaries import strongest
from frontguard.simulation.environments import gaussian, uniform
from tests.policies.states import state_of
from tests.support.worlds import bimodal, cauchy, skewed

RUNS = 12


def _medians(run: int, arms: int, objectives: int) -> np.ndarray:
    return np.random.default_rng([11, run]).uniform(0.0, 1.0, (arms, objectives))


def _attack(environment):
    """Every other arm is moved up as far as it goes, the others down."""
    signs = np.where(np.arange(environment.arms) % 2 == 0, 1.0, -1.0)[:, None]
    return strongest(environment, Prescient(0.1), signs * np.ones(environment.medians.shape))


CASES = {
    "normal, no attacker": (lambda run: gaussian(_medians(run, 8, 2), 0.3), Prescient(0.0), {"accuracy": 0.1}),
    "normal": (lambda run: gaussian(_medians(run, 8, 2), 0.2), Prescient(0.05), {"accuracy": 0.1}),
    "normal, tight": (lambda run: gaussian(_medians(run, 8, 2), 0.2), Prescient(0.1), {"accuracy": 0.07}),
    "normal, attacked": (lambda run: gaussian(_medians(run, 8, 2), 0.1), Prescient(0.1), {"accuracy": 0.12}),
    "normal, R, coverage": (
        lambda run: gaussian(_medians(run, 16, 2), 0.2),
        Prescient(0.1),
        {"accuracy": 0.25, "coverage": 0.1, "spread": Gaussian(0.2)},
    ),
    "normal, p90": (
        lambda run: gaussian(_medians(run, 10, 2), 0.1),
        Prescient(0.02),
        {"accuracy": 0.05, "quantiles": 0.9},
    ),
    "normal, 40 arms": (lambda run: gaussian(_medians(run, 40, 2), 0.15), Prescient(0.02), {"accuracy": 0.05}),
    "heavy tails": (lambda run: cauchy(_medians(run, 10, 2), 0.05), Prescient(0.05), {"accuracy": 0.1}),
    "uniform, 3 objectives": (lambda run: uniform(_medians(run, 12, 3), 0.4), Malicious(0.03), {"accuracy": 0.1}),
    "normal, any share": (lambda run: gaussian(_medians(run, 8, 2), 0.2), Share(0.05), {"accuracy": 0.1}),
    "skewed": (lambda run: skewed(_medians(run, 10, 2), 0.1, 1.0), Prescient(0.05), {"accuracy": 0.1}),
}


def forecasts(case: str, share: float, runs: int = RUNS) -> np.ndarray:
    """For each run the forecast of its total pulls, made after a share of them, in units of the truth; NaN for none.

    Before the first batch of all arms nothing can be known; runs that consist of little else are left out.
    """
    make, threat, goal = CASES[case]
    found: list[float] = []
    for run in itertools.count():
        environment = make(run)
        adversary = _attack(environment) if case.endswith("attacked") else None
        arms, objectives = environment.medians.shape
        policy = Certified(arms, objectives, threat=threat, **goal)
        whole = simulate_one(policy, environment, adversary, seed=1, run=run)
        assert whole.result().status == "certified"
        total, first_batch = int(whole.pulls_per_arm.sum()), arms * int(policy.standing.control["first"][0])
        if total < 1.5 * first_batch:
            continue
        policy = Certified(arms, objectives, threat=threat, max_pulls=max(round(share * total), first_batch), **goal)
        part = simulate_one(policy, environment, adversary, seed=1, run=run)
        guess = forecast(part).pulls_left
        found.append(np.nan if guess is None else (int(part.pulls_per_arm.sum()) + guess) / total)
        if len(found) == runs:
            break
    return np.array(found)


@pytest.mark.parametrize("case", CASES)
def test_half_way_the_forecast_of_the_total_is_within_a_factor_of_three(case):
    found = forecasts(case, 0.5)
    assert np.mean((found > 1 / 3) & (found < 3)) >= 0.8  # NaN, no forecast, counts as a miss
    assert 0.6 < np.nanmedian(found) < 1.6


@pytest.mark.parametrize("case", ["normal", "uniform, 3 objectives", "skewed"])
def test_what_it_takes_lies_mostly_in_the_likely_range(case):
    make, threat, goal = CASES[case]
    within = []
    for run in range(8):
        environment = make(run)
        arms, objectives = environment.medians.shape
        whole = simulate_one(Certified(arms, objectives, threat=threat, **goal), environment, seed=2, run=run)
        total = int(whole.pulls_per_arm.sum())
        for share in (0.4, 0.6, 0.9):
            policy = Certified(arms, objectives, threat=threat, max_pulls=round(share * total), **goal)
            part = simulate_one(policy, environment, seed=2, run=run)
            pulls, guess = int(part.pulls_per_arm.sum()), forecast(part).pulls_left
            if guess is not None:
                least, most = likely(guess, pulls)
                within.append(least <= total - pulls <= most)
    assert np.mean(within) >= 0.6


def _driven(policy: Certified, environment, pulls: int) -> Certified:
    streams = Streams(RewardSource(environment), 3)
    while not policy.done and policy.pulls_per_arm.sum() < pulls:
        arms = policy.ask()
        policy.tell(arms, streams.take_batch(arms))
    return policy


def test_it_leaves_the_policy_as_it_is_and_says_the_same_twice():
    policy = _driven(Certified(6, 2, threat=Prescient(0.05), accuracy=0.05), gaussian(_medians(0, 6, 2), 0.2), 600)
    before = {name: array.copy() for name, array in state_of(policy).items()}
    first = forecast(policy)
    assert forecast(policy) == first
    for name, array in state_of(policy).items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_a_goal_nearer_by_takes_fewer_pulls():
    environment = gaussian(_medians(4, 6, 2), 0.2)
    goals = (0.05, 0.1, 0.2)
    left = []
    for accuracy in goals:
        policy = Certified(6, 2, threat=Prescient(0.02), accuracy=accuracy, max_pulls=200)
        left.append(forecast(_driven(policy, environment, 200)).pulls_left)
    assert None not in left
    assert left == sorted(left, reverse=True)
    assert left[0] > 2 * left[2]


def test_pulls_that_are_out_count_neither_for_nor_against():
    environment = gaussian(_medians(1, 4, 2), 0.2)
    policy = _driven(Certified(4, 2, threat=Prescient(0.05), accuracy=0.05), environment, 400)
    before = forecast(policy)
    policy.ask()
    assert forecast(policy) == before


def test_failed_pulls_make_it_take_longer():
    environment = gaussian(_medians(1, 4, 2), 0.2)
    left = []
    for failing in (0, 10):
        policy = Certified(4, 2, threat=Prescient(0.02), accuracy=0.1)
        streams = Streams(RewardSource(environment), 3)
        for _ in range(6):
            arms = policy.ask()
            values = streams.take_batch(arms)
            if failing:
                values[::failing] = np.nan
            policy.tell(arms, values)
        left.append(forecast(policy).pulls_left)
    assert left[0] is not None
    assert left[1] is None or left[1] > left[0]


def test_what_it_says_where_there_is_nothing_to_foresee():
    policy = Certified(3, 1, threat=Prescient(0.1), accuracy=0.1)
    assert forecast(policy) == PullForecast(None, "unmeasured", unmeasured=3)
    policy.tell(policy.ask(), np.arange(3.0).repeat(policy.standing.control["first"][0])[:, None])
    while not policy.done:
        arms = policy.ask()
        policy.tell(arms, arms[:, None].astype(float))
    assert forecast(policy) == PullForecast(0, "certified")


def test_a_goal_out_of_reach_has_no_forecast():
    environment = bimodal([[0.0], [0.1]], [[5.0], [5.0]], 0.5)
    policy = Certified(2, 1, threat=Prescient(0.3), accuracy=0.01, max_pulls=5000)
    result = forecast(_driven(policy, environment, 5000))
    assert result.pulls_left is None


def test_the_pair_that_takes_most_is_named():
    policy = Certified(3, 1, threat=Prescient(0.0), accuracy=0.01)
    policy = _driven(policy, gaussian([[0.0], [0.95], [1.0]], 0.5), 100)
    result = forecast(policy)
    assert result.pulls_left is not None
    assert result.outlook == "foreseen"
    assert set(result.arms) == {1, 2}
