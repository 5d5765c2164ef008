"""Files that only their user can read, whatever the umask; one that is there already keeps the mode it has."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedRandom
from pathlib import Path

PRIVATE = 0o600
LEFTOVER = ".part"
"""How names of files end that were not written to their end."""


def private(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file as `os.open` does, and make it private if this makes it. For `open(path, "w", opener=private)`.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.md"
    >>> with open(path, "w", opener=private) as file:
    ...     oct(path.stat().st_mode & 0o777)
    '0o600'
    """
    if not flags & os.O_CREAT:
        return os.open(path, flags)
    try:
        descriptor = os.open(path, flags | os.O_EXCL, PRIVATE)
    except FileExistsError:
        if flags & os.O_EXCL:
            raise
        return os.open(path, flags, PRIVATE)
    os.chmod(path, PRIVATE)  # the umask may have taken bits away
    return descriptor


def make_private(path: str | os.PathLike[str]) -> None:
    """Make an empty private file, unless there is a file, or it cannot be made."""
    with suppress(OSError):
        os.close(private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))


@contextmanager
def replacing(place: Path) -> Iterator[BufferedRandom]:
    """A new file, private or with the mode of the old one, that takes this place once all of it is on the disk.

    On any error, what was there stays. What a killed process leaves lies beside it.
    """
    beside = place.with_name(f".{place.name[:200]}.{secrets.token_hex(6)}{LEFTOVER}")
    try:
        with open(beside, "x+b", opener=private) as file:
            if place.exists():
                shutil.copymode(place, beside)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, place)
        with suppress(OSError):  # the move itself is made durable, where folders can be synced
            folder = os.open(place.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    finally:
        beside.unlink(missing_ok=True)
