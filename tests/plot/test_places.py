"""SVG: everything lies where the words of the ticks say, and what goes on beyond the frame is seen to."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from frontguard.plot import picture as looks
from frontguard.plot.picture import (
    Axis,
    Bars,
    Boxes,
    Density,
    Lines,
    Points,
    Region,
    width,
)
from tests.plot.samples import INF, NAN, array
from tests.plot.svg_reading import SVG, found, frame, of_class, one, parsed, place, ticks_of


def test_marks_lie_where_the_ticks_say() -> None:
    root = parsed(one(Points(array(2.5, 8, 5), array(5, 1, 10), looks.KEEP, keys=(7, 8, 9))), prefix="f-")
    across, down = ticks_of(root)
    x0, x10, y0, y10 = across["0"], across["10"], down["0"], down["10"]
    for key, x, y in ((7, 2.5, 5), (8, 8, 1), (9, 5, 10)):
        expected = x0 + (x10 - x0) * x / 10, y0 + (y10 - y0) * y / 10
        assert place(found(root, id=f"f-mark-{key}")) == pytest.approx(expected, abs=0.11)
    assert y10 < y0  # larger is higher up


def test_log_axes_place_by_ratios() -> None:
    axis = Axis(scale="log", low=1.0, high=10_000.0)
    root = parsed(one(Points(array(1, 100, 31.6228), array(10, 10, 10), looks.KEEP, keys=(0, 1, 2)), x=axis, y=axis))
    across, _ = ticks_of(root)
    at = [place(found(root, data_key=f"mark-{key}"))[0] for key in range(3)]
    assert at[0] == pytest.approx(across["1"], abs=0.11)
    assert at[1] == pytest.approx(across["100"], abs=0.11)
    assert at[2] == pytest.approx((across["10"] + across["100"]) / 2, abs=0.11)
    assert across["10,000"] - across["1,000"] == pytest.approx(across["10"] - across["1"], abs=0.2)


def test_names_are_read_from_the_top_if_reversed() -> None:
    bars = Bars(array(0, 1, 2), array(3, 2, 1), looks.KEEP, keys=(0, 1, 2))
    root = parsed(one(bars, x=Axis(low=0.0), y=Axis(names=("first", "second", "third"), reverse=True)))
    across, down = ticks_of(root)
    assert down["first"] < down["second"] < down["third"]
    rects = [found(root, data_key=f"bar-{key}").find(f"{SVG}rect") for key in range(3)]
    for rect, name, length in zip(rects, ("first", "second", "third"), ("3", "2", "1"), strict=True):
        assert rect is not None
        top, high = float(rect.get("y", "nan")), float(rect.get("height", "nan"))
        assert top + high / 2 == pytest.approx(down[name], abs=0.2)
        assert float(rect.get("x", "nan")) == pytest.approx(across["0"], abs=0.11)
        assert float(rect.get("width", "nan")) == pytest.approx(across[length] - across["0"], abs=0.2)


def test_boxes_span_from_low_to_high() -> None:
    root = parsed(one(Boxes(array(2), array(1), array(4), array(7), looks.KEEP, ("hint",), (5,))), prefix="f-")
    across, down = ticks_of(root)
    box = found(root, id="f-box-5")
    x, y, wide, high = (float(box.get(name, "nan")) for name in ("x", "y", "width", "height"))
    unit_x, unit_y = (across["10"] - across["0"]) / 10, (down["0"] - down["10"]) / 10
    expected = (across["0"] + 2 * unit_x, down["0"] - 7 * unit_y, 2 * unit_x, 6 * unit_y)
    assert (x, y, wide, high) == pytest.approx(expected, abs=0.16)
    assert box.find(f"{SVG}title").text == "hint"  # type: ignore[union-attr]


@pytest.mark.parametrize("opens", [o for o in itertools.product([False, True], repeat=4) if any(o) and not all(o)])
def test_open_boxes_end_at_the_frame_without_an_edge(opens: tuple[bool, bool, bool, bool]) -> None:
    left, top, right, bottom = opens
    ends = (-INF if left else 3.0, -INF if bottom else 3.0, INF if right else 7.0, INF if top else 7.0)
    root = parsed(one(Boxes(*(array(end) for end in ends), looks.KEEP, keys=(1,))))
    box = found(root, data_key="box-1")
    x, y, wide, high = (float(box.get(name, "nan")) for name in ("x", "y", "width", "height"))
    edges = frame(root)
    assert (x < edges[0]) == left
    assert (y < edges[1]) == top
    assert (x + wide > edges[2]) == right
    assert (y + high > edges[3]) == bottom
    (clipping,) = (each for each in root.iter(f"{SVG}svg") if each is not root and box in list(each.iter()))
    seen = [float(clipping.get(name, "nan")) for name in ("x", "y", "width", "height")]
    assert seen == pytest.approx(
        [edges[0] - 1, edges[1] - 1, edges[2] - edges[0] + 2, edges[3] - edges[1] + 2], abs=0.2
    )


def test_boxes_of_which_nothing_is_known_or_seen_are_not_drawn() -> None:
    boxes = Boxes(array(-INF, NAN, 20, 1), array(-INF, 1, 1, 1), array(INF, 2, 30, 2), array(INF, 2, 2, 2), looks.KEEP,
                  keys=(0, 1, 2, 3))  # fmt: skip
    assert [box.get("data-key") for box in of_class(parsed(one(boxes)), "box")] == ["box-3"]


def test_points_beyond_the_frame_are_not_drawn() -> None:
    points = Points(
        array(5, 11, NAN, INF), array(5, 5, 5, 5), looks.KEEP, keys=(0, 1, 2, 3), written=("a", "b", "c", "d")
    )
    root = parsed(one(points))
    assert [mark.get("data-key") for mark in of_class(root, "mark")] == ["mark-0"]
    (words,) = of_class(root, "words")
    assert [text.text for text in words] == ["a"]


def test_lines_are_interrupted() -> None:
    lines = Lines(array(0, 2, 4, 6, 8)[None, :], array(1, 2, NAN, 4, 5)[None, :], looks.KEEP, keys=(1,))
    path = found(parsed(one(lines)), data_key="line-1").find(f"{SVG}path").get("d", "")  # type: ignore[union-attr]
    assert re.sub(r"[\d. ]+", "", path) == "MLML"


def test_density_has_a_cell_for_each_count_that_is_not_zero() -> None:
    counts = np.array([[0, 1, 1], [5, 0, 1]])
    density = Density(array(0, 5, 10), array(0, 2, 4, 10), counts, looks.MANY, "{count} of them")
    (group,) = of_class(parsed(one(density)), "density")
    cells = {path.find(f"{SVG}title").text: path.get("d", "").count("z") for path in group}  # type: ignore[union-attr]
    assert cells == {"1 of them": 3, "5 of them": 1}
    shades = [float(path.get("fill-opacity", "nan")) for path in group]
    assert 0 < shades[0] < shades[1] <= 1


def test_unkeyed_marks_without_hints_are_one_path() -> None:
    many = np.linspace(0, 10, 500)
    root = parsed(one(Points(many, many, looks.VALUE)))
    (layers,) = of_class(root, "layers")
    (path,) = layers
    assert path.get("d", "").count("M") == 500


def test_regions_are_shaded_and_cut_off_at_the_frame() -> None:
    region = Region(array(5, INF, INF, 5), array(-INF, -INF, 5, 5), looks.KEEP)
    (drawn,) = of_class(parsed(one(region)), "region")
    assert drawn.get("fill") == looks.KEEP.colour
    assert 0.0 < float(drawn.get("fill-opacity", "nan")) < 0.2


@pytest.mark.parametrize(("better", "reverse", "x_arrow", "y_arrow"), [
    ("lower", False, "←", "↓"), ("higher", False, "→", "↑"), ("lower", True, "→", "↑"), ("higher", True, "←", "↓"),
])  # fmt: skip
def test_arrows_point_to_where_good_lies(better: str, reverse: bool, x_arrow: str, y_arrow: str) -> None:
    axis = Axis("seconds", better, reverse=reverse)  # type: ignore[arg-type]
    root = parsed(one(Points(array(1, 2), array(1, 2), looks.KEEP, keys=(1, 2)), x=axis, y=axis))
    y_title, x_title = ("".join(title.itertext()) for title in of_class(root, "title"))
    assert x_title == f"seconds{x_arrow} {better} is better"
    assert y_title == f"seconds{y_arrow} {better} is better"
    (x1, y1), (x2, y2) = (place(found(root, data_key=f"mark-{key}")) for key in (1, 2))
    assert (x2 > x1) != reverse
    assert (y2 < y1) != reverse


@pytest.mark.parametrize("axis", [
    Axis(low=0.0, high=1e9), Axis(low=1e6, high=1e6 + 5), Axis(names=tuple(f"arm number {i}" for i in range(60))),
    Axis(low=0.0, high=10.0, ticks=((1.0, "here it is"), (1.2, "here too"), (9.9, "far away from it"))),
    Axis(scale="log", low=1e-9, high=1e9),
])  # fmt: skip
@pytest.mark.parametrize("wide", [2.0, 4.0, 9.0])
def test_words_of_ticks_do_not_overlap(axis: Axis, wide: float) -> None:
    root = parsed(one(x=axis, y=axis if axis.ticks is None else Axis(), width=wide))
    below, beside = of_class(root, "ticks")
    rows: dict[str | None, list[tuple[float, float]]] = {}
    for text in below:
        x, half = float(text.get("x", "nan")), width(str(text.text)) / 2
        rows.setdefault(text.get("y"), []).append((x - half, x + half))
    for row in rows.values():
        assert all(end < start for (_, end), (start, _) in itertools.pairwise(sorted(row)))
    lines = sorted(float(text.get("y", "nan")) for text in beside)
    assert len(below)
    assert lines
    assert all(b - a >= 10.0 for a, b in itertools.pairwise(lines))
