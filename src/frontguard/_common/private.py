"""Files that only their user can read, whatever the umask; one that is there already keeps the mode it has."""

from __future__ import annotations

import os
from contextlib import suppress

PRIVATE = 0o600


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
