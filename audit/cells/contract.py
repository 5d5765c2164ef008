"""What a cell of the audit is, and how a study of a world is begun, driven by hand and looked at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from audit.truth import Truth
from audit.worlds import World
from frontguard import Answer, Measurement, Oblivious, Study, Threat, analyze
from frontguard.measure.drive import Loop
from frontguard.studies.study import Pull

CONFIDENCE = 0.9
"""Of every study and analysis of the audit: δ is one tenth, so that few runs show whether it is kept."""

DELTA = round(1.0 - CONFIDENCE, 12)

Rng = np.random.Generator
Answers = Iterator[tuple[Truth, Answer]]
Told = Sequence[float | None] | str
"""What comes of a pull: its values, or why it failed."""

NO_ATTACK = Oblivious(0.0)


@dataclass(frozen=True)
class Cell:
    """One way in which measuring goes wrong."""

    name: str
    about: str
    answers: Callable[[Rng], Answers]


CELLS: dict[str, Cell] = {}


def cell(answers: Callable[[Rng], Answers]) -> Callable[[Rng], Answers]:
    """Register a cell by the name of its function; its docstring says what it is about."""
    name = answers.__name__.replace("_", "-")
    about = (answers.__doc__ or "").strip().splitlines()[0].rstrip(".")
    CELLS[name] = Cell(name, about, answers)
    return answers


# How a study is driven by hand ----------------------------------------------------------------------------------------


def begun(
    world: World,
    rng: Rng,
    threat: Threat = NO_ATTACK,
    *,
    max_pulls: int = 600,
    goal: str = "list",
    independent: bool = False,
    blocks: bool | None = False,
    baseline: str | None = None,
) -> Study:
    """A study of a world, in memory."""
    return Study(
        world.arms,
        world.objectives,
        threat,
        confidence=CONFIDENCE,
        seed=int(rng.integers(2**31)),
        max_pulls=max_pulls,
        goal=goal,
        limits=world.limits,
        independent=independent,
        blocks=blocks,
        baseline=baseline,
    )


def told(study: Study, pull: Pull, came: Told) -> None:
    """Tell what came of a pull."""
    if isinstance(came, str):
        study.fail(pull, came)
    else:
        study.tell(pull, came, "no value" if None in came else None)


def watched(
    world: World, study: Study, measured: Callable[[Pull], Told], *, at_once: int = 8, look_every: int = 40
) -> Answers:
    """Measure to the end, and look now and then and at the end."""
    truth, count = world.truth, 0
    while pulls := study.ask(at_once):
        for pull in pulls:
            told(study, pull, measured(pull))
        count += len(pulls)
        if count % look_every < at_once:
            yield truth, study.result()
    yield truth, study.result()


def one_run(world: World, study: Study, rng: Rng, *, patient: bool) -> None:
    """One run, by the loop of `run` and `identify`, whose user stops it as soon as a slow pull is under way."""
    stop = threading.Event()

    def submit(pull: Pull) -> Future[Measurement]:
        came = Measurement(world.measure(pull.index, rng).tolist())
        future: Future[Measurement] = Future()
        future.set_running_or_notify_cancel()
        if came.values[0] < 8.0:
            future.set_result(came)
        else:
            stop.set()
            if patient:
                threading.Timer(0.001, lambda: future.set_result(came)).start()
        return future

    if patient:
        Loop(study, submit, workers=2, cancel=stop).run()
    else:
        Loop(study, submit, workers=2, give_up=stop, patience=0.0).run()


def analysed(world: World, log: dict[str, Any], threat: Threat, **asked: Any) -> Answers:
    """For one look, and for one of many; `asked` is more of what `analyze` takes."""
    for anytime in (False, True):
        yield (
            world.truth,
            analyze(
                log,
                arm="arm",
                objectives=world.objectives,
                limits=world.limits,
                threat=threat,
                confidence=CONFIDENCE,
                anytime=anytime,
                **asked,
            ),
        )
