"""Shares, probabilities and times as they are written, against Python's own exact arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard._common.checks import checked_confidence, checked_seconds, checked_share, refuse_unknown
from frontguard.errors import BadInput
from tests.support.snapshots import refused


@given(st.decimals(0, Decimal("49.999"), places=3), st.sampled_from(["", " ", "  "]))
def test_a_percentage_is_the_nearest_double_to_the_share(percent: Decimal, blank: str) -> None:
    assert checked_share(f"{percent}{blank}%") == float(percent / 100)
    assert checked_share(str(percent / 100)) == checked_share(float(percent / 100)) == float(percent / 100)


@pytest.mark.parametrize(
    "value", [0.5, 1, 10, -0.1, "50%", "-1%", "10 percent", "", "%", None, True, math.nan, 10**400]
)
def test_what_is_no_share_is_refused_by_its_name(value: object) -> None:
    with pytest.raises(BadInput) as caught:
        checked_share(value, "--contamination")
    said = str(caught.value)
    assert said.startswith("--contamination must be a probability from 0 to below 1/2, such as 0.1 or '10%'")
    assert said.endswith(f"got {value!r}")


@pytest.mark.parametrize("value", [0, 1, 95, "95", "100%", "0%", "sure", None, False, math.inf])
def test_what_is_no_confidence_is_refused_by_its_name(value: object, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        checked_confidence(value, "--confidence")


@pytest.mark.parametrize(
    ("written", "seconds"),
    [(90, 90.0), ("90", 90.0), ("90s", 90.0), ("1.5 h", 5400.0), ("30 MIN", 1800.0), (" 2 days ", 172_800.0)],
)
def test_times(written: float | str, seconds: float) -> None:
    assert checked_seconds(written, "timeout") == seconds


@pytest.mark.parametrize(
    "value", [0, -1, "0 s", "-3 s", "ten", "3 weeks", "", None, True, math.inf, math.nan, 1e9, 10**400]
)
def test_what_is_no_time_is_refused_by_its_name(value: object, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        checked_seconds(value, "--timeout")


def test_a_keyword_that_is_not_known_is_refused_with_the_one_that_may_be_meant(snapshot: SnapshotAssertion) -> None:
    def look(log: str, *, arm: str = "arm", **reading: str) -> None: ...

    refuse_unknown(["layout"], look, ["layout"])
    with refused(TypeError, snapshot):
        refuse_unknown(["layout", "layuot"], look, ["layout"])
