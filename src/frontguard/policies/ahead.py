"""Values that were told and that a policy has not taken yet, kept so that a decision on them can be tried cheaply."""

from __future__ import annotations

from weakref import WeakSet

import numpy as np

from frontguard._typing import Floats, Ints
from frontguard.evidence.samples import Table, empty_pool, empty_table
from frontguard.pareto.rule import ARM, CONTROL, absorb


class Ahead:
    """A small sample of every arm and objective, sorted, to be read together with a policy's own samples.

    It may grow while copies of a policy read it: these keep what they were lent.
    """

    def __init__(self, arms: int, objectives: int) -> None:
        self._table = np.zeros(arms, ARM)
        self._control = np.zeros(1, CONTROL)
        self._columns = empty_table(arms * objectives)
        self._pool = empty_pool(arms * objectives)
        self._readers: WeakSet[object] = WeakSet()  # of the pool as it is

    def __len__(self) -> int:
        """How many pulls are ahead."""
        return int(self._control["pulls"][0])

    @property
    def counts(self) -> Ints:
        """How many pulls of each arm (K,) are ahead, failed ones included."""
        counts: Ints = self._table["pulls"]
        return counts

    def add(self, arms: Ints, values: Floats) -> None:
        """Add inner values (n, M) of pulls of `arms` (n,); NaN where one failed. Costs about as much as is added."""
        if len(self._readers):
            self._pool, self._readers = self._pool.copy(), WeakSet()
        order = np.argsort(arms, kind="stable")
        self._pool = absorb(self._table, self._control, self._pool, self._columns, arms[order], values[order])

    def lent_to(self, reader: object, columns: Table) -> Floats:
        """Have the sorted `columns` of a reader go on with what is ahead of them. Returns where that lies.

        See `samples.ranked`.
        """
        own, ahead = columns[:-1], self._columns[:-1]
        own["window"] = ahead["count"]
        own["window_start"] = ahead["start"]
        own["count"] += ahead["count"]
        self._readers.add(reader)
        return self._pool
