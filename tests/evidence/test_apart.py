"""Pairs of independent arms: against the evidence as it is written, and against arms that are truly alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import betainc, betaln
from syrupy.assertion import SnapshotAssertion

from frontguard import Gaussian, Malicious, Oblivious, Prescient, Share
from frontguard.evidence.differences import Compared
from frontguard.evidence.differences.apart import (
    EQUAL,
    LOWEST,
    NORMAL_PAIRS,
    NORMAL_RIVALS,
    NORMAL_WEIGHT,
    PAIRS,
    RIVALS,
    STRENGTH,
    TOGETHER,
    TOGETHER_UNEQUAL,
    UNEQUAL,
    lasting_threshold,
    normal_apart,
    refresh_apart,
    shares_of,
)
from frontguard.evidence.intervals import COLUMNS, HIGH, LOW, REFUTED
from frontguard.evidence.kinds import Statistic
from frontguard.evidence.statistics import BOUNDED_MEAN, EXACT, NORMAL_MEAN
from frontguard.pareto.relations import LimitRule
from frontguard.policies import Certified
from frontguard.theory.threats import Threat
from frontguard.verdicts import Verdict
from tests.support.snapshots import refused

Floats = npt.NDArray[np.float64]


def told(policy: Certified, values: Any) -> Certified:
    """The policy with values (K, n, M) of which nothing was decided."""
    arms = np.repeat(np.arange(policy.arms), values.shape[1])
    policy.expect(arms)
    policy.take(arms, values.reshape(len(arms), -1))
    policy._refresh(np.arange(policy.arms))  # in one piece, as policies have it
    return policy


def log_mixtures(n: Any, k: Any, p: float, strength: float = STRENGTH) -> Any:
    """log M_n(k) as it is defined, where k < p n, and −∞ elsewhere."""
    a, n, k = strength / 2, np.asarray(n, float), np.asarray(k, float)
    with np.errstate(all="ignore"):
        found = betaln(a + k, a + n - k) + np.log(betainc(a + k, a + n - k, p)) - k * np.log(p)
    found = found - (n - k) * np.log1p(-p) - betaln(a, a) - np.log(betainc(a, a, p))
    return np.where(k < p * n, found, -np.inf)


def evidence(policy: Certified, arm: int, points: Floats, sign: float) -> Any:
    """The logarithm of the evidence of an arm against m ≤ x; of what the sign makes of its values."""
    n, rule = int(policy.standing.arms["pulls"][arm]), policy.rule
    values = sign * policy.values_of(arm, 0)
    lost = n - len(values) + int(rule.taken[0] * n)
    total = np.full(len(points), math.exp(LOWEST))
    for keep, cost, log_weight in zip(rule.low_keep[0], rule.costs[0], rule.log_weights[0], strict=True):
        counts = (values[None, :] - cost <= points[:, None]).sum(axis=1) + lost
        total += (1.0 - math.exp(LOWEST)) * np.exp(log_weight + np.minimum(log_mixtures(n, counts, keep), 600.0))
    return np.log(total)


@pytest.mark.parametrize(
    ("threat", "spread", "pulls"),
    [
        (Oblivious(0.0), None, 300),
        (Oblivious(0.1), Gaussian(1.0), 150),
        (Prescient(0.1), Gaussian(1.0), 60),
        (Share(0.05), None, 200),
        (Malicious(0.2), Gaussian(1.0), 7),
    ],
)
def test_bounds_are_those_of_the_evidence_as_it_is_written(threat: Threat, spread: Any, pulls: int) -> None:
    """Of pairs and of rivals: what is refuted is, by one of two arms alone, whose interval ends there, or by both."""
    values = np.random.default_rng(pulls).normal(size=(3, pulls, 1))
    values[:, 3::29] = np.nan  # which fail
    values[1] += 0.3
    policy = told(Certified(3, 1, independent=True, threat=threat, accuracy=0.1, spread=spread), values)
    rule, costs, intervals = policy.differences.rule, policy.rule.costs[0], policy.standing.intervals
    for side, sign in enumerate((1.0, -1.0)):
        points = np.unique([sign * policy.values_of(0, 0) - cost for cost in costs])
        found = evidence(policy, 0, np.concatenate([[-1e9], points]), sign)
        ends = np.concatenate([[-np.inf], points])
        wanted = [ends[np.argmax(found < level)] for level in np.log(rule.evidence)]
        np.testing.assert_array_equal(policy.differences.levels[side, 0, 0], wanted)
    bounds = intervals[1, [COLUMNS, COLUMNS + 3], 0]
    if pulls < 10:
        assert np.isinf(bounds).all()
        return
    assert bounds[1] < bounds[0] < intervals[1, HIGH, 0] - intervals[0, LOW, 0]
    of_0 = np.unique([policy.values_of(0, 0) - cost for cost in costs])
    for bound, threshold in zip(bounds, rule.thresholds[:, 0], strict=True):
        least = []
        for gap in (bound + 1e-9, bound - 0.5):  # and of much less it is not said
            of_1 = np.unique([policy.values_of(1, 0) + cost for cost in costs]) - gap
            points = np.sort(np.concatenate([of_0, of_1, of_0 - 1e-12, of_1 + 1e-12]))
            points = points[(points >= intervals[0, LOW, 0]) & (points + gap <= intervals[1, HIGH, 0])]
            least.append((evidence(policy, 0, points, 1.0) + evidence(policy, 1, -(points + gap), -1.0)).min())
        assert least[1] < threshold <= least[0]


def test_means_with_a_known_deviation_are_bounded_by_the_worst_pair_of_means() -> None:
    """The mixtures over both arms' bets, of which the least is looked for numerically: what one refutes, all do."""
    rest, c, u = 0.5 * (1.0 - EQUAL), TOGETHER_UNEQUAL, UNEQUAL
    priors = [
        (share, np.diag(by) @ np.array([[1.0, agree], [agree, 1.0]]) @ np.diag(by) / NORMAL_WEIGHT)
        for share, agree, by in ((EQUAL, TOGETHER, [1.0, 1.0]), (rest, c, [u, 1.0 / u]), (rest, c, [1.0 / u, u]))
    ]
    assert sum(share for share, _ in priors) == pytest.approx(1.0)
    for best, (pulls, threshold) in enumerate((((900.0, 900.0), 5.0), ((900.0, 5000.0), 9.0), ((9000.0, 700.0), 12.0))):
        N = np.diag(pulls)
        apart = normal_apart(*pulls, threshold)

        def log_mixture(of_i: float, share: float, prior: Floats, N: Floats = N, apart: float = apart) -> float:
            s = N @ np.array([of_i, apart - of_i])
            inner = np.linalg.inv(N + np.linalg.inv(prior))
            odds = np.log(np.linalg.det(np.eye(2) + prior @ N))
            return float(np.log(share) + 0.5 * s @ inner @ s - 0.5 * odds)

        ends, exactly = (-apart, 2.0 * apart), {"xatol": 1e-12}
        least = [
            minimize_scalar(log_mixture, args=each, bounds=ends, method="bounded", options=exactly).fun
            for each in priors
        ]
        assert np.argmax(least) == best
        assert max(least) == pytest.approx(threshold, abs=1e-6)


def test_a_failed_pull_leaves_means_as_they_were_and_drift_takes_nothing_back() -> None:
    known = (Statistic(NORMAL_MEAN, scale=(0.0, 1.0, 1.0, 0.0, 2.0)),)
    values = np.zeros((2, 50, 1))
    values[1] = 1.0
    policy = told(Certified(2, 1, independent=True, threat=Oblivious(0.0), accuracy=0.1, statistics=known), values)
    bound = float(policy.standing.intervals[0, COLUMNS + 1, 0])
    assert bound == pytest.approx(2.0 * normal_apart(50.0, 50.0, policy.differences.rule.thresholds[0, 0]) - 1.0)
    told(policy, np.full((2, 1, 1), np.nan))
    assert policy.standing.intervals[0, COLUMNS + 1, 0] == bound


def test_pulls_that_are_out_count_against_an_arm_that_was_not_told() -> None:
    """What is said of two arms is said of all pulls of both that were started before."""
    values = np.random.default_rng(2).normal(size=(2, 100, 1))
    policy = told(Certified(2, 1, independent=True, threat=Oblivious(0.0), accuracy=0.1), values)
    policy.expect([0] * 30)  # as many as may be anything
    policy.standing.intervals[:, COLUMNS:] = np.inf
    policy._refresh(np.array([1]))
    fails = np.concatenate([values, [[[np.nan]] * 30, [[np.nan]] * 30]], axis=1)
    other = told(Certified(2, 1, independent=True, threat=Oblivious(0.0), accuracy=0.1), fails)
    np.testing.assert_array_equal(policy.differences.levels[:, 0], other.differences.levels[:, 0])
    assert np.isfinite(policy.standing.intervals[0, COLUMNS + 1, 0])


def test_what_was_said_with_a_spread_bound_that_is_false_is_forgotten() -> None:
    values = np.random.default_rng(0).normal(size=(2, 400, 1))
    policy = told(
        Certified(2, 1, independent=True, threat=Oblivious(0.0), accuracy=0.1, spread=Gaussian(0.001)), values
    )
    assert policy.standing.intervals[0, REFUTED, 0] == 1.0
    policy.standing.intervals[:, COLUMNS:] = -9.0  # as if R had said so before
    policy.differences.levels[:] = 9.0
    pulls = policy.standing.arms["pulls"]
    refresh_apart(
        policy.standing.intervals, policy.differences.levels, policy.samples, pulls, np.arange(2), np.arange(2),
        policy.rule, policy.differences.rule,
    )  # fmt: skip
    again = told(Certified(2, 1, independent=True, threat=Oblivious(0.0), accuracy=0.1, spread=None), values)
    assert policy.standing.intervals[0, COLUMNS + 1, 0] >= again.standing.intervals[0, COLUMNS + 1, 0] > -1.0


def largest_products(draw: np.random.Generator, p: float, runs: int, pulls: int) -> tuple[Floats, Floats]:
    """Of two arms with P(ξ = 1) = p: the largest product of evidence for who pulls the weaker, and for who foresees."""
    steps = np.arange(1, pulls + 1)
    evidences = []
    for _ in range(2):
        counts = (draw.random((runs, pulls)) < p).cumsum(axis=1)
        table = np.array([log_mixtures(n, np.arange(pulls + 1), p) for n in steps])
        found = np.logaddexp(math.log1p(-math.exp(LOWEST)) + table[steps - 1, counts], LOWEST)
        evidences.append(np.concatenate([np.zeros((runs, 1)), found], axis=1))
    one, two = evidences
    at, rows, live = np.zeros((2, runs), np.int64), np.arange(runs), np.zeros(runs)
    for _ in range(2 * pulls):
        weaker = np.where(one[rows, at[0]] <= two[rows, at[1]], 0, 1)
        weaker = np.where(at[weaker, rows] == pulls, 1 - weaker, weaker)
        at[weaker, rows] += 1
        live = np.maximum(live, one[rows, at[0]] + two[rows, at[1]])
    return live, one.max(axis=1) + two.max(axis=1)


def test_who_foresees_needs_the_larger_threshold_and_nobody_more() -> None:
    """The law at which bounds are tightest: arms whose every count is as rare as may be."""
    draw, delta, runs = np.random.default_rng(5), 0.1, 4000
    for p in (0.5, 0.9):
        live, foreseen = largest_products(draw, p, runs, 250)
        slack = 3.1 * math.sqrt(delta * (1.0 - delta) / runs)
        assert (live >= -math.log(delta)).mean() <= delta + slack
        assert (foreseen >= -math.log(delta)).mean() > delta + slack  # the plain one is false then
        assert (foreseen >= lasting_threshold(delta)).mean() <= delta + slack


@pytest.mark.parametrize("threat", [Oblivious(0.1), Prescient(0.1), Malicious(0.1), Share(0.1), Prescient(0.0)])
def test_the_larger_threshold_is_taken_wherever_replacements_may_give_the_future_away(threat: Threat) -> None:
    policy = Certified(4, 2, independent=True, threat=threat, accuracy=0.1, delta=0.1)
    lasting = threat.eps > 0.0 and not isinstance(threat, Oblivious)
    for found, needed, each in (
        (policy.differences.rule.thresholds[0], policy.differences.rule.levels[0], 0.1 * PAIRS / (4 * 3 * 2)),
        (policy.differences.rule.thresholds[1], policy.differences.rule.levels[1], 0.1 * RIVALS / (4 * 2)),
    ):
        wanted = lasting_threshold(each) if lasting else -math.log(each)
        assert found.tolist() == pytest.approx([wanted, wanted], abs=1e-8)
        assert wanted <= 2.0 * LOWEST + 0.25 * needed < wanted + 0.2501
    assert policy.differences.rule.lasting.tolist() == [lasting]
    assert len(policy.differences.rule.evidence) == policy.differences.rule.levels.max()


def test_boxes_pairs_and_rivals_share_delta() -> None:
    normal, median, clean = Statistic(NORMAL_MEAN), Statistic(), Prescient(0.0)
    for counted, wanted in (
        ([median], (PAIRS, RIVALS)),
        ([normal, median], (PAIRS, RIVALS)),
        ([normal, Statistic(EXACT)], (NORMAL_PAIRS, NORMAL_RIVALS)),
    ):
        assert shares_of(counted, clean, Compared(3, 1)) == wanted
        # Where rivals say no more than pairs, or nothing may be said of them, pairs have what they would have.
        alone = [shares_of(counted, clean, Compared(2, 1)), shares_of(counted, clean, Compared(3, 1), rivals=False)]
        alone.append(shares_of(counted, clean, Compared(3, 1, baseline=0)))  # which nobody but the baseline rivals
        assert alone == 3 * [(sum(wanted), 0.0)]
    known = (Statistic(NORMAL_MEAN, scale=(0.0, 1.0, 1.0, 0.0, 2.0)),)
    policy = Certified(5, 1, independent=True, threat=Oblivious(0.0), accuracy=0.0, delta=0.1, statistics=known)
    wanted_T = [-math.log(2.0 * 0.1 * NORMAL_PAIRS / 20), -math.log(0.1 * NORMAL_RIVALS / 5)]
    assert policy.differences.rule.thresholds[:, 0].tolist() == pytest.approx(wanted_T, abs=1e-8)
    delta = 0.1 * (1.0 - NORMAL_PAIRS - NORMAL_RIVALS)
    intervals = Certified(5, 1, threat=Oblivious(0.0), accuracy=0.0, delta=delta, statistics=known, baseline=0)
    np.testing.assert_array_equal(policy.rule.thresholds, intervals.rule.thresholds)


def test_only_whether_an_arm_is_in_rests_on_rivals() -> None:
    """Bounds that hold if one arm is the best rival of another are no bounds of their difference."""
    values = np.random.default_rng(1).normal(size=(3, 400, 1)) + np.array([0.0, 0.0, -3.0])[:, None, None]
    policy = told(Certified(3, 1, independent=True, threat=Oblivious(0.0), accuracy=0.01), values)
    before = policy.copy()
    before._judge()
    assert before.verdict_codes.tolist() == [Verdict.UNDECIDED, Verdict.UNDECIDED, Verdict.BEATEN]
    policy.standing.intervals[:, COLUMNS + 3 :] = -1.0  # as if every arm were certainly better than every other
    policy._judge()
    assert policy.verdict_codes.tolist() == [Verdict.KEEP, Verdict.KEEP, Verdict.BEATEN]
    found, alone = policy.result(), before.result()
    assert found.pairs is not None and alone.pairs is not None  # noqa: PT018
    np.testing.assert_array_equal(found.pairs, alone.pairs)
    np.testing.assert_array_equal(found.lower, alone.lower)


def test_rivals_do_not_count_where_the_best_one_was_not_fixed_beforehand() -> None:
    values = np.random.default_rng(1).normal(size=(3, 400, 1))
    clean = {"threat": Oblivious(0.0), "accuracy": 0.01}
    policy = told(Certified(3, 1, independent=True, **clean), values)  # type: ignore[arg-type]
    assert np.isfinite(policy.standing.intervals[0, COLUMNS + 3 + 1, 0])
    policy.exclude([2])  # of the others, the best rival of an arm may be another one
    assert np.isinf(policy.standing.intervals[:, COLUMNS + 3 :]).all()
    told(policy, values[:, :10])
    assert np.isinf(policy.standing.intervals[:, COLUMNS + 3 :]).all()
    assert np.isfinite(policy.standing.intervals[0, COLUMNS + 1, 0])

    late = told(Certified(3, 1, independent=True, **clean, foreseen=False), values)  # type: ignore[arg-type]
    assert late.standing.intervals.shape[1] == COLUMNS + 3
    np.testing.assert_array_equal(late.rule.thresholds, policy.rule.thresholds)  # nothing is gained by giving it up
    assert late.differences.rule.thresholds[0, 0] == policy.differences.rule.thresholds[0, 0]

    limits = LimitRule(np.array([0]), np.array([-9.0]), np.array([-9.0]))
    limited = Certified(3, 1, independent=True, **clean, limits=limits)  # type: ignore[arg-type]
    assert limited.standing.intervals.shape[1] == COLUMNS + 3
    assert limited.differences.rule.thresholds[0, 0] < policy.differences.rule.thresholds[0, 0]


def test_what_cannot_be_compared_is_refused(snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        Certified(301, 1, independent=True, threat=Oblivious(0.0), accuracy=0.1)
    for kind in (BOUNDED_MEAN, EXACT):
        with refused(ValueError, snapshot):
            Certified(2, 1, independent=True, threat=Oblivious(0.0), accuracy=0.1, statistics=[Statistic(kind)])
