"""How good the returned sets of many runs are: RSR, SC, RO and r-F1 of the paper's Section 6, and their
spread over runs.

Arrays in, arrays out. `returned` has the shape (R, K): a row a run, true where the run returned the arm.
Medians have the shape (K, M), all objectives maximised. An arm is *accurate* when Δ_i ≤ 2D + α; a Pareto
optimal arm is *covered* by a returned arm i when m_j − m_i ⪯ 2D (Definition 5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.pareto.points import as_points, pareto_mask, suboptimality_gaps


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
