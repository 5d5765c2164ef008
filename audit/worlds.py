"""Worlds of the audit: arms with known laws, and attackers who replace part of what is measured.

Rewards are drawn by quantile: an arm's value is its law's quantile of a uniform number, so that the truth is read off
the law, and an attacker who wants the lowest values knows which they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri

from audit.truth import Truth
from frontguard import Objective
from frontguard._common.typing import Floats
from frontguard.limits import columns_for, parse_limits

Law = Callable[[Floats], Floats]
"""Quantiles (n,) of levels (n,) strictly between 0 and 1."""

LEVELS: Floats = (np.arange(2_000) + 0.5) / 2_000
"""Levels whose quantiles have the mean of a law: exactly so if its probabilities are of few digits."""

FAR = 1e6
"""A value far beyond all that any arm measures."""


def normal(middle: float, sigma: float) -> Law:
    """Normal rewards."""
    return lambda u: middle + sigma * ndtri(u)


def exactly(value: float) -> Law:
    """The same value whenever it is measured."""
    return lambda u: np.full(np.shape(u), value)


def two_sided(low: float, high: float, share: float, jitter: float = 0.01) -> Law:
    """With probability `share` about `low`, else about `high`: what the middle is depends on the share alone."""

    def quantiles(u: Floats) -> Floats:
        below = u < share
        within = np.where(below, u / share, (u - share) / (1.0 - share))
        return np.where(below, low, high) * (1.0 + jitter * (within - 0.5))

    return quantiles


def categories(values: Sequence[float], weights: Sequence[float]) -> Law:
    """Discrete values with these weights."""
    ends = np.cumsum(weights) / np.sum(weights)
    ordered = np.asarray(values, np.float64)
    return lambda u: ordered[np.minimum(np.searchsorted(ends, u, side="left"), len(ordered) - 1)]


def rate(probability: float) -> Law:
    """1 with this probability, else 0."""
    return categories([0.0, 1.0], [1.0 - probability, probability])


def between(low: float, high: float, a: float, b: float) -> Law:
    """Beta-distributed between two ends."""
    return lambda u: low + (high - low) * betaincinv(a, b, u)


@dataclass(frozen=True)
class World:
    """K arms with a law for each of M objectives; values are drawn independently."""

    objectives: tuple[Objective, ...]
    laws: tuple[tuple[Law, ...], ...]  # K × M, and behind these the laws of metrics that are limited only
    limits: tuple[str, ...] = ()  # what arms must keep to

    @property
    def arms(self) -> list[str]:
        """Names of the arms."""
        return [f"arm {i}" for i in range(len(self.laws))]

    @property
    def truth(self) -> Truth:
        """The true quantiles, means and exact values."""
        rows = [[_counted(each, laws[d]) for d, each in enumerate(self.objectives)] for laws in self.laws]
        if not self.limits:
            return Truth(self.objectives, np.array(rows))
        columns = columns_for(self.objectives, parse_limits(self.limits))
        limited = [
            [
                float(gate.metric.inward(_counted(gate.metric, laws[columns.sources[gate.column]])))
                for gate in columns.gates
            ]
            for laws in self.laws
        ]
        return Truth(self.objectives, np.array(rows), np.array(limited))

    def measure(self, arm: int, rng: np.random.Generator) -> Floats:
        """One pull of an arm (M,)."""
        return np.array([float(law(rng.uniform(size=1))[0]) for law in self.laws[arm]])

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """So many pulls of an arm (n, M)."""
        return np.stack([law(rng.uniform(size=count)) for law in self.laws[arm]], axis=1)


def _counted(objective: Objective, law: Law) -> float:
    """What counts of a metric with this law."""
    return float(law(LEVELS if objective.statistic == "mean" else np.array([objective.level])).mean())
