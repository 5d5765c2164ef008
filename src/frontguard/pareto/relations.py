"""The records and the relations by which the rule decides: how arms stand to each other and to constraints.

Each relation is written for one pair, and right below it for a million arms: kernels read an array of intervals (K,
COLUMNS, M) for a pair; functions take arrays (n, M) for many arms at once, and ask `pareto.dominance`, which does not
look at all pairs. `tests/pareto/test_relations.py` holds one form against the other.

What is known of arms i and j in one objective is an upper bound of m_j − m_i. With intervals [L, H] it is H_j − L_i;
evidence on pairs of arms brings bounds of its own (see `evidence.intervals`), for a few hundred arms at most, and only
kernels read them. Both forms round alike: first the difference, then the tolerance.

An arm is *feasible* if all its constraints' intervals lie within, *infeasible* if one lies outside, and *open*
otherwise. The front is that of the feasible arms, so one that is open can neither beat, nor cover, nor be kept: in what
the rule reads, its lower ends are −∞ (docs/theory.md (p)). The floors say what it may still become: they stay as they
are if its constraints would hold for ever, the upper ones are as low as can be if one would not, and the lower ones −∞
unless all would. Columns are those of the M objectives, and behind them what only constraints ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import GOALS, checked_goal, one_for_each
from frontguard._common.compiled import inlined, kernel
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.intervals import (
    BEST_HIGH,
    COLUMNS,
    DOUBT_HIGH,
    DOUBT_LOW,
    ESTIMATE,
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    REFUTED,
    ArmIntervals,
)
from frontguard.evidence.samples import Table
from frontguard.limits import Gate
from frontguard.pareto.dominance import BoxTree, best_leads, dominators, worst_lead
from frontguard.verdicts import FEASIBLE, INFEASIBLE, OPEN

RUNNING, CERTIFIED, BUDGET, UNREACHABLE = range(4)
STOPS = ("running", "certified", "budget", "unreachable")

FRONT, LIST = range(2)
"""Goals, as `GOALS` names them."""

NOT_RETURNED, RETURNED, GIVEN_UP = range(3)
"""Plans for an arm: left out; returned; a candidate that cannot be shown to be kept."""

ARM = np.dtype(
    [
        ("status", np.int64),  # a Verdict
        ("pulls", np.int64),  # failed ones included
        ("candidate", np.int64),  # NOT_RETURNED, RETURNED or GIVEN_UP
        ("wanted", np.int64),  # whether pulls of it would help
        ("urgency", np.float64),  # how much is missing where they would help most, see `want`
        ("decided_by", np.int64),  # the arm that put it out, covers it, or stands in its way; −1 for none
        ("keeping", np.int64),  # how it stands to limits: a Feasibility
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
    """The set that is to be certified, and its inner tolerances, each (M,).

    `margin` is about point estimates. For the front: by how much an arm has to be beaten not to be returned. For the
    list: by how much one that is listed may be worse than an arm that is left out for it.
    """

    accuracy: Floats  # γ
    coverage: Floats  # c
    margin: Floats
    kind: Ints = np.array([FRONT])  # (1,): FRONT or LIST

    @classmethod
    def of(cls, accuracy: Floats, coverage: Floats, goal: str, margin: Floats | None = None) -> Goal:
        """Return a goal by its name; its margin is half of γ − c for the front, half of c for a list, unless given.

        >>> Goal.of(np.array([0.4]), np.array([0.2]), "list").margin.tolist()
        [0.1]
        """
        kind = GOALS.index(checked_goal(goal))
        if margin is None:
            margin = coverage / 2 if kind == LIST else np.maximum(accuracy - coverage, 0.0) / 2
        return cls(accuracy, coverage, margin, np.array([kind]))

    @property
    def name(self) -> str:
        """The goal's name: front or list."""
        return GOALS[int(self.kind[0])]


class Standing(NamedTuple):
    """The state of K arms: what the rule reads and writes."""

    arms: Table  # (K,) of `ARM`
    intervals: Floats  # (K, COLUMNS, M), see `evidence.intervals`
    alive: Ints  # (K,), of which the first `control.alive` are the arms that are not out
    control: Table  # (1,) of `CONTROL`
    front: Ints  # (K,), a workspace
    scales: Floats  # (M,): how far apart arms are in each objective, see `measure_scales`

    def copy(self) -> Standing:
        """Return the same in arrays of its own."""
        copied = {name: array.copy() for name, array in self._asdict().items()}
        return self._replace(**copied)


def new_standing(arms: int, intervals: Floats, control: Table) -> Standing:
    """Return arms with these intervals, all of them alive and wanted."""
    records = np.zeros(arms, ARM)
    records["wanted"], records["decided_by"], records["rival"], records["cost"] = 1, -1, -1, 1.0
    control["alive"] = arms
    return Standing(records, intervals, np.arange(arms), control, np.zeros(arms, np.int64), np.ones(intervals.shape[2]))


def checked_tolerance(value: npt.ArrayLike, objectives: int, name: str) -> Floats:
    """Return a tolerance for each objective (M,), from one for all or one for each; finite and not negative."""
    return one_for_each(value, objectives, name, lambda array: array >= 0.0, "finite and not negative")


_SMALLEST = float(np.finfo(np.float64).tiny)
"""More than nothing, and less than any difference of two values that are not equal."""

WARY = 2.0
"""Times the usual doubt of an estimate that an arm must seem to be better by, beyond the margin, to be listed too."""


@inlined
def _by_pairs(intervals: Floats, j: int, i: int, d: int, every: bool) -> float:
    """Return the bound of m_j − m_i beside intervals: of the pair and, unless `every` is asked for, of rivals; or ∞."""
    K, bound = intervals.shape[0], np.inf
    if intervals.shape[1] > COLUMNS:
        bound = intervals[j, COLUMNS + i, d]
    if not every and intervals.shape[1] > COLUMNS + K:
        bound = min(bound, intervals[j, COLUMNS + K + i, d])
    return bound


@inlined
def bound_of(intervals: Floats, j: int, i: int, d: int, every: bool) -> float:
    """Return an upper bound of m_j − m_i in objective d: H_j − L_i, or what pairs say, where that is less.

    Bounds of best rivals say whether an arm is kept, and nothing else: they are left aside where `every` objective must
    come down. Of an arm that has no interval (any more, or that the rule may read) nothing is believed that pairs say.
    """
    alone: float = intervals[j, BEST_HIGH, d] - intervals[i, LOW, d]
    return min(alone, _by_pairs(intervals, j, i, d, every)) if alone < np.inf else alone


@inlined
def sharper(intervals: Floats, j: int, i: int, d: int, every: bool) -> bool:
    """Tell whether evidence on pairs says more of m_j − m_i in objective d than intervals do."""
    alone: float = intervals[j, BEST_HIGH, d] - intervals[i, LOW, d]
    return bound_of(intervals, j, i, d, every) < alone


@inlined
def floor_of_pair(intervals: Floats, j: int, i: int, d: int) -> float:
    """Return what is left for ever of H_j − L_i, or of what pairs say, where that is known and less."""
    K, alone = intervals.shape[0], intervals[j, HIGH_FLOOR, d] - intervals[i, LOW_FLOOR, d]
    if alone < np.inf and intervals.shape[1] > COLUMNS + 2 * K:
        alone = min(alone, intervals[j, COLUMNS + 2 * K + i, d])
    floor: float = alone
    return floor


@inlined
def lasting_difference(intervals: Floats, j: int, i: int, d: int, every: bool) -> float:
    """Return what more pulls can bring that bound down to, if the samples go on as they are."""
    floor: float = floor_of_pair(intervals, j, i, d)
    return min(floor, _by_pairs(intervals, j, i, d, every)) if floor < np.inf else floor


def lasting_intervals(intervals: Floats) -> Floats:
    """Return the intervals that endless samples which go on as they are would leave, and what pairs would say."""
    K, lasting = intervals.shape[0], intervals.copy()
    # In the long run R may promise more than can be: an empty interval.
    lasting[:, [LOW, HIGH]] = np.sort(intervals[:, [LOW_FLOOR, HIGH_FLOOR]], axis=1)
    lasting[:, BEST_HIGH] = lasting[:, HIGH]
    if intervals.shape[1] > COLUMNS + 2 * K:
        lasting[:, COLUMNS : COLUMNS + K] = intervals[:, COLUMNS + 2 * K :]
    return lasting


@inlined
def gain_below(intervals: Floats, i: int, d: int) -> float:
    """Return by how much more pulls can still raise L_i in one objective; ∞ as long as nothing is known."""
    gain = intervals[i, LOW_FLOOR, d] - intervals[i, LOW, d]
    return gain if gain == gain else (0.0 if intervals[i, REFUTED, d] == 2.0 else np.inf)


@inlined
def gain_above(intervals: Floats, j: int, d: int) -> float:
    """Return by how much more pulls can still lower H_j in one objective; ∞ as long as nothing is known."""
    gain = intervals[j, BEST_HIGH, d] - intervals[j, HIGH_FLOOR, d]
    return gain if gain == gain else (0.0 if intervals[j, REFUTED, d] == 2.0 else np.inf)


@inlined
def dominated(intervals: Floats, i: int, j: int) -> bool:
    """Tell whether m_i ≺ m_j for certain: H_i − L_j ≤ 0 in every objective, and < 0 in one."""
    below, strictly = True, False
    for d in range(intervals.shape[2]):
        bound = bound_of(intervals, i, j, d, True)
        if bound > 0.0:
            below = False
            break
        strictly |= bound < 0.0
    return below and strictly


def find_dominating(upper: Floats, lower: Floats) -> Ints:
    """Return for each arm, given by its H, one of those given by their L that it is `dominated` by; −1 for none."""
    return dominators(upper, lower)


@inlined
def shortfall(intervals: Floats, accuracy: Floats, i: int, j: int) -> float:
    """Return min over objectives of H_j − L_i − γ: at most 0 if j cannot beat i by more than γ in every objective.

    Where γ = 0, to be as good is not enough for i: j may be as good there and better elsewhere. So a minimum of 0 that
    is such a tie becomes the least number above it, unless j is certainly nowhere better.
    """
    least, settled, ahead = np.inf, False, False
    for d in range(accuracy.shape[0]):
        bound = bound_of(intervals, j, i, d, False)
        missing = bound - accuracy[d]
        least = min(least, missing)
        settled |= missing <= 0.0 and accuracy[d] > 0.0
        ahead |= bound > 0.0
    return _SMALLEST if least == 0.0 and ahead and not settled else least


def find_strongest_rivals(
    lower: Floats,
    upper: Floats,
    accuracy: Floats,
    own: Ints,
    *,
    enough: float = np.inf,
    tree: BoxTree | None = None,
) -> tuple[Ints, Floats]:
    """Return for each arm, given by its L, the rival, given by its H, with the greatest `shortfall`, and that.

    `own` (n,) says which of the rivals each arm is; −1 and −∞ where there is no other. `enough` ends the search.
    """
    rivals, shortfalls = best_leads(lower, upper, accuracy, exclude=own, settled=enough, tree=tree)
    tied = np.flatnonzero(shortfalls == 0.0)
    if not len(tied):
        return rivals, shortfalls
    if (accuracy > 0.0).any():  # a rival beats whoever it leads by more than γ there, and is as good as elsewhere
        more = np.where(accuracy > 0.0, np.nextafter(accuracy, np.inf), 0.0)
        by, _ = best_leads(lower[tied], upper, more, exclude=own[tied], least=0.0, settled=0.0, tree=tree)
    else:
        by = dominators(lower[tied], upper, exclude=own[tied])
    beaten = by >= 0
    rivals[tied[beaten]], shortfalls[tied[beaten]] = by[beaten], _SMALLEST
    return rivals, shortfalls


@inlined
def uncovered(intervals: Floats, coverage: Floats, i: int, k: int) -> float:
    """Return max over objectives of H_i − L_k − c: at most 0 if k covers i."""
    most = -np.inf
    for d in range(coverage.shape[0]):
        most = max(most, bound_of(intervals, i, k, d, True) - coverage[d])
    return most


def find_covering(upper: Floats, lower: Floats, coverage: Floats) -> Ints:
    """Return for each arm, given by its H, one of those given by their L that covers it; −1 for none."""
    covering, _ = best_leads(upper, lower, -coverage, least=0.0, settled=0.0)
    return covering


def worst_uncovered(upper: Floats, lower: Floats, coverage: Floats) -> float:
    """Return how far the worst of the arms, by H, is `uncovered` by the nearest, by L: −∞ for no arm, +∞ by none."""
    return -worst_lead(upper, lower, -coverage)


@inlined
def beaten(intervals: Floats, margin: Floats, i: int, j: int) -> bool:
    """Tell whether j beats i in the estimates, beyond their doubt: by the margin, and by more than nothing."""
    behind = True
    for d in range(margin.shape[0]):
        ahead = intervals[j, DOUBT_LOW, d] - intervals[i, DOUBT_HIGH, d]
        behind &= ahead >= margin[d] and ahead > 0.0
    return behind


def find_beaten(doubt_low: Floats, doubt_high: Floats, margin: Floats) -> Bools:
    """Tell which of these arms are `beaten` by some other of them."""
    known = doubt_low[(doubt_low > -np.inf).all(axis=1)]  # one of which nothing is known beats nobody
    by, _ = best_leads(doubt_high, known, np.maximum(margin, _SMALLEST), least=0.0, settled=0.0)
    return by >= 0


@inlined
def lead(intervals: Floats, k: int, i: int) -> float:
    """Return min over objectives of the point estimates of k less those of i."""
    least = np.inf
    for d in range(intervals.shape[2]):
        least = min(least, intervals[k, ESTIMATE, d] - intervals[i, ESTIMATE, d])
    return least


def find_leaders(estimates: Floats, of_others: Floats) -> Ints:
    """Return for each arm who of the others has the greatest `lead` over it; the first if none has all estimates."""
    known = np.flatnonzero((of_others > -np.inf).all(axis=1))
    if not len(known):
        return np.full(len(estimates), 0 if len(of_others) else -1)
    leaders, _ = best_leads(estimates, of_others[known], np.zeros(estimates.shape[1]))
    return known[leaders]


@inlined
def near(intervals: Floats, margin: Floats, i: int, k: int) -> bool:
    """Tell whether k seems to do for i: estimates are worse nowhere by more than the margin, noise not believed."""
    enough = True
    for d in range(margin.shape[0]):
        high, low = intervals[k, ESTIMATE, d], intervals[i, ESTIMATE, d]
        enough &= high > -np.inf
        if high > -np.inf and low > -np.inf:
            high, low = (
                high + WARY * (intervals[k, DOUBT_HIGH, d] - high),
                low - WARY * (low - intervals[i, DOUBT_LOW, d]),
            )
            enough &= high - low + margin[d] >= 0.0
    return enough


def likely_ends(intervals: ArmIntervals) -> tuple[Floats, Floats]:
    """Return both ends of estimates (K, M) by the doubt that `near` allows for; −∞ where there are none."""
    known, centre = intervals.estimates > -np.inf, intervals.estimates
    with np.errstate(invalid="ignore"):
        low, high = centre - WARY * (centre - intervals.doubt_low), centre + WARY * (intervals.doubt_high - centre)
    return np.where(known, low, centre), np.where(known, high, centre)


def find_near(low: Floats, high_of_others: Floats, margin: Floats) -> Bools:
    """Tell which arms, by their lower `likely_ends`, have one among the others, by the upper ones, `near` them."""
    known = high_of_others[(high_of_others > -np.inf).all(axis=1)]
    by, _ = best_leads(low, known, -margin, least=0.0, settled=0.0)
    return by >= 0


def find_inside(
    lower: Floats, upper: Floats, accuracy: Floats, own: Ints | None = None, tree: BoxTree | None = None
) -> Bools:
    """Tell which arms, by their L, fall short of no other of those given by their H."""
    own = np.arange(len(lower)) if own is None else own
    _, shortfalls = find_strongest_rivals(lower, upper, accuracy, own, enough=_SMALLEST, tree=tree)
    return shortfalls <= 0.0


LOWEST = -1e300
"""Below any value, yet such that differences with −∞ are numbers."""


class LimitRule(NamedTuple):
    """Q constraints by the columns of intervals that they read, and the inner values that are asked of these."""

    columns: Ints  # (Q,)
    within: Floats  # (Q,): an arm is feasible whose lower end is at least this ...
    beyond: Floats  # (Q,): ... and infeasible if its upper end is below this

    @classmethod
    def of(cls, gates: Sequence[Gate]) -> LimitRule:
        """Return these constraints."""
        return cls(
            np.array([gate.column for gate in gates], np.int64),
            np.array([gate.within for gate in gates], np.float64),
            np.array([gate.beyond for gate in gates], np.float64),
        )

    def check(self, width: int) -> None:
        """Refuse columns that do not exist."""
        if not len(self.columns) == len(self.within) == len(self.beyond):
            raise BadInput("limits must have a column and two ends each")
        if not ((self.columns >= 0) & (self.columns < width)).all():
            raise BadInput(f"limits must be of columns from 0 to {width - 1}; got {self.columns.tolist()}")


@kernel
def _keeping(intervals: Floats, i: int, low: int, high: int, limits: LimitRule) -> int:
    """Return how arm i stands to its constraints, by the columns `low` and `high` of its intervals."""
    worst = FEASIBLE
    for q in range(limits.columns.shape[0]):
        d = limits.columns[q]
        if not intervals[i, low, d] >= limits.within[q]:
            worst = max(worst, INFEASIBLE if intervals[i, high, d] < limits.beyond[q] else OPEN)
    return worst


def keeping_of(lower: Floats, upper: Floats, limits: LimitRule) -> Ints:
    """Return how each of K arms stands to each of Q constraints (K, Q), by its intervals (K, C)."""
    low, high = lower[:, limits.columns], upper[:, limits.columns]
    return np.where(low >= limits.within, FEASIBLE, np.where(high < limits.beyond, INFEASIBLE, OPEN))


@kernel
def veil_arm(intervals: Floats, i: int, limits: LimitRule, arms: Table, veiled: Floats) -> None:
    """Update what the rule reads of arm i, intervals (K, COLUMNS, M) and its record, from its intervals."""
    M = veiled.shape[2]
    for column in range(intervals.shape[1]):
        for d in range(M):
            veiled[i, column, d] = intervals[i, column, d]
    arms[i].keeping = _keeping(intervals, i, LOW, HIGH, limits)
    if arms[i].keeping != OPEN:
        return
    seems = _keeping(intervals, i, ESTIMATE, ESTIMATE, limits)
    in_the_end = _keeping(intervals, i, LOW_FLOOR, HIGH_FLOOR, limits)
    for d in range(M):
        veiled[i, LOW, d] = -np.inf
        if in_the_end != FEASIBLE:
            veiled[i, LOW_FLOOR, d] = -np.inf
        if in_the_end == INFEASIBLE:
            veiled[i, HIGH_FLOOR, d] = LOWEST
        if seems != FEASIBLE:  # it beats no arm, and is no candidate where another is
            veiled[i, ESTIMATE, d] = veiled[i, DOUBT_LOW, d] = veiled[i, DOUBT_HIGH, d] = -np.inf


@kernel(over="intervals")
def veil(intervals: Floats, limits: LimitRule, arms: Table, veiled: Floats) -> None:
    """`veil_arm` for all arms."""
    for i in range(intervals.shape[0]):
        veil_arm(intervals, i, limits, arms, veiled)


def veiled_intervals(intervals: ArmIntervals, limits: LimitRule, objectives: int) -> tuple[ArmIntervals, Ints]:
    """Return what is read of K arms with intervals (K, C), in M objectives, and how they stand to constraints (K,)."""
    keeping = keeping_of(intervals.lower, intervals.upper, limits).max(axis=1)
    seems = keeping_of(intervals.estimates, intervals.estimates, limits).max(axis=1)
    apart = None if intervals.apart is None else intervals.apart[:, :, :objectives]
    read = replace(ArmIntervals(*(array[:, :objectives].copy() for array in intervals.alone)), apart=apart)
    read.lower[keeping == OPEN] = -np.inf
    unlikely = (keeping == OPEN) & (seems != FEASIBLE)
    read.estimates[unlikely] = read.doubt_low[unlikely] = read.doubt_high[unlikely] = -np.inf
    return read, keeping


def promised_of_pairs(intervals: Floats, alive: Ints, inside: Bools, goal: Goal) -> tuple[Floats, Floats]:
    """Return by how much arms may be beaten, and missed, (M,): of the alive ones (n,) some are `inside` (n,)."""
    more, missing = _slacks_of_pairs(intervals, alive, inside, goal.accuracy, goal.coverage)
    return np.maximum(goal.accuracy + more, 0.0), np.maximum(goal.coverage + missing, 0.0)


@kernel
def _slacks_of_pairs(
    intervals: Floats, alive: Ints, inside: Bools, accuracy: Floats, coverage: Floats
) -> tuple[float, float]:
    """Return the slacks of accuracy and coverage of the alive arms (n,), by what pairs of them say."""
    within, missed = (-np.inf if inside.any() else 0.0), -np.inf
    for a in range(alive.shape[0]):
        nearest = np.inf
        for b in range(alive.shape[0]):
            if a != b and inside[a]:
                within = max(within, shortfall(intervals, accuracy, alive[a], alive[b]))
            elif a != b and inside[b]:
                nearest = min(nearest, uncovered(intervals, coverage, alive[a], alive[b]))
        if not inside[a]:
            missed = max(missed, nearest)
    return within, missed


def rival_bounds(intervals: Floats, decided_by: Ints, objectives: int) -> Floats | None:
    """Return upper bounds (K, 2, M) of arms less those that decide them, and back, ∞ for none; None without pairs."""
    if intervals.shape[1] == COLUMNS:
        return None
    arms = np.flatnonzero(decided_by >= 0)
    rivals = decided_by[arms]
    found = np.full((len(decided_by), 2, objectives), np.inf)
    for side, (one, other) in enumerate(((arms, rivals), (rivals, arms))):
        alone = intervals[one, HIGH, :objectives] - intervals[other, LOW, :objectives]
        pairs = intervals[one, COLUMNS + other, :objectives]
        found[arms, side] = np.where(alone < np.inf, np.minimum(alone, pairs), np.inf)
    return found


def pair_bounds(intervals: Floats, objectives: int) -> Floats | None:
    """Return upper bounds (K, K, M) by pairs of an arm less another one; ∞ for none, None without evidence on pairs."""
    K = len(intervals)
    return None if intervals.shape[1] == COLUMNS else intervals[:, COLUMNS : COLUMNS + K, :objectives].copy()
