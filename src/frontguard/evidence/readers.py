"""Intervals of sorted measurements: for every arm and objective an interval that contains what counts of it.

They are read of all arms at once, where a policy reads those of an arm whenever it was measured
(`evidence.intervals`). The kinds of statistics say how: at one look, for numbers of pulls that were not chosen by
looking at the values, or at any. All intervals hold at once with probability 1 − δ, shared as `shares_of_ends` says.
Failed pulls count in n, and stand at −∞ for the lower end and at +∞ for the upper.

What is stored are raw values in ascending order. Directions and logarithms are applied to the values that are read,
never to all. For another ε only ranks change, and of a mean only what keep makes of the same bets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from frontguard._common.checks import checked_delta
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument
from frontguard.evidence.intervals import ArmIntervals
from frontguard.evidence.kinds import LogLook
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.statistics import KINDS, shares_of_ends, statistics_of
from frontguard.objectives import Objective
from frontguard.theory.threats import Threat, checked_threat


class IntervalReader:
    """Reads intervals off one sorted log for any threat model; nothing is read twice from the source.

    With `anytime` they hold at every number of pulls, for a log that was looked at while it grew. `among` restricts
    what is read to some arms; δ is shared by all arms of the log nevertheless. With `one_best`, upper ends that hold of
    the best arm are read too, where one metric counts.
    """

    of_intervals = 1.0
    """Of δ, what intervals have; the rest has what is said beside them."""

    def __init__(
        self,
        ordered: Ordered,
        objectives: Sequence[Objective],
        delta: float,
        *,
        anytime: bool = False,
        among: Ints | None = None,
        one_best: bool = False,
    ) -> None:
        self.objectives = tuple(objectives)
        self.ordered = ordered
        self._anytime, self._one_best = anytime, one_best
        self._arms = np.arange(len(ordered.pulls)) if among is None else among
        self.pulls = ordered.pulls[self._arms]
        self.statistics = statistics_of(self.objectives)
        self.kinds = [
            KINDS[each.kind](ordered, _column(ordered, objective), objective, self._arms, anytime=anytime)
            for objective, each in zip(self.objectives, self.statistics, strict=True)
        ]
        self._centres: tuple[Floats, Floats, Floats] | None = None
        self._delta = delta
        self._begin()
        delta = self.of_intervals * checked_delta(delta)
        self._shares = shares_of_ends(delta, max(1, len(ordered.pulls)), self.statistics, one_best=one_best)

    def _begin(self) -> None:
        """Prepare what the design of the log says beside the intervals of rows, or refuse it."""

    def _ends(self, look: LogLook, share: float) -> tuple[Floats, Floats]:
        """Both ends (n, M) of intervals, each of which is false with probability `share` at most."""
        each = [kind.interval(look.of(d), share) for d, kind in enumerate(self.kinds)]
        lower, upper = (np.stack(ends, axis=1) for ends in zip(*each, strict=True))
        return lower, upper

    def _designed(self, intervals: ArmIntervals, look: LogLook) -> ArmIntervals:
        """The intervals as the design of the log has them, and what it says beside them."""
        return intervals

    def among(self, arms: Ints) -> Self:
        """Return the reader for some arms only."""
        settings = {"anytime": self._anytime, "one_best": self._one_best}
        return type(self)(self.ordered, self.objectives, self._delta, among=arms, **settings)

    def first_bounded(self, threat: Threat) -> list[int | None]:
        """For both ends of each objective's interval, the good pulls before which it is not bounded; None for never."""
        return [end for d, kind in enumerate(self.kinds) for end in kind.first_of_log(threat.of(d), self._shares.each)]

    def read(self, threat: Threat) -> ArmIntervals:
        """The intervals under this threat model."""
        look = LogLook(checked_threat(threat), self.pulls)
        if self._centres is None:
            self._centres = self._read_centres(look)
        return self._with_ends(look, self._centres)

    def estimated(self, threat: Threat) -> ArmIntervals:
        """Estimates, of which nothing is certain: the intervals are unbounded."""
        self._centres = self._read_centres(LogLook(threat, self.pulls))
        nowhere = np.full(self._centres[0].shape, np.inf)
        return ArmIntervals(-nowhere, nowhere, *self._centres)

    def foresee(self, threat: Threat, least: int) -> ArmIntervals:
        """The intervals if every arm had `least` pulls at least, its sample having gone on in the same proportions.

        With n' pulls the bounds are the values that now have the ranks q(n') n/n', rounded to the wider side, but not
        beyond the outermost value: of a single pull no more can be said than that it may go on so. Bets on a mean grow
        by n'/n.
        """
        look = LogLook(threat, self.pulls, least)
        return self._with_ends(look, self._read_centres(look))

    def unknown(self, intervals: ArmIntervals, first: int) -> Bools:
        """The arms (K,) of whose pulls those of the first objectives tell nothing at all."""
        found = np.zeros(len(self.pulls), np.bool_)
        for d, kind in enumerate(self.kinds[:first]):
            if (ends := kind.nothing) is not None:
                found |= (intervals.lower[:, d] <= ends[0]) & (intervals.upper[:, d] >= ends[1])
        return found

    def outside(self, intervals: ArmIntervals) -> Bools:
        """Return where (n, M) the estimate by all rows lies outside the intervals of `read`, as of clusters."""
        assert self._centres is not None
        estimates = self._centres[0]
        return np.isfinite(estimates) & ((estimates < intervals.lower) | (estimates > intervals.upper))

    def _with_ends(self, look: LogLook, centres: tuple[Floats, Floats, Floats]) -> ArmIntervals:
        found = self._designed(ArmIntervals(*self._ends(look, self._shares.each), *centres), look)
        if not self._shares.best:
            return found
        _, best = self._ends(look, self._shares.best)
        # An arm whose interval were empty is not the best.
        return replace(found, best=np.clip(best, found.lower, found.upper))

    def _read_centres(self, look: LogLook) -> tuple[Floats, Floats, Floats]:
        """Point estimates (n, M) and their doubt."""
        each = [kind.centre(look.shrink) for kind in self.kinds]
        estimates, low, high = (np.stack(columns, axis=1) for columns in zip(*each, strict=True))
        return estimates, low, high


def _column(ordered: Ordered, objective: Objective) -> int:
    if objective.name not in ordered.metrics:
        raise BadArgument(
            "objectives",
            must=f"be metrics of the log, which are {', '.join(ordered.metrics)}",
            got=repr(objective.name),
        )
    return ordered.metrics.index(objective.name)
