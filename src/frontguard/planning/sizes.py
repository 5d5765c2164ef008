"""Sizes of comparisons before the first measurement: how many it takes, and what so many find, by the tests themselves.

Three kinds: a *suite*, each test of which counts by one number of a session, or by a run where it is live; *pairs* of 0
and 1 on the same questions; *rates* of arms that answer by themselves. Values of a suite are normal, of a known noise,
in logarithms where the tolerance is a percentage, and its tests are independent of each other. What such measurements
find is found four times of five (`evidence.power`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from frontguard._common.checks import checked_count
from frontguard.errors import BadArgument
from frontguard.evidence.differences.pairs import ONE_LOOK_SHARE
from frontguard.evidence.power import FARTHEST, OFTEN, SampleTest, fewest, least_of_pairs, least_of_rates
from frontguard.evidence.statistics import statistic_of
from frontguard.objectives import Objective, differences_in_units, parse_tolerance
from frontguard.planning.task import Pilot
from frontguard.question import Question

PASSES = 0.9
"""The share of gates that equal tests are to pass."""

FARTHEST_OF_SAMPLES, FARTHEST_OF_ITEMS = 1_000, FARTHEST
"""Sessions, or runs, a side beyond which none are planned; and questions, or answers of an arm."""

_MOST_LIVE = 10  # candidates of a live gate that are planned

Kind = Literal["suite", "pairs", "rates"]
_SPREADS: dict[Kind, str] = {"suite": "noise", "pairs": "lost", "rates": "rate"}


@dataclass(frozen=True)
class Way:
    """One way to compare: how many find the difference, and pass equal ones; and what so many find, in units."""

    name: str  # a gate of "sessions", or of live "runs"; a "gate" or an analysis ("analyze") of questions
    finds: int | None = None
    passes: int | None = None
    least: float | None = None


@dataclass(frozen=True)
class SizePlan:
    """Sizes of a comparison; None where too many are needed, or it was not asked for."""

    question: Question
    kind: Kind
    many: int  # tests of a suite, or arms
    spread: float  # the noise, as the tolerance is; the share of questions that the worse arm wins; or the better rate
    difference: float | None  # that is to be found, as the tolerance is
    size: int | None
    ways: tuple[Way, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        asked, metric = self.question, self.question.objectives[0]
        return {
            "kind": self.kind,
            "tests" if self.kind == "suite" else "arms": self.many,
            "metric": metric.name,
            _SPREADS[self.kind]: self.spread,
            "tolerance": metric.tolerance,
            "threat": asked.threat.name,
            "contamination": asked.threat.of(0).eps,
            "confidence": asked.confidence,
            "difference": self.difference,
            "size": self.size,
            "ways": [vars(each) for each in self.ways],
            "share_of_gates": {"find": OFTEN, "pass": PASSES},
        }


def plan_sizes(
    question: Question,
    kind: Kind,
    many: int,
    spread: str | float,
    *,
    difference: str | float | None = None,
    size: int | None = None,
) -> SizePlan:
    """Say how many measurements a side find a `difference`, and pass equal tests, and which one a `size` finds.

    `many` tests of a suite, of which `spread` is the noise; or arms, and `spread` the share of questions that the worse
    of two wins (pairs), or the rate of the better one. Amounts are as the tolerance of the metric is: a percentage or a
    number. Of a suite, twice the tolerance is to be found unless it is said.

    >>> asked = Question.of(minimize="seconds", tolerance="5%", contamination="10%")
    >>> plan_sizes(asked, "suite", 50, "1%", difference="10%").ways
    (Way(name='sessions', finds=8, passes=9, least=None),)
    >>> rate = Question.of(maximize="solved", statistic={"solved": "mean"}, bounds={"solved": (0, 1)})
    >>> [round(way.least, 3) for way in plan_sizes(rate, "pairs", 2, 0.06, size=300).ways]
    [0.073, 0.074]
    """
    metric, (amount, given) = question.objectives[0], _checked(question, kind, many, spread, difference)
    behind = given if given is None or not metric.relative else math.log1p(given)
    if behind is not None and not metric.inner_tolerance < behind:
        raise BadArgument("difference", must=f"be more than the tolerance, {metric.tolerance}", got=f"{difference}")
    if size is None and given is None:
        raise BadArgument("size", "give how many there are, or the difference that is to be found")
    ways = []
    for test in _tests(question, kind, many, amount):
        least = math.inf if size is None else test.least(checked_count(size, "size"))
        ways.append(
            Way(
                test.name,
                None if behind is None else fewest(test.least, behind, test.farthest),
                None if test.tolerable is None else fewest(test.tolerable, metric.inner_tolerance, test.farthest),
                differences_in_units([metric], [least])[0] if math.isfinite(least) else None,
            )
        )
    return SizePlan(question, kind, many, amount, given, size, tuple(ways))


def _checked(
    question: Question, kind: Kind, many: int, spread: str | float, difference: str | float | None
) -> tuple[float, float | None]:
    """Return the spread and the difference as numbers; twice the tolerance of a suite that says none."""
    metric, suite, name = question.objectives[0], kind == "suite", _SPREADS[kind]
    counts = metric.has_quantile if suite else metric.bounds == (0.0, 1.0)
    if len(question.objectives) != 1 or question.limits or not counts:
        wanted = "whose quantile counts" if suite else "that is a rate"
        raise BadArgument("tests" if suite else name, f"it is planned for one metric {wanted}, and no limit")
    checked_count(many, "tests" if suite else "arms")
    if not suite and many < 2:
        raise BadArgument("arms", must="be at least 2", got=f"{many}")
    if suite and not metric.inner_tolerance:
        raise BadArgument("tolerance", must="be the difference that does not matter, such as '5%'", got="none")
    given = None if difference is None else _amount(difference, "difference", metric)
    if suite and given is None:
        given = 2.0 * parse_tolerance(metric.tolerance).amount
    amount = _amount(spread, name, metric)
    if not 0.0 < amount < (math.inf if suite else 1.0):
        raise BadArgument(name, must="be above 0" if suite else "be between 0 and 1", got=f"{spread}")
    return amount, given


class _Test(NamedTuple):
    """A way to compare, in inner values."""

    name: str
    least: Callable[[int], float]  # the difference that so many find ...
    tolerable: Callable[[int], float] | None = None  # ... and the tolerance with which equal ones pass
    farthest: int = FARTHEST


def _tests(question: Question, kind: Kind, many: int, spread: float) -> Iterator[_Test]:
    metric, threat, delta = question.objectives[0], question.threat.of(0), question.delta
    tolerance = metric.inner_tolerance
    if kind == "rates":
        yield _Test("gate", lambda n: least_of_rates(n, threat, tolerance, delta / (2 * many), spread))
    elif kind == "pairs":
        line, share = 0.5 * delta / (many - 1), ONE_LOOK_SHARE * delta / (many * (many - 1))
        yield _Test("gate", lambda n: least_of_pairs(n, threat, tolerance, line, spread))
        yield _Test("analyze", lambda n: least_of_pairs(n, threat, 0.0, share, spread))
    else:
        half, often = 0.5 * delta, PASSES ** (1.0 / many)
        for blocks in (False, True)[: 2 if many <= _MOST_LIVE else 1]:
            test = SampleTest(threat, statistic_of(metric).level, tolerance, half, half / many, blocks)
            yield _Test(
                "runs" if blocks else "sessions",
                lambda n, test=test: tolerance + spread * test.found(n),  # type: ignore[misc]
                lambda n, test=test: spread * test.passed(n, often),  # type: ignore[misc]
                FARTHEST_OF_SAMPLES,
            )


def lost_in(pilot: Pilot) -> float:
    """Return the share of a pilot's questions that the worse of two arms wins: of all pairs of arms, the largest."""
    values = pilot.by_block()[:, :, 0]
    wins = (values[:, None] > values[None, :]).sum(axis=2)
    return (float(np.minimum(wins, wins.T).max()) + 0.5) / int(values.shape[1])


def _amount(value: str | float, name: str, metric: Objective) -> float:
    """Return a percentage or a number, as the tolerance of the metric is; of a rate either is an amount of it."""
    amount, relative = parse_tolerance(value, name)
    if relative != metric.relative and metric.bounds is None:
        raise BadArgument(name, must=f"be as the tolerance {metric.tolerance} is", got=repr(value))
    return amount
