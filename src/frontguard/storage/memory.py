"""Studies in memory: the contract in its most obvious form, the reference that other backends are compared with."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from frontguard._common.machine import hold_over_forks
from frontguard.storage.contract import (
    GIVEN_BACK,
    End,
    Plan,
    Pull,
    Storage,
    StudyExists,
    Tell,
    Told,
    UnknownStudy,
    checked_tells,
    checked_texts,
    follows,
    leases_of,
)


@dataclass
class _Kept:
    """All there is of one study."""

    metrics: int
    settings: list[str]
    plans: list[Plan] = field(default_factory=list)
    planned: int = 0  # pulls of all plans
    handed: int = 0  # pulls up to this one were handed out, or told without
    told: list[Tell] = field(default_factory=list)
    ends: dict[int, End] = field(default_factory=dict)  # of the pulls that were told
    late: dict[int, Tell] = field(default_factory=dict)
    leases: dict[int, Pull] = field(default_factory=dict)


class MemoryStorage(Storage):
    """Studies that live as long as the process.

    >>> storage = MemoryStorage()
    >>> storage.create("flags", settings="", metrics=2)
    >>> storage.add_plan("flags", Plan(number=1, told=0, first=1, arms=np.array([4, 7])))
    True
    >>> storage.hand_out("flags", 5, "me", deadline=60.0)
    [Pull(id=1, worker='me', deadline=60.0, ...), Pull(id=2, worker='me', deadline=60.0, ...)]
    >>> storage.tell("flags", [Tell(2, (0.5, 3.0)), Tell(2, (0.6, 3.0))])
    [True, False]
    >>> storage.told("flags").values.tolist(), storage.size("flags")
    ([[0.5, 3.0]], (1, 1))
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._studies: dict[str, _Kept] = {}
        hold_over_forks(self)

    def _before_fork(self) -> None:
        """A child has a copy of its own."""

    def describe(self) -> str:
        return "in memory: a study is gone when the process ends"

    def __repr__(self) -> str:
        return f"MemoryStorage() of {len(self._studies)} studies"

    # Studies ----------------------------------------------------------------------------------------------------------

    def studies(self) -> list[str]:
        with self._lock:
            return list(self._studies)

    def create(self, study: str, settings: str, metrics: int) -> None:
        checked_texts(study, settings)
        with self._lock:
            if study in self._studies:
                raise StudyExists(f"there is a study {study!r} already")
            self._studies[study] = _Kept(metrics, [settings])

    def settings(self, study: str) -> str:
        with self._lock:
            return self._kept(study).settings[-1]

    def amend(self, study: str, settings: str, *, after: str | None = None, told: int | None = None) -> bool:
        checked_texts(settings)
        with self._lock:
            kept = self._kept(study)
            if after not in (None, kept.settings[-1]) or told not in (None, len(kept.told)):
                return False
            kept.settings.append(settings)
            return True

    def forget(self, study: str) -> bool:
        with self._lock:
            if self._kept(study).told:
                return False
            del self._studies[study]
            return True

    # The log ----------------------------------------------------------------------------------------------------------

    def size(self, study: str) -> tuple[int, int]:
        with self._lock:
            kept = self._kept(study)
            return len(kept.plans), len(kept.told)

    def plans(self, study: str, after: int = 0) -> list[Plan]:
        with self._lock:
            return self._kept(study).plans[max(after, 0) :]

    def add_plan(self, study: str, plan: Plan) -> bool:
        with self._lock:
            kept = self._kept(study)
            if not follows(plan, len(kept.plans), kept.planned):
                return False
            # A copy that nobody can write into: what is in the log stays as it is.
            arms = np.array(plan.arms, np.int64)
            arms.setflags(write=False)
            kept.plans.append(replace(plan, arms=arms))
            kept.planned += len(arms)
            return True

    def told(self, study: str, after: int = 0, up_to: int | None = None) -> Told:
        with self._lock:
            kept = self._kept(study)
            after = max(after, 0)
            rows = kept.told[after : None if up_to is None else max(up_to, after)]
        return Told.of(rows, kept.metrics, after)

    def tell(self, study: str, tells: Sequence[Tell]) -> list[bool]:
        with self._lock:
            kept = self._kept(study)
            checked_tells(tells, kept.planned, kept.metrics)
            return [_append(kept, tell) for tell in tells]

    def late(self, study: str) -> Told:
        with self._lock:
            kept = self._kept(study)
            return Told.of(list(kept.late.values()), kept.metrics)

    # Leases -----------------------------------------------------------------------------------------------------------

    def hand_out(self, study: str, most: int, worker: str, *, deadline: float) -> list[Pull]:
        checked_texts(worker)
        with self._lock:
            kept = self._kept(study)
            back = sorted(number for number, held in kept.leases.items() if held.deadline == GIVEN_BACK)
            given = back[: max(most, 0)]
            while len(given) < most and kept.handed < kept.planned:
                kept.handed += 1
                if kept.handed not in kept.ends:
                    given.append(kept.handed)
            pulls = [Pull(number, worker, float(deadline)) for number in given]
            kept.leases.update((pull.id, pull) for pull in pulls)
            return pulls

    def renew(self, study: str, worker: str, deadline: float, pulls: Iterable[int] | None = None) -> int:
        with self._lock:
            leases = self._kept(study).leases
            changed = leases_of(leases.values(), worker, pulls, deadline)
            leases.update((pull.id, pull) for pull in changed)
            return len(changed)

    def leases(self, study: str) -> list[Pull]:
        with self._lock:
            return [pull for _, pull in sorted(self._kept(study).leases.items()) if pull.deadline > GIVEN_BACK]

    # Housekeeping -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Nothing to let go of."""

    def _kept(self, study: str) -> _Kept:
        if study not in self._studies:
            raise UnknownStudy(f"there is no study {study!r} in memory; there are: {sorted(self._studies)}")
        return self._studies[study]


def _append(kept: _Kept, tell: Tell) -> bool:
    if tell.pull in kept.ends:
        if kept.ends[tell.pull] != End.TOLD and tell.end == End.TOLD:
            kept.late.setdefault(tell.pull, replace(tell, cluster=""))
        return False
    kept.ends[tell.pull] = tell.end
    kept.told.append(tell)
    kept.leases.pop(tell.pull, None)
    return True
