"""Pulls of studies of one metric, where the best arm has an upper end of its own, beside equal parts of δ for all ends.

Normal arms with σ = 0.2 and medians drawn from [0, 1], tolerance 0.1, δ = 0.1. The ratio of the mean pulls of the same
30 runs is wanted; docs/decisions/best-of-one.md has what else was tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import numpy as np

from benchmarks.tables import Row
from frontguard.evidence import intervals
from frontguard.evidence.kinds import Statistic
from frontguard.evidence.statistics import Shares, shares_of_ends
from frontguard.policies import Certified
from frontguard.simulation import simulate
from frontguard.simulation.environments import gaussian
from frontguard.theory.threats import Prescient

RUNS = 30


def _equal(delta: float, arms: int, counted: tuple[Statistic, ...], *, one_best: bool) -> Shares:
    """Equal parts of δ for all ends."""
    return shares_of_ends(delta, arms, counted)


def pulls(arms: int, eps: float, *, equal: bool) -> float:
    """The mean of all runs."""
    with mock.patch.object(intervals, "shares_of_ends", _equal if equal else shares_of_ends):
        policy = Certified(arms, 1, threat=Prescient(eps), accuracy=0.1, delta=0.1, goal="list")
    medians = np.random.default_rng(arms).uniform(0.0, 1.0, (arms, 1))
    return float(simulate(policy, gaussian(medians, 0.2), runs=RUNS).pulls.mean())


def main() -> Iterator[Row]:
    """Ratios of pulls."""
    cells = [(arms, eps, most) for arms, most in ((5, 1.0), (10, 0.9), (50, 0.8)) for eps in (0.0, 0.1)]
    for arms, eps, most in cells:
        before, now = pulls(arms, eps, equal=True), pulls(arms, eps, equal=False)
        yield Row(
            f"pulls for the best of {arms} arms in one metric, ε = {eps:.0%}",
            now / before,
            at_most=most,
            details=f"{now:,.0f} beside {before:,.0f} with equal parts of δ",
        )
