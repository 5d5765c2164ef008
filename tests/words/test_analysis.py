"""Analyses of logs in words: answers, robustness, and what would settle them."""

from __future__ import annotations

from typing import Any

import numpy as np
from syrupy.assertion import SnapshotAssertion

from frontguard import analyze
from frontguard.statements import Statement
from frontguard.words.answers import answer, blocked, by_means, robustness, table
from frontguard.words.certificate import suggested_tolerances


def found_in(samples: dict[str, list[float]], **options: Any) -> Any:
    rows = [(arm, value) for arm, values in samples.items() for value in values]
    return analyze({"arm": [arm for arm, _ in rows], "x": [value for _, value in rows]}, **{"maximize": "x", **options})


def test_a_single_objective_is_spoken_of_as_such(snapshot: SnapshotAssertion) -> None:
    steps = np.arange(100.0)
    apart = found_in({"a": (steps + 500).tolist(), "b": steps.tolist()})
    close = {"a": (steps + 101).tolist(), "b": (steps + 100).tolist()}
    near, both = found_in(close, tolerance=60.0), found_in(close, tolerance=60.0, goal="front")
    one = found_in({"only": steps.tolist()})
    assert [each.pareto_set for each in (apart, near, both, one)] == [["a"], ["a"], ["a", "b"], ["only"]]
    assert [answer(each) for each in (apart, near, both, one)] == snapshot


def test_why_more_pulls_would_not_help_is_said(snapshot: SnapshotAssertion) -> None:
    steps = np.arange(100.0)
    same = found_in({"a": steps.tolist(), "b": steps.tolist()})
    assert same.status == "unreachable"
    assert set(same.more_pulls().values()) == {"tolerance"}
    lies = found_in({"a": (steps + 5).tolist(), "b": steps.tolist()}, contamination=0.3)
    assert set(lies.more_pulls().values()) == {"contamination"}
    assert [blocked(same), blocked(lies)] == snapshot
    assert robustness(same) is None


def test_the_tolerance_that_is_suggested_settles_everything() -> None:
    rng = np.random.default_rng(3)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        samples = {str(i): np.exp(rng.normal(rng.normal(0, 0.1), 0.3, 80)).tolist() for i in range(5)}
        for tolerance in (0.0, "1%"):
            found = found_in(samples, tolerance=tolerance)
            if found.status == "certified":
                continue
            suggested = suggested_tolerances(found.nearest, found.metrics)
            assert suggested is not None
            text = suggested[0]
            settled = found_in(samples, tolerance=text if text.endswith("%") else float(text))
            assert settled.status == "certified"


def test_how_robust_it_is_in_a_sentence() -> None:
    steps = np.arange(200.0)
    found = found_in({"a": (steps + 100).tolist(), "b": steps.tolist(), "c": (steps - 300).tolist()})
    last = found.front_changes_at - found.log.profile.resolution
    assert 0.1 < last < 0.4
    assert robustness(found) == Statement.HOLDS(answer="list", eps=f"{100 * last:.3g}%")
    only_out = found_in({"a": (steps + 100).tolist(), "b": (steps + 100).tolist(), "c": (steps - 300).tolist()})
    assert robustness(only_out) is None


def test_where_means_agree_nothing_is_said_of_them() -> None:
    steps = np.arange(100.0)
    found = found_in({"a": (steps + 500).tolist(), "b": steps.tolist()})
    assert by_means(found) is None
    assert len(table(found).rows) == 2
