"""Pictures on the screen: plotly figures (extra `plotly`) with zoom, and hints under the pointer.

plotly reads texts as a kind of HTML, and as TeX where MathJax is there. All texts go through `screen_text`, after which
they are nothing but text; hints are plain texts and not templates.
"""

from __future__ import annotations

import math
from typing import Any

from frontguard.errors import BadInput
from frontguard.plot.layout.frames import Limits, limits
from frontguard.plot.layout.names import columns
from frontguard.plot.layout.scales import Ticks, ticks
from frontguard.plot.picture import Axis, Panel, Picture
from frontguard.plot.screen.layers import legend_traces, traces
from frontguard.plot.screen.places import Place, key_of
from frontguard.plot.screen.text import lines, plain

_INCH = 96  # pixels
_PLAIN = 1e-4, 1e7  # values between these are written without a power of ten
_LETTER = 7.3  # pixels of a title's letter


def drawn(picture: Picture) -> Any:
    """The picture as a plotly.graph_objects.Figure, as wide as the page lets it be."""
    try:
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots
    except ImportError:
        raise BadInput("pictures on the screen need plotly: install it with pip install 'frontguard[plotly]'") from None
    across = max((len(row) for row in picture.rows), default=1) or 1
    figure = make_subplots(
        rows=max(len(picture.rows), 1),
        cols=across,
        specs=[[_spec(row, j, across) for j in range(across)] for row in picture.rows] or None,
        subplot_titles=[_heading(panel, picture, len(row)) for row in picture.rows for panel in row if panel],
        **_spacing(picture, across),
    )  # fmt: skip
    named = {key_of(look): plain(look.label, 60) for look in picture.legend}
    for i, row in enumerate(picture.rows):
        for j, panel in enumerate(row):
            if panel is not None:
                column = _column(len(row), j, across)
                _panel(figure, go, panel, i + 1, column, named, _size(picture, len(row)))
    for trace in legend_traces(go, picture):
        figure.add_trace(trace, row=None, col=None)
    _layout(figure, picture)
    return figure


def _spacing(picture: Picture, across: int) -> dict[str, float]:
    """Room between panels for ticks and titles, as shares of the whole."""
    names = [name for row in picture.rows for panel in row[1:] if panel for name in panel.y.names]
    inner = [(_titled(panel.y, _size(picture, len(row))[1])) for row in picture.rows for panel in row[1:] if panel]
    lines = max((1 + title.count("<br>") for title in inner if title), default=0)
    beside = 60.0 + 20.0 * lines + 7.0 * min(30, max((columns(name) for name in names), default=0))
    below = (
        75.0
        + (25.0 if any(panel.title for panel in picture.panels) else 0.0)
        + _second_lines(picture, picture.rows[:-1])
    )
    rows = max(len(picture.rows), 1)
    return {
        "horizontal_spacing": min(beside / (_INCH * picture.width), 0.7 / across),
        "vertical_spacing": min(below / (_INCH * picture.height), 0.7 / rows),
    }


def _second_lines(picture: Picture, rows: tuple[tuple[Panel | None, ...], ...]) -> float:
    """Pixels that titles below panels take beyond their first line."""
    titles = [_titled(panel.x, _size(picture, len(row))[0]) for row in rows for panel in row if panel]
    return 18.0 * max((title.count("<br>") for title in titles), default=0)


def _spec(row: tuple[Panel | None, ...], j: int, across: int) -> dict[str, Any] | None:
    """A shorter row has wider panels, where they fill it."""
    wide = across // len(row) if row and across % len(row) == 0 else 1
    if j % wide or j // wide >= len(row) or row[j // wide] is None:
        return None
    return {"colspan": wide}


def _column(length: int, j: int, across: int) -> int:
    return j * (across // length) + 1 if across % length == 0 else j + 1


def _size(picture: Picture, beside: int) -> tuple[float, float]:
    """About how many pixels a panel has, without its ticks and titles."""
    return (
        max(120.0, _INCH * picture.width / beside - 110.0),
        max(120.0, (_INCH * picture.height - 120.0) / max(len(picture.rows), 1) - 70.0),
    )


def _panel(
    figure: Any, go: Any, panel: Panel, row: int, column: int, named: dict[Any, str], size: tuple[float, float]
) -> None:
    frame = limits(panel)
    place = Place(panel, frame, size, named)
    for layer in panel.layers:
        for trace in traces(go, layer, place):
            figure.add_trace(trace, row=row, col=column)
    if not panel.layers:
        figure.add_trace(go.Scatter(x=[None], y=[None], showlegend=False), row=row, col=column)
    figure.update_xaxes(**_axis(panel.x, frame[0], size[0]), row=row, col=column)
    figure.update_yaxes(**_axis(panel.y, frame[1], size[1], upwards=True), row=row, col=column)


def _axis(axis: Axis, within: Limits, room: float, *, upwards: bool = False) -> dict[str, Any]:
    shown = list(_in_axis_units(axis, within))
    settings: dict[str, Any] = {
        "title": {"text": _titled(axis, room), "standoff": 8, "font": {"size": 13}},
        "type": "date" if axis.dates else axis.scale,
        "range": shown[::-1] if axis.reverse else shown,
        "showgrid": not axis.names,
        "zeroline": False,
        "automargin": True,
        "ticks": "" if axis.names else "outside",
        "separatethousands": True,
        "exponentformat": "none" if _PLAIN[0] <= max(map(abs, within)) < _PLAIN[1] else "power",
    }
    if not axis.dates:  # what goes on for ever is drawn far beyond the edge, where zooming out need not lead
        settings["autorangeoptions"] = {"clipmin": within[0], "clipmax": within[1]}
    named = _named(axis, within, room, upwards)
    if named is not None:
        settings["tickmode"] = "array"
        settings["tickvals"] = [at for at, _ in named]
        settings["ticktext"] = [plain(name, 30) for _, name in named]
    elif axis.percent:
        settings["tickformat"] = "~%"
    return settings


def _named(axis: Axis, within: Limits, room: float, upwards: bool) -> Ticks | None:
    """The ticks that we name ourselves; None where plotly does, anew whenever one zooms.

    On a log axis plotly would write single digits between the powers of ten, which nobody can read.
    """
    if axis.ticks is not None:
        return axis.ticks
    if axis.names:
        every = max(1, round(len(axis.names) * (15.0 if upwards else 40.0) / room))
        return tuple((float(i), name) for i, name in enumerate(axis.names))[::every]
    if axis.scale == "log" and not axis.dates:
        return ticks(axis, *within, most=max(2, int(room / (32.0 if upwards else 60.0))))
    return None


def _in_axis_units(axis: Axis, within: Limits) -> tuple[Any, Any]:
    """The ends as plotly wants them: logarithms on a log axis, milliseconds on one of dates."""
    if axis.dates:
        return 1000.0 * within[0], 1000.0 * within[1]
    return (math.log10(within[0]), math.log10(within[1])) if axis.scale == "log" else within


def _titled(axis: Axis, room: float) -> str:
    """The title and where good lies, on a line of its own if there is no room beside it; long titles take two."""
    most = max(12, int(room / _LETTER))
    said = f"{axis.title} (UTC)" if axis.dates else axis.title
    if not axis.better:
        return lines(said, most, 2)
    forward = (axis.better == "higher") != axis.reverse
    better = f"{axis.better} is better →" if forward else f"← {axis.better} is better"
    if columns(said) + 3 + columns(better) <= most:
        return f"{plain(said, most)}   {better}".strip()
    return "<br>".join(filter(None, (lines(said, most, 2), better)))


def _heading(panel: Panel, picture: Picture, beside: int) -> str:
    most = max(16, round(_INCH * picture.width / beside / 9.0))
    notes = lines(panel.note, round(1.25 * most), 2).split("<br>")  # smaller letters, of which more have room
    small = [f"<sup>{note}</sup>" for note in notes if note]
    return "<br>".join(filter(None, [lines(panel.title, most, 2), *small]))


def _layout(figure: Any, picture: Picture) -> None:
    title = lines(picture.title, round(_INCH * picture.width / 9.5), 2)
    headings = [_heading(panel, picture, len(row)) for row in picture.rows[:1] for panel in row if panel]
    above = 30 + (28 * (1 + title.count("<br>")) if title else 0)
    above += max((18 * (1 + heading.count("<br>")) for heading in headings if heading), default=18)
    # A legend under the picture: how many lines it takes cannot be known, only guessed.
    entries = sum(min(60, columns(look.label[:80])) + 9 for look in picture.legend)
    rows = 1 + entries // round(_INCH * picture.width / 7.0) if picture.legend else 0
    figure.update_layout(
        template="plotly_white",
        height=round(_INCH * picture.height) + 24 * rows,
        title={
            "text": f"<b>{title}</b>" if title else "",
            "x": 0.01,
            "xanchor": "left",
            "y": 0.985,
            "yanchor": "top",
            "yref": "container",
        },
        margin={"l": 20, "r": 20, "t": above, "b": 60 + 24 * rows + _second_lines(picture, picture.rows[-1:])},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 0.0, "yanchor": "bottom", "yref": "container"},
        barmode="overlay",
        hovermode="closest",
        font={"family": "system-ui, sans-serif", "size": 13, "color": "#222222"},
    )
    figure.update_annotations(font_size=14)
