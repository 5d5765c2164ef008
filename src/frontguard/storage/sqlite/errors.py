"""What goes wrong with a study file, in words of the user: one line that says what, where, and what to do."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import psutil

from frontguard.errors import BadInput
from frontguard.storage.contract import NothingThere, Unavailable

# What SQLite and apsw raise where a file does not hold what it should.
UNREADABLE = (apsw.CorruptError, apsw.NotADBError, apsw.TooBigError, apsw.NoMemError, apsw.MismatchError)


class NotAsWritten(Exception):
    """A row that is missing or does not match its checksum; the message says which."""


class Busy(Unavailable):
    """Another process held the file for longer than we were to wait. Nothing was written."""


class Unwritable(Unavailable):
    """The disk refused: full, failing, or gone. Nothing was written of what was to be written."""


def checked_place(path: Path, name: str, *, read_only: bool) -> None:
    """Refuse a path that cannot be a study file, before SQLite says it in fewer words."""
    if path.is_dir():
        raise BadInput(f"{name} is a folder; wanted a study file")
    if not path.parent.is_dir():
        raise BadInput(f"{name} cannot be opened: there is no folder {path.parent}")
    if not path.exists():
        if read_only:
            raise NothingThere(f"{name} does not exist")
        if not os.access(path.parent, os.W_OK):
            raise BadInput(f"{name} cannot be made: no permission to write in {path.parent}")
        return
    if not os.access(path, os.R_OK):
        raise BadInput(f"{name} cannot be opened: no permission to read it")
    if not read_only and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        raise BadInput(f"{name} cannot be written: no permission for it or its folder; it can be opened read-only")


def disk_trouble(error: apsw.Error, name: str) -> BadInput | None:
    """The errors of a disk, and None if it is something else."""
    if isinstance(error, apsw.FullError):
        return Unwritable(f"{name} could not be written: the disk is full ({error}); nothing of it was written")
    if isinstance(error, apsw.ReadOnlyError):
        return Unwritable(f"{name} could not be written: the file or its folder is read-only ({error})")
    if isinstance(error, apsw.IOError):
        return Unwritable(f"{name}: the disk reports an error ({error}); nothing of it was written")
    if isinstance(error, apsw.CantOpenError | apsw.PermissionsError):
        return Unwritable(f"{name} cannot be opened, or the files beside it ({error})")
    return None


def held_by(path: Path) -> str:
    """Which processes have the file open, as far as this system tells."""
    holders = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and any(opened.path == str(path) for opened in process.open_files()):
                holders.append(f"{process.pid} ({' '.join(process.cmdline())[:60]})")
        except (psutil.Error, OSError):  # it ended meanwhile, or belongs to another user
            continue
    return "held by process " + ", ".join(holders[:5]) if holders else "the holder is unknown: another user or machine?"
