"""Pictures on the screen: plotly figures (extra `plotly`) with zoom, and hints under the pointer.

plotly reads texts as a kind of HTML, and as TeX where MathJax is there: `plain` makes them nothing but text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.phrases import cells_of
from frontguard.plot import picture as parts
from frontguard.plot.frames import (
    Frame,
    Label,
    Limits,
    bounded,
    clipped,
    labels,
    limits,
    middle,
    rectangles,
    runs,
    sheet_of,
    ticks,
)
from frontguard.plot.picture import THIN, Axis, Look, Panel, Picture, bar_shade, box_shades, in_columns, short, wrapped

_INCH, _POINT = 96, 96.0 / 72.0  # in pixels
_SIZE = 9.0  # of labels, in points
_SYMBOLS = {"cross": "x-thin", "triangle": "triangle-up", "dot": "circle", "ring": "circle", "bar": "line-ns",
            "plus": "cross-thin"}  # fmt: skip
Settings = dict[str, Any]  # of a trace, an axis or a part of them, by plotly's own names


def drawn(picture: Picture) -> Any:
    """The picture as a plotly.graph_objects.Figure, as wide as the page lets it be."""
    try:
        from plotly.graph_objects import Figure
    except ImportError:
        raise BadInput("pictures on the screen need plotly: install it with pip install 'frontguard[plotly]'") from None
    across = max((len(row) for row in picture.rows), default=1) or 1
    specs: list[list[Settings | None]] = [[None] * across for _ in picture.rows] or [[{}]]
    cells = []
    for i, row in enumerate(picture.rows):
        span = across // len(row) if row and across % len(row) == 0 else 1  # a shorter row has wider panels
        for j, panel in enumerate(row):
            if panel is not None:
                specs[i][j * span] = {"colspan": span}
                cells.append((panel, {"row": i + 1, "col": j * span + 1}, _INCH * picture.width / len(row)))
    names = [cells_of(name) for row in picture.rows for panel in row[1:] if panel for name in panel.y.names]
    figure = Figure().set_subplots(
        len(specs), across, specs=specs, subplot_titles=[_heading(panel, wide) for panel, _, wide in cells],
        horizontal_spacing=min((90 + 7 * min(30, max(names, default=0))) / (_INCH * picture.width), 0.7 / across),
        vertical_spacing=min(115 / (_INCH * picture.height), 0.7 / len(specs)),
    )  # fmt: skip
    high = max(120.0, (_INCH * picture.height - 120.0) / len(specs) - 70.0)
    for panel, cell, wide in cells:
        frame = limits(panel)
        for layer in panel.layers:  # ends that go on for ever are beyond the edge
            for trace in _traces(bounded(layer, panel, frame, beyond=0.3), panel, frame):
                figure.add_trace(_of_legend(layer.look, trace, picture), **cell)
        for trace in _labels(panel, frame, (max(120.0, wide - 110.0), high), picture):
            figure.add_trace(trace, **cell)
        figure.update_xaxes(_axis(panel.x, frame[0], max(120.0, wide - 110.0), 40.0, 60.0), **cell)
        figure.update_yaxes(_axis(panel.y, frame[1], high, 15.0, 32.0), **cell)
    figure.add_traces([_entry(look, picture) for look in picture.legend])
    title = plain(picture.title, round(_INCH * picture.width / 9.5), 2)
    headings = max((note.text.count("<br>") + 1 for note in figure.layout.annotations), default=0)
    return figure.update_layout(
        template="plotly_white", barmode="overlay", height=round(_INCH * picture.height) + 40 * bool(picture.legend),
        title={"text": f"<b>{title}</b>" if title else "", "x": 0.01, "y": 0.985, "yanchor": "top"},
        margin={"l": 20, "r": 20, "t": 30 + 18 * headings + (28 * (1 + title.count("<br>")) if title else 0)},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 0.0, "yanchor": "bottom", "yref": "container"},
        font={"family": "system-ui, sans-serif", "size": 13, "color": "#222222"},
    ).update_annotations(font_size=14)  # fmt: skip


def plain(text: str, most: int, lines: int = 1) -> str:
    """A text that plotly shows as it is, in at most so many lines of so many columns.

    >>> plain("<b>a & b</b> $x$", 40)
    '&lt;b&gt;a &amp; b&lt;/b&gt; &#36;x&#36;'
    """
    pieces = [short(text, most)] if lines == 1 else wrapped(text, most, lines)
    # plotly looks for TeX before it reads entities: a dollar sign that is one is none to MathJax.
    return "<br>".join(escape(piece, quote=False).replace("$", "&#36;") for piece in pieces)


def _hint(text: str) -> str:
    """The text under the pointer: lines as they are given, each broken and shortened if need be."""
    return "<br>".join(plain(line, 60, 4) for line in text.split("\n")[:12])


def _hints(hints: tuple[str, ...]) -> Settings:
    return {"hoverinfo": "text", "hovertext": [_hint(text) for text in hints]} if hints else {}


def _heading(panel: Panel, wide: float) -> str:
    notes = plain(panel.note, round(wide / 7.2), 2).split("<br>")  # in small letters
    title = plain(panel.title, max(16, round(wide / 9.0)), 2)
    return "<br>".join(filter(None, [title, *(f"<sup>{note}</sup>" for note in notes if note)]))


def _axis(axis: Axis, within: Limits, room: float, name: float, number: float) -> Settings:
    """An axis of so many pixels, of which a name or a number takes so many where ticks are not plotly's own."""
    log = axis.scale == "log"
    shown = [math.log10(end) for end in within] if log else list(within)
    title, most = axis.title, max(12, int(room / 7.3))
    apart = "   " if cells_of(title + axis.direction) + 3 <= most else "<br>"
    settings: Settings = {
        "title": {"text": apart.join(filter(None, [plain(title, most, 2), axis.direction])), "standoff": 8},
        "type": axis.scale, "range": shown[::-1] if axis.reverse else shown,
        "showgrid": not axis.names, "ticks": "" if axis.names else "outside", "zeroline": False, "automargin": True,
        "exponentformat": "none" if 1e-4 <= max(map(abs, within)) < 1e7 else "power",
        "title_font_size": 13, "separatethousands": True,
        # What goes on for ever is drawn far beyond the edge, where zooming out need not lead.
        "autorangeoptions": {"clipmin": within[0], "clipmax": within[1]},
    }  # fmt: skip
    if log or axis.names or axis.ticks is not None:  # plotly's own on a log axis are single digits that nobody can read
        named = ticks(axis, *within, most=int(room / (name if axis.names else number)))
        texts = [word for _, word in named]
        words = [plain(word, 30) for word in (in_columns(texts, 30) if axis.names else texts)]
        settings |= {"tickmode": "array", "tickvals": [at for at, _ in named], "ticktext": words}
    return settings


def _shade(look: Look, opacity: float = 1.0) -> str:
    """Its colour, or that of text, of which only so much is seen."""
    return f"{look.colour or '#333333'}{round(255 * opacity):02x}" if opacity < 1.0 else look.colour or "#333333"


def _mark(look: Look) -> Settings:
    hollow = not look.filled or look.mark in (*THIN, "ring")
    edge = {"width": 2.0 if hollow else 0.5, "color": _shade(look)}
    symbol = _SYMBOLS.get(look.mark, look.mark) + ("-open" if hollow else "")
    return {"symbol": symbol, "size": _POINT * look.size, "color": _shade(look), "line": edge}


def _line(look: Look) -> Settings:
    dash = ",".join(f"{_POINT * length:g}px" for length in look.dash) or "solid"
    return {"color": _shade(look), "width": _POINT * look.width, "dash": dash}


def _filling(look: Look) -> Settings:
    return {"color": _shade(look, bar_shade(look)), "line": {"color": _shade(look), "width": 1.0}}


def _entry(look: Look, picture: Picture) -> Settings:
    """A trace without any data: an entry of the legend, which shows and hides what looks so."""
    kinds, name, shown = picture.drawn_as(look), plain(look.label, 60), _mark(look)
    shown["size"] = min(11.0, shown["size"])
    if kinds and not kinds & {"line", "mark"}:
        shown = {"symbol": "square", "size": 12, **_filling(look)}
    mode = "+".join(mode for mode, kind in (("lines", "line"), ("markers", "mark")) if kind in kinds) or "markers"
    return {"type": "scatter", "x": [None], "y": [None], "name": name, "legendgroup": name, "showlegend": True,
            "mode": mode, "marker": shown, "line": _line(look), "hoverinfo": "skip"}  # fmt: skip


def _of_legend(look: Look, trace: Settings, picture: Picture) -> Settings:
    bare = replace(look, label="")
    labels = [plain(each.label, 60) for each in picture.legend if replace(each, label="") == bare]
    group = labels[-1] if labels else None
    common = {"type": "scatter", "showlegend": False, "hoverinfo": "skip", "legendgroup": group}
    return common | trace | {"x": _coordinates(trace["x"]), "y": _coordinates(trace["y"])}


def _labels(panel: Panel, frame: Frame, room: tuple[float, float], picture: Picture) -> Iterator[Settings]:
    """The labels of each layer, as far as there is room in so many pixels."""
    names = 7.0 * min(30, max(map(cells_of, panel.y.names), default=0))
    sheet = sheet_of(panel, frame, (0.0, 0.0, max(60.0, room[0] - names) / _POINT, room[1] / _POINT))
    by_layer: dict[int, list[Label]] = {}
    for label in labels(panel, sheet, _SIZE):
        by_layer.setdefault(id(label.layer), []).append(label)
    for found in by_layer.values():
        x, y = zip(*(label.at for label in found), strict=True)
        sides = ["middle right" if label.side > 0 else "middle left" for label in found]
        # plotly puts a text beside its mark
        away = {"opacity": 0.0, "size": [2.0 * _POINT * label.reach for label in found]}
        style = Settings(mode="markers+text", marker=away, textposition=sides, textfont={"size": _POINT * _SIZE})
        text = [plain(label.text, 60) for label in found]
        yield _of_legend(found[0].layer.look, {"x": x, "y": y, "text": text, **style}, picture)


def _coordinates(values: npt.ArrayLike) -> list[Any]:
    """Values for an axis of plotly: None for what is no number."""
    return [value if math.isfinite(value) else None for value in np.ravel(np.asarray(values, np.float64)).tolist()]


def _area(x: Floats, y: Floats, look: Look, fill: float, edge: float, hint: str = "") -> Settings:
    """Polygons, kept apart by NaN, filled and edged with so much of the colour."""
    style = {"fill": "toself", "fillcolor": _shade(look, fill), "line": {"color": _shade(look, edge), "width": 1}}
    said = {"hoverinfo": "text", "text": _hint(hint), "hoveron": "fills"} if hint else {}
    return {"x": x, "y": y, "mode": "lines"} | style | said


def _traces(layer: parts.Layer, panel: Panel, frame: Frame) -> Iterator[Settings]:
    look, unseen = layer.look, {"opacity": 0.0, "size": 12}
    upright = getattr(layer, "upright", False)
    shown = frame[1] if upright else frame[0]
    match layer:
        case parts.Points():
            marks = {"x": layer.x, "y": layer.y, "marker": _mark(look), "cliponaxis": False, **_hints(layer.hints)}
            yield marks | {"mode": "markers"}
        case parts.Boxes():
            fill, edge = box_shades(look)
            corners = rectangles(layer, frame)
            closed = np.concatenate([corners, corners[:, :1], np.full_like(corners[:, :1], np.nan)], axis=1)
            yield _area(closed[..., 0], closed[..., 1], look, fill, edge)
            others = [each for each in panel.layers if isinstance(each, parts.Points) and each.hints]
            marked = {key for each in others for key in each.keys}
            if layer.hints and not (layer.keys and marked.issuperset(layer.keys)):  # marks show the same hints
                x, y = middle(layer.x_low, layer.x_high, frame[0]), middle(layer.y_low, layer.y_high, frame[1])
                yield {"x": x, "y": y, "mode": "markers", "marker": unseen, **_hints(layer.hints)}
        case parts.Lines():
            mode = "lines" + "+markers" * layer.marks
            style = Settings(line=_line(look), marker=_mark(look), mode=mode, opacity=layer.opacity)
            for i, (x, y) in enumerate(zip(layer.x, layer.y, strict=True)):
                said = {"hoverinfo": "text", "hovertext": _hint(layer.hints[i])} if i < len(layer.hints) else {}
                yield {"x": x, "y": y} | style | said
        case parts.Band():
            for first, behind in runs(layer.x, layer.low + layer.high):
                x, low, high = (side[first:behind] for side in (layer.x, layer.low, layer.high))
                yield _area(np.append(x, x[::-1]), np.append(high, low[::-1]), look, 0.16, 0.35, layer.hint)
        case parts.Spans():
            along = middle(layer.low, layer.high, shown)  # where the hint is found
            bars = {"array": layer.high - along, "arrayminus": along - layer.low, "symmetric": False, "width": 0,
                    "thickness": _POINT * layer.thickness, "color": _shade(look, layer.opacity)}  # fmt: skip
            ends = (layer.at, along)[:: 1 if upright else -1]
            places = {"x": ends[0], "y": ends[1], "error_y" if upright else "error_x": bars}
            yield {"mode": "markers", "marker": unseen, **places, **_hints(layer.hints)}
        case parts.Bars():
            base = clipped(np.zeros(layer.at.size), shown)
            ends = (layer.at, clipped(layer.high, shown) - base)[:: 1 if upright else -1]
            yield {
                "type": "bar", "x": ends[0], "y": ends[1], "base": base, "marker": _filling(look),
                "orientation": "v" if upright else "h", "textposition": "none", **_hints(layer.hints),
                "width": layer.thickness,
            }  # fmt: skip
        case parts.Density() if layer.counts.any():
            counts = np.asarray(layer.counts, np.float64).T
            strength = (np.log1p(counts) / np.log1p(counts.max())).tolist()
            yield {
                "type": "heatmap", "x": layer.x_edges, "y": layer.y_edges, "hoverongaps": False, "showscale": False,
                "z": [[value or None for value in row] for row in strength], "zmin": 0.0, "zmax": 1.0,
                "text": [[_hint(layer.hint.replace("{count}", f"{int(n):,}")) for n in row] for row in counts],
                "colorscale": [[0.0, _shade(look, 0.12)], [1.0, _shade(look, 0.8)]], "hoverinfo": "text",
            }  # fmt: skip
        case parts.Region() if layer.x.size > 2:
            yield _area(layer.x, layer.y, look, 0.07, 0.3)
        case parts.Rule():
            x, y = (np.full(2, layer.at), np.array(shown))[:: 1 if upright else -1]
            yield {"x": x, "y": y, "mode": "lines", "line": _line(look)}
