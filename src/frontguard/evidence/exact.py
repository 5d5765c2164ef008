"""Values that are the same whenever they are measured: one is enough, and two that differ say nothing."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.kinds import Kind, LogLook, Statistic
from frontguard.evidence.samples import Record, Samples, ranked
from frontguard.objectives import Objective


@kernel
def exact_interval(samples: Samples, record: Record) -> tuple[float, float]:
    """The value; everything where there is none, and nothing, an empty interval, where two differ."""
    if record.count == 0:
        return -np.inf, np.inf
    return ranked(samples, record, record.count - 1), ranked(samples, record, 0)


class ExactValue(Kind):
    """The value itself."""

    name = "exact value"

    @classmethod
    def of(cls, objective: Objective) -> Statistic | None:
        """Return that it is this kind, if the objective is exact."""
        return Statistic() if objective.exact else None

    def interval(self, look: LogLook, share: float) -> tuple[Floats, Floats]:
        """Return the value; everything where there is none, or two that differ."""
        return self._ends

    def centre(self, shrink: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the values."""
        return self.about_quantile(0.5, shrink)

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        lower, upper = np.full(len(self.pulls), -np.inf), np.full(len(self.pulls), np.inf)
        some = np.flatnonzero(self.good)
        lower[some] = upper[some] = self.at(some, np.zeros_like(some))
        differing, _ = self.differing()
        lower[differing], upper[differing] = -np.inf, np.inf
        return lower, upper

    def differing(self) -> tuple[Ints, Floats]:
        """The arms (n,) that were measured differently, with two of the values (n, 2) each."""
        some = np.flatnonzero(self.good)
        places = (np.ones_like(some), -1), (self.good[some], 1)
        ends = np.stack([self.raw(some, rank, side) for rank, side in places], axis=1)
        differ = ends[:, 0] != ends[:, 1]
        return some[differ], ends[differ]
