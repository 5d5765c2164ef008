"""The spread bounds against true quantiles of the families they are meant for."""

from __future__ import annotations

import csv
import math
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from frontguard.theory.spread import (
    CustomSpread,
    Gaussian,
    LinearAroundMedian,
    SpreadBound,
    Subgaussian,
    Uniform,
    as_spread_bound,
)
from tests.support.snapshots import refusals, refused

Floats = npt.NDArray[np.float64]

LEVELS = np.linspace(0.0, 0.499, 300)
BOUNDS: list[SpreadBound] = [
    Subgaussian(0.7),
    Gaussian(0.7),
    LinearAroundMedian(4.0, 0.3),
    Uniform(1.3),
    CustomSpread(math.sqrt),
    CustomSpread(np.sqrt),
]
positive = st.floats(1e-3, 1e3)


def cubed(t: float) -> float:
    """A bound that pickles."""
    return t * t * t


def true_deviation(distribution: Any, levels: Floats) -> Floats:
    """max(Q(1/2 + t) − m, m − Q(1/2 − t)) of a continuous distribution of scipy's."""
    m = distribution.median()
    deviation = np.maximum(distribution.ppf(0.5 + levels) - m, m - distribution.ppf(0.5 - levels))
    return np.asarray(deviation, dtype=np.float64)


def deviation_of_atoms(values: Floats, weights: Floats, t: float) -> float:
    """Definition 2 for a discrete distribution, with its left and right quantiles and its extreme medians."""
    order = np.argsort(values)
    x, F = values[order], np.cumsum(weights[order])

    def left(p: float) -> float:
        return float(x[np.flatnonzero(p - 1e-12 <= F)[0]])

    def right(p: float) -> float:
        above = np.flatnonzero(p + 1e-12 < F)
        return float(x[above[0]]) if len(above) else float(x[-1])

    medians = left(0.5), right(0.5)
    return max(right(0.5 + t) - medians[0], medians[1] - left(0.5 - t))


# The families against their true quantiles.


@pytest.mark.parametrize("mean", [-3.0, 0.0, 11.0])
def test_gaussian_is_the_exact_deviation_of_normal_rewards(mean: float) -> None:
    np.testing.assert_allclose(
        Gaussian(0.7)(LEVELS), true_deviation(stats.norm(mean, 0.7), LEVELS), rtol=1e-9, atol=1e-12
    )


def test_uniform_is_the_exact_deviation_of_uniform_rewards() -> None:
    np.testing.assert_allclose(
        Uniform(1.3)(LEVELS), true_deviation(stats.uniform(-2.0, 1.3), LEVELS), rtol=1e-9, atol=1e-12
    )


def test_subgaussian_by_hand() -> None:
    # At t = 0 both roots are of log 2; at t = 1/2 − e⁻⁴ the first is √4.
    assert Subgaussian(1.0)(0.0) == pytest.approx(2.3548200450309493, rel=1e-14)
    at = Subgaussian(3.0)(0.5 - math.exp(-4.0))
    assert at == pytest.approx(3.0 * (2.0 * math.sqrt(2.0) + 1.1774100225154747), rel=1e-12)


def test_subgaussian_covers_normal_rewards_but_is_not_vacuous() -> None:
    bound, truth = Subgaussian(1.0)(LEVELS), Gaussian(1.0)(LEVELS)
    assert (bound > truth).all()
    assert bound[-1] < 1.6 * truth[-1]


@pytest.mark.parametrize("p", [0.02, 0.2, 0.35, 0.49, 0.5, 0.51, 0.8, 0.99])
def test_subgaussian_covers_bernoulli_rewards(p: float) -> None:
    """The optimal σ² of a Bernoulli (Kearns and Saul): (1 − 2p) / (2 log((1−p)/p)), 1/4 at p = 1/2."""
    variance = 0.25 if p == 0.5 else (1.0 - 2.0 * p) / (2.0 * math.log((1.0 - p) / p))
    bound = Subgaussian(math.sqrt(variance))
    for t in np.linspace(0.0, 0.499, 200):
        assert bound(float(t)) >= deviation_of_atoms(np.array([0.0, 1.0]), np.array([1.0 - p, p]), float(t))


def test_subgaussian_is_nearly_attained_by_a_fair_coin() -> None:
    """±1 is 1-subgaussian; both −1 and 1 are medians, 2 apart: a smaller R(0) than 2 would be wrong."""
    apart = deviation_of_atoms(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 0.0)
    assert apart == 2.0
    assert apart < Subgaussian(1.0)(0.0) < 1.2 * apart


@given(weights=st.lists(st.integers(1, 20), min_size=2, max_size=6), t=st.floats(0.0, 0.49))
def test_subgaussian_covers_bounded_rewards(weights: list[int], t: float) -> None:
    """Hoeffding's lemma: whatever lies in an interval of width w is (w/2)-subgaussian."""
    w = np.array(weights, dtype=np.float64)
    values = np.linspace(0.0, 1.0, len(w)) ** 2
    assert Subgaussian(0.5)(t) >= deviation_of_atoms(values, w / w.sum(), t)


def test_published_sigma_never_covers_a_star_of_movielens() -> None:
    """σ = 0.2 and t̄ = 0.49 are the paper's; quantiles of scores, whole numbers, move by 1 or not at all."""
    assert Subgaussian(0.2)(0.49) < 0.85


def test_published_sigma_covers_all_arms_of_sw_llvm_but_one(shared_data: Path) -> None:
    """An arm's points are its reward distribution. Arm 9, on the front, breaks σ = 0.2 from t ≈ 0.38."""
    with (shared_data / "sw_llvm" / "sw_llvm.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    broken = {}
    for arm in range(16):
        for column in ("y0", "y1"):
            points = np.array([float(row[column]) for row in rows if int(row["arm"]) == arm])
            weights = np.full(len(points), 1.0 / len(points))
            levels = [
                t for t in np.linspace(0.0, 0.49, 50) if deviation_of_atoms(points, weights, t) > Subgaussian(0.2)(t)
            ]
            if levels:
                broken[arm, column] = levels[0]
    assert list(broken) == [(9, "y0")]
    assert broken[9, "y0"] == pytest.approx(0.38)


# Rewards that are linear around the median: the paper's B for normal rewards, and its correction.


def definition3_holds(distribution: Any, slope: float, deviation: float, t_bar: float) -> bool:
    """|F(x) − F(y)| ≥ |x − y| / (B m₂) for neighbours of a fine grid between the outermost quantiles."""
    x = np.linspace(distribution.ppf(0.5 - t_bar), distribution.ppf(0.5 + t_bar), 4001)
    rise = np.diff(distribution.cdf(x))
    return bool((rise >= np.diff(x) / (slope * deviation) * (1.0 - 1e-6)).all())


def paper_slope(t_bar: float) -> float:
    return float(stats.norm.ppf(0.75) / stats.norm.pdf(stats.norm.ppf(0.5 + t_bar)))


@pytest.mark.parametrize("t_bar", [0.05, 0.2, 0.4, 0.49])
def test_linear_of_normal_satisfies_definition_3_with_nothing_to_spare(t_bar: float) -> None:
    rewards = stats.norm(2.0, 0.7)
    bound = LinearAroundMedian.of_normal(0.7, t_bar)
    assert bound.deviation == pytest.approx(0.7 * 0.6744897501960817, rel=1e-12)
    assert definition3_holds(rewards, bound.slope, bound.deviation, t_bar)
    assert not definition3_holds(rewards, 0.99 * bound.slope, bound.deviation, t_bar)
    inside = np.linspace(0.0, t_bar, 200)
    assert (bound(inside) >= true_deviation(rewards, inside) - 1e-12).all()


@pytest.mark.parametrize("t_bar", [0.05, 0.2, 0.4, 0.49])
def test_paper_slope_for_normal_rewards_is_too_small_for_definition_3(t_bar: float) -> None:
    right = LinearAroundMedian.of_normal(1.0, t_bar)
    assert paper_slope(t_bar) / right.slope == pytest.approx(0.6744897501960817**2, rel=1e-9)
    assert not definition3_holds(stats.norm, paper_slope(t_bar), right.deviation, t_bar)


def test_paper_slope_bounds_normal_quantiles_for_large_t_bar_only() -> None:
    """R need not come from Definition 3 to satisfy Definition 2: here it does from t̄ ≈ 0.4315 upwards."""
    for t_bar, valid in ((0.1, False), (0.4, False), (0.43, False), (0.433, True), (0.49, True)):
        inside = np.linspace(0.0, t_bar, 500)
        bound = LinearAroundMedian(paper_slope(t_bar), float(stats.norm.ppf(0.75)))
        assert bool((bound(inside) >= stats.norm.ppf(0.5 + inside) - 1e-12).all()) is valid


def test_uniform_rewards_need_a_slope_of_four() -> None:
    rewards = stats.uniform(5.0, 2.0)
    bound = LinearAroundMedian(4.0, 0.5)
    assert float(stats.uniform.ppf(0.75) - 0.5) * 2.0 == bound.deviation
    assert definition3_holds(rewards, 4.0, 0.5, 0.3)
    assert not definition3_holds(rewards, 3.99, 0.5, 0.3)
    np.testing.assert_allclose(bound(LEVELS), Uniform(2.0)(LEVELS), rtol=1e-15)


# What every bound does.


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
@given(t=st.floats(0.0, 0.4999), u=st.floats(0.0, 0.4999))
def test_bounds_are_non_negative_and_non_decreasing(bound: SpreadBound, t: float, u: float) -> None:
    t, u = sorted((t, u))
    assert 0.0 <= bound(t) <= bound(u)


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
def test_numbers_and_arrays_agree(bound: SpreadBound) -> None:
    levels = LEVELS[:12].reshape(3, 4)
    values = bound(levels)
    assert values.shape == (3, 4)
    assert values.dtype == np.float64
    for k in np.ndindex(3, 4):
        single = bound(float(levels[k]))
        assert isinstance(single, float)
        assert values[k] == pytest.approx(single, rel=1e-15, abs=1e-16)
    assert bound(np.array([0.25])).shape == (1,)
    assert bound(np.array([])).shape == (0,)


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
def test_levels_outside_the_domain_are_refused(bound: SpreadBound, snapshot: SnapshotAssertion) -> None:
    bound.check(0.4999)
    levels = [each for t in (-1e-9, 0.5, 0.7, math.nan) for each in (t, np.array([0.1, t]))]
    assert refusals(ValueError, [*(partial(bound, t) for t in levels), partial(bound.check, 0.5)]) == snapshot


@given(sigma=positive, factor=positive, t=st.floats(0.0, 0.49))
def test_bounds_scale_with_the_rewards(sigma: float, factor: float, t: float) -> None:
    for family in (Subgaussian, Gaussian, Uniform):
        assert family(sigma * factor)(t) == pytest.approx(factor * family(sigma)(t), rel=1e-12)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, True, "1", None])
def test_parameters_are_checked(value: Any, snapshot: SnapshotAssertion) -> None:
    builders: list[Callable[[Any], SpreadBound]] = [
        Subgaussian,
        Gaussian,
        Uniform,
        lambda v: LinearAroundMedian(v, 1.0),
        lambda v: LinearAroundMedian(1.0, v),
        lambda v: LinearAroundMedian.of_normal(v, 0.4),
    ]
    assert refusals(ValueError, [partial(build, value) for build in builders]) == snapshot


def test_check_names_the_first_offending_level(snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        CustomSpread(lambda t: 0.2 - t if t > 0.2 else 1.0).check(0.4)
    with refused(ValueError, snapshot):
        CustomSpread(lambda t: 1.0 if t < 0.1 else 0.5).check(0.4)
    with refused(ValueError, snapshot):
        CustomSpread(lambda t: t if t < 0.3 else math.inf).check(0.4)
    with refused(ValueError, snapshot):
        CustomSpread(lambda t: t if t < 0.3 else math.nan).check(0.4)
    CustomSpread(lambda t: t if t < 0.3 else math.inf).check(0.29)


def test_a_constant_and_rounding_pass_the_check() -> None:
    CustomSpread(lambda t: 1.0).check(0.4)
    CustomSpread(lambda t: 1.0 + (1e-16 if t < 0.2 else 0.0)).check(0.4)


@pytest.mark.parametrize("function", [lambda t: -1.0, lambda t: math.nan, lambda t: "far", lambda t: None])
def test_a_function_without_a_value_at_zero_is_refused(function: Any, snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        CustomSpread(function)


def test_as_spread_bound(snapshot: SnapshotAssertion) -> None:
    bound = Uniform(1.0)
    assert as_spread_bound(bound) is bound
    assert as_spread_bound(cubed) == CustomSpread(cubed)
    for wrong in (0.2, "gaussian", None, Uniform):
        with refused(ValueError, snapshot):
            as_spread_bound(wrong)  # type: ignore[arg-type]
    with refused(ValueError, snapshot):
        CustomSpread(3.0)  # type: ignore[arg-type]


def test_bounds_pickle_compare_and_show_themselves() -> None:
    for bound in [*BOUNDS[:4], CustomSpread(cubed)]:
        again = pickle.loads(pickle.dumps(bound))
        assert again == bound
        assert hash(again) == hash(bound)
        assert again(0.3) == bound(0.3)
    assert repr(BOUNDS[2]) == "LinearAroundMedian(slope=4.0, deviation=0.3)"
    assert repr(CustomSpread(cubed)) == "CustomSpread(function=cubed)"
