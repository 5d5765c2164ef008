"""Everything that is asked, as one frozen value: metrics and constraints, how surely, of what kind of measurements.

Python keywords, a spec's TOML, command-line options and a study's stored settings make this one value, and `to_dict`
shows it. A new option is a field with its reader, a line in `Asked`, and its docs.

It is a plain dataclass whose fields have readers, since callers of Python are as free as a stranger's file, and a log
is analysed without importing a library for that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from numbers import Real
from typing import Any, TypedDict, TypeVar, Unpack, cast

from frontguard._common.checks import (
    checked_confidence,
    checked_count,
    checked_goal,
    checked_seconds,
    checked_share,
    checked_truth,
    real_number,
)
from frontguard._common.entries import plain
from frontguard.errors import BadArgument, BadInput
from frontguard.limits import Columns, Limit, columns_for, parse_limits
from frontguard.objectives import Counted, Objective, parse_objectives
from frontguard.phrases import did_you_mean, quoted, shown
from frontguard.theory.spread import Gaussian, LinearAroundMedian, SpreadBound, Subgaussian, Uniform
from frontguard.theory.threats import Threat, threat_of

Kind = TypeVar("Kind")
Entry = Objective | str | tuple[str, str]

MOST_OBJECTIVES = 1000
"""More than anybody has; their intervals are made of tables, one for each."""

MOST_ITEMS = 1_000_000
"""Of a list. Where there are more, they may as well be endless."""

MOST_COST = 1e30
"""The largest amount that is believed to be a cost: sums of any number of them are finite."""

TOLERANCE = "5%"
"""The difference that does not matter of a metric that is only named, where one is wanted."""

BY_METRIC, AUTO = "usual", "auto"
"""What is said of contamination: nothing, so that each metric has its usual one; or that none is declared."""

UNITS, SECONDS = "units", "seconds"
"""What costs are counted in where nobody named it; and the unit that is written as times are."""

_PRICE = re.compile(r"\s*([0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+)(?:\s+(\S(?:.*\S)?))?\s*", re.DOTALL)


@dataclass(frozen=True)
class Cost:
    """The cost of a pull: a `metric` that it reports, an `amount`, or amounts `by_arm`; counted in `unit`."""

    metric: str | None = None
    amount: float | None = None
    by_arm: dict[str, float] = field(default_factory=dict)
    unit: str = UNITS

    def __post_init__(self) -> None:
        """Refuse what is no cost."""
        if not isinstance(self.by_arm, dict):
            raise BadArgument("cost", must="be given by arm", got=shown(self.by_arm, 120))
        if (self.metric is not None) + (self.amount is not None) + bool(self.by_arm) != 1:
            raise BadArgument(
                "cost", must="be the name of a metric, an amount, or amounts by arm", got="none or several"
            )
        for text, what in ((self.metric, "the metric of the cost"), (self.unit, "the unit of the cost")):
            if text is not None and (not isinstance(text, str) or not text.strip() or not text.isprintable()):
                raise BadArgument(what, must="be a text of one line that is not blank", got=shown(text, 120))
        for amount in [*self.by_arm.values(), 0.0 if self.amount is None else self.amount]:
            if not is_amount(amount):
                raise BadArgument("cost", must="be finite numbers from 0", got=shown(amount, 120))

    @classmethod
    def read(cls, given: object) -> Cost:
        """Read a metric's name, an amount for all arms, or amounts by arm."""
        if isinstance(given, Cost):
            return given
        if isinstance(given, str) and math.isnan(_price(given)[0]):
            return cls(given, unit=given)
        written = given if isinstance(given, Mapping) else {"": given}
        prices = {arm: _price(each) for arm, each in written.items()}
        for arm, (amount, _) in prices.items():
            if not is_amount(amount):
                must = "be a metric, a number from 0, or one with its unit"
                raise BadArgument("cost", must=must, got=shown(written[arm], 120))
        units = list(dict.fromkeys(unit for _, unit in prices.values() if unit)) or [UNITS]
        if len(units) > 1:
            raise BadArgument("cost", must="have one unit", got=" and ".join(units))
        amounts = {arm: amount for arm, (amount, _) in prices.items()}
        if isinstance(given, Mapping):
            return cls(by_arm=amounts, unit=units[0])
        return cls(amount=amounts[""], unit=units[0])

    def amounts(self, arms: Sequence[str]) -> list[float]:
        """The cost of a pull of each of these arms, NaN where its pulls say so; refuses amounts of other arms.

        >>> Cost.read({"small": 1, "large": 3}).amounts(["large", "small"]), Cost.read(2).amounts(["large"])
        ([3.0, 1.0], [2.0])
        """
        if not self.by_arm:
            return [math.nan if self.amount is None else self.amount] * len(arms)
        for arm in self.by_arm:
            if arm not in arms:
                raise BadArgument("cost", f"{shown(arm, 120)} is no arm{did_you_mean(str(arm), arms)}")
        for arm in arms:
            if arm not in self.by_arm:
                raise BadArgument("cost", must="be given for every arm", got=f"none for {shown(arm, 120)}")
        return [self.by_arm[arm] for arm in arms]

    def budget(self, value: object) -> float:
        """A budget in its unit: a number, or a text such as "12 dollars"; of seconds also "30 min".

        >>> Cost("seconds", unit="seconds").budget("2 min"), Cost(amount=2.0, unit="dollars").budget("12 dollars")
        (120.0, 12.0)
        """
        if self.unit == SECONDS:
            return checked_seconds(value, "max_cost")
        amount, unit = _price(value)
        if not 0.0 < amount < math.inf or unit not in ("", self.unit):
            wanted = f"a number of {self.unit} above 0, such as 120 or '120 {self.unit}'"
            raise BadArgument("max_cost", must=f"be {wanted}", got=shown(value, 120))
        return amount


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


def is_amount(value: object) -> bool:
    """True if a value can be a cost."""
    if not isinstance(value, Real) or type(value).__name__ in ("bool", "bool_"):
        return False
    try:
        return 0.0 <= float(value) <= MOST_COST
    except OverflowError:
        return False


class Asked(TypedDict, total=False):
    """The keywords of `Question.of`, beside objectives and threat. None is unsaid.

    Parameters
    ----------
    maximize, minimize
        Metrics by direction, instead of `Objective`s.
    tolerance
        The difference that does not matter, an amount or a percentage; for all metrics, or by name.
    quantile, statistic, bounds, sigma
        The statistic of metrics, for all or by name: a quantile, 1/2 unless given; or the `"mean"`, with `bounds` that
        no value can exceed, such as (0, 1), or a known deviation `sigma`. True and false are a rate unless said
        otherwise.
    exact
        Metrics that are the same whenever they are measured, such as sizes.
    limits
        Constraints on arms: `Limit`s, or texts such as `"p95(latency)<=300"`, of any metrics. The front is that of the
        feasible arms.
    contamination
        ε, the probability with which each measurement may be anything: 0.1 or `"10%"`, for all metrics or by name.
        Usual are 10% of what has a quantile counted, and 0 of rates, means and exact values. Of a log also `"auto"`:
        none is declared, and each verdict comes with the largest ε that it holds up to.
    confidence
        Probability with which all of the answer holds: 0.95 or `"95%"`.
    goal
        "list": as few arms as are enough, so that every other one is beaten, or no better than a listed one by more
        than the tolerance. "front": all arms that none beats by more than the tolerance.
    baseline
        Makes it a gate: each other arm is compared with this one, to be worse by more than the tolerances or not.
    coverage, spread
        As in `Certified`; `coverage` in inner units, as the tolerances unless given.
    paired
        Pulls of different arms with the same number `rep` share their item, seed or block: means and rates are then
        compared by their differences as well. What a pull gives must not depend on when it is made.
    pair
        Columns of a log that say on what a row was measured (question, seed, day). Arms are then compared as with
        `paired`; rows of an arm with the same one count as one observation, by their mean.
    absent
        With `pair`, an arm without a row of something that others were measured on has "failed" there, unless given;
        "random": chance alone decided who was measured on what.
    items
        The number of items of a finite list, or these items; each is measured once by an arm, in random order, and the
        k-th pulls of all arms the same one. Means over the list count, known once all are measured. Implies `paired`.
    cluster
        Columns of a log that say in which cluster (process, host, day) a row was measured. Rows of an arm and cluster
        may depend on each other, and count as one observation. "none": every row counts. Unless given, what the results
        of pyperf and pytest-benchmark say of their processes.
    blocks
        Pulls come in randomised blocks, so that whatever changes the machine's speed meets all arms alike; where
        nothing is said, if a metric is a time by its name.
    independent
        No measurement of one arm depends on another arm's: not on the same items, seeds or moments.
    anytime
        A log was looked at while it grew. Without, the number of rows must not have been chosen by looking at the
        values. Studies are always so, and states that grow (`append`) unless it is said.
    cost
        The cost of a pull: the name of a metric that pulls report (`"seconds"`); a number, which may have its unit
        (`"0.02 dollars"`); or a mapping of arms to such numbers. Pulls go where more is gained for the cost. What is
        certain does not depend on it.
    max_pulls, max_pulls_per_arm, max_cost
        Budgets. That of the cost may have its unit (`"12 dollars"`); no pull is asked for that is taken to pass it, as
        far as earlier pulls of its arm show what it costs.
    polish
        Go on after the certificate until estimates are steady, or a budget is over.
    """

    maximize: str | Sequence[str] | None
    minimize: str | Sequence[str] | None
    tolerance: float | str | Mapping[str, float | str] | None
    quantile: float | Mapping[str, float] | None
    statistic: Counted | Mapping[str, Counted] | None
    bounds: Sequence[float] | Mapping[str, Sequence[float]] | None
    sigma: float | Mapping[str, float] | None
    exact: str | Sequence[str] | None
    limits: Iterable[Limit | str] | None
    contamination: float | str | Mapping[str, float | str] | None
    confidence: float | str | None
    goal: str | None
    baseline: str | None
    coverage: Sequence[float] | None
    spread: SpreadBound | None
    paired: bool | None
    pair: str | Sequence[str] | None
    absent: str | None
    cluster: str | Sequence[str] | None
    items: int | Sequence[Any] | None
    blocks: bool | None
    independent: bool | None
    anytime: bool | None
    cost: str | float | Mapping[str, float | str] | Cost | None
    max_cost: float | str | None
    max_pulls: int | None
    max_pulls_per_arm: int | None
    polish: bool | None


_OF_METRICS = ("tolerance", "quantile", "statistic", "bounds", "sigma", "exact")

Reader = Callable[[Any, str], Any]


def _by(read: Reader, table: str = "") -> dict[str, Any]:
    """The reader of a field, and the table of a spec that says it; None stays None where that is the default."""
    return {"read": read, "table": table}


def _columns(given: Any, name: str) -> tuple[str, ...]:
    named = (given,) if isinstance(given, str) else given
    if not isinstance(named, Sequence) or not all(isinstance(each, str) for each in named):
        raise BadArgument(name, must="be names of columns", got=shown(given, 120))
    return tuple(named)


def _amounts(given: Any, name: str) -> tuple[float, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise BadArgument(name, must="be a list of numbers", got=shown(given, 120))
    return tuple(real_number(each, name) for each in given)


def _if(fits: Callable[[Any], bool], must: str) -> Reader:
    """A reader that keeps what fits as it is."""

    def read(given: Any, name: str) -> Any:
        if not fits(given):
            raise BadArgument(name, must=must, got=shown(given, 120))
        return given

    return read


_text = _if(lambda given: isinstance(given, str) and bool(given.strip()), "be a text that is not blank")
_absent = _if(lambda given: given in ("failed", "random"), "be 'failed' or 'random'")
_spread = _if(lambda given: isinstance(given, SpreadBound), "be a spread bound, such as Gaussian(0.2)")


def _contamination(given: Any, name: str) -> float | str:
    return given if isinstance(given, str) and given in (BY_METRIC, AUTO) else checked_share(given, name)


def _items(given: Any, name: str) -> int:
    listed = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
    count = checked_count(len(given) if listed else given, name)
    if count > MOST_ITEMS:
        raise BadArgument(name, must=f"be at most {MOST_ITEMS:,}", got=f"{count:,}")
    return count


@dataclass(frozen=True)
class Question:
    """Everything that is asked of arms, as one value. `of` reads it; the parameters of `Asked` are its keywords.

    Parameters
    ----------
    objectives, threat
        As in `Study`.

    Raises
    ------
    BadInput
        A part of it cannot be used, or parts exclude each other: the argument is named.

    >>> question = Question.of(minimize=["seconds", "bytes"], tolerance="5%", exact="bytes", contamination="2%")
    >>> question.objectives[1].statistic_word, question.threat
    ('exact', Prescient(eps=0.02))
    >>> question.but(tolerance={"seconds": "1%"}, goal="front").objectives[0].tolerance
    '1%'
    """

    objectives: tuple[Objective, ...] = field(default=(), metadata=_by(lambda given, _: parse_objectives(given)))
    threat: Threat = field(default=None, metadata=_by(lambda given, _: threat_of(given), "study"))  # type: ignore
    contamination: float | str = field(default=None, metadata=_by(_contamination, "study"))  # type: ignore
    confidence: float = field(default=0.95, metadata=_by(checked_confidence, "study"))
    limits: tuple[Limit, ...] = field(default=(), metadata=_by(lambda given, _: parse_limits(given)))
    goal: str = field(default="list", metadata=_by(checked_goal, "study"))
    baseline: str | None = field(default=None, metadata=_by(_text))
    coverage: tuple[float, ...] | None = field(default=None, metadata=_by(_amounts))
    spread: SpreadBound | None = field(default=None, metadata=_by(_spread))
    paired: bool = field(default=False, metadata=_by(checked_truth, "study"))
    pair: tuple[str, ...] = field(default=(), metadata=_by(_columns))
    absent: str = field(default="failed", metadata=_by(_absent))
    items: int | None = field(default=None, metadata=_by(_items, "study"))
    cluster: tuple[str, ...] = field(default=(), metadata=_by(_columns))
    blocks: bool | None = field(default=None, metadata=_by(checked_truth, "study"))
    independent: bool = field(default=False, metadata=_by(checked_truth, "study"))
    anytime: bool | None = field(default=None, metadata=_by(checked_truth))
    cost: Cost | None = field(default=None, metadata=_by(lambda given, _: Cost.read(given), "study"))
    max_cost: float | None = field(default=None, metadata=_by(lambda given, _: given, "budget"))  # in units of the cost
    max_pulls: int | None = field(default=None, metadata=_by(checked_count, "budget"))
    max_pulls_per_arm: int | None = field(default=None, metadata=_by(checked_count, "budget"))
    polish: bool = field(default=False, metadata=_by(checked_truth, "study"))

    @classmethod
    def of(
        cls,
        objectives: Iterable[Entry] | None = None,
        threat: Threat | str | None = None,
        *,
        question: Question | None = None,
        usual: Collection[str] = (),
        **asked: Unpack[Asked],
    ) -> Question:
        """Return what keywords ask, else as in `question`; metrics of `usual` names have the `usual_tolerance`."""
        if question is not None and not isinstance(question, Question):
            raise BadArgument("question", must="be a Question", got=shown(question, 120))
        said: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
        entries = entries_of(said.pop("maximize", ()), said.pop("minimize", ()), objectives)
        known, limits = ((), ()) if question is None else (question.objectives, question.limits)
        metrics = known if entries is None and known else _as_known(known, () if entries is None else entries)
        of_metrics = {name: said.pop(name) for name in _OF_METRICS if name in said}
        tolerance = of_metrics.pop("tolerance", None) if usual else None
        metrics = adjusted(metrics, **of_metrics)
        if usual:
            metrics = tuple(
                replace(each, tolerance=usual_tolerance(each)) if each.name in usual else each for each in metrics
            )
            metrics = adjusted(metrics, tolerance)
        said["objectives"] = metrics
        eps = said.pop("contamination", None)
        if isinstance(eps, Mapping):
            said["objectives"], said["limits"] = _contaminated(metrics, said.get("limits", limits), eps)
        elif eps is not None:
            said["contamination"] = eps
        if question is not None and "contamination" in said:  # then it is said anew, of all
            said["objectives"] = tuple(replace(each, contamination=None) for each in metrics)
            asked_of = parse_limits(said.get("limits", limits))
            said["limits"] = tuple(replace(each, contamination=None) for each in asked_of)
        if threat is not None:
            said["threat"] = threat
            if isinstance(threat, Threat):
                threat_of(threat, None if isinstance(eps, Mapping) else eps)  # which refuses another ε beside its own
                said.setdefault("contamination", None)
        if question is None:
            return cls(**said)
        said.setdefault("coverage", question._coverage_of(said["objectives"]))
        return replace(question, **said)

    def but(
        self, objectives: Iterable[Entry] | None = None, threat: Threat | str | None = None, **asked: Unpack[Asked]
    ) -> Question:
        """This question with what keywords say otherwise; objectives that are only named are as they are here."""
        return Question.of(objectives, threat, question=self, **asked)

    def __post_init__(self) -> None:
        """Read every field; refuse what cannot be asked together."""
        if self.contamination is None:
            of_all = self.threat.eps if isinstance(self.threat, Threat) else BY_METRIC
            object.__setattr__(self, "contamination", of_all)
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None or each.default is not None:
                object.__setattr__(self, each.name, each.metadata["read"](value, each.name))
        self._settle_threat()
        if self.items is not None or self.pair:
            object.__setattr__(self, "paired", True)
        if self.max_cost is not None:
            if self.cost is None:
                why = "say what pulls cost, such as cost='seconds' or a number for each arm; got no cost"
                raise BadArgument("max_cost", why)
            object.__setattr__(self, "max_cost", self.cost.budget(self.max_cost))
        self._check_metrics()
        for one, other, why in _NOT_TOGETHER:
            if getattr(self, one) and getattr(self, other) not in (False, (), ("none",)):
                raise BadArgument(one, f"{why}; leave {one} or {other} out")

    def _settle_threat(self) -> None:
        """Make of the threat model the one with the ε of each column; of exact ones it says nothing."""
        model, boxed = threat_of(self.threat), self.columns.boxed
        each = [self.contaminations.get(metric.name) for metric in boxed]
        known = [eps for eps in each if eps is not None]
        of_all = self.contamination if isinstance(self.contamination, float) else 0.0 if boxed else model.eps
        most = max(known, default=of_all)
        object.__setattr__(self, "threat", type(model)(most, tuple(most if eps is None else eps for eps in each)))

    @cached_property
    def contaminations(self) -> dict[str, float]:
        """The ε of each metric that is not exact: its own, that of all, or the usual one of the first that counts.

        >>> Question.of(minimize=["ms", "bytes"], exact="bytes", limits=["mean(solved)>=0.5"]).contaminations
        {'ms': 0.1, 'solved': 0.0}
        """
        own: dict[str, float] = {}
        for name, eps in (
            *((each.name, each.contamination) for each in self.objectives),
            *((each.metric, each.contamination) for each in self.limits),
        ):
            if eps is not None and own.setdefault(name, eps) != eps:
                raise BadArgument("contamination", must=f"be one for {shown(name)}", got=f"{own[name]:g} and {eps:g}")
        found: dict[str, float] = {}
        for each in self.columns.boxed:
            of_all = each.usual_contamination if self.contamination == BY_METRIC else 0.0
            if isinstance(self.contamination, float):
                of_all = self.contamination
            if not each.exact:
                found.setdefault(each.name, own.get(each.name, of_all))
        return found

    def _check_metrics(self) -> None:
        """Refuse more metrics than tables hold, and statistics that the threat, or a list of coverages, rules out."""
        objectives, limits = len(self.objectives), len(self.limits)
        if objectives + limits > MOST_OBJECTIVES:
            must = f"be at most {MOST_OBJECTIVES:,}, with the limits"
            raise BadArgument("objectives", must=must, got=f"{objectives:,} and {limits:,} limits")
        if self.coverage is not None and len(self.coverage) != objectives:
            must = f"be one number for each of {objectives} objectives"
            raise BadArgument("coverage", must=must, got=f"{len(self.coverage)}")
        for eps in (self.contaminations[each.name] for each in self.columns.boxed if each.sigma is not None):
            if eps > 0.0:
                raise BadInput(
                    "a mean with a known deviation (sigma) needs contamination 0: one replaced measurement moves a "
                    "mean as far as it likes; give bounds instead of sigma, or count a quantile; got contamination "
                    f"{eps:g}"
                )

    @cached_property
    def columns(self) -> Columns:
        """The metrics of a pull, and those with an interval."""
        return columns_for(self.objectives, self.limits)

    @property
    def in_blocks(self) -> bool:
        """True if pulls come in blocks: as was said, of a gate that goes by samples, and of times without an order."""
        if self.blocks is not None:
            return self.blocks
        if self.paired or self.independent:
            return False
        if self.baseline is not None:
            return self.by_samples
        return self.cost is None and any(metric.is_time for metric in self.columns.metrics)

    @property
    def by_samples(self) -> bool:
        """True if each check of a gate is of two samples: of quantiles, and of exact values beside them."""
        counted = all(each.has_quantile or each.exact for each in self.objectives)
        designed = self.paired or self.independent or self.limits or self.spread is not None
        return counted and not designed and any(each.has_quantile for each in self.objectives)

    @property
    def one_by_one(self) -> bool:
        """True if all arms are compared with each other, by what is known of each alone, and none is left out."""
        return self.baseline is None and not (self.paired or self.independent or self.limits)

    @property
    def delta(self) -> float:
        """δ."""
        return round(1.0 - self.confidence, 12)

    def _coverage_of(self, objectives: Iterable[Objective]) -> tuple[float, ...] | None:
        """The coverage of these objectives; None where it goes by the tolerances, or these are others by now."""
        own = {(each.name, each.direction, each.tolerance): n for n, each in enumerate(self.objectives)}
        places = [own.get((each.name, each.direction, each.tolerance)) for each in objectives]
        if self.coverage is None or None in places:
            return None
        return tuple(self.coverage[place] for place in places if place is not None)

    def with_rates(self, names: Iterable[str]) -> Question:
        """This question with the rates of some metrics in place of medians that nobody asked for.

        >>> Question.of(maximize="solved").with_rates(["solved"]).objectives[0].bounds
        (0.0, 1.0)
        """
        wanted = set(names)
        objectives = tuple(
            replace(each, statistic="mean", bounds=(0.0, 1.0)) if each.by_default and each.name in wanted else each
            for each in self.objectives
        )
        alone = wanted - {each.name for each in objectives}
        limits = tuple(
            replace(each, statistic="mean", bounds=(0.0, 1.0))
            if each.statistic is None and each.metric in alone
            else each
            for each in self.limits
        )
        return replace(self, objectives=objectives, limits=limits)

    def to_dict(self) -> dict[str, Any]:
        """All of it, in a form that JSON can hold: what `from_dict` reads."""
        found = asdict(self, dict_factory=lambda pairs: {name: plain(value) for name, value in pairs}) | {
            "threat": self.threat.name,
        }
        return found | {"spread": None if self.spread is None else _spread_to_dict(self.spread)}

    @classmethod
    def from_dict(cls, read: object) -> Question:
        """Read what `to_dict` gave. Whatever else it may be is refused as a caller's mistakes are.

        >>> asked = Question.of(maximize="score", limits=["mean(solved)>=0.5"], cost="2 cents", max_cost=100)
        >>> Question.from_dict(asked.to_dict()) == asked
        True
        """
        said = dict(_known_keys(read, [each.name for each in fields(cls)], "a question"))
        for name, kind in (("objectives", Objective), ("limits", Limit)):
            listed = said.get(name, ())
            if not isinstance(listed, (list, tuple)):
                raise BadArgument(name, must="be a list", got=shown(listed, 120))
            said[name] = tuple(made(kind, each, f"one of the {name}") for each in listed)
        if said.get("cost") is not None:
            said["cost"] = made(Cost, said["cost"], "cost")
        if said.get("spread") is not None:
            said["spread"] = _spread_from_dict(said["spread"])
        return cls(**{"contamination": BY_METRIC, **said})


def refuse_without_chance(question: Question, *, in_order: bool) -> None:
    """Refuse a threat that needs chance where runs are not in random order, and graders are not said to be blind."""
    if question.threat.needs_chance and not in_order and not question.paired:
        why = (
            f"{question.threat.name} needs runs in random blocks, as gates of medians and studies of times have them, "
            "or pairs whose graders do not see the arm (--pair); prescient covers it everywhere"
        )
        raise BadArgument("threat", why)


def keys_of(table: str) -> tuple[str, ...]:
    """Fields of the question that a table of a spec says: "study" or "budget"."""
    return tuple(each.name for each in fields(Question) if each.metadata["table"] == table)


_NOT_TOGETHER = (
    ("independent", "paired", "arms that are measured on the same things depend on them"),
    ("independent", "cluster", "rows of a cluster depend on each other, and arms may share clusters"),
    ("blocks", "paired", "pulls of pairs come in blocks of their own"),
    ("blocks", "independent", "arms that share the moments of a machine depend on each other"),
    ("pair", "cluster", "rows of an arm that share a pair count as one observation already"),
)
"""What mathematics rules out, and why."""


def entries_of(
    maximize: str | Sequence[str], minimize: str | Sequence[str], objectives: Iterable[Entry] | None
) -> list[Entry] | None:
    """The objectives in whichever way they were given; None if they are left open."""
    most, least = ([names] if isinstance(names, str) else list(names) for names in (maximize, minimize))
    if objectives is not None:
        if most or least:
            raise BadInput("objectives cannot be combined with maximize and minimize: give them one way")
        if isinstance(objectives, (str, Objective, Mapping)) or not isinstance(objectives, Iterable):
            parse_objectives(objectives)  # which says what is wrong with them
        return list(objectives)
    named = [*((name, "maximize") for name in most), *((name, "minimize") for name in least)]
    return list(named) or None


def _as_known(known: Sequence[Objective], entries: Sequence[Entry]) -> tuple[Objective, ...]:
    """The objectives of some entries, with what these do not say as it is known."""
    before = {each.name: each for each in known}
    given = [before.get(entry, entry) if isinstance(entry, str) else entry for entry in entries]
    return parse_objectives(
        replace(before[each.name], direction=each.direction)
        if isinstance(entry, tuple) and each.name in before
        else each
        for entry, each in zip(given, parse_objectives(given), strict=True)
    )


def usual_tolerance(objective: Objective) -> float | str:
    """5%; of a mean 5% of what its bounds span, as a rate may be 0, of which there are no shares."""
    if objective.bounds is not None:
        return 0.05 * (objective.bounds[1] - objective.bounds[0])
    return 0.0 if objective.sigma is not None else TOLERANCE


def adjusted(
    objectives: Sequence[Objective],
    tolerance: float | str | Mapping[str, float | str] | None = None,
    quantile: float | Mapping[str, float] | None = None,
    statistic: str | Mapping[str, str] | None = None,
    bounds: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    sigma: float | Mapping[str, float] | None = None,
    exact: str | Sequence[str] = (),
) -> tuple[Objective, ...]:
    """The objectives with what was said of all metrics, or of one by its name, which comes first.

    Another statistic takes the place of the one that an objective had.

    >>> both = Objective("solved", "maximize"), Objective("size", "minimize")
    >>> solved, size = adjusted(both, statistic={"solved": "mean"}, bounds=(0, 1), exact="size")
    >>> solved.statistic_word, solved.bounds, size.statistic_word
    ('mean', (0.0, 1.0), 'exact')
    """
    names = [objective.name for objective in objectives]
    kept = [exact] if isinstance(exact, str) else list(exact)
    given: dict[str, Any] = {
        "tolerance": tolerance,
        "quantile": quantile,
        "statistic": statistic,
        "bounds": bounds,
        "sigma": sigma,
        "exact": dict.fromkeys(kept, True),
    }
    by_name = {what: dict(value) for what, value in given.items() if isinstance(value, Mapping)}
    of_all = {what: value for what, value in given.items() if value is not None and what not in by_name}
    for what, values in by_name.items():
        for name in values:
            if name not in names:
                near = did_you_mean(str(name), names)
                raise BadArgument(what, f"{shown(name)} is not one of the metrics{near}; they are {quoted(names)}")
    found = tuple(
        _with(each, {what: some[each.name] for what, some in by_name.items() if each.name in some}, of_all)
        for each in objectives
    )
    for what in ("bounds", "sigma"):
        if what in of_all and all(getattr(each, what) is None for each in found):
            raise BadArgument(what, must="come with statistic='mean', which is what needs it; no metric has that")
    return found


def _contaminated(
    objectives: Sequence[Objective], limits: Iterable[Limit | str], given: Mapping[str, float | str]
) -> tuple[tuple[Objective, ...], tuple[Limit, ...]]:
    """The objectives and limits with what was said of the ε of metrics by their names."""
    asked = parse_limits(limits)
    names = list(dict.fromkeys([*(each.name for each in objectives), *(each.metric for each in asked)]))
    for name in given:
        if name not in names:
            near = did_you_mean(str(name), names)
            why = f"{shown(name)} is not one of the metrics{near}; they are {quoted(names)}"
            raise BadArgument("contamination", why)
    said = {name: checked_share(eps, "contamination") for name, eps in given.items()}
    return (
        tuple(replace(each, contamination=said.get(each.name, each.contamination)) for each in objectives),
        tuple(replace(each, contamination=said.get(each.metric, each.contamination)) for each in asked),
    )


def _with(objective: Objective, own: Mapping[str, Any], of_all: Mapping[str, Any]) -> Objective:
    """An objective with what was said of it, and of all."""
    said = {**of_all, **own}
    counts = [what for what in ("exact", "statistic", "quantile") if what in own]
    if not counts and objective.has_quantile:
        counts = [what for what in ("statistic", "quantile") if what in of_all]
    changes: dict[str, Any] = {}
    if counts:
        changes = {"statistic": None, "quantile": None, "bounds": None, "sigma": None, "exact": False}
        changes |= {what: said[what] for what in counts}
    is_mean = changes.get("statistic", objective.statistic) == "mean"
    ends = {what: said[what] for what in ("bounds", "sigma") if what in own or (what in of_all and is_mean)}
    if ends:
        changes |= {"bounds": None, "sigma": None, **ends}
    if "tolerance" in said:
        changes["tolerance"] = said["tolerance"]
    return replace(objective, **changes)


def _known_keys(read: object, known: Sequence[str], what: str) -> Mapping[str, Any]:
    """A table that has these keys at most."""
    if not isinstance(read, Mapping):
        raise BadArgument(what, must=f"be an object with {', '.join(known)}", got=shown(read, 120))
    for key in read:
        if key not in known:
            raise BadInput(f"{shown(key, 60)} is none of {', '.join(known)}{did_you_mean(str(key), known)}")
    return read


def made(kind: type[Kind], table: object, what: str) -> Kind:
    """A dataclass of this kind from a table; it checks the values."""
    known = [each.name for each in fields(cast(Any, kind))]
    try:
        return kind(**_known_keys(table, known, what))
    except TypeError as error:  # a key that is missing, or a value that cannot be hashed
        raise BadArgument(what, must=f"be an object with {', '.join(known)}", got=shown(str(error), 120)) from None


_SPREADS: dict[str, type[SpreadBound]] = {
    each.__name__: each for each in (Subgaussian, Gaussian, LinearAroundMedian, Uniform)
}


def _spread_to_dict(spread: SpreadBound) -> dict[str, Any]:
    name = type(spread).__name__
    if _SPREADS.get(name) is not type(spread):
        raise BadArgument("spread", must=f"be one of {', '.join(_SPREADS)}, which can be stored", got=name)
    return {"name": name, **vars(spread)}


def _spread_from_dict(read: object) -> SpreadBound:
    table = dict(read) if isinstance(read, Mapping) else {}
    name = table.pop("name", None)
    if not isinstance(name, str) or name not in _SPREADS:
        raise BadArgument("spread", must=f"be one of {', '.join(_SPREADS)}", got=shown(name, 60))
    return made(_SPREADS[name], table, "spread")
