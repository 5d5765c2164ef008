"""The paper's metrics against slow twins that follow the definitions word for word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from frontguard.experiments.results import figures_of, spread_of
from frontguard.simulation.judging import clopper_pearson, judge, robust_f1
from tests.support.snapshots import refused

Point = list[float]


def dominated(x: Point, y: Point) -> bool:
    return all(a <= b for a, b in zip(x, y, strict=True)) and x != y


def front_of(points: list[Point]) -> list[int]:
    return [i for i, x in enumerate(points) if not any(dominated(x, y) for y in points)]


def gap(points: list[Point], i: int) -> float:
    margins = [min(b - a for a, b in zip(points[i], points[j], strict=True)) for j in front_of(points)]
    return max(0.0, *margins)


def naive(chosen: set[int], points: list[Point], bias: float, alpha: float) -> tuple[bool, float, float, int, int]:
    front = front_of(points)
    accurate = {i for i in range(len(points)) if gap(points, i) <= 2 * bias + alpha}
    uncovered = [
        j
        for j in front
        if not any(all(b - a <= 2 * bias for a, b in zip(points[i], points[j], strict=True)) for i in chosen)
    ]
    success = chosen <= accurate and not uncovered
    ratio = len(chosen & set(front)) / len(front)
    hits, wrong = len(chosen & accurate), len(chosen - accurate)
    f1 = 2 * hits / (2 * hits + len(uncovered) + wrong)
    return success, ratio, f1, len(chosen), len(chosen - set(front))


coarse = st.integers(-3, 3).map(float)  # a coarse grid: ties and duplicates are the rule


@settings(max_examples=80)
@given(
    points=st.integers(1, 3).flatmap(
        lambda m: st.lists(st.lists(coarse, min_size=m, max_size=m), min_size=1, max_size=7)
    ),
    bias=st.sampled_from([0.0, 0.5, 1.0]),
    alpha=st.sampled_from([0.5, 1.0]),
    data=st.data(),
)
def test_judgement_is_the_definition(points: list[Point], bias: float, alpha: float, data: st.DataObject) -> None:
    row = st.lists(st.booleans(), min_size=len(points), max_size=len(points))
    returned = data.draw(st.lists(row, min_size=1, max_size=4))
    verdict = judge(returned, points, accuracy=2 * bias + alpha, coverage=2 * bias)
    for run, mask in enumerate(returned):
        chosen = {i for i, there in enumerate(mask) if there}
        success, ratio, f1, size, off = naive(chosen, points, bias, alpha)
        assert verdict.success[run] == success
        assert verdict.optimal_ratio[run] == pytest.approx(ratio)
        assert verdict.robust_f1[run] == pytest.approx(f1)
        assert (verdict.size[run], verdict.off_front[run]) == (size, off)
        # "r-F1 = 1 if and only if the algorithm is Pareto accurate"
        assert (verdict.robust_f1[run] == 1.0) == success


def test_the_papers_own_example_of_why_ro_is_needed() -> None:
    """All accurate arms but the Pareto optimal one: a high r-F1, and RO 0."""
    points = [[1.0, 1.0], [0.9, 0.9], [0.8, 0.8], [0.7, 0.7]]
    verdict = judge([[False, True, True, True]], points, accuracy=0.6, coverage=0.5)
    assert verdict.success.tolist() == [True]
    assert verdict.robust_f1.tolist() == [1.0]
    assert verdict.optimal_ratio.tolist() == [0.0]
    assert verdict.off_front.tolist() == [3]


def test_coverage_has_no_alpha_in_it() -> None:
    """An arm 2D + α below the front is accurate but does not cover: the paper, not the authors' code."""
    points = [[1.0, 1.0], [0.5, 0.5]]
    verdict = judge([[False, True]], points, accuracy=0.5, coverage=0.25)
    assert verdict.success.tolist() == [False]
    assert verdict.robust_f1[0] == pytest.approx(2 / 3)


def test_an_empty_set_never_succeeds() -> None:
    verdict = judge([[False, False]], [[1.0], [0.0]], accuracy=11.0, coverage=10.0)
    assert (verdict.success[0], verdict.optimal_ratio[0], verdict.robust_f1[0], verdict.size[0]) == (
        False,
        0.0,
        0.0,
        0,
    )


def test_nothing_asked_and_nothing_wrong_is_perfect() -> None:
    assert robust_f1([0], [0], [0]).tolist() == [1.0]


def test_wrong_shapes_are_named(snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        judge([[True, False, True]], [[1.0], [0.0]], accuracy=0.1, coverage=0.0)


@pytest.mark.parametrize(("successes", "runs"), [(0, 10), (1, 10), (97, 100), (100, 100), (5, 7)])
def test_clopper_pearson_against_scipy(successes: int, runs: int) -> None:
    exact = stats.binomtest(successes, runs).proportion_ci(0.95, method="exact")
    assert clopper_pearson(successes, runs) == pytest.approx((exact.low, exact.high))


def test_clopper_pearson_refuses_the_impossible(snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        clopper_pearson(3, 2)


def test_spread_against_scipy() -> None:
    values = np.array([3.0, 8.0, 1.0, 4.0])
    spread = spread_of(values)
    assert spread["_se"] == pytest.approx(stats.sem(values))
    assert (spread["_low"], spread["_high"]) == pytest.approx(
        stats.norm.interval(0.95, values.mean(), stats.sem(values))
    )


def test_one_run_has_no_spread() -> None:
    assert spread_of([4.0]) == {"": 4.0, "_std": None, "_se": None, "_low": None, "_high": None}


def test_figures_sum_up() -> None:
    verdict = judge([[True, False], [False, True]], [[1.0], [0.0]], accuracy=0.1, coverage=0.0)
    total = figures_of(verdict, [10, 30])
    wanted = {"runs": 2, "rsr": 0.5, "sc": 20.0, "ro": 0.5, "returned_off_front": 0.5}
    assert {name: total[name] for name in wanted} == wanted
