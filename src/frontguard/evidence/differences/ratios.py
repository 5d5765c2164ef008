"""Ratios within randomised blocks: how arms differ, whatever the machine does to all of them; docs/theory.md, (aa).

A block has one run of each arm that is not out, in an order that was drawn. In inner values, which are logarithms where
tolerances are percentages, let D_b = Y_{j,b} − Y_{i,b}. What slows both arms alike cancels, and what slows one of the
two is as likely to have hit the other: the median of D_b is how they differ, and ranks of D_1, …, D_n bound it as those
of a sample bound its median. A run is replaced with probability ε, so one of two with 2ε at most.

Bounds are those of the blocks so far: they are not intersected with earlier ones, as intervals in blocks are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.confidence_sequences import fixed_rank, rank_table, read_rank, taken_away, taken_away_each
from frontguard.evidence.differences import Compared, Differences, InBlocks, Sampled
from frontguard.evidence.differences.pairs import MOST_ARMS, SHARE
from frontguard.evidence.intervals import COLUMNS, HIGH, LOW
from frontguard.evidence.kinds import LARGEST, RELATIVE, Statistic
from frontguard.evidence.statistics import QUANTILE, kinds_and_scales
from frontguard.notices import InRatios, Notice, RatiosContradicted
from frontguard.theory.threats import Threat

STRETCHES = (2, 4, 8)
"""Into so many of equal length blocks are divided, to see whether an arm drifts alone."""

FIRST_LOOK, GROWTH = 4.0, 1.25
"""How long the shortest stretches are when that is looked for first, and by how much longer the next time."""

DRIFT_RATE = 0.01
"""Probability of ever calling arms drifting whose ratios are constant."""


def ratios_of(statistics: Sequence[Statistic]) -> Bools:
    """Return the objectives (M,) whose ratios within blocks are bounded: medians with a percentage as tolerance."""
    kinds, scales = kinds_and_scales(statistics)
    medians = np.array([each.level == 0.5 for each in statistics])
    return np.asarray((kinds == QUANTILE) & medians & (scales[:, RELATIVE] == 1.0))


class Ratios(InBlocks):
    """Ratios of arms within the blocks that two of them are in."""

    columns = 3

    @classmethod
    def where_usable(
        cls, compared: Compared, threat: Threat, statistics: Sequence[Statistic], *, delta: float
    ) -> Differences:
        """Return this evidence; none for a gate, for these statistics, or for more arms than are looked at in pairs."""
        usable = ratios_of(statistics[: compared.objectives])
        few = 1 < compared.arms <= MOST_ARMS and compared.baseline is None
        of_each = [threat.of(d) for d in np.flatnonzero(usable).tolist()]
        worst = max(of_each, key=lambda each: each.eps, default=threat)  # what holds of the worst holds of all
        if not usable.any() or 2.0 * worst.eps >= 0.5 or not few:
            return Differences(compared)
        return cls(compared, worst, usable, len(statistics), delta=delta)

    def __init__(self, compared: Compared, threat: Threat, usable: Bools, width: int, *, delta: float) -> None:
        super().__init__(compared, width)
        self.usable, self.of_intervals = usable, 1.0 - SHARE
        self.kept, self.taken = type(threat)(2.0 * threat.eps).keep(0.5), threat.taken
        share = SHARE * delta / (compared.ordered_pairs * int(usable.sum()))
        self.ranks = rank_table(self.kept, share, largest=LARGEST)
        self.begin()

    def begin(self) -> None:
        """Forget all measurements."""
        super().begin()
        self.contradicted = np.zeros(self.compared.arms, np.bool_)
        K, M = self.compared.arms, self.compared.objectives
        self.refuted, self._drifting, self._looks = np.zeros((K, M), np.bool_), np.zeros((M, K, K), np.bool_), 0

    def copy(self) -> Self:
        """Return the same evidence, to go on with by itself."""
        other = super().copy()
        other.contradicted, other.refuted = self.contradicted.copy(), self.refuted.copy()
        other._drifting = self._drifting.copy()
        return other

    def refresh(self, now: Sampled) -> bool:
        """Bring bounds of differences up to date, of all pairs with an arm that was touched."""
        K = self.compared.arms
        out = now.asked - self.blocks.back.sum(axis=1)
        alive = np.zeros(K, np.bool_)
        alive[now.alive] = True
        self.contradicted[now.touched] = False
        for d in np.flatnonzero(self.usable).tolist():
            for i in now.touched.tolist():
                bound, lasting = self._apart(d, i, now.asked, out)
                now.intervals[i, COLUMNS : COLUMNS + K, d] = -bound[0]
                now.intervals[i, COLUMNS + 2 * K :, d] = -lasting[0]
                now.intervals[:, COLUMNS + i, d] = bound[1]
                now.intervals[:, COLUMNS + 2 * K + i, d] = lasting[1]
            self._withdraw(now.intervals, alive, d)
        self._look_for_drift(now.alive)
        return False

    def _look_for_drift(self, arms: Ints) -> None:
        """Refute arms that drift alone: of stretches of the same blocks, ratios contradict each other."""
        whole = int(np.logical_and.accumulate(self.blocks.back[arms].all(axis=0)).sum())
        while len(arms) > 1 and whole >= (n := STRETCHES[-1] * int(FIRST_LOOK * GROWTH**self._looks)):
            self._looks += 1
            share = DRIFT_RATE / (self._looks * (self._looks + 1) * self.compared.ordered_pairs * self.usable.sum())
            for d in np.flatnonzero(self.usable).tolist():
                values = self.blocks.values[d, arms, :n]
                for i, mine in zip(arms, values, strict=True):
                    self._drifting[d, i, arms] |= self._contradicts(values - mine, share)
                left, self.refuted[:, d] = self._drifting[d].copy(), False
                while left.any():  # who drifts differs from all others
                    most = left.sum(axis=1) == left.sum(axis=1).max()
                    self.refuted[most, d] = True
                    left[most], left[:, most] = False, False

    def _contradicts(self, differences: Floats, share: float) -> Bools:
        """Return of which differences (K, n) no median is in the intervals of all stretches."""
        arms, n = differences.shape
        found = np.zeros(arms, np.bool_)
        taken = 2 * taken_away(self.taken, n)
        for parts in STRETCHES:
            length = n // parts
            rank = fixed_rank(length, self.kept, share / (len(STRETCHES) * parts))
            stretches = np.sort(differences.reshape(arms, parts, length), axis=2)
            low, high = _ends(stretches, np.array(length - rank + taken), np.array(rank > taken))
            found |= low.max(axis=1) > high.min(axis=1)
        return found

    def _apart(self, d: int, i: int, asked: Ints, out: Ints) -> tuple[Floats, Floats]:
        """Return both ends (2, K) of how each arm exceeds arm i, now and for ever."""
        last = int(self.blocks.back[i].nonzero()[0].max(initial=-1)) + 1
        values, back = self.blocks.values[d, :, :last], self.blocks.back[:, :last]
        together = back & back[i]
        # One that failed, and one that is out, is in n, and comes after all that was seen from either side.
        differences = np.sort(np.where(together, values - values[i], np.nan), axis=1)  # NaN comes last
        n = together.sum(axis=1) + out + out[i]
        taken = 2 * taken_away_each(self.taken, np.minimum(asked, asked[i]))  # from either
        found = []
        for ranks in (np.array([read_rank(self.ranks, each) for each in n.tolist()]), np.ceil(self.kept * n)):
            place = n - np.minimum(ranks, n).astype(np.int64) + taken  # from either end
            known = ranks > taken
            known[i] = False
            found.append(np.stack(_ends(differences, place, known)))
        return found[0], found[1]

    def _withdraw(self, intervals: Floats, alive: Bools, d: int) -> None:
        """Let ratios say nothing of two arms where they contradict their intervals: what they rest on is false."""
        K = self.compared.arms
        alone = intervals[:, None, HIGH, d] - intervals[None, :, LOW, d]
        most = np.minimum(alone, intervals[:, COLUMNS : COLUMNS + K, d])
        false = (most + most.T < 0.0) & alive & alive[:, None]
        self.contradicted |= false.any(axis=1)
        for column in (COLUMNS, COLUMNS + 2 * K):
            intervals[:, column : column + K, d][false] = np.inf

    def notices(self) -> tuple[Notice, ...]:
        """Return that arms are compared by their ratios, and where these contradict intervals."""
        said: list[Notice] = [InRatios(self.compared.arms)]
        if self.contradicted.any():
            said.append(RatiosContradicted(int(self.contradicted.sum()), self.compared.arms))
        return tuple(said)


def _ends(differences: Floats, place: Ints, known: Bools) -> tuple[Floats, Floats]:
    """Return what lies at a place from the upper and the lower end of sorted differences (…, n), NaN last, if known."""
    seen = (~np.isnan(differences)).sum(axis=-1)
    known = known & (place < seen)
    low, high = (
        np.take_along_axis(differences, np.where(known, at, 0)[..., None], axis=-1)[..., 0]
        for at in (seen - 1 - place, place)
    )
    return np.where(known, low, -np.inf), np.where(known, high, np.inf)
