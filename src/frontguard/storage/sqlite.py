"""Studies in an SQLite file: the storage contract in short transactions, and the rows of its tables, with checksums.

SQLite keeps no checksums of its pages: a bit that flips inside a value would come back as another value. So every row
carries the CRC-32 of all that it says, its place in the log included: a row that changed, moved or took another's place
is noticed when it is read. Rows that are missing are noticed by the counts in `progress`.

Log rows (settings, plans, told pulls) have the key study · 2⁴⁰ + number: the rows of a study lie together in the order
of the log, a new one goes to the end of its page, and no second index is needed to find the n-th.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
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
    Storage,
    StudyExists,
    Tell,
    Told,
    UnknownStudy,
    checked_tells,
    checked_texts,
    fault_of,
    fault_of_plans,
    follows,
    leases_of,
)
from frontguard.storage.sqlite_file import (
    SLOW,
    Answer,
    Journal,
    NotAsWritten,
    StudyFile,
    network_of,
    sync_seconds,
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


class StudyRow(NamedTuple):
    """What never changes of a study."""

    id: int
    name: str
    metrics: int

    @property
    def keys(self) -> tuple[int, int]:
        """Keys between which all rows of its log lie."""
        return key(self.id, 0), key(self.id + 1, 0)


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


class SqliteStorage(Storage):
    """Studies in one file, for any number of processes of one machine.

    What `tell` acknowledges is on the disk. `journal` is "wal", or "rollback" where a write-ahead log would not be
    safe (or if it is asked for); `describe` says why. A writer waits up to `wait` seconds for the others.
    Messages call the file by its path, or as it is `called`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, SqliteStorage(f"{folder}/studies.db") as storage:
    ...     storage.create("flags", settings="", metrics=2)
    ...     storage.add_plan("flags", Plan(number=1, told=0, first=1, arms=np.array([4, 7])))
    ...     storage.tell("flags", [Tell(2, (0.5, 3.0)), Tell(2, (0.6, 3.0))])
    ...     storage.told("flags").values.tolist()
    True
    [True, False]
    [[0.5, 3.0]]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        journal: Journal | None = None,
        wait: float = 60.0,
        called: str | None = None,
    ) -> None:
        if journal not in (None, "wal", "rollback"):
            raise BadInput(f"journal must be 'wal', 'rollback' or None; got {journal!r}")
        self._file = StudyFile(path, read_only=read_only, journal=journal, wait=wait, called=called)
        self._known: dict[str, StudyRow] = {}
        self._sound: set[int] = set()  # studies whose counts were held against their plans

    @property
    def journal(self) -> Journal:
        """How the file is kept safe: "wal" or "rollback"."""
        return self._file.journal

    def describe(self) -> str:
        way = {"wal": "a write-ahead log", "rollback": "a rollback journal"}[self.journal]
        return (
            f"{self._file.name}: SQLite {apsw.sqlite_lib_version()} with {way} and full sync ({self._file.why}); "
            "what is acknowledged survives a crash of the machine"
        )

    def concern(self) -> str:
        network = network_of(self._file.path)
        if network:
            return (
                f"WARNING: {self._file.name} is on a network file system ({network}), where locks may not hold and "
                "what is stored may be damaged; use a file on a disk of this machine, or postgresql://…"
            )
        if self.journal == "rollback":
            return self.describe()
        seconds = sync_seconds(self._file.path.parent)
        if seconds < SLOW:
            return ""
        return (
            f"the disk of {self._file.name} takes {seconds:.1f} s for a sync, which every pull that is told waits for"
        )

    def __repr__(self) -> str:
        return f"SqliteStorage({self._file.name!r})"

    # Studies ----------------------------------------------------------------------------------------------------------

    def studies(self) -> list[str]:
        return [study.name for study in self._file.read(read_studies)]

    def create(self, study: str, settings: str, metrics: int) -> None:
        checked_texts(study, settings)

        def work(db: apsw.Connection) -> None:
            there = read_studies(db)
            if any(study == other.name for other in there):
                raise StudyExists(f"there is a study {study!r} already in {self._file.name}")
            # Those that were forgotten have a row of counts: no other study gets the number of one.
            last = db.execute("SELECT max(id) FROM (SELECT id FROM study UNION ALL SELECT study FROM progress)").get
            new = StudyRow(1 + int(last or 0), study, int(metrics))
            db.execute("INSERT INTO study VALUES (?, ?, ?, ?)", (*new, row_crc(*new)))
            db.execute("INSERT INTO progress VALUES (?, 0, 0, 0, 0, ?)", (new.id, row_crc(new.id, 0, 0, 0, 0)))
            add_settings(db, new, 1, settings)

        self._file.write(work)

    def settings(self, study: str) -> str:
        return self._read(study, read_settings)[1]

    def amend(self, study: str, settings: str, *, after: str | None = None, told: int | None = None) -> bool:
        checked_texts(settings)

        def work(db: apsw.Connection, found: StudyRow) -> bool:
            version, latest = read_settings(db, found)
            if after not in (None, latest) or (told is not None and read_counts(db, found).told != told):
                return False
            add_settings(db, found, version + 1, settings)
            return True

        return self._write(study, work)

    def forget(self, study: str) -> bool:

        def work(db: apsw.Connection, found: StudyRow) -> bool:
            if read_counts(db, found).told:
                return False
            for table in ("settings", "plan"):
                db.execute(f"DELETE FROM {table} WHERE id > ? AND id < ?", found.keys)
            db.execute("DELETE FROM lease WHERE study = ?", (found.id,))
            db.execute("DELETE FROM study WHERE id = ?", (found.id,))
            advance(db, found, Counts(FORGOTTEN, 0, 0, 0))
            return True

        return self._write(study, work)

    # The log ----------------------------------------------------------------------------------------------------------

    def size(self, study: str) -> tuple[int, int]:
        counts = self._read(study, read_counts)
        return counts.plans, counts.told

    def plans(self, study: str, after: int = 0) -> list[Plan]:
        return self._read(study, lambda db, found: read_plans(db, found, max(after, 0)))

    def add_plan(self, study: str, plan: Plan) -> bool:
        checked_texts(plan.status)
        arms = np.asarray(plan.arms, "<i8").tobytes()

        def work(db: apsw.Connection, found: StudyRow) -> bool:
            counts = read_counts(db, found)
            if not follows(plan, counts.plans, counts.planned):
                return False
            row = (int(plan.told), int(plan.first), arms, plan.status)
            crc = row_crc(found.id, int(plan.number), *row)
            db.execute("INSERT INTO plan VALUES (?, ?, ?, ?, ?, ?)", (key(found.id, int(plan.number)), *row, crc))
            advance(db, found, counts._replace(plans=counts.plans + 1, planned=counts.planned + len(plan.arms)))
            return True

        # Not worth a sync: a plan that is lost in a crash of the machine is made again by whoever asks next, and no
        # pull of it can have survived, because the sync of a told pull takes along all that was written before it.
        return self._write(study, work, durable=False)

    def told(self, study: str, after: int = 0, up_to: int | None = None) -> Told:
        return self._read(study, lambda db, found: read_told(db, found, max(after, 0), up_to))

    def tell(self, study: str, tells: Sequence[Tell]) -> list[bool]:
        # What can be done before the transaction is: writers wait for each other.
        rows = [
            ToldRow(
                int(tell.pull),
                pack_numbers(tell.at, tell.values),
                tell.reason,
                tell.worker,
                tell.cluster,
                int(tell.end),
            )
            for tell in tells
        ]
        if not rows:
            self.size(study)  # raises where a study is unknown
            return []

        def work(db: apsw.Connection, found: StudyRow) -> list[bool]:
            counts = read_counts(db, found)
            checked_tells(tells, counts.planned, found.metrics)
            number, answers = counts.told, []
            for row in rows:
                new = append(db, found, number + 1, row)
                number += new
                answers.append(new)
            if number > counts.told:
                advance(db, found, counts._replace(told=number))
            return answers

        return self._write(study, work)

    def late(self, study: str) -> Told:
        return self._read(study, read_late)

    # Leases -----------------------------------------------------------------------------------------------------------

    def hand_out(self, study: str, most: int, worker: str, *, deadline: float) -> list[Pull]:
        checked_texts(worker)
        # A look without a lock first: who asks in vain disturbs nobody.
        leases, counts = self._read(study, lambda db, found: (read_leases(db, found), read_counts(db, found)))
        if counts.handed >= counts.planned and all(lease.deadline > GIVEN_BACK for lease in leases):
            return []

        def work(db: apsw.Connection, found: StudyRow) -> list[Pull]:
            counts = read_counts(db, found)
            if found.id not in self._sound:
                check_planned(db, found, counts)
                self._sound.add(found.id)
            back = [pull.id for pull in read_leases(db, found) if pull.deadline == GIVEN_BACK][: max(most, 0)]
            fresh, handed = fresh_pulls(db, found, counts, max(most - len(back), 0))
            given = [Pull(pull, worker, float(deadline)) for pull in (*back, *fresh)]
            write_leases(db, found, given)
            if handed > counts.handed:
                advance(db, found, counts._replace(handed=handed))
            return given

        # Synced: a lease that is lost in a crash of the machine would be given anew, and its pull be measured twice.
        return self._write(study, work)

    def renew(self, study: str, worker: str, deadline: float, pulls: Iterable[int] | None = None) -> int:
        which = None if pulls is None else set(pulls)  # work may be run twice, what is given read only once

        def work(db: apsw.Connection, found: StudyRow) -> int:
            read_counts(db, found)  # raises if the study was forgotten
            changed = leases_of(read_leases(db, found), worker, which, deadline)
            write_leases(db, found, changed)
            return len(changed)

        return self._write(study, work, durable=False)

    def leases(self, study: str) -> list[Pull]:
        return [pull for pull in self._read(study, read_leases) if pull.deadline > GIVEN_BACK]

    # Housekeeping -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        self._file.close()

    def _read(self, study: str, work: Callable[[apsw.Connection, StudyRow], Answer]) -> Answer:
        """Run work that reads from a study."""
        return self._looked_up(study, lambda: self._file.read(lambda db: work(db, self._study(db, study))))

    def _write(
        self, study: str, work: Callable[[apsw.Connection, StudyRow], Answer], *, durable: bool = True
    ) -> Answer:
        """Run work that writes to a study."""
        return self._looked_up(
            study, lambda: self._file.write(lambda db: work(db, self._study(db, study)), durable=durable)
        )

    def _looked_up(self, study: str, call: Callable[[], Answer]) -> Answer:
        """What a call answers; where the study that we know by that name was forgotten, of another of its name."""
        known = study in self._known
        try:
            return call()
        except UnknownStudy:
            self._known.pop(study, None)
            if not known:
                raise
            return call()

    def _study(self, db: apsw.Connection, name: str) -> StudyRow:
        if name not in self._known:
            there = {study.name: study for study in read_studies(db)}
            if name not in there:
                names = ", ".join(map(repr, there))[:300] or "none"
                raise UnknownStudy(f"there is no study {name!r} in {self._file.name}; there are: {names}")
            self._known[name] = there[name]
        return self._known[name]


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
    """Return all studies, oldest first."""
    studies = []
    rows: list[Any] = db.execute("SELECT id, name, metrics, crc FROM study ORDER BY id").fetchall()
    for row in rows:
        _check(row, f"study {row[0]}")
        id, name, metrics, _ = row
        if not (_whole(id, metrics) and isinstance(name, str) and 0 < id < STUDIES and 0 <= metrics <= MOST_METRICS):
            raise NotAsWritten(f"study {id} is none")
        studies.append(StudyRow(id, name, metrics))
    return studies


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
        study.keys,
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
        study.keys,
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
    """Return the plans above `after`."""
    rows: Iterable[Any] = db.execute(
        "SELECT told, first, arms, status, crc FROM plan WHERE id > ? AND id < ? ORDER BY id",
        (key(study.id, after), key(study.id + 1, 0)),
    )
    plans = []
    for number, row in enumerate(rows, start=after + 1):
        _check((study.id, number, *row), f"plan {number} of study {study.name!r}")
        told, first, arms, status, _ = row
        if not (_whole(told, first) and isinstance(arms, bytes) and len(arms) % 8 == 0 and isinstance(status, str)):
            raise NotAsWritten(f"plan {number} of study {study.name!r} is none")
        plans.append(Plan(number, told, first, np.frombuffer(arms, "<i8").astype(np.int64, copy=False), status))
    counts = read_counts(db, study)
    if len(plans) != max(counts.plans - after, 0):
        raise NotAsWritten(f"study {study.name!r} should have {counts.plans} plans, but has {after + len(plans)}")
    if fault := fault_of_plans(plans, counts.planned):
        raise NotAsWritten(f"study {study.name!r}: {fault}")
    return plans


def read_told(db: apsw.Connection, study: StudyRow, after: int, up_to: int | None) -> Told:
    """Told pulls above `after`, up to `up_to` or the last."""
    counts = read_counts(db, study)
    last = counts.told
    end = last if up_to is None else min(up_to, last)
    pages = [read_page(db, study, start, min(start + PAGE, end)) for start in range(after, end, PAGE)]
    beyond = (key(study.id, last), key(study.id + 1, 0))
    if up_to is None and db.execute("SELECT id FROM told WHERE id > ? AND id < ? LIMIT 1", beyond).fetchone():
        raise NotAsWritten(f"study {study.name!r} should have {last} told pulls, but has more")
    told = Told.joined([Told.of((), study.metrics, after), *pages])
    if fault := fault_of(told, counts.planned):
        raise NotAsWritten(f"study {study.name!r}: {fault}")
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
        return Told.of((), study.metrics)
    _, _, *columns, _ = zip(*rows, strict=True)
    late = _columns(study, 0, [*columns, [""] * len(rows), [End.TOLD] * len(rows)])
    if fault := fault_of(late, counts.planned):
        raise NotAsWritten(f"study {study.name!r}: {fault}")
    return late


def read_leases(db: apsw.Connection, study: StudyRow) -> list[Pull]:
    """Return all leases, those that were given back too, lowest pull first.

    Each pull that was handed out is told, or has a lease: so it is noticed when one is missing.
    """
    rows: list[Any] = db.execute(
        "SELECT pull, worker, deadline, crc FROM lease WHERE study = ? ORDER BY pull", (study.id,)
    ).fetchall()
    counts = read_counts(db, study)
    for row in rows:
        _check((study.id, *row), f"the lease of pull {row[0]} of study {study.name!r}")
        whole = _whole(row[0]) and isinstance(row[1], str) and isinstance(row[2], float)
        if not (whole and 1 <= row[0] <= counts.handed):
            raise NotAsWritten(f"the lease of pull {row[0]} of study {study.name!r} is of no pull that was handed out")
    never_handed = db.execute(
        "SELECT count(*) FROM told INDEXED BY told_pull WHERE study = ? AND pull > ?", (study.id, counts.handed)
    ).get
    due = counts.handed - (counts.told - never_handed)
    if len(rows) != due:
        raise NotAsWritten(f"study {study.name!r} should have {due} leases, but has {len(rows)}")
    return [Pull(pull, worker, deadline) for pull, worker, deadline, _ in rows]


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


def _check(row: Sequence[Any], what: str) -> None:
    if not is_right(row):
        raise NotAsWritten(f"{what} does not match its checksum")


def is_right(row: Sequence[Any], checksum: Callable[..., int] = row_crc) -> bool:
    """Whether a row matches its checksum, which stands last."""
    try:
        return bool(checksum(*row[:-1]) == row[-1])
    except Exception:  # something that is no number and no text
        return False
