"""COV-BOOST: 20 vaccine strategies, three log immune responses: the published Gaussian instance of clean Pareto set
identification (Kone, Kaufmann and Richert 2023, after Munro et al., Lancet 2021).

Rewards are normal, so medians are means. The figures stand beside this file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.pareto.dominance import suboptimality_gaps
from frontguard.simulation.environments import Quantiled, gaussian

TABLE = Path(__file__).with_name("covboost.json")
APE_AT_A_TENTH = "ape_samples_delta_0.1"


@dataclass(frozen=True, eq=False)
class CovBoost:
    """The instance: `means` (20, 3), `deviations` (3,) common to all arms, the `pareto` arms as published, and what was
    published about samples.
    """

    means: Floats
    deviations: Floats
    pareto: tuple[int, ...]
    published: dict[str, float]

    def environment(self, *, standardised: bool = False) -> Quantiled:
        """Its rewards. Divided by the deviations (`standardised`) they have the same front and one σ = 1 in common."""
        if standardised:
            return gaussian(self.means / self.deviations, 1.0)
        return gaussian(self.means, np.broadcast_to(self.deviations, self.means.shape))

    @property
    def smallest_gap(self) -> float:
        """The smallest positive Δ_i: an accuracy below it means the exact front."""
        gaps = suboptimality_gaps(self.means)
        return float(gaps[gaps > 0].min())


def covboost() -> CovBoost:
    """The published instance.

    >>> instance = covboost()
    >>> instance.environment().pareto_set, round(instance.smallest_gap, 4)
    ([8, 18], 0.0914)
    """
    return read_covboost(json.loads(TABLE.read_text(encoding="utf-8")), where=TABLE.name)


def read_covboost(fields: dict[str, Any], *, where: str) -> CovBoost:
    """The instance that a JSON object describes; its covariance has to be diagonal."""
    try:
        means, covariance = np.array(fields["means"], np.float64), np.array(fields["cov"], np.float64)
        shape = int(fields["K"]), int(fields["M"])
        pareto = tuple(int(arm) for arm in fields["pareto"])
        published = {str(name): float(value) for name, value in fields["published"].items()}
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise BadInput(f"{where}: damaged: {type(error).__name__}: {error}") from None
    if means.shape != shape or covariance.shape != (shape[1], shape[1]):
        raise BadInput(f"{where}: wanted means {shape} and a square cov; got {means.shape} and {covariance.shape}")
    variances = np.diag(covariance)
    if (covariance != np.diag(variances)).any() or not (variances > 0).all():
        raise BadInput(f"{where}: cov: wanted a diagonal of positive variances; got {covariance.tolist()}")
    return CovBoost(means, np.sqrt(variances), pareto, published)
