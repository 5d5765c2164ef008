"""Differences within pairs: against the wealth as it is written, and against the truth of arms on the same blocks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp

from frontguard import Malicious, Objective, Prescient, Share
from frontguard.evidence.bets import LOG_WEIGHTS, THETAS
from frontguard.evidence.differences import Compared, Sampled
from frontguard.evidence.differences.lists import hits_at_most
from frontguard.evidence.differences.pairs import WithinBlocks, pair_rule
from frontguard.evidence.intervals import COLUMNS
from frontguard.evidence.statistics import statistics_of
from frontguard.theory.threats import Threat
from tests.support.bets import upper_difference, upper_mean

SCORE = Objective("score", "maximize", statistic="mean", bounds=(0, 1))
MODELS = [Prescient(0.0), Prescient(0.1), Malicious(0.1), Share(0.1)]


def rule_for(threat: Threat, arms: int = 2, delta: float = 0.05, items: int = 0, objective: Objective = SCORE) -> Any:
    hits = hits_at_most(threat, items, delta / 3) if items else None
    return pair_rule(threat, statistics_of([objective]), pairs=arms * (arms - 1), delta=delta, items=items, hits=hits)


def blocks(draw: np.random.Generator, n: int, gap: float = 0.0) -> tuple[Any, Any]:
    """Two arms on n blocks that differ much more than the arms do: the second is better by the gap."""
    hard = draw.random(n) * (1.0 - gap - 0.1)
    return hard + 0.05 * draw.random(n), hard + gap + 0.05 * draw.random(n)


@pytest.mark.parametrize("threat", [Prescient(0.0), Prescient(0.1), Malicious(0.05)])
def test_the_bound_is_the_root_of_the_capital(threat: Threat) -> None:
    worse, better = blocks(np.random.default_rng(0), 80, 0.2)
    times, less = threat.surviving
    v = [(1 + b - w) / 2 for b, w in zip(better, worse, strict=True)]

    def over(gap: float) -> float:
        nu = (1 + gap) / 2
        logs = [
            w + sum(math.log((1 - t * x) / (1 - t * max(0.0, times * nu - less))) for x in v)
            for t, w in zip(THETAS, LOG_WEIGHTS, strict=True)
        ]
        return float(logsumexp(logs)) + math.log(0.05 / 2)

    wanted = float(brentq(over, -1.0, 1.0, xtol=1e-14))
    found = upper_difference(better, worse, 0, rule_for(threat))
    assert wanted <= found <= wanted + 1e-8
    # Far narrower than what is known of each arm alone, where nothing lies.
    if threat.eps == 0.0:
        alone = upper_mean(better, 0.0125) - (1.0 - upper_mean(1.0 - worse, 0.0125))
        assert found - 0.2 < (alone - 0.2) / 2


def test_bounds_are_in_units_and_fall_only() -> None:
    draw = np.random.default_rng(1)
    stars = Objective("stars", "minimize", statistic="mean", bounds=(1, 5))
    evidence = WithinBlocks(Compared(3, 1), Prescient(0.0), statistics_of([stars]), delta=0.1)
    intervals = evidence.unknown(1)
    apart = intervals[:, COLUMNS:]
    values = np.stack([draw.random(50), draw.random(50) * 0.1, np.full(50, np.nan)])

    def refresh(*touched: int) -> None:
        samples: Any = None
        evidence.refresh(Sampled(intervals, samples, np.full(3, 50), np.array(touched), np.arange(3)))

    for arm, count in enumerate((40, 50, 50)):
        evidence.add(np.full(count, arm), np.arange(1, count + 1), values[arm, :count, None])
    refresh(0, 1, 2)
    assert apart[1, 0, 0] == 4 * upper_difference(values[1, :40], values[0, :40], 0, evidence.rules[0])
    assert np.isinf(np.diagonal(apart[:, :, 0])).all()
    assert (apart[2, :2] <= 4.0).all()
    assert apart[2, 0, 0] > 4 * upper_difference(np.full(40, 0.2), np.zeros(40), 0, evidence.rules[0])
    before = apart.copy()
    evidence.add(np.zeros(10, np.int64), np.arange(41, 51), np.full((10, 1), 0.5))
    refresh(0)
    assert (apart <= before).all()
    assert (apart[1, 2], apart[2, 1]) == (before[1, 2], before[2, 1])  # neither was touched


def test_what_failed_may_have_been_anything() -> None:
    gone, other = np.array([np.nan, 0.5, np.nan, 0.5]), np.array([0.25, np.nan, np.nan, 0.5])
    rule = rule_for(Prescient(0.0))
    worst = upper_difference(np.array([1.0, 0.5, 1.0, 0.5]), np.array([0.25, 0.0, 0.0, 0.5]), 0, rule)
    assert upper_difference(gone, other, 0, rule) == worst
    assert upper_difference(np.empty(0), np.empty(0), 0, rule) == 1.0


def test_percentages_of_means_and_quantiles_have_none() -> None:
    some = statistics_of(
        [
            SCORE,
            Objective("ms", "maximize"),
            Objective("cost", "maximize", tolerance="5%", statistic="mean", bounds=(0, 9)),
        ]
    )
    assert pair_rule(Prescient(0.1), some, pairs=2, delta=0.05).usable.tolist() == [True, False, False]


def attacked(draw: np.random.Generator, threat: Threat, better: Any, worse: Any) -> tuple[Any, Any]:
    """What an attacker leaves that wants the worse arm to look the better: each hit as bad as can be, of either arm."""
    X, Y = better.copy(), worse.copy()
    if isinstance(threat, Prescient):
        X[draw.random(len(X)) < threat.eps], Y[draw.random(len(Y)) < threat.eps] = 0.0, 1.0
    elif isinstance(threat, Malicious):  # hits where most is to be had, with probability ε overall
        X[better > np.quantile(better, 1 - threat.eps)], Y[worse < np.quantile(worse, threat.eps)] = 0.0, 1.0
    return X, Y


@pytest.mark.parametrize("items", [0, 150])
@pytest.mark.parametrize("threat", MODELS)
def test_at_every_number_of_blocks_at_once(threat: Threat, items: int) -> None:
    """Each of two arms is read as far as an adaptive study might have gone; replaced ones are chosen by an attacker."""
    draw = np.random.default_rng(11)
    delta, runs, wrong = 0.2, 160, 0
    rule = rule_for(threat, delta=2 * delta * (0.5 if items and threat.eps and not threat.taken else 1.0), items=items)
    if items and threat.eps and not threat.taken:  # half for the differences, half for the hits of two arms
        rule = rule._replace(hits=hits_at_most(threat, items, delta / 4))
    for _ in range(runs):
        hard = (draw.random(items or 150) < 0.5).astype(float)
        better = np.where(draw.random(len(hard)) < 0.1, 1.0, hard)
        worse = np.where(draw.random(len(hard)) < 0.05, 0.0, hard)
        true = (better - worse).mean() if items else (0.5 * 0.1) + (0.5 * 0.05)
        X, Y = attacked(draw, threat, better, worse)
        for n in range(5, len(hard) + 1, 7):
            one, other = X[:n].copy(), Y[:n].copy()
            taken = int(np.floor(threat.taken * n + 1e-9))
            if taken:
                one[np.argsort(-one, kind="stable")[:taken]] = 0.0
                other[np.argsort(other, kind="stable")[:taken]] = 1.0
            if upper_difference(one, other, 2 * taken, rule) < true:
                wrong += 1
                break
    assert wrong / runs <= delta + 2 * math.sqrt(delta * (1 - delta) / runs)
    assert wrong > 0 or threat.eps > 0
