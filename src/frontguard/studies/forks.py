"""What a forked child inherits and another thread of its parent was at: it begins anew, with a lock of its own.

A child has one thread. What another thread held locked at that moment stays locked for ever in the child, and may be
half changed. Here nobody waits for such a thread before a fork, since it may itself wait for a storage that does: what
is a function of the log is read again.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Protocol


class Renewable(Protocol):
    """Something whose state is changed under its `_lock` only, and can be had again."""

    _lock: Any  # an RLock

    def _start_anew(self) -> None:
        """Forget what was made of the log."""


_renewable: weakref.WeakSet[Renewable] = weakref.WeakSet()


def renew_after_fork(thing: Renewable) -> None:
    """Have a child that inherits this find it whole and free."""
    _renewable.add(thing)


def _after_fork() -> None:
    for thing in list(_renewable):
        if not thing._lock.acquire(blocking=False):
            thing._start_anew()
        thing._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
