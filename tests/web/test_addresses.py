"""What a URL may say: options say themselves and are read again, and whatever else is asked for is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput
from frontguard.web.parts import ROWS, SORTS, VIEWS, ViewOptions
from tests.support.snapshots import refused

choices = st.builds(
    ViewOptions,
    x=st.none() | st.integers(0, 2),
    y=st.none() | st.integers(0, 2),
    view=st.sampled_from(VIEWS),
    rows=st.sampled_from(ROWS),
    sort=st.sampled_from([*SORTS, "m0", "m2", "-m1", "-pulls"]),
)


@given(choices)
def test_options_say_themselves_and_are_read_again(options: ViewOptions) -> None:
    pairs = [part.split("=") for part in options.query().removeprefix("?").split("&") if part]
    assert ViewOptions.read([(name, value) for name, value in pairs]) == options
    x, y = options.axes(3)
    assert x != y
    assert options.x in (None, x)


@pytest.mark.parametrize(
    "query",
    [
        {"x": "-1"},
        {"x": "1.0"},
        {"x": ""},
        {"x": "٣"},
        {"x": "01"},
        {"x": "1000"},
        {"y": "1e3"},
        {"view": "Front"},
        {"view": ""},
        {"rows": "10"},
        {"sort": "m"},
        {"sort": "--pulls"},
        {"sort": "m-1"},
        {"sort": "pulls\n"},
        {"X": "1"},
        {"token": "x"},
        {"__proto__": "1"},
    ],
)
def test_what_is_not_known_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(BadInput):
        ViewOptions.read(query)


def test_objectives_must_be_ones_of_the_study(snapshot: SnapshotAssertion) -> None:
    assert ViewOptions.read({"x": "1"}).within(2).x == 1
    for query in ({"x": "2"}, {"y": "2"}, {"sort": "m2"}, {"sort": "-m2"}):
        with refused(BadInput, snapshot):
            ViewOptions.read(query).within(2)
    with refused(BadInput, snapshot):
        ViewOptions.read([("x", "1"), ("x", "1")])
    with pytest.raises(BadInput) as error:
        ViewOptions.read({"view": "x" * 10_000})
    assert len(str(error.value)) < 200
