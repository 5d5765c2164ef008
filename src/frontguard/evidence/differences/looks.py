"""Two samples that grow in blocks and are compared at looks, each candidate with its baseline; docs/theory.md, (gg).

A block has `BLOCK` measurements of either in random order. At looks, fixed beforehand, all blocks so far are compared:
quantiles by regions that are filled one after the other, each with what of δ' is spent at its look; *some quantile* by
the sum over blocks of the pairs in which the one's value is the larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.confidence_sequences import taken_away
from frontguard.evidence.differences import Compared, InBlocks, Sampled
from frontguard.evidence.differences.two_sample import (
    CheckBounds,
    largest_region,
    least_counts,
    refuted_beyond,
    region,
    tail_of_hits,
)
from frontguard.evidence.intervals import HIGH, LOW, PLAIN_HIGH, PLAIN_LOW
from frontguard.evidence.kinds import LARGEST, Statistic
from frontguard.evidence.statistics import EXACT, QUANTILE, kinds_and_scales
from frontguard.theory.threats import Threat

BLOCK = 4
"""Measurements of an arm in a block: of 4 + 4, one in 70 orders has all of one side first."""

GROWTH = 1.2
"""By how much the measurements grow from look to look, rounded to whole blocks."""

SPREAD = 4.0
"""The larger, the later δ' is spent: at look j it is a / ((j + a)(j + a + 1)), which adds up to 1."""

MOST_WALKED = 200
"""Measurements of an arm up to which the walks of counts are followed; later looks have their share by themselves."""

MOST_SUMMED = 20_000
"""The same of S; later looks say nothing by it."""

_NEVER = 1e-25  # probability that is counted as if it had reached a region


_looks = [2 * BLOCK]
while _looks[-1] < LARGEST:
    _looks.append(BLOCK * -int(-GROWTH * _looks[-1] // BLOCK))
LOOKS = tuple(_looks)
"""The numbers of measurements of an arm at which it is compared."""


def spent(look: int) -> float:
    """The share of δ' that is spent at a look.

    >>> round(sum(spent(look) for look in range(10_000)), 3), spent(0)
    (1.0, 0.2)
    """
    return SPREAD / ((look + SPREAD) * (look + SPREAD + 1.0))


def looks_until(n: int) -> int:
    """Return the number of looks up to so many measurements of an arm.

    >>> LOOKS[:8], looks_until(15), looks_until(16)
    ((8, 12, 16, 20, 24, 32, 40, 48), 2, 3)
    """
    return int(np.searchsorted(LOOKS, n, side="right"))


def next_look(n: int) -> int:
    """Return the first look with so many measurements of an arm at least.

    >>> next_look(1), next_look(12), next_look(13)
    (8, 12, 16)
    """
    return LOOKS[int(np.searchsorted(LOOKS, n))]


def region_at(look: int, threat: Threat, p: float, delta: float) -> Ints | None:
    """Return R at a look, as `two_sample.region` does: the counts ever enter one with probability δ' at most."""
    walked = looks_until(MOST_WALKED)
    if look < walked:
        return _walked_regions(threat, p, delta)[look]
    return region(LOOKS[look], LOOKS[look], threat, p, delta * spent(look))


@lru_cache(maxsize=256)
def _walked_regions(threat: Threat, p: float, delta: float) -> tuple[Ints | None, ...]:
    """R at all looks that are followed. A share that nothing could be filled with is left to the next look."""
    from scipy.stats import binom

    found, unspent = list[Ints | None](), 0.0
    left = np.ones((1, 1))  # of the pairs of clean counts, by b and c: the probability that they were in no region yet
    for look, (before, n) in enumerate(pairwise((0, *LOOKS[: looks_until(MOST_WALKED)]))):
        steps = [
            binom.pmf(np.arange(n + 1)[:, None] - np.arange(before + 1), n - before, threat.keep(level))
            for level in (1.0 - p, p)
        ]
        left = steps[0] @ left @ steps[1].T
        unspent += delta * spent(look)
        taken = taken_away(threat.taken, n)
        of_b, of_c = (least_counts(n, threat, level) for level in (1.0 - p, p))
        upto, clean = np.cumsum(left, axis=0), np.arange(n + 1)
        seen = np.maximum(clean - taken, 0)  # the least that an attack leaves of each clean count

        def ends(largest: Ints, taken: int = taken, seen: Ints = seen, n: int = n) -> Ints:
            """The largest clean count b of R for each clean count c."""
            return np.minimum(largest[seen] + taken, n)

        def probability(largest: Ints, upto: Floats = upto, clean: Ints = clean) -> float:
            return float(upto[ends(largest), clean].sum())

        axes = np.zeros(n + 1, np.int64)
        axes[0] = n
        if probability(axes) > unspent:
            found.append(None)
            continue
        largest = largest_region(of_b, of_c, probability, unspent)
        unspent -= probability(largest)
        left[clean[:, None] <= ends(largest)[None, :]] = 0.0
        found.append(largest)
    return tuple(found)


def least_sum(look: int, threat: Threat, delta: float) -> float:
    """Return the least S that refutes, at a look, that the one is nowhere larger; ∞ where none does.

    >>> from frontguard import Prescient
    >>> [least_sum(look, Prescient(0.0), 0.025) for look in range(3)]
    [29.0, 40.0, 50.0]
    """
    n = LOOKS[look]
    if n > MOST_SUMMED:
        return np.inf
    horizon = looks_until(MOST_WALKED)
    while horizon <= look:
        horizon *= 2
    # Of each side so many may be moved, each of which is in as many pairs as the other has values in a block.
    horizon = min(horizon, looks_until(MOST_SUMMED))
    return _least_sums(threat.order_hits, delta, horizon)[look] + 2.0 * BLOCK * taken_away(threat.taken, n)


@lru_cache(maxsize=256)
def _least_sums(hits: float, delta: float, looks: int) -> tuple[float, ...]:
    """The least S at so many looks, where each value is hit with this probability by itself."""
    of_block = -np.diff(tail_of_hits(BLOCK, BLOCK, hits), append=0.0)
    found, unspent, lowest, left = list[float](), 0.0, 0, np.ones(1)  # of S, from `lowest` on: in no region yet
    for look, (before, n) in enumerate(pairwise((0, *LOOKS[:looks]))):
        for _ in range((n - before) // BLOCK):
            left = np.convolve(left, of_block)
            rare = int(np.searchsorted(np.cumsum(left), _NEVER))
            left, lowest, unspent = left[rare:], lowest + rare, unspent - _NEVER
        unspent += delta * spent(look)
        tail = np.append(np.cumsum(left[::-1])[::-1], 0.0)
        first = int(np.argmax(tail <= unspent))
        found.append(float(lowest + first) if first < len(left) else np.inf)
        unspent -= tail[first]
        left = left[:first]
    return tuple(found)


def tellable(statistics: Sequence[Statistic]) -> bool:
    """True if two samples tell how each objective compares, and not exact values alone."""
    kinds = {each.kind for each in statistics}
    return QUANTILE in kinds and kinds <= {QUANTILE, EXACT}


class TwoSamples(InBlocks):
    """The samples of candidates and of their baseline, block by block; of intervals nothing is said."""

    block = BLOCK

    def __init__(self, compared: Compared, threat: Threat, statistics: Sequence[Statistic], *, delta: float) -> None:
        super().__init__(compared, len(statistics))
        self.threat = threat
        counted = statistics[: compared.objectives]
        self.exact: Bools = kinds_and_scales(counted)[0] == EXACT
        self.levels = [each.level for each in counted]
        self.half = 0.5 * delta
        self.line = self.half / max(1, (compared.arms - 1) * int((~self.exact).sum()))
        self.begin()

    def refresh(self, now: Sampled) -> bool:
        """Let intervals say nothing of what is not exact: certain is how two arms differ, and not where either is."""
        noisy = np.flatnonzero(~self.exact)
        for column, end in ((LOW, -np.inf), (HIGH, np.inf), (PLAIN_LOW, -np.inf), (PLAIN_HIGH, np.inf)):
            now.intervals[:, column, noisy] = end
        return False

    def common(self, arm: int) -> Ints:
        """Return the places of the measurements in blocks that an arm and the baseline have in full."""
        both = self.blocks.back[arm] & self.blocks.back[self.compared.baseline]
        whole = both[: len(both) // BLOCK * BLOCK].reshape(-1, BLOCK).all(axis=1)
        return np.flatnonzero(np.repeat(whole, BLOCK))

    def bounds(self, arm: int, look: int, tolerances: Floats, threat: Threat | None = None) -> CheckBounds:
        """Compare a candidate with its baseline at a look, in all objectives (M,); what is exact is left unknown."""
        where, its = self.common(arm)[: LOOKS[look]], self.compared.baseline
        ahead, behind, line = (np.full(len(self.exact), np.inf) for _ in range(3))
        worse, counts = (np.zeros(len(self.exact), np.bool_) for _ in range(2))
        for d in np.flatnonzero(~self.exact).tolist():
            own, p = (self.threat if threat is None else threat).of(d), self.levels[d]
            base, mine = self.blocks.values[d, its, where], self.blocks.values[d, arm, where]
            of_all, of_line = (region_at(look, own, p, delta) for delta in (self.half, self.line))
            if of_all is not None:
                ahead[d] = refuted_beyond(_highest(mine), _lowest(base), of_all)
                behind[d] = refuted_beyond(_highest(base), _lowest(mine), of_all)
            if of_line is not None:
                line[d] = refuted_beyond(_highest(base), _lowest(mine), of_line)
                counts[d] = worse[d] = refuted_beyond(_highest(mine), _lowest(base), of_line) < -tolerances[d]
            if p == 0.5:
                sums = sum_within(base - tolerances[d], mine)
                worse[d] = sums >= least_sum(look, own, self.line)
                counts[d] &= worse[d]
        return CheckBounds(ahead, behind, line, worse, counts)

    def may_come(self, arm: int, tolerances: Floats) -> Bools:
        """Tell in which objectives (M,) S would at last be large enough, if the samples went on as they are."""
        found = np.zeros(len(self.exact), np.bool_)
        for d in np.flatnonzero(~self.exact).tolist():
            base, mine = self.samples(arm, d)
            own = self.threat.of(d)
            least = 1.0 - 0.5 * (1.0 - own.order_hits) ** 2 + 2.0 * own.taken
            found[d] = sum_within(base - tolerances[d], mine) > least * BLOCK * len(base)
        return found

    def samples(self, arm: int, d: int) -> tuple[Floats, Floats]:
        """Return the inner values of the baseline and of a candidate in an objective, in their common blocks."""
        where = self.common(arm)
        return self.blocks.values[d, self.compared.baseline, where], self.blocks.values[d, arm, where]


def sum_within(y: Floats, x: Floats) -> int:
    """Return S: over blocks, the pairs with y > x. A failed value is in none of them.

    >>> sum_within(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 1.0, 2.0, np.nan]))
    9
    """
    return int((y.reshape(-1, BLOCK, 1) > x.reshape(-1, 1, BLOCK)).sum())


def _lowest(values: Floats) -> Floats:
    return np.sort(np.where(np.isnan(values), -np.inf, values))


def _highest(values: Floats) -> Floats:
    return np.sort(np.where(np.isnan(values), np.inf, values))
