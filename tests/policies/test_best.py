"""One metric: the upper end that holds of the best arm decides, and what is said of others rests on their own ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from frontguard import Objective, Oblivious, Prescient, analyze
from frontguard.evidence.intervals import BEST_HIGH, HIGH, LOW, ArmIntervals
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.readers import IntervalReader
from frontguard.evidence.statistics import KINDS, Statistic, shares_of_ends
from frontguard.pareto.judge import judge
from frontguard.policies import Certified
from frontguard.verdicts import Verdict

MIDDLES = np.linspace(0.0, 1.0, 12)
CLEAN = {"threat": Prescient(0.05), "accuracy": 0.1, "goal": "list"}


def driven(policy: Certified, until: int = 10**6, seed: int = 1) -> Certified:
    rng = np.random.default_rng(seed)
    while not policy.done and policy.pulls_per_arm.sum() < until:
        arms = policy.ask()
        policy.tell(arms, MIDDLES[arms, None] + 0.2 * rng.normal(size=(len(arms), 1)))
    return policy


@pytest.mark.parametrize("blocks", [False, True])
def test_beaten_is_what_its_own_end_shows(blocks: bool) -> None:
    policy = driven(Certified(12, 1, blocks=blocks, **CLEAN), seed=0)  # type: ignore[arg-type]
    found, put_out = policy.result(), policy.standing.arms["status"] == Verdict.BEATEN
    assert found.status == "certified"
    beaten, matched = found.having(Verdict.BEATEN), found.having(Verdict.MATCHED)
    assert (beaten & put_out).any()
    assert (matched & put_out).any()  # left out by what holds of the best arm alone
    kept = np.flatnonzero(found.having(Verdict.KEEP))
    assert set(found.decided_by[matched & put_out].tolist()) <= set(kept.tolist())
    if not blocks:  # in blocks, it is told from the moments in which both were measured
        rivals = found.decided_by[beaten]
        assert (found.inner.upper[beaten, 0] < found.inner.lower[rivals, 0]).all()
        best = found.inner.lower[:, 0].max()
        assert (found.inner.upper[matched & put_out, 0] >= best).all()
    np.testing.assert_array_equal(policy.verdict_codes, found.verdict_codes)


def test_an_arm_that_cannot_be_the_best_is_undecided_while_none_is_kept() -> None:
    seen: set[int] = set()
    for seed in range(5):
        policy = driven(Certified(12, 1, **CLEAN), until=150, seed=seed)  # type: ignore[arg-type]
        out = policy.standing.arms["status"] == Verdict.BEATEN
        if not (policy.verdict_codes == Verdict.KEEP).any():
            seen |= set(policy.verdict_codes[out].tolist())
    assert seen == {Verdict.BEATEN, Verdict.UNDECIDED}


def test_with_an_arm_excluded_the_best_one_is_not_known() -> None:
    policy = driven(Certified(12, 1, **CLEAN), until=250)  # type: ignore[arg-type]
    closer = policy.standing.intervals[:, BEST_HIGH] < policy.standing.intervals[:, HIGH]
    assert closer.any()
    assert not policy.alive.all()
    policy.exclude([11])
    policy.decide()
    ends = policy.standing.intervals
    np.testing.assert_array_equal(ends[:, BEST_HIGH], ends[:, HIGH])
    out = policy.standing.arms["status"] == Verdict.BEATEN
    assert (ends[out, HIGH, 0] < ends[policy.alive, LOW, 0].max()).all()
    assert policy.fresh().rule.best == 1


@pytest.mark.parametrize(
    ("arms", "objectives", "asked"),
    [
        (4, 1, {}),
        (5, 2, {}),
        (5, 1, {"coverage": 0.05}),
        (5, 1, {"baseline": 0}),
        (5, 1, {"independent": True}),
        (5, 1, {"statistics": (Statistic(len(KINDS) - 1),)}),
    ],
)
def test_where_it_is_not_read(arms: int, objectives: int, asked: dict[str, Any]) -> None:
    assert Certified(arms, objectives, **CLEAN | asked).rule.best == -1


def test_with_a_limit_on_the_metric_itself_it_is_not_read() -> None:
    limited = {"limits": ["x<=3"], "threat": Oblivious(0.0)}
    assert Certified.for_objectives(5, [Objective("x", "minimize")], **limited).rule.best == -1
    log = {"arm": np.repeat(list("abcde"), 30), "x": np.random.default_rng(1).normal(size=150)}
    asked = {"arm": "arm", "minimize": "x", "contamination": 0, "profile": False}
    free, bound = analyze(log, **asked), analyze(log, limits=["x<=30"], **asked)
    assert (free.inner.upper >= bound.inner.upper).all()  # half of δ is not for intervals
    assert (free.inner.upper > bound.inner.upper).any()


def test_ends_have_no_more_than_delta_together() -> None:
    for kind, arms in ((kind, arms) for kind in range(len(KINDS) - 1) for arms in (4, 5, 50)):
        each, best = shares_of_ends(0.1, arms, [Statistic(kind)], one_best=True)
        assert 2 * arms * each + best <= 0.1 + 1e-12


def rank(n: int, share: float) -> int:
    """The largest rank of n values that is at most their median but with a probability of `share`."""
    return int(np.flatnonzero(binom.cdf(np.arange(n) - 1, n, 0.5) <= share).max())


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_ends_of_a_log_are_exact_ranks(direction: str) -> None:
    K, n, delta = 5, 40, 0.05
    values: npt.NDArray[np.float64] = np.sort(np.random.default_rng(3).normal(size=(K, n)), axis=1)
    log = Ordered(list("abcde"), ("x",), np.full(K, n), np.arange(0, K * n + 1, n)[None, :], (values.ravel(),))
    objective = Objective("x", direction)
    inner = np.sort(objective.inward(values), axis=1)
    found = IntervalReader(log, [objective], delta, one_best=True).read(Oblivious(0.0))
    each, best = (rank(n, share) for share in (0.25 * delta / K, 0.5 * delta))
    np.testing.assert_array_equal(found.lower[:, 0], inner[:, each - 1])
    np.testing.assert_array_equal(found.upper[:, 0], inner[:, n - each])
    assert found.best is not None
    np.testing.assert_array_equal(found.best[:, 0], inner[:, n - best])
    some = IntervalReader(log, [objective], delta, one_best=True).among(np.array([1, 3])).read(Oblivious(0.0))
    assert some.best is not None
    np.testing.assert_array_equal(some.best, found.best[[1, 3]])
    alike = IntervalReader(log, [objective], delta).read(Oblivious(0.0))
    assert alike.best is None
    np.testing.assert_array_equal(alike.lower[:, 0], inner[:, rank(n, delta / (2 * K)) - 1])


def test_a_log_is_judged_by_the_end_of_the_best_and_beaten_by_its_own() -> None:
    lower, upper = np.array([[5.0], [4.0], [0.0]]), np.array([[9.0], [5.5], [4.5]])
    wide = ArmIntervals(lower, upper, lower, lower, lower)
    close = ArmIntervals(lower, upper, lower, lower, lower, best=np.array([[6.0], [5.1], [3.0]]))
    words = [[Verdict(code).word for code in judge(each, 0.2, 0.2, 0.1, goal="list").codes] for each in (wide, close)]
    assert words == [["undecided", "undecided", "beaten"], ["keep", "matched", "beaten"]]
    assert [Verdict(code).word for code in judge(close, 0.2, 0.1, 0.1, goal="list").codes] == words[0]
