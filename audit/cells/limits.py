"""Limits that arms just keep to, or just do not: in studies and in logs, with and without lies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.cells.contract import Answers, Rng, Told, analysed, begun, cell, watched
from audit.worlds import FAR, World, categories, normal, rate
from frontguard import Malicious, Objective, Prescient
from frontguard.studies.study import Pull

_SOLVED = Objective("solved", "maximize", tolerance=0.1, statistic="mean", bounds=(0, 1))


_REACH = 0.6744897501960817  # deviations from the median of a normal law to its third quartile


def _at_the_edge(rows: Sequence[tuple[float, float, float]], safe: float) -> World:
    """Arms by their rates of solved, their third quartiles of seconds, and their rates of safe; with both limits."""
    deviation = 0.5
    laws = tuple(
        (rate(solved), normal(third - _REACH * deviation, deviation), rate(each)) for solved, third, each in rows
    )
    return World((_SOLVED,), laws, ("p75(seconds)<=2", f"mean(safe)>={safe}"))


@cell
def limits_at_the_edge(rng: Rng) -> Answers:
    """Arms just keep to limits, or just do not, and answers are replaced by those that hurt most."""
    yield from _driven_to_the_edge(rng, None)


@cell
def gates_with_limits_at_the_edge(rng: Rng) -> Answers:
    """Candidates of a gate just keep to limits, or just do not, and answers are replaced by those that hurt most."""
    yield from _driven_to_the_edge(rng, "arm 0")


def _driven_to_the_edge(rng: Rng, baseline: str | None) -> Answers:
    # A rate near 0 is moved the most by lies that say 1. Mostly the best arm is the one that is not safe enough: it is
    # looked at longest. Sometimes it is one that is just too slow.
    unsafe, slow = (0.9, 0.8) if rng.random() < 0.75 else (0.8, 0.9)
    rows = (
        (unsafe, 1.3, 0.09),  # safe a little too seldom
        (0.4, 2.0, 0.7),  # at 2, and so within, and far behind both that are not
        (slow, 2.02, 0.7),  # just beyond 2
        (0.2, 1.3, 0.7),
    )
    world, threat = _at_the_edge(rows, 0.1), Prescient(0.15)
    lies = {0: (1.0, 0.0, 1.0), 1: (0.0, FAR, 0.0), 2: (1.0, 0.0, 1.0), 3: (1.0, 0.0, 1.0)}

    def measured(pull: Pull) -> Told:
        values = world.measure(pull.index, rng)
        hit = rng.random(len(values)) < threat.eps
        told: list[float] = np.where(hit, lies[pull.index], values).tolist()
        return told

    study = begun(world, rng, threat, max_pulls=480, baseline=baseline)
    yield from watched(world, study, measured, at_once=40, look_every=120)


@cell
def limits_that_fail_by_value(rng: Rng) -> Answers:
    """Nobody lies, and pulls fail the more often the nearer they are to what a limit forbids."""
    stars = Objective("stars", "maximize", tolerance=0.2, statistic="mean", bounds=(1, 5))
    rows = (((0, 1, 1, 3, 5), 1.8), ((1, 1, 3, 4, 1), 1.0), ((3, 3, 2, 1, 1), 0.5))
    laws = tuple((categories([1.0, 2.0, 3.0, 4.0, 5.0], row), normal(middle, 0.4)) for row, middle in rows)
    world = World((stars,), laws, ("median(seconds)<=1.8",))

    def measured(pull: Pull) -> Told:
        values = world.measure(pull.index, rng)
        told: list[float] = values.tolist()
        return "timeout" if values[1] > 2.1 and rng.random() < 0.5 else told

    yield from watched(world, begun(world, rng, max_pulls=300), measured, at_once=30, look_every=90)


@cell
def limits_in_a_log(rng: Rng) -> Answers:
    """A log of arms at the edge of their limits, of which a malicious attacker hit the values that matter."""
    arms = (
        (0.9, 2.02, 0.9),  # just too slow
        (0.8, 2.0, 0.9),  # at 2, and so within
        (0.7, 1.3, 0.59),  # safe a little too seldom
        (0.3, 1.3, 0.9),
    )
    world, threat, rows = _at_the_edge(arms, 0.6), Malicious(0.05), 400
    within = np.array([False, True, False, True])
    columns = []
    for arm, laws in enumerate(world.laws):
        drawn = rng.uniform(size=(rows, len(laws)))
        values = np.stack([law(drawn[:, d]) for d, law in enumerate(laws)], axis=1)
        for d, best in enumerate((1.0, 0.0, 1.0)):  # what would help an arm that is beyond; the others get the opposite
            helped = not within[arm]
            lowest = helped == (best > 0.5)  # the ε of its law that matter most, each by itself: so a hit is malicious
            hit = drawn[:, d] < threat.eps if lowest else drawn[:, d] > 1.0 - threat.eps
            values[hit, d] = best if helped else (FAR if d == 1 else 1.0 - best)
        columns.append(values)
    every = np.concatenate(columns)
    names = ("solved", "seconds", "safe")
    log = {"arm": np.repeat(world.arms, rows)} | {name: every[:, d] for d, name in enumerate(names)}
    yield from analysed(world, log, threat)
