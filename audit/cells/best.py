"""Studies and logs of one metric and many arms, where one end of an interval holds of the best arm alone."""

from __future__ import annotations

from audit.cells.contract import Answers, Rng, Told, analysed, begun, cell, watched
from audit.worlds import FAR, World, normal, two_sided
from frontguard import Malicious, Objective, Prescient, Threat
from frontguard.studies.study import Pull

_ARMS, _PULLS = 8, 50
_QUALITY = Objective("quality", "maximize", tolerance=0.5)


def _world(best: float) -> World:
    """Arms that are alike, but for the first."""
    return World((_QUALITY,), tuple((normal(best if arm == 0 else 3.0, 1.0),) for arm in range(_ARMS)))


def _steady() -> World:
    """Arms that hardly vary, but for the best, of whose values just under half are far below the others."""
    best = two_sided(0.0, 3.6, 0.49), *[normal(3.0, 0.01)] * (_ARMS - 1)
    return World((_QUALITY,), tuple((law,) for law in best))


def _told(world: World, threat: Threat, rng: Rng, arm: int, *, up: bool) -> list[float]:
    """Hits push an arm up or down; who picks them hits values on the other side of its middle."""
    values = world.measure(arm, rng)
    picks = isinstance(threat, Malicious)
    chance = 2.0 * threat.eps if picks else threat.eps
    worth = (values[0] < world.truth.values[arm, 0]) == up if picks else True
    return [FAR if up else -FAR] if worth and rng.random() < chance else values.tolist()


def _drives(rng: Rng, world: World, threat: Threat, *, blocks: bool = False, goal: str = "list") -> Answers:
    """The first arm is pushed down, and all others up."""
    study = begun(world, rng, threat, max_pulls=_PULLS * _ARMS, goal=goal, blocks=blocks)

    def measured(pull: Pull) -> Told:
        return _told(world, threat, rng, pull.index, up=pull.index > 0)

    yield from watched(world, study, measured, at_once=8, look_every=80)


@cell
def best_of_many_pushed_down(rng: Rng) -> Answers:
    """The best of eight arms, by more than is tolerated, has a median that can hardly be told."""
    yield from _drives(rng, _steady(), Prescient(0.0))


@cell
def best_of_many_hit_by_value(rng: Rng) -> Answers:
    """The best of eight arms, by a little more than is tolerated, is pushed down and the others up."""
    yield from _drives(rng, _world(3.51), Malicious(0.15))


@cell
def front_of_one_metric_pushed_down(rng: Rng) -> Answers:
    """The best of eight arms is pushed down, in blocks, and all that may be within the tolerance are wanted."""
    yield from _drives(rng, _world(3.51), Prescient(0.15), blocks=True, goal="front")


@cell
def equal_arms_in_one_metric(rng: Rng) -> Answers:
    """Eight arms that are alike, so that none is beaten, of which one is pushed down and the others up."""
    yield from _drives(rng, _world(3.0), Malicious(0.15))


@cell
def best_of_many_excluded(rng: Rng) -> Answers:
    """Eight arms, of which the one that seems best is given up: the best of the others depends on what was measured."""
    world, threat = _world(3.51), Malicious(0.15)
    study, given_up = begun(world, rng, threat, max_pulls=_PULLS * _ARMS), -1

    def measured(pull: Pull) -> Told:
        nonlocal given_up
        if given_up < 0 and pull.id > 20 * _ARMS:
            known = study.result().estimates[:, 0]
            given_up = int(known.argmax())
        return "broken" if pull.index == given_up else _told(world, threat, rng, pull.index, up=pull.index > 0)

    yield from watched(world, study, measured, at_once=8, look_every=80)


@cell
def best_of_many_in_a_log(rng: Rng) -> Answers:
    """A log of eight arms, of which the best has a median that can hardly be told."""
    world, threat = _steady(), Prescient(0.0)
    log: dict[str, list[object]] = {"arm": [], "quality": []}
    for arm, name in enumerate(world.arms):
        for _ in range(2 * _PULLS):
            log["arm"].append(name)
            log["quality"].append(_told(world, threat, rng, arm, up=arm > 0)[0])
    yield from analysed(world, log, threat, goal="list", profile=False)
