"""Studies and logs that take arms as independent of each other, which they are, and so compare them in pairs."""

from __future__ import annotations

from audit.cells.contract import Answers, Rng, Told, analysed, begun, cell, watched
from audit.worlds import FAR, World, normal
from frontguard import Malicious, Objective, Oblivious, Threat
from frontguard._common.typing import Floats
from frontguard.studies.study import Pull

_ARMS, _PULLS = 3, 60


def _alike(objective: Objective) -> World:
    """Arms that are exactly alike, so that whatever tells them apart is false."""
    return World((objective,), tuple((normal(3.0, 1.0),) for _ in range(_ARMS)))


def _nearly_best(objective: Objective) -> World:
    """The first arm is beaten by the second alone, by less than any number of pulls would show."""
    return World((objective,), tuple((normal(middle, 1.0),) for middle in (3.0, 3.000001, 0.0)))


def _drives(rng: Rng, threat: Threat, world: World, baseline: str | None = None) -> Answers:
    """Hits push the first arm up and the others down; whoever picks them hits values that lie on the other side."""
    study = begun(world, rng, threat, max_pulls=_PULLS * _ARMS, goal="front", independent=True, baseline=baseline)

    def measured(pull: Pull) -> Told:
        return _pushed(rng, threat, world.measure(pull.index, rng), up=pull.index == 0)

    yield from watched(world, study, measured, at_once=6, look_every=60)


def _pushed(rng: Rng, threat: Threat, values: Floats, *, up: bool) -> Told:
    picks = isinstance(threat, Malicious)
    chance = 2.0 * threat.eps if picks else threat.eps  # of those who pick, half of the values are worth a hit
    worth = (values[0] < 3.0) == up if picks else True
    return [FAR if up else -FAR] if worth and rng.random() < chance else values.tolist()


@cell
def independent_arms_hit_by_value(rng: Rng) -> Answers:
    """Arms that are alike and independent, compared in pairs; a malicious attacker hits what hurts most."""
    yield from _drives(rng, Malicious(0.25), _alike(Objective("quality", "maximize")))


@cell
def independent_rivals_hit_by_value(rng: Rng) -> Answers:
    """Of independent arms the best is pushed down and the next one up, which is in only if nobody is better."""
    yield from _drives(rng, Malicious(0.25), _nearly_best(Objective("quality", "maximize")))


@cell
def gates_of_independent_arms_hit_by_value(rng: Rng) -> Answers:
    """A gate of independent arms that are alike; a malicious attacker pushes the baseline up and the others down."""
    yield from _drives(rng, Malicious(0.25), _alike(Objective("quality", "maximize")), baseline="arm 0")


@cell
def independent_means(rng: Rng) -> Answers:
    """Arms that are alike and independent, compared in pairs, by means with a known deviation."""
    yield from _drives(rng, Oblivious(0.0), _alike(Objective("quality", "maximize", statistic="mean", sigma=1.0)))


@cell
def independent_arms_in_a_log(rng: Rng) -> Answers:
    """A log of arms that are alike and independent, compared in pairs; a malicious attacker hits what hurts most."""
    world, threat, rows = _alike(Objective("quality", "maximize")), Malicious(0.25), 5 * _PULLS
    log: dict[str, list[object]] = {"arm": [], "quality": []}
    for arm, name in enumerate(world.arms):
        for _ in range(rows):
            log["arm"].append(name)
            log["quality"].append(_pushed(rng, threat, world.measure(arm, rng), up=arm == 0)[0])
    yield from analysed(world, log, threat, independent=True, profile=False)
