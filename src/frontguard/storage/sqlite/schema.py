"""The tables of a study file, the same in all of them. What is not as it should be is damage.

A file may come from a stranger. Its schema can hold programs (triggers, views, generated columns, virtual tables) that
run when it is read or written to. So a file whose schema is not ours to the letter is refused, and connections are told
beforehand (`defend`) to run nothing of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

import apsw

from frontguard.errors import BadInput

APPLICATION = 0x46524744  # "FRGD", in the header of the file: `PRAGMA application_id`
VERSION = 5  # `PRAGMA user_version`
PAGE = 4096

# `crc` is the checksum of all that a row says (`log.row_crc`).
# `numbers` are little-endian doubles: the time (seconds since the epoch), then a value for each metric.
# `progress` counts what the log holds, so that appending to it reads one row: plans, pulls planned by them, told pulls,
# and `handed`: pulls up to this one were handed out or told. Of a study that was forgotten it keeps a row, with -1
# plans, so that no other study gets its number. `ended` says how a pull ended (`End`); `late` holds what was told of a
# pull after it had been given up, `lease` who is at work: both are notes, not log.
_CRC = "crc INTEGER NOT NULL"
_TABLES = (
    f"CREATE TABLE study (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, metrics INTEGER NOT NULL, {_CRC})",
    f"CREATE TABLE settings (id INTEGER PRIMARY KEY, text TEXT NOT NULL, {_CRC})",
    "CREATE TABLE progress (study INTEGER PRIMARY KEY, plans INTEGER NOT NULL, planned INTEGER NOT NULL, "
    f"told INTEGER NOT NULL, handed INTEGER NOT NULL, {_CRC})",
    "CREATE TABLE plan (id INTEGER PRIMARY KEY, told INTEGER NOT NULL, first INTEGER NOT NULL, arms BLOB NOT NULL, "
    f"status TEXT NOT NULL, {_CRC})",
    "CREATE TABLE told (id INTEGER PRIMARY KEY, study INTEGER NOT NULL, pull INTEGER NOT NULL, numbers BLOB NOT NULL, "
    f"reason TEXT NOT NULL, worker TEXT NOT NULL, cluster TEXT NOT NULL, ended INTEGER NOT NULL, {_CRC})",
    "CREATE UNIQUE INDEX told_pull ON told (study, pull)",
    "CREATE TABLE lease (study INTEGER NOT NULL, pull INTEGER NOT NULL, worker TEXT NOT NULL, deadline REAL NOT NULL, "
    f"{_CRC}, PRIMARY KEY (study, pull)) WITHOUT ROWID",
    "CREATE TABLE late (study INTEGER NOT NULL, number INTEGER NOT NULL, pull INTEGER NOT NULL, numbers BLOB NOT NULL, "
    f"reason TEXT NOT NULL, worker TEXT NOT NULL, {_CRC}, PRIMARY KEY (study, number), UNIQUE (study, pull)) "
    "WITHOUT ROWID",
)


LONGEST = 1 << 28
"""Bytes of the longest text or blob that is read or written: a plan of thirty million pulls."""

_DEFENCES = {
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_FKEY: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION: 0,
}


def defend(db: apsw.Connection) -> None:
    """Run nothing that a file brings along, and believe no size that it states."""
    for option, value in _DEFENCES.items():
        db.config(option, value)
    db.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
    db.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST)
    db.execute("PRAGMA cell_size_check = ON")


@contextmanager
def transaction(db: apsw.Connection, kind: Literal["DEFERRED", "IMMEDIATE"]) -> Iterator[None]:
    """All that is done within it, or nothing."""
    db.execute(f"BEGIN {kind}")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if not db.get_autocommit():  # SQLite may have ended it itself
            db.execute("ROLLBACK")
        raise


def create_tables(db: apsw.Connection) -> None:
    """Make the tables of an empty file, in one transaction under the lock of the writers.

    Of several processes that come at once the first does it, and the others find it done.
    """
    with transaction(db, "IMMEDIATE"):
        if db.pragma("user_version") == 0:
            for statement in _TABLES:
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {VERSION}")


def has_tables(db: apsw.Connection, name: str) -> bool:
    """Whether there are tables of ours; False for an empty file. Refuses what is not ours to read: `BadInput`."""
    # One transaction, so that all three are of one moment: another process may be creating the tables right now. And
    # statements that no table or view of the file can stand in for, whatever it is called.
    with transaction(db, "DEFERRED"):
        application, version = db.pragma("application_id"), db.pragma("user_version")
        tables = db.execute("SELECT count(*) FROM sqlite_schema").get
    if application != APPLICATION:
        if application == version == tables == 0:
            return False
        raise BadInput(f"{name} is a database of another program, not a study file; nothing was changed")
    if version != VERSION:
        which, step = ("a newer", "; update frontguard") if version > VERSION else ("another", "")
        raise BadInput(
            f"{name} was written by {which} frontguard: its format is version {version}, this one reads version "
            f"{VERSION}{step}; nothing was changed"
        )
    return True


def missing_definitions(db: apsw.Connection) -> list[str]:
    """Tables and indexes that the file should have and has not, or has otherwise."""
    return [name for _, name, _, _ in sorted(_definitions() - set(_defined_in(db)), key=str)]


def foreign_definitions(db: apsw.Connection) -> list[tuple[str, str]]:
    """Kind and name of whatever the file defines and should not: tables, views, triggers and indexes of others."""
    foreign = Counter(_defined_in(db)) - Counter(_definitions())
    return [(str(kind), str(name)) for kind, name, _, _ in sorted(foreign, key=str)]


def _defined_in(db: apsw.Connection) -> list[Any]:
    return list(db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


@cache
def _definitions() -> set[Any]:
    return set(_defined_in(_fresh()))


def _fresh() -> apsw.Connection:
    db = apsw.Connection(":memory:")
    db.execute(f"PRAGMA page_size = {PAGE}")
    create_tables(db)
    return db


def wal_is_safe(version: str) -> bool:
    """Whether this SQLite is free of the bug that could corrupt a file when its write-ahead log was reset.

    Fixed in 3.51.3, and in 3.50.7 and 3.44.6 for those who stayed on these lines.

    >>> [wal_is_safe(version) for version in ("3.40.1", "3.44.6", "3.45.0", "3.51.2", "3.51.3", "3.54.1")]
    [False, True, False, False, True, True]
    """
    numbers = tuple(int(part) for part in version.split("."))
    return numbers >= (3, 51, 3) or (3, 50, 7) <= numbers < (3, 51) or (3, 44, 6) <= numbers < (3, 45)
