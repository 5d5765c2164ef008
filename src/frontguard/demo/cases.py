"""The demonstration's cases: sabotaged treatments, a bombed review log, and compiler flags beside a noisy neighbour.

36 treatments, a meal and an insulin bolus each, are judged by the minutes of blood glucose above and below the safe
range. A saboteur replaces a share ε of the records of the five best by the worst that can be recorded. The log has
reviews of twelve movies, and a campaign of one-star reviews against the best (`examples/review-log/make_log.py`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from frontguard._common.typing import Floats
from frontguard.evidence.measurements import Ordered
from frontguard.experiments.datasets import SCORES, Treatments, bundled_recording, bundled_rows, bundled_treatments
from frontguard.logs.answer import answer
from frontguard.objectives import Objective
from frontguard.pareto.dominance import pareto_mask
from frontguard.phrases import percent
from frontguard.policies import AuerA1, Certified
from frontguard.question import Question
from frontguard.results import Answer, Intervals, LogDetails
from frontguard.simulation import simulate_one
from frontguard.simulation.adversaries import review_bomber
from frontguard.simulation.environments import gaussian
from frontguard.theory.threats import Prescient
from frontguard.words.certificate import guarantee
from frontguard.words.comparisons import take_instead

NOISE = 0.025  # σ on the standardised scale, as in the paper
ACCURACY, DELTA = 0.1, 0.1  # on that scale, for both methods
LONGEST = 360.0  # minutes recorded of a treatment: no record can be worse than all of them on both sides
METRICS = (Objective("minutes above 140 mg/dL", "minimize"), Objective("minutes below 100 mg/dL", "minimize"))


@dataclass(frozen=True, eq=False)
class Demo:
    """Results of both methods under the same attack, in minutes; `true_minutes` are (K, 2), smaller is better."""

    contamination: float
    robust: Answer
    by_means: Answer
    truth: list[str]  # names of the treatments that really are on the front
    true_minutes: Floats
    reviews: Reviews
    flags: Answer  # of compiler flags, measured beside a noisy neighbour
    seconds: float

    def found(self, result: Answer) -> list[str]:
        """Return the treatments of the true front that a result returns."""
        return [name for name in self.truth if name in result.pareto_set]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the robust result, with the mean-based one and the truth beside it."""
        return {
            **self.robust.to_dict(),
            "true_pareto_set": self.truth,
            "mean_based": self.by_means.to_dict(),
            "minutes": dict(zip(self.robust.arms, self.true_minutes.tolist(), strict=True)),
            "reviews": self.reviews.to_dict(),
            "compiler_flags": self.flags.to_dict(),
            "seconds": round(self.seconds, 3),
        }

    @property
    def answer(self) -> str:
        """The answer: how many of those that either method returns are on the true front."""
        robust, by_means, total = self.robust, self.by_means, len(self.truth)
        said = (
            f"Of the {len(robust.pareto_set)} of {len(robust.arms)} treatments that {robust.policy} lists, "
            f"{self._how_many(robust)} on the true front of {total}; of the {len(by_means.pareto_set)} that a method "
            f"that looks at means ({by_means.policy}) returns, {self._how_many(by_means)}"
        )
        if not self.contamination:
            return f"{said}. Nobody lied."
        return (
            f"{said}. A saboteur had replaced {percent(self.contamination)} of the records of these {total} by the "
            "worst that can be recorded."
        )

    def _how_many(self, result: Answer) -> str:
        kept = len(self.found(result))
        return {0: "none is", 1: "1 is", len(result.pareto_set): "all are"}.get(kept, f"{kept} are")

    @property
    def certain(self) -> str:
        """The promise, and which listed treatment does for each of the true front that is not listed."""
        said = [guarantee(self.robust)]
        for name in self.truth:
            instead = take_instead(self.robust, self.robust.arms.index(name))
            if name not in self.robust.pareto_set and instead:
                said.append(f"{name} is on the true front and not listed: {instead}.")
        if self.by_means.certificate.confidence is None:
            said.append("The method with means promises nothing here: it assumes that nobody lies.")
        return " ".join(said)


def run_demo(contamination: float = 0.2, seed: int = 0) -> Demo:
    """Let the certified policy and Auer-A1 pull the sabotaged treatments until each stops; then read two logs."""
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
        simulate_one(policy, environment, attack, seed=seed).result(names, [metric.name for metric in METRICS])
        for policy in (robust, by_means)
    ]
    return Demo(
        contamination=contamination,
        robust=_in_minutes(results[0], treatments),
        by_means=_in_minutes(results[1], treatments),
        truth=[names[i] for i in environment.pareto_set],
        true_minutes=-treatments.centre - environment.medians * treatments.deviation,
        reviews=analyze_reviews(),
        flags=analyze_flags(),
        seconds=time.perf_counter() - started,
    )


def _in_minutes(result: Answer, treatments: Treatments) -> Answer:
    """Return a result on the standardised scale in minutes, of which fewer are better."""
    centre, deviation, certificate = treatments.centre, treatments.deviation, result.certificate
    return replace(
        result,
        inner=Intervals(*(centre + each * deviation for each in (result.estimates, result.lower, result.upper))),
        certificate=replace(
            certificate,
            accuracy=tuple((np.asarray(certificate.accuracy) * deviation).tolist()),
            coverage=tuple((np.asarray(certificate.coverage) * deviation).tolist()),
        ),
    ).in_units(METRICS)


def analyze_flags() -> Answer:
    """Return the short list of compiler flags, from the pulls that were made beside the noisy neighbour."""
    time_and_size = (Objective("time", "minimize", "5%"), Objective("bytes", "minimize", "1%"))
    return answer(bundled_recording().sorted_by_arm(neighbour=True), Question(time_and_size, Prescient(0.15)))


FILE = "review_log.csv.gz"
AGES = ("19-25", "26-35")
BOMBED = "Star Wars (1977)"
HALF_A_STAR = 0.5  # the tolerance: medians are whole stars, so that many are equal
CONTAMINATION = 0.2  # as the answer is told; the campaign wrote 18 % of one movie's reviews


@dataclass(frozen=True, eq=False)
class Reviews:
    """The answer to the log; `true_means` (K, 2) are those of the scores it was drawn from."""

    analysis: Answer
    true_means: Floats

    @property
    def log(self) -> LogDetails:
        """Details that only the complete log tells."""
        assert self.analysis.log is not None
        return self.analysis.log

    @property
    def true_front_by_means(self) -> list[str]:
        """The front of means had there been no campaign, and endless reviews."""
        return self.analysis.named(pareto_mask(self.true_means))

    @property
    def bombs(self) -> int:
        """One-star reviews that the campaign wrote: those that the bombed movie has more than others."""
        pulls = self.analysis.pulls_per_arm
        return len(AGES) * int(pulls[self.analysis.arms.index(BOMBED)] - pulls.min())

    @property
    def share(self) -> float:
        """The share of the bombed movie's reviews that the campaign wrote."""
        return self.bombs / len(AGES) / float(self.analysis.pulls_per_arm[self.analysis.arms.index(BOMBED)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            **self.analysis.to_dict(),
            "bombed": [BOMBED],
            "true_means": dict(self.analysis.by_arm(self.true_means).pairs),
            "true_mean_set": self.true_front_by_means,
        }


def read_reviews() -> Ordered:
    """Return the bundled log by movie, the stars of each age group sorted."""
    stars: dict[str, tuple[list[float], ...]] = {}
    for row in bundled_rows(FILE):
        stars.setdefault(row["movie"], tuple([] for _ in AGES))[AGES.index(row["age"])].append(float(row["stars"]))
    arms = sorted(stars)
    counts = np.array([[len(stars[arm][d]) for arm in arms] for d in range(len(AGES))], np.int64)
    starts = np.concatenate([np.zeros((len(AGES), 1), np.int64), np.cumsum(counts, axis=1)], axis=1)
    values = tuple(np.concatenate([np.sort(stars[arm][d]) for arm in arms]) for d in range(len(AGES)))
    return Ordered(arms, AGES, counts.max(axis=0), starts, values)


def analyze_reviews() -> Reviews:
    """Return the short list of the bundled log, whatever was written into 20 % of each movie's reviews."""
    medians = tuple(Objective(age, "maximize", tolerance=HALF_A_STAR, quantile=0.5) for age in AGES)  # ties and all
    question = Question(medians, Prescient(CONTAMINATION), anytime=False)
    found = answer(read_reviews(), question)
    counts = score_counts(found.arms)
    return Reviews(found, counts @ np.array(SCORES, np.float64) / counts.sum(axis=2))


def score_counts(titles: Sequence[str]) -> Floats:
    """Return how often these movies got each score from the viewers of each age, (K, 2, 5)."""
    counts = {}
    for row in bundled_rows("movielens24_counts.csv"):
        counts[row["title"], row["age_group"]] = [float(row[f"n{score}"]) for score in SCORES]
    return np.array([[counts[title, age] for age in AGES] for title in titles])
