"""Bets against means: against scipy's root of the sum as it is written, and against the truth of simulated samples."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import binom
from syrupy.assertion import SnapshotAssertion

from frontguard import Malicious, Objective, Oblivious, Prescient, Share
from frontguard.errors import BadInput
from frontguard.evidence.bets import (
    BETS,
    LOG_WEIGHTS,
    THETAS,
    WORST,
    add_bets,
    unrefuted_mean,
    weights_for,
)
from frontguard.evidence.confidence_sequences import threshold_of
from frontguard.evidence.intervals import HIGH, LOW, REFUTED, first_bounded, interval_rule, refresh, unknown_intervals
from frontguard.evidence.kinds import IntervalRule
from frontguard.evidence.means import (
    KNOTS,
    MOST_ATOMS,
    find_atoms,
    highest_means,
    highest_rate,
    lasting_means,
    mean_and_error,
)
from frontguard.evidence.normals import normal_reach
from frontguard.evidence.samples import Samples, absorb, empty_pool, empty_table, in_order
from frontguard.evidence.statistics import BOUNDED_MEAN, NORMAL_MEAN, statistics_of
from frontguard.objectives import inward_matrix
from tests.support.bets import sums_of_bets, upper_mean, upper_mean_at
from tests.support.snapshots import refused

RATE = Objective("solved", "maximize", statistic="mean", bounds=(0, 1))


def naive_wealth(xi: Any, c: float) -> float:
    """log W_n(c), as it is written."""
    return float(
        logsumexp([w + np.log((1 - t * xi) / (1 - t * c)).sum() for t, w in zip(THETAS, LOG_WEIGHTS, strict=True)])
    )


def sample_of(values: Any) -> Samples:
    table, pool = empty_table(1), empty_pool(1)
    pool = absorb(pool, table, np.zeros(len(values), np.int64), np.asarray(values, np.float64)[:, None], True)
    return Samples(pool, np.empty(0), table)


def test_weights_are_shares_and_bets_are_below_one() -> None:
    assert math.isclose(np.exp(LOG_WEIGHTS).sum(), 1.0, rel_tol=1e-12)
    assert ((THETAS > 0) & (THETAS < 1)).all()
    np.testing.assert_allclose(WORST, sums_of_bets(np.ones(1)))


@pytest.mark.parametrize("n", [1, 7, 30, 1000])
@pytest.mark.parametrize("law", ["zeros", "ones", "coins", "beta", "narrow"])
def test_the_largest_mean_that_is_not_refuted(law: str, n: int) -> None:
    draw = np.random.default_rng(n)
    xi = {
        "zeros": np.zeros(n),
        "ones": np.ones(n),
        "coins": (draw.random(n) < 0.7).astype(float),
        "beta": draw.beta(2, 5, n),
        "narrow": draw.beta(200, 300, n),
    }[law]
    delta = 0.003

    def over(c: float) -> float:
        return naive_wealth(xi, c) + math.log(delta)

    wanted = 1.0 if over(1.0) <= 0 else float(brentq(over, 0.0, 1.0, xtol=1e-14))
    found = upper_mean(xi, delta)
    assert wanted <= found <= wanted + 1e-9


def test_capital_does_not_rise_in_any_value() -> None:
    draw = np.random.default_rng(3)
    xi = draw.random(50)
    for _ in range(50):
        more = xi.copy()
        more[draw.integers(50)] = 1.0
        assert naive_wealth(more, 0.8) <= naive_wealth(xi, 0.8) + 1e-12
        assert upper_mean(more, 0.01) >= upper_mean(xi, 0.01) - 1e-12


def beside(values: Any, own: int) -> Samples:
    """The same values, of which those after the first `own` lie beside the pool."""
    samples = sample_of(values[:own])
    samples.columns["window"][0], samples.columns["window_start"][0] = len(values) - own, 0
    samples.columns["count"][0] = len(values)
    return Samples(samples.pool, np.sort(values[own:]), samples.columns)


def atoms_of(values: Any) -> tuple[Any, Any]:
    atoms, weights = np.empty(MOST_ATOMS), np.empty(MOST_ATOMS)
    found = find_atoms(values, 0, len(values), atoms, weights)
    return atoms[:found], weights[:found]


def test_columns_are_read_in_order_wherever_their_values_lie() -> None:
    draw = np.random.default_rng(5)
    values = np.concatenate([draw.random(70), np.full(33, 0.25), np.zeros(5), np.ones(9)])
    for samples in (sample_of(values), beside(values, 60), beside(values, 0)):
        array, first = in_order(samples, samples.columns[0])
        assert np.array_equal(array[first : first + len(values)], np.sort(values))


@pytest.mark.parametrize("from_above", [False, True])
def test_sums_of_values_with_runs(from_above: bool) -> None:
    draw = np.random.default_rng(5)
    values = np.sort(np.concatenate([draw.random(70), np.full(33, 0.25), np.zeros(5), np.ones(9), np.full(2, 0.5)]))
    atoms, weights = atoms_of(values)
    assert np.array_equal(atoms, np.unique(values))
    assert weights.sum() == len(values)
    sums = np.zeros(BETS)
    add_bets(sums, atoms, weights, len(atoms), from_above)
    np.testing.assert_allclose(sums, sums_of_bets(1 - values if from_above else values), rtol=1e-12)


@pytest.mark.parametrize("law", ["beta", "narrow", "with outliers", "rare"])
def test_many_values_are_spread_over_knots_and_bounds_stay_bounds(law: str) -> None:
    """Same number, same mean; the bound is never below that of the values themselves, and hardly above it."""
    draw, n = np.random.default_rng(6), 20_000
    values = {
        "beta": draw.beta(2, 5, n),
        "narrow": 0.4 + 0.001 * draw.random(n),
        "with outliers": np.where(np.arange(n) < 5, draw.random(n), 0.4 + 0.01 * draw.random(n)),
        "rare": np.where(draw.random(n) < 0.01, 1.0 - 0.1 * draw.random(n), 0.001 * draw.random(n)),
    }[law]
    atoms, weights = atoms_of(np.sort(values))
    assert len(atoms) == KNOTS
    assert math.isclose(weights.sum(), n, rel_tol=1e-12)
    assert math.isclose(weights @ atoms, values.sum(), rel_tol=1e-12)
    samples = sample_of(values)
    lacking, most = highest_means(samples, samples.columns[0], n, 0, threshold_of(0.001), float(n))
    for found, xi in ((lacking, 1 - values), (most, values)):
        exact, mean = upper_mean(xi, 0.001), xi.mean()
        assert exact <= found <= mean + 1.02 * (exact - mean)


def test_failed_and_taken_values_count_as_the_worst() -> None:
    values = np.sort(np.random.default_rng(7).random(40))
    samples = sample_of(values)
    # Of 45 pulls five failed, and three more may be anything.
    lacking, high = highest_means(samples, samples.columns[0], 45, 3, 5.0, 45.0)
    assert math.isclose(
        high, unrefuted_mean(sums_of_bets(np.r_[values[3:], np.ones(8)]), 45.0, 5.0, LOG_WEIGHTS.copy()), rel_tol=1e-9
    )
    assert math.isclose(
        lacking,
        unrefuted_mean(sums_of_bets(np.r_[1 - values[:-3], np.ones(8)]), 45.0, 5.0, LOG_WEIGHTS.copy()),
        rel_tol=1e-9,
    )
    last = lasting_means(samples, samples.columns[0], 45, 3)
    assert last == pytest.approx([(np.sum(1 - values[:-3]) + 8) / 45, (np.sum(values[3:]) + 8) / 45])
    mean, error = mean_and_error(samples, samples.columns[0])
    assert (mean, error) == pytest.approx([values.mean(), values.std() / math.sqrt(40)])


def exact_log_wealth(counts: list[tuple[float, int]], c: float) -> Any:
    """log W_n(c) to fifty digits, of values with their counts."""
    import mpmath

    with mpmath.workdps(50):
        terms = []
        for theta, weight in zip(THETAS.tolist(), LOG_WEIGHTS.tolist(), strict=True):
            values = sum(k * mpmath.log1p(-mpmath.mpf(theta) * mpmath.mpf(x)) for x, k in counts)
            bets = sum(k for _, k in counts) * mpmath.log1p(-mpmath.mpf(theta) * mpmath.mpf(c))
            terms.append(mpmath.mpf(weight) + values - bets)
        return max(terms) + mpmath.log(sum(mpmath.exp(term - max(terms)) for term in terms))


@pytest.mark.parametrize("n", [1, 2, 30, 10**4, 10**6, 10**9])
def test_rounding_never_takes_a_bound_below_the_root(n: int) -> None:
    """Held against fifty digits: what is returned is refuted, and what is a little smaller is not."""
    for delta in (0.3, 1e-3, 1e-12):
        for share in (0.0, 1e-6, 0.02, 0.5, 0.999, 1.0):
            ones = round(share * n)
            for counts in ([(0.0, n - ones), (1.0, ones)], [(share, n)], [(0.37, n - ones), (1.0, ones)]):
                sums = sum(k * np.log1p(-THETAS * x) for x, k in counts)
                found = unrefuted_mean(sums, float(n), threshold_of(delta), LOG_WEIGHTS.copy())
                assert found == 1.0 or exact_log_wealth(counts, found) >= -math.log(delta)
                assert exact_log_wealth(counts, found - 1e-9) < -math.log(delta) + 1e-9


# Intervals ------------------------------------------------------------------------------------------------------------


@cache
def rule_of(objective: Objective, threat: Any, delta: float) -> IntervalRule:
    """Which intervals only read."""
    return interval_rule(threat, arms=1, objectives=1, delta=delta, statistics=statistics_of([objective]))


def intervals_of(
    objective: Objective, values: Any, threat: Any, *, pulls: int | None = None, delta: float = 0.05
) -> Any:
    rule = rule_of(objective, threat, delta)
    intervals = unknown_intervals(1, 1)
    observed = inward_matrix([objective], np.asarray(values, float)[:, None])[:, 0]
    refresh(intervals, 0, sample_of(observed), len(values) if pulls is None else pulls, rule)
    return intervals[0, :, 0]


@pytest.mark.parametrize(
    ("threat", "undone"),
    [
        (Prescient(0.1), lambda c: c / 0.9),
        (Oblivious(0.1), lambda c: c / 0.9),
        (Malicious(0.1), lambda c: c + 0.1),
        (Prescient(0.0), lambda c: c),
    ],
)
def test_a_box_is_what_the_threat_model_undoes(threat: Any, undone: Any) -> None:
    values = (np.arange(200) % 3 > 0).astype(float)
    interval = intervals_of(RATE, values, threat)
    assert math.isclose(interval[HIGH], min(1.0, undone(upper_mean(values, 0.025))), rel_tol=1e-8)
    assert math.isclose(interval[LOW], 1.0 - min(1.0, undone(upper_mean(1 - values, 0.025))), rel_tol=1e-8)


def test_any_share_takes_the_values_that_hurt_most() -> None:
    values = np.linspace(0.0, 1.0, 100)
    interval = intervals_of(RATE, values, Share(0.1))
    assert math.isclose(interval[HIGH], upper_mean(np.r_[values[10:], np.ones(10)], 0.025), rel_tol=1e-8)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("tolerance", [0.1, "5%"])
def test_bounds_directions_and_percentages(direction: Any, tolerance: Any) -> None:
    stars = 1.0 + 4.0 * np.random.default_rng(1).beta(4, 2, 300)
    objective = Objective("stars", direction, tolerance, statistic="mean", bounds=(1, 5))
    interval = intervals_of(objective, stars, Prescient(0.0))
    low, high = objective.outward_interval(interval[LOW], interval[HIGH])
    y = (stars - 1) / 4
    np.testing.assert_allclose(high, 1 + 4 * upper_mean(y, 0.025), rtol=1e-8)
    np.testing.assert_allclose(low, 5 - 4 * upper_mean(1 - y, 0.025), rtol=1e-8)


def test_before_the_first_informative_pull_a_box_is_what_the_bounds_allow() -> None:
    rule = interval_rule(Prescient(0.1), arms=8, objectives=1, delta=0.1, statistics=statistics_of([RATE]))
    first = first_bounded(rule)[0]
    assert first is not None
    for n, told in ((first - 1, False), (first, True)):
        intervals = unknown_intervals(1, 1)
        refresh(intervals, 0, sample_of(np.zeros(n)), n, rule)
        assert bool(intervals[0, HIGH, 0] < 1.0) is told
        assert intervals[0, LOW, 0] == 0.0


def test_an_exact_value_is_its_own_box_and_a_second_one_refutes_it() -> None:
    size = Objective("bytes", "minimize", exact=True)
    interval = intervals_of(size, [120.0, 120.0], Prescient(0.1), pulls=9)
    assert interval[LOW] == interval[HIGH] == -120.0
    interval = intervals_of(size, [120.0, 121.0], Prescient(0.1))
    assert (interval[LOW], interval[HIGH], interval[REFUTED]) == (-math.inf, math.inf, 2.0)


def test_exact_objectives_take_no_share_of_delta() -> None:
    size = Objective("bytes", "minimize", exact=True)
    alone = interval_rule(Prescient(0.1), arms=3, objectives=1, delta=0.1, statistics=statistics_of([RATE]))
    both = interval_rule(Prescient(0.1), arms=3, objectives=2, delta=0.1, statistics=statistics_of([RATE, size]))
    assert alone.thresholds[0] == both.thresholds[0]


def test_a_known_deviation_needs_clean_measurements_and_all_of_them(snapshot: SnapshotAssertion) -> None:
    seconds = Objective("seconds", "minimize", statistic="mean", sigma=2.0)
    assert [each.kind for each in statistics_of([seconds, RATE])] == [NORMAL_MEAN, BOUNDED_MEAN]
    with refused(BadInput, snapshot):
        intervals_of(seconds, [1.0, 2.0], Prescient(0.1))
    values = np.random.default_rng(2).normal(5.0, 2.0, 100)
    interval = intervals_of(seconds, values, Prescient(0.0))
    reach = 2.0 * math.sqrt(110 * (2 * math.log(1 / 0.05) + math.log(11))) / 100
    np.testing.assert_allclose(
        [-interval[HIGH], -interval[LOW]], [values.mean() - reach, values.mean() + reach], rtol=1e-8
    )
    interval = intervals_of(seconds, values, Prescient(0.0), pulls=101)
    assert (interval[LOW], interval[HIGH]) == (-math.inf, math.inf)


@pytest.mark.parametrize("sigma", [0.5, 3.0])
def test_normal_means_stay_within_reach_at_every_number_of_pulls(sigma: float) -> None:
    draw, runs, length = np.random.default_rng(11), 2000, 1000
    sums = np.cumsum(draw.normal(0.0, sigma, (runs, length)), axis=1)
    n = np.arange(1, length + 1)
    reach = np.array([normal_reach(float(k), sigma, math.log(1 / 0.1)) for k in n])
    missed = (np.abs(sums / n) > reach).any(axis=1).mean()
    assert 0.01 < missed <= 0.1  # it may be missed in a tenth of the runs, and the boundary is not idle


@pytest.mark.parametrize("law", ["coins", "rare", "beta", "stars"])
@pytest.mark.parametrize("threat", [Prescient(0.0), Prescient(0.15), Malicious(0.15), Share(0.15)], ids=repr)
def test_means_lie_in_their_boxes_at_every_look(law: str, threat: Any) -> None:
    """An attacker that knows the values makes all it replaces worst; each side may miss in δ/2 of the runs."""
    draw, runs, delta = np.random.default_rng(13), 100, 0.2
    looks = np.unique(np.geomspace(5, 600, 25).astype(int))
    objective = Objective("y", "maximize", statistic="mean", bounds=(0, 1))
    mean = {"coins": 0.6, "rare": 0.03, "beta": 0.25, "stars": 0.55}[law]
    missed = 0
    for _ in range(runs):
        y = {
            "coins": lambda: (draw.random(600) < 0.6).astype(float),
            "rare": lambda: (draw.random(600) < 0.03).astype(float),
            "beta": lambda: draw.beta(2, 6, 600),
            "stars": lambda: draw.choice([0.0, 0.25, 0.5, 0.75, 1.0], 600, p=[0.1, 0.2, 0.25, 0.3, 0.15]),
        }[law]()
        seen = attacked(y, threat, draw)
        missed += any(
            not (interval[LOW] <= mean <= interval[HIGH])
            for interval in (intervals_of(objective, seen[:n], threat, delta=delta) for n in looks)
        )
    assert missed <= delta * runs + 3 * math.sqrt(delta * (1 - delta) * runs)


def attacked(y: Any, threat: Any, draw: Any) -> Any:
    """Values of which those that are hit become 0; a malicious attacker hits what is large."""
    seen = y.copy()
    if isinstance(threat, Share):
        left = 0
        for i in range(len(y)):  # never more than a share of the first n, and as early as it may
            if int(threat.eps * (i + 1)) > left and y[i] > 0:
                seen[i], left = 0.0, left + 1
        return seen
    hits = draw.random(len(y)) < threat.eps
    if isinstance(threat, Malicious):  # with the same probability, but where it hurts
        order = np.argsort(-y + 1e-9 * draw.random(len(y)))
        hits = np.zeros(len(y), bool)
        hits[order[: draw.binomial(len(y), threat.eps)]] = True
    seen[hits] = 0.0
    return seen


# One look -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ones", "of"), [(0, 1), (0, 30), (3, 30), (15, 30), (29, 30), (30, 30), (700, 1000)])
@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-10])
def test_the_highest_rate_is_that_of_clopper_and_pearson(ones: int, of: int, delta: float) -> None:
    found = float(highest_rate(np.array([float(ones)]), np.array([float(of)]), delta)[0])
    if ones == of:
        assert found == 1.0
    else:
        assert binom.cdf(ones, of, found) <= delta
        assert binom.cdf(ones, of, found - 2e-9) >= delta * (1.0 - 1e-5)


def test_weights_for_one_look_are_those_of_all_without_the_useless() -> None:
    for count in (1.0, 30.0, 1e3, 1e6):
        weights = np.exp(weights_for(count, 7.0, True))
        assert weights.sum() == pytest.approx(1.0)
        kept = weights > 0.0
        assert kept[THETAS >= 0.5].all()
        np.testing.assert_allclose(weights[kept] / weights[-1], np.exp(LOG_WEIGHTS[kept] - LOG_WEIGHTS[-1]))
        assert THETAS[~kept].max(initial=0.0) < np.sqrt(14.0 / count)  # half of what coins would want
    np.testing.assert_array_equal(weights_for(30.0, 7.0, False), LOG_WEIGHTS)


@pytest.mark.parametrize("n", [1, 10, 100, 1000])
def test_one_look_is_narrower_for_rates_and_hardly_ever_wider(n: int) -> None:
    rng = np.random.default_rng(n)
    for law, most in (((rng.random(n) < 0.3).astype(float), 0.92), (rng.beta(2, 8, n), 1.02)):
        anytime = [upper_mean(xi, 0.001) for xi in (law, 1.0 - law)]
        once = [upper_mean_at(xi, 0.001) for xi in (law, 1.0 - law)]
        assert sum(once) - 1.0 <= (most if n >= 100 else 1.02) * (sum(anytime) - 1.0)
