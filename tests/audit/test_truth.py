"""Which statements of an answer are false: on answers made by hand, of which it is plain."""

from __future__ import annotations

import math

import numpy as np
import pytest

from audit.truth import Truth, beats, dominates
from frontguard.comparisons import effects
from frontguard.objectives import Objective
from frontguard.results import Answer, Certificate, Intervals
from frontguard.verdicts import Verdict

KEEP, BEATEN, MATCHED, OPEN, EXCLUDED_ARMS = (
    Verdict.KEEP,
    Verdict.BEATEN,
    Verdict.MATCHED,
    Verdict.UNDECIDED,
    Verdict.EXCLUDED,
)
QUALITY, SPEED = Objective("quality", "maximize", tolerance=0.1), Objective("speed", "maximize", tolerance=0.1)
TRUTH = Truth((QUALITY, SPEED), np.array([[2.0, 1.0], [1.0, 2.0], [1.95, 0.95], [0.5, 0.5]]))


def answer(*verdicts: Verdict, coverage: float = 0.1, accuracy: float = 0.1, confidence: float | None = 0.9) -> Answer:
    shape = (len(verdicts), 2)
    inner = Certificate(accuracy, coverage, confidence, "oblivious", 0.0)
    return Answer(
        policy="certified",
        status="certified",
        arms=tuple(map(str, range(len(verdicts)))),
        objectives=("quality", "speed"),
        verdict_codes=np.array(verdicts),
        inner=Intervals(np.zeros(shape), np.full(shape, -np.inf), np.full(shape, np.inf)),
        pulls_per_arm=np.ones(len(verdicts), np.int64),
        decided_by=np.full(len(verdicts), -1),
        certificate=inner,
    ).in_units([QUALITY, SPEED])


@pytest.mark.parametrize(
    ("result", "false"),
    [
        (answer(KEEP, KEEP, MATCHED, BEATEN), set()),
        (answer(KEEP, KEEP, KEEP, BEATEN), set()),  # the third is beaten by less than the tolerance
        (answer(KEEP, KEEP, MATCHED, KEEP), {"keep", "accuracy"}),
        (answer(BEATEN, KEEP, MATCHED, BEATEN), {"beaten", "matched", "coverage", "enough"}),
        (answer(BEATEN, KEEP, MATCHED, BEATEN, coverage=math.inf), {"beaten", "matched"}),
        (answer(KEEP, OPEN, OPEN, OPEN), {"coverage", "enough"}),
        (answer(KEEP, OPEN, OPEN, OPEN, coverage=1.0), set()),
        (answer(EXCLUDED_ARMS, KEEP, KEEP, BEATEN), set()),  # of the others the third is on the front
        (answer(EXCLUDED_ARMS, KEEP, BEATEN, BEATEN), {"beaten", "coverage", "enough"}),
        (answer(BEATEN, KEEP, MATCHED, KEEP, confidence=None), set()),  # promises nothing
    ],
)
def test_what_is_false_is_found(result: Answer, false: set[str]) -> None:
    assert TRUTH.false_statements(result) == false


def test_an_interval_that_misses_is_found() -> None:
    result = answer(KEEP, KEEP, MATCHED, BEATEN)
    result.inner.lower[3, 1] = 0.6
    assert TRUTH.false_statements(result) == {"interval"}


def test_a_comparison_that_is_wrong_is_found_also_where_intervals_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    result = answer(KEEP, KEEP, MATCHED, BEATEN)
    width = np.array([[0.01], [0.02], [0.03], [0.04]])
    result.inner.lower[:], result.inner.upper[:] = TRUTH.inner - width, TRUTH.inner + 0.01
    assert TRUTH.false_statements(result) == set()
    right = effects.contrasts_of
    monkeypatch.setattr(effects, "contrasts_of", lambda worst, best, tolerance: right(-best, -worst, tolerance))
    assert TRUTH.false_statements(result) == {"comparison"}
    monkeypatch.undo()
    monkeypatch.setattr(effects, "_differences", lambda mine, its: (mine[0], mine[1] - its[1], mine[2] - its[2]))
    assert TRUTH.false_statements(result) == {"comparison"}


def test_relative_amounts_are_compared_as_shares() -> None:
    seconds = Objective("seconds", "minimize", tolerance="10%")
    truth = Truth((seconds,), np.array([[1.0], [1.09], [1.2]]))
    promise = Certificate(seconds.inner_tolerance, 0.0, 0.9, "oblivious", 0.0)
    bounds = np.full((3, 1), np.inf)
    shown = Answer(
        "certified", "certified", ("a", "b", "c"), ("seconds",), np.array([KEEP, KEEP, KEEP]),
        Intervals(np.zeros((3, 1)), -bounds, bounds), np.ones(3, np.int64), np.full(3, -1), promise,
    ).in_units([seconds])  # fmt: skip
    assert truth.false_statements(shown) == {"keep", "accuracy"}  # the third is 20 % slower, the second 9 %
    two = Truth((seconds,), truth.values[:2])
    some = slice(0, 2)
    fewer = Answer(
        "certified", "certified", ("a", "b"), ("seconds",), shown.verdict_codes[some],
        Intervals(np.zeros((2, 1)), -bounds[some], bounds[some]), np.ones(2, np.int64), np.full(2, -1), promise,
    ).in_units([seconds])  # fmt: skip
    assert two.false_statements(fewer) == set()


def test_to_beat_is_to_dominate_without_a_tolerance() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        one, other = rng.integers(0, 3, (2, 2)).astype(float)
        assert beats(one, other, np.zeros(2)) == dominates(one, other)
