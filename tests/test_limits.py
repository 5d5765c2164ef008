"""Limits as they are written, and what is measured for them."""

from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Limit, Objective
from frontguard.errors import BadInput
from frontguard.limits import columns_for, parse_limits
from tests.support.snapshots import refused

LATENCY = Objective("latency", "minimize", tolerance="5%")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("p95(latency)<=300", Limit("latency", at_most=300, quantile=0.95)),
        ("p99.9 ( latency ) <= 3e2", Limit("latency", at_most=300, quantile=0.999)),
        ("median(seconds)<=2", Limit("seconds", at_most=2, quantile=0.5)),
        ("mean(solved)>=0.8", Limit("solved", at_least=0.8, statistic="mean")),
        ("mean(stars,1,5)>=3", Limit("stars", at_least=3, statistic="mean", bounds=(1, 5))),
        ("mean(a, b) ≥ 3", Limit("a, b", at_least=3, statistic="mean")),
        ("bytes<=1000", Limit("bytes", at_most=1000)),
        ("cost (USD) ≤ -1", Limit("cost (USD)", at_most=-1)),
        ("max(seconds)<=2", Limit("max(seconds)", at_most=2)),  # a metric may be called so
        ("a<=b<=3", Limit("a<=b", at_most=3)),
    ],
)
def test_a_text_is_a_limit(text: str, wanted: Limit) -> None:
    assert Limit.read(text) == wanted
    assert parse_limits([text, wanted]) == (wanted,)


@pytest.mark.parametrize("text", ["p95(latency)", "latency<300", "latency==300", "<=300", "latency<=fast", "x<=5%", ""])
def test_what_is_no_limit_is_refused_with_examples(text: str, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        Limit.read(text)


@pytest.mark.parametrize(
    "given",
    [
        {"at_most": 1, "at_least": 0},
        {},
        {"at_most": float("inf")},
        {"at_most": 1, "quantile": 1.5},
        {"at_most": 1, "quantile": 0.5, "statistic": "mean"},
        {"at_most": 1, "bounds": (0, 1)},
        {"at_most": -1, "tolerance": "5%"},
        {"at_most": 1, "tolerance": -1},
    ],
)
def test_limits_that_cannot_be_are_refused(given: dict[str, object], snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        Limit("x", **given)  # type: ignore[arg-type]


def test_several_limits_come_as_a_list(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        parse_limits("p95(latency)<=300")
    with refused(BadInput, snapshot):
        parse_limits(["x<=1", 3])  # type: ignore[list-item]


def test_what_is_not_said_is_as_the_objective_has_it() -> None:
    stars = Objective("stars", "maximize", statistic="mean", bounds=(1, 5))
    size = Objective("bytes", "minimize", exact=True)
    p99 = Objective("latency", "minimize", tolerance="2%", quantile=0.99)
    found = columns_for((stars, size, p99), parse_limits(["mean(stars)>=3", "bytes<=1000", "latency<=300"]))
    assert found.boxed == (stars, size, p99)  # the intervals of objectives serve
    assert [str(gate) for gate in found.gates] == ["mean(stars) ≥ 3", "bytes ≤ 1000", "p99(latency) ≤ 300"]
    assert found.gates[2].within == pytest.approx(-np.log(300))


def test_another_statistic_or_the_other_side_has_a_box_of_its_own() -> None:
    found = columns_for((LATENCY,), parse_limits(["p95(latency)<=300", "latency>=1", "memory<=9", "p95(memory)<=12"]))
    assert [each.name for each in found.metrics] == ["latency", "memory"]
    assert found.sources == (0, 0, 0, 1, 1)
    assert [gate.column for gate in found.gates] == [1, 2, 3, 4]
    inner = found.observed(np.array([[200.0, 5.0], [-1.0, np.nan]]))
    # what a tolerance in percent cannot use, a limit can
    assert np.array_equal(inner, [[-np.log(200.0), -200, 200, -5, -5], [np.nan, 1, -1, np.nan, np.nan]], equal_nan=True)


def test_a_limit_that_logarithms_have_no_place_for_is_read_without() -> None:
    (gate,) = columns_for((LATENCY,), (Limit("latency", at_most=0),)).gates
    assert gate.column == 1
    assert gate.within == 0.0
