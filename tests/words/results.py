"""Results made by hand, to be put into words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frontguard import Objective
from frontguard.comparisons.outcomes import GateDetails, GatePair
from frontguard.question import Question
from frontguard.results import Answer, Certificate, Intervals, LogDetails
from frontguard.verdicts import Verdict

SECONDS, BYTES = Objective("seconds", "minimize"), Objective("bytes", "minimize")
FEASIBLE = Objective("seconds", "minimize", 0.5), Objective("bytes", "minimize", 10.0)


def certificate(
    accuracy: float = 0.0, coverage: float = 0.0, confidence: float | None = 0.95, **more: Any
) -> Certificate:
    """What a prescient attacker leaves of a promise, in the metrics' own units."""
    return Certificate(
        accuracy, coverage, confidence, **{"threat": "prescient", "contamination": 0.1, "arms": 2, **more}
    )


def result(
    verdicts: Sequence[Verdict],
    metrics: Sequence[Objective] = (SECONDS, BYTES),
    *,
    status: str = "certified",
    promise: Certificate | None = None,
    decided_by: Sequence[int] | None = None,
    lower: Any = None,
    upper: Any = None,
    **more: Any,
) -> Any:
    """A result with these verdicts of the arms a, b, c, …; intervals (K, M) are inner values, of which more is
    better."""
    shape = len(verdicts), len(metrics)
    low = np.zeros(shape) if lower is None else np.array(lower, np.float64)
    high = np.ones(shape) if upper is None else np.array(upper, np.float64)
    return Answer(
        policy=more.pop("policy", "certified"),
        status=status,
        arms=tuple("abcdefgh"[: len(verdicts)]),
        objectives=tuple(metric.name for metric in metrics),
        verdict_codes=np.array(verdicts, np.int64),
        inner=Intervals((low + high) / 2.0, low, high),
        pulls_per_arm=np.full(len(verdicts), 10),
        decided_by=np.full(len(verdicts), -1) if decided_by is None else np.array(decided_by),
        certificate=certificate() if promise is None else promise,
        metrics=tuple(metrics),
        **more,
    )


def of_log(arms: int, objectives: int = 2, **told: Any) -> LogDetails:
    """What a log tells of so many arms, none of whose pulls failed."""
    nothing = {
        "failed": np.zeros((arms, objectives), np.int64),
        "failed_pulls": np.zeros(arms, np.int64),
        "means": np.zeros((arms, objectives)),
        "mean_front": np.zeros(arms, np.bool_),
    }
    return LogDetails(**nothing | told)


def of_gate(pairs: Sequence[GatePair], question: Question, status: str, pulls: int = 20, **more: Any) -> Answer:
    """The answer of a gate on logs."""
    found = result([Verdict.UNDECIDED], question.objectives, status="budget", **more)
    promise = certificate(math.inf, math.inf, question.confidence, contamination=question.threat.eps)
    gate = GateDetails(tuple(pairs), status)
    return replace(found, gate=gate, question=question, certificate=promise, pulls_per_arm=np.array([pulls]))
