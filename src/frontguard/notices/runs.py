"""What a run meets: failures of all, workers that are away, trouble with the storage or the steps around a pull."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from frontguard.notices.record import Notice


@dataclass(frozen=True)
class AllFailed(Notice):
    """All of the first pulls failed; `last` is what one of them, of an arm, had to say."""

    pulls: int
    arm: str
    last: str
    kind: Literal["all_failed"] = "all_failed"

    @property
    def subject(self) -> tuple[str, ...]:
        """It is about the run, whichever arm is taken as its example."""
        return (self.kind,)


@dataclass(frozen=True)
class Stopping(Notice):
    """The run is to stop, by a person or because its time is over, and waits for the pulls that are under way."""

    warns: ClassVar[bool] = False
    under_way: int
    why: Literal["interrupted", "time"] = "interrupted"
    kind: Literal["stopping"] = "stopping"


@dataclass(frozen=True)
class WaitingForWorkers(Notice):
    """A cluster has no workers, and one is waited for, for so many seconds at most."""

    warns: ClassVar[bool] = False
    cluster: str
    seconds: float
    kind: Literal["waiting_for_workers"] = "waiting_for_workers"


@dataclass(frozen=True)
class WorkerLeftOut(Notice):
    """A worker that joined a cluster gets no work, because of what it lacks."""

    worker: str
    lacks: str
    kind: Literal["worker_left_out"] = "worker_left_out"

    @property
    def subject(self) -> tuple[str, ...]:
        """It is about that worker."""
        return (self.kind, self.worker)


@dataclass(frozen=True)
class StorageTrouble(Notice):
    """The storage cannot be read for the moment."""

    why: str
    kind: Literal["storage_trouble"] = "storage_trouble"


@dataclass(frozen=True)
class StepFailed(Notice):
    """A step beside the pulls of an arm failed: a warm-up, what comes after a pull, or its cleanup."""

    arm: str
    step: Literal["warm-up", "after", "cleanup"]
    why: str
    kind: Literal["step_failed"] = "step_failed"

    @property
    def subject(self) -> tuple[str, ...]:
        """Each step of an arm is a thing of its own."""
        return (self.kind, self.arm, self.step)


@dataclass(frozen=True)
class CleaningUp(Notice):
    """The run is over, and arms are still being cleaned up."""

    warns: ClassVar[bool] = False
    arms: int
    kind: Literal["cleaning_up"] = "cleaning_up"
