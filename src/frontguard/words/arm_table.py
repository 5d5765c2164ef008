"""The table of arms, once: which arms it shows and in which order, its columns and cells, and what is said of the rest.

Terminal, reports and the live page each draw it in their own way; what they draw comes from here. A table is made for
the rows that are shown, so that it is as quick with a million arms as with ten."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from frontguard._common.typing import Bools, Ints
from frontguard.objectives import Objective
from frontguard.phrases import (
    MOST_NAMES,
    between,
    cells_of,
    cut_in_the_middle,
    fitting_names,
    listed,
    natural,
    number,
    percent,
    shortened,
    visible,
)
from frontguard.results import Answer
from frontguard.verdicts import VERDICT_ORDER, Feasibility, Verdict
from frontguard.words.terminal import COMFORTABLE, LEAST, TextColumn, drawn, left_out, width_of, wrapped

if TYPE_CHECKING:
    from rich.console import Group


_RANK = np.argsort(np.array(VERDICT_ORDER))  # of a verdict, by its number: what matters first

COLOURS = {
    Verdict.KEEP: "bold green",
    Verdict.MATCHED: "cyan",
    Verdict.UNDECIDED: "yellow",
    Verdict.BEATEN: "dim",
    Verdict.EXCLUDED: "red",
}
"""How arms look on a terminal, by verdict."""


# The arms -------------------------------------------------------------------------------------------------------------


MOST_SORTED = 20_000
"""Arms beyond which only those that are shown are sorted by name: a million names take seconds."""


def order(result: Answer, likely: Bools | None = None) -> Ints:
    """The arms by verdict, the front first; within a verdict by name, but of the open ones the `likely` first."""
    return _in_order(result, np.arange(len(result.arms)), likely)


def _in_order(result: Answer, arms: Ints, likely: Bools | None) -> Ints:
    codes = result.verdict_codes[arms]
    unlikely = (codes == Verdict.UNDECIDED) & (False if likely is None else ~likely[arms])
    names = np.arange(len(arms))
    if len(arms) <= MOST_SORTED:
        names = _natural_places(tuple(result.arms[arm] for arm in arms.tolist()))
    return arms[np.lexsort((names, unlikely, _RANK[codes]))]


def names_in_short(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """A handful of arms by name, as a sentence lists them; the rest is counted.

    >>> names_in_short(["x128", "x1024", "x64"], 2)
    'x64, x128 … and 1 more'
    """
    return listed(sorted(names, key=natural) if len(names) <= MOST_SORTED else names, most)


@lru_cache(maxsize=4)  # a view that is drawn twice a second has the same arms every time
def _natural_places(arms: tuple[str, ...]) -> Ints:
    """The place of each arm (K,) in the natural order of their names."""
    names = [natural(name) for name in arms]
    places = np.empty(len(arms), np.int64)
    places[sorted(range(len(arms)), key=names.__getitem__)] = np.arange(len(arms))
    return places


def order_by(result: Answer, column: str, *, turned: bool = False) -> Ints:
    """The arms in the order of a column of `arm_table`: the best, the most, or the front first, unless turned around.

    Arms of which nothing is known come last either way.
    """
    if column == "arm":
        return np.argsort(_natural_places(result.arms), kind="stable")[:: -1 if turned else 1]
    if column == "verdict":
        return order(result)[:: -1 if turned else 1]
    if column == "pulls":
        keys = result.pulls_per_arm.astype(np.float64)
    elif column == "failed":
        keys = result.failed_per_arm.astype(np.float64)
    elif column.startswith("limit") and result.limits is not None:
        keys = result.limits.inner.estimates[:, int(column.removeprefix("limit"))]
    else:
        keys = result.inner.estimates[:, int(column[1:])]  # larger is better
    return np.argsort(np.where(np.isfinite(keys), keys if turned else -keys, np.inf), kind="stable")


def shown(result: Answer, most: int, likely: Bools | None = None) -> Ints:
    """So many arms of `order` at most. Where the front alone would fill the table, open arms get up to half of it."""
    ordered = order(result, likely)
    if len(ordered) <= most:
        return ordered
    codes = result.verdict_codes[ordered]
    front, rest = ordered[codes == Verdict.KEEP], ordered[codes != Verdict.KEEP]
    kept = max(most - int((codes == Verdict.UNDECIDED).sum()), most - most // 2)
    chosen = np.concatenate([front[:kept], rest])[:most]
    return chosen if len(ordered) <= MOST_SORTED else _in_order(result, chosen, likely)


def counts(result: Answer, arms: Ints | None = None) -> str:
    """How many arms (of those given) have which verdict: "2 in, 1 excluded, 1,005 out"; "" if there are none."""
    return ", ".join(f"{count:,} {verdict.word}" for verdict, count in result.tally(arms).items())


def rest_in_words(result: Answer, arms: Sequence[int] | Ints, dots: str = "…") -> str:
    """What is said of the arms that a table with these arms leaves out: "… and 3 more: 3 out"; "" if it has all."""
    left = np.delete(np.arange(len(result.arms)), np.asarray(arms, np.int64))
    return f"{dots} and {len(left):,} more: {counts(result, left)}" if len(left) else ""


# The table ------------------------------------------------------------------------------------------------------------


class ArmColumn(NamedTuple):
    """A column: its name for programs, its heading and what stands below, and whether it has numbers."""

    name: str  # arm, verdict, m0, m1, … of the objectives, limit0, … of limits, pulls, failed, instead, decided by, …
    heading: str
    below: str = ""
    number: bool = False


class ArmCell(NamedTuple):
    """What a cell says, and the number that it is sorted by; None where nothing is known."""

    text: str
    value: float | None = None
    beside: str = ""  # the interval of an estimate; none of what is exact

    @property
    def full(self) -> str:
        """The text with what stands beside it."""
        return f"{self.text} {self.beside}".strip()


class ArmRow(NamedTuple):
    """An arm by its number, with its verdict and its cells by the names of the columns."""

    arm: int
    verdict: Verdict
    cells: dict[str, ArmCell]


class ArmTable(NamedTuple):
    """Columns, rows with a cell for each, a phrase on the arms that are left out, and what names consist of."""

    columns: tuple[ArmColumn, ...]
    rows: tuple[ArmRow, ...]
    rest: str  # "" if none are left out
    key: str = ""  # "lang/arch/size"; "" where names are just names


def arm_table(result: Answer, arms: Sequence[int] | Ints, *, deciders: bool = True) -> ArmTable:
    """Return the table of these arms, in this order; the answer is in the units of its metrics.

    `deciders` says which arm decides a verdict. Where the goal is the list, it is said which one to take in the place
    of an arm that is not on it.
    """
    failed, profile = result.failed_per_arm, None if result.log is None else result.log.profile
    chosen = np.asarray(arms, np.int64)
    verdicts = [Verdict(code) for code in result.verdict_codes[chosen].tolist()]
    columns = [ArmColumn("arm", "arm"), ArmColumn("verdict", "verdict")]
    cells = [
        [ArmCell(result.arms[arm]) for arm in chosen.tolist()],
        [ArmCell(verdict.word, float(_RANK[verdict])) for verdict in verdicts],
    ]
    for d, metric in enumerate(result.metrics):
        ends = "" if metric.exact else " [low, high]"
        columns.append(ArmColumn(f"m{d}", metric.name, f"{metric.statistic_word}{ends}", number=True))
        cells.append(estimate_cells(result, d, chosen))
    for q, gate in enumerate(() if result.limits is None else result.limits.gates):
        columns.append(ArmColumn(f"limit{q}", str(gate), "[low, high]"))
        cells.append(limit_cells(result, q, chosen))
    columns.append(ArmColumn("pulls", "pulls", number=True))
    cells.append([ArmCell(f"{pulls:,}", float(pulls)) for pulls in result.pulls_per_arm[chosen].tolist()])
    if failed.any():
        columns.append(ArmColumn("failed", "failed", number=True))
        cells.append([ArmCell(f"{count:,}" if count else "", float(count)) for count in failed[chosen].tolist()])
    if result.goal == "list" and result.certificate.confidence is not None:
        columns.append(ArmColumn("instead", "take instead"))
        cells.append([ArmCell(result.arms[k] if k >= 0 else "") for k in result.replaced_by(chosen).tolist()])
    elif deciders:
        columns.append(ArmColumn("decided by", "decided by"))
        cells.append(
            [ArmCell(result.arms[rival] if rival >= 0 else "") for rival in result.decided_by[chosen].tolist()]
        )
    if profile is not None:
        columns.append(ArmColumn("stands up to", "stands up to", "ε", number=True))
        cells.append([_stands(level, profile.resolution) for level in profile.per_arm[chosen].tolist()])
    names = [column.name for column in columns]
    rows = tuple(
        ArmRow(arm, verdict, dict(zip(names, row, strict=True)))
        for arm, verdict, row in zip(chosen.tolist(), verdicts, zip(*cells, strict=True), strict=True)
    )
    key = "" if result.parts is None else visible(str(result.parts))
    return ArmTable(tuple(columns), rows, rest_in_words(result, chosen), key)


def estimate_cells(result: Answer, d: int, arms: Ints) -> list[ArmCell]:
    """Estimates of the d-th objective with their intervals, in the metric's units."""
    metric = result.metrics[d]
    inner = result.inner
    centre = metric.outward(inner.estimates[arms, d]).tolist()
    low, high = (ends.tolist() for ends in metric.outward_interval(inner.lower[arms, d], inner.upper[arms, d]))
    least = 0.0 if metric.relative else -math.inf  # where nothing is known, an interval begins there
    return [_estimate(*each, least, metric.exact) for each in zip(centre, low, high, strict=True)]


def limit_cells(result: Answer, q: int, arms: Ints) -> list[ArmCell]:
    """How arms stand to the q-th limit, with the intervals of what is limited."""
    kept = result.limits
    assert kept is not None
    low, high = (ends[arms, q].tolist() for ends in kept.ends)
    return [
        ArmCell(Feasibility(code).word, float(code), between(a, b))
        for code, a, b in zip(kept.codes[arms, q].tolist(), low, high, strict=True)
    ]


def _estimate(centre: float, low: float, high: float, least: float, exact: bool) -> ArmCell:
    interval = "" if exact and low == centre == high else between(low, high)
    if math.isfinite(centre):
        return ArmCell(number(centre), centre, interval)
    if low > least or math.isfinite(high):  # by what other measurements say
        return ArmCell("", low if low > least else high, interval)
    return ArmCell("not measured")


def _stands(level: float, resolution: float) -> ArmCell:
    if math.isnan(level):
        return ArmCell("")
    return ArmCell("< 50%" if level + resolution >= 0.5 - 1e-9 else percent(level, ROUND_FLOOR), level)


# Short names ----------------------------------------------------------------------------------------------------------


LONGEST = 60
"""Columns of a name in a sentence."""

_MOST_COMPARED = 20_000  # arms whose names are held against each other; a million would take a while


def shown_in_units(result: Answer) -> Answer:
    """Return an answer with metrics: those it has, or its objectives as they are, maximised."""
    if result.metrics:
        return result
    return result.in_units(
        [
            Objective(name if name.strip() else f"objective {d + 1}", "maximize")
            for d, name in enumerate(result.objectives)
        ]
    )


def with_short_names(result: Answer) -> Answer:
    """Return the same answer with names as they are said in sentences and pictures; metrics too."""
    metrics = tuple(replace(metric, name=_short(metric.name) or "?") for metric in result.metrics)
    arms, limits, study = _all_short(result.arms), result.limits, result.study
    if limits is not None:
        short = (replace(gate.limit, metric=_short(gate.limit.metric) or "?") for gate in limits.gates)
        gates = (replace(gate, limit=limit) for gate, limit in zip(limits.gates, short, strict=True))
        limits = replace(limits, gates=tuple(gates))
    if study is not None and study.failures:
        names, failures = dict(zip(result.arms, arms, strict=True)), dict[str, Counter[str]]()
        for arm, reasons in study.failures.items():  # two names may be the same when they are short
            failures.setdefault(names[arm], Counter()).update(reasons)
        study = replace(study, failures=failures)
    objectives = tuple(map(_short, result.objectives))
    return replace(result, arms=arms, objectives=objectives, metrics=metrics, limits=limits, study=study)


def _all_short(names: tuple[str, ...]) -> tuple[str, ...]:
    if not any(len(name) > LONGEST or not name.isprintable() for name in names):
        return names
    lines = [_line(name) for name in names]
    if len(lines) <= _MOST_COMPARED:
        return tuple(fitting_names(lines, LONGEST))
    return tuple(cut_in_the_middle(line, LONGEST) for line in lines)


def _short(name: str) -> str:
    return cut_in_the_middle(_line(name), LONGEST)


def _line(name: str) -> str:
    """A name on one line; of an endless one, its ends."""
    ends = name if len(name) <= 16 * LONGEST else f"{name[: 8 * LONGEST]}…{name[-8 * LONGEST :]}"
    return " ".join(ends.split())


# On a terminal --------------------------------------------------------------------------------------------------------


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
