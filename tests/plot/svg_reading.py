"""Reads drawings back: what lies where, by what a reader would see."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from frontguard.plot.picture import (
    Axis,
    Layer,
    Panel,
    Picture,
)
from frontguard.plot.svg import drawn

SVG = "{http://www.w3.org/2000/svg}"


def one(*layers: Layer, x: Axis | None = None, y: Axis | None = None, **more: object) -> Picture:
    """A picture of one panel from 0 to 10, unless said otherwise."""
    panel = Panel(x or Axis(low=0.0, high=10.0), y or Axis(low=0.0, high=10.0), layers)
    return Picture(((panel,),), **more)  # type: ignore[arg-type]


def parsed(picture: Picture, **options: object) -> ElementTree.Element:
    return ElementTree.fromstring(drawn(picture, **options).markup().encode("utf-8"))  # type: ignore[arg-type]


def found(root: ElementTree.Element, **wanted: str) -> ElementTree.Element:
    """The element with that id, data-key, ..."""
    names = {name.replace("_", "-"): value for name, value in wanted.items()}
    (only,) = (each for each in root.iter() if all(each.get(name) == value for name, value in names.items()))
    return only


def of_class(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [each for each in root.iter() if each.get("class") == name]


def place(mark: ElementTree.Element) -> tuple[float, float]:
    """Where a mark is."""
    match = re.fullmatch(r"translate\((\S+) (\S+)\)", mark.get("transform", ""))
    assert match is not None
    return float(match[1]), float(match[2])


def ticks_of(root: ElementTree.Element) -> tuple[dict[str, float], dict[str, float]]:
    """The x of the words below, and the y of the words beside: an account of the scales by what a reader sees."""
    below, beside = of_class(root, "ticks")
    across = {text.text or "": float(text.get("x", "nan")) for text in below}
    return across, {text.text or "": float(text.get("y", "nan")) - 0.35 * 12 for text in beside}


def frame(root: ElementTree.Element) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of the only panel, from its lines."""
    (axes,) = of_class(root, "axes")
    left, top, bottom, right = map(float, re.split("[MVH ]", axes.findall(f"{SVG}path")[-1].get("d", ""))[1:])
    return left, top, right, bottom


def numbers(text: str) -> Iterator[str]:
    return iter(re.findall(r"-?\d*\.?\d+", text))
