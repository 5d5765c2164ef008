"""Bets that aim at one look: against a naive twin, as often false as promised, and nearly as sharp as normal theory."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from frontguard._common.typing import Floats
from frontguard.evidence.bets import aimed_mean
from frontguard.evidence.confidence_sequences import threshold_of
from tests.support.bets import upper_mean_at

LAWS = {
    "coins": lambda rng, n: (rng.random(n) < 0.5).astype(float),
    "rare": lambda rng, n: (rng.random(n) < 0.03).astype(float),
    "often": lambda rng, n: (rng.random(n) < 0.97).astype(float),
    "differences": lambda rng, n: 0.5 + 0.5 * rng.choice([-1.0, 0.0, 0.3, 1.0], n, p=[0.1, 0.5, 0.3, 0.1]),
    "even": lambda rng, n: rng.random(n),
    "narrow": lambda rng, n: rng.beta(30, 30, n),
}
MEANS = {"coins": 0.5, "rare": 0.03, "often": 0.97, "differences": 0.545, "even": 0.5, "narrow": 0.5}


def naive_mean(values: Floats, threshold: float) -> float:
    """The same, as it is written, with the wealth itself."""
    n, points = len(values), math.ceil(256 * math.sqrt(len(values)))

    def refuted(c: float) -> bool:
        wealth, seen = 1.0, [0.5, 0.5]  # the sums of values and of their squares, with half of a 1 and of a 0
        for t, value in enumerate(values.tolist()):
            mean = seen[0] / (t + 1)
            variance = max(1e-6, seen[1] / (t + 1) - mean**2)
            bet = math.sqrt(2 * (threshold - math.log(wealth)) / ((n - t) * variance))
            wealth *= 1 + min(bet, 0.99 / max(1e-9, 1 - c)) * (c - value)
            if math.log(wealth) >= threshold:
                return True
            seen = [seen[0] + value, seen[1] + value**2]
        return False

    point = points
    while point >= 0 and refuted(point / points):
        point -= 1
    return min(1.0, (point + 1) / points)


@pytest.mark.parametrize("law", LAWS)
def test_it_is_the_naive_bound(law: str) -> None:
    values = LAWS[law](np.random.default_rng(1), 30)
    for delta in (0.2, 0.01):
        assert aimed_mean(values, threshold_of(delta)) == pytest.approx(naive_mean(values, threshold_of(delta)))


@pytest.mark.parametrize("n", [5, 60])
@pytest.mark.parametrize("law", LAWS)
def test_it_is_missed_as_rarely_as_promised(law: str, n: int) -> None:
    rng, runs, delta = np.random.default_rng(n), 1500, 0.1
    missed = np.mean([aimed_mean(LAWS[law](rng, n), threshold_of(delta)) < MEANS[law] for _ in range(runs)])
    assert missed <= delta + 3 * math.sqrt(delta * (1 - delta) / runs)
    assert missed > 0.02 or n == 5 or law in ("rare", "often", "narrow")


def test_more_wealth_than_is_allowed_would_be_seen() -> None:
    rng, runs, delta = np.random.default_rng(0), 600, 0.1
    said = [aimed_mean(rng.random(60), threshold_of(2 * delta)) < 0.5 for _ in range(runs)]
    assert np.mean(said) > delta + 2 * math.sqrt(delta * (1 - delta) / runs)


def test_it_is_nearly_as_narrow_as_normal_theory_and_narrower_than_fixed_bets() -> None:
    rng, n, delta = np.random.default_rng(2), 500, 0.0125
    values = [rng.random(n) for _ in range(12)]
    reach = np.mean([aimed_mean(each, threshold_of(delta)) - each.mean() for each in values])
    assert reach < 1.1 * norm.isf(delta) * math.sqrt(1 / 12 / n)
    assert reach < 0.8 * np.mean([upper_mean_at(each, delta) - each.mean() for each in values])
