"""What the certified policy promises: of the set it returns, of ties, of arms that are excluded; and that it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontguard import RPSI, Certified, Gaussian, Oblivious, Prescient
from frontguard.results import Answer

Floats = npt.NDArray[np.float64]


def run(policy: Certified, draw: Callable[[int], Floats], looks: int = 10**9) -> Certified:
    """Pull until it stops, or has decided so often."""
    while not policy.done and looks > 0:
        arms = policy.ask()
        policy.tell(arms, np.array([draw(int(arm)) for arm in arms]))
        looks -= 1
    return policy


def test_a_tie_in_one_objective_does_not_put_a_worse_arm_on_the_front() -> None:
    """Equal bytes, and medians of 1.0 to 1.4 s: only the first is on the front."""
    wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        policy = Certified(5, 2, threat=Oblivious(0.0), accuracy=0.0, delta=0.05)
        run(policy, lambda arm, rng=rng: np.array([-(1.0 + 0.1 * arm) * (1.0 + 0.1 * rng.normal()), -100.0]))
        result = policy.result()
        assert result.status == "certified"
        wrong += result.pareto_set != ["0"]
    assert wrong <= 4, f"{wrong} of 20"  # before: 20


def test_a_tie_does_not_stand_in_the_way_for_ever() -> None:
    """A tie and a difference that is too small to be seen: what cannot be had is given up."""
    rng = np.random.default_rng(0)
    policy = Certified(2, 2, threat=Prescient(0.2), accuracy=0.0, max_pulls=100_000)
    run(policy, lambda arm: np.array([0.05 * arm + rng.normal(), 100.0]))
    assert policy.status == "unreachable"
    assert policy.pulls_per_arm.sum() < 5000


def test_arms_that_are_equal_in_everything_are_all_on_the_front() -> None:
    policy = run(Certified(3, 2, threat=Prescient(0.1), accuracy=0.0), lambda arm: np.array([1.0, 0.0 - (arm == 2)]))
    assert policy.result().verdicts == {"0": "keep", "1": "keep", "2": "beaten"}
    assert policy.status == "certified"


def front_is_covered(result: Answer, truth: Floats) -> bool:
    """Whether every arm of the true front is returned, or another one that is worse by at most the coverage."""
    front = [m for m in truth if not any((other >= m).all() and (other > m).any() for other in truth)]
    returned = truth[[int(name) for name in result.pareto_set]]
    coverage = np.asarray(result.certificate.coverage)
    return bool(np.isinf(coverage).any()) or all((m - returned <= coverage + 1e-9).all(axis=1).any() for m in front)


def test_the_certificate_is_of_the_set_that_is_returned_however_it_ends() -> None:
    """Before, that of a study stopped by its budget spoke of arms that were not returned: false in more than half."""
    false, stopped = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = rng.uniform(0.0, 2.0, (6, 2))
        policy = Certified(6, 2, threat=Oblivious(0.0), accuracy=0.1, max_pulls=int(rng.integers(150, 700)))
        run(policy, lambda arm, rng=rng, truth=truth: truth[arm] + 0.5 * rng.normal(size=2))
        result = policy.result()
        stopped += result.status == "budget"
        false += not front_is_covered(result, truth)
    assert stopped > 20
    assert false <= 14, f"{false} of 60"  # a tenth may be; so many by chance in one of a thousand


def test_what_was_put_out_by_an_arm_that_is_set_aside_comes_back() -> None:
    rng = np.random.default_rng(1)
    truth = np.array([[2.0, 2.0], [1.0, 1.0], [0.9, 3.0]])
    policy = Certified(3, 2, threat=Oblivious(0.0), accuracy=0.0)
    run(policy, lambda arm: truth[arm] + 0.1 * rng.normal(size=2), looks=2)
    assert policy.result().verdicts["1"] == "beaten"
    policy.carry_on()
    policy.exclude([0])
    policy.decide()
    result = run(policy, lambda arm: truth[arm] + 0.1 * rng.normal(size=2)).result()
    assert result.verdicts == {"0": "excluded", "1": "keep", "2": "keep"}
    assert (result.certificate.arms, result.certificate.excluded) == (2, ("0",))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    arms=st.integers(2, 4),
    objectives=st.integers(1, 2),
    worst=st.sampled_from([0.0, 0.3, 0.45, 0.6, 0.9, 1.0]),
    eps=st.sampled_from([0.0, 0.1]),
    accuracy=st.sampled_from([0.0, 0.3]),
)
def test_whoever_fails_the_policy_ends(
    seed: int, arms: int, objectives: int, worst: float, eps: float, accuracy: float
) -> None:
    """With one arm failing, its rival was pulled 99,969 times of 100,000: only the other had something to gain."""
    rng = np.random.default_rng(seed)
    middles = rng.integers(0, 4, (arms, objectives)).astype(float)
    policy = Certified(arms, objectives, threat=Prescient(eps), accuracy=accuracy)

    def draw(arm: int) -> Floats:
        failed = arm == 0 and rng.random() < worst
        return np.full(objectives, np.nan) if failed else middles[arm] + 0.1 * rng.normal(size=objectives)

    most = 60_000
    while not policy.done and policy.pulls_per_arm.sum() < most:
        pulled = policy.ask()
        policy.tell(pulled, np.array([draw(int(arm)) for arm in pulled]))
    equal = accuracy == 0.0 and any((middles[i] == middles[j]).any() for i in range(arms) for j in range(i))
    assert policy.done or equal or worst in (0.45, 0.6), policy.pulls_per_arm  # or chance has not decided yet


def test_rpsi_promises_nothing_before_it_stops_or_with_a_bias_of_the_users(tmp_path: Path) -> None:
    def rpsi(bias: float | None = None) -> RPSI:
        return RPSI(2, 1, threat=Prescient(0.1), spread=Gaussian(0.1), accuracy=0.5, bias=bias)

    running = rpsi()
    assert (running.certificate().confidence, running.certificate().void) == (None, "running")
    for policy, void in ((running, ""), (rpsi(bias=0.0), "bias"), (rpsi(bias=rpsi().bias), "")):
        while not policy.done:
            arms = policy.ask()
            policy.tell(arms, [[float(arm)] for arm in arms])
        certificate = policy.result().certificate
        assert certificate.void == void
        assert certificate.confidence == (None if void else pytest.approx(0.9))
        policy.save(tmp_path / "policy.json")
        assert RPSI.load(tmp_path / "policy.json").certificate() == policy.certificate()
