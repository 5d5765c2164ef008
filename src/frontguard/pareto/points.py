"""Dominance, suboptimality gaps and coverage: arrays in, arrays out. Every objective is maximised.

Points are given as an array of shape (K, M): a row an arm, a column an objective. x is *dominated* by y (x ≺ y) when
y is at least as good in every objective and strictly better in one, so that equal points never dominate each other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from frontguard._compiled import kernel
from frontguard._typing import Bools, Floats, Ints


def as_points(points: npt.ArrayLike, *, name: str = "points") -> Floats:
    """Check that `points` is a (K, M) array of numbers without NaN and return it as contiguous float64."""
    array = np.ascontiguousarray(points, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must have the shape (K, M) = (arms, objectives), both at least 1; got {array.shape}")
    if np.isnan(array).any():
        row, column = np.argwhere(np.isnan(array))[0]
        raise ValueError(f"{name} must not contain NaN; got one at arm {row}, objective {column}")
    return array


def pareto_mask(points: npt.ArrayLike) -> Bools:
    """Tell which points no other point dominates (Definition 1). Duplicates of an undominated point are all kept.

    Points are visited in lexicographic order from the best downwards: a point can only be dominated by one that came
    before it, so each is compared with the front found so far. O(K log K + K |front| M).

    >>> pareto_mask([[1.0, 3.0], [2.0, 2.0], [1.0, 2.0], [2.0, 2.0]])
    array([ True,  True, False,  True])
    """
    array = as_points(points)
    order = np.lexsort(tuple(-array[:, d] for d in reversed(range(array.shape[1]))))
    return _undominated(array, order)


@kernel
def _undominated(points: Floats, order: Ints) -> Bools:
    """Keep the points of (K, M) that no point earlier in the lexicographic `order` dominates."""
    arms, objectives = points.shape
    front = np.empty(arms, np.int64)
    size = 0
    mask = np.zeros(arms, np.bool_)
    for position in range(arms):
        i = order[position]
        dominated = False
        for f in range(size):
            j = front[f]
            as_good = True
            better = False
            for d in range(objectives):
                if points[j, d] < points[i, d]:
                    as_good = False
                    break
                if points[j, d] > points[i, d]:
                    better = True
            if as_good and better:
                dominated = True
                break
        if not dominated:
            mask[i] = True
            front[size] = i
            size += 1
    return mask


def suboptimality_gaps(points: npt.ArrayLike) -> Floats:
    """Δ_i = max over Pareto optimal j of max(0, min over d of m_j^d − m_i^d) (Definition 4). Zero on the front.

    >>> suboptimality_gaps([[1.0, 3.0], [2.0, 2.0], [0.5, 1.75]])
    array([0. , 0. , 0.5])
    """
    array = as_points(points)
    return _gaps(array, np.flatnonzero(pareto_mask(array)))


@kernel
def _gaps(points: Floats, front: Ints) -> Floats:
    """Largest margin by which some point of `front` beats each point of (K, M) in every objective."""
    arms, objectives = points.shape
    gaps = np.zeros(arms)
    for i in range(arms):
        for j in front:
            margin = np.inf
            for d in range(objectives):
                margin = min(margin, points[j, d] - points[i, d])
            gaps[i] = max(gaps[i], margin)
    return gaps


def covered_mask(points: npt.ArrayLike, by: npt.ArrayLike, margin: float) -> Bools:
    """Tell which points some arm of `by` (indices or a mask) covers: m_i − m_j ⪯ margin (Definition 5, coverage).

    >>> covered_mask([[1.0, 3.0], [2.0, 2.0]], by=[1], margin=0.5)
    array([False,  True])
    """
    array = as_points(points)
    chosen = array[np.asarray(by, dtype=np.bool_) if np.asarray(by).dtype == np.bool_ else np.asarray(by, np.int64)]
    if len(chosen) == 0:
        return np.zeros(len(array), np.bool_)
    mask = np.zeros(len(array), np.bool_)
    for point in chosen:
        mask |= (array - point <= margin).all(axis=1)
    return mask
