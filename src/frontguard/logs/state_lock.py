"""One writer at a time: a lock file beside the state, held by the system for as long as the process lives."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from frontguard.errors import BadInput

__all__ = ["held"]

_PAUSE = 0.05  # seconds between two tries


@contextlib.contextmanager
def held(path: Path, wait: float) -> Iterator[None]:
    """Hold the lock of a file; wait for it that many seconds at most, then say who holds it.

    The lock belongs to the process and not to the lock file: when its holder dies, it is free.
    """
    lock = path.parent / f".{path.name}.lock"
    deadline = time.monotonic() + wait
    while True:
        handle = _try(lock, path)
        if handle is not None:
            break
        if time.monotonic() >= deadline:
            raise BadInput(f"{path}: {_holder(lock)} is writing to this state, also after {wait:g} seconds of waiting")
        time.sleep(_PAUSE)
    try:
        yield
    finally:
        # Removed while it is still held, so that whoever opens the file afterwards makes a new one.
        with contextlib.suppress(OSError):
            lock.unlink()
        os.close(handle)


def _try(lock: Path, path: Path) -> int | None:
    """The open lock file, locked; None while somebody else has it."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise BadInput(f"{path}: no lock can be made beside it: {error.strerror or error}") from error
    try:
        if _locked(handle) and _same_file(handle, lock):
            os.ftruncate(handle, 0)
            note = {"process": os.getpid(), "machine": socket.gethostname(), "since": time.strftime("%H:%M:%S")}
            os.write(handle, json.dumps(note).encode())
            return handle
    except OSError as error:
        os.close(handle)
        raise BadInput(f"{path}: no lock can be had on it: {error.strerror or error}") from error
    os.close(handle)
    return None


def _locked(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # no POSIX system
        import msvcrt

        try:
            os.lseek(handle, 1024, os.SEEK_SET)  # beyond the note, which others may read
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            os.lseek(handle, 0, os.SEEK_SET)
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _same_file(handle: int, lock: Path) -> bool:
    """False when the holder before removed the file that was opened."""
    try:
        there = lock.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), there)


def _holder(lock: Path) -> str:
    try:
        note = json.loads(lock.read_text(encoding="utf-8"))
        return f"process {note['process']} on {note['machine']} (since {note['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
