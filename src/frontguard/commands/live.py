"""How a study is shown while it runs: a view that is drawn anew on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import math
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TextIO

import numpy as np

from frontguard._typing import Floats
from frontguard.objectives import Objective
from frontguard.phrases import duration, number
from frontguard.results import Result
from frontguard.studies.overview import Snapshot
from frontguard.verdicts import Verdict
from frontguard.words.arm_table import COLOURS, counts, order, rest_in_words
from frontguard.words.certificate import certificate_against_goal
from frontguard.words.study import in_a_line, left_to_do, too_short

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.text import Text

_NARROWEST_BAR, _WIDEST_BAR = 7, 32
_WIDEST_NAME = 40


class View(Protocol):
    """What a run tells of itself: how it looks now, as often as it likes, and news that are to stay."""

    def show(self, look: Callable[[], Snapshot]) -> None:
        """Show the study as it is now, if it is time for it: only then is `look` called, which costs something."""

    def say(self, news: str, *, warning: bool = False) -> None:
        """Show a line that stays."""


class Pace:
    """When to look again: every `every` seconds at most, and less often if looking takes more than `share` of the time.

    A look that takes long once, because something is loaded, is not held against the next one.

    >>> now = 0.0
    >>> pace = Pace(every=0.5, share=0.02, clock=lambda: now)
    >>> pace.due()
    True
    >>> for _ in range(2):  # two looks of 0.05 s
    ...     with pace:
    ...         now += 0.05
    >>> now += 2.4; pace.due()
    False
    >>> now += 0.1; pace.due()
    True
    """

    def __init__(
        self,
        *,
        first: float = 0.0,
        every: float = 0.5,
        share: float = 0.02,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock, self._every, self._share = clock, every, share
        self._began = clock()
        self._next = self._began + first
        self._last = 0.0  # seconds that the last look took

    def due(self) -> bool:
        """Whether it is time to look."""
        return self._clock() >= self._next

    def __enter__(self) -> Self:
        self._began = self._clock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        now = self._clock()
        took = now - self._began
        self._next = now + max(self._every, min(took, self._last) / self._share)
        self._last = took


class PlainLines:
    """A plain line after `first` seconds and then every `every` seconds: for logs and pipes."""

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        first: float = 2.0,
        every: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._pace = Pace(first=first, every=every, clock=clock)

    def show(self, look: Callable[[], Snapshot]) -> None:
        """Write a line if it is time for one."""
        if self._pace.due():
            with self._pace:
                self.say(in_a_line(look()))

    def say(self, news: str, *, warning: bool = False) -> None:
        """Write a line."""
        stream = self._stream or sys.stderr
        print(f"warning: {news}" if warning else news, file=stream, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to put in order."""


class Screen:
    """A view that is drawn anew on a terminal, as high as the terminal at most. Use as a context."""

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console as RichConsole
        from rich.live import Live

        self.console = console or RichConsole(stderr=True, highlight=False)
        # Drawn by us, when there is something new: a thread that redraws would disturb what is measured.
        self._live = Live(console=self.console, auto_refresh=False, transient=True, vertical_overflow="crop")
        self._pace = Pace()
        self._news: list[str] = []

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, look: Callable[[], Snapshot]) -> None:
        """Draw if it is time for it."""
        if self._pace.due():
            with self._pace:
                snapshot = look()
                width, height = self.console.size
                plain = not (self.console.encoding or "").lower().startswith("utf")
                self._live.update(drawn(snapshot, width - 1, height - 1, self._news, plain=plain), refresh=True)

    def say(self, news: str, *, warning: bool = False) -> None:
        """Keep a line below the arms, from the next drawing on."""
        self._news.append(f"Warning: {news}" if warning else news)


def view_for(stream: TextIO) -> Screen | PlainLines:
    """A screen if the stream is a terminal, plain lines otherwise."""
    return Screen() if stream.isatty() else PlainLines(stream)


# On a screen ----------------------------------------------------------------------------------------------------------


def drawn(snapshot: Snapshot, width: int, height: int, news: Sequence[str] = (), *, plain: bool = False) -> Group:
    """The whole view as lines of `width` characters at most, `height` of them at most; with the latest news."""
    from rich.console import Group as RichGroup

    strokes = ASCII if plain else FINE
    foot = [*_foot(snapshot, width, strokes), *_latest(news, width, max(height // 5, 2), strokes)]
    foot = foot[: max(height - 5, 1)]  # on the lowest of screens two lines of arms come first
    room = max(height - len(foot) - 3, 1)
    lines = [_headline(snapshot), *_arms(snapshot, width, room, strokes), *foot]
    for text in lines:
        text.truncate(width, overflow="ellipsis")
        text.no_wrap = True
    return RichGroup(*lines)


def _headline(snapshot: Snapshot) -> Text:
    from rich.text import Text

    failed = f", {snapshot.failed:,} failed" if snapshot.failed else ""
    busy = f", {snapshot.busy} under way" if snapshot.busy else ""
    said = f"  {snapshot.pulls:,} pulls{failed}{busy}, {duration(snapshot.seconds)}: {counts(snapshot.result)}"
    return Text.assemble((snapshot.study, "bold"), said)


def _foot(snapshot: Snapshot, width: int, strokes: Strokes) -> list[Text]:
    from rich.text import Text

    now = certificate_against_goal(snapshot.result.certificate, snapshot.objectives)
    lines = [Text(now[0].upper() + now[1:], style="bold")]
    left = snapshot.pulls_left
    share = 0.0 if left is None else snapshot.pulls / max(snapshot.pulls + left, 1)
    length = min(24, width // 4)
    done = int(share * length)
    bar = strokes.full * done + strokes.empty * (length - done)
    said = left_to_do(snapshot)
    lines.append(Text.assemble((bar, "green"), "  ", said[0].upper() + said[1:]))
    if snapshot.shortfall:
        lines.append(Text(f"By this forecast {too_short(snapshot)}", style="yellow"))
    if snapshot.preparing:
        names = ", ".join(snapshot.preparing[:3]) + (", …" if len(snapshot.preparing) > 3 else "")
        lines.append(Text(f"Preparing {names}", style="cyan"))
    return lines


def _latest(news: Sequence[str], width: int, room: int, strokes: Strokes) -> list[Text]:
    """The latest news in so many lines, two lines each at most."""
    from rich.text import Text

    lines: list[str] = []
    left = len(news)
    for each in reversed(news):
        wrapped = textwrap.wrap(" ".join(each.split()), width, max_lines=2, placeholder=f" {strokes.cut}")
        if len(lines) + len(wrapped) > room - (left > 1):  # the last line is for those that find no room
            break
        lines = wrapped + lines
        left -= 1
    if left:
        lines.append(f"{strokes.cut} and {left} more warnings")
    return [Text(text, style="yellow") for text in lines]


def _arms(snapshot: Snapshot, width: int, room: int, strokes: Strokes) -> list[Text]:
    """Headings in two lines, then the arms: all in their order, or those that matter first if there is no room.

    Lines rather than a table of rich's: that takes five times as long to draw, at the expense of what is measured.
    """
    from rich.cells import cell_len, set_cell_size
    from rich.text import Text

    result, failed = snapshot.result, snapshot.failed_per_arm
    shown = list(range(len(result.arms)))
    if len(shown) > room:
        shown = order(result).tolist()[: room - 1]
    medians = [[number(x) if math.isfinite(x) else "-" for x in row] for row in result.medians[shown].tolist()]
    digits = max([len(text) for row in medians for text in row] + [len("median")])
    longest = max((cell_len(result.arms[arm]) for arm in shown), default=0)
    name = max(min(longest, _WIDEST_NAME, width // 4), len("arm"))
    heading = f"{set_cell_size('arm', name)}  {'verdict':<9} {'pulls':>6} {'failed':>6}"
    bar = min((width - len(heading)) // len(result.metrics) - digits - 3, _WIDEST_BAR)
    bar = bar if bar >= _NARROWEST_BAR else 0
    scales = [BarScale.of(result, d) for d in range(len(result.metrics))]
    above = " " * len(heading)
    for scale in scales:
        above += "  " + _title(scale.objective, digits + (1 + bar if bar else 0))
        heading += f"  {scale.objective.quantile_word:>{digits}}" + (f" {_ends(scale, bar)}" if bar else "")
    lines = [Text(above, style="bold"), Text(heading, style="dim")]
    for arm, row in zip(shown, medians, strict=True):
        verdict = result.verdict(arm)
        text = Text(style=COLOURS[verdict])
        text.append(f"{_fitted(result.arms[arm], name, strokes)}  {verdict.word:<9} {result.pulls_per_arm[arm]:>6} ")
        text.append(f"{failed[arm] or '':>6}", style="red")
        for median, scale in zip(row, scales, strict=True):
            text.append(f"  {median:>{digits}}" + (f" {scale.bar(arm, bar, strokes)}" if bar else ""))
        lines.append(text)
    rest = rest_in_words(result, shown, strokes.cut)
    return [*lines, Text(rest, style="dim")] if rest else lines


def _title(objective: Objective, width: int) -> str:
    from rich.cells import cell_len, set_cell_size

    better = "less" if objective.minimized else "more"
    for title in (f"{objective.name}, {better} is better", f"{objective.name} ({better})"):
        if cell_len(title) <= width:
            return set_cell_size(title, width)
    return set_cell_size(objective.name, width)


def _fitted(name: str, width: int, strokes: Strokes) -> str:
    """A name in so many characters, its beginning and its end: names out of a grid may differ in either."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(name) > width:
        tail = (width - 1) // 2
        name = f"{set_cell_size(name, width - 1 - tail)}{strokes.cut}{name[len(name) - tail :]}"
    return set_cell_size(name, width)


def _ends(scale: BarScale, width: int) -> str:
    """The ends of the scale, left and right above the bars; blank if there is no room for them."""
    if not scale.start < scale.end:
        return " " * width
    low, high = (number(end) for end in scale.ends())
    return low + high.rjust(width - len(low)) if len(low) + len(high) < width else " " * width


_FARTHEST = 6.0  # how many times as long a scale may get for the sake of arms that are out


@dataclass(frozen=True)
class Strokes:
    """What bars are drawn with."""

    dash: str = "─"
    centre: str = "●"
    left: str = "├"
    right: str = "┤"
    beyond_left: str = "◂"
    beyond_right: str = "▸"
    full: str = "█"
    empty: str = "░"
    cut: str = "…"


FINE = Strokes()
ASCII = Strokes("-", "o", "|", "|", "<", ">", "#", ".", "~")


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
        """The d-th objective of a result in units.

        The scale holds all estimates, unless they lie so far apart that those of the arms that are not out would fall
        together; then these.
        """
        objective = result.metrics[d]
        low, centre, high = result.lower[:, d], result.estimates[:, d], result.upper[:, d]
        if objective.minimized:
            low, centre, high = -high, -centre, -low
        usable = np.isfinite(centre) & (result.verdict_codes != Verdict.SET_ASIDE)
        start, end = _scale(low[usable], centre[usable], high[usable])
        kept = usable & (result.verdict_codes != Verdict.OUT)
        if kept.any():
            nearer = _scale(low[kept], centre[kept], high[kept])
            if end - start > _FARTHEST * (nearer[1] - nearer[0]):
                start, end = nearer
        return cls(objective, low, centre, high, start, end)

    def ends(self) -> tuple[float, float]:
        """The ends of the scale in the metric's units."""
        sign = -1.0 if self.objective.minimized else 1.0
        first, last = self.objective.outward([sign * self.start, sign * self.end]).tolist()
        return first, last

    def bar(self, arm: int, width: int, strokes: Strokes = FINE) -> str:
        """The interval and the estimate of an arm; blank if it has none."""
        ends = float(self.low[arm]), float(self.centre[arm]), float(self.high[arm])
        if not math.isfinite(ends[1]):
            return " " * width
        return bar(*ends, on=(self.start, self.end), width=width, strokes=strokes)


def bar(low: float, centre: float, high: float, *, on: tuple[float, float], width: int, strokes: Strokes = FINE) -> str:
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
    cells[first : last + 1] = strokes.dash * (last - first + 1)
    cells[first], cells[last] = strokes.left, strokes.right
    if low < start:
        cells[first] = strokes.beyond_left
    if high > end:
        cells[last] = strokes.beyond_right
    if start <= centre <= end:
        cells[place(centre)] = strokes.centre
    return "".join(cells)


def _scale(low: Floats, centre: Floats, high: Floats) -> tuple[float, float]:
    """From the least estimate to the greatest, with the intervals as far as these do not dwarf that."""
    if not len(centre):
        return 0.0, 0.0
    start, end = float(centre.min()), float(centre.max())
    ends = np.concatenate([low, high])
    ends = ends[np.isfinite(ends)]
    room = end - start
    if room == 0.0:
        room = float(np.abs(ends - start).max(initial=0.0)) or 0.1 * abs(start) or 1.0
        start, end = start - room / 2, end + room / 2  # an estimate alone stands in the middle
    near = ends[(ends >= start - room) & (ends <= end + room)]
    return float(near.min(initial=start)), float(near.max(initial=end))
