"""Means of values with a known deviation: Robbins' normal mixture, at every number of pulls at once.

A failed measurement may be anything, and the mean with it: as long as one is missing, nothing is known.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from frontguard._common.compiled import kernel
from frontguard.evidence.means import mean_and_error
from frontguard.evidence.ordered import Samples
from frontguard.evidence.samples import Record
from frontguard.evidence.statistics import SIGMA, inner_of_mean

if TYPE_CHECKING:
    from frontguard.evidence.intervals import IntervalRule

NORMAL_WEIGHT = 10.0
"""Observations that the prior of the normal mixture is worth: its boundary is narrowest at some ten times as many."""


@kernel
def normal_reach(pulls: float, sigma: float, log_odds: float) -> float:
    """How far a mean of so many σ-subgaussian values is from the true one at most, at every number of them at once.

    `log_odds` is log(1/α) for both sides together: Robbins' normal mixture, with `NORMAL_WEIGHT` in its prior.
    """
    whole = pulls + NORMAL_WEIGHT
    return sigma * math.sqrt(whole * (2.0 * log_odds + math.log(whole / NORMAL_WEIGHT))) / pulls


@kernel
def normal_interval(
    samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int, foreseen: float
) -> tuple[float, float]:
    """The interval of a mean with a known deviation, of `foreseen` pulls whose mean is that of these."""
    if record.count != pulls or pulls == 0:
        return -np.inf, np.inf
    mean, _ = mean_and_error(samples, record)
    reach = normal_reach(foreseen, rule.scales[d, SIGMA], rule.thresholds[d])
    return inner_of_mean(mean - reach, rule.scales[d]), inner_of_mean(mean + reach, rule.scales[d])


@kernel
def lasting_normal(samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int) -> tuple[float, float]:
    """What would be left of it if the sample went on like this for ever: its mean."""
    if record.count != pulls:
        return -np.inf, np.inf
    mean, _ = mean_and_error(samples, record)
    middle = inner_of_mean(mean, rule.scales[d])
    return middle, middle
