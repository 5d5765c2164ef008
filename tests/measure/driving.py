"""A small study, and ways to have its pulls measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from frontguard import Objective, Prescient
from frontguard.measure.drive import Loop, Submit
from frontguard.storage.contract import End, MemoryStorage, Pull, Storage
from frontguard.studies.measurement import Measurement
from frontguard.studies.study import Study

WAIT = 180.0  # seconds for what must happen; nothing depends on how long it takes
ARMS = {"good": (3.0, 1.0), "small": (1.0, 3.0), "bad": (0.0, 0.0)}
FRONT = ["good", "small"]


def a_study(storage: Storage | None = None, **settings: Any) -> Study:
    objectives = [Objective("quality", "maximize", tolerance=0.5), Objective("lightness", "maximize", tolerance=0.5)]
    return Study(list(ARMS), objectives, Prescient(0.05), storage=storage or MemoryStorage(), **settings)


def values_of(pull: Pull) -> Measurement:
    quality, lightness = ARMS[pull.arm]
    return Measurement([quality + pull.id % 3 / 10, lightness])


def through(pool: ThreadPoolExecutor, measure: Callable[[Pull], Any] = values_of) -> Callable[[Pull], Future[Any]]:
    return lambda pull: pool.submit(measure, pull)


def at_once(measure: Callable[[Pull], Any] = values_of) -> Callable[[Pull], Future[Any]]:
    def submit(pull: Pull) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(measure(pull))
        except Exception as error:
            future.set_exception(error)
        return future

    return submit


def drive(study: Study, submit: Submit, **options: Any) -> str:
    """Run the loop to its end; why it ended."""
    return Loop(study, submit, **options).run()


def drive_up_to(study: Study, last: int) -> str:
    """Run the loop with one worker until the time is over, which it is after so many pulls."""

    def measure(pull: Pull) -> Measurement:
        if pull.id >= last:
            loop.until = time.monotonic()
        return values_of(pull)

    loop = Loop(study, at_once(measure), workers=1)
    return loop.run()


def told(study: Study) -> list[int]:
    return list(study.storage.told(study.name).pulls.tolist())


def measured(study: Study) -> list[int]:
    log = study.storage.told(study.name)
    return sorted(log.pulls[log.ends == End.TOLD].tolist())


def given_up(study: Study) -> dict[int, End]:
    log = study.storage.told(study.name)
    return {pull: End(end) for pull, end in zip(log.pulls.tolist(), log.ends.tolist(), strict=True) if end}


def reasons(study: Study) -> list[str]:
    return list(study.storage.told(study.name).reasons)
