"""Pictures drawn with plotly: the same data, hints, and texts that are nothing but texts."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.plot import picture as looks
from frontguard.plot.frames import limits
from frontguard.plot.picture import Axis, Band, Boxes, Density, Panel, Picture, Points, Rule, Spans, short
from frontguard.plot.plotly import drawn
from tests.plot.samples import HOSTILE, SAMPLES, array, front, hostile, infinite_ends, lists, over_pulls
from tests.support.snapshots import refused

pytest.importorskip("plotly")

OURS = re.compile(r"</?(?:b|i|sup)>|<br>")
"""The only tags that we write ourselves."""

TEXTS = ("text", "hovertext", "name", "legendgroup", "ticktext")


def only(*layers: Any, x: Axis | None = None, y: Axis | None = None) -> Picture:
    return Picture(((Panel(x or Axis(), y or Axis(), layers),),))


def texts(value: Any, key: str = "") -> Iterator[str]:
    """All texts in a figure that plotly would show."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name != "template":
                yield from texts(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part, key)
    elif isinstance(value, str) and key in TEXTS:
        yield value


def plain(figure: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(figure.to_json(), parse_constant=lambda word: pytest.fail(f"{word} in JSON"))
    return answer


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_drawn(name: str, tmp_path: Path) -> None:
    picture = SAMPLES[name]()
    figure = drawn(picture)
    told = plain(figure)
    assert len([key for key in told["layout"] if key.startswith("xaxis")]) == len(picture.panels)
    assert not any("template" in key for trace in told["data"] for key in trace)  # hovertemplate, texttemplate
    figure.write_html(tmp_path / "picture.html", include_plotlyjs=False)
    assert "<script>window.__hacked" not in (tmp_path / "picture.html").read_text(encoding="utf-8")


def test_no_text_is_read_as_markup_or_mathematics() -> None:
    shown = list(texts(plain(drawn(hostile()))))
    bare = [OURS.sub("", text) for text in shown]
    assert not [text for text in bare if "<" in text or ">" in text or "$" in text]
    said = {unescape(text) for text in bare}
    for name in (HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[3], HOSTILE[9]):
        assert short(name, 60) in said
    assert not any("\u202e" in text or "\x00" in text for text in said)


def test_what_a_name_says_of_our_own_tags_is_escaped_too() -> None:
    name = "<b>bold</b><br><i>x</i>"
    figure = drawn(only(Points(array(1), array(1), looks.KEEP, (name,), (name,))))
    marks, labels = figure.data
    assert unescape(labels.text[0]) == name
    assert marks.hovertext[0] == "&lt;b&gt;bold&lt;/b&gt;&lt;br&gt;&lt;i&gt;x&lt;/i&gt;"


def test_axes() -> None:
    picture = over_pulls()
    layout = drawn(picture).layout
    (x_low, x_high), _ = limits(picture.panels[0])
    assert (layout.xaxis.type, layout.yaxis.type) == ("log", "log")
    assert layout.xaxis.range == pytest.approx((math.log10(x_low), math.log10(x_high)))
    assert layout.yaxis2.ticktext == ("none", "some", "&#36;many&#36;")
    assert layout.yaxis2.tickvals == (0.0, 5.0, 9.0)
    named = drawn(lists()).layout
    assert named.yaxis.range == (4.5, -0.5)  # read from the top
    assert named.yaxis.ticktext[0] == "Star Wars (1977)"


def read_back(word: str) -> float:
    """The number that a reader takes a tick's word for, such as 20,000, 5% or 2×10⁷."""
    word = word.replace(",", "").replace("10⁻", "1e⁻").replace("×1e", "e")
    word = re.sub("(^|×)10(?=[⁰¹²³⁴⁵⁶⁷⁸⁹])", lambda match: "e" if match[1] else "1e", word)
    share, word = (0.01, word[:-1]) if word.endswith("%") else (1.0, word)
    return share * float(word.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")))


@pytest.mark.parametrize("width", [3.0, 7.0, 12.0])
@pytest.mark.parametrize(("low", "high"), [(900, 140_000), (3, 7), (0.002, 0.9), (1e-9, 1e9), (1e3, 1.2e3)])
def test_ticks_of_log_axes_say_whole_numbers(low: float, high: float, width: float) -> None:
    axis = Axis(scale="log", low=low, high=high)
    picture = Picture(((Panel(axis, axis, (Points(array(low, high), array(low, high), looks.KEEP),)),),), width=width)
    layout = drawn(picture).layout
    for shown in (layout.xaxis, layout.yaxis):
        assert shown.tickmode == "array"
        assert len(shown.tickvals) >= 2
        assert all(low * 0.999 <= value <= high * 1.001 for value in shown.tickvals)
        assert [read_back(word) for word in shown.ticktext] == pytest.approx(shown.tickvals)
    assert sum(7.5 * len(word) + 4.0 for word in layout.xaxis.ticktext) < 96.0 * width  # beside each other


def test_large_numbers_of_linear_axes_are_written_out() -> None:
    def axis(high: float) -> Any:
        return drawn(only(Points(array(0, high), array(0, 1), looks.KEEP))).layout.xaxis

    assert (axis(40_000.0).separatethousands, axis(40_000.0).exponentformat) == (True, "none")
    assert axis(1e12).exponentformat == axis(1e-7).exponentformat == "power"


def test_titles_of_axes_and_notes_are_broken_rather_than_cut() -> None:
    title = "seconds until the first answer"
    x = Axis(title, "lower")
    panel = Panel(x, x, (), "How many are in", "declared 15%, the front changes at 25.4%, and more")
    layout = drawn(Picture(((panel, panel, panel),), width=7.0)).layout
    for shown in (layout.xaxis.title.text, layout.yaxis.title.text):
        assert shown.replace("<br>", " ") == f"{title} ← lower is better"
    assert max(len(line) for line in layout.xaxis.title.text.split("<br>")) * 7.0 < 7.0 * 96.0 / 3.0
    heading = re.sub("</?sup>", "", layout.annotations[0].text).split("<br>")
    assert heading[0] == panel.title
    assert " ".join(heading[1:]) == panel.note
    assert drawn(Picture(((Panel(x, x, (), note="only a note"),),))).layout.annotations[0].text[:5] == "<sup>"


def test_infinite_ends_lie_outside_the_range() -> None:
    picture = infinite_ends()
    (x_low, x_high), (y_low, y_high) = limits(picture.panels[0])
    boxes = next(trace for trace in drawn(picture).data if trace.fill == "toself" and None in trace.x)
    rows = [list(boxes.x[at : at + 5]) for at in range(0, len(boxes.x), 6)]
    rises = [list(boxes.y[at : at + 5]) for at in range(0, len(boxes.y), 6)]
    assert len(rows) == 5
    assert (min(rows[0]) < x_low, max(rows[0])) == (True, 1.0)
    assert (min(rows[2]), max(rows[2]) > x_high) == (2.0, True)
    assert min(rises[4]) < y_low < y_high < max(rises[4])


def test_a_band_is_interrupted_where_a_number_is_missing() -> None:
    band = Band(array(1, 2, 3, 4, 5), array(0, 0, math.nan, 0, 0), array(1, 1, 1, 1, 1), looks.KEEP, "arm")
    pieces = drawn(only(band)).data
    assert [list(piece.x) for piece in pieces] == [[1, 2, 2, 1], [4, 5, 5, 4]]


def test_density_counts_are_in_their_cells() -> None:
    counts = np.array([[0, 2, 0], [30, 0, 7]])
    density = Density(array(1, 10, 100), array(0, 1, 2, 3), counts, looks.MANY)
    (heat,) = drawn(only(density, x=Axis(scale="log"))).data
    assert tuple(heat.x) == (1.0, 10.0, 100.0)
    for i in range(2):
        for j in range(3):
            assert (heat.z[j][i] is None or math.isnan(heat.z[j][i])) == (counts[i, j] == 0)
            assert heat.text[j][i] == f"{counts[i, j]} arms"


def test_hints_of_boxes_are_there_even_without_marks() -> None:
    boxes = Boxes(array(1), array(1), array(2), array(3), looks.KEEP, ("the box",), (7,))
    assert [trace.hovertext for trace in drawn(only(boxes)).data if trace.hovertext] == [("the box",)]
    marks = Points(array(1.4), array(2), looks.KEEP, ("the mark",), keys=(7,))
    hinted = [trace.hovertext for trace in drawn(only(boxes, marks)).data if trace.hovertext]
    assert hinted == [("the mark",)]


def test_names_that_would_lie_upon_each_other_are_only_in_the_hints() -> None:
    names = tuple(f"a name that is long {k}" for k in range(20))
    marks = Points(np.full(20, 0.45), np.append(np.full(19, 0.5), 0.1), looks.KEEP, names, names)
    shown, _, labels = drawn(only(marks, Points(array(0, 1), array(0, 1), looks.MATCHED))).data
    assert shown.hovertext == names
    assert 1 < len(labels.text) < 20
    assert {names[0], names[19]} <= set(labels.text)


def test_rules_cross_the_panel() -> None:
    rules = Rule(0.5, looks.GOAL, True), Rule(0.25, looks.GOAL)
    picture = only(Points(array(0, 1), array(0, 1), looks.KEEP), *rules)
    (x_low, x_high), (y_low, y_high) = limits(picture.panels[0])
    _, upright, level = drawn(picture).data
    assert (upright.x, upright.y) == ((0.5, 0.5), (y_low, y_high))
    assert (level.x, level.y) == ((x_low, x_high), (0.25, 0.25))


def test_an_infinite_mark_lies_on_the_edge_and_a_span_reaches_beyond_it() -> None:
    marks = Points(array(1, 2, np.inf), array(1, 2, 1.5), looks.KEEP)
    spans = Spans(array(1, 2), array(-np.inf, 1.2), array(1.5, 1.8), looks.KEEP, hints=("a", "b"))
    picture = only(marks, spans)
    (x_low, x_high), _ = limits(picture.panels[0])
    points, lines = drawn(picture).data
    assert points.x == (1.0, 2.0, x_high)
    low = np.array(lines.x) - lines.error_x.arrayminus
    assert low[0] < x_low < lines.x[0]
    assert (low[1], lines.x[1] + lines.error_x.array[1]) == pytest.approx((1.2, 1.8))
    assert lines.hovertext == ("a", "b")


def test_the_legend_shows_and_hides_what_has_its_look() -> None:
    picture = front()
    data = drawn(picture).data
    entries = [trace for trace in data if trace.showlegend]
    assert [unescape(entry.name) for entry in entries] == [look.label for look in picture.legend]
    groups = {entry.legendgroup for entry in entries}
    marks = [trace for trace in data if not trace.showlegend and trace.mode == "markers"]
    assert {trace.legendgroup for trace in marks} == groups
    assert len({(trace.marker.symbol, trace.marker.color) for trace in marks}) == len(marks)


def test_without_plotly_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with refused(BadInput, snapshot):
        front().plotly()
