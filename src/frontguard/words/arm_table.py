"""The table of arms, once, for terminal, reports and the live page: its rows, order, columns, cells, and the rest."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.objectives import Objective, parse_tolerance
from frontguard.phrases import (
    MOST_NAMES,
    at_least,
    at_most,
    between,
    cells_of,
    cut_in_the_middle,
    fitting_names,
    joined,
    listed,
    natural,
    number,
    percent,
    shortened,
    visible,
)
from frontguard.results import Answer
from frontguard.verdicts import VERDICT_ORDER, Feasibility, Verdict
from frontguard.words.terminal import COMFORTABLE, LEAST, TextColumn, drawn, fitted, width_of

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
    return listed(list(map(said_name, sorted(names, key=natural) if len(names) <= MOST_SORTED else names)), most)


_ODD = re.compile(r"[-+.,0-9%]+|.*, .*|keep|dropped|none")  # what a sentence would not show to be a name


def said_name(name: str) -> str:
    """A name as a sentence has it: quoted where it could be read as something else.

    >>> said_name("gzip -9"), said_name("9"), said_name("a, b")
    ('gzip -9', "'9'", "'a, b'")
    """
    return f"'{name}'" if _ODD.fullmatch(name) else name


@lru_cache(maxsize=4)  # a view that is drawn twice a second has the same arms every time
def _natural_places(arms: tuple[str, ...]) -> Ints:
    """The place of each arm (K,) in the natural order of their names."""
    names = [natural(name) for name in arms]
    places = np.empty(len(arms), np.int64)
    places[sorted(range(len(arms)), key=names.__getitem__)] = np.arange(len(arms))
    return places


def order_by(result: Answer, column: str, *, turned: bool = False) -> Ints:
    """The arms in the order of a column: the best, most, or front first, unless turned; unknown ones last."""
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
    """Return the first arms of `order`. Where the front alone would fill the table, open arms get up to half of it."""
    ordered = order(result, likely)
    if len(ordered) <= most:
        return ordered
    codes = result.verdict_codes[ordered]
    front, rest = ordered[codes == Verdict.KEEP], ordered[codes != Verdict.KEEP]
    kept = max(most - int((codes == Verdict.UNDECIDED).sum()), most - most // 2)
    chosen = np.concatenate([front[:kept], rest])[:most]
    return chosen if len(ordered) <= MOST_SORTED else _in_order(result, chosen, likely)


def counts(result: Answer, arms: Ints | None = None) -> str:
    """Return how many arms (of those given) have which verdict: "2 keep, 1,005 beaten"; "" if there are none."""
    return ", ".join(f"{count:,} {verdict.word}" for verdict, count in result.tally(arms).items())


class ArmColumn(NamedTuple):
    """A column: its name for programs, its heading and what stands below, and whether it has numbers."""

    name: str  # arm, verdict, m0, m1, … of the objectives, limit0, … of limits, pulls, failed, instead, decided by, …
    heading: str
    below: str = ""
    number: bool = False


class ArmCell(NamedTuple):
    """The text of a cell, and the number that it is sorted by; None where nothing is known."""

    text: str
    value: float | None = None
    beside: str = ""  # the interval of an estimate; none of one that is known to the last digit

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
    standing: bool = False  # whether no contamination was declared: then each verdict is told with what it holds up to


def arm_table(result: Answer, arms: Sequence[int] | Ints, *, deciders: bool = True) -> ArmTable:
    """Return the table of these arms, in this order; the answer is in the units of its metrics.

    `deciders` adds which arm decides a verdict; where the goal is the list, which one to take instead of a dropped arm.
    """
    chosen, profile = np.asarray(arms, np.int64), None if result.log is None else result.log.profile
    verdicts = [Verdict(code) for code in result.verdict_codes[chosen].tolist()]
    made = [
        (ArmColumn("arm", "arm"), [ArmCell(result.arms[arm]) for arm in chosen.tolist()]),
        (ArmColumn("verdict", "verdict"), [ArmCell(verdict.word, float(_RANK[verdict])) for verdict in verdicts]),
        *_of_metrics(result, chosen),
        *_of_pulls(result, chosen),
    ]
    if result.goal == "list" and result.certificate.confidence is not None:
        made.append((ArmColumn("instead", "take instead"), _instead(result, chosen)))
    elif deciders:
        rivals = result.decided_by[chosen].tolist()
        cells = [ArmCell(result.arms[rival] if rival >= 0 else "") for rival in rivals]
        made.append((ArmColumn("decided by", "decided by"), cells))
    auto = result.question is not None and result.question.contamination == "auto" and profile is not None
    if profile is not None and (result.certificate.contamination or auto):
        stands = [_stands(level, profile.resolution) for level in profile.per_arm[chosen].tolist()]
        made.append((ArmColumn("stands up to", "stands up to", "ε", number=True), stands))
    columns, table = tuple(column for column, _ in made), zip(*(each for _, each in made), strict=True)
    rows = tuple(
        ArmRow(arm, verdict, {column.name: cell for column, cell in zip(columns, row, strict=True)})
        for arm, verdict, row in zip(chosen.tolist(), verdicts, table, strict=True)
    )
    left = np.delete(np.arange(len(result.arms)), chosen)
    rest = f"… and {counts(result, left)}" if len(left) else ""
    return ArmTable(columns, rows, rest, "" if result.parts is None else visible(str(result.parts)), auto)


Made = tuple[ArmColumn, list[ArmCell]]


def _of_metrics(result: Answer, arms: Ints) -> Iterator[Made]:
    """What is compared, and what is limited."""
    for d, metric in enumerate(result.metrics):
        below = f"{sense(metric)}{'' if metric.exact else ' [low, high]'}"
        yield ArmColumn(f"m{d}", metric.name, below, number=True), estimate_cells(result, d, arms)
    for q, gate in enumerate(() if result.limits is None else result.limits.gates):
        yield ArmColumn(f"limit{q}", str(gate), "[low, high]"), limit_cells(result, q, arms)


def direction(metric: Objective) -> str:
    """Return which way is better, as a sign.

    >>> direction(Objective("seconds", "minimize")), direction(Objective("solved", "maximize"))
    ('↓', '↑')
    """
    return "↓" if metric.minimized else "↑"


def sense(metric: Objective) -> str:
    """Return which way is better, and what counts: "↓ median"."""
    return f"{direction(metric)} {metric.statistic_word}"


def _of_pulls(result: Answer, arms: Ints) -> Iterator[Made]:
    failed, pulls = result.failed_per_arm, result.pulls_per_arm[arms].tolist()
    yield ArmColumn("pulls", "pulls", number=True), [ArmCell(f"{each:,}", float(each)) for each in pulls]
    if failed.any():
        cells = [ArmCell(f"{count:,}" if count else "", float(count)) for count in failed[arms].tolist()]
        yield ArmColumn("failed", "failed", number=True), cells


def _instead(result: Answer, arms: Ints) -> list[ArmCell]:
    """Return which kept arm does for each dropped one within tolerance; the value is 0 where it is simply better."""
    allowed = {metric.name: parse_tolerance(metric.tolerance).amount * (1.0 + 1e-9) for metric in result.metrics}
    found, cells = result.replacements(arms), []
    for arm in arms.tolist():
        by = found.get(result.arms[arm])
        if by is None or any(by.costs[name] > most for name, most in allowed.items()):
            cells.append(ArmCell(""))
        else:
            outright = not any(by.costs.values()) and any(by.gains.values())
            cells.append(ArmCell(by.by, 0.0 if outright else 1.0))
    return cells


def estimate_cells(result: Answer, d: int, arms: Ints) -> list[ArmCell]:
    """Estimates of the d-th objective with their intervals, in the metric's units."""
    metric = result.metrics[d]
    inner = result.inner
    centre = metric.outward(inner.estimates[arms, d])
    low, high = metric.outward_interval(inner.lower[arms, d], inner.upper[arms, d])
    least = 0.0 if metric.relative else -math.inf  # where nothing is known, an interval begins there
    place = place_for(low, high)
    rows = zip(centre.tolist(), low.tolist(), high.tolist(), strict=True)
    return [_estimate(*each, least, metric.exact, place) for each in rows]


def place_for(low: Floats, high: Floats) -> int | None:
    """Return the decimal place that shows two digits of the narrowest of some intervals, and four of all at most.

    None where they have no width, or where numbers are so large or small that `number` writes them shorter.

    >>> place_for(np.array([0.906, 1.2]), np.array([0.923, 1.4])), place_for(np.array([9e8]), np.array([9.1e8]))
    (-3, None)
    """
    width, ends = high - low, np.abs(np.concatenate([low, high]))
    width, ends = width[np.isfinite(width) & (width > 0.0)], ends[np.isfinite(ends)]
    if not len(width) or not 1e-4 <= ends.max() < 1e7:
        return None
    largest = math.floor(math.log10(ends.max()))
    return min(0, max(math.floor(math.log10(width.min())) - 1, largest - 3))


def limit_cells(result: Answer, q: int, arms: Ints) -> list[ArmCell]:
    """Standings of arms to the q-th limit, with the intervals of what is limited."""
    kept = result.limits
    assert kept is not None
    low, high = (ends[arms, q].tolist() for ends in kept.ends)
    return [
        ArmCell(Feasibility(code).word, float(code), between(a, b))
        for code, a, b in zip(kept.codes[arms, q].tolist(), low, high, strict=True)
    ]


def _estimate(centre: float, low: float, high: float, least: float, exact: bool, place: int | None) -> ArmCell:
    known = low == centre == high and (exact or at_least(low) == at_most(high))
    interval = "" if known else between(low, high, place)
    if math.isfinite(centre):
        return ArmCell(number(centre) if known else number(centre, place), centre, interval)
    if low > least or math.isfinite(high):  # by what other measurements say
        return ArmCell("", low if low > least else high, interval)
    return ArmCell("not measured")


def _stands(level: float, resolution: float) -> ArmCell:
    if math.isnan(level):
        return ArmCell("")
    return ArmCell("< 50%" if level + resolution >= 0.5 - 1e-9 else percent(level, ROUND_FLOOR), level)


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
    metrics = tuple(replace(metric, name=short_name(metric.name) or "?") for metric in result.metrics)
    arms, limits, study = _all_short(result.arms), result.limits, result.study
    if limits is not None:
        short = (replace(gate.limit, metric=short_name(gate.limit.metric) or "?") for gate in limits.gates)
        gates = (replace(gate, limit=limit) for gate, limit in zip(limits.gates, short, strict=True))
        limits = replace(limits, gates=tuple(gates))
    if study is not None and study.failures:
        names, failures = dict(zip(result.arms, arms, strict=True)), dict[str, Counter[str]]()
        for arm, reasons in study.failures.items():  # two names may be the same when they are short
            failures.setdefault(names[arm], Counter()).update(reasons)
        study = replace(study, failures=failures)
    objectives = tuple(map(short_name, result.objectives))
    return replace(result, arms=arms, objectives=objectives, metrics=metrics, limits=limits, study=study)


def _all_short(names: tuple[str, ...]) -> tuple[str, ...]:
    if not any(len(name) > LONGEST or not name.isprintable() for name in names):
        return names
    lines = [_line(name) for name in names]
    if len(lines) <= _MOST_COMPARED:
        return tuple(fitting_names(lines, LONGEST))
    return tuple(cut_in_the_middle(line, LONGEST) for line in lines)


def short_name(name: str, most: int = LONGEST) -> str:
    """A name or a reason in so many columns at most, in one line; of a longer one, its beginning and its end.

    >>> short_name("a rather long name", 10), short_name("two\\nlines")
    ('a rat…name', 'two lines')
    """
    return cut_in_the_middle(_line(name), most)


def _line(name: str) -> str:
    """A name on one line; of an endless one, its ends."""
    ends = name if len(name) <= 16 * LONGEST else f"{name[: 8 * LONGEST]}…{name[-8 * LONGEST :]}"
    return " ".join(ends.split())


_HEADING = 12  # cells for which the name of a metric makes its column wider than its numbers do

_READABLE = 24  # cells of a name, before it would lose what it says, and intervals go

_FEW = 6  # rows up to which an interval may stand below its estimate


def on_terminal(made: ArmTable, width: int, elsewhere: str = "", *, every: bool = False) -> Group:
    """The table in so many columns of a terminal, and what it leaves out; `elsewhere` is an option that gives all.

    Each arm has its estimates, how it stands to limits, and its verdict with the arm that decides it, or that does for
    it. Names are shortened in the middle and never vanish. For them intervals move below their estimates (of a few
    rows, or with `every`), then they go, then who decides, and in the end limits and the last metrics.
    """
    from rich.console import Group as RichGroup
    from rich.text import Text

    longest = max((cells_of(name) for row in made.rows for name in (_name(row), _rival(row)[1])), default=0)
    forms = ("beside", "below", "none") if every or len(made.rows) <= _FEW else ("beside", "none")
    for intervals, most in (*product(forms, (longest, 40, _READABLE)), ("none", COMFORTABLE), ("none", LEAST)):
        columns = _columns(made, intervals, most)
        if width_of(columns) <= width:
            break
    gone = ["the intervals"] if intervals == "none" else []
    if width_of(columns) > width:
        columns[-1] = TextColumn.of("verdict", [row.verdict.word for row in made.rows])
        columns, left = fitted(columns, width, range(len(columns) - 2, 1, -1), LEAST)
        gone += [shortened(each, 40) for each in left]
    notes = [made.rest] if made.rest else []
    notes += [f"not shown: {joined(gone)}"] if gone else []
    said = f"{'; '.join(notes)}{f' ({elsewhere} shows all)' if elsewhere else ''}"
    table = drawn(columns, [COLOURS[row.verdict] for row in made.rows])
    return RichGroup(*table.renderables, *([Text(said)] if notes else []))


def _columns(made: ArmTable, intervals: str, most: int) -> list[TextColumn]:
    """The columns with names in `most` cells, and intervals beside or below estimates, or without them."""
    names, rivals = [_name(row) for row in made.rows], [_rival(row) for row in made.rows]
    every = [*names, *(name for _, name in rivals)]
    short = dict(zip(every, fitting_names(every, most), strict=True))
    key = made.key if cells_of(made.key) <= COMFORTABLE else ""
    columns = [TextColumn.of(key or "arm", [short[name] for name in names])]
    columns += [_metric_column(each, made, intervals) for each in made.columns if _is_metric(each)]
    for column in made.columns:
        if column.name.startswith("limit"):
            cells = tuple((row.cells[column.name].text,) for row in made.rows)
            columns.append(TextColumn(_of_a_limit(visible(column.heading)), cells))
    if made.standing:
        standing = [row.cells["stands up to"].text for row in made.rows]
        columns.append(TextColumn.of("up to ε", standing, number=True))
    columns.append(TextColumn.of("verdict", [f"{said}{short[name]}" for said, name in rivals]))
    return columns


def _name(row: ArmRow) -> str:
    return visible(row.cells["arm"].text)


def _rival(row: ArmRow) -> tuple[str, str]:
    """Return what is said of an arm, and the name that follows: who decides it, or does for it; "" without any."""
    word, instead, rival = row.verdict.word, row.cells.get("instead"), row.cells.get("decided by")
    if row.verdict is Verdict.KEEP:
        return word, ""
    if instead is not None and instead.text:
        outright = row.verdict is Verdict.MATCHED or instead.value == 0.0
        return f"{word} by " if outright else f"{word}, take ", visible(instead.text)
    if rival is not None and rival.text and row.verdict is not Verdict.UNDECIDED:
        return f"{word} by ", visible(rival.text)
    return word, ""


def _metric_column(column: ArmColumn, made: ArmTable, intervals: str) -> TextColumn:
    cells = [row.cells[column.name] for row in made.rows]
    lines: list[tuple[str, ...]] = [(cell.text or "?",) for cell in cells]
    if intervals == "beside":
        lines = [(cell.full,) for cell in cells]
    elif intervals == "below":
        lines = [(cell.text, cell.beside) for cell in cells]
    names = [visible(each.heading) for each in made.columns if _is_metric(each)]
    sign, _, word = column.below.removesuffix(" [low, high]").partition(" ")
    below = TextColumn((word,), tuple(lines))
    widest = max(below.width - 2, min(cells_of(visible(column.heading)), _HEADING))
    short = dict(zip(names, fitting_names(names, widest), strict=True))[visible(column.heading)]
    together, room = f"{short} {sign} {word}", _HEADING + 4 if intervals == "beside" else 0
    heading = [together] if cells_of(together) <= max(below.width, room) else [f"{short} {sign}", word]
    return TextColumn(tuple(heading), below.cells, number=True)


def _of_a_limit(heading: str) -> tuple[str, ...]:
    """Return what is limited, and below it by what: neither is broken, a long name is cut in the middle.

    >>> _of_a_limit("p95(latency) ≤ 300")
    ('p95(latency)', '≤ 300')
    """
    what, sign, bound = heading.rpartition(" ≤ ") if " ≤ " in heading else heading.rpartition(" ≥ ")
    return cut_in_the_middle(what, 24), f"{sign.strip()} {bound}"


def _is_metric(column: ArmColumn) -> bool:
    return column.name[1:].isdecimal()
