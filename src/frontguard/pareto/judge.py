"""Verdicts on intervals where nothing more will be measured, for a million arms: the rule of `pareto.rule`, at scale.

*Candidates*, where the goal is the front, are the alive arms that no alive arm beats by the margin in every objective,
beyond doubt. Where it is the list: from the best down, those that no candidate before them covers, or seems to; then
those that could be kept and that no kept candidate covers; at last those that could be kept and alone cover what would
be open otherwise. *Undecided* candidates would be returned too, with less accuracy. `pareto.relations` says what
"dominates", "beats" and "covers" mean, and what constraints change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import checked_goal
from frontguard._common.compiled import kernel
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.intervals import ArmIntervals
from frontguard.pareto.dominance import BoxTree, maxima, plant, tree_of_rivals
from frontguard.pareto.relations import (
    CONTROL,
    NOT_RETURNED,
    Goal,
    LimitRule,
    checked_tolerance,
    find_beaten,
    find_covering,
    find_dominating,
    find_inside,
    find_leaders,
    find_near,
    find_strongest_rivals,
    likely_ends,
    new_standing,
    promised_of_pairs,
    veiled_intervals,
    worst_uncovered,
)
from frontguard.pareto.rule import LARGE, decide
from frontguard.verdicts import INFEASIBLE, OPEN, Verdict

_MANY = 50_000
_SAMPLE = 32_768
_SCANNED = 256  # arms that are compared one by one
_ENOUGH = 10**6  # pulls of an arm after which the rule hopes for no more


@dataclass(frozen=True, eq=False)
class Choice:
    """The steps by which K arms came on the list, or did not.

    `step` (K,) is 0 for those that are no candidates; 1 for those that no candidate before them covers, or seems to; 2
    for those that could be kept and that no kept one of the former covers; 3 for those that could be kept and alone
    cover an arm that would be open otherwise. `inside` (K,) says which could be kept, listed or not.
    """

    step: Ints
    inside: Bools

    def among(self, arms: Ints, count: int) -> Choice:
        """Return the same where its arms are the `arms` of so many."""
        step, inside = np.zeros(count, np.int64), np.zeros(count, np.bool_)
        step[arms], inside[arms] = self.step, self.inside
        return Choice(step, inside)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """A verdict for each of K arms, and what holds.

    `decided_by` is, for a beaten arm, an alive arm that is certainly better (none, if it is infeasible); for a
    candidate, the alive arm that could beat it most; for a matched one, a kept arm that covers it; for another
    undecided one, the returned arm that leads it most in the point estimates; −1 for none.

    The accuracy γ + `accuracy_slack` and the coverage c + `coverage_slack` hold now for the arms `returned`.
    """

    codes: Ints
    decided_by: Ints
    candidates: Bools
    accuracy_slack: float
    coverage_slack: float
    choice: Choice | None = None  # where the goal is the list

    @property
    def front(self) -> Bools:
        """The kept arms."""
        front: Bools = self.codes == Verdict.KEEP
        return front

    @property
    def returned(self) -> Bools:
        """The kept arms, and the undecided candidates."""
        returned: Bools = self.candidates & (self.codes != Verdict.MATCHED)
        return returned

    @property
    def undecided(self) -> Bools:
        """The undecided arms."""
        undecided: Bools = self.codes == Verdict.UNDECIDED
        return undecided


def judge(
    intervals: ArmIntervals,
    accuracy: npt.ArrayLike,
    coverage: npt.ArrayLike,
    margin: npt.ArrayLike,
    limits: LimitRule | None = None,
    goal: str = "front",
    *,
    briefly: bool = False,
) -> Verdicts:
    """Return the verdicts on these intervals, for inner tolerances γ, c and the margin (M,), and a goal: see `Goal`.

    With limits, one at least, intervals have columns for what is limited behind those of the M objectives. `briefly`
    takes half of the time, and does not ask who decides an arm, nor by how much.
    """
    checked_goal(goal)
    if limits is not None:
        read, keeping = veiled_intervals(intervals, limits, np.size(accuracy))
        left = np.flatnonzero(keeping != INFEASIBLE)
        found = judge(read.of(left), accuracy, coverage, margin, goal=goal, briefly=briefly)
        return _with_limits(found, left, keeping)
    asked = _checked(intervals, accuracy, coverage, margin, goal)
    return _judge_pairs(intervals, asked) if intervals.apart is not None else _judge_alone(intervals, asked, briefly)


def _as_read(intervals: ArmIntervals, asked: Goal) -> ArmIntervals:
    """Return the intervals by which arms are kept and matched: with ends of the best arm, where these say enough."""
    if intervals.best is None or (asked.coverage < asked.accuracy).any():
        return intervals
    return replace(intervals, upper=intervals.best)


def _judge_alone(intervals: ArmIntervals, asked: Goal, briefly: bool) -> Verdicts:
    decided_by = _put_out(intervals.lower, intervals.upper)
    intervals = _as_read(intervals, asked)
    lower, upper = intervals.lower, intervals.upper
    codes = np.where(decided_by >= 0, int(Verdict.BEATEN), int(Verdict.UNDECIDED))
    alive = np.flatnonzero(decided_by < 0)
    if len(alive) > _MANY:  # neighbours one after another find in the cache what the one before them used
        alive = plant(intervals.estimates, alive).owners
    rivals_of = tree_of_rivals(upper[alive])
    listed = _choose_list(intervals.of(alive), alive, asked, rivals_of) if asked.name == "list" else None
    if listed is None:
        beaten = find_beaten(intervals.doubt_low[alive], intervals.doubt_high[alive], asked.margin)
    else:
        beaten = listed.step == 0
    own = np.flatnonzero(~beaten)
    chosen = alive[own]
    candidates = np.zeros(len(lower), np.bool_)
    candidates[chosen] = True

    shortfalls = np.empty(0)
    if not briefly:
        rivals, shortfalls = find_strongest_rivals(lower[chosen], upper[alive], asked.accuracy, own, tree=rivals_of)
        decided_by[chosen] = _named(alive, rivals)
        inside = shortfalls <= 0.0
    elif listed is None:
        inside = find_inside(lower[chosen], upper[alive], asked.accuracy, own, rivals_of)
    else:
        inside = listed.inside[own]
    front = chosen[inside]
    codes[front] = Verdict.KEEP

    left = np.concatenate((alive[beaten], chosen[~inside]))
    covering = find_covering(upper[left], lower[front], asked.coverage)
    covered = covering >= 0
    codes[left[covered]] = Verdict.MATCHED
    decided_by[left[covered]] = front[covering[covered]]

    choice = None if listed is None else listed.among(alive, len(lower))
    verdicts = Verdicts(codes, decided_by, candidates, np.nan, np.nan, choice)
    if briefly:
        return verdicts
    returned = np.flatnonzero(verdicts.returned)
    led = left[~covered & ~candidates[left]]
    decided_by[led] = _named(returned, find_leaders(intervals.estimates[led], intervals.estimates[returned]))
    accuracy_slack = np.max(shortfalls[codes[chosen] != Verdict.MATCHED], initial=-np.inf)
    not_returned = left[covered | ~candidates[left]]
    coverage_slack = worst_uncovered(upper[not_returned], lower[returned], asked.coverage)
    return replace(verdicts, accuracy_slack=float(accuracy_slack), coverage_slack=coverage_slack)


def _checked(
    intervals: ArmIntervals, accuracy: npt.ArrayLike, coverage: npt.ArrayLike, margin: npt.ArrayLike, goal: str
) -> Goal:
    """Return the goal for as many objectives as the intervals have; refuse empty intervals."""
    gamma, cover, least_lead = (
        checked_tolerance(given, intervals.lower.shape[1], name)
        for given, name in ((accuracy, "accuracy"), (coverage, "coverage"), (margin, "margin"))
    )
    held = intervals.lower <= intervals.upper  # not so where one is NaN
    if not held.all():
        row = int(held.all(axis=1).argmin())
        got = f"{intervals.lower[row].tolist()} to {intervals.upper[row].tolist()}"
        raise BadInput(f"intervals must not be empty; got {got} for arm {row}")
    return Goal.of(gamma, cover, goal, least_lead)


def _judge_pairs(intervals: ArmIntervals, goal: Goal) -> Verdicts:
    """Return the verdicts where there is evidence on pairs, of a few hundred arms at most: those of the rule."""
    control = np.zeros(1, CONTROL)
    control["max_pulls"] = control["max_per_arm"] = np.iinfo(np.int64).max
    standing = new_standing(len(intervals.lower), intervals.as_columns(), control)
    standing.arms["pulls"] = _ENOUGH
    decide(standing, goal)
    arms = standing.arms
    candidates = (arms["candidate"] != NOT_RETURNED) & (arms["status"] != Verdict.BEATEN)
    return Verdicts(
        arms["status"].copy(),
        arms["decided_by"].copy(),
        candidates,
        float(control["accuracy_slack"][0]),
        float(control["coverage_slack"][0]),
        Choice(candidates.astype(np.int64), arms["inside"] == 1) if goal.name == "list" else None,
    )


def find_best_first(estimates: Floats, arms: Ints, coverage: Floats) -> Ints:
    """Return the places of `arms`, whose estimates are given row by row, in the order of `rule.best_first`."""
    total = np.zeros(len(arms))
    for d in np.flatnonzero(coverage > 0.0):
        with np.errstate(over="ignore"):
            total += np.clip(estimates[:, d] / coverage[d], -LARGE, LARGE)
    strict = [-estimates[:, d] for d in np.flatnonzero(coverage == 0.0)]
    tolerated = [-estimates[:, d] for d in np.flatnonzero(coverage > 0.0)]
    return _sorted_by([*strict, -total, *tolerated, arms])


def _sorted_by(keys: Sequence[Floats | Ints]) -> Ints:
    """Return places in the order of the first key, and of equal ones in that of the next: few are sorted again.

    >>> _sorted_by([np.array([1.0, 0.0, 1.0, 0.0]), np.array([2, 3, 1, 3]), np.arange(4)]).tolist()
    [1, 3, 2, 0]
    """
    order = np.argsort(keys[0])
    ahead = keys[0][order]
    same = ahead[1:] == ahead[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    some = order[tied]
    order[tied] = some[np.lexsort([key[some] for key in reversed(keys)])]  # which keeps groups of equal ones together
    return np.asarray(order, np.int64)


class Measured(NamedTuple):
    """Both ends of point estimates and of intervals (K, M), by which a list is chosen."""

    low: Floats
    high: Floats
    lower: Floats
    upper: Floats


@kernel
def _scan(seen: Measured, order: Ints, margin: Floats, coverage: Floats, seem: bool) -> Ints:
    """Return the arms of `order` that are kept, each compared with those that were kept before it."""
    kept = np.empty(order.size, np.int64)
    size = 0
    for i in order:
        needed = True
        for n in range(size):
            k = kept[n]
            likely, certain = seem, True
            for d in range(margin.shape[0]):
                likely &= seen.high[k, d] > -np.inf and seen.high[k, d] - seen.low[i, d] + margin[d] >= 0.0
                certain &= seen.upper[i, d] - seen.lower[k, d] - coverage[d] <= 0.0
            if likely or certain:
                needed = False
                break
        if needed:
            kept[size] = i
            size += 1
    return kept[:size].copy()


def keep_needed(seen: Measured, order: Ints, margin: Floats, coverage: Floats, *, seem: bool = True) -> Ints:
    """Return the arms of `order`, by their rows, that none kept before covers, or (if it may `seem` to) is `near`."""
    kept = _scan(seen, order[:_SCANNED], margin, coverage, seem)
    start = _SCANNED
    while start < len(order):  # in portions that grow, each past a tree of what is kept
        portion = order[start : start + max(4 * _SCANNED, 2 * len(kept), start)]
        start += len(portion)
        done = np.zeros(len(portion), np.bool_)
        if seem:
            done = find_near(seen.low[portion], seen.high[kept], margin)
        portion = portion[~done]
        portion = portion[find_covering(seen.upper[portion], seen.lower[kept], coverage) < 0]
        kept = np.concatenate((kept, keep_needed(seen, portion, margin, coverage, seem=seem)))
    return kept


def _choose_list(intervals: ArmIntervals, arms: Ints, asked: Goal, rivals_of: BoxTree) -> Choice:
    """Return which of these alive arms are candidates for the list."""
    lower, upper, coverage, margin = intervals.lower, intervals.upper, asked.coverage, asked.margin
    seen = Measured(*likely_ends(intervals), lower, upper)
    order = find_best_first(intervals.estimates, arms, coverage)
    inside = find_inside(lower, upper, asked.accuracy, tree=rivals_of)
    chosen = keep_needed(seen, order, margin, coverage)
    step = np.zeros(len(arms), np.int64)
    step[chosen] = 1
    spare = inside & (step == 0)
    if spare.any():  # otherwise no other arm could be kept
        rest = order[spare[order]]
        rest = rest[find_covering(upper[rest], lower[chosen[inside[chosen]]], coverage) < 0]
        step[keep_needed(seen, rest, margin, coverage, seem=False)] = 2
        step[_needed_by_others(lower, upper, order, inside, step == 0, coverage)] = 3
    return Choice(step, inside)


def _needed_by_others(lower: Floats, upper: Floats, order: Ints, inside: Bools, out: Bools, coverage: Floats) -> Ints:
    """Return the arms that could be kept, and are left out, though they alone cover arms that would be open."""
    spare, returned = order[(inside & out)[order]], np.flatnonzero(inside & ~out)
    others = order[~inside[order]]
    others = others[find_covering(upper[others], lower[returned], coverage) < 0]
    others = others[find_covering(upper[others], lower[spare], coverage) >= 0]
    found = []
    while len(others):
        by = spare[np.argmax((upper[others[0]] - lower[spare] - coverage <= 0.0).all(axis=1))]
        found.append(by)
        others = others[(upper[others] - lower[by] - coverage > 0.0).any(axis=1)]
    return np.array(found, np.int64)


def _with_limits(found: Verdicts, left: Ints, keeping: Ints) -> Verdicts:
    """Return the verdicts on all K arms, of those `left` that are not infeasible, judged by what may be read of them.

    The others are beaten, and decide no arm. One that is open has lower ends of −∞, with which it is kept only if it
    has no rival at all: that is not enough.
    """
    lonely = (found.codes == Verdict.KEEP) & (keeping[left] == OPEN)
    codes, decided_by = np.full(len(keeping), int(Verdict.BEATEN)), np.full(len(keeping), -1)
    candidates = np.zeros(len(keeping), np.bool_)
    codes[left] = np.where(lonely, int(Verdict.UNDECIDED), found.codes)
    decided_by[left], candidates[left] = _named(left, found.decided_by), found.candidates
    decided_by[(codes == Verdict.UNDECIDED) & (keeping == OPEN)] = -1  # its own limit stands in its way, and no rival
    accuracy_slack = np.inf if lonely.any() else found.accuracy_slack
    choice = None if found.choice is None else found.choice.among(left, len(keeping))
    return Verdicts(codes, decided_by, candidates, accuracy_slack, found.coverage_slack, choice)


def front_of_estimates(
    estimates: Floats,
    among: Bools,
    accuracy: npt.ArrayLike,
    coverage: npt.ArrayLike,
    margin: npt.ArrayLike,
    limits: LimitRule | None = None,
    goal: str = "front",
) -> Bools:
    """Tell which arms (K,), with all their estimates (K, M), would be kept if these were exact: a guess.

    >>> points = np.array([[1.0, 4.0], [4.0, 1.0], [0.0, 0.0], [np.nan, 9.0]])
    >>> front_of_estimates(points, np.ones(4, np.bool_), 0.1, 0.1, 0.0)
    array([ True,  True, False, False])
    """
    front = np.zeros(len(estimates), np.bool_)
    some = np.flatnonzero(among & np.isfinite(estimates).all(axis=1))
    exact = estimates[some]
    codes = judge(ArmIntervals(*(exact,) * 5), accuracy, coverage, margin, limits, goal, briefly=True).codes
    front[some] = codes == Verdict.KEEP
    return front


def _named(arms: Ints, found: Ints) -> Ints:
    """Return the arms that were found among others by their place; −1 where none was."""
    return np.where(found >= 0, arms[found], -1) if len(arms) else found


def _put_out(lower: Floats, upper: Floats) -> Ints:
    """Return for each arm an alive one that beats it, or −1.

    The highest of a sample come first: an arm that beats a beaten arm beats whatever that one beats.
    """
    decided_by = np.full(len(lower), -1)
    step = len(lower) // _SAMPLE
    if step >= 4:
        strong = maxima(lower[::step]) * step
        some = upper[step // 2 :: 16 * step]
        if 2 * (find_dominating(some, lower[strong]) >= 0).sum() > len(some):
            decided_by = _named(strong, find_dominating(upper, lower[strong]))
    rest = np.flatnonzero(decided_by < 0)
    decided_by[rest] = _named(rest, find_dominating(upper[rest], lower[rest]))
    _follow(decided_by)
    return decided_by


def _follow(decided_by: Ints) -> None:
    """Name an alive arm: if j beats i and k beats j, then H_i ≼ L_j ≼ H_j ≼ L_k, and k beats i too."""
    some = np.flatnonzero(decided_by >= 0)
    while len(some):  # each time, the way to it is half as long
        by = decided_by[decided_by[some]]
        some, by = some[by >= 0], by[by >= 0]
        decided_by[some] = by


# One slack holds of all objectives alike: the least s with which γ + s and c + s are true of what is returned. Where
# the same s is true of the others alone, exact objectives are promised as they were asked for. That is looked at, and
# not assumed: where an arm is beaten by just what is known exactly, it needs the slack too. Proof: theory.md, (o).


def promised_now(
    intervals: ArmIntervals,
    verdicts: Verdicts,
    accuracy: Floats,
    coverage: Floats,
    margin: Floats,
    limits: LimitRule | None = None,
    goal: str = "front",
    *,
    exact: Bools,
) -> tuple[Floats, Floats]:
    """Return accuracy and coverage (M,) with which the kept arms could be returned, whatever else is open."""
    alive = np.flatnonzero(verdicts.codes != Verdict.BEATEN)
    wanted, M = Goal.of(accuracy, coverage, goal, margin), len(accuracy)
    # Kept arms are feasible, and of the others upper ends alone are read: limits change nothing here.
    if intervals.apart is not None:
        columns = intervals.as_columns()[:, :, :M]
        return promised_of_pairs(columns, alive, verdicts.front[alive], wanted)
    read = _as_read(intervals, wanted)
    return promised_amounts(read.lower[alive, :M], read.upper[alive, :M], verdicts.front[alive], wanted, exact)


def promised(lower: Floats, upper: Floats, inside: Bools, goal: Goal) -> tuple[float, float]:
    """Return the slacks of accuracy and coverage of arms `inside`, of alive ones; ∞ if none is, or one is unknown."""
    _, short = find_strongest_rivals(lower[inside], upper, goal.accuracy, np.flatnonzero(inside))
    accuracy = float(np.max(short)) if len(short) else 0.0
    return accuracy, worst_uncovered(upper[~inside], lower[inside], goal.coverage)


def promised_amounts(lower: Floats, upper: Floats, inside: Bools, goal: Goal, exact: Bools) -> tuple[Floats, Floats]:
    """Return accuracy and coverage (M,) that hold of arms `inside`, of alive ones; `exact` (M,) values are exact."""
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


def _spared(wanted: Floats, slack: float, exact: Bools) -> Floats:
    """Return what was wanted, with the slack, rounded up, where it is not exact."""
    return np.where(exact, wanted, np.nextafter(wanted + slack, np.inf))
