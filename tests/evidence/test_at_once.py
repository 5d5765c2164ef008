"""Bets at one look, by how far values spread: against a naive twin, as rarely false as promised, and hardly wider."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from frontguard import Malicious, Objective, Oblivious, Prescient, Share
from frontguard._common.typing import Floats
from frontguard.evidence.bets import THETAS, unrefuted_at_once, unrefuted_mean, weights_for
from frontguard.evidence.confidence_sequences import threshold_of
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.readers import IntervalReader
from frontguard.theory.threats import Threat
from tests.support.bets import sums_of_bets, upper_mean_at

Rng = np.random.Generator
LAWS: dict[str, tuple[Callable[[Rng, int], Floats], float]] = {
    "even": (lambda rng, n: rng.random(n), 0.5),
    "arcs": (lambda rng, n: rng.beta(0.5, 0.5, n), 0.5),
    "three": (lambda rng, n: rng.choice([0.0, 0.5, 1.0], n, p=[0.3, 0.3, 0.4]), 0.55),
    "rarely low": (lambda rng, n: np.where(rng.random(n) < 0.04, 0.0, 0.9), 0.864),
    "narrow": (lambda rng, n: rng.beta(300, 100, n), 0.75),
    "at an edge of cells": (lambda rng, n: rng.beta(20, 60, n), 0.25),
}


def naive_mean(values: Floats, delta: float) -> float:
    """The same on a grid of means, by what docs/theory.md says of each of them."""
    n, threshold = len(values), threshold_of(delta)
    odds, wealth = threshold + math.log(2.0 / 0.04) + 1e-6, threshold - math.log(0.96)
    sums, useful = sums_of_bets(values), np.exp(weights_for(float(n), wealth, True))

    def spreads(spread: float, noise: float) -> tuple[float, float]:
        below = max(0.0, spread - math.sqrt(2 * spread * noise))
        return below, (math.sqrt(noise / 2) + math.sqrt(spread + noise / 2)) ** 2

    def refuted(c: float) -> bool:
        a = (min(63, int(64 * c)) + 0.5) / 64
        noise = max(a, 1 - a) ** 2 * odds / n
        likely = spreads(((values - a) ** 2).mean(), noise)
        seen = [math.log(max(each, 0.05 * noise)) / math.log(1.4) for each in likely]
        for place in range(math.floor(seen[0]), math.floor(seen[1]) + 1):
            narrow, wide = spreads(1.4 ** (place + 0.5), noise)
            bets = THETAS / (1 - THETAS * a)
            low, high = (math.sqrt(2 * wealth / (n * each)) if each else math.inf for each in (wide, narrow))
            low *= math.exp(-0.2 - 0.4 * low * (1 - a))
            high *= math.exp(min(0.35 + high * a, 100.0))
            apart = np.where(useful > 0, np.maximum(1.0, np.maximum(low / bets, bets / high)), np.inf)
            kept = useful * (apart == apart.min())
            weights = 0.02 * useful + 0.98 * kept / kept.sum()
            with np.errstate(divide="ignore"):
                of_bets = np.log(weights) + sums - n * np.log1p(-THETAS * c)
            if np.logaddexp.reduce(of_bets) < wealth:
                return False
        return True

    grid = np.linspace(0.0, 1.0, 5001)
    return max(c for c in grid.tolist() if not refuted(c))


def at_once(values: Floats, delta: float) -> float:
    moments = float(values.mean()), float(values.var())
    return float(unrefuted_at_once(sums_of_bets(values), float(len(values)), *moments, threshold_of(delta)))


@pytest.mark.parametrize("law", LAWS)
def test_it_is_the_naive_bound(law: str) -> None:
    for n in (8, 150):
        values = LAWS[law][0](np.random.default_rng(n), n)
        assert at_once(values, 0.02) == pytest.approx(naive_mean(values, 0.02), abs=3e-4)


@pytest.mark.parametrize("n", [5, 60, 800])
@pytest.mark.parametrize("law", LAWS)
def test_it_is_missed_as_rarely_as_promised(law: str, n: int) -> None:
    rng, (draw, mean), runs, delta = np.random.default_rng(n), LAWS[law], 600, 0.1
    missed = np.mean([at_once(draw(rng, n), delta) < mean for _ in range(runs)])
    assert missed <= delta + 3 * math.sqrt(delta * (1 - delta) / runs)


@pytest.mark.parametrize("law", LAWS)
def test_it_is_never_much_wider_than_bets_on_any_spread_and_narrower_where_values_spread(law: str) -> None:
    for n, most in ((10, 1.02), (100, 1.02), (2000, 0.94 if law in ("even", "arcs", "three") else 1.0)):
        ours, others = 0.0, 0.0
        for seed in range(8):
            values = LAWS[law][0](np.random.default_rng(seed), n)
            weights = weights_for(float(n), threshold_of(0.0125), True)
            of_any = unrefuted_mean(sums_of_bets(values), float(n), threshold_of(0.0125), weights)
            ours, others = ours + at_once(values, 0.0125) - values.mean(), others + of_any - values.mean()
        assert ours / others <= most


SCORE = Objective("score", "maximize", statistic="mean", bounds=(0, 10))


def read(values: Floats, failed: int, threat: Threat) -> tuple[float, float]:
    """The interval of a log with one arm."""
    n = len(values)
    log = Ordered(["a"], ("score",), np.array([n + failed]), np.array([[0, n]]), (np.sort(10.0 * values),))
    found = IntervalReader(log, [SCORE], 0.1).read(threat)
    return found.lower.item(), found.upper.item()


@pytest.mark.parametrize("failed", [0, 7])
def test_a_log_is_read_by_it_and_failed_rows_are_the_worst(failed: int) -> None:
    values = np.random.default_rng(3).random(200)
    low, high = read(values, failed, Prescient(0.0))
    ends = [upper_mean_at(np.append(each, np.ones(failed)), 0.05) for each in (values, 1.0 - values)]
    assert [high, low] == pytest.approx([10.0 * ends[0], 10.0 * (1.0 - ends[1])])


def test_intervals_widen_with_contamination_and_are_fixed_bets_where_somebody_may_lie() -> None:
    values = np.random.default_rng(4).random(1000)
    clean, threshold = read(values, 0, Prescient(0.0)), threshold_of(0.05)
    fixed = unrefuted_mean(sums_of_bets(values), 1000.0, threshold, weights_for(1000.0, threshold, True))
    for threat in (Oblivious, Prescient, Malicious, Share):
        least = read(values, 0, threat(1e-9))
        assert least[1] == pytest.approx(10.0 * fixed, rel=1e-6)
        assert least[0] < clean[0]
        assert clean[1] < least[1] <= read(values, 0, threat(0.05))[1]
