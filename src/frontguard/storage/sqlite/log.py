"""The tables of a study file, and the log of a study in them: rows in and out again, each with its checksum.

SQLite keeps no checksums of its pages: a bit that flips inside a value would come back as another value. So every row
carries the CRC-32 of all that it says, its place in the log included: a row that changed, moved or took another's place
is noticed when it is read.

Log rows (settings, plans, told pulls) have the key study · 2⁴⁰ + number: the rows of a study lie together in the order
of the log, a new one goes to the end of its page, and no second index is needed to find the n-th.

A file may come from a stranger. Its schema can hold programs (triggers, views, generated columns, virtual tables) that
run when it is read or written to. So a file whose schema is not ours to the letter is refused, and connections are told
beforehand (`defend`) to run nothing of it.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from typing import Any, Literal, NamedTuple
from zlib import crc32

import apsw
import numpy as np

from frontguard.errors import BadInput
from frontguard.storage.contract import (
    GIVEN_BACK,
    MOST_METRICS,
    End,
    Plan,
    Pull,
    Told,
    UnknownStudy,
    fault_of,
    fault_of_plans,
)

PAGE = 1024
"""Told pulls that are read at a time."""

STRIDE = 1 << 40  # more pulls than a study can have; leaves room ...
STUDIES = 1 << 23  # ... for so many studies

# What the checksum of a told pull is of: these, its numbers, and these.
_PLACE = [("study", "<i8"), ("number", "<i8"), ("pull", "<i8")]
_AFTER = [("reason", "<u4"), ("worker", "<u4"), ("cluster", "<u4"), ("end", "<i8")]
_THREE = struct.Struct("<3q")
_REST = struct.Struct("<3Iq")

FORGOTTEN = -1
"""In place of the number of plans: there is no such study any more."""


class NotAsWritten(Exception):
    """A row that is missing or does not match its checksum; the message says which."""


class StudyRow(NamedTuple):
    """What never changes of a study."""

    id: int
    name: str
    metrics: int


class ToldRow(NamedTuple):
    """A told pull as its row has it; `numbers` are its time and values."""

    pull: int
    numbers: bytes
    reason: str
    worker: str
    cluster: str
    end: int


class Counts(NamedTuple):
    """How far the log of a study has come."""

    plans: int
    planned: int
    told: int
    handed: int


# Tables ---------------------------------------------------------------------------------------------------------------

APPLICATION = 0x46524744  # "FRGD", in the header of the file: `PRAGMA application_id`
VERSION = 5  # `PRAGMA user_version`
PAGE_SIZE = 4096

# `crc` is the checksum of all that a row says (`row_crc`).
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


def check_definitions(db: apsw.Connection) -> None:
    """Refuse a file whose tables and indexes are not ours to the letter, or that has more: tables, views, triggers."""
    ours, found = _definitions(), Counter(_defined_in(db))
    wrong = [name for _, name, _, _ in sorted(ours - set(found), key=str)]
    if wrong:
        raise NotAsWritten(f"the definition of {' and '.join(wrong)} is missing or changed")
    foreign = sorted(found - Counter(ours), key=str)
    if foreign:
        kind, name, *_ = foreign[0]
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise NotAsWritten(f"it has a {kind} {str(name)[:60]!r}{more} that no study file has")


def _defined_in(db: apsw.Connection) -> list[Any]:
    return list(db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


@cache
def _definitions() -> set[Any]:
    with closing(apsw.Connection(":memory:")) as db:
        create_tables(db)
        return set(_defined_in(db))


# Rows in --------------------------------------------------------------------------------------------------------------


def append(db: apsw.Connection, study: StudyRow, number: int, told: ToldRow) -> bool:
    """Write a told pull as the `number`-th, unless it was told before; beside the log if it was given up before."""
    row = (key(study.id, number), study.id, *told, told_crc(study.id, number, *told))
    try:
        db.execute("INSERT INTO told VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (study, pull) DO NOTHING", row)
    except apsw.ConstraintError:
        raise NotAsWritten(f"told pull {number} of study {study.name!r} is there, but not counted") from None
    if db.changes() == 0:
        if _end_of(db, study, told.pull) != End.TOLD and told.end == End.TOLD:
            _append_late(db, study, told)
        return False
    db.execute("DELETE FROM lease WHERE study = ? AND pull = ?", (study.id, told.pull))
    return True


def _end_of(db: apsw.Connection, study: StudyRow, pull: int) -> int:
    """The index says that a pull was told; believe it if the row says so too, and see how it ended."""
    place = db.execute("SELECT id FROM told INDEXED BY told_pull WHERE study = ? AND pull = ?", (study.id, pull)).get
    row = db.execute(
        "SELECT pull, numbers, reason, worker, cluster, ended, crc FROM told WHERE id = ?", (place,)
    ).fetchone()
    if row is None or row[0] != pull or told_crc(study.id, place - key(study.id, 0), *row[:-1]) != row[-1]:
        raise NotAsWritten(f"the index of the told pulls of study {study.name!r} is wrong about pull {pull}")
    return int(row[5])


def _append_late(db: apsw.Connection, study: StudyRow, told: ToldRow) -> None:
    last = db.execute("SELECT coalesce(max(number), 0) FROM late WHERE study = ?", (study.id,)).get
    row = (study.id, last + 1, told.pull, told.numbers, told.reason, told.worker)
    db.execute(
        "INSERT INTO late VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (study, pull) DO NOTHING", (*row, row_crc(*row))
    )


def forget(db: apsw.Connection, study: StudyRow) -> None:
    """Remove a study but for its number."""
    for table in ("settings", "plan"):
        db.execute(f"DELETE FROM {table} WHERE id > ? AND id < ?", (key(study.id, 0), key(study.id + 1, 0)))
    db.execute("DELETE FROM lease WHERE study = ?", (study.id,))
    db.execute("DELETE FROM study WHERE id = ?", (study.id,))
    advance(db, study, Counts(FORGOTTEN, 0, 0, 0))


def advance(db: apsw.Connection, study: StudyRow, counts: Counts) -> None:
    """Write down how far the log has come."""
    db.execute(
        "UPDATE progress SET plans = ?, planned = ?, told = ?, handed = ?, crc = ? WHERE study = ?",
        (*counts, row_crc(study.id, *counts), study.id),
    )


def write_leases(db: apsw.Connection, study: StudyRow, leases: Iterable[Pull]) -> None:
    """Note leases, each in the place of an earlier one of its pull."""
    for each in leases:
        row = (study.id, each.id, each.worker, each.deadline)
        db.execute("INSERT OR REPLACE INTO lease VALUES (?, ?, ?, ?, ?)", (*row, row_crc(*row)))


def add_settings(db: apsw.Connection, study: StudyRow, version: int, text: str) -> None:
    """Append settings."""
    crc = row_crc(study.id, version, text)
    db.execute("INSERT INTO settings VALUES (?, ?, ?)", (key(study.id, version), text, crc))


# Rows out -------------------------------------------------------------------------------------------------------------


def read_studies(db: apsw.Connection) -> list[StudyRow]:
    """All studies, oldest first."""
    return [study_of(row) for row in db.execute("SELECT id, name, metrics, crc FROM study ORDER BY id").fetchall()]


def study_of(row: Any) -> StudyRow:
    """A row of the table of studies, checked."""
    _check(row, f"study {row[0]}")
    id, name, metrics, _ = row
    if not (_whole(id, metrics) and isinstance(name, str) and 0 < id < STUDIES and 0 <= metrics <= MOST_METRICS):
        raise NotAsWritten(f"study {id} is none")
    return StudyRow(id, name, metrics)


def next_number(db: apsw.Connection) -> int:
    """The number of the next study: none has or had it."""
    return 1 + int(
        db.execute("SELECT max(id) FROM (SELECT id FROM study UNION ALL SELECT study FROM progress)").get or 0
    )


def read_counts(db: apsw.Connection, study: StudyRow) -> Counts:
    """How far the log has come."""
    row = db.execute("SELECT plans, planned, told, handed, crc FROM progress WHERE study = ?", (study.id,)).fetchone()
    if row is None:
        raise NotAsWritten(f"the counts of study {study.name!r} are missing")
    _check((study.id, *row), f"the row of counts of study {study.name!r}")
    if row[0] == FORGOTTEN:
        raise UnknownStudy(f"study {study.name!r} was removed, nothing having been told of it")
    counts = Counts(*row[:-1])
    plans, planned, told, handed = counts
    whole = _whole(plans, planned, told, handed)
    if not (whole and 0 <= plans < STRIDE and 0 <= told <= planned < STRIDE and 0 <= handed <= planned):
        raise NotAsWritten(f"the counts of study {study.name!r} cannot be: {str(counts)[:100]}")
    return counts


def check_planned(db: apsw.Connection, study: StudyRow, counts: Counts) -> None:
    """Hold the counts against the plans, before pulls are handed out by counts alone."""
    plans, size = db.execute(
        "SELECT count(*), coalesce(sum(length(arms)), 0) FROM plan WHERE id > ? AND id < ?",
        (key(study.id, 0), key(study.id + 1, 0)),
    ).get
    if plans != counts.plans or size != 8 * counts.planned:
        raise NotAsWritten(
            f"study {study.name!r} should have {counts.plans} plans of {counts.planned} pulls, but has {plans} of "
            f"{size // 8}"
        )


def read_settings(db: apsw.Connection, study: StudyRow) -> tuple[int, str]:
    """Version and text of the latest settings."""
    row = db.execute(
        "SELECT id, text, crc FROM settings WHERE id > ? AND id < ? ORDER BY id DESC LIMIT 1",
        (key(study.id, 0), key(study.id + 1, 0)),
    ).fetchone()
    if row is None:
        read_counts(db, study)  # raises if it was forgotten
        raise NotAsWritten(f"the settings of study {study.name!r} are missing")
    place, text, crc = row
    _check((study.id, place % STRIDE, text, crc), f"the row of settings of study {study.name!r}")
    if not isinstance(text, str):
        raise NotAsWritten(f"the settings of study {study.name!r} are no text")
    return place % STRIDE, text


def read_plans(db: apsw.Connection, study: StudyRow, after: int) -> list[Plan]:
    """Plans above `after`."""
    plans = list(each_plan(db, study, after))
    counts = read_counts(db, study)
    if len(plans) != max(counts.plans - after, 0):
        raise NotAsWritten(f"study {study.name!r} should have {counts.plans} plans, but has {after + len(plans)}")
    _refuse(fault_of_plans(plans, counts.planned), study)
    return plans


def each_plan(db: apsw.Connection, study: StudyRow, after: int = 0) -> Iterator[Plan]:
    """Plans above `after`, one by one."""
    rows: Iterable[Any] = db.execute(
        "SELECT told, first, arms, status, crc FROM plan WHERE id > ? AND id < ? ORDER BY id",
        (key(study.id, after), key(study.id + 1, 0)),
    )
    for number, row in enumerate(rows, start=after + 1):
        _check((study.id, number, *row), f"plan {number} of study {study.name!r}")
        told, first, arms, status, _ = row
        if not (_whole(told, first) and isinstance(arms, bytes) and len(arms) % 8 == 0 and isinstance(status, str)):
            raise NotAsWritten(f"plan {number} of study {study.name!r} is none")
        yield Plan(number, told, first, np.frombuffer(arms, "<i8").astype(np.int64, copy=False), status)


def read_told(db: apsw.Connection, study: StudyRow, after: int, up_to: int | None) -> Told:
    """Told pulls above `after`, up to `up_to` or the last."""
    counts = read_counts(db, study)
    last = counts.told
    end = last if up_to is None else min(up_to, last)
    pages = [read_page(db, study, start, min(start + PAGE, end)) for start in range(after, end, PAGE)]
    beyond = (key(study.id, last), key(study.id + 1, 0))
    if up_to is None and db.execute("SELECT id FROM told WHERE id > ? AND id < ? LIMIT 1", beyond).fetchone():
        raise NotAsWritten(f"study {study.name!r} should have {last} told pulls, but has more")
    told = Told.joined([Told.nothing(after, study.metrics), *pages])
    _refuse(fault_of(told, counts.planned), study)
    if len(told) and np.bincount(told.pulls - told.pulls.min()).max() > 1:
        raise NotAsWritten(f"study {study.name!r} has a pull that was told twice")
    return told


def read_page(db: apsw.Connection, study: StudyRow, after: int, last: int) -> Told:
    """Told pulls `after` + 1 to `last`, checked all at once; the row that is wrong is looked for if there is one."""
    query, place = (
        "SELECT {} FROM told WHERE id > ? AND id <= ? ORDER BY id",
        (key(study.id, after), key(study.id, last)),
    )
    rows: list[Any] = db.execute(query.format("pull, numbers, reason, worker, cluster, ended, crc"), place).fetchall()
    try:
        *columns, crcs = zip(*rows, strict=True)
        right = len(rows) == last - after and _told_crcs(study, after + 1, columns) == list(crcs)
    except (TypeError, ValueError, OverflowError, AttributeError):  # something that is no number, no bytes, no text
        right = False
    if not right:
        raise _wrong_row(study, after, rows, db.execute(query.format("id"), place).fetchall())
    return _columns(study, after, columns)


def _wrong_row(study: StudyRow, after: int, rows: list[Any], places: list[Any]) -> NotAsWritten:
    """The first of the told pulls above `after` that is missing or is not as written; rows know their place."""
    width = 8 + 8 * study.metrics
    for number, (row, (place,)) in enumerate(zip(rows, places, strict=True), start=after + 1):
        if place != key(study.id, number):
            return NotAsWritten(f"told pull {number} of study {study.name!r} is missing")
        if not is_right((study.id, number, *row), told_crc) or len(row[1]) != width:
            return NotAsWritten(f"told pull {number} of study {study.name!r} does not match its checksum")
    return NotAsWritten(f"told pull {after + len(rows) + 1} of study {study.name!r} is missing")


def _columns(study: StudyRow, after: int, columns: Sequence[Sequence[Any]]) -> Told:
    """The columns of `ToldRow`s, one at least, as they are handed out."""
    pulls, numbers, reasons, workers, clusters, ends = columns
    at_and_values = np.frombuffer(b"".join(numbers), "<f8").reshape(len(pulls), 1 + study.metrics)
    at, values = at_and_values[:, 0], at_and_values[:, 1:]
    return Told(
        after=after,
        pulls=np.array(pulls, np.int64),
        values=values,
        reasons=tuple(reasons),
        workers=tuple(workers),
        at=at,
        ends=np.array(ends, np.int64),
        clusters=tuple(clusters),
    )


def read_late(db: apsw.Connection, study: StudyRow) -> Told:
    """What was told of pulls after they had been given up."""
    counts = read_counts(db, study)
    rows: list[Any] = db.execute(
        "SELECT study, number, pull, numbers, reason, worker, crc FROM late WHERE study = ? ORDER BY number",
        (study.id,),
    ).fetchall()
    for row in rows:
        _check(row, f"late pull {row[2]} of study {study.name!r}")
        pull, numbers, *texts = row[2:6]
        width = len(numbers) if isinstance(numbers, bytes) else 0
        if not (_whole(pull) and width == 8 + 8 * study.metrics and all(isinstance(text, str) for text in texts)):
            raise NotAsWritten(f"late pull {row[2]} of study {study.name!r} is none")
    if not rows:
        return Told.nothing(0, study.metrics)
    _, _, *columns, _ = zip(*rows, strict=True)
    late = _columns(study, 0, [*columns, [""] * len(rows), [End.TOLD] * len(rows)])
    _refuse(fault_of(late, counts.planned), study)
    return late


def read_leases(db: apsw.Connection, study: StudyRow) -> list[Pull]:
    """All leases, those that were given back too, lowest pull first."""
    rows: list[Any] = db.execute(
        "SELECT pull, worker, deadline, crc FROM lease WHERE study = ? ORDER BY pull", (study.id,)
    ).fetchall()
    last = read_counts(db, study).planned if rows else 0
    for row in rows:
        _check((study.id, *row), f"the lease of pull {row[0]} of study {study.name!r}")
        if not (_whole(row[0]) and 1 <= row[0] <= last and isinstance(row[1], str) and isinstance(row[2], float)):
            raise NotAsWritten(f"the lease of pull {row[0]} of study {study.name!r} is of none of its {last} pulls")
    return [Pull(pull, worker, deadline) for pull, worker, deadline, _ in rows]


def pulls_given_back(db: apsw.Connection, study: StudyRow, most: int) -> list[int]:
    """Up to `most` pulls whose leases were given back, lowest first."""
    back = [pull.id for pull in read_leases(db, study) if pull.deadline == GIVEN_BACK]
    return back[: max(most, 0)]


def fresh_pulls(db: apsw.Connection, study: StudyRow, counts: Counts, most: int) -> tuple[list[int], int]:
    """Up to `most` planned pulls that were neither handed out nor told, and the last pull that was looked at."""
    rows = db.execute(
        "WITH RECURSIVE next (pull) AS (VALUES (:handed) UNION ALL SELECT pull + 1 FROM next WHERE pull < :planned) "
        "SELECT pull FROM next WHERE pull > :handed "
        "AND NOT EXISTS (SELECT 1 FROM told WHERE study = :study AND told.pull = next.pull) LIMIT :most",
        {"handed": counts.handed, "planned": counts.planned, "study": study.id, "most": most},
    )
    fresh = [pull for (pull,) in rows]
    return fresh, counts.planned if len(fresh) < most else max([counts.handed, *fresh])


# Keys and checksums ---------------------------------------------------------------------------------------------------


def key(study: int, number: int) -> int:
    """Where a row of the log is kept."""
    return study * STRIDE + number


def pack_numbers(at: float, values: Sequence[float]) -> bytes:
    """The time of a told pull and its values as little-endian doubles: bit for bit, and read by the million."""
    try:
        return struct.pack(f"<{1 + len(values)}d", at, *values)
    except struct.error:
        raise ValueError(
            f"the time and the values of a pull must be numbers; got {at!r} and {tuple(values)!r}"
        ) from None


def row_crc(*fields: int | float | str | bytes) -> int:
    """The checksum of a row. Each field goes in with its kind and length, so that none can pass for another.

    >>> row_crc(1, "ab", "c") == row_crc(1, "a", "bc")
    False
    """
    crc = 0
    for field in fields:
        if isinstance(field, int):
            crc = crc32(b"i%d" % field, crc)
        elif isinstance(field, float):
            crc = crc32(b"d" + struct.pack("<d", field), crc)
        else:
            data = field if isinstance(field, bytes) else field.encode()
            crc = crc32(data, crc32(b"b%d:" % len(data), crc))
    return crc


def told_crc(
    study: int, number: int, pull: int, numbers: bytes, reason: str, worker: str, cluster: str, end: int
) -> int:
    """The checksum of one told pull."""
    rest = _REST.pack(crc32(reason.encode()), crc32(worker.encode()), crc32(cluster.encode()), end)
    return crc32(_THREE.pack(study, number, pull) + numbers + rest)


def _told_crcs(study: StudyRow, first: int, columns: Sequence[Sequence[Any]]) -> list[int]:
    """The checksums of told pulls `first`, `first` + 1, …: what `told_crc` gives for each, in a third of the time."""
    pulls, numbers, reasons, workers, clusters, ends = columns
    width = 8 + 8 * study.metrics
    rows = np.empty(len(pulls), [*_PLACE, ("numbers", f"V{width}"), *_AFTER])
    rows["study"] = study.id
    rows["number"] = np.arange(first, first + len(pulls))
    rows["pull"] = pulls
    rows["numbers"] = np.frombuffer(b"".join(numbers), f"V{width}")
    known = {text: crc32(text.encode()) for text in {*reasons, *workers, *clusters}}  # few of each
    rows["reason"] = list(map(known.__getitem__, reasons))
    rows["worker"] = list(map(known.__getitem__, workers))
    rows["cluster"] = list(map(known.__getitem__, clusters))
    rows["end"] = ends
    return list(map(crc32, rows.view(f"V{rows.itemsize}").tolist()))


def _whole(*numbers: object) -> bool:
    """Whether all of these are whole numbers: a column of SQLite takes anything."""
    return set(map(type, numbers)) == {int}


def _refuse(fault: str, study: StudyRow) -> None:
    if fault:
        raise NotAsWritten(f"study {study.name!r}: {fault}")


def _check(row: Sequence[Any], what: str) -> None:
    if not is_right(row):
        raise NotAsWritten(f"{what} does not match its checksum")


def is_right(row: Sequence[Any], checksum: Callable[..., int] = row_crc) -> bool:
    """Whether a row matches its checksum, which stands last."""
    try:
        return bool(checksum(*row[:-1]) == row[-1])
    except Exception:  # something that is no number and no text
        return False
