"""The cores and the memory that are ours to use, work shared among cores, and forks.

A forked child has one thread. What another thread held locked stays locked for ever in the child, and may be half
changed. There are two ways out for things with a lock:

- *Held*: the fork waits for the lock and holds it. For locks that are held shortly and under which no other lock of
  ours is waited for: then nobody waits in a circle.
- *Renewed*: the child gets a new lock and begins anew. For locks that are held long, by a thread that may itself wait
  for a held one.
"""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Protocol


class Guarded(Protocol):
    """Something whose state is changed under its `_lock` only."""

    _lock: Any  # a Lock or an RLock

    def _before_fork(self) -> None:
        """Let go of what a child must not inherit; the lock is held."""


class Renewable(Protocol):
    """Something whose state is changed under its `_lock` only, and can be had again."""

    _lock: Any  # an RLock

    def _start_anew(self) -> None:
        """Forget what was made of the log."""


_guarded: weakref.WeakSet[Guarded] = weakref.WeakSet()
_renewable: weakref.WeakSet[Renewable] = weakref.WeakSet()
_forking = threading.RLock()  # one fork at a time: what one thread holds for its fork, no other is to let go
_held: list[Guarded] = []


def hold_over_forks(thing: Guarded) -> None:
    """Have the lock of something held whenever this process forks."""
    with _forking:
        _guarded.add(thing)


def renew_after_fork(thing: Renewable) -> None:
    """Have a child that inherits this find it whole and free."""
    _renewable.add(thing)


def _before_fork() -> None:
    _forking.acquire()
    for thing in sorted(_guarded, key=id):
        thing._lock.acquire()
        _held.append(thing)
        thing._before_fork()


def _after_fork() -> None:
    while _held:
        _held.pop()._lock.release()
    _forking.release()


def _after_fork_in_child() -> None:
    _after_fork()
    for thing in list(_renewable):
        if not thing._lock.acquire(blocking=False):
            thing._start_anew()
        thing._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


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
