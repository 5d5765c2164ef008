"""Rows of `frontguard reproduce` as documents, there and back."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from frontguard.documents.base import Amount, Count, Document, Number, Text
from frontguard.experiments.contestants import CONTESTANTS
from frontguard.experiments.metrics import Score, Spread
from frontguard.experiments.plan import Published
from frontguard.experiments.results import Row


class RowDocument(Document):
    """What one policy did on one data set at one contamination, beside the published numbers; null without any.

    Of samples (sc), the share of the front that was returned (ro), r-F1 and the arms that were returned, the mean, the
    standard deviation and error (std, se), and an interval (low, high).
    """

    dataset: Literal["movielens", "sw-llvm", "diabetes", "compiler-flags", "synthetic"]
    variant: Text = ""
    policy: Text
    contamination: Annotated[Number, Field(ge=0.0, le=0.5)]
    runs: Annotated[Count, Field(ge=1)]
    rsr: Annotated[Number, Field(ge=0.0, le=1.0)]
    """Share of successful runs."""
    sc: Amount
    ro: Amount
    rf1: Amount
    returned: Amount | None = None
    returned_off_front: Amount | None = None
    pareto_arms: Count = 0
    seconds: Amount = 0.0
    rsr_low: Amount | None = None
    rsr_high: Amount | None = None
    sc_std: Number | None = None
    sc_se: Number | None = None
    sc_low: Number | None = None
    sc_high: Number | None = None
    ro_std: Number | None = None
    ro_se: Number | None = None
    ro_low: Number | None = None
    ro_high: Number | None = None
    rf1_std: Number | None = None
    rf1_se: Number | None = None
    rf1_low: Number | None = None
    rf1_high: Number | None = None
    returned_std: Number | None = None
    returned_se: Number | None = None
    returned_low: Number | None = None
    returned_high: Number | None = None
    returned_off_front_std: Number | None = None
    returned_off_front_se: Number | None = None
    returned_off_front_low: Number | None = None
    returned_off_front_high: Number | None = None
    told_threat: Text = ""
    """The attacker of whom the policy was told."""
    bias: Amount = 0.0
    """D, by which success is judged."""
    accuracy: Amount | None = None
    published_rsr: Amount | None = None
    published_sc: Amount | None = None
    published_ro: Amount | None = None
    published_rf1: Amount | None = None

    def row(self) -> Row:
        """The row."""
        published = [getattr(self, f"published_{name}") for name in ("rsr", "sc", "ro", "rf1")]
        return Row(
            dataset=self.dataset,
            variant=self.variant,
            policy=self.policy,
            policy_title=CONTESTANTS[self.policy].title if self.policy in CONTESTANTS else self.policy,
            epsilon=self.contamination,
            bias=self.bias,
            accuracy=math.nan if self.accuracy is None else self.accuracy,
            threat=self.told_threat,
            pareto_arms=self.pareto_arms,
            score=Score(
                runs=self.runs,
                rsr=self.rsr,
                rsr_low=self.rsr if self.rsr_low is None else self.rsr_low,
                rsr_high=self.rsr if self.rsr_high is None else self.rsr_high,
                sc=self._spread("sc"),
                ro=self._spread("ro"),
                rf1=self._spread("rf1"),
                size=self._spread("returned"),
                off_front=self._spread("returned_off_front"),
            ),
            seconds=self.seconds,
            published=None if None in published else Published(*published),
        )

    def _spread(self, name: str) -> Spread:
        parts = (getattr(self, key) for key in (name, *(f"{name}_{part}" for part in ("std", "se", "low", "high"))))
        return Spread(*(math.nan if part is None else part for part in parts))


ReproduceDocument = Annotated[list[RowDocument], Field(min_length=1, max_length=2000)]
"""What `frontguard reproduce --json` prints."""
