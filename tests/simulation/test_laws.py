"""Exact quantiles and masses against their definitions, scipy and values found by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtr, ndtri
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.simulation.environments import Atoms, Histogram, LocationScale, NoisyAtoms
from tests.support.snapshots import refused


def histogram(values: list[float], weights: list[float]) -> Histogram:
    return Histogram.of(np.array(values, float), np.array(weights, float))


def test_location_scale_equals_scipy() -> None:
    centre, scale = np.array([[1.0, -2.0]]), np.array([[0.5, 3.0]])
    law = LocationScale(centre, scale, ndtri, ndtr)
    for level in (0.01, 0.5, 0.9):
        assert law.quantile(level) == pytest.approx(stats.norm(centre, scale).ppf(level), rel=1e-12)
    points = np.array([[1.3, 0.0]])
    assert law.mass(points)[0] == pytest.approx(stats.norm(centre, scale).cdf(points), rel=1e-12)


def test_location_scale_without_scale_is_one_atom() -> None:
    law = LocationScale(np.array([[1.0, 1.0, 1.0]]), np.zeros((1, 3)), ndtri, ndtr)
    assert law.quantile(0.3).tolist() == [[1.0, 1.0, 1.0]]
    below, upto = law.mass(np.array([[0.9, 1.0, 1.1]]))
    assert below.tolist() == [[0.0, 0.0, 1.0]]
    assert upto.tolist() == [[0.0, 1.0, 1.0]]


def test_atoms_by_hand() -> None:
    law = Atoms([[histogram([3, 1, 2, 1], [1, 1, 0, 2])]])  # P(1) = 3/4, P(3) = 1/4
    assert law.quantile(0.75).item() == 1.0
    assert law.right_quantile(0.75).item() == 3.0
    assert law.quantile(0.76).item() == 3.0
    assert law.medians_of_interest().item() == 1.0
    assert law.means().item() == 1.5
    assert [m.item() for m in law.mass(np.array([[1.0]]))] == [0.0, 0.75]
    assert [m.item() for m in law.mass(np.array([[2.0]]))] == [0.75, 0.75]


def test_median_of_interest_is_halfway_between_two_middle_atoms() -> None:
    assert Atoms([[histogram([1, 4], [5, 5])]]).medians_of_interest().item() == 2.5


weighted = st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 6)), min_size=1, max_size=12).filter(
    lambda pairs: sum(w for _, w in pairs) > 0
)


@given(weighted, st.integers(1, 15))
def test_quantiles_follow_their_definitions(pairs: list[tuple[int, int]], sixteenths: int) -> None:
    """inf {x: F(x) ≥ p} and inf {x: F(x) > p}, counted one by one; p is exact in binary."""
    level = sixteenths / 16
    total = sum(w for _, w in pairs)
    support = sorted({v for v, w in pairs if w > 0})

    def cumulative(x: float) -> int:
        return sum(w for v, w in pairs if v <= x)

    law = Atoms([[histogram([v for v, _ in pairs], [w for _, w in pairs])]])
    assert law.quantile(level).item() == min(v for v in support if 16 * cumulative(v) >= sixteenths * total)
    assert law.right_quantile(level).item() == min(v for v in support if 16 * cumulative(v) > sixteenths * total)
    for point in (-5.5, *support):
        below, upto = law.mass(np.array([[float(point)]]))
        assert below.item() == pytest.approx(sum(w for v, w in pairs if v < point) / total)
        assert upto.item() == pytest.approx(cumulative(point) / total)


def test_noisy_atoms_are_a_mixture() -> None:
    law = NoisyAtoms(Atoms([[histogram([0, 1, 5], [2, 1, 1])]]), np.array([[0.3]]))
    for level in (0.02, 0.5, 0.6, 0.99):
        x = law.quantile(level).item()
        mixture = 0.5 * stats.norm.cdf(x, 0, 0.3) + 0.25 * stats.norm.cdf(x, 1, 0.3)
        assert mixture + 0.25 * stats.norm.cdf(x, 5, 0.3) == pytest.approx(level, abs=1e-9)
        assert law.mass(np.array([[x]]))[0].item() == pytest.approx(level, abs=1e-9)


def test_noisy_single_atom_is_gaussian() -> None:
    law = NoisyAtoms(Atoms([[histogram([2], [7])]]), np.array([[0.5]]))
    assert law.quantile(0.9).item() == pytest.approx(stats.norm(2, 0.5).ppf(0.9), rel=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, float("nan")])
def test_levels_outside_the_open_interval_are_refused(level: float, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        Atoms([[histogram([1], [1])]]).quantile(level)
