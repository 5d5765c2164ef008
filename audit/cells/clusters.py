"""Pulls and rows that depend on each other within a cluster: a host, a process."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from audit.cells.contract import CONFIDENCE, Answers, Rng, begun, cell
from audit.worlds import World, normal, rate
from frontguard import Objective, Study, analyze

_APART, _WITHIN = 1.0, 0.2  # deviations of hosts from each other, and of pulls on one
_HOSTS = 10
_SECONDS = Objective("seconds", "minimize", 0.1)
_SOLVED = Objective("solved", "maximize", tolerance=0.1, statistic="mean", bounds=(0, 1))


def _hosts_of(world: World, study: Study, rng: Rng, value: Callable[[int, str], float]) -> Answers:
    """Pulls run on one of a few hosts each; quick ones are back first, and the study is looked at meanwhile."""
    while pulls := study.ask(24):
        came = []
        for pull in pulls:
            host = f"host {rng.integers(_HOSTS)}"
            came.append((value(pull.index, host), pull, host))
        for position, (measured, pull, host) in enumerate(sorted(came, key=lambda each: each[0])):
            study.tell(pull, [measured], cluster=host)
            if position == 11:
                yield world.truth, study.result()
    yield world.truth, study.result()


@cell
def study_on_hosts(rng: Rng) -> Answers:
    """Pulls of one host are nearly alike, and hosts differ: what is on a host already says little."""
    middles, spread = (5.0, 5.0, 5.6, 6.5), float(np.hypot(_APART, _WITHIN))
    world = World((_SECONDS,), tuple((normal(middle, spread),) for middle in middles))
    effects: dict[tuple[int, str], float] = {}

    def value(arm: int, host: str) -> float:
        effect = effects.setdefault((arm, host), float(rng.normal(0.0, _APART)))
        return middles[arm] + effect + float(rng.normal(0.0, _WITHIN))

    yield from _hosts_of(world, begun(world, rng, max_pulls=800), rng, value)


@cell
def rates_on_hosts(rng: Rng) -> Answers:
    """On a host nearly everything is solved, or nearly nothing: true and false, of which the rate counts by itself."""
    chances = (0.5, 0.5, 0.6)
    world = World((_SOLVED,), tuple((rate(chance),) for chance in chances))
    study = begun(World((Objective("solved", "maximize", tolerance=0.1),), world.laws), rng, max_pulls=240)
    works: dict[tuple[int, str], bool] = {}

    def value(arm: int, host: str) -> bool:
        usual = works.setdefault((arm, host), bool(rng.random() < chances[arm]))
        return usual if rng.random() < 0.9 else bool(rng.random() < chances[arm])

    yield from _hosts_of(world, study, rng, value)


@cell
def processes_in_a_log(rng: Rng) -> Answers:
    """Twenty-five values from each of twenty processes, which depend on each other, of two equal arms and another."""
    middles, processes, rows = (5.0, 5.0, 5.8), 20, 25
    world = World((_SECONDS,), tuple((normal(middle, float(np.hypot(_APART, _WITHIN))),) for middle in middles))
    effects = np.repeat(rng.normal(0.0, _APART, (3, processes)), rows, axis=1)
    values = np.array(middles)[:, None] + effects + rng.normal(0.0, _WITHIN, (3, processes * rows))
    log = {
        "arm": np.repeat(world.arms, processes * rows),
        "process": np.tile(np.repeat(np.arange(processes), rows), 3),
        "seconds": values.ravel(),
    }
    for anytime in (False, True):
        found = analyze(
            log,
            arm="arm",
            objectives=world.objectives,
            cluster="process",
            contamination=0.0,
            confidence=CONFIDENCE,
            anytime=anytime,
        )
        yield world.truth, found
