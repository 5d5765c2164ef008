"""Choosing one, held against worlds drawn from the intervals: whoever is best in one of them must be among those
named."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import Answer, BadInput, Objective, analyze
from frontguard.comparisons.picks import Pick
from frontguard.limits import columns_for, parse_limits
from frontguard.results import Certificate, Intervals, Kept
from frontguard.verdicts import Verdict
from tests.support.snapshots import refused

METRICS = (Objective("seconds", "minimize", "5%"), Objective("score", "maximize"), Objective("cost", "minimize", 0.5))
KEEP, BEATEN, MATCHED, OPEN, EXCLUDED_ARMS = (
    Verdict.KEEP,
    Verdict.BEATEN,
    Verdict.MATCHED,
    Verdict.UNDECIDED,
    Verdict.EXCLUDED,
)


def result(low: Any, high: Any, codes: Any, metrics: tuple[Objective, ...] = METRICS, confidence: Any = 0.9) -> Answer:
    low, high = np.array(low, float), np.array(high, float)
    known = np.isfinite(low) & np.isfinite(high)
    middle = np.where(known, (np.where(known, low, 0.0) + np.where(known, high, 0.0)) / 2, np.nan)
    return Answer(
        "certified", "certified", tuple("abcdefgh"[: len(low)]), tuple(m.name for m in metrics), np.array(codes),
        Intervals(middle, low, high), np.ones(len(low), np.int64), np.full(len(low), -1),
        Certificate(0.0, 0.0, confidence, "oblivious", 0.0, void="" if confidence else "bias"),
    ).in_units(metrics)  # fmt: skip


def naive_score(weights: dict[str, float], values: Any) -> float:
    """In per cent of logarithms for a percentage, in units otherwise: added up one by one."""
    units = {"seconds": 100.0, "score": 1.0, "cost": 1.0}
    names = [metric.name for metric in METRICS]
    return sum(weight * units[name] * values[names.index(name)] for name, weight in weights.items() if weight)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Answer, np.random.Generator]:
    arms = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    low = rng.normal(0, 1, (arms, 3))
    if draw(st.booleans()):
        low = np.round(low)
    high = low + rng.exponential(0.5, low.shape) * (rng.uniform(size=low.shape) < 0.8)
    if draw(st.booleans()):
        high[rng.uniform(size=high.shape) < 0.1] = np.inf
        low[rng.uniform(size=low.shape) < 0.1] = -np.inf
    codes = rng.choice([KEEP, MATCHED, OPEN], arms)
    return result(low, high, codes), rng


def possible(found: Answer, rng: np.random.Generator) -> Any:
    """True values that the intervals allow, corners often."""
    low, high = np.clip(found.inner.lower, -9, 9), np.clip(found.inner.upper, -9, 9)
    share = rng.uniform(size=low.shape)
    share = np.where(rng.uniform(size=low.shape) < 0.5, np.round(share), share)
    return low + share * (high - low)


@given(worlds(), st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=3, max_size=3).filter(any))
@settings(max_examples=50, deadline=None)
def test_whoever_is_best_by_weights_in_a_possible_world_is_named(world: Any, weights: list[float]) -> None:
    found, rng = world
    given = dict(zip([metric.name for metric in METRICS], weights, strict=True))
    chosen = found.pick(weights=given)
    for _ in range(20):
        truth = possible(found, rng)
        scores = np.array([naive_score(given, row) for row in truth])
        _holds(found, chosen, scores)


@given(worlds())
@settings(max_examples=50, deadline=None)
def test_whoever_is_the_knee_in_a_possible_world_is_named(world: Any) -> None:
    found, rng = world
    chosen = found.pick("knee")
    listed = found.having(KEEP)
    known = found.inner.estimates[listed & np.isfinite(found.inner.estimates).all(axis=1)]
    if len(known) < 2 or not np.ptp(known, axis=0).any():
        return  # the range is another one then
    used = np.ptp(known, axis=0) > 0
    for _ in range(20):
        truth = possible(found, rng)
        losses = [
            max((known[:, d].max() - row[d]) / np.ptp(known[:, d]) for d in np.flatnonzero(used)) for row in truth
        ]
        _holds(found, chosen, -np.array(losses))


def _holds(found: Answer, chosen: Pick, scores: Any) -> None:
    assert chosen.arm is not None
    mine, best = scores[found.arms.index(chosen.arm)], scores.max()
    assert best - mine <= chosen.behind + 1e-9
    if chosen.certain:
        assert chosen.among == (chosen.arm,)
        assert mine >= best - 1e-9
    assert max(scores[found.arms.index(arm)] for arm in chosen.among) >= best - 1e-9
    assert chosen.score[1] - 1e-9 <= mine <= chosen.score[2] + 1e-9


@given(worlds(), st.floats(-2, 2))
@settings(max_examples=40, deadline=None)
def test_limits_come_first(world: Any, at_least: float) -> None:
    found, rng = world
    chosen = found.pick(weights={"seconds": 1.0, "cost": 1.0}, limit=f"score>={at_least}")
    for _ in range(20):
        truth = possible(found, rng)
        keeps = truth[:, 1] >= at_least
        if chosen.arm is not None:
            assert keeps[found.arms.index(chosen.arm)]
        scores = np.array([naive_score({"seconds": 1.0, "cost": 1.0}, row) for row in truth])
        if keeps.any():
            best = scores[keeps].max()
            assert max(scores[found.arms.index(arm)] for arm in chosen.among) >= best - 1e-9
            if chosen.arm is not None:
                assert best - scores[found.arms.index(chosen.arm)] <= chosen.behind + 1e-9


def test_arms_set_aside_or_beyond_a_limit_of_the_answer_are_not_chosen() -> None:
    low = np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2]], float)
    assert result(low, low, [KEEP, KEEP, EXCLUDED_ARMS]).pick(weights={"score": 1}).arm == "b"
    gates = columns_for(METRICS, parse_limits(["cost<=-1.5"])).gates
    kept = Kept(gates, np.array([[1], [2], [0]]), Intervals(low[:, 2:], low[:, 2:], low[:, 2:]))
    some = result(low, low + 0.1, [OPEN, BEATEN, KEEP]).keeping_to(kept)
    assert some.pick(weights={"seconds": 1}).arm == "c"
    none = result(low[:2], low[:2] + 0.1, [OPEN, BEATEN]).keeping_to(
        Kept(gates, np.array([[1], [2]]), Intervals(low[:2, 2:], low[:2, 2:], low[:2, 2:]))
    )
    chosen = none.pick(weights={"seconds": 1})
    assert (chosen.arm, chosen.among, chosen.certain) == (None, ("a",), False)


def test_the_list_is_preferred_and_what_is_better_for_sure_is_taken_all_the_same() -> None:
    low = np.array([[1.0, 0, 0], [1.05, 0, 0]])
    assert result(low, low + 0.1, [KEEP, MATCHED]).pick(weights={"seconds": 1}).arm == "a"
    apart = np.array([[1.0, 0, 0], [1.5, 0, 0]])
    chosen = result(apart, apart + 0.1, [KEEP, MATCHED]).pick(weights={"seconds": 1})
    assert (chosen.arm, chosen.certain) == ("b", True)


def test_nothing_is_certain_without_a_promise() -> None:
    low = np.array([[0, 0, 0], [5, 5, 5]], float)
    chosen = result(low, low, [KEEP, KEEP], confidence=None).pick(weights={"seconds": 1})
    assert (chosen.arm, chosen.certain, chosen.among) == ("b", False, ("a", "b"))
    assert "certain" not in str(chosen).splitlines()[0]


def test_it_says_what_is_given_up_against_each_other_arm_on_the_list() -> None:
    low = np.array([[0, 5, 1], [3, 0, 1], [9, 9, 9]], float)
    chosen = result(low, low, [KEEP, KEEP, BEATEN]).pick(weights={"score": 1})
    assert chosen.arm == "c"  # a beaten arm has the best of all if intervals say so: then it is taken
    two = result(low[:2], low[:2], [KEEP, KEEP]).pick(weights={"score": 1})
    assert two.others is not None
    assert [each.arm for each in two.others] == ["b"]
    plain = two.to_dict()
    assert plain["others"]["b"]["score"]["difference"] == {"estimate": -5.0, "low": -5.0, "high": -5.0}
    assert plain["others"]["b"]["cost"]["contrast"] == "alike"
    assert str(two).splitlines()[1].startswith("b / a = ")


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"rule": "kne"},
        {"rule": "knee", "weights": {"score": 1}},
        {"weights": {"scor": 1}},
        {"weights": {"score": -1}},
        {"weights": {"score": math.inf}},
        {"weights": {"score": 0}},
        {"weights": {}},
        {"weights": {"score": "much"}},
        {"limit": "score>=1"},
        {"limit": "p95(seconds)<=1", "weights": {"score": 1}},
        {"limit": "score<=1", "weights": {"score": 1}},
        {"limit": "score"},
    ],
)
def test_what_cannot_be_wanted_is_refused_in_one_line(asked: Any, snapshot: SnapshotAssertion) -> None:
    low = np.zeros((2, 3))
    with refused(BadInput, snapshot) as error:
        result(low, low, [KEEP, KEEP]).pick(**asked)
    assert "\n" not in str(error.value)


def test_one_metric_is_left_by_limits() -> None:
    low = np.array([[0, 5, -2], [3, 0, -1]], float)
    chosen = result(low, low, [KEEP, KEEP]).pick(limit=["score>=-1", "cost<=3"])
    assert (chosen.arm, chosen.wish.weights) == ("b", (("seconds", 1.0),))
    assert chosen.to_dict()["limits"] == ["median(score) ≥ -1", "median(cost) ≤ 3"]


def test_analyses_pick() -> None:
    rng = np.random.default_rng(0)
    log = {"arm": ["a", "b"] * 200, "x": np.tile([1.0, 2.0], 200) + rng.normal(0, 0.1, 400), "y": [2.0, 1.0] * 200}
    found = analyze(log, maximize=["x", "y"], exact="y", contamination=0.05)
    assert found.pick(weights={"x": 1, "y": 0.1}).arm == "b"
    assert found.pick(weights={"x": 0.1, "y": 1}).arm == "a"
    assert found.pick(limit="y>=1.5").certain
