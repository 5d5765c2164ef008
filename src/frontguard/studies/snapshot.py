"""A study at one moment, with all that a person who watches it wants to know."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from frontguard._typing import Ints
from frontguard.notices import BudgetOver
from frontguard.objectives import Objective
from frontguard.results import Certificate, Result


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The answer so far, what failed, what is under way, and how far it is to the end."""

    study: str
    result: Result
    failures: dict[str, Counter[str]] = field(default_factory=dict)  # by arm, then by reason
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
    def failed_per_arm(self) -> Ints:
        """How many pulls of each arm (K,) failed."""
        return np.array([sum(self.failures.get(arm, {}).values()) for arm in self.result.arms], np.int64)

    @property
    def seconds_left(self) -> float | None:
        """Until certified, by the forecast and at the present rate."""
        if self.pulls_left is None or not self.rate:
            return None
        return self.pulls_left / self.rate

    @property
    def aside(self) -> list[str]:
        """Arms that cannot be measured."""
        return self.result.aside

    @property
    def shortfall(self) -> BudgetOver | None:
        """Which budget will end before the certificate is there, by the forecast."""
        if self.pulls_left is None:
            return None
        if self.most_pulls is not None and self.pulls + self.pulls_left > self.most_pulls:
            return BudgetOver("pulls", self.most_pulls)
        left = self.seconds_left
        if left is not None and self.seconds_allowed is not None and self.seconds + left > self.seconds_allowed:
            return BudgetOver("seconds", self.seconds_allowed)
        return None
