"""The table of arms on a terminal: what of it is shown in so many columns, so that the name of every arm is.

Terminals differ in width, names and metrics in length and number. There is a list of layouts, from the one that has
everything to the one that has least; the first in which names find enough room is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from frontguard.phrases import cells_of, cut_in_the_middle, fitting_names, shortened, visible
from frontguard.words.arm_table import COLOURS, ArmCell, ArmColumn, ArmTable
from frontguard.words.terminal import COMFORTABLE, GAP, LEAST, TextColumn, drawn, left_out, wrapped

if TYPE_CHECKING:
    from rich.console import Group

_NAMES = {
    "arm": ("arm",),
    "instead": ("take", "instead"),
    "decided by": ("decided", "by"),
}  # columns that have names of arms, with their headings
_HEADING = 12  # cells for which the name of a metric makes its column wider than its numbers do


Intervals = Literal["beside", "below", "none"]
"""Where the intervals stand: beside their estimates, below them, or nowhere."""


class Layout(NamedTuple):
    """Where intervals stand, which columns there are not, and how many cells names get at least, if they need them."""

    intervals: Intervals
    without: tuple[str, ...]
    least: int


class Printed(NamedTuple):
    """The table for rich to print, and a sentence on what it leaves out; "" if nothing."""

    table: Group
    left_out: str


def on_terminal(made: ArmTable, width: int, elsewhere: str = "") -> Printed:
    """The table in so many columns of a terminal; `elsewhere` is an option that gives all of it.

    Names are shortened in the middle and never vanish. For them intervals move below their estimates, then "stands up
    to" and "decided by" go, then the intervals, failures and pulls, and in the end the last metrics.
    """
    sheet = _Sheet(made)
    layouts = sheet.layouts()
    for layout in layouts:
        most = _shared(width - sheet.width_besides(layout), sheet.longest_names(layout))
        cut = most < max(sheet.longest_names(layout))
        if not cut or most >= layout.least:
            break
    what = sheet.left_out(layout)
    names = sheet.longest_names(layouts[0])
    wanted = sheet.width_besides(layouts[0]) + sum(min(each, COMFORTABLE) if what else each for each in names)
    table = drawn(sheet.columns(layout, most), [COLOURS[row.verdict] for row in made.rows])
    return Printed(table, left_out(what or ["parts of names"] * cut, width, wanted, elsewhere))


class _Sheet:
    """What a terminal shows of a table in one layout or another; columns without any entry it never shows."""

    def __init__(self, made: ArmTable) -> None:
        self._rows = made.rows
        self._all = [
            column
            for column in made.columns
            if not made.rows or column.name == "arm" or any(row.cells[column.name].full for row in made.rows)
        ]
        self._names = {
            column.name: [visible(row.cells[column.name].text) for row in made.rows]
            for column in self._all
            if column.name in _NAMES
        }
        self._metrics = {column.name: visible(column.heading) for column in self._all if _is_metric(column)}
        self._made: dict[tuple[str, Intervals], TextColumn] = {}

    def layouts(self) -> list[Layout]:
        """From the one that has everything to the one that has least."""
        there = [column.name for column in self._all]
        last = ("stands up to", "instead" if "instead" in there else "decided by")
        folded = dict.fromkeys(tuple(each for each in some if each in there) for some in ((), last[:1], last[1:], last))
        ways: list[Layout] = []
        for without in folded:
            ways += [Layout("beside", without, COMFORTABLE), Layout("below", without, COMFORTABLE)]
        ways.append(Layout("below", ways[-1].without, LEAST))
        ways += [Layout("none", without, LEAST) for without in folded]
        gone = ways[-1].without
        limits = [name for name in there if name.startswith("limit")]
        for name in (*limits[::-1], "failed", "pulls", *list(self._metrics)[:0:-1]):
            if name in there:
                gone = (*gone, name)
                ways.append(Layout("none", gone, LEAST))
        return ways

    def left_out(self, layout: Layout) -> list[str]:
        """What a layout has not, in words."""
        gone = [column.name for column in self._all if column.name in layout.without]
        metrics = [name for name in gone if name in self._metrics]
        limits = [name for name in gone if name.startswith("limit")]
        said = ["the intervals"] if layout.intervals == "none" else []
        if metrics:
            one = shortened(self._metrics[metrics[0]], 40)
            said.append(one if len(metrics) == 1 else f"the last {len(metrics)} metrics")
        if limits:
            said.append("a limit" if len(limits) == 1 else f"the last {len(limits)} limits")
        return said + [name for name in gone if name not in (*metrics, *limits)]

    def longest_names(self, layout: Layout) -> list[int]:
        """The widest cell of each column that has names of arms."""
        return [
            max(map(cells_of, (*_NAMES[name], *texts)))
            for name, texts in self._names.items()
            if name not in layout.without
        ]

    def width_besides(self, layout: Layout) -> int:
        """Cells that all takes but these names."""
        kept = [column for column in self._all if column.name not in layout.without]
        rest = [self._column(column, layout.intervals) for column in kept if column.name not in _NAMES]
        return sum(column.width for column in rest) + GAP * (len(kept) - 1)

    def columns(self, layout: Layout, most: int) -> list[TextColumn]:
        """The columns of a layout, with names of so many cells at most."""
        every = [text for name, texts in self._names.items() if name not in layout.without for text in texts]
        short = dict(zip(every, fitting_names(every, most), strict=True))
        return [
            TextColumn(_NAMES[column.name], tuple((short[text],) for text in self._names[column.name]))
            if column.name in _NAMES
            else self._column(column, layout.intervals)
            for column in self._all
            if column.name not in layout.without
        ]

    def _column(self, column: ArmColumn, intervals: Intervals) -> TextColumn:
        key = column.name, intervals
        if key not in self._made:
            cells = [row.cells[column.name] for row in self._rows]
            self._made[key] = (
                self._estimates(column, cells, intervals) if _is_metric(column) else _plain_column(column, cells)
            )
        return self._made[key]

    def _estimates(self, column: ArmColumn, cells: Sequence[ArmCell], intervals: Intervals) -> TextColumn:
        word, _, ends = column.below.partition(" ")
        lines: tuple[tuple[str, ...], ...]
        if intervals == "beside":
            below, lines = [column.below], tuple((cell.full,) for cell in cells)
        elif intervals == "below":
            below, lines = [word, ends], tuple((cell.text, cell.beside) for cell in cells)
        else:
            below, lines = [word], tuple((cell.text or "?",) for cell in cells)
        heading = self._metrics[column.name]
        widest = max(TextColumn(tuple(below), lines).width, min(cells_of(heading), _HEADING))
        short = dict(zip(self._metrics, fitting_names(list(self._metrics.values()), 2 * widest), strict=True))
        return TextColumn((*wrapped(short[column.name], widest), *below), lines, number=True)


def _plain_column(column: ArmColumn, cells: Sequence[ArmCell]) -> TextColumn:
    heading: tuple[str, ...] = ("stands", "up to") if column.name == "stands up to" else (column.heading,)
    if column.name.startswith("limit"):
        heading = _of_a_limit(visible(column.heading))
    return TextColumn(heading, tuple((cell.text,) for cell in cells), column.number)


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
