"""Every picture can be drawn by every renderer, whatever names are; nothing is imported before it is used."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from syrupy.assertion import SnapshotAssertion

import frontguard
from frontguard import plot
from frontguard.objectives import Objective
from frontguard.plot.picture import Picture
from frontguard.results import Certificate, Intervals, Profile
from frontguard.studies.follow import History, Moment, Rate
from tests.conftest import ROOT
from tests.plot.made import BEATEN, KEEP, UNDECIDED, made_history, made_measurements, made_result, many_arms
from tests.plot.test_experiments import ROWS
from tests.support.snapshots import refused

Floats = npt.NDArray[np.float64]

HOSTILE = ["<script>alert(1)</script>", "$\\frac{1}{0}$", "a\nb\x00\u202e", "]]>&amp;\"'", "{count} %s 日本 🐫", ""]
OBJECTIVES = (
    Objective("<b>seconds</b> $x_1$", "minimize", "5%"),
    Objective("quality\n\u202e{0}", "maximize", 0.1),
    Objective("&lt;memory", "minimize", 2.0),
)


def hostile_result(M: int) -> frontguard.Answer:
    rng = np.random.default_rng(0)
    values = np.exp(rng.normal(0.0, 0.3, (6, M)))
    return made_result(values, [KEEP, KEEP, UNDECIDED, BEATEN, BEATEN, KEEP], OBJECTIVES[:M], names=HOSTILE)


def hostile_history() -> History:
    plain = made_history(arms=6, objectives=OBJECTIVES[:2])
    return History(tuple(HOSTILE), plain.objectives, plain.moments)


def robustness() -> Picture:
    stands = np.array([0.3, 0.2, np.nan, 0.4, 0.25, 0.1])
    profile = Profile(stands, 0.11, np.array([0.1, 0.11, 0.49]), np.array([3, 2, 0]), 0.01)
    return plot.robustness(hostile_result(2), profile)


def measurements() -> Picture:
    values = np.exp(np.random.default_rng(1).normal(0.0, 0.3, (60, 2)))
    values[7], values[9, 1] = np.nan, 1e9
    measured = made_measurements(
        values, OBJECTIVES[:2], name=HOSTILE[0], reasons=(HOSTILE[2],) * 60, workers=(HOSTILE[3],) * 60
    )
    return plot.measurements(measured, hostile_history(), contamination=0.1)


PICTURES: dict[str, Callable[[], Picture]] = {
    "front of one": lambda: plot.front(hostile_result(1)),
    "front of two": lambda: plot.front(hostile_result(2)),
    "front of three": lambda: plot.front(hostile_result(3)),
    "front of many": lambda: plot.front(many_arms(400)),
    "list of many": lambda: plot.front(many_arms(400, OBJECTIVES[:1])),
    "parallel": lambda: plot.parallel(hostile_result(3)),
    "parallel of many": lambda: plot.parallel(many_arms(400, OBJECTIVES)),
    "pulls": lambda: plot.pulls(hostile_result(2)),
    "pulls of many": lambda: plot.pulls(many_arms(400)),
    "robustness": robustness,
    "forest": lambda: plot.forest(hostile_result(3), HOSTILE[2]),
    "forest of many": lambda: plot.forest(many_arms(400), many_arms(400).arms[3]),
    "shrinking": lambda: plot.shrinking(hostile_history()),
    "certainty": lambda: plot.certainty(hostile_history(), pulls_left=500),
    "rate": lambda: plot.rate(Rate(1.7e9 + 60.0 * np.arange(4.0), np.array([4, 5, 6]), np.array([0, 1, 0]))),
    "measurements": measurements,
    "sample complexity": lambda: plot.sample_complexity(ROWS),
    "nothing measured": lambda: plot.front(made_result([[np.nan, np.nan]] * 3, [UNDECIDED] * 3, OBJECTIVES[:2])),
    "nothing to certify": lambda: plot.certainty(made_history(objectives=(Objective("points", "maximize"),))),
}


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_becomes_svg(name: str) -> None:
    picture = PICTURES[name]()
    tree = ET.fromstring(picture.svg().markup())
    assert tree.tag.endswith("svg")
    assert not [node for node in tree.iter() if node.tag.endswith("script")]
    assert 0 < len(picture.description) <= 600
    assert picture.caption


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_drawn_on_paper_and_on_the_screen(name: str) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    picture = PICTURES[name]()
    figure = picture.matplotlib()
    figure.canvas.draw()
    assert len(figure.axes) >= len(picture.panels)
    assert picture.plotly().to_json()


def test_modules_do_not_hide_the_functions(snapshot: SnapshotAssertion) -> None:
    for name in plot.__all__:
        assert callable(getattr(plot, name)), name
    with refused(AttributeError, snapshot):
        plot.nonsense  # noqa: B018


def test_importing_frontguard_imports_no_pictures() -> None:
    code = (
        "import sys, frontguard; before = [m for m in sys.modules if m.startswith(('frontguard.plot', 'matplotlib'))];"
        "frontguard.plot; frontguard.plot.front;"
        "print(before, 'matplotlib' in sys.modules, 'plotly' in sys.modules, callable(frontguard.plot.front))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "[] False False True"


VALUES = st.sampled_from(
    [0.0, 1.0, -1.0, 5e-324, 1e-300, 1e300, 1.7e308, -1.7e308, 0.5, 700.0, np.inf, -np.inf, np.nan]
)


@given(
    estimates=arrays(np.float64, (5, 2), elements=VALUES),
    ends=arrays(np.float64, (2, 5, 2), elements=VALUES),
    codes=st.lists(st.integers(0, 3), min_size=5, max_size=5),
    metrics=st.sampled_from([(), OBJECTIVES[:2], OBJECTIVES[1:]]),
)
@settings(max_examples=15, deadline=None)
def test_no_number_is_too_strange(
    estimates: Floats, ends: Floats, codes: list[int], metrics: tuple[Objective, ...]
) -> None:
    low, high = np.fmin(*ends), np.fmax(*ends)
    result = frontguard.Answer(
        "certified", "running", tuple(HOSTILE[:5]), ("a", "b"), np.array(codes), Intervals(estimates, low, high),
        np.arange(5), np.full(5, -1), Certificate(1.0, 1.0, 0.95, "prescient", 0.1), metrics=metrics,
    )  # fmt: skip
    moment = Moment(9, 0.0, np.arange(5), np.array(codes), estimates, low, high, np.abs(estimates[0]))
    history = History(result.arms, OBJECTIVES[:2], (moment, replace(moment, pulls=90)))
    values = np.where(np.isfinite(estimates), np.abs(estimates), np.nan)
    values[values == 0.0] = np.nan
    for picture in (
        plot.front(result),
        plot.pairs(result),
        plot.parallel(result),
        plot.pulls(result),
        plot.shrinking(history),
        plot.certainty(history, 1000),
        plot.measurements(made_measurements(values, OBJECTIVES[:2]), history),
    ):
        ET.fromstring(picture.svg().markup())


def test_the_examples_of_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    text = (ROOT / "docs" / "pictures.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(examples) == 3
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, "docs/pictures.md", "exec"), names)
    assert (tmp_path / "front.png").stat().st_size > 10_000
    ET.parse(tmp_path / "front.svg")
    documented = set(re.findall(r"plot\.(\w+)\(", text))
    assert documented == set(plot.__all__) - {"Picture"}
