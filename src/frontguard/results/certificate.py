"""What a result guarantees: how accurate it is, how much it may miss, how surely, and against whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from frontguard._common.attached import attached
from frontguard._common.entries import plain
from frontguard.objectives import Objective, differences_in_units
from frontguard.phrases import quoted

if TYPE_CHECKING:
    from frontguard.schema import CertificateEntries


@dataclass(frozen=True)
class Certificate:
    """What a result guarantees, with probability `confidence` under the threat model.

    Every returned arm is `accuracy`-optimal (Δ ≤ accuracy), and for every Pareto optimal arm there is a returned one
    that is worse by at most `coverage` in any objective (Definition 5); coverage is infinite where nothing is promised
    of what is missed. Without a confidence nothing is promised at all, and `void` says why, as a kind: "running" (the
    policy promises only once it has stopped), "contamination" (it needs clean measurements), "bias" (set by hand), or
    "medians" (proved for means only).
    """

    accuracy: float | tuple[float, ...]  # one for all objectives, or one for each
    coverage: float | tuple[float, ...]
    confidence: float | None
    threat: str
    contamination: float
    relative: tuple[bool, ...] = ()  # for which objectives the tolerances are shares ("2%"), if for any
    void: str = ""
    arms: int | None = None  # of how many arms it speaks
    excluded: tuple[str, ...] = ()  # which arms were excluded, and are not spoken of
    limits: tuple[str, ...] = ()  # to which the arms must keep of which it speaks

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain values that JSON can hold; what is not bounded becomes None."""
        return {name: plain(value) for name, value in vars(self).items() if name != "relative"}

    @classmethod
    def of(cls, given: CertificateEntries, objectives: Sequence[Objective]) -> Certificate:
        """The certificate that was written down; with a number for each objective where these are known."""
        return cls(
            accuracy=_amounts(given.accuracy, objectives),
            coverage=_amounts(given.coverage, objectives),
            confidence=given.confidence,
            threat=given.threat,
            contamination=given.contamination,
            relative=tuple(objective.relative for objective in objectives),
            void=given.void,
            arms=given.arms,
            excluded=tuple(given.excluded),
            limits=tuple(given.limits),
        )

    def in_units(self, objectives: Sequence[Objective]) -> Certificate:
        """The same in the objectives' units: differences of a metric, or shares of it where the tolerance is one.

        >>> seconds = Objective("seconds", "minimize", tolerance="2%")
        >>> inner = Certificate(seconds.inner_tolerance, seconds.inner_tolerance, 0.95, "prescient", 0.1)
        >>> round(inner.in_units([seconds]).accuracy[0], 6)
        0.02
        """
        return replace(
            self,
            accuracy=differences_in_units(objectives, _each(self.accuracy, objectives)),
            coverage=differences_in_units(objectives, _each(self.coverage, objectives)),
            relative=tuple(objective.relative for objective in objectives),
        )

    def amounts(self, objectives: Sequence[Objective]) -> tuple[float, ...]:
        """The larger of accuracy and coverage for each objective: within what the answer holds in every respect."""
        return tuple(
            max(pair) for pair in zip(_each(self.accuracy, objectives), _each(self.coverage, objectives), strict=True)
        )

    def __str__(self) -> str:
        return str(attached("certificate")(self))

    def __repr__(self) -> str:
        """What is told, without what is left at its default; of many arms that were excluded, the first."""
        told = [each for each in fields(self) if getattr(self, each.name) != each.default and each.name != "excluded"]
        said = [f"{each.name}={getattr(self, each.name)!r}" for each in told]
        if self.excluded:
            said.append(f"excluded=({quoted(self.excluded, 8)})")
        return f"Certificate({', '.join(said)})"


def _each(value: float | tuple[float, ...], objectives: Sequence[Objective]) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,) * len(objectives)


def _amounts(given: float | list[float | None] | None, objectives: Sequence[Objective]) -> float | tuple[float, ...]:
    """Amounts that were written down: infinite where nothing is bounded."""
    if isinstance(given, list):
        return tuple(math.inf if amount is None else amount for amount in given)
    amount = math.inf if given is None else given
    return _each(amount, objectives) if objectives else amount
