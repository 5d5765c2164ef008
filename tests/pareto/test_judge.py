"""Verdicts on many intervals: the same as the certified policy's own rule gives, which looks at the arms one by one."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.evidence.intervals import ArmIntervals
from frontguard.pareto import dominance, rule
from frontguard.pareto.judge import Verdicts, judge
from frontguard.pareto.relations import CONTROL, Goal, new_standing
from frontguard.verdicts import Verdict
from tests.pareto.columns import as_columns
from tests.support.snapshots import refused

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SHAPES = ("spread", "front", "line", "grid", "equal", "infinite", "narrow", "wide")


def random_intervals(shape: str, arms: int, objectives: int, rng: np.random.Generator) -> ArmIntervals:
    """Intervals around centres of some shape, with estimates inside, and doubt around these."""
    size = (arms, objectives)
    centre = rng.normal(size=size)
    if shape == "front":
        centre -= centre.mean(axis=1, keepdims=True)
    if shape == "line":
        centre = np.repeat(rng.normal(size=(arms, 1)), objectives, axis=1)
    width = {"narrow": 0.02, "wide": 1.5}.get(shape, 0.3)
    low, high = (rng.exponential(width, size=size) for _ in range(2))
    doubt = 0.2 * np.minimum(low, high)
    lower, upper, doubt_low, doubt_high = centre - low, centre + high, centre - doubt, centre + doubt
    if shape == "equal":
        lower, upper, centre, doubt_low, doubt_high = (np.full(size, v) for v in (-1.0, 1.0, 0.0, -0.2, 0.2))
    if shape == "grid":  # tenths, so that differences are near the tolerances, on either side of them, or equal
        lower, upper, centre, doubt_low, doubt_high = (
            np.round(array, 1) for array in (lower, upper, centre, doubt_low, doubt_high)
        )
    if shape == "infinite":
        lower = np.where(rng.random(size) < 0.1, -np.inf, lower)
        upper = np.where(rng.random(size) < 0.03, np.inf, upper)
        nothing = rng.random(arms) < 0.03
        for array in (lower, centre, doubt_low, doubt_high):
            array[nothing] = -np.inf
        upper[nothing] = np.inf
    return ArmIntervals(lower, upper, centre, doubt_low, doubt_high)


@dataclass
class ByTheRule:
    """What `rule.decide` says when no bound can gain anything any more."""

    codes: Ints
    decided_by: Ints
    accuracy_slack: float
    coverage_slack: float


def decided(
    intervals: ArmIntervals, accuracy: Floats, coverage: Floats, margin: Floats, goal: str = "front"
) -> ByTheRule:
    control = np.zeros(1, CONTROL)
    control["max_pulls"] = control["max_per_arm"] = np.iinfo(np.int64).max
    standing = new_standing(len(intervals.lower), as_columns(intervals), control)
    standing.arms["pulls"] = 10**6
    rule.decide(standing, Goal.of(accuracy, coverage, goal, margin))
    slacks = control["accuracy_slack"][0], control["coverage_slack"][0]
    return ByTheRule(standing.arms["status"], standing.arms["decided_by"], float(slacks[0]), float(slacks[1]))


def naive_coverage_slack(intervals: ArmIntervals, verdicts: Verdicts, coverage: Floats) -> float:
    """By how much the worst covered of the alive arms that are not returned misses the coverage."""
    left = intervals.upper[(verdicts.codes != Verdict.BEATEN) & ~verdicts.returned]
    gaps = (left[:, None] - intervals.lower[verdicts.returned] - coverage).max(axis=2)
    return float(gaps.min(axis=1, initial=np.inf).max(initial=-np.inf))


def check_rivals(
    intervals: ArmIntervals, ours: Verdicts, theirs: ByTheRule, accuracy: Floats, coverage: Floats, goal: str = "front"
) -> None:
    """A rival may be another one only where it is as good a reason."""
    mine, other, codes = ours.decided_by, theirs.decided_by, ours.codes
    assert (other[mine < 0] < 0).all()
    decided = mine >= 0
    assert (mine != np.arange(len(mine)))[decided].all()

    out = np.flatnonzero(decided & (codes == Verdict.BEATEN))
    assert (codes[mine[out]] != Verdict.BEATEN).all()
    assert (intervals.upper[out] <= intervals.lower[mine[out]]).all()
    assert (intervals.upper[out] < intervals.lower[mine[out]]).any(axis=1).all()

    covered = np.flatnonzero(decided & (codes == Verdict.MATCHED))
    assert (codes[mine[covered]] == Verdict.KEEP).all()
    assert (intervals.upper[covered] - intervals.lower[mine[covered]] - coverage <= 0.0).all()

    others = decided & (codes != Verdict.BEATEN) & (codes != Verdict.MATCHED)
    candidates = np.flatnonzero(others & ours.candidates)
    of_mine, of_other = (
        np.min(intervals.upper[by[candidates]] - intervals.lower[candidates] - accuracy, axis=1) for by in (mine, other)
    )
    assert (of_mine == of_other).all()

    left = np.flatnonzero(others & ~ours.candidates)
    assert ours.returned[mine[left]].all()
    if goal == "list":  # the policy names the arm for which it was left out
        assert ours.returned[other[left]].all()
    if len(left):
        with np.errstate(invalid="ignore"):
            leads = np.min(intervals.estimates[ours.returned] - intervals.estimates[left, None], axis=2)
            lead = np.min(intervals.estimates[mine[left]] - intervals.estimates[left], axis=1)
        assert (lead == np.nanmax(leads, axis=1)).all()


def check_brief(brief: Verdicts, whole: Verdicts) -> None:
    """It says the same as the whole judgement, as far as it goes."""
    np.testing.assert_array_equal(brief.codes, whole.codes)
    assert (brief.choice is None) == (whole.choice is None)
    if brief.choice is not None and whole.choice is not None:
        np.testing.assert_array_equal(brief.choice.step, whole.choice.step)
        np.testing.assert_array_equal(brief.choice.inside, whole.choice.inside)


@pytest.mark.parametrize("goal", ["front", "list"])
@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_verdicts_are_those_of_the_certified_policy(shape: str, objectives: int, goal: str) -> None:
    rng = np.random.default_rng([SHAPES.index(shape), objectives])
    for trial in range(4):
        arms = int(rng.integers(1, 8)) if trial < 2 else int(rng.integers(100, 300))
        intervals = random_intervals(shape, arms, objectives, rng)
        accuracy, coverage = (rng.choice([0.0, 0.1, 0.5, 2.0], size=objectives) for _ in range(2))
        margin = rng.choice([0.0, 0.1], size=objectives)
        ours = judge(intervals, accuracy, coverage, margin, goal=goal)
        check_brief(judge(intervals, accuracy, coverage, margin, goal=goal, briefly=True), ours)
        theirs = decided(intervals, accuracy, coverage, margin, goal)
        np.testing.assert_array_equal(ours.codes, theirs.codes)
        assert ours.accuracy_slack == theirs.accuracy_slack
        # The policy looks no further once an arm is covered, so below zero its slack is only an upper bound; and where
        # candidates that are open would be returned, ours may let them cover others.
        assert ours.coverage_slack == naive_coverage_slack(intervals, ours, coverage) <= theirs.coverage_slack
        if theirs.coverage_slack > 0.0 and not (ours.undecided & ours.candidates).any():
            assert ours.coverage_slack == theirs.coverage_slack
        check_rivals(intervals, ours, theirs, accuracy, coverage, goal)


@pytest.mark.parametrize("goal", ["front", "list"])
def test_every_verdict_and_every_reason_comes_up(goal: str) -> None:
    """Or the comparison above would show less than it seems to."""
    seen: set[tuple[int, bool]] = set()
    for shape in SHAPES:
        for objectives in (1, 2, 3):
            intervals = random_intervals(shape, 300, objectives, np.random.default_rng(objectives))
            verdicts = judge(intervals, 0.5, 0.5, 0.0, goal=goal)
            seen |= set(zip(verdicts.codes.tolist(), verdicts.candidates.tolist(), strict=True))
    words = {(Verdict(code).word, candidate) for code, candidate in seen}
    assert words == {
        ("beaten", False), ("keep", True), ("matched", False), ("matched", True), ("undecided", False), ("undecided",
        True),
    }  # fmt: skip


@pytest.mark.parametrize("goal", ["front", "list"])
def test_the_certificate_that_holds_now_is_reached_by_asking_for_no_more(goal: str) -> None:
    """With the tolerances widened by the slacks nothing is open any more."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        intervals = random_intervals("spread", 200, 2, rng)
        verdicts = judge(intervals, 0.1, 0.1, 0.0, goal=goal)
        assert verdicts.undecided.any()
        more = 1.0 + 1e-12  # the differences are rounded
        eased = judge(
            intervals,
            0.1 + max(verdicts.accuracy_slack, 0.0) * more,
            0.1 + max(verdicts.coverage_slack, 0.0) * more,
            0.0,
            goal=goal,
        )
        assert not eased.undecided.any()


@pytest.mark.parametrize("goal", ["front", "list"])
@pytest.mark.parametrize("objectives", [1, 2, 3])
@pytest.mark.parametrize("shape", ["spread", "front", "grid", "equal"])
def test_short_cuts_for_many_arms_change_nothing(
    shape: str, objectives: int, goal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples and the order of arms save time only."""
    intervals = random_intervals(shape, 6_000, objectives, np.random.default_rng(8))
    module = sys.modules[judge.__module__]
    monkeypatch.setattr(module, "_SAMPLE", 1024)
    monkeypatch.setattr(module, "_MANY", 100)
    ours = judge(intervals, 0.1, 0.1, 0.0, goal=goal)
    check_brief(judge(intervals, 0.1, 0.1, 0.0, goal=goal, briefly=True), ours)
    highest = np.argsort(-intervals.lower.min(axis=1))[:100]  # enough to put most arms out
    for j in highest:
        plain = (intervals.upper <= intervals.lower[j]).all(axis=1) & (intervals.upper < intervals.lower[j]).any(axis=1)
        assert (ours.codes[plain] == Verdict.BEATEN).all()
    put_out = np.flatnonzero(ours.codes == Verdict.BEATEN)
    by = ours.decided_by[put_out]
    assert (ours.codes[by] != Verdict.BEATEN).all()
    assert (intervals.upper[put_out] <= intervals.lower[by]).all()
    assert (intervals.upper[put_out] - intervals.lower[by]).min(axis=1).max(initial=-1.0) < 0.0
    monkeypatch.setattr(module, "_SAMPLE", 10**9)
    monkeypatch.setattr(module, "_MANY", 10**9)
    monkeypatch.setattr(dominance, "_FEW", 10**9)
    again = judge(intervals, 0.1, 0.1, 0.0, goal=goal)
    np.testing.assert_array_equal(ours.codes, again.codes)
    assert (ours.accuracy_slack, ours.coverage_slack) == (again.accuracy_slack, again.coverage_slack)


def test_a_single_arm_is_in() -> None:
    verdicts = judge(random_intervals("spread", 1, 2, np.random.default_rng(0)), 0.0, 0.0, 0.0)
    assert verdicts.codes.tolist() == [Verdict.KEEP]
    assert verdicts.decided_by.tolist() == [-1]
    assert verdicts.accuracy_slack == verdicts.coverage_slack == -np.inf


def test_what_is_no_box_and_what_is_no_tolerance_is_refused(snapshot: SnapshotAssertion) -> None:
    intervals = random_intervals("spread", 5, 2, np.random.default_rng(0))
    intervals.lower[3, 1] = intervals.upper[3, 1] + 1.0
    with refused(BadInput, snapshot):
        judge(intervals, 0.1, 0.1, 0.0)
    intervals.lower[3, 1] = np.nan
    with refused(BadInput, snapshot):
        judge(intervals, 0.1, 0.1, 0.0)
    fine = random_intervals("spread", 5, 2, np.random.default_rng(0))
    for wrong in (-1.0, np.nan, [0.1, 0.1, 0.1]):
        with refused(BadInput, snapshot):
            judge(fine, 0.1, wrong, 0.0)
