"""Where a study's file lies, as far as that is worth a word: a network file system, a disk that syncs slowly."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

NETWORKS = ("nfs", "cifs", "smb", "sshfs", "9p", "afs", "gluster", "lustre", "ceph", "beegfs", "gpfs", "davfs")
"""File systems of other machines, by a part of their names: there locks may not hold, on which SQLite relies."""

SLOW = 0.2
"""Seconds that one sync may take before it is mentioned: every pull that is told waits for one."""


def network_of(path: Path) -> str:
    """The kind of the network file system that a path is on; "" if it is on none, or nobody knows."""
    mounts: dict[str, str] = {}
    with suppress(OSError, psutil.Error):
        mounts = {each.mountpoint: each.fstype for each in psutil.disk_partitions(all=True)}
    around = [mounts[str(folder)] for folder in (path, *path.parents) if str(folder) in mounts]  # the nearest first
    return around[0] if around and any(part in around[0].lower() for part in NETWORKS) else ""


def sync_seconds(folder: Path) -> float:
    """How long a small file in a folder takes to reach the disk; 0 if that cannot be tried."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"frontguard")
            file.flush()
            begun = time.perf_counter()
            os.fsync(file.fileno())
            return time.perf_counter() - begun
    except OSError:
        return 0.0
