"""A log on a Dask cluster: its workers read and sort the files, and what they made of them is put together here.

What is put together does not depend on who read what (`spill`), so the answer is that of one machine to the bit. Tasks
are pure, as long as files do not change: Dask runs one again whose worker is lost, and gives up one that outlives
several. Tasks go to fit workers (`_common.dask`); when none of these is left, to whoever is there.
"""

from __future__ import annotations

import os
import socket
import stat
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import islice, takewhile
from typing import Any, NamedTuple

from frontguard._common.dask import Cluster, Needs, said
from frontguard._common.machine import available_memory
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.measurements import Ordered
from frontguard.logs.checks import UnusableCheck
from frontguard.logs.sort import (
    LEAST_MEMORY,
    Clock,
    Folder,
    LogProgress,
    Watcher,
    memory_for_rows,
    ordered_from,
    usable_ranges,
)
from frontguard.logs.sources.files import STDIN, LogFile, LogFiles, find, is_address, is_state, several
from frontguard.logs.sources.log import TABLES, ColumnKinds, files_log, format_of, refuse_nameless
from frontguard.logs.sources.reader import Request
from frontguard.logs.spill import LogParts
from frontguard.notices import Notice, RowsWithoutArm, WorkerLeftOut
from frontguard.objectives import Objective
from frontguard.phrases import quoted, shown

LOOK = 1.0
"""Seconds between two looks at who is there."""

TIMES = 3
"""Times that a task is given to workers all of whom go, before it is given up."""

_JOBS_A_THREAD = 2  # under way at a time
_SMALL_JOB, _LARGE_JOB = 1 << 20, 1 << 26  # bytes: small files are read together, up to the second
_PAUSE = 0.02  # seconds between two looks at what has ended
_HAND_OVER = 600.0  # seconds that what was read of some files may take to come here
_OF_MEMORY = 8  # the part of a worker's memory, as one of so many, that the rows of a task may have


def ordered_on_cluster(
    executor: object,
    log: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    arm: str | Sequence[str] | None = None,
    metrics: Sequence[str] = (),
    objectives: Sequence[Objective] = (),
    progress: Watcher | None = None,
    memory: int | None = None,
    folder: Folder = None,
    format: str | None = None,
    **reading: Any,
) -> tuple[Ordered, tuple[Notice, ...], frozenset[str]]:
    """Return the measurements by arm, read and sorted by workers; notices; and the metrics that are true and false.

    `executor` is a `distributed.Client`, which is left open, or "dask://HOST:PORT". All workers see the files under
    their paths; relative ones are of our folder. Files are read whole, so there should be several for each worker.
    """
    request = Request.of(arm, metrics, **reading)
    names = _names(log)

    def waiting(_: str, seconds: float) -> None:
        if progress is not None:
            progress(LogProgress("waiting", 0, None, seconds, None))

    with (
        ExitStack() as temporary,
        closing(Cluster(executor, Needs(any_version=("polars",)), waiting)) as cluster,
    ):
        runs = LogParts(request.metrics, memory_for_rows(memory), folder, temporary)
        tasks = _Tasks(cluster)
        asked = names, os.getcwd(), format, request
        (task,) = tasks.ended([_Task(names[0] if len(names) == 1 else "the log", planned, asked)])
        plan: ReadingPlan = tasks.result(task)
        clock = Clock(progress, plan.rows)
        how = plan.format, replace(request, layout="wide", missing_arms="drop"), tuple(objectives)
        jobs = [
            _Task(several([each.file for each in files]), read, (files, *how), number)
            for number, files in enumerate(together(plan.files, sum(cluster.threads.values())))
        ]
        told = _read_all(tasks, jobs, runs, clock)
        clock.all_read()
        notes, truths = _noted(told, plan, request, objectives)
        if not runs.rows:
            raise BadInput(f"{plan.shown} has no rows; its columns are {quoted(plan.columns)}")
        return runs.ordered(clock), (*notes, *tasks.left_out), truths


def together(files: Sequence[PlannedFile], threads: int) -> list[tuple[PlannedFile, ...]]:
    """The files of each job, in their order, with small ones together."""
    size = sum(each.size for each in files)
    most = min(max(size // (4 * max(threads, 1)), _SMALL_JOB), _LARGE_JOB)
    jobs: list[list[PlannedFile]] = []
    room = 0
    for each in files:
        if not jobs or each.size > room:
            jobs.append([])
            room = most
        jobs[-1].append(each)
        room -= each.size
    return [tuple(job) for job in jobs]


def _read_all(tasks: _Tasks, jobs: Sequence[_Task], runs: LogParts, clock: Clock) -> list[JobNotes]:
    """Have all files read, and add their rows to `runs`. Return what they had to tell, in their order."""
    told: dict[int, JobNotes] = {}
    mistakes: dict[int, BadInput] = {}
    with closing(tasks.ended(takewhile(lambda _: not mistakes, jobs))) as ended:
        for task in ended:
            try:
                run, told[task.number] = tasks.result(task)
            except BadInput as mistake:
                mistakes[task.number] = mistake
            else:
                runs.add(run)
            clock.read(runs.rows)
    if mistakes:  # of several the one in the first file, as on one machine
        raise mistakes[min(mistakes)]
    return [told[number] for number in sorted(told)]


def _noted(
    told: Sequence[JobNotes], plan: ReadingPlan, request: Request, objectives: Sequence[Objective]
) -> tuple[list[Notice], frozenset[str]]:
    """Notices and truths of all files, as if they had been read one after another; refuses what must be refused."""
    every = [note for each in told for note in each.notes]
    nameless = [note for note in every if isinstance(note, RowsWithoutArm)]
    notes = [note for note in every if not isinstance(note, RowsWithoutArm)]
    if nameless:
        in_all = replace(nameless[0], rows=sum(each.rows for each in nameless))
        if request.missing_arms == "refuse":
            refuse_nameless(in_all)
        notes.append(in_all)
    kinds, unusable = ColumnKinds(), UnusableCheck(objectives, request.metrics)
    for each in told:
        kinds.merge(each.kinds, plan.shown)
        unusable.merge(each.unusable)
    return [*notes, *unusable.notices()], frozenset(kinds.truths)


@dataclass
class _Task:
    """A function that a worker calls, what it is about in messages, its number, and who has it."""

    about: str
    function: Callable[..., Any]
    given: tuple[Any, ...]
    number: int = 0
    future: Any = None
    workers: frozenset[str] = frozenset()
    times: int = 0  # that it was given to workers


class _Tasks:
    def __init__(self, cluster: Cluster) -> None:
        self.left_out: list[Notice] = []
        self._cluster = cluster
        self._under_way: dict[str, _Task] = {}
        self._look_at = time.monotonic() + LOOK

    def ended(self, tasks: Iterable[_Task]) -> Generator[_Task, None, None]:
        """The tasks as they end. Afterwards all are taken back: what a worker reads it reads to its end, for nobody."""
        following = iter(tasks)
        try:
            while True:
                most = _JOBS_A_THREAD * max(1, sum(self._cluster.threads.values()))
                for task in islice(following, max(0, most - len(self._under_way))):
                    self._send(task)
                if not self._under_way:
                    return
                if time.monotonic() >= self._look_at:
                    self._look()
                done = [key for key, task in self._under_way.items() if task.future.done()]
                yield from [self._under_way.pop(key) for key in done]
                if not done:
                    time.sleep(_PAUSE)
        finally:
            self._cluster.take_back([task.future for task in self._under_way.values()])
            self._under_way = {}

    def _send(self, task: _Task) -> None:
        while not self._cluster.threads:
            self._look()
            time.sleep(min(LOOK, 0.2))
        if task.times == TIMES:
            lost = f"lost all workers that had {task.about}, {TIMES} times"
            raise BadArgument(
                "executor", f"the Dask cluster at {self._cluster.address} {lost}; do they have enough memory?"
            )
        task.times += 1
        task.workers = frozenset(self._cluster.threads)
        task.future = self._cluster.client.submit(task.function, *task.given, workers=sorted(task.workers), pure=False)
        self._under_way[task.future.key] = task

    def _look(self) -> None:
        """See who is there, and give tasks to others whose workers will not come back."""
        self.left_out += [WorkerLeftOut(str(worker), worker.lacks) for worker in self._cluster.watch()]
        fit = self._cluster.threads.keys()
        for key, task in list(self._under_way.items()):
            if fit and not task.workers & fit:
                self._cluster.take_back([self._under_way.pop(key).future])
                self._send(task)
        self._look_at = time.monotonic() + LOOK

    def result(self, task: _Task) -> Any:
        """The answer of a task that ended; its error as one of ours."""
        cluster, about = f"the Dask cluster at {self._cluster.address}", task.about
        if task.future.status in ("cancelled", "lost"):
            raise BadArgument("executor", f"{cluster} gave up {about}: is it still there?")
        try:
            if task.future.status != "error":
                return task.future.result(timeout=_HAND_OVER)
            error = task.future.exception(timeout=_HAND_OVER)
        except TimeoutError:
            raise BadArgument("executor", f"{cluster} did not hand over {about} within {_HAND_OVER:g} s") from None
        if isinstance(error, BadInput):
            raise error from None
        if type(error).__name__ == "KilledWorker":
            last = self._cluster.called(getattr(error.last_worker, "address", "?"))
            died = f"{error.allowed_failures + 1} Dask workers died over it, the last of them {last}"
            raise BadArgument("executor", f"{about} was given up after {died}; do they have enough memory?") from None
        raise BadArgument("executor", f"the Dask cluster failed over {about}: {said(error)}") from error


def _names(log: Any) -> list[str]:
    """The paths and globs that a log was given as."""
    if isinstance(log, (str, os.PathLike)):
        name = os.fspath(log)
        if name == STDIN or is_address(name):
            what = "standard input" if name == STDIN else "a study"
            raise BadArgument("executor", f"{what} cannot be read on a cluster; wanted files that its workers see")
        return [name]
    if isinstance(log, Sequence) and not isinstance(log, bytes):
        return [name for each in log for name in _names(each)]
    raise BadArgument("executor", f"wanted files that the workers of the cluster see; got {shown(type(log))}")


@dataclass(frozen=True)
class PlannedFile:
    """A file as it was when the log was looked at."""

    file: LogFile
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


class JobNotes(NamedTuple):
    """News of the files of a job for the client."""

    notes: tuple[Notice, ...]
    kinds: ColumnKinds
    unusable: UnusableCheck


def planned(names: list[str], folder: str, format: str | None, request: Request) -> ReadingPlan:
    """Find the files of a log, relative ones in the client's folder, as this worker sees them; and how they begin."""
    try:
        every = tuple(file for name in names for file in _found(name, folder))
    except BadInput as mistake:
        raise BadInput(f"{mistake}, as the Dask worker {_here()} sees it") from None
    found = LogFiles(names[0] if len(names) == 1 else several(every), every) if every else find(names)
    files = tuple(_planned_file(file) for file in found.files)
    kind = format or format_of(found.files)
    if kind not in TABLES:
        raise BadInput(f"{found.shown}: on a cluster the format must be one of {', '.join(TABLES)}; got {shown(kind)}")
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
        if is_state(path):
            raise BadInput(f"{file.shown} is a state file, which is not read on a cluster: leave executor away")
    except OSError as error:
        raise BadInput(
            f"{path}: the Dask worker {_here()} cannot read it ({error.strerror or error}); all workers must see all "
            "files under the same paths"
        ) from None
    return PlannedFile(file, there.st_size, there.st_mtime_ns)


def _refuse_others(files: Sequence[PlannedFile]) -> None:
    """Refuse files that are not those that were planned: each worker might have its own under a path."""
    for planned in files:
        there = _planned_file(planned.file)
        if there != planned:
            raise BadInput(
                f"{planned.file.path}: the Dask worker {_here()} sees another file there, or it was changed while the "
                f"log was read; wanted {planned.size:,} bytes, got {there.size:,}"
            )


def _here() -> str:
    return f"{import_module('distributed').get_worker().address} on {socket.gethostname()}"


def read(
    files: Sequence[PlannedFile], format: str, request: Request, objectives: Sequence[Objective] = ()
) -> tuple[Ordered, JobNotes]:
    """Return the measurements of some files by arm, and what there is to tell of them."""
    shown = several([each.file for each in files])
    unusable = UnusableCheck(objectives, request.metrics)
    try:
        _refuse_others(files)
        log = files_log(format, LogFiles(shown, tuple(each.file for each in files)), request)
        ordered = ordered_from(
            unusable.watched(log.batches(may_be_empty=True)),
            request.metrics,
            usable=usable_ranges(request.metrics, objectives),
            memory=max(LEAST_MEMORY, available_memory() // _OF_MEMORY),
        )
        _refuse_others(files)  # once more: rows of two states of a file would belong to no log
    except (OSError, MemoryError) as error:
        raise BadInput(f"{shown}: the Dask worker {_here()} cannot read it: {said(error)}") from None
    return ordered, JobNotes(tuple(log.notes), log.kinds, unusable)
