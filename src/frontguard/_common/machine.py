"""The machine we run on: how many cores are ours to use, and work that is shared among them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # microseconds of CPU time in a period, or "max"


def usable_cores() -> int:
    """How many cores this process may use: by its affinity, and by the limit of its container (cgroups v2)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, _allowed()))


@cache
def _allowed() -> int:
    try:
        quota, period = _QUOTA.read_text("ascii").split()
        return math.ceil(int(quota) / int(period))
    except (OSError, ValueError, ZeroDivisionError):  # no cgroups, or no limit
        return 1 << 16


def side_by_side(function: Callable[[Any], Any], parts: Iterable[Any], *, threads: bool = True) -> list[Any]:
    """The function's answers for all parts, computed in as many threads as there are processors."""
    parts = list(parts)
    if len(parts) < 2 or usable_cores() < 2 or not threads:
        return [function(part) for part in parts]
    with ThreadPoolExecutor(usable_cores(), "frontguard-part") as pool:
        return list(pool.map(function, parts))
