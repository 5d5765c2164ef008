"""Effect sizes against interval arithmetic done one end at a time, and against values drawn from the intervals."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import Answer, BadInput, Objective, analyze
from frontguard.comparisons.effects import Comparable, Contrast, Span, against
from frontguard.results import Certificate, Intervals
from tests.support.snapshots import refused

METRICS = [
    Objective("score", "maximize", tolerance=0.5),
    Objective("cost", "minimize"),
    Objective("seconds", "minimize", tolerance="5%"),
    Objective("speed", "maximize", tolerance="10%"),
    Objective("solved", "maximize", statistic="mean", bounds=(0, 1)),
    Objective("bytes", "minimize", tolerance="1%", exact=True),
    Objective("rate", "minimize", tolerance="10%", statistic="mean", bounds=(0, 1)),
]


def ends(metric: Objective) -> st.SearchStrategy[tuple[float, float]]:
    """Intervals of inner values of a metric, as intervals have them."""
    if metric.exact:
        return st.floats(0.5, 1e6).map(lambda x: (float(metric.inward(x)),) * 2)
    if metric.bounds is not None:
        values = st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1.0)), min_size=2, max_size=2)
    else:
        values = st.lists(st.floats(1e-3, 1e3) if metric.relative else st.floats(-1e3, 1e3), min_size=2, max_size=2)

    def inner(pair: list[float]) -> tuple[float, float]:
        with np.errstate(divide="ignore"):
            a, b = sorted(float(np.log(x)) if metric.relative else x for x in pair)
        return (-b + 0.0, -a + 0.0) if metric.minimized else (a, b)

    unbounded = metric.bounds is None
    return st.tuples(values.map(inner), st.booleans(), st.booleans()).map(
        lambda each: (
            -math.inf if each[1] and unbounded else each[0][0],
            math.inf if each[2] and unbounded else each[0][1],
        )
    )


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Objective, tuple[float, float], tuple[float, float]]:
    metric = draw(st.sampled_from(METRICS))
    return metric, draw(ends(metric)), draw(ends(metric))


def intervals_of(metric: Objective, *intervals: tuple[float, float], confidence: float | None = 0.9) -> Comparable:
    low, high = (np.array([[each[side]] for each in intervals]) for side in (0, 1))
    with np.errstate(invalid="ignore"):
        middle = np.where(np.isfinite(low + high), (low + high) / 2, np.nan)
    names = [str(i) for i in range(len(intervals))]
    return Comparable(names, (metric,), middle, low, high, confidence)


def true_value(metric: Objective, interval: tuple[float, float], share: float) -> float:
    """A value in units that an interval of inner values allows."""
    low, high = (float(end) for end in metric.outward_interval(*interval))
    high = high if math.isfinite(high) else max(low, 1.0) + 1e3
    low = low if math.isfinite(low) else high - 1e3
    if metric.relative and metric.bounds is None:
        low = max(low, min(1e-6, high))  # values are positive, so their quantiles are
    return low + share * (high - low)


@given(pairs(), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=100, deadline=None)
def test_whatever_the_boxes_allow_lies_in_the_spans_and_agrees_with_the_contrast(
    pair: Any, mine: float, its: float
) -> None:
    metric, arm, baseline = pair
    effect = against(intervals_of(metric, baseline, arm), 0, np.array([1])).of(0).effects[0]
    x, y = true_value(metric, arm, mine), true_value(metric, baseline, its)
    slack = 1e-9 * max(1.0, abs(x), abs(y))
    assert effect.difference.low - slack <= x - y <= effect.difference.high + slack
    if effect.ratio is not None:
        assert y > 0.0
        assert effect.ratio.low * (1 - 1e-9) <= x / y <= effect.ratio.high * (1 + 1e-9)
    with np.errstate(divide="ignore"):
        inner = [math.log(v) if v > 0.0 else -math.inf for v in (x, y)] if metric.relative else [x, y]
    if not all(map(math.isfinite, inner)):
        return
    ahead = (inner[0] - inner[1]) * (-1 if metric.minimized else 1)
    gamma, off = metric.inner_tolerance, 1e-9 * max(1.0, abs(x), abs(y))
    assert {
        Contrast.BETTER: ahead > gamma - off,
        Contrast.WORSE: ahead < off - gamma,
        Contrast.ALIKE: abs(ahead) <= gamma + off,
        Contrast.NO_WORSE: ahead >= -gamma - off,
        Contrast.NO_BETTER: ahead <= gamma + off,
        Contrast.OPEN: True,
    }[effect.contrast]
    assert effect.sign * ahead >= -off


@given(pairs())
@settings(max_examples=60, deadline=None)
def test_spans_are_no_wider_than_the_boxes_make_them(pair: Any) -> None:
    """The four corners of two intervals are attained: no end lies beyond them."""
    metric, arm, baseline = pair
    effect = against(intervals_of(metric, baseline, arm), 0, np.array([1])).of(0).effects[0]
    a, b = ([float(end) for end in metric.outward_interval(*each)] for each in (arm, baseline))
    corners = [x - y for x in a for y in b if math.isfinite(x - y)]
    if len(corners) == 4:
        assert effect.difference.low == pytest.approx(min(corners))
        assert effect.difference.high == pytest.approx(max(corners))
    if effect.ratio is not None and b[0] > 0.0 and all(map(math.isfinite, a + b)):
        quotients = [x / y for x in a for y in b]
        assert effect.ratio.low == pytest.approx(min(quotients))
        assert effect.ratio.high == pytest.approx(max(quotients))


@pytest.mark.parametrize(
    ("metric", "baseline", "arm", "there"),
    [
        (METRICS[0], (1.0, 2.0), (3.0, 4.0), True),
        (METRICS[0], (-1.0, 2.0), (3.0, 4.0), False),
        (METRICS[0], (0.0, 2.0), (3.0, 4.0), False),
        (METRICS[0], (1.0, 2.0), (-3.0, 4.0), False),
        (METRICS[0], (1.0, 2.0), (0.0, 4.0), True),
        (METRICS[0], (-math.inf, 2.0), (3.0, 4.0), False),
        (METRICS[0], (-4.0, -3.0), (-2.0, -1.0), False),
        (METRICS[2], (-math.inf, math.inf), (0.0, 1.0), True),  # positive by declaration: (0, ∞)
        (METRICS[4], (0.0, 0.5), (0.2, 0.3), False),  # a rate that may be 0
        (METRICS[6], (-0.5, math.inf), (0.2, 0.3), False),  # the same where it is compared by ratios
    ],
)
def test_there_is_a_ratio_only_of_what_is_certainly_positive(
    metric: Objective, baseline: tuple[float, float], arm: tuple[float, float], there: bool
) -> None:
    effect = against(intervals_of(metric, baseline, arm), 0, np.array([1])).of(0).effects[0]
    assert (effect.ratio is not None) == there


def test_an_empty_box_and_no_promise_say_nothing() -> None:
    metric = METRICS[0]
    empty = against(intervals_of(metric, (2.0, 1.0), (5.0, 6.0)), 0, np.array([1])).of(0).effects[0]
    assert (empty.difference.low, empty.difference.high, empty.ratio) == (-math.inf, math.inf, None)
    assert empty.contrast == Contrast.OPEN
    void = against(intervals_of(metric, (1.0, 2.0), (5.0, 6.0), confidence=None), 0, np.array([1])).of(0)
    assert void.confidence is None
    assert void.effects[0].contrast == Contrast.OPEN
    assert void.effects[0].sign == 0


def test_exact_metrics_compare_exactly() -> None:
    metric = METRICS[5]
    point = [(float(metric.inward(x)),) * 2 for x in (100.0, 50.0)]
    effect = against(intervals_of(metric, *point), 0, np.array([1])).of(0).effects[0]
    assert effect.ratio == Span(0.5, 0.5, 0.5)
    assert effect.difference == Span(-50.0, -50.0, -50.0)
    assert effect.contrast == Contrast.BETTER


def result(arms: int = 4) -> Answer:
    estimates = np.arange(arms * 2, dtype=float).reshape(arms, 2) + 1.0
    return Answer(
        "certified", "certified", tuple(f"arm {i}" for i in range(arms)), ("speed", "cost"), np.ones(arms, np.int64),
        Intervals(estimates, estimates - 0.5, estimates + 0.5), np.ones(arms, np.int64), np.full(arms, -1),
        Certificate(0.0, 0.0, 0.9, "oblivious", 0.0),
    ).in_units([Objective("speed", "maximize"), Objective("cost", "minimize")])  # fmt: skip


def test_all_arms_at_once_are_those_one_by_one() -> None:
    found = result()
    found.inner.upper[2, 1], found.inner.lower[3, 0] = np.inf, -np.inf
    for baseline in found.arms:
        many = found.against(baseline)
        assert many.arms == tuple(arm for arm in found.arms if arm != baseline)
        for each in many:
            alone = found.compare(each.arm, baseline)
            assert repr(alone) == repr(each)  # a NaN is not equal to itself
        assert dict(many.plain()) == {each.arm: each.to_dict()["metrics"] for each in many}
    two = found.against("arm 0").some(np.array([2, 0]))
    assert two.arms == ("arm 3", "arm 1")
    assert repr(two.of(1)) == repr(found.compare("arm 1", "arm 0"))


def test_unknown_arms_are_refused_in_one_line_with_near_misses(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        result().compare("ram 1", "arm 0")
    with refused(BadInput, snapshot):
        result().against("nobody")
    with refused(BadInput, snapshot):
        result().compare("arm 1", "arm 1")
    with refused(BadInput, snapshot):
        result().compare(3, "arm 1")  # type: ignore[arg-type]


def test_what_was_not_measured_has_no_estimate_and_no_bounds() -> None:
    found = result()
    found.inner.estimates[1], found.inner.lower[1], found.inner.upper[1] = np.nan, -np.inf, np.inf
    effect = found.compare("arm 1", "arm 0")["speed"]
    assert effect.to_dict() == {
        "difference": {"estimate": None, "low": None, "high": None}, "ratio": None, "contrast": "open",
    }  # fmt: skip


def test_results_without_metrics_compare_inner_values() -> None:
    plain = replace(result(), metrics=())
    assert plain.compare("arm 1", "arm 0")["cost"].difference == Span(2.0, 1.0, 3.0)
    assert plain.compare("arm 1", "arm 0")["cost"].contrast == Contrast.BETTER


def test_analyses_have_it() -> None:
    rng = np.random.default_rng(0)
    log = {"arm": ["main", "pr"] * 200, "seconds": np.tile([1.0, 1.5], 200) * rng.lognormal(0.0, 0.1, 400)}
    compared = analyze(log, minimize="seconds", tolerance="5%", contamination=0.05).compare("pr", "main")
    ratio = compared["seconds"].ratio
    assert ratio is not None
    assert ratio.low < 1.5 < ratio.high
    assert compared["seconds"].contrast == Contrast.WORSE
    assert list(compared) == ["seconds"]
    assert str(compared).startswith("pr / main = ")
    with pytest.raises(KeyError):
        compared["bytes"]


def test_notebooks_show_names_as_data() -> None:
    named = replace(result(), arms=("<b>a</b>", "arm 1", "arm 2", "arm 3"))
    for shown in (named.against("<b>a</b>")._repr_html_(), named.pick("knee")._repr_html_()):
        assert "<b>" not in shown
        assert "&lt;b&gt;a&lt;/b&gt;" in shown
