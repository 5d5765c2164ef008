"""The demonstration as a document, there and back."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from frontguard.demo.reviews import BOMBED, Reviews
from frontguard.demo.treatments import OBJECTIVES, Demo
from frontguard.documents.analysis import AnalysisDocument
from frontguard.documents.base import Amount, Count, Document, Number, Origin, Text, wrong
from frontguard.documents.result import ResultDocument, Values, values_of

Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]


class ReviewsDocument(AnalysisDocument):
    """The analysis of the bundled review log, and the truth beside it."""

    bombed: list[Text]
    """The movies that a campaign was against."""
    true_means: Values
    true_mean_set: list[Text]
    """The front of means had there been no campaign, and endless reviews."""

    def check(self) -> None:
        """The movies are those that are bundled."""
        super().check()
        if BOMBED not in self.verdicts:
            raise wrong(("verdicts",), f"the bundled movies, {BOMBED} among them", self.verdicts)
        self.check_values(self.metrics, true_means=self.true_means)


class ScaleDocument(Document):
    """minutes = centre − standardised · deviation, for each objective."""

    centre: Pair
    deviation: Pair


class DemoDocument(ResultDocument):
    """What `frontguard demo --json` prints: the robust result, the mean-based one and the truth, two logs."""

    true_pareto_set: list[Text]
    mean_based: ResultDocument
    minutes: dict[Text, Pair]
    """The true minutes of each treatment above and below the safe range."""
    reviews: ReviewsDocument
    compiler_flags: AnalysisDocument
    seconds: Amount = 0.0
    estimates: Values
    """Medians, standardised; larger is better."""
    mean_estimates: Values
    scale: ScaleDocument
    seed: Count | None = None
    version: Text | None = None
    command: Text | None = None
    source: Text | list[Text] | None = None
    at: Text | None = None
    """When it was printed."""

    @classmethod
    def of(cls, found: Demo, origin: Origin) -> DemoDocument:
        """The demonstration."""
        more = {
            "estimates": dict(found.robust.by_arm(found.robust.estimates).pairs),
            "mean_estimates": dict(found.by_means.by_arm(found.by_means.estimates).pairs),
            "scale": {"centre": found.centre.tolist(), "deviation": found.deviation.tolist()},
        }
        return cls.model_validate(found.to_dict() | more | asdict(origin))

    def check(self) -> None:
        """Both methods saw the same treatments."""
        super().check()
        names = [metric.name for metric in self.metrics]
        others = [metric.name for metric in self.mean_based.metrics]
        if not (names == others == list(OBJECTIVES)) or list(self.mean_based.verdicts) != list(self.verdicts):
            same = f"both methods on the same arms, with the objectives {' and '.join(OBJECTIVES)}"
            raise wrong(("mean_based",), same, {})
        self.check_values(self.metrics, mean_estimates=self.mean_estimates)
        self.check_arms(minutes=self.minutes, true_pareto_set=dict.fromkeys(self.true_pareto_set))

    def demo(self) -> Demo:
        """The demonstration."""
        robust, means, reviews = self.result(), self.mean_based.result(), self.reviews.analysis()
        means_seen = values_of(self.mean_estimates, robust.arms, OBJECTIVES)
        return Demo(
            contamination=robust.certificate.contamination,
            robust=replace(robust, metrics=()),
            by_means=replace(means, inner=replace(means.inner, estimates=means_seen), metrics=()),
            truth=self.true_pareto_set,
            true_minutes=np.array([self.minutes.get(arm, [np.nan, np.nan]) for arm in robust.arms]),
            centre=np.array(self.scale.centre),
            deviation=np.array(self.scale.deviation),
            reviews=Reviews(reviews, values_of(self.reviews.true_means, reviews.arms, reviews.objectives)),
            flags=self.compiler_flags.analysis(),
            seconds=self.seconds,
        )
