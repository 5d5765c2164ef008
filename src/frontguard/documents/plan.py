"""What `frontguard plan --json` prints."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from frontguard.documents.base import Count, Document, Number, Text, Truth
from frontguard.limits import Limit
from frontguard.objectives import differences_in_units
from frontguard.planning.cost import CostPlan, SimulatedCost, Task
from frontguard.planning.limited import LimitFloor
from frontguard.words.plan import answer, warnings


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


Finite = Annotated[Number | None, BeforeValidator(_finite)]
Widths = list[Finite]


class PlannedObjective(Document):
    """An objective of a plan."""

    name: Text
    direction: Literal["maximize", "minimize"]
    relative: Truth
    """Whether its tolerances are shares of the metric."""
    quantile: Finite = None
    statistic: Literal["quantile", "mean"] | None = None
    """What counts of it; null for the median, of which nobody said that it is meant, and for what is exact."""
    bounds: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    sigma: Finite = None
    exact: Truth = False


class PlannedLimit(Document):
    """A limit of a plan, and what no number of pulls takes away."""

    limit: Limit
    floor: Finite
    """Arms that are nearer to it than this may stay open for ever; null for any distance."""
    open_arms: list[Text] | None
    """Of a pilot: the arms that would, if measurements went on like it."""


class LargestContamination(Document):
    """Up to which contamination the goal can be promised; null for none."""

    any_method: Finite
    whatever_the_attack: Finite
    """By the certified policy, under every attack."""


class TheoremOne(Document):
    """The bound of Theorem 1 on R-PSI's pulls."""

    worst_case: Finite
    with_these_gaps: Finite


class Instances(Document):
    """What was simulated."""

    source: Literal["normal", "mixed", "pilot"]
    """Normal values; some of them rates or exact values; or the rows of a pilot."""
    sigma: Finite
    span: Finite


class ForecastDocument(Document):
    """The pulls of all arms that a policy takes under an attack; null where nothing was simulated."""

    policy: Text
    attack: Text
    accuracy: Widths | None
    coverage: Widths | None
    runs: Count
    mean: Finite
    least: Count | None
    most: Count | None
    more_than: Truth
    """Whether runs were cut off, so that more pulls are needed."""
    certified: Count
    """Runs that ended with a certificate."""
    unreachable: Count
    """Runs that ended because the goal was out of reach."""
    cut_off: Count


class PlanDocument(Document):
    """What an identification would cost, and what it can promise at all. Widths are in the metrics' units."""

    answer: Text
    arms: Count
    objectives: list[PlannedObjective]
    threat: Text
    contamination: Number
    confidence: Number
    tolerance: Widths
    """The goal: no returned arm is beaten by more than that in every objective at once."""
    coverage: Widths
    """The goal: no arm of the front is missed by more than that."""
    possible: Truth
    """Whether any method can promise the goal."""
    floor: Widths
    """What no number of pulls takes away."""
    floor_arms: list[Text] | None
    """Of a pilot: the arm with that floor, for each objective."""
    rpsi_floor: Widths | None
    limits: list[PlannedLimit] = []
    """What arms must keep to: the goal is about the arms within."""
    largest_contamination: LargestContamination
    first_pulls_per_arm: dict[Text, Count]
    """Pulls of an arm before which a policy can say nothing."""
    theorem1: TheoremOne
    instances: Instances
    expected_pulls: list[ForecastDocument]
    warnings: list[Text]

    @classmethod
    def of(cls, made: CostPlan) -> PlanDocument:
        """The document of a plan, with what is said of it."""
        task = made.task
        return cls.model_validate(
            {
                **vars(made),
                "answer": answer(made),
                "arms": task.arms,
                "objectives": task.metrics,
                "threat": task.threat.name,
                "contamination": task.threat.eps,
                "confidence": round(1.0 - task.delta, 12),
                "tolerance": differences_in_units(task.metrics, task.accuracy),
                "coverage": differences_in_units(task.metrics, task.coverage),
                "possible": made.possible,
                "largest_contamination": {
                    "any_method": made.possible_up_to,
                    "whatever_the_attack": made.safe_up_to,
                },
                "first_pulls_per_arm": made.first_pulls,
                "limits": [_limit(floor) for floor in made.limits],
                "theorem1": {"worst_case": made.theorem1_worst_case, "with_these_gaps": made.theorem1_gaps},
                "instances": {**vars(task), "source": _source(task)},
                "expected_pulls": [_forecast(task, row) for row in made.costs],
                "warnings": warnings(made),
            }
        )


def _limit(floor: LimitFloor) -> dict[str, Any]:
    return {"limit": floor.gate.limit, "floor": floor.width, "open_arms": floor.open_arms}


def _source(task: Task) -> str:
    if task.pilot is not None:
        return "pilot"
    return "normal" if task.medians_only else "mixed"


def _forecast(task: Task, row: SimulatedCost) -> dict[str, Any]:
    return {
        **vars(row),
        "accuracy": row.accuracy and differences_in_units(task.metrics, row.accuracy),
        "coverage": row.coverage and differences_in_units(task.metrics, row.coverage),
        "least": row.least if row.runs else None,
        "most": row.most if row.runs else None,
        "more_than": row.capped > 0,
        "cut_off": row.capped,
    }
