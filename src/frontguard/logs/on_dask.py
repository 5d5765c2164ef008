"""A log on a Dask cluster: every worker sorts its share of the arms and answers reads at ranks.

Files are read by the workers and cut by arm; the pieces of a part travel to the worker that sorts it. What is asked of
the sorted values later is a round of tasks, one for each part that is concerned, so that the client sees no more than a
few numbers an arm, unless there are few values in all. Arms are shared out by a hash of their names, ranks are exact,
and means are those of whole arms, so the answer is that of one machine to the bit.

All these are Dask tasks that depend on each other: what a lost worker had is computed again, from the files if need be,
which must not have changed meanwhile. A task that outlives several workers is given up. Tasks go to workers that were
found fit (`_common.dask`); when none is left of those that a task was given to, the log is read once more, with
whoever is there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter, getitem
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from frontguard._common import dask as _dask
from frontguard._common.dask import Cluster, Needs, said
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.logs import dask_tasks
from frontguard.logs.checks import UnusableCheck
from frontguard.logs.dask_tasks import JobNotes, ReadingJob, ReadingPlan
from frontguard.logs.sort.merge import merge_ordered
from frontguard.logs.sort.ordered import Ordered
from frontguard.logs.sort.progress import Clock, LogProgress, Watcher
from frontguard.logs.sort.rows import RowBuffer
from frontguard.logs.sort.wealth import MeanQuestion
from frontguard.logs.sources.files import STDIN, is_address
from frontguard.logs.sources.log import ColumnKinds, in_all, refuse_nameless
from frontguard.logs.sources.reader import Request
from frontguard.notices import Notice, RowsWithoutArm, WorkerLeftOut
from frontguard.objectives import Objective
from frontguard.phrases import quoted, shown

LOOK = 1.0
"""Seconds between two looks at who is there, and how far they are."""

TIMES = 3
"""Times that a log is read before it is given up, when all workers that it was given to are gone."""

FEW = 1 << 22
"""Values up to which the client takes them all, sorted: an answer takes hundreds of rounds, which would cost more."""

_PARTS_A_THREAD = 2  # small enough that a lost one is soon made again, large enough that tasks are worth their cost
_JOBS_A_THREAD = 2  # under way at a time


def ordered_on_cluster(
    executor: object,
    log: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    arm: str | Sequence[str] | None = None,
    metrics: Sequence[str] = (),
    usable: Floats | None = None,
    objectives: Sequence[Objective] = (),
    progress: Watcher | None = None,
    parts: int | None = None,
    format: str | None = None,
    **reading: Any,
) -> ClusterOrdered:
    """The measurements of a log by arm, kept on the workers of a Dask cluster.

    `executor` is a `distributed.Client`, which is left open, or "dask://HOST:PORT". `log` is a file, a directory, a
    glob or a list of them (CSV, JSON lines, packed or not, or Parquet) that all workers see under its path; a relative
    one is of the folder that we are in. Files are read whole, so there should be several for each worker, and together
    the workers must have room for all values of these metrics (Dask puts on disk what is beyond a worker's memory
    limit). Arms are cut into `parts` parts (two for each thread of the cluster unless given). Values that do not lie in
    the ranges `usable` (`rows.usable_ranges`) failed, and those that the `objectives` cannot use are counted. `reading`
    is as in `frontguard.logs.sources.open_log`.

    What comes back is read like an `Ordered`; close it, or use it in a `with`, to free the workers' memory.
    """
    request = Request.of(arm, metrics, **reading)
    RowBuffer(request.metrics, usable)  # refuses ranges that it cannot use, here rather than there
    names = _names(log)

    def waiting(_: str, seconds: float) -> None:
        if progress is not None:
            progress(LogProgress("waiting", 0, None, seconds, None))

    cluster = Cluster(executor, Needs(any_version=("polars",)), waiting)
    try:
        sorting = _Sorting(cluster, names, format, request, usable, tuple(objectives), parts, progress)
        return ClusterOrdered(sorting, *sorting.sort())
    except BaseException:
        cluster.close()
        raise


class ClusterOrdered:
    """Measurements by arm, the values sorted on the workers of a cluster and the rest here: a `Readable`."""

    def __init__(self, sorting: _Sorting, shares: Sequence[Any], known: Sequence[Ordered]) -> None:
        self._sorting = sorting
        self._here = all(about.values for about in known)
        if self._here:
            known = shares = [merge_ordered(known, known[0].metrics)]
            sorting.stop()
        self._shares: list[Any] = list(shares)  # futures of `Ordered`, or all of it, where that is little
        names = [name for about in known for name in about.arms]
        # Arms one share after another → arms in the order of their names.
        self._order: Ints = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        self._share_of: Ints = np.repeat(np.arange(len(known)), [len(about.pulls) for about in known])[self._order]
        self._there: Ints = np.concatenate([np.arange(len(about.pulls)) for about in known])[self._order]
        self.arms: Sequence[str] = sorted(names)
        self.metrics = known[0].metrics
        self.pulls: Ints = np.concatenate([about.pulls for about in known])[self._order]
        self.good: Ints = np.concatenate([about.good for about in known], axis=1)[:, self._order]
        self.failed_pulls: Ints = np.concatenate([about.failed_pulls for about in known])[self._order]

    @property
    def notes(self) -> tuple[Notice, ...]:
        """Notices of reading, and of later."""
        return (*self._sorting.notes, *self._sorting.left_out)

    @property
    def truths(self) -> frozenset[str]:
        """The metrics whose values are true and false."""
        return self._sorting.truths

    @cached_property
    def means(self) -> Floats:
        """Means (M, K) of the values that did not fail; NaN where all did."""
        answers = self._round([(share, attrgetter("means"), ()) for share in range(len(self._shares))])
        found: Floats = np.concatenate(answers, axis=1)[:, self._order]
        return found

    def at(self, metric: int, arms: Ints, ranks: Ints, side: int = 0) -> Floats:
        """The values of some arms at ranks from below, 1 the smallest, all of which there are: one round of tasks."""
        return self._of_arms(arms, np.empty(len(arms)), lambda there, own: (Ordered.at, (metric, there, ranks[own])))

    def standard_errors(self, metric: int) -> Floats:
        """Of the means of a metric (K,), as the values show them; NaN where all failed."""
        answers = self._round([(share, Ordered.standard_errors, (metric,)) for share in range(len(self._shares))])
        found: Floats = np.concatenate(answers)[self._order]
        return found

    def unrefuted(self, metric: int, arms: Ints, asked: MeanQuestion) -> Floats:
        """The largest means (n, 2) of some arms that are not refuted: one round of tasks."""
        return self._of_arms(
            arms, np.empty((len(arms), 2)), lambda there, own: (Ordered.unrefuted, (metric, there, asked.among(own)))
        )

    def _of_arms(
        self, arms: Ints, found: Floats, task: Callable[[Ints, Ints], tuple[Callable[..., Floats], tuple[Any, ...]]]
    ) -> Floats:
        """Answers of the shares about some arms; `task` makes the task of those there, which are these of ours."""
        share_of = self._share_of[arms]
        parts = [(share, np.flatnonzero(share_of == share)) for share in np.unique(share_of).tolist()]
        asked = [(share, *task(self._there[arms][own], own)) for share, own in parts]
        for (_, own), answer in zip(parts, self._round(asked), strict=True):
            found[own] = answer
        return found

    def _round(self, asked: Sequence[tuple[int, Callable[..., Floats], tuple[Any, ...]]]) -> list[Floats]:
        """Answers of these tasks about these shares."""
        if not self._shares:
            raise RuntimeError("this log on a cluster was closed")
        if self._here:
            return [task(self._shares[share], *given) for share, task, given in asked]
        for _ in range(TIMES):
            try:
                return self._sorting.answers([(task, (self._shares[share], *given)) for share, task, given in asked])
            except _WorkersGone:
                self._shares, _ = self._sorting.sort()  # the same shares, to the bit
        raise self._sorting.given_up()

    def __enter__(self) -> ClusterOrdered:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the workers forget it; nothing can be read afterwards."""
        if self._shares:
            self._shares = []
            self._sorting.stop()
            self._sorting.cluster.close()


# On the client --------------------------------------------------------------------------------------------------------


class _WorkersGone(Exception):
    """None is left of the workers that some tasks were given to."""


@dataclass
class _Task:
    """A task whose end is waited for, its number among those like it, and what it is about in messages."""

    future: Any
    number: int
    about: str


class _Sorting:
    """One log on its way from files to sorted shares, as often as it takes."""

    def __init__(
        self,
        cluster: Cluster,
        names: list[str],
        format: str | None,
        request: Request,
        usable: Floats | None,
        objectives: tuple[Objective, ...],
        parts: int | None,
        progress: Watcher | None,
    ) -> None:
        self.cluster = cluster
        self.notes: list[Notice] = []
        self.left_out: list[Notice] = []
        self.truths: frozenset[str] = frozenset()
        self._request, self._usable, self._objectives, self._progress = request, usable, objectives, progress
        self._asked = names, os.getcwd(), format
        self._shown = names[0] if len(names) == 1 else "the log"
        self._plan: ReadingPlan | None = None
        self._parts = parts or _PARTS_A_THREAD * sum(cluster.threads.values())
        self._begin()

    def sort(self) -> tuple[list[Any], list[Ordered]]:
        """The futures of the shares, and all but the values of each, or these too if they are few."""
        for _ in range(TIMES):
            try:
                return self._sorted_once()
            except BaseException as error:
                self.stop()
                if not isinstance(error, _WorkersGone):
                    raise
        raise self.given_up()

    def given_up(self) -> BadInput:
        """The error when too many workers came and went."""
        return BadArgument(
            "executor",
            f"the Dask cluster at {self.cluster.address} lost all workers that had {self._shown}, "
            f"{TIMES} times; do they have enough memory?",
        )

    def answers(self, asked: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
        """Answers of tasks, in their order."""
        found: list[Any] = [None] * len(asked)
        try:
            for number, (function, given) in enumerate(asked):
                self._submit(number, f"part {number + 1} of {self._shown}", function, *given)
            for task in self._ended():
                found[task.number] = self._result(task)
        except BaseException:
            self.stop()
            raise
        return found

    def stop(self) -> None:
        """Take everything back. What a worker is reading it reads to its end, for nobody."""
        futures = [*self._keep, *(task.future for task in self._under_way.values())]
        self._begin()
        self.cluster.take_back(futures)

    def _begin(self) -> None:
        self._keep: list[Any] = []  # futures that others depend on
        self._under_way: dict[str, _Task] = {}
        self._back: SimpleQueue[str] = SimpleQueue()  # keys of those that ended
        self._given_to: set[frozenset[str]] = set()  # the workers of each task
        self._look_at = time.monotonic() + LOOK

    def _sorted_once(self) -> tuple[list[Any], list[Ordered]]:
        if self._plan is None:
            self._submit(0, self._shown, dask_tasks.planned, *self._asked, self._request)
            (task,) = self._ended()
            self._plan = self._result(task)
            self._shown = self._plan.shown
        self._clock = Clock(self._progress, self._plan.rows)
        pieces = self._read(self._plan)
        self._clock.all_read()
        for part in range(self._parts):
            about = f"part {part + 1} of {self._parts} of {self._shown}"
            share = self._future(dask_tasks.merged, [each[part] for each in pieces], self._request.metrics)
            self._keep.append(share)
            self._submit(part, about, dask_tasks.about, share, FEW // self._parts)
        shares = self._keep[-self._parts :]
        self._keep = shares  # the pieces are let go of as soon as they are merged
        del pieces
        known: dict[int, Ordered] = {}
        for task in self._ended():
            known[task.number] = self._result(task)
            self._clock.sorted(int(known[task.number].pulls.sum()))
        return list(shares), [known[part] for part in range(self._parts)]

    def _read(self, plan: ReadingPlan) -> list[list[Any]]:
        """Have all files read: the futures of the pieces, by job and part. What is wrong with them is said."""
        jobs = plan.jobs(sum(self.cluster.threads.values()))
        pieces: list[list[Any]] = []
        told: dict[int, JobNotes] = {}
        mistakes: dict[int, BadInput] = {}
        request = replace(self._request, layout="wide", missing_arms="drop")

        def fill() -> None:
            most = _JOBS_A_THREAD * max(1, sum(self.cluster.threads.values()))
            while len(pieces) < len(jobs) and not mistakes and len(self._under_way) < most:
                number = len(pieces)
                job = ReadingJob(plan.format, jobs[number], request, self._usable, self._parts, self._objectives)
                read = self._future(dask_tasks.read, job)
                pieces.append([self._future(getitem, read, part) for part in range(self._parts)])
                self._keep += pieces[number]
                self._submit(number, job.shown, getitem, read, self._parts)

        fill()
        for task in self._ended():
            try:
                told[task.number] = self._result(task)
            except BadInput as mistake:
                mistakes[task.number] = mistake
            self._clock.read(sum(each.rows for each in told.values()))
            fill()
        if mistakes:  # of several the one in the first file, as on one machine
            raise mistakes[min(mistakes)]
        self._note(plan, [told[number] for number in sorted(told)])
        return pieces

    def _note(self, plan: ReadingPlan, told: Sequence[JobNotes]) -> None:
        """Keep what files had to tell, as if they had been read one after another; refuse what must be refused."""
        every = [note for each in told for note in each.notes]
        nameless = [note for note in every if isinstance(note, RowsWithoutArm)]
        self.notes = [note for note in every if not isinstance(note, RowsWithoutArm)]
        if nameless:
            self.notes.append(in_all(nameless))
            if self._request.missing_arms == "refuse":
                refuse_nameless(in_all(nameless))
        kinds, unusable = ColumnKinds(), UnusableCheck(self._objectives, self._request.metrics)
        for each in told:
            kinds.merge(each.kinds, plan.shown)
            unusable.merge(each.unusable)
        self.truths = frozenset(kinds.truths)
        self.notes += unusable.notices()
        if not sum(each.pulls for each in told):
            raise BadInput(f"{plan.shown} has no rows; its columns are {quoted(plan.columns)}")

    # Tasks ------------------------------------------------------------------------------------------------------------

    def _future(self, function: Callable[..., Any], *given: Any) -> Any:
        """A task on the workers that are fit now."""
        while not self.cluster.threads:
            self._look()
            time.sleep(min(LOOK, 0.2))
        workers = sorted(self.cluster.threads)
        self._given_to.add(frozenset(workers))
        return self.cluster.client.submit(function, *given, workers=workers, pure=False)

    def _submit(self, number: int, about: str, function: Callable[..., Any], *given: Any) -> None:
        """A task whose end is waited for."""
        task = _Task(self._future(function, *given), number, about)
        self._under_way[task.future.key] = task
        task.future.add_done_callback(lambda done: self._back.put(done.key))

    def _ended(self) -> Iterator[_Task]:
        """Tasks under way as they end, until there are none."""
        while self._under_way:
            if time.monotonic() >= self._look_at:
                self._look()
                self._look_at = time.monotonic() + LOOK
            with suppress(Empty):
                task = self._under_way.pop(self._back.get(timeout=LOOK / 5), None)
                if task is not None:
                    yield task

    def _result(self, task: _Task) -> Any:
        """The answer of a task that ended; its error as one of ours."""
        if task.future.status in ("cancelled", "lost"):
            raise BadArgument(
                "executor", f"the Dask cluster at {self.cluster.address} gave up {task.about}: is it still there?"
            )
        try:
            if task.future.status != "error":
                return task.future.result(timeout=_dask.LIMIT)
            error = task.future.exception(timeout=_dask.LIMIT)
        except TimeoutError:
            raise BadArgument(
                "executor",
                f"the Dask cluster at {self.cluster.address} did not hand over {task.about} within {_dask.LIMIT:g} s",
            ) from None
        if isinstance(error, BadInput):
            raise error from None
        if type(error).__name__ == "KilledWorker":
            last = self.cluster.called(getattr(error.last_worker, "address", "?"))
            raise BadArgument(
                "executor",
                f"{task.about} was given up after {error.allowed_failures + 1} Dask workers died over it, "
                f"the last of them {last}; do they have enough memory?",
            ) from None
        raise BadArgument("executor", f"the Dask cluster failed over {task.about}: {said(error)}") from error

    def _look(self) -> None:
        """See who is there; raise if those that are waited for will not come back."""
        self.left_out += [WorkerLeftOut(str(worker), worker.lacks) for worker in self.cluster.watch()]
        fit = frozenset(self.cluster.threads)
        if fit and any(not workers & fit for workers in self._given_to):
            raise _WorkersGone


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
