"""The decision rule: verdicts, candidates, and what to sample next; live and in simulation alike.

Every arm has an interval [L, H] that contains its true quantiles at every number of pulls at once
(`evidence.intervals`). `pareto.relations` says what each relation between two arms means, also where there are
constraints; `decide` is the whole rule, step by step. Arms are *beaten* (`put_out`), *kept* (`bring_in`) or *matched*
(`cover`): docs/theory.md, (f). Those that are not beaten are *alive*.

What is returned is chosen by the point estimates and allowed by the intervals. Where the goal is the *front*, the
*candidates* (`choose_candidates`) are the alive arms that no alive arm beats by a margin, beyond their doubt. Where it
is the *list*, they are as few as seem to do (`choose_list`): from the best down, an arm is left out if one that was
chosen before covers it, or seems to with a margin of the tolerance to spare. The rule is satisfied when every candidate
is kept and every other alive arm is covered by one. Until then each arm that stands in the way wants (`want`) itself or
the rival that decides it to be sampled, by whose bound more can still be gained per pull; sampled are those of which
most is missing (`next_batch`). A candidate that no number of pulls can bring in may be covered instead (`pursue`); an
arm that none can show to be covered is returned instead where the goal is the list (`return_instead`). Whenever it is
looked at, an arm that could be kept, and that none on the list covers so far, is on it as well (`list_now`).
"""

from __future__ import annotations

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.intervals import BEST_HIGH, COLUMNS, DOUBT_LOW, ESTIMATE, HIGH, LOW
from frontguard.pareto.relations import (
    CERTIFIED,
    GIVEN_UP,
    LIST,
    NOT_RETURNED,
    RETURNED,
    UNREACHABLE,
    Goal,
    Standing,
    beaten,
    dominated,
    find_strongest_rivals,
    lasting_intervals,
    lead,
    near,
    shortfall,
    uncovered,
    worst_uncovered,
)
from frontguard.pareto.sampling import WEARY, helpful, keep_to_budget, measure_scales, want, want_itself
from frontguard.verdicts import BEATEN, EXCLUDED, INFEASIBLE, KEEP, MATCHED, OPEN, UNDECIDED

LARGE = 1e300
"""Of either sign: what is beyond is as good as it, and sums stay numbers."""


@kernel
def skyline(intervals: Floats, column: int, alive: Ints, count: int, front: Ints) -> int:
    """Collect in `front` the alive arms whose values in a column no other's exceed everywhere. Returns how many.

    One of several equal ones is enough: the front is asked for maxima only. Arms that nothing is known of (−∞
    somewhere) cannot exceed anybody.
    """
    M = intervals.shape[2]
    size = 0
    for a in range(count):
        i = alive[a]
        kept = True
        for d in range(M):
            if intervals[i, column, d] == -np.inf:
                kept = False
        f = 0
        while kept and f < size:
            j = front[f]
            i_up_to_j, j_up_to_i = True, True
            for d in range(M):
                i_up_to_j &= intervals[i, column, d] <= intervals[j, column, d]
                j_up_to_i &= intervals[j, column, d] <= intervals[i, column, d]
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
def strongest(intervals: Floats, column: int, alive: Ints, count: int, front: Ints) -> int:
    """Collect in `front` the alive arms that have to be asked, of those with the highest bounds. Returns how many.

    Those of the skyline; or all, where there is evidence on pairs, which may say most of others.
    """
    if intervals.shape[1] == COLUMNS:
        return skyline(intervals, column, alive, count, front)
    front[:count] = alive[:count]
    return count


@kernel
def put_out(standing: Standing) -> None:
    """Beat every arm that another one dominates. Only arms with the highest lower bounds can do that.

    Infeasible arms come first: no arm decides these, and they decide none. Where pairs say it, one that was beaten a
    moment before is not asked: who beat it is alive, and named.
    """
    arms, intervals, alive, front = standing.arms, standing.intervals, standing.alive, standing.front
    count = 0
    for a in range(standing.control[0].alive):
        i = alive[a]
        if arms[i].keeping == INFEASIBLE:
            arms[i].status, arms[i].decided_by = BEATEN, -1
            arms[i].wanted, arms[i].candidate = 0, NOT_RETURNED
        else:
            alive[count] = i
            count += 1
    size = strongest(intervals, LOW, alive, count, front)
    for a in range(count):
        i = alive[a]
        for f in range(size):
            j = front[f]
            if j != i and arms[j].status != BEATEN and dominated(intervals, i, j):
                arms[i].status = BEATEN
                arms[i].decided_by = j
                arms[i].wanted = 0
                arms[i].candidate = NOT_RETURNED
                break
    kept = 0
    for a in range(count):
        i = alive[a]
        if arms[i].status != BEATEN:
            alive[kept] = i
            kept += 1
            continue
        while arms[arms[i].decided_by].status == BEATEN:  # by one that was beaten after it
            arms[i].decided_by = arms[arms[i].decided_by].decided_by
    standing.control[0].alive = kept


@kernel
def revive(standing: Standing) -> None:
    """Let every arm be alive again: what may have beaten one was found to be false, or is excluded."""
    arms, record = standing.arms, standing.control[0]
    count = 0
    for i in range(arms.shape[0]):
        if arms[i].status != EXCLUDED:
            arms[i].status = UNDECIDED
            standing.alive[count] = i
            count += 1
    record.alive = count
    record.revive = 0


@kernel
def choose_candidates(standing: Standing, margin: Floats) -> None:
    """Candidates are the arms that none beats by the margin in every objective, beyond doubt."""
    arms, intervals, alive, front = standing.arms, standing.intervals, standing.alive, standing.front
    count = standing.control[0].alive
    size = skyline(intervals, DOUBT_LOW, alive, count, front)
    for a in range(count):
        i = alive[a]
        arms[i].candidate = RETURNED
        arms[i].wanted = 0
        arms[i].status = UNDECIDED
        arms[i].decided_by = -1
        for f in range(size):
            j = front[f]
            if j != i and beaten(intervals, margin, i, j):
                arms[i].candidate = NOT_RETURNED
                break


@kernel
def best_first(intervals: Floats, arms: Ints, coverage: Floats) -> Ints:
    """Return these arms in the order in which they are asked whether they are to be on the list.

    The order rises with every objective, so that an arm which another one is better than everywhere comes after it. It
    is that of Σ (estimate / coverage): where two arms could each do for the other, the one goes first that is better by
    more tolerances in all, and with two objectives no kept arm is one that a later one does for. Objectives without a
    tolerance come first, one after another: there, doing for another one is an order by itself. Equal ones are taken by
    their number. `judge.find_best_first` is the same for a million arms.
    """
    M = coverage.shape[0]
    order = np.sort(arms)
    total = np.zeros(order.size)
    for a in range(order.size):
        for d in range(M):
            if coverage[d] > 0.0:
                total[a] += min(max(intervals[order[a], ESTIMATE, d] / coverage[d], -LARGE), LARGE)
    # Sorted by what counts least first: what comes after keeps the order of equal ones.
    places = np.arange(order.size)
    for tolerated in range(2):
        if tolerated == 1:
            places = places[np.argsort(-total[places], kind="mergesort")]
        for e in range(M):
            d = M - 1 - e
            if (coverage[d] > 0.0) == (tolerated == 0):
                places = places[np.argsort(-intervals[order[places], ESTIMATE, d], kind="mergesort")]
    return order[places]


@kernel
def choose_list(standing: Standing, goal: Goal) -> None:
    """Candidates are, from the best down, arms that no candidate before covers, or seems to: that one decides them."""
    arms, intervals, front = standing.arms, standing.intervals, standing.front
    size = 0
    for i in best_first(intervals, standing.alive[: standing.control[0].alive], goal.coverage):
        arms[i].candidate = RETURNED
        arms[i].wanted = 0
        arms[i].status = UNDECIDED
        arms[i].decided_by = -1
        for f in range(size):
            k = front[f]
            if near(intervals, goal.margin, i, k) or uncovered(intervals, goal.coverage, i, k) <= 0.0:
                arms[i].candidate = NOT_RETURNED
                arms[i].decided_by = k
                break
        if arms[i].candidate == RETURNED:
            front[size] = i
            size += 1


@kernel
def bring_in(standing: Standing, accuracy: Floats, every: bool) -> None:
    """Keep candidates that their strongest rival, or `every` one, cannot beat by more than γ everywhere."""
    arms, intervals, alive, front = standing.arms, standing.intervals, standing.alive, standing.front
    count = standing.control[0].alive
    size = strongest(intervals, BEST_HIGH, alive, count, front)
    for a in range(count):
        i = alive[a]
        if arms[i].candidate == NOT_RETURNED and not every:
            continue
        own = False
        for f in range(size):
            own |= front[f] == i
        # That rival has one of the highest upper bounds; unless i itself hides it there.
        worst, rival = -np.inf, -1
        for b in range(count if own else size):
            j = alive[b] if own else front[b]
            if j != i:
                short = shortfall(intervals, accuracy, i, j)
                if short > worst:
                    worst, rival = short, j
                    if worst == np.inf:
                        break
        arms[i].rival = rival
        arms[i].inside = worst <= 0.0 and arms[i].keeping != OPEN  # which may have no rival at all
        if arms[i].candidate != NOT_RETURNED:
            arms[i].decided_by = rival
            if arms[i].inside == 1:
                arms[i].status = KEEP


@kernel
def want_in(standing: Standing, goal: Goal, i: int) -> bool:
    """Want what brings arm i in, its limits first; False if no number of pulls does, or need do."""
    arms, rival = standing.arms, standing.arms[i].rival
    limited = arms[i].keeping == OPEN
    weary = max(arms[i].pulls, arms[i if limited else rival].pulls) >= WEARY
    if weary and covered_by_one_in(standing, goal.coverage, i):
        return False
    if limited:
        return want_itself(arms, standing.intervals, i)
    return want(standing, goal.accuracy, i, rival, False)


@kernel
def count_short(standing: Standing, goal: Goal, i: int) -> None:
    """Let the accuracy that holds now be that of arm i too."""
    record, rival = standing.control[0], standing.arms[i].rival
    if standing.arms[i].keeping == OPEN:
        record.accuracy_slack = np.inf
    elif rival >= 0:
        record.accuracy_slack = max(record.accuracy_slack, shortfall(standing.intervals, goal.accuracy, i, rival))


@kernel
def pursue(standing: Standing, goal: Goal) -> int:
    """Want what brings the open candidates in, or give them up: how many are still open.

    Given up are those that no number of pulls can bring in, and, after many pulls, those that a kept one covers.
    """
    arms, alive = standing.arms, standing.alive
    still_open = 0
    for a in range(standing.control[0].alive):
        i = alive[a]
        if arms[i].candidate == NOT_RETURNED:
            continue
        if arms[i].status != KEEP:
            if not want_in(standing, goal, i):
                arms[i].candidate = GIVEN_UP
                continue
            still_open += 1
        count_short(standing, goal, i)
    return still_open


@kernel
def covered_by_one_in(standing: Standing, coverage: Floats, i: int) -> bool:
    """Tell whether a kept arm covers arm i."""
    for a in range(standing.control[0].alive):
        k = standing.alive[a]
        if k != i and standing.arms[k].status == KEEP and uncovered(standing.intervals, coverage, i, k) <= 0.0:
            return True
    return False


@kernel
def nearest_covering(standing: Standing, coverage: Floats, among: Ints, i: int) -> tuple[int, float]:
    """Return the one `among` arms, a kept one first, that comes nearest to covering i, and how far it is; −1, ∞."""
    nearest, least, covering = -1, np.inf, -1
    for k in among:
        missing = uncovered(standing.intervals, coverage, i, k)
        if missing < least or nearest < 0:
            nearest, least = k, missing
        if covering < 0 and missing <= 0.0 and standing.arms[k].status == KEEP:
            covering = k
    return (covering if covering >= 0 else nearest), least


@kernel
def leading(intervals: Floats, among: Ints, i: int) -> int:
    """Return of the arms `among` the one that leads i most in the point estimates; −1 if none can be compared."""
    leader, most = -1, -np.inf
    for k in among:
        by = lead(intervals, k, i)
        if by > most:
            leader, most = k, by
    return leader


@kernel
def collect_returned(standing: Standing) -> int:
    """Collect the arms to be returned in `front`: how many."""
    size = 0
    for a in range(standing.control[0].alive):
        if standing.arms[standing.alive[a]].candidate == RETURNED:
            standing.front[size] = standing.alive[a]
            size += 1
    return size


@kernel
def hoped_for(standing: Standing, goal: Goal, returned: Ints, nearest: int, i: int) -> int:
    """Return by which of the returned arms an arm that none of them covers yet is to be covered.

    The one for which it was left out of the list; else the one that leads it most in the point estimates, or failing
    that the nearest.
    """
    arms = standing.arms
    if arms[i].candidate != NOT_RETURNED:
        return nearest
    chosen: int = arms[i].decided_by
    if goal.kind[0] == LIST and chosen >= 0 and arms[chosen].candidate == RETURNED:
        return chosen
    leader = leading(standing.intervals, returned, i)
    return leader if leader >= 0 else nearest


@kernel
def cannot_be_covered(standing: Standing, goal: Goal, returned: Ints, i: int) -> bool:
    """Tell whether no returned arm covers i, and no number of pulls shows that the one it is hoped of does."""
    nearest, missing = nearest_covering(standing, goal.coverage, returned, i)
    if missing <= 0.0:
        return False
    if nearest < 0:
        return True
    by = hoped_for(standing, goal, returned, nearest, i)
    return helpful(standing.arms, standing.intervals, goal.coverage, by, i, True) < 0


@kernel
def spare_covering(standing: Standing, coverage: Floats, order: Ints, i: int) -> int:
    """Return the first arm in this order that may be returned, is not meant to be, and covers i; −1 for none."""
    arms = standing.arms
    for k in order:
        if arms[k].inside == 1 and arms[k].status != KEEP and uncovered(standing.intervals, coverage, i, k) <= 0.0:
            return int(k)
    return -1


@kernel
def return_instead(standing: Standing, goal: Goal) -> int:
    """Return the arms that were left out of the list and that no number of pulls can show to be covered: how many open.

    In the place of one that cannot be brought in either, one that may be returned and covers it is, if there is any.
    """
    arms = standing.arms
    order = best_first(standing.intervals, standing.alive[: standing.control[0].alive], goal.coverage)
    size = collect_returned(standing)
    still_open = 0
    for i in order:
        if arms[i].candidate != NOT_RETURNED or not cannot_be_covered(standing, goal, standing.front[:size], i):
            continue
        if arms[i].inside == 1:
            arms[i].status = KEEP
        elif want_in(standing, goal, i):
            still_open += 1
        else:
            continue
        arms[i].candidate, arms[i].decided_by = RETURNED, arms[i].rival
        count_short(standing, goal, i)
        standing.front[size] = i
        size += 1
    for i in order:
        if arms[i].candidate != RETURNED and cannot_be_covered(standing, goal, standing.front[:size], i):
            k = spare_covering(standing, goal.coverage, order, i)
            if k >= 0:
                arms[k].status, arms[k].candidate, arms[k].decided_by = KEEP, RETURNED, arms[k].rival
                count_short(standing, goal, k)
                standing.front[size] = k
                size += 1
    return still_open


@kernel
def cover(standing: Standing, goal: Goal) -> tuple[int, int]:
    """Cover the arms that are not returned: how many are still open, and how many of those more pulls could help."""
    arms, intervals, alive = standing.arms, standing.intervals, standing.alive
    record = standing.control[0]
    size = collect_returned(standing)
    returned = standing.front[:size]
    still_open, wanting = 0, 0
    for a in range(record.alive):
        i = alive[a]
        if arms[i].candidate == RETURNED:
            continue
        nearest, missing = nearest_covering(standing, goal.coverage, returned, i)
        if arms[i].candidate == GIVEN_UP and missing > 0.0:  # then it is returned after all, with less accuracy
            limited = arms[i].keeping == OPEN
            short = np.inf if limited else shortfall(intervals, goal.accuracy, i, arms[i].decided_by)
            record.accuracy_slack = max(record.accuracy_slack, short)
        else:
            record.coverage_slack = max(record.coverage_slack, missing)
        if size > 0 and missing <= 0.0:
            arms[i].decided_by = nearest
            if arms[nearest].status == KEEP:
                arms[i].status = MATCHED
            continue
        still_open += 1
        if size == 0:
            wanting += arms[i].keeping == OPEN and want_itself(arms, intervals, i)
            continue
        rival = hoped_for(standing, goal, returned, nearest, i)
        if arms[i].candidate == NOT_RETURNED:
            arms[i].decided_by = rival
        wanting += want(standing, goal.coverage, rival, i, True)
    return still_open, wanting


@kernel
def list_now(standing: Standing, goal: Goal) -> None:
    """Put on the list, as if nothing more were measured, also arms that could be kept and that none on it covers.

    So are those that could be kept and alone cover what would be open otherwise.
    """
    arms, intervals = standing.arms, standing.intervals
    order = best_first(intervals, standing.alive[: standing.control[0].alive], goal.coverage)
    size = 0
    for i in order:
        if arms[i].status == KEEP:
            standing.front[size] = i
            size += 1
    for adding in range(2):  # those that could be kept may join, and then the others are looked at
        for i in order:
            if arms[i].status != UNDECIDED or (adding == 0 and arms[i].inside == 0):
                continue
            nearest, missing = nearest_covering(standing, goal.coverage, standing.front[:size], i)
            if missing <= 0.0:
                arms[i].status, arms[i].decided_by = MATCHED, nearest
                continue
            k = i if adding == 0 else spare_covering(standing, goal.coverage, order, i)
            if k >= 0:
                arms[k].status, arms[k].decided_by = KEEP, arms[k].rival
                standing.front[size] = k
                size += 1
            if k >= 0 and k != i:
                arms[i].status, arms[i].decided_by = MATCHED, k


@kernel
def decide(standing: Standing, goal: Goal) -> None:
    """Update verdicts, candidates, the certificate, and which arms to sample next: O(alive · |front|)."""
    record = standing.control[0]
    record.decisions += 1
    if record.revive == 1:
        revive(standing)
    put_out(standing)
    listing = goal.kind[0] == LIST
    if listing:
        choose_list(standing, goal)
    else:
        choose_candidates(standing, goal.margin)
    record.accuracy_slack, record.coverage_slack = -np.inf, -np.inf
    bring_in(standing, goal.accuracy, listing)
    measure_scales(standing)
    not_in = pursue(standing, goal)
    if listing:
        not_in += return_instead(standing, goal)
    not_covered, wanting = cover(standing, goal)
    if listing:
        list_now(standing, goal)
    if not_in + not_covered == 0:
        record.stop = CERTIFIED
    elif not_in + wanting == 0:
        record.stop = UNREACHABLE
    else:
        keep_to_budget(standing)


def reachable(standing: Standing, goal: Goal) -> tuple[float, float]:
    """Return the slacks of accuracy and coverage that candidates would have for ever, if samples go on as they are."""
    alive = standing.alive[: standing.control["alive"][0]]
    lasting = lasting_intervals(standing.intervals)[alive]
    low, high = lasting[:, LOW], lasting[:, HIGH]
    returned = standing.arms["candidate"][alive] != NOT_RETURNED
    _, short = find_strongest_rivals(low[returned], high, goal.accuracy, np.flatnonzero(returned))
    return float(np.max(short, initial=-np.inf)), worst_uncovered(high[~returned], low[returned], goal.coverage)
