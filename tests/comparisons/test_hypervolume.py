"""Hypervolumes against moocore, and those of a result against worlds that its intervals allow."""

from __future__ import annotations

import math

import moocore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import Answer, BadInput, Objective
from frontguard.comparisons.hypervolume import hypervolume, standing_out
from frontguard.results import Certificate, Intervals
from frontguard.verdicts import Verdict
from tests.support.snapshots import refused


@given(
    st.integers(2, 7), st.integers(0, 25), st.sampled_from(["normal", "whole", "sphere", "tenths"]),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_it_is_what_moocore_says(M: int, n: int, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, M))
    if kind == "whole":
        points = np.round(points)
    elif kind == "sphere":
        points = np.abs(points) / np.linalg.norm(points, axis=1, keepdims=True)
    elif kind == "tenths":
        points = np.round(np.abs(points), 1) + 0.1
    reference = np.full(M, -0.5)
    wanted = moocore.hypervolume(points, ref=reference, maximise=True) if n else 0.0
    assert hypervolume(points, reference) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_one_coordinate_infinite_ends_and_too_many() -> None:
    assert hypervolume(np.array([[1.0], [3.0]]), np.array([0.5])) == 2.5
    assert hypervolume(np.array([[1.0, math.inf], [-math.inf, 3.0]]), np.zeros(2)) == math.inf
    assert hypervolume(np.array([[-1.0, math.inf]]), np.zeros(2)) == 0.0
    rng = np.random.default_rng(0)
    sphere = np.abs(rng.normal(size=(2000, 6)))
    assert hypervolume(sphere / np.linalg.norm(sphere, axis=1, keepdims=True), np.zeros(6)) is None


@given(st.integers(1, 4), st.integers(0, 20), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_standing_out_is_what_a_look_at_all_pairs_says(M: int, n: int, seed: int) -> None:
    points = np.round(np.random.default_rng(seed).normal(size=(n, M)))
    kept = standing_out(points)
    for i in range(n):
        beaten = any(
            (points[j] >= points[i]).all() and ((points[j] > points[i]).any() or j < i) for j in range(n) if j != i
        )
        assert kept[i] != beaten


METRICS = (Objective("seconds", "minimize", "5%"), Objective("score", "maximize"))


def result(low: np.ndarray, high: np.ndarray, codes: np.ndarray) -> Answer:
    return Answer(
        "certified", "certified", tuple(f"{i}" for i in range(len(low))), ("seconds", "score"), codes,
        Intervals((low + high) / 2, low, high), np.ones(len(low), np.int64), np.full(len(low), -1),
        Certificate(0.0, 0.0, 0.9, "oblivious", 0.0),
    ).in_units(METRICS)  # fmt: skip


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_the_true_front_lies_between(arms: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.normal(0, 1, (arms, 2))
    high = low + rng.exponential(0.5, low.shape)
    found = result(low, high, rng.choice([Verdict.KEEP, Verdict.MATCHED, Verdict.UNDECIDED], arms))
    volume = found.hypervolume()
    assert volume.certain is not None
    assert volume.possible is not None
    reference = np.array([value for _, value in volume.reference])
    for _ in range(10):
        truth = low + rng.uniform(size=low.shape).round(1) * (high - low)
        units = np.stack([np.exp(-truth[:, 0]), truth[:, 1]], axis=1)
        wanted = moocore.hypervolume(units, ref=reference, maximise=[False, True])
        assert volume.certain <= wanted * (1 + 1e-9) + 1e-12
        assert volume.possible >= wanted * (1 - 1e-9) - 1e-12


def test_the_reference_is_stated_and_may_be_given(snapshot: SnapshotAssertion) -> None:
    low = np.array([[0.0, 1.0], [-math.log(2.0), 3.0]])
    found = result(low, low, np.array([1, 1]))  # (1 s, 1) and (2 s, 3)
    assert dict(found.hypervolume().reference) == pytest.approx({"seconds": 2.1, "score": 0.8})
    given = found.hypervolume({"seconds": 3.0, "score": 0.0})
    assert given.certain == pytest.approx(2 * 1 + 1 * 2)
    assert given.to_dict()["reference"] == {"seconds": 3.0, "score": 0.0}
    with refused(BadInput, snapshot):
        found.hypervolume({"second": 1.0})
    unbounded = result(low, np.array([[0.0, math.inf], low[1]]), np.array([1, 1]))
    assert unbounded.hypervolume().possible == math.inf
    assert unbounded.to_dict()["hypervolume"]["possible"] is None
