"""The demonstration: the bundled UVA/PADOVA treatments, sabotaged, seen by our policy and by a mean-based method.

36 treatments, each a meal and an insulin bolus, are judged by the minutes that the blood glucose spends above and below
the safe range. A saboteur replaces a share ε of the records of the five best treatments by the worst that can be
recorded. A second part (`demo.reviews`) reads a log that is there already: reviews, with a bombing campaign. A
third is a real job: compiler flags, measured beside a noisy neighbour.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from frontguard._common.entries import table_of
from frontguard._common.typing import Floats
from frontguard.demo.reviews import BOMBED, Reviews, analyze_reviews
from frontguard.errors import BadInput
from frontguard.experiments.datasets.compiler_flags import bundled_recording
from frontguard.experiments.datasets.diabetes import bundled_treatments
from frontguard.logs.analysis import Analysis
from frontguard.logs.answer import Question, answer
from frontguard.objectives import Objective
from frontguard.policies import AuerA1, Certified
from frontguard.results import Result
from frontguard.simulation import simulate_one
from frontguard.simulation.adversaries import review_bomber
from frontguard.simulation.environments import gaussian
from frontguard.theory.threats import Prescient

NOISE = 0.025  # σ on the standardised scale, as in the paper
ACCURACY, DELTA = 0.1, 0.1  # on that scale, for both methods
LONGEST = 360.0  # minutes recorded of a treatment: no record can be worse than all of them on both sides
OBJECTIVES = ("minutes above 140 mg/dL", "minutes below 100 mg/dL")


@dataclass(frozen=True, eq=False)
class Demo:
    """What both methods found under the same attack. `minutes` arrays are (K, 2), smaller is better."""

    contamination: float
    robust: Result
    by_means: Result
    truth: list[str]  # names of the treatments that really are on the front
    true_minutes: Floats
    centre: Floats  # minutes = centre − standardised · deviation
    deviation: Floats
    reviews: Reviews
    flags: Analysis  # of compiler flags, measured beside a noisy neighbour
    seconds: float

    def minutes(self, standardised: Floats) -> Floats:
        """Standardised objectives, which are maximised, back in minutes, which are not."""
        return self.centre - standardised * self.deviation

    def found(self, result: Result) -> list[str]:
        """The treatments of the true front that a result returns."""
        return [name for name in self.truth if name in result.pareto_set]

    def margins(self) -> dict[str, Floats]:
        """The certificate in minutes of either objective."""
        certificate = self.robust.certificate
        return {
            "accuracy": np.asarray(certificate.accuracy) * self.deviation,
            "coverage": np.asarray(certificate.coverage) * self.deviation,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values for machines: the robust result, with the mean-based one and the truth beside it."""
        return {
            **self.robust.to_dict(),
            "true_pareto_set": self.truth,
            "mean_based": self.by_means.to_dict(),
            "minutes": dict(zip(self.robust.arms, self.true_minutes.tolist(), strict=True)),
            "scale": {"centre": self.centre.tolist(), "deviation": self.deviation.tolist()},
            "reviews": self.reviews.to_dict(),
            "compiler_flags": self.flags.to_dict(),
            "seconds": round(self.seconds, 3),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "JSON") -> Demo:
        """The demonstration that `to_dict` gave, be it through JSON."""
        from frontguard._common.reading import read
        from frontguard.schema import DemoAnswer

        given = read(DemoAnswer, values, where)
        robust, by_means, reviews = Result.of(given), Result.of(given.mean_based), Analysis.of(given.reviews)
        if by_means.arms != robust.arms or not (robust.objectives == by_means.objectives == OBJECTIVES):
            same = f"both methods on the same arms, with the objectives {' and '.join(OBJECTIVES)}"
            raise BadInput(f"{where}: mean_based: wanted {same}; got others")
        if BOMBED not in reviews.arms:
            raise BadInput(f"{where}: reviews: wanted the bundled movies, {BOMBED} among them; got others")
        return cls(
            contamination=robust.certificate.contamination,
            robust=robust,
            by_means=by_means,
            truth=[arm for arm in given.true_pareto_set if arm in given.verdicts],
            true_minutes=np.array([given.minutes.get(arm, [np.nan, np.nan]) for arm in robust.arms]),
            centre=np.array(given.scale.centre),
            deviation=np.array(given.scale.deviation),
            reviews=Reviews(reviews, table_of(given.reviews.true_means, reviews.arms, reviews.objectives)),
            flags=Analysis.of(given.compiler_flags),
            seconds=given.seconds,
        )


def run_demo(contamination: float = 0.2, seed: int = 0) -> Demo:
    """Let the certified policy and Auer-A1 pull the sabotaged treatments until each stops; then read two logs.

    The certified policy aims for the short list, as `run` and `identify` do.
    """
    started = time.perf_counter()
    threat = Prescient(contamination)
    treatments = bundled_treatments()
    environment = gaussian(treatments.points, NOISE)
    worst = (-LONGEST - treatments.centre) / treatments.deviation
    attack = review_bomber(environment, contamination, lowest=worst)
    names = [f"{bolus:g} U, {carbs:g} g" for bolus, carbs in zip(treatments.bolus, treatments.carbs, strict=True)]
    K, M = environment.arms, environment.objectives
    robust = Certified(K, M, threat=threat, accuracy=ACCURACY, delta=DELTA, goal="list")
    by_means = AuerA1(K, M, accuracy=ACCURACY, delta=DELTA, threat=threat)
    results = [
        simulate_one(policy, environment, attack, seed=seed).result(names, OBJECTIVES) for policy in (robust, by_means)
    ]
    return Demo(
        contamination=contamination,
        robust=results[0],
        by_means=results[1],
        truth=[names[i] for i in environment.pareto_set],
        true_minutes=-treatments.centre - environment.medians * treatments.deviation,
        centre=-treatments.centre,
        deviation=treatments.deviation,
        reviews=analyze_reviews(),
        flags=analyze_flags(),
        seconds=time.perf_counter() - started,
    )


def analyze_flags() -> Analysis:
    """The short list of the bundled compiler flags, from the pulls that were made beside the noisy neighbour."""
    time_and_size = (Objective("time", "minimize", "5%"), Objective("bytes", "minimize", "1%"))
    return answer(bundled_recording().sorted_by_arm(neighbour=True), Question(time_and_size, Prescient(0.15)))
