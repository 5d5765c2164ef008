"""The exact bound of pairs of 0 and 1: against laws that are enumerated, McNemar's test, and attackers."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from frontguard._common.typing import Floats
from frontguard.evidence.differences.discordant import (
    highest_difference,
    highest_probability,
    most_wins,
    score_limit,
    score_of,
)

LEVELS = (0.025, 0.2)


def outcomes(laws: Floats) -> Floats:
    """The probabilities (n + 1, n + 1) of so many wins and losses, of independent (n, 3) losses, ties and wins."""
    found = np.ones((1, 1))
    for lose, tie, win in laws:
        longer = np.zeros((len(found) + 1, len(found) + 1))
        longer[:-1, :-1] += tie * found
        longer[1:, :-1] += win * found
        longer[:-1, 1:] += lose * found
        found = longer
    return found


def law(m: float, rate: float) -> tuple[float, float, float]:
    """Of a difference with this mean, by how often it is not 0."""
    return (rate - m) / 2, 1 - rate, (rate + m) / 2


def probability_of(wins: np.ndarray, laws: Floats) -> float:
    n = len(wins) - 1
    inside = np.arange(n + 1)[:, None] <= wins[None, :]
    return float(outcomes(laws)[inside].sum())


@pytest.mark.parametrize("m", [-0.7, -0.2, 0.0, 0.1, 0.6])
def test_no_independent_laws_give_a_set_of_outcomes_more_than_the_corners(m: float) -> None:
    n, rng = 7, np.random.default_rng(3)
    for limit in (-0.4, -0.1, 0.0, 0.15, 0.5):
        wins = most_wins(limit, n, 1.96)
        corners = [probability_of(wins, np.array([law(m, 1.0)] * k + [law(m, abs(m))] * (n - k))) for k in range(n + 1)]
        found = highest_probability(wins, m)
        assert max(corners) <= found <= max(corners) + 1e-11
        for _ in range(20):  # means of at least m, whatever the rates are, and different ones
            means = m + (1 - m) * rng.random(n) * (rng.random(n) < 0.3)
            rates = np.abs(means) + (1 - np.abs(means)) * rng.random(n) ** 2
            laws = np.array([law(*each) for each in zip(means, rates, strict=True)])
            assert probability_of(wins, laws) <= found


def bounds(n: int, delta: float) -> Floats:
    """The bound (n + 1, n + 1) of each outcome; NaN where there is none."""
    found = np.full((n + 1, n + 1), np.nan)
    for wins, losses in product(range(n + 1), repeat=2):
        if wins + losses <= n:
            found[wins, losses] = highest_difference(float(wins), float(losses), n, delta)
    return found


@pytest.mark.parametrize("delta", LEVELS)
@pytest.mark.parametrize("n", [1, 4, 14])
def test_the_bound_is_missed_with_the_promised_probability_whatever_the_rates(n: int, delta: float) -> None:
    found, most = bounds(n, delta), 0.0
    assert (np.diff(found, axis=0)[~np.isnan(np.diff(found, axis=0))] >= -1e-9).all()  # a win more never lowers it
    for m in np.linspace(-0.95, 0.95, 39):
        missed = found < m - 1e-12
        for rate in np.unique(np.concatenate([[abs(m)], np.linspace(abs(m), 1.0, 30)])):
            most = max(most, float(outcomes(np.array([law(m, rate)] * n))[missed].sum()))
        for k in range(n + 1):
            laws = np.array([law(m, 1.0)] * k + [law(m, abs(m))] * (n - k))
            most = max(most, float(outcomes(laws)[missed].sum()))
    assert most <= delta
    assert most > 0.5 * delta or n == 1


@pytest.mark.parametrize("n", [60, 300])
def test_without_a_difference_it_is_the_exact_test_of_mcnemar(n: int) -> None:
    delta, differ, edge = 0.025, 0, 0
    for losses in range(4, 40, 5):
        for wins in range(losses + 1):
            refuted = highest_difference(float(wins), float(losses), n, delta) < 0.0
            p = binom.cdf(wins, wins + losses, 0.5)
            assert not refuted or p <= delta
            edge += p <= delta
            differ += refuted != (p <= delta)
    assert differ <= 0.05 * edge


def test_a_bound_is_where_the_score_is_and_neither_is_below_what_was_seen() -> None:
    for wins, losses, n in ((0, 0, 300), (18, 36, 300), (5, 2, 40), (1, 0, 3), (0, 300, 300)):
        found = highest_difference(float(wins), float(losses), n, 0.025)
        limit = score_limit(float(wins), float(losses), float(n), score_of(0.025))
        assert (wins - losses) / n <= found <= 1.0
        assert n < 100 or abs(found - limit) < 0.1 * (limit - (wins - losses) / n) + 4 / n
    assert highest_difference(3.0, 0.0, 3, 0.025) == 1.0


@pytest.mark.parametrize("attack", ["prescient", "malicious", "share"])
def test_arms_that_are_alike_are_told_apart_as_rarely_as_promised(attack: str) -> None:
    """Every hit helps the one arm; answers (1, 1) .54, (1, 0) .06, (0, 1) .06, (0, 0) .34."""
    rng, n, eps, delta, runs = np.random.default_rng(5), 120, 0.05, 0.05, 400
    said = 0
    for _ in range(runs):
        cell = rng.choice(4, n, p=[0.54, 0.06, 0.06, 0.34])
        mine, its = (cell <= 1).astype(float), (cell % 2 == 0).astype(float)
        if attack == "prescient":
            mine[rng.random(n) < eps], its[rng.random(n) < eps] = 0.0, 1.0
            times, less = 1.0 - eps, 0.0
        elif attack == "malicious":
            mine[(mine == 1.0) & (rng.random(n) < eps / 0.6)] = 0.0
            its[(its == 0.0) & (rng.random(n) < eps / 0.4)] = 1.0
            times, less = 1.0, eps
        else:
            mine[np.flatnonzero(mine == 1.0)[: math.floor(eps * n)]] = 0.0
            its[np.flatnonzero(its == 0.0)[: math.floor(eps * n)]] = 1.0
            times, less = 1.0, 0.0
        taken = 2 * math.floor(eps * n) if attack == "share" else 0
        wins, losses = float((mine > its).sum() + taken), float((mine < its).sum())
        nu = 0.5 + 0.5 * highest_difference(wins, losses, n, delta)
        said += 2.0 * (nu + less) / times - 1.0 < 0.0
    assert said / runs <= delta + 3.0 * math.sqrt(delta * (1 - delta) / runs)
    assert said > 0 or attack == "share"
