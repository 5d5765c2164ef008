"""Costs that steer whom to pull and when to stop, and studies that go on after their certificate."""

from __future__ import annotations

from audit.cells.contract import CONFIDENCE, NO_ATTACK, Answers, Rng, cell, watched
from audit.worlds import World, normal, two_sided
from frontguard import Objective, Prescient, Study
from frontguard.studies.study import Pull

SECONDS = Objective("seconds", "minimize")
LOSS = Objective("loss", "minimize", 0.2)


@cell
def costs_of_the_same_seconds(rng: Rng) -> Answers:
    """What is measured is also what it costs, heavy-tailed, and a budget of it ends the study."""
    world = World((SECONDS,), ((two_sided(1.0, 10.0, 0.4),), (normal(5.0, 0.05),), (normal(6.0, 2.0),)))
    study = Study(
        world.arms, world.objectives, NO_ATTACK, confidence=CONFIDENCE, seed=int(rng.integers(2**31)),
        cost="seconds", max_cost=float(rng.uniform(100.0, 2000.0)), max_pulls=400,
    )  # fmt: skip

    def measured(pull: Pull) -> list[float]:
        values: list[float] = world.measure(pull.index, rng).tolist()
        return [max(values[0], 0.0)]

    yield from watched(world, study, measured, at_once=4, look_every=20)


@cell
def costs_that_lie(rng: Rng) -> Answers:
    """Whoever lies says of costs what it likes, too, by the values that it sees."""
    threat = Prescient(0.1)
    world = World((LOSS,), ((normal(1.0, 0.3),), (normal(1.2, 0.3),), (normal(1.6, 0.3),)))
    study = Study(
        world.arms, world.objectives, threat, confidence=CONFIDENCE, seed=int(rng.integers(2**31)),
        cost="price", max_pulls=500,
    )  # fmt: skip

    def measured(pull: Pull) -> list[float]:
        value = float(world.measure(pull.index, rng)[0])
        if rng.random() < threat.eps:
            value = -50.0 if pull.index else 50.0
        # Cheap what looks bad of the best arm, and dear what looks good of it; the other way round for the others.
        good = value < float(world.truth.values[pull.index, 0])
        return [value, 1e-6 if good == bool(pull.index) else 1e6]

    yield from watched(world, study, measured, at_once=4, look_every=40)


@cell
def polished(rng: Rng) -> Answers:
    """A study goes on after its certificate, and is looked at meanwhile; arms are so near that the set may change."""
    threat = Prescient(0.1)
    middles = ((1.0, 2.0), (1.05, 1.98), (1.5, 1.5), (1.52, 1.45), (2.0, 1.0))
    objectives = (Objective("loss", "minimize", 0.4), Objective("bytes", "minimize", 0.4))
    world = World(objectives, tuple(tuple(normal(middle, 0.2) for middle in row) for row in middles))
    study = Study(
        world.arms, world.objectives, threat, confidence=CONFIDENCE, seed=int(rng.integers(2**31)),
        polish=True, max_pulls=1500,
    )  # fmt: skip

    def measured(pull: Pull) -> list[float]:
        values: list[float] = world.measure(pull.index, rng).tolist()
        return [50.0 if pull.index == 0 else -50.0] * 2 if rng.random() < threat.eps else values

    yield from watched(world, study, measured, at_once=16, look_every=64)
