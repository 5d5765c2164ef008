"""Gates that go wrong: candidates at the tolerance, measurements that lie, failures, a machine that drifts, logs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np

from audit.cells.contract import CONFIDENCE, Answers, Rng, Told, cell, told
from audit.truth import Truth
from audit.worlds import FAR, World, exactly, normal
from frontguard import EvenHanded, Malicious, Objective, Prescient, Share, Study, Threat, gate
from frontguard.studies.study import Pull

SECONDS = Objective("seconds", "minimize", tolerance=0.5)
BYTES = Objective("bytes", "minimize", tolerance=1.0, exact=True)
THREAT = Prescient(0.1)


def _candidates() -> World:
    """A baseline, and candidates that are equal, slower by just the tolerance, by a little more, and by far."""
    medians = 5.0, 5.0, 5.5, 5.55, 7.0
    sizes = 10.0, 11.0, 11.5, 10.0, 9.0
    pairs = zip(medians, sizes, strict=True)
    return World((SECONDS, BYTES), tuple((normal(middle, 0.5), exactly(size)) for middle, size in pairs))


def _watched(
    world: World, rng: Rng, measured: Callable[[Pull], Told], *, look_every: int = 96, threat: Threat = THREAT
) -> Answers:
    """A gate from its beginning to its end, looked at now and then."""
    study = Study(world.arms, world.objectives, threat, confidence=CONFIDENCE, seed=int(rng.integers(2**31)),
                  baseline="arm 0", max_pulls=480)  # fmt: skip
    count = 0
    while pulls := study.ask(12):
        for pull in pulls:
            told(study, pull, measured(pull))
        count += len(pulls)
        if count % look_every < 12:
            yield world.truth, study.result()
    yield world.truth, study.result()


@cell
def gates(rng: Rng) -> Answers:
    """Candidates of a gate at its tolerance, some of whose measurements are replaced to hide or to feign a slowdown."""
    world = _candidates()

    def measured(pull: Pull) -> Told:
        values: list[float | None] = world.measure(pull.index, rng).tolist()
        if rng.random() < THREAT.eps:
            values[0] = FAR if pull.index in (1, 2) else -FAR
        return values

    yield from _watched(world, rng, measured)


@cell
def gates_with_failures(rng: Rng) -> Answers:
    """Slow runs of a gate's candidates fail: they may have been anything."""
    world = _candidates()

    def measured(pull: Pull) -> Told:
        values: list[float | None] = world.measure(pull.index, rng).tolist()
        return "timeout" if (values[0] or 0.0) > 5.6 and pull.index != 0 and rng.random() < 0.5 else values

    yield from _watched(world, rng, measured)


@cell
def gates_on_a_machine_that_drifts(rng: Rng) -> Answers:
    """Equal programs on a machine that grows slower, or swings, by more than the tolerance while they are measured."""
    world = World((Objective("seconds", "minimize", tolerance=0.05),), ((normal(5.0, 0.3),),) * 3)
    swings, slot = bool(rng.random() < 0.5), 0

    def measured(pull: Pull) -> Told:
        nonlocal slot
        slot += 1
        drift = np.sin(slot / 30.0) if swings else min(slot / 200.0, 2.0)
        return [float(world.measure(pull.index, rng)[0] + drift)]

    yield from _watched(world, rng, measured)


@cell
def gates_under_malice(rng: Rng) -> Answers:
    """Candidates just at the tolerance, whose best runs a malicious attacker, or any share of them, turns worst."""
    eps, share = 0.1, bool(rng.random() < 0.5)
    world = World(
        (Objective("seconds", "minimize", tolerance="5%"),), ((normal(1.0, 0.02),), *((normal(1.05, 0.021),),) * 2)
    )
    taken, runs = Counter[int](), Counter[int]()

    def measured(pull: Pull) -> Told:
        level = float(rng.random())
        value = float(world.laws[pull.index][0](np.array([level]))[0])
        runs[pull.index] += 1
        good = level < 0.5 if pull.index else level > 0.5
        if share:
            hit = good and taken[pull.index] < math.floor(eps * runs[pull.index] + 1e-9)
        else:
            hit = level < eps if pull.index else level > 1.0 - eps
        taken[pull.index] += hit
        return [value if not hit else FAR if pull.index else 1.0 / FAR]

    yield from _watched(world, rng, measured, threat=Share(eps) if share else Malicious(eps))


@cell
def gates_of_disturbed_runs(rng: Rng) -> Answers:
    """Equal programs, many of whose runs something spoils that does not know whose they are, on a moody machine."""
    world = World((Objective("seconds", "minimize", tolerance="1%"),), ((normal(1.0, 0.02),),) * 3)
    spoilt, mood, slot = float(rng.uniform(0.2, 0.9)), 0.0, 0

    def measured(pull: Pull) -> Told:
        nonlocal mood, slot
        slot += 1
        mood = 0.9 * mood + 0.05 * rng.standard_normal()
        throttled = 1.3 if slot % 150 > 90 else 1.0
        value = float(world.measure(pull.index, rng)[0]) * np.exp(mood) * throttled
        return [value * (1.0 + 20.0 * rng.random() if rng.random() < spoilt else 1.0)]

    yield from _watched(world, rng, measured, threat=EvenHanded(0.1))


@cell
def gates_on_logs(rng: Rng) -> Answers:
    """Two logs of the same benchmarks, one of which has outliers, compared once and for many looks."""
    world, rows = _candidates(), 120
    logs = []
    for side in range(2):
        seconds = [world.sample(arm if side else 0, rows, rng)[:, 0] for arm in range(1, len(world.laws))]
        for values in seconds:
            wild = rng.random(rows) < (0.08 if side else 0.02)
            values[wild] = FAR
        logs.append({"arm": np.repeat(world.arms[1:], rows), "seconds": np.concatenate(seconds)})
    for anytime in (False, True):
        found = gate(*logs, objectives=[SECONDS], threat=THREAT, confidence=CONFIDENCE, anytime=anytime, profile=False)
        yield World((SECONDS,), tuple(laws[:1] for laws in world.laws)).truth, found


@cell
def suites_of_sessions(rng: Rng) -> Answers:
    """A suite of benchmarks just at the tolerance, in sessions that shift all of them, some of which are replaced."""
    tests, sessions, rounds = 12, 10, 5
    seconds = Objective("seconds", "minimize", tolerance="5%")
    hidden = rng.random() < 0.5  # whether the attacker hides slowdowns, or feigns them
    logs = []
    for side in range(2):
        shift = rng.normal(0.0, 0.01, (1, sessions, 1)) + rng.normal(0.0, 0.005, (tests, sessions, 1))
        values = np.exp(shift + rng.normal(0.0, 0.01, (tests, sessions, rounds)))
        if side:
            values *= 1.05 * (1.0 + 1e-9 if hidden else 1.0)
        hit = rng.random(sessions) < THREAT.eps  # in all tests at once, as their geometric mean is judged, too
        values[:, hit] = FAR if bool(side) != hidden else 1.0 / FAR
        names = np.repeat([f"arm {i + 1}" for i in range(tests)], sessions * rounds)
        session = np.tile(np.repeat(np.arange(sessions), rounds), tests)
        logs.append({"arm": names, "session": session, "seconds": values.ravel()})
    truth = np.array([[1.0], *([1.05 * (1.0 + 1e-9 if hidden else 1.0)] for _ in range(tests))])
    found = gate(*logs, objectives=[seconds], threat=THREAT, confidence=CONFIDENCE, cluster="session", profile=False)
    yield Truth((seconds,), truth), found
