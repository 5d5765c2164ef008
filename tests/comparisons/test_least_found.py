"""The least difference that an inconclusive answer names is found by four of five answers to logs that differ by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from frontguard import Objective, Study, analyze, gate
from frontguard._common.typing import Floats
from frontguard.results import Answer

RUNS = 60
NOISE = 0.1
Log = dict[str, list[Any]]
Values = Callable[[np.random.Generator | None, float], Floats]
"""Values (arms, n), of which the second arm is worse by so much; without a generator as regular as can be."""


def normal(n: int, tests: int = 1) -> Values:
    """Logarithms of seconds: of so many baselines, and as many candidates, the first of which is slower."""

    def values(rng: np.random.Generator | None, worse: float) -> Floats:
        shape, regular = (2 * tests, n), ndtri((np.arange(n) + 0.5) / n)
        drawn = NOISE * (np.broadcast_to(regular, shape) if rng is None else rng.standard_normal(shape))
        drawn = drawn.copy()
        drawn[tests] += np.log1p(worse)
        return np.exp(drawn)

    return values


def rates(n: int, rate: float = 0.6, *, pairs: bool = False) -> Values:
    """Answers that are right or wrong: by themselves, or on the same questions, of which the worse one wins 6 %."""

    def values(rng: np.random.Generator | None, worse: float) -> Floats:
        place = np.tile((np.arange(n) + 0.5) / n, (2, 1)) if rng is None else rng.random((2, n))
        if not pairs:
            return np.stack([place[0] < rate, place[1] < rate - worse]).astype(float)
        lost, won = place[0] < 0.06 + worse, place[0] > 0.94
        right = (place[1] < 0.5) if rng is not None else np.arange(n) % 2 == 0
        return np.stack([(right | lost) & ~won, (right | won) & ~lost]).astype(float)

    return values


def scores(n: int) -> Values:
    """Scores between 0 and 1."""

    def values(rng: np.random.Generator | None, worse: float) -> Floats:
        regular = np.random.default_rng(0) if rng is None else rng
        drawn = regular.beta(4.0, 4.0, (2, n))
        drawn[1] = np.clip(drawn[1] - worse, 0.0, 1.0)
        return drawn

    return values


@dataclass
class Case:
    """Values, and how they are asked."""

    values: Values
    asked: dict[str, Any]
    of_gate: bool = True
    tests: int = 1

    def answer(self, rng: np.random.Generator | None, worse: float) -> Answer:
        drawn = self.values(rng, worse)
        arms = [f"{side} {k}" for side in ("old", "new") for k in range(self.tests)]
        if self.of_gate and self.tests > 1:
            logs = [
                {"arm": np.repeat(arms[: self.tests], drawn.shape[1]).tolist(), "value": some.ravel().tolist()}
                for some in (drawn[: self.tests], drawn[self.tests :])
            ]
            return gate(*logs, **self.asked, profile=False)
        log = {"arm": np.repeat(arms, drawn.shape[1]).tolist(), "value": drawn.ravel().tolist()}
        log["q"] = np.tile(np.arange(drawn.shape[1]), len(arms)).tolist()
        if self.of_gate:
            return gate(log, baseline=arms[0], **self.asked, profile=False)
        return analyze(log, **self.asked, profile=False)

    def found(self, answer: Answer) -> bool:
        if answer.gate is not None:
            return answer.gate.outcome.word == "worse"
        return answer.verdicts["new 0"] == "beaten"


SLOWER = {"minimize": "value", "tolerance": "5%"}
RATE = {
    "maximize": "value", "statistic": {"value": "mean"}, "bounds": {"value": (0, 1)}, "tolerance": 0,
    "contamination": 0,
}  # fmt: skip
CASES = {
    "sessions": Case(normal(12, 4), SLOWER | {"contamination": 0}, tests=4),
    "sessions, 10 % wrong": Case(normal(12, 4), SLOWER | {"contamination": 0.1}, tests=4),
    "rows of a p90": Case(normal(150), SLOWER | {"contamination": 0.02, "quantile": 0.9}),
    "medians by intervals": Case(normal(60), SLOWER | {"contamination": 0.05, "anytime": True}),
    "rates by intervals": Case(rates(300), RATE),
    "pairs": Case(rates(200, pairs=True), RATE | {"pair": "q"}),
    "pairs, 2 % wrong": Case(rates(200, pairs=True), RATE | {"pair": "q", "contamination": 0.02}),
    "an analysis of medians": Case(normal(60), SLOWER | {"contamination": 0.05}, of_gate=False),
    "an analysis of rates": Case(rates(300), RATE, of_gate=False),
    "an analysis of pairs": Case(rates(200, pairs=True), RATE | {"pair": "q"}, of_gate=False),
    "an analysis of scores": Case(scores(200), RATE, of_gate=False),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_four_of_five(case: Case) -> None:
    (least,) = case.answer(None, 0.0).least_found
    assert least.difference is not None
    if least.noise is not None:
        assert least.noise == pytest.approx(NOISE, rel=0.1)
    often = np.mean([case.found(case.answer(np.random.default_rng([3, run]), least.difference)) for run in range(RUNS)])
    assert 0.66 <= often <= 0.95


def live(rng: np.random.Generator, worse: float) -> Answer:
    """A gate that measures until it is decided, or 48 runs a side are over."""
    study = Study(["main", "pr"], [Objective("seconds", "minimize", "5%")], baseline="main", max_pulls=96, seed=7)
    while pulls := study.ask():
        for pull in pulls:
            study.tell(pull, {"seconds": float(np.exp(rng.normal(np.log1p(worse) * pull.index, NOISE)))})
    return study.result()


def test_a_live_gate() -> None:
    answers = [live(np.random.default_rng([4, run]), 0.05) for run in range(10)]
    found = [each.least_found[0] for each in answers if each.least_found]
    assert {each.size for each in found} == {48}
    assert np.median([each.noise for each in found if each.noise]) == pytest.approx(NOISE, rel=0.15)
    least = float(np.median([each.difference for each in found if each.difference]))
    gates = [live(np.random.default_rng([5, run]), least).gate for run in range(RUNS)]
    assert 0.66 <= np.mean([gate is not None and gate.outcome.word == "worse" for gate in gates]) <= 0.95


def test_what_is_decided_says_nothing() -> None:
    found = CASES["sessions"].answer(None, 1.5)
    assert found.gate is not None
    assert (found.gate.outcome.word, found.least_found) == ("worse", ())
