"""Choosing one: the arm with the best score, how sure that is, and what it gives up against the others on the list.

A score rises with every metric (in its better direction), so that it lies between the scores of the two ends of an
arm's interval, and no arm that another one dominates has a higher one (docs/theory.md, (w)). There are two:

- *weights*: Σ w · y, where y is a metric in its own units, in per cent where its tolerance is a percentage (100 times
  the logarithm, so that percentages add up), and its negative where it is minimised.
- *the knee*: of each metric, the share of its range over the list by which an arm is behind the best of the list; the
  knee has the least of the largest share. Range and best are those of the estimates.

Only arms that certainly keep to limits, if there are any, are chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from frontguard._common.attached import attached
from frontguard._common.checks import read_amount, real_number
from frontguard._common.entries import ByArm
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.comparisons.effects import Comparable, Comparisons, against, known_ends
from frontguard.errors import BadInput
from frontguard.limits import Gate, Limit, columns_for, parse_limits
from frontguard.objectives import Objective
from frontguard.phrases import did_you_mean, joined, quoted, shown

PER_CENT = 100.0
"""What one unit of a logarithm is, in per cent that add up."""


@dataclass(frozen=True)
class Wish:
    """The wish for an arm: weights by metric, or the knee (None), among arms that keep to the limits."""

    weights: tuple[tuple[str, float], ...] | None
    gates: tuple[Gate, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        weights = None if self.weights is None else dict(self.weights)
        return {"rule": "knee" if weights is None else "weights", "weights": weights, "limits": [*map(str, self.gates)]}


@dataclass(frozen=True, eq=False)
class Pick:
    """An arm that was chosen, how sure that is, and what it gives up.

    `arm` is None where none certainly keeps to the limits. Unless it is `certain` to have the highest score, that is of
    one `among` some, and it is `behind` by that much at most. `others` compares the list with it.
    """

    arm: str | None
    wish: Wish
    certain: bool
    among: tuple[str, ...]
    behind: float
    score: tuple[float, float, float]  # of the chosen one: estimate, least, most
    others: Comparisons | None
    confidence: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold; what is not bounded or not known becomes None."""
        finite = [value if np.isfinite(value) else None for value in (*self.score, self.behind)]
        return {
            "arm": self.arm,
            **self.wish.to_dict(),
            "certain": self.certain,
            "among": list(self.among),
            "behind": finite[3],
            "score": dict(zip(("estimate", "low", "high"), finite, strict=False)),
            "others": {} if self.others is None else dict(self.others.plain()),
            "confidence": self.confidence,
        }

    def __str__(self) -> str:
        return str(attached("pick")(self))

    def _repr_html_(self) -> str:
        return str(attached("pick in a notebook")(self))


def wish_of(
    metrics: tuple[Objective, ...],
    rule: str | None,
    weights: Mapping[str, float] | None,
    limits: Limit | str | Iterable[Limit | str] | None,
) -> Wish:
    """Return the checked wish: a rule ("knee"), weights, or limits that leave one metric to be the best in.

    >>> seconds, size = Objective("seconds", "minimize"), Objective("bytes", "minimize")
    >>> wish_of((seconds, size), None, None, "bytes<=1000").weights
    (('seconds', 1.0),)
    """
    if rule is not None and (rule != "knee" or weights is not None):
        hint = did_you_mean(rule, ["knee"]) if isinstance(rule, str) else ""
        got = f"{shown(rule)}{' and weights' if weights is not None else ''}"
        raise BadInput(f'pick wants "knee", weights={{…}} or limit="…"{hint}; got {got}')
    names = [metric.name for metric in metrics]
    gates = _gates(metrics, limits)
    if rule == "knee":
        return Wish(None, gates)
    if weights is not None:
        return Wish(_checked_weights(names, weights), gates)
    if not gates:
        raise BadInput('pick wants "knee", weights={…} or limit="…"; got nothing')
    left = [name for name in names if name not in {gate.limit.metric for gate in gates}]
    if len(left) != 1:
        more = f"{joined(left)} are left" if left else "none is left"
        raise BadInput(
            f"limit wants to leave one metric to be the best in, or weights={{…}} (on a command line METRIC=WEIGHT) "
            f"beside it; got limits of {joined([gate.limit.metric for gate in gates])}, and {more}"
        )
    return Wish(((left[0], 1.0),), gates)


def _checked_weights(names: Sequence[str], weights: object) -> tuple[tuple[str, float], ...]:
    if not isinstance(weights, Mapping) or not weights:
        raise BadInput(f'weights must be a mapping of metrics to numbers, such as {{"{names[0]}": 1}}; got {weights!r}')
    checked = {}
    for name, value in weights.items():
        if name not in names:
            hint = did_you_mean(name, names) if isinstance(name, str) else ""
            raise BadInput(f"weights must be of the metrics {quoted(names)}{hint}; got {shown(name)}")
        weight = real_number(value, f"the weight of {shown(name)}")
        if weight < 0.0:
            raise BadInput(
                f"the weight of {shown(name)} must not be negative (which direction is better is known); got {weight:g}"
            )
        checked[name] = weight
    if not any(checked.values()):
        raise BadInput("weights must have one at least that is not 0; got none")
    return tuple((name, checked[name]) for name in names if checked.get(name, 0.0) > 0.0)


def _gates(metrics: tuple[Objective, ...], limits: Limit | str | Iterable[Limit | str] | None) -> tuple[Gate, ...]:
    if limits is None:
        return ()
    some: Iterable[Limit | str] = [limits] if isinstance(limits, (str, Limit)) else limits
    gates = columns_for(metrics, parse_limits(some)).gates
    for gate in gates:
        if gate.column >= len(metrics):
            each = joined([f"{metric.name} {'≤' if metric.minimized else '≥'} …" for metric in metrics])
            raise BadInput(
                f"limit of a pick must be of what counts of an objective, from its better side ({each}); got {gate}"
            )
    return gates


def pick(intervals: Comparable, listed: Bools, contending: Bools, within: Bools, wish: Wish) -> Pick:
    """Return the arm to choose of `listed` ones; `contending` ones may, `within` ones certainly keep to all limits."""
    lower, upper = known_ends(intervals.lower, intervals.upper)
    intervals = replace(intervals, lower=lower, upper=upper)
    keeps, may_keep = within.copy(), contending.copy()
    for gate in wish.gates:
        keeps &= intervals.lower[:, gate.column] >= gate.within
        may_keep &= ~(intervals.upper[:, gate.column] < gate.beyond)
    numbers = np.flatnonzero(may_keep)
    score = _score_for(intervals, numbers, listed & may_keep, wish)
    centre, low, high = score.of(intervals.estimates[numbers]), *_ends(score, intervals, numbers)
    able = keeps[numbers]
    ahead = None if intervals.apart is None else _leads(score, intervals, numbers, low, high)
    best_low = float(low[able].max(initial=-np.inf))
    # The one with the highest score is among these.
    perhaps = np.asarray(high >= best_low if ahead is None else (ahead[:, able] >= 0.0).all(axis=1))
    wanted = _chosen(able, perhaps, listed[numbers], np.where(np.isnan(centre), -np.inf, centre))
    if intervals.confidence is None:  # nothing is promised of any interval
        perhaps[:] = True
    if wanted is None:
        among = tuple(intervals.arms[i] for i in numbers.tolist())
        return Pick(None, wish, False, among, np.inf, (np.nan, -np.inf, np.inf), None, intervals.confidence)
    rest = np.delete(high if ahead is None else ahead[:, wanted], wanted)
    gap = float(rest.max(initial=-np.inf)) - (float(low[wanted]) if ahead is None else 0.0) if len(rest) else 0.0
    behind = np.inf if np.isnan(gap) else max(gap, 0.0)  # ∞ − ∞: intervals of which nothing can be told
    certain = intervals.confidence is not None and behind == 0.0
    chosen = int(numbers[wanted])
    perhaps[wanted] = True
    among = (intervals.arms[chosen],) if certain else tuple(intervals.arms[i] for i in numbers[perhaps].tolist())
    others = np.flatnonzero(listed)
    of_chosen = float(centre[wanted]), float(low[wanted]), float(high[wanted])
    compared = against(intervals, chosen, others[others != chosen])
    return Pick(intervals.arms[chosen], wish, certain, among, behind, of_chosen, compared, intervals.confidence)


def _chosen(able: Bools, perhaps: Bools, listed: Bools, centre: Floats) -> int | None:
    """The one with the best estimated score: of those on the list that may be the best, of all such, of the list."""
    for some in (able & perhaps & listed, able & perhaps, able & listed, able):
        if some.any():
            places = np.flatnonzero(some)
            return int(places[np.argmax(centre[places])])
    return None


@dataclass(frozen=True, eq=False)
class _Score:
    """A number that rises with some metrics: their sum by weights or, the knee's, the least of them; 0 without any."""

    columns: Ints
    weights: Floats  # of each of these metrics; the knee's are ranges, by which its values are divided
    best: Floats  # what the knee counts from
    knee: bool = False

    def of(self, values: Floats) -> Floats:
        if not len(self.columns):
            return np.zeros(len(values))
        with np.errstate(invalid="ignore"):  # ∞ − ∞ says nothing
            if self.knee:
                return np.asarray(((values[:, self.columns] - self.best) / self.weights).min(axis=1))
            return np.asarray((values[:, self.columns] * self.weights).sum(axis=1))

    def lead(self, differences: Floats) -> Floats:
        """The most by which one score exceeds another one, if values do so by these differences (n, n, M) at most."""
        if not len(self.columns):
            return np.zeros(differences.shape[:2])
        if self.knee:  # the least of some less the least of others is at most the largest difference
            return np.asarray((differences[..., self.columns] / self.weights).max(axis=2))
        return np.asarray((differences[..., self.columns] * self.weights).sum(axis=2))


def _score_for(intervals: Comparable, numbers: Ints, listed: Bools, wish: Wish) -> _Score:
    if wish.weights is not None:
        names = [metric.name for metric in intervals.metrics]
        columns = np.array([names.index(name) for name, _ in wish.weights])
        units = np.array([PER_CENT if intervals.metrics[d].relative else 1.0 for d in columns.tolist()])
        weights = units * np.array([weight for _, weight in wish.weights])
        return _Score(columns, weights, np.zeros(len(columns)))
    best, scale = _range(intervals.estimates[listed])
    if not (scale > 0.0).any():  # one arm on the list, or none
        best, scale = _range(intervals.estimates[numbers])
    used = np.flatnonzero(scale > 0.0)
    return _Score(used, scale[used], best[used], knee=True)


def _ends(score: _Score, intervals: Comparable, numbers: Ints) -> tuple[Floats, Floats]:
    """Between what (n,) the scores of these arms lie."""
    if not len(score.columns):
        return np.full(len(numbers), -np.inf), np.full(len(numbers), np.inf)
    low, high = score.of(intervals.lower[numbers]), score.of(intervals.upper[numbers])
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _leads(score: _Score, intervals: Comparable, numbers: Ints, low: Floats, high: Floats) -> Floats:
    """By how much (n, n) the score of each of these arms exceeds that of each other one at most."""
    assert intervals.apart is not None
    with np.errstate(invalid="ignore"):
        by_intervals = high[:, None] - low
        alone = intervals.upper[numbers][:, None] - intervals.lower[numbers]
        sharper = np.minimum(alone, intervals.apart[np.ix_(numbers, numbers)])
        by_pairs = score.lead(np.where(alone < np.inf, sharper, np.inf))  # nothing of an arm without an interval
        leads = np.fmin(by_intervals, by_pairs)
    leads[np.isnan(leads)] = np.inf
    np.fill_diagonal(leads, 0.0)
    return leads


def _range(estimates: Floats) -> tuple[Floats, Floats]:
    """The best estimate in each metric, and how far the worst is from it; 0 where nothing is known."""
    known = estimates[np.isfinite(estimates).all(axis=1)]
    if not len(known):
        return np.zeros(estimates.shape[1]), np.zeros(estimates.shape[1])
    best: Floats = known.max(axis=0)
    return best, best - known.min(axis=0)


_LIMIT = re.compile("<=|>=|≤|≥")
_WANTED = "knee, METRIC=WEIGHT or a limit such as 'bytes<=1000'"


class BesideQuestion(NamedTuple):
    """The questions beside an answer; None where nothing is asked."""

    baseline: str | None = None  # that all others are compared with
    wish: Wanted | None = None  # of the arm to choose


class Wanted(NamedTuple):
    """The wish for the arm to choose, as `wish_of` takes it."""

    rule: str | None
    weights: dict[str, float] | None
    limits: list[str] | None


@dataclass(frozen=True, eq=False)
class Beside:
    """The answers beside an answer: all arms against a baseline, and one arm to choose; None where not asked."""

    compared: Comparisons | None = None
    pick: Pick | None = None

    def columns(self, arms: int) -> dict[str, Any]:
        """Columns for a table of all arms (K,)."""
        return {} if self.compared is None else self.compared.columns(arms)

    def entries(self) -> dict[str, Any]:
        """Entries of JSON; the comparisons by arm, for there may be a million."""
        return {
            "baseline": None if self.compared is None else self.compared.baseline,
            "comparisons": ByArm(() if self.compared is None else self.compared.plain()),
            "pick": None if self.pick is None else self.pick.to_dict(),
        }


def asked(baseline: str | None = None, pick: Sequence[str] | None = None) -> BesideQuestion:
    """Return the questions of options: --pick knee, --pick seconds=2 --pick bytes=1, --pick 'bytes<=1000'.

    >>> asked("main", ["bytes<=1000", "seconds=2"])
    BesideQuestion(baseline='main', wish=Wanted(rule=None, weights={'seconds': 2.0}, limits=['bytes<=1000']))
    >>> asked(None, ["kne"])
    Traceback (most recent call last):
    ...
    frontguard.errors.BadInput: --pick: wanted knee, METRIC=WEIGHT or a limit such as 'bytes<=1000'; got 'kne'
    """
    rule, weights, limits = None, dict[str, float](), list[str]()
    for text in pick or ():
        if text.strip() == "knee":
            rule = "knee"
        elif _LIMIT.search(text):
            limits.append(text)
        else:
            name, equals, value = text.rpartition("=")
            amount = read_amount(value)
            if not equals or not name or amount is None or amount[1]:
                raise BadInput(f"--pick: wanted {_WANTED}; got {text!r}")
            if name in weights:
                raise BadInput(f"--pick: wanted one weight for each metric; got {name!r} again")
            weights[name] = amount[0]
    if rule and weights:
        raise BadInput("--pick: wanted knee or weights, not both")
    return BesideQuestion(baseline, Wanted(rule, weights or None, limits or None) if pick else None)


_PAIRS = 50_000_000
"""Pairs of an arm and a listed one up to which all are compared."""

_AT_A_TIME = 1 << 18


@dataclass(frozen=True)
class Replacement:
    """The listed arm `by` that does for another: it `costs` at most, and `gains` at least, these units or shares."""

    by: str
    costs: dict[str, float]
    gains: dict[str, float]


def find_replacing(
    lower: Floats, upper: Floats, estimates: Floats, tolerance: Floats, which: Ints, listed: Ints, decided_by: Ints
) -> Ints:
    """For each of the arms `which` the listed one that costs least in their place; −1 if none is listed.

    The cost is the largest over objectives, in tolerances; of equal ones, the one that leads most by the estimates.
    Among too many arms it is the one that decides an arm, or that decides that one.

    >>> ends = np.array([[1.0, 5.0], [5.0, 1.0], [0.5, 4.9]])
    >>> find_replacing(ends, ends, ends, np.ones(2), np.array([2]), np.array([0, 1]), np.array([-1, -1, 0])).tolist()
    [0]
    """
    if not len(listed) or not len(which):
        return np.full(len(which), -1)
    if len(which) * len(listed) > _PAIRS:
        by = decided_by[which]
        on_list = np.zeros(len(lower) + 1, np.bool_)
        on_list[listed] = True
        by = np.where(on_list[by], by, np.where(by >= 0, decided_by[by], -1))
        return np.where(on_list[by], by, -1)
    scale = np.where(tolerance > 0.0, tolerance, 1e-9)
    found = np.empty(len(which), np.int64)
    step = max(1, _AT_A_TIME // len(listed))
    for start in range(0, len(which), step):
        some = which[start : start + step]
        with np.errstate(invalid="ignore"):
            cost = (np.maximum(upper[some, None] - lower[listed], 0.0) / scale).max(axis=2)
            lead = np.nan_to_num((estimates[listed] - estimates[some, None]) / scale, nan=-np.inf).sum(axis=2)
        lead = np.where(cost == cost.min(axis=1, keepdims=True), lead, -np.inf)
        found[start : start + step] = listed[lead.argmax(axis=1)]
    return found
