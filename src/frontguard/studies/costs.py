"""What pulls cost: a metric that each pull reports, or a number for each arm; and what was spent so far.

Costs steer whom to pull and say when a budget is over. They are no evidence: whatever is told of them, true or not, the
intervals are those of the values (docs/theory.md, "Costs").
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard._common.written import checked_seconds
from frontguard.errors import BadArgument
from frontguard.phrases import did_you_mean, shown
from frontguard.results import CostSoFar
from frontguard.results.facts import SECONDS
from frontguard.studies.measurement import Measurement

UNITS = "units"
"""What costs are counted in where nobody named it."""

WINDOW = 31
"""Pulls of an arm, the last ones, of whose costs the median is what its next pull is taken to cost."""

MOST = 1e30
"""The largest amount that is believed to be a cost: sums of any number of them are finite."""

SLACK = 1e-9
"""The share of a budget by which sums of numbers that are not exact may miss it."""

_PRICE = re.compile(r"\s*([0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+)(?:\s+(\S(?:.*\S)?))?\s*", re.DOTALL)


@dataclass(frozen=True)
class Cost:
    """What a pull costs: what it reports of a `metric`, or else `amounts`, one for each arm; counted in `unit`."""

    metric: str | None = None
    amounts: tuple[float, ...] = ()
    unit: str = UNITS

    def __post_init__(self) -> None:
        """Refuse what is no cost."""
        if (self.metric is None) == (not self.amounts):
            raise BadArgument("cost", must="be the name of a metric, or a number for each arm", got="both or neither")
        for text, what in ((self.metric, "the metric of the cost"), (self.unit, "the unit of the cost")):
            if text is not None and (not isinstance(text, str) or not text.strip() or not text.isprintable()):
                raise BadArgument(what, must="be a text of one line that is not blank", got=shown(text, 120))
        for amount in self.amounts:
            if not _is_amount(amount):
                raise BadArgument("cost", must="be finite numbers from 0", got=shown(amount, 120))

    def budget(self, value: object, name: str = "max_cost") -> float:
        """A budget in its unit: a number, or a text such as "12 dollars"; of seconds also "30 min".

        >>> Cost("seconds", unit="seconds").budget("2 min"), Cost(None, (1.0, 2.0), "dollars").budget("12 dollars")
        (120.0, 12.0)
        >>> Cost(None, (1.0, 2.0), "dollars").budget("12 euros")
        Traceback (most recent call last):
        ...
        frontguard.errors.BadArgument: max_cost must be a number of dollars above 0, such as 120 or '120 dollars'; got
        '12 euros'
        """
        if self.unit == SECONDS:
            return checked_seconds(value, name)
        amount, unit = _price(value)
        if not 0.0 < amount < math.inf or unit not in ("", self.unit):
            wanted = f"a number of {self.unit} above 0, such as 120 or '120 {self.unit}'"
            raise BadArgument(name, must=f"be {wanted}", got=shown(value, 120))
        return amount


def read_cost(given: object, arms: Sequence[str]) -> Cost | None:
    """The cost that a caller means: a metric's name, an amount for all arms, or amounts by arm.

    >>> arms = ["small", "large"]
    >>> read_cost("seconds", arms), read_cost("0.02 dollars", arms)
    (Cost(metric='seconds', amounts=(), unit='seconds'), Cost(metric=None, amounts=(0.02, 0.02), unit='dollars'))
    >>> read_cost({"small": 1, "large": "30 cents"}, arms)
    Cost(metric=None, amounts=(1.0, 30.0), unit='cents')
    """
    if given is None or isinstance(given, Cost):
        return given
    if isinstance(given, Mapping):
        for arm in given:
            if arm not in arms:
                hint = did_you_mean(arm, arms) if isinstance(arm, str) else ""
                raise BadArgument("cost", f"{shown(arm, 120)} is no arm{hint}")
        missing = [arm for arm in arms if arm not in given]
        if missing:
            raise BadArgument("cost", must="be given for every arm", got=f"none for {shown(missing[0], 120)}")
        prices = [_price(given[arm]) for arm in arms]
    else:
        prices = [_price(given)] * len(arms)
        if isinstance(given, str) and math.isnan(prices[0][0]):
            return Cost(given, unit=SECONDS if given == SECONDS else given)
    for arm, (amount, _) in zip(arms, prices, strict=True):
        if not _is_amount(amount):
            what = given[arm] if isinstance(given, Mapping) else given
            raise BadArgument("cost", must="be a metric, a number from 0, or one with its unit", got=shown(what, 120))
    units = dict.fromkeys(unit for _, unit in prices if unit)
    if len(units) > 1:
        raise BadArgument("cost", must="have one unit", got=f"{' and '.join(units)}")
    return Cost(None, tuple(amount for amount, _ in prices), next(iter(units), UNITS))


def checked_max_cost(value: object, cost: Cost | None, name: str = "max_cost") -> float | None:
    """A budget of what pulls cost; None for none. Refuses one where nobody said what that is."""
    if value is None:
        return None
    if cost is None:
        raise BadArgument(name, "say what pulls cost, such as cost='seconds' or a number for each arm; got no cost")
    return cost.budget(value, name)


def _price(given: object) -> tuple[float, str]:
    """An amount and the unit beside it, "" for none; NaN for what is no amount."""
    if isinstance(given, str):
        match = _PRICE.fullmatch(given)
        return (math.nan, "") if match is None else (float(match[1]), match[2] or "")
    if not isinstance(given, Real) or isinstance(given, bool):
        return math.nan, ""
    try:
        return float(given), ""
    except OverflowError:
        return math.inf, ""


def _is_amount(value: object) -> bool:
    if not isinstance(value, Real) or type(value).__name__ in ("bool", "bool_"):
        return False
    try:
        return 0.0 <= float(value) <= MOST
    except OverflowError:
        return False


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
    if math.isnan(told) and _is_amount(found):
        told = float(found)  # type: ignore[arg-type]
    return replace(came, values=values, cost=told)


class Spending:
    """What the told pulls of K arms have cost, taken in their order, and what a further pull of each would.

    The state after n pulls does not depend on how many at a time they were taken.

    >>> spent = Spending(2, Cost("seconds"))
    >>> spent.add(np.array([0, 0, 1, 1]), np.array([1.0, 3.0, np.nan, 8.0]))
    >>> spent.typical.tolist(), spent.by_arm.tolist()
    ([2.0, 8.0], [4.0, 16.0])
    """

    def __init__(self, arms: int, cost: Cost) -> None:
        self.cost = cost
        self.pulls = np.zeros(arms, np.int64)  # that were told
        self.unknown = np.zeros(arms, np.int64)  # those of them that did not say what they cost
        self._known = np.zeros(arms)  # what the others did
        self._typical = np.array(cost.amounts or [np.nan] * arms, np.float64)
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
        usable = (costs >= 0.0) & (costs <= MOST)
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

        An arm of which no pull has said what it costs gets one at a time.
        """
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
