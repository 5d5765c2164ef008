"""Processes that left their group: how they are recognised and ended.

A pull is one process group, and killing the group ends it, unless a process has made itself a daemon (a group and a
session of its own, its parent gone). Every pull therefore carries a mark in its environment, `FRONTGUARD_PULL`, which
children inherit. On Linux, /proc shows it. A program that clears its environment as well cannot be found this way.

The mark names the process that runs the pull, so that pulls whose runner was killed can be told from others' later. All
marks of a process have one length: the size of the environment shifts the stack, and with it measured times.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import time
from collections.abc import Callable, Iterable

from frontguard.studies.workers import is_lost, this_worker

MARK = "FRONTGUARD_PULL"
"""The environment variable that marks a process as part of a pull."""

_IN_ENVIRONMENT = re.compile(rb"(?:^|\0)" + MARK.encode() + rb"=([^\0]*)")
_PATIENCE = 2.0  # seconds until a process that cannot be killed (stuck in the kernel) is given up
_LOOKS = 4
_serial = itertools.count(1)


def new_mark() -> str:
    """A mark for one pull, after those of the pulls that we are ourselves part of."""
    ours = f"{this_worker()}#{next(_serial) % 2**32:08x}"
    outer = os.environ.get(MARK)
    return f"{outer} {ours}" if outer else ours


def newest_pid() -> int | None:
    """The number of the process or thread that was started last; None if the system does not say."""
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[-1])
    except (OSError, ValueError, IndexError):
        return None


def end_marked(mark: str, first: int) -> int:
    """Kill every process with this mark that was started after the process `first`. How many there were.

    Numbers are given out in order, so nothing needs to be looked at in the usual case that `first` is still the newest.
    """
    newest = newest_pid()
    if newest is None or newest == first:
        return 0
    wanted = mark.encode()
    seen: set[int] = set()
    deadline = time.perf_counter() + _PATIENCE
    while True:  # again, until there are none: one may have started another meanwhile
        newest = newest_pid() or newest
        found = _with_environment(_after(first, newest), lambda environment: wanted in environment)
        if not found or time.perf_counter() > deadline:
            return len(seen)
        seen.update(found)
        _kill(found)
        time.sleep(0.001)


def end_abandoned() -> int:
    """Kill the pulls that lost their runner, as when it was killed itself. How many processes there were.

    For the start of a run: what a dead runner left behind would disturb the measurements. Only runners of this
    machine that are certainly dead count, and never those of a pull that we are part of.
    """
    own = set(os.environ.get(MARK, "").split())

    def abandoned(environment: bytes) -> bool:
        written = _IN_ENVIRONMENT.search(environment)
        marks = set(written[1].decode(errors="replace").split()) - own if written else set()
        return any(is_lost(mark.rpartition("#")[0]) for mark in marks)

    found = _with_environment(_pids(), abandoned)
    _kill(found)
    return len(found)


def group_is_alive(group: int) -> bool:
    """Whether a process group has members that have not ended; False where the system does not say."""
    for pid in _pids():
        fields = _status(pid)
        if fields and int(fields[2]) == group and fields[0] not in (b"Z", b"X"):
            return True
    return False


def _after(first: int, newest: int) -> list[int]:
    if newest > first:
        return [pid for pid in _pids() if first < pid <= newest]
    return [pid for pid in _pids() if pid > first or pid <= newest]  # the numbers have begun again


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _with_environment(pids: Iterable[int], wanted: Callable[[bytes], bool]) -> list[int]:
    """The processes whose environment is wanted.

    While a process becomes another program its environment looks empty: those are looked at again. Kernel threads and
    the dead have no program; a program that was given an empty environment is given up after a few looks.
    """
    found = []
    for _ in range(_LOOKS):
        unclear = []
        for pid in pids:
            environment = _environment(pid)
            if wanted(environment):
                found.append(pid)
            elif not environment and _has_program(pid):
                unclear.append(pid)
        if not unclear:
            break
        pids = unclear
        time.sleep(0.001)
    return found


def _has_program(pid: int) -> bool:
    try:
        return bool(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return False


def _environment(pid: int) -> bytes:
    """Empty for a process of someone else's, and for one that has ended."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            return file.readall() or b""
    except OSError:
        return b""


def _status(pid: int) -> list[bytes]:
    """State, parent, group, session, … of a process: what follows its name, which may hold anything."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return (file.readall() or b"").rpartition(b")")[2].split()
    except OSError:
        return []


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
