"""Results made by hand, to be put into words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frontguard import Objective
from frontguard.results import Certificate, Inner, Result
from frontguard.verdicts import Verdict

SECONDS, BYTES = Objective("seconds", "minimize"), Objective("bytes", "minimize")
WITHIN = Objective("seconds", "minimize", 0.5), Objective("bytes", "minimize", 10.0)


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
    kind: type[Result] = Result,
    **more: Any,
) -> Any:
    """A result with these verdicts of the arms a, b, c, …; boxes (K, M) are inner values, of which more is better."""
    shape = len(verdicts), len(metrics)
    low = np.zeros(shape) if lower is None else np.array(lower, np.float64)
    high = np.ones(shape) if upper is None else np.array(upper, np.float64)
    return kind(
        policy=more.pop("policy", "certified"),
        status=status,
        arms=tuple("abcdefgh"[: len(verdicts)]),
        objectives=tuple(metric.name for metric in metrics),
        verdict_codes=np.array(verdicts, np.int64),
        inner=Inner((low + high) / 2.0, low, high),
        pulls_per_arm=np.full(len(verdicts), 10),
        decided_by=np.full(len(verdicts), -1) if decided_by is None else np.array(decided_by),
        certificate=certificate() if promise is None else promise,
        metrics=tuple(metrics),
        **more,
    )
