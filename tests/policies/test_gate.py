"""The policy of a gate: whom it pulls, when it stops, and that drift does not make equal programs differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import EvenHanded, Malicious, Objective, Prescient, Share
from frontguard.comparisons.outcomes import Outcome
from frontguard.errors import BadInput
from frontguard.evidence.differences.looks import LOOKS
from frontguard.evidence.kinds import Statistic
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.readers import IntervalReader
from frontguard.evidence.statistics import BOUNDED_MEAN, EXACT
from frontguard.policies import Certified
from frontguard.policies.baseline import CANDIDATE, SEEN_HIGH, SEEN_LOW
from frontguard.theory.threats import Threat
from tests.support.snapshots import refused

Measure = Callable[[np.random.Generator, np.ndarray, int], np.ndarray]
VALUE = Objective("value", "maximize", tolerance=0.1)


def keeper(arms: int = 2, objectives: int = 1, accuracy: float = 0.1, **more: object) -> Certified:
    return Certified(arms, objectives, threat=Prescient(0.1), accuracy=accuracy, baseline=0, delta=0.05, **more)


def driven(policy: Certified, measure: Measure, seed: int = 0) -> list[np.ndarray]:
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
    assert Outcome(int(policy.against.outcomes[1, 0])).word == outcome


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
    assert [Outcome(int(code)).word for code in policy.against.outcomes[1:, 0]] == ["worse", "worse", "not worse"]


def test_what_is_certain_stays_as_it_was_found() -> None:
    policy = keeper(3)
    rng, seen = np.random.default_rng(0), {}
    while not policy.done:
        arms = policy.ask()
        policy.tell(arms, normal([0.0, -2.0, 0.05])(rng, arms, 0))
        if policy.against.outcomes[1, 0] == Outcome.WORSE:
            seen.setdefault("first", policy.against.seen[1].copy())
    assert policy.pulls_per_arm[0] > policy.pulls_per_arm[1]
    assert np.array_equal(policy.against.seen[1], seen["first"])


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
    intervals = IntervalReader(log, [VALUE], 0.05, anytime=True).read(Prescient(0.1))
    own = policy.against.seen[1, CANDIDATE]
    assert own[SEEN_LOW, 0] == pytest.approx(intervals.lower[1, 0], abs=0.2)  # ranks of a table are a little coarser
    assert own[SEEN_HIGH, 0] == pytest.approx(intervals.upper[1, 0], abs=0.2)
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
    assert policy.against.outcomes[1, 0] == Outcome.WORSE
    policy = keeper(statistics=[Statistic(EXACT, 0.5)], accuracy=5.0, max_pulls=30)
    policy.expect([0, 1, 1])
    policy.take([0, 1, 1], [[0.0], [-1.0], [-2.0]])
    policy.decide()
    assert policy.against.outcomes[1, 0] == Outcome.OPEN  # a second value that differs: nothing is known of it


def test_failed_pulls_may_have_been_anything() -> None:
    policy = keeper(max_pulls_per_arm=60)
    driven(policy, lambda rng, arms, slot: np.where(rng.random(len(arms)) < 0.5, np.nan, -10.0 * arms)[:, None])
    assert policy.against.outcomes[1, 0] == Outcome.OPEN


def test_an_arm_that_is_set_aside_is_pulled_no_more_and_without_a_baseline_there_is_no_gate() -> None:
    policy = keeper(3)
    arms = policy.ask()
    policy.exclude([2])
    policy.tell(arms, normal([0.0, 0.0, 0.0])(np.random.default_rng(0), arms, 0))
    assert not policy.done
    assert 2 not in policy.ask()
    policy = keeper(3)
    arms = policy.ask()
    policy.exclude([0])
    policy.tell(arms, normal([0.0, 0.0, 0.0])(np.random.default_rng(0), arms, 0))
    assert policy.status == "unreachable"


def test_a_copy_goes_on_by_itself() -> None:
    policy, rng = keeper(), np.random.default_rng(0)
    for _ in range(5):
        arms = policy.ask()
        policy.tell(arms, normal([0.0, -0.05])(rng, arms, 0))
    copy, before = policy.copy(), policy.against.seen.copy()
    for each in (copy, policy):
        rng = np.random.default_rng(1)
        while not each.done:
            arms = each.ask()
            each.tell(arms, normal([0.0, -0.05])(rng, arms, 0))
        if each is copy:
            assert np.array_equal(policy.against.seen, before, equal_nan=True)
    assert np.array_equal(policy.against.seen, copy.against.seen, equal_nan=True)
    assert policy.result().verdicts == copy.result().verdicts


def test_wrong_baselines_are_refused(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        Certified(2, 1, threat=Prescient(0.1), accuracy=0.1, baseline=2)


# With other evidence, limits and costs --------------------------------------------------------------------------------

RATE = [Statistic(BOUNDED_MEAN)]
KINDS: dict[str, dict[str, Any]] = {
    "blocks": {"statistics": RATE, "paired": True, "threat": Prescient(0.02)},
    "a list": {"statistics": RATE, "items": 300, "threat": Prescient(0.02)},
    "a list, any share": {"statistics": RATE, "items": 300, "threat": Share(0.02)},
    "independent arms": {"independent": True},
    "independent arms, malicious": {"independent": True, "threat": Malicious(0.05)},
}
OF_BLOCKS = ("blocks", "a list", "a list, any share")


def gate_of(kind: str, **more: Any) -> Certified:
    settings = {
        "threat": Prescient(0.05), "accuracy": 0.05, "baseline": 0, "delta": 0.2, "max_pulls_per_arm": 200,
        "growth": 0.2,
    }  # fmt: skip
    return Certified(3, 1, **(settings | KINDS[kind] | more))


def measured(kind: str, lag: float, seed: int, eps: float) -> Measure:
    """Arms of which the last is `lag` worse than the others: on items that differ far more, or with noise of its own.

    An attacker pushes the last arm up and the others down.
    """
    hard, pulled = np.random.default_rng([seed, 1]).permutation(np.linspace(0.2, 0.8, 300)), [0, 0, 0]

    def measure(rng: np.random.Generator, arms: np.ndarray, slot: int) -> np.ndarray:
        found = []
        for arm in arms.tolist():
            clean = hard[pulled[arm] % 300] if kind in OF_BLOCKS else rng.normal(0.5, 0.1)
            pulled[arm] += 1
            hit = rng.random() < eps
            found.append((1.0 if arm == 2 else 0.0) if hit else clean - lag * (arm == 2))
        return np.array(found)[:, None]

    return measure


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("lag", [0.049, 0.051])
def test_differences_decide_and_are_true_just_beside_the_tolerance(kind: str, lag: float) -> None:
    """False calls are at most as many as δ allows, where the attacker does the worst that it may."""
    false, runs = 0, 6
    for seed in range(runs):
        policy = gate_of(kind)
        driven(policy, measured(kind, lag, seed, policy.threat.eps), seed)
        found = policy.against.outcomes[1:, 0]
        wrong = Outcome.WORSE if lag < 0.05 else Outcome.NOT_WORSE
        false += bool(found[1] == wrong or found[0] == Outcome.WORSE)
    assert false <= 3  # of 6 at 0.2: more come about with probability 0.02


@pytest.mark.parametrize("kind", ["blocks", "a list", "independent arms"])
def test_differences_decide_sooner_than_intervals_alone(kind: str) -> None:
    clean: dict[str, Any] = {"threat": Prescient(0.0), "max_pulls_per_arm": 600}
    own, plain = gate_of(kind, **clean), gate_of(kind, **clean, paired=False, items=0, independent=False)
    for policy in (own, plain):
        driven(policy, measured(kind, 0.1, 0, 0.0))
    assert own.status == "certified"
    assert own.against.outcomes[:, 0].tolist() == [Outcome.NOT_WORSE, Outcome.NOT_WORSE, Outcome.WORSE]
    assert int(own.pulls_per_arm.sum()) < int(plain.pulls_per_arm.sum())


def test_a_list_that_was_measured_is_known() -> None:
    policy = gate_of("a list", threat=Prescient(0.0), accuracy=1e-9, max_pulls_per_arm=300)
    driven(policy, measured("a list", 0.0, 0, 0.0))
    assert policy.status == "certified"
    assert policy.pulls_per_arm.max() <= 300
    assert (policy.against.outcomes == Outcome.NOT_WORSE).all()


def test_a_copy_and_a_saved_gate_go_on_with_their_evidence(tmp_path: Path) -> None:
    for kind in KINDS:
        policy, measure, rng = gate_of(kind), measured(kind, 0.03, 0, 0.0), np.random.default_rng(0)
        for _ in range(6):
            arms = policy.ask()
            policy.tell(arms, measure(rng, arms, 0))
        policy.save(tmp_path / "gate.json")
        arms = policy.ask()
        values = measure(rng, arms, 0)
        loaded = Certified.load(tmp_path / "gate.json")
        loaded.ask()
        for each in (loaded, policy.copy(), policy):
            each.tell(arms, values)
            assert np.array_equal(each.against.apart, loaded.against.apart)
            assert np.array_equal(each.standing.intervals, loaded.standing.intervals)


@pytest.mark.parametrize(("spread", "outcome"), [(0.1, "not worse"), (2.0, "worse")])
def test_a_candidate_has_to_keep_to_limits_and_its_baseline_need_not(spread: float, outcome: str) -> None:
    seconds = Objective("seconds", "minimize", tolerance=1.0)
    policy = Certified.for_objectives(
        2,
        [seconds],
        threat=Prescient(0.05),
        limits=["p90(seconds)<=11"],
        baseline=0,
        max_pulls_per_arm=2000,
        growth=0.1,
    )
    scale = np.array([1.0, spread])
    driven(policy, lambda rng, arms, slot: np.repeat(-rng.normal(10.0, scale[arms])[:, None], 2, axis=1))
    assert policy.status == "certified"
    words = [Outcome(code).word for code in policy.against.outcomes[1].tolist()]
    assert words == ["not worse", outcome]
    assert policy.against.outcomes[0].tolist() == [0, 0]


def test_costs_change_nothing_of_what_is_pulled() -> None:
    pulled = []
    for costs in ([1.0, 1.0], [1.0, 50.0]):
        policy = keeper(costs=costs)
        driven(policy, normal([0.0, -0.3]))
        pulled.append(policy.pulls_per_arm.tolist())
    assert pulled[0] == pulled[1]


def test_polish_goes_on_after_the_decision_and_keeps_it() -> None:
    plain, policy = keeper(), keeper(polish=0.1)
    for each in (plain, policy):
        driven(each, normal([0.0, -0.3]))
    assert (policy.status, policy.against.outcomes.tolist()) == ("certified", plain.against.outcomes.tolist())
    assert policy.pulls_per_arm.sum() > plain.pulls_per_arm.sum()
    assert np.array_equal(policy.against.seen[1], plain.against.seen[1])


# By two samples, in blocks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threat", [Prescient(0.1), Malicious(0.05), Share(0.05), EvenHanded(0.1)], ids=str)
@pytest.mark.parametrize(("mean", "outcome"), [(-0.4, "worse"), (0.0, "not worse"), (1.0, "not worse")])
def test_two_samples_find_what_is_so(mean: float, outcome: str, threat: Threat) -> None:
    policy = Certified(2, 1, threat=threat, accuracy=0.1, baseline=0, delta=0.05, blocks=True)
    driven(policy, normal([0.0, mean]))
    assert policy.status == "certified"
    assert Outcome(int(policy.against.outcomes[1, 0])).word == outcome


def test_in_blocks_all_that_is_open_gets_whole_ones_and_looks_are_fixed_beforehand() -> None:
    policy = keeper(4, blocks=True)
    batches = driven(policy, normal([0.0, -2.0, -0.2, 0.05]))
    pulled = np.zeros(4, np.int64)
    for arms in batches:
        counts = np.bincount(arms, minlength=4)
        assert set(counts[counts > 0].tolist()) == {counts[0]}
        pulled += counts
        assert pulled[0] in LOOKS
    assert pulled[1] < pulled[2] == pulled[0]
    assert [Outcome(int(code)).word for code in policy.against.outcomes[1:, 0]] == ["worse", "worse", "not worse"]


def test_that_none_is_worse_costs_nothing_for_their_number() -> None:
    """All are measured until the last is certain at half of δ; a line of each takes its share of that."""
    several, alone = (keeper(arms, blocks=True) for arms in (8, 2))
    for policy in (several, alone):
        driven(policy, normal([0.0] * policy.arms, 0.03))
    assert (several.against.outcomes == Outcome.NOT_WORSE).all()
    assert several.pulls_per_arm.max() <= 2 * alone.pulls_per_arm.max()
    assert (several.against._called.lines[1:] == Outcome.OPEN).any(), "by itself not all of them are certain"


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_what_does_not_know_whose_runs_it_disturbs_makes_no_equal_programs_differ(share: float) -> None:
    rng, found = np.random.default_rng(5), []
    for seed in range(20):
        policy = Certified(2, 1, threat=EvenHanded(0.1), accuracy=0.0, baseline=0, delta=0.05, blocks=True,
                           max_pulls_per_arm=40)  # fmt: skip

        def measured(_: np.random.Generator, arms: np.ndarray, slot: int) -> np.ndarray:
            usual = rng.normal(0.01 * slot, 0.1, len(arms))
            return np.where(rng.random(len(arms)) < share, -50.0 * rng.random(len(arms)), usual)[:, None]

        driven(policy, measured, seed)
        found.append(int(policy.against.outcomes[1, 0]))
    assert found.count(Outcome.WORSE) <= 2


def test_another_quantile_is_worse_where_it_is_and_not_where_others_are() -> None:
    """A heavier tail makes the upper tenth worse, and leaves the lower one."""
    found = {}
    for level in (0.1, 0.9):
        policy = Certified(2, 1, threat=Prescient(0.0), accuracy=0.1, baseline=0, blocks=True, quantiles=level)
        driven(
            policy,
            lambda rng, arms, slot: (
                rng.normal(0.0, 0.05, len(arms)) - 2.0 * (arms == 1) * (rng.random(len(arms)) < 0.3)
            )[:, None],
        )
        found[level] = Outcome(int(policy.against.outcomes[1, 0])).word
    assert found == {0.1: "worse", 0.9: "not worse"}


def test_up_to_which_contamination_samples_say_the_same() -> None:
    policy = keeper(blocks=True)
    driven(policy, normal([0.0, -0.5]))
    first, lasts = policy.against.stands(policy.standing.intervals)
    assert first[1, 0] == Outcome.WORSE
    assert 0.1 <= lasts[1, 0] < 0.3
    assert int(policy.against.outcomes[1, 0]) == Outcome.WORSE


def test_samples_that_no_number_of_pulls_decides_are_given_up() -> None:
    policy = Certified(2, 1, threat=Prescient(0.2), accuracy=0.1, baseline=0, delta=0.05, blocks=True)
    driven(policy, normal([0.0, -0.1], 0.5))
    assert policy.status == "unreachable"


def test_a_copy_in_blocks_goes_on_by_itself() -> None:
    policy = keeper(blocks=True)
    arms = policy.ask()
    policy.tell(arms, normal([0.0, -2.0])(np.random.default_rng(0), arms, 0))
    other = policy.copy()
    driven(other, normal([0.0, -2.0]))
    assert other.against.outcomes[1, 0] == Outcome.WORSE
    assert policy.against.outcomes[1, 0] == Outcome.OPEN or policy.done
