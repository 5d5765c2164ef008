"""Live studies that go wrong: pulls that are lost or fail, equal values, measurements that lie, early ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from audit.cells.contract import (
    CONFIDENCE,
    DELTA,
    NO_ATTACK,
    Answers,
    Rng,
    Told,
    begun,
    cell,
    one_run,
    watched,
)
from audit.worlds import FAR, World, categories, exactly, normal, two_sided
from frontguard import RPSI, AuerA1, Gaussian, Malicious, Objective, Prescient, Share, Study, Threat
from frontguard._common.typing import Floats
from frontguard.storage.contract import open_storage
from frontguard.studies.study import Pull

SECONDS = Objective("seconds", "minimize")
BYTES = Objective("bytes", "minimize")

# Pulls that are lost --------------------------------------------------------------------------------------------------


def slow_or_fast() -> World:
    """An arm that is fast now and then and slow mostly, beside one between: the second is the better one."""
    return World((SECONDS,), ((two_sided(1.0, 10.0, 0.4),), (normal(5.0, 0.05),)))


@cell
def workers_that_die(rng: Rng) -> Answers:
    """Workers die on long runs, and others go on."""
    world, storage = slow_or_fast(), open_storage("memory:")
    # A lease that is over at once stands for the time that passes until a dead worker is missed.
    study = partial(Study, world.arms, world.objectives, NO_ATTACK, confidence=CONFIDENCE, max_pulls=100, lease=1e-6)
    crew = [study(storage=storage, worker=f"worker {n}") for n in range(4)]
    dead = 0
    while pulls := crew[dead % len(crew)].ask(1):
        value = world.measure(pulls[0].index, rng)
        if value[0] < 8.0 or rng.random() < 0.1:
            crew[dead % len(crew)].tell(pulls[0], value.tolist())
        else:
            dead += 1
    yield world.truth, crew[0].result()


@cell
def interruptions(rng: Rng) -> Answers:
    """Runs are stopped whenever something slow is under way, which is waited for or given up, and taken up again."""
    world = slow_or_fast()
    truth, study = world.truth, begun(world, rng, max_pulls=60)
    while not study.done:
        one_run(world, study, rng, patient=rng.random() < 0.25)
    yield truth, study.result()


@cell
def slow_first(rng: Rng) -> Answers:
    """Many pulls are under way, the fast ones are back first, and the study is looked at meanwhile."""
    world = slow_or_fast()
    truth, study = world.truth, begun(world, rng, max_pulls=400)
    while pulls := study.ask(48):
        came = [(world.measure(pull.index, rng).tolist(), pull) for pull in pulls]
        for position, (values, pull) in enumerate(sorted(came, key=lambda each: each[0])):
            study.tell(pull, values)
            if position % 12 == 11:
                yield truth, study.result()
    yield truth, study.result()


# Pulls that fail, and arms that cannot be measured --------------------------------------------------------------------


@cell
def failures_by_value(rng: Rng) -> Answers:
    """Pulls fail the more often the longer they take."""
    world = World((SECONDS,), ((normal(6.0, 2.0),), (normal(5.0, 0.2),)))

    def measured(pull: Pull) -> Told:
        value = float(world.measure(pull.index, rng)[0])
        return "timeout" if value > 6.5 else [value]

    yield from watched(world, begun(world, rng), measured)


@cell
def exclude(rng: Rng) -> Answers:
    """The best arm breaks while it is measured, and cannot be measured any more."""
    objectives = (Objective("quality", "maximize"), Objective("speed", "maximize"))
    middles = ((10.0, 5.0), (10.1, 4.9), (9.0, 4.0), (5.0, 10.0))
    world = World(objectives, tuple(tuple(normal(middle, 1.0) for middle in row) for row in middles))
    breaks_after, done = int(rng.integers(20, 60)), 0

    def measured(pull: Pull) -> Told:
        nonlocal done
        done += pull.index == 0
        if pull.index == 0 and done > breaks_after:
            return "no space left on device"
        values: list[float] = world.measure(pull.index, rng).tolist()
        return values

    yield from watched(world, begun(world, rng), measured, at_once=16)


# Values that are equal ------------------------------------------------------------------------------------------------


@cell
def ties(rng: Rng) -> Answers:
    """Arms are exactly equal in one objective, and only one of them is the best in the other."""
    middles = (1.0, 1.1, 1.2, 1.3, 1.4)
    world = World((SECONDS, BYTES), tuple((normal(middle, 0.05), exactly(100.0)) for middle in middles))
    yield from watched(world, begun(world, rng), lambda pull: world.measure(pull.index, rng).tolist(), at_once=16)


@cell
def atoms(rng: Rng) -> Answers:
    """Values are whole stars, and medians lie on the edge between two of them."""
    objectives = (Objective("stars", "maximize", quantile=0.5), Objective("taste", "maximize", quantile=0.4))
    stars = [1.0, 2.0, 3.0, 4.0, 5.0]
    weights = ((1, 1, 3, 4, 1), (2, 1, 2, 4, 1), (1, 3, 1, 4, 1), (4, 1, 2, 1, 2))
    world = World(objectives, tuple((categories(stars, row), categories(stars, row[::-1])) for row in weights))
    yield from watched(world, begun(world, rng), lambda pull: world.measure(pull.index, rng).tolist(), at_once=16)


# Measurements that lie ------------------------------------------------------------------------------------------------


def _attacked(threat: Threat, rng: Rng, replaced: Callable[[World, Study, Pull, Floats], Floats]) -> Answers:
    """Two objectives and four arms, of which the best are hard to tell from the rest."""
    objectives = (Objective("quality", "maximize", tolerance=0.2), Objective("speed", "maximize", tolerance=0.2))
    middles = ((3.0, 1.0), (1.0, 3.0), (2.5, 0.5), (0.5, 2.6))
    world = World(objectives, tuple(tuple(normal(middle, 0.5) for middle in row) for row in middles))
    study = begun(world, rng, threat)

    def measured(pull: Pull) -> Told:
        values: list[float] = replaced(world, study, pull, world.measure(pull.index, rng)).tolist()
        return values

    yield from watched(world, study, measured, at_once=16)


@cell
def attacker_who_watches(rng: Rng) -> Answers:
    """An attacker sees every verdict and pushes each arm where it hurts most."""
    threat = Prescient(0.15)
    told_at, verdicts = 0, {}

    def replaced(world: World, study: Study, pull: Pull, values: Floats) -> Floats:
        nonlocal told_at, verdicts
        if rng.random() >= threat.eps:
            return values
        if pull.id - told_at > 30:
            told_at, verdicts = pull.id, study.result().verdicts
        falls = pull.index < 2 or verdicts.get(pull.arm) == "keep"
        return np.full(len(values), -FAR if falls else FAR)

    yield from _attacked(threat, rng, replaced)


@cell
def hits_by_objective(rng: Rng) -> Answers:
    """Each objective of a pull is hit by itself, the good arms down and the others up."""
    threat = Prescient(0.15)

    def replaced(world: World, study: Study, pull: Pull, values: Floats) -> Floats:
        hit = rng.random(len(values)) < threat.eps
        return np.where(hit, -FAR if pull.index < 2 else FAR, values)

    yield from _attacked(threat, rng, replaced)


@cell
def hits_by_value(rng: Rng) -> Answers:
    """A malicious attacker hits the values that matter: the best of the good arms, the worst of the others."""
    threat = Malicious(0.1)

    def replaced(world: World, study: Study, pull: Pull, values: Floats) -> Floats:
        good = pull.index < 2
        limits = [float(law(np.array([1.0 - threat.eps if good else threat.eps]))[0]) for law in world.laws[pull.index]]
        hit = values > limits if good else values < limits
        return np.where(hit, -FAR if good else FAR, values)

    yield from _attacked(threat, rng, replaced)


@cell
def share_of_a_study(rng: Rng) -> Answers:
    """An attacker spends a share of the measurements as early as it may, on whichever it likes."""
    threat = Share(0.15)
    seen, hits = np.zeros(4, np.int64), np.zeros(4, np.int64)

    def replaced(world: World, study: Study, pull: Pull, values: Floats) -> Floats:
        arm = pull.index
        seen[arm] += 1
        good = arm < 2
        middles = world.truth.values[arm]
        useful = (values >= middles if good else values <= middles).any()
        if not useful or hits[arm] + 1 > np.floor(threat.eps * seen[arm] + 1e-9):
            return values
        hits[arm] += 1
        return np.full(len(values), -FAR if good else FAR)

    yield from _attacked(threat, rng, replaced)


# Ends without a certificate -------------------------------------------------------------------------------------------


@cell
def budget_over(rng: Rng) -> Answers:
    """A budget ends the study, and what is printed must hold of the set that is printed."""
    objectives = (Objective("quality", "maximize", tolerance=0.1), Objective("speed", "maximize", tolerance=0.1))
    middles = rng.uniform(0.0, 2.0, (8, 2))
    world = World(objectives, tuple(tuple(normal(middle, 0.5) for middle in row) for row in middles))
    study = begun(world, rng, max_pulls=int(rng.integers(100, 400)))
    yield from watched(world, study, lambda pull: world.measure(pull.index, rng).tolist(), at_once=16)


@cell
def policies_without_a_promise(rng: Rng) -> Answers:
    """R-PSI before it has stopped, and Auer-A1 on measurements that lie, promise nothing."""
    objectives = (Objective("quality", "maximize"), Objective("speed", "maximize"))
    world = World(objectives, tuple(tuple(normal(m, 0.2) for m in row) for row in rng.uniform(0.0, 1.0, (4, 2))))
    truth = world.truth
    running = RPSI(4, 2, threat=Prescient(0.1), spread=Gaussian(0.2), accuracy=0.1, delta=DELTA)
    for _ in range(2):
        arms = running.ask()
        running.tell(arms, [world.measure(int(arm), rng).tolist() for arm in arms])
        yield truth, running.result()
    lied_to = AuerA1(4, 2, accuracy=0.5, delta=DELTA, scale=0.2, threat=Prescient(0.2))
    while not lied_to.done:
        arms = lied_to.ask()
        values = np.array([world.measure(int(arm), rng) for arm in arms])
        hit = rng.random(len(arms)) < 0.2
        values[hit] = np.where(arms[hit, None] % 2 == 0, -50.0, 50.0)
        lied_to.tell(arms, values)
    yield truth, lied_to.result()
