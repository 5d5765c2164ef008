"""What a short list is good for: which listed arm does for one that is not, what that costs, and who is best at what.

Everything is read off boxes that hold all at once (docs/theory.md (r)): H_i − L_k bounds by how much arm i can be
better than k, whichever the two are and however they were found. Values are inner ones, of which larger ones are
better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints

_PAIRS = 50_000_000
"""Pairs of an arm and a listed one up to which all are compared."""

_AT_A_TIME = 1 << 18


@dataclass(frozen=True)
class Replacement:
    """The listed arm `by` that does for one that is not listed, and what is certain of the two.

    In units of the metrics, or as shares where the tolerance is one: by how much `by` may be worse at most (0: it is
    certainly as good), and by how much it is better at least (0: that is not certain).
    """

    by: str
    costs: dict[str, float]
    gains: dict[str, float]


@dataclass(frozen=True)
class Excelling:
    """An objective in which a listed arm is the best of all, certainly or by the estimates."""

    objective: str
    certain: bool


def find_replacing(
    lower: Floats, upper: Floats, estimates: Floats, tolerance: Floats, which: Ints, listed: Ints, decided_by: Ints
) -> Ints:
    """For each of the arms `which` the listed one that costs least in their place; −1 if none is listed.

    The cost is the largest over objectives, in tolerances; of equal ones, the one that leads most by the estimates.
    Among too many arms, the one that decides an arm, or that decides that one, is named.

    >>> ends = np.array([[1.0, 5.0], [5.0, 1.0], [0.5, 4.9]])
    >>> find_replacing(ends, ends, ends, np.ones(2), np.array([2]), np.array([0, 1]), np.array([-1, -1, 0])).tolist()
    [0]
    """
    if not len(listed) or not len(which):
        return np.full(len(which), -1)
    if len(which) * len(listed) > _PAIRS:
        by = decided_by[which]
        on_list = np.zeros(len(lower) + 1, np.bool_)
        on_list[listed] = True
        by = np.where(on_list[by], by, np.where(by >= 0, decided_by[by], -1))
        return np.where(on_list[by], by, -1)
    scale = np.where(tolerance > 0.0, tolerance, 1e-9)
    found = np.empty(len(which), np.int64)
    step = max(1, _AT_A_TIME // len(listed))
    for start in range(0, len(which), step):
        some = which[start : start + step]
        with np.errstate(invalid="ignore"):
            cost = (np.maximum(upper[some, None] - lower[listed], 0.0) / scale).max(axis=2)
            lead = np.nan_to_num((estimates[listed] - estimates[some, None]) / scale, nan=-np.inf).sum(axis=2)
        lead = np.where(cost == cost.min(axis=1, keepdims=True), lead, -np.inf)
        found[start : start + step] = listed[lead.argmax(axis=1)]
    return found


def find_best(lower: Floats, upper: Floats, estimates: Floats, listed: Ints, rivals: Ints) -> tuple[Bools, Bools]:
    """In which objectives each listed arm is the best of the rivals, which it is among: certainly; by the estimates.

    >>> low, high = np.array([[1.0, 5.0], [5.0, 1.0]]), np.array([[2.0, 6.0], [6.0, 5.5]])
    >>> certain, seeming = find_best(low, high, (low + high) / 2, np.array([0, 1]), np.array([0, 1]))
    >>> certain.tolist(), seeming.tolist()
    ([[False, False], [True, False]], [[False, True], [True, False]])
    """
    certain = np.empty((len(listed), lower.shape[1]), np.bool_)
    seeming = np.empty_like(certain)
    for d in range(lower.shape[1]):
        ends = np.concatenate((upper[rivals, d], [-np.inf, -np.inf]))  # of one arm, the second is nothing
        second, first = np.partition(ends, -2)[-2:]
        others = np.where(upper[listed, d] == first, second, first)  # where several are the highest, the second is too
        certain[:, d] = lower[listed, d] >= others
        known = estimates[rivals, d]
        seeming[:, d] = estimates[listed, d] >= np.max(known[~np.isnan(known)], initial=-np.inf)
    return certain, seeming
