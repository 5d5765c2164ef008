"""SVG: what is written and drawn can be seen on white and on black, without any style of the page around it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from frontguard.plot import picture as looks
from frontguard.plot.picture import Boxes, Picture, Points, Region, Rule, Spans
from tests.plot.samples import INF, SAMPLES, array
from tests.plot.svg_reading import SVG, one, parsed

PAPERS = (("#ffffff", "#000000"), ("#ffffff", "#333333"), ("#111111", "#ffffff"), ("#121212", "#d4d4d4"))
"""Backgrounds with the text of pages that have them."""

PALE = ("grid", "region", "density", "band", "box")
"""Helping lines, and areas whose outline or middle line is what must be seen: the fill of these may be pale."""


@dataclass(frozen=True)
class Painted:
    what: str
    said: str
    colour: str
    opacity: float


def rgb(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[at : at + 2], 16) / 255.0 for at in (1, 3, 5))


def luminance(colour: tuple[float, ...]) -> float:
    """As WCAG 2 defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(painted: Painted, paper: str, ink: str) -> float:
    shown = rgb(ink if painted.colour == "currentColor" else painted.colour)
    mixed = tuple(painted.opacity * c + (1.0 - painted.opacity) * p for c, p in zip(shown, rgb(paper), strict=True))
    light, dark = sorted((luminance(mixed), luminance(rgb(paper))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def painted(
    each: ElementTree.Element, inherited: dict[str, str], opacity: float = 1.0, pale: bool = False
) -> Iterator[Painted]:
    """Every text, line and mark with its colour and how much of it is seen."""
    tag, kind = each.tag.removeprefix(SVG), each.get("class", "")
    if tag in ("defs", "title", "desc"):
        return
    inherited = inherited | {name: value for name, value in each.attrib.items() if not name.startswith("opacity")}
    opacity *= float(each.get("opacity", "1"))
    pale = pale or kind in PALE
    fill, stroke = inherited.get("fill", "#000000"), inherited.get("stroke", "none")
    if tag in ("text", "tspan") and (each.text or "").strip():
        yield Painted("text", each.text or "", fill, opacity)
    elif tag in ("path", "rect"):
        broad = "stroke-opacity" in each.attrib and inherited.get("class") == "span"
        if broad:  # the same path is there once more, as a thin line, see below
            pass
        elif stroke != "none" and kind != "grid":
            yield Painted(kind or tag, "stroke", stroke, opacity * float(inherited.get("stroke-opacity", "1")))
        elif fill != "none" and not fill.startswith("url(") and not pale:
            yield Painted(kind or tag, "fill", fill, opacity * float(inherited.get("fill-opacity", "1")))
    for child in each:
        yield from painted(child, inherited, opacity, pale)


def crowd() -> Picture:
    """What writes words in the panel, in every look."""
    every = [*looks.VERDICTS.values(), looks.TRUTH, looks.GOAL, looks.SUSPECT, looks.FAILED, *looks.CONTESTANTS]
    layers = [
        layer
        for i, look in enumerate(every)
        for layer in (
            Points(array(i), array(i), look, written=(f"arm {i}",)),
            Boxes(array(i - 0.3), array(i - 0.3), array(i + 0.3), array(INF), look),
            Spans(array(i), array(i - 0.5), array(i + 0.9), look),
            Rule(float(i), look, i % 2 == 0),
        )
    ]
    region = Region(array(0, 9, 9), array(0, 0, 9), looks.KEEP)
    legend = tuple(replace(look, label=look.label or f"contestant {i}") for i, look in enumerate(every))
    return replace(one(region, *layers, width=12.0, height=9.0), legend=legend, title="All")


@pytest.mark.parametrize(("paper", "ink"), PAPERS)
@pytest.mark.parametrize("name", [*SAMPLES, "crowd"])
def test_words_and_marks_can_be_seen(name: str, paper: str, ink: str) -> None:
    root = parsed(crowd() if name == "crowd" else SAMPLES[name]())
    shown = list(painted(root, {}))
    assert any(each.what == "text" for each in shown)
    for each in shown:
        if each.what == "text":
            assert contrast(each, paper, ink) >= 4.5, each
        else:
            assert contrast(each, paper, ink) >= 3.0, each


def test_pale_spans_have_a_line_that_is_seen() -> None:
    root = parsed(one(Spans(array(5), array(1), array(9), looks.BEATEN, opacity=0.5)))
    (group,) = (each for each in root.iter() if each.get("class") == "spans")
    broad, thin = group.iter(f"{SVG}path")
    assert broad.get("d") == thin.get("d")
    assert (broad.get("stroke-opacity"), thin.get("stroke-opacity")) == ("0.5", None)
    assert re.fullmatch("#[0-9A-Fa-f]{6}", str(group.get("stroke")))
