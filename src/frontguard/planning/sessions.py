"""Sessions that a gate of a test suite takes, before the first one: by the tests of the gate itself (`evidence.power`).

A session is one run of the whole suite, and each test counts by one number of it. Values are normal, of a known noise,
in logarithms where the tolerance is a percentage; the tests of a suite are independent of each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from frontguard._common.checks import checked_count
from frontguard.errors import BadArgument
from frontguard.evidence.power import OFTEN, SampleTest, fewest
from frontguard.evidence.statistics import statistic_of
from frontguard.objectives import Objective, differences_in_units, parse_tolerance
from frontguard.question import Question

PASSES = 0.9
"""The share of gates that equal tests are to pass; what is slow is to be found in four of five."""

FARTHEST = 1_000
"""Sessions a side beyond which none are planned."""


@dataclass(frozen=True)
class SuitePlan:
    """Sessions a side of a suite; None where `FARTHEST` are too few."""

    question: Question
    tests: int
    noise: float  # as the tolerance is: a number, or a share
    slower: float  # likewise
    passes: int | None  # with which a gate of equal tests passes
    finds: int | None  # with which one that is so much slower is found
    sessions: int | None = None  # that there are, and ...
    least: float | None = None  # ... by how much a test is worse that they find; None where they find none

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        asked, metric = self.question, self.question.objectives[0]
        return {
            "tests": self.tests,
            "metric": metric.name,
            "noise": self.noise,
            "slower": self.slower,
            "tolerance": metric.tolerance,
            "threat": asked.threat.name,
            "contamination": asked.threat.eps,
            "confidence": asked.confidence,
            "share_of_gates": {"pass": PASSES, "find": OFTEN},
            "sessions_pass": self.passes,
            "sessions_find": self.finds,
            "sessions": self.sessions,
            "least_found": self.least,
        }


def plan_sessions(
    tests: int,
    question: Question,
    *,
    noise: str | float,
    slower: str | float | None = None,
    sessions: int | None = None,
) -> SuitePlan:
    """Say how many sessions a side pass equal tests, and how many find one that is `slower`, in nine gates of ten.

    `noise` is the deviation of a test between sessions; both are as the tolerance of the metric that counts is: a
    percentage or a number. Twice the tolerance, unless it is said, is what is to be found. With a number of `sessions`,
    also what so many find.

    >>> asked = Question.of(minimize="seconds", tolerance="5%", contamination="10%")
    >>> made = plan_sessions(50, asked, noise="1%", slower="10%")
    >>> made.passes, made.finds
    (9, 8)
    """
    checked_count(tests, "tests")
    metric = question.objectives[0]
    if len(question.objectives) != 1 or question.limits or not metric.has_quantile:
        raise BadArgument("tests", "sessions of a suite are planned for one metric whose quantile counts, and no limit")
    if not metric.inner_tolerance:
        raise BadArgument("tolerance", must="be the difference that does not matter, such as '5%'", got="none")
    given = 2.0 * parse_tolerance(metric.tolerance).amount if slower is None else _amount(slower, "slower", metric)
    spread, behind = _amount(noise, "noise", metric), given
    if metric.relative:
        behind = math.log1p(given)
    if not spread > 0.0:
        raise BadArgument("noise", must="be above 0", got=f"{noise}")
    if not metric.inner_tolerance < behind:
        raise BadArgument("slower", must=f"be more than the tolerance, {metric.tolerance}", got=f"{slower}")
    tolerance, half = metric.inner_tolerance, 0.5 * question.delta
    test = SampleTest(question.threat, statistic_of(metric).level, tolerance, half, half / tests)
    least = None
    if sessions is not None and math.isfinite(found := test.found(checked_count(sessions, "sessions"))):
        least = differences_in_units([metric], [tolerance + spread * found])[0]
    return SuitePlan(
        question, tests, spread, given,
        passes=fewest(lambda n: test.passed(n, PASSES ** (1.0 / tests)), tolerance / spread, FARTHEST),
        finds=fewest(test.found, (behind - tolerance) / spread, FARTHEST),
        sessions=sessions, least=least,
    )  # fmt: skip


def _amount(value: str | float, name: str, metric: Objective) -> float:
    """Return a percentage or a number, as the tolerance of the metric is."""
    amount, relative = parse_tolerance(value, name)
    if relative != metric.relative:
        raise BadArgument(name, must=f"be as the tolerance {metric.tolerance} is", got=repr(value))
    return amount
