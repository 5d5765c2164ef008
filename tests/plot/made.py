"""Results, histories and measurements made by hand, of which the pictures are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard.objectives import Objective, inward_matrix
from frontguard.results import Answer, Certificate, Intervals
from frontguard.studies.follow import History, Measurements, Moment
from frontguard.verdicts import Verdict

Floats = npt.NDArray[np.float64]

SECONDS = Objective("seconds", "minimize", "5%")
QUALITY = Objective("quality", "maximize", 0.1)
MEMORY = Objective("memory", "minimize", 2.0)
POINTS = Objective("points", "maximize", 0.0)

KEEP, BEATEN, MATCHED, UNDECIDED = (int(v) for v in (Verdict.KEEP, Verdict.BEATEN, Verdict.MATCHED, Verdict.UNDECIDED))


def made_result(
    values: npt.ArrayLike,
    codes: Sequence[int],
    objectives: Sequence[Objective] = (SECONDS, QUALITY),
    *,
    names: Sequence[str] | None = None,
    half: float = 0.05,
    pulls: Sequence[int] | None = None,
) -> Answer:
    """A result with these estimates (K, M), in the objectives' units, and boxes of ± `half` in inner values."""
    array = np.asarray(values, np.float64)
    K, M = array.shape
    inner = inward_matrix(objectives, array)
    return Answer(
        policy="certified",
        status="running",
        arms=tuple(names) if names is not None else tuple(f"arm {i}" for i in range(K)),
        objectives=tuple(objective.name for objective in objectives),
        verdict_codes=np.array(codes, np.int64),
        inner=Intervals(inner, inner - half, inner + half),
        pulls_per_arm=np.array(pulls if pulls is not None else range(10, 10 + K), np.int64),
        decided_by=np.full(K, -1),
        certificate=Certificate((0.1,) * M, (0.1,) * M, 0.95, "prescient", 0.1),
    ).in_units(objectives)


def many_arms(K: int, objectives: Sequence[Objective] = (SECONDS, QUALITY), seed: int = 0, few: int = 20) -> Answer:
    """Arms of which `few` are in, `few` undecided, `few` covered, and all others out."""
    rng = np.random.default_rng(seed)
    values = np.exp(rng.normal(0.0, 0.4, (K, len(objectives))))
    codes = np.full(K, BEATEN)
    special = rng.permutation(K)[: 3 * few]
    codes[special[:few]], codes[special[few : 2 * few]], codes[special[2 * few :]] = KEEP, UNDECIDED, MATCHED
    return made_result(values, codes.tolist(), objectives, pulls=rng.integers(5, 400, K).tolist())


def made_history(seed: int = 0, arms: int = 9, objectives: Sequence[Objective] = (SECONDS, QUALITY)) -> History:
    """Boxes that shrink like 1/√n around fixed estimates; nothing is known at first."""
    rng = np.random.default_rng(seed)
    M = len(objectives)
    medians = np.exp(rng.normal(0.0, 0.3, (arms, M)))
    codes = np.array([KEEP, KEEP, BEATEN, BEATEN, MATCHED, UNDECIDED, BEATEN, BEATEN, BEATEN][:arms])
    moments = []
    for n in (20, 60, 200, 800, 3000):
        half = np.full((arms, M), np.inf) if n == 20 else medians * 4.0 / np.sqrt(n)
        moments.append(
            Moment(
                pulls=n,
                at=1.7e9 + n,
                pulls_per_arm=np.full(arms, n // arms),
                verdict_codes=codes if n > 200 else np.zeros(arms, np.int64),
                estimates=medians,
                low=medians - half,
                high=medians + half,
                uncertain=np.full(M, np.inf if n == 20 else 3.0 / np.sqrt(n)),
            )
        )
    return History(tuple(f"arm {i}" for i in range(arms)), tuple(objectives), tuple(moments))


def made_measurements(values: npt.ArrayLike, objectives: Sequence[Objective], **more: Any) -> Measurements:
    """The pulls of an arm."""
    array = np.asarray(values, np.float64)
    n = len(array)
    return Measurements(
        **{
            "arm": 0,
            "name": "gcc -O2",
            "objectives": tuple(objectives),
            "after": 0,
            "pulls": np.arange(n) * 3,
            "values": array,
            "reasons": tuple("timeout" if np.isnan(row).any() else "" for row in array),
            "workers": ("worker",) * n,
            "at": 1.7e9 + np.arange(n, dtype=np.float64),
            "ends": np.zeros(n, np.int64),
            "clusters": ("",) * n,
            **more,
        }
    )
