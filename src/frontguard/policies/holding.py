"""Samples that policies hold, sorted for each arm and objective, lent to copies; pending values; beaten arms."""

from __future__ import annotations

from typing import NamedTuple, Self
from weakref import WeakSet

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.intervals import (
    BEST_HIGH,
    DOUBT_HIGH,
    DOUBT_LOW,
    ESTIMATE,
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    PLAIN_HIGH,
    PLAIN_LOW,
)
from frontguard.evidence.samples import FIRST_EXTENT, Samples, Table, absorb, empty_pool, empty_table, take_in
from frontguard.policies.base import Policy


class Pending:
    """Values that a policy has not taken yet, a small sample beside its own; copies keep what they were lent."""

    def __init__(self, arms: int, objectives: int) -> None:
        self.counts = np.zeros(arms, np.int64)  # pulls of each arm, failed ones included
        self.dismissed = np.zeros(0, np.int64)  # arms of those that do not count
        self.by_block: list[tuple[Ints, Ints, Floats]] = []  # arms, which pull of the arm each is, and values
        self._columns = empty_table(arms * objectives)
        self._pool = empty_pool(arms * objectives, FIRST_EXTENT)
        self._readers: WeakSet[object] = WeakSet()  # of the pool as it is

    def __len__(self) -> int:
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
        """Let the sorted `columns` of a reader go on with what is pending; return where that lies."""
        own, pending = columns[:-1], self._columns[:-1]
        own["window"] = pending["count"]
        own["window_start"] = pending["start"]
        own["count"] += pending["count"]
        self._readers.add(reader)
        return self._pool


class Holding(Policy):
    """The samples of a policy. Those of which means count are counted while they have few different values."""

    def _hold_nothing(self, counted: Bools) -> None:
        """Begin without values; `counted` (M,) are the columns of a pull whose different values are counted."""
        self.columns = empty_table(self.arms * self.width)
        self.columns["counted"][:-1] = np.tile(counted, self.arms)
        self.pool = empty_pool(self.arms * self.width, FIRST_EXTENT)
        self._beside = np.empty(0)  # values that were not merged into the pool yet, see `_lend`
        self._pool_users: WeakSet[Holding] = WeakSet([self])  # policies that read this very pool

    @property
    def samples(self) -> Samples:
        """All values that were told, sorted for each arm and objective, as kernels read them."""
        return Samples(self.pool, self._beside, self.columns)

    def values_of(self, arm: int, objective: int, step: int = 1) -> Floats:
        """Return every `step`-th value of an arm and objective: sorted, and behind them those that are only lent."""
        own, lent = self.samples.pieces(arm * self.width + objective)
        return np.concatenate([own[::step], lent[::step]])

    def only_two_values(self, objective: int) -> Floats | None:
        """Return the two values (2,) that an objective takes, if some arm has both; None if there are others."""
        known: Floats = np.empty(0)
        both = False
        for arm in range(self.arms):
            here = np.unique(self.values_of(arm, objective))
            known = np.union1d(known, here)
            both = both or len(here) == 2
            if len(known) > 2:
                return None
        return known if both else None

    def _hold(self, arms: Ints, values: Floats) -> None:
        """Take values (n, M) of `arms` (n,), which are in order, into the samples."""
        self._merge()
        self._own_pool()
        self.pool = absorb(self.pool, self.columns, arms, values, True)

    def _lend(self, policy: Self, pending: Pending) -> None:
        """Let a copy, with columns of its own, read these samples and what is pending; who takes more, copies first."""
        policy._beside = pending.lent_to(policy, policy.columns)
        self._pool_users.add(policy)

    def _merge(self) -> None:
        if len(self._beside):
            self._own_pool()
            self.pool = take_in(self.pool, self._beside, self.columns)
            self._beside = np.empty(0)

    def _own_pool(self) -> None:
        """Have a pool that nobody else reads, before it is written to."""
        if len(self._pool_users) > 1:
            self._pool_users.discard(self)
            self.pool, self._pool_users = self.pool.copy(), WeakSet([self])


LOWER, UPPER = (LOW, LOW_FLOOR, PLAIN_LOW), (HIGH, HIGH_FLOOR, PLAIN_HIGH, BEST_HIGH)
MIDDLE = ESTIMATE, DOUBT_LOW, DOUBT_HIGH


class Carried(NamedTuple):
    """The arm that each of K arms is carried along with, −1 for none, and the intervals of both when that began."""

    by: Ints  # (K,)
    own: Floats  # (K, COLUMNS, C)
    its: Floats  # (K, COLUMNS, C)

    @classmethod
    def nothing(cls, intervals: Floats) -> Carried:
        """Return that no arm is beaten."""
        return cls(np.full(len(intervals), -1), intervals.copy(), intervals.copy())

    def after(self, intervals: Floats, out: Ints, by: Ints) -> Carried:
        """Return the same, once these arms are `out` (n,), each beaten `by` another one (n,)."""
        new = self.by[out] != by
        arms, rivals = out[new], by[new]
        found = Carried(np.full(len(intervals), -1), self.own.copy(), self.its.copy())
        found.by[out] = by
        found.own[arms], found.its[arms] = intervals[arms], intervals[rivals]
        return found

    def move(self, intervals: Floats, moving: Bools) -> None:
        """Bring the intervals of the beaten arms to the present moments, in columns (C,) that are `moving`."""
        for i in np.flatnonzero(self.by >= 0).tolist():
            own, then, now = self.own[i], self.its[i], intervals[self.by[i]]
            if (then == now).all():
                continue
            with np.errstate(invalid="ignore"):
                for columns, before, after in ((LOWER, HIGH, LOW), (UPPER, LOW, HIGH), (MIDDLE, ESTIMATE, ESTIMATE)):
                    moved = own[list(columns)] + (now[after] - then[before])
                    intervals[i, list(columns)] = np.where(moving, moved, own[list(columns)])
