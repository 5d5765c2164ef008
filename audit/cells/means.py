"""Studies of rates, means and exact values that go wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from audit.cells.contract import CONFIDENCE, Answers, Rng, Told, begun, cell, one_run, watched
from audit.worlds import FAR, LEVELS, Law, World, between, categories, exactly, normal, rate
from frontguard import Malicious, Objective, Oblivious, Prescient, Share, Study, Threat
from frontguard._common.typing import Bools, Floats
from frontguard.studies.study import Pull

SOLVED = Objective("solved", "maximize", tolerance=0.05, statistic="mean", bounds=(0, 1))
SAFE = Objective("safe", "maximize", tolerance=0.05, statistic="mean", bounds=(0, 1))
STARS = Objective("stars", "maximize", tolerance=0.1, statistic="mean", bounds=(1, 5))
COST = Objective("cost", "minimize", "10%", statistic="mean", bounds=(1, 10))
PRICE = Objective("price", "minimize", exact=True)

Hits = Callable[[World, Pull, Floats], Bools]
"""Which of a pull's values (M,) are hit."""


def _rates() -> World:
    """Two arms on the front, and one below each of them."""
    chances = ((0.9, 0.3), (0.3, 0.9), (0.7, 0.15), (0.15, 0.7))
    return World((SOLVED, SAFE), tuple(tuple(rate(chance) for chance in row) for row in chances))


def stars_and_cost() -> World:
    """Whole stars, and costs that are Beta-distributed: narrow and wide ones."""
    stars, scale = ((0, 1, 1, 3, 5), (3, 3, 2, 1, 1), (1, 1, 3, 4, 1), (4, 3, 2, 1, 0)), [1.0, 2.0, 3.0, 4.0, 5.0]
    costs = (between(1, 10, 6, 2), between(1, 10, 1, 5), between(1, 10, 30, 6), between(1, 10, 2, 8))
    laws = tuple((categories(scale, row), cost) for row, cost in zip(stars, costs, strict=True))
    return World((STARS, COST), laws)


def _lied_to(world: World, threat: Threat, rng: Rng, hits: Hits, *, fails: float = 0.0) -> Answers:
    """The first two arms are pushed to the worst ends of their bounds, the others to the best; some pulls fail."""
    worst = np.array([each.bounds[each.minimized] if each.bounds else np.nan for each in world.objectives])
    best = np.array([each.bounds[not each.minimized] if each.bounds else np.nan for each in world.objectives])

    def measured(pull: Pull) -> Told:
        values = world.measure(pull.index, rng)
        hit = hits(world, pull, values) & ~np.isnan(worst)  # what is exact is not replaced
        if rng.random() < fails:
            return "no answer"
        told: list[float] = np.where(hit, worst if pull.index < 2 else best, values).tolist()
        return told

    yield from watched(world, begun(world, rng, threat), measured, at_once=16)


def _by_chance(threat: Threat, rng: Rng) -> Hits:
    """Each value by itself, whatever it is."""
    return lambda world, pull, values: rng.random(len(values)) < threat.eps


def _by_value(threat: Threat, rng: Rng) -> Hits:
    """The values that matter: the best of the good arms, the worst of the others."""
    limits: dict[tuple[int, int], tuple[float, float]] = {}

    def limit_of(world: World, arm: int, d: int, sign: float) -> tuple[float, float]:
        """From where on values are hit, and with which probability: ε of them all."""
        if (arm, d) not in limits:
            values = np.sort(sign * world.laws[arm][d](LEVELS))
            limit = values[-round(threat.eps * len(values))]
            limits[arm, d] = float(limit), threat.eps / float((values >= limit).mean())
        return limits[arm, d]

    def hits(world: World, pull: Pull, values: Floats) -> Bools:
        hit = np.zeros(len(values), np.bool_)
        for d, objective in enumerate(world.objectives):
            sign = 1.0 if (pull.index < 2) != objective.minimized else -1.0
            limit, chance = limit_of(world, pull.index, d, sign)
            hit[d] = sign * values[d] >= limit and rng.random() < chance
        return hit

    return hits


def _as_early_as_it_may(threat: Threat, rng: Rng) -> Hits:
    """Of each arm and objective any share: of the better half of good arms, and the worse half of the others."""
    seen, spent = np.zeros(4, np.int64), np.zeros((4, 2), np.int64)

    def hits(world: World, pull: Pull, values: Floats) -> Bools:
        arm = pull.index
        seen[arm] += 1
        hit = np.zeros(len(values), np.bool_)
        for d, (law, objective) in enumerate(zip(world.laws[arm], world.objectives, strict=True)):
            middle, upward = law(np.array([0.5]))[0], (arm < 2) != objective.minimized
            useful = values[d] >= middle if upward else values[d] <= middle
            hit[d] = useful and spent[arm, d] + 1 <= np.floor(threat.eps * seen[arm] + 1e-9)
            spent[arm, d] += hit[d]
        return hit

    return hits


@cell
def rates_of_liars(rng: Rng) -> Answers:
    """Rates, of which answers are replaced by chance, and some pulls fail."""
    threat = Oblivious(0.1)
    yield from _lied_to(_rates(), threat, rng, _by_chance(threat, rng), fails=0.02)


@cell
def rates_hit_by_value(rng: Rng) -> Answers:
    """Rates, of which a malicious attacker turns ones of the good arms and zeros of the others."""
    threat = Malicious(0.1)
    yield from _lied_to(_rates(), threat, rng, _by_value(threat, rng))


@cell
def share_of_rates(rng: Rng) -> Answers:
    """Rates, of which an attacker turns any share as early as it may."""
    threat = Share(0.1)
    yield from _lied_to(_rates(), threat, rng, _as_early_as_it_may(threat, rng))


@cell
def means_of_liars(rng: Rng) -> Answers:
    """Mean stars and mean costs with a tolerance in percent, each value hit by itself, and some pulls fail."""
    threat = Prescient(0.1)
    yield from _lied_to(stars_and_cost(), threat, rng, _by_chance(threat, rng), fails=0.02)


@cell
def means_hit_by_value(rng: Rng) -> Answers:
    """Mean stars and mean costs, of which a malicious attacker hits the values that matter."""
    threat = Malicious(0.1)
    yield from _lied_to(stars_and_cost(), threat, rng, _by_value(threat, rng))


@cell
def share_of_means(rng: Rng) -> Answers:
    """Mean stars and mean costs, of which an attacker takes any share as early as it may."""
    threat = Share(0.1)
    yield from _lied_to(stars_and_cost(), threat, rng, _as_early_as_it_may(threat, rng))


@cell
def exact_prices(rng: Rng) -> Answers:
    """Rates that are lied about beside exact prices, which are not."""
    threat = Prescient(0.05)
    laws = tuple((rate(chance), exactly(price)) for chance, price in ((0.9, 3.0), (0.6, 1.0), (0.55, 2.0), (0.3, 2.0)))
    yield from _lied_to(World((SOLVED, PRICE), laws), threat, rng, _by_chance(threat, rng))


@cell
def unsolved_fails(rng: Rng) -> Answers:
    """Pulls that would not have solved anything run out of time, mostly, and fail."""
    world = World((SOLVED,), ((rate(0.5),), (rate(0.7),)))

    def measured(pull: Pull) -> Told:
        value = world.measure(pull.index, rng)
        return "timeout" if value[0] == 0.0 and pull.index == 0 and rng.random() < 0.8 else [float(value[0])]

    yield from watched(world, begun(world, rng, max_pulls=400), measured)


@cell
def unsolved_is_stopped(rng: Rng) -> Answers:
    """A run of rates is stopped while something is under way that would not have solved anything, and taken up."""
    world = World((Objective("failed", "minimize", 0.05, statistic="mean", bounds=(0, 10)),), _failing(0.6, 0.4))
    truth, study = world.truth, begun(world, rng, max_pulls=60)
    while not study.done:
        one_run(world, study, rng, patient=rng.random() < 0.25)
        yield truth, study.result()


def _failing(*chances: float) -> tuple[tuple[Law, ...], ...]:
    """Failed tests of ten: all with some probability, else none."""
    return tuple((categories([0.0, 10.0], [1.0 - chance, chance]),) for chance in chances)


@cell
def known_deviation(rng: Rng) -> Answers:
    """Means of values with a known deviation, many of which are under way while the study is looked at."""
    objective = Objective("seconds", "minimize", 0.2, statistic="mean", sigma=1.0)
    world = World((objective,), tuple((normal(middle, 1.0),) for middle in (3.0, 3.6, 4.2)))
    truth, study = world.truth, begun(world, rng, max_pulls=400)
    while pulls := study.ask(24):
        came = [(world.measure(pull.index, rng).tolist(), pull) for pull in pulls]
        for position, (values, pull) in enumerate(sorted(came, key=lambda each: each[0])):
            study.tell(pull, values)
            if position % 12 == 5:
                yield truth, study.result()
    yield truth, study.result()


@cell
def an_attacker_of_one_metric(rng: Rng) -> Answers:
    """Seconds are replaced just where an answer was right, which is taken as it is; some answers fail."""
    seconds = Objective("seconds", "minimize", tolerance=0.3, contamination=0.25)
    answers = Objective("solved", "maximize", tolerance=0.05, statistic="mean", bounds=(0, 1))
    laws = ((1.0, 0.5), (1.4, 0.7), (1.35, 0.45), (1.75, 0.65))  # two on the front, and one below each of them
    world = World((seconds, answers), tuple((normal(middle, 0.3), rate(chance)) for middle, chance in laws))

    def measured(pull: Pull) -> Told:
        values: list[float | None] = world.measure(pull.index, rng).tolist()
        if values[1] and rng.random() < 0.25 / laws[pull.index][1]:  # a quarter of all, whatever the seconds were
            values[0] = FAR if pull.index < 2 else -FAR
        if rng.random() < 0.02:
            values[1] = None
        return values

    study = Study(world.arms, world.objectives, "prescient", confidence=CONFIDENCE, seed=int(rng.integers(2**31)),
                  max_pulls=600)  # fmt: skip
    yield from watched(world, study, measured, at_once=16)
