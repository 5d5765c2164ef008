"""Save what can be read of a damaged study file into a new one."""

from __future__ import annotations

import os
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np

from frontguard.errors import BadInput
from frontguard.storage.contract import Plan
from frontguard.storage.sqlite.errors import checked_place, disk_trouble
from frontguard.storage.sqlite.rows import key, row_crc, told_crc
from frontguard.storage.sqlite.salvage import Remains, ToldRow, remains_of
from frontguard.storage.sqlite.schema import PAGE, bring_up_to_date

__all__ = ["Rescued", "rescue"]


@dataclass(frozen=True)
class Rescued:
    """What was saved, over all studies of the file, and what was not."""

    studies: tuple[str, ...]
    plans: int
    told: int
    lost_plans: int  # could not be read, or came after one that could not
    lost: int  # told pulls that could not be read, as far as the file still says how many there were
    dropped: int  # told pulls that were read, but belong to plans that were lost
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = (
            f"saved {self.told} told pulls and {self.plans} plans of {len(self.studies)} "
            f"{'study' if len(self.studies) == 1 else 'studies'}; "
            f"lost {self.lost} told pulls and {self.lost_plans} plans"
        )
        if self.dropped:
            words += f"; left out {self.dropped} told pulls of lost plans"
        return "; ".join([words, *self.notes])


def rescue(path: str | os.PathLike[str], new_path: str | os.PathLike[str]) -> Rescued:
    """Read what can be read of a damaged study file and write it as a new file; the damaged one stays as it is.

    Told pulls keep their order and are numbered anew; plans are kept up to the first that is missing, and each says
    how many of the told pulls that it had seen are left. Pulls that are not told will be handed out again. End all
    workers first: a file that is written to meanwhile cannot be copied faithfully.
    """
    source, target = Path(os.path.realpath(path)), Path(os.path.realpath(new_path))
    checked_place(source, os.fspath(path), read_only=True)
    if os.path.lexists(new_path):
        raise BadInput(f"{os.fspath(new_path)} exists already; a rescue writes a new file")
    checked_place(target, os.fspath(new_path), read_only=False)
    found = remains_of(source)
    if not found:
        raise BadInput(f"nothing of a study can be read in {os.fspath(path)}; nothing was written")
    # Written under another name first: the new name either has everything or does not exist.
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        rescued = _write(draft, found)
        os.link(draft, target)  # unlike a rename, never over another file
    except FileExistsError:
        raise BadInput(f"{os.fspath(new_path)} exists already; a rescue writes a new file") from None
    except apsw.Error as error:
        raise disk_trouble(error, os.fspath(new_path)) or error from error
    finally:
        draft.unlink(missing_ok=True)
        draft.with_name(draft.name + "-journal").unlink(missing_ok=True)
    return rescued


def _write(draft: Path, found: list[Remains]) -> Rescued:
    names: list[str] = []
    notes: list[str] = []
    plans = told = lost_plans = lost = dropped = 0
    db = apsw.Connection(str(draft))
    try:
        db.execute(f"PRAGMA page_size = {PAGE}")
        db.execute("PRAGMA synchronous = FULL")
        bring_up_to_date(db)
        db.execute("BEGIN IMMEDIATE")
        for number, study in enumerate(found, start=1):
            kept_plans, kept_told = _kept(study)
            name, metrics = _identity(study, kept_told, names, notes)
            fitting = [row for row in kept_told if len(row[2]) == 8 * (1 + metrics)]
            _write_study(db, number, name, metrics, study, kept_plans, fitting)
            names.append(name)
            plans += len(kept_plans)
            told += len(fitting)
            dropped += len(study.told) - len(fitting)
            written = max([study.plans_written or 0, *study.plans])
            lost_plans += written - len(kept_plans)
            lost += max([study.told_written or 0, *study.told]) - len(study.told)
        db.execute("COMMIT")
    finally:
        db.close()
    return Rescued(tuple(names), plans, told, lost_plans, lost, dropped, tuple(notes))


def _kept(study: Remains) -> tuple[list[Plan], list[ToldRow]]:
    """Plans up to the first that is missing, and the told pulls of them, each once."""
    plans: list[Plan] = []
    planned = 0
    while (plan := study.plans.get(len(plans) + 1)) is not None and plan.first == planned + 1:
        plans.append(plan)
        planned += len(plan.arms)
    seen: set[int] = set()
    told = []
    for number in sorted(study.told):
        row = study.told[number]
        if 1 <= row[1] <= planned and row[1] not in seen:
            seen.add(row[1])
            told.append(row)
    return plans, told


def _identity(study: Remains, told: list[ToldRow], names: list[str], notes: list[str]) -> tuple[str, int]:
    name, metrics = study.name, study.metrics
    if name is None or metrics is None:
        name, metrics = f"rescued-{study.id}", len(told[0][2]) // 8 - 1 if told else 1
        while name in names:
            name += "-again"
        notes.append(f"the name of a study was lost: it is {name!r} now")
    if not study.settings:
        notes.append(f"the settings of study {name!r} were lost")
    return name, metrics


def _write_study(
    db: apsw.Connection, id: int, name: str, metrics: int, study: Remains, plans: list[Plan], told: list[ToldRow]
) -> None:
    db.execute("INSERT INTO study VALUES (?, ?, ?, ?)", (id, name, metrics, row_crc(id, name, metrics)))
    for version, (_, text) in enumerate(sorted(study.settings.items()) or [(1, "")], start=1):
        db.execute("INSERT INTO settings VALUES (?, ?, ?)", (key(id, version), text, row_crc(id, version, text)))
    numbers = [row[0] for row in told]
    for number, plan in enumerate(plans, start=1):
        row = (bisect_right(numbers, plan.told), plan.first, np.asarray(plan.arms, "<i8").tobytes(), plan.status)
        db.execute("INSERT INTO plan VALUES (?, ?, ?, ?, ?, ?)", (key(id, number), *row, row_crc(id, number, *row)))
    db.executemany(
        "INSERT INTO told VALUES (?, ?, ?, ?, ?, ?, ?)",
        ((key(id, number), id, *row[1:], told_crc(id, number, *row[1:])) for number, row in enumerate(told, start=1)),
    )
    counts = (len(plans), sum(len(plan.arms) for plan in plans), len(told), 0)
    db.execute("INSERT INTO progress VALUES (?, ?, ?, ?, ?, ?)", (id, *counts, row_crc(id, *counts)))
