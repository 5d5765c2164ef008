"""What was told and a policy has not taken yet."""

from __future__ import annotations

from weakref import WeakSet

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.evidence.ordered import FIRST_EXTENT, absorb
from frontguard.evidence.samples import Table, empty_pool, empty_table


class Pending:
    """Values that were told and that a policy has not taken yet, so that a decision on them can be tried cheaply.

    A small sorted sample of every arm and objective, read together with a policy's own samples. It may grow while
    copies of a policy read it: these keep what they were lent.
    """

    def __init__(self, arms: int, objectives: int) -> None:
        self.counts = np.zeros(arms, np.int64)  # pulls of each arm, failed ones included
        self.dismissed = np.zeros(0, np.int64)  # arms of those that do not count
        self.by_block: list[tuple[Ints, Ints, Floats]] = []  # arms, which pull of the arm each is, and values
        self._columns = empty_table(arms * objectives)
        self._pool = empty_pool(arms * objectives, FIRST_EXTENT)
        self._readers: WeakSet[object] = WeakSet()  # of the pool as it is

    def __len__(self) -> int:
        """How many pulls are pending."""
        return int(self.counts.sum())

    def add(self, arms: Ints, values: Floats, reps: Ints | None = None) -> None:
        """Add inner values (n, M) of pulls of `arms` (n,); NaN where one failed. Costs about as much as is added."""
        if reps is not None:
            self.by_block.append((arms, reps, values))
        if len(self._readers):
            self._pool, self._readers = self._pool.copy(), WeakSet()
        order = np.argsort(arms, kind="stable")
        self._pool = absorb(self._pool, self._columns, arms[order], values[order], True)
        np.add.at(self.counts, arms, 1)

    def dismiss(self, arms: Ints) -> None:
        """Add pulls of `arms` that do not count."""
        self.dismissed = np.concatenate([self.dismissed, arms])

    def lent_to(self, reader: object, columns: Table) -> Floats:
        """Have the sorted `columns` of a reader go on with what is pending. Returns where that lies.

        See `ordered.ranked`.
        """
        own, pending = columns[:-1], self._columns[:-1]
        own["window"] = pending["count"]
        own["window_start"] = pending["start"]
        own["count"] += pending["count"]
        self._readers.add(reader)
        return self._pool
