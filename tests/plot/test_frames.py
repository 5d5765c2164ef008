"""What a panel shows, against a slow look at every value."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from frontguard.plot import picture as looks
from frontguard.plot.frames import PADDING, bounded, clipped, inside, limits, widened
from frontguard.plot.picture import Axis, Bars, Boxes, Lines, Panel, Points, Region, Rule
from tests.plot.samples import SAMPLES, array

FLOATS = st.floats(allow_nan=True, allow_infinity=True)
ORDINARY = st.floats(-1e6, 1e6)


def frame(*layers: object, x: Axis | None = None, y: Axis | None = None) -> tuple[tuple[float, float], ...]:
    return limits(Panel(x or Axis(), y or Axis(), layers))  # type: ignore[arg-type]


@given(st.lists(st.tuples(FLOATS, FLOATS), max_size=8), st.sampled_from(["linear", "log"]))
@example([(1.0, 1.0), (1e-299, 6.4e290)], "log")
def test_limits_are_finite_and_in_order_whatever_there_is(points: list[tuple[float, float]], scale: str) -> None:
    x, y = np.array([p[0] for p in points]), np.array([p[1] for p in points])
    for low, high in frame(Points(x, y, looks.KEEP), x=Axis(scale=scale), y=Axis(scale=scale)):  # type: ignore[arg-type]
        assert math.isfinite(low)
        assert math.isfinite(high)
        assert low < high
        assert low > 0.0 or scale == "linear"


@given(st.lists(ORDINARY, min_size=2, max_size=8))
def test_a_linear_range_has_its_padding(values: list[float]) -> None:
    lowest, highest = min(values), max(values)
    (low, high), _ = frame(Points(np.array(values), np.array(values), looks.KEEP))
    if highest > lowest:
        assert low == pytest.approx(lowest - PADDING * (highest - lowest))
        assert high == pytest.approx(highest + PADDING * (highest - lowest))
    else:
        assert low < lowest < high


def test_a_log_range_has_the_same_share() -> None:
    (low, high), _ = frame(Points(array(1, 100, -5, 0), array(1, 1, 1, 1), looks.KEEP), x=Axis(scale="log"))
    assert (low, high) == pytest.approx((100.0**-PADDING, 100.0 ** (1 + PADDING)))


def test_ends_that_are_given_are_kept() -> None:
    points = Points(array(1, 50), array(1, 2), looks.KEEP)
    assert frame(points, x=Axis(low=0.0, high=10.0))[0] == (0.0, 10.0)
    assert frame(points, x=Axis(low=0.0))[0][0] == 0.0
    assert frame(points, x=Axis(low=90.0))[0][0] == 90.0
    low, high = frame(points, x=Axis(low=5.0, high=5.0))[0]
    assert low < high


def test_bars_reach_from_zero_and_names_have_their_places() -> None:
    bars = Bars(array(0, 1), array(3, 5), looks.KEEP)
    x, y = frame(bars, x=Axis(low=0.0), y=Axis(names=("a", "b"), reverse=True))
    assert x == pytest.approx((0.0, 5.0 * (1 + PADDING)))
    assert y == (-0.5, 1.5)
    assert frame(bars)[0] == pytest.approx((-5.0 * PADDING, 5.0 * (1 + PADDING)))
    across, upright = frame(replace(bars, upright=True))
    assert across[0] < -0.4
    assert across[1] > 1.4
    assert upright[1] == pytest.approx(5.0 * (1 + PADDING))


def test_infinite_ends_and_shades_do_not_decide() -> None:
    boxes = Boxes(array(-np.inf), array(0), array(2), array(np.inf), looks.KEEP)
    shade = Region(array(-900, 900, np.inf), array(-900, 900, 0), looks.KEEP)
    points = Points(array(1, 2), array(0, 1), looks.KEEP)
    assert frame(shade, boxes, points) == frame(points)
    assert frame(shade)[0] == pytest.approx((-900 - 108, 900 + 108))
    assert frame(points, Rule(7.0, looks.GOAL))[1][1] > 7.0


@given(st.lists(FLOATS, max_size=20), st.floats(0.0, 2.0))
def test_clipping(values: list[float], beyond: float) -> None:
    given_values = np.array(values, np.float64)
    cut = clipped(given_values, widened((-1.0, 3.0), beyond))
    low, high = -1.0 - 4.0 * beyond, 3.0 + 4.0 * beyond
    wanted = [value if math.isnan(value) else min(max(value, low), high) for value in values]
    np.testing.assert_allclose(cut, wanted)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_lie_inside_what_is_shown(name: str) -> None:
    for panel in SAMPLES[name]().panels:
        shown = limits(panel)
        for layer in panel.layers:
            if isinstance(layer, Points):
                there = np.isfinite(layer.x) & np.isfinite(layer.y)
                assert (inside(layer.x, layer.y, shown) == there).all()


def test_what_goes_on_for_ever_ends_beyond_the_edge() -> None:
    panel, shown = Panel(Axis(), Axis(scale="log"), ()), ((0.0, 10.0), (1.0, 100.0))
    box = bounded(Boxes(array(-np.inf), array(0.0), array(5.0), array(np.inf), looks.KEEP), panel, shown, beyond=0.5)
    assert isinstance(box, Boxes)
    assert (box.x_low[0], box.x_high[0]) == (-5.0, 5.0)
    assert (box.y_low[0], box.y_high[0]) == pytest.approx((0.1, 1000.0))
    mark = bounded(Points(array(np.inf, 50.0), array(5.0, 5.0), looks.KEEP), panel, shown, beyond=0.5)
    line = bounded(Lines(array(np.inf, 50.0)[None], array(5.0, 5.0)[None], looks.KEEP), panel, shown, beyond=0.5)
    assert isinstance(mark, Points)
    assert isinstance(line, Lines)
    assert mark.x.tolist() == [10.0, 50.0]  # on the edge; what has a place keeps it
    assert line.x.tolist() == [[15.0, 50.0]]
    rule = Rule(np.inf, looks.GOAL)
    assert bounded(rule, panel, shown, beyond=0.5) is rule
