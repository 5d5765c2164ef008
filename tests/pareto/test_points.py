"""Dominance and gaps against their definitions written as loops."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from syrupy.assertion import SnapshotAssertion

from frontguard.pareto.dominance import pareto_mask, suboptimality_gaps
from tests.support.snapshots import refused

Floats = npt.NDArray[np.float64]

POINTS = st.tuples(st.integers(1, 12), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-3, 3).map(lambda v: v / 2))
)


def naive_front(points: Floats) -> list[bool]:
    return [not any((p <= q).all() and (p < q).any() for q in points) for p in points]


@given(POINTS)
def test_the_front_is_what_nothing_dominates(points: Floats) -> None:
    assert pareto_mask(points).tolist() == naive_front(points)


@given(POINTS)
def test_gaps_follow_their_definition(points: Floats) -> None:
    front = [p for p, on in zip(points, naive_front(points), strict=True) if on]
    wanted = [max(max(0.0, min(q - p)) for q in front) for p in points]
    assert suboptimality_gaps(points).tolist() == wanted
    assert (suboptimality_gaps(points)[pareto_mask(points)] == 0).all()


@given(POINTS, st.permutations(range(12)))
def test_the_front_moves_with_the_labels(points: Floats, order: list[int]) -> None:
    shuffled = [i for i in order if i < len(points)]
    assert pareto_mask(points[shuffled]).tolist() == pareto_mask(points)[shuffled].tolist()


def test_a_large_front_agrees_with_the_definition() -> None:
    points = np.random.default_rng(0).normal(size=(600, 3)).round(1)
    assert pareto_mask(points).tolist() == naive_front(points)


def test_infinite_objectives_are_ordinary_numbers() -> None:
    assert pareto_mask([[np.inf, 0.0], [0.0, np.inf], [-np.inf, -np.inf]]).tolist() == [True, True, False]


@pytest.mark.parametrize(
    "points",
    [
        [],
        [1.0, 2.0],
        [[]],
        [[0.0, np.nan]],
    ],
)
def test_what_is_no_set_of_points_is_refused(points: list[float], snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        pareto_mask(points)


def test_inputs_are_left_alone() -> None:
    points = np.array([[1.0, 2.0], [0.0, 0.0]])
    points.setflags(write=False)
    pareto_mask(points)
    suboptimality_gaps(points)
