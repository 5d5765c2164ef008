"""Boxes of means over a finite list of items: read by item, in their order, and not from sorted samples."""

from __future__ import annotations

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.boundaries import taken_away
from frontguard.evidence.boxes import (
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    PLAIN_HIGH,
    PLAIN_LOW,
    REFUTED,
    BoxRule,
    lasting_bounds,
)
from frontguard.evidence.lists import counted_on, hidden_at, unrefuted_list_mean
from frontguard.evidence.ordered import Samples
from frontguard.evidence.statistics import BOUNDED_MEAN, inner_of_mean

NEVER = 1e300
"""The logarithm of a capital that no bets reach: the threshold of bounds that do not hold of a list."""


@kernel
def list_bounds(
    values: Floats,
    complete: int,
    pulls: int,
    items: int,
    hits: Floats,
    surviving: Floats,
    taken: float,
    threshold: float,
) -> tuple[float, float]:
    """Between what the mean of a list lies whose first `complete` values in [0, 1], NaN where one failed, are these.

    `pulls` counts all measurements that are looked at: of these a share may be replaced afterwards.
    """
    replaced = taken_away(taken, pulls)
    hidden = hidden_at(hits, 0.0, complete)
    hidden += replaced
    ends = np.empty(2)
    for side in range(2):
        seen = np.ones(complete)
        for r in range(complete):
            if values[r] == values[r]:
                seen[r] = values[r] if side == 1 else 1.0 - values[r]
        xi = counted_on(seen, replaced)
        ends[side] = unrefuted_list_mean(xi, seen, hidden, items, surviving[0], surviving[1], threshold)
    low, high = 1.0 - ends[0], ends[1]
    if complete == items and abs(low - high) < 1e-15:  # what is left is rounding
        low = high
    return low, high


@kernel
def refresh_lists(
    boxes: Floats,
    blocks: Floats,
    complete: Ints,
    pulls: Ints,
    touched: Bools,
    samples: Samples,
    rule: BoxRule,
    thresholds: Floats,
    items: int,
    hits: Floats,
) -> bool:
    """Bring the boxes of touched arms up to date in which means over a list count; whether one was found false.

    `blocks` (C, K, R) are values by item, of which the first `complete` (K,) are back; of `pulls` (K,) samples know.
    """
    found_false = False
    C = boxes.shape[2]
    for i in range(boxes.shape[0]):
        if not touched[i]:
            continue
        for d in range(C):
            if rule.kinds[d] != BOUNDED_MEAN or boxes[i, REFUTED, d] != 0.0:
                continue
            box = boxes[i, :, d]
            low, high = list_bounds(
                blocks[d, i], complete[i], pulls[i], items, hits, rule.surviving, rule.taken[d], thresholds[d]
            )
            low, high = inner_of_mean(low, rule.scales[d]), inner_of_mean(high, rule.scales[d])
            box[LOW], box[HIGH] = max(box[LOW], low), min(box[HIGH], high)
            if box[LOW] > box[HIGH]:
                box[REFUTED], found_false = 2.0, True
                box[LOW], box[HIGH] = -np.inf, np.inf
            box[PLAIN_LOW], box[PLAIN_HIGH] = box[LOW], box[HIGH]
            box[LOW_FLOOR], box[HIGH_FLOOR] = lasting_bounds(
                box, samples, samples.columns[i * C + d], pulls[i], rule, d
            )
    return found_false
