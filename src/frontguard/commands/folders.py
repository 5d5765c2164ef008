"""The folder that a run has for its arms, and what killed runs left of theirs.

A folder holds a file on which its run has a lock (`flock`), which ends with the process however it ends. Whoever gets
that lock knows that nobody uses the folder any more. The file comes to its name when it is locked already, so that no
folder ever looks abandoned while it is made.

Everything is done through descriptors that follow no links, in folders that belong to this user and that nobody else
can write to: in a folder for all, such as /tmp, others can put anything beside ours, but nothing into it.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

try:
    import fcntl
except ImportError:  # Windows, where no commands are run
    fcntl = None  # type: ignore[assignment]

PREFIX = "frontguard-run-"
LOCK = ".in-use"


class RunFolder:
    """A new folder in the temporary directory, which is removed at the end. Use it in a `with` statement."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        self.path = Path(self._temporary.name)
        draft = self.path / f"{LOCK}-draft"
        self._lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with suppress(OSError):  # a file system without locks: then it is never taken for abandoned
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.rename(self.path / LOCK)

    def remove(self) -> None:
        """Remove it with all that is in it, as far as that can be removed."""
        self._temporary.cleanup()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def clear_abandoned() -> int:
    """Remove the folders that runs of this user left in the temporary directory when they were killed. How many."""
    found = [entry for entry in Path(tempfile.gettempdir()).glob(f"{PREFIX}*") if _cleared(entry)]
    return len(found)


def _cleared(folder: Path) -> bool:
    nofollow = os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | nofollow)
    except OSError:
        return False  # no folder, or not ours
    try:
        if not _only_ours(os.fstat(here)):
            return False
        lock = os.open(LOCK, os.O_RDWR | nofollow | os.O_NONBLOCK, dir_fd=here)
        try:
            if not stat.S_ISREG(os.fstat(lock).st_mode) or not _only_ours(os.fstat(lock)):
                return False
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _empty(here)
            os.rmdir(folder)  # an empty one, whatever is in its place by now
        finally:
            os.close(lock)
    except OSError:  # none of ours, in use, or something in it cannot be removed
        return False
    finally:
        os.close(here)
    return True


def _only_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _empty(folder: int) -> None:
    """Remove what is in the folder with this descriptor, the lock last: what is left of it is tried again."""
    for name in sorted(os.listdir(folder), key=lambda name: name == LOCK):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=folder)  # follows no links either
        else:
            os.unlink(name, dir_fd=folder)
