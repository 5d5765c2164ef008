"""Pairs of objectives, parallel coordinates, pulls of each arm, and the robustness profile."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import plot
from frontguard.demo.cases import analyze_reviews
from frontguard.errors import BadInput
from frontguard.objectives import Objective
from frontguard.plot.picture import VERDICTS, Band, Bars, Lines, Points, Rule, Spans
from frontguard.results import Profile
from frontguard.verdicts import Verdict
from tests.plot.made import BEATEN, KEEP, MATCHED, MEMORY, QUALITY, SECONDS, UNDECIDED, made_result, many_arms
from tests.support.snapshots import refused, said

THREE = (SECONDS, QUALITY, MEMORY)
VALUES = [[1.0, 3.0, 10.0], [2.0, 4.0, 30.0], [3.0, 2.0, 20.0], [1.5, 2.5, 25.0]]
CODES = [KEEP, KEEP, BEATEN, UNDECIDED]


def test_pairs_are_the_lower_triangle_of_a_matrix() -> None:
    picture = plot.pairs(made_result(VALUES, CODES, THREE))
    assert [[panel is not None for panel in row] for row in picture.rows] == [[True, False], [True, True]]
    wanted = {(0, 0): (0, 1), (1, 0): (0, 2), (1, 1): (1, 2)}
    for (row, column), (x, y) in wanted.items():
        panel = picture.rows[row][column]
        assert panel is not None
        for layer in panel.layers:
            if isinstance(layer, Points):
                for key, a, b in zip(layer.keys, layer.x, layer.y, strict=True):
                    assert (a, b) == pytest.approx((VALUES[key][x], VALUES[key][y]))
    lower_left = picture.rows[1][0]
    assert lower_left is not None
    assert (lower_left.x.title, lower_left.y.title) == ("seconds", "memory")
    upper, right = picture.rows[0][0], picture.rows[1][1]
    assert upper is not None
    assert right is not None
    assert (upper.x.title, upper.y.title, right.x.title, right.y.title) == ("", "quality", "quality", "")


def test_more_than_two_objectives_are_pairs_unless_two_are_chosen() -> None:
    result = made_result(VALUES, CODES, THREE)
    assert len(plot.front(result).panels) == 3
    assert len(plot.front(result, y="memory").panels) == 1


def test_more_than_five_objectives_are_left_out_and_named(snapshot: SnapshotAssertion) -> None:
    objectives = [Objective(f"metric {d}", "maximize") for d in range(7)]
    picture = plot.pairs(made_result(np.arange(14.0).reshape(2, 7), [KEEP, BEATEN], objectives))
    assert len(picture.panels) == 10
    assert said(picture.caption) == snapshot
    with refused(BadInput, snapshot):
        plot.pairs(made_result([[1.0]], [KEEP], (SECONDS,)))


def test_in_parallel_coordinates_better_is_up() -> None:
    picture = plot.parallel(made_result(VALUES, CODES, THREE))
    (panel,) = picture.panels
    heights = {
        key: row
        for layer in panel.layers
        if isinstance(layer, Lines)
        for key, row in zip(layer.keys, layer.y.tolist(), strict=True)
    }
    assert sorted(heights) == [0, 1, 2, 3]
    assert heights[0] == pytest.approx([1.0, 0.5, 1.0])  # quickest, middling quality, least memory
    assert heights[1] == pytest.approx([0.5, 1.0, 0.0])
    assert heights[2] == pytest.approx([0.0, 0.0, 0.5])
    assert panel.x.names == (
        "seconds (lower is better)",
        "quality (higher is better)",
        "memory (lower is better)",
    )
    ends = [layer.written for layer in panel.layers if isinstance(layer, Points) and layer.look.size < 1.0]
    assert ends == [("1", "4", "10"), ("3", "2", "30")]  # at the head, at the foot


def test_equal_values_stand_in_the_middle() -> None:
    picture = plot.parallel(made_result([[1.0, 2.0], [1.0, 3.0]], [KEEP, BEATEN]))
    for layer in picture.panels[0].layers:
        if isinstance(layer, Lines):
            assert (layer.y[:, 0] == 0.5).all()


def test_the_band_holds_four_fifths_of_those_not_drawn() -> None:
    result = many_arms(800, THREE)
    (panel,) = plot.parallel(result).panels
    (band,) = [layer for layer in panel.layers if isinstance(layer, Band)]
    rest = result.verdict_codes == BEATEN
    ends = [layer.written for layer in panel.layers if isinstance(layer, Points) and layer.look.size < 1.0]
    for d, objective in enumerate(THREE):
        head, foot = (float(texts[d].replace(",", "")) for texts in ends)
        heights = (result.estimates[:, d] - foot) / (head - foot)
        inside = (heights[rest] >= band.low[d] - 1e-3) & (heights[rest] <= band.high[d] + 1e-3)
        assert inside.mean() == pytest.approx(0.8, abs=0.01), objective


def bars_of(picture: plot.Picture) -> list[Bars]:
    return [layer for layer in picture.panels[0].layers if isinstance(layer, Bars)]


def test_pulls_of_few_arms_have_names_and_are_sorted() -> None:
    result = made_result(VALUES, CODES, THREE, names=["a", "b", "c", "d"], pulls=[5, 50, 20, 10])
    picture = plot.pulls(result)
    names = picture.panels[0].y.names
    assert names == ("b", "c", "d", "a")
    seen = {}
    for layer in bars_of(picture):
        for at, length, key in zip(layer.at, layer.high, layer.keys, strict=True):
            assert names[int(at)] == result.arms[key]
            assert layer.look == VERDICTS[Verdict(int(result.verdict_codes[key]))]
            seen[result.arms[key]] = length
    assert seen == {"a": 5.0, "b": 50.0, "c": 20.0, "d": 10.0}


@pytest.mark.parametrize("K", [41, 1000])
def test_of_many_arms_the_most_pulled_are_drawn(K: int) -> None:
    result = many_arms(K, few=7)
    picture = plot.pulls(result)
    shown = {key: length for layer in bars_of(picture) for key, length in zip(layer.keys, layer.high, strict=True)}
    assert len(shown) == len(picture.panels[0].y.names) == 40
    assert sorted(shown.values()) == sorted(result.pulls_per_arm.tolist())[-40:]
    assert f"Not drawn: {K - 40} arm" in picture.caption


def profile() -> Profile:
    return Profile(
        per_arm=np.array([0.3, 0.2, 0.45, np.nan]),
        front=0.201,
        levels=np.array([0.1, 0.2, 0.201, 0.3, 0.301, 0.499]),
        in_front=np.array([2, 2, 1, 1, 0, 0]),
        resolution=0.001,
    )


def test_robustness_shows_what_each_verdict_and_the_front_stand_up_to(snapshot: SnapshotAssertion) -> None:
    result = made_result(VALUES, CODES, THREE)
    (arms,) = plot.robustness(result, profile()).panels
    assert [layer.at for layer in arms.layers if isinstance(layer, Rule)] == [0.1, 0.201]
    assert said(arms.note) == snapshot
    assert arms.y.names == ("arm 1", "arm 0", "arm 2")  # the front, the most fragile first; the undecided has none
    spans = {
        key: (low, high, at)
        for layer in arms.layers
        if isinstance(layer, Spans)
        for key, low, high, at in zip(layer.keys, layer.low, layer.high, layer.at, strict=True)
    }
    assert spans == {1: (0.1, 0.2, 0.0), 0: (0.1, 0.3, 1.0), 2: (0.1, 0.45, 2.0)}


@pytest.mark.parametrize(("changes", "rules"), [(0.17, 2), (0.5, 1), (np.nan, 1)])
def test_a_rule_stands_where_the_answer_changes(changes: float, rules: int, snapshot: SnapshotAssertion) -> None:
    (panel,) = plot.robustness(made_result(VALUES, CODES, THREE), replace(profile(), front=changes)).panels
    assert len([layer for layer in panel.layers if isinstance(layer, Rule)]) == rules
    assert said(panel.note) == snapshot


def test_robustness_takes_the_analysis_own_profile_and_refuses_to_guess(snapshot: SnapshotAssertion) -> None:
    found = analyze_reviews().analysis
    assert found.log.profile is not None
    arms = plot.robustness(found).panels[0]
    (first, *_) = arms.y.names
    assert found.holds_up_to[first] == pytest.approx(min(found.holds_up_to[name] for name in found.pareto_set))
    with refused(BadInput, snapshot):
        plot.robustness(made_result(VALUES, CODES, THREE))
    with refused(BadInput, snapshot):
        plot.robustness(found, profile())


def test_robustness_of_many_arms_shows_the_fragile_ones() -> None:
    K = 300
    result = made_result(np.ones((K, 2)), [KEEP] * 60 + [BEATEN] * 200 + [MATCHED] * 40)
    stands = np.linspace(0.49, 0.11, K)
    many = Profile(stands, 0.2, np.array([0.1, 0.2]), np.array([60, 59]), 0.001)
    panel = plot.robustness(result, many).panels[0]
    front = sorted(range(60), key=lambda i: stands[i])[:40]
    others = sorted(range(60, K), key=lambda i: stands[i])[:30]
    assert panel.y.names == tuple(f"arm {i}" for i in front + others)
