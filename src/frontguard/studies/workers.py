"""Who is at work: names of workers by which a dead one can be told on the machine where it ran.

A worker that does not say what it is called gets a name made of the machine, its boot and process namespace, the
process and the moment it began. So another process on the same machine can see that it is gone, without waiting for its
leases to end; of workers elsewhere, and of those with names of their own, nothing is known but the lease.

The moment is read from /proc, in ticks since boot, rather than asked of `psutil`, which tells it by the wall clock:
after that was set, a living worker would look like another one with its number, and be called dead.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

_LONGEST = 20  # digits of a process number

UNKNOWN = "0"
"""When a process began, on systems that do not say: then nobody is called dead."""


def this_worker(which: int = 1) -> str:
    """The name of this process as a worker, or of the `which`-th worker in it."""
    name = _name_of(os.getpid())
    return name if which == 1 else f"{name}.{which}"


@cache
def _name_of(pid: int) -> str:
    return f"{_machine()}/{pid}/{_began(pid) or UNKNOWN}"


def is_lost(worker: str) -> bool:
    """Whether a worker of this machine is certainly dead; False where it cannot be known.

    >>> is_lost(this_worker()), is_lost("reader-7")
    (False, False)
    """
    machine, _, process = worker.rpartition("/")
    machine, _, pid = machine.rpartition("/")
    process = process.partition(".")[0]
    if machine != _machine() or not (pid.isdecimal() and process.isdecimal()) or process == UNKNOWN:
        return False
    if len(pid) > _LONGEST:
        return False  # a name that looks like one of ours, and is none
    return str(_began(int(pid))) != process


@cache
def _machine() -> str:
    """This machine since it booted, as seen by this process: elsewhere the same process number is another process."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return f"{platform.node()}-{os.getpid()}-unknown"  # nobody else's workers can be recognised from here
    return "-".join([platform.node(), *("".join(c for c in part if c.isalnum())[-12:] for part in (boot, namespace))])


def _began(pid: int) -> int | None:
    """When a living process began, in clock ticks since boot; None if there is none (or only its remains)."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    state, began = after_name[0], after_name[19]  # fields 3 and 22 of proc(5)
    return None if state in "ZX" else int(began)
