"""Save what can be read of a damaged study file into a new one.

Rows are read through SQLite, from a copy of the file; where a stretch of the log cannot be read, row by row. A row that
does not match its checksum is lost.
"""

from __future__ import annotations

import os
import shutil
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from frontguard.errors import BadInput
from frontguard.storage.contract import End, Plan, Tell, UnknownStudy, fault_of, follows
from frontguard.storage.sqlite import log, schema
from frontguard.storage.sqlite.file import Unwritable, checked_place, companion
from frontguard.storage.sqlite.storage import SqliteStorage

RESCUED = "rescued"
"""In place of the workers of pulls whose tells, if there were any, were lost."""

_NEEDED = frozenset({"study", "settings", "progress", "plan", "told"})
_DAMAGE = (apsw.Error, UnicodeDecodeError, log.NotAsWritten, UnknownStudy)
_SMALLEST_ROW = 24  # bytes of a told pull at least: bounds how many a file can hold


@dataclass(frozen=True)
class Rescued:
    """What was saved, over all studies of the file, and what was not."""

    studies: tuple[str, ...]
    plans: int
    told: int
    lost_studies: int  # whose name or settings could not be read
    lost_plans: int  # that could not be read, or came after one that could not
    lost: int  # told pulls that could not be read, or belong to lost plans; as far as the file says how many there were


@dataclass(frozen=True)
class _Remains:
    """What can be read of a study."""

    name: str
    metrics: int
    settings: str
    plans: list[Plan]  # up to the first that cannot be read
    told: dict[int, Tell]  # by number
    plans_written: int
    told_written: int
    handed: int | None  # pulls up to this one were handed out


def rescue(path: str | os.PathLike[str], new_path: str | os.PathLike[str]) -> Rescued:
    """Read what can be read of a damaged study file and write it as a new file; the damaged one stays as it is.

    Told pulls keep their order and are numbered anew; plans are kept up to the first that is missing, and each says
    how many of the told pulls that it had seen are left. Pulls that had been handed out and of which no tell is left
    are not handed out again: whoever takes the study up gives them up. End all workers first: a file that is written to
    meanwhile cannot be copied faithfully.
    """
    source, target = Path(os.path.realpath(path)), Path(os.path.realpath(new_path))
    checked_place(source, os.fspath(path), read_only=True)
    if os.path.lexists(new_path):
        raise BadInput(f"{os.fspath(new_path)} exists already; a rescue writes a new file")
    checked_place(target, os.fspath(new_path), read_only=False)
    # Written in a folder of its own first: the new name either has everything or does not exist.
    with TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        draft = Path(folder) / target.name
        try:
            with _copy_of(source, Path(folder) / "copy") as db:
                found, lost = _read(db, source.stat().st_size // _SMALLEST_ROW)
            if not found:
                raise BadInput(f"nothing of a study can be read in {os.fspath(path)}; nothing was written")
            with SqliteStorage(draft, called=os.fspath(new_path)) as storage:
                rescued = _write(storage, found, lost)
            if companion(draft, "-wal").exists():  # closing could not move it into the file, and does not say so
                raise Unwritable(f"{os.fspath(new_path)} could not be written in full: is the disk full?")
            os.link(draft, target)  # unlike a rename, never over another file
        except FileExistsError:
            raise BadInput(f"{os.fspath(new_path)} exists already; a rescue writes a new file") from None
    return rescued


# Reading --------------------------------------------------------------------------------------------------------------


@contextmanager
def _copy_of(source: Path, copy: Path) -> Iterator[apsw.Connection]:
    """A connection to a copy of a file and of the logs beside it, that overlooks as much as SQLite can."""
    for suffix in ("", "-wal", "-journal"):
        if companion(source, suffix).exists():
            shutil.copyfile(companion(source, suffix), companion(copy, suffix))
    db = apsw.Connection(str(copy))
    try:
        schema.defend(db)
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        db.execute("PRAGMA writable_schema = ON")
        yield db
    finally:
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        db.close()


def _read(db: apsw.Connection, most: int) -> tuple[list[_Remains], int]:
    """What is left of each study, of up to `most` told pulls; and how many studies are lost."""
    found: list[_Remains] = []
    lost = 0
    with suppress(*_DAMAGE):
        missing = set(schema.missing_definitions(db))
        foreign = {name.lower() for _, name in schema.foreign_definitions(db)}
        if _NEEDED & (missing | foreign):
            return [], 0
        for row in db.execute("SELECT id, name, metrics, crc FROM study ORDER BY id"):
            try:
                found.append(_remains(db, log.study_of(row), most))
            except _DAMAGE:
                lost += 1
    return found, lost


def _remains(db: apsw.Connection, study: log.StudyRow, most: int) -> _Remains:
    _, settings = log.read_settings(db, study)
    try:
        counts = log.read_counts(db, study)
        plans_written, last, handed = counts.plans, counts.told, counts.handed
    except _DAMAGE:
        plans_written, last, handed = 0, log.last_told(db, study), None
    plans = list(_plans(db, study))
    told = dict(_told(db, study, min(last, most)))
    return _Remains(
        study.name, study.metrics, settings, plans, told, max(plans_written, len(plans)), max(last, len(told)), handed
    )


def _plans(db: apsw.Connection, study: log.StudyRow) -> Iterator[Plan]:
    planned = 0
    with suppress(*_DAMAGE):
        for number, plan in enumerate(log.each_plan(db, study)):
            sound = plan.told >= 0 and not (plan.arms < 0).any()
            if not sound or not follows(plan, number, planned):
                return
            planned += len(plan.arms)
            yield plan


def _told(db: apsw.Connection, study: log.StudyRow, last: int) -> Iterator[tuple[int, Tell]]:
    """Told pulls with their numbers: a page at a time, and one at a time where a page cannot be read."""
    for start in range(0, last, log.PAGE):
        page = range(start, min(start + log.PAGE, last))
        try:
            rows = list(_some_told(db, study, page.start, page.stop))
        except _DAMAGE:
            rows = []
            for number in page:
                with suppress(*_DAMAGE):
                    rows += _some_told(db, study, number, number + 1)
        yield from rows


def _some_told(db: apsw.Connection, study: log.StudyRow, after: int, last: int) -> Iterator[tuple[int, Tell]]:
    told = log.read_page(db, study, after, last)
    fault = fault_of(told, planned=log.STRIDE)
    if fault:
        raise log.NotAsWritten(fault)
    columns = zip(
        told.pulls.tolist(), told.values.tolist(), told.reasons, told.workers, told.at.tolist(), told.ends.tolist(),
        told.clusters, strict=True,
    )  # fmt: skip
    for number, (pull, values, reason, worker, at, end, cluster) in enumerate(columns, start=after + 1):
        yield number, Tell(pull, tuple(values), reason, worker, at, End(end), cluster)


# Writing --------------------------------------------------------------------------------------------------------------


def _write(storage: SqliteStorage, found: list[_Remains], lost_studies: int) -> Rescued:
    plans = sum(len(study.plans) for study in found)
    told = sum(_write_study(storage, study) for study in found)
    return Rescued(
        studies=tuple(storage.studies()),
        plans=plans,
        told=told,
        lost_studies=lost_studies,
        lost_plans=sum(study.plans_written for study in found) - plans,
        lost=sum(study.told_written for study in found) - told,
    )


def _write_study(storage: SqliteStorage, study: _Remains) -> int:
    """Write a study; the number of its told pulls that belong to its plans."""
    planned = sum(len(plan.arms) for plan in study.plans)
    told: dict[int, tuple[int, Tell]] = {}  # by pull, each once
    for number, tell in study.told.items():
        if tell.pull <= planned:
            told.setdefault(tell.pull, (number, tell))
    numbers = [number for number, _ in told.values()]
    storage.create(study.name, study.settings, study.metrics)
    for plan in study.plans:
        storage.add_plan(study.name, replace(plan, told=bisect_right(numbers, plan.told)))
    storage.tell(study.name, [tell for _, tell in told.values()])
    # Which of the others were measured is not known any more, so none is measured again: leases that are over.
    whole = len(study.told) == study.told_written
    handed = min(study.handed, planned) if whole and study.handed is not None else planned
    storage.hand_out(study.name, handed - sum(pull <= handed for pull in told), RESCUED, deadline=0.0)
    return len(told)
