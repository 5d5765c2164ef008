"""A cheap guess of how many pulls a certified policy still needs.

It lets the policy go on in thought, as if the samples kept the proportions that they have: with n' pulls the bounds of
an arm would be the values that now have the ranks q(n')/n' of its sample, so that they close in on their floors like
1/√n, in the way of the rewards' own shape. For each arm that stands in the way of the certificate, whichever of it and
of the rival that decides it can gain more is pulled some more, until the intervals allow what is to be returned.
Nothing is drawn at random, nothing is measured, and the policy is left as it is. How good it is stands in
docs/alarms.md; `likely` makes a range of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.confidence_sequences import read_rank, taken_away
from frontguard.evidence.intervals import (
    BEST_HIGH,
    COLUMNS,
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    REFUTED,
    lasting_bounds,
    usable_shifts,
)
from frontguard.evidence.kinds import LARGEST, IntervalRule
from frontguard.evidence.quantiles import with_all_shifts
from frontguard.evidence.samples import Record, Samples, Table, ranked
from frontguard.evidence.statistics import QUANTILE, interval_of
from frontguard.pareto.relations import (
    CERTIFIED,
    FRONT,
    NOT_RETURNED,
    RETURNED,
    UNREACHABLE,
    Goal,
    LimitRule,
    Standing,
    bound_of,
    floor_of_pair,
    lasting_difference,
    sharper,
    shortfall,
    uncovered,
    veil_arm,
)
from frontguard.pareto.rule import nearest_covering, strongest
from frontguard.pareto.sampling import where_it_counts, who_gains
from frontguard.policies.certified import Certified
from frontguard.verdicts import INFEASIBLE, KEEP, OPEN

STEP = 1.2
"""By how much the pulls of an arm grow at a time, in thought."""

FARTHEST = 100.0
"""Times the pulls of an arm beyond which its sample says nothing."""

DOUBT = 0.3
"""Share of what is still to be gained by which the slack between tolerances and floors may be misjudged."""

LEAST, MOST, MOST_OF_PULLS = 0.4, 2.0, 0.15
"""The range that holds four times out of five: these multiples of what was foreseen, and a share of the pulls so far,
as a study takes more than it seems near its end. Found by simulation: docs/run.md."""

SHRINKING = 0.7
"""The power of the number of pairs with which what is left open of a difference is taken to shrink."""

REACHED, BEYOND_SIGHT = range(2)

Outlook = Literal["certified", "unreachable", "unmeasured", "undecided", "infeasible", "foreseen"]


@dataclass(frozen=True)
class PullForecast:
    """The number of pulls until certified, or None, and the `outlook`: why, and what takes longest.

    `of_arms` (K,) says of which arms these would be. `outlook`: it is certified; no number of pulls would be enough;
    `unmeasured` arms have no pulls yet; nothing has been decided; `arms` show no end; or `arms` will take most.
    """

    pulls_left: int | None
    outlook: Outlook
    arms: tuple[int, ...] = ()
    unmeasured: int = 0
    of_arms: Floats | None = field(default=None, repr=False, compare=False)


def likely(pulls_left: int, pulls: int) -> tuple[int, int]:
    """Return the range of pulls that it will likely take, where so many are foreseen after so many `pulls`.

    >>> likely(1000, 400), likely(1, 2000), likely(0, 2000)
    ((400, 2060), (1, 302), (0, 0))
    """
    if not pulls_left:
        return 0, 0
    return max(1, round(LEAST * pulls_left)), round(MOST * pulls_left + MOST_OF_PULLS * pulls)


def likely_cost(cost_left: float, spent: float) -> tuple[float, float]:
    """Return the same in what pulls cost, where so much is foreseen after so much was spent."""
    return LEAST * cost_left, MOST * cost_left + MOST_OF_PULLS * spent if cost_left else 0.0


class Thought(NamedTuple):
    """A policy that goes on in thought."""

    standing: Standing  # with intervals of its own, which the rule reads, and which shrink as pulls grow
    known: Floats  # those as they are (K, COLUMNS, C); the same where there are no limits
    limits: LimitRule
    start: Floats  # what the rule read before
    pulls: Floats  # (K,) of each arm in thought
    samples: Samples
    rule: IntervalRule


@kernel
def _at_rank(samples: Samples, record: Record, failed: int, rank: float, from_above: bool) -> float:
    """Return the value of a rank, which need not be whole, from below or above; failed ones come before all."""
    place = rank - failed - 1.0
    if place < 0.0 or record.count == 0:
        return -np.inf
    near = min(int(place), record.count - 1)
    far = min(near + 1, record.count - 1)
    share = place - near if far > near else 0.0
    value: float
    if from_above:
        last = record.count - 1
        value = -((1.0 - share) * ranked(samples, record, last - near) + share * ranked(samples, record, last - far))
    else:
        value = (1.0 - share) * ranked(samples, record, near) + share * ranked(samples, record, far)
    return value


@kernel
def _read_ends(thought: Thought, i: int, d: int, row: int, low: float, high: float) -> tuple[float, float]:
    """Return ends of arm i in column d, `low` and `high` now, with its pulls of the thought, in present proportions."""
    samples, rule, pulls = thought.samples, thought.rule, thought.pulls[i]
    interval, have = thought.known[i, :, d], thought.standing.arms[i].pulls
    record: Record = samples.columns[i * thought.known.shape[2] + d]
    if rule.kinds[row] != QUANTILE:
        if interval[REFUTED] == 0.0 and have > 0:
            found_low, found_high = interval_of(samples, record, have, rule, row, pulls)
            low, high = max(low, found_low), min(high, found_high)
        return low, high
    scale, failed = have / pulls, have - record.count
    taken = taken_away(rule.taken[row], int(pulls))
    for s in range(usable_shifts(interval, rule)):
        rank = scale * (read_rank(rule.low_ranks[row, s], int(pulls)) - taken)
        low = max(low, _at_rank(samples, record, failed, rank, False) - rule.costs[row, s])
        rank = scale * (read_rank(rule.high_ranks[row, s], int(pulls)) - taken)
        high = min(high, -_at_rank(samples, record, failed, rank, True) + rule.costs[row, s])
    if interval[REFUTED] == 0.0:
        low, high = with_all_shifts(samples, record, have, rule, row, pulls, low, high)
    return low, high


@kernel
def _read_intervals(thought: Thought, i: int) -> None:
    """Read the intervals of arm i if it had its pulls of the thought."""
    intervals, rule = thought.known, thought.rule
    for d in range(intervals.shape[2]):
        interval = intervals[i, :, d]
        interval[LOW], interval[HIGH] = _read_ends(thought, i, d, d, interval[LOW], interval[HIGH])
        interval[BEST_HIGH] = min(interval[HIGH], interval[BEST_HIGH])
        if rule.best >= 0:
            interval[BEST_HIGH] = _read_ends(thought, i, d, rule.best, interval[LOW], interval[BEST_HIGH])[1]
    if thought.limits.columns.shape[0] > 0:
        veil_arm(intervals, i, thought.limits, thought.standing.arms, thought.standing.intervals)


@kernel
def _eased(start: Floats, tolerance: Floats, i: int, j: int, every: bool) -> Floats:
    """Return the tolerances of H_j − L_i, and what may be noise on top of them.

    What the floors leave to be gained is known to about a tenth or two of what is still to be gained, G, and the pulls
    rise with its inverse square. Small slacks are therefore met half-way: s becomes (s + √(s² + (2 G · DOUBT)²)) / 2.
    """
    eased = tolerance.copy()
    for d in range(tolerance.shape[0]):
        slack = tolerance[d] - lasting_difference(start, j, i, d, every)
        gain = start[i, LOW_FLOOR, d] - start[i, LOW, d] + start[j, BEST_HIGH, d] - start[j, HIGH_FLOOR, d]
        if sharper(start, j, i, d, every):
            bound = bound_of(start, j, i, d, every)
            gain = max(0.0, bound - floor_of_pair(start, j, i, d))
        if gain < np.inf:
            apart = 2.0 * DOUBT * gain
            eased[d] += 0.5 * (np.sqrt(slack * slack + apart * apart) - slack)
    return eased


@kernel
def _shrink_pair(thought: Thought, i: int, j: int) -> None:
    """Shrink what evidence on pairs, and on rivals, says of i and j, if they had their pulls of the thought.

    They come down to what floors leave by a power of the pulls between that of wide differences, 1/2,
    and that of narrow ones, 1; on a list, to that itself once all items are measured.
    """
    arms, pulls, intervals = thought.standing.arms, thought.pulls, thought.standing.intervals
    K = intervals.shape[0]
    now, then = min(arms[i].pulls, arms[j].pulls), min(pulls[i], pulls[j])
    left = 0.0 if then >= thought.standing.control[0].max_per_arm else (now / then) ** SHRINKING
    for d in range(intervals.shape[2]):
        for side in range(2):
            a, b = (i, j) if side == 0 else (j, i)
            floor = floor_of_pair(thought.start, a, b, d)
            for column in range(COLUMNS + b, min(intervals.shape[1], COLUMNS + 2 * K), K):
                bound = thought.start[a, column, d]
                if floor < bound < np.inf:
                    intervals[a, column, d] = floor + (bound - floor) * left


@kernel
def _settle(thought: Thought, tolerance: Floats, i: int, j: int, every: bool) -> float:
    """Pull i and j in thought until H_j − L_i is within its tolerance, or `every` one is; −1 if out of sight."""
    pulls, intervals = thought.pulls, thought.standing.intervals
    eased = _eased(thought.start, tolerance, i, j, every)
    before = pulls[i] + pulls[j]
    while (uncovered(intervals, eased, j, i) if every else shortfall(intervals, eased, i, j)) > 0.0:
        where, _ = where_it_counts(intervals, eased if every else tolerance, i, j, every)
        who = who_gains(intervals, thought.standing.arms, i, j, where, pulls[i], pulls[j])
        if sharper(intervals, j, i, where, every):
            who = 2 if pulls[i] == pulls[j] else 0 if pulls[i] < pulls[j] else 1
        for side in range(2):
            if who == 1 - side:
                continue
            k = i if side == 0 else j
            pulls[k] = np.ceil(pulls[k] * STEP)
            if pulls[k] > min(FARTHEST * thought.standing.arms[k].pulls, LARGEST):
                return -1.0
            _read_intervals(thought, k)
        if intervals.shape[1] > COLUMNS:
            _shrink_pair(thought, i, j)
    taken: float = pulls[i] + pulls[j] - before
    return taken


@kernel
def _resolve(thought: Thought, i: int) -> float:
    """Pull i in thought until it is known whether it keeps to its limits: how many pulls that takes; −1 for never."""
    arms, pulls = thought.standing.arms, thought.pulls
    before = pulls[i]
    while arms[i].keeping == OPEN:
        pulls[i] = np.ceil(pulls[i] * STEP)
        if pulls[i] > min(FARTHEST * arms[i].pulls, LARGEST):
            return -1.0
        _read_intervals(thought, i)
    taken: float = pulls[i] - before
    return taken


@kernel
def _not_infeasible(arms: Table, among: Ints) -> Ints:
    some, size = np.empty(among.size, np.int64), 0
    for i in among:
        if arms[i].keeping != INFEASIBLE:
            some[size] = i
            size += 1
    return some[:size]


@kernel
def _meant(arms: Table, among: Ints, returned: bool) -> Ints:
    """Return those of some arms that are meant to be returned, or that are not."""
    some, size = np.empty(among.size, np.int64), 0
    for i in among:
        if (arms[i].candidate == RETURNED) == returned:
            some[size] = i
            size += 1
    return some[:size]


@kernel
def _go_on(  # noqa: C901 (one loop that is compiled whole: calls of parts would pass all of its state)
    standing: Standing,
    known: Floats,
    limits: LimitRule,
    goal: Goal,
    pulls: Floats,
    samples: Samples,
    rule: IntervalRule,
) -> Ints:
    """Raise `pulls` (K,) in thought until the certificate is there. Returns a code, and the pair that takes most."""
    arms, intervals = standing.arms, standing.intervals
    alive = standing.alive[: standing.control[0].alive]
    limited = limits.columns.shape[0] > 0
    C = known.shape[2]
    for i in alive:  # pulls that are out are left aside
        for d in range(C):
            interval, record = known[i, :, d], samples.columns[i * C + d]
            interval[LOW_FLOOR], interval[HIGH_FLOOR] = lasting_bounds(
                interval, samples, record, arms[i].pulls, rule, d
            )
        if limited:
            veil_arm(known, i, limits, arms, intervals)
    thought = Thought(standing, known, limits, intervals.copy(), pulls, samples, rule)
    answer, dearest = np.array([REACHED, -1, -1]), 0.0
    for i in alive:
        # One that will be feasible, and is not to be returned, is covered or beaten by others in any case.
        if arms[i].keeping == OPEN and (arms[i].candidate == RETURNED or intervals[i, LOW_FLOOR, 0] == -np.inf):
            taken = _resolve(thought, i)
            if taken < 0.0:
                return np.array([BEYOND_SIGHT, i, -1])
            if taken > dearest:
                dearest, answer[1] = taken, i
    thought = Thought(standing, known, limits, intervals.copy(), pulls, samples, rule)
    alive = _not_infeasible(arms, alive)
    returned = _meant(arms, alive, True)
    # Those to be left out come first: they are the rivals of those to be returned.
    for i in alive:
        if arms[i].candidate == RETURNED:
            continue
        k, missing = nearest_covering(standing, goal.coverage, returned, i)
        if missing <= 0.0:
            continue
        # On a list, who decides an arm may be the one that comes nearest to beating it: see `rule.list_now`.
        if goal.kind[0] == FRONT and arms[i].candidate == NOT_RETURNED and arms[i].decided_by >= 0:
            k = arms[i].decided_by
        taken = _settle(thought, goal.coverage, k, i, True) if k >= 0 else -1.0
        if taken < 0.0:
            return np.array([BEYOND_SIGHT, i, k])
        if taken > dearest:
            dearest, answer[1], answer[2] = taken, i, k
    # A rival that another one exceeds everywhere need not be looked at; candidates are, each may hide what is below it.
    rivals = standing.front[: strongest(intervals, BEST_HIGH, alive, alive.size, standing.front)]
    rivals = np.concatenate((returned, _meant(arms, rivals, False)))
    for i in returned:
        if arms[i].status == KEEP:
            continue
        for j in rivals:
            if j == i:
                continue
            taken = _settle(thought, goal.accuracy, i, j, False)
            if taken < 0.0:
                return np.array([BEYOND_SIGHT, i, j])
            if taken > dearest:
                dearest, answer[1], answer[2] = taken, i, j
    return answer


def forecast(policy: Certified) -> PullForecast:
    """Guess how many pulls, beyond those told, it takes until the policy is certified, whatever its budget."""
    standing = policy.standing.copy()
    control = standing.control[0]
    if control["stop"] == CERTIFIED or policy.status == "certified":
        return PullForecast(0, "certified")
    if control["stop"] == UNREACHABLE:
        return PullForecast(None, "unreachable")
    have = standing.arms["pulls"]
    unmeasured = int((have[standing.alive[: control["alive"]]] == 0).sum())
    if unmeasured:
        return PullForecast(None, "unmeasured", unmeasured=unmeasured)
    if control["decisions"] == 0:
        return PullForecast(None, "undecided")
    pulls = have.astype(np.float64)
    known, limits = standing.intervals, policy.limits
    if len(limits.columns):
        standing = standing._replace(intervals=known[..., : policy.objectives].copy())
    code, *pair = _go_on(standing, known, limits, policy.goal, pulls, policy.samples, policy.rule).tolist()
    arms = tuple(arm for arm in pair if arm >= 0)
    if code == BEYOND_SIGHT:
        return PullForecast(None, "infeasible", arms)
    if policy.blocks:  # every arm that is not out goes along
        alive = standing.alive[: control["alive"]]
        pulls[alive] = pulls[alive].max()
    more = pulls - have
    return PullForecast(max(1, round(float(more.sum()))), "foreseen", arms, of_arms=more)
