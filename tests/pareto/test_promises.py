"""What is promised objective by objective, held against what it says, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from frontguard import Objective, Study
from frontguard.pareto.judge import promised, promised_amounts
from frontguard.pareto.relations import Goal


def beaten_by_more(lower: np.ndarray, upper: np.ndarray, inside: np.ndarray, amounts: np.ndarray) -> bool:
    """Whether an arm could beat one that is inside by more than these amounts everywhere."""
    return any(
        all(upper[j, d] - lower[i, d] > amounts[d] for d in range(lower.shape[1]))
        for i in np.flatnonzero(inside)
        for j in range(len(lower))
        if i != j
    )


def missed_by_more(lower: np.ndarray, upper: np.ndarray, inside: np.ndarray, amounts: np.ndarray) -> bool:
    """Whether for an arm outside no one inside is certainly at most so much worse."""
    return any(
        not any((upper[j] - lower[i] <= amounts + 1e-12).all() for i in np.flatnonzero(inside))
        for j in np.flatnonzero(~inside)
    )


@pytest.mark.parametrize("seed", range(60))
def test_what_is_promised_is_true_and_no_more_than_one_slack_for_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arms, M = int(rng.integers(2, 8)), int(rng.integers(2, 4))
    exact = np.arange(M) == M - 1
    middles = rng.normal(size=(arms, M)).round(1)
    reach = np.where(exact, 0.0, rng.random((arms, M)))
    lower, upper = middles - reach, middles + reach
    inside = rng.random(arms) < 0.5
    inside[0] = True
    goal = Goal(rng.random(M) * 0.3, rng.random(M) * 0.3, np.zeros(M))
    accuracy, coverage = promised_amounts(lower, upper, inside, goal, exact)
    more, missing = promised(lower, upper, inside, goal)
    assert not beaten_by_more(lower, upper, inside, accuracy)
    assert not missed_by_more(lower, upper, inside, coverage)
    assert (accuracy <= np.maximum(goal.accuracy + more, 0.0) + 1e-12).all()
    assert (coverage <= np.maximum(goal.coverage + missing, 0.0) + 1e-12).all()
    # Where an exact objective has a slack, it needs it: without, the same slack of the others would be false.
    if accuracy[-1] > goal.accuracy[-1]:
        assert beaten_by_more(lower, upper, inside, np.where(exact, goal.accuracy, goal.accuracy + more))
    if np.isfinite(missing) and coverage[-1] > goal.coverage[-1]:
        assert missed_by_more(lower, upper, inside, np.where(exact, goal.coverage, goal.coverage + missing))


def test_both_ways_are_there_among_these() -> None:
    found = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        lower = np.column_stack([rng.normal(size=5), rng.integers(0, 3, 5)])
        upper = lower + np.array([1.0, 0.0])
        goal = Goal(np.zeros(2), np.zeros(2), np.zeros(2))
        _, coverage = promised_amounts(lower, upper, np.arange(5) < 2, goal, np.array([False, True]))
        found.add(bool(coverage[1] > 0.0))
    assert found == {True, False}


def test_a_study_says_nothing_is_forgiven_of_prices() -> None:
    objectives = [
        Objective("solved", "maximize", tolerance=0.05, statistic="mean", bounds=(0, 1)),
        Objective("price", "maximize", exact=True),
    ]
    study = Study(["a", "b"], objectives, contamination=0.0, max_pulls=60)
    rng = np.random.default_rng(1)
    while pulls := study.ask(10):
        study.tell_many([(pull, [float(rng.random() < 0.8), 3.0 - pull.index]) for pull in pulls])
    _, coverage = (study.result().certificate.amounts(study.objectives), study.result().certificate.coverage)
    assert isinstance(coverage, tuple)
    assert coverage[1] == 0.0
