"""How many pulls are still to come until a certified policy is through: a cheap guess from where it stands now.

It lets the policy go on in thought, as if the samples kept the proportions that they have: with n' pulls the bounds of
an arm would be the values that now have the ranks q(n')/n' of its sample, so that they close in on their floors like
1/√n, in the way of the rewards' own shape. For each arm that stands in the way of the certificate, whichever of it and
of the rival that decides it can gain more is pulled some more, until the boxes allow what is to be returned. Nothing is
drawn at random, nothing is measured, and the policy is left as it is. How good it is stands in docs/alarms.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from frontguard._compiled import kernel
from frontguard._typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.boundaries import read_rank
from frontguard.evidence.boxes import LARGEST
from frontguard.evidence.samples import Record, Table, ranked
from frontguard.pareto.rule import (
    CERTIFIED,
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    REFUTED,
    UNREACHABLE,
    _skyline,
)
from frontguard.policies import Certified
from frontguard.verdicts import IN

__all__ = ["Forecast", "forecast"]


STEP = 1.2
"""By how much the pulls of an arm grow at a time, in thought."""

FARTHEST = 100.0
"""Times the pulls of an arm beyond which its sample says nothing."""

DOUBT = 0.3
"""Share of what is still to be gained by which the slack between tolerances and floors may be misjudged."""

REACHED, BEYOND = range(2)


@dataclass(frozen=True)
class Forecast:
    """How many more pulls it takes until certified, or None where that cannot be foreseen; and a reason in words."""

    pulls_left: int | None
    reason: str


@kernel
def _ranked(pool: Floats, beside: Floats, record: Record, failed: int, rank: float, from_above: bool) -> float:
    """The value of a rank, which need not be whole, from the lowest or the highest; failed ones come before all."""
    place = rank - failed - 1.0
    if place < 0.0 or record.count == 0:
        return -np.inf
    near = min(int(place), record.count - 1)
    far = min(near + 1, record.count - 1)
    share = place - near if far > near else 0.0
    value: float
    if from_above:
        last = record.count - 1
        near, far = last - near, last - far
        value = -((1.0 - share) * ranked(pool, beside, record, near) + share * ranked(pool, beside, record, far))
    else:
        value = (1.0 - share) * ranked(pool, beside, record, near) + share * ranked(pool, beside, record, far)
    return value


@kernel
def _read_floors(
    i: int, have: int, boxes: Floats, pool: Floats, beside: Floats, columns: Table, costs: Floats,
    low_keep: Floats, high_keep: Floats,
) -> None:  # fmt: skip
    """What the boxes of arm i would come to if its sample went on for ever. Pulls that are out are left aside."""
    M = boxes.shape[1]
    for d in range(M):
        record: Record = columns[i * M + d]
        failed = have - record.count
        refuted = boxes[i, d, REFUTED]
        low, high = boxes[i, d, LOW], boxes[i, d, HIGH]
        for s in range(costs.shape[1] if refuted == 0.0 else 1 if refuted == 1.0 else 0):
            low = max(low, _ranked(pool, beside, record, failed, np.ceil(low_keep[d, s] * have), False) - costs[d, s])
            high = min(
                high, -_ranked(pool, beside, record, failed, np.ceil(high_keep[d, s] * have), True) + costs[d, s]
            )
        boxes[i, d, LOW_FLOOR], boxes[i, d, HIGH_FLOOR] = low, high


@kernel
def _read_boxes(
    i: int, have: int, pulls: float, boxes: Floats, pool: Floats, beside: Floats, columns: Table,
    low_ranks: Ints, high_ranks: Ints, costs: Floats,
) -> None:  # fmt: skip
    """The boxes of arm i if it had so many pulls in the proportions of its sample."""
    M = boxes.shape[1]
    scale = have / pulls
    for d in range(M):
        record: Record = columns[i * M + d]
        failed = have - record.count
        refuted = boxes[i, d, REFUTED]
        for s in range(costs.shape[1] if refuted == 0.0 else 1 if refuted == 1.0 else 0):
            rank = scale * read_rank(low_ranks[d, s], int(pulls))
            boxes[i, d, LOW] = max(boxes[i, d, LOW], _ranked(pool, beside, record, failed, rank, False) - costs[d, s])
            rank = scale * read_rank(high_ranks[d, s], int(pulls))
            boxes[i, d, HIGH] = min(boxes[i, d, HIGH], -_ranked(pool, beside, record, failed, rank, True) + costs[d, s])


@kernel
def _gap(start: Floats, boxes: Floats, tolerance: Floats, i: int, j: int, d: int) -> float:
    """H_j − L_i less its tolerance, and less what may be noise.

    What the floors leave to be gained is known to about a tenth or two of what is still to be gained, G, and the pulls
    rise with its inverse square. Small slacks are therefore met half-way: s becomes (s + √(s² + (2 G · DOUBT)²)) / 2.
    """
    slack = tolerance[d] - (start[j, d, HIGH_FLOOR] - start[i, d, LOW_FLOOR])
    gain = start[i, d, LOW_FLOOR] - start[i, d, LOW] + start[j, d, HIGH] - start[j, d, HIGH_FLOOR]
    gap = boxes[j, d, HIGH] - boxes[i, d, LOW] - tolerance[d]
    if gap > 0.0 and gain < np.inf:
        gap -= 0.5 * (np.sqrt(slack * slack + (2.0 * DOUBT * gain) ** 2) - slack)
    return float(gap)


@kernel
def _missing(start: Floats, boxes: Floats, tolerance: Floats, i: int, j: int, every: bool) -> float:
    """The gap in the best objective or, if `every` one counts, in the worst."""
    missing = -np.inf if every else np.inf
    for d in range(tolerance.shape[0]):
        gap = _gap(start, boxes, tolerance, i, j, d)
        missing = max(missing, gap) if every else min(missing, gap)
    return missing


@kernel
def _choice(start: Floats, boxes: Floats, tolerance: Floats, i: int, j: int, every: bool) -> int:
    """Which of i and j the policy would pull (0, 1, or 2 for both), by the rule of `certified_rule`."""
    where, extreme = 0, np.inf
    for d in range(tolerance.shape[0]):
        key = start[j, d, HIGH_FLOOR] - start[i, d, LOW_FLOOR] - tolerance[d]
        if every:
            key = -_gap(start, boxes, tolerance, i, j, d)
        if key < extreme:
            where, extreme = d, key
    of_i = boxes[i, where, LOW_FLOOR] - boxes[i, where, LOW]
    of_j = boxes[j, where, HIGH] - boxes[j, where, HIGH_FLOOR]
    return 2 if of_i == of_j else 0 if of_i > of_j else 1


@kernel
def _nearest(boxes: Floats, coverage: Floats, candidates: Ints, i: int) -> tuple[int, float]:
    """The candidate that comes nearest to covering arm i, and by how much it misses."""
    nearest, least = -1, np.inf
    for k in candidates:
        most = -np.inf
        for d in range(coverage.size):
            most = max(most, boxes[i, d, HIGH] - boxes[k, d, LOW] - coverage[d])
        if nearest < 0 or most < least:
            nearest, least = k, most
    return nearest, least


@kernel
def _settle(
    arms: Table, start: Floats, tolerance: Floats, i: int, j: int, every: bool, pulls: Floats, boxes: Floats,
    pool: Floats, beside: Floats, columns: Table, low_ranks: Ints, high_ranks: Ints, costs: Floats,
) -> bool:  # fmt: skip
    """Pull i and j in thought until H_j − L_i is within its tolerance. False if that is out of sight."""
    while _missing(start, boxes, tolerance, i, j, every) > 0.0:
        choice = _choice(start, boxes, tolerance, i, j, every)
        for side in range(2):
            if choice == 1 - side:
                continue
            k = i if side == 0 else j
            pulls[k] = np.ceil(pulls[k] * STEP)
            if pulls[k] > min(FARTHEST * arms[k].pulls, LARGEST):
                return False
            _read_boxes(k, arms[k].pulls, pulls[k], boxes, pool, beside, columns, low_ranks, high_ranks, costs)
    return True


@kernel
def _go_on(
    arms: Table, alive: Ints, accuracy: Floats, coverage: Floats, pulls: Floats, boxes: Floats, pool: Floats,
    beside: Floats, columns: Table, low_ranks: Ints, high_ranks: Ints, costs: Floats, low_keep: Floats,
    high_keep: Floats,
) -> Ints:  # fmt: skip
    """Raise `pulls` (K,) in thought until the certificate is there. Returns a code, and the pair that takes most."""
    for i in alive:
        _read_floors(i, arms[i].pulls, boxes, pool, beside, columns, costs, low_keep, high_keep)
    start = boxes.copy()
    candidates = alive[arms["candidate"][alive] == 1]
    answer, dearest = np.array([REACHED, -1, -1]), 0.0
    # Those to be left out come first: they are the rivals of those to be returned.
    for i in alive:
        if arms[i].candidate == 1:
            continue
        k, least = _nearest(boxes, coverage, candidates, i)
        if least <= 0.0:
            continue
        if arms[i].candidate == 0 and arms[i].decided_by >= 0:
            k = arms[i].decided_by
        before = pulls[i] + pulls[k] if k >= 0 else 0.0
        if k < 0 or not _settle(
            arms, start, coverage, k, i, True, pulls, boxes, pool, beside, columns, low_ranks, high_ranks, costs
        ):
            return np.array([BEYOND, i, k])
        if pulls[i] + pulls[k] - before > dearest:
            dearest, answer[1], answer[2] = pulls[i] + pulls[k] - before, i, k
    # A rival that another one exceeds everywhere need not be looked at; candidates are, each may hide what is below it.
    front = np.empty(alive.size, np.int64)
    rivals = front[: _skyline(boxes, HIGH, alive, alive.size, front)]
    rivals = np.concatenate((candidates, rivals[arms["candidate"][rivals] != 1]))
    for i in candidates:
        if arms[i].status == IN:
            continue
        for j in rivals:
            if j == i:
                continue
            before = pulls[i] + pulls[j]
            if not _settle(
                arms, start, accuracy, i, j, False, pulls, boxes, pool, beside, columns, low_ranks, high_ranks, costs
            ):
                return np.array([BEYOND, i, j])
            if pulls[i] + pulls[j] - before > dearest:
                dearest, answer[1], answer[2] = pulls[i] + pulls[j] - before, i, j
    return answer


def forecast(policy: Certified, arm_names: Sequence[str] | None = None) -> Forecast:
    """Guess how many pulls, beyond those told, it takes until the policy is certified, whatever its budget.

    >>> from frontguard import Prescient
    >>> policy = Certified(2, 1, threat=Prescient(0.1), accuracy=0.1)
    >>> forecast(policy)
    Forecast(pulls_left=None, reason='2 of 2 arms have not been measured yet')
    """
    table, control = policy._table, policy._control
    names = [str(i) for i in range(policy.arms)] if arm_names is None else list(arm_names)
    if len(names) != policy.arms:
        raise BadInput(f"arm_names must be {policy.arms} names, one for each arm; got {len(names)}")
    stop = int(control["stop"][0])
    if stop == CERTIFIED:
        return Forecast(0, "it is certified")
    if stop == UNREACHABLE:
        return Forecast(None, "no number of pulls would be enough")
    alive = policy._alive[: int(control["alive"][0])]
    unseen = int((table["pulls"][alive] == 0).sum())
    if unseen:
        return Forecast(None, f"{unseen} of {len(alive)} arms have not been measured yet")
    if int(control["decisions"][0]) == 0:
        return Forecast(None, "nothing has been decided yet")
    pulls = table["pulls"].astype(np.float64)
    code, i, j = _go_on(
        table, alive, policy.accuracy, policy.coverage, pulls, policy._boxes.copy(), policy._pool, policy._beside,
        policy._columns, *policy.rule.arrays,
    ).tolist()  # fmt: skip
    about = " and ".join(repr(names[arm]) for arm in (i, j) if arm >= 0)
    if code == BEYOND:
        return Forecast(None, f"the measurements so far do not show when {about} will be decided")
    left = max(1, round(float((pulls - table["pulls"]).sum())))
    return Forecast(left, f"{about} will take most" if about else "all seems to be decided")
