"""Power: the least difference that tests find four times of five at a size, and so the size that a difference takes.

A forecast, of which nothing is certain: `planning.sizes` makes it before the first measurement, gates of what they left
open. Nobody attacks; contamination is allowed for only.

*Two samples* are taken as normal. If both have one law, a test bounds how much larger the one may be, in deviations, by
some B. One that is worse by D deviations is called so where D exceeds the tolerance and B: so the quantiles of B, drawn
once for a size, say everything. *Pairs of 0 and 1*, and *rates*: sums over all outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.evidence.differences.discordant import highest_probability, most_wins, score_of
from frontguard.evidence.differences.looks import BLOCK, LOOKS, least_sum, looks_until, region_at
from frontguard.evidence.differences.two_sample import MOST_EXACT, refuted_beyond, region, u_tail
from frontguard.evidence.means import highest_rate
from frontguard.theory.threats import Threat

OFTEN = 0.8
"""How often a difference is found that counts as found: four times of five."""

FARTHEST = 20_000
"""Measurements beyond which nothing is planned."""

FAR = 128
"""The same of what a gate says beside its answer, which is to take no longer than a second."""

_NORMAL = NormalDist()
_MOST_DRAWN, _FEWEST_DRAWN, _VALUES = 20_000, 500, 4e6  # pairs of samples; and values, or pairs of these, altogether
_CLOSE = 1e-5  # to which a difference of rates is found


def fewest(least: Callable[[int], float], difference: float, farthest: int = FARTHEST) -> int | None:
    """Return the size with which a difference is the least that is found; None if the farthest finds less.

    Exact to a hundred, to about 1 % beyond.

    >>> fewest(lambda n: 1.0 / n, 0.05), fewest(lambda n: 1.0 / n, 0.0)
    (20, None)
    """
    low, high = 1, 8
    while least(high) > difference:
        low, high = high, 2 * high
        if low >= farthest:
            return None
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if least(middle) <= difference else (middle, high)
    return high


# Two samples ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def drawn_bounds(
    n: int, m: int, threat: Threat, level: float, delta: float, *, somewhere: bool, blocks: bool = False
) -> Floats:
    """Return B, ascending: of n and m normal values of one law, by how much the m may be larger, in deviations.

    `somewhere`: in some quantile, where the gate asks for no more than that. In `blocks` it is the sharpest bound of
    all looks until there.

    >>> from frontguard import Prescient
    >>> some, median = (drawn_bounds(8, 8, Prescient(0.1), 0.5, 0.025, somewhere=each) for each in (True, False))
    >>> bool(np.median(some) < np.median(median))
    True
    """
    work = n * (BLOCK if blocks else m) if somewhere else n + m
    rng = np.random.default_rng([n, m])
    shape = int(min(_MOST_DRAWN, max(_FEWEST_DRAWN, _VALUES // work)))
    x, y = rng.standard_normal((shape, n)), rng.standard_normal((shape, m))
    found = np.full(shape, np.inf)
    if not blocks:
        return np.sort(_bounds_at(x, y, threat, level, delta, found, somewhere=somewhere))
    for look in range(looks_until(min(n, m))):
        now, largest = LOOKS[look], region_at(look, threat, level, delta)
        if largest is not None:
            found = np.minimum(found, _by_region(x[:, :now], y[:, :now], largest))
        least = least_sum(look, threat, delta)
        if somewhere and level == 0.5 and least <= now * BLOCK:
            apart = y[:, :now].reshape(shape, -1, BLOCK, 1) - x[:, :now].reshape(shape, -1, 1, BLOCK)
            found = np.minimum(found, _in_order(apart, math.ceil(least)))
    return np.sort(found)


def _bounds_at(
    x: Floats, y: Floats, threat: Threat, level: float, delta: float, found: Floats, *, somewhere: bool
) -> Floats:
    """Return bounds at one look: by pairs of values as far as these are exact, else by the quantiles that count."""
    n, m = x.shape[1], y.shape[1]
    if somewhere and max(n, m) <= MOST_EXACT:
        enough = np.flatnonzero(u_tail(m, n, threat) <= delta)
        return _in_order(y[:, :, None] - x[:, None, :], int(enough[0])) if len(enough) else found
    largest = region(m, n, threat, level, delta)
    return found if largest is None else _by_region(x, y, largest)


def _by_region(x: Floats, y: Floats, largest: Ints) -> Floats:
    return refuted_beyond(np.sort(y, axis=1), np.sort(x, axis=1), largest)


def _in_order(apart: Floats, place: int) -> Floats:
    """Return the so-many-th smallest difference of each pair of samples, of which the test needs so many above 0."""
    flat = apart.reshape(len(apart), -1)
    return np.asarray(np.partition(flat, place - 1, axis=1)[:, place - 1])


def reached(bounds: Floats, often: float = OFTEN) -> float:
    """Return the bound that so many of them do not exceed."""
    return float(bounds[math.ceil(often * len(bounds)) - 1])


class SampleTest(NamedTuple):
    """How a gate compares samples: `line` is the level of "worse", and `half` that of "none is worse"."""

    threat: Threat
    level: float
    tolerance: float
    half: float
    line: float
    blocks: bool = False

    def found(self, n: int, m: int | None = None) -> float:
        """Return by how much more than is tolerated one is worse that is found, in deviations."""
        drawn = drawn_bounds(
            n, n if m is None else m, self.threat, self.level, self.line, somewhere=True, blocks=self.blocks
        )
        return reached(drawn)

    def passed(self, n: int, often: float = OFTEN) -> float:
        """Return the tolerance with which equal ones pass, in deviations."""
        drawn = drawn_bounds(n, n, self.threat, self.level, self.half, somewhere=False, blocks=self.blocks)
        return reached(drawn, often)

    def found_in(self, pairs: Iterable[tuple[Floats, Floats]]) -> tuple[int, float, float, int | None] | None:
        """Return what the test finds in pairs of samples that it left open: baselines and candidates, inner values.

        How many there are, the least difference, the noise, and how many a side decide what is open, if all go on as
        they are (one that is worse ends a gate, else all have to pass; None where `FAR` are too few). Of several pairs,
        those in which least is found.
        """
        least, wanted = (0, 0.0, 0.0), -math.inf
        for base, mine in pairs:
            each = [values[np.isfinite(values)] for values in (base, mine)]
            if not all(map(len, each)):
                return None
            low, high = (float(np.quantile(values, self.level)) for values in each)
            apart = np.abs(np.concatenate([values - np.median(values) for values in each]))
            noise = float(np.median(apart)) / _NORMAL.inv_cdf(0.75) or math.sqrt(float(np.mean(apart**2)))
            found = self.found(len(base), len(mine))
            found = self.tolerance + noise * found if math.isfinite(found) else found
            least = max(least, (min(len(base), len(mine)), found, noise), key=lambda told: told[1])
            wanted = max(wanted, (low - high - self.tolerance) / (noise or 1.0))
        return *least, fewest(self.found if wanted > 0.0 else self.passed, abs(wanted), FAR)


# Pairs of 0 and 1, and rates ------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def least_of_pairs(n: int, threat: Threat, tolerance: float, delta: float, lost: float) -> float:
    """Return by how much an arm must be worse on n items, some of which it wins nevertheless (`lost` to it); or ∞.

    >>> from frontguard import Prescient
    >>> round(least_of_pairs(300, Prescient(0.0), 0.0, 0.025, 0.06), 3)
    0.073
    """
    times, less = threat.surviving
    beyond = times * (1.0 - tolerance) - 1.0 - 2.0 * less
    score, losses = score_of(delta), np.arange(n + 1)
    low, high = beyond - 3.0 * score / math.sqrt(n), min(1.0, beyond + score / math.sqrt(n))
    while high - low > 1e-3 / math.sqrt(n):
        middle = 0.5 * (low + high)
        valid = highest_probability(most_wins(middle, n, score), beyond) <= delta
        low, high = (middle, high) if valid else (low, middle)
    from scipy.stats import binom

    wins = most_wins(low, n, score) - 2 * math.floor(threat.taken * n)

    def power(worse: float) -> float:
        rate = lost + worse
        return float(binom.pmf(losses, n, rate) @ binom.cdf(wins, n - losses, min(1.0, lost / (1.0 - rate))))

    return _first(power, 1.0 - lost - _CLOSE)


@lru_cache(maxsize=256)
def least_of_rates(n: int, threat: Threat, tolerance: float, delta: float, rate: float) -> float:
    """Return by how much a rate must be below another one, where each has n values and an interval by itself; or ∞.

    >>> from frontguard import Prescient
    >>> round(least_of_rates(300, Prescient(0.0), 0.0, 0.0125, 0.6), 3)
    0.166
    """
    from scipy.stats import binom

    counts, (times, less) = np.arange(n + 1.0), threat.surviving
    worst = np.minimum(n, counts + math.floor(threat.taken * n))
    highest = np.minimum(1.0, (highest_rate(worst, np.full(n + 1, float(n)), delta) + less) / times)
    lowest = 1.0 - highest[::-1]
    below = np.searchsorted(highest, lowest - tolerance) - 1  # the most of the worse arm, by those of the other one

    def power(worse: float) -> float:
        return float(binom.pmf(counts, n, rate) @ binom.cdf(below, n, rate - worse))

    return _first(power, rate)


def _first(power: Callable[[float], float], most: float) -> float:
    """Return the difference from which on it is found `OFTEN`; ∞ where not even the largest is."""
    low, high = 0.0, most
    if power(high) < OFTEN:
        return math.inf
    while high - low > _CLOSE:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if power(middle) >= OFTEN else (middle, high)
    return high
