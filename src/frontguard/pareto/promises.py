"""What is promised of the arms that are in: accuracy and coverage, objective by objective.

One slack is what holds of all objectives alike: the least s with which γ + s and c + s are true of what is returned. An
exact value has no doubt that a slack would have to make up for; where the same s is true of the others alone, exact
objectives are promised as they were asked for. That is looked at, and not assumed: where what is known exactly is just
what an arm is beaten by, it needs the slack like any other. Proof: docs/theory.md, (o).
"""

from __future__ import annotations

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.pareto.relations import find_strongest_rivals, worst_uncovered
from frontguard.pareto.rule import promised, promised_by_pairs
from frontguard.pareto.standing import Goal


def promised_amounts(lower: Floats, upper: Floats, inside: Bools, goal: Goal, exact: Bools) -> tuple[Floats, Floats]:
    """Accuracy and coverage (M,) that hold of the arms `inside`, of alive arms with these boxes (K, M).

    `exact` (M,) are the objectives whose values are exact.

    >>> lower, upper = np.array([[0.0, 3.0], [-0.5, 3.0]]), np.array([[1.0, 3.0], [0.6, 3.0]])
    >>> goal = Goal(np.zeros(2), np.zeros(2), np.zeros(2))
    >>> accuracy, coverage = promised_amounts(lower, upper, np.array([True, False]), goal, np.array([False, True]))
    >>> accuracy.round(9).tolist(), coverage.round(9).tolist()  # of the second objective nothing has to be forgiven
    ([0.0, 0.0], [0.6, 0.0])
    """
    more, missing = promised(lower, upper, inside, goal)
    accuracy, coverage = goal.accuracy + more, goal.coverage + missing
    if exact.any() and not exact.all():
        own = np.flatnonzero(inside)
        spared = _spared(goal.accuracy, more, exact)
        if 0.0 < more < np.inf and len(own):
            _, short = find_strongest_rivals(lower[inside], upper, spared, own)
            accuracy = spared if (short <= 0.0).all() else accuracy
        spared = _spared(goal.coverage, missing, exact)
        if 0.0 < missing < np.inf and worst_uncovered(upper[~inside], lower[inside], spared) <= 0.0:
            coverage = spared
    return np.maximum(accuracy, 0.0), np.maximum(coverage, 0.0)


def promised_of_pairs(boxes: Floats, alive: Ints, inside: Bools, goal: Goal) -> tuple[Floats, Floats]:
    """The same of the alive arms (n,) of which some are `inside` (n,), where there is evidence on pairs of them."""
    more, missing = promised_by_pairs(boxes, alive, inside, goal.accuracy, goal.coverage)
    return np.maximum(goal.accuracy + more, 0.0), np.maximum(goal.coverage + missing, 0.0)


def _spared(wanted: Floats, slack: float, exact: Bools) -> Floats:
    """What was wanted, with the slack, rounded up, where it is not exact."""
    return np.where(exact, wanted, np.nextafter(wanted + slack, np.inf))
