"""The decision rule of the certified policy: flat functions over records of arms, used live and in simulation.

Every arm has a box [L, H] that contains its true quantiles at every number of pulls at once (`evidence.boxes`). With
tolerances γ (accuracy) and c (coverage) for each objective, and among the arms that are not out (*alive*):

- *out*: some alive j has H_i ≼ L_j, strictly in one objective; then i is truly dominated;
- *in*: for every alive j there is an objective with H_j − L_i ≤ γ; then no arm beats i by more than γ in every
  objective;
- *covered*: some returned k has H_i − L_k ≼ c; leaving i out does no harm.

What is returned is chosen by the point estimates and allowed by the boxes: the *candidates* are the alive arms that
no alive arm beats by a margin, beyond their doubt. The policy is certified when every candidate is in and every other
alive arm is covered by one. Until then it samples, for each arm that stands in the way, the arm itself or the rival
that decides it, by whose bound more can still be gained. A candidate that no number of pulls can bring in may be
covered instead.
"""

from __future__ import annotations

import numpy as np

from frontguard._compiled import inlined, kernel
from frontguard._typing import Floats, Ints
from frontguard.evidence.boxes import tighten
from frontguard.evidence.samples import Record, Table, push_sorted, ranked, reserve
from frontguard.verdicts import COVERED, IN, OUT, SET_ASIDE, UNDECIDED

RUNNING, CERTIFIED, BUDGET, UNREACHABLE = range(4)
STOPS = ("running", "certified", "budget", "unreachable")

LOW, HIGH, LOW_FLOOR, HIGH_FLOOR, REFUTED, PLAIN_LOW, PLAIN_HIGH = range(7)  # of a box, see `boxes.tighten`
ESTIMATE, DOUBT_LOW, DOUBT_HIGH = range(3)  # the point estimate, and how far sampling noise may have moved it

PATIENCE = 100
"""Pulls before which what a sample seems to promise for ever is not believed."""

WEARY = 1000
"""Pulls after which a candidate that is not in, but covered by one that is, need not be brought in."""

DOUBT = 0.5
"""Standard errors of a point estimate that count as doubt when candidates are chosen."""

ARM = np.dtype(
    [
        ("status", np.int64),  # a Verdict
        ("pulls", np.int64),  # failed ones included
        ("candidate", np.int64),  # 1 to be returned, 2 a candidate that cannot be brought in, 0 otherwise
        ("wanted", np.int64),  # whether the next batch samples it
        ("decided_by", np.int64),  # the arm that put it out, covers it, or stands in its way; −1 for none
    ]
)
CONTROL = np.dtype(
    [
        ("alive", np.int64),  # how many arms are not out
        ("stop", np.int64),  # RUNNING, CERTIFIED, BUDGET or UNREACHABLE
        ("pulls", np.int64),  # of all arms
        ("decisions", np.int64),
        ("most_pulls", np.int64),  # the budget of all arms together ...
        ("most_per_arm", np.int64),  # ... and of each
        ("first", np.int64),  # pulls of an arm in its first batch
        ("growth", np.float64),
        ("revive", np.int64),  # whether bounds were found false since the last decision, and arms put out by them
        ("accuracy_slack", np.float64),  # accuracy γ + this holds now ...
        ("coverage_slack", np.float64),  # ... and coverage c + this
    ]
)


@inlined
def _shortfall(boxes: Floats, tolerance: Floats, i: int, j: int) -> float:
    """min over objectives of H_j − L_i − γ: at most 0 if j cannot beat i by more than γ in every objective."""
    least = np.inf
    for d in range(tolerance.shape[0]):
        least = min(least, boxes[j, d, HIGH] - boxes[i, d, LOW] - tolerance[d])
    return least


@inlined
def _uncovered(boxes: Floats, tolerance: Floats, i: int, k: int) -> float:
    """max over objectives of H_i − L_k − c: at most 0 if k covers i."""
    most = -np.inf
    for d in range(tolerance.shape[0]):
        most = max(most, boxes[i, d, HIGH] - boxes[k, d, LOW] - tolerance[d])
    return most


@inlined
def _gain_below(boxes: Floats, i: int, d: int) -> float:
    """How much more pulls can still raise L_i in one objective; ∞ as long as nothing is known."""
    gain = boxes[i, d, LOW_FLOOR] - boxes[i, d, LOW]
    return gain if gain == gain else (0.0 if boxes[i, d, REFUTED] == 2.0 else np.inf)


@inlined
def _gain_above(boxes: Floats, j: int, d: int) -> float:
    """How much more pulls can still lower H_j in one objective; ∞ as long as nothing is known."""
    gain = boxes[j, d, HIGH] - boxes[j, d, HIGH_FLOOR]
    return gain if gain == gain else (0.0 if boxes[j, d, REFUTED] == 2.0 else np.inf)


@kernel
def _want(arms: Table, boxes: Floats, tolerance: Floats, i: int, j: int, every: bool) -> bool:
    """Want the one of i (for L_i) and j (for H_j) by which more can be gained where it counts; both if it is the same.

    It counts where H_j − L_i comes nearest to the tolerance in the long run or, if `every` objective has to come down
    to it, where it is farthest from it now. Returns False if there is nothing to be gained that would be enough.
    """
    where, extreme, limit = 0, np.inf, -np.inf if every else np.inf
    for d in range(tolerance.shape[0]):
        in_the_end = boxes[j, d, HIGH_FLOOR] - boxes[i, d, LOW_FLOOR] - tolerance[d]
        limit = max(limit, in_the_end) if every else min(limit, in_the_end)
        key = -(boxes[j, d, HIGH] - boxes[i, d, LOW] - tolerance[d]) if every else in_the_end
        if key < extreme:
            where, extreme = d, key
    of_i, of_j = _gain_below(boxes, i, where), _gain_above(boxes, j, where)
    if limit > 0.0 and of_i + of_j <= limit and min(arms[i].pulls, arms[j].pulls) >= PATIENCE:
        return False
    if of_i >= of_j:
        arms[i].wanted = 1
    if of_j >= of_i:
        arms[j].wanted = 1
    return True


@kernel
def absorb(arms: Table, control: Table, pool: Floats, columns: Table, pulled: Ints, values: Floats) -> Floats:
    """Take values (n, M) of the arms `pulled` (n,), which are in order; NaN failed. Returns the pool, or a new one."""
    M = values.shape[1]
    start = 0
    while start < pulled.shape[0]:
        i = pulled[start]
        end = start
        while end < pulled.shape[0] and pulled[end] == i:
            end += 1
        for d in range(M):
            measured = np.empty(end - start)
            count = 0
            for n in range(start, end):
                if values[n, d] == values[n, d]:
                    measured[count] = values[n, d]
                    count += 1
            pool = reserve(pool, columns, i * M + d, count)
            push_sorted(pool, columns, i * M + d, measured[:count])
        arms[i].pulls += end - start
        control[0].pulls += end - start
        start = end
    return pool


@kernel
def refresh(
    arms: Table,
    boxes: Floats,
    centres: Floats,
    control: Table,
    i: int,
    pulls: int,
    pool: Floats,
    beside: Floats,
    columns: Table,
    quantiles: Floats,
    low_ranks: Ints,
    high_ranks: Ints,
    costs: Floats,
    low_keep: Floats,
    high_keep: Floats,
) -> None:
    """Bring arm i's boxes and point estimates up to date with its sorted samples.

    Samples may have values beside the pool (see `samples.ranked`); where they have none, any array will do for it.
    `pulls` counts all that were asked for: one that failed, or has not come back yet, may be anything. (To leave those
    out that are still on their way would be wrong: which of them come first may depend on what they measure.)
    """
    M = quantiles.shape[0]
    for d in range(M):
        record: Record = columns[i * M + d]
        refuted = boxes[i, d, REFUTED]
        tighten(
            pool, beside, record, pulls, boxes[i, d],
            low_ranks[d], high_ranks[d], costs[d], low_keep[d], high_keep[d],
        )  # fmt: skip
        if boxes[i, d, REFUTED] != refuted:
            control[0].revive = 1
        have = record.count
        if have == 0:
            continue
        middle = quantiles[d] * (have - 1)
        below, above = int(np.floor(middle)), int(np.ceil(middle))
        lower, upper = ranked(pool, beside, record, below), ranked(pool, beside, record, above)
        centres[i, d, ESTIMATE] = 0.5 * lower + 0.5 * upper
        reach = DOUBT * np.sqrt(have * quantiles[d] * (1.0 - quantiles[d]))
        centres[i, d, DOUBT_LOW] = ranked(pool, beside, record, max(0, int(np.floor(middle - reach))))
        centres[i, d, DOUBT_HIGH] = ranked(pool, beside, record, min(have - 1, int(np.ceil(middle + reach))))


@kernel
def refresh_all(
    arms: Table,
    boxes: Floats,
    centres: Floats,
    control: Table,
    touched: Ints,
    outstanding: Ints,
    pool: Floats,
    beside: Floats,
    columns: Table,
    quantiles: Floats,
    low_ranks: Ints,
    high_ranks: Ints,
    costs: Floats,
    low_keep: Floats,
    high_keep: Floats,
) -> None:
    """`refresh` every arm that was touched, with the pulls of it that are outstanding (K,) counted as asked for."""
    for i in touched:
        refresh(
            arms, boxes, centres, control, i, arms[i].pulls + outstanding[i], pool, beside, columns, quantiles,
            low_ranks, high_ranks, costs, low_keep, high_keep,
        )  # fmt: skip


@kernel
def _skyline(values: Floats, side: int, alive: Ints, count: int, front: Ints) -> int:
    """Collect in `front` the alive arms whose values (K, M, side) no other's exceed everywhere. Returns how many.

    One of several equal ones is enough: the front is asked for maxima only. Arms that nothing is known of (−∞
    somewhere) cannot exceed anybody.
    """
    M = values.shape[1]
    size = 0
    for a in range(count):
        i = alive[a]
        kept = True
        for d in range(M):
            if values[i, d, side] == -np.inf:
                kept = False
        f = 0
        while kept and f < size:
            j = front[f]
            i_up_to_j, j_up_to_i = True, True
            for d in range(M):
                i_up_to_j &= values[i, d, side] <= values[j, d, side]
                j_up_to_i &= values[j, d, side] <= values[i, d, side]
            if i_up_to_j:
                kept = False
            elif j_up_to_i:
                size -= 1
                front[f] = front[size]
            else:
                f += 1
        if kept:
            front[size] = i
            size += 1
    return size


@kernel
def _put_out(arms: Table, boxes: Floats, alive: Ints, control: Table, front: Ints) -> None:
    """Put out every arm whose box lies below another's. Only arms with the highest lower bounds can do that."""
    M = boxes.shape[1]
    count = control[0].alive
    size = _skyline(boxes, LOW, alive, count, front)
    for a in range(count):
        i = alive[a]
        for f in range(size):
            j = front[f]
            if j == i:
                continue
            below, strictly = True, False
            for d in range(M):
                if boxes[i, d, HIGH] > boxes[j, d, LOW]:
                    below = False
                    break
                strictly |= boxes[i, d, HIGH] < boxes[j, d, LOW]
            if below and strictly:
                arms[i].status = OUT
                arms[i].decided_by = j
                arms[i].wanted = 0
                arms[i].candidate = 0
                break
    kept = 0
    for a in range(count):
        if arms[alive[a]].status != OUT:
            alive[kept] = alive[a]
            kept += 1
    control[0].alive = kept


@kernel
def _revive(arms: Table, alive: Ints, control: Table) -> None:
    """Let every arm be alive again: some bound that may have put one out was found to be false."""
    count = 0
    for i in range(arms.shape[0]):
        if arms[i].status != SET_ASIDE:
            arms[i].status = UNDECIDED
            alive[count] = i
            count += 1
    control[0].alive = count
    control[0].revive = 0


@kernel
def _choose_candidates(arms: Table, centres: Floats, margin: Floats, alive: Ints, count: int, front: Ints) -> None:
    """Candidates are the arms that none beats by the margin in every objective, beyond doubt."""
    size = _skyline(centres, DOUBT_LOW, alive, count, front)
    for a in range(count):
        i = alive[a]
        arms[i].candidate = 1
        arms[i].wanted = 0
        arms[i].status = UNDECIDED
        arms[i].decided_by = -1
        for f in range(size):
            j = front[f]
            beaten = j != i
            for d in range(margin.shape[0]):
                lead = centres[j, d, DOUBT_LOW] - centres[i, d, DOUBT_HIGH]
                beaten &= lead >= margin[d] and lead > 0.0
            if beaten:
                arms[i].candidate = 0
                break


@kernel
def _covered_by_one_in(arms: Table, boxes: Floats, coverage: Floats, alive: Ints, count: int, i: int) -> bool:
    """Whether an arm that is in covers arm i."""
    for a in range(count):
        k = alive[a]
        if k != i and arms[k].status == IN and _uncovered(boxes, coverage, i, k) <= 0.0:
            return True
    return False


@kernel
def decide(
    arms: Table,
    boxes: Floats,
    centres: Floats,
    alive: Ints,
    control: Table,
    accuracy: Floats,
    coverage: Floats,
    margin: Floats,
    front: Ints,
) -> None:
    """Verdicts, candidates, the certificate that holds now, and which arms to sample next. `front` (K,) is a workspace.

    O(alive · |front|): arms that are out cost nothing.
    """
    record = control[0]
    record.decisions += 1
    if record.revive == 1:
        _revive(arms, alive, control)
    _put_out(arms, boxes, alive, control, front)
    count = record.alive
    _choose_candidates(arms, centres, margin, alive, count, front)
    record.accuracy_slack, record.coverage_slack = -np.inf, -np.inf
    obstacles = 0

    size = _skyline(boxes, HIGH, alive, count, front)
    for a in range(count):
        i = alive[a]
        if arms[i].candidate == 0:
            continue
        own = False
        for f in range(size):
            own |= front[f] == i
        # The rival that could beat i most has one of the highest upper bounds; unless i itself hides it there.
        worst, rival = -np.inf, -1
        for b in range(count if own else size):
            j = alive[b] if own else front[b]
            if j != i:
                shortfall = _shortfall(boxes, accuracy, i, j)
                if shortfall > worst:
                    worst, rival = shortfall, j
                    if worst == np.inf:
                        break
        arms[i].decided_by = rival
        if worst <= 0.0:
            arms[i].status = IN

    for a in range(count):
        i = alive[a]
        if arms[i].candidate == 0:
            continue
        rival = arms[i].decided_by
        if arms[i].status != IN:
            weary = max(arms[i].pulls, arms[rival].pulls) >= WEARY
            if weary and _covered_by_one_in(arms, boxes, coverage, alive, count, i):
                arms[i].candidate = 2
                continue
            if not _want(arms, boxes, accuracy, i, rival, False):
                arms[i].candidate = 2
                continue
            obstacles += 1
        if rival >= 0:
            record.accuracy_slack = max(record.accuracy_slack, _shortfall(boxes, accuracy, i, rival))

    wanting = obstacles
    size = 0
    for a in range(count):
        if arms[alive[a]].candidate == 1:
            front[size] = alive[a]
            size += 1
    for a in range(count):
        i = alive[a]
        if arms[i].candidate == 1:
            continue
        least, nearest = np.inf, -1
        most_lead, leader = -np.inf, -1
        for f in range(size):
            k = front[f]
            uncovered = _uncovered(boxes, coverage, i, k)
            if uncovered < least or nearest < 0:
                least, nearest = uncovered, k
                if least <= 0.0 and arms[k].status == IN:
                    break
            lead = np.inf
            for d in range(coverage.shape[0]):
                lead = min(lead, centres[k, d, ESTIMATE] - centres[i, d, ESTIMATE])
            if lead > most_lead:
                most_lead, leader = lead, k
        if arms[i].candidate == 2 and least > 0.0:  # then it is returned after all, with less accuracy
            record.accuracy_slack = max(record.accuracy_slack, _shortfall(boxes, accuracy, i, arms[i].decided_by))
        else:
            record.coverage_slack = max(record.coverage_slack, least)
        if size == 0:
            obstacles += 1
            continue
        if least <= 0.0:
            arms[i].decided_by = nearest
            if arms[nearest].status == IN:
                arms[i].status = COVERED
            continue
        obstacles += 1
        rival = nearest if arms[i].candidate == 2 or leader < 0 else leader
        if arms[i].candidate == 0:
            arms[i].decided_by = rival
        if _want(arms, boxes, coverage, rival, i, True):
            wanting += 1

    if obstacles == 0:
        record.stop = CERTIFIED
    elif wanting == 0:
        record.stop = UNREACHABLE
    else:
        _keep_to_budget(arms, alive, control)


@kernel
def batch_of(arms: Table, control: Table, i: int) -> int:
    """How many pulls arm i gets in the next batch."""
    record = control[0]
    pulls = arms[i].pulls
    wanted = record.first if pulls == 0 else max(1, int(np.ceil(record.growth * pulls)))
    batch: int = min(wanted, record.most_per_arm - pulls)
    return batch


@kernel
def _keep_to_budget(arms: Table, alive: Ints, control: Table) -> None:
    """Stop when the wanted arms have used up their budgets, or all arms together theirs."""
    record = control[0]
    affordable = 0
    for a in range(record.alive):
        i = alive[a]
        if arms[i].wanted == 1:
            if arms[i].pulls >= record.most_per_arm:
                arms[i].wanted = 0
            else:
                affordable += 1
    if affordable == 0 or record.pulls >= record.most_pulls:
        record.stop = BUDGET
