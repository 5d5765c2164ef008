"""Save what can be read of a damaged study file into a new one."""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from frontguard.errors import BadInput
from frontguard.storage.contract import End, Plan, Tell
from frontguard.storage.sqlite.file import Unwritable, checked_place
from frontguard.storage.sqlite.remains import Remains, ToldRow, companion, remains_of
from frontguard.storage.sqlite.storage import SqliteStorage

RESCUED = "rescued"
"""In place of the workers of pulls whose tells, if there were any, were lost."""


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
    how many of the told pulls that it had seen are left. Pulls that had been handed out and of which no tell is left
    are not handed out again: whoever takes the study up gives them up. End all workers first: a file that is written to
    meanwhile cannot be copied faithfully.
    """
    source, target = Path(os.path.realpath(path)), Path(os.path.realpath(new_path))
    checked_place(source, os.fspath(path), read_only=True)
    if os.path.lexists(new_path):
        raise BadInput(f"{os.fspath(new_path)} exists already; a rescue writes a new file")
    checked_place(target, os.fspath(new_path), read_only=False)
    found = remains_of(source)
    if not found:
        raise BadInput(f"nothing of a study can be read in {os.fspath(path)}; nothing was written")
    # Written in a folder of its own first: the new name either has everything or does not exist.
    with TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        draft = Path(folder) / target.name
        try:
            with SqliteStorage(draft, called=os.fspath(new_path)) as storage:
                rescued = _write(storage, found)
            if companion(draft, "-wal").exists():  # closing could not move it into the file, and does not say so
                raise Unwritable(f"{os.fspath(new_path)} could not be written in full: is the disk full?")
            os.link(draft, target)  # unlike a rename, never over another file
        except FileExistsError:
            raise BadInput(f"{os.fspath(new_path)} exists already; a rescue writes a new file") from None
    return rescued


def _write(storage: SqliteStorage, found: list[Remains]) -> Rescued:
    notes: list[str] = []
    taken = {study.name for study in found}
    plans = told = lost_plans = lost = dropped = 0
    for study in found:
        kept_plans, kept_told = _kept(study)
        name, metrics = _identity(study, kept_told, taken, notes)
        fitting = [row for row in kept_told if len(row[2]) == 8 * (1 + metrics)]
        _write_study(storage, name, metrics, study, kept_plans, fitting)
        plans += len(kept_plans)
        told += len(fitting)
        dropped += len(study.told) - len(fitting)
        lost_plans += max([study.plans_written or 0, *study.plans]) - len(kept_plans)
        lost += _lost(study)
    return Rescued(tuple(storage.studies()), plans, told, lost_plans, lost, dropped, tuple(notes))


def _kept(study: Remains) -> tuple[list[Plan], list[ToldRow]]:
    """Plans up to the first that is missing, and the told pulls of them, each once."""
    plans: list[Plan] = []
    planned = 0
    while (plan := study.plans.get(len(plans) + 1)) is not None and plan.first == planned + 1:
        plans.append(plan)
        planned += len(plan.arms)
    told: dict[int, ToldRow] = {}  # by pull
    for number in sorted(study.told):
        row = study.told[number]
        if 1 <= row[1] <= planned:
            told.setdefault(row[1], row)
    return plans, list(told.values())


def _identity(study: Remains, told: list[ToldRow], taken: set[str | None], notes: list[str]) -> tuple[str, int]:
    name, metrics = study.name, study.metrics
    if name is None or metrics is None:
        name, metrics = f"rescued-{study.id}", len(told[0][2]) // 8 - 1 if told else 1
        while name in taken:
            name += "-again"
        taken.add(name)
        notes.append(f"the name of a study was lost: it is {name!r} now")
    if not study.settings:
        notes.append(f"the settings of study {name!r} were lost")
    return name, metrics


def _write_study(
    storage: SqliteStorage, name: str, metrics: int, study: Remains, plans: list[Plan], told: list[ToldRow]
) -> None:
    first, *amended = [text for _, text in sorted(study.settings.items())] or [""]
    storage.create(name, first, metrics)
    for text in amended:
        storage.amend(name, text)
    numbers = [row[0] for row in told]
    for plan in plans:
        storage.add_plan(name, replace(plan, told=bisect_right(numbers, plan.told)))
    storage.tell(name, [_tell(row, metrics) for row in told])
    planned = sum(len(plan.arms) for plan in plans)
    late = [row for row in study.late if 1 <= row[1] <= planned and len(row[2]) == 8 * (1 + metrics)]
    storage.tell(name, [_tell(row, metrics) for row in late])
    # Which of the others were measured is not known any more, so none is measured again: leases that are over.
    handed = planned if study.handed is None or _lost(study) else min(study.handed, planned)
    under_way = handed - sum(row[1] <= handed for row in told)
    storage.hand_out(name, under_way, RESCUED, deadline=0.0)


def _lost(study: Remains) -> int:
    """Told pulls that could not be read, as far as it can be known."""
    return max([study.told_written or 0, *study.told]) - len(study.told)


def _tell(row: ToldRow, metrics: int) -> Tell:
    _, pull, data, reason, worker, cluster, end = row
    at, *values = struct.unpack(f"<{1 + metrics}d", data)
    return Tell(pull, tuple(values), reason, worker, at, End(end), cluster)
