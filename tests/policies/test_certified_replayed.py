"""The calls by which a study keeps a log and replays it: next_pulls, expect, take, decide, excluded, copy."""

from __future__ import annotations

import numpy as np
import pytest

from frontguard import Certified, Gaussian, Prescient
from frontguard.evidence.intervals import HIGH, LOW
from tests.policies.states import state_of


def policy_for(arms: int = 4, **settings: object) -> Certified:
    return Certified(arms, 2, threat=Prescient(0.1), accuracy=0.2, spread=Gaussian(0.3), **settings)  # type: ignore[arg-type]


def measured(rng: np.random.Generator, arms: np.ndarray) -> np.ndarray:
    centre = np.column_stack([arms, -arms])
    return rng.normal(centre, 0.3)


def test_batches_taken_and_decided_equal_batches_told() -> None:
    told, taken = policy_for(), policy_for()
    rng = np.random.default_rng(3)
    while not told.done:
        arms = told.ask()
        values = measured(rng, arms)
        order = rng.permutation(len(arms))
        told.tell(arms, values)
        taken.expect(arms)
        half = len(arms) // 2
        taken.take(arms[order[:half]], values[order[:half]])
        assert not taken.done
        taken.take(arms[order[half:]], values[order[half:]])
        taken.decide()
        for name, array in state_of(told).items():
            if name not in ("pool", "columns"):  # where a sample lies in the pool may differ
                np.testing.assert_array_equal(array, state_of(taken)[name], err_msg=name)
    assert taken.status == told.status == "certified"


def test_take_decides_nothing_even_when_nothing_is_out() -> None:
    policy = policy_for()
    arms = policy.ask()
    policy.take(arms, measured(np.random.default_rng(0), arms))
    assert np.isinf(policy.standing.intervals[:, [LOW, HIGH]]).all()
    policy.decide()
    assert np.isfinite(policy.standing.intervals[:, [LOW, HIGH]]).all()


def test_next_pulls_begin_with_a_probe_and_count_what_is_out() -> None:
    policy = policy_for()
    first = int(policy.standing.control["first"][0])
    assert first > 3
    probe = policy.next_pulls(probe=3)
    assert np.bincount(probe, minlength=4).tolist() == [3, 3, 3, 3]
    assert policy._waiting == 0  # it expects none of them yet
    policy.expect(probe)
    assert len(policy.next_pulls(probe=3)) == 1  # everything of the probe is out: at least one more all the same
    assert np.bincount(policy.next_pulls(at_least=8, probe=3), minlength=4).tolist() == [2, 2, 2, 2]
    policy.take(probe, measured(np.random.default_rng(0), probe))
    policy.decide()
    assert np.bincount(policy.next_pulls(probe=3), minlength=4).tolist() == [first - 3] * 4


def test_next_pulls_keep_to_the_budget_of_an_arm() -> None:
    policy = policy_for(max_pulls_per_arm=2)
    pulls = policy.next_pulls(at_least=100)
    assert np.bincount(pulls).tolist() == [2, 2, 2, 2]


def test_arms_that_are_set_aside_are_no_longer_asked_for_and_hinder_nobody() -> None:
    policy = policy_for(3)
    rng = np.random.default_rng(1)
    broken = 2  # it would be on the front: best in the first objective
    arms = policy.next_pulls()
    policy.expect(arms)
    values = measured(rng, arms)
    values[arms == broken] = np.nan
    policy.take(arms, values)
    policy.exclude([broken])
    policy.decide()
    assert policy.excluded.tolist() == [broken]
    while not policy.done:
        arms = policy.ask()
        assert broken not in arms
        policy.tell(arms, measured(rng, arms))
    assert policy.status == "certified"
    assert policy.result().verdicts == {"0": "keep", "1": "keep", "2": "excluded"}
    again = policy.copy()
    assert again.excluded.tolist() == [broken]


def test_a_copy_goes_its_own_way() -> None:
    policy = policy_for()
    rng = np.random.default_rng(2)
    arms = policy.ask()
    policy.tell(arms, measured(rng, arms))
    arms = policy.ask(5)
    before = {name: array.copy() for name, array in state_of(policy).items()}
    copied = policy.copy()
    for name, array in state_of(copied).items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
    copied.tell(arms, measured(rng, arms))
    copied.exclude([0])
    for name, array in state_of(policy).items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


@pytest.mark.parametrize("stop", ["halt", "certified"])
def test_carry_on_takes_a_stop_back(stop: str) -> None:
    policy = policy_for()
    rng = np.random.default_rng(4)
    while not policy.done:
        arms = policy.ask()
        policy.tell(arms, measured(rng, arms))
        if stop == "halt":
            policy.halt()
    policy.carry_on()
    assert not policy.done
    assert policy.status == "running"
