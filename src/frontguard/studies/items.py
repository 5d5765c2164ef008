"""In which order the items of a list are measured: at random, the same for all arms, whoever works it out."""

from __future__ import annotations

import hashlib

import numpy as np

from frontguard._common.typing import Ints


def item_order(seed: int, items: int) -> Ints:
    """Positions (items,) in a list, from 0, in the order in which a study with this seed measures them.

    Items are sorted by a hash of their own, so that the order is that of every process, machine and version that takes
    the study up again.

    >>> item_order(0, 6).tolist(), item_order(1, 6).tolist()
    ([3, 2, 5, 0, 4, 1], [3, 1, 2, 5, 0, 4])
    """
    keys = [hashlib.sha256(f"{seed}/item/{item}".encode()).digest() for item in range(items)]
    return np.array(sorted(range(items), key=keys.__getitem__), np.int64)
