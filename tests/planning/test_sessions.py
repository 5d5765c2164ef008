"""Sessions of a suite: the plan against gates that are run, and against what can be said at all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Objective, Question
from frontguard.comparisons.outcomes import Outcome, outcomes_of_checks
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.two_sample import check_bounds, least_observations
from frontguard.planning.sessions import FARTHEST, plan_sessions
from tests.support.snapshots import refused


def asked(tolerance: str = "5%", contamination: str = "10%") -> Question:
    return Question.of(minimize="seconds", tolerance=tolerance, contamination=contamination)


def share_of_gates(question: Question, tests: int, sessions: int, slower: float, outcome: Outcome) -> float:
    """The share of real gates of log-normal values whose worst check comes out so, by the code of the gate."""
    rng, metric, found = np.random.default_rng(1), question.objectives[0], []
    its, mine = np.arange(tests), np.arange(tests, 2 * tests)
    for _ in range(60):
        logs = rng.normal(0.0, 0.01, (2 * tests, sessions))
        logs[tests] += math.log1p(slower)
        rows = np.sort(np.exp(logs), axis=1)
        starts = np.arange(0, rows.size + 1, sessions)[None, :]
        names = [str(row) for row in range(2 * tests)]
        log = Ordered(names, ("seconds",), np.full(2 * tests, sessions), starts, (rows.ravel(),))
        bounds = check_bounds(log, (metric,), its, mine, question.threat, question.delta)
        codes = outcomes_of_checks(bounds.behind, bounds.line, bounds.worse, np.array([metric.inner_tolerance]))
        found.append((codes == Outcome.WORSE).any() if outcome == Outcome.WORSE else (codes == outcome).all())
    return float(np.mean(found))


@pytest.mark.parametrize(("contamination", "passes", "finds"), [("0", 7, 7), ("10%", 9, 8)])
def test_a_plan_is_what_gates_do(contamination: str, passes: int, finds: int) -> None:
    question = asked(contamination=contamination)
    made = plan_sessions(20, question, noise="1%", slower="10%")
    assert abs(made.passes - passes) <= 1  # of 50 tests, by another simulation
    assert abs(made.finds - finds) <= 1
    for sessions, slower, outcome in ((made.passes, 0.0, Outcome.NOT_WORSE), (made.finds, 0.1, Outcome.WORSE)):
        assert share_of_gates(question, 20, sessions, slower, outcome) > 0.7
        assert share_of_gates(question, 20, sessions - 2, slower, outcome) < 0.9


def test_no_fewer_sessions_than_say_anything() -> None:
    question = asked(contamination="20%")
    made = plan_sessions(1, question, noise="0.01%", slower="50%")
    least = least_observations(question.threat, 0.5, 0.5 * question.delta)
    assert made.passes == least
    assert made.finds < least  # some quantile is told sooner than the median


def test_more_noise_takes_more_and_too_much_is_out_of_sight() -> None:
    counts = [plan_sessions(5, asked(), noise=noise).passes for noise in ("1%", "3%", "5%")]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    made = plan_sessions(5, asked(tolerance="1%"), noise="50%", slower="1.1%")
    assert (made.passes, made.finds) == (None, None)
    assert made.to_dict()["sessions_pass"] is None
    assert counts[-1] < FARTHEST


def test_what_is_found_with_so_many_sessions() -> None:
    found = [
        plan_sessions(50, asked(contamination="0"), noise="1%", slower="10%", sessions=sessions).least
        for sessions in (3, 9, 30)
    ]
    assert found[0] is None
    assert found[1] is not None
    assert found[2] is not None
    assert 0.05 < found[2] < found[1] < 0.10
    assert plan_sessions(50, asked(contamination="0"), noise="1%", slower=f"{100 * found[1]}%").finds == 9


def test_absolute_amounts_are_as_the_tolerance() -> None:
    question = Question.of(maximize="score", tolerance=0.5, contamination=0)
    made = plan_sessions(10, question, noise=0.1)
    assert (made.noise, made.slower) == (0.1, 1.0)


@pytest.mark.parametrize("case", ["two metrics", "a mean", "no tolerance", "noise in numbers", "found too little"])
def test_refused(case: str, snapshot: SnapshotAssertion) -> None:
    questions = {
        "two metrics": Question.of(minimize=["a", "b"], tolerance="5%"),
        "a mean": Question.of([Objective("solved", "maximize", 0.05, statistic="mean", bounds=(0, 1))]),
        "no tolerance": Question.of(minimize="seconds"),
    }
    noise, slower = {"noise in numbers": (0.1, None), "found too little": ("1%", "4%")}.get(case, ("1%", None))
    with refused(BadInput, snapshot):
        plan_sessions(50, questions.get(case, asked()), noise=noise, slower=slower)
