"""What pulls have cost so far, and what the next ones are taken to.

Costs steer whom to pull and say when a budget is over. They are no evidence: whatever is told of them, true or not, the
intervals are those of the values (docs/theory.md, "Costs").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.question import MOST_COST, Cost, is_amount
from frontguard.results import CostSoFar
from frontguard.studies.measurement import Measurement

WINDOW = 31
"""Pulls of an arm, the last ones, of whose costs the median is what its next pull is taken to cost."""

TRIED = 10
"""Pulls that may leave open what they cost, if all do, before a budget of it ends the study."""

SLACK = 1e-9
"""The share of a budget by which sums of numbers that are not exact may miss it."""


def with_cost(cost: Cost | None, metrics: Sequence[str], came: Measurement) -> Measurement:
    """What came back with its cost beside its values, of which the cost is one no longer unless it is among `metrics`.

    A pull that does not say what it cost, or says what cannot be, is not failed for that: its cost is not known, NaN.

    >>> with_cost(Cost("joules"), ["loss"], Measurement({"loss": 0.5, "joules": 3})).cost
    3.0
    """
    if cost is None or cost.metric is None:
        return came
    values, found = came.values, None
    if isinstance(values, Mapping):
        found = values.get(cost.metric)
        if cost.metric not in metrics:
            values = {name: value for name, value in values.items() if name != cost.metric}
    elif isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, (str, bytes)):
        if cost.metric in metrics:
            at = metrics.index(cost.metric)
            found = values[at] if at < len(values) else None
        elif len(values) == len(metrics) + 1:
            values, found = values[:-1], values[-1]
    elif cost.metric in metrics and len(metrics) == 1:
        found = values
    told = came.cost
    if math.isnan(told) and is_amount(found):
        told = float(found)  # type: ignore[arg-type]
    return replace(came, values=values, cost=told)


class Spending:
    """What the told pulls of K arms have cost, taken in their order, and what a further pull of each would.

    The state after n pulls does not depend on how many at a time they were taken.

    >>> spent = Spending(["a", "b"], Cost("seconds"))
    >>> spent.add(np.array([0, 0, 1, 1]), np.array([1.0, 3.0, np.nan, 8.0]))
    >>> spent.typical.tolist(), spent.by_arm.tolist()
    ([2.0, 8.0], [4.0, 16.0])
    """

    def __init__(self, names: Sequence[str], cost: Cost) -> None:
        self.cost, arms = cost, len(names)
        self.pulls = np.zeros(arms, np.int64)  # that were told
        self.unknown = np.zeros(arms, np.int64)  # those of them that did not say what they cost
        self._known = np.zeros(arms)  # what the others did
        self._typical = np.array(cost.amounts(names), np.float64)
        self._recent = np.full((arms, WINDOW if cost.metric is not None else 0), np.nan)

    def copy(self) -> Spending:
        """The same, to go on with by itself."""
        other = Spending.__new__(Spending)
        other.__dict__.update(self.__dict__)
        for name in ("pulls", "unknown", "_known", "_typical", "_recent"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def add(self, arms: Ints, costs: Floats | None) -> None:
        """Take further told pulls; `costs` are what they said, NaN where nothing, where a metric is the cost."""
        if self.cost.metric is None or costs is None:
            np.add.at(self.pulls, arms, 1)
            return
        usable = (costs >= 0.0) & (costs <= MOST_COST)
        np.add.at(self.unknown, arms[~usable], 1)
        order = np.argsort(arms[usable], kind="stable")
        told, amounts = arms[usable][order], costs[usable][order]
        before = self.pulls - self.unknown + np.bincount(arms[~usable], minlength=len(self.pulls))  # that said so
        np.add.at(self.pulls, arms, 1)
        np.add.at(self._known, told, amounts)  # one after another, so that it does not matter how they are taken
        ranks = np.arange(len(told)) - np.searchsorted(told, told)
        counts = np.bincount(told, minlength=len(self.pulls))
        last = ranks >= counts[told] - WINDOW
        places = (before[told] + ranks) % WINDOW
        self._recent[told[last], places[last]] = amounts[last]
        touched = np.unique(told)
        if len(touched):
            self._typical[touched] = np.nanmedian(self._recent[touched], axis=1)

    @property
    def typical(self) -> Floats:
        """What a pull of each arm (K,) is taken to cost; NaN where none has said so."""
        return self._typical.copy()

    @property
    def expected(self) -> Floats:
        """The same, as the median of the others where none has said so; 0 where none of any arm has."""
        known = self._typical[np.isfinite(self._typical)]
        return np.where(np.isfinite(self._typical), self._typical, np.median(known) if len(known) else 0.0)

    @property
    def by_arm(self) -> Floats:
        """What the told pulls of each arm (K,) have cost: those that did not say so as is `expected` of their arm."""
        if self.cost.metric is None:
            return np.asarray(self.pulls * self._typical)
        return np.asarray(self._known + self.unknown * self.expected)

    def so_far(self) -> CostSoFar:
        """What was spent, as a fact."""
        return CostSoFar(self.cost.unit, self.by_arm, self.typical, self.cost.metric)

    def affordable(self, wanted: Ints, out: Ints, budget: float) -> Ints:
        """Of the wanted pulls, in their order, those that a budget has left, beside `out` (K,) that are under way.

        An arm of which no pull has said what it costs gets one at a time; where none of any arm has, and every arm has
        been tried, nothing is affordable.
        """
        if not np.isfinite(self._typical).any() and self.pulls.all() and self.pulls.sum() >= TRIED:
            return wanted[:0]
        expected, unknown = self.expected, np.isnan(self._typical)
        left = budget * (1.0 + SLACK) - float(self.by_arm.sum()) - float((out * expected).sum())
        if left <= budget * SLACK:
            return wanted[:0]
        tried = set(np.flatnonzero(unknown & (out > 0)).tolist())
        chosen = []
        for place, arm in enumerate(wanted.tolist()):
            if unknown[arm]:
                if arm in tried:
                    continue
                tried.add(arm)
            elif expected[arm] > left:
                continue
            else:
                left -= float(expected[arm])
            chosen.append(place)
        return wanted[chosen]
