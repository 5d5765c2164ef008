"""Short lists and whole fronts where some arms buy nothing, live and in logs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from audit.cells.contract import CONFIDENCE, Answers, Rng, Told, begun, cell, watched
from audit.worlds import World, normal
from frontguard import Objective, Prescient, analyze
from frontguard.studies.study import Pull


def _with_ties(tolerance: str) -> World:
    """Arms that buy nothing beside one that is as small and faster, and one that is within the tolerance of another."""
    seconds, size = (Objective(name, "minimize", tolerance) for name in ("seconds", "bytes"))
    truth = ((1.0, 100.0), (2.0, 100.0), (1.5, 100.0), (3.0, 50.0), (2.96, 51.0))
    return World((seconds, size), tuple((normal(a, 0.1 * a), normal(b, 0.1 * b)) for a, b in truth))


@cell
def short_lists(rng: Rng) -> Answers:
    """Arms that buy nothing, at every look at a study that is to end with a short list."""
    world = _with_ties("20%")
    study = begun(world, rng, Prescient(0.05), max_pulls=1500)
    yield from watched(world, study, _hit_upwards(world, rng, 0.05))


@cell
def whole_fronts(rng: Rng) -> Answers:
    """The same where all arms that none beats are to be returned."""
    world = _with_ties("20%")
    study = begun(world, rng, Prescient(0.05), max_pulls=1500, goal="front")
    yield from watched(world, study, _hit_upwards(world, rng, 0.05))


@cell
def lists_of_logs(rng: Rng) -> Answers:
    """The short lists of logs with few rows, some of which are wrong."""
    world = _with_ties("20%")
    rows = [(arm, world.measure(arm, rng)) for arm in range(len(world.arms)) for _ in range(int(rng.integers(20, 200)))]
    values = np.array([np.where(rng.random() < 0.05, 50.0, 1.0) * value for _, value in rows])
    log = {
        "arm": [world.arms[arm] for arm, _ in rows],
        **{o.name: values[:, d] for d, o in enumerate(world.objectives)},
    }
    yield (
        world.truth,
        analyze(log, arm="arm", objectives=world.objectives, threat=Prescient(0.05), confidence=CONFIDENCE),
    )


def _hit_upwards(world: World, rng: Rng, eps: float) -> Callable[[Pull], Told]:
    """Measurements of which some are made far worse."""

    def measured(pull: Pull) -> Told:
        value = world.measure(pull.index, rng)
        return [float(each) for each in (value * 50.0 if rng.random() < eps else value)]

    return measured
