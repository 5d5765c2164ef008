"""Laws that every policy obeys. A new policy is covered by adding it to the registry in conftest.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import RPSI, BadInput, Certified
from frontguard.errors import OutOfTurn
from frontguard.policies.base import Policy
from tests.support.snapshots import refusals, refused

Floats = npt.NDArray[np.float64]
Make = Callable[[int, int], Policy]

THREE = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])  # two on the front, one dominated


class Rewards:
    """Noisy rewards, a stream for each arm, so that what an arm gives does not depend on when it is pulled."""

    def __init__(
        self, medians: npt.ArrayLike, noise: float = 0.02, seed: int = 0, labels: list[int] | None = None
    ) -> None:
        self.medians = np.atleast_2d(np.asarray(medians, float))
        self.noise = noise
        names = range(len(self.medians)) if labels is None else labels
        self.generators = [np.random.default_rng([seed, name]) for name in names]

    def __call__(self, arms: npt.NDArray[np.int64]) -> Floats:
        out = np.empty((len(arms), self.medians.shape[1]))
        for row, arm in enumerate(arms):
            out[row] = self.medians[arm] + self.noise * self.generators[arm].normal(size=self.medians.shape[1])
        return out


def play(policy: Policy, rewards: Callable[[npt.NDArray[np.int64]], Floats], batches: int = 10**6) -> Policy:
    for _ in range(batches):
        if policy.done:
            break
        arms = policy.ask()
        policy.tell(arms, rewards(arms))
    return policy


def assert_same(a: Policy, b: Policy) -> None:
    one, other = a.result(), b.result()
    assert one.verdicts == other.verdicts
    np.testing.assert_array_equal(one.pulls_per_arm, other.pulls_per_arm)
    np.testing.assert_array_equal(one.estimates, other.estimates)
    np.testing.assert_array_equal(one.decided_by, other.decided_by)


def test_it_finds_a_plain_front_and_says_so(make: Make) -> None:
    result = play(make(3, 2), Rewards(THREE)).result(arm_names=["a", "b", "c"], objective_names=["x", "y"])
    assert result.pareto_set == ["a", "b"]
    assert result.verdicts == {"a": "keep", "b": "keep", "c": "beaten"}
    assert result.status == "certified"
    assert result.pulls == result.pulls_per_arm.sum() > 0
    assert (result.lower <= THREE).all()
    assert (result.upper >= THREE).all()
    assert result.to_dict()["intervals"]["a"]["x"] == [result.lower[0, 0], result.upper[0, 0]]
    assert list(result.to_frame()["verdict"]) == ["keep", "keep", "beaten"]
    assert "certified" in repr(result)


def test_relabelled_arms_get_relabelled_verdicts(make: Make) -> None:
    medians = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.7, 0.6], [0.6, 0.5], [-0.5, 0.9]])
    plain = play(make(6, 2), Rewards(medians)).result()
    order = [4, 2, 0, 5, 1, 3]
    moved = play(make(6, 2), Rewards(medians[order], labels=order)).result()
    assert moved.verdict_codes.tolist() == plain.verdict_codes[order].tolist()


def test_the_order_of_tells_within_a_batch_is_irrelevant(make: Make) -> None:
    rng = np.random.default_rng(5)
    straight, shuffled, parts = make(3, 2), make(3, 2), make(3, 2)
    rewards = Rewards(THREE)
    while not straight.done:
        arms = straight.ask()
        values = rewards(arms)
        straight.tell(arms, values)
        order = rng.permutation(len(arms))
        np.testing.assert_array_equal(shuffled.ask(), arms)
        shuffled.tell(arms[order], values[order])
        parts.ask()
        for part in np.array_split(order, 3):
            parts.tell(arms[part], values[part])
        assert_same(straight, shuffled)
        assert_same(straight, parts)


def test_inputs_are_not_changed_and_outputs_are_not_shared(make: Make) -> None:
    policy = make(3, 2)
    arms = policy.ask()
    values = Rewards(THREE)(arms)
    kept_arms, kept_values = arms.copy(), values.copy()
    arms.setflags(write=False)
    values.setflags(write=False)
    policy.tell(arms, values)
    np.testing.assert_array_equal(arms, kept_arms)
    np.testing.assert_array_equal(values, kept_values)
    before = policy.result()
    before.estimates[:] = before.pulls_per_arm[:] = before.verdict_codes[:] = 99
    assert (policy.result().estimates != 99).all()
    assert (policy.result().pulls_per_arm != 99).all()
    assert (policy.result().verdict_codes != 99).all()


def test_calls_out_of_turn_are_refused_and_change_nothing(make: Make, snapshot: SnapshotAssertion) -> None:
    policy, twin = make(3, 2), make(3, 2)
    rewards = Rewards(THREE)
    found = refusals(OutOfTurn, [partial(policy.tell, [1], [[0.0, 0.0]])])
    arms = policy.ask()
    values = rewards(arms)
    one_more = np.concatenate([arms, [0]]), np.concatenate([values, [[0.0, 0.0]]])
    found += refusals(OutOfTurn, [policy.ask, partial(policy.tell, *one_more)])
    policy.tell(arms, values)
    found += refusals(OutOfTurn, [partial(policy.tell, arms[:1], values[:1])])
    twin.tell(twin.ask(), values)
    assert_same(policy, twin)
    play(policy, rewards)
    assert found + refusals(OutOfTurn, [policy.ask]) == snapshot


def test_what_cannot_be_a_measurement_is_refused(make: Make, snapshot: SnapshotAssertion) -> None:
    wrong = [
        ([0], [[0.0, np.inf]]),
        ([0], [[1.0]]),
        ([0, 1], [[1.0, 2.0]]),
        ([0], [["a", "b"]]),
        ([0], [[True, False]]),
        ([0], [[1j, 0.0]]),
        ([7], [[0.0, 0.0]]),
        ([-1], [[0.0, 0.0]]),
        ([0.5], [[0.0, 0.0]]),
    ]
    policy, failed = make(3, 2), ([0], [[np.nan, 0.0]])
    if not isinstance(policy, Certified):
        wrong.append(failed)
    policy.ask()
    assert refusals(ValueError, [partial(policy.tell, arms, values) for arms, values in wrong]) == snapshot
    if isinstance(policy, Certified):
        policy.tell(*failed)  # to the certified policy NaN is a failed measurement


@pytest.mark.parametrize("stop_after", [0, 1, 4])
def test_saved_and_loaded_it_goes_on_as_if_never_stopped(make: Make, stop_after: int, tmp_path: Path) -> None:
    policy, rewards = make(3, 2), Rewards(THREE)
    play(policy, rewards, stop_after)
    if not policy.done:
        arms = policy.ask()  # in the middle of a batch, half of it told
        values = rewards(arms)
        half = len(arms) // 2
        policy.tell(arms[:half], values[:half])
    policy.save(tmp_path / "state.json")
    loaded = type(policy).load(tmp_path / "state.json")
    assert_same(policy, loaded)
    if not policy.done:
        for one in (policy, loaded):
            one.tell(arms[half:], values[half:])
    while not policy.done:
        arms = policy.ask()
        np.testing.assert_array_equal(loaded.ask(), arms)
        values = rewards(arms)
        policy.tell(arms, values)
        loaded.tell(arms, values)
        assert_same(policy, loaded)
    assert loaded.done


def test_the_file_of_another_policy_is_refused(make: Make, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    make(2, 2).save(tmp_path / "state.json")
    other = type("Other", (type(make(2, 2)),), {"name": "Other"})
    with refused(BadInput, snapshot):
        other.load(tmp_path / "state.json")


def test_fresh_is_the_same_policy_without_observations(make: Make) -> None:
    policy = play(make(3, 2), Rewards(THREE))
    assert policy.fresh().result().pulls == 0
    assert_same(play(policy.fresh(), Rewards(THREE)), policy)


def test_one_arm_is_returned(make: Make) -> None:
    assert play(make(1, 2), Rewards([[0.3, 0.4]])).result().pareto_set == ["0"]


def test_one_objective_finds_the_best_arm(make: Make) -> None:
    assert play(make(4, 1), Rewards([[0.0], [3.0], [1.0], [-2.0]])).result().pareto_set == ["1"]


def test_two_arms(make: Make) -> None:
    assert play(make(2, 2), Rewards([[1.0, 1.0], [0.0, 0.0]])).result().pareto_set == ["0"]
    assert play(make(2, 2), Rewards([[1.0, 0.0], [0.0, 1.0]])).result().pareto_set == ["0", "1"]


def test_constant_rewards(make: Make) -> None:
    assert play(make(3, 2), Rewards(THREE, noise=0.0)).result().pareto_set == ["0", "1"]


def test_ties_in_one_objective_end_and_never_put_the_better_arm_out(make: Make) -> None:
    verdicts = play(make(3, 2), Rewards([[1.0, 0.0], [1.0, -1.0], [1.0, 0.0]], noise=0.0)).result().verdicts
    assert "undecided" not in verdicts.values()
    assert "beaten" not in (verdicts["0"], verdicts["2"])
    assert "keep" in (verdicts["0"], verdicts["2"])


def test_duplicate_arms_never_put_each_other_out(make: Make) -> None:
    result = play(make(4, 2), Rewards([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]], labels=[0, 0, 0, 1])).result()
    assert result.verdicts["3"] == "beaten"
    assert result.pareto_set
    assert "beaten" not in [result.verdicts[name] for name in "012"]


def test_counts_are_checked(make: Make, snapshot: SnapshotAssertion) -> None:
    wrong = [(0, 1), (1, 0), (2.5, 1), (True, 1), ("3", 1)]
    assert refusals(ValueError, [partial(make, arms, objectives) for arms, objectives in wrong]) == snapshot


def test_an_order_of_ties_moves_with_the_labels() -> None:
    """R-PSI samples arms of equal U in a stated order; with it relabelled too, everything is equal to the last bit."""
    from frontguard import Prescient, Subgaussian

    medians = np.array([[0.3, 0.0], [0.0, 0.3], [0.1, 0.05], [0.25, 0.02]])
    settings = {"threat": Prescient(0.1), "spread": Subgaussian(0.02), "accuracy": 0.05}
    plain = play(RPSI(4, 2, **settings), Rewards(medians)).result()
    order = [2, 0, 3, 1]
    inverse = np.argsort(order)
    moved = play(RPSI(4, 2, **settings, order=inverse), Rewards(medians[order], labels=order)).result()
    np.testing.assert_array_equal(moved.pulls_per_arm, plain.pulls_per_arm[order])
    np.testing.assert_array_equal(moved.estimates, plain.estimates[order])
    assert moved.verdict_codes.tolist() == plain.verdict_codes[order].tolist()
