"""Logs that go wrong: what is back of a running study, and rows of which a share was replaced."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from audit.cells.contract import CONFIDENCE, NO_ATTACK, Answers, Rng, analysed, cell
from audit.cells.means import PRICE, SOLVED, stars_and_cost
from audit.cells.studies import slow_or_fast
from audit.worlds import FAR, LEVELS, World, exactly, normal, rate
from frontguard import Malicious, Objective, Share, Study, analyze
from frontguard._common.typing import Floats


@cell
def log_of_what_is_back(rng: Rng) -> Answers:
    """A running study is analysed while its slow pulls are under way."""
    world = slow_or_fast()
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


@cell
def log_that_grows(rng: Rng) -> Answers:
    """A log grows by thirty rows at a time, and is analysed with --append whenever it has, 25 times"""
    world = World((Objective("seconds", "minimize"),), ((normal(1.0, 0.1),), (normal(1.0, 0.1),), (normal(1.05, 0.1),)))
    with TemporaryDirectory() as folder:
        for _ in range(25):
            rows = [world.sample(arm, 10, rng)[:, 0] for arm in range(3)]
            log = {"arm": np.repeat(world.arms, 10), "seconds": np.concatenate(rows)}
            asked: dict[str, Any] = {"arm": "arm", "objectives": world.objectives, "confidence": CONFIDENCE}
            yield world.truth, analyze(log, **asked, contamination=0.0, append=Path(folder) / "state")


@cell
def share_of_a_log(rng: Rng) -> Answers:
    """An attacker replaces a share of a log's rows once all of them lie before it."""
    eps, rows = 0.2, 150
    world = World((Objective("quality", "maximize"),), ((normal(0.0, 1.0),), (normal(0.3, 1.0),)))
    samples = [np.sort(world.sample(arm, rows, rng)[:, 0]) for arm in range(2)]
    taken = int(np.floor(eps * rows + 1e-9))
    samples[0][:taken] = FAR  # the lowest of the worse arm, and the highest of the better one
    samples[1][-taken:] = -FAR
    log = {"arm": np.repeat(world.arms, rows), "quality": np.concatenate(samples)}
    yield from analysed(world, log, Share(eps))


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
    yield from analysed(world, log, Share(eps))


@cell
def means_in_a_log(rng: Rng) -> Answers:
    """A log of mean stars, mean costs and exact prices, of which a malicious attacker hit the values that matter."""
    threat, rows, liked = Malicious(0.1), 300, stars_and_cost()
    prices = (exactly(3.0), exactly(1.0), exactly(4.0), exactly(2.0))
    laws = tuple((*laws, price) for laws, price in zip(liked.laws, prices, strict=True))
    world = World((*liked.objectives, PRICE), laws)
    columns: list[Floats] = []
    for arm in range(len(laws)):
        drawn = rng.uniform(size=(rows, len(laws[arm])))
        values = np.stack([law(drawn[:, d]) for d, law in enumerate(laws[arm])], axis=1)
        for d, (low, high) in enumerate(each.bounds for each in liked.objectives if each.bounds):
            from_below = (arm < 2) == world.objectives[d].minimized
            hit = drawn[:, d] < threat.eps if from_below else drawn[:, d] > 1.0 - threat.eps  # each by itself
            values[hit, d] = high if from_below else low
        columns.append(values)
    every = np.concatenate(columns)
    log = {"arm": np.repeat(world.arms, rows)} | {each.name: every[:, d] for d, each in enumerate(world.objectives)}
    yield from analysed(world, log, threat)


@cell
def contamination_found_by_looking(rng: Rng) -> Answers:
    """A log at whose declared contamination arms are open, asked again at the largest at which it says more."""
    eps, rows = 0.04, 300
    world = World((SOLVED,), ((rate(0.6),), (rate(0.69),), (rate(0.78),)))
    samples = []
    for arm, to in enumerate((1.0, 1.0, 0.0)):
        values = world.sample(arm, rows, rng)[:, 0]
        values[rng.random(rows) < eps] = to
        samples.append(values)
    log = {"arm": np.repeat(world.arms, rows), "solved": np.concatenate(samples)}
    asked: dict[str, Any] = {"arm": "arm", "objectives": world.objectives, "confidence": CONFIDENCE}
    found = analyze(log, contamination=0.15, **asked)
    yield world.truth, found
    for each in () if found.log is None else found.log.if_cleaner:
        if eps <= each.contamination < 0.15:  # else what it says rests on less contamination than there is
            yield world.truth, analyze(log, contamination=each.contamination, **asked)


@cell
def log_with_an_attacker_for_each_metric(rng: Rng) -> Answers:
    """A malicious attacker hits more of the seconds than of the answers, and those that matter most."""
    rows, shares = 400, {"seconds": 0.15, "solved": 0.03}
    metrics = Objective("seconds", "minimize", tolerance=0.5), SOLVED
    world = World(
        metrics, ((normal(1.0, 0.3), rate(0.5)), (normal(1.6, 0.3), rate(0.62)), (normal(2.3, 0.3), rate(0.5)))
    )
    columns: list[Floats] = []
    for arm in range(len(world.laws)):
        values = world.sample(arm, rows, rng)
        up = arm == 2  # the arm below the others is made to look better, and the others worse
        seconds, solved = values.T
        edge = np.quantile(world.laws[arm][0](LEVELS), 1.0 - shares["seconds"] if up else shares["seconds"])
        seconds[seconds > edge if up else seconds < edge] = -FAR if up else FAR
        useful = solved == 0.0 if up else solved == 1.0
        chance = shares["solved"] / float((world.laws[arm][1](LEVELS) == (0.0 if up else 1.0)).mean())
        solved[useful & (rng.random(rows) < chance)] = float(up)
        columns.append(np.stack([seconds, solved], axis=1))
    every = np.concatenate(columns)
    log = {"arm": np.repeat(world.arms, rows), "seconds": every[:, 0], "solved": every[:, 1]}
    for anytime in (False, True):
        yield (
            world.truth,
            analyze(log, arm="arm", objectives=world.objectives, threat="malicious", contamination=shares,
                    confidence=CONFIDENCE, anytime=anytime, profile=False),
        )  # fmt: skip
