"""Sessions that a gate of a test suite takes, before the first one: simulated by the exact tests of the gate itself.

A session is one run of the whole suite, and each test counts by one number of it. Values are normal, of a known noise,
in logarithms where the tolerance is a percentage. That a slow test is found, and that equal ones pass, is asked of nine
gates in ten; the tests of a suite are drawn independently of each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from frontguard._common.checks import checked_count
from frontguard._common.typing import Floats
from frontguard.errors import BadArgument
from frontguard.evidence.statistics import statistic_of
from frontguard.evidence.two_sample import MOST_EXACT, refuted_beyond, region, u_tail
from frontguard.objectives import Objective, parse_tolerance
from frontguard.question import Question

OFTEN = 0.9
"""The share of gates in which what is planned is to come out."""

FARTHEST = 1_000
"""Sessions a side beyond which none are planned."""

_DRAWN, _FEWER = 20_000, 2_000  # checks that are simulated, of a few sessions and of many


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
            "share_of_gates": OFTEN,
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
    seed: int = 0,
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
    checks = _Checks(question, tests, spread, seed)
    least = None if sessions is None else checks.least_found(checked_count(sessions, "sessions"))
    if least is not None and metric.relative:
        least = math.expm1(least)
    return SuitePlan(
        question, tests, spread, given,
        passes=_fewest(lambda n: checks.passed(n) ** tests),
        finds=_fewest(lambda n: checks.found(n, behind)),
        sessions=sessions, least=least,
    )  # fmt: skip


def _amount(value: str | float, name: str, metric: Objective) -> float:
    """Return a percentage or a number, as the tolerance of the metric is."""
    amount, relative = parse_tolerance(value, name)
    if relative != metric.relative:
        raise BadArgument(name, must=f"be as the tolerance {metric.tolerance} is", got=repr(value))
    return amount


def _fewest(share: Callable[[int], float]) -> int | None:
    """Return the sessions with which a share is first reached `OFTEN`; None if `FARTHEST` are too few."""
    low, high = 1, 8
    while share(high) < OFTEN:
        low, high = high, 2 * high
        if low >= FARTHEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if share(middle) >= OFTEN else (middle, high)
    return high


class _Checks:
    """Simulated checks of a suite; the same draws for each number of sessions."""

    def __init__(self, question: Question, tests: int, noise: float, seed: int) -> None:
        self._threat, self._noise, self._seed = question.threat, noise, seed
        metric = question.objectives[0]
        self._level, self._tolerance = statistic_of(metric).level, metric.inner_tolerance
        self._half, self._line = 0.5 * question.delta, 0.5 * question.delta / tests  # as `two_sample.check_bounds`
        self._drawn = cache(self._draw)

    def _draw(self, sessions: int) -> tuple[Floats, Floats]:
        """Return sorted values (n, sessions) of equal baselines and candidates."""
        rng = np.random.default_rng([self._seed, sessions])
        shape = (_DRAWN if sessions <= MOST_EXACT else _FEWER, sessions)
        base, change = (np.sort(rng.normal(0.0, self._noise, shape), axis=1) for _ in range(2))
        return base, change

    def passed(self, sessions: int) -> float:
        """Return the share of equal tests that are certainly not worse by more than the tolerance."""
        base, change = self._drawn(sessions)
        return float((self._largest(base, change, sessions, self._half) <= self._tolerance).mean())

    def found(self, sessions: int, behind: float) -> float:
        """Return the share of tests worse by so much that are called worse."""
        base, change = self._drawn(sessions)
        change = change - behind + self._tolerance
        if sessions > MOST_EXACT:
            return float((self._largest(change, base, sessions, self._line) < 0.0).mean())
        enough = np.flatnonzero(u_tail(sessions, sessions, self._threat) <= self._line)
        if not len(enough):
            return 0.0
        wins = np.zeros(len(base), np.int64)  # pairs in which the baseline is better even so
        for k in range(sessions):
            wins += (base > change[:, k : k + 1]).sum(axis=1)
        return float((wins >= enough[0]).mean())

    def least_found(self, sessions: int) -> float | None:
        """Return by how much a test has to be worse to be called so `OFTEN`; None if it never is."""
        low, high = self._tolerance, self._tolerance + 30.0 * self._noise
        if self.found(sessions, high) < OFTEN:
            return None
        while high - low > 0.01 * (high - self._tolerance):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.found(sessions, middle) < OFTEN else (low, middle)
        return high

    def _largest(self, y: Floats, x: Floats, sessions: int, delta: float) -> Floats:
        """Return the upper bounds (n,) of Q(y) − Q(x), as `two_sample.largest_difference`."""
        largest = region(sessions, sessions, self._threat, self._level, delta)
        return np.full(len(y), np.inf) if largest is None else refuted_beyond(y, x, largest)
