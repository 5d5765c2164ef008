"""The registry of storages: add one here and the conformance suite covers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from frontguard.storage.contract import MemoryStorage, Storage

_numbers = count(1)


@dataclass(frozen=True)
class Place:
    """A storage that is empty at first; `open` opens it again and again, in other processes too if `processes`."""

    name: str
    open: Callable[[], Storage]
    processes: bool = True


def _memory(request: pytest.FixtureRequest, folder: Path) -> Place:
    storage = MemoryStorage()
    return Place("memory", lambda: storage, processes=False)


def _sqlite(request: pytest.FixtureRequest, folder: Path) -> Place:
    from frontguard.storage.sqlite import SqliteStorage

    return Place("sqlite", lambda: SqliteStorage(folder / "studies.db"))


def _sqlite_rollback(request: pytest.FixtureRequest, folder: Path) -> Place:
    from frontguard.storage.sqlite import SqliteStorage

    return Place("sqlite-rollback", lambda: SqliteStorage(folder / "studies.db", journal="rollback"))


def _postgres(request: pytest.FixtureRequest, folder: Path) -> Place:
    from frontguard.storage.postgres import PostgresStorage

    server = request.getfixturevalue("postgres")
    schema = f"suite_{next(_numbers)}"
    return Place("postgres", lambda: PostgresStorage(server.url(), schema=schema))


STORAGES: dict[str, Callable[[pytest.FixtureRequest, Path], Place]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "sqlite-rollback": _sqlite_rollback,
    "postgres": _postgres,
}
SHARED = [name for name in STORAGES if name != "memory"]  # by processes


@pytest.fixture(params=STORAGES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Each kind of storage."""
    return STORAGES[request.param](request, tmp_path)


@pytest.fixture(params=SHARED)
def shared_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Each kind of storage that processes can share."""
    return STORAGES[request.param](request, tmp_path)


@pytest.fixture
def storage(place: Place) -> Iterator[Storage]:
    """An empty storage of each kind."""
    with place.open() as storage:
        yield storage
