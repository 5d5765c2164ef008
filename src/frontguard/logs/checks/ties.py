"""Medians that say little: where nobody asked for them, and the answer would rest on ties, the question is refused.

Of four models that solve 92, 75, 60 and 55 % of their tasks, each has a median of 1: all are alike, and the cheapest
would be the front. So a metric of which nobody said what counts is refused if it has two different values only, and
some arm shows both; or if several arms that are not constant have one median, which a third or more of the values of
each equal. What is constant within each arm, a size or a price, is fine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frontguard._common.typing import Bools, Ints
from frontguard.errors import BadInput
from frontguard.limits import only_two_of
from frontguard.logs.sort.ordered import Readable
from frontguard.objectives import Objective
from frontguard.phrases import quoted, shown

_SHARE = 3
"""A tie counts if it is one of so many values of an arm, or more."""


def refuse_ties(log: Readable, objectives: Sequence[Objective], limited: Sequence[Objective] = ()) -> None:
    """Refuse the metrics whose median says little, and that nobody asked for. Some values of each arm are read.

    Of what is `limited` medians may tie, but not be all that there is to two values.
    """
    for metric in limited:
        if metric.by_default and (two := _two_values(log, log.metrics.index(metric.name))):
            raise BadInput(only_two_of(metric.name, *two))
    for objective in objectives:
        if objective.by_default:
            column = log.metrics.index(objective.name)
            arms = np.flatnonzero(log.good[column] > 1)
            if len(arms):
                if two := _two_values(log, column):
                    raise BadInput(objective.only_two(*two))
                _refuse_equal_medians(log, column, arms, objective)


def _two_values(log: Readable, column: int) -> tuple[float, float] | None:
    """The two values that all of a metric are, if some arm shows both."""
    every = np.flatnonzero(log.good[column])
    good = log.good[column][every]
    lowest, highest = log.at(column, every, np.ones_like(every), -1), log.at(column, every, good, 1)
    ends = np.concatenate([lowest, highest])
    values = np.array([ends.min(initial=np.inf), ends.max(initial=-np.inf)])
    mixed = every[lowest < highest]
    if not len(mixed) or not np.isin(ends, values).all():
        return None
    last_low = _last_equal(log, column, mixed, np.ones_like(mixed))
    if (log.at(column, mixed, last_low + 1) < values[1]).any():  # there is something between
        return None
    return float(values[0]), float(values[1])


def _refuse_equal_medians(log: Readable, column: int, arms: Ints, objective: Objective) -> None:
    good = log.good[column][arms]
    middle = (good + 1) // 2
    values = log.at(column, arms, middle)
    # A run of a third or more that holds the middle reaches a sixth of the values to one of its sides, or nearly.
    reach = np.maximum(good // (2 * _SHARE) - 1, 0)
    near = np.zeros(len(arms), np.bool_)
    for side in (-reach, reach):
        near |= log.at(column, arms, np.clip(middle + side, 1, good)) == values
    near &= log.at(column, arms, np.ones_like(arms), -1) < log.at(column, arms, good, 1)
    near[near] = _shared(values[near])
    some, middle, good, values = arms[near], middle[near], good[near], values[near]
    if not len(some):
        return
    equal = _last_equal(log, column, some, middle) - _first_equal(log, column, some, middle) + 1
    tied = (_SHARE * equal >= good) & (equal > 1)  # one value of two or three is no tie
    tied[tied] = _shared(values[tied])
    if not tied.any():
        return
    value = values[tied][0]
    names = [log.arms[int(arm)] for arm in some[tied][values[tied] == value].tolist()]
    raise BadInput(
        f"the medians of {len(names):,} arms in {shown(objective.name)} are the same, {value:g}, and a third or more "
        f"of the values of each are equal to it ({quoted(names, 3)}): an answer by medians would rest on these ties. "
        f"Say what counts: their mean, --mean {objective.name}=LOW,HIGH (Objective(statistic='mean', "
        f"bounds=(low, high))), or the median if it is meant, --quantile {objective.name}=0.5 (Objective(quantile=0.5))"
    )


def _shared(values: Sequence[float] | np.ndarray) -> Bools:
    """Which values occur more than once."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(counts[which] > 1)


def _last_equal(log: Readable, column: int, arms: Ints, ranks: Ints) -> Ints:
    """The last ranks at which arms have the value that they have at these, by halving."""
    values = log.at(column, arms, ranks)
    low, high = ranks.copy(), log.good[column][arms]
    while (low < high).any():
        middle = (low + high + 1) // 2
        same = log.at(column, arms, middle) == values
        low, high = np.where(same, middle, low), np.where(same, high, middle - 1)
    return low


def _first_equal(log: Readable, column: int, arms: Ints, ranks: Ints) -> Ints:
    """The first ones."""
    values = log.at(column, arms, ranks)
    low, high = np.ones_like(ranks), ranks.copy()
    while (low < high).any():
        middle = (low + high) // 2
        same = log.at(column, arms, middle) == values
        low, high = np.where(same, low, middle + 1), np.where(same, middle, high)
    return low
