"""What limits leave of intervals to be read: one arm against a million, and the rule against theory (p)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from frontguard import Certified, Objective, Prescient
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
from frontguard.pareto.judge import judge
from frontguard.pareto.relations import LimitRule, keeping_of, veiled_intervals
from frontguard.verdicts import FEASIBLE, INFEASIBLE, OPEN, Feasibility, Verdict

Floats = npt.NDArray[np.float64]


def known(seed: int, arms: int) -> Floats:
    """Intervals (K, 2, 3) with ends on a coarse grid, so that ties come about."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, 6, (arms, 2, 3)).astype(float), axis=1)
    ends[:, 0][rng.random((arms, 3)) < 0.1] = -np.inf
    return ends


def naive(ends: Floats, limit: float, gamma: float) -> tuple[list[Verdict], list[Feasibility]]:
    """Verdicts from the definitions: rivals are all arms that may be within, and only arms within do anything."""
    low, high = ends[:, 0], ends[:, 1]
    K = len(ends)
    keeping = [
        Feasibility.FEASIBLE
        if low[i, 2] >= limit
        else Feasibility.INFEASIBLE
        if high[i, 2] < limit
        else Feasibility.OPEN
        for i in range(K)
    ]
    within = [i for i in range(K) if keeping[i] is Feasibility.FEASIBLE]

    def out(i: int) -> bool:
        if keeping[i] is Feasibility.INFEASIBLE:
            return True
        above = [j for j in within if j != i and (high[i, :2] <= low[j, :2]).all()]
        return any((high[i, :2] < low[j, :2]).any() for j in above)

    alive = [i for i in range(K) if not out(i)]
    verdicts = []
    for i in range(K):
        if i not in alive:
            verdicts.append(Verdict.BEATEN)
            continue
        safe = all((high[j, :2] - low[i, :2] <= gamma).any() for j in alive if j != i)
        verdicts.append(Verdict.KEEP if keeping[i] is Feasibility.FEASIBLE and safe else Verdict.UNDECIDED)
    return verdicts, keeping


def policy_with(ends: Floats, limit: float, gamma: float) -> Certified:
    """A policy with one limit on a third column, and these intervals, estimates in their middle, decided on."""
    policy = Certified.for_objectives(
        len(ends), [Objective(name, "maximize", tolerance=gamma) for name in "ab"], threat=Prescient(0.1),
        limits=[f"c>={limit}"],
    )  # fmt: skip
    intervals = policy.standing.intervals
    intervals[:, LOW], intervals[:, HIGH] = ends[:, 0], ends[:, 1]
    intervals[:, LOW_FLOOR], intervals[:, HIGH_FLOOR], intervals[:, BEST_HIGH] = ends[:, 0], ends[:, 1], ends[:, 1]
    intervals[:, [ESTIMATE, DOUBT_LOW, DOUBT_HIGH]] = ends[:, 1][:, None]
    policy._all_seen = True
    policy.standing.arms["pulls"] = 10
    policy.decide()
    return policy


@given(st.integers(0, 10_000), st.integers(1, 8), st.sampled_from([0.5, 1.0, 2.0]))
def test_rule_and_judge_follow_the_definitions(seed: int, arms: int, gamma: float) -> None:
    ends = known(seed, arms)
    wanted, keeping = naive(ends, 3.0, gamma)
    policy = policy_with(ends, 3.0, gamma)
    assert policy.standing.arms["keeping"].tolist() == keeping
    middle = ends[:, 1]
    limits = LimitRule(np.array([2]), np.array([3.0]), np.array([3.0]))
    intervals = ArmIntervals(ends[:, 0], ends[:, 1], middle, middle, middle)
    judged = judge(intervals, np.full(2, gamma), np.full(2, gamma), np.zeros(2), limits)
    brief = judge(intervals, np.full(2, gamma), np.full(2, gamma), np.zeros(2), limits, briefly=True)
    np.testing.assert_array_equal(brief.codes, judged.codes)
    for codes in (policy.verdict_codes, judged.codes):
        for i in range(arms):
            verdict = Verdict(int(codes[i]))
            assert (verdict is Verdict.BEATEN) == (wanted[i] is Verdict.BEATEN)
            if verdict is Verdict.KEEP:  # a candidate, and allowed
                assert wanted[i] is Verdict.KEEP
            if verdict is Verdict.MATCHED:
                covering = [k for k in range(arms) if codes[k] == Verdict.KEEP]
                assert any((ends[i, 1, :2] - ends[k, 0, :2] <= gamma).all() for k in covering)
                assert all(keeping[k] is Feasibility.FEASIBLE for k in covering)
    beyond = [i for i in range(arms) if keeping[i] is Feasibility.INFEASIBLE]
    assert (judged.decided_by[beyond] == -1).all()
    assert not set(judged.decided_by.tolist()) & set(beyond)


@given(st.integers(0, 10_000))
def test_one_arm_is_veiled_as_a_million_are(seed: int) -> None:
    ends = known(seed, 12)
    policy = policy_with(ends, 3.0, 1.0)
    read = policy.read_by_rule().intervals
    intervals = ArmIntervals(*(policy.standing.intervals[:, c] for c in (LOW, HIGH, ESTIMATE, DOUBT_LOW, DOUBT_HIGH)))
    many, keeping = veiled_intervals(intervals, policy.limits, 2)
    assert keeping.tolist() == policy.standing.arms["keeping"].tolist()
    open_or_within = keeping != INFEASIBLE  # of the others nothing is read
    for column, array in ((LOW, many.lower), (HIGH, many.upper), (DOUBT_LOW, many.doubt_low)):
        assert np.array_equal(read[:, column][open_or_within], array[open_or_within])
    assert (policy.standing.intervals[:, LOW] == ends[:, 0]).all()  # what is shown is what is known


def test_tolerance_of_a_limit_is_within() -> None:
    limits = LimitRule(np.array([0]), np.array([-310.0]), np.array([-300.0]))  # at most 300, up to 310
    lower, upper = (
        np.array([[-310.0], [-311.0], [-340.0], [-305.0]]),
        np.array([[-250.0], [-250.0], [-301.0], [-301.0]]),
    )
    assert keeping_of(lower, upper, limits)[:, 0].tolist() == [FEASIBLE, OPEN, INFEASIBLE, FEASIBLE]


def test_an_arm_alone_is_not_in_before_it_is_within() -> None:
    for low, wanted in ((2.0, Verdict.UNDECIDED), (3.0, Verdict.KEEP)):
        ends = np.array([[[1.0, 1.0, low], [2.0, 2.0, 5.0]]])
        assert policy_with(ends, 3.0, 1.0).verdict_codes.tolist() == [wanted]
        intervals = ArmIntervals(ends[:, 0], *(ends[:, 1],) * 4)
        limits = LimitRule(np.array([2]), np.array([3.0]), np.array([3.0]))
        assert judge(intervals, np.ones(2), np.ones(2), np.zeros(2), limits).codes.tolist() == [wanted]


def test_all_beyond_is_an_answer() -> None:
    ends = np.tile(np.array([[[1.0, 1.0, 0.0], [2.0, 2.0, 2.0]]]), (3, 1, 1))
    policy = policy_with(ends, 3.0, 1.0)
    assert policy.status == "certified"
    assert policy.result().pareto_set == []
    assert (policy.verdict_codes == Verdict.BEATEN).all()
    intervals = ArmIntervals(ends[:, 0], *(ends[:, 1],) * 4)
    limits = LimitRule(np.array([2]), np.array([3.0]), np.array([3.0]))
    assert (judge(intervals, np.ones(2), np.ones(2), np.zeros(2), limits).codes == Verdict.BEATEN).all()
