"""The second part of the demonstration: a review log with a bombing campaign, by means and by medians with a guarantee.

The log is ours: reviews of twelve movies by two age groups, drawn from the bundled score counts, and then a campaign of
one-star reviews against the one that leads (`examples/review-log/make_log.py` makes it again). It is read and answered
as `frontguard analyze` does, without the packages that other logs need.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frontguard._common.typing import Floats
from frontguard.experiments.datasets.movielens import SCORES
from frontguard.experiments.datasets.readers import bundled_text
from frontguard.logs.analysis import Analysis
from frontguard.logs.answer import Question, answer
from frontguard.logs.sort.ordered import Ordered
from frontguard.objectives import Objective
from frontguard.pareto.points import pareto_mask
from frontguard.theory.threats import Prescient

FILE = "review_log.csv.gz"
AGES = ("19-25", "26-35")
BOMBED = "Star Wars (1977)"
HALF_A_STAR = 0.5
"""The difference that does not matter. Medians are whole stars, so that many are equal in one age group or in both."""

CONTAMINATION = 0.2
"""With which probability a review may be a lie, as the answer is told; the campaign wrote 18 % of one movie's."""


@dataclass(frozen=True, eq=False)
class Reviews:
    """What the log says, by means and by medians; `true_means` (K, 2) are those of the scores it was drawn from."""

    analysis: Analysis
    true_means: Floats

    @property
    def by_means(self) -> list[str]:
        """The front as whoever compares means sees it."""
        return self.analysis.mean_set

    @property
    def true_front_by_means(self) -> list[str]:
        """The front of means had there been no campaign, and endless reviews."""
        return self.analysis.named(pareto_mask(self.true_means))

    @property
    def bombs(self) -> int:
        """One-star reviews that the campaign wrote: what the bombed movie has more than others."""
        pulls = self.analysis.pulls_per_arm
        return len(AGES) * int(pulls[self.analysis.arms.index(BOMBED)] - pulls.min())

    @property
    def share(self) -> float:
        """The share of the bombed movie's reviews that the campaign wrote."""
        return self.bombs / len(AGES) / float(self.analysis.pulls_per_arm[self.analysis.arms.index(BOMBED)])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for machines."""
        return {
            **self.analysis.to_dict(),
            "bombed": [BOMBED],
            "true_means": dict(self.analysis.by_arm(self.true_means).pairs),
            "true_mean_set": self.true_front_by_means,
        }


def read_reviews() -> Ordered:
    """The bundled log by movie, the stars of each age group sorted.

    >>> log = read_reviews()
    >>> len(log.arms), log.metrics, int(log.pulls.min())
    (12, ('19-25', '26-35'), 350)
    """
    stars: dict[str, tuple[list[float], ...]] = {}
    for row in csv.DictReader(io.StringIO(bundled_text(FILE))):
        stars.setdefault(row["movie"], tuple([] for _ in AGES))[AGES.index(row["age"])].append(float(row["stars"]))
    arms = sorted(stars)
    counts = np.array([[len(stars[arm][d]) for arm in arms] for d in range(len(AGES))], np.int64)
    starts = np.concatenate([np.zeros((len(AGES), 1), np.int64), np.cumsum(counts, axis=1)], axis=1)
    values = tuple(np.concatenate([np.sort(stars[arm][d]) for arm in arms]) for d in range(len(AGES)))
    return Ordered(arms, AGES, counts.max(axis=0), starts, values)


def analyze_reviews() -> Reviews:
    """The short list of the bundled log, whatever a prescient attacker wrote into 20 % of each movie's reviews."""
    medians = tuple(Objective(age, tolerance=HALF_A_STAR, quantile=0.5) for age in AGES)  # ties and all
    question = Question(medians, Prescient(CONTAMINATION))
    found = answer(read_reviews(), question)
    counts = score_counts(found.arms)
    return Reviews(found, counts @ np.array(SCORES, np.float64) / counts.sum(axis=2))


def score_counts(titles: Sequence[str]) -> Floats:
    """How often these movies got each score from the viewers of each age, (K, 2, 5)."""
    counts = {}
    for row in csv.DictReader(io.StringIO(bundled_text("movielens24_counts.csv"))):
        counts[row["title"], row["age_group"]] = [float(row[f"n{score}"]) for score in SCORES]
    return np.array([[counts[title, age] for age in AGES] for title in titles])
