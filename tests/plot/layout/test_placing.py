"""Words find places that are free, as a slow look at every pair says."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.path import Path

from frontguard.plot.layout.placing import placed, within_polygon
from frontguard.plot.layout.sheet import Rectangle

FRAME = (0.0, 0.0, 400.0, 300.0)
PLACES = st.tuples(st.floats(0, 400), st.floats(0, 300))
SIZES = st.tuples(st.floats(1, 120), st.floats(1, 20))


def overlap(one: Rectangle, other: Rectangle) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def around(corner: tuple[float, float], size: tuple[float, float]) -> Rectangle:
    return corner[0], corner[1], corner[0] + size[0], corner[1] + size[1]


@given(st.lists(st.tuples(PLACES, SIZES), max_size=12), st.lists(PLACES, max_size=8))
def test_nothing_is_covered(words: list[tuple[tuple[float, float], tuple[float, float]]], marks: list) -> None:  # type: ignore[type-arg]
    obstacles = [(x - 4.0, y - 4.0, x + 4.0, y + 4.0) for x, y in marks]
    points, sizes = [at for at, _ in words], [size for _, size in words]
    corners = placed(points, sizes, obstacles, FRAME)
    assert len(corners) == len(words)
    taken = [around(corner, size) for corner, size in zip(corners, sizes, strict=True) if corner is not None]
    for k, word in enumerate(taken):
        assert word[0] >= FRAME[0]
        assert word[1] >= FRAME[1]
        assert word[2] <= FRAME[2]
        assert word[3] <= FRAME[3]
        assert not any(overlap(word, other) for other in [*taken[:k], *obstacles])


@given(PLACES, SIZES)
def test_a_word_stays_beside_its_point(point: tuple[float, float], size: tuple[float, float]) -> None:
    (corner,) = placed([point], [size], [], FRAME, gap=5.0)
    if corner is not None:
        x_low, y_low, x_high, y_high = around(corner, size)
        away = max(x_low - point[0], point[0] - x_high, y_low - point[1], point[1] - y_high)
        assert 2.9 <= away <= 10.1


def test_the_right_side_is_taken_first_and_what_is_disliked_avoided() -> None:
    assert placed([(100, 100)], [(20, 10)], [], FRAME) == [(106.0, 95.0)]
    right_of_it = (104.0, 90.0, 140.0, 110.0)
    assert placed([(100, 100)], [(20, 10)], [], FRAME, rather_not=[right_of_it]) == [(74.0, 95.0)]
    everywhere = (0.0, 0.0, 400.0, 300.0)
    assert placed([(100, 100)], [(20, 10)], [], FRAME, rather_not=[everywhere]) == [(106.0, 95.0)]
    assert placed([(100, 100)], [(20, 10)], [everywhere], FRAME) == [None]


def test_a_ring_around_a_mark_pushes_the_word_further_out() -> None:
    ring = (90.0, 90.0, 110.0, 110.0)
    (corner,) = placed([(100, 100)], [(20, 10)], [ring], FRAME, gap=6.0)
    assert corner == (112.0, 95.0)


@example(20785, 59.0)
@given(st.integers(0, 2**32 - 1), st.floats(5, 80))
def test_a_word_within_a_polygon_lies_within_it(seed: int, width: float) -> None:
    rng = np.random.default_rng(seed)
    turns = np.sort(rng.uniform(0.0, 2.0 * np.pi, 7))
    corners = np.array([200.0, 150.0]) + rng.uniform(40.0, 140.0, (7, 1)) * np.stack([np.cos(turns), np.sin(turns)], 1)
    obstacles = [(150.0, 100.0, 190.0, 140.0)]
    corner = within_polygon(corners, (width, 12.0), obstacles, FRAME)
    if corner is not None:
        word = around(corner, (width, 12.0))
        ends = [(word[i], word[j]) for i in (0, 2) for j in (1, 3)]
        assert Path(np.vstack([corners, corners[:1]])).contains_points(ends).all()
        assert not overlap(word, obstacles[0])


def test_a_large_region_has_room() -> None:
    square = np.array([(0.0, 0.0), (400.0, 0.0), (400.0, 300.0), (0.0, 300.0)])
    assert within_polygon(square, (100.0, 12.0), [(0.0, 0.0, 400.0, 200.0)], FRAME) is not None
    assert within_polygon(square, (100.0, 12.0), [(0.0, 0.0, 400.0, 295.0)], FRAME) is None
    assert within_polygon(square[:2], (10.0, 10.0), [], FRAME) is None
