"""Every relation between arms: what it means for one pair, and what is found among many, are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.intervals import ArmIntervals
from frontguard.pareto import relations
from frontguard.pareto.judge import judge
from frontguard.verdicts import Verdict
from tests.pareto.columns import as_columns
from tests.pareto.test_judge import check_rivals, decided, naive_coverage_slack

TOLERANCES = [0.0, 0.1, 0.2, 0.3, 1.0]


def random_intervals(arms: int, objectives: int, seed: int, width: float, unknown: float, tenths: bool) -> ArmIntervals:
    """Intervals of some width, a share of them half or wholly unknown.

    Tenths are not exact, and often equal: differences fall on either side of tolerances, or on them.
    """
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.uniform(-width, width, (5, arms, objectives)), axis=0)
    lower, doubt_low, estimates, doubt_high, upper = values = rng.uniform(-1, 1, (arms, objectives)) + ends
    if tenths:
        values[:] = np.round(values, 1)
    lower[rng.random(lower.shape) < unknown] = -np.inf
    upper[rng.random(upper.shape) < unknown] = np.inf
    nothing = rng.random(arms) < unknown / 2
    for array in (lower, doubt_low, estimates, doubt_high):
        array[nothing] = -np.inf
    upper[nothing] = np.inf
    return ArmIntervals(lower, upper, estimates, doubt_low, doubt_high)


MANY = st.builds(
    random_intervals,
    arms=st.integers(0, 12),
    objectives=st.integers(1, 3),
    seed=st.integers(0, 10**9),
    width=st.sampled_from([0.0, 0.1, 0.3, 1.0]),
    unknown=st.sampled_from([0.0, 0.0, 0.2, 1.0]),
    tenths=st.booleans(),
)


def tolerances(objectives: int, seed: int) -> Floats:
    return np.random.default_rng(seed).choice(TOLERANCES, objectives)


@kernel
def _pairs(intervals: Floats, tolerance: Floats, relation: int) -> Floats:
    """A relation between every i and every j (K, K), by the functions for one pair."""
    K = intervals.shape[0]
    found = np.empty((K, K))
    for i in range(K):
        for j in range(K):
            if relation == 0:
                found[i, j] = relations.dominated(intervals, i, j)
            elif relation == 1:
                found[i, j] = relations.shortfall(intervals, tolerance, i, j)
            elif relation == 2:
                found[i, j] = relations.uncovered(intervals, tolerance, i, j)
            elif relation == 3:
                found[i, j] = relations.beaten(intervals, tolerance, i, j)
            elif relation == 5:
                found[i, j] = relations.near(intervals, tolerance, i, j)
            else:
                found[i, j] = relations.lead(intervals, j, i)
    return found


def pairs(intervals: ArmIntervals, tolerance: Floats, relation: str) -> Floats:
    number = ("dominated", "shortfall", "uncovered", "beaten", "lead", "near").index(relation)
    return _pairs(as_columns(intervals), tolerance, number)


def others(array: Floats, nothing: float) -> Floats:
    """The same without what an arm is to itself."""
    array = array.copy()
    np.fill_diagonal(array, nothing)
    return array


def check_found(found: Ints, holds: Any) -> None:
    """What was found for each arm holds, and where nothing was found, nothing does."""
    for i, j in enumerate(found.tolist()):
        assert holds[i, j] if j >= 0 else not holds[i].any()


ANY = given(intervals=MANY, seed=st.integers(0, 1000))


@ANY
def test_dominated(intervals: ArmIntervals, seed: int) -> None:
    holds = pairs(intervals, np.zeros(intervals.lower.shape[1]), "dominated") == 1.0
    check_found(relations.find_dominating(intervals.upper, intervals.lower), holds)
    for i, j in zip(*np.nonzero(holds), strict=True):
        assert (intervals.upper[i] <= intervals.lower[j]).all()
        assert (intervals.upper[i] < intervals.lower[j]).any()


@ANY
def test_shortfall(intervals: ArmIntervals, seed: int) -> None:
    accuracy = tolerances(intervals.lower.shape[1], seed)
    short = others(pairs(intervals, accuracy, "shortfall"), -np.inf)
    arms = np.arange(len(short))
    rivals, found = relations.find_strongest_rivals(intervals.lower, intervals.upper, accuracy, arms)
    np.testing.assert_array_equal(found, short.max(axis=1, initial=-np.inf))
    for i in np.flatnonzero(rivals >= 0):
        assert short[i, rivals[i]] == found[i]


@ANY
def test_uncovered(intervals: ArmIntervals, seed: int) -> None:
    coverage = tolerances(intervals.lower.shape[1], seed)
    missing = pairs(intervals, coverage, "uncovered")
    check_found(relations.find_covering(intervals.upper, intervals.lower, coverage), missing <= 0.0)
    nearest = missing.min(axis=1, initial=np.inf)
    worst = relations.worst_uncovered(intervals.upper, intervals.lower, coverage)
    assert worst == nearest.max(initial=-np.inf)
    nobody = intervals.lower[:0]
    assert relations.worst_uncovered(intervals.upper, nobody, coverage) == (np.inf if len(missing) else -np.inf)
    assert (relations.find_covering(intervals.upper, nobody, coverage) == -1).all()


@ANY
def test_beaten(intervals: ArmIntervals, seed: int) -> None:
    margin = tolerances(intervals.lower.shape[1], seed)
    holds = others(pairs(intervals, margin, "beaten"), 0.0) == 1.0
    found = relations.find_beaten(intervals.doubt_low, intervals.doubt_high, margin)
    np.testing.assert_array_equal(found, holds.any(axis=1))


@ANY
def test_near(intervals: ArmIntervals, seed: int) -> None:
    margin = tolerances(intervals.lower.shape[1], seed)
    holds = pairs(intervals, margin, "near") == 1.0
    low, high = relations.likely_ends(intervals)
    found = relations.find_near(low, high, margin)
    np.testing.assert_array_equal(found, holds.any(axis=1))
    known = (intervals.estimates > -np.inf).all(axis=1)
    for i, k in np.argwhere(np.ones_like(holds)):
        if not known[k]:
            assert not holds[i, k]
        elif known[i]:  # by more than the margin, and than twice the doubt of both
            doubt = 2 * (
                intervals.doubt_high[k] - intervals.estimates[k] + intervals.estimates[i] - intervals.doubt_low[i]
            )
            behind = intervals.estimates[i] - intervals.estimates[k] - margin - doubt
            assert holds[i, k] == (behind <= 0.0).all() or np.abs(behind).min() < 1e-12


@ANY
def test_inside(intervals: ArmIntervals, seed: int) -> None:
    accuracy = tolerances(intervals.lower.shape[1], seed)
    short = others(pairs(intervals, accuracy, "shortfall"), -np.inf)
    found = relations.find_inside(intervals.lower, intervals.upper, accuracy)
    np.testing.assert_array_equal(found, short.max(axis=1, initial=-np.inf) <= 0.0)


@ANY
def test_lead(intervals: ArmIntervals, seed: int) -> None:
    leads = pairs(intervals, np.zeros(intervals.lower.shape[1]), "lead")
    leaders = relations.find_leaders(intervals.estimates, intervals.estimates)
    known = (intervals.estimates > -np.inf).all(axis=1)
    for i in np.flatnonzero(known):
        assert leads[i, leaders[i]] == leads[i, known].max()
    if not known.any():
        assert (leaders == 0).all()
    assert (relations.find_leaders(intervals.estimates, intervals.estimates[:0]) == -1).all()


@pytest.mark.parametrize("goal", ["front", "list"])
@settings(max_examples=50)
@ANY
def test_whole_verdicts(goal: str, intervals: ArmIntervals, seed: int) -> None:
    if len(intervals.lower) == 0:
        verdicts = judge(intervals, 0.1, 0.1, 0.0, goal=goal)
        assert len(verdicts.codes) == 0
        assert verdicts.accuracy_slack == verdicts.coverage_slack == -np.inf
        return
    accuracy, coverage, margin = (tolerances(intervals.lower.shape[1], 3 * seed + n) for n in range(3))
    ours = judge(intervals, accuracy, coverage, margin, goal=goal)
    theirs = decided(intervals, accuracy, coverage, margin, goal)
    np.testing.assert_array_equal(ours.codes, theirs.codes)
    assert ours.accuracy_slack == theirs.accuracy_slack
    assert ours.coverage_slack == naive_coverage_slack(intervals, ours, coverage) <= theirs.coverage_slack
    check_rivals(intervals, ours, theirs, accuracy, coverage, goal)


def test_the_boxes_above_bring_up_every_verdict() -> None:
    seen: set[int] = set()
    for seed in range(30):
        seen.update(judge(random_intervals(8, 2, seed, 0.1, 0.0, True), 0.2, 0.2, 0.0).codes.tolist())
    assert seen == {Verdict.UNDECIDED, Verdict.KEEP, Verdict.BEATEN, Verdict.MATCHED}


@pytest.mark.parametrize("relation", ["dominated", "shortfall", "uncovered", "beaten", "lead"])
def test_an_arm_beside_itself(relation: str) -> None:
    """Nobody dominates or beats itself; an interval of no width covers itself and cannot fall short of itself."""
    point = np.array([[0.3, -0.1]])
    found = pairs(ArmIntervals(point, point, point, point, point), np.zeros(2), relation)
    assert found.tolist() == [[0.0]]
