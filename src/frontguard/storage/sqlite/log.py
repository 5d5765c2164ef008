"""The log of a study in its tables: rows in, and rows out again, each checked against its checksum."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import apsw
import numpy as np

from frontguard._typing import Floats, Ints
from frontguard.storage.contract import Lease, Plan, Told
from frontguard.storage.sqlite.file import NotAsWritten
from frontguard.storage.sqlite.rows import STRIDE, key, row_crc, told_crc, told_crcs

_PAGE = 1024  # told pulls that are read at a time


class StudyRow(NamedTuple):
    """What never changes of a study."""

    id: int
    name: str
    metrics: int


class Progress(NamedTuple):
    """How far the log of a study has come."""

    plans: int
    planned: int
    told: int
    handed: int


# Rows in --------------------------------------------------------------------------------------------------------------


def append(
    db: apsw.Connection, study: StudyRow, number: int, pull: int, numbers: bytes, reason: str, worker: str
) -> bool:
    """Write a told pull as the `number`-th, unless it was told before."""
    crc = told_crc(study.id, number, pull, numbers, reason, worker)
    row = (key(study.id, number), study.id, pull, numbers, reason, worker, crc)
    try:
        db.execute("INSERT INTO told VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (study, pull) DO NOTHING", row)
    except apsw.ConstraintError:
        raise NotAsWritten(f"told pull {number} of study {study.name!r} is there, but not counted") from None
    if db.changes() == 0:
        _confirm(db, study, pull)
        return False
    db.execute("DELETE FROM lease WHERE study = ? AND pull = ?", (study.id, pull))
    return True


def _confirm(db: apsw.Connection, study: StudyRow, pull: int) -> None:
    """The index says that a pull was told; believe it if the row says so too."""
    place = db.execute("SELECT id FROM told INDEXED BY told_pull WHERE study = ? AND pull = ?", (study.id, pull)).get
    row = db.execute("SELECT pull, numbers, reason, worker, crc FROM told WHERE id = ?", (place,)).fetchone()
    if row is None or row[0] != pull or told_crc(study.id, place - key(study.id, 0), *row[:-1]) != row[-1]:
        raise NotAsWritten(f"the index of the told pulls of study {study.name!r} is wrong about pull {pull}")


def advance(db: apsw.Connection, study: StudyRow, progress: Progress) -> None:
    """Write down how far the log has come."""
    db.execute(
        "UPDATE progress SET plans = ?, planned = ?, told = ?, handed = ?, crc = ? WHERE study = ?",
        (*progress, row_crc(study.id, *progress), study.id),
    )


def add_settings(db: apsw.Connection, study: StudyRow, version: int, text: str) -> None:
    """Append settings."""
    crc = row_crc(study.id, version, text)
    db.execute("INSERT INTO settings VALUES (?, ?, ?)", (key(study.id, version), text, crc))


# Rows out -------------------------------------------------------------------------------------------------------------


def read_studies(db: apsw.Connection) -> list[StudyRow]:
    """All studies, oldest first."""
    rows: list[Any] = db.execute("SELECT id, name, metrics, crc FROM study ORDER BY id").fetchall()
    for *row, crc in rows:
        _check(row, crc, f"study {row[0]}")
    return [StudyRow(id, name, metrics) for id, name, metrics, _ in rows]


def read_progress(db: apsw.Connection, study: StudyRow) -> Progress:
    """How far the log has come."""
    row = db.execute("SELECT plans, planned, told, handed, crc FROM progress WHERE study = ?", (study.id,)).fetchone()
    if row is None:
        raise NotAsWritten(f"the counts of study {study.name!r} are missing")
    _check((study.id, *row[:-1]), row[-1], f"the row of counts of study {study.name!r}")
    return Progress(*row[:-1])


def read_settings(db: apsw.Connection, study: StudyRow) -> tuple[int, str]:
    """Version and text of the latest settings."""
    row = db.execute(
        "SELECT id, text, crc FROM settings WHERE id > ? AND id < ? ORDER BY id DESC LIMIT 1",
        (key(study.id, 0), key(study.id + 1, 0)),
    ).fetchone()
    if row is None:
        raise NotAsWritten(f"the settings of study {study.name!r} are missing")
    place, text, crc = row
    _check((study.id, place % STRIDE, text), crc, f"the row of settings of study {study.name!r}")
    return place % STRIDE, text


def read_plans(db: apsw.Connection, study: StudyRow, after: int, last: int) -> list[Plan]:
    """Plans above `after`, of which `last` is known to be the last."""
    plans = []
    rows = db.execute(
        "SELECT told, first, arms, status, crc FROM plan WHERE id > ? AND id < ? ORDER BY id",
        (key(study.id, after), key(study.id + 1, 0)),
    )
    for number, (*row, crc) in enumerate(rows, start=after + 1):
        _check((study.id, number, *row), crc, f"plan {number} of study {study.name!r}")
        told, first, arms, status = row
        plans.append(Plan(number, told, first, np.frombuffer(arms, "<i8").astype(np.int64, copy=False), status))
    if len(plans) != max(last - after, 0):
        raise NotAsWritten(f"study {study.name!r} should have {last} plans, but has {after + len(plans)}")
    return plans


def read_told(db: apsw.Connection, study: StudyRow, after: int, last: int, *, to_the_end: bool) -> Told:
    """Told pulls above `after` up to `last`; `to_the_end` if that is known to be the last there is."""
    pages = [_read_page(db, study, start, min(start + _PAGE, last)) for start in range(after, last, _PAGE)]
    beyond = (key(study.id, last), key(study.id + 1, 0))
    if to_the_end and db.execute("SELECT id FROM told WHERE id > ? AND id < ? LIMIT 1", beyond).fetchone():
        raise NotAsWritten(f"study {study.name!r} should have {last} told pulls, but has more")
    pulls = np.concatenate([np.empty(0, np.int64), *(page.pulls for page in pages)])
    if len(pulls) and np.bincount(pulls - pulls.min()).max() > 1:
        raise NotAsWritten(f"study {study.name!r} has a pull that was told twice")
    numbers = np.concatenate([np.empty((0, 1 + study.metrics)), *(page.numbers for page in pages)])
    reasons = tuple(chain.from_iterable(page.reasons for page in pages))
    workers = tuple(chain.from_iterable(page.workers for page in pages))
    return Told(after, pulls, numbers[:, 1:], reasons, workers, numbers[:, 0])


class _Page(NamedTuple):
    """Some told pulls that follow on each other, as columns."""

    pulls: Ints
    numbers: Floats
    reasons: Sequence[str]
    workers: Sequence[str]


def _read_page(db: apsw.Connection, study: StudyRow, after: int, last: int) -> _Page:
    """Told pulls `after` + 1 to `last`, gathered into columns by SQLite: half the time of a million Python rows."""
    try:
        row: Any = db.execute(
            "SELECT CAST(group_concat(CAST(numbers AS TEXT), '') AS BLOB), json_group_array(pull), "
            "json_group_array(reason), json_group_array(worker), json_group_array(crc) "
            "FROM told WHERE id > ? AND id <= ?",
            (key(study.id, after), key(study.id, last)),
        ).fetchone()
        pulls, reasons, workers, crcs = (json.loads(column) for column in row[1:])
        numbers = np.frombuffer(row[0], "<f8").reshape(last - after, 1 + study.metrics)
        page = _Page(np.array(pulls, np.int64), numbers, reasons, workers)
        right = told_crcs(study.id, after + 1, *page).tolist() == crcs
    except (apsw.Error, TypeError, ValueError, OverflowError, AttributeError):
        right = False  # something is in it that is not ours, or that is too much for one piece of text
    return page if right else _read_row_by_row(db, study, after, last)


def _read_row_by_row(db: apsw.Connection, study: StudyRow, after: int, last: int) -> _Page:
    """The same; names the row that is wrong."""
    found = []
    for number in range(after + 1, last + 1):
        row: Any = db.execute(
            "SELECT pull, numbers, reason, worker, crc FROM told WHERE id = ?", (key(study.id, number),)
        ).fetchone()
        if row is None:
            raise NotAsWritten(f"told pull {number} of study {study.name!r} is missing")
        try:
            right = told_crc(study.id, number, *row[:-1]) == row[-1] and len(row[1]) == 8 + 8 * study.metrics
        except Exception:  # something that is no number, no bytes, no text
            right = False
        if not right:
            raise NotAsWritten(f"told pull {number} of study {study.name!r} does not match its checksum")
        found.append(row[:-1])
    pulls, numbers, reasons, workers = zip(*found, strict=True)
    return _Page(
        np.array(pulls, np.int64),
        np.frombuffer(b"".join(numbers), "<f8").reshape(last - after, 1 + study.metrics),
        reasons,
        workers,
    )


def read_leases(db: apsw.Connection, study: StudyRow) -> list[Lease]:
    """All leases, lowest pull first."""
    rows: list[Any] = db.execute(
        "SELECT pull, worker, deadline, attempt, crc FROM lease WHERE study = ? ORDER BY pull", (study.id,)
    ).fetchall()
    for *row, crc in rows:
        _check((study.id, *row), crc, f"the lease of pull {row[0]} of study {study.name!r}")
    return [Lease(pull, worker, deadline, attempt) for pull, worker, deadline, attempt, _ in rows]


def fresh_pulls(db: apsw.Connection, study: StudyRow, progress: Progress, most: int) -> tuple[list[int], int]:
    """Up to `most` planned pulls that were neither handed out nor told, and the last pull that was looked at."""
    fresh: list[int] = []
    handed = progress.handed
    while len(fresh) < most and handed < progress.planned:
        end = min(handed + max(most - len(fresh), 100), progress.planned)
        told = {
            pull
            for (pull,) in db.execute(
                "SELECT pull FROM told WHERE study = ? AND pull > ? AND pull <= ?", (study.id, handed, end)
            )
        }
        while len(fresh) < most and handed < end:
            handed += 1
            if handed not in told:
                fresh.append(handed)
    return fresh, handed


def _check(row: Iterable[object], crc: object, what: str) -> None:
    try:
        right = row_crc(*row) == crc  # type: ignore[arg-type]
    except Exception:  # something that is no number and no text
        right = False
    if not right:
        raise NotAsWritten(f"{what} does not match its checksum")
