"""The storage that is shown: opened read-only, perhaps not there yet, opened again after it was gone."""

from __future__ import annotations

import threading

from frontguard.errors import BadInput
from frontguard.studies.contract import NothingThere, Storage
from frontguard.studies.sqlite_errors import Busy
from frontguard.studies.urls import open_storage

__all__ = ["NotBegun", "Source", "in_words", "passes"]


class NotBegun(Exception):
    """There is no storage yet at the place where one is expected."""


class Source:
    """Gives the storage at `where`, for any number of threads; a storage passes through.

    >>> source = Source("not-there-yet.db")
    >>> source.get()
    Traceback (most recent call last):
    ...
    frontguard.web.source.NotBegun: not-there-yet.db does not exist
    """

    def __init__(self, where: str | Storage) -> None:
        if isinstance(where, str) and where.strip().lower() in ("memory:", "memory://"):
            raise BadInput("STORAGE: wanted a study file or postgresql://…; a study in memory is seen by nobody else")
        self._where = where
        self._storage: Storage | None = None
        self._lock = threading.Lock()
        self._was_there = False

    def get(self) -> Storage:
        """The storage. Raises `NotBegun` as long as it was never there, and what `open_storage` raises."""
        with self._lock:
            if self._storage is None:
                try:
                    self._storage = open_storage(self._where, read_only=True)
                except NothingThere as error:
                    if self._was_there:
                        raise
                    raise NotBegun(str(error)) from None
                self._was_there = True
            return self._storage

    def let_go(self, storage: Storage) -> None:
        """Open the storage anew next time: the file may have been replaced by another one."""
        with self._lock:
            if self._storage is storage and storage is not self._where:
                self._storage = None
                storage.close()

    def close(self) -> None:
        """Let go of files and connections."""
        with self._lock:
            storage, self._storage = self._storage, None
        if storage is not None and storage is not self._where:
            storage.close()


def passes(error: Exception) -> bool:
    """Whether a storage that raised this may be used again as it is: a server that is away, a lock that is held."""
    return isinstance(error, ConnectionError | TimeoutError | Busy)


def in_words(error: Exception) -> str:
    """What went wrong with a storage, for the page: one line, no password.

    >>> in_words(BadInput("study.db is damaged"))
    'study.db is damaged'
    >>> in_words(KeyError("x"))
    "it cannot be read: KeyError: 'x'"
    """
    from frontguard.cli.run_options import without_password

    said = " ".join(str(error).split())
    if not isinstance(error, BadInput | OSError) or not said:
        said = f"it cannot be read: {type(error).__name__}: {said}"
    return without_password(said)
