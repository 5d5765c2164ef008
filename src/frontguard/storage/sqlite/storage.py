"""Studies in an SQLite file: the storage contract in short transactions. The file itself: `sqlite_file`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import islice

import apsw
import numpy as np

from frontguard.errors import BadInput
from frontguard.storage.contract import (
    Lease,
    Plan,
    Storage,
    StudyExists,
    Tell,
    Told,
    UnknownStudy,
    checked_tells,
    follows,
)
from frontguard.storage.sqlite.file import Journal, StudyFile
from frontguard.storage.sqlite.log import (
    Progress,
    StudyRow,
    add_settings,
    advance,
    append,
    fresh_pulls,
    read_leases,
    read_plans,
    read_progress,
    read_settings,
    read_studies,
    read_told,
)
from frontguard.storage.sqlite.rows import key, pack_numbers, row_crc

__all__ = ["SqliteStorage"]


class SqliteStorage(Storage):
    """Studies in one file, for any number of processes of one machine.

    What `tell` acknowledges is on the disk. `journal` is "wal", or "rollback" where a write-ahead log would not be
    safe (or if it is asked for); `describe` says why. A writer waits up to `wait` seconds for the others.

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
    ) -> None:
        if journal not in (None, "wal", "rollback"):
            raise BadInput(f"journal must be 'wal', 'rollback' or None; got {journal!r}")
        self._file = StudyFile(path, read_only=read_only, journal=journal, wait=wait)
        self._known: dict[str, StudyRow] = {}

    @property
    def journal(self) -> Journal:
        """How the file is kept safe: "wal" or "rollback"."""
        return self._file.journal

    def describe(self) -> str:
        """How durable this storage is, in a sentence."""
        way = {"wal": "a write-ahead log", "rollback": "a rollback journal"}[self.journal]
        return (
            f"{self._file.name}: SQLite {apsw.sqlite_lib_version()} with {way} and full sync ({self._file.why}); "
            "what is acknowledged survives a crash of the machine"
        )

    def __repr__(self) -> str:
        return f"SqliteStorage({self._file.name!r})"

    # Studies ----------------------------------------------------------------------------------------------------------

    def studies(self) -> list[str]:
        """Names of the studies, oldest first."""
        return [study.name for study in self._file.read(read_studies)]

    def create(self, study: str, settings: str, metrics: int) -> None:
        """Begin a study. Raises `StudyExists`."""
        _encodable(study, settings)

        def work(db: apsw.Connection) -> None:
            there = read_studies(db)
            if any(study == other.name for other in there):
                raise StudyExists(f"there is a study {study!r} already in {self._file.name}")
            new = StudyRow(1 + max((other.id for other in there), default=0), study, int(metrics))
            db.execute("INSERT INTO study VALUES (?, ?, ?, ?)", (*new, row_crc(*new)))
            db.execute("INSERT INTO progress VALUES (?, 0, 0, 0, 0, ?)", (new.id, row_crc(new.id, 0, 0, 0, 0)))
            add_settings(db, new, 1, settings)

        self._file.write(work)

    def settings(self, study: str) -> str:
        """The latest settings. Raises `UnknownStudy`."""
        return self._file.read(lambda db: read_settings(db, self._study(db, study))[1])

    def amend(self, study: str, settings: str) -> None:
        """Give the study new settings; the earlier ones are kept."""
        _encodable(settings)

        def work(db: apsw.Connection) -> None:
            found = self._study(db, study)
            add_settings(db, found, read_settings(db, found)[0] + 1, settings)

        self._file.write(work)

    # The log ----------------------------------------------------------------------------------------------------------

    def size(self, study: str) -> tuple[int, int]:
        """How many plans and how many told pulls there are."""

        def work(db: apsw.Connection) -> tuple[int, int]:
            progress = read_progress(db, self._study(db, study))
            return progress.plans, progress.told

        return self._file.read(work)

    def plans(self, study: str, after: int = 0) -> list[Plan]:
        """The plans with numbers above `after`, in order."""

        def work(db: apsw.Connection) -> list[Plan]:
            found = self._study(db, study)
            return read_plans(db, found, max(after, 0), read_progress(db, found).plans)

        return self._file.read(work)

    def add_plan(self, study: str, plan: Plan) -> bool:
        """Append a plan if it is the next one."""
        _encodable(plan.status)
        arms = np.asarray(plan.arms, "<i8").tobytes()

        def work(db: apsw.Connection) -> bool:
            found = self._study(db, study)
            progress = read_progress(db, found)
            if not follows(plan, progress.plans, progress.planned):
                return False
            row = (int(plan.told), int(plan.first), arms, plan.status)
            crc = row_crc(found.id, int(plan.number), *row)
            db.execute("INSERT INTO plan VALUES (?, ?, ?, ?, ?, ?)", (key(found.id, int(plan.number)), *row, crc))
            advance(db, found, progress._replace(plans=progress.plans + 1, planned=progress.planned + len(plan.arms)))
            return True

        # Not worth a sync: a plan that is lost in a crash of the machine is made again by whoever asks next, and no
        # pull of it can have survived, because the sync of a told pull takes along all that was written before it.
        return self._file.write(work, durable=False)

    def told(self, study: str, after: int = 0, up_to: int | None = None) -> Told:
        """The told pulls with numbers above `after`, up to `up_to` or the last."""

        def work(db: apsw.Connection) -> Told:
            found = self._study(db, study)
            last = read_progress(db, found).told
            first = max(after, 0)
            return read_told(db, found, first, last if up_to is None else min(up_to, last), to_the_end=up_to is None)

        return self._file.read(work)

    def tell(self, study: str, tells: Sequence[Tell]) -> list[bool]:
        """Append told pulls, all or none, in one durable step; end their leases. False for those told before."""
        # What can be done before the transaction is: writers wait for each other.
        rows = []
        for tell in tells:
            _encodable(tell.reason, tell.worker)
            rows.append((int(tell.pull), pack_numbers(tell.at, tell.values), tell.reason, tell.worker))
        if not rows:
            self.size(study)  # raises where a study is unknown
            return []

        def work(db: apsw.Connection) -> list[bool]:
            found = self._study(db, study)
            progress = read_progress(db, found)
            checked_tells(tells, progress.planned, found.metrics)
            number, answers = progress.told, []
            for row in rows:
                new = append(db, found, number + 1, *row)
                number += new
                answers.append(new)
            if number > progress.told:
                advance(db, found, progress._replace(told=number))
            return answers

        return self._file.write(work)

    # Leases -----------------------------------------------------------------------------------------------------------

    def hand_out(
        self, study: str, most: int, worker: str, *, now: float, deadline: float, lost: Callable[[str], bool]
    ) -> list[Lease]:
        """Lease up to `most` pulls: first those whose lease has ended or whose holder is lost, then new ones."""
        _encodable(worker)
        # A look without a lock first: who is lost may take time to find out, and who asks in vain disturbs nobody.
        held, progress = self._file.read(lambda db: self._handed_out(db, study))
        gone = {holder for holder in {lease.worker for lease in held} if lost(holder)}
        if progress.handed >= progress.planned and not any(_ended(lease, now, gone) for lease in held):
            return []

        def work(db: apsw.Connection) -> list[Lease]:
            found = self._study(db, study)
            held, progress = self._handed_out(db, study)
            ended = (lease for lease in held if _ended(lease, now, gone))
            given = [
                Lease(lease.pull, worker, float(deadline), lease.attempt + 1) for lease in islice(ended, max(most, 0))
            ]
            fresh, handed = fresh_pulls(db, found, progress, most - len(given))
            given += [Lease(pull, worker, float(deadline)) for pull in fresh]
            for lease in given:
                row = (found.id, lease.pull, lease.worker, lease.deadline, lease.attempt)
                db.execute("INSERT OR REPLACE INTO lease VALUES (?, ?, ?, ?, ?, ?)", (*row, row_crc(*row)))
            if handed > progress.handed:
                advance(db, found, progress._replace(handed=handed))
            return given

        # Not worth a sync: a lease that is lost in a crash of the machine, where its holder ended too, is given anew.
        return self._file.write(work, durable=False)

    def leases(self, study: str) -> list[Lease]:
        """The pulls that are handed out and not told, lowest number first."""
        return self._file.read(lambda db: self._handed_out(db, study)[0])

    # Housekeeping -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the file. May be called twice."""
        self._file.close()

    def _study(self, db: apsw.Connection, name: str) -> StudyRow:
        if name not in self._known:
            there = read_studies(db)
            for study in there:
                if study.name == name:
                    self._known[name] = study
                    return study
            names = ", ".join(repr(study.name) for study in there) or "none"
            raise UnknownStudy(f"there is no study {name!r} in {self._file.name}; there are: {names}")
        return self._known[name]

    def _handed_out(self, db: apsw.Connection, name: str) -> tuple[list[Lease], Progress]:
        study = self._study(db, name)
        return read_leases(db, study), read_progress(db, study)


def _ended(lease: Lease, now: float, gone: set[str]) -> bool:
    return lease.deadline <= now or lease.worker in gone


def _encodable(*texts: str) -> None:
    """Refuse what no database takes: a lone surrogate has no UTF-8 form. `UnicodeEncodeError` is a `ValueError`."""
    for text in texts:
        text.encode()
