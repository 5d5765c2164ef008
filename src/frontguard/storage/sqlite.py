"""Studies in an SQLite file: the storage contract in short transactions, and the rows of its tables, with checksums.

SQLite keeps no checksums of its pages. So every row carries the CRC-32 of all that it says and of its place in the log.
Rows that are missing are noticed by the counts in `progress`.

Log rows (settings, plans, told pulls) have the key study · 2⁴⁰ + number: no second index is needed to find the n-th.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
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
    Storage,
    StudyExists,
    Tell,
    Told,
    UnknownStudy,
    check_tells,
    checked_texts,
    fault_of,
    fault_of_plans,
    follows,
    leases_of,
)
from frontguard.storage.sqlite_file import SLOW, Answer, Journal, NotAsWritten, StudyFile, network_of, sync_seconds

PAGE = 1024
"""Told pulls that are read at a time."""

STRIDE = 1 << 40  # more pulls than a study can have; leaves room ...
STUDIES = 1 << 23  # ... for so many studies

# What the checksum of a told pull is of: these, its numbers, and these.
_PLACE = [("study", "<i8"), ("number", "<i8"), ("pull", "<i8")]
_AFTER = [("reason", "<u4"), ("worker", "<u4"), ("cluster", "<u4"), ("end", "<i8")]
TOLD_COLUMNS = "pull, numbers, reason, worker, cluster, ended, crc"
PLACE = f"id / {STRIDE}, id % {STRIDE}"  # study and number of a row of the log

_THREE = struct.Struct("<3q")
_REST = struct.Struct("<3Iq")

FORGOTTEN = -1
"""In place of the number of plans: there is no such study any more."""


class StudyRow(NamedTuple):
    """The facts of a study that never change."""

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
    """The counts of the log of a study."""

    plans: int
    planned: int
    told: int
    handed: int
    settings: int = 1


class SqliteStorage(Storage):
    """Studies in one file, for any number of processes of one machine.

    What `tell` acknowledges is on the disk. `journal` is "wal", or "rollback" where a write-ahead log would not be
    safe (or if it is asked for); `describe` says why. A writer waits up to `wait` seconds for the others.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        journal: Journal | None = None,
        wait: float = 60.0,
    ) -> None:
        if journal not in (None, "wal", "rollback"):
            raise BadInput(f"journal must be 'wal', 'rollback' or None; got {journal!r}")
        self._file = StudyFile(path, read_only=read_only, journal=journal, wait=wait)
        self._known: dict[str, StudyRow] = {}
        self._sound: set[int] = set()  # studies whose counts were held against their plans

    @property
    def journal(self) -> Journal:
        """The way in which the file is kept safe: "wal" or "rollback"."""
        return self._file.journal

    def describe(self) -> str:
        way = {"wal": "a write-ahead log", "rollback": "a rollback journal"}[self.journal]
        return f"{self._file.name}: SQLite {apsw.sqlite_lib_version()} with {way} and full sync ({self._file.why})"

    def concern(self) -> str:
        network = network_of(self._file.path)
        if network:
            return (
                f"WARNING: {self._file.name} is on a network file system ({network}), where it may be damaged; "
                "use a file on a disk of this machine, or postgresql://…"
            )
        if self.journal == "rollback":
            return self.describe()
        seconds = sync_seconds(self._file.path.parent)
        slow = f"the disk of {self._file.name} takes {seconds:.1f} s for a sync, for which every told pull waits"
        return slow if seconds >= SLOW else ""

    def __repr__(self) -> str:
        return f"SqliteStorage({self._file.name!r})"

    def studies(self) -> list[str]:
        return [study.name for study in self._file.read(read_studies)]

    def create(self, study: str, settings: str, metrics: int) -> None:
        checked_texts(study, settings)

        def work(db: apsw.Connection) -> None:
            if any(study == other.name for other in read_studies(db)):
                raise StudyExists(f"there is a study {study!r} already in {self._file.name}")
            # Those that were forgotten have a row of counts: no other study gets the number of one.
            last = db.execute("SELECT max(id) FROM (SELECT id FROM study UNION ALL SELECT study FROM progress)").get
            new = StudyRow(1 + int(last or 0), study, int(metrics))
            put(db, "study", *new)
            put(db, "progress", new.id, *Counts(0, 0, 0, 0))
            append(db, "settings", new, 1, settings)

        self._file.write(work)

    def settings(self, study: str) -> str:
        return self._run(study, read_settings)[1]

    def amend(self, study: str, settings: str, *, after: str | None = None, told: int | None = None) -> bool:
        checked_texts(settings)

        def work(db: apsw.Connection, found: StudyRow) -> bool:
            version, latest = read_settings(db, found)
            counts = read_counts(db, found)
            if after not in (None, latest) or told not in (None, counts.told):
                return False
            append(db, "settings", found, version + 1, settings)
            put(db, "progress", found.id, *counts._replace(settings=version + 1))
            return True

        return self._run(study, work, "writes durably")

    def forget(self, study: str) -> bool:

        def work(db: apsw.Connection, found: StudyRow) -> bool:
            if read_counts(db, found).told:
                return False
            for table in ("settings", "plan"):
                db.execute(f"DELETE FROM {table} WHERE id > ? AND id < ?", found.keys)
            db.execute("DELETE FROM lease WHERE study = ?", (found.id,))
            db.execute("DELETE FROM study WHERE id = ?", (found.id,))
            put(db, "progress", found.id, *Counts(FORGOTTEN, 0, 0, 0))
            return True

        return self._run(study, work, "writes durably")

    def size(self, study: str) -> tuple[int, int]:
        counts = self._run(study, read_counts)
        return counts.plans, counts.told

    def plans(self, study: str, after: int = 0) -> list[Plan]:
        return self._run(study, lambda db, found: read_plans(db, found, max(after, 0)))

    def add_plan(self, study: str, plan: Plan) -> bool:
        checked_texts(plan.status)
        arms = np.asarray(plan.arms, "<i8").tobytes()

        def work(db: apsw.Connection, found: StudyRow) -> bool:
            counts = read_counts(db, found)
            if not follows(plan, counts.plans, counts.planned):
                return False
            append(db, "plan", found, int(plan.number), int(plan.told), int(plan.first), arms, plan.status)
            counts = counts._replace(plans=counts.plans + 1, planned=counts.planned + len(plan.arms))
            put(db, "progress", found.id, *counts)
            return True

        # Not worth a sync: a plan that is lost in a crash of the machine is made again by whoever asks next, and no
        # pull of it can have survived, because the sync of a told pull takes along all that was written before it.
        return self._run(study, work, "writes")

    def told(self, study: str, after: int = 0, up_to: int | None = None) -> Told:
        return self._run(study, lambda db, found: read_told(db, found, max(after, 0), up_to))

    def tell(self, study: str, tells: Sequence[Tell]) -> list[bool]:
        # What can be done before the transaction is: writers wait for each other.
        rows = []
        for tell in tells:
            numbers = pack_numbers(tell.at, tell.values)
            rows.append(ToldRow(int(tell.pull), numbers, tell.reason, tell.worker, tell.cluster, int(tell.end)))
        if not rows:
            self.size(study)  # raises where a study is unknown
            return []

        def work(db: apsw.Connection, found: StudyRow) -> list[bool]:
            counts = read_counts(db, found)
            check_tells(tells, counts.planned, found.metrics)
            number, answers = counts.told, []
            for row in rows:
                new = append_told(db, found, number + 1, row)
                number += new
                answers.append(new)
            if number > counts.told:
                put(db, "progress", found.id, *counts._replace(told=number))
            return answers

        return self._run(study, work, "writes durably")

    def late(self, study: str) -> Told:
        return self._run(study, read_late)

    def hand_out(self, study: str, most: int, worker: str, *, deadline: float) -> list[Pull]:
        checked_texts(worker)
        # A look without a lock first: who asks in vain disturbs nobody.
        leases, counts = self._run(study, lambda db, found: (read_leases(db, found), read_counts(db, found)))
        if counts.handed >= counts.planned and all(lease.deadline > GIVEN_BACK for lease in leases):
            return []

        def work(db: apsw.Connection, found: StudyRow) -> list[Pull]:
            counts = read_counts(db, found)
            if found.id not in self._sound:
                check_planned(db, found, counts)
                self._sound.add(found.id)
            back = [pull.id for pull in read_leases(db, found) if pull.deadline == GIVEN_BACK][: max(most, 0)]
            # Those that were told are skipped, though never handed out.
            query = "SELECT pull FROM told INDEXED BY told_pull WHERE study = ? AND pull > ?"
            told = set(db.execute(query, (found.id, counts.handed)))
            new = (pull for pull in range(counts.handed + 1, counts.planned + 1) if (pull,) not in told)
            fresh = list(islice(new, max(most - len(back), 0)))
            handed = counts.planned if len(back) + len(fresh) < most else max([counts.handed, *fresh])
            given = [Pull(pull, worker, float(deadline)) for pull in (*back, *fresh)]
            write_leases(db, found, given)
            if handed > counts.handed:
                put(db, "progress", found.id, *counts._replace(handed=handed))
            return given

        # Synced: a lease that is lost in a crash of the machine would be given anew, and its pull be measured twice.
        return self._run(study, work, "writes durably")

    def renew(self, study: str, worker: str, deadline: float, pulls: Iterable[int] | None = None) -> int:
        which = None if pulls is None else set(pulls)  # work may be run twice, what is given read only once

        def work(db: apsw.Connection, found: StudyRow) -> int:
            read_counts(db, found)  # raises if the study was forgotten
            changed = leases_of(read_leases(db, found), worker, which, deadline)
            write_leases(db, found, changed)
            return len(changed)

        return self._run(study, work, "writes")

    def leases(self, study: str) -> list[Pull]:
        return [pull for pull in self._run(study, read_leases) if pull.deadline > GIVEN_BACK]

    def close(self) -> None:
        self._file.close()

    def _run(
        self,
        study: str,
        work: Callable[[apsw.Connection, StudyRow], Answer],
        how: Literal["reads", "writes", "writes durably"] = "reads",
    ) -> Answer:
        """Run work on a study; where the one that we know by that name was forgotten, on another of its name."""

        def on_study(db: apsw.Connection) -> Answer:
            return work(db, self._study(db, study))

        def run() -> Answer:
            return self._file.read(on_study) if how == "reads" else self._file.write(on_study, durable=how != "writes")

        known = study in self._known
        try:
            return run()
        except UnknownStudy:
            self._known.pop(study, None)
            if not known:
                raise
            return run()

    def _study(self, db: apsw.Connection, name: str) -> StudyRow:
        if name not in self._known:
            there = {study.name: study for study in read_studies(db)}
            if name not in there:
                names = ", ".join(map(repr, there))[:300] or "none"
                raise UnknownStudy(f"there is no study {name!r} in {self._file.name}; there are: {names}")
            self._known[name] = there[name]
        return self._known[name]


def put(db: apsw.Connection, table: str, *row: Any) -> None:
    """Write a row with its checksum, in the place of the one that has its key."""
    db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({'?, ' * len(row)}?)", (*row, row_crc(*row)))


def append(db: apsw.Connection, table: str, study: StudyRow, number: int, *row: Any) -> None:
    """Write the `number`-th row of a study into a table of its log, with its checksum."""
    crc = row_crc(study.id, number, *row)
    db.execute(f"INSERT INTO {table} VALUES (?, {'?, ' * len(row)}?)", (key(study.id, number), *row, crc))


def append_told(db: apsw.Connection, study: StudyRow, number: int, told: ToldRow) -> bool:
    """Write a told pull as the `number`-th, unless it was told before; beside the log if it was given up before."""
    row = (key(study.id, number), study.id, *told, told_crc(study.id, number, *told))
    try:
        db.execute("INSERT INTO told VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (study, pull) DO NOTHING", row)
    except apsw.ConstraintError:
        raise NotAsWritten(f"told pull {number} of study {study.name!r} is there, but not counted") from None
    if db.changes():
        db.execute("DELETE FROM lease WHERE study = ? AND pull = ?", (study.id, told.pull))
        return True
    if _end_of(db, study, told.pull) != End.TOLD and told.end == End.TOLD:
        query = "SELECT count(*), coalesce(max(pull = ?), 0) FROM late WHERE study = ?"
        late, there = db.execute(query, (told.pull, study.id)).get
        if not there:
            put(db, "late", study.id, late + 1, told.pull, told.numbers, told.reason, told.worker)
    return False


def _end_of(db: apsw.Connection, study: StudyRow, pull: int) -> int:
    """The index says that a pull was told; believe it if the row says so too, and see how it ended."""
    place = db.execute("SELECT id FROM told INDEXED BY told_pull WHERE study = ? AND pull = ?", (study.id, pull)).get
    row = db.execute(f"SELECT {TOLD_COLUMNS} FROM told WHERE id = ?", (place,)).fetchone()
    if row is None or row[0] != pull or told_crc(study.id, place - key(study.id, 0), *row[:-1]) != row[-1]:
        raise NotAsWritten(f"the index of the told pulls of study {study.name!r} is wrong about pull {pull}")
    return int(row[5])


def write_leases(db: apsw.Connection, study: StudyRow, leases: Iterable[Pull]) -> None:
    """Note leases, each in the place of an earlier one of its pull."""
    for each in leases:
        put(db, "lease", study.id, each.id, each.worker, each.deadline)


def checked_rows(
    db: apsw.Connection, what: str, query: str, parameters: Sequence[int], *kinds: type, of: StudyRow | None = None
) -> list[tuple[Any, ...]]:
    """Return rows without their last column, the checksum; refuse those that do not match it, or these `kinds`."""
    rows: list[tuple[Any, ...]] = db.execute(query, parameters).fetchall()
    for row in rows:
        kept = is_right(row)
        if not kept or tuple(map(type, row[:-1])) != kinds:
            name = what.format(*row) if of is None else f"{what.format(*row)} of study {of.name!r}"
            raise NotAsWritten(f"{name} is none" if kept else f"{name} does not match its checksum")
    return [row[:-1] for row in rows]


def read_studies(db: apsw.Connection) -> list[StudyRow]:
    """Return all studies, oldest first."""
    rows = checked_rows(db, "study {0}", "SELECT id, name, metrics, crc FROM study ORDER BY id", (), int, str, int)
    for id, _, metrics in rows:
        if not (0 < id < STUDIES and 0 <= metrics <= MOST_METRICS):
            raise NotAsWritten(f"study {id} is none")
    counted = db.execute("SELECT count(*) FROM progress WHERE plans <> ?", (FORGOTTEN,)).get
    if len(rows) != counted:
        raise NotAsWritten(f"it should have {counted} studies, but has {len(rows)}")
    return [StudyRow(*row) for row in rows]


def read_counts(db: apsw.Connection, study: StudyRow) -> Counts:
    """Return the counts of the log."""
    query = "SELECT * FROM progress WHERE study = ?"
    rows = checked_rows(db, "the row of counts", query, (study.id,), *[int] * 6, of=study)
    if not rows:
        raise NotAsWritten(f"the counts of study {study.name!r} are missing")
    counts = Counts(*rows[0][1:])
    plans, planned, told, handed, settings = counts
    if plans == FORGOTTEN:
        raise UnknownStudy(f"study {study.name!r} was removed, nothing having been told of it")
    if not (0 <= plans < STRIDE and 0 <= told <= planned < STRIDE and 0 <= handed <= planned and settings > 0):
        raise NotAsWritten(f"the counts of study {study.name!r} cannot be: {str(counts)[:100]}")
    return counts


def check_planned(db: apsw.Connection, study: StudyRow, counts: Counts) -> None:
    """Hold the counts against the plans, before pulls are handed out by counts alone."""
    query = "SELECT count(*), coalesce(sum(length(arms)), 0) FROM plan WHERE id > ? AND id < ?"
    plans, size = db.execute(query, study.keys).get
    if plans != counts.plans or size != 8 * counts.planned:
        wanted = f"{counts.plans} plans of {counts.planned} pulls"
        raise NotAsWritten(f"study {study.name!r} should have {wanted}, but has {plans} of {size // 8}")


def read_settings(db: apsw.Connection, study: StudyRow) -> tuple[int, str]:
    """Version and text of the latest settings."""
    query = f"SELECT {PLACE}, text, crc FROM settings WHERE id > ? AND id < ? ORDER BY id DESC LIMIT 1"
    rows = checked_rows(db, "the row of settings", query, study.keys, int, int, str, of=study)
    counts = read_counts(db, study)  # raises if it was forgotten
    if not rows or rows[0][1] != counts.settings:
        raise NotAsWritten(f"the latest settings of study {study.name!r} are missing")
    return counts.settings, rows[0][2]


def read_plans(db: apsw.Connection, study: StudyRow, after: int) -> list[Plan]:
    """Return the plans above `after`."""
    query = f"SELECT {PLACE}, told, first, arms, status, crc FROM plan WHERE id > ? AND id < ? ORDER BY id"
    place = key(study.id, after), key(study.id + 1, 0)
    rows = checked_rows(db, "plan {1}", query, place, int, int, int, int, bytes, str, of=study)
    plans = []
    for _, number, told, first, arms, status in rows:
        if len(arms) % 8:
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
    query = "SELECT {} FROM told WHERE id > ? AND id <= ? ORDER BY id"
    place = key(study.id, after), key(study.id, last)
    rows: list[Any] = db.execute(query.format(TOLD_COLUMNS), place).fetchall()
    try:
        *columns, crcs = zip(*rows, strict=True)
        right = len(rows) == last - after and _told_crcs(study, after + 1, columns) == list(crcs)
    except (TypeError, ValueError, OverflowError, AttributeError):  # something that is no number, no bytes, no text
        right = False
    if not right:
        raise _wrong_row(study, after, rows, db.execute(query.format("id"), place).fetchall())
    pulls, numbers, reasons, workers, clusters, ends = columns
    at_and_values = np.frombuffer(b"".join(numbers), "<f8").reshape(len(pulls), 1 + study.metrics)
    return Told(
        after=after,
        pulls=np.array(pulls, np.int64),
        values=at_and_values[:, 1:],
        reasons=reasons,
        workers=workers,
        at=at_and_values[:, 0],
        ends=np.array(ends, np.int64),
        clusters=clusters,
    )


def _wrong_row(study: StudyRow, after: int, rows: list[Any], places: list[Any]) -> NotAsWritten:
    """The first of the told pulls above `after` that is missing or is not as written; rows know their place."""
    width = 8 + 8 * study.metrics
    for number, (row, (place,)) in enumerate(zip(rows, places, strict=True), start=after + 1):
        if place != key(study.id, number):
            return NotAsWritten(f"told pull {number} of study {study.name!r} is missing")
        if not is_right((study.id, number, *row), told_crc) or len(row[1]) != width:
            return NotAsWritten(f"told pull {number} of study {study.name!r} does not match its checksum")
    return NotAsWritten(f"told pull {after + len(rows) + 1} of study {study.name!r} is missing")


def read_late(db: apsw.Connection, study: StudyRow) -> Told:
    """Return the tells of pulls after they had been given up."""
    query = "SELECT * FROM late WHERE study = ? ORDER BY number"
    kinds = int, int, int, bytes, str, str
    tells = []
    for _, _, pull, numbers, reason, worker in checked_rows(db, "late pull {2}", query, (study.id,), *kinds, of=study):
        if len(numbers) != 8 + 8 * study.metrics:
            raise NotAsWritten(f"late pull {pull} of study {study.name!r} is none")
        at, *values = np.frombuffer(numbers, "<f8").tolist()
        tells.append(Tell(pull, tuple(values), reason, worker, at))
    late = Told.of(tells, study.metrics)
    if fault := fault_of(late, read_counts(db, study).planned):
        raise NotAsWritten(f"study {study.name!r}: {fault}")
    return late


def read_leases(db: apsw.Connection, study: StudyRow) -> list[Pull]:
    """Return all leases, given back or not, lowest pull first; a pull without one that was handed out must be told."""
    query = "SELECT * FROM lease WHERE study = ? ORDER BY pull"
    rows = checked_rows(db, "the lease of pull {1}", query, (study.id,), int, int, str, float, of=study)
    counts = read_counts(db, study)
    leases = [Pull(pull, worker, deadline) for _, pull, worker, deadline in rows]
    for lease in leases:
        if not 1 <= lease.id <= counts.handed:
            raise NotAsWritten(
                f"the lease of pull {lease.id} of study {study.name!r} is of no pull that was handed out"
            )
    never_handed = db.execute(
        "SELECT count(*) FROM told INDEXED BY told_pull WHERE study = ? AND pull > ?", (study.id, counts.handed)
    ).get
    due = counts.handed - (counts.told - never_handed)
    if len(leases) != due:
        raise NotAsWritten(f"study {study.name!r} should have {due} leases, but has {len(leases)}")
    return leases


def key(study: int, number: int) -> int:
    """Return the key of a row of the log."""
    return study * STRIDE + number


def pack_numbers(at: float, values: Sequence[float]) -> bytes:
    """The time of a told pull and its values as little-endian doubles: bit for bit, and read by the million."""
    try:
        return struct.pack(f"<{1 + len(values)}d", at, *values)
    except struct.error:
        raise ValueError(f"time and values of a pull must be numbers; got {at!r} and {tuple(values)!r}") from None


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


def is_right(row: Sequence[Any], checksum: Callable[..., int] = row_crc) -> bool:
    """Return True if a row matches its checksum, which stands last."""
    try:
        return bool(checksum(*row[:-1]) == row[-1])
    except Exception:  # something that is no number and no text
        return False
