"""Labels: none is cut or lies upon a mark or another, by what every renderer itself says of places."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontguard import plot
from frontguard.plot.frames import Sheet, labels, limits, sheet_of
from frontguard.plot.picture import PLAIN, Axis, Bars, Panel, Picture, Points
from frontguard.results import Answer, Profile
from tests.plot.made import BEATEN, KEEP, QUALITY, SECONDS, made_result
from tests.plot.samples import array
from tests.support.browsers import OpenPage

SIZE = 10.0


def result(pulls: list[int], long: int = 60) -> Answer:
    rng = np.random.default_rng(0)
    verdicts = [KEEP, *[BEATEN] * (len(pulls) - 1)]
    names = [f"-O3 {'x' * long} {k}" for k in range(len(pulls))]
    made = made_result(np.exp(rng.normal(0.0, 0.3, (len(pulls), 2))), verdicts, (SECONDS, QUALITY), names=names)
    made.pulls_per_arm[:] = pulls
    return made


def robust(stands: list[float]) -> Picture:
    made = result([9] * len(stands), long=3)
    levels = np.array([0.05, 0.2, 0.49])
    return plot.robustness(made, Profile(np.array(stands), 0.2, levels, np.array([1, 1, 0]), 0.01))


PICTURES = {
    "pulls": (plot.pulls(result([1234, 801, 77, 5, 0, 12])), ["1,234", "801", "77", "5", "0", "12"]),
    "pulls by ratios": (plot.pulls(result([123456, 801, 77, 5, 3, 12])), ["123,456", "801", "77", "5", "3", "12"]),
    "forty": (plot.pulls(result([*range(40, 0, -1)])), [str(k) for k in range(40, 0, -1)]),
    "robustness": (robust([0.499, 0.06, 0.31, 0.5]), ["49.9%", "6%", "31%", "50%"]),
}


def overlapping(one: Any, other: Any, by: float = 0.5) -> bool:
    """Whether two rectangles share more than their edges."""
    across, down = (min(one[k + 2], other[k + 2]) - max(one[k], other[k]) for k in (0, 1))
    return bool(across > by and down > by)


def clear(words: list[Any], bars: list[Any], edges: Any) -> None:
    """No word lies upon a bar or another word, and none leaves the edges."""
    # A line is higher than the figures on it: a fifth above and below them is blank.
    inks = [(w[0], w[1] + 0.2 * (w[3] - w[1]), w[2], w[3] - 0.2 * (w[3] - w[1])) for w in words]
    for i, (word, ink) in enumerate(zip(words, inks, strict=True)):
        assert not any(overlapping(ink, bar) for bar in bars)
        assert not any(overlapping(ink, other) for other in inks[:i])
        assert all(word[k] >= edges[k] - 1.0 for k in (0, 1))
        assert all(word[k] <= edges[k] + 1.0 for k in (2, 3))


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("width", [360, 720])
def test_in_a_browser(open_page: OpenPage, name: str, width: int) -> None:
    picture, wanted = PICTURES[name]
    page = open_page(viewport={"width": width, "height": 700}).page
    page.set_content(f"<link rel=icon href=data:,><body style='margin:0'>{picture.svg().markup()}")
    texts = page.eval_on_selector_all(".words text", "all => all.map(each => each.textContent)")
    assert [text for text in texts if text in set(wanted)] == [text for text in texts if text[0].isdigit()]
    assert sorted(text for text in texts if text[0].isdigit()) == sorted(wanted)
    boxes = "all => all.map(each => (b => [b.left, b.top, b.right, b.bottom])(each.getBoundingClientRect()))"
    words = page.eval_on_selector_all(".words text", boxes)
    bars = page.eval_on_selector_all(".bar rect, .mark path", boxes)
    (edges,) = page.eval_on_selector_all("body > svg", boxes)
    clear([box for text, box in zip(texts, words, strict=True) if text in wanted], bars, edges)


@pytest.mark.parametrize("name", PICTURES)
def test_on_paper(name: str) -> None:
    picture, wanted = PICTURES[name]
    figure = picture.matplotlib()
    figure.canvas.draw()
    notes = [note for axes in figure.axes for note in axes.texts if note.get_text()[:1].isdigit()]
    assert sorted(note.get_text() for note in notes) == sorted(wanted)
    words = [note.get_window_extent().extents for note in notes]
    clear(words, [], figure.bbox.extents)


@pytest.mark.parametrize("name", PICTURES)
def test_on_the_screen(name: str) -> None:
    picture, wanted = PICTURES[name]
    found = [trace for trace in picture.plotly().data if trace.type == "scatter" and trace.mode == "markers+text"]
    texts = [text for trace in found for text in trace.text if text[0].isdigit()]
    assert sorted(texts) == sorted(wanted)


def panel(lengths: list[float]) -> Panel:
    at, high = np.arange(len(lengths), dtype=np.float64), np.array(lengths)
    ends = Points(high, at, replace(PLAIN, size=0.01), written=tuple(f"{length:,.0f}" for length in lengths))
    names = Axis(names=tuple(map(str, at)), reverse=True)
    return Panel(Axis(low=0.0, high=1.25 * max(lengths) or 1.0), names, (Bars(at, high, PLAIN), ends))


@given(
    st.lists(st.floats(0.0, 1e7), min_size=1, max_size=30),
    st.tuples(st.floats(20.0, 800.0), st.floats(20.0, 800.0)),
)
def test_words_are_whole_and_apart(lengths: list[float], room: tuple[float, float]) -> None:
    drawn = panel(lengths)
    sheet: Sheet = sheet_of(drawn, limits(drawn), (0.0, 0.0, *room))
    found = labels(drawn, sheet, SIZE)
    layer = drawn.layers[0]
    assert isinstance(layer, Bars)
    assert len({label.index for label in found}) == len(found)
    clear([label.box(sheet, SIZE) for label in found], sheet.rectangles(layer)[0].tolist(), (0.0, 0.0, *room))


@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)), max_size=30), st.integers(1, 20))
def test_labels_stand_at_their_own_marks(places: list[tuple[float, float]], letters: int) -> None:
    x, y = np.array(places, np.float64).reshape(-1, 2).T
    marks = Points(x, y, PLAIN, written=tuple(f"{k}{'x' * letters}" for k in range(len(places))))
    drawn = Panel(Axis(low=0.0, high=1.0), Axis(low=0.0, high=1.0), (marks,))
    sheet = sheet_of(drawn, limits(drawn), (0.0, 0.0, 400.0, 300.0))
    found = labels(drawn, sheet, SIZE)
    boxes = [label.box(sheet, SIZE) for label in found]
    others = sheet.marks(x, y, PLAIN.size / 2.0).tolist()
    clear(boxes, others, sheet.frame)
    for label, (left, top, right, bottom) in zip(found, boxes, strict=True):
        at = float(sheet.x(x[label.index])), float(sheet.y(y[label.index]))
        assert label.at == (x[label.index], y[label.index])
        assert max(left - at[0], at[0] - right, top - at[1], at[1] - bottom) == pytest.approx(label.reach)
        near = [max(left - mark[2], mark[0] - right, top - mark[3], mark[1] - bottom) for mark in others]
        assert min(near) >= 2.9  # also to its own


def test_a_label_is_left_out_rather_than_set_apart_from_its_mark() -> None:
    middle = Points(array(0.5), array(0.5), PLAIN, written=("a",))
    crowd = Points(array(0.47, 0.53, 0.5, 0.5), array(0.5, 0.5, 0.46, 0.54), PLAIN)
    ring = Points(array(0.5), array(0.5), replace(PLAIN, mark="ring", size=15.0))
    for layers, count in (((middle,), 1), ((middle, ring), 1), ((middle, crowd), 0)):
        drawn = Panel(Axis(low=0.0, high=1.0), Axis(low=0.0, high=1.0), layers)
        assert len(labels(drawn, sheet_of(drawn, limits(drawn), (0.0, 0.0, 400.0, 300.0)), SIZE)) == count


def test_the_right_side_is_taken_first_and_what_lies_on_top_comes_first() -> None:
    below = Points(array(0.3), array(0.5), PLAIN, written=("below",))
    above = Points(array(0.3, 0.31), array(0.52, 0.9), PLAIN, written=("above", "alone"))
    drawn = Panel(Axis(low=0.0, high=1.0), Axis(low=0.0, high=1.0), (below, above))
    found = labels(drawn, sheet_of(drawn, limits(drawn), (0.0, 0.0, 400.0, 300.0)), SIZE)
    assert [(label.text, label.side) for label in found] == [("above", 1), ("alone", 1), ("below", -1)]


def test_a_picture_of_ordinary_size_has_them() -> None:
    drawn = panel([3.0, 1500.0, 20.0])
    assert len(labels(drawn, sheet_of(drawn, limits(drawn), (0.0, 0.0, 300.0, 80.0)), SIZE)) == 3


def test_names_that_differ_at_their_ends_are_told_apart(tmp_path: Path) -> None:
    picture = plot.pulls(result([30, 20, 10]))
    ticks = picture.matplotlib().axes[0].get_yticklabels()
    drawn = [*picture.svg().markup().split("<text"), *(tick.get_text() for tick in ticks)]
    for k in range(3):
        assert sum(f"x {k}<" in text or text.endswith(f"x {k}") for text in drawn) == 2
    (words,) = [axis.ticktext for axis in [picture.plotly().layout.yaxis]]
    assert len(set(words)) == 3
