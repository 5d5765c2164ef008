"""Dominance queries against their definitions over all pairs, and on a million points where all of them are hard."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.pareto import dominance
from frontguard.pareto.dominance import best_leads, dominators, maxima, pareto_mask, worst_lead
from tests.support.snapshots import refused

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

VALUES = st.sampled_from([-np.inf, -1.0, 0.0, 0.1, 0.2, 0.30000000000000004, 0.3, 1.0, np.inf])


@st.composite
def few(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """Queries and points with ties and infinities, or none at all."""
    M = draw(st.integers(1, 4))
    sizes = draw(st.integers(0, 12)), draw(st.integers(0, 12))
    queries, points = (draw(arrays(np.float64, (size, M), elements=VALUES)) for size in sizes)
    return queries, points


def clouds() -> list[tuple[str, Floats]]:
    """Some hundred to some thousand points of every kind that could be hard."""
    rng = np.random.default_rng(1)
    found = []
    for M in (1, 2, 3, 5):
        for N in (100, 2_000):
            normal = rng.normal(size=(N, M))
            found += [
                (f"normal {N} x {M}", normal),
                (f"all maxima {N} x {M}", normal - normal.mean(axis=1, keepdims=True)),
                (f"few values {N} x {M}", rng.integers(0, 4, (N, M)).astype(np.float64)),
                (f"ties in one {N} x {M}", np.column_stack([np.round(normal[:, 0]), normal[:, 1:]])),
                (f"infinite {N} x {M}", np.where(rng.random((N, M)) < 0.05, np.inf, normal)),
                (f"equal {N} x {M}", np.ones((N, M))),
                (f"line {N} x {M}", np.repeat(rng.normal(size=(N, 1)), M, axis=1)),
            ]
    return found


every_cloud = pytest.mark.parametrize("points", [points for _, points in clouds()], ids=[name for name, _ in clouds()])


def pairs(queries: Floats, points: Floats) -> Bools:
    """Which points (columns) dominate which queries (rows)."""
    as_large = (points >= queries[:, None]).all(axis=2)
    return np.asarray(as_large & (points > queries[:, None]).any(axis=2))


@given(few(), st.booleans())
def test_a_dominator_is_named_where_there_is_one(sets: tuple[Floats, Floats], excluding: bool) -> None:
    queries, points = sets
    own = np.arange(len(queries)) % max(1, len(points)) if excluding else None
    dominating = pairs(queries, points)
    if own is not None and len(points):
        dominating[np.arange(len(queries)), own] = False
    found = dominators(queries, points, exclude=own)
    np.testing.assert_array_equal(found >= 0, dominating.any(axis=1))
    for q in np.flatnonzero(found >= 0):
        assert dominating[q, found[q]]


@every_cloud
def test_clouds_of_every_kind(points: Floats) -> None:
    """A part of the points, and these a little lowered, are asked against all others."""
    asked = np.arange(0, len(points), 1 + len(points) // 20)
    for shift in (0.0, 0.3):
        queries = points[asked] - shift
        dominating = pairs(queries, points)
        found = dominators(np.repeat(queries, 90, axis=0), points)[::90]  # many, so that guards help
        np.testing.assert_array_equal(found >= 0, dominating.any(axis=1))
        assert dominating[np.flatnonzero(found >= 0), found[found >= 0]].all()
        dominating[np.arange(len(asked)), asked] = False
        found = dominators(queries, points, exclude=asked)
        np.testing.assert_array_equal(found >= 0, dominating.any(axis=1))
        assert dominating[np.flatnonzero(found >= 0), found[found >= 0]].all()


@every_cloud
def test_maxima_are_the_front_without_repetitions(points: Floats) -> None:
    front = pareto_mask(points)
    found = maxima(points)
    _, first = np.unique(points[front], axis=0, return_index=True)
    np.testing.assert_array_equal(found, np.sort(np.flatnonzero(front)[first]))
    np.testing.assert_array_equal(dominators(points, points) < 0, front)


@every_cloud
def test_the_greatest_lead_is_found_to_the_last_bit(points: Floats) -> None:
    if np.isinf(points).any():
        points = np.where(np.isinf(points), 1e300, points)
    M = points.shape[1]
    asked = np.arange(0, len(points), 1 + len(points) // 40)
    queries, tolerance = points[asked] - 0.1, np.linspace(-0.1, 0.2, M)
    leads = (points - queries[:, None] - tolerance).min(axis=2)
    who, lead = best_leads(queries, points, tolerance)
    np.testing.assert_array_equal(lead, leads.max(axis=1))
    np.testing.assert_array_equal(leads[np.arange(len(asked)), who], lead)
    assert worst_lead(queries, points, tolerance) == lead.min()
    who, some = best_leads(queries, points, tolerance, least=0.05, settled=0.1)
    np.testing.assert_array_equal(who < 0, leads.max(axis=1) < 0.05)
    assert (some[lead >= 0.1] >= 0.1).all()
    assert (some[(lead >= 0.05) & (lead < 0.1)] == lead[(lead >= 0.05) & (lead < 0.1)]).all()
    leads[np.arange(len(asked)), asked] = -np.inf
    who, lead = best_leads(queries, points, tolerance, exclude=asked)
    np.testing.assert_array_equal(lead, leads.max(axis=1))
    assert (who != asked).all()


def test_unbounded_points_lead_without_bound() -> None:
    who, lead = best_leads([[-np.inf, 0.0], [0.0, 0.0]], [[1.0, 2.0], [np.inf, 1.0]], [0.0, 0.0])
    assert lead.tolist() == [2.0, 1.0]
    assert who[0] == 0


def test_no_points_lead_nobody() -> None:
    who, lead = best_leads(np.zeros((3, 2)), np.zeros((0, 2)), [0.0, 0.0])
    assert who.tolist() == [-1, -1, -1]
    assert lead.tolist() == [-np.inf] * 3
    assert worst_lead(np.zeros((3, 2)), np.zeros((0, 2)), [0.0, 0.0]) == -np.inf
    assert worst_lead(np.zeros((0, 2)), np.zeros((3, 2)), [0.0, 0.0]) == np.inf


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    points, queries = rng.normal(size=(20_000, 3)), rng.normal(size=(70_000, 3))
    here = dominators(queries, points), *best_leads(queries, points, [0.0] * 3)
    least = worst_lead(queries, points, [0.0] * 3)
    monkeypatch.setattr(dominance, "_PORTION", 10**9)
    alone = dominators(queries, points), *best_leads(queries, points, [0.0] * 3)
    for one, other in zip(here, alone, strict=True):
        np.testing.assert_array_equal(one, other)
    assert worst_lead(queries, points, [0.0] * 3) == least


@pytest.mark.parametrize("kind", ["line of maxima", "plane of maxima", "all equal", "one coordinate tied"])
def test_thirty_thousand_hard_points_take_no_pair_of_each(kind: str) -> None:
    """Over all pairs this would be 10⁹ comparisons; the answers are known in advance."""
    N = 30_000
    at = np.random.default_rng(3).permutation(N).astype(np.float64)
    other = np.random.default_rng(4).permutation(N).astype(np.float64)
    points = {
        "line of maxima": np.column_stack([at, -at]),
        "plane of maxima": np.column_stack([at, other, -at - other]),
        "all equal": np.ones((N, 3)),
        "one coordinate tied": np.column_stack([at, np.zeros(N), -at]),
    }[kind]
    assert (dominators(points, points) < 0).all()
    assert len(maxima(points)) == (1 if kind == "all equal" else N)
    assert (dominators(points, points, exclude=np.arange(N)) < 0).all()


def test_what_cannot_be_compared_is_refused(snapshot: SnapshotAssertion) -> None:
    fine = np.zeros((3, 2))
    with refused(BadInput, snapshot):
        dominators([[0.0, 0.0], [0.0, np.nan]], fine)
    with refused(BadInput, snapshot):
        dominators(fine, np.zeros(3))
    with refused(BadInput, snapshot):
        dominators(fine, np.zeros((3, 3)))
    with refused(BadInput, snapshot):
        dominators(fine, fine, exclude=[0, 1])
    with refused(BadInput, snapshot):
        best_leads(fine, fine, [0.0])
