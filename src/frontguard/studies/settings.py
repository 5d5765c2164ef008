"""What a study is about, as a text that its storage keeps; what of it may change when it is taken up again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import frontguard.theory.spread as spread_bounds
from frontguard.errors import BadInput
from frontguard.objectives import Objective
from frontguard.policies import Certified
from frontguard.results import ArmParts
from frontguard.theory.spread import SpreadBound
from frontguard.theory.threats import Threat, threat_named

FORMAT = 1


@dataclass(frozen=True)
class Budget:
    """When to stop without a certificate: pulls of all arms together, and of each arm."""

    max_pulls: int | None = None
    max_pulls_per_arm: int | None = None

    def __post_init__(self) -> None:
        """Refuse budgets that are none."""
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise BadInput(f"budget: {each.name} must be a whole number from 1; got {value!r}")


@dataclass(frozen=True)
class Settings:
    """Arms, objectives, threat and goal of a study. `about` is for whoever drives it: its commands, say."""

    arms: tuple[str, ...]
    objectives: tuple[Objective, ...]
    threat: Threat
    confidence: float = 0.95
    coverage: tuple[float, ...] | None = None  # inner values; as the tolerances unless given
    spread: SpreadBound | None = None
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    about: dict[str, Any] = field(default_factory=dict)
    reopened_after: int = 0  # plans up to which a stop has been overruled by a change of settings

    def policy(self) -> Certified:
        """The policy that decides, without any observations."""
        optional = {} if self.coverage is None else {"coverage": self.coverage}
        return Certified.for_objectives(
            len(self.arms),
            self.objectives,
            threat=self.threat,
            delta=round(1.0 - self.confidence, 12),
            spread=self.spread,
            max_pulls_per_arm=self.budget.max_pulls_per_arm,
            **optional,
        )

    @property
    def parts(self) -> ArmParts | None:
        """What the arms are made of, if whoever drives the study said so."""
        columns = self.about.get("arm_columns")
        return ArmParts.of(columns, self.about["arm_parts"]) if columns else None

    def to_json(self) -> str:
        """The text that is stored."""
        spread = None if self.spread is None else _spread_to_dict(self.spread)
        threat = {"threat": self.threat.name, "contamination": self.threat.eps}
        settings = {"format": FORMAT, **vars(self), **threat, "spread": spread}
        return json.dumps(settings, ensure_ascii=False, default=asdict)

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Read what `to_json` wrote."""
        read = json.loads(text)
        written_in = read.pop("format", None)
        if written_in != FORMAT:
            raise BadInput(
                f"this study has settings of format {written_in!r}; this version of frontguard reads {FORMAT}: "
                "update frontguard"
            )
        read["arms"] = tuple(read["arms"])
        read["objectives"] = tuple(Objective(**each) for each in read["objectives"])
        read["threat"] = threat_named(read["threat"], read.pop("contamination"))
        read["coverage"] = None if read["coverage"] is None else tuple(read["coverage"])
        read["spread"] = None if read["spread"] is None else _spread_from_dict(read["spread"])
        read["budget"] = Budget(**read["budget"])
        return cls(**read)

    def taken_up(self, wanted: Settings, plans: int) -> Settings:
        """These settings, changed to the wanted ones where that is sound once pulls were made.

        The goal (tolerances, coverage) and the budget may change: boxes do not depend on them. Arms, what is measured,
        the threat and the confidence may not: chosen after the fact, they would make the certificate worthless.
        """
        for what, ours, theirs in (
            ("arms", self.arms, wanted.arms),
            ("objectives", _measured(self), _measured(wanted)),
            ("threat", self.threat, wanted.threat),
            ("confidence", self.confidence, wanted.confidence),
            ("spread", self.spread, wanted.spread),
            ("seed", self.seed, wanted.seed),
            ("identity", self.about.get("identity"), wanted.about.get("identity")),
        ):
            if ours != theirs:
                raise BadInput(
                    f"the study was begun with other {what}: {_difference(ours, theirs)}. Only tolerances and budget "
                    "may change while it goes on; give it another name or another storage to begin anew"
                )
        changed = replace(wanted, reopened_after=self.reopened_after)
        if changed == self:
            return self
        return replace(changed, reopened_after=plans)


def _measured(settings: Settings) -> list[tuple[str, str, float]]:
    return [(each.name, each.direction, each.quantile) for each in settings.objectives]


def _difference(ours: Any, theirs: Any) -> str:
    """The first place where two settings differ, shortly."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in [*ours, *theirs]:
            if ours.get(key) != theirs.get(key):
                return f"{key}: {_difference(ours.get(key), theirs.get(key))}"
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        for position, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            if one != other:
                return f"number {position + 1}: {_difference(one, other)}"
        return f"{len(ours)} then, {len(theirs)} now"
    return f"{ours!r} then, {theirs!r} now"


def _spread_to_dict(spread: SpreadBound) -> dict[str, Any]:
    name = type(spread).__name__
    if name not in ("Subgaussian", "Gaussian", "LinearAroundMedian", "Uniform"):
        raise BadInput(
            "spread must be one of Subgaussian, Gaussian, LinearAroundMedian and Uniform, which a study can store; "
            f"got {name}"
        )
    return {"name": name, **{each.name: getattr(spread, each.name) for each in fields(spread)}}  # type: ignore[arg-type]


def _spread_from_dict(read: dict[str, Any]) -> SpreadBound:
    bound: SpreadBound = getattr(spread_bounds, read.pop("name"))(**read)
    return bound
