"""What a report is about, before it becomes one: a result in the user's units with all that is known beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from frontguard.objectives import Objective
from frontguard.reports.model import Fact, Kind, Part, Shown, Step
from frontguard.reports.names import IN_SENTENCES, short
from frontguard.results import Result

Ints = npt.NDArray[np.int64]
AnyResult = TypeVar("AnyResult", bound=Result)


@dataclass(frozen=True, eq=False)
class Subject:
    """A result and its circumstances. `result` has full names; `plain` has them short, for sentences and pictures."""

    kind: Kind
    title: str
    answer: str
    status: str
    result: Result
    guarantee: tuple[str, ...]
    anytime: bool | None = None
    spread: str | None = None
    directed: bool = True  # whether it is known which direction of each objective is better
    aside: frozenset[str] = frozenset()
    reasons: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # of failures, by arm
    failed: Ints | None = None  # (K,) pulls, or values, that failed
    facts: tuple[Fact, ...] = ()
    robustness: Part = field(default_factory=lambda: Part("How robust it is"))
    open: Part = field(default_factory=lambda: Part("What would settle the open arms"))
    course: Part = field(default_factory=lambda: Part("How it came about"))
    pictures: tuple[Shown, ...] | None = None  # instead of those that are made of the result
    steps: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()
    stands: npt.NDArray[np.float64] | None = None  # (K,) up to which ε the verdict stands; NaN where not known
    resolution: float = 0.001
    more: tuple[Part, ...] = ()


def shown_in_units(result: Result) -> Result:
    """A result with metrics: those it has, or, for one in inner values, its objectives as they are, maximised."""
    if result.metrics:
        return result
    return result.in_units(
        [Objective(name if name.strip() else f"objective {d + 1}") for d, name in enumerate(result.objectives)]
    )


def with_short_names(result: AnyResult) -> AnyResult:
    """The same result with names as they are said in sentences and pictures; metrics too."""
    arms: tuple[str, ...] = result.arms
    if any(len(name) > IN_SENTENCES or not name.isprintable() for name in arms):
        arms = tuple(map(short, arms))
    names = tuple(map(short, result.objectives))
    metrics = tuple(
        metric if metric.name == short(metric.name) else replace(metric, name=short(metric.name) or "?")
        for metric in result.metrics
    )
    if arms is result.arms and names == result.objectives and metrics == result.metrics:
        return result
    return replace(result, arms=arms, objectives=names, metrics=metrics)
