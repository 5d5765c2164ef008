"""Evidence on differences m_j − m_i between two arms, beside the intervals of each: one contract for all kinds of it.

A policy asks a `Differences` for its split of δ, tells it measurements, and has it write upper bounds of m_j − m_i into
the columns of its intervals, where `pareto.rule` reads them (see `evidence.intervals`). This one knows nothing and
costs nothing. `evidence.pairs` compares arms within blocks, `evidence.apart` arms that are independent of each other.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple, Self

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.intervals import COLUMNS, REFUTED, IntervalRule, unknown_intervals
from frontguard.evidence.ordered import Samples
from frontguard.notices import Notice


class Compared(NamedTuple):
    """The arms that are compared, and in how many objectives: all pairs of K arms, or each with a baseline."""

    arms: int
    objectives: int
    baseline: int | None = None

    @property
    def ordered_pairs(self) -> int:
        """The number of ordered pairs, of which each objective needs a bound."""
        return (self.arms if self.baseline is None else 2) * (self.arms - 1)


class Sampled(NamedTuple):
    """What evidence is read from at one moment."""

    intervals: Floats  # (K, COLUMNS + …, C)
    samples: Samples
    asked: Ints  # (K,): all measurements that were asked for; one that failed, or is not back, may be anything
    touched: Ints  # arms with new measurements
    alive: Ints  # arms that are neither beaten nor excluded, in order


class Differences:
    """No evidence on differences: intervals have all of δ."""

    of_intervals: float = 1.0
    """The share of δ that is left to intervals."""
    columns: int = 0
    """Further bounds for each pair of arms in the intervals: 1 of pairs, 2 with those of best rivals."""
    in_blocks: bool = False
    """Whether the r-th measurements of all arms belong together."""

    def __init__(self, compared: Compared) -> None:
        self.compared = compared
        self.usable: Bools = np.zeros(compared.objectives, np.bool_)  # of which objectives differences are bounded

    def adapt(self, rule: IntervalRule) -> IntervalRule:
        """Return the rule of the intervals as this evidence needs it."""
        return rule

    def begin(self) -> None:
        """Forget all measurements."""

    def copy(self) -> Self:
        """Return the same evidence, to go on with by itself."""
        return copy(self)

    def add(self, arms: Ints, reps: Ints, values: Floats) -> None:
        """Take values (n, C) of `arms` (n,), each the r-th measurement of its arm, from 1."""

    def refresh(self, now: Sampled) -> bool:
        """Bring the bounds in the intervals up to date; return whether an interval was found false."""
        return False

    def unknown(self, columns: int) -> Floats:
        """Return intervals of arms of which nothing is known, with room for what is said of differences."""
        return unknown_intervals(self.compared.arms, columns, pairs=self.columns > 0, rivals=self.columns > 1)

    def forget(self, intervals: Floats, arms: Ints) -> None:
        """Let intervals say nothing of these arms but what was refuted, nor of how others differ from them."""
        refuted = intervals[arms, REFUTED]
        intervals[arms] = self.unknown(intervals.shape[2])[arms]
        intervals[arms, REFUTED] = refuted
        for column in range(COLUMNS, intervals.shape[1], intervals.shape[0]):
            intervals[:, column + arms] = np.inf

    def exclude(self, intervals: Floats) -> None:
        """Withdraw what does not hold once an arm was excluded."""

    def notices(self) -> tuple[Notice, ...]:
        """Return what the answer has to say of this evidence."""
        return ()
