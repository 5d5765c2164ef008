"""Limits: constraints on arms, beside what they are compared by: "p95(latency) <= 300".

A limit speaks of a statistic of a metric, which may be an objective or not. Where an objective counts the same
statistic of the same metric, better in the same direction, its interval serves for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from frontguard._common.checks import checked_share, read_amount, real_number
from frontguard._common.typing import Floats
from frontguard.errors import BadArgument, BadInput
from frontguard.objectives import Counted, Direction, Objective, checked_statistic, parse_tolerance

_RATE = (0.0, 1.0)  # the bounds of a mean of which nobody said any
_EXAMPLES = "'p95(latency)<=300', 'median(seconds)<=2', 'mean(solved)>=0.8', 'mean(stars,1,5)>=3' or 'bytes<=1000'"
_ASKED = re.compile(r"\s*(.+?)\s*(<=|>=|≤|≥)\s*([^<>=≤≥]+?)\s*", re.DOTALL)
_COUNTED = re.compile(r"(median|mean|p[0-9]+(?:\.[0-9]+)?)\s*\(\s*(.+?)\s*\)", re.DOTALL)


@dataclass(frozen=True)
class Limit:
    """A number that a statistic of a metric must be `at_most`, or `at_least`.

    Parameters
    ----------
    metric
        Its name; an objective, or any other metric.
    at_most, at_least
        One of them: how far it may go.
    quantile, statistic, bounds
        What counts: a quantile, or the "mean" of values between bounds, (0, 1) unless given. Without either, as of the
        objective of that name; else the median.
    tolerance
        An arm is feasible if it is certainly no further beyond than this, an amount or a percentage.
    contamination
        ε of its metric; an objective of that name has its own.

    Raises
    ------
    BadInput
        There is no end or there are two, or the statistic cannot be.

    >>> Limit("latency", at_most=300, quantile=0.95) == Limit.read("p95(latency) <= 300")
    True
    >>> Limit.read("mean(stars, 1, 5) >= 3").bounds, Limit.read("bytes<=1000").statistic
    ((1.0, 5.0), None)
    """

    metric: str
    at_most: float | None = None
    at_least: float | None = None
    quantile: float | None = None
    statistic: Counted | None = None
    bounds: tuple[float, float] | None = None
    tolerance: float | str = 0.0
    contamination: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no limit; bring numbers to floats."""
        if not isinstance(self.metric, str) or not self.metric.strip():
            raise BadInput(f"the metric of a limit must be a text that is not blank; got {self.metric!r}")
        name = f"the limit of {self.metric!r}"
        given = [end for end in ("at_most", "at_least") if getattr(self, end) is not None]
        if len(given) != 1:
            raise BadArgument(name, must="be at_most or at_least a number", got="both" if given else "neither")
        value = real_number(getattr(self, given[0]), f"{given[0]} of {name}")
        object.__setattr__(self, given[0], value)
        tolerance = parse_tolerance(self.tolerance, f"tolerance of {name}")
        if tolerance.relative and value <= 0.0:
            raise BadInput(f"tolerance of {name} can be a percentage of a positive limit only; got {value:g}")
        spelled = "".join(str(self.tolerance).split()) if tolerance.relative else tolerance.amount
        object.__setattr__(self, "tolerance", spelled)
        if self.contamination is not None:
            object.__setattr__(self, "contamination", checked_share(self.contamination, f"contamination of {name}"))
        counted = self._counted(None)  # which refuses what no metric can have
        for key in ("quantile", "statistic", "bounds"):
            if getattr(self, key) is not None or (key == "statistic" and self.quantile is not None):
                object.__setattr__(self, key, getattr(counted, key))

    @classmethod
    def read(cls, text: str) -> Limit:
        """A limit as it is written on a command line."""
        asked = _ASKED.fullmatch(text)
        amount = read_amount(asked[3]) if asked else None
        if asked is None or amount is None or amount[1]:
            raise BadArgument("limit", must=f"be such as {_EXAMPLES}", got=repr(text))
        at_most, at_least = (amount[0], None) if asked[2] in ("<=", "≤") else (None, amount[0])
        counted = _COUNTED.fullmatch(asked[1])
        if counted is None:
            return cls(asked[1], at_most, at_least)
        word, metric = counted[1], counted[2]
        if word == "mean":
            metric, bounds = _bounds_behind(metric)
            return cls(metric, at_most, at_least, statistic="mean", bounds=bounds)
        level = 0.5 if word == "median" else float(f"{word[1:]}e-2")  # the nearest double to what was written
        return cls(metric, at_most, at_least, quantile=level)

    @property
    def value(self) -> float:
        """The number that is not to be passed."""
        return float((self.at_least if self.at_most is None else self.at_most) or 0.0)

    @property
    def allowed(self) -> float:
        """The number with its tolerance, which a feasible arm has at most, or at least.

        >>> Limit("latency", at_most=300, tolerance="10%").allowed, Limit("solved", at_least=0.8, tolerance=0.1).allowed
        (330.0, 0.7000000000000001)
        """
        amount, relative = parse_tolerance(self.tolerance)
        if self.at_most is not None:
            return self.value * (1.0 + amount) if relative else self.value + amount
        return self.value / (1.0 + amount) if relative else self.value - amount

    def column(self, objectives: Sequence[Objective]) -> Objective:
        """Its metric as an objective, which is better the further it is within."""
        found = self._counted(next((each for each in objectives if each.name == self.metric), None))
        if found.bounds is not None and not found.bounds[0] <= self.value <= found.bounds[1]:
            low, high = found.bounds
            sign = ">=" if self.at_most is None else "<="
            raise BadInput(
                f"the limit of {self.metric!r} must lie between the bounds of its mean, {low:g} and {high:g} unless "
                f"others are given, --limit 'mean({self.metric},LOW,HIGH){sign}{self.value:g}' (in a spec, bounds = "
                f"[low, high]; Limit(bounds=(low, high))); got {self.value:g}"
            )
        return found

    def _counted(self, same: Objective | None) -> Objective:
        direction: Direction = "minimize" if self.at_least is None else "maximize"
        statistic = "quantile" if self.quantile is not None else self.statistic
        if same is not None and self.bounds is None:
            as_it_is = replace(same, direction=direction, tolerance=0.0)
            if statistic is None or (statistic == "mean" and same.statistic == "mean"):
                return as_it_is
        bounds = _RATE if statistic == "mean" and self.bounds is None else self.bounds
        counted = checked_statistic(f"the limit of {self.metric!r}", self.quantile, self.statistic, bounds)
        return Objective(self.metric, direction, 0.0, *counted)


def only_two_of(metric: str, low: float, high: float) -> str:
    """The refusal of a limit on a median that nobody asked for, where all values are one of two."""
    return (
        f"the limit of {metric!r} asks for a median, and there are only the values {low:g} and {high:g}, of which that "
        f"says little: write mean({metric}{'' if (low, high) == _RATE else f',{low:g},{high:g}'}), or "
        f"median({metric}) if it is meant"
    )


def _bounds_behind(text: str) -> tuple[str, tuple[float, float] | None]:
    """A metric and the bounds of its values that are written behind it: "stars, 1, 5"."""
    metric, *rest = text.rsplit(",", 2)
    amounts = [read_amount(each) for each in rest]
    if len(rest) == 2 and all(each is not None and not each[1] for each in amounts):
        low, high = (each[0] for each in amounts if each is not None)
        return metric.strip(), (low, high)
    return text, None


def parse_limits(limits: Iterable[Limit | str]) -> tuple[Limit, ...]:
    """Limits, and texts of such, as limits; each of them once.

    >>> parse_limits(["bytes<=1000"])
    (Limit(metric='bytes', at_most=1000.0, at_least=None, quantile=None, statistic=None, bounds=None, tolerance=0.0,
    contamination=None),)
    """
    if isinstance(limits, (str, Limit, Mapping)) or not isinstance(limits, Iterable):
        raise BadInput(f"limits must be a list of Limit(...) or texts such as {_EXAMPLES}, even if it is one; "
                       f"got {limits!r}")  # fmt: skip
    found = []
    for position, given in enumerate(limits):
        if not isinstance(given, (Limit, str)):
            raise BadInput(f"limit {position} must be a Limit or a text such as {_EXAMPLES}; got {given!r}")
        found.append(Limit.read(given) if isinstance(given, str) else given)
    return tuple(dict.fromkeys(found))


def with_limits(limits: Iterable[Limit], more: Iterable[Limit]) -> tuple[Limit, ...]:
    """Limits and further ones; one that differs from an earlier one by its number alone stands in its place.

    >>> [each.at_most for each in with_limits(parse_limits(["mb<=9", "s<=1"]), parse_limits(["mb<=8"]))]
    [8.0, 1.0]
    """
    return tuple({_but_for_its_number(limit): limit for limit in (*limits, *more)}.values())


def _but_for_its_number(limit: Limit) -> Limit:
    at_most, at_least = (None if end is None else 0.0 for end in (limit.at_most, limit.at_least))
    return replace(limit, at_most=at_most, at_least=at_least, tolerance=0.0, contamination=None)


@dataclass(frozen=True)
class Gate:
    """A limit, what counts for it, and the column of intervals that this is.

    >>> latency = Objective("latency", "minimize", quantile=0.95)
    >>> (gate,) = columns_for((latency,), (Limit("latency", at_most=300),)).gates
    >>> str(gate), gate.column, gate.within, gate.beyond
    ('p95(latency) ≤ 300', 0, -300.0, -300.0)
    """

    limit: Limit
    metric: Objective
    column: int

    @property
    def within(self) -> float:
        """The inner value at or above which an arm keeps to it."""
        return float(self.metric.inward(self.limit.allowed))

    @property
    def beyond(self) -> float:
        """The inner value below which an arm is beyond it."""
        return float(self.metric.inward(self.limit.value))

    @property
    def of(self) -> str:
        """The limited statistic: "p95(latency)"; an exact value by its name alone."""
        word, name = self.metric.statistic_word, self.limit.metric
        return name if word == "exact" else f"{word}({name})"

    @property
    def sign(self) -> str:
        """≤ or ≥."""
        return "≥" if self.limit.at_most is None else "≤"

    def __str__(self) -> str:
        return f"{self.of} {self.sign} {self.limit.value:.12g}"


@dataclass(frozen=True)
class Columns:
    """The values of a pull and those with an interval; the M objectives come first in both.

    `metrics` are the values of a pull: the objectives, and metrics that only limits need. `boxed` have an interval: the
    objectives, and statistics that only limits need; `sources` says of which metric each is.
    """

    metrics: tuple[Objective, ...]
    boxed: tuple[Objective, ...]
    sources: tuple[int, ...]
    gates: tuple[Gate, ...]

    def observed(self, values: Floats) -> Floats:
        """Samples (n, boxed) of measured values (n, metrics); what cannot be used counts as failed: NaN."""
        inner = np.empty((len(values), len(self.boxed)))
        for d, (counted, source) in enumerate(zip(self.boxed, self.sources, strict=True)):
            column = values[:, source]
            inner[:, d] = counted.observed(np.where(counted.usable(column), column, np.nan))
        return inner


@lru_cache(maxsize=64)
def columns_for(objectives: tuple[Objective, ...], limits: tuple[Limit, ...] = ()) -> Columns:
    """The columns for these objectives and limits.

    >>> found = columns_for((Objective("seconds", "minimize"),), (Limit.read("p95(seconds)<=2"), Limit.read("mb<=9")))
    >>> [each.name for each in found.metrics], [each.name for each in found.boxed], found.sources
    (['seconds', 'mb'], ['seconds', 'seconds', 'mb'], (0, 0, 1))
    """
    metrics, boxed, sources = list(objectives), list(objectives), list(range(len(objectives)))
    gates = []
    for limit in limits:
        wanted = limit.column(objectives)
        column = next((d for d, each in enumerate(boxed) if _serves(each, wanted, limit)), len(boxed))
        if column == len(boxed):
            names = [each.name for each in metrics]
            if limit.metric not in names:
                metrics.append(wanted)
                names.append(limit.metric)
            boxed.append(wanted)
            sources.append(names.index(limit.metric))
        gates.append(Gate(limit, boxed[column], column))
    return Columns(tuple(metrics), tuple(boxed), tuple(sources), tuple(gates))


def _serves(boxed: Objective, wanted: Objective, limit: Limit) -> bool:
    """True if an interval is of what a limit speaks of, on a scale that the limit has a place on."""
    return boxed.measured == wanted.measured and not (boxed.relative and min(limit.value, limit.allowed) <= 0.0)
