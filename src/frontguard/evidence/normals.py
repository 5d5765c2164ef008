"""The mean of values with a known deviation: of a normal law's tail at one look, of Robbins' mixture at every number.

One value that was replaced, or failed, moves a mean as far as it likes: then nothing is known.
"""

from __future__ import annotations

import math

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats
from frontguard.evidence.confidence_sequences import threshold_of
from frontguard.evidence.kinds import SIGMA, IntervalRule, Kind, LogLook, Statistic, inner_of_mean
from frontguard.evidence.means import mean_and_error
from frontguard.evidence.samples import Record, Samples
from frontguard.objectives import Objective

NORMAL_WEIGHT = 10.0
"""Observations that the prior of the normal mixture is worth: it is narrowest at some ten times as many."""


@kernel
def normal_reach(pulls: float, sigma: float, log_odds: float) -> float:
    """Return how far a mean of σ-subgaussian values is off at most, at every number of them at once."""
    whole = pulls + NORMAL_WEIGHT
    return sigma * math.sqrt(whole * (2.0 * log_odds + math.log(whole / NORMAL_WEIGHT))) / pulls


@kernel
def normal_interval(
    samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int, foreseen: float
) -> tuple[float, float]:
    """The interval of `foreseen` pulls whose mean is that of these."""
    if record.count != pulls or pulls == 0:
        return -np.inf, np.inf
    mean, _ = mean_and_error(samples, record)
    reach = normal_reach(foreseen, rule.scales[d, SIGMA], rule.thresholds[d])
    return inner_of_mean(mean - reach, rule.scales[d]), inner_of_mean(mean + reach, rule.scales[d])


@kernel
def lasting_normal(samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int) -> tuple[float, float]:
    """Return what is left of the interval if the sample goes on like this for ever: its mean."""
    if record.count != pulls:
        return -np.inf, np.inf
    mean, _ = mean_and_error(samples, record)
    middle = inner_of_mean(mean, rule.scales[d])
    return middle, middle


class NormalMean(Kind):
    """The mean of values with a known deviation."""

    name = "normal mean"

    @classmethod
    def of(cls, objective: Objective) -> Statistic | None:
        """Return its scale, if the objective has a deviation."""
        if objective.sigma is None:
            return None
        sign = -1.0 if objective.minimized else 1.0
        return Statistic(scale=(0.0, sign, sign, float(objective.relative), objective.sigma))

    def interval(self, look: LogLook, share: float) -> tuple[Floats, Floats]:
        """Return the mean less and plus its reach, where nothing failed or may be wrong."""
        known = np.flatnonzero((self.pulls > 0) & (self.good == self.pulls) & (look.threat.eps == 0.0))
        lower, upper = np.full(len(self.pulls), -np.inf), np.full(len(self.pulls), np.inf)
        sigma = self.objective.sigma or 0.0
        distinct, which = look.distinct
        if self.anytime:
            both = threshold_of(2.0 * share)
            reach = np.array([normal_reach(float(max(pulls, 1)), sigma, both) for pulls in distinct.tolist()])
        else:
            reach = sigma * np.sqrt(2.0 * threshold_of(share) / np.maximum(distinct, 1))
        mean, apart = self.means[known], reach[which][known]
        lower[known], upper[known] = self.inner_interval(mean - apart, mean + apart)
        return lower, upper
