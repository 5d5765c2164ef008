"""Runs judged, and rows of results: one a data set, variant, policy and ε, with the published numbers beside it.

RSR, SC, RO and r-F1 are those of the paper's Section 6, with accuracy 2D + α and coverage 2D (`simulation.judging`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from frontguard.errors import BadInput
from frontguard.experiments.setup import CONTESTANTS, DATASETS, TITLES, ExperimentPolicy, Published, Setting
from frontguard.simulation.judging import Judgement, clopper_pearson, judge

MOST_ROWS = 2000
"""Rows that a report takes from a file."""


@dataclass(frozen=True)
class Run:
    """One finished run: its pulls, the arms it returned, and its share of the chunk's seconds."""

    pulls: int
    returned: tuple[int, ...]
    seconds: float


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
    judgement = judge(returned, environment.medians, **setting.goal)
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
