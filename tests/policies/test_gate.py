"""The policy of a gate: whom it pulls, when it stops, and that drift does not make equal programs differ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Prescient
from frontguard.comparisons.gate import Outcome
from frontguard.errors import BadInput
from frontguard.evidence.statistics import EXACT, Statistic
from frontguard.logs.boxes import BoxReader
from frontguard.logs.sort.ordered import Ordered
from frontguard.policies.gate import CANDIDATE, SEEN_HIGH, SEEN_LOW, Gatekeeper
from tests.support.snapshots import refused

Measure = Callable[[np.random.Generator, np.ndarray, int], np.ndarray]
VALUE = Objective("value", tolerance=0.1)


def keeper(arms: int = 2, objectives: int = 1, accuracy: float = 0.1, **more: object) -> Gatekeeper:
    return Gatekeeper(arms, objectives, threat=Prescient(0.1), accuracy=accuracy, baseline=0, delta=0.05, **more)


def driven(policy: Gatekeeper, measure: Measure, seed: int = 0) -> list[np.ndarray]:
    """Run it to its end; the arms of every batch."""
    rng, slot, batches = np.random.default_rng(seed), 0, []
    while not policy.done:
        arms = rng.permutation(policy.ask())
        policy.tell(arms, measure(rng, arms, slot))
        slot += len(arms)
        batches.append(arms)
    return batches


def normal(means: list[float], noise: float = 0.1) -> Measure:
    return lambda rng, arms, slot: rng.normal(np.array(means)[arms], noise)[:, None]


@pytest.mark.parametrize(("mean", "outcome"), [(-0.3, "worse"), (0.0, "not worse"), (1.0, "not worse")])
def test_it_finds_what_is_so(mean: float, outcome: str) -> None:
    policy = keeper()
    driven(policy, normal([0.0, mean]))
    assert policy.status == "certified"
    assert Outcome(int(policy.outcomes[1, 0])).word == outcome


def test_baseline_and_open_candidates_get_equally_many_pulls_in_every_batch() -> None:
    policy = keeper(4)
    batches = driven(policy, normal([0.0, -2.0, -0.25, 0.02]))
    pulled = np.zeros(4, np.int64)
    for arms in batches:
        counts = np.bincount(arms, minlength=4)
        open_ones = counts[counts > 0]
        assert counts[0] > 0
        assert len(set(open_ones.tolist())) == 1, "whatever was measured"
        pulled += counts
    # What is certain needs no more pulls, and what was certain first got the fewest.
    assert pulled[1] < pulled[2] < pulled[3] == pulled[0]
    assert [Outcome(int(code)).word for code in policy.outcomes[1:, 0]] == ["worse", "worse", "not worse"]


def test_what_is_certain_stays_as_it_was_found() -> None:
    policy = keeper(3)
    rng, seen = np.random.default_rng(0), {}
    while not policy.done:
        arms = policy.ask()
        policy.tell(arms, normal([0.0, -2.0, 0.05])(rng, arms, 0))
        if policy.outcomes[1, 0] == Outcome.WORSE:
            seen.setdefault("first", policy.seen[1].copy())
    assert policy.pulls_per_arm[0] > policy.pulls_per_arm[1]
    assert np.array_equal(policy.seen[1], seen["first"])


def test_boxes_are_those_of_the_present_sample_under_any_drift() -> None:
    """They equal those that a reader of the whole log gives: nothing of an earlier look is left in them."""
    policy, told = keeper(accuracy=0.001), [[], []]
    rng = np.random.default_rng(0)
    for batch in range(60):
        arms = rng.permutation(policy.ask())
        values = rng.normal(0.05 * batch, 0.1, (len(arms), 1))  # it never stops to rise
        for arm, value in zip(arms.tolist(), values[:, 0].tolist(), strict=True):
            told[arm].append(value)
        policy.tell(arms, values)
    values = [np.sort(each) for each in told]
    starts = np.array([[0, len(values[0]), len(values[0]) + len(values[1])]])
    log = Ordered(["a", "b"], ("value",), np.diff(starts[0]), starts, (np.concatenate(values),))
    boxes = BoxReader(log, [VALUE], 0.05, anytime=True).read(Prescient(0.1))
    own = policy.seen[1, CANDIDATE]
    assert own[SEEN_LOW, 0] == pytest.approx(boxes.lower[1, 0], abs=0.2)  # ranks of a table are a little coarser
    assert own[SEEN_HIGH, 0] == pytest.approx(boxes.upper[1, 0], abs=0.2)
    assert own[SEEN_LOW, 0] < own[SEEN_HIGH, 0]


def test_what_no_number_of_pulls_decides_is_given_up() -> None:
    """A tenth of the measurements may lie: a difference near the tolerance stays open for ever."""
    policy = keeper(accuracy=0.1)
    driven(policy, normal([0.0, -0.1], 1.0))
    assert policy.status == "unreachable"
    assert 1000 <= policy.pulls_per_arm.max() < 1100


def test_budgets() -> None:
    policy = keeper(max_pulls_per_arm=40)
    driven(policy, normal([0.0, -0.1], 0.3))
    assert policy.status == "budget"
    assert policy.pulls_per_arm.tolist() == [40, 40]
    policy = keeper(max_pulls=50)
    driven(policy, normal([0.0, -0.1], 0.3))
    assert (policy.status, int(policy.pulls_per_arm.sum())) == ("budget", 50)


def test_exact_values_need_one_pull_each_and_contradict_themselves_once() -> None:
    policy = keeper(statistics=[Statistic(EXACT, 0.5)])
    driven(policy, lambda rng, arms, slot: np.where(arms == 1, -1.0, 0.0)[:, None])
    assert policy.pulls_per_arm.tolist() == [1, 1]
    assert policy.outcomes[1, 0] == Outcome.WORSE
    policy = keeper(statistics=[Statistic(EXACT, 0.5)], accuracy=5.0, max_pulls=30)
    policy.expect([0, 1, 1])
    policy.take([0, 1, 1], [[0.0], [-1.0], [-2.0]])
    policy.decide()
    assert policy.outcomes[1, 0] == Outcome.OPEN  # a second value that differs: nothing is known of it


def test_failed_pulls_may_have_been_anything() -> None:
    policy = keeper(max_pulls_per_arm=60)
    driven(policy, lambda rng, arms, slot: np.where(rng.random(len(arms)) < 0.5, np.nan, -10.0 * arms)[:, None])
    assert policy.outcomes[1, 0] == Outcome.OPEN


def test_an_arm_that_is_set_aside_is_pulled_no_more_and_without_a_baseline_there_is_no_gate() -> None:
    policy = keeper(3)
    arms = policy.ask()
    policy.set_aside([2])
    policy.tell(arms, normal([0.0, 0.0, 0.0])(np.random.default_rng(0), arms, 0))
    assert not policy.done
    assert 2 not in policy.ask()
    policy = keeper(3)
    arms = policy.ask()
    policy.set_aside([0])
    policy.tell(arms, normal([0.0, 0.0, 0.0])(np.random.default_rng(0), arms, 0))
    assert policy.status == "unreachable"


def test_a_copy_goes_on_by_itself() -> None:
    policy, rng = keeper(), np.random.default_rng(0)
    for _ in range(5):
        arms = policy.ask()
        policy.tell(arms, normal([0.0, -0.05])(rng, arms, 0))
    copy, before = policy.copy(), policy.seen.copy()
    for each in (copy, policy):
        rng = np.random.default_rng(1)
        while not each.done:
            arms = each.ask()
            each.tell(arms, normal([0.0, -0.05])(rng, arms, 0))
        if each is copy:
            assert np.array_equal(policy.seen, before, equal_nan=True)
    assert np.array_equal(policy.seen, copy.seen, equal_nan=True)
    assert policy.result().verdicts == copy.result().verdicts


def test_wrong_baselines_are_refused(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        Gatekeeper(2, 1, threat=Prescient(0.1), accuracy=0.1, baseline=2)
