"""The choice of a short list: its order, that it is short, and that whatever it leaves out is covered or open."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Certified, Oblivious, Prescient
from frontguard.evidence.intervals import (
    BEST_HIGH,
    DOUBT_HIGH,
    DOUBT_LOW,
    ESTIMATE,
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    ArmIntervals,
)
from frontguard.pareto import rule
from frontguard.pareto.judge import Measured, find_best_first, judge, keep_needed
from frontguard.pareto.relations import NOT_RETURNED, RETURNED
from frontguard.simulation import simulate_one
from frontguard.simulation.environments import gaussian
from frontguard.verdicts import Verdict
from tests.pareto.columns import as_columns
from tests.pareto.test_judge import SHAPES, random_intervals
from tests.pareto.test_relations import ANY, tolerances
from tests.support.snapshots import refused

KEEP, BEATEN, MATCHED, OPEN = Verdict.KEEP, Verdict.BEATEN, Verdict.MATCHED, Verdict.UNDECIDED


@ANY
def test_the_order_rises_with_every_objective_and_is_the_same_for_a_million(intervals: ArmIntervals, seed: int) -> None:
    coverage = tolerances(intervals.lower.shape[1], seed)
    arms = np.random.default_rng(seed).permutation(len(intervals.lower))
    order = rule.best_first(as_columns(intervals), arms, coverage)
    assert sorted(order.tolist()) == list(range(len(arms)))
    found = arms[find_best_first(intervals.estimates[arms], arms, coverage)]
    np.testing.assert_array_equal(order, found)
    place = np.argsort(order)
    for i in range(len(arms)):
        for k in range(len(arms)):
            better = (intervals.estimates[k] >= intervals.estimates[i]).all() and (
                intervals.estimates[k] > intervals.estimates[i]
            ).any()
            assert not better or place[k] < place[i]


@pytest.mark.parametrize("objectives", [1, 2, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_kept_in_portions_is_what_is_kept_one_by_one(shape: str, objectives: int) -> None:
    intervals = random_intervals(shape, 1200, objectives, np.random.default_rng(objectives))
    seen = Measured(intervals.doubt_low, intervals.doubt_high, intervals.lower, intervals.upper)
    margin, coverage = np.full(objectives, 0.05), np.full(objectives, 0.1)
    order = find_best_first(intervals.estimates, np.arange(1200), coverage)
    for seem in (True, False):
        kept: list[int] = []
        for i in order.tolist():
            with np.errstate(invalid="ignore"):
                likely = (seen.high[kept] - seen.low[i] + margin >= 0.0).all(axis=1) & (seen.high[kept] > -np.inf).all(
                    1
                )
            certain = (seen.upper[i] - seen.lower[kept] - coverage <= 0.0).all(axis=1)
            if not certain.any() and not (seem and likely.any()):
                kept.append(i)
        assert keep_needed(seen, order, margin, coverage, seem=seem).tolist() == kept


@settings(max_examples=50)
@ANY
def test_every_verdict_of_a_list_follows_from_the_boxes(intervals: ArmIntervals, seed: int) -> None:
    """*In* by the definition; covered by kept one; and all that could be in is listed or covered."""
    if not len(intervals.lower):
        return
    accuracy, coverage, margin = (tolerances(intervals.lower.shape[1], 3 * seed + n) for n in range(3))
    codes = judge(intervals, accuracy, coverage, margin, goal="list").codes
    front = judge(intervals, accuracy, coverage, margin).codes
    np.testing.assert_array_equal(codes == BEATEN, front == BEATEN)
    alive = np.flatnonzero(codes != BEATEN)
    listed = np.flatnonzero(codes == KEEP)

    def could_beat(j: int, i: int) -> bool:
        lead = intervals.upper[j] - intervals.lower[i]
        return bool(np.where(accuracy > 0, lead > accuracy, lead >= 0).all() and (lead > 0).any())

    for i in alive.tolist():
        may = not any(could_beat(j, i) for j in alive.tolist() if j != i)
        covered = any(
            (intervals.upper[i] - intervals.lower[k] - coverage <= 0).all() for k in listed.tolist() if k != i
        )
        if codes[i] == KEEP:
            assert may
        elif codes[i] == MATCHED:
            assert covered
        else:
            assert not may
            assert not covered
    if (front != OPEN).all():  # whatever the front decides, the list decides with no more arms
        assert (codes != OPEN).all()


def test_a_list_is_shorter_where_arms_buy_nothing() -> None:
    points = -np.log(np.array([(1.0, 100.0), (2.0, 100.0), (1.5, 100.0), (3.0, 50.0), (2.97, 51.0)]))
    intervals = ArmIntervals(points - 0.004, points + 0.004, points, points, points)
    verdicts = {goal: judge(intervals, 0.05, 0.05, 0.025, goal=goal).codes.tolist() for goal in ("front", "list")}
    assert verdicts["front"] == [KEEP, KEEP, KEEP, KEEP, KEEP]
    assert verdicts["list"] == [KEEP, MATCHED, MATCHED, KEEP, MATCHED]


def test_an_arm_that_cannot_be_covered_is_listed_instead() -> None:
    """Arm 1 seems to be within the tolerance of arm 0, but no number of pulls will show it."""
    policy = Certified(2, 2, threat=Prescient(0.1), accuracy=1.0, goal="list")
    intervals = policy.standing.intervals
    centre = np.array([[5.0, 3.0], [5.2, 1.0]])
    for column, by in ((LOW, -0.6), (LOW_FLOOR, -0.6), (HIGH, 0.6), (HIGH_FLOOR, 0.6), (BEST_HIGH, 0.6)):
        intervals[:, column] = centre + by
    intervals[:, [ESTIMATE, DOUBT_LOW, DOUBT_HIGH]] = centre[:, None]
    policy.standing.arms["pulls"] = 10**4
    rule.decide(policy.standing, policy.goal)
    assert policy.standing.arms["status"].tolist() == [KEEP, KEEP]
    assert policy.status == "certified"
    intervals[:, [LOW_FLOOR, HIGH_FLOOR]] = centre[:, None]  # now more pulls would show it
    policy.carry_on()
    rule.decide(policy.standing, policy.goal)
    assert policy.status == "running"
    assert policy.standing.arms["candidate"].tolist() == [RETURNED, NOT_RETURNED]
    # If it ended now, both would be on the list: that each is in is certain, and that one covers the other is not.
    assert policy.standing.arms["status"].tolist() == [KEEP, KEEP]


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 3), st.sampled_from([0.05, 0.3, 1.0]))
@settings(max_examples=20, deadline=None)
def test_lists_are_true_and_no_longer_than_fronts_need_be(seed: int, arms: int, objectives: int, tol: float) -> None:
    medians = np.random.default_rng(seed).uniform(0, 2, (arms, objectives)).round(1)
    live = simulate_one(
        Certified(arms, objectives, threat=Oblivious(0.0), accuracy=tol, delta=1e-6, goal="list", max_pulls=50_000),
        gaussian(medians, 0.1),
        seed=seed,
    )
    result = live.result()
    returned = medians[result.having(KEEP)]
    for i in np.flatnonzero(result.having(MATCHED) | result.having(BEATEN)).tolist():
        if result.status == "certified":
            assert (medians[i] - returned <= tol + 1e-9).all(axis=1).any()
    for arm in returned:
        assert not (medians - arm > tol + 1e-9).all(axis=1).any()


def test_goals_have_names(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        Certified(2, 1, threat=Oblivious(0.0), accuracy=0.1, goal="shortlist")
    policy = Certified(2, 1, threat=Oblivious(0.0), accuracy=0.1, coverage=0.4, goal="list")
    assert policy.goal.margin.tolist() == [0.2]
    assert policy.copy().goal.name == policy.result().goal == "list"
