"""Numbers, durations and hints as people write them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from frontguard.phrases import duration, number, rounded


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_numbers_and_durations_are_short(value: float) -> None:
    assert len(number(value)) <= 11
    if 0.0 <= value < 1e9:
        assert len(duration(value)) <= 12


@given(st.integers(0, 10**9))
def test_a_rounded_forecast_is_within_a_tenth(pulls: int) -> None:
    assert abs(int(rounded(pulls).replace(",", "")) - pulls) <= 0.1 * pulls
