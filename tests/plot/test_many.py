"""Many arms: who matters is drawn, all others are counted, and none is lost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import plot
from frontguard.plot.frames import limits
from frontguard.plot.fronts import ALL, CELLS, MOST, choose, read
from frontguard.plot.picture import UNDECIDED as UNDECIDED_LOOK
from frontguard.plot.picture import Boxes, Density, Lines, Picture, Points
from frontguard.results import Answer
from frontguard.verdicts import Verdict
from tests.plot.made import BEATEN, KEEP, MATCHED, MEMORY, POINTS, QUALITY, SECONDS, UNDECIDED, made_result, many_arms
from tests.support.snapshots import said

Floats = npt.NDArray[np.float64]


def drawn(picture: Picture) -> set[int]:
    return {key for layer in picture.panels[0].layers if isinstance(layer, Points) for key in layer.keys}


def densities_of(picture: Picture, panel: int = 0) -> dict[str, Density]:
    """By their labels."""
    return {layer.look.label: layer for layer in picture.panels[panel].layers if isinstance(layer, Density)}


def density_of(picture: Picture, panel: int = 0) -> Density:
    (found,) = densities_of(picture, panel).values()
    return found


def within(picture: Picture, values: Floats, panel: int = 0) -> npt.NDArray[np.bool_]:
    """Which rows (x, y) lie on the panel."""
    (x_low, x_high), (y_low, y_high) = limits(picture.panels[panel])
    return np.array([x_low <= x <= x_high and y_low <= y <= y_high for x, y in values.tolist()], np.bool_)


def boxed(picture: Picture) -> set[int]:
    return {key for layer in picture.panels[0].layers if isinstance(layer, Boxes) for key in layer.keys}


def test_up_to_some_arms_all_are_drawn() -> None:
    everyone = plot.front(many_arms(ALL))
    assert drawn(everyone) == set(range(ALL))
    assert not any(isinstance(layer, Density) for layer in everyone.panels[0].layers)
    more = many_arms(ALL + 1)
    one_more = plot.front(more)
    assert len(drawn(one_more)) == 60
    seen = within(one_more, more.estimates) & (more.verdict_codes == BEATEN)
    assert density_of(one_more).counts.sum() == seen.sum() > ALL - 70


def test_of_a_thousand_the_front_is_drawn_in_full_and_the_rest_counted(snapshot: SnapshotAssertion) -> None:
    result = many_arms(1000)
    picture = plot.front(result)
    expected = {i for i, code in enumerate(result.verdict_codes.tolist()) if code != BEATEN}
    assert drawn(picture) == expected
    assert boxed(picture) == expected
    density = density_of(picture)
    assert density.counts.shape == CELLS
    assert density.counts.size < 1500
    assert within(picture, result.estimates).all()
    assert density.counts.sum() == 940
    assert said("\n".join(look.label for look in picture.legend)) == snapshot


@pytest.mark.parametrize("spread", [0.3, 2.0], ids=["linear", "log"])
def test_the_cells_hold_what_lies_in_them(spread: float) -> None:
    rng = np.random.default_rng(3)
    values = np.exp(rng.normal(0.0, spread, (500, 2)))
    result = made_result(values, [KEEP] + [BEATEN] * 499, (MEMORY, QUALITY))
    picture = plot.front(result)
    assert picture.panels[0].x.scale == ("log" if spread == 2.0 else "linear")
    density = density_of(picture)
    x, y = density.x_edges, density.y_edges
    assert (np.diff(x) > 0.0).all()
    assert x[0] >= limits(picture.panels[0])[0][0]
    for i in range(CELLS[0]):
        for j in range(CELLS[1]):
            last_x, last_y = i == CELLS[0] - 1, j == CELLS[1] - 1
            naive = sum(
                (x[i] <= a < x[i + 1] or (last_x and a == x[i + 1]))
                and (y[j] <= b < y[j + 1] or (last_y and b == y[j + 1]))
                for a, b in values[1:].tolist()
            )
            assert density.counts[i, j] == naive, (i, j)
        if i == 8:
            break  # some columns are enough
    assert density.counts.sum() == within(picture, values[1:]).sum() > 480


def test_arms_beyond_the_edge_are_in_no_cell_but_counted(snapshot: SnapshotAssertion) -> None:
    rng = np.random.default_rng(0)
    values = rng.uniform(-1.0, 1.0, (300, 2))
    values[5], values[6] = [-1e9, 0.0], [0.0, -1e9]
    picture = plot.front(made_result(values, [KEEP] + [BEATEN] * 299, (POINTS, QUALITY)))
    density = density_of(picture)
    assert density.counts.sum() == 297
    assert density.x_edges[0] >= -1.0
    assert density.counts.max() < 10  # no pile at the edge
    assert said(picture.caption) == snapshot


def test_all_others_beyond_the_edge_leave_an_empty_density(snapshot: SnapshotAssertion) -> None:
    values = np.concatenate([np.linspace(0.0, 1.0, 110)[:, None] * [1.0, -1.0], np.full((12, 2), -1e6)])
    picture = plot.front(made_result(values, [KEEP] * 110 + [BEATEN] * 12, (POINTS, QUALITY)))
    assert density_of(picture).counts.sum() == 0
    assert said(picture.caption) == snapshot
    assert picture.svg().markup()
    assert picture.plotly().data
    assert picture.matplotlib().axes


def test_never_more_marks_than_can_be_told_apart(snapshot: SnapshotAssertion) -> None:
    codes = [KEEP] * 150 + [UNDECIDED] * 400 + [MATCHED] * 100 + [BEATEN] * 350
    values = np.random.default_rng(1).uniform(1.0, 2.0, (1000, 2))
    picture = plot.front(made_result(values, codes))
    shown = [codes[i] for i in drawn(picture)]
    assert [shown.count(code) for code in (KEEP, UNDECIDED, MATCHED, BEATEN)] == [150, 60, 60, 0]
    dropped, covered, undecided = densities_of(picture).values()
    assert (dropped.counts.sum(), covered.counts.sum(), undecided.counts.sum()) == (350, 40, 340)
    assert undecided.look.colour == UNDECIDED_LOOK.colour != dropped.look.colour
    assert {dropped.look.label, undecided.look.label} <= {look.label for look in picture.legend}
    assert said(f"{dropped.look.label}\n{undecided.look.label}") == snapshot
    sizes = {layer.look.size for layer in picture.panels[0].layers if isinstance(layer, Points)}
    usual = {
        layer.look.size for layer in plot.front(many_arms(30, few=5)).panels[0].layers if isinstance(layer, Points)
    }
    assert max(sizes) < min(usual)
    crowd = plot.front(made_result(values, [KEEP] * 1000))
    assert len(drawn(crowd)) == MOST[Verdict.KEEP]
    assert said(density_of(crowd).look.label) == snapshot


def marks_within(result: Answer, i: int, marks: set[int]) -> int:
    """How many other marks lie in an arm's box, counted one by one."""
    low, high = result.lower, result.upper
    return sum(all(low[i, d] <= result.estimates[j, d] <= high[i, d] for d in (0, 1)) for j in marks - {i})


@pytest.mark.parametrize("half", [0.005, 0.4], ids=["small boxes", "large boxes"])
def test_boxes_are_drawn_where_they_do_not_hide_marks(half: float) -> None:
    values = np.random.default_rng(3).uniform(1.0, 2.0, (1000, 2))
    codes = [KEEP] * 40 + [UNDECIDED] * 40 + [MATCHED] * 20 + [BEATEN] * 900
    result = made_result(values, codes, half=half)
    picture = plot.front(result)
    crowding = np.mean([marks_within(result, i, set(range(100))) for i in range(100)])
    if half < 0.1:
        assert crowding < 1.0
        assert boxed(picture) == set(range(100))
    else:
        assert crowding > 10.0
        assert boxed(picture) == set()
    few = plot.front(made_result(values, [KEEP] * 12 + [UNDECIDED] * 88 + [BEATEN] * 900, half=half))
    assert boxed(few) >= set(range(12))  # few on the front always have theirs


def test_where_there_is_no_room_for_all_the_best_are_drawn() -> None:
    values = np.random.default_rng(2).random((2000, 2)) + 0.5
    result = made_result(values, [UNDECIDED] * 2000)
    full = choose(read(result), np.ones(2000, np.bool_)).full
    assert full.sum() == MOST[Verdict.UNDECIDED]
    assert full[values[:, 0].argmin()]  # the quickest
    assert full[values[:, 1].argmax()]  # the best
    beaten_by = [(values[:, 0] < a) & (values[:, 1] > b) for a, b in values[full]]
    others = [(values[:, 0] < a) & (values[:, 1] > b) for a, b in values[~full]]
    assert np.mean([mask.sum() for mask in beaten_by]) < 0.2 * np.mean([mask.sum() for mask in others])


def test_the_same_arms_are_chosen_when_little_changes() -> None:
    values = np.random.default_rng(4).random((1000, 2)) + 0.5
    before = choose(read(made_result(values, [UNDECIDED] * 1000)), np.ones(1000, np.bool_)).full
    values[17] *= 1.0001
    after = choose(read(made_result(values, [UNDECIDED] * 1000)), np.ones(1000, np.bool_)).full
    assert (before != after).sum() <= 2


def as_list(K: int) -> tuple[Answer, Picture]:
    result = many_arms(K, (SECONDS,), few=5)
    return result, plot.front(result)


def test_a_long_list_ends_with_a_line_for_all_others(snapshot: SnapshotAssertion) -> None:
    result, picture = as_list(500)
    names = picture.panels[0].y.names
    assert said(names[-1]) == snapshot
    assert len(names) == 16
    low, high = limits(picture.panels[0])[0]
    outs = result.estimates[result.verdict_codes == BEATEN, 0]
    assert density_of(picture).counts.sum() == ((outs >= low) & (outs <= high)).sum() > 460
    assert drawn(picture) == set(np.flatnonzero(result.verdict_codes != BEATEN).tolist())


def test_pairs_and_parallel_thin_out_as_well() -> None:
    result = many_arms(1000, (SECONDS, QUALITY, MEMORY))
    pairs = plot.pairs(result)
    for panel, (x, y) in enumerate(((0, 1), (0, 2), (1, 2))):
        seen = within(pairs, result.estimates[:, [x, y]], panel) & (result.verdict_codes == BEATEN)
        assert density_of(pairs, panel).counts.sum() == seen.sum() > 900
    assert pairs.rows[1][0] is not None
    assert limits(pairs.panels[0])[0] == limits(pairs.rows[1][0])[0]  # a column has one axis
    lines = [layer for layer in plot.parallel(result).panels[0].layers if isinstance(layer, Lines)]
    assert {len(layer.keys) for layer in lines} == {20, 8}  # of 20 covered, 8


def test_many_undecided_lines_are_fewer_and_fainter_than_the_front() -> None:
    values = np.random.default_rng(6).uniform(1.0, 2.0, (1000, 2))

    def opacities(codes: list[int]) -> list[tuple[int, float]]:
        layers = plot.parallel(made_result(values[: len(codes)], codes)).panels[0].layers
        return [(len(layer.keys), layer.opacity) for layer in layers if isinstance(layer, Lines)]

    undecided, front = opacities([KEEP] * 3 + [UNDECIDED] * 300 + [BEATEN] * 697)  # the front last, on top
    assert undecided[0] <= 30
    assert undecided[1] < 0.5 < front[1]
    assert front[0] == 3
    assert opacities([KEEP, UNDECIDED, UNDECIDED])[0][1] > 0.8


def test_in_a_list_each_arm_is_in_a_line_of_its_own_or_counted(snapshot: SnapshotAssertion) -> None:
    values = np.random.default_rng(8).uniform(1.0, 2.0, (300, 1))
    values[299] = 1e6
    result = made_result(values, [KEEP] * 10 + [UNDECIDED] * 100 + [BEATEN] * 190, (MEMORY,))
    picture = plot.front(result)
    assert len(drawn(picture)) == 40
    assert picture.panels[0].y.names[40:] == ("190 more beaten", "70 more undecided")
    assert [layer.counts.sum() for layer in densities_of(picture).values()] == [189, 70]
    assert said(picture.caption) == snapshot
