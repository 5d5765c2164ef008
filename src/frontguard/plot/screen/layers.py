"""How each layer of a picture becomes traces of plotly. An end that goes on for ever leads far beyond the edge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._typing import Floats
from frontguard.plot.layout.frames import clipped, steps
from frontguard.plot.picture import (
    Arrow,
    Band,
    Bars,
    Boxes,
    Density,
    Layer,
    Lines,
    Picture,
    Points,
    Region,
    Rule,
    Spans,
)
from frontguard.plot.screen.looks import POINT, TEXT, colour, filling, line, marker, see_through
from frontguard.plot.screen.places import (
    BEYOND,
    Place,
    coordinates,
    joined,
    key_of,
    numbers,
    spot_of_rule,
    spot_within,
    words_beside,
)
from frontguard.plot.screen.text import hint, plain

Group = dict[str, Any]


def traces(go: Any, layer: Layer, place: Place) -> Iterator[Any]:
    """The traces of one layer, the lowest first."""
    group = place.group(layer.look)
    match layer:
        case Region():
            yield from _region(go, layer, place, group)
        case Points():
            yield from _points(go, layer, place, group)
        case Boxes():
            yield from _boxes(go, layer, place, group)
        case Lines():
            yield from _lines(go, layer, place, group)
        case Band():
            yield from _band(go, layer, place, group)
        case Spans():
            yield from _spans(go, layer, place, group)
        case Bars():
            yield from _bars(go, layer, place, group)
        case Density():
            yield from _density(go, layer, place)
        case Rule():
            yield from _rule(go, layer, place, group)
        case Arrow():
            yield go.Scatter(
                x=place.x(np.array(layer.x)), y=place.y(np.array(layer.y)), mode="lines+markers+text", hoverinfo="skip",
                line=line(layer.look), text=[plain(layer.written, 40), ""],
                textfont={"color": colour(layer.look), "size": 12},
                textposition="middle right" if (layer.x[1] < layer.x[0]) != place.panel.x.reverse else "middle left",
                marker={"symbol": "arrow", "size": [0, 12], "angleref": "previous", "color": colour(layer.look)},
                **group,
            )  # fmt: skip


def legend_traces(go: Any, picture: Picture) -> Iterator[Any]:
    """Traces without any data: the legend's entries, in its order."""
    layers = [layer for panel in picture.panels for layer in panel.layers]
    for look in picture.legend:
        same = [layer for layer in layers if key_of(layer.look) == key_of(look)]
        lined = any(isinstance(layer, (Lines, Rule, Arrow)) for layer in same)
        marked = not lined or any(isinstance(layer, Points) or getattr(layer, "marks", False) for layer in same)
        only_areas = bool(same) and all(isinstance(layer, (Bars, Density, Boxes, Band, Spans)) for layer in same)
        shown = {**marker(look), "size": min(11.0, POINT * look.size)}
        if only_areas:
            shown = {"symbol": "square", "size": 12, **filling(look)}
            shown.pop("pattern", None)
        yield go.Scatter(
            x=[None], y=[None], name=plain(look.label, 60), legendgroup=plain(look.label, 60), showlegend=True,
            mode="+".join((["lines"] if lined else []) + (["markers"] if marked else [])), marker=shown,
            line=line(look), hoverinfo="skip",
        )  # fmt: skip


# Layers ---------------------------------------------------------------------------------------------------------------


def _region(go: Any, layer: Region, place: Place, group: Group) -> Iterator[Any]:
    if layer.x.size < 3:
        return
    closed = [np.append(side, side[:1]) for side in (layer.x, layer.y)]
    yield go.Scatter(
        x=place.x(closed[0]), y=place.y(closed[1]), mode="lines", fill="toself", hoverinfo="skip",
        line={"color": see_through(layer.look, 0.3), "width": 1}, fillcolor=see_through(layer.look, 0.07),
        fillpattern={"shape": "/", "fgcolor": see_through(layer.look, 0.25), "bgcolor": see_through(layer.look, 0.06),
                     "size": 9, "solidity": 0.12},
        **group,
    )  # fmt: skip
    spot = spot_within(layer, place) if layer.written else None
    if spot is not None:
        yield go.Scatter(
            x=place.x(np.array(spot[:1])), y=place.y(np.array(spot[1:])), mode="text", hoverinfo="skip",
            text=[f"<i>{plain(layer.written, 40)}</i>"], textfont={"color": colour(layer.look), "size": 12}, **group,
        )  # fmt: skip


def _points(go: Any, layer: Points, place: Place, group: Group) -> Iterator[Any]:
    yield go.Scatter(
        x=place.x(layer.x, beyond=0.0), y=place.y(layer.y, beyond=0.0), mode="markers", marker=marker(layer.look),
        cliponaxis=False, **_hints(layer.hints), **group,
    )  # fmt: skip
    words = words_beside(layer, place)
    if words:
        which = [word.number for word in words]
        # plotly writes beside a mark's edge: marks that are not seen keep the words at their distance.
        unseen = {"opacity": 0.0, "size": [2.0 * word.distance for word in words]}
        yield go.Scatter(
            x=place.x(layer.x[which]), y=place.y(layer.y[which]), mode="markers+text", marker=unseen, hoverinfo="skip",
            text=[word.text for word in words], textposition=[word.side for word in words],
            textfont={"size": 12, "color": TEXT}, cliponaxis=False, **group,
        )  # fmt: skip


def _boxes(go: Any, layer: Boxes, place: Place, group: Group) -> Iterator[Any]:
    x = np.stack([layer.x_low, layer.x_high, layer.x_high, layer.x_low, layer.x_low], axis=1)
    y = np.stack([layer.y_low, layer.y_low, layer.y_high, layer.y_high, layer.y_low], axis=1)
    there = ~(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1))
    pale = layer.look.mark in ("cross", "plus")
    yield go.Scatter(
        x=joined([place.x(row) for row in x[there]]), y=joined([place.y(row) for row in y[there]]), mode="lines",
        line={"color": see_through(layer.look, 0.3 if pale else 0.6), "width": 1}, fill="toself", hoverinfo="skip",
        fillcolor=see_through(layer.look, 0.05 if pale else 0.13), **group,
    )  # fmt: skip
    pointed_at = {
        key for other in place.panel.layers if isinstance(other, Points) and other.hints for key in other.keys
    }
    if layer.hints and not (layer.keys and pointed_at.issuperset(layer.keys)):  # marks show the same hints
        (x_low, x_high), (y_low, y_high) = (
            [clipped(end, within) for end in ends]
            for ends, within in zip(
                ((layer.x_low, layer.x_high), (layer.y_low, layer.y_high)), place.frame, strict=True
            )
        )
        yield _unseen(go, (x_low + x_high) / 2.0, (y_low + y_high) / 2.0, layer.hints, place, group)


def _lines(go: Any, layer: Lines, place: Place, group: Group) -> Iterator[Any]:
    for i, (x, y) in enumerate(zip(layer.x, layer.y, strict=True)):
        corners = steps(x, y) if layer.step else (x, y)
        said = hint(layer.hints[i]) if i < len(layer.hints) else ""
        yield go.Scatter(
            x=place.x(corners[0]), y=place.y(corners[1]), mode="lines", line=line(layer.look), opacity=layer.opacity,
            connectgaps=False, hoverinfo="text" if said else "skip", hovertext=said or None, **group,
        )  # fmt: skip
        if layer.marks:
            yield go.Scatter(
                x=place.x(x), y=place.y(y), mode="markers", marker=marker(layer.look), opacity=layer.opacity,
                hoverinfo="text" if said else "skip", hovertext=said or None, **group,
            )  # fmt: skip


def _band(go: Any, layer: Band, place: Place, group: Group) -> Iterator[Any]:
    there = ~(np.isnan(layer.x) | np.isnan(layer.low) | np.isnan(layer.high))
    for piece in _runs(there):
        x, low, high = layer.x[piece], layer.low[piece], layer.high[piece]
        if layer.step:
            (across, high), (_, low) = steps(x, high), steps(x, low)
        else:
            across = x
        yield go.Scatter(
            x=place.x(np.concatenate([across, across[::-1]])), y=place.y(np.concatenate([high, low[::-1]])),
            mode="lines", line={"color": see_through(layer.look, 0.35), "width": 0.8}, fill="toself", hoveron="fills",
            fillcolor=see_through(layer.look, 0.16), hoverinfo="text" if layer.hint else "skip",
            text=hint(layer.hint) or None, **group,
        )  # fmt: skip


def _spans(go: Any, layer: Spans, place: Place, group: Group) -> Iterator[Any]:
    there = ~(np.isnan(layer.at) | np.isnan(layer.low) | np.isnan(layer.high))
    at, low, high = layer.at[there], layer.low[there], layer.high[there]
    across, along = np.stack([at, at], axis=1), np.stack([low, high], axis=1)
    x, y = (across, along) if layer.upright else (along, across)
    yield go.Scatter(
        x=joined([place.x(row) for row in x]), y=joined([place.y(row) for row in y]), mode="lines", hoverinfo="skip",
        line={"color": see_through(layer.look, layer.opacity), "width": POINT * layer.thickness}, **group,
    )  # fmt: skip
    if layer.hints:
        within = place.frame[1] if layer.upright else place.frame[0]
        middle = (clipped(layer.low, within) + clipped(layer.high, within)) / 2.0
        ends = (layer.at, middle) if layer.upright else (middle, layer.at)
        yield _unseen(go, *ends, layer.hints, place, group)


def _bars(go: Any, layer: Bars, place: Place, group: Group) -> Iterator[Any]:
    along, across = (place.panel.y, place.panel.x) if layer.upright else (place.panel.x, place.panel.y)
    within = place.frame[1] if layer.upright else place.frame[0]
    start = clipped(np.zeros(layer.at.size), within)
    length = clipped(layer.length, within, beyond=BEYOND, log=along.scale == "log") - start
    at = coordinates(layer.at, place.frame[0] if layer.upright else place.frame[1], across, 0.0)
    ends = {"x": at, "y": numbers(length)} if layer.upright else {"x": numbers(length), "y": at}
    yield go.Bar(
        **ends, base=start.tolist(), orientation="v" if layer.upright else "h",
        width=layer.thickness * (1000.0 if across.dates else 1.0), marker=filling(layer.look),
        textposition="none", **_hints(layer.hints), **group,
    )  # fmt: skip


def _density(go: Any, layer: Density, place: Place) -> Iterator[Any]:
    counts = np.asarray(layer.counts, np.float64).T
    if not counts.any():
        return
    said = [[hint(layer.hint.replace("{count}", f"{int(count):,}")) for count in row] for row in counts]
    with np.errstate(divide="ignore"):
        strength = np.where(counts > 0, np.log1p(counts) / np.log1p(counts.max()), np.nan)
    yield go.Heatmap(
        x=place.x(layer.x_edges), y=place.y(layer.y_edges), z=[numbers(row) for row in strength], text=said,
        hoverinfo="text", showscale=False, zmin=0.0, zmax=1.0, hoverongaps=False,
        colorscale=[[0.0, see_through(layer.look, 0.12)], [1.0, see_through(layer.look, 0.8)]],
    )  # fmt: skip


def _rule(go: Any, layer: Rule, place: Place, group: Group) -> Iterator[Any]:
    ends, at = np.array([-np.inf, np.inf]), np.array([layer.at, layer.at])
    x, y = (at, ends) if layer.upright else (ends, at)
    yield go.Scatter(x=place.x(x), y=place.y(y), mode="lines", line=line(layer.look), hoverinfo="skip", **group)
    if layer.written:
        x_at, y_at, side = spot_of_rule(layer, place)
        yield go.Scatter(
            x=place.x(np.array([x_at])), y=place.y(np.array([y_at])), mode="text", hoverinfo="skip",
            text=[plain(layer.written, 40)], textposition=side, textfont={"color": colour(layer.look), "size": 12},
            **group,
        )  # fmt: skip


def _unseen(go: Any, x: Floats, y: Floats, hints: tuple[str, ...], place: Place, group: Group) -> Any:
    """Marks that are not seen, for the hints of things that plotly has none for."""
    return go.Scatter(
        x=place.x(x), y=place.y(y), mode="markers", marker={"opacity": 0.0, "size": 12}, **_hints(hints), **group
    )


def _hints(hints: tuple[str, ...]) -> dict[str, Any]:
    return {"hoverinfo": "text", "hovertext": [hint(text) for text in hints]} if hints else {"hoverinfo": "skip"}


def _runs(there: npt.NDArray[np.bool_]) -> Iterator[slice]:
    """Where things are there without interruption."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], there, [False]]).astype(np.int8)))
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield slice(first, last)
