"""Dominance and suboptimality gaps among known points: arrays in, arrays out. Every objective is maximised.

Points are given as an array of shape (K, M): a row an arm, a column an objective. x is *dominated* by y (x ≺ y) when
y is at least as good in every objective and strictly better in one, so that equal points never dominate each other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Bools, Floats
from frontguard.pareto.box_tree import SOMEWHERE
from frontguard.pareto.dominance import scan


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
    mask = np.zeros(len(array), np.bool_)
    mask[scan(array, order, SOMEWHERE)] = True
    return mask


def suboptimality_gaps(points: npt.ArrayLike) -> Floats:
    """Δ_i = max over Pareto optimal j of max(0, min over d of m_j^d − m_i^d) (Definition 4). Zero on the front.

    >>> suboptimality_gaps([[1.0, 3.0], [2.0, 2.0], [0.5, 1.75]])
    array([0. , 0. , 0.5])
    """
    array = as_points(points)
    gaps = np.zeros(len(array))
    for best in array[pareto_mask(array)]:
        gaps = np.maximum(gaps, (best - array).min(axis=1))
    return gaps
