"""Worlds of the audit: arms with known laws, and attackers who replace part of what is measured.

Rewards are drawn by quantile: an arm's value is its law's quantile of a uniform number, so that the truth is read off
the law, and an attacker who wants the lowest values knows which they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from frontguard._typing import Floats
from frontguard.audit.truth import Truth
from frontguard.objectives import Objective

Law = Callable[[Floats], Floats]
"""Quantiles (n,) of levels (n,) strictly between 0 and 1."""

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


@dataclass(frozen=True)
class World:
    """K arms with a law for each of M objectives; values are drawn independently."""

    objectives: tuple[Objective, ...]
    laws: tuple[tuple[Law, ...], ...]  # K × M

    @property
    def arms(self) -> list[str]:
        """Names of the arms."""
        return [f"arm {i}" for i in range(len(self.laws))]

    @property
    def truth(self) -> Truth:
        """The true quantiles."""
        levels = [np.array([objective.level]) for objective in self.objectives]
        rows = [[float(law(level)[0]) for law, level in zip(laws, levels, strict=True)] for laws in self.laws]
        return Truth(self.objectives, np.array(rows))

    def measure(self, arm: int, rng: np.random.Generator) -> Floats:
        """One pull of an arm (M,)."""
        return np.array([float(law(rng.uniform(size=1))[0]) for law in self.laws[arm]])

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """So many pulls of an arm (n, M)."""
        return np.stack([law(rng.uniform(size=count)) for law in self.laws[arm]], axis=1)
