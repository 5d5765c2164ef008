"""Numbers, durations and hints as people write them."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP

from hypothesis import given
from hypothesis import strategies as st

from frontguard.phrases import duration, number, percent, rounded


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_numbers_and_durations_are_short(value: float) -> None:
    assert len(number(value)) <= 11
    if 0.0 <= value < 1e9:
        assert len(duration(value)) <= 12


@given(st.integers(0, 10**9))
def test_a_rounded_forecast_is_within_a_tenth(pulls: int) -> None:
    assert abs(int(rounded(pulls).replace(",", "")) - pulls) <= 0.1 * pulls


@given(st.floats(0.0, 1.0))
def test_a_share_is_never_rounded_to_all_or_nothing_nor_far(share: float) -> None:
    shown = {way: percent(share, way) for way in (ROUND_FLOOR, ROUND_HALF_UP, ROUND_CEILING)}
    assert (share in (0.0, 1.0)) == any(text in ("0%", "100%") for text in shown.values())
    low, near, high = (float(text.removesuffix("%")) / 100.0 for text in shown.values())
    assert low - 1e-11 <= share <= high + 1e-11
    assert abs(near - share) <= 0.0005 + 1e-11
