"""All arrays of a policy by name: what two policies in the same state have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard.policies.base import Policy
from frontguard.policies.holding import Holding

BOOKKEEPING = ("_given", "_calls", "_beside", "_pool_users")
"""How a policy came to its state, and who else reads its samples."""


def state_of(policy: Policy) -> dict[str, npt.NDArray[Any]]:
    if isinstance(policy, Holding):
        policy._merge()
    found: dict[str, npt.NDArray[Any]] = {}
    for name, value in vars(policy).items():
        if name in BOOKKEEPING:
            continue
        if name == "pool":
            found[name] = value[: int(policy.columns["count"][-1])].copy()  # the rest is not in use
        elif isinstance(value, tuple) and hasattr(value, "_asdict"):
            found |= {f"{name}.{field}": np.array(array) for field, array in value._asdict().items()}
        elif isinstance(value, np.ndarray | int | float):
            found[name] = np.array(value)
    return found
