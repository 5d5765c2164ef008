"""Where the panels of a drawing lie: in rows and columns with frames that are aligned, or below each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from frontguard.plot.picture import Panel, Picture
from frontguard.plot.placing import Rectangle
from frontguard.plot.svg_axes import Plan, planned
from frontguard.plot.svg_text import LINE, SIZE

EDGE = 8.0
RIGHT = 14.0
"""The edge on the right, where half of a tick's word may stand."""

_BETWEEN = 22.0  # panels
_LEAST = 70.0  # of a frame, either way
_INCH = 72.0
_WIDE = 7.5  # inches; what is wider has words that cannot be read on a phone
_STACKED = 6.6
_FRAME, _AROUND = 2.0, 1.1  # inches of height: of a frame without names, and of what stands around any


def stacked(picture: Picture) -> Picture:
    """The picture with panels below each other that were beside each other only because there was room.

    A drawing is as wide as the page lets it be, and its words shrink with it. Panels that share their upright axis are
    compared across, and stay where they are.
    """
    rows = [[panel for panel in row if panel is not None] for row in picture.rows]
    if picture.width <= _WIDE or max(map(len, rows), default=0) < 2 or any(map(_compared, rows)):
        return picture
    panels = [panel for row in rows for panel in row]
    inside = sum(_frame(panel) + _AROUND for panel in panels)
    above_and_below = 0.3 + (0.5 if picture.title else 0.0) + 0.11 * len(picture.legend)
    return replace(picture, rows=tuple((panel,) for panel in panels), width=_STACKED, height=inside + above_and_below)


def _compared(row: Sequence[Panel]) -> bool:
    """Whether panels beside each other have the same upright axis, which may be named at the first of them only."""
    titles = {panel.y.title for panel in row if panel.y.title}
    return len(row) > 1 and len(titles) <= 1 and len({(panel.y.names, panel.y.scale) for panel in row}) == 1


def _frame(panel: Panel) -> float:
    """Inches of height that a frame wants: a line for every name."""
    return max(_FRAME, LINE * SIZE / _INCH * len(panel.y.names))


def cells(
    picture: Picture, wide: float, top: float, room: float
) -> tuple[list[tuple[Plan, Rectangle, Rectangle]], float]:
    """Each panel with its cell and frame, and where the last row ends. Frames are aligned in rows and columns."""
    columns = max((len(row) for row in picture.rows), default=0)
    if columns == 0:
        return [], top + max(room, 0.0)
    cell_width = (wide - EDGE - RIGHT - (columns - 1) * _BETWEEN) / columns
    shares = _shares(picture)
    plans = [
        [planned(panel, cell_width, max(_LEAST, share * room - 60.0)) if panel else None for panel in row]
        for row, share in zip(picture.rows, shares, strict=True)
    ]
    sides = _sides(plans, columns)
    tops = [_most([plan.top for plan in row if plan]) for row in plans]
    bottoms = [_most([plan.bottom for plan in row if plan]) for row in plans]
    free = room - sum(tops) - sum(bottoms) - (len(plans) - 1) * _BETWEEN * 0.6
    found = []
    y = top
    for row, above, below, share, (lefts, rights) in zip(plans, tops, bottoms, shares, sides, strict=True):
        frame_height = max(_LEAST, share * free)
        frame_width = max(_LEAST, cell_width - (sum(lefts) + sum(rights)) / columns)
        x = EDGE
        for i, plan in enumerate(row):
            frame = (x + lefts[i], y + above, x + lefts[i] + frame_width, y + above + frame_height)
            if plan:
                found.append((plan, (x, y, frame[2] + rights[i], frame[3] + below), frame))
            x = frame[2] + rights[i] + _BETWEEN
        y += above + frame_height + below + 0.6 * _BETWEEN
    return found, y - 0.6 * _BETWEEN


def _shares(picture: Picture) -> list[float]:
    """How much of the height each row gets: as much as the others, or by what it has to name if it stands alone."""
    if any(len(row) != 1 for row in picture.rows):
        return [1.0 / len(picture.rows)] * len(picture.rows)
    wanted = [_frame(row[0]) if row[0] else _FRAME for row in picture.rows]
    return [each / sum(wanted) for each in wanted]


def _sides(plans: list[list[Plan | None]], columns: int) -> list[tuple[list[float], list[float]]]:
    """For each row, the room left and right of the frame in each column: the same in all rows, as frames are aligned.

    Panels below each other that show different things along x need not be.
    """
    shown = {(plan.panel.x.title, plan.panel.x.scale, plan.x_limits) for row in plans for plan in row if plan}
    together = [plans] * len(plans) if columns > 1 or len(shown) == 1 else [[row] for row in plans]
    return [
        (
            [_most([plan.left for row in rows for plan in row[i : i + 1] if plan]) for i in range(columns)],
            [_most([plan.right for row in rows for plan in row[i : i + 1] if plan]) for i in range(columns)],
        )
        for rows in together
    ]


def _most(values: Sequence[float]) -> float:
    return max(values, default=0.0)
