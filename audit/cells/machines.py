"""Machines whose speed changes while they measure, alike for all arms: a step, a ramp, a neighbour, throttling, AR(1).

Each slot of a run has a speed of its own, and every arm measured in it takes so many times longer. The truth is what
arms are to each other; their medians themselves are those of the moments of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from audit.cells.contract import Answers, Rng, begun, cell, watched
from audit.truth import Truth
from audit.worlds import FAR, World, normal
from frontguard import Answer, Objective, Prescient
from frontguard.studies.study import Pull

SECONDS = Objective("seconds", "minimize", tolerance="1%")
APART, NOISE = 1.03, 0.04
DECLARED = Prescient(0.1)
"""Nobody attacks: some share of what is measured may be disturbed, which is what a busy machine is declared as."""
OF_MOMENTS = {"interval", "volume"}
"""What is said of medians themselves, which are those of the moments of the run."""


class OfArms(Truth):
    """What arms are to each other, whatever the machine does to all of them."""

    def false_statements(self, result: Answer) -> set[str]:
        """The kinds of false statements, without those on medians themselves."""
        return super().false_statements(result) - OF_MOMENTS


def _on(slowness: Iterator[float], rng: Rng, *, lie: float = 0.0, max_pulls: int = 3000) -> Answers:
    """Six arms 3% apart with 4% noise, on a machine that is so many times slower in each slot.

    Of each run so many `lie`: the better half of the arms seems to take for ever, the worse half no time at all.
    """
    world = World((SECONDS,), tuple((normal(APART**place, NOISE * APART**place),) for place in rng.permutation(6)))
    truth = OfArms(world.objectives, world.truth.values)
    study = begun(world, rng, DECLARED, max_pulls=max_pulls, blocks=None)  # as a study of times is

    def measured(pull: Pull) -> list[float | None]:
        value = float(world.measure(pull.index, rng)[0] * next(slowness))
        if rng.random() < lie:
            value *= FAR if truth.values[pull.index, 0] < np.median(truth.values) else 1.0 / FAR
        return [value]

    for _, answer in watched(world, study, measured, at_once=1, look_every=120):
        yield truth, answer


@cell
def machine_with_a_step(rng: Rng) -> Answers:
    """A machine becomes 1.2 times slower once."""
    at = int(rng.integers(50, 400))
    yield from _on((1.2 if slot > at else 1.0 for slot in _slots()), rng)


@cell
def machine_on_a_ramp(rng: Rng) -> Answers:
    """A machine grows slower all the time, half as slow again after 1,000 pulls."""
    yield from _on((1.0 + slot / 2000.0 for slot in _slots()), rng)


@cell
def machine_with_a_neighbour(rng: Rng) -> Answers:
    """A neighbour makes everything 1.2 to 2 times slower, every 60 to 480 pulls."""
    yield from _on(_neighbour(rng), rng)


@cell
def machine_that_throttles(rng: Rng) -> Answers:
    """A machine is quick when it is cool, and 1.3 times slower the longer it has been busy, with rests between."""
    busy, slow = int(rng.integers(100, 300)), int(rng.integers(30, 120))

    def slowness() -> Iterator[float]:
        for slot in _slots():
            yield 1.0 + 0.3 * (1.0 - np.exp(-(slot % busy) / slow))

    yield from _on(slowness(), rng)


@cell
def machine_with_a_memory(rng: Rng) -> Answers:
    """A machine's speed wanders by 5%, an AR(1) of 0.95."""

    def slowness() -> Iterator[float]:
        state = 0.05 * rng.standard_normal()
        while True:
            state = 0.95 * state + 0.05 * np.sqrt(1.0 - 0.95**2) * rng.standard_normal()
            yield float(np.exp(state))

    yield from _on(slowness(), rng)


@cell
def machine_with_liars(rng: Rng) -> Answers:
    """Beside a neighbour one run in ten is replaced: those of good arms by slow ones, those of others by quick ones."""
    yield from _on(_neighbour(rng), rng, lie=DECLARED.eps)


@cell
def arm_that_drifts_alone(rng: Rng) -> Answers:
    """One arm alone becomes up to a fifth slower or quicker, at once or bit by bit; what it was meanwhile counts"""
    places = rng.permutation(4)
    world = World((SECONDS,), tuple((normal(APART**place, NOISE * APART**place),) for place in places))
    study = begun(world, rng, DECLARED, max_pulls=3000, blocks=None)
    alone, most, at, ramp = int(rng.integers(4)), rng.uniform(-0.2, 0.2), int(rng.integers(10, 150)), rng.random() < 0.5
    speeds: list[float] = []  # of the runs of that arm

    def measured(pull: Pull) -> list[float | None]:
        value = float(world.measure(pull.index, rng)[0])
        if pull.index == alone:
            speeds.append(float(np.exp(most * (len(speeds) / 300 if ramp else len(speeds) > at))))
            value *= speeds[-1]
        return [value]

    for _, answer in watched(world, study, measured, at_once=1, look_every=120):
        values = world.truth.values.copy()
        if speeds:
            of_moments = brentq(lambda x: ndtr((x / np.array(speeds) - 1.0) / NOISE).mean() - 0.5, 0.5, 2.0)
            values[alone] *= of_moments
        yield OfArms(world.objectives, values), answer


def _slots() -> Iterator[int]:
    slot = 0
    while True:
        yield slot
        slot += 1


def _neighbour(rng: Rng) -> Iterator[float]:
    """There for a while, and away for a while."""
    slower, every = rng.uniform(1.2, 2.0), int(rng.integers(60, 480))
    for slot in _slots():
        yield slower if (slot // every) % 2 else 1.0
