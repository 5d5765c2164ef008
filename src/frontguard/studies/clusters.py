"""Which told pulls of a study count: of a cluster of an arm the first, and each that is in no cluster.

Pulls of one cluster (a host, a process, a day) may depend on each other. The first pull of an arm in a cluster is,
given all before it, an observation like any other; a second one is not, and to wait for it or not would be chosen by
looking. So later pulls of a cluster that the arm has already are kept and shown, and do not count, neither as values
nor as failed ones (docs/theory.md, (n)).

The first is the one that was *started* first, not the one that came back first, which would favour quick ones. So a
pull in a cluster waits, and counts as one that is still out, until all pulls of its arm that were started before it are
back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from frontguard._common.typing import Bools, Ints
from frontguard.errors import OutOfTurn
from frontguard.storage.contract import Told

USED_UP = 20
"""Pulls of an arm in a row that are in clusters which it has already, after which no more of it are asked for."""


class Sorted(NamedTuple):
    """What became of some told pulls: those that count, in this order, and the arms of those that do not."""

    counted: Told
    left_out: Ints


class CountedPulls:
    """Takes the told pulls of a study of K arms in their order, and says which of them count.

    >>> from frontguard.storage.contract import Tell
    >>> told = Told.of([Tell(3, (0.3,), cluster="x"), Tell(1, (0.1,), cluster="x"), Tell(2, (0.2,))], 1)
    >>> found = CountedPulls(1).take(told, np.array([0, 0, 0]))
    >>> found.counted.pulls, found.left_out  # pull 3 is the first that came back of its cluster, not the first of it
    (array([1, 2]), array([0]))
    """

    def __init__(self, arms: int) -> None:
        self.left_out = np.zeros(arms, np.int64)  # told pulls of each arm (K,) that do not count ...
        self._in_a_row = np.zeros(arms, np.int64)  # ... and how many of them came since one that does
        self._seen: dict[int, set[str]] = {}  # by arm, the clusters that it has
        self._held: dict[int, dict[int, Told]] = {}  # by arm and number, pulls that wait for earlier ones
        self._told = np.zeros(0, np.bool_)  # by number from 0
        self._complete: dict[int, int] = {}  # by arm, how many of its first pulls are told, where that was looked at

    def copy(self) -> CountedPulls:
        """The same, to go on with by itself."""
        other = CountedPulls(0)
        other.left_out, other._in_a_row, other._told = self.left_out.copy(), self._in_a_row.copy(), self._told.copy()
        other._seen = {arm: set(names) for arm, names in self._seen.items()}
        other._held = {arm: dict(waiting) for arm, waiting in self._held.items()}
        other._complete = dict(self._complete)
        return other

    @property
    def used_up(self) -> Bools:
        """The arms (K,) whose last pulls all fell into clusters that they have already."""
        return np.asarray(self._in_a_row >= USED_UP)

    @property
    def held(self) -> Ints:
        """The arms of the told pulls that wait for earlier ones."""
        return np.array([arm for arm, waiting in self._held.items() for _ in waiting], np.int64)

    def take(self, told: Told, arm_of: Ints) -> Sorted:
        """Take the next told pulls, of the planned ones, whose arms are `arm_of`."""
        at = told.pulls - 1
        if len(self._told) < len(arm_of):
            self._told = np.concatenate([self._told, np.zeros(2 * len(arm_of) - len(self._told), np.bool_)])
        if self._told[at].any() or len(np.unique(at)) < len(at):
            raise OutOfTurn("a pull was told twice")
        if not any(told.clusters) and not self._held:
            self._told[at] = True
            self._in_a_row[arm_of[at]] = 0
            return Sorted(told, at[:0])
        counted: list[Told] = []
        left_out: list[int] = []
        pulls_of: dict[int, Ints] = {}
        for row, (pull, cluster) in enumerate(zip(told.pulls.tolist(), told.clusters, strict=True)):
            arm = int(arm_of[pull - 1])
            self._told[pull - 1] = True
            if cluster:
                self._held.setdefault(arm, {})[pull] = told.part(row, row + 1)
            else:
                self._in_a_row[arm] = 0
                counted.append(told.part(row, row + 1))
            if arm in self._held:
                own = pulls_of.setdefault(arm, np.flatnonzero(arm_of == arm) + 1)
                self._let_in(arm, own, counted, left_out)
        return Sorted(Told.joined([told.part(0, 0), *counted]), np.array(left_out, np.int64))

    def _let_in(self, arm: int, own: Ints, counted: list[Told], left_out: list[int]) -> None:
        """Sort the pulls of an arm that wait for nothing any more; its `own` are all that are planned."""
        complete = self._complete.get(arm, 0)
        while complete < len(own) and self._told[own[complete] - 1]:
            complete += 1
        self._complete[arm] = complete
        first_out = own[complete] if complete < len(own) else own[-1] + 1
        waiting, seen = self._held[arm], self._seen.setdefault(arm, set())
        for pull in sorted(number for number in waiting if number < first_out):
            one = waiting.pop(pull)
            if one.clusters[0] in seen:
                left_out.append(arm)
                self.left_out[arm] += 1
                self._in_a_row[arm] += 1
            else:
                seen.add(one.clusters[0])
                counted.append(one)
                self._in_a_row[arm] = 0
        if not waiting:
            del self._held[arm]


def counted_and_held(told: Told, arm_of: Ints) -> tuple[Told, Ints]:
    """Of all told pulls those that count, in the order in which they do, and the arms of those that wait.

    `arm_of` are the arms of all planned pulls.
    """
    pulls = CountedPulls(int(arm_of.max(initial=-1)) + 1)
    counted, _ = pulls.take(told, arm_of)
    return counted, pulls.held
