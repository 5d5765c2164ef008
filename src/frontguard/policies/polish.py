"""Polishing: after the certificate, whose estimates still move.

An arm is looked at whenever its pulls have doubled. Once none of its estimates has moved by more than a share of the
tolerance since, it is *steady*, for good. What is certain does not rest on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints

POLISH = 0.1
"""The share of a tolerance by which an estimate may still move over a doubling of pulls to be called steady."""


class Steadiness(NamedTuple):
    """What is known of how K arms' M estimates move."""

    steady: Bools  # (K,): whether they have come to rest
    marked: Ints  # (K,): pulls at which they were noted last; 0 for never ...
    marks: Floats  # (K, M): ... and what they were


def nothing_steady(arms: int, objectives: int) -> Steadiness:
    """That of arms which were not looked at yet."""
    return Steadiness(np.zeros(arms, np.bool_), np.zeros(arms, np.int64), np.zeros((arms, objectives)))


def looked_at(known: Steadiness, estimates: Floats, pulls: Ints, there: Bools, most: Floats) -> Steadiness:
    """What is known after a look at estimates (K, M) of arms with so many pulls (K,), of those that are `there` (K,).

    `most` (M,) is by how much a steady one may move. The arrays of `known` stay as they are: copies of a policy share
    them.

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
