"""Rows of results: one a data set, variant, policy and ε, with its spread and the published numbers beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from frontguard.experiments.contestants import CONTESTANTS, ExperimentPolicy
from frontguard.experiments.metrics import Score, Spread, judge, score
from frontguard.experiments.plan import DATASETS, TITLES, Published, Setting
from frontguard.experiments.store import Run


@dataclass(frozen=True)
class Row:
    """One measured row. `bias` is the D by which it was judged; `seconds` what its runs took, summed over chunks."""

    dataset: str
    variant: str
    policy: str
    policy_title: str
    epsilon: float
    bias: float
    accuracy: float
    threat: str
    pareto_arms: int
    score: Score
    seconds: float
    published: Published | None

    @property
    def title(self) -> str:
        """The data set and its variant: a heading."""
        return f"{TITLES.get(self.dataset, self.dataset)} ({self.variant})"

    @property
    def runs(self) -> int:
        """How many runs stand behind the row."""
        return self.score.runs

    @property
    def as_printed(self) -> Published:
        """Our means, as the paper prints them."""
        return Published(self.score.rsr, self.score.sc.mean, self.score.ro.mean, self.score.rf1.mean)


def result_of(setting: Setting, contestant: ExperimentPolicy, runs: Sequence[Run]) -> Row:
    """Judge the runs of one setting and policy by accuracy 2D + α and coverage 2D."""
    experiment = setting.experiment
    environment = experiment.environment
    returned = np.zeros((len(runs), environment.arms), np.bool_)
    for number, run in enumerate(runs):
        returned[number, list(run.returned)] = True
    judgement = judge(returned, environment.medians, bias=setting.bias, accuracy=experiment.accuracy)
    return Row(
        dataset=experiment.dataset,
        variant=experiment.variant,
        policy=contestant.name,
        policy_title=contestant.title,
        epsilon=setting.eps,
        bias=setting.bias,
        accuracy=experiment.accuracy,
        threat=setting.threat.name,
        pareto_arms=len(environment.pareto_set),
        score=score(judgement, [run.pulls for run in runs]),
        seconds=sum(run.seconds for run in runs),
        published=setting.published(contestant.name),
    )


def as_record(row: Row) -> dict[str, Any]:
    """A row for machines: flat, with plain numbers; what does not exist is None."""
    figures = row.score
    return {
        "dataset": row.dataset,
        "variant": row.variant,
        "policy": row.policy,
        "contamination": row.epsilon,
        "runs": row.runs,
        **row.as_printed._asdict(),
        "returned": figures.size.mean,
        "returned_off_front": figures.off_front.mean,
        "pareto_arms": row.pareto_arms,
        "seconds": round(row.seconds, 3),
        "rsr_low": figures.rsr_low,
        "rsr_high": figures.rsr_high,
        **_spread_fields("sc", figures.sc),
        **_spread_fields("ro", figures.ro),
        **_spread_fields("rf1", figures.rf1),
        **_spread_fields("returned", figures.size),
        **_spread_fields("returned_off_front", figures.off_front),
        "told_threat": row.threat,
        "bias": row.bias,
        "accuracy": row.accuracy,
        **{f"published_{name}": getattr(row.published, name, None) for name in Published._fields},
    }


def rows_of(values: Any, where: str = "JSON") -> list[Row]:
    """The rows that `as_record` gave, be it through JSON; the error says where in `where` there are none."""
    from pydantic import Field, create_model

    from frontguard._common.reading import read
    from frontguard.schema import Amount, Count, Number, Share, Text

    spread = {f"{name}_{part}": (Number | None, None) for name in _SPREADS for part in _PARTS}
    published = {f"published_{name}": (Amount | None, None) for name in Published._fields}
    model: Any = create_model(
        "Row",
        dataset=(Literal[DATASETS], ...),
        variant=(Text, ""),
        policy=(Text, ...),
        contamination=(Share, ...),
        runs=(Annotated[Count, Field(ge=1)], ...),
        rsr=(Annotated[Number, Field(ge=0.0, le=1.0)], ...),
        rsr_low=(Amount | None, None),
        rsr_high=(Amount | None, None),
        **dict.fromkeys(("sc", "ro", "rf1"), (Amount, ...)),
        **dict.fromkeys(("returned", "returned_off_front", "accuracy"), (Amount | None, None)),
        **dict.fromkeys(("seconds", "bias"), (Amount, 0.0)),
        pareto_arms=(Count, 0),
        told_threat=(Text, ""),
        **spread,
        **published,
    )  # type: ignore[call-overload]
    kind: Any = Annotated[list[model], Field(min_length=1, max_length=2000)]
    return [_row_of(row) for row in read(kind, values, where)]


def _row_of(given: Any) -> Row:
    figures = {name: math.nan if value is None else value for name, value in vars(given).items()}
    published = [getattr(given, f"published_{name}") for name in Published._fields]
    spreads = [Spread(figures[name], *(figures[f"{name}_{part}"] for part in _PARTS)) for name in _SPREADS]
    return Row(
        dataset=given.dataset,
        variant=given.variant,
        policy=given.policy,
        policy_title=CONTESTANTS[given.policy].title if given.policy in CONTESTANTS else given.policy,
        epsilon=given.contamination,
        bias=given.bias,
        accuracy=figures["accuracy"],
        threat=given.told_threat,
        pareto_arms=given.pareto_arms,
        score=Score(
            given.runs,
            given.rsr,
            given.rsr if given.rsr_low is None else given.rsr_low,
            given.rsr if given.rsr_high is None else given.rsr_high,
            *spreads,
        ),
        seconds=given.seconds,
        published=None if None in published else Published(*published),
    )


_SPREADS = ("sc", "ro", "rf1", "returned", "returned_off_front")
_PARTS = ("std", "se", "low", "high")


def _spread_fields(name: str, spread: Spread) -> dict[str, float | None]:
    values = (spread.deviation, spread.error, spread.low, spread.high)
    parts = zip(_PARTS, values, strict=True)
    return {f"{name}_{part}": None if math.isnan(value) else value for part, value in parts}
