"""How a study is shown while it runs: a view that is drawn anew on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import math
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import numpy as np

from frontguard._common.typing import Floats
from frontguard.objectives import Objective
from frontguard.phrases import LEAST_NAME, cells_of, duration, fitting_names, number, number_of, visible
from frontguard.plot.arms import frame
from frontguard.results import Result
from frontguard.studies.overview import Snapshot
from frontguard.verdicts import Verdict
from frontguard.words.arm_table import COLOURS, arm_table, counts, shown
from frontguard.words.certificate import certificate_against_goal
from frontguard.words.gate import STYLES, rows
from frontguard.words.limits import standing_to_limits
from frontguard.words.progress import EVERY, FIRST
from frontguard.words.study import in_a_line, left_to_do, spent_in_words, too_short

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

_NARROWEST_BAR, _WIDEST_BAR = 7, 32
_WIDEST_NAME = 40
_SHARE = 0.02  # of the time, for looking
_PLAIN = str.maketrans("─●├┤◂▸█░…", "-o||<>#.~")  # for terminals that know no more


class Pace:
    """When to look again: every `every` seconds at most, and less often if looking takes more than 2 % of the time.

    A look that takes long once, because something is loaded, is not held against the next one.
    """

    def __init__(self, *, first: float = 0.0, every: float = 0.5, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._every = clock, every
        self._next = clock() + first
        self._last = 0.0  # seconds that the last look took

    def look_if_due(self, look: Callable[[], None]) -> None:
        """Look if it is time for it."""
        began = self._clock()
        if began < self._next:
            return
        look()
        now = self._clock()
        took = now - began
        self._next = now + max(self._every, min(took, self._last) / _SHARE)
        self._last = took


class PlainLines:
    """A plain line now and then, as `ProgressDisplay` writes them: for logs and pipes."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._pace = Pace(first=FIRST, every=EVERY, clock=clock)

    def show(self, look: Callable[[], Snapshot]) -> None:
        """Write a line on the study, if it is time for one: only then is `look` called, which costs something."""
        self._pace.look_if_due(lambda: self.say(in_a_line(look())))

    def say(self, news: str, *, warning: bool = False) -> None:
        """Write a line."""
        stream = self._stream or sys.stderr
        print(f"warning: {news}" if warning else news, file=stream, flush=True)


class Screen:
    """A view that is drawn anew on a terminal, as high as the terminal at most."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._pace = Pace()
        self._news: list[str] = []

    def show(self, look: Callable[[], Snapshot]) -> None:
        """Draw the study, if it is time for it: only then is `look` called, which costs something."""
        self._pace.look_if_due(lambda: self._draw(look()))

    def say(self, news: str, *, warning: bool = False) -> None:
        """Keep a line below the arms, from the next drawing on."""
        self._news.append(f"Warning: {news}" if warning else news)

    def _draw(self, snapshot: Snapshot) -> None:
        console = self._live.console
        width, height = console.size
        plain = not (console.encoding or "").lower().startswith("utf")
        self._live.update(drawn(snapshot, width - 1, height - 1, self._news, plain=plain), refresh=True)


View = Screen | PlainLines
"""What a run tells of itself: how it looks now, as often as it likes, and news that are to stay."""


@contextmanager
def view_for(stream: TextIO) -> Iterator[View]:
    """A screen if the stream, which is stderr, is a terminal; plain lines otherwise."""
    if not stream.isatty():
        yield PlainLines(stream)
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    # Drawn by us, when there is something new: a thread that redraws would disturb what is measured.
    with Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop") as live:
        yield Screen(live)


# On a screen ----------------------------------------------------------------------------------------------------------


def drawn(snapshot: Snapshot, width: int, height: int, news: Sequence[str] = (), *, plain: bool = False) -> Group:
    """The whole view as lines of `width` characters at most, `height` of them at most; with the latest news."""
    from rich.console import Group as RichGroup

    foot = [*_foot(snapshot, width), *_latest(news, width, max(height // 5, 2))]
    foot = foot[: max(height - 5, 1)]  # on the lowest of screens two lines of arms come first
    room = max(height - len(foot) - 3, 1)
    lines = [_headline(snapshot), *_arms(snapshot, width, room), *foot]
    for text in lines:
        text.truncate(width, overflow="ellipsis")
        text.no_wrap = True
        if plain:
            text.plain = text.plain.translate(_PLAIN)
    return RichGroup(*lines)


def _headline(snapshot: Snapshot) -> Text:
    from rich.text import Text

    failed = f", {snapshot.failed:,} failed" if snapshot.failed else ""
    busy = f", {snapshot.busy} under way" if snapshot.busy else ""
    cost = "" if snapshot.result.cost is None else f", {spent_in_words(snapshot.result.cost, snapshot.max_cost)}"
    said = f"  {snapshot.pulls:,} pulls{failed}{busy}{cost}, {duration(snapshot.seconds)}"
    if snapshot.gate is None:
        said += f": {counts(snapshot.result)}"
    return Text.assemble((snapshot.study, "bold"), said)


def _foot(snapshot: Snapshot, width: int) -> list[Text]:
    from rich.text import Text

    if snapshot.gate is not None:
        return [Text("  ".join(cells).rstrip(), style=STYLES[outcome]) for cells, outcome in rows(snapshot.gate)]
    now = certificate_against_goal(snapshot.result.nearest, snapshot.objectives)
    lines = [Text(now[0].upper() + now[1:], style="bold")]
    if (kept := standing_to_limits(snapshot.result)) is not None:
        lines.append(Text(kept))
    left = snapshot.pulls_left
    share = 0.0 if left is None else snapshot.pulls / max(snapshot.pulls + left, 1)
    length = min(24, width // 4)
    done = int(share * length)
    bar = "█" * done + "░" * (length - done)
    said = left_to_do(snapshot)
    lines.append(Text.assemble((bar, "green"), "  ", said[0].upper() + said[1:]))
    if snapshot.shortfall:
        lines.append(Text(f"By this forecast {too_short(snapshot)}", style="yellow"))
    if snapshot.preparing:
        names = ", ".join(snapshot.preparing[:3]) + (", …" if len(snapshot.preparing) > 3 else "")
        lines.append(Text(f"Preparing {names}", style="cyan"))
    return lines


def _latest(news: Sequence[str], width: int, room: int) -> list[Text]:
    """The latest news in so many lines, two lines each at most."""
    from rich.text import Text

    lines: list[str] = []
    left = len(news)
    for each in reversed(news):
        wrapped = textwrap.wrap(" ".join(each.split()), width, max_lines=2, placeholder=" …")
        if len(lines) + len(wrapped) > room - (left > 1):  # the last line is for those that find no room
            break
        lines = wrapped + lines
        left -= 1
    if left:
        lines.append(f"… and {left} more warnings")
    return [Text(text, style="yellow") for text in lines]


def _arms(snapshot: Snapshot, width: int, room: int) -> list[Text]:
    """Headings in two lines, then the arms, the front first and each verdict by name; what finds no room is counted.

    Arms change places when verdicts do, and never because numbers move. Lines rather than a table of rich's: that takes
    five times as long to draw, at the expense of what is measured.
    """
    from rich.text import Text

    result = snapshot.result
    chosen = shown(result, len(result.arms) if len(result.arms) <= room else room - 1)
    table = arm_table(result, chosen, failed=snapshot.failed_per_arm, deciders=False)
    names = [visible(result.arms[arm]) for arm in chosen.tolist()]
    estimates = [[row.cells[f"m{d}"] for d in range(len(result.metrics))] for row in table.rows]
    medians = [[cell.text if cell.text and cell.value is not None else "-" for cell in row] for row in estimates]
    digits = max([len(text) for row in medians for text in row] + [LEAST_NAME])
    name = max(min(max(map(cells_of, names), default=0), _WIDEST_NAME, width // 4), LEAST_NAME)
    counted = _counted(width - name - 11, digits + 2, len(result.metrics), failed=snapshot.failed > 0)
    key = table.key if table.key and cells_of(table.key) <= name else "arm"
    heading = f"{_filled(key, name)}  {'verdict':<9}" + "".join(f" {each:>6}" for each in counted)
    beside = width - cells_of(heading)
    metrics = min(len(result.metrics), max(beside // (digits + 2), 1))
    hidden = len(result.metrics) - metrics
    if hidden and not table.rest and 1 < room == len(names):  # the line that says so takes the place of an arm
        return _arms(snapshot, width, room - 1)
    bar = min(beside // metrics - digits - 3, _WIDEST_BAR)
    bar = bar if bar >= _NARROWEST_BAR else 0
    scales = [BarScale.of(result, d) for d in range(metrics)]
    above = " " * cells_of(heading)
    for scale, title in zip(scales, _titles(result.metrics, digits + (1 + bar if bar else 0)), strict=False):
        above += "  " + title
        heading += f"  {scale.objective.statistic_word:>{digits}}" + (f" {scale.ends(bar)}" if bar else "")
    lines = [Text(above, style="bold"), Text(heading, style="dim")]
    for row, texts, called in zip(table.rows, medians, fitting_names(names, name), strict=True):
        text = Text(f"{_filled(called, name)}  {row.verdict.word:<9}", style=COLOURS[row.verdict])
        for each in counted:
            text.append(f" {row.cells[each].text:>6}", style="red" if each == "failed" else None)
        for median, scale in zip(texts, scales, strict=False):
            text.append(f"  {median:>{digits}}" + (f" {scale.bar(row.arm, bar)}" if bar else ""))
        lines.append(text)
    metrics_too = f"{number_of(hidden, 'more metric')} on a wider terminal" if hidden else ""
    rest = "; ".join(said for said in (table.rest, metrics_too) if said)
    return [*lines, Text(rest, style="dim")] if rest else lines


def _counted(room: int, metric: int, metrics: int, *, failed: bool) -> list[str]:
    """Which counts are shown: one metric comes before any, and all their bars before failures of which there are none.

    >>> _counted(60, 10, 2, failed=False), _counted(40, 10, 2, failed=False), _counted(40, 10, 2, failed=True)
    (['pulls', 'failed'], ['pulls'], ['pulls', 'failed'])
    >>> _counted(15, 10, 2, failed=True)
    []
    """
    if room - 14 >= (metric if failed else metrics * (metric + 1 + _NARROWEST_BAR)):
        return ["pulls", "failed"]
    return ["pulls"] if room - 7 >= metric else []


def _titles(objectives: Sequence[Objective], width: int) -> list[str]:
    """The names of metrics in so many cells, with what is better where there is room for it."""
    names = fitting_names([objective.name for objective in objectives], width)
    titles = []
    for objective, name in zip(objectives, names, strict=True):
        better = "less" if objective.minimized else "more"
        ways = (f"{objective.name}, {better} is better", f"{objective.name} ({better})", name)
        titles.append(_filled(next(way for way in ways if cells_of(way) <= width or way is name), width))
    return titles


def _filled(text: str, width: int) -> str:
    return text + " " * (width - cells_of(text))


@dataclass(frozen=True, eq=False)
class BarScale:
    """Estimates and intervals of an objective on a scale from `start` to `end`, on which the metric grows to the right.

    Positions are inner values, turned round for a metric that is minimised: logarithms where its tolerance is relative.
    """

    objective: Objective
    low: Floats  # (K,)
    centre: Floats  # (K,)
    high: Floats  # (K,)
    start: float
    end: float

    @classmethod
    def of(cls, result: Result, d: int) -> BarScale:
        """The d-th objective of a result in units; on the scale is what a picture would show of it."""
        objective = result.metrics[d]
        low, centre, high = result.inner.lower[:, d], result.inner.estimates[:, d], result.inner.upper[:, d]
        if objective.minimized:
            low, centre, high = -high, -centre, -low
        usable = np.isfinite(centre) & (result.verdict_codes != Verdict.SET_ASIDE)
        kept = usable & (result.verdict_codes != Verdict.OUT)
        ends = np.concatenate([low[usable], high[usable]])
        start, end, _ = frame(centre[usable], ends, math.inf, matter=centre[kept])
        return cls(objective, low, centre, high, start or 0.0, end or 0.0)

    def ends(self, width: int) -> str:
        """The ends of the scale in the metric's units, left and right; blank if there is no room for them."""
        if not self.start < self.end:
            return " " * width
        sign = -1.0 if self.objective.minimized else 1.0
        low, high = map(number, self.objective.outward([sign * self.start, sign * self.end]).tolist())
        return low + high.rjust(width - len(low)) if len(low) + len(high) < width else " " * width

    def bar(self, arm: int, width: int) -> str:
        """The interval and the estimate of an arm; blank if it has none."""
        ends = float(self.low[arm]), float(self.centre[arm]), float(self.high[arm])
        if not math.isfinite(ends[1]):
            return " " * width
        return bar(*ends, on=(self.start, self.end), width=width)


def bar(low: float, centre: float, high: float, *, on: tuple[float, float], width: int) -> str:
    """An interval and the estimate in it on the scale `on`; an arrow where it goes on beyond the scale.

    >>> bar(1.0, 2.0, 4.0, on=(0.0, 10.0), width=21)
    '  ├─●───┤            '
    >>> bar(-math.inf, 2.0, 3.0, on=(0.0, 10.0), width=11)
    '◂─●┤       '
    >>> bar(5.0, 20.0, math.inf, on=(0.0, 10.0), width=11)
    '     ├────▸'
    """
    start, end = on
    if not start < end or width < 1:
        return " " * width

    def place(value: float) -> int:
        share = (min(max(value, start), end) - start) / (end - start)
        return round(share * (width - 1))

    cells = [" "] * width
    first, last = place(low), place(high)
    cells[first : last + 1] = "─" * (last - first + 1)
    cells[first], cells[last] = "├", "┤"
    if low < start:
        cells[first] = "◂"
    if high > end:
        cells[last] = "▸"
    if start <= centre <= end:
        cells[place(centre)] = "●"
    return "".join(cells)
