"""Tasks of the workers of a Dask cluster: look at the files of a log, read some of them, sort a part of the arms.

All functions are pure, as long as files do not change: Dask may call them again, anywhere. The client, which asks for
all this, is in `on_dask`.
"""

from __future__ import annotations

import os
import socket
import stat
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from frontguard._common.dask import said
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.logs.checks import UnusableCheck
from frontguard.logs.sort.merge import merge_ordered
from frontguard.logs.sort.ordered import Ordered
from frontguard.logs.sort.rows import RowBuffer
from frontguard.logs.sources import files_log
from frontguard.logs.sources.files import LogFile, LogFiles, find, several
from frontguard.logs.sources.log import ColumnKinds
from frontguard.logs.sources.reader import Request
from frontguard.logs.state import MARK
from frontguard.notices import Notice
from frontguard.objectives import Objective
from frontguard.phrases import shown

_SMALL_JOB, _LARGE_JOB = 1 << 20, 1 << 26  # bytes: small files are read together, up to the second
_PIECE = 1 << 21  # rows that a worker gathers before it cuts them by arm


@dataclass(frozen=True)
class PlannedFile:
    """A file as it was when the log was looked at."""

    file: LogFile
    path: Path
    size: int
    changed: int  # when, in nanoseconds


@dataclass(frozen=True)
class ReadingPlan:
    """The files that are to be read."""

    format: str
    shown: str
    columns: tuple[str, ...]
    files: tuple[PlannedFile, ...]
    rows: int | None  # about how many, where that is known

    def jobs(self, threads: int) -> list[tuple[PlannedFile, ...]]:
        """The files, in their order, with small ones together."""
        size = sum(each.size for each in self.files)
        most = min(max(size // (4 * max(threads, 1)), _SMALL_JOB), _LARGE_JOB)
        jobs: list[list[PlannedFile]] = []
        room = 0
        for each in self.files:
            if not jobs or each.size > room:
                jobs.append([])
                room = most
            jobs[-1].append(each)
            room -= each.size
        return [tuple(job) for job in jobs]


@dataclass(frozen=True)
class ReadingJob:
    """Some files that a worker reads one after another, and how."""

    format: str
    files: tuple[PlannedFile, ...]
    request: Request
    usable: Floats | None
    parts: int
    objectives: tuple[Objective, ...] = ()  # whose values that cannot be used are counted

    @property
    def shown(self) -> str:
        """The files in a message."""
        return several([each.file for each in self.files])


@dataclass(frozen=True)
class JobNotes:
    """News of a job for the client."""

    rows: int
    pulls: int
    notes: tuple[Notice, ...]
    kinds: ColumnKinds
    unusable: UnusableCheck


def planned(names: list[str], folder: str, format: str | None, request: Request) -> ReadingPlan:
    """Find the files of a log, as this worker sees them, and look at how they begin.

    Names that are relative are of the client's folder.
    """
    from frontguard.logs.sources.formats import FILES, format_of

    try:
        files_of = [_found(name, folder) for name in names]
    except BadInput as mistake:
        raise BadInput(f"{mistake}, as the Dask worker {_here()} sees it") from None
    every = tuple(file for files in files_of for file in files)
    found = LogFiles(names[0] if len(names) == 1 else several(every), every) if every else find(names)
    files = tuple(_planned_file(file) for file in found.files)
    kind = format or format_of(found.files)
    if kind not in FILES:
        raise BadInput(f"{found.shown}: on a cluster the format must be one of {', '.join(FILES)}; got {shown(kind)}")
    log = files_log(kind, found, request)
    if log.layout == "long":
        raise BadInput(f"{found.shown}: the long layout is not read on a cluster; wanted a column for each metric")
    return ReadingPlan(kind, found.shown, tuple(log.columns), files, log.expected_rows)


def _found(name: str, folder: str) -> list[LogFile]:
    """The files of one name, called as the client would call them."""
    if not name or os.path.isabs(name):
        return list(find(name).files)
    files = find(os.path.join(folder, name)).files
    return [replace(file, shown=file.shown.removeprefix(folder.rstrip("/") + "/")) for file in files]


def _planned_file(file: LogFile) -> PlannedFile:
    path = file.path
    assert path is not None  # standard input was refused
    try:
        there = path.stat()
        if not stat.S_ISREG(there.st_mode):
            raise BadInput(f"{file.shown} must be a plain file to be read on a cluster")
        with path.open("rb") as opened:
            if opened.read(len(MARK)) == MARK:
                raise BadInput(f"{file.shown} is a state file, which is not read on a cluster: leave executor away")
    except OSError as error:
        raise BadInput(_unseen(file, error)) from None
    return PlannedFile(file, path, there.st_size, there.st_mtime_ns)


def _refuse_other(planned: PlannedFile) -> None:
    """See that a file is the one that the log was planned with: each worker might have its own under that path."""
    try:
        there = planned.path.stat()
        if not os.access(planned.path, os.R_OK):
            raise PermissionError(None, "no permission to read it")
    except OSError as error:
        raise BadInput(_unseen(planned.file, error)) from None
    if (there.st_size, there.st_mtime_ns) != (planned.size, planned.changed):
        raise BadInput(
            f"{planned.path}: the Dask worker {_here()} sees another file there, or it was changed while the log "
            f"was read; wanted {planned.size:,} bytes, got {there.st_size:,}"
        )


def _unseen(file: LogFile, error: OSError) -> str:
    return (
        f"{file.path}: the Dask worker {_here()} cannot read it ({error.strerror or error}); all workers must see all "
        "files under the same paths"
    )


def _here() -> str:
    return f"{import_module('distributed').get_worker().address} on {socket.gethostname()}"


def read(job: ReadingJob) -> list[Any]:
    """Read the files of a job and cut them by arm, some rows at a time: the pieces of each part, then `JobNotes`."""
    pieces: list[Any] = [[] for _ in range(job.parts)]
    empty = partial(RowBuffer, job.request.metrics, job.usable)
    rows = empty()
    kinds, unusable = ColumnKinds(), UnusableCheck(job.objectives, job.request.metrics)
    notes: list[Notice] = []
    rows_read = pulls = 0
    try:
        for planned in job.files:
            _refuse_other(planned)
            log = files_log(job.format, LogFiles(planned.file.shown, (planned.file,)), job.request)
            for batch in unusable.watched(log.batches(may_be_empty=True)):
                rows.add(batch)
                pulls += len(batch)
                if rows.count >= _PIECE:
                    _cut(rows, pieces)
                    rows = empty()
            rows_read += log.rows_read
            notes += log.notes
            kinds.merge(log.kinds, planned.file.shown)
            _refuse_other(planned)  # once more: rows of two states of a file would belong to no log
        _cut(rows, pieces)
    except (OSError, MemoryError) as error:
        raise BadInput(f"{job.shown}: the Dask worker {_here()} cannot read it: {said(error)}") from None
    return [*pieces, JobNotes(rows_read, pulls, tuple(notes), kinds, unusable)]


def _cut(rows: RowBuffer, pieces: list[list[Ordered]]) -> None:
    """Move the rows to the pieces, each arm to its part."""
    log = rows.ordered()
    part_of = parts_of(log.arms, len(pieces))
    for part in np.unique(part_of).tolist():
        pieces[part].append(log.only(part_of == part))


def parts_of(arms: Sequence[str], count: int) -> Ints:
    """A number below `count` for each name (K,), which depends on the name alone."""
    return np.array([zlib.crc32(name.encode()) % count for name in arms], np.int64)


def merged(pieces: Sequence[Sequence[Ordered]], metrics: Sequence[str]) -> Ordered:
    """All that was read of a part."""
    return merge_ordered([piece for each in pieces for piece in each], metrics)


def about(share: Ordered, few: int) -> Ordered:
    """A part as the client gets it: without its values, unless these are few."""
    return share if sum(map(len, share.values)) <= few else replace(share, values=())
