"""The ways in which measuring goes wrong: each cell is a small world, run through the public interface and looked at.

A cell gets a random generator and gives every answer that a user would have been shown, beside the truth. What it
simulates is life, not frontguard: workers, commands, attackers and users are made up here; studies, the loop that
measures and analyses are the real ones.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from frontguard._common.typing import Bools, Floats
from frontguard.audit.truth import Truth
from frontguard.audit.worlds import FAR, LEVELS, Law, World, between, categories, exactly, normal, rate, two_sided
from frontguard.logs.analyze import analyze
from frontguard.measure.drive import drive
from frontguard.objectives import Objective
from frontguard.policies.auer import AuerA1
from frontguard.policies.rpsi import RPSI
from frontguard.results import Result
from frontguard.storage.open import open_storage
from frontguard.studies.measurement import Measurement
from frontguard.studies.study import Pull, Study
from frontguard.theory.spread import Gaussian
from frontguard.theory.threats import Malicious, Oblivious, Prescient, Share, Threat

CONFIDENCE = 0.9
"""Of every study and analysis of the audit: δ is one tenth, so that few runs show whether it is kept."""

DELTA = round(1.0 - CONFIDENCE, 12)

Rng = np.random.Generator
Answers = Iterator[tuple[Truth, Result]]
Told = Sequence[float | None] | str
"""What comes of a pull: its values, or why it failed."""

NO_ATTACK = Oblivious(0.0)
SECONDS = Objective("seconds", "minimize")
BYTES = Objective("bytes", "minimize")


@dataclass(frozen=True)
class Cell:
    """One way in which measuring goes wrong."""

    name: str
    about: str
    answers: Callable[[Rng], Answers]


CELLS: dict[str, Cell] = {}


def cell(answers: Callable[[Rng], Answers]) -> Callable[[Rng], Answers]:
    """Register a cell by the name of its function; its docstring says what it is about."""
    name = answers.__name__.replace("_", "-")
    about = (answers.__doc__ or "").strip().splitlines()[0].rstrip(".")
    CELLS[name] = Cell(name, about, answers)
    return answers


# How a study is driven by hand ----------------------------------------------------------------------------------------


def begun(world: World, rng: Rng, threat: Threat = NO_ATTACK, *, max_pulls: int = 600, goal: str = "list") -> Study:
    """A study of a world, in memory."""
    return Study(
        world.arms,
        world.objectives,
        threat,
        confidence=CONFIDENCE,
        seed=int(rng.integers(2**31)),
        max_pulls=max_pulls,
        goal=goal,
    )


def told(study: Study, pull: Pull, came: Told) -> None:
    """Tell what came of a pull."""
    if isinstance(came, str):
        study.fail(pull, came)
    else:
        study.tell(pull, came, "no value" if None in came else None)


def watched(
    world: World, study: Study, measured: Callable[[Pull], Told], *, at_once: int = 8, look_every: int = 40
) -> Answers:
    """Measure to the end, and look now and then and at the end."""
    truth, count = world.truth, 0
    while pulls := study.ask(at_once):
        for pull in pulls:
            told(study, pull, measured(pull))
        count += len(pulls)
        if count % look_every < at_once:
            yield truth, study.result()
    yield truth, study.result()


# What is returned -----------------------------------------------------------------------------------------------------


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


# Pulls that are lost --------------------------------------------------------------------------------------------------


def _slow_or_fast() -> World:
    """An arm that is fast now and then and slow mostly, beside one between: the second is the better one."""
    return World((SECONDS,), ((two_sided(1.0, 10.0, 0.4),), (normal(5.0, 0.05),)))


@cell
def workers_that_die(rng: Rng) -> Answers:
    """Workers die on long runs, and others go on."""
    world, storage = _slow_or_fast(), open_storage("memory:")
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
    world = _slow_or_fast()
    truth, study = world.truth, begun(world, rng, max_pulls=60)
    while not study.done:
        _one_run(world, study, rng, patient=rng.random() < 0.25)
    yield truth, study.result()


def _one_run(world: World, study: Study, rng: Rng, *, patient: bool) -> None:
    """One run, by the loop of `run` and `identify`, whose user stops it as soon as a slow pull is under way."""
    stop = threading.Event()

    def submit(pull: Pull) -> Future[Measurement]:
        came = Measurement(world.measure(pull.index, rng).tolist())
        future: Future[Measurement] = Future()
        future.set_running_or_notify_cancel()
        if came.values[0] < 8.0:
            future.set_result(came)
        else:
            stop.set()
            if patient:
                threading.Timer(0.001, lambda: future.set_result(came)).start()
        return future

    if patient:
        drive(study, submit, workers=2, cancel=stop)
    else:
        drive(study, submit, workers=2, give_up=stop, patience=0.0)


@cell
def slow_first(rng: Rng) -> Answers:
    """Many pulls are under way, the fast ones are back first, and the study is looked at meanwhile."""
    world = _slow_or_fast()
    truth, study = world.truth, begun(world, rng, max_pulls=400)
    while pulls := study.ask(48):
        came = [(world.measure(pull.index, rng).tolist(), pull) for pull in pulls]
        for position, (values, pull) in enumerate(sorted(came, key=lambda each: each[0])):
            study.tell(pull, values)
            if position % 12 == 11:
                yield truth, study.result()
    yield truth, study.result()


@cell
def log_of_what_is_back(rng: Rng) -> Answers:
    """A running study is analysed while its slow pulls are under way."""
    world = _slow_or_fast()
    truth = world.truth
    with TemporaryDirectory() as folder:
        file = Path(folder) / "study.db"
        study = Study(world.arms, world.objectives, NO_ATTACK, confidence=CONFIDENCE, storage=file)
        for _ in range(3):
            for pull in study.ask(40):
                values = world.measure(pull.index, rng)
                if values[0] < 8.0:
                    study.tell(pull, values.tolist())
        yield truth, study.result()
        yield truth, analyze(file)
        yield truth, analyze(file, confidence=CONFIDENCE + 0.01)  # asked otherwise: not the study's own answer
        study.close()


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
def set_aside(rng: Rng) -> Answers:
    """The best arm breaks while it is measured, and cannot be measured any more."""
    objectives = (Objective("quality"), Objective("speed"))
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
    objectives = (Objective("stars", quantile=0.5), Objective("taste", quantile=0.4))
    stars = [1.0, 2.0, 3.0, 4.0, 5.0]
    weights = ((1, 1, 3, 4, 1), (2, 1, 2, 4, 1), (1, 3, 1, 4, 1), (4, 1, 2, 1, 2))
    world = World(objectives, tuple((categories(stars, row), categories(stars, row[::-1])) for row in weights))
    yield from watched(world, begun(world, rng), lambda pull: world.measure(pull.index, rng).tolist(), at_once=16)


# Measurements that lie ------------------------------------------------------------------------------------------------


def _attacked(threat: Threat, rng: Rng, replaced: Callable[[World, Study, Pull, Floats], Floats]) -> Answers:
    """Two objectives and four arms, of which the best are hard to tell from the rest."""
    objectives = (Objective("quality", tolerance=0.2), Objective("speed", tolerance=0.2))
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
        falls = pull.index < 2 or verdicts.get(pull.arm) == "in"
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


@cell
def share_of_a_log(rng: Rng) -> Answers:
    """An attacker replaces a share of a log's rows once all of them lie before it."""
    eps, rows = 0.2, 150
    world = World((Objective("quality"),), ((normal(0.0, 1.0),), (normal(0.3, 1.0),)))
    samples = [np.sort(world.sample(arm, rows, rng)[:, 0]) for arm in range(2)]
    taken = int(np.floor(eps * rows + 1e-9))
    samples[0][:taken] = FAR  # the lowest of the worse arm, and the highest of the better one
    samples[1][-taken:] = -FAR
    log = {"arm": np.repeat(world.arms, rows), "quality": np.concatenate(samples)}
    yield from _analysed(world, log, Share(eps))


def _analysed(world: World, log: dict[str, Any], threat: Threat) -> Answers:
    """For one look, and for one of many."""
    for anytime in (False, True):
        yield (
            world.truth,
            analyze(log, arm="arm", objectives=world.objectives, threat=threat, confidence=CONFIDENCE, anytime=anytime),
        )


# Rates, means and exact values ----------------------------------------------------------------------------------------


SOLVED = Objective("solved", tolerance=0.05, statistic="mean", bounds=(0, 1))
SAFE = Objective("safe", tolerance=0.05, statistic="mean", bounds=(0, 1))
STARS = Objective("stars", tolerance=0.1, statistic="mean", bounds=(1, 5))
COST = Objective("cost", "minimize", "10%", statistic="mean", bounds=(1, 10))
PRICE = Objective("price", "minimize", exact=True)

Hits = Callable[[World, Pull, Floats], Bools]
"""Which of a pull's values (M,) are hit."""


def _rates() -> World:
    """Two arms on the front, and one below each of them."""
    chances = ((0.9, 0.3), (0.3, 0.9), (0.7, 0.15), (0.15, 0.7))
    return World((SOLVED, SAFE), tuple(tuple(rate(chance) for chance in row) for row in chances))


def _stars_and_cost() -> World:
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
    yield from _lied_to(_stars_and_cost(), threat, rng, _by_chance(threat, rng), fails=0.02)


@cell
def means_hit_by_value(rng: Rng) -> Answers:
    """Mean stars and mean costs, of which a malicious attacker hits the values that matter."""
    threat = Malicious(0.1)
    yield from _lied_to(_stars_and_cost(), threat, rng, _by_value(threat, rng))


@cell
def share_of_means(rng: Rng) -> Answers:
    """Mean stars and mean costs, of which an attacker takes any share as early as it may."""
    threat = Share(0.1)
    yield from _lied_to(_stars_and_cost(), threat, rng, _as_early_as_it_may(threat, rng))


@cell
def share_of_rates_in_a_log(rng: Rng) -> Answers:
    """An attacker turns a share of a log's rates once all rows lie before it."""
    eps, rows = 0.1, 400
    world = World((SOLVED,), ((rate(0.5),), (rate(0.65),)))
    samples = [np.sort(world.sample(arm, rows, rng)[:, 0]) for arm in range(2)]
    taken = int(np.floor(eps * rows + 1e-9))
    samples[0][:taken] = 1.0  # zeros of the worse arm, and ones of the better one
    samples[1][-taken:] = 0.0
    log = {"arm": np.repeat(world.arms, rows), "solved": np.concatenate(samples)}
    yield from _analysed(world, log, Share(eps))


@cell
def means_in_a_log(rng: Rng) -> Answers:
    """A log of mean stars, mean costs and exact prices, of which a malicious attacker hit the values that matter."""
    threat, rows, stars_and_cost = Malicious(0.1), 300, _stars_and_cost()
    prices = (exactly(3.0), exactly(1.0), exactly(4.0), exactly(2.0))
    laws = tuple((*laws, price) for laws, price in zip(stars_and_cost.laws, prices, strict=True))
    world = World((*stars_and_cost.objectives, PRICE), laws)
    columns: list[Floats] = []
    for arm in range(len(laws)):
        values = world.sample(arm, rows, rng)
        for d, (low, high) in enumerate(each.bounds for each in stars_and_cost.objectives if each.bounds):
            from_below = (arm < 2) == world.objectives[d].minimized
            order = np.argsort(values[:, d] + 1e-9 * rng.random(rows))
            hits = int(rng.binomial(rows, threat.eps))
            values[order[:hits] if from_below else order[rows - hits :], d] = high if from_below else low
        columns.append(values)
    every = np.concatenate(columns)
    log = {"arm": np.repeat(world.arms, rows)} | {each.name: every[:, d] for d, each in enumerate(world.objectives)}
    yield from _analysed(world, log, threat)


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
        _one_run(world, study, rng, patient=rng.random() < 0.25)
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


# Ends without a certificate -------------------------------------------------------------------------------------------


@cell
def budget_over(rng: Rng) -> Answers:
    """A budget ends the study, and what is printed must hold of the set that is printed."""
    objectives = (Objective("quality", tolerance=0.1), Objective("speed", tolerance=0.1))
    middles = rng.uniform(0.0, 2.0, (8, 2))
    world = World(objectives, tuple(tuple(normal(middle, 0.5) for middle in row) for row in middles))
    study = begun(world, rng, max_pulls=int(rng.integers(100, 400)))
    yield from watched(world, study, lambda pull: world.measure(pull.index, rng).tolist(), at_once=16)


@cell
def policies_without_a_promise(rng: Rng) -> Answers:
    """R-PSI before it has stopped, and Auer-A1 on measurements that lie, promise nothing."""
    objectives = (Objective("quality"), Objective("speed"))
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
