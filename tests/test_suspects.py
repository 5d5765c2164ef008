"""Suspected contamination: hardly anything of clean samples, most of what lies far out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontguard import BadInput
from frontguard.suspects import FAR, FEWEST, suspects

Draw = Callable[[np.random.Generator, int], np.ndarray]


def stars(*shares: float) -> Draw:
    return lambda rng, n: rng.choice(len(shares), size=n, p=shares) + 1.0


CLEAN: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(5.0, 2.0, n),
    "uniform": lambda rng, n: rng.uniform(-1.0, 1.0, n),
    "exponential": lambda rng, n: rng.exponential(3.0, n),
    "lognormal": lambda rng, n: rng.lognormal(0.0, 1.0, n),
    "lognormal to the left": lambda rng, n: -rng.lognormal(0.0, 1.0, n),
    "ratings": stars(0.06, 0.11, 0.27, 0.35, 0.21),
    "ratings, most of them the best": stars(0.05, 0.03, 0.07, 0.2, 0.65),
    "counts": lambda rng, n: rng.poisson(0.7, n).astype(float),
}


@pytest.mark.parametrize("shape", CLEAN)
@pytest.mark.parametrize("size", [FEWEST, 40, 1000])
def test_about_one_in_a_hundred_clean_values_at_most(shape: str, size: int) -> None:
    rng = np.random.default_rng(1)
    marked = np.mean([suspects(CLEAN[shape](rng, size)).mean() for _ in range(20_000 // size)])
    assert marked <= 0.015


def test_the_probabilities_behind_the_threshold() -> None:
    rng = np.random.default_rng(2)
    assert not suspects(rng.normal(size=200_000)).any()
    assert not suspects(rng.uniform(size=200_000)).any()
    assert suspects(rng.exponential(size=200_000)).mean() == pytest.approx(
        0.5 * np.exp(-1.4826 * np.log(2) * FAR), rel=0.5
    )
    assert 0.006 < suspects(rng.lognormal(size=200_000)).mean() < 0.011


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("shape", ["normal", "uniform", "exponential"])
@pytest.mark.parametrize("sides", [(1.0,), (-1.0,), (-1.0, 1.0)], ids=["above", "below", "both"])
def test_most_far_values_are_found_and_few_others(share: float, shape: str, sides: tuple[float, ...]) -> None:
    rng = np.random.default_rng(3)
    values = CLEAN[shape](rng, 1000)
    hit = rng.random(1000) < share
    far = values.mean() + values.std() * rng.uniform(20.0, 60.0, 1000) * rng.choice(sides, 1000)
    marked = suspects(np.where(hit, far, values))
    assert marked[hit].mean() >= 0.9
    assert marked[~hit].mean() <= 0.01


def test_a_constant_with_a_few_others() -> None:
    values = np.full(200, 16384.0)
    values[[3, 50, 120]] = 0.0, 90_000.0, 17_000.0
    assert np.flatnonzero(suspects(values)).tolist() == [3, 50, 120]
    assert not suspects(np.full(200, 16384.0)).any()


def test_logarithms_are_compared_where_the_tolerance_is_relative() -> None:
    rng = np.random.default_rng(4)
    values = rng.lognormal(0.0, 2.0, 2000)
    assert suspects(values).sum() > 20
    assert suspects(values, relative=True).sum() == 0
    values[7], values[8] = values.max() * 1e6, values.min() / 1e9
    assert np.flatnonzero(suspects(values, relative=True)).tolist() == [7, 8]


def test_failed_and_unusable_values_are_never_suspected() -> None:
    rng = np.random.default_rng(5)
    values = np.exp(rng.normal(size=300))
    values[:5], values[5], values[6] = np.nan, 0.0, -4.0
    values[7] = 1e12
    assert np.flatnonzero(suspects(values, relative=True)).tolist() == [7]
    assert np.flatnonzero(suspects(values))[-1] >= 7
    assert not suspects(values)[:5].any()


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=40), st.booleans())
def test_any_values_are_taken(values: list[float], relative: bool) -> None:
    marked = suspects(values, relative=relative)
    assert marked.shape == (len(values),)
    if len(values) < FEWEST:
        assert not marked.any()


@given(st.lists(st.floats(-1e6, 1e6), min_size=FEWEST, max_size=60), st.randoms())
def test_the_order_does_not_matter_and_neither_do_the_units(values: list[float], random: object) -> None:
    array = np.array(values)
    order = np.random.default_rng(0).permutation(len(array))
    np.testing.assert_array_equal(suspects(array[order]), suspects(array)[order])
    np.testing.assert_array_equal(suspects(-4.0 * array), suspects(array))


def test_one_sample_at_a_time() -> None:
    with pytest.raises(BadInput, match=r"shape \(3, 2\)"):
        suspects(np.zeros((3, 2)))
