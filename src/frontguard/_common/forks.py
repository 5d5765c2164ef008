"""Things with a lock that a forked child inherits whole and free.

A child has one thread. What another thread held locked at that moment stays locked for ever in the child, and may be
half changed. There are two ways out:

- *Held*: the fork waits for the lock and holds it. For locks that are held shortly and under which no other lock of
  ours is waited for: then nobody waits in a circle.
- *Renewed*: the child gets a new lock and begins anew. For locks that are held long, by a thread that may itself wait
  for a held one.
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
