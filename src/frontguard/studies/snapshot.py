"""A study at one moment, with all that a person who watches it wants to know; and numbers as people write them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from frontguard.objectives import Objective
from frontguard.results import Certificate, Result, Verdict

ASIDE = "set aside"
"""What is said of an arm that cannot be measured, where others have a verdict."""

VERDICT_WORDS = ("in", "undecided", "covered", ASIDE, "out")
"""What is said of arms, as lists show them: what matters first."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The answer so far, what failed, what is under way, and how far it is to the end."""

    study: str
    result: Result
    failures: dict[str, Counter[str]] = field(default_factory=dict)  # by arm, then by reason
    aside: frozenset[str] = frozenset()  # arms that cannot be measured
    reachable: Certificate | None = None  # in the objectives' units; what further pulls could bring at best
    pulls_left: int | None = None  # by the forecast
    most_pulls: int | None = None  # the budget
    seconds: float = 0.0  # since the run began
    seconds_allowed: float | None = None
    rate: float | None = None  # pulls a second
    busy: int = 0  # pulls under way
    preparing: tuple[str, ...] = ()  # arms

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What is measured, with the goal."""
        return self.result.metrics

    @property
    def pulls(self) -> int:
        """Pulls that were told."""
        return self.result.pulls

    @property
    def failed(self) -> int:
        """How many of these failed."""
        return sum(sum(reasons.values()) for reasons in self.failures.values())

    @property
    def seconds_left(self) -> float | None:
        """Until certified, by the forecast and at the present rate."""
        if self.pulls_left is None or not self.rate:
            return None
        return self.pulls_left / self.rate

    @property
    def shortfall(self) -> str | None:
        """Which budget will end before the certificate is there, by the forecast."""
        if self.pulls_left is None:
            return None
        if self.most_pulls is not None and self.pulls + self.pulls_left > self.most_pulls:
            return f"the budget of {self.most_pulls:,} pulls will end before"
        left = self.seconds_left
        if left is not None and self.seconds_allowed is not None and self.seconds + left > self.seconds_allowed:
            return f"the time of {duration(self.seconds_allowed)} will end before"
        return None

    def verdict(self, arm: int) -> str:
        """The verdict of an arm in a word or two."""
        if self.result.arms[arm] in self.aside:
            return ASIDE
        return Verdict(int(self.result.verdict_codes[arm])).word

    def tally(self) -> dict[str, int]:
        """How many arms have which verdict, without those that none has."""
        found = Counter(self.verdict(arm) for arm in range(len(self.result.arms)))
        return {word: found[word] for word in ("in", "covered", "out", "undecided", ASIDE) if found[word]}

    def counts(self) -> str:
        """The same in words: "2 in, 1,005 out, 1 set aside"."""
        return ", ".join(f"{count:,} {word}" for word, count in self.tally().items())


def certificate_against_goal(certificate: Certificate, objectives: tuple[Objective, ...]) -> str:
    """What is certain now, for each objective, beside what is wanted.

    >>> seconds = Objective("seconds", "minimize", "5%")
    >>> certificate_against_goal(Certificate((0.079,), (0.05,), 0.95, "prescient", 0.1), (seconds,))
    'certain within 7.9% of seconds (goal 5%)'
    >>> certificate_against_goal(Certificate((math.inf,), (0.05,), 0.95, "prescient", 0.1), (seconds,))
    'nothing certain yet (goal: 5% of seconds)'
    """
    goal = [tolerance(objective) for objective in objectives]
    now = amounts(certificate, objectives)
    if not all(math.isfinite(value) for value in now):
        wanted = ", ".join(f"{text} of {each.name}" for text, each in zip(goal, objectives, strict=True))
        return f"nothing certain yet (goal: {wanted})"
    return f"certain within {beside_goal(certificate, objectives)}"


def beside_goal(certificate: Certificate, objectives: tuple[Objective, ...]) -> str:
    """How much of each objective the certificate leaves open, beside the goal."""
    return ", ".join(
        f"{amount(value, each)} of {each.name} (goal {tolerance(each)})"
        for value, each in zip(amounts(certificate, objectives), objectives, strict=True)
    )


def amounts(certificate: Certificate, objectives: tuple[Objective, ...]) -> tuple[float, ...]:
    """The larger of accuracy and coverage for each objective: within what the answer holds in every respect."""

    def each(value: float | tuple[float, ...]) -> tuple[float, ...]:
        return value if isinstance(value, tuple) else (value,) * len(objectives)

    return tuple(max(pair) for pair in zip(each(certificate.accuracy), each(certificate.coverage), strict=True))


def amount(value: float, objective: Objective) -> str:
    """A difference of a metric in its units, or as a percentage of it where the tolerance is one."""
    if not math.isfinite(value):
        return "any amount"
    return f"{100.0 * value:.3g}%" if objective.relative else number(value)


def tolerance(objective: Objective) -> str:
    """The tolerance of an objective as it is written."""
    return str(objective.tolerance) if objective.relative else number(float(objective.tolerance))


def number(value: float) -> str:
    """A number with four digits that count, as short as can be.

    >>> [number(x) for x in (0.0, 0.00123456, 1.5, 12345.6, 16384, 9.87654321e9, math.inf, math.nan)]
    ['0', '0.001235', '1.5', '12,346', '16,384', '9.877e+09', '∞', '?']
    """
    if math.isnan(value):
        return "?"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if 1000.0 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def duration(seconds: float) -> str:
    """A time as a person says it, rounded.

    >>> [duration(s) for s in (0.04, 3.21, 59.7, 200, 9000, 200_000)]
    ['0.0 s', '3.2 s', '1 min', '3 min 20 s', '2 h 30 min', '2 d 7 h']
    """
    if seconds < 10.0:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, size, smaller, below in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"


def rounded(pulls: int) -> str:
    """A forecast with two digits that count: more would promise too much.

    >>> rounded(7), rounded(1234)
    ('7', '1,200')
    """
    if pulls < 10:
        return str(pulls)
    step = 10 ** (len(str(pulls)) - 2)
    return f"{round(pulls / step) * step:,}"
