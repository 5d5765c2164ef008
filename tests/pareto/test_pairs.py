"""Verdicts with evidence on pairs beside the intervals: against a truth that all bounds hold of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontguard.evidence.intervals import ArmIntervals
from frontguard.pareto.judge import judge, promised_now
from frontguard.pareto.relations import LimitRule
from frontguard.verdicts import Verdict


def world(rng: np.random.Generator, arms: int, objectives: int, *, ties: bool) -> tuple[Any, ArmIntervals]:
    """True values, wide intervals around them, and bounds of some differences that are much sharper; all of which
    hold."""
    truth = rng.random((arms, objectives))
    if ties:
        truth = np.round(truth, 1)
    lower, upper = truth - rng.random(truth.shape) * 0.6, truth + rng.random(truth.shape) * 0.6
    centre = np.clip(truth + 0.05 * rng.normal(size=truth.shape), lower, upper)
    apart = truth[:, None] - truth[None] + np.where(ties, rng.integers(0, 2, (arms, arms, objectives)) * 0.1, 0.0)
    apart += rng.random(apart.shape) * (0.0 if ties else 0.05)
    apart[rng.random(apart.shape) < 0.3] = np.inf
    apart[np.arange(arms), np.arange(arms)] = np.inf
    return truth, ArmIntervals(lower, upper, centre, centre, centre, apart)


def bounds(intervals: ArmIntervals) -> Any:
    assert intervals.apart is not None
    return np.minimum(intervals.upper[:, None] - intervals.lower[None], intervals.apart)


@pytest.mark.parametrize("goal", ["front", "list"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_verdicts_are_true_wherever_the_bounds_are(objectives: int, ties: bool, goal: str) -> None:
    rng = np.random.default_rng([objectives, ties])
    out_by_pairs = 0
    for trial in range(40):
        gamma = np.zeros(objectives) if trial % 2 else np.full(objectives, 0.1)
        truth, intervals = world(rng, int(rng.integers(2, 14)), objectives, ties=ties)
        found = judge(intervals, gamma, gamma, np.zeros(objectives), goal=goal)
        D = bounds(intervals)
        alone = judge(ArmIntervals(*intervals.alone), gamma, gamma, np.zeros(objectives), goal=goal)
        for i, code in enumerate(found.codes.tolist()):
            k = int(found.decided_by[i])
            if code == Verdict.BEATEN:
                assert (truth[i] <= truth[k]).all()
                assert (truth[i] < truth[k]).any()
                assert found.codes[k] != Verdict.BEATEN
                out_by_pairs += alone.codes[i] != Verdict.BEATEN
            elif code == Verdict.KEEP:
                beats = np.where(gamma > 0, truth - truth[i] > gamma + 1e-12, truth >= truth[i]).all(axis=1)
                assert not (beats & (truth != truth[i]).any(axis=1)).any()
            elif code == Verdict.MATCHED:
                assert found.codes[k] == Verdict.KEEP
                assert (D[i, k] <= gamma).all()
        noisy = np.zeros(objectives, np.bool_)
        accuracy, coverage = promised_now(intervals, found, gamma, gamma, np.zeros(objectives), goal=goal, exact=noisy)
        alive, inside = found.codes != Verdict.BEATEN, found.front
        gaps = (D[np.ix_(alive & ~inside, inside)] - gamma).max(axis=2)
        missing = gaps.min(axis=1, initial=np.inf).max(initial=-np.inf)
        assert np.array_equal(coverage, np.maximum(gamma + missing, 0.0))
        if inside.sum() and alive.sum() > 1 and not ties:
            short = [(D[j, i] - gamma).min() for i in np.flatnonzero(inside) for j in np.flatnonzero(alive) if i != j]
            assert np.array_equal(accuracy, np.maximum(gamma + max(short), 0.0))
    assert out_by_pairs > 0


def test_pairs_of_arms_without_a_box_are_not_read() -> None:
    """Of an arm of which nothing is believed any more, and of one that may be beyond a limit, they prove nothing."""
    apart = np.full((2, 2, 1), np.inf)
    apart[0, 1] = -0.5  # arm 1 is better, if anything is believed
    wide = np.array([[-1.0], [-np.inf]]), np.array([[1.0], [np.inf]])
    middle = np.zeros((2, 1))
    assert judge(ArmIntervals(*wide, middle, middle, middle, apart), 0.1, 0.1, 0.0).codes[0] != Verdict.BEATEN
    bounded = np.full((2, 1), -1.0), np.full((2, 1), 1.0)
    intervals = ArmIntervals(
        *(np.hstack([each, each]) for each in (*bounded, middle, middle, middle)), apart.repeat(2, axis=2)
    )
    assert judge(ArmIntervals(*bounded, middle, middle, middle, apart), 0.1, 0.1, 0.0).codes[0] == Verdict.BEATEN
    limits = LimitRule(np.array([1]), np.array([0.5]), np.array([-2.0]))  # of which intervals say nothing
    assert judge(intervals, 0.1, 0.1, 0.0, limits).codes[0] != Verdict.BEATEN
