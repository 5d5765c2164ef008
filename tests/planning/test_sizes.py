"""Sizes of comparisons: the plan against gates that are run, other computations, and what can be said at all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, binom
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Objective, Question, Study
from frontguard.comparisons.outcomes import Outcome, outcomes_of_checks
from frontguard.evidence.differences.two_sample import check_bounds, least_observations
from frontguard.evidence.measurements import Ordered
from frontguard.planning.sizes import FARTHEST_OF_SAMPLES, Way, lost_in, plan_sizes
from frontguard.planning.task import Pilot
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


def suite(tests: int, question: Question, noise: str | float, slower: str | float | None = None, **size: int) -> Way:
    return plan_sizes(question, "suite", tests, noise, difference=slower, **size).ways[0]


@pytest.mark.parametrize(("contamination", "passes", "finds"), [("0", 7, 7), ("10%", 9, 8)])
def test_a_plan_is_what_gates_do(contamination: str, passes: int, finds: int) -> None:
    question = asked(contamination=contamination)
    made = suite(20, question, "1%", "10%")
    assert made.passes is not None
    assert made.finds is not None
    assert abs(made.passes - passes) <= 1  # of 50 tests, by another simulation
    assert abs(made.finds - finds) <= 1
    for sessions, slower, outcome in ((made.passes, 0.0, Outcome.NOT_WORSE), (made.finds, 0.1, Outcome.WORSE)):
        assert share_of_gates(question, 20, sessions, slower, outcome) > 0.7
        assert share_of_gates(question, 20, sessions - 2, slower, outcome) < 0.9


def test_no_fewer_sessions_than_say_anything() -> None:
    question = asked(contamination="20%")
    made = suite(1, question, "0.01%", "50%")
    least = least_observations(question.threat, 0.5, 0.5 * question.delta)
    assert least is not None
    assert made.passes == least
    assert made.finds is not None
    assert made.finds < least  # some quantile is told sooner than the median


def test_more_noise_takes_more_and_too_much_is_out_of_sight() -> None:
    counts = [suite(5, asked(), noise).passes or 0 for noise in ("1%", "3%", "5%")]
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[-1] < FARTHEST_OF_SAMPLES
    made = suite(5, asked(tolerance="1%"), "50%", "1.1%")
    assert (made.passes, made.finds) == (None, None)


def test_what_is_found_with_so_many_sessions() -> None:
    question = asked(contamination="0")
    found = [suite(50, question, "1%", "10%", size=sessions).least for sessions in (3, 9, 30)]
    assert found[0] is None
    assert found[1] is not None
    assert found[2] is not None
    assert 0.05 < found[2] < found[1] < 0.10
    assert suite(50, question, "1%", f"{100.001 * found[1]}%").finds == 9


def test_a_live_gate_takes_more_runs_than_one_look() -> None:
    """Of 5 % slower, noise 2 %, tolerance 2 %: docs of the tests at looks have 19 runs a side at the median."""
    once, live = plan_sizes(asked("2%"), "suite", 1, "2%", difference="5%").ways
    assert (once.name, live.name) == ("sessions", "runs")
    assert once.finds is not None
    assert live.finds is not None
    assert once.finds < live.finds <= 48
    found = []
    for run in range(40):
        rng = np.random.default_rng([2, run])
        study = Study(["main", "pr"], [Objective("seconds", "minimize", "2%")], baseline="main", seed=3,
                      max_pulls=2 * live.finds)  # fmt: skip
        while pulls := study.ask():
            for pull in pulls:
                study.tell(pull, {"seconds": float(np.exp(rng.normal(math.log(1.05) * pull.index, 0.02)))})
        gate = study.result().gate
        found.append(gate is not None and gate.outcome == Outcome.WORSE)
    assert 0.65 <= np.mean(found) <= 0.98


def test_absolute_amounts_are_as_the_tolerance() -> None:
    question = Question.of(maximize="score", tolerance=0.5, contamination=0)
    made = plan_sizes(question, "suite", 10, 0.1)
    assert (made.spread, made.difference) == (0.1, 1.0)


# Right or wrong -------------------------------------------------------------------------------------------------------


def rate(contamination: float = 0.0, tolerance: float = 0.0) -> Question:
    return Question.of(
        maximize="solved", statistic={"solved": "mean"}, bounds={"solved": (0, 1)}, contamination=contamination,
        tolerance=tolerance,
    )  # fmt: skip


def power_of_mcnemar(n: int, worse: float, lost: float, delta: float) -> float:
    """How often McNemar's exact test finds it: over all numbers of wins and losses, by scipy."""
    found = 0.0
    for losses in range(n + 1):
        chance = binom.pmf(losses, n, lost + worse)
        if chance > 1e-12:
            wins = np.arange(n - losses + 1)
            refuted = binom.cdf(wins, wins + losses, 0.5) <= delta
            found += chance * binom.pmf(wins[refuted], n - losses, lost / (1.0 - lost - worse)).sum()
    return float(found)


def test_pairs_settle_as_much_as_mcnemar() -> None:
    gate, analysis = plan_sizes(rate(), "pairs", 2, 0.06, size=300).ways
    assert gate.least == pytest.approx(0.073, abs=0.0006)
    assert analysis.least == pytest.approx(0.074, abs=0.001)
    assert power_of_mcnemar(300, gate.least or 0.0, 0.06, 0.025) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(("contamination", "points"), [(0.02, 0.096), (0.05, 0.130)])
def test_contamination_is_allowed_for(contamination: float, points: float) -> None:
    (gate, _) = plan_sizes(rate(contamination), "pairs", 2, 0.06, size=300).ways
    assert gate.least == pytest.approx(points, abs=0.002)  # as found by sums over outcomes, independently


def test_questions_for_five_points_are_the_inverse() -> None:
    few, many = (plan_sizes(rate(), "pairs", arms, 0.06, difference=0.05).ways for arms in (2, 10))
    assert few[0].finds is not None
    assert many[1].finds is not None
    back = plan_sizes(rate(), "pairs", 2, 0.06, size=few[0].finds).ways[0].least
    assert back == pytest.approx(0.05, rel=0.02)
    assert many[1].finds > 1.5 * few[0].finds


def test_rates_of_arms_that_answer_by_themselves() -> None:
    (made,) = plan_sizes(rate(), "rates", 2, 0.6, size=300).ways
    assert made.least is not None
    k = np.arange(301.0)
    low, high = beta.ppf(0.0125, k, 301 - k), beta.ppf(1 - 0.0125, k + 1, 300 - k)
    low[0], high[-1] = 0.0, 1.0
    below = np.searchsorted(high, low) - 1
    power = binom.pmf(k, 300, 0.6) @ binom.cdf(below, 300, 0.6 - made.least)
    assert power == pytest.approx(0.8, abs=0.01)


def test_a_pilot_shows_what_is_lost() -> None:
    values = np.array([[1.0, 1, 0, 0, 1, 1, 1, 1], [0.0, 1, 1, 0, 1, 0, 0, 1]])
    pilot = Pilot(("a", "b"), values.reshape(-1, 1), np.repeat([0, 1], 8), np.tile(np.arange(8), 2))
    assert lost_in(pilot) == 1.5 / 8


CASES = {
    "two metrics": (Question.of(minimize=["a", "b"], tolerance="5%"), "suite", "1%", None),
    "a mean": (rate(tolerance=0.05), "suite", 0.1, None),
    "no tolerance": (Question.of(minimize="seconds"), "suite", "1%", None),
    "noise in numbers": (asked(), "suite", 0.1, None),
    "found too little": (asked(), "suite", "1%", "4%"),
    "pairs of seconds": (asked(), "pairs", "6%", "5%"),
    "all are lost": (rate(), "pairs", 1.0, 0.05),
    "nothing is asked": (rate(), "pairs", 0.06, None),
}


@pytest.mark.parametrize("case", CASES)
def test_refused(case: str, snapshot: SnapshotAssertion) -> None:
    question, kind, spread, difference = CASES[case]
    with refused(BadInput, snapshot):
        plan_sizes(question, kind, 50, spread, difference=difference)
