"""Scales against naive formulas, and ticks against matplotlib and the calendar."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from matplotlib.ticker import MaxNLocator

from frontguard.plot.frames import FAR, Scale, log_ticks, round_ticks, tick_words, ticks
from frontguard.plot.picture import Axis

ENDS = st.tuples(
    st.floats(-1e6, 1e6), st.floats(1e-6, 1e6)
).map(lambda pair: (pair[0], pair[0] + pair[1])).filter(lambda ends: ends[0] < ends[1])  # fmt: skip
POSITIVE_ENDS = st.tuples(st.floats(-12, 12), st.floats(0.01, 15)).map(lambda p: (10.0 ** p[0], 10.0 ** (p[0] + p[1])))


# Scales ---------------------------------------------------------------------------------------------------------------


@given(ENDS, st.floats(0, 1))
def test_a_linear_scale_is_the_formula_of_schools(ends: tuple[float, float], share: float) -> None:
    low, high = ends
    value = low + share * (high - low)
    expected = 10 + float((Fraction(value) - Fraction(low)) / (Fraction(high) - Fraction(low))) * 490
    assert float(Scale(low, high, 10.0, 500.0)(value)) == pytest.approx(expected, abs=1e-6)
    assert float(Scale(low, high, 500.0, 10.0)(value)) == pytest.approx(510 - expected, abs=1e-6)


@given(POSITIVE_ENDS, st.floats(0, 1))
def test_a_log_scale_places_by_ratios(ends: tuple[float, float], share: float) -> None:
    low, high = ends
    value = low * (high / low) ** share
    assert float(Scale(low, high, 0.0, 100.0, log=True)(value)) == pytest.approx(100 * share, abs=1e-6)


@given(st.booleans(), POSITIVE_ENDS, st.lists(st.floats(1e-13, 1e13), min_size=2, max_size=20), st.booleans())
def test_scales_are_monotone(log: bool, ends: tuple[float, float], values: list[float], falling: bool) -> None:
    start, end = (300.0, 0.0) if falling else (0.0, 300.0)
    positions = Scale(*ends, start, end, log=log)(np.sort(values))
    assert (np.diff(positions) * (-1 if falling else 1) >= 0).all()


def test_what_is_beyond_stays_in_reach_and_nan_is_nowhere() -> None:
    scale = Scale(1.0, 10.0, 0.0, 100.0, log=True)
    far = scale(np.array([math.inf, 0.0, -3.0, -math.inf, math.nan]))
    assert far[:4].tolist() == [100 * (1 + FAR), -100 * FAR, -100 * FAR, -100 * FAR]
    assert math.isnan(far[4])
    widest = Scale(-1.7e308, 1.7e308, 0.0, 100.0)
    assert widest(np.array([-1.7e308, 0.0, 1.7e308])).tolist() == [0.0, 50.0, 100.0]


# Round ticks ----------------------------------------------------------------------------------------------------------


@given(ENDS, st.integers(2, 12))
@example((0.0, 1.0), 5)
@example((-1e6, -1e6 + 1e-6), 12)
@example((0.1, 0.3), 2)
def test_round_ticks_are_inside_and_as_round_as_matplotlib_finds_them(ends: tuple[float, float], most: int) -> None:
    low, high = ends
    found = round_ticks(low, high, most)
    assert 0 <= len(found) <= most + 1
    assert all(low <= tick <= high for tick in found)
    if len(found) < 3 or high - low < 1e-6 * max(abs(low), abs(high)):
        return  # so far from zero matplotlib itself no longer finds the smallest step
    count = len(found) - 1
    locator = MaxNLocator(nbins=count, steps=[1, 2, 5, 10], min_n_ticks=1)
    step = (found[-1] - found[0]) / count
    # To hold what lies between our first and last tick, matplotlib puts the same ones.
    theirs = locator.tick_values(found[0] + 0.01 * step, found[-1] - 0.01 * step)
    assert found == pytest.approx(theirs.tolist(), abs=1e-3 * step)


@given(ENDS, st.integers(3, 10))
def test_there_are_enough_round_ticks(ends: tuple[float, float], most: int) -> None:
    low, high = ends
    assume(high - low > 1e-9 * max(abs(low), abs(high)))
    # The next smaller round step is at least 0.4 of this one and would have been too many.
    assert len(round_ticks(low, high, most)) >= math.floor(0.4 * most)


@given(ENDS, st.integers(2, 10))
def test_the_words_of_ticks_say_their_values(ends: tuple[float, float], most: int) -> None:
    found = ticks(Axis(), *ends, most)
    words = [word for _, word in found]
    assert len(set(words)) == len(words)
    span = ends[1] - ends[0]
    for value, word in found:
        assert said(word) == pytest.approx(value, abs=max(1e-6 * span, 1e-12 * abs(value)))


def said(word: str) -> float:
    """What a tick's word means, read by other means than it was written."""
    share = word.endswith("%")
    text = word.removesuffix("%").replace(",", "").replace("−", "-")
    if "10" in text and any(character in "⁰¹²³⁴⁵⁶⁷⁸⁹" for character in text):
        mantissa, _, power = text.rpartition("10")
        power = "".join(str("⁰¹²³⁴⁵⁶⁷⁸⁹⁻".index(c)) if c != "⁻" else "-" for c in power)
        text = f"{mantissa.removesuffix('×') if mantissa not in ('', '-') else mantissa + '1'}e{power}"
    return float(text) / (100.0 if share else 1.0)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.0, 0.25, 0.5], ["0", "0.25", "0.5"]),
        ([1199.5, 1200.0, 1200.5], ["1,199.5", "1,200", "1,200.5"]),
        ([-20.0, 0.0], ["−20", "0"]),
        ([0.0001, 0.0002], ["0.0001", "0.0002"]),
        ([0.00001, 0.00002], ["10⁻⁵", "2×10⁻⁵"]),
        ([1e9, 1.5e9], ["10⁹", "1.5×10⁹"]),
        ([-1e9, 0.0], ["−10⁹", "0"]),
        ([], []),
    ],
)
def test_words_of_values(values: list[float], words: list[str]) -> None:
    assert tick_words(values) == words


@given(POSITIVE_ENDS, st.integers(2, 10))
def test_log_ticks_are_inside_and_round(ends: tuple[float, float], most: int) -> None:
    low, high = ends
    found = log_ticks(low, high, most)
    assert len(found) <= most + 1
    assert found == sorted(set(found))
    assert all(low * (1 - 1e-9) <= tick <= high * (1 + 1e-9) for tick in found)
    if high / low > 1e3:
        assert len(found) >= 2 or most == 2
        assert all(f"{tick:.12e}"[0] in "125" and float(f"{tick:.12e}"[1:14]) == 0 for tick in found)


@pytest.mark.parametrize(
    ("ends", "most", "expected"),
    [
        ((1.0, 1e6), 8, [1, 10, 100, 1000, 1e4, 1e5, 1e6]),
        ((1.0, 1e6), 4, [1, 100, 1e4, 1e6]),
        ((0.5, 30.0), 8, [0.5, 1, 2, 5, 10, 20]),
        ((1.1, 1.9), 5, [1.2, 1.4, 1.6, 1.8]),
    ],
)
def test_log_ticks(ends: tuple[float, float], most: int, expected: list[float]) -> None:
    assert log_ticks(*ends, most) == pytest.approx(expected)


@given(st.floats(-1.7e308, 1.7e308), st.floats(-1.7e308, 1.7e308), st.integers(0, 12))
@example(1.0, 1.797e306, 0)
def test_no_range_is_too_strange(one: float, other: float, most: int) -> None:
    low, high = min(one, other), max(one, other)
    assume(low < high)
    axes = [Axis()]
    if low > 0:
        axes.append(Axis(scale="log"))
    for axis in axes:
        found = ticks(axis, low, high, most)
        assert len(found) <= max(most, 2) + 2
        assert all(math.isfinite(at) for at, _ in found)


# Names and given ticks ------------------------------------------------------------------------------------------------


def test_names_are_ticks_and_too_many_are_thinned_out_evenly() -> None:
    names = tuple(f"arm {i}" for i in range(100))
    assert ticks(Axis(names=names[:3]), -0.5, 2.5, 10) == ((0.0, "arm 0"), (1.0, "arm 1"), (2.0, "arm 2"))
    found = ticks(Axis(names=names), -0.5, 99.5, 12)
    assert len(found) <= 12
    assert {b - a for (a, _), (b, _) in pairwise(found)} == {9.0}
    assert all(names[int(at)] == word for at, word in found)


def test_given_ticks_are_kept_where_they_are_seen() -> None:
    axis = Axis(ticks=((5.0, "some"), (0.0, "none"), (99.0, "infeasible")))
    assert ticks(axis, 0.0, 10.0, 1) == ((0.0, "none"), (5.0, "some"))
