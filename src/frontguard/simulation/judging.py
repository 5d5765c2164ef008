"""Simulated runs judged by the truth, as the paper's Section 6 does.

True values have the shape (K, M), larger is better. An arm is *accurate* when no arm beats it by more than the accuracy
in every objective; an arm of the front is *covered* by a returned one that is at most the coverage worse in each
(Definition 5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.pareto.dominance import as_points, pareto_mask


@dataclass(frozen=True, eq=False)
class Judgement:
    """The verdict on every run: arrays of length R."""

    success: Bools  # by Definition 5: the run counts in RSR
    optimal_ratio: Floats  # RO
    robust_f1: Floats  # r-F1
    size: Ints  # |P|
    off_front: Ints  # |P \\ P*|, the returned arms that are not Pareto optimal


def judge(
    returned: npt.ArrayLike, truth: npt.ArrayLike, *, accuracy: float | Floats, coverage: float | Floats
) -> Judgement:
    """Judge returned sets (R, K) by true values (K, M), within an accuracy and a coverage: numbers, or one each (M,).

    An empty set covers nothing: it never succeeds, and RO and r-F1 are 0.

    >>> verdict = judge([[True, False, False], [False, False, True]],
    ...                 [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], accuracy=0.1, coverage=0.0)
    >>> verdict.success.tolist(), verdict.optimal_ratio.tolist(), verdict.off_front.tolist()
    ([False, False], [0.5, 0.0], [0, 1])
    """
    points = as_points(truth, name="truth")
    sets = np.asarray(returned, dtype=np.bool_)
    if sets.ndim != 2 or sets.shape[1] != len(points):
        raise ValueError(f"returned must have the shape (R, K) = (runs, {len(points)}); got {sets.shape}")
    front = pareto_mask(points)
    better_by = points[front][:, None, :] - points[None, :, :]  # (|P*|, K, M)
    accurate = ~(better_by > accuracy).all(axis=2).any(axis=0)
    covering = (better_by <= coverage).all(axis=2)  # (|P*|, K): row j by column i
    uncovered = (~(sets.astype(np.int64) @ covering.T.astype(np.int64) > 0)).sum(axis=1)
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
