"""The compiled engine: what is simulated is what runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import (
    RPSI,
    AuerA1,
    AuerA1M,
    Certified,
    Gaussian,
    Malicious,
    Oblivious,
    Prescient,
    Question,
    Share,
    Subgaussian,
    simulate,
)
from frontguard.errors import BadArgument
from frontguard.policies.base import Policy
from frontguard.simulation import Adversary, Environment, RewardSource, Streams
from frontguard.simulation.adversaries import review_bomber, strongest
from frontguard.simulation.engine import Runs
from frontguard.simulation.environments import bootstrap, categorical, gaussian
from frontguard.theory.bounds import theorem1_gap_dependent, theorem1_worst_case
from frontguard.theory.schedule import Schedule
from frontguard.verdicts import Verdict
from tests.support.snapshots import refused, said
from tests.support.worlds import constant_attack

RNG = np.random.default_rng(11)
MEDIANS = RNG.uniform(0, 1, (7, 2))


def _gaussian() -> Environment:
    return gaussian(MEDIANS, 0.05)


def _table() -> Environment:
    points = np.repeat(MEDIANS, 20, axis=0) + RNG.normal(0, 0.05, (140, 2)).round(2)
    return bootstrap(points, np.repeat(np.arange(7), 20))


def _stars() -> Environment:
    return categorical(RNG.integers(1, 9, (6, 3, 5)), np.arange(1.0, 6.0))


CASES: list[tuple[str, Environment, Adversary | None]] = [
    ("clean", _gaussian(), None),
    ("oblivious", _gaussian(), constant_attack(0.1, -3.0, environment=_gaussian())),
    ("prescient", _stars(), review_bomber(_stars(), 0.15)),
    (
        "malicious",
        _gaussian(),
        strongest(_gaussian(), Malicious(0.1), np.where(_gaussian().pareto_mask, -1, 1), distance=10.0),
    ),
    ("share", _gaussian(), strongest(_gaussian(), Share(0.1), [-1, 1, 0, 1, -1, 1, 0], distance=0.3)),
    ("oblivious on a table", _table(), constant_attack(0.2, np.full((7, 2), 3.0), _table())),
]


def _policies(environment: Environment) -> list[Policy]:
    K, M = environment.arms, environment.objectives
    return [
        RPSI(K, M, threat=Prescient(0.15), spread=Subgaussian(0.1), accuracy=0.2),
        RPSI(K, M, threat=Malicious(0.1), spread=Subgaussian(0.05), accuracy=0.1, order=np.arange(K)[::-1]),
        Certified(K, M, threat=Prescient(0.15), accuracy=0.3, coverage=0.2, max_pulls=20_000),
        Certified(
            K,
            M,
            threat=Malicious(0.1),
            accuracy=0.3,
            spread=Gaussian(0.05),
            max_pulls_per_arm=1000,
            costs=np.linspace(0, 30, K),
        ),
        Certified(K, M, threat=Share(0.1), accuracy=0.3, spread=Gaussian(0.05), max_pulls_per_arm=1000),
        AuerA1(K, M, accuracy=0.2, scale=0.2),
        AuerA1M(K, M, accuracy=0.2, scale=0.2),
    ]


@pytest.mark.parametrize(("environment", "adversary"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_simulated_runs_replayed_by_ask_and_tell_pull_the_same_and_answer_the_same(
    environment: Environment, adversary: Adversary | None
) -> None:
    for policy in _policies(environment):
        simulated = simulate(policy, environment, adversary, runs=3, seed=5)
        for run in range(3):
            live, streams = policy.fresh(), Streams(RewardSource(environment, adversary), seed=5, run=run)
            while not live.done:
                arms = live.ask()
                live.tell(arms, streams.take_batch(arms))
            result = live.result()
            assert simulated.pulls_per_arm[run].tolist() == result.pulls_per_arm.tolist()
            assert simulated.verdicts[run].tolist() == result.verdict_codes.tolist()
            np.testing.assert_array_equal(simulated.estimates[run], result.estimates)


def test_runs_do_not_depend_on_the_number_of_workers_or_on_the_runs_beside_them() -> None:
    environment, adversary = CASES[1][1:]
    for policy in _policies(environment):
        alone = simulate(policy, environment, adversary, runs=6, seed=3, workers=1)
        crowd = simulate(policy, environment, adversary, runs=6, seed=3, workers=5)
        tail = simulate(policy, environment, adversary, runs=2, seed=3, first_run=4, workers=2)
        np.testing.assert_array_equal(alone.pulls_per_arm, crowd.pulls_per_arm)
        np.testing.assert_array_equal(alone.verdicts, crowd.verdicts)
        np.testing.assert_array_equal(alone.pulls_per_arm[4:], tail.pulls_per_arm)
        other = simulate(policy, environment, adversary, runs=6, seed=4)
        assert (other.estimates != alone.estimates).any()


def test_the_policy_given_is_only_a_pattern() -> None:
    environment = _gaussian()
    policy = AuerA1M(7, 2, accuracy=0.2, scale=0.2)
    simulate(policy, environment, runs=1)
    assert policy.result().pulls == 0
    assert not policy.done


class Stubborn(AuerA1):
    """A policy of somebody else's, without a compiled run."""

    name = "Stubborn"


def test_a_policy_without_a_compiled_run_is_simulated_by_ask_and_tell() -> None:
    environment = _gaussian()
    settings: dict[str, Any] = {"accuracy": 0.3, "scale": 0.3}
    slow = simulate(Stubborn(7, 2, **settings), environment, runs=2, seed=1)
    fast = simulate(AuerA1(7, 2, **settings), environment, runs=2, seed=1)
    np.testing.assert_array_equal(slow.pulls_per_arm, fast.pulls_per_arm)
    np.testing.assert_array_equal(slow.verdicts, fast.verdicts)


def test_a_policy_for_other_arms_is_refused(snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        simulate(AuerA1(3, 2, accuracy=0.1), _gaussian())


def test_progress_is_told_and_an_interruption_ends_it() -> None:
    seen: list[int] = []
    simulate(AuerA1(7, 2, accuracy=0.3, scale=0.3), _gaussian(), runs=20, on_run=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 20

    def interrupt(finished: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(AuerA1(7, 2, accuracy=0.3, scale=0.3), _gaussian(), runs=20, on_run=interrupt)


@pytest.mark.parametrize(
    "threat",
    [Oblivious(0.0), Oblivious(0.2), Prescient(0.1), Malicious(0.15)],
    ids=lambda t: f"{t.name} {t.eps}",
)
def test_theorem_1_bounds_the_pulls_and_the_answer_is_pareto_accurate_where_the_good_event_holds(
    threat: Oblivious | Prescient | Malicious,
) -> None:
    """Lemma 4 and Theorem 1 on real runs under the worst attack we have."""
    sigma, accuracy, delta = 0.05, 0.1, 0.1
    environment = gaussian(RNG.uniform(0, 2, (10, 2)), sigma)
    direction = np.where(environment.pareto_mask, -1, 1)
    adversary: Adversary | None = None
    if isinstance(threat, Malicious):
        adversary = strongest(environment, Malicious(threat.eps), direction)
    elif threat.eps:
        adversary = constant_attack(threat.eps, np.where(environment.pareto_mask[:, None], -5.0, 5.0), environment)
    policy = RPSI(10, 2, threat=threat, spread=Subgaussian(sigma), accuracy=accuracy, delta=delta)
    schedule = Schedule(threat, Subgaussian(sigma), 10, 2, delta)
    good = 0
    for run in range(20):
        live, streams = policy.fresh(), Streams(RewardSource(environment, adversary), seed=9, run=run)
        held = True
        while not live.done:
            arms = live.ask()
            live.tell(arms, streams.take_batch(arms))
            lower, upper = live._bounds()
            held &= bool(((lower <= environment.medians) & (environment.medians <= upper)).all())
        if not held:
            continue
        good += 1
        result = live.result()
        assert result.pulls <= theorem1_gap_dependent(schedule, environment.gaps, accuracy)
        assert result.pulls <= theorem1_worst_case(schedule, accuracy)
        returned = result.verdict_codes == 1
        assert (environment.gaps[returned] <= 2 * live.bias + accuracy).all()
        for j in environment.pareto_set:
            assert (environment.medians[j] - environment.medians[returned] <= 2 * live.bias).all(axis=1).any()
    assert good >= 18  # P(E) ≥ 0.9, and the bound is far from tight


def test_a_question_is_simulated_as_its_policy_is() -> None:
    names = ["old", "new"]
    asked: list[dict[str, Any]] = [
        {"goal": "front"},
        {"limits": ["c>=0.1"]},
        {"baseline": "old", "cost": {"old": 1, "new": 3}, "independent": True},
    ]
    for each in asked:
        question = Question.of(maximize=["a", "b"], tolerance=0.2, contamination="2%", max_pulls=500, **each)
        environment = gaussian([[0.5] * len(question.columns.boxed)] * 2, 0.05)
        costs = [1.0, 3.0] if "cost" in each else None
        policy = Certified.for_question(question, names, max_pulls=500, costs=costs)
        runs = simulate(question=question, environment=environment, arms=names, runs=2, seed=4)
        twin = simulate(policy, environment, runs=2, seed=4)
        assert runs.pulls.max() <= 500
        assert np.array_equal(runs.pulls_per_arm, twin.pulls_per_arm)
        assert runs.verdicts.tolist() == twin.verdicts.tolist()
        assert runs.estimates.tobytes() == twin.estimates.tobytes()


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({}, "question"),
        ({"policy": AuerA1(2, 1, accuracy=0.3), "question": Question.of(maximize="a")}, "question"),
        ({"question": Question.of(maximize="a"), "arms": ["one"]}, "arms"),
        ({"question": Question.of(maximize="a", baseline="main")}, "baseline"),
        ({"question": Question.of(maximize="a", cost=2, max_cost=10)}, "max_cost"),
        ({"question": Question.of(maximize="a"), "environment": None}, "environment"),
    ],
)
def test_what_cannot_be_simulated_is_refused_by_its_argument(given: dict[str, Any], argument: str) -> None:
    with pytest.raises(BadArgument) as error:
        simulate(**{"environment": gaussian([[0.0], [1.0]], 0.1), **given})
    assert error.value.argument == argument


def test_runs_show_themselves_in_a_few_lines(snapshot: SnapshotAssertion) -> None:
    verdicts = np.full((3, 40), int(Verdict.BEATEN), np.int8)
    verdicts[:, [4, 7]] = int(Verdict.KEEP)
    verdicts[1, 9] = int(Verdict.KEEP)
    pulls = np.full((3, 40), 1000)
    pulls[2, 0] = 2001
    assert said(repr(Runs(verdicts, pulls, np.zeros((3, 40, 2)), 12.34))) == snapshot
    none = Runs(verdicts[:0], pulls[:0], np.zeros((0, 40, 2)), 0.0)
    assert said(repr(none)) == snapshot
