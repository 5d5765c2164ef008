"""Intervals of logs: the order statistics that the theory names, in the user's directions and units."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from frontguard import Malicious, Oblivious, Prescient, Share, Threat
from frontguard.errors import BadInput
from frontguard.evidence.confidence_sequences import anytime_rank
from frontguard.evidence.intervals import DOUBT_HIGH, DOUBT_LOW, ESTIMATE
from frontguard.evidence.readers import IntervalReader
from frontguard.logs.answer import mean_front, means
from frontguard.objectives import Objective
from frontguard.policies import Certified
from tests.logs.simulated import ordered_log, random_samples
from tests.support.snapshots import refused

Floats = npt.NDArray[np.float64]

OBJECTIVES = (
    Objective("m0", "maximize"),
    Objective("m1", "minimize"),
    Objective("m2", "maximize", "5%", quantile=0.3),
    Objective("m3", "minimize", "5%", quantile=0.9),
)


def naive_interval(
    column: Floats, objective: Objective, threat: Threat, share: float, anytime: bool
) -> tuple[float, float]:
    """Sort the inner values with failed ones at either end, and read them at binomial ranks."""
    failed = ~np.isfinite(column) | ((column <= 0.0) & objective.relative)
    inner = objective.inward(np.where(failed, 1.0, column))
    n, p = len(column), objective.inner_quantile

    def rank(keep: float) -> int:
        if keep <= 0.0:
            return 0
        if anytime:
            return int(anytime_rank(n, keep, share))
        return max(k for k in range(n + 1) if k == 0 or stats.binom.cdf(k - 1, n, keep) <= share)

    taken = math.floor(Fraction(str(threat.eps)) * n) if isinstance(threat, Share) else 0
    low, high = (max(0, rank(threat.keep(level)) - taken) for level in (p, 1.0 - p))
    from_below = np.sort(np.where(failed, -np.inf, inner))
    from_above = np.sort(np.where(failed, np.inf, inner))[::-1]
    return from_below[low - 1] if low else -np.inf, from_above[high - 1] if high else np.inf


@pytest.mark.parametrize("anytime", [False, True])
@pytest.mark.parametrize("threat", [Oblivious(0.0), Prescient(0.1), Malicious(0.2), Share(0.1), Share(0.29)], ids=str)
def test_boxes_are_the_order_statistics_of_the_theory(threat: Threat, anytime: bool) -> None:
    samples = random_samples(8, 4, np.random.default_rng(1), rows=(1, 160))
    samples[3][:, 2] = -1.0  # of which there is no logarithm: all failed
    log = ordered_log(samples, [objective.relative for objective in OBJECTIVES])
    intervals = IntervalReader(log, OBJECTIVES, 0.1, anytime=anytime).read(threat)
    share = 0.1 / (2 * 4 * 8)
    for i, sample in enumerate(samples):
        for d, objective in enumerate(OBJECTIVES):
            expected = naive_interval(sample[:, d], objective, threat, share, anytime)
            assert (intervals.lower[i, d], intervals.upper[i, d]) == expected
    assert np.isfinite(intervals.lower).any()
    assert np.isinf(intervals.lower[3, 2])


def test_estimates_and_their_doubt_are_those_of_the_certified_policy() -> None:
    samples = random_samples(8, 4, np.random.default_rng(2), rows=(20, 90))
    policy = Certified.for_objectives(8, OBJECTIVES, threat=Prescient(0.1))
    for arm, sample in enumerate(samples):
        inner = np.stack([o.inward(sample[:, d]) for d, o in enumerate(OBJECTIVES)], axis=1)
        policy.expect([arm] * len(sample))
        policy.take([arm] * len(sample), inner)
    policy.decide()
    intervals = IntervalReader(ordered_log(samples), OBJECTIVES, 0.1).read(Prescient(0.1))
    read = {ESTIMATE: intervals.estimates, DOUBT_LOW: intervals.doubt_low, DOUBT_HIGH: intervals.doubt_high}
    for column, ours in read.items():
        np.testing.assert_array_equal(ours, policy.standing.intervals[:, column])


def test_an_arm_whose_values_all_failed_is_unknown() -> None:
    samples = [np.full((50, 1), np.nan), np.arange(50.0)[:, None]]
    intervals = IntervalReader(ordered_log(samples), [Objective("m0", "maximize")], 0.1).read(Prescient(0.0))
    assert intervals.lower[0, 0] == intervals.estimates[0, 0] == intervals.doubt_low[0, 0] == -np.inf
    assert intervals.upper[0, 0] == np.inf
    assert np.isfinite(intervals.upper[1, 0])


def test_boxes_widen_with_contamination() -> None:
    log = ordered_log(random_samples(20, 4, np.random.default_rng(3), rows=(50, 300)))
    reader = IntervalReader(log, OBJECTIVES, 0.05)
    for threat in (Prescient(0.0), Malicious(0.0)):
        before = reader.read(threat)
        for eps in np.linspace(0.01, 0.49, 30):
            intervals = reader.read(replace(threat, eps=float(eps)))
            assert (intervals.lower <= before.lower).all()
            assert (intervals.upper >= before.upper).all()
            before = intervals
    assert np.isinf(before.lower).any()  # keep(0.1) is nothing then


def test_a_reader_of_some_arms_reads_what_the_whole_has() -> None:
    log = ordered_log(random_samples(30, 4, np.random.default_rng(4), rows=(30, 200)))
    some = np.array([0, 3, 4, 17, 29])
    whole, part = (IntervalReader(log, OBJECTIVES, 0.05, among=among).read(Prescient(0.05)) for among in (None, some))
    for name, array in vars(part).items():
        np.testing.assert_array_equal(array, vars(whole.of(some))[name])


def test_what_is_foreseen_is_what_the_same_sample_again_and_again_would_give() -> None:
    rng = np.random.default_rng(5)
    samples = [rng.normal(size=(80, 2)) for _ in range(6)]
    objectives = [Objective("m0", "maximize"), Objective("m1", "minimize", quantile=0.4)]
    again = ordered_log([np.tile(sample, (5, 1)) for sample in samples])
    now, then = IntervalReader(ordered_log(samples), objectives, 0.05), IntervalReader(again, objectives, 0.05)
    threat = Prescient(0.1)
    foreseen, measured, present = now.foresee(threat, 400), then.read(threat), now.read(threat)
    # Ranks that are not whole are rounded to the wider side, which is one order statistic of the small sample at most.
    assert (foreseen.lower <= measured.lower).all()
    assert (foreseen.upper >= measured.upper).all()
    assert (foreseen.lower >= present.lower).all()
    assert (foreseen.upper <= present.upper).all()
    assert (foreseen.upper - foreseen.lower < 0.8 * (present.upper - present.lower)).mean() > 0.9
    same = now.foresee(threat, 80)
    for name, array in vars(present).items():
        np.testing.assert_array_equal(array, vars(same)[name])


def test_boxes_hold_as_often_as_promised() -> None:
    """All intervals of a log at once, with an attacker that pulls everything to one side."""
    rng = np.random.default_rng(6)
    missed, logs, eps = 0, 300, 0.1
    for _ in range(logs):
        samples = [rng.exponential(size=(200, 2)) for _ in range(5)]
        for sample in samples:
            hit = rng.random(sample.shape) < eps
            sample[hit] = 1e6
        objectives = [Objective("m0", "maximize"), Objective("m1", "minimize")]
        intervals = IntervalReader(ordered_log(samples), objectives, 0.2).read(Prescient(eps))
        truth = np.log(2.0) * np.array([1.0, -1.0])
        missed += bool(((intervals.lower > truth) | (intervals.upper < truth)).any())
    assert stats.binomtest(missed, logs, 0.2, alternative="greater").pvalue > 1e-3
    assert missed > 0  # or the intervals are wider than they have to be: half of the sides are under attack


def test_means_leave_failed_values_out() -> None:
    samples = random_samples(40, 2, np.random.default_rng(7), rows=(1, 30))
    samples[5][:] = np.nan
    objectives = [Objective("m1", "minimize"), Objective("m0", "maximize")]
    log = ordered_log(samples)
    found = means(log, objectives)
    front = mean_front(found, objectives)
    assert np.isnan(found[5]).all()
    assert not front[5]
    for i, sample in enumerate(samples):
        if np.isfinite(sample).any(axis=0).all():
            np.testing.assert_allclose(found[i], np.nanmean(sample, axis=0)[::-1], rtol=1e-12)
    inner = found * [-1.0, 1.0]
    naive = [
        bool(np.isfinite(p).all()) and not any((q >= p).all() and (q > p).any() for q in inner if np.isfinite(q).all())
        for p in inner
    ]
    assert front.tolist() == naive


def test_an_objective_that_the_log_lacks_is_refused(snapshot: SnapshotAssertion) -> None:
    log = ordered_log([np.ones((3, 2))])
    with refused(BadInput, snapshot):
        IntervalReader(log, [Objective("speed", "maximize")], 0.1).read(Prescient(0.1))
    with refused(BadInput, snapshot):
        IntervalReader(log, [Objective("m0", "maximize")], 0.1).read(0.1)  # type: ignore[arg-type]


def attacked_by_a_share(sample: Floats, eps: float, up: bool) -> Floats:
    """⌊εn⌋ of the values at or below the median 0, whichever, sent far above; or the other way round."""
    worth = np.flatnonzero(sample <= 0.0 if up else sample >= 0.0)[: math.floor(eps * len(sample) + 1e-9)]
    attacked = sample.copy()
    attacked[worth] = 1e9 if up else -1e9
    return attacked


@pytest.mark.parametrize("anytime", [False, True])
def test_intervals_for_a_probability_fail_where_any_share_is_wrong_and_those_for_a_share_hold(anytime: bool) -> None:
    """150 logs, δ = 0.05, ε = 0.4, by somebody who sees all rows before choosing which to replace, and which way."""
    rng = np.random.default_rng(3)
    logs, delta, eps = 150, 0.05, 0.4
    sizes = (30, 60, 120, 250, 500, 1000) if anytime else (1000,)
    missed = {Malicious: 0, Share: 0}
    for _ in range(logs):
        sample = rng.normal(size=1000)
        wrong: set[type[Threat]] = set()
        for n in sizes:
            for up in (True, False):
                log = ordered_log([attacked_by_a_share(sample[:n], eps, up)[:, None]])
                reader = IntervalReader(log, OBJECTIVES[:1], delta, anytime=anytime)
                for model in missed:
                    intervals = reader.read(model(eps))
                    if intervals.lower[0, 0] > 0.0 or intervals.upper[0, 0] < 0.0:
                        wrong.add(model)
        for model in wrong:
            missed[model] += 1
    assert stats.binomtest(missed[Malicious], logs, delta, alternative="greater").pvalue < 1e-6
    assert stats.binomtest(missed[Share], logs, delta, alternative="greater").pvalue > 0.01


def test_a_share_is_what_is_foreseen_too() -> None:
    samples = [np.arange(100.0)[:, None], np.arange(50.0)[:, None]]
    reader = IntervalReader(ordered_log(samples), OBJECTIVES[:1], 0.1)
    foreseen = reader.foresee(Share(0.2), 10**9)
    np.testing.assert_allclose(foreseen.lower[:, 0], [28.0, 13.0], atol=1.0)  # ranks 0.3 n: what lasts of a half
    np.testing.assert_allclose(foreseen.upper[:, 0], [70.0, 35.0], atol=1.0)
    now, malicious = reader.read(Share(0.2)), reader.read(Malicious(0.2))
    assert (now.lower <= malicious.lower).all()
    assert (now.upper >= malicious.upper).all()
