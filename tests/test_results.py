"""What a result says, in every form that people and machines read it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from frontguard import Certificate, Result
from frontguard.errors import BadInput


def result(objectives: int = 2) -> Result:
    estimates = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [0.0, 0.0, 0.0], [2.9, 0.9, 1.9]])[:, :objectives]
    width = np.array([0.1, 0.2, 0.1, np.inf])[:, None]
    return Result(
        policy="R-PSI",
        status="certified",
        arms=("<b>a</b>", "b", "c", "d"),
        objectives=("speed", "quality", "price")[:objectives],
        verdict_codes=np.array([1, 1, 2, 3]),
        estimates=estimates,
        lower=estimates - width,
        upper=estimates + width,
        pulls_per_arm=np.array([10, 10, 5, 10]),
        decided_by=np.array([-1, -1, 1, 1]),
        certificate=Certificate(0.5, 0.25, 0.9, "oblivious", 0.1),
    )


def test_the_plain_values_follow_the_contract() -> None:
    values = json.loads(json.dumps(result().to_dict(), allow_nan=False))
    assert values["status"] == "certified"
    assert values["pareto_set"] == ["<b>a</b>", "b"]
    assert values["verdicts"] == {"<b>a</b>": "in", "b": "in", "c": "out", "d": "covered"}
    assert values["certificate"] == {
        "accuracy": 0.5, "coverage": 0.25, "confidence": 0.9, "threat": "oblivious", "contamination": 0.1,
        "void": "", "arms": None, "aside": [],
    }  # fmt: skip
    assert values["pulls"] == 35
    assert values["intervals"]["b"] == {"speed": [2.8, 3.2], "quality": [0.8, 1.2]}
    assert values["intervals"]["d"]["speed"] == [None, None]
    assert values["decided_by"] == {"c": "b", "d": "b"}


def test_the_repr_is_a_sentence_and_names_are_data_in_html() -> None:
    assert repr(result()) == (
        "<R-PSI result, certified: 2 in, 1 covered, 1 out of 4 arms after 35 pulls; set {<b>a</b>, b}>"
    )
    html = result()._repr_html_()
    assert "<b>a</b>" not in html
    assert "&lt;b&gt;a&lt;/b&gt;" in html


def test_the_frame_has_a_row_for_each_arm() -> None:
    frame = result().to_frame()
    assert list(frame.index) == ["<b>a</b>", "b", "c", "d"]
    assert frame.loc["c", "decided by"] == "b"
    assert frame.loc["b", "speed high"] == pytest.approx(3.2)


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_it_draws_itself(objectives: int, tmp_path: Path) -> None:
    path = tmp_path / "result.png"
    picture = result(objectives).plot(path)
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture.panels) == {1: 1, 2: 1, 3: 3}[objectives]
    assert len(picture.matplotlib().axes) == len(picture.panels)


def test_it_is_drawn_by_the_objectives_that_are_named() -> None:
    (panel,) = result(3).plot(x="price", y=0).panels
    assert (panel.x.title, panel.y.title) == ("price", "speed")
    with pytest.raises(BadInput, match="weight"):
        result(3).plot(x="weight", y=0)
