"""Policies and attackers that are plain functions: they see what they may, and what they do is what was simulated."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Certified, EvenHanded, Malicious, Oblivious, Prescient, Share, simulate
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument
from frontguard.simulation import Adversary, RewardSource, Streams
from frontguard.simulation.adversaries import moved_medians
from frontguard.simulation.environments import gaussian
from frontguard.theory.threats import Threat
from frontguard.verdicts import Verdict
from tests.support.snapshots import refused, said

MEDIANS = np.array([[1.0, 0.0], [0.0, 1.0], [0.4, 0.3], [-1.0, -1.0]])
WORLD = gaussian(MEDIANS, 0.3)
Game = Generator[Ints, Floats, Iterable[int]]


def fifty_each(arms: int, objectives: int) -> Game:
    rewards = yield np.repeat(np.arange(arms), 50)
    medians = np.median(rewards.reshape(arms, 50, objectives), axis=1)
    return [i for i in range(arms) if not (medians > medians[i]).all(axis=1).any()]


def one_by_one(arms: int, objectives: int) -> Game:
    seen: list[list[Floats]] = [[] for _ in range(arms)]
    for _ in range(50):
        for arm in reversed(range(arms)):
            seen[arm].append((yield np.array([arm]))[0])
    medians = np.median(seen, axis=1)
    return {i for i in range(arms) if not (medians > medians[i]).all(axis=1).any()}


def test_a_function_is_sent_the_rewards_of_its_arms_in_any_order_of_asking() -> None:
    at_once, in_turn = (simulate(play, WORLD, runs=20, seed=4) for play in (fifty_each, one_by_one))
    np.testing.assert_array_equal(at_once.returned, in_turn.returned)
    np.testing.assert_array_equal(at_once.estimates, in_turn.estimates)
    assert (at_once.pulls == 200).all()
    for run in range(3):
        streams = Streams(RewardSource(WORLD), seed=4, run=run)
        medians = np.array([np.median(streams.take(arm, 50), axis=0) for arm in range(4)])
        np.testing.assert_array_equal(at_once.estimates[run], medians)
    tail = simulate(fifty_each, WORLD, runs=5, seed=4, first_run=15, workers=1)
    np.testing.assert_array_equal(tail.verdicts, at_once.verdicts[15:])


def test_runs_are_judged_by_the_truth() -> None:
    runs = simulate(fifty_each, WORLD, runs=60)
    assert runs.judged is not None
    exact = [set(np.flatnonzero(row)) == {0, 1, 2} for row in runs.returned]  # of the three none is worse in both
    assert runs.judged.success.tolist() == exact
    loose = simulate(fifty_each, WORLD, runs=60, accuracy=3.0, coverage=3.0)
    assert loose.judged is not None
    assert loose.judged.success.all()

    policy = Certified(4, 2, threat=Prescient(0.1), accuracy=0.5, coverage=0.7, max_pulls=30_000)
    by_policy = simulate(policy, WORLD, runs=10)
    assert by_policy.judged is not None
    for kept, success in zip(by_policy.returned, by_policy.judged.success, strict=True):
        beaten = any((MEDIANS[j] - MEDIANS[i] > 0.5).all() for i in np.flatnonzero(kept) for j in range(4))
        covered = all(any((MEDIANS[j] - MEDIANS[i] <= 0.7).all() for i in np.flatnonzero(kept)) for j in (0, 1, 2))
        assert success == (covered and not beaten)
    assert simulate(Certified(4, 2, threat=Oblivious(0.0), accuracy=0.5, quantiles=0.9), WORLD, runs=1).judged is None


def test_what_is_printed_of_runs(snapshot: SnapshotAssertion) -> None:
    assert said(repr(simulate(fifty_each, WORLD, runs=40))) == snapshot
    gate = Certified(4, 2, threat=Oblivious(0.1), accuracy=0.5, baseline=0, max_pulls=4000)
    assert said(repr(simulate(gate, WORLD, runs=2))) == snapshot


# Attackers ------------------------------------------------------------------------------------------------------------


def down(rewards: Floats, arm: int, rng: np.random.Generator) -> float:
    return -50.0


def down_where_high(eps: float) -> Callable[..., tuple[float, Bools]]:
    def attack(rewards: Floats, arm: int, rng: np.random.Generator) -> tuple[float, Bools]:
        return -50.0, rewards > MEDIANS[arm] + 0.3 * edge

    from scipy.stats import norm

    edge = norm.isf(eps)
    return attack


def down_wherever(rewards: Floats, arm: int, rng: np.random.Generator) -> tuple[float, Bools]:
    return -50.0, rewards > MEDIANS[arm]


ATTACKS: list[tuple[Threat, Any]] = [
    (Oblivious(0.2), down),
    (EvenHanded(0.2), down),
    (Prescient(0.2), down),
    (Malicious(0.2), down_where_high(0.2)),
    (Share(0.2), down_wherever),
]


@pytest.mark.parametrize(("threat", "attack"), ATTACKS, ids=[threat.name for threat, _ in ATTACKS])
def test_a_function_moves_medians_as_far_as_the_theory_says(threat: Threat, attack: Any) -> None:
    streams = Streams(RewardSource(WORLD, Adversary(threat, attack=attack)), seed=1)
    rewards, hits = streams.blocks(2, 400)
    assert hits.mean() == pytest.approx(0.2, abs=0.01)  # of 25,600 pulls: five deviations
    assert ((rewards == -50.0) == hits).all()
    moved = moved_medians(WORLD, threat, [-1, -1, -1, -1])[2]
    assert np.median(rewards, axis=0) == pytest.approx(moved, abs=0.02)
    if isinstance(threat, Share):
        spent = np.cumsum(hits, axis=0) <= np.floor(0.2 * np.arange(1, len(hits) + 1) + 1e-9)[:, None]
        assert spent.all()


def test_an_attacker_sees_what_its_threat_allows() -> None:
    seen: dict[str, Any] = {}

    def watch(rewards: Floats, arm: int, rng: np.random.Generator) -> Any:
        seen["rewards"], seen["arm"] = rewards.copy(), arm
        rewards[:] = 0.0  # its own copy
        return (rewards, rewards > 0.0) if seen["chooses"] else 5.0

    clean, _ = Streams(RewardSource(WORLD), seed=3).blocks(1, 1)
    for threat in (Oblivious(0.3), EvenHanded(0.3), Prescient(0.3), Malicious(0.3), Share(0.3)):
        seen["chooses"] = isinstance(threat, Malicious | Share)
        rewards, hits = Streams(RewardSource(WORLD, Adversary(threat, attack=watch)), seed=3).blocks(1, 1)
        assert np.isnan(seen["rewards"]).all() == isinstance(threat, Oblivious)
        assert seen["arm"] == (-1 if isinstance(threat, EvenHanded) else 1)
        if not isinstance(threat, Oblivious):
            np.testing.assert_array_equal(seen["rewards"], clean)
        np.testing.assert_array_equal(rewards, np.where(hits, 5.0, clean))
    untouched, hits = Streams(RewardSource(WORLD, Adversary(Prescient(0.0), attack=watch)), seed=3).blocks(1, 1)
    np.testing.assert_array_equal(untouched, clean)
    assert not hits.any()


def test_hits_of_a_pull_come_together_where_they_are_joint() -> None:
    for joint in (True, False):
        streams = Streams(RewardSource(WORLD, Adversary(Prescient(0.3), joint, attack=down)), seed=2)
        _, hits = streams.blocks(0, 20)
        assert (hits[:, 0] == hits[:, 1]).all() == joint


def test_policies_of_ours_meet_attackers_that_are_functions() -> None:
    policy = Certified(4, 2, threat=Prescient(0.1), accuracy=0.5)
    runs = simulate(policy, WORLD, Adversary(Prescient(0.1), attack=down), runs=10)
    assert (runs.verdicts[:, 3] == int(Verdict.BEATEN)).all()
    assert runs.judged is not None
    assert runs.judged.success.all()


def _play(*moves: Any) -> Callable[[int, int], Any]:
    def play(arms: int, objectives: int) -> Any:
        *asked, returned = moves
        for each in asked:  # noqa: UP028 (a list is sent nothing)
            yield each
        return returned

    return play


def test_what_a_function_may_not_do(snapshot: SnapshotAssertion) -> None:
    def no_generator(arms: int, objectives: int) -> list[int]:
        return [0]

    for play in (no_generator, _play([], [0]), _play([4], [0]), _play([0.5], [0]), _play([0], None), _play([0], [-1])):
        with refused(BadArgument, snapshot):
            simulate(play, WORLD, runs=1)

    def too_often(rewards: Floats, arm: int, rng: np.random.Generator) -> tuple[float, Bools]:
        return -50.0, rng.random(rewards.shape) < 0.15

    for threat, attack in (
        (Malicious(0.1), too_often), (Malicious(0.1), down), (Prescient(0.1), lambda *_: "low"),
        (Prescient(0.1), lambda *_: np.nan), (Prescient(0.1), lambda rewards, *_: rewards[1:]),
    ):  # fmt: skip
        with refused(BadArgument, snapshot):
            Streams(RewardSource(WORLD, Adversary(threat, attack=attack)), 0).blocks(0, 40)
