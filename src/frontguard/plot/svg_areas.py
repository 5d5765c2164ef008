"""Layers that are areas: bands, regions, densities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from frontguard.markup import Element, element
from frontguard.plot.frames import steps
from frontguard.plot.picture import Band, Density, Region
from frontguard.plot.svg_marks import colour
from frontguard.plot.svg_paths import polygon, runs
from frontguard.plot.svg_pen import Pen
from frontguard.plot.svg_text import SIZE, fitted, hint, number, width, words

Floats = npt.NDArray[np.float64]


def band(layer: Band, pen: Pen) -> Iterator[Element]:
    """The area between two lines, in pieces where one of them is unknown."""
    x, low, high = pen.x(layer.x), pen.y(layer.low), pen.y(layer.high)
    pieces = []
    for first, behind in runs(x, low + high):
        part = slice(first, behind)
        across, under = (steps if layer.step else _straight)(x[part], low[part])
        _, over = (steps if layer.step else _straight)(x[part], high[part])
        if layer.step and behind < len(x) and not np.isnan(x[behind]):
            # The last step before a gap is known until the gap begins.
            across, under, over = (np.append(a, a[-1]) for a in (across, under, over))
            across[-1] = x[behind]
        pieces.append(polygon(np.concatenate([across, across[::-1]]), np.concatenate([over, under[::-1]])))
    path = "".join(pieces)
    if not path:
        return
    tone = {"fill": colour(layer.look), "fill-opacity": ".2"}
    yield pen.clipped(pen.named("band", layer.key, layer.hint, {}, element("path", {"d": path} | tone)))


def _straight(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    return x, y


def density(layer: Density, pen: Pen) -> Iterator[Element]:
    """Cells, the darker the more lie in them; cells with as many are one path, which keeps thousands small."""
    counts = np.asarray(layer.counts)
    most = int(counts.max(initial=0))
    if most <= 0:
        return
    x, y = pen.x(layer.x_edges), pen.y(layer.y_edges)
    x, y = pen.within(x, y)
    gap = 0.4  # so that one sees cells
    shapes = []
    for count in np.unique(counts[counts > 0]).tolist():
        cells = []
        for i, j in np.argwhere(counts == count).tolist():
            (x0, x1), (y0, y1) = sorted((x[i], x[i + 1])), sorted((y[j], y[j + 1]))
            if x1 - x0 > gap and y1 - y0 > gap:
                wide, high = number(x1 - x0 - gap), number(y1 - y0 - gap)
                cells.append(f"M{number(x0)} {number(y0)}h{wide}v{high}h-{wide}z")
        if cells:
            shade = 0.12 + 0.6 * np.log1p(count) / np.log1p(most)
            said = hint(layer.hint.replace("{count}", f"{count:,}"))
            shapes.append(element("path", {"d": "".join(cells), "fill-opacity": f"{shade:.2f}"[1:]}, said))
    yield element("g", {"class": "density", "fill": colour(layer.look)}, *shapes)


def region(layer: Region, pen: Pen) -> Iterator[Element]:
    """A polygon, lightly shaded and hatched."""
    x, y = pen.x(layer.x), pen.y(layer.y)
    known = ~(np.isnan(x) | np.isnan(y))
    path = polygon(x[known], y[known])
    if not path:
        return
    fill = {"fill": f"url(#{pen.hatch(colour(layer.look))})"}
    yield pen.clipped(element("path", {"class": "region", "d": path} | fill))


def word_inside(layer: Region, pen: Pen) -> Element | None:
    """A region's word, where there is room: in the polygon, off the marks, and near a corner of the frame."""
    x, y = pen.x(layer.x), pen.y(layer.y)
    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    if not layer.written or len(x) < 3:
        return None
    left, top, right, bottom = pen.frame
    size = SIZE - 1.0
    text = fitted(layer.written, 0.7 * (right - left), size)
    wide, high, gap = width(text, size), size * 1.1, 6.0
    middle = (left + right) / 2.0, (top + bottom) / 2.0
    places = [
        (across, down)
        for across in np.linspace(left + gap, right - gap - wide, 13).tolist()
        for down in np.linspace(top + gap, bottom - gap - high, 13).tolist()
    ]
    places.sort(key=lambda at: (-abs(at[0] + wide / 2 - middle[0]) / (right - left)
                                - abs(at[1] + high / 2 - middle[1]) / (bottom - top)))  # fmt: skip
    marks = np.concatenate([np.empty((0, 4)), *pen.marks, *pen.written])
    for across, down in places:
        box = np.array([(across - 2, down - 2), (across + wide + 2, down - 2), (across - 2, down + high + 2)])
        box = np.concatenate([box, [(across + wide + 2, down + high + 2)]])
        touching = (marks[:, :2] < box[3]) & (marks[:, 2:] > box[0])
        within = across >= left and across + wide <= right and down >= top and down + high <= bottom
        if within and not touching.all(axis=1).any() and _contains(x, y, box[:, 0], box[:, 1]).all():
            pen.written.append(np.array([[across, down, across + wide, down + high]]))
            return words(across, down + 0.85 * size, text, size=size, opacity=".8", font_style="italic")
    return None


def _contains(x: Floats, y: Floats, at_x: Floats, at_y: Floats) -> npt.NDArray[np.bool_]:
    """Which places lie inside the polygon: a ray to the right crosses its border an odd number of times."""
    next_x, next_y = np.roll(x, -1), np.roll(y, -1)
    across = (y[None, :] > at_y[:, None]) != (next_y[None, :] > at_y[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = x + (at_y[:, None] - y) / (next_y - y) * (next_x - x)
    return np.asarray((across & (at_x[:, None] < meets)).sum(axis=1) % 2 == 1)
