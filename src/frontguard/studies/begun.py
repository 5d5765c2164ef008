"""Which pulls of a study were begun and have not come back."""

from __future__ import annotations

import numpy as np

from frontguard._common.typing import Ints
from frontguard.storage.contract import Storage


def under_way(storage: Storage, name: str, told: int) -> Ints:
    """The arms of pulls that were handed out and were not among the first `told` that came back.

    Leases are read after the told pulls: what has come back in between counts as under way, too, so that no pull that
    was begun by then is missing. One that was planned and never handed out is none.
    """
    numbers = {pull.id for pull in storage.leases(name)}
    numbers.update(storage.told(name, after=told).pulls.tolist())
    arm_of = np.concatenate([np.empty(0, np.int64), *(plan.arms for plan in storage.plans(name))])
    return np.asarray(arm_of[np.array(sorted(numbers), np.int64) - 1], np.int64)
