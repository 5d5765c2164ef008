"""The choice of what to sample next: the arm by whose bound most can be gained per cost. No part of a proof."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import inlined, kernel
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.intervals import ESTIMATE, HIGH_FLOOR, LOW_FLOOR, REFUTED
from frontguard.evidence.samples import Table
from frontguard.pareto.relations import (
    BUDGET,
    LOWEST,
    RUNNING,
    Standing,
    bound_of,
    gain_above,
    gain_below,
    lasting_difference,
    sharper,
)

PATIENCE = 100
"""Pulls before which what a sample seems to promise for ever is not believed."""

LONG_PATIENCE = 5000
"""The same for an arm of which nothing is known because so many of its pulls fail: that may change with a few more."""

WEARY = 1000
"""Pulls after which a candidate that a kept arm covers is given up; and after which it is believed that no number of
them says whether an arm is feasible."""

POLISH = 0.1
"""The share of a tolerance by which an estimate may still move over a doubling of pulls to be called steady."""

CHEAPEST = 1e-3
"""The share of the dearest arm's cost below which none counts: a free arm is not pulled for ever."""

AT_A_TIME = 0.03
"""The share of the wanted arms, the most urgent ones, that a batch samples at least: so deciding stays cheap."""


@inlined
def who_gains(intervals: Floats, arms: Table, i: int, j: int, d: int, pulls_of_i: float, pulls_of_j: float) -> int:
    """Return by whose next pull H_j − L_i falls more for its cost in objective d: 0 that of i, 1 that of j, 2 alike.

    Ends come nearer to where they will be like 1/√n, so that a pull takes about 1/(2n) off what can still be gained.
    """
    of_i = gain_below(intervals, i, d) / (max(pulls_of_i, 1.0) * arms[i].cost)
    of_j = gain_above(intervals, j, d) / (max(pulls_of_j, 1.0) * arms[j].cost)
    return 2 if of_i == of_j else 0 if of_i > of_j else 1


@inlined
def where_it_counts(intervals: Floats, tolerance: Floats, i: int, j: int, every: bool) -> tuple[int, float]:
    """Return the objective in which H_j − L_i comes nearest to its tolerance for ever, and what will be missing.

    If `every` objective has to come down to its tolerance: the one in which it is farthest from it now, and what will
    be missing in the worst.
    """
    where, extreme, limit = 0, np.inf, -np.inf if every else np.inf
    ahead = False
    for d in range(tolerance.shape[0]):
        ahead |= lasting_difference(intervals, j, i, d, every) > 0.0
    for d in range(tolerance.shape[0]):
        in_the_end = lasting_difference(intervals, j, i, d, every) - tolerance[d]
        if in_the_end == 0.0 and tolerance[d] == 0.0 and ahead and not every:
            in_the_end = np.inf  # to be as good is not enough where j is better elsewhere: see `shortfall`
        limit = max(limit, in_the_end) if every else min(limit, in_the_end)
        key = -(bound_of(intervals, j, i, d, every) - tolerance[d]) if every else in_the_end
        if key < extreme:
            where, extreme = d, key
    return where, limit


@kernel
def helpful(arms: Table, intervals: Floats, tolerance: Floats, i: int, j: int, every: bool) -> int:
    """Return by whose pulls more is gained where it counts: 0 i's (for L_i), 1 j's (for H_j), 2 both, −1 none."""
    where, limit = where_it_counts(intervals, tolerance, i, j, every)
    if intervals[i, REFUTED, where] == 2.0 or intervals[j, REFUTED, where] == 2.0:
        return -1  # for good
    gain = gain_below(intervals, i, where) + gain_above(intervals, j, where)
    who = who_gains(intervals, arms, i, j, where, float(arms[i].pulls), float(arms[j].pulls))
    if sharper(intervals, j, i, where, every):  # pairs are decided by blocks that both have
        who = 2 if arms[i].pulls == arms[j].pulls else 0 if arms[i].pulls < arms[j].pulls else 1
    # What has many pulls is believed. Only those that would be sampled are asked: the other one may never get more.
    pulls = arms[i].pulls if who == 0 else arms[j].pulls if who == 1 else min(arms[i].pulls, arms[j].pulls)
    if limit > 0.0 and gain <= limit and pulls >= (PATIENCE if gain < np.inf else LONG_PATIENCE):
        return -1
    return who


@inlined
def ask_for(arms: Table, i: int, urgency: float) -> None:
    """Want an arm this urgently, if it is not wanted more urgently already."""
    arms[i].urgency = max(arms[i].urgency, urgency) if arms[i].wanted == 1 else urgency
    arms[i].wanted = 1


@kernel
def want(standing: Standing, tolerance: Floats, i: int, j: int, every: bool) -> bool:
    """Want the one of i (for L_i) and j (for H_j) by whose next pull more is gained for its cost; both if it is one.

    It is as urgent as much is missing there, in units of `scales`. Returns False if there is nothing to be gained that
    would be enough.
    """
    arms, intervals = standing.arms, standing.intervals
    who = helpful(arms, intervals, tolerance, i, j, every)
    if who < 0:
        return False
    where, _ = where_it_counts(intervals, tolerance, i, j, every)
    missing = bound_of(intervals, j, i, where, every) - tolerance[where]
    urgency = missing / standing.scales[where] if missing == missing else np.inf
    if who != 1:
        ask_for(arms, i, urgency)
    if who != 0:
        ask_for(arms, j, urgency)
    return True


@kernel
def measure_scales(standing: Standing) -> None:
    """Measure how far apart alive arms' estimates are in each objective, the unit of what is missing; 1 if unknown."""
    intervals, record = standing.intervals, standing.control[0]
    for d in range(intervals.shape[2]):
        least, most = np.inf, -np.inf
        for a in range(record.alive):
            estimate = intervals[standing.alive[a], ESTIMATE, d]
            if np.isfinite(estimate):
                least, most = min(least, estimate), max(most, estimate)
        standing.scales[d] = most - least if 0.0 < most - least < np.inf else 1.0


@inlined
def want_itself(arms: Table, intervals: Floats, i: int) -> bool:
    """Want an arm until it is known whether it is feasible. Returns False if that will never be known."""
    never_feasible = intervals[i, LOW_FLOOR, 0] == -np.inf
    never_infeasible = intervals[i, HIGH_FLOOR, 0] > LOWEST
    if arms[i].pulls >= WEARY and never_feasible and never_infeasible:
        return False
    ask_for(arms, i, np.inf)
    return True


@inlined
def wanted_arms(standing: Standing) -> tuple[Ints, Ints]:
    """Return the wanted arms and pulls of each in a batch: a first one until it can have an interval, then more."""
    arms, record = standing.arms, standing.control[0]
    wanted, counts = np.empty(record.alive, np.int64), np.empty(record.alive, np.int64)
    size = 0
    for i in np.sort(standing.alive[: record.alive]):
        if arms[i].wanted == 1:
            pulls = arms[i].pulls
            grown = pulls + max(1, int(np.ceil(record.growth * pulls)))
            wanted[size] = i
            counts[size] = min(record.first if pulls < record.first else grown, record.max_per_arm) - pulls
            size += 1
    return wanted[:size], counts[:size]


@inlined
def next_batch(standing: Standing) -> tuple[Ints, Ints]:
    """Return the most urgent wanted arms, those equally urgent and the share `AT_A_TIME` at least, and their pulls."""
    arms = standing.arms
    wanted, counts = wanted_arms(standing)
    if wanted.size == 0:
        return wanted, counts
    urgencies = np.empty(wanted.size)
    for n in range(wanted.size):
        urgencies[n] = arms[wanted[n]].urgency
    fewest = max(1, int(np.ceil(AT_A_TIME * wanted.size)))
    least = np.sort(urgencies)[wanted.size - fewest]
    size = 0
    for n in range(wanted.size):
        if urgencies[n] >= least:
            wanted[size], counts[size] = wanted[n], counts[n]
            size += 1
    return wanted[:size], counts[:size]


@kernel
def keep_to_budget(standing: Standing) -> None:
    """Stop when the wanted arms have used up their budgets, or all arms together theirs."""
    arms, record = standing.arms, standing.control[0]
    affordable = 0
    for a in range(record.alive):
        i = standing.alive[a]
        if arms[i].wanted == 1:
            if arms[i].pulls >= record.max_per_arm:
                arms[i].wanted = 0
            else:
                affordable += 1
    if affordable == 0 or record.pulls >= record.max_pulls:
        record.stop = BUDGET


# Several workers, and costs of pulls ---------------------------------------------------------------------------------


def relative_costs(costs: npt.ArrayLike) -> Floats:
    """Return costs of pulls (K,) as shares of the largest, from `CHEAPEST` up; unknown ones, NaN, as the median.

    >>> relative_costs([2.0, 0.5, 0.0, np.nan]).tolist(), relative_costs([np.nan, np.nan]).tolist()
    ([1.0, 0.25, 0.001, 0.25], [1.0, 1.0])
    """
    given = np.asarray(costs, np.float64)
    known = given[np.isfinite(given)]
    most = float(known.max(initial=0.0))
    if most <= 0.0:
        return np.ones(len(given))
    filled = np.where(np.isfinite(given), given, np.median(known))
    return np.maximum(filled / most, CHEAPEST)


def most_urgent(standing: Standing, outstanding: Ints, at_least: int) -> tuple[Ints, Ints]:
    """Return so many pulls of wanted arms, the most urgent first: arms, and pulls beside `outstanding` (K,) ones."""
    batch, batch_counts = next_batch(standing)
    if np.maximum(batch_counts - outstanding[batch], 0).sum() >= at_least:
        return batch, batch_counts
    wanted, counts = wanted_arms(standing)
    order = np.argsort(-standing.arms["urgency"][wanted], kind="stable")
    left = np.cumsum(np.maximum(counts - outstanding[wanted], 0)[order])
    chosen = np.sort(order[: max(len(batch), int(np.searchsorted(left, at_least)) + 1)])
    return wanted[chosen], counts[chosen]


def worth_pulling(standing: Standing, outstanding: Ints, at_least: int, probe: int | None) -> Ints:
    """Return arms worth pulling, `at_least` so many pulls, whatever is out; a new arm begins with `probe` pulls."""
    wanted, counts = most_urgent(standing, outstanding, at_least)
    if not len(wanted):
        return wanted
    record, have, out = standing.control[0], standing.arms["pulls"][wanted], outstanding[wanted]
    if probe is not None:
        few = min(probe, int(record["first"])) - have
        counts = np.where(have < probe, np.minimum(counts, few), counts)
    counts = np.maximum(counts - out, 0)
    asked: Ints = np.repeat(wanted, counts)
    if len(asked) < at_least:
        more = spread_evenly(at_least - len(asked), wanted, have + out + counts, int(record["max_per_arm"]))
        asked = np.concatenate([asked, more])
    return np.sort(asked)


def spread_evenly(pulls: int, wanted: Ints, at: Ints, most: int) -> Ints:
    """Return arms for that many pulls, each for the wanted one with the fewest `at` first, up to `most` each.

    >>> spread_evenly(4, np.array([3, 7]), np.array([5, 6]), 8).tolist()
    [3, 3, 3, 7]
    """
    at = at.copy()
    asked = np.empty(pulls, np.int64)
    for n in range(pulls):
        least = int(np.argmin(at))
        if at[least] >= most:
            asked = asked[:n]
            break
        asked[n] = wanted[least]
        at[least] += 1
    return np.sort(asked)


# An arm is looked at whenever its pulls have doubled. Once none of its estimates has moved by more than a share of the
# tolerance since, it is *steady*, for good.


class Steadiness(NamedTuple):
    """The steadiness of K arms' M estimates."""

    steady: Bools  # (K,)
    marked: Ints  # (K,): pulls at which estimates were noted last; 0 for never ...
    marks: Floats  # (K, M): ... and what they were


def nothing_steady(arms: int, objectives: int) -> Steadiness:
    """Return the steadiness of arms that were not looked at yet."""
    return Steadiness(np.zeros(arms, np.bool_), np.zeros(arms, np.int64), np.zeros((arms, objectives)))


def looked_at(known: Steadiness, estimates: Floats, pulls: Ints, there: Bools, most: Floats) -> Steadiness:
    """Return the steadiness after estimates (K, M) and pulls (K,) of arms `there`, moves up to `most` (M,); new arrays.

    >>> known, there, most = nothing_steady(1, 1), np.array([True]), np.array([0.1])
    >>> for pulls, estimate in ((10, 5.0), (19, 9.0), (20, 5.3), (40, 5.35)):
    ...     known = looked_at(known, np.array([[estimate]]), np.array([pulls]), there, most)
    ...     print(pulls, int(known.marked[0]), bool(known.steady[0]))
    10 10 False
    19 10 False
    20 20 False
    40 40 True
    """
    due = there & ~known.steady & ((known.marked == 0) | (pulls >= 2 * known.marked))
    still = np.abs(estimates - known.marks) <= most  # not so where one is not known
    return Steadiness(
        steady=known.steady | (due & (known.marked > 0) & still.all(axis=1)),
        marked=np.where(due, pulls, known.marked),
        marks=np.where(due[:, None], estimates, known.marks),
    )


def want_unsteady(standing: Standing, known: Steadiness, most: Floats) -> Steadiness:
    """Want arms whose estimates move by more than `most` (M,) while a budget is left; the steadiness now."""
    record, pulls = standing.control[0], standing.arms["pulls"]
    there = np.zeros(len(pulls), np.bool_)
    there[standing.alive[: record["alive"]]] = True
    now = looked_at(known, standing.intervals[:, ESTIMATE, : len(most)], pulls, there, most)
    more = there & ~now.steady & (pulls < record["max_per_arm"])
    standing.arms["wanted"], standing.arms["urgency"] = more, 0.0
    if more.any() and record["pulls"] < record["max_pulls"]:
        standing.control["stop"] = RUNNING
    return now
