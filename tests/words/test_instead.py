"""What is said of a short list: what is enough, what a listed arm is best at, and what to take instead of another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from frontguard import Objective
from frontguard.results import Result
from frontguard.verdicts import Verdict
from frontguard.words.certificate import explanation
from frontguard.words.front import front_in_words
from tests.words.results import certificate, result

IN, OUT, COVERED, OPEN, ASIDE = Verdict.IN, Verdict.OUT, Verdict.COVERED, Verdict.UNDECIDED, Verdict.SET_ASIDE
TIMES = Objective("seconds", "minimize", "5%"), Objective("bytes", "minimize", "5%")


def a_list(verdicts: list[Verdict], **more: Any) -> Any:
    return result(verdicts, TIMES, goal="list", **more)


def from_units(low: list[list[float]], high: list[list[float]]) -> dict[str, Any]:
    """Boxes of seconds and bytes as inner values."""
    return {"lower": -np.log(np.array(high)), "upper": -np.log(np.array(low))}


@pytest.mark.parametrize(
    ("verdicts", "coverage", "said"),
    [
        ([IN, IN, OUT], 0.05, "These 2 of 3 arms are enough: a, b. For every other one, one of these is at most 5% in "
         "seconds and 5% in bytes worse."),
        ([IN, IN, OUT], 0.0, "These 2 of 3 arms are enough: a, b. For every other one, one of these is as good in "
         "every objective."),
        ([IN, OUT, COVERED], 0.05, "Of 3 arms, a alone is enough. It is at most 5% in seconds and 5% in bytes worse "
         "than any other."),
        ([IN, OUT, OUT], 0.0, "Of 3 arms, a alone is enough. It is as good as any other in every objective."),
        ([IN, IN, IN], 0.0, "All of 3 arms are on the list: a, b, c."),
        ([IN, IN, ASIDE, OUT], 0.0, "These 2 of the 3 arms that can be measured are enough: a, b. For every other one, "
         "one of these is as good in every objective."),
        ([IN], 0.0, "a is the only arm."),
        ([IN, ASIDE], 0.0, "a is the only arm that can be measured."),
    ],
)  # fmt: skip
def test_what_is_enough(verdicts: list[Verdict], coverage: float, said: str) -> None:
    assert front_in_words(a_list(verdicts, promise=certificate(0.05, coverage))) == said


def test_without_a_promise_nothing_is_called_enough_or_certain() -> None:
    found = a_list([IN, OUT], promise=certificate(confidence=None, void="running"), decided_by=[1, 0])
    assert front_in_words(found) == "1 of 2 arms is returned, without a promise: a."
    assert found.replacement("b") is None
    assert "instead" not in explanation(found, 1)
    assert "certainly" not in explanation(found, 0)


def test_what_to_take_instead_says_what_is_certain_and_no_more() -> None:
    boxes = from_units([[1.0, 100.0], [2.2, 100.0], [0.9, 99.0]], [[1.04, 100.0], [2.3, 100.0], [1.0, 101.0]])
    found = a_list([IN, COVERED, COVERED], decided_by=[1, 0, 0], **boxes)
    assert explanation(found, 1).endswith(
        "; take a instead: at least 2.11 times as fast, as small"
    )  # 2.2 / 1.04 = 2.115
    assert explanation(found, 2).endswith("; take a instead: at most 15.6% slower, at most 1.02% larger")
    found = a_list([IN, COVERED, OPEN], decided_by=[1, 0, 0], **boxes)
    assert "instead" not in explanation(found, 2)
    assert "instead" not in explanation(result([IN, COVERED], TIMES, decided_by=[1, 0]), 1)  # of a front


def test_amounts_of_metrics_without_a_name_of_their_own() -> None:
    metrics = Objective("score", tolerance=1.0), Objective("ratio", tolerance="5%")
    found = result(
        [IN, OUT],
        metrics,
        goal="list",
        decided_by=[1, 0],
        lower=[[5.0, 1.0], [1.0, 0.0]],
        upper=[[6.0, 1.5], [2.123, 0.5]],
    )
    assert explanation(found, 1).endswith(
        "take a instead: at least 2.877 more score, at least 1.64 times better in ratio"
    )
    found = result(
        [IN, COVERED],
        metrics,
        goal="list",
        decided_by=[1, 0],
        lower=[[5.0, 1.0], [1.0, 0.0]],
        upper=[[6, 1.5], [5.11112, 1]],
    )
    assert explanation(found, 1).endswith("take a instead: at most 0.1112 less score, as good in ratio")


def test_what_a_listed_arm_is_best_at() -> None:
    boxes = {"lower": [[4.0, 0.0], [0.0, 3.0], [1.0, 1.0]], "upper": [[5.0, 1.0], [4.0, 5.0], [3.0, 4.0]]}
    found = a_list([IN, IN, COVERED], decided_by=[1, 0, 0], **boxes)
    assert explanation(found, 0).endswith("; certainly the best in seconds")
    assert explanation(found, 1).endswith("; the best in bytes by what was measured")
    assert [(each.objective, each.certain) for each in found.best_at("b")] == [("bytes", False)]
    assert found.best_at("c") == ()


def naive_certainly_best(found: Result, i: int, d: int) -> bool:
    others = [j for j in range(len(found.arms)) if j != i and found.verdict(j) not in (OUT, ASIDE)]
    return all(found.inner.lower[i, d] >= found.inner.upper[j, d] for j in others)


@pytest.mark.parametrize("seed", range(30))
def test_replacements_and_the_best_by_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 4, (6, 2)).astype(float)
    verdicts = [IN, *rng.choice([IN, OUT, COVERED, OPEN, ASIDE], 5).tolist()]
    found = a_list(verdicts, decided_by=[0] * 6, lower=low, upper=low + rng.integers(0, 3, (6, 2)))
    listed = [i for i in range(6) if verdicts[i] == IN]
    for i in range(6):
        best = {each.objective for each in found.best_at(i) if each.certain}
        if verdicts[i] == IN:
            assert best == {TIMES[d].name for d in range(2) if naive_certainly_best(found, i, d)}
        by = found.replacement(i)
        if verdicts[i] not in (OUT, COVERED):
            assert by is None
            continue
        assert by is not None
        worst = min(max(0.0, *(found.inner.upper[i] - found.inner.lower[k])) for k in listed)
        k = found.arms.index(by.by)
        assert k in listed
        assert max(0.0, *(found.inner.upper[i] - found.inner.lower[k])) == worst
        for d, metric in enumerate(TIMES):
            bound = found.inner.upper[i, d] - found.inner.lower[k, d]
            assert by.costs[metric.name] == pytest.approx(max(0.0, math.expm1(bound)))
            assert by.gains[metric.name] == pytest.approx(math.expm1(max(0.0, -bound)))
