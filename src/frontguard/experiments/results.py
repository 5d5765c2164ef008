"""Runs judged, and rows of results: one a data set, variant, policy and ε, with the published numbers beside it.

RSR, SC, RO and r-F1 are those of the paper's Section 6. `returned` has the shape (R, K): a row a run, true where the
run returned the arm. Medians have the shape (K, M), all objectives maximised. An arm is *accurate* when Δ_i ≤ 2D + α; a
Pareto optimal arm is *matched* by a returned arm i when m_j − m_i ⪯ 2D (Definition 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.experiments.setup import CONTESTANTS, DATASETS, TITLES, ExperimentPolicy, Published, Setting
from frontguard.pareto.dominance import as_points, pareto_mask, suboptimality_gaps

MOST_ROWS = 2000
"""Rows that a report takes from a file."""


@dataclass(frozen=True)
class Run:
    """One finished run: its pulls, the arms it returned, and its share of the chunk's seconds."""

    pulls: int
    returned: tuple[int, ...]
    seconds: float


@dataclass(frozen=True, eq=False)
class Judgement:
    """The verdict on every run: arrays of length R."""

    success: Bools  # by Definition 5: the run counts in RSR
    optimal_ratio: Floats  # RO
    robust_f1: Floats  # r-F1
    size: Ints  # |P|
    off_front: Ints  # |P \\ P*|, the returned arms that are not Pareto optimal


def judge(returned: npt.ArrayLike, medians: npt.ArrayLike, *, bias: float, accuracy: float) -> Judgement:
    """Judge the returned sets by the true medians, D (`bias`) and α (`accuracy`); an empty one never succeeds."""
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
    r"""r-F1 = 2h / (2h + u + w) from |Π_r ∩ P|, the uncovered Pareto arms and |P \ Π_r| of each run; 1 if all are 0."""
    doubled = 2.0 * np.asarray(hits, np.float64)
    whole = doubled + np.asarray(uncovered, np.float64) + np.asarray(wrong, np.float64)
    return np.divide(doubled, whole, out=np.ones_like(doubled), where=whole > 0)


def _uncovered(sets: Bools, points: Floats, front: Bools, margin: float) -> Ints:
    """Return how many Pareto optimal arms of each run no returned arm covers within `margin`: |Π_{r\\P}|."""
    coverers = (points[front][:, None, :] - points[None, :, :] <= margin).all(axis=2)  # (front, K): row j by column i
    covered = sets.astype(np.int64) @ coverers.T.astype(np.int64) > 0
    uncovered: Ints = (~covered).sum(axis=1)
    return uncovered


def figures_of(judgement: Judgement, pulls: npt.ArrayLike, paper: Published | None = None) -> dict[str, Any]:
    """Return the runs of one experiment, policy and ε, and what the paper printed, as fields of a row."""
    runs, successes = len(judgement.success), int(judgement.success.sum())
    low, high = clopper_pearson(successes, runs)
    figures: dict[str, Any] = {"runs": runs, "rsr": successes / runs, "rsr_low": low, "rsr_high": high}
    for name, values in (
        ("sc", pulls), ("ro", judgement.optimal_ratio), ("rf1", judgement.robust_f1), ("returned", judgement.size),
        ("returned_off_front", judgement.off_front),
    ):  # fmt: skip
        figures |= {f"{name}{part}": value for part, value in spread_of(values).items()}
    return figures | {f"published_{name}": value for name, value in (paper._asdict() if paper else {}).items()}


def spread_of(values: npt.ArrayLike) -> dict[str, float | None]:
    """Return the mean over runs, and its deviation (by R − 1), standard error and 95 % interval; None for one run."""
    array = np.asarray(values, np.float64)
    mean = float(array.mean())
    if len(array) == 1:
        return {"": mean, "_std": None, "_se": None, "_low": None, "_high": None}
    deviation = float(array.std(ddof=1))
    error = deviation / float(np.sqrt(len(array)))
    reach = float(special.ndtri(0.975)) * error
    return {"": mean, "_std": deviation, "_se": error, "_low": mean - reach, "_high": mean + reach}


def clopper_pearson(successes: int, runs: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a success probability (Clopper and Pearson 1934).

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


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measured row with the published one beside it, flat as its JSON; `bias` is the D by which it was judged."""

    __pydantic_config__: ClassVar[dict[str, bool]] = {"allow_inf_nan": False}

    dataset: str
    variant: str = ""
    policy: str
    contamination: float
    runs: int
    rsr: float
    sc: float
    ro: float
    rf1: float
    returned: float
    returned_off_front: float
    pareto_arms: int = 0
    seconds: float = 0.0
    rsr_low: float = 0.0
    rsr_high: float = 1.0
    sc_std: float | None = None
    sc_se: float | None = None
    sc_low: float | None = None
    sc_high: float | None = None
    ro_std: float | None = None
    ro_se: float | None = None
    ro_low: float | None = None
    ro_high: float | None = None
    rf1_std: float | None = None
    rf1_se: float | None = None
    rf1_low: float | None = None
    rf1_high: float | None = None
    returned_std: float | None = None
    returned_se: float | None = None
    returned_low: float | None = None
    returned_high: float | None = None
    returned_off_front_std: float | None = None
    returned_off_front_se: float | None = None
    returned_off_front_low: float | None = None
    returned_off_front_high: float | None = None
    told_threat: str = ""
    bias: float = 0.0
    accuracy: float
    published_rsr: float | None = None
    published_sc: float | None = None
    published_ro: float | None = None
    published_rf1: float | None = None

    def __post_init__(self) -> None:
        """Refuse what no run can have given: rows are read from files."""
        if self.dataset not in DATASETS:
            raise ValueError(f"dataset: wanted one of {', '.join(DATASETS)}; got {self.dataset!r}")
        least = min(self.runs - 1, self.contamination, *self.as_printed, self.returned, self.returned_off_front)
        if least < 0 or self.contamination > 0.5 or self.rsr > 1.0:
            raise ValueError("wanted a row of reproduce: runs from 1, shares of runs, contamination up to 0.5")

    @property
    def title(self) -> str:
        """The data set and its variant: a heading."""
        return f"{TITLES[self.dataset]} ({self.variant})"

    @property
    def policy_title(self) -> str:
        """The policy as people call it."""
        return CONTESTANTS[self.policy].title if self.policy in CONTESTANTS else self.policy

    @property
    def as_printed(self) -> Published:
        """Our means, as the paper prints them."""
        return Published(self.rsr, self.sc, self.ro, self.rf1)

    @property
    def published(self) -> Published | None:
        """The numbers that the paper printed, if any."""
        found = [self.published_rsr, self.published_sc, self.published_ro, self.published_rf1]
        known = [each for each in found if each is not None]
        return Published(*known) if len(known) == len(found) else None


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
        contamination=setting.eps,
        pareto_arms=len(environment.pareto_set),
        seconds=round(sum(run.seconds for run in runs), 3),
        told_threat=setting.threat.name,
        bias=setting.bias,
        accuracy=experiment.accuracy,
        **figures_of(judgement, [run.pulls for run in runs], setting.published(contestant.name)),
    )


def rows_of(values: Any, where: str = "JSON") -> list[Row]:
    """Return the rows that `asdict` gave, be it through JSON; the error says where in `where` there are none."""
    from frontguard._common.reading import read

    if not 0 < len(values) <= MOST_ROWS:
        raise BadInput(f"{where}: wanted 1 to {MOST_ROWS:,} rows of reproduce; got {len(values):,}")
    return read(list[Row], values, where)
