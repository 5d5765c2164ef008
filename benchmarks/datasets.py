"""The data that benchmarks run on."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from frontguard.simulation import RewardSource
from frontguard.simulation.adversaries import other_distribution
from frontguard.simulation.environments import bootstrap, constant

_ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = Path(os.environ.get("FRONTGUARD_SHARED_DATA", _ROOT.parent / "shared" / "data"))


def contaminated_table(eps: float) -> tuple[RewardSource, npt.NDArray[np.float64]]:
    """SW-LLVM where its file is at hand, else a made-up table of its shape; Pareto arms get −10, the others +10."""
    path = SHARED_DATA / "sw_llvm" / "sw_llvm.csv"
    if path.is_file():
        with path.open() as file:
            rows = list(csv.DictReader(file))
        points = np.array([[float(row["y0"]), float(row["y1"])] for row in rows])
        arms = np.array([int(row["arm"]) for row in rows])
    else:
        rng = np.random.default_rng(0)
        arms = np.repeat(np.arange(16), 64)
        points = rng.normal(0, 1, (16, 2))[arms] + rng.normal(0, 0.17, (1024, 2)).round(2)
    environment = bootstrap(points, arms)
    value = np.where(environment.pareto_mask[:, None], -10.0, 10.0) * np.ones((1, 2))
    return RewardSource(environment, other_distribution(eps, constant(value))), points
