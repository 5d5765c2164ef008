"""Runs judged, and rows of results: one a data set, variant, policy and ε, with the published numbers beside it.

RSR, SC, RO and r-F1 are those of the paper's Section 6. `returned` has the shape (R, K): a row a run, true where the
run returned the arm. Medians have the shape (K, M), all objectives maximised. An arm is *accurate* when Δ_i ≤ 2D + α; a
Pareto optimal arm is *covered* by a returned arm i when m_j − m_i ⪯ 2D (Definition 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.experiments.setup import CONTESTANTS, DATASETS, TITLES, ExperimentPolicy, Published, Setting
from frontguard.pareto.points import as_points, pareto_mask, suboptimality_gaps


@dataclass(frozen=True)
class Run:
    """One finished run: its pulls, the arms it returned, and its share of the chunk's seconds."""

    pulls: int
    returned: tuple[int, ...]
    seconds: float


@dataclass(frozen=True, eq=False)
class Judgement:
    """The verdict on every run: arrays of length R.

    `success` is Definition 5 (the run counts in RSR), `optimal_ratio` is RO, `robust_f1` is r-F1, `size` is
    |P| and `off_front` is |P \\ P*|, the returned arms that are not Pareto optimal.
    """

    success: Bools
    optimal_ratio: Floats
    robust_f1: Floats
    size: Ints
    off_front: Ints


def judge(returned: npt.ArrayLike, medians: npt.ArrayLike, *, bias: float, accuracy: float) -> Judgement:
    """Judge the returned sets by the true medians, the unavoidable bias D (`bias`) and α (`accuracy`).

    An empty set covers nothing, so it never succeeds: RO and r-F1 are 0. (P* itself is never empty.)

    >>> verdict = judge([[True, False, False], [False, False, True]],
    ...                 [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], bias=0.0, accuracy=0.1)
    >>> verdict.success.tolist(), verdict.optimal_ratio.tolist(), verdict.off_front.tolist()
    ([False, False], [0.5, 0.0], [0, 1])
    """
    points = as_points(medians, name="medians")
    sets = np.asarray(returned, dtype=np.bool_)
    if sets.ndim != 2 or sets.shape[1] != len(points):
        raise ValueError(f"returned must have the shape (R, K) = (runs, {len(points)}); got {sets.shape}")
    front = pareto_mask(points)
    accurate = suboptimality_gaps(points) <= 2 * bias + accuracy
    uncovered = _uncovered(sets, points, front, 2 * bias)
    hits = (sets & accurate).sum(axis=1)
    wrong = (sets & ~accurate).sum(axis=1)
    return Judgement(
        success=(wrong == 0) & (uncovered == 0),
        optimal_ratio=(sets & front).sum(axis=1) / front.sum(),
        robust_f1=robust_f1(hits, uncovered, wrong),
        size=sets.sum(axis=1),
        off_front=(sets & ~front).sum(axis=1),
    )


def robust_f1(hits: npt.ArrayLike, uncovered: npt.ArrayLike, wrong: npt.ArrayLike) -> Floats:
    """r-F1 = 2h / (2h + u + w) from |Π_r ∩ P|, the uncovered Pareto arms and |P \\ Π_r| of each run.

    Where all three are zero nothing was asked and nothing is wrong: 1.

    >>> robust_f1([2, 0, 0], [1, 3, 0], [1, 0, 0]).round(3).tolist()
    [0.667, 0.0, 1.0]
    """
    doubled = 2.0 * np.asarray(hits, np.float64)
    whole = doubled + np.asarray(uncovered, np.float64) + np.asarray(wrong, np.float64)
    return np.divide(doubled, whole, out=np.ones_like(doubled), where=whole > 0)


def _uncovered(sets: Bools, points: Floats, front: Bools, margin: float) -> Ints:
    """How many Pareto optimal arms of each run no returned arm covers within `margin`: |Π_{r\\P}|."""
    coverers = (points[front][:, None, :] - points[None, :, :] <= margin).all(axis=2)  # (front, K): row j by column i
    covered = sets.astype(np.int64) @ coverers.T.astype(np.int64) > 0
    uncovered: Ints = (~covered).sum(axis=1)
    return uncovered


@dataclass(frozen=True)
class Spread:
    """A mean over runs with its standard deviation, standard error and 95 % interval."""

    mean: float
    deviation: float
    error: float
    low: float
    high: float


def spread_of(values: npt.ArrayLike) -> Spread:
    """Mean over runs; deviation with R − 1, normal interval. One run has no measurable spread: deviation NaN.

    >>> spread_of([1.0, 3.0])
    Spread(mean=2.0, deviation=1.41..., error=1.0, low=0.04..., high=3.95...)
    """
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"values must be one number a run, at least one run; got the shape {array.shape}")
    mean = float(array.mean())
    if len(array) == 1:
        return Spread(mean, float("nan"), float("nan"), float("nan"), float("nan"))
    deviation = float(array.std(ddof=1))
    error = deviation / float(np.sqrt(len(array)))
    reach = float(special.ndtri(0.975)) * error
    return Spread(mean, deviation, error, mean - reach, mean + reach)


def clopper_pearson(successes: int, runs: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a success probability (Clopper and Pearson 1934): never shorter than promised.

    >>> low, high = clopper_pearson(100, 100)
    >>> round(low, 4), high
    (0.9638, 1.0)
    """
    if not 0 <= successes <= runs or runs < 1:
        raise ValueError(f"successes must be in 0..runs and runs at least 1; got {successes} of {runs}")
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(special.betaincinv(successes, runs - successes + 1, tail))
    high = 1.0 if successes == runs else float(special.betaincinv(successes + 1, runs - successes, 1 - tail))
    return low, high


@dataclass(frozen=True)
class Score:
    """One row of Table 2 with the spread over its runs.

    `rsr` is the ratio of successful runs with its exact 95 % interval; `sc` the samples a run; `ro`, `rf1`,
    `size` and `off_front` the spreads of the judgement's arrays.
    """

    runs: int
    rsr: float
    rsr_low: float
    rsr_high: float
    sc: Spread
    ro: Spread
    rf1: Spread
    size: Spread
    off_front: Spread


def score(judgement: Judgement, pulls: npt.ArrayLike) -> Score:
    """Sum up the runs of one experiment, policy and ε."""
    runs = len(judgement.success)
    successes = int(judgement.success.sum())
    low, high = clopper_pearson(successes, runs)
    return Score(
        runs=runs,
        rsr=successes / runs,
        rsr_low=low,
        rsr_high=high,
        sc=spread_of(pulls),
        ro=spread_of(judgement.optimal_ratio),
        rf1=spread_of(judgement.robust_f1),
        size=spread_of(judgement.size),
        off_front=spread_of(judgement.off_front),
    )


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
