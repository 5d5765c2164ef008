"""Where arms stand, and what is to be certified: the records that the rule reads and writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import GOALS, checked_goal, one_for_each
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.samples import Table

RUNNING, CERTIFIED, BUDGET, UNREACHABLE = range(4)
STOPS = ("running", "certified", "budget", "unreachable")

FRONT, LIST = range(2)
"""Goals, as `GOALS` names them."""

NOT_RETURNED, RETURNED, GIVEN_UP = range(3)
"""What is meant to become of an arm: left out; returned; a candidate that cannot be brought in."""

ARM = np.dtype(
    [
        ("status", np.int64),  # a Verdict
        ("pulls", np.int64),  # failed ones included
        ("candidate", np.int64),  # NOT_RETURNED, RETURNED or GIVEN_UP
        ("wanted", np.int64),  # whether pulls of it would help
        ("urgency", np.float64),  # how much is missing where they would help most, see `want`
        ("decided_by", np.int64),  # the arm that put it out, covers it, or stands in its way; −1 for none
        ("keeping", np.int64),  # how it stands to limits: a Keeping
        ("rival", np.int64),  # the alive arm that could beat it most, if that was asked; −1 for none
        ("cost", np.float64),  # of a pull, in any unit; all alike unless somebody says otherwise
        ("inside", np.int64),  # whether not even that one can beat it by more than γ, so that it may be returned
    ]
)
CONTROL = np.dtype(
    [
        ("alive", np.int64),  # how many arms are not out
        ("stop", np.int64),  # RUNNING, CERTIFIED, BUDGET or UNREACHABLE
        ("pulls", np.int64),  # of all arms
        ("decisions", np.int64),
        ("max_pulls", np.int64),  # the budget of all arms together ...
        ("max_per_arm", np.int64),  # ... and of each
        ("first", np.int64),  # pulls of an arm in its first batch
        ("growth", np.float64),
        ("revive", np.int64),  # whether what may have put arms out was found false or excluded since the last decision
        ("accuracy_slack", np.float64),  # accuracy γ + this holds now ...
        ("coverage_slack", np.float64),  # ... and coverage c + this
    ]
)


class Goal(NamedTuple):
    """What is to be certified: inner tolerances, each (M,), and of which set.

    `margin` is about point estimates. For the front: by how much an arm has to be beaten not to be returned. For the
    list: by how much one that is listed may be worse than an arm that is left out for it.
    """

    accuracy: Floats  # γ
    coverage: Floats  # c
    margin: Floats
    kind: Ints = np.array([FRONT])  # (1,): FRONT or LIST

    @classmethod
    def of(cls, accuracy: Floats, coverage: Floats, goal: str, margin: Floats | None = None) -> Goal:
        """A goal by its name. Unless a margin is given: half of γ − c for the front, half of c for the list.

        With half of c, both an arm that is left out and one that is kept have at least half a tolerance to spare:
        docs/theory.md.

        >>> Goal.of(np.array([0.4]), np.array([0.2]), "list").margin.tolist()
        [0.1]
        """
        kind = GOALS.index(checked_goal(goal))
        if margin is None:
            margin = coverage / 2 if kind == LIST else np.maximum(accuracy - coverage, 0.0) / 2
        return cls(accuracy, coverage, margin, np.array([kind]))

    @property
    def name(self) -> str:
        """front or list."""
        return GOALS[int(self.kind[0])]


class Standing(NamedTuple):
    """Where K arms stand: what the rule reads and writes."""

    arms: Table  # (K,) of `ARM`
    intervals: Floats  # (K, COLUMNS, M), see `evidence.intervals`
    alive: Ints  # (K,), of which the first `control.alive` are the arms that are not out
    control: Table  # (1,) of `CONTROL`
    front: Ints  # (K,), a workspace
    scales: Floats  # (M,): how far apart arms are in each objective, see `measure_scales`

    def copy(self) -> Standing:
        """The same in arrays of its own."""
        copied = {name: array.copy() for name, array in self._asdict().items()}
        return self._replace(**copied)


def new_standing(arms: int, intervals: Floats, control: Table) -> Standing:
    """Arms with these intervals, all of them alive and wanted."""
    records = np.zeros(arms, ARM)
    records["wanted"], records["decided_by"], records["rival"], records["cost"] = 1, -1, -1, 1.0
    control["alive"] = arms
    return Standing(records, intervals, np.arange(arms), control, np.zeros(arms, np.int64), np.ones(intervals.shape[2]))


def checked_tolerance(value: npt.ArrayLike, objectives: int, name: str) -> Floats:
    """A tolerance for each objective (M,), from one for all or one for each; finite and not negative."""
    return one_for_each(value, objectives, name, lambda array: array >= 0.0, "finite and not negative")
