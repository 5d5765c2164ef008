"""Evidence on differences m_j − m_i of two arms, beside the intervals of each: what a design of measurements adds.

A policy asks a `Differences` for its split of δ, tells it measurements, and has it write upper bounds of differences
into the columns of its intervals. `evidence_of` says which design has which:

- `pairs`: arms measured on the same items, with `lists` (means over a finite list of items) and `discordant` (0 and 1
  at one look, exactly);
- `ratios`: randomised blocks, whatever a machine does to all arms of one;
- `apart`: arms that do not depend on each other;
- `two_sample`: two samples at one look, exactly, and `looks`, while they grow: the checks of gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.intervals import COLUMNS, REFUTED, interval_rule, unknown_intervals
from frontguard.evidence.kinds import IntervalRule, Statistic
from frontguard.evidence.samples import Samples
from frontguard.notices import Notice
from frontguard.theory.spread import SpreadBound
from frontguard.theory.threats import Threat


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
    """The samples that evidence is read from at one moment."""

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
    """Further columns for each pair of arms in the intervals: 1 of pairs, 2 with best rivals, 3 with what lasts."""
    in_blocks: bool = False
    """Whether the r-th measurements of all arms belong together."""
    block: int = 1
    """Measurements of an arm in a block."""

    def __init__(self, compared: Compared) -> None:
        self.compared = compared
        self.usable: Bools = np.zeros(compared.objectives, np.bool_)  # of which objectives differences are bounded
        self.refuted: Bools = np.zeros((compared.arms, compared.objectives), np.bool_)  # drift

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
        return unknown_intervals(self.compared.arms, columns, beside=self.columns)

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


_ROOM = 64  # blocks at first


class Blocks:
    """Inner values (C, K, R) by block, NaN where one failed or is not back; and which of them are back (K, R)."""

    def __init__(self, width: int, arms: int) -> None:
        self.values = np.full((width, arms, _ROOM), np.nan)
        self.back = np.zeros((arms, _ROOM), np.bool_)

    def copy(self) -> Blocks:
        """Return the same in arrays of their own."""
        other = copy(self)
        other.values, other.back = self.values.copy(), self.back.copy()
        return other

    def add(self, arms: Ints, reps: Ints, values: Floats) -> None:
        """Put values (n, C) of arms where their blocks are; one place is always left, at which nothing is back."""
        last, have = int(reps.max()), self.back.shape[1]
        if last >= have:
            more = last + 1 + last // 2 - have
            self.values = np.pad(self.values, ((0, 0), (0, 0), (0, more)), constant_values=np.nan)
            self.back = np.pad(self.back, ((0, 0), (0, more)))
        if self.back[arms, reps - 1].any():
            raise BadInput("every block of an arm is told once; got one again")
        self.values[:, arms, reps - 1] = values.T
        self.back[arms, reps - 1] = True


class InBlocks(Differences):
    """Evidence that keeps values by block: the r-th measurements of all arms belong together."""

    in_blocks = True

    def __init__(self, compared: Compared, width: int) -> None:
        super().__init__(compared)
        self._width = width  # values of a measurement

    def begin(self) -> None:
        """Forget all measurements."""
        self.blocks = Blocks(self._width, self.compared.arms)

    def copy(self) -> Self:
        """Return the same evidence, to go on with by itself."""
        other = super().copy()
        other.blocks = self.blocks.copy()
        return other

    def add(self, arms: Ints, reps: Ints, values: Floats) -> None:
        """Put values (n, C) of arms where their blocks are."""
        if len(arms):
            self.blocks.add(arms, reps, values)


def evidence_of(
    compared: Compared, threat: Threat, counted: Sequence[Statistic], *, delta: float,
    spread: SpreadBound | Any | None = None, t_bar: float = 0.49, paired: bool = False, items: int = 0,
    blocks: bool = False, independent: bool = False, foreseen: bool = True, limited: bool = False,
) -> tuple[IntervalRule, Differences]:  # fmt: skip
    """Return the rule of intervals and the evidence on differences that hold together with probability 1 − δ.

    Arms are measured each by itself, on the same things (`paired`; of a list of so many `items`), in randomised
    `blocks`, or independently: then `foreseen` says whether the accuracy was fixed before anything was measured, and
    `limited` whether there are limits.

    >>> from frontguard import Prescient
    >>> medians = [Statistic(), Statistic()]
    >>> rule, differences = evidence_of(Compared(3, 2), Prescient(0.1), medians, delta=0.1, independent=True)
    >>> rule.kinds.tolist(), differences.usable.tolist(), differences.of_intervals
    ([0, 0], [True, True], 0.5)
    """
    differences = Differences(compared)
    if independent and (paired or items):
        raise BadArgument("independent", "arms on the same items depend on them; leave one of them away")
    if independent:
        from frontguard.evidence.differences.apart import Apart

        differences = Apart(compared, threat, counted, delta=delta, limited=limited, foreseen=foreseen)
    elif paired or items:
        from frontguard.evidence.differences.pairs import WithinBlocks

        differences = WithinBlocks(compared, threat, counted, delta=delta, items=items)
    elif blocks:
        from frontguard.evidence.differences.looks import TwoSamples, tellable
        from frontguard.evidence.differences.ratios import Ratios

        if compared.baseline is not None and tellable(counted) and not limited:
            differences = TwoSamples(compared, threat, counted, delta=delta)
        else:
            differences = Ratios.where_usable(compared, threat, counted, delta=delta)
    share = differences.of_intervals * delta
    one_best = type(differences) is Differences and compared.baseline is None and not limited
    rule = interval_rule(
        threat, arms=compared.arms, objectives=len(counted), delta=share, spread=spread, t_bar=t_bar,
        statistics=counted, one_best=one_best,
    )  # fmt: skip
    return differences.adapt(rule), differences
