"""Boxes: intervals that contain the true quantiles of an arm at every number of pulls at once, whatever the attacker
does.

For an objective whose quantile of level p counts, and n observations, let A be the number of clean ones at or below
the true quantile. Under each threat model A dominates a Binomial(n, keep(p)), so with probability 1 − δ' the true
quantile is at or above the observation of rank q(n; keep(p), δ') for all n at once; likewise from above. With a
spread bound R there is one such interval for every fixed shift t: the quantile of level p + t is at most R(t) away,
and is bracketed sooner. The box is what all of them leave, over all shifts and over all n so far.

An observation that failed may be anything: it counts in n, at −∞ for the lower side and at +∞ for the upper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._checks import checked_count, checked_delta, real_number
from frontguard._compiled import kernel
from frontguard._typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.boundaries import rank_table, read_rank
from frontguard.evidence.samples import Record, ranked
from frontguard.theory.spread import SpreadBound, as_spread_bound
from frontguard.theory.threats import Threat, checked_t_bar

LARGEST = 2**20
"""Pulls of an arm up to which ranks are tabulated. Beyond it boxes stay valid but hardly shrink."""

SHIFTS = (0.35, 0.7, 0.97)
"""Where between h and t̄ the shifts lie for which R is used; see docs/choices.md for what others cost."""

UNSHIFTED_SHARE = 4.0
"""How much more of δ the interval without a shift gets than each of the others."""

STRENGTH = 2.0
"""Weight of the prior in the anytime boundary, in observations."""


@dataclass(frozen=True, eq=False)
class BoxRule:
    """Ranks and costs by which boxes are read off sorted samples; S shifts for each of M objectives.

    `low_ranks` and `high_ranks` (M, S, T) are tables for `read_rank`; `costs` (M, S) are R(t); `low_keep` and
    `high_keep` (M, S) the shares of observations that no attacker can take from either side.
    """

    low_ranks: Ints
    high_ranks: Ints
    costs: Floats
    low_keep: Floats
    high_keep: Floats
    quantiles: Floats

    @property
    def arrays(self) -> tuple[Ints, Ints, Floats, Floats, Floats]:
        """What kernels are given."""
        return self.low_ranks, self.high_ranks, self.costs, self.low_keep, self.high_keep


def box_rule(
    threat: Threat,
    *,
    arms: int,
    objectives: int,
    delta: float,
    spread: SpreadBound | Any | None = None,
    t_bar: float = 0.49,
    quantiles: npt.ArrayLike = 0.5,
    largest: int = LARGEST,
) -> BoxRule:
    """Boxes of K arms and M objectives that all hold at once, for ever, with probability 1 − δ.

    R speaks of medians only: objectives with another quantile do without it. δ is shared equally by arms, objectives
    and sides, and among shifts by `UNSHIFTED_SHARE`.

    >>> from frontguard import Prescient
    >>> rule = box_rule(Prescient(0.1), arms=16, objectives=2, delta=0.1)
    >>> rule.low_ranks.shape[:2], rule.low_keep.tolist()
    ((2, 1), [[0.45], [0.45]])
    """
    if not isinstance(threat, Threat):
        raise BadInput(f"threat must be Oblivious(eps), Prescient(eps) or Malicious(eps); got {threat!r}")
    K, M = checked_count(arms, "arms (K)"), checked_count(objectives, "objectives (M)")
    share = checked_delta(delta) / (2.0 * K * M)
    levels = checked_quantiles(quantiles, M)
    bound = None if spread is None else as_spread_bound(spread)
    shifts: Sequence[float] = ()
    if bound is not None:
        threat.check(checked_t_bar(t_bar))
        bound.check(t_bar)
        shifts = [threat.shift + f * (t_bar - threat.shift) for f in SHIFTS]
    width = 1 + len(shifts)
    low_keep, high_keep, costs = np.zeros((M, width)), np.zeros((M, width)), np.zeros((M, width))
    tables: list[list[tuple[Ints, Ints]]] = []
    for d, p in enumerate(levels):
        used = [0.0, *(shifts if p == 0.5 else [])]
        weights = np.array([UNSHIFTED_SHARE if len(used) > 1 else 1.0, *[1.0] * (len(used) - 1)])
        row = []
        for s, (t, weight) in enumerate(zip(used, weights / weights.sum(), strict=True)):
            low_keep[d, s] = max(0.0, threat.keep(p + t))
            high_keep[d, s] = max(0.0, threat.keep(1.0 - p + t))
            costs[d, s] = 0.0 if t == 0.0 or bound is None else float(bound(t))
            low, high = (
                rank_table(float(keep[d, s]), share * weight, largest=largest, strength=STRENGTH)
                for keep in (low_keep, high_keep)
            )
            row.append((low, high))
        tables.append(row)
    length = len(tables[0][0][0])
    low_ranks, high_ranks = np.zeros((M, width, length), np.int64), np.zeros((M, width, length), np.int64)
    for d, row in enumerate(tables):
        for s, (low, high) in enumerate(row):
            low_ranks[d, s], high_ranks[d, s] = low, high
    return BoxRule(low_ranks, high_ranks, costs, low_keep, high_keep, levels)


def checked_quantiles(quantiles: npt.ArrayLike, objectives: int) -> Floats:
    """Quantile levels (M,), each strictly between 0 and 1."""
    array = np.asarray(quantiles, np.float64)
    if array.shape not in ((), (objectives,)):
        raise BadInput(f"quantiles must be one level or {objectives}, one for each objective; got {array.shape}")
    for level in array.flat:
        if not 0.0 < real_number(float(level), "quantiles") < 1.0:
            raise BadInput(f"quantiles must lie strictly between 0 and 1; got {float(level)!r}")
    return np.broadcast_to(array, (objectives,)).copy()


@kernel
def tighten(
    pool: Floats,
    beside: Floats,
    record: Record,
    pulls: int,
    box: Floats,
    low_ranks: Ints,
    high_ranks: Ints,
    costs: Floats,
    low_keep: Floats,
    high_keep: Floats,
) -> None:
    """Bring one arm's box of one objective up to date; tables are those of the objective: (S, T) and (S,).

    The `record.count` observations lie sorted in the pool, and beside it (see `samples.ranked`); `pulls` counts failed
    ones too. `box` is (low, high, low floor, high floor, refuted, plain low, plain high): the interval so far; what
    would be left of it if the sample went on like this for ever; what the data refute; and the interval so far without
    R. An empty interval cannot come about while R and the threat model hold. If R made it so (refuted = 1), the
    interval goes on without R; if it is empty without R too, the threat model is false (refuted = 2): then nothing is
    known of this arm any more.
    """
    have = record.count
    failed = pulls - have
    last = have - 1
    low, high, plain_low, plain_high = box[0], box[1], box[5], box[6]
    for s in range(costs.shape[0] if box[4] == 0.0 else 1):
        rank = read_rank(low_ranks[s], pulls)
        if rank > failed:
            bound = ranked(pool, beside, record, rank - failed - 1) - costs[s]
            low = max(low, bound)
            if s == 0:
                plain_low = max(plain_low, bound)
        rank = read_rank(high_ranks[s], pulls)
        if rank > failed:
            bound = ranked(pool, beside, record, last - (rank - failed - 1)) + costs[s]
            high = min(high, bound)
            if s == 0:
                plain_high = min(plain_high, bound)
    if plain_low > plain_high:
        box[4] = 2.0
    elif low > high and box[4] == 0.0:
        box[4] = 1.0
    if box[4] == 1.0:
        low, high = plain_low, plain_high
    elif box[4] == 2.0:
        low, high = -np.inf, np.inf
    low_floor, high_floor = low, high
    for s in range(costs.shape[0] if box[4] == 0.0 else 1 if box[4] == 1.0 else 0):
        rank = min(int(np.ceil(low_keep[s] * pulls)), pulls)
        if rank > failed:
            low_floor = max(low_floor, ranked(pool, beside, record, rank - failed - 1) - costs[s])
        rank = min(int(np.ceil(high_keep[s] * pulls)), pulls)
        if rank > failed:
            high_floor = min(high_floor, ranked(pool, beside, record, last - (rank - failed - 1)) + costs[s])
    box[0], box[1], box[2], box[3] = low, high, low_floor, high_floor
    box[5], box[6] = plain_low, plain_high
