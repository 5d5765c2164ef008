"""SVG: well-formed and inert whatever the names and numbers, in the right places, with names that stay."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.phrases import cells_of
from frontguard.plot import picture as looks
from frontguard.plot.picture import (
    Axis,
    Band,
    Bars,
    Boxes,
    Density,
    Layer,
    Lines,
    Panel,
    Picture,
    Points,
    Region,
    Rule,
    Spans,
    columns,
    short,
    width,
    wrapped,
)
from frontguard.plot.svg import drawn
from tests.plot.samples import SAMPLES, array
from tests.plot.svg_reading import SVG, found, numbers, of_class, one, parsed
from tests.support.snapshots import refused

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)


# Every sample ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("name", list(SAMPLES))
def test_samples_are_well_formed_inert_and_named(name: str, linked: bool) -> None:
    root = parsed(SAMPLES[name](), link=(lambda key: f"/arm/{key}") if linked else None, prefix="s-")
    ids = [each.get("id") for each in root.iter() if each.get("id") is not None]
    assert len(ids) == len(set(ids))
    assert all(str(each).startswith("s-") for each in ids)
    for each in root.iter():
        tag = each.tag.removeprefix(SVG)
        assert tag in {
            "svg", "g", "a", "path", "rect", "text", "tspan", "title", "desc",
        }  # fmt: skip
        for attribute, value in each.attrib.items():
            assert attribute != "style"
            assert not attribute.startswith("on")
            assert "http" not in value.lower()
            if attribute == "href":
                assert linked
                assert re.fullmatch(r"/arm/\d+", value)
            if "url(" in value and attribute != "aria-label":
                assert value[5:-1] in ids
            if attribute not in ("aria-label", "id", "aria-labelledby", "aria-describedby", "href", "class"):
                assert "nan" not in value
                assert "inf" not in value
                assert all(len(n.partition(".")[2]) <= 2 for n in numbers(value)), (attribute, value)
    assert root.get("role") == ("group" if linked else "img")
    assert all(each.get("role") == "presentation" for each in root.iter(f"{SVG}svg") if each is not root)
    assert root.get("aria-label")
    assert root[0].tag == f"{SVG}desc"


@pytest.mark.parametrize("name", list(SAMPLES))
def test_words_of_samples_stay_within_the_drawing(name: str) -> None:
    root = parsed(SAMPLES[name]())
    _, _, wide, high = map(float, root.get("viewBox", "").split())

    def check(each: ElementTree.Element, anchor: str, size: float) -> None:
        anchor, size = each.get("text-anchor", anchor), float(each.get("font-size", size))
        if each.tag == f"{SVG}text":
            x, y = float(each.get("x", "nan")), float(each.get("y", "nan"))
            long = sum(width(text, size) for text in each.itertext())
            start = x - long * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
            assert start >= -1.0, each.text
            assert start + long <= wide + 1.0, each.text
            assert size * 0.8 <= y <= high - 2.0
        for child in each:
            check(child, anchor, size)

    check(root, "start", 12.0)


def test_samples_are_small() -> None:
    assert sum(len(drawn(sample()).markup()) for sample in SAMPLES.values()) < 150_000


# Hostile texts and numbers --------------------------------------------------------------------------------------------


@given(st.lists(ANY_TEXT, min_size=8, max_size=8))
def test_any_texts_make_well_formed_drawings(texts: list[str]) -> None:
    a, b, c, d, e, f, g, h = texts
    look = replace(looks.KEEP, label=a)
    layers = (
        Points(array(1, 2), array(1, 2), look, (b, c), (d, e), (1, 2)),
        Rule(3.0, look, True),
        Region(array(0, 9, 9), array(0, 0, 9), look),
        Density(array(0, 1), array(0, 1), np.ones((1, 1), np.int64), look, a),
    )
    panel = Panel(Axis(a, "lower", names=(b, c, d)), Axis(e, ticks=((1.0, f), (2.0, g))), layers, h, a)
    picture = Picture(((panel,),), b, (look,), name=d)
    root = parsed(picture, link=lambda key: f"/arm/{key}", prefix="p-")
    assert len(of_class(root, "mark")) == 2
    titles = [child.text or "" for child in of_class(root, "mark")[0] if child.tag == f"{SVG}title"]
    assert len("".join(titles)) == len(b)
    parsed(picture)


FLOATS = arrays(np.float64, 4, elements=st.floats(allow_nan=True, allow_infinity=True))


@given(FLOATS, FLOATS, FLOATS, FLOATS, st.sampled_from(["linear", "log"]), st.booleans())
def test_any_numbers_make_short_finite_drawings(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, scale: str, reverse: bool
) -> None:
    look, keys = looks.KEEP, (0, 1, 2, 3)
    layers = (
        Points(a, b, look, ("hint",) * 4, ("word",) * 4, keys),
        Boxes(a, b, c, d, look, keys=keys),
        Lines(np.stack([a, b]), np.stack([c, d]), look, keys=(1, 2), marks=True),
        Band(a, b, c, look),
        Spans(a, b, c, look, reverse),
        Bars(a, b, look, reverse),
        Region(a, b, look),
        Rule(float(a[0]), look, reverse),
    )
    axis = Axis(scale=scale, reverse=reverse)  # type: ignore[arg-type]
    markup = drawn(one(*layers, x=axis, y=axis)).markup()
    ElementTree.fromstring(markup)
    assert re.search(r"[\" (MLHV-](nan|inf)", markup) is None
    assert max(len(n) for n in numbers(re.sub(r"<title.*?</title>|<text.*?</text>|[0-9a-f]{8}-", "", markup))) <= 9


def test_hints_are_cut_not_left_out() -> None:
    root = parsed(one(Points(array(1), array(1), looks.KEEP, ("x" * 9999,), keys=(1,))), link=str)
    (mark,) = of_class(root, "mark")
    said = mark.find(f"{SVG}title").text  # type: ignore[union-attr]
    assert said == mark.get("aria-label") == "x" * 999 + "…"


def test_links_that_would_run_are_refused(snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        drawn(one(Points(array(1), array(1), looks.KEEP, keys=(1,))), link=lambda key: f"javascript:open({key})")


@pytest.mark.parametrize("prefix", ["a b", 'a"', "a)", "a#", "ä", "<"])
def test_prefixes_are_plain(prefix: str, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        drawn(one(), prefix=prefix)


# Names that stay ------------------------------------------------------------------------------------------------------


def test_names_stay_when_things_move_and_change_their_verdict() -> None:
    def picture(shift: float, undecided: tuple[int, ...]) -> Picture:
        keys = {looks.KEEP: tuple(k for k in range(6) if k not in undecided), looks.UNDECIDED: undecided}
        layers: list[Layer] = []
        for look, of_look in keys.items():
            at = array(*of_look) + shift
            layers.append(Boxes(at, at, at + 1, at + 1, look, keys=of_look))
        for look, of_look in keys.items():
            at = array(*of_look) + shift + 0.5
            layers.append(Points(at, at, look, keys=of_look, written=("w",) * len(of_look)))
        return one(*layers)

    def names(root: ElementTree.Element, kind: str) -> set[str | None]:
        return {each.get("id") for each in of_class(root, kind)}

    before, after = (parsed(p, prefix="f-") for p in (picture(0.0, (1, 2)), picture(2.0, (4,))))
    for kind in ("mark", "box"):
        assert names(before, kind) == names(after, kind) == {f"f-{kind}-{key}" for key in range(6)}
    # All boxes and all marks have the same parent, so that whoever patches need not tear one out.
    (layers,) = of_class(before, "layers")
    assert {each.get("id") for each in layers if each.get("id")} == names(before, "mark")
    (boxes,) = layers.findall(f"{SVG}svg")
    assert {each.get("id") for each in boxes} == names(before, "box")
    assert found(before, id="f-word-3").text == "w"


def test_names_are_unique_where_keys_occur_again() -> None:
    points = Points(array(1, 2), array(1, 2), looks.KEEP, keys=(1, 2))
    panel = Panel(Axis(), Axis(), (points, replace(points, look=looks.TRUTH)))
    root = parsed(Picture(((panel, panel),)), prefix="g-")
    ids = [mark.get("id") for mark in of_class(root, "mark")]
    assert ids[:4] == ["g-1-mark-1", "g-1-mark-2", "g-1-mark-1-2", "g-1-mark-2-2"]
    assert len(set(ids)) == 8


def test_without_a_prefix_two_drawings_on_a_page_share_no_id_that_means_something_else() -> None:
    pictures = [one(Region(array(0, 5, 5), array(0, 0, 5), look), title=title) for title in ("one", "other")
                for look in (looks.KEEP, looks.BEATEN)]  # fmt: skip
    meaning: dict[str, str] = {}
    for picture in pictures:
        for each in parsed(picture).iter():
            if each.get("id"):
                said = ElementTree.tostring(each, encoding="unicode")
                assert meaning.setdefault(str(each.get("id")), said) == said


def test_everything_with_a_key_is_a_link_when_wanted() -> None:
    keys = (3, 4)
    at, hints = array(1, 2), ("three", "four")
    layers = (
        Boxes(at, at, at + 1, at + 1, looks.KEEP, hints, keys),
        Bars(at, at, looks.KEEP, hints=hints, keys=keys),
        Spans(at, at, at + 1, looks.KEEP, hints=hints, keys=keys),
        Lines(np.stack([at, at]), np.stack([at, at + 1]), looks.KEEP, hints, keys),
        Points(at, at, looks.KEEP, hints, keys=keys),
    )
    root = parsed(one(*layers), link=lambda key: f"/study/1/arm/{key}", prefix="l-")
    links = list(root.iter(f"{SVG}a"))
    assert [(a.get("class"), a.get("href"), a.get("aria-label")) for a in links] == [
        (kind, f"/study/1/arm/{key}", said)
        for kind in ("bar", "span", "line", "mark")
        for key, said in zip(keys, hints, strict=True)
    ]
    assert not list(parsed(one(*layers)).iter(f"{SVG}a"))


# Words and sizes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        *("-O3 -march=native", "Star Wars (1977)", "seconds", "HYPERPARAMETER", "1,234.5 kB", "lower is better"),
        *("configuration_42/default", "Ärger über Öl", "日本語", "123,456,789"),
    ],
)
def test_widths_are_generous_for_a_broad_font(text: str) -> None:
    real = TextPath((0, 0), text, size=12, prop=FontProperties(family="DejaVu Sans"), usetex=False).get_extents().width
    assert 0.97 * real <= width(text, 12.0) <= 1.45 * max(real, 0.5 * 12.0 * cells_of(text))


@given(ANY_TEXT, st.floats(20, 300))
def test_short_and_wrapped_texts_fit(text: str, room: float) -> None:
    assert width(short(text, columns(room))) <= room
    lines = wrapped(text, columns(room))
    assert all(width(line) <= room for line in lines)
    assert len(lines) <= 2


def test_legends_wrap_and_show_what_is_meant() -> None:
    points, rule = Points(array(1), array(1), looks.KEEP), Rule(5.0, looks.GOAL)
    root = parsed(
        one(points, rule, legend=(looks.KEEP, looks.GOAL, looks.MATCHED, looks.BEATEN, looks.TRUTH, looks.MANY))
    )
    (legend,) = of_class(root, "legend")
    labels = [text.text for text in legend.iter(f"{SVG}text")]
    assert labels[:2] == [looks.KEEP.label, looks.GOAL.label]
    assert len(labels) == 6
    ends: dict[str | None, float] = {}
    for text in legend.iter(f"{SVG}text"):
        assert float(text.get("x", "nan")) > ends.get(text.get("y"), 0.0)
        ends[text.get("y")] = float(text.get("x", "nan")) + width(str(text.text))
    assert len(ends) > 1
    assert max(ends.values()) <= 504
    dashed = [path for path in legend.iter(f"{SVG}path") if path.get("stroke-dasharray") == "6 4"]
    assert len(dashed) == 1
    assert dashed[0].get("stroke") == looks.GOAL.colour


def test_a_thousand_arms_are_small() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0, 10, (2, 250))
    keys, hints = tuple(range(250)), tuple(f"arm {i}: in, seconds 1.23 [1.20, 1.31], 120 pulls" for i in range(250))
    counts = rng.poisson(1.0, (40, 37))
    layers = (
        Density(np.linspace(0, 10, 41), np.linspace(0, 10, 38), counts, looks.MANY),
        Boxes(x - 0.1, y - 0.1, x + 0.1, y + 0.1, looks.KEEP, hints, keys),
        Points(x, y, looks.KEEP, hints, keys=keys),
    )
    linked = drawn(one(*layers), link=lambda key: f"/study/1/arm/{key}?x=0&y=1", prefix="front-").markup()
    assert len(drawn(one(*layers)).markup()) < 150_000
    assert len(linked) < 180_000


def test_natural_size_and_scaling_are_attributes() -> None:
    root = parsed(one(width=7.0, height=5.0))
    assert root.get("viewBox") == "0 0 504 360"
    assert root.get("width") == "min(100%, 672px)"
    assert root.get("height") is None
    wide = parsed(one(width=14.0, height=5.0))
    _, _, across, down = map(float, wide.get("viewBox", "").split())
    assert across / down == pytest.approx(14 / 5, rel=0.02)
    assert 504 < across < 1008
    assert math.isclose(float(re.findall(r"(\d+)px", wide.get("width", ""))[0]), across * 4 / 3, rel_tol=0.01)


def test_a_picture_without_panels_is_still_one() -> None:
    root = parsed(Picture((), "nothing to see"))
    assert "nothing to see" in "".join(root.itertext())


def test_a_box_of_one_value_can_be_seen() -> None:
    """Browsers draw nothing of a rectangle without width or height."""
    exact = Boxes(array(2, 4), array(3, 5), array(6, 4), array(3, 5), looks.KEEP, keys=(0, 1))
    for box in of_class(parsed(one(exact)), "box"):
        assert float(box.get("width", 0)) >= 1.0
        assert float(box.get("height", 0)) >= 1.0
