"""Locks that are held while the process forks: a child finds what they guard whole, and the locks free.

Only for locks that are held shortly and under which no other lock of ours is waited for: then nobody waits in a circle.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Protocol


class Guarded(Protocol):
    """Something whose state is changed under its `_lock` only."""

    _lock: Any  # a Lock or an RLock

    def _before_fork(self) -> None:
        """Let go of what a child must not inherit; the lock is held."""


_guarded: weakref.WeakSet[Guarded] = weakref.WeakSet()
_forking = threading.RLock()  # one fork at a time: what one thread holds for its fork, no other is to let go
_held: list[Guarded] = []


def hold_over_forks(thing: Guarded) -> None:
    """Have the lock of something held whenever this process forks."""
    with _forking:
        _guarded.add(thing)


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


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
