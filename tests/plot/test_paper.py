"""Pictures drawn with matplotlib: what is on them, what is never read as mathematics, and what is left as it was."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.text import Annotation, Text
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.plot import picture as looks
from frontguard.plot.frames import limits
from frontguard.plot.paper import drawn, saved
from frontguard.plot.picture import Axis, Bars, Boxes, Panel, Picture, Points, in_columns
from tests.plot.samples import HOSTILE, SAMPLES, array, front, hostile, infinite_ends, lists, over_pulls
from tests.support.snapshots import refused, said

PNG = b"\x89PNG\r\n\x1a\n"


def only(*layers: Any, x: Axis | None = None, y: Axis | None = None) -> Picture:
    return Picture(((Panel(x or Axis(), y or Axis(), layers),),))


def words(figure: Any) -> list[Text]:
    """Texts that can be seen."""
    return [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_drawn_without_a_warning(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = SAMPLES[name]()
    figures: list[Any] = []

    def noted(given: Picture) -> Any:
        figures.append(drawn(given))
        return figures[-1]

    monkeypatch.setattr("frontguard.plot.paper.drawn", noted)  # on the way to the file
    path = saved(picture, tmp_path / "picture.png")
    content = path.read_bytes()
    assert content[:8] == PNG
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == (round(150 * picture.width), round(150 * picture.height))
    (figure,) = figures
    assert len(figure.axes) == len(picture.panels)


@pytest.mark.parametrize("ending", ["pdf", "svg", "jpg"])
def test_other_files(ending: str, tmp_path: Path) -> None:
    begin = {"pdf": b"%PDF", "svg": b"<?xml", "jpg": b"\xff\xd8"}[ending]
    assert saved(hostile(), tmp_path / f"picture.{ending}").read_bytes().startswith(begin)


@pytest.mark.parametrize("ending", [".pgf", ".docx", ""])
def test_a_file_that_cannot_be_had_is_refused(ending: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        saved(front(), tmp_path / f"picture{ending}")
    assert not list(tmp_path.iterdir())


def test_names_are_names_and_no_mathematics() -> None:
    figure = drawn(hostile())
    assert all(not text.get_parse_math() and not text.get_usetex() for text in words(figure))
    shown = {text.get_text() for text in words(figure)}
    for name in (HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[3], "\\", "'\"`"):
        assert in_columns([name], 30)[0] in shown
    assert not any("\x00" in text or "\u202e" in text for text in shown)


@pytest.mark.filterwarnings("ignore:Glyph")  # of whoever draws a figure that was handed out
def test_the_users_own_settings_neither_disturb_nor_are_disturbed(tmp_path: Path) -> None:
    with mpl.rc_context({"text.usetex": True, "axes.facecolor": "black", "font.size": 40.0}):
        before = dict(mpl.rcParams)
        figure = drawn(hostile())
        saved(front(), tmp_path / "front.png")
        assert dict(mpl.rcParams) == before
        figure.canvas.draw()  # by whoever got it, under settings of their own
    assert figure.axes[0].get_facecolor() == (1.0, 1.0, 1.0, 1.0)
    assert not any(text.get_usetex() for text in words(figure))


def test_pyplot_is_left_alone() -> None:
    code = (
        "import sys\n"
        "from frontguard.plot.picture import Axis, Panel, Picture\n"
        "assert 'matplotlib' not in sys.modules\n"
        "Picture(((Panel(Axis('a'), Axis('b'), ()),),)).matplotlib()\n"
        "print('matplotlib.figure' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout == "True False\n", ran.stderr


def test_boxes_and_marks_are_where_they_belong() -> None:
    boxes = Boxes(array(1, 2), array(3, 4), array(1.5, 2.5), array(3.5, 4.5), looks.KEEP)
    (axes,) = drawn(only(boxes, Points(array(1.2, 2.2), array(3.3, 4.4), looks.KEEP))).axes
    (drawn_boxes,) = (item for item in axes.collections if isinstance(item, PolyCollection))
    ends = [path.get_extents() for path in drawn_boxes.get_paths()]
    assert [tuple(end.extents) for end in ends] == [(1.0, 3.0, 1.5, 3.5), (2.0, 4.0, 2.5, 4.5)]
    (marks,) = axes.lines
    np.testing.assert_array_equal(marks.get_xydata(), [(1.2, 3.3), (2.2, 4.4)])


def test_an_end_that_goes_on_has_no_edge_within_the_frame() -> None:
    panel = infinite_ends().panels[0]
    (x_low, x_high), (y_low, y_high) = limits(panel)
    axes = drawn(infinite_ends()).axes[0]
    boxes, *_ = (item for item in axes.collections if isinstance(item, PolyCollection) and len(item.get_paths()) > 1)
    ends = [path.get_extents() for path in boxes.get_paths()]
    assert len(ends) == 5  # the sixth has no place
    assert (ends[0].x0 < x_low, ends[0].x1) == (True, 1.0)
    assert (ends[1].y0 < y_low, ends[1].y1) == (True, 1.5)
    assert (ends[2].x0, ends[2].x1 > x_high) == (2.0, True)
    assert ends[4].x0 < x_low < x_high < ends[4].x1
    assert ends[4].y0 < y_low < y_high < ends[4].y1
    assert axes.get_xlim() == (x_low, x_high)
    assert axes.get_ylim() == (y_low, y_high)


def test_axes_have_their_scale_direction_and_words(snapshot: SnapshotAssertion) -> None:
    stars, _ = drawn(lists()).axes
    assert stars.yaxis_inverted()
    assert not stars.xaxis_inverted()
    assert [tick.get_text() for tick in stars.get_yticklabels()][:2] == ["Star Wars (1977)", "Toy Story (1995)"]
    assert said(stars.get_xlabel()) == snapshot
    top, below = drawn(over_pulls()).axes
    assert (top.get_xscale(), top.get_yscale(), below.get_xscale()) == ("log", "log", "linear")
    assert said(top.get_ylabel()) == snapshot
    assert [tick.get_text() for tick in below.get_yticklabels()] == ["none", "some", "$many$"]


@pytest.mark.parametrize("reverse", [False, True])
def test_the_arrow_points_to_where_good_lies(reverse: bool) -> None:
    picture = only(Points(array(1), array(1), looks.KEEP), x=Axis("x", "lower", reverse=reverse))
    (axes,) = drawn(picture).axes
    assert axes.xaxis_inverted() == reverse
    assert axes.get_xlabel() == ("x   lower is better →" if reverse else "x   ← lower is better")


def test_words_beside_marks_cover_neither_each_other_nor_the_marks() -> None:
    figure = drawn(front())
    figure.canvas.draw()
    (axes,) = figure.axes
    names = ("-O1", "-O2", "-O3 -march=native", "-Ofast", "-Os")
    places = {
        text.get_text(): text.get_window_extent() for text in axes.texts
        if isinstance(text, Annotation) and text.get_text() in names
    }  # fmt: skip
    assert sorted(places) == sorted(names)
    assert not any(one.overlaps(other) for one, other in combinations(places.values(), 2))
    marks = np.concatenate([axes.transData.transform(line.get_xydata()) for line in axes.lines])
    assert not any(place.count_contains(marks) for place in places.values())
    frame = axes.get_window_extent()
    assert all(frame.x0 <= place.x0 and place.x1 <= frame.x1 and place.y1 <= frame.y1 for place in places.values())


def test_crowded_names_are_left_out_rather_than_on_top_of_each_other() -> None:
    at = np.linspace(0.0, 0.01, 40)
    names = tuple(f"arm number {i}" for i in range(40))
    far = Points(array(-1, 1), array(-1, 1), looks.BEATEN)
    figure = drawn(only(Points(at, at, looks.KEEP, written=names), far))
    figure.canvas.draw()
    places = [text.get_window_extent() for text in figure.axes[0].texts]
    assert 1 <= len(places) < 40
    assert not any(one.overlaps(other) for one, other in combinations(places, 2))


def test_the_legend_names_every_look_in_its_order() -> None:
    picture = lists()
    (legend,) = drawn(picture).legends
    assert [text.get_text() for text in legend.get_texts()] == [look.label for look in picture.legend]


def test_bars_can_be_told_apart_without_colour() -> None:
    bars = [Bars(array(i), array(i + 1), look) for i, look in enumerate(looks.VERDICTS.values())]
    (axes,) = drawn(only(*bars)).axes
    shades = {round(float(item.get_facecolor()[0][3]), 2) for item in axes.collections}
    assert len(shades) == 4


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    monkeypatch.delitem(sys.modules, "frontguard.plot.paper", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with refused(BadInput, snapshot):
        front().matplotlib()
