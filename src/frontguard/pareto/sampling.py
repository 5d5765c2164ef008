"""What to sample next: of each obstacle the arm by whose bound more can still be gained per cost, the hardest first.

Nothing here is part of a proof: whatever is sampled, the boxes hold. `pareto.rule` says which arms stand in the way.
"""

from __future__ import annotations

import numpy as np

from frontguard._common.compiled import inlined, kernel
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.boxes import ESTIMATE, HIGH_FLOOR, LOW_FLOOR
from frontguard.evidence.samples import Table
from frontguard.pareto.feasible import LOWEST
from frontguard.pareto.relations import (
    bound_of,
    gain_above,
    gain_below,
    lasting_difference,
    sharper,
)
from frontguard.pareto.standing import BUDGET, Standing

PATIENCE = 100
"""Pulls before which what a sample seems to promise for ever is not believed."""

LONG_PATIENCE = 5000
"""The same for an arm of which nothing is known because so many of its pulls fail: that may change with a few more."""

WEARY = 1000
"""Pulls after which a candidate that is not in, but covered by one that is, need not be brought in; and after which
it is believed that no number of them says whether an arm keeps to its limits."""

AT_A_TIME = 0.03
"""The share of the wanted arms, the most urgent ones, that a batch samples at least: so deciding stays cheap."""


@inlined
def who_gains(boxes: Floats, arms: Table, i: int, j: int, d: int, pulls_of_i: float, pulls_of_j: float) -> int:
    """By whose next pull H_j − L_i falls more for its cost in objective d: 0 that of i, 1 that of j, 2 either's alike.

    Ends come nearer to where they will be like 1/√n, so that a pull takes about 1/(2n) off what can still be gained.
    """
    of_i = gain_below(boxes, i, d) / (max(pulls_of_i, 1.0) * arms[i].cost)
    of_j = gain_above(boxes, j, d) / (max(pulls_of_j, 1.0) * arms[j].cost)
    return 2 if of_i == of_j else 0 if of_i > of_j else 1


@inlined
def where_it_counts(boxes: Floats, tolerance: Floats, i: int, j: int, every: bool) -> tuple[int, float]:
    """The objective in which H_j − L_i comes nearest to its tolerance in the long run, and what will be missing.

    If `every` objective has to come down to its tolerance: the one in which it is farthest from it now, and what will
    be missing in the worst.
    """
    where, extreme, limit = 0, np.inf, -np.inf if every else np.inf
    ahead = False
    for d in range(tolerance.shape[0]):
        ahead |= lasting_difference(boxes, j, i, d, every) > 0.0
    for d in range(tolerance.shape[0]):
        in_the_end = lasting_difference(boxes, j, i, d, every) - tolerance[d]
        if in_the_end == 0.0 and tolerance[d] == 0.0 and ahead and not every:
            in_the_end = np.inf  # to be as good is not enough where j is better elsewhere: see `shortfall`
        limit = max(limit, in_the_end) if every else min(limit, in_the_end)
        key = -(bound_of(boxes, j, i, d, every) - tolerance[d]) if every else in_the_end
        if key < extreme:
            where, extreme = d, key
    return where, limit


@kernel
def helpful(arms: Table, boxes: Floats, tolerance: Floats, i: int, j: int, every: bool) -> int:
    """By whose pulls more is gained where it counts: 0 those of i (for L_i), 1 those of j (for H_j), 2 either's.

    −1 if there is nothing to be gained that would be enough.
    """
    where, limit = where_it_counts(boxes, tolerance, i, j, every)
    gain = gain_below(boxes, i, where) + gain_above(boxes, j, where)
    who = who_gains(boxes, arms, i, j, where, float(arms[i].pulls), float(arms[j].pulls))
    if sharper(boxes, j, i, where, every):  # pairs are decided by blocks that both have
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
    arms, boxes = standing.arms, standing.boxes
    who = helpful(arms, boxes, tolerance, i, j, every)
    if who < 0:
        return False
    where, _ = where_it_counts(boxes, tolerance, i, j, every)
    missing = bound_of(boxes, j, i, where, every) - tolerance[where]
    urgency = missing / standing.scales[where] if missing == missing else np.inf
    if who != 1:
        ask_for(arms, i, urgency)
    if who != 0:
        ask_for(arms, j, urgency)
    return True


@kernel
def measure_scales(standing: Standing) -> None:
    """How far apart the estimates of the alive arms are in each objective; 1 where that says nothing.

    Objectives have units of their own: what is missing in one is compared with what is missing in another by these.
    """
    boxes, record = standing.boxes, standing.control[0]
    for d in range(boxes.shape[2]):
        least, most = np.inf, -np.inf
        for a in range(record.alive):
            estimate = boxes[standing.alive[a], ESTIMATE, d]
            if np.isfinite(estimate):
                least, most = min(least, estimate), max(most, estimate)
        standing.scales[d] = most - least if 0.0 < most - least < np.inf else 1.0


@inlined
def want_itself(arms: Table, boxes: Floats, i: int) -> bool:
    """Want an arm until it is known whether it keeps to its limits. Returns False if that will never be known."""
    if (
        arms[i].pulls >= WEARY
        and boxes[i, LOW_FLOOR, 0] == -np.inf  # it would not be within for ever ...
        and boxes[i, HIGH_FLOOR, 0] > LOWEST  # ... nor beyond
    ):
        return False
    ask_for(arms, i, np.inf)
    return True


@inlined
def wanted_arms(standing: Standing) -> tuple[Ints, Ints]:
    """The wanted arms, in order, and how many pulls each would get in a batch.

    An arm's first batch goes on until it can have a box; later ones grow with what it has.
    """
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
    """The most urgent of the wanted arms, in order, and how many pulls each gets in the next batch.

    All that are equally urgent, and no fewer than the share `AT_A_TIME`.
    """
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
