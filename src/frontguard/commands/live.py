"""How a study is shown while it runs: a view that is drawn anew on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, cast

from frontguard.phrases import duration
from frontguard.studies.overview import Snapshot
from frontguard.words.arm_sheet import on_terminal
from frontguard.words.arm_table import arm_table, counts, shown
from frontguard.words.certificate import certificate_against_goal
from frontguard.words.gate import STYLES, rows
from frontguard.words.limits import standing_to_limits
from frontguard.words.progress import EVERY, FIRST
from frontguard.words.study import in_a_line, left_to_do, spent_in_words, too_short

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

_SHARE = 0.02  # of the time, for looking
_PLAIN = str.maketrans({"█": "#", "░": ".", "…": "~", "−": "-", "∞": "inf"})  # for terminals that know no more


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

    def show(self, look: Callable[[], Snapshot]) -> None:
        """Draw the study, if it is time for it: only then is `look` called, which costs something."""
        self._pace.look_if_due(lambda: self._draw(look()))

    def say(self, news: str, *, warning: bool = False) -> None:
        """Write a line above the view, which stays."""
        self._live.console.print(f"Warning: {news}" if warning else news, style="yellow", markup=False)

    def _draw(self, snapshot: Snapshot) -> None:
        console = self._live.console
        width, height = console.size
        plain = not (console.encoding or "").lower().startswith("utf")
        self._live.update(drawn(snapshot, width - 1, height - 1, plain=plain), refresh=True)


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


def drawn(snapshot: Snapshot, width: int, height: int, *, plain: bool = False) -> Group:
    """The whole view as lines of `width` characters at most, `height` of them at most."""
    from rich.console import Group as RichGroup

    foot = _foot(snapshot, width)[: max(height - 5, 1)]  # on the lowest of screens two lines of arms come first
    room = max(height - len(foot) - 1, 1)
    lines = [_headline(snapshot), *_arms(snapshot, width, room), *foot]
    for text in lines:
        if plain:
            text.plain = text.plain.translate(_PLAIN)
        text.truncate(width, overflow="crop" if plain else "ellipsis")
        text.no_wrap = True
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


def _arms(snapshot: Snapshot, width: int, room: int) -> list[Text]:
    """The table of the answer, the front first and each verdict by name; arms that find no room are counted.

    Arms change places when verdicts do, and never because numbers move.
    """
    from rich.text import Text

    result, most = snapshot.result, min(len(snapshot.result.arms), room)
    while True:
        table = arm_table(result, shown(result, most), failed=snapshot.failed_per_arm, deciders=False)
        printed = on_terminal(table, width, "--report FILE.csv")
        rest = [Text(said, style="dim") for said in (table.rest, printed.left_out) if said]
        lines = [*cast("list[Text]", printed.table.renderables), *rest]
        excess = len(lines) - room
        if excess <= 0 or most == 1:
            return lines[:room]
        most = max(most - max(excess // 2, 1), 1)  # a row may take two lines
