"""Running a plan: every setting with every policy, in chunks that are stored as soon as they are finished.

Run r of a seed is the same run whoever asks for it, so a plan can be stopped anywhere and gone on with later,
with more runs, other policies or another number of workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from frontguard.experiments.contestants import ExperimentPolicy
from frontguard.experiments.plan import EPSILONS, TABLE2, TITLES, Setting
from frontguard.experiments.results import Row, result_of
from frontguard.experiments.store import Run, RunStore, key_of
from frontguard.simulation import simulate
from frontguard.words.progress import ProgressDisplay

FIRST_CHUNK = 4
CHUNK_SECONDS = 4.0
"""A chunk is what an interruption can lose: the first is small, then they are sized to last about this long.
"""
UNKNOWN_PULLS = 50_000.0


@dataclass
class PlannedRow:
    """One row of the table to be: a setting and a policy, with the runs that are there already."""

    setting: Setting
    contestant: ExperimentPolicy
    key: str
    runs: dict[int, Run] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """For progress: data set, variant, policy and ε."""
        experiment = self.setting.experiment
        return f"{TITLES[experiment.dataset]}, {experiment.variant}, {self.contestant.title}, ε = {self.setting.eps:g}"

    def missing(self, wanted: int, most: int) -> range:
        """The first gap in the run numbers 0..wanted−1, at most so many of it; empty if there is none.

        >>> cell = PlannedRow(None, None, "", {0: None, 1: None, 4: None})
        >>> cell.missing(7, most=5)
        range(2, 4)
        """
        first = next((number for number in range(wanted) if number not in self.runs), wanted)
        end = next((number for number in range(first, wanted) if number in self.runs), wanted)
        return range(first, min(end, first + most))


@dataclass
class Execution:
    """The rows of a plan; how many runs were there before, and how many were run now."""

    results: list[Row]
    resumed: int
    computed: int


class Campaign:
    """All cells of a command, and the store that they are read from and written to."""

    def __init__(
        self,
        settings: Sequence[Setting],
        contestants: Sequence[ExperimentPolicy],
        *,
        runs: int,
        seed: int,
        store: RunStore,
    ) -> None:
        self.wanted = runs
        self.seed = seed
        self.store = store
        # Policy by policy and then ε, as in the paper's table.
        self.cells = [
            PlannedRow(setting, contestant, key_of(setting, contestant, seed))
            for experiment in dict.fromkeys(setting.experiment for setting in settings)
            for contestant in contestants
            for setting in settings
            if setting.experiment is experiment
        ]
        for cell in self.cells:
            cell.runs = self._stored(cell)

    def _stored(self, cell: PlannedRow) -> dict[int, Run]:
        return {number: run for number, run in self.store.runs(cell.key).items() if number < self.wanted}

    @property
    def total(self) -> int:
        """Runs in all, stored ones included."""
        return self.wanted * len(self.cells)

    @property
    def done(self) -> int:
        """Runs that are finished and stored."""
        return sum(len(cell.runs) for cell in self.cells)

    def execute(self, *, workers: int | None = None, progress: ProgressDisplay | None = None) -> Execution:
        """Run what is missing. An interruption propagates; every finished chunk is stored by then."""
        resumed = self.done
        # Rows that differ in their judgement only have the same key: one job, whichever comes first.
        jobs = {cell.key: Job(_guess(cell), self.wanted - len(cell.runs)) for cell in self.cells}
        forecast = TimeLeft(list(jobs.values()))
        compiled: set[str] = set()
        for cell in self.cells:
            cell.runs = self._stored(cell)
            job, policy = jobs[cell.key], cell.contestant.name
            # A policy's very first chunk is a single run: it may have to compile, which must not pass for its pace.
            while chunk := cell.missing(self.wanted, _chunk_size(job.last_pace) if policy in compiled else 1):
                before = self.done

                def show(finished: int, cell: PlannedRow = cell, before: int = before) -> None:
                    if progress is not None:
                        progress.show(cell.name, before + finished, self.total, forecast.seconds_left())

                show(0)
                started = time.perf_counter()
                runs = _simulated(cell, chunk, seed=self.seed, workers=workers, on_run=show)
                self.store.add(cell.key, _about(cell, self.seed), chunk.start, runs)
                cell.runs.update(zip(chunk, runs, strict=True))
                forecast.measured(job, len(runs), time.perf_counter() - started if policy in compiled else None)
                compiled.add(policy)
        return Execution(self.results(), resumed, self.done - resumed)

    def results(self) -> list[Row]:
        """The rows of all cells that have any run."""
        return [
            result_of(cell.setting, cell.contestant, [cell.runs[number] for number in sorted(cell.runs)])
            for cell in self.cells
            if cell.runs
        ]


Plan = Campaign
"""What it is called in the documentation; inside, a plan is what a policy wants pulled."""


def _chunk_size(pace: float | None) -> int:
    return FIRST_CHUNK if pace is None else max(FIRST_CHUNK, int(CHUNK_SECONDS / max(pace, 1e-6)))


def _simulated(
    cell: PlannedRow, chunk: range, *, seed: int, workers: int | None, on_run: Callable[[int], None]
) -> list[Run]:
    setting = cell.setting
    finished = simulate(
        cell.contestant.build(setting),
        setting.experiment.environment,
        setting.adversary,
        runs=len(chunk),
        seed=seed,
        first_run=chunk.start,
        workers=workers,
        on_run=on_run,
    )
    share = float(finished.seconds) / len(chunk)
    return [
        Run(int(pulls), tuple(int(arm) for arm in np.flatnonzero(returned)), share)
        for pulls, returned in zip(finished.pulls, finished.returned, strict=True)
    ]


def _about(cell: PlannedRow, seed: int) -> dict[str, object]:
    experiment = cell.setting.experiment
    return {
        "dataset": experiment.dataset,
        "variant": experiment.variant,
        "policy": cell.contestant.name,
        "epsilon": cell.setting.eps,
        "seed": seed,
    }


def _guess(cell: PlannedRow) -> float:
    """Cost of a run before any is measured: the published pulls at the nearest ε times what a pull costs."""
    nearest = min(EPSILONS, key=lambda eps: abs(eps - cell.setting.eps))
    row = TABLE2.get((cell.setting.experiment.dataset, cell.contestant.name, nearest))
    return (row.sc if row else UNKNOWN_PULLS) * cell.contestant.weight


@dataclass
class Job:
    """What remains of one cell of the table. `guess` is its cost a run in any unit, the same for all jobs."""

    guess: float
    runs_left: int
    runs_measured: int = 0
    seconds_measured: float = 0.0
    last_pace: float | None = None  # seconds a run of the latest chunk


class TimeLeft:
    """Seconds left over all jobs."""

    def __init__(self, jobs: list[Job]) -> None:
        self.jobs = jobs

    def measured(self, job: Job, runs: int, seconds: float | None) -> None:
        """Take note that `runs` runs of a job took `seconds`; None if their time says nothing: they compiled first."""
        job.runs_left -= runs
        if seconds is not None:
            job.runs_measured += runs
            job.seconds_measured += seconds
            job.last_pace = seconds / runs

    def seconds_left(self) -> float | None:
        """The estimate, or None before anything has been measured.

        >>> first, second = Job(guess=10.0, runs_left=4), Job(guess=30.0, runs_left=2)
        >>> forecast = TimeLeft([first, second])
        >>> forecast.measured(first, runs=2, seconds=1.0)
        >>> forecast.seconds_left()  # 2 runs at 0.5 s, 2 runs guessed at three times as much
        4.0
        """
        spent = sum(job.seconds_measured for job in self.jobs)
        guessed = sum(job.guess * job.runs_measured for job in self.jobs)
        if guessed == 0:
            return None
        paces = [job.guess * spent / guessed if job.last_pace is None else job.last_pace for job in self.jobs]
        return sum(pace * job.runs_left for pace, job in zip(paces, self.jobs, strict=True))
