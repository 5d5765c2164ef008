"""The machine we run on: the cores and the memory that are ours to use, and work shared among cores."""

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
    """Cores that this process may use: by its affinity, and by the limit of its container (cgroups v2)."""
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


def available_memory() -> int:
    """Bytes that can be had without taking them from others, within the limit of our control group if there is one.

    >>> available_memory() > 0
    True
    """
    import psutil

    limits = [psutil.virtual_memory().available, _of_group(Path("/sys/fs/cgroup"))]
    return min(int(limit) for limit in limits if limit is not None)


def _of_group(folder: Path) -> int | None:
    """Bytes that a container has left: its limit without what it uses, where files that are cached do not count."""
    try:
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        cached = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(limit - used + int(cached.get("file", 0)), limit // 8)
    except (OSError, ValueError):  # no group, or no limit
        return None
