"""Fresh processes, from their start to their exit: what a user waits for, and what the machine had to do meanwhile."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """Seconds by the clock and of processors, and the most memory in bytes (of all processes that it waited for)."""

    wall: float
    processor: float
    memory: int


def fresh(arguments: Sequence[str], *, output: Path | None = None, env: Mapping[str, str] | None = None) -> Run:
    """Run it to its end, its output thrown away or in a file; it has to succeed.

    Python may keep what it has compiled, as it may on users' machines.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with (output or Path(os.devnull)).open("wb") as stdout:
        began = time.perf_counter()
        process = subprocess.Popen(
            list(arguments), stdin=subprocess.DEVNULL, stdout=stdout, env={**environment, **(env or {})}
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, list(arguments))
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
