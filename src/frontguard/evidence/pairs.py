"""Differences within pairs: arms that were measured on the same item, seed or block.

Let Y_{i,r} in [0, 1] be what arm i gives on the r-th block, larger is better, and μ_i its mean. Where blocks differ
much and arms little, the differences Y_{j,r} − Y_{i,r} spread far less than the values do. They are bet on as

    V_r = (1 + Y_{j,r} − Y_{i,r}) / 2   in [0, 1], with the mean ν = (1 + μ_j − μ_i) / 2,

and the largest ν that is not refuted is an upper bound of μ_j − μ_i = 2ν − 1 (`evidence.means`, or `evidence.lists`
where blocks are the items of a finite list). What is observed of V_r is at least half of what hits leave of Y_{j,r} and
half of what they leave of 1 − Y_{i,r}: so that of ν is left keep(ν), as of a mean, in each threat model that replaces
with a probability. Any share ε of the measurements of each arm spoils twice as many pairs.

Bounds hold at every number of blocks at once, and so at the one that an adaptive study has reached; blocks are counted
in their order, up to the first that is not back. A failed measurement may have been anything. Proofs: docs/theory.md,
(s).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.boundaries import taken_away
from frontguard.evidence.boxes import COLUMNS
from frontguard.evidence.lists import counted_on, hidden_at, unrefuted_list_mean
from frontguard.evidence.means import BETS, LOG_WEIGHTS, add_bets, threshold_of, unrefuted_mean
from frontguard.evidence.statistics import BOUNDED_MEAN, RELATIVE, SLOPE, Statistic, kinds_and_scales, noisy
from frontguard.theory.threats import Threat

SHARE = 0.5
"""Of δ, what differences within pairs get where there are any; boxes have the rest."""

HITS_SHARE = 1 / 3
"""Of δ of the boxes of a list, what is kept for how many measurements were replaced, where chance decides that."""

MOST_ARMS = 300
"""Arms up to which all pairs are looked at."""


class PairRule(NamedTuple):
    """By what differences within pairs are bounded, of M objectives."""

    usable: Bools  # (M,): see `pairs_of`
    reach: Floats  # (M,): b − a, from a difference of values in [0, 1] to one of inner values
    thresholds: Floats  # (M,): log(1/δ') of each ordered pair
    surviving: Floats  # (2,): keep(ν) = surviving[0] · ν − surviving[1]
    taken: Floats  # (M,): the share of each arm's measurements that may be replaced afterwards
    items: Ints  # (M,): of the list that blocks are drawn from, without replacement; 0 where there is none
    hits: Floats  # (items + 1,): see `hits_at_most`; of each arm and objective


def pairs_of(statistics: Sequence[Statistic]) -> Bools:
    """Of which objectives (M,) differences can be bounded: means of values with bounds, and no percentages of these."""
    kinds, scales = kinds_and_scales(statistics)
    return np.asarray((kinds == BOUNDED_MEAN) & (scales[:, RELATIVE] == 0.0))


def hits_delta(delta: float, arms: int, statistics: Sequence[Statistic]) -> float:
    """What of δ is for how many items of one arm and objective were replaced, where chance decides that."""
    return (1.0 - SHARE) * HITS_SHARE * delta / (max(1, arms) * noisy(statistics))


def pair_rule(
    threat: Threat,
    statistics: Sequence[Statistic],
    *,
    arms: int,
    delta: float,
    items: int = 0,
    hits: Floats | None = None,
) -> PairRule:
    """Bounds of all ordered pairs of K arms in the objectives that have any, which hold at once with probability 1 − δ.

    With a list of items, `hits` is what `hits_at_most` gave the boxes of the arms, at a share of δ of theirs.

    >>> from frontguard import Prescient
    >>> rule = pair_rule(Prescient(0.1), (Statistic(BOUNDED_MEAN, scale=(1, 4, 1, 0, 1)),), arms=3, delta=0.05)
    >>> rule.reach.tolist(), rule.surviving.tolist()
    ([4.0], [0.9, 0.0])
    """
    usable = pairs_of(statistics)
    _, scales = kinds_and_scales(statistics)
    bounds = max(1, arms * (arms - 1) * int(usable.sum()))
    M = len(usable)
    return PairRule(
        usable,
        np.abs(scales[:, SLOPE]),
        np.full(M, threshold_of(delta / bounds)),
        np.array(threat.surviving),
        np.full(M, threat.taken),
        np.full(M, items),
        np.zeros(1) if hits is None else hits,
    )


@kernel
def differences(better: Floats, worse: Floats, first: int, last: int) -> Floats:
    """V of the blocks first ≤ r < last, from values in [0, 1] of two arms; the most it may be, where one is NaN."""
    seen = np.empty(last - first)
    for r in range(first, last):
        high = better[r] if better[r] == better[r] else 1.0
        low = worse[r] if worse[r] == worse[r] else 0.0
        seen[r - first] = (1.0 + high - low) / 2.0
    return seen


@kernel
def upper_difference(seen: Floats, taken: int, rule: PairRule, d: int) -> float:
    """An upper bound of μ_j − μ_i, both in [0, 1], by V (n,) in objective d, of which `taken` may be anything."""
    n = seen.shape[0]
    if n == 0:
        return 1.0
    xi = counted_on(seen, taken)
    times, less = rule.surviving[0], rule.surviving[1]
    if rule.items[d] > 0:
        hidden = hidden_at(rule.hits, 0.0, n)
        hidden += 0.5 * taken  # each replaced value takes half of it from V at most
        most = unrefuted_list_mean(xi, seen, hidden, rule.items[d], times, less, rule.thresholds[d])
    else:
        sums = np.zeros(BETS)
        add_bets(sums, xi, np.ones(n), n, False)
        most = (unrefuted_mean(sums, float(n), rule.thresholds[d], LOG_WEIGHTS) + less) / times
    return 2.0 * min(1.0, most) - 1.0


@kernel
def refresh_pairs(
    boxes: Floats, blocks: Floats, complete: Ints, pulls: Ints, arms: Ints, touched: Bools, rule: PairRule
) -> None:
    """Bring the columns of pairs in `boxes` up to date, of pairs of these arms one of which was touched.

    `blocks` (M, K, R) are values in [0, 1] by block, NaN where one failed, of which the first `complete` (K,) are back;
    `pulls` (K,) counts all measurements of an arm that are looked at.
    """
    for a in range(arms.shape[0]):
        for b in range(arms.shape[0]):
            j, i = arms[a], arms[b]
            if i == j or not (touched[i] or touched[j]):
                continue
            n = min(complete[i], complete[j])
            if n == 0:
                continue
            for d in range(rule.usable.shape[0]):
                if rule.usable[d]:
                    taken = taken_away(rule.taken[d], pulls[i]) + taken_away(rule.taken[d], pulls[j])
                    seen = differences(blocks[d, j], blocks[d, i], 0, n)
                    bound = upper_difference(seen, taken, rule, d) * rule.reach[d]
                    boxes[j, COLUMNS + i, d] = min(boxes[j, COLUMNS + i, d], bound)


@kernel
def unrefuted_pairs(
    most: Floats, least: Floats, have: Bools, arms: Ints, taken: Ints, times: float, rule: PairRule, d: int
) -> Floats:
    """The largest ν (n, n) of all ordered pairs (j, i) of these arms that is not refuted, of what is left of it.

    `most`, `least` (K, R) are values in [0, 1] of arms by block, with what failed as 1 and as 0; `have` says on which
    blocks an arm was measured. `taken` (K,) measurements of each may be replaced. With more blocks foreseen than there
    are, in proportion, `times` as many. Of a list, it is ν itself.
    """
    n, R = arms.shape[0], most.shape[1]
    found = np.ones((n, n))
    seen = np.empty(R)
    for a in range(n):
        for b in range(n):
            j, i = arms[a], arms[b]
            count = 0
            if i != j:
                for r in range(R):
                    if have[i, r] and have[j, r]:
                        seen[count] = (1.0 + most[j, r] - least[i, r]) / 2.0
                        count += 1
            if count == 0:
                continue
            both = taken[i] + taken[j]
            if rule.items[d] > 0:
                hidden = hidden_at(rule.hits, 0.0, count)
                hidden += 0.5 * both
                found[a, b] = unrefuted_list_mean(
                    counted_on(seen[:count], both),
                    seen[:count],
                    hidden,
                    rule.items[d],
                    rule.surviving[0],
                    rule.surviving[1],
                    rule.thresholds[d],
                )
                continue
            sums = np.zeros(BETS)
            add_bets(sums, counted_on(seen[:count], both), np.ones(count), count, False)
            sums *= times
            found[a, b] = unrefuted_mean(sums, count * times, rule.thresholds[d], LOG_WEIGHTS)
    return found
