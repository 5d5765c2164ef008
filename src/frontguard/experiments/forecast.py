"""How long the rest will take: measured seconds a run where there are any, a scaled guess where there are
none yet.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Job:
    """What remains of one cell of the table. `guess` is its cost a run in any unit, the same for all jobs."""

    guess: float
    runs_left: int
    runs_measured: int = 0
    seconds_measured: float = 0.0
    last_pace: float | None = None  # seconds a run of the latest chunk


class Forecast:
    """Seconds left over all jobs."""

    def __init__(self, jobs: list[Job]) -> None:
        self.jobs = jobs

    def untimed(self, job: Job, runs: int) -> None:
        """Take note that runs of a job are done whose time says nothing: they compiled the kernels first."""
        job.runs_left -= runs

    def measured(self, job: Job, runs: int, seconds: float) -> None:
        """Take note that `runs` runs of a job took `seconds`."""
        job.runs_left -= runs
        job.runs_measured += runs
        job.seconds_measured += seconds
        job.last_pace = seconds / runs

    def seconds_left(self) -> float | None:
        """The estimate, or None before anything has been measured.

        >>> first, second = Job(guess=10.0, runs_left=4), Job(guess=30.0, runs_left=2)
        >>> forecast = Forecast([first, second])
        >>> forecast.measured(first, runs=2, seconds=1.0)
        >>> forecast.seconds_left()  # 2 runs at 0.5 s, 2 runs guessed at three times as much
        4.0
        """
        spent = sum(job.seconds_measured for job in self.jobs)
        guessed = sum(job.guess * job.runs_measured for job in self.jobs)
        if guessed == 0:
            return None
        scale = spent / guessed
        return sum(self._seconds_a_run(job, scale) * job.runs_left for job in self.jobs)

    @staticmethod
    def _seconds_a_run(job: Job, scale: float) -> float:
        return job.guess * scale if job.last_pace is None else job.last_pace
