"""Boxes of a log: for every arm and objective an interval that contains the true quantile, read at ranks.

The proof is that of `evidence.boxes`, at one look: with n pulls and the quantile of inner level p, the bounds are the
observations of the ranks q(n; keep(p), δ') from below and q(n; keep(1−p), δ') from above, where δ' = δ / (2 M K), so
that all K · M boxes hold at once with probability 1 − δ. Where any share of the rows may be wrong (`Threat.taken`),
so many are taken from every rank. What is stored are raw values in ascending order. Quantiles
commute with monotone maps, so directions and logarithms are applied to the K values that are read, never to all: for a
minimised objective the sides change places. Failed pulls count in n, and stand at −∞ for L and at +∞ for H.

For another ε only the ranks change. `BoxReader` keeps what does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frontguard._checks import checked_delta
from frontguard._typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.boundaries import anytime_rank, first_useful_pulls, fixed_rank, taken_away_each
from frontguard.evidence.boxes import DOUBT, ArmBoxes
from frontguard.logs.sort.ordered import Readable
from frontguard.objectives import Objective
from frontguard.pareto.dominance import dominators
from frontguard.theory.threats import Threat, checked_threat


class BoxReader:
    """Reads boxes off one sorted log for any threat model; nothing is sorted, and nothing read twice from the source.

    All boxes hold at once with probability 1 − δ under the threat model. The ranks are those for numbers of pulls that
    were not chosen by looking at the values; with `anytime` those that hold at every number of pulls, for a log that
    was looked at while it grew. `among` restricts what is read to some arms; δ is shared by all arms of the log
    nevertheless.

    >>> from frontguard import Prescient
    >>> from frontguard.logs.sort.ordered import Ordered
    >>> values = np.concatenate([np.arange(100.0), np.arange(50.0)])
    >>> log = Ordered(["a", "b"], ("seconds",), np.array([100, 60]), np.array([[0, 100, 150]]), (values,))
    >>> boxes = BoxReader(log, [Objective("seconds", "minimize")], 0.05).read(Prescient(0.1))
    >>> boxes.lower[:, 0].tolist(), boxes.upper[:, 0].tolist()  # ten pulls of b failed
    ([-66.0, -42.0], [-33.0, -7.0])
    """

    def __init__(
        self,
        ordered: Readable,
        objectives: Sequence[Objective],
        delta: float,
        *,
        anytime: bool = False,
        among: Ints | None = None,
    ) -> None:
        self.objectives = tuple(objectives)
        self.ordered = ordered
        self._delta, self._anytime = delta, anytime
        self._columns = [_column(ordered, objective) for objective in self.objectives]
        self._arms = np.arange(len(ordered.pulls)) if among is None else among
        self.pulls = ordered.pulls[self._arms]
        good = ordered.good
        self._good = [good[d][self._arms] for d in self._columns]
        self._share = checked_delta(delta) / (2.0 * len(self.objectives) * max(1, len(ordered.pulls)))
        self._rank = anytime_rank if anytime else fixed_rank
        self._levels = [objective.inner_quantile for objective in self.objectives]
        self._distinct, self._which = np.unique(self.pulls, return_inverse=True)
        self._centres: tuple[Floats, Floats, Floats] | None = None

    def among(self, arms: Ints) -> BoxReader:
        """The same for some arms only."""
        return type(self)(self.ordered, self.objectives, self._delta, anytime=self._anytime, among=arms)

    def with_delta(self, delta: float) -> BoxReader:
        """The same with another δ; what does not depend on it is read once."""
        other = type(self)(self.ordered, self.objectives, delta, anytime=self._anytime, among=self._arms)
        other._centres = self._centres
        return other

    def first_bounded(self, threat: Threat) -> list[int | None]:
        """For both ends of the box of each objective the pulls, none of which fails, before which it is not bounded.

        None where no number of pulls bounds it.
        """
        found: dict[float, int | None] = {}
        kept = [threat.keep(end) for level in self._levels for end in (level, 1.0 - level)]
        for each in set(kept):
            try:
                found[each] = first_useful_pulls(each, self._share, taken=threat.taken, anytime=self._anytime)
            except BadInput:
                found[each] = None
        return [found[each] for each in kept]

    def read(self, threat: Threat) -> ArmBoxes:
        """The boxes under this threat model."""
        checked_threat(threat)
        if self._centres is None:
            self._centres = self._read_centres(np.ones(len(self.pulls)))
        return self._with_centres(threat, self._distinct, self._which, np.ones(len(self.pulls)), self._centres)

    def foresee(self, threat: Threat, least: int) -> ArmBoxes:
        """The boxes if every arm had `least` pulls at least, its sample having gone on in the same proportions.

        With n' pulls the bounds are the values that now have the ranks q(n') n/n', rounded to the wider side, but not
        beyond the outermost value: of a single pull no more can be said than that it may go on so.
        """
        imagined = np.maximum(self.pulls, least)
        shrink = self.pulls / np.maximum(imagined, 1)
        distinct, which = np.unique(imagined, return_inverse=True)
        return self._with_centres(threat, distinct, which, shrink, self._read_centres(shrink))

    def _with_centres(
        self, threat: Threat, distinct: Ints, which: Ints, shrink: Floats, centres: tuple[Floats, Floats, Floats]
    ) -> ArmBoxes:
        ranks: dict[float, Ints] = {}  # the median has the same on both sides, and mostly in all objectives
        taken = taken_away_each(threat.taken, distinct)
        lower, upper = np.empty(centres[0].shape), np.empty(centres[0].shape)
        for d, level in enumerate(self._levels):
            failed = self.pulls - self._good[d]
            for side, kept in ((lower, threat.keep(level)), (upper, threat.keep(1.0 - level))):
                if kept not in ranks:
                    most = self._rank(distinct, kept, self._share) if kept > 0.0 else np.zeros_like(distinct)
                    of_all = np.maximum(most - taken, 0)[which]
                    ranks[kept] = np.maximum(np.floor(of_all * shrink + 1e-9).astype(np.int64), of_all >= 1)
                side[:, d] = self._bound(d, ranks[kept] - failed, above=side is upper)
        return ArmBoxes(lower, upper, *centres)

    def _bound(self, d: int, ranks: Ints, *, above: bool) -> Floats:
        """Inner values of these ranks from inner below, or from above; infinite where a rank is below 1."""
        bound = np.full(len(ranks), np.inf if above else -np.inf)
        known = np.flatnonzero((ranks >= 1) & (self._good[d] > 0))  # what goes on in thought must have begun
        steps = ranks[known] - 1
        places = self._good[d][known] - 1 - steps if above else steps
        bound[known] = self._at(d, known, places, 1 if above else -1)
        return bound

    def _at(self, d: int, arms: Ints, places: Ints, side: int = 0) -> Floats:
        """Inner values of some arms at places counted from the inner lowest."""
        objective = self.objectives[d]
        if objective.minimized:
            places, side = self._good[d][arms] - 1 - places, -side
        return objective.inward(self.ordered.at(self._columns[d], self._arms[arms], places + 1, side))

    def _read_centres(self, shrink: Floats) -> tuple[Floats, Floats, Floats]:
        """Point estimates and their doubt, as the certified policy reads them (`evidence.boxes.refresh`)."""
        shape = (len(self.pulls), len(self.objectives))
        estimates, low, high = (np.full(shape, -np.inf) for _ in range(3))
        for d, level in enumerate(self._levels):
            some = np.flatnonzero(self._good[d])
            have = self._good[d][some]
            middle = level * (have - 1)
            reach = DOUBT * np.sqrt(have * level * (1.0 - level)) * np.sqrt(shrink[some])
            below, above = np.floor(middle).astype(np.int64), np.ceil(middle).astype(np.int64)
            estimates[some, d] = 0.5 * self._at(d, some, below) + 0.5 * self._at(d, some, above)
            lowest = np.maximum(0, np.floor(middle - reach).astype(np.int64))
            highest = np.minimum(have - 1, np.ceil(middle + reach).astype(np.int64))
            low[some, d], high[some, d] = self._at(d, some, lowest), self._at(d, some, highest)
        return estimates, low, high


def means(ordered: Readable, objectives: Sequence[Objective]) -> Floats:
    """Means (K, M) of the values that did not fail, in the metrics' own units; NaN where all failed."""
    every = ordered.means
    return np.stack([every[_column(ordered, objective)] for objective in objectives], axis=1)


def mean_front(averages: Floats, objectives: Sequence[Objective], among: Bools | None = None) -> Bools:
    """The arms (K,) that whoever compares `means` (K, M) would call the front: no doubt, no tolerance.

    `among`: those that are looked at, where others are beyond a limit.

    >>> mean_front(np.array([[301.0], [4.5]]), [Objective("stars")])
    array([ True, False])
    """
    inner = np.where([objective.minimized for objective in objectives], -averages, averages)
    front = np.asarray(np.isfinite(inner).all(axis=1))  # what overflowed is left aside as well
    if among is not None:
        front &= among
    some = np.flatnonzero(front)
    front[some] = dominators(inner[some], inner[some]) < 0
    return front


def _column(ordered: Readable, objective: Objective) -> int:
    if objective.name not in ordered.metrics:
        raise BadInput(
            f"objectives must be metrics of the log, which are {', '.join(ordered.metrics)}; got {objective.name!r}"
        )
    return ordered.metrics.index(objective.name)
