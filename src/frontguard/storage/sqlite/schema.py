"""The tables of a study file, their versions, and the way from one version to the next.

A new file goes the same road as an old one: it gets the tables of version 1 and then every later step. So files of one
version have the same tables at the same pages however old they are, and what is not as it should be is damage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import apsw

from frontguard.errors import BadInput
from frontguard.storage.sqlite.rows import STRIDE, row_crc, told_crc

__all__ = [
    "APPLICATION",
    "PAGE",
    "VERSION",
    "bring_up_to_date",
    "definitions",
    "first_page",
    "missing_definitions",
    "version_of",
    "wal_is_safe",
]

APPLICATION = 0x46524744  # "FRGD", in the header of the file: `PRAGMA application_id`
VERSION = 2  # `PRAGMA user_version`
PAGE = 4096

# `numbers` are little-endian doubles: the time (seconds since the epoch), then a value for each metric.
# `progress` counts what the log holds, so that appending to it reads one row: plans, pulls planned by them, told pulls,
# and `handed`: pulls up to this one were handed out or told. `lease` holds notes, not log.
_VERSION_1 = (
    "CREATE TABLE study (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, metrics INTEGER NOT NULL)",
    "CREATE TABLE settings (id INTEGER PRIMARY KEY, text TEXT NOT NULL)",
    "CREATE TABLE progress (study INTEGER PRIMARY KEY, plans INTEGER NOT NULL, planned INTEGER NOT NULL, "
    "told INTEGER NOT NULL, handed INTEGER NOT NULL)",
    "CREATE TABLE plan (id INTEGER PRIMARY KEY, told INTEGER NOT NULL, first INTEGER NOT NULL, arms BLOB NOT NULL, "
    "status TEXT NOT NULL)",
    "CREATE TABLE told (id INTEGER PRIMARY KEY, study INTEGER NOT NULL, pull INTEGER NOT NULL, numbers BLOB NOT NULL, "
    "reason TEXT NOT NULL, worker TEXT NOT NULL)",
    "CREATE UNIQUE INDEX told_pull ON told (study, pull)",
    "CREATE TABLE lease (study INTEGER NOT NULL, pull INTEGER NOT NULL, worker TEXT NOT NULL, deadline REAL NOT NULL, "
    "attempt INTEGER NOT NULL, PRIMARY KEY (study, pull)) WITHOUT ROWID",
)

# Version 2: every row has a checksum. The columns are all that a row says, its place in the log first.
_CHECKED: dict[str, tuple[str, Callable[..., int]]] = {
    "study": ("id, name, metrics", row_crc),
    "settings": (f"id / {STRIDE}, id % {STRIDE}, text", row_crc),
    "progress": ("study, plans, planned, told, handed", row_crc),
    "plan": (f"id / {STRIDE}, id % {STRIDE}, told, first, arms, status", row_crc),
    "told": (f"study, id % {STRIDE}, pull, numbers, reason, worker", told_crc),
    "lease": ("study, pull, worker, deadline, attempt", row_crc),
}


def _to_version_1(db: apsw.Connection) -> None:
    for statement in _VERSION_1:
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION}")


def _to_version_2(db: apsw.Connection) -> None:
    for table, (columns, checksum) in _CHECKED.items():
        db.execute(f"ALTER TABLE {table} ADD COLUMN crc INTEGER NOT NULL DEFAULT 0")
        db.create_scalar_function("row_checksum", checksum, deterministic=True)
        try:
            db.execute(f"UPDATE {table} SET crc = row_checksum({columns})")
        finally:
            db.create_scalar_function("row_checksum", None)


_STEPS: tuple[Callable[[apsw.Connection], None], ...] = (_to_version_1, _to_version_2)


def bring_up_to_date(db: apsw.Connection, version: int = VERSION) -> None:
    """Make the tables, or migrate those of an older version; all in one transaction, under the lock of the writers.

    Of several processes that come at once the first does it, and the others find it done. A process that is killed here
    leaves the file as it was.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        now = db.pragma("user_version")
        for number, step in enumerate(_STEPS[:version], start=1):
            if number > now:
                step(db)
                db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")
    except BaseException:
        if not db.get_autocommit():
            db.execute("ROLLBACK")
        raise


def version_of(db: apsw.Connection, name: str) -> int:
    """The version of the tables, 0 for an empty file. Refuses what is not ours or newer than we are: `BadInput`."""
    # One statement, so that all three are of one moment: another process may be creating the tables right now.
    application, version, tables = db.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) "
        "FROM pragma_application_id, pragma_user_version"
    ).get
    if application != APPLICATION:
        if application == version == tables == 0:
            return 0
        raise BadInput(f"{name} is a database of another program, not a study file; nothing was changed")
    if version > VERSION:
        raise BadInput(
            f"{name} was written by a newer frontguard: its format is version {version}, this one reads up to version "
            f"{VERSION}; update frontguard"
        )
    return int(version)


@cache
def definitions(version: int = VERSION) -> frozenset[tuple[str, str]]:
    """Names and definitions of the tables and indexes of a version, as `sqlite_schema` has them."""
    rows: list[Any] = _fresh(version).execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    return frozenset(rows)


@cache
def first_page(version: int = VERSION) -> bytes:
    """The first page of a new file: header, and where each table begins: the same in all files of a version."""
    return _fresh(version).serialize("main")[:PAGE]


def _fresh(version: int) -> apsw.Connection:
    db = apsw.Connection(":memory:")
    db.execute(f"PRAGMA page_size = {PAGE}")
    bring_up_to_date(db, version)
    return db


def wal_is_safe(version: str) -> bool:
    """Whether this SQLite is free of the bug that could corrupt a file when its write-ahead log was reset.

    Fixed in 3.51.3, and in 3.50.7 and 3.44.6 for those who stayed on these lines.

    >>> [wal_is_safe(version) for version in ("3.40.1", "3.44.6", "3.45.0", "3.51.2", "3.51.3", "3.54.1")]
    [False, True, False, False, True, True]
    """
    numbers = tuple(int(part) for part in version.split("."))
    return numbers >= (3, 51, 3) or (3, 50, 7) <= numbers < (3, 51) or (3, 44, 6) <= numbers < (3, 45)


def missing_definitions(db: apsw.Connection, version: int) -> Iterator[str]:
    """Tables and indexes that the file should have and has not, or has otherwise."""
    found = set(db.execute("SELECT name, sql FROM sqlite_schema"))
    return (name for name, _ in sorted(definitions(version) - found))
