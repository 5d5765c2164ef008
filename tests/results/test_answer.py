"""What a result says, in every form that people and machines read it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Answer, Objective
from frontguard.errors import BadInput
from frontguard.results import Certificate, Intervals
from tests.support.snapshots import refused, said


def result(objectives: int = 2) -> Answer:
    estimates = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [0.0, 0.0, 0.0], [2.9, 0.9, 1.9]])[:, :objectives]
    width = np.array([0.1, 0.2, 0.1, np.inf])[:, None]
    return Answer(
        policy="R-PSI",
        status="certified",
        arms=("<b>a</b>", "b", "c", "d"),
        objectives=("speed", "quality", "price")[:objectives],
        verdict_codes=np.array([1, 1, 2, 3]),
        inner=Intervals(estimates, estimates - width, estimates + width),
        pulls_per_arm=np.array([10, 10, 5, 10]),
        decided_by=np.array([-1, -1, 1, 1]),
        certificate=Certificate(0.5, 0.25, 0.9, "oblivious", 0.1),
    )


def test_the_plain_values_follow_the_contract() -> None:
    values = json.loads(json.dumps(result().to_dict(), allow_nan=False))
    assert values["status"] == "certified"
    assert values["pareto_set"] == ["<b>a</b>", "b"]
    assert values["verdicts"] == {"<b>a</b>": "keep", "b": "keep", "c": "beaten", "d": "matched"}
    assert values["certificate"] == {
        "accuracy": 0.5, "coverage": 0.25, "confidence": 0.9, "threat": "oblivious", "contamination": 0.1,
        "void": "", "arms": None, "excluded": [], "limits": [], "by_column": [],
    }  # fmt: skip
    assert values["pulls"] == 35
    assert values["intervals"]["b"] == {"speed": [2.8, 3.2], "quality": [0.8, 1.2]}
    assert values["intervals"]["d"]["speed"] == [None, None]
    assert values["decided_by"] == {"c": "b", "d": "b"}


def test_the_repr_is_a_sentence_and_names_are_data_in_html(snapshot: SnapshotAssertion) -> None:
    assert said(repr(result())) == snapshot
    html = result()._repr_html_()
    assert "<b>a</b>" not in html
    assert "&lt;b&gt;a&lt;/b&gt;" in html


def test_the_frame_has_a_row_for_each_arm() -> None:
    frame = result().to_frame()
    assert list(frame["arm"]) == ["<b>a</b>", "b", "c", "d"]
    assert frame["decided by"][2] == "b"
    assert frame["speed high"][1] == pytest.approx(3.2)


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_it_draws_itself(objectives: int, tmp_path: Path) -> None:
    path = tmp_path / "result.png"
    picture = result(objectives).plot(path)
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture.panels) == {1: 1, 2: 1, 3: 3}[objectives]
    assert len(picture.matplotlib().axes) == len(picture.panels)


def test_it_is_drawn_by_the_objectives_that_are_named(snapshot: SnapshotAssertion) -> None:
    (panel,) = result(3).plot(x="price", y=0).panels
    assert (panel.x.title, panel.y.title) == ("price", "speed")
    with refused(BadInput, snapshot):
        result(3).plot(x="weight", y=0)


def test_estimates_and_bounds_are_in_the_users_units_and_directions() -> None:
    """Seconds that are minimised by shares are negative logarithms inside; nobody outside has to know."""
    seconds, points = Objective("seconds", "minimize", tolerance="5%"), Objective("points", "maximize", tolerance=1.0)
    inner = Intervals(
        estimates=np.array([[-np.log(2.0), 7.0], [np.nan, np.nan]]),
        lower=np.array([[-np.log(4.0), 6.0], [-np.inf, -np.inf]]),
        upper=np.array([[0.0, 9.0], [np.inf, np.inf]]),
    )
    bare = replace(
        result(), arms=("a", "b"), objectives=("seconds", "points"), verdict_codes=np.array([1, 0]), inner=inner,
        pulls_per_arm=np.array([10, 0]), decided_by=np.array([-1, -1]),
    )  # fmt: skip
    assert bare.estimates is inner.estimates
    assert (bare.lower is inner.lower, bare.upper is inner.upper) == (True, True)
    shown = bare.in_units([seconds, points])
    np.testing.assert_allclose(shown.estimates, [[2.0, 7.0], [np.nan, np.nan]])
    np.testing.assert_allclose(shown.lower, [[1.0, 6.0], [0.0, -np.inf]])
    np.testing.assert_allclose(shown.upper, [[4.0, 9.0], [np.inf, np.inf]])
    assert shown.inner is inner
    np.testing.assert_allclose(shown.to_frame()["seconds"], [2.0, np.nan])
    np.testing.assert_allclose(shown.intervals["a"]["seconds"], [1.0, 4.0])


def test_the_repr_of_a_certificate_is_short_however_many_arms_were_set_aside(snapshot: SnapshotAssertion) -> None:
    given = Certificate(0.5, 0.25, 0.9, "oblivious", 0.1)
    assert eval(repr(given)) == given
    assert said(repr(given)) == snapshot
    many = replace(given, arms=3, excluded=tuple(f"arm {i}" for i in range(10_000)))
    assert "arms=3, excluded=('arm 0', 'arm 1'" in repr(many)
    assert repr(many).endswith(" and 9,992 more))")
    assert len(repr(many)) < 300
