"""The front in pictures: marks, boxes, what is beaten, who is named, and who is only counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import RPSI, Prescient, Subgaussian, plot
from frontguard.errors import BadInput
from frontguard.objectives import Objective
from frontguard.plot.frames import limits
from frontguard.plot.fronts import FOOLED, beaten_region, read
from frontguard.plot.picture import VERDICTS, Boxes, Picture, Points, Region, Spans
from frontguard.results import Answer
from frontguard.verdicts import Verdict
from tests.plot.made import BEATEN, KEEP, MATCHED, MEMORY, POINTS, QUALITY, SECONDS, UNDECIDED, made_result
from tests.support.snapshots import refused, said
from tests.words.results import of_log

Floats = npt.NDArray[np.float64]

VALUES = [[1.0, 3.0], [2.0, 4.0], [3.0, 2.0], [1.1, 3.0], [1.5, 3.4]]
CODES = [KEEP, KEEP, BEATEN, MATCHED, UNDECIDED]


def marks(picture: Picture, panel: int = 0) -> dict[int, tuple[str, float, float]]:
    """Arm → (label of its look, x, y), rings left aside; each arm may be marked once."""
    found: dict[int, tuple[str, float, float]] = {}
    for layer in picture.panels[panel].layers:
        if isinstance(layer, Points) and layer.look is not FOOLED:
            for key, x, y in zip(layer.keys, layer.x, layer.y, strict=True):
                assert key not in found
                found[key] = (layer.look.label, float(x), float(y))
    return found


def boxes(picture: Picture, panel: int = 0) -> dict[int, tuple[float, float, float, float]]:
    """Arm → (lowest x, highest x, lowest y, highest y)."""
    return {
        key: (float(a), float(b), float(c), float(d))
        for layer in picture.panels[panel].layers
        if isinstance(layer, Boxes)
        for key, a, b, c, d in zip(layer.keys, layer.x_low, layer.x_high, layer.y_low, layer.y_high, strict=True)
    }


def as_analysis(result: Answer, mean_front: list[bool]) -> Answer:
    return replace(result, log=of_log(len(result.arms), mean_front=np.array(mean_front)))


def test_every_arm_has_its_box_and_its_verdicts_mark_at_its_estimate() -> None:
    result = made_result(VALUES, CODES)
    picture = plot.front(result)
    shown, drawn = marks(picture), boxes(picture)
    for i, name in enumerate(result.arms):
        look, x, y = shown[i]
        assert look == VERDICTS[Verdict(CODES[i])].label
        assert (x, y) == pytest.approx(tuple(VALUES[i]))
        ends = result.intervals[name]
        assert drawn[i] == pytest.approx((*ends["seconds"], *ends["quality"]))
    assert {look.label for look in picture.legend} == {VERDICTS[Verdict(code)].label for code in CODES}
    assert (picture.panels[0].x.title, picture.panels[0].x.better) == ("seconds", "lower")
    assert (picture.panels[0].y.title, picture.panels[0].y.better) == ("quality", "higher")


def test_a_hint_says_name_verdict_values_and_pulls(snapshot: SnapshotAssertion) -> None:
    layers = plot.front(made_result(VALUES, CODES)).panels[0].layers
    hints = {
        k: h for layer in layers if isinstance(layer, Points) for k, h in zip(layer.keys, layer.hints, strict=True)
    }
    assert said(hints[3]) == snapshot


def test_names_stand_beside_the_front_and_few_undecided() -> None:
    layers = plot.front(made_result(VALUES, CODES)).panels[0].layers
    written = {name for layer in layers if isinstance(layer, Points) for name in layer.written}
    assert written == {"arm 0", "arm 1", "arm 4"}
    crowd = made_result(np.ones((50, 2)) + np.arange(50)[:, None] / 50.0, [KEEP] * 30 + [UNDECIDED] * 20)
    assert not any(layer.written for layer in plot.front(crowd).panels[0].layers if isinstance(layer, Points))


def test_what_is_not_known_is_infinite_and_of_nothing_there_is_no_box() -> None:
    result = made_result(VALUES, CODES)
    lower, upper = result.inner.lower.copy(), result.inner.upper.copy()
    lower[1] = -np.inf  # inner values: seconds without an upper end, quality without a lower one
    lower[2], upper[2] = -np.inf, np.inf
    upper[0, 0] = np.inf  # seconds as low as 0: also "not known", since ratios are compared
    opened = replace(result, inner=replace(result.inner, lower=lower, upper=upper))
    drawn = boxes(plot.front(opened))
    assert drawn[1][1] == np.inf
    assert drawn[1][2] == -np.inf
    assert np.isfinite(drawn[1][0])
    assert drawn[0][0] == -np.inf
    assert 2 not in drawn


def test_a_box_that_reaches_too_far_does_not_squash_the_others() -> None:
    result = made_result(VALUES, CODES)
    upper = result.inner.upper.copy()
    upper[4, 1] = 1e9  # an attacker's value
    wild = replace(result, inner=replace(result.inner, upper=upper))
    axis = plot.front(wild).panels[0].y
    assert axis.high is not None
    assert 4.0 < axis.high < 10.0


def wholly_seen(picture: Picture, panel: int = 0) -> set[int]:
    """Arms of whose boxes nothing is cut off."""
    (x_low, x_high), (y_low, y_high) = limits(picture.panels[panel])
    return {
        key
        for key, (a, b, c, d) in boxes(picture, panel).items()
        if x_low <= a and b <= x_high and y_low <= c and d <= y_high
    }


def with_bounds(result: Answer, low: Floats, high: Floats) -> Answer:
    """The same result with boxes (K, M) in units that are inner values, too."""
    assert all(metric.minimized is False and not metric.relative for metric in result.metrics)
    return replace(result, inner=replace(result.inner, lower=low, upper=high))


BOTH = (POINTS, QUALITY)


@pytest.mark.parametrize("code", [BEATEN, MATCHED, UNDECIDED, KEEP])
@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_one_wide_box_takes_no_room_from_the_others(code: int, objectives: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.uniform(0.0, 10.0, (12, objectives))
    values[0], values[1] = 0.0, 10.0
    metrics = (POINTS, QUALITY, Objective("yield", "maximize", 0.1))[:objectives]
    result = made_result(values, [KEEP] * 11 + [code], metrics, half=0.3)
    low, high = result.lower.copy(), result.upper.copy()
    high[11] = 1650.0
    picture = plot.front(with_bounds(result, low, high))
    for number, panel in enumerate(picture.panels):
        axes = limits(panel)[:1] if objectives == 1 else limits(panel)
        for start, end in axes:
            assert start < -0.3
            assert end > 10.3
            assert 10.0 / (end - start) > 0.7
        if objectives > 1:
            assert wholly_seen(picture, number) == set(range(11))


def test_boxes_within_reach_are_seen_whole() -> None:
    result = made_result(np.array([[0.0, 0.0], [10.0, 10.0], [5.0, 5.0]]), [KEEP, KEEP, UNDECIDED], BOTH, half=0.5)
    high = result.upper.copy()
    high[2] = 20.0
    assert wholly_seen(plot.front(with_bounds(result, result.lower, high))) == {0, 1, 2}


numbers = st.floats(-100.0, 100.0).map(lambda value: round(value, 3))


@given(
    rows=st.lists(
        st.tuples(numbers, numbers, st.floats(0.01, 1e4), st.sampled_from([KEEP, BEATEN, UNDECIDED, MATCHED])),
        min_size=1,
        max_size=25,
    ),
    far=st.sampled_from([1.0, 1e3, 1e7]),
)
def test_who_is_not_out_is_seen_and_has_a_third_of_each_axis(
    rows: list[tuple[float, float, float, int]], far: float
) -> None:
    values = np.array([row[:2] for row in rows])
    half = np.array([row[2] for row in rows])[:, None]
    codes = [row[3] for row in rows]
    values[np.array(codes) == BEATEN] *= far
    result = made_result(values, codes, BOTH)
    picture = plot.front(with_bounds(result, values - half, values + half))
    frame = limits(picture.panels[0])
    matter = [tuple(row) for row, code in zip(values.tolist(), codes, strict=True) if code != BEATEN]
    for d, (low, high) in enumerate(frame):
        for row in matter:
            assert low <= row[d] <= high
        if len(matter) == len(rows) and len({row[d] for row in matter}) > 1 and min(row[d] for row in matter) <= 0.0:
            taken = max(row[d] for row in matter) - min(row[d] for row in matter)
            assert taken / (high - low) > 1.0 / 3.0 / 1.11
    not_seen = sum(
        not all(low <= v <= high for v, (low, high) in zip(row, frame, strict=True)) for row in values.tolist()
    )
    assert (f"{not_seen} beaten arm" in picture.caption and "beyond the edge." in picture.caption) == (not_seen > 0)


def test_one_arm_that_is_out_and_far_away_takes_no_room_from_the_others(snapshot: SnapshotAssertion) -> None:
    rng = np.random.default_rng(5)
    for K in (3, 5, 12, 60):
        values = rng.uniform(1.0, 10.0, (K, 2))
        values[-1] = [-220.0, -1650.0]
        picture = plot.front(made_result(values, [KEEP, UNDECIDED] + [BEATEN] * (K - 2), BOTH))
        for d, (low, high) in enumerate(limits(picture.panels[0])):
            rest = values[:-1, d]
            assert low < rest.min()
            assert rest.max() < high
            assert np.ptp(rest) / (high - low) > 0.3
        assert said(picture.caption) == snapshot


@pytest.mark.parametrize(
    ("objective", "factor", "scale"),
    [(MEMORY, 49.0, "linear"), (MEMORY, 51.0, "log"), (SECONDS, 19.0, "linear"), (SECONDS, 21.0, "log")],
)
def test_an_axis_is_logarithmic_where_values_differ_by_factors(objective: Objective, factor: float, scale: str) -> None:
    result = made_result([[1.0, 1.0], [factor, 2.0]], [KEEP, BEATEN], (objective, QUALITY))
    assert plot.front(result).panels[0].x.scale == scale
    assert plot.front(result).panels[0].y.scale == "linear"


def test_values_that_are_not_positive_have_a_linear_axis() -> None:
    result = made_result([[-1.0, 1.0], [500.0, 2.0]], [KEEP, BEATEN], (MEMORY, QUALITY))
    assert plot.front(result).panels[0].x.scale == "linear"


def test_arms_that_are_out_and_far_away_are_counted_beyond_the_edge(snapshot: SnapshotAssertion) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(0.0, 1.0, (30, 2))
    values[7] = -1e6
    result = made_result(values, [KEEP] + [BEATEN] * 29, (POINTS, QUALITY))
    picture = plot.front(result)
    assert picture.panels[0].x.low is not None
    assert picture.panels[0].x.low > -30.0
    assert said(picture.caption) == snapshot
    values[7] = 0.0
    assert "out lies beyond" not in plot.front(made_result(values, [KEEP] + [BEATEN] * 29, (POINTS, QUALITY))).caption


# What is beaten -------------------------------------------------------------------------------------------------------


def inside(polygon: Floats, x: float, y: float) -> bool:
    """Even-odd rule; infinite corners are far away."""
    corners = np.clip(polygon, -1e6, 1e6).tolist()
    odd = False
    for (x1, y1), (x2, y2) in zip(corners, corners[1:] + corners[:1], strict=True):
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) / (y2 - y1) * (x2 - x1):
            odd = not odd
    return odd


coordinates = st.integers(-4, 4).map(float)


@given(
    points=st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=7),
    codes=st.lists(st.sampled_from([KEEP, BEATEN, UNDECIDED, MATCHED]), min_size=7, max_size=7),
    minimized=st.tuples(st.booleans(), st.booleans()),
)
def test_the_region_is_what_some_arm_of_the_front_beats(
    points: list[tuple[float, float]], codes: list[int], minimized: tuple[bool, bool]
) -> None:
    objectives = [Objective(n, "minimize" if m else "maximize") for n, m in zip("ab", minimized, strict=True)]
    result = made_result(points, codes[: len(points)], objectives)
    region = beaten_region(read(result), 0, 1)
    front = [point for point, code in zip(points, codes, strict=False) if code == KEEP]
    if not front:
        assert region is None
        return
    assert region is not None
    polygon = np.stack([region.x, region.y], axis=1)

    def worse(a: float, b: float, less_is_better: bool) -> bool:
        return a > b if less_is_better else a < b

    off_the_edges = np.arange(-5.5, 6.0, 1.0).tolist()
    for x in off_the_edges:
        for y in off_the_edges:
            beaten = any(worse(x, a, minimized[0]) and worse(y, b, minimized[1]) for a, b in front)
            assert inside(polygon, x, y) == beaten, (x, y)


def test_no_region_without_a_front_or_with_more_objectives() -> None:
    def has_region(picture: Picture) -> bool:
        return any(isinstance(layer, Region) for layer in picture.panels[0].layers)

    assert has_region(plot.front(made_result(VALUES, CODES)))
    assert not has_region(plot.front(made_result(VALUES, [BEATEN, UNDECIDED, BEATEN, BEATEN, UNDECIDED])))
    three = made_result([[*row, 1.0] for row in VALUES], CODES, (SECONDS, QUALITY, MEMORY))
    assert not has_region(plot.front(three, "seconds", "quality"))


# Who is meant ---------------------------------------------------------------------------------------------------------


def test_arms_with_the_same_estimates_are_drawn_beside_each_other() -> None:
    picture = plot.front(
        made_result([[4.0, 4.0]] * 3 + [[5.0, 3.0]], [KEEP, MATCHED, MATCHED, BEATEN], (POINTS, QUALITY))
    )
    shown = marks(picture)
    assert len({(x, y) for _, x, y in shown.values()}) == 4
    for i in range(3):
        assert np.hypot(shown[i][1] - 4.0, shown[i][2] - 4.0) < 0.1
    assert shown[3][1:] == (5.0, 3.0)
    assert len(boxes(picture)) == 3  # the covered ones have the same box: it is drawn once


def test_rings_around_those_that_means_would_have_returned_but_which_are_out(snapshot: SnapshotAssertion) -> None:
    found = as_analysis(made_result(VALUES, CODES), [True, False, True, True, False])
    picture = plot.front(found)
    rings = [layer for layer in picture.panels[0].layers if isinstance(layer, Points) and layer.look is FOOLED]
    assert [layer.keys for layer in rings] == [(2,)]
    assert FOOLED in picture.legend
    assert said(picture.caption) == snapshot
    honest = plot.front(as_analysis(made_result(VALUES, CODES), [True, True, False, True, False]))
    assert FOOLED not in honest.legend


@pytest.mark.parametrize("name", ["broken", "it's", "x was excluded: y", "a\nb"])
def test_arms_set_aside_are_counted_and_not_drawn(name: str, snapshot: SnapshotAssertion) -> None:
    names = ["a", "b", name, "d", "e"]
    codes = [*CODES[:2], Verdict.EXCLUDED, *CODES[3:]]
    picture = plot.front(made_result(VALUES, codes, names=names))
    assert set(marks(picture)) == {0, 1, 3, 4}
    assert said(picture.caption) == snapshot
    assert set(marks(plot.front(made_result(VALUES, CODES, names=names)))) == {0, 1, 2, 3, 4}


def test_arms_without_an_estimate_are_counted(snapshot: SnapshotAssertion) -> None:
    picture = plot.front(made_result([*VALUES, [np.nan, 1.0]], [*CODES, UNDECIDED]))
    assert 5 not in marks(picture)
    assert said(picture.caption) == snapshot


def test_a_result_in_inner_values_is_better_higher() -> None:
    policy = RPSI(3, 2, threat=Prescient(0.1), spread=Subgaussian(0.1), accuracy=0.5)
    asked = policy.ask()
    policy.tell(asked, np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 0.0]])[asked])
    panel = plot.front(policy.result(["x", "y", "z"], ["a", "b"])).panels[0]
    assert (panel.x.better, panel.y.better) == ("higher", "higher")


def test_objectives_are_chosen_by_name_or_number() -> None:
    three = made_result([[*row, float(i)] for i, row in enumerate(VALUES)], CODES, (SECONDS, QUALITY, MEMORY))
    for x, y in (("memory", "seconds"), (2, 0), (2, "seconds")):
        panel = plot.front(three, x, y).panels[0]
        assert (panel.x.title, panel.y.title) == ("memory", "seconds")
    assert plot.front(three, x="quality").panels[0].y.title == "seconds"
    assert plot.front(three, y=0).panels[0].x.title == "quality"
    assert plot.front(three, x=0).panels[0].y.title == "quality"


@pytest.mark.parametrize(("x", "y"), [("nonsense", None), (5, None), (-1, None), (None, "quality "), (True, None)])
def test_other_objectives_are_refused(x: str | int | None, y: str | int | None, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        plot.front(made_result(VALUES, CODES), x, y)
    with refused(BadInput, snapshot):
        plot.front(made_result(VALUES, CODES), 0, "seconds")


def test_one_objective_is_a_list_with_the_best_first() -> None:
    result = made_result(
        [[3.0], [1.0], [2.0]], [BEATEN, KEEP, UNDECIDED], (SECONDS,), names=["slow", "fast", "middling"]
    )
    panel = plot.front(result).panels[0]
    assert panel.y.names == ("fast", "middling", "slow")
    assert panel.y.reverse
    low, high = result.lower, result.upper
    for layer in panel.layers:
        if isinstance(layer, Spans):
            for at, a, b, key in zip(layer.at, layer.low, layer.high, layer.keys, strict=True):
                assert panel.y.names[int(at)] == result.arms[key]
                assert (a, b) == (low[key, 0], high[key, 0])
    reverse = made_result([[3.0], [1.0], [2.0]], [KEEP, BEATEN, BEATEN], (POINTS,), names=["top", "bottom", "middle"])
    assert plot.front(reverse).panels[0].y.names == ("top", "middle", "bottom")


def test_descriptions_say_what_lies_where_and_stay_short(snapshot: SnapshotAssertion) -> None:
    told = plot.front(made_result(VALUES, CODES)).description
    assert said(told) == snapshot
    wordy = made_result(VALUES, CODES, names=[f"{i}" + "long name\n" * 1000 for i in range(5)])
    for picture in (plot.front(wordy), plot.parallel(wordy), plot.pulls(wordy)):
        assert 0 < len(picture.description) <= 600
        hints = [h for panel in picture.panels for layer in panel.layers for h in getattr(layer, "hints", ())]
        assert hints
        assert all(len(hint) < 300 and "\n" not in hint for hint in hints)
