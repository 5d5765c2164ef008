"""The table of arms on a terminal: what of it is shown in so many columns, so that the name of every arm is.

Terminals differ in width, names and metrics in length and number. There is a list of layouts, from the one that has
everything to the one that has least; the first in which names find enough room is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from frontguard.phrases import cells_of, cut_in_the_middle, fitting_names, shortened, visible
from frontguard.words.arm_table import COLOURS, ArmCell, ArmColumn, ArmTable
from frontguard.words.terminal import COMFORTABLE, LEAST, TextColumn, drawn, left_out, width_of, wrapped

if TYPE_CHECKING:
    from rich.console import Group

_NAMES = {
    "arm": ("arm",),
    "instead": ("take", "instead"),
    "decided by": ("decided", "by"),
}  # columns that have names of arms, with their headings
_HEADING = 12  # cells for which the name of a metric makes its column wider than its numbers do


class Layout(NamedTuple):
    """Where intervals stand, which columns there are not, and how many cells names get at least, if they need them."""

    intervals: Literal["beside", "below", "none"]
    without: tuple[str, ...]
    least: int


class Printed(NamedTuple):
    """The table for rich to print, and a sentence on what it leaves out; "" if nothing."""

    table: Group
    left_out: str


def on_terminal(made: ArmTable, width: int, elsewhere: str = "") -> Printed:
    """The table in so many columns of a terminal; `elsewhere` is an option that gives all of it.

    Names are shortened in the middle and never vanish. For them intervals move below their estimates, then "stands up
    to" and "decided by" go, then the intervals, failures and pulls, and in the end the last metrics. Columns without
    any entry are never there.
    """
    there = [
        column
        for column in made.columns
        if not made.rows or column.name == "arm" or any(row.cells[column.name].full for row in made.rows)
    ]
    names = {
        column.name: [visible(row.cells[column.name].text) for row in made.rows]
        for column in there
        if column.name in _NAMES
    }
    metrics = {column.name: visible(column.heading) for column in there if _is_metric(column)}
    whole = 0  # cells of the first layout, in which everything is
    for layout in _layouts(there):
        kept = [column for column in there if column.name not in layout.without]
        columns = {
            column.name: TextColumn(_NAMES[column.name], ())
            if column.name in _NAMES
            else _column(column, [row.cells[column.name] for row in made.rows], layout, metrics)
            for column in kept
        }
        wanted = [max(map(cells_of, (*_NAMES[name], *names[name]))) for name in columns if name in _NAMES]
        besides = width_of(list(columns.values())) - sum(columns[name].width for name in columns if name in _NAMES)
        most = _shared(width - besides, wanted)
        whole = whole or besides + sum(min(each, COMFORTABLE) for each in wanted)
        if most >= min(max(wanted), layout.least):
            break
    every = [text for name in columns if name in _NAMES for text in names[name]]
    short = dict(zip(every, fitting_names(every, most), strict=True))
    for name in columns.keys() & _NAMES:
        columns[name] = TextColumn(_NAMES[name], tuple((short[text],) for text in names[name]))
    what = ["the intervals"] if layout.intervals == "none" else []
    what += [shortened(visible(column.heading), 40) for column in there if column.name in layout.without]
    if not what and most < max(wanted):
        what, whole = ["parts of names"], besides + sum(wanted)
    table = drawn(list(columns.values()), [COLOURS[row.verdict] for row in made.rows])
    return Printed(table, left_out(what, width, whole, elsewhere))


def _layouts(columns: Sequence[ArmColumn]) -> list[Layout]:
    """From the one that has everything to the one that has least."""
    there = [column.name for column in columns]
    last = [name for name in reversed(there) if name in ("stands up to", "instead", "decided by")]
    folded = dict.fromkeys(((), tuple(last[:1]), tuple(last[1:]), tuple(last)))
    ways: list[Layout] = []
    for without in folded:
        ways += [Layout("beside", without, COMFORTABLE), Layout("below", without, COMFORTABLE)]
    ways.append(Layout("below", tuple(last), LEAST))
    ways += [Layout("none", without, LEAST) for without in folded]
    limits = [name for name in there if name.startswith("limit")]
    metrics = [column.name for column in columns if _is_metric(column)]
    gone = tuple(last)
    for name in (*limits[::-1], "failed", "pulls", *metrics[:0:-1]):
        gone = (*gone, name)
        ways.append(Layout("none", gone, LEAST))
    return ways


def _column(column: ArmColumn, cells: Sequence[ArmCell], layout: Layout, metrics: dict[str, str]) -> TextColumn:
    if _is_metric(column):
        return _estimates(column, cells, layout, metrics)
    heading: tuple[str, ...] = ("stands", "up to") if column.name == "stands up to" else (column.heading,)
    if column.name.startswith("limit"):
        heading = _of_a_limit(visible(column.heading))
    return TextColumn(heading, tuple((cell.text,) for cell in cells), column.number)


def _estimates(column: ArmColumn, cells: Sequence[ArmCell], layout: Layout, metrics: dict[str, str]) -> TextColumn:
    word, _, ends = column.below.partition(" ")
    lines: tuple[tuple[str, ...], ...]
    if layout.intervals == "beside":
        below, lines = [column.below], tuple((cell.full,) for cell in cells)
    elif layout.intervals == "below":
        below, lines = [word, ends], tuple((cell.text, cell.beside) for cell in cells)
    else:
        below, lines = [word], tuple((cell.text or "?",) for cell in cells)
    widest = max(TextColumn(tuple(below), lines).width, min(cells_of(metrics[column.name]), _HEADING))
    short = dict(zip(metrics, fitting_names(list(metrics.values()), 2 * widest), strict=True))
    return TextColumn((*wrapped(short[column.name], widest), *below), lines, number=True)


def _of_a_limit(heading: str) -> tuple[str, ...]:
    """What is limited, and below it by what: neither is broken, a long name is cut in the middle.

    >>> _of_a_limit("p95(latency) ≤ 300")
    ('p95(latency)', '≤ 300')
    """
    what, sign, bound = heading.rpartition(" ≤ ") if " ≤ " in heading else heading.rpartition(" ≥ ")
    return cut_in_the_middle(what, 2 * _HEADING), f"{sign.strip()} {bound}"


def _is_metric(column: ArmColumn) -> bool:
    return column.name[1:].isdecimal()


def _shared(room: int, wanted: Sequence[int]) -> int:
    """The most cells that each of one or two columns of names may have, so that all of them find room.

    >>> _shared(30, [10, 40]), _shared(30, [25, 40]), _shared(30, [40]), _shared(60, [10, 40])
    (20, 15, 30, 40)
    """
    if sum(wanted) <= room:
        return max(wanted)
    return room if len(wanted) == 1 else max(room // 2, room - min(wanted))
