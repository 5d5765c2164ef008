"""How much memory there is for us."""

from __future__ import annotations

import os
from pathlib import Path


def available_memory() -> int:
    """Bytes that can be had without taking them from others, within the limit of our control group if there is one.

    >>> available_memory() > 0
    True
    """
    limits = [_of_machine(), _of_group(Path("/sys/fs/cgroup"))]
    return min(limit for limit in limits if limit is not None)


def _of_machine() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2  # others need some of it
    except (AttributeError, OSError, ValueError):
        return 1 << 31


def _of_group(folder: Path) -> int | None:
    """What a container has left: its limit without what it uses, where files that are cached do not count."""
    try:
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        cached = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(limit - used + int(cached.get("file", 0)), limit // 8)
    except (OSError, ValueError):  # no group, or no limit
        return None
