"""Studies in an SQLite file: the storage contract in short transactions. The file itself: `file`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

import apsw
import numpy as np

from frontguard.errors import BadInput
from frontguard.storage.contract import (
    GIVEN_BACK,
    Plan,
    Pull,
    Storage,
    StudyExists,
    Tell,
    Told,
    UnknownStudy,
    checked_tells,
    checked_texts,
    follows,
    leases_of,
)
from frontguard.storage.sqlite import log
from frontguard.storage.sqlite.file import SLOW, Answer, Journal, StudyFile, network_of, sync_seconds


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
        self._known: dict[str, log.StudyRow] = {}
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
        return [study.name for study in self._file.read(log.read_studies)]

    def create(self, study: str, settings: str, metrics: int) -> None:
        checked_texts(study, settings)

        def work(db: apsw.Connection) -> None:
            there = log.read_studies(db)
            if any(study == other.name for other in there):
                raise StudyExists(f"there is a study {study!r} already in {self._file.name}")
            new = log.StudyRow(log.next_number(db), study, int(metrics))
            db.execute("INSERT INTO study VALUES (?, ?, ?, ?)", (*new, log.row_crc(*new)))
            db.execute("INSERT INTO progress VALUES (?, 0, 0, 0, 0, ?)", (new.id, log.row_crc(new.id, 0, 0, 0, 0)))
            log.add_settings(db, new, 1, settings)

        self._file.write(work)

    def settings(self, study: str) -> str:
        return self._read(study, log.read_settings)[1]

    def amend(self, study: str, settings: str, *, after: str | None = None, told: int | None = None) -> bool:
        checked_texts(settings)

        def work(db: apsw.Connection, found: log.StudyRow) -> bool:
            version, latest = log.read_settings(db, found)
            if after not in (None, latest) or (told is not None and log.read_counts(db, found).told != told):
                return False
            log.add_settings(db, found, version + 1, settings)
            return True

        return self._write(study, work)

    def forget(self, study: str) -> bool:

        def work(db: apsw.Connection, found: log.StudyRow) -> bool:
            if log.read_counts(db, found).told:
                return False
            log.forget(db, found)
            return True

        return self._write(study, work)

    # The log ----------------------------------------------------------------------------------------------------------

    def size(self, study: str) -> tuple[int, int]:
        counts = self._read(study, log.read_counts)
        return counts.plans, counts.told

    def plans(self, study: str, after: int = 0) -> list[Plan]:
        return self._read(study, lambda db, found: log.read_plans(db, found, max(after, 0)))

    def add_plan(self, study: str, plan: Plan) -> bool:
        checked_texts(plan.status)
        arms = np.asarray(plan.arms, "<i8").tobytes()

        def work(db: apsw.Connection, found: log.StudyRow) -> bool:
            counts = log.read_counts(db, found)
            if not follows(plan, counts.plans, counts.planned):
                return False
            row = (int(plan.told), int(plan.first), arms, plan.status)
            crc = log.row_crc(found.id, int(plan.number), *row)
            db.execute("INSERT INTO plan VALUES (?, ?, ?, ?, ?, ?)", (log.key(found.id, int(plan.number)), *row, crc))
            log.advance(db, found, counts._replace(plans=counts.plans + 1, planned=counts.planned + len(plan.arms)))
            return True

        # Not worth a sync: a plan that is lost in a crash of the machine is made again by whoever asks next, and no
        # pull of it can have survived, because the sync of a told pull takes along all that was written before it.
        return self._write(study, work, durable=False)

    def told(self, study: str, after: int = 0, up_to: int | None = None) -> Told:
        return self._read(study, lambda db, found: log.read_told(db, found, max(after, 0), up_to))

    def tell(self, study: str, tells: Sequence[Tell]) -> list[bool]:
        # What can be done before the transaction is: writers wait for each other.
        rows = [
            log.ToldRow(
                int(tell.pull),
                log.pack_numbers(tell.at, tell.values),
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

        def work(db: apsw.Connection, found: log.StudyRow) -> list[bool]:
            counts = log.read_counts(db, found)
            checked_tells(tells, counts.planned, found.metrics)
            number, answers = counts.told, []
            for row in rows:
                new = log.append(db, found, number + 1, row)
                number += new
                answers.append(new)
            if number > counts.told:
                log.advance(db, found, counts._replace(told=number))
            return answers

        return self._write(study, work)

    def late(self, study: str) -> Told:
        return self._read(study, log.read_late)

    # Leases -----------------------------------------------------------------------------------------------------------

    def hand_out(self, study: str, most: int, worker: str, *, deadline: float) -> list[Pull]:
        checked_texts(worker)
        # A look without a lock first: who asks in vain disturbs nobody.
        back, counts = self._read(
            study, lambda db, found: (log.pulls_given_back(db, found, 1), log.read_counts(db, found))
        )
        if counts.handed >= counts.planned and not back:
            return []

        def work(db: apsw.Connection, found: log.StudyRow) -> list[Pull]:
            counts = log.read_counts(db, found)
            if found.id not in self._sound:
                log.check_planned(db, found, counts)
                self._sound.add(found.id)
            back = log.pulls_given_back(db, found, most)
            fresh, handed = log.fresh_pulls(db, found, counts, max(most - len(back), 0))
            given = [Pull(pull, worker, float(deadline)) for pull in (*back, *fresh)]
            log.write_leases(db, found, given)
            if handed > counts.handed:
                log.advance(db, found, counts._replace(handed=handed))
            return given

        # Synced: a lease that is lost in a crash of the machine would be given anew, and its pull be measured twice.
        return self._write(study, work)

    def renew(self, study: str, worker: str, deadline: float, pulls: Iterable[int] | None = None) -> int:
        which = None if pulls is None else set(pulls)  # work may be run twice, what is given read only once

        def work(db: apsw.Connection, found: log.StudyRow) -> int:
            log.read_counts(db, found)  # raises if the study was forgotten
            changed = leases_of(log.read_leases(db, found), worker, which, deadline)
            log.write_leases(db, found, changed)
            return len(changed)

        return self._write(study, work, durable=False)

    def leases(self, study: str) -> list[Pull]:
        return [pull for pull in self._read(study, log.read_leases) if pull.deadline > GIVEN_BACK]

    # Housekeeping -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        self._file.close()

    def _read(self, study: str, work: Callable[[apsw.Connection, log.StudyRow], Answer]) -> Answer:
        """Run work that reads from a study."""
        return self._looked_up(study, lambda: self._file.read(lambda db: work(db, self._study(db, study))))

    def _write(
        self, study: str, work: Callable[[apsw.Connection, log.StudyRow], Answer], *, durable: bool = True
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

    def _study(self, db: apsw.Connection, name: str) -> log.StudyRow:
        if name not in self._known:
            there = {study.name: study for study in log.read_studies(db)}
            if name not in there:
                names = ", ".join(map(repr, there))[:300] or "none"
                raise UnknownStudy(f"there is no study {name!r} in {self._file.name}; there are: {names}")
            self._known[name] = there[name]
        return self._known[name]
