"""Whom to pull next, of those that the rule wants: for so many workers, and for what pulls cost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Floats, Ints
from frontguard.pareto.sampling import next_batch, wanted_arms
from frontguard.pareto.standing import Standing

CHEAPEST = 1e-3
"""The share of the dearest arm's cost below which none counts: a free arm is not pulled for ever."""


def relative_costs(costs: npt.ArrayLike) -> Floats:
    """Costs of pulls (K,) as they are weighed against what pulls gain: shares of the largest, from `CHEAPEST` up.

    Those that are not known, NaN, are taken to be as the median of the others; where none is, all are alike.

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
    """The next batch, and of the other wanted arms the most urgent ones until there are so many pulls to be made.

    Arms, and up to how many pulls each; `outstanding` (K,) are out already. With many workers, the few hardest: what is
    out already keeps nobody else busy.
    """
    batch, batch_counts = next_batch(standing)
    if np.maximum(batch_counts - outstanding[batch], 0).sum() >= at_least:
        return batch, batch_counts
    wanted, counts = wanted_arms(standing)
    order = np.argsort(-standing.arms["urgency"][wanted], kind="stable")
    left = np.cumsum(np.maximum(counts - outstanding[wanted], 0)[order])
    chosen = np.sort(order[: max(len(batch), int(np.searchsorted(left, at_least)) + 1)])
    return wanted[chosen], counts[chosen]


def spread_evenly(pulls: int, wanted: Ints, at: Ints, most: int) -> Ints:
    """Arms for that many pulls, each for the wanted arm with the fewest, beginning with the numbers `at`.

    Fewer where no arm may have more than `most`.

    >>> spread_evenly(4, np.array([3, 7]), np.array([5, 6]), 8).tolist()
    [3, 3, 3, 7]
    >>> spread_evenly(4, np.array([3]), np.array([5]), 8).tolist()
    [3, 3, 3]
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
