"""A study whose pulls are commands: a spec, a study and its commands, driven to the end and watched meanwhile."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TextIO, cast

from frontguard._common.entries import Entries
from frontguard.commands.arm import CommandMeasurement, Commands, in_words, last_words
from frontguard.commands.spec import Spec
from frontguard.measure.drive import FirstPulls, Loop, RunProgress, lasting
from frontguard.notices import AllFailed, CleaningUp, Notice, StepFailed, Stopping, StorageTrouble, TakenAsRate
from frontguard.objectives import Objective
from frontguard.phrases import duration
from frontguard.policies.forecast import forecast
from frontguard.results import Answer
from frontguard.storage.contract import Pull
from frontguard.studies.measurement import CANCELLED, Measurement, failure_in_words
from frontguard.studies.replay import answer_of
from frontguard.studies.study import Study
from frontguard.words.answers import How, answer, in_a_line, more_to_come, polish_in_words, too_short
from frontguard.words.arm_table import arm_table, counts, on_terminal, shown
from frontguard.words.asked import standing_to_limits
from frontguard.words.certificate import certificate_against_goal, spent_in_words
from frontguard.words.gate import STYLES, rows
from frontguard.words.terminal import EVERY, FIRST, console, write_line

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

_SHARE = 0.02  # of the time, for looking
_PLAIN = str.maketrans(
    {"█": "#", "░": ".", "…": "~", "−": "-", "∞": "inf", "↓": "v", "↑": "^"}
)  # for terminals that know no more


class Pace:
    """When to look again: every `every` seconds, or less often if looking takes more than 2 % of the time twice."""

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


class View:
    """The view of a run: drawn anew on a terminal, if `live`; else a plain line now and then, for logs and pipes."""

    def __init__(
        self, stream: TextIO | None = None, live: Live | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream, self._live = stream, live
        self._pace = Pace(first=FIRST, every=EVERY, clock=clock) if live is None else Pace(clock=clock)

    def show(self, look: Callable[[], Answer]) -> None:
        """Show the study, if it is time for it: only then is `look` called, which costs something."""
        self._pace.look_if_due(lambda: self._draw(look()))

    def say(self, news: str, *, warning: bool = False) -> None:
        """Write a line that stays."""
        if self._live is None:
            write_line(f"warning: {news}" if warning else news, self._stream)
        else:
            self._live.console.print(f"Warning: {news}" if warning else news, style="yellow")

    def _draw(self, found: Answer) -> None:
        if self._live is None:
            write_line(in_a_line(found), self._stream)
            return
        console = self._live.console
        width, height = console.size
        plain = not (console.encoding or "").lower().startswith("utf")
        self._live.update(drawn(found, width - 1, height - 1, plain=plain), refresh=True)


@contextmanager
def view_for(stream: TextIO) -> Iterator[View]:
    """The view on a stream, which is stderr: a terminal or plain lines."""
    if not stream.isatty():
        yield View(stream)
        return
    from rich.live import Live

    # Drawn by us, when there is something new: a thread that redraws would disturb what is measured.
    with Live(console=console(stderr=True), auto_refresh=False, transient=True, vertical_overflow="crop") as live:
        yield View(stream, live)


def drawn(found: Answer, width: int, height: int, *, plain: bool = False) -> Group:
    """The whole view as lines of `width` characters at most, `height` of them at most."""
    from rich.console import Group as RichGroup

    foot = _foot(found, width)[: max(height - 5, 1)]  # on the lowest of screens two lines of arms come first
    room = max(height - len(foot) - 1, 1)
    lines = [_headline(found), *_arms(found, width, room), *foot]
    for text in lines:
        if plain:
            text.plain = text.plain.translate(_PLAIN)
        text.truncate(width, overflow="crop" if plain else "ellipsis")
        text.no_wrap = True
    return RichGroup(*lines)


def _headline(found: Answer) -> Text:
    from rich.text import Text

    failed = f", {found.failed:,} failed" if found.failed else ""
    busy = f", {found.state.under_way} under way" if found.state.under_way else ""
    cost = "" if found.cost is None else f", {spent_in_words(found.cost, found.state.max_cost)}"
    said = f"  {found.pulls:,} pulls{failed}{busy}{cost}, {duration(found.state.seconds)}"
    if found.gate is None:
        said += f": {counts(found)}"
    return Text.assemble((found.state.name, "bold"), said)


def _foot(found: Answer, width: int) -> list[Text]:
    from rich.text import Text

    if found.gate is not None:
        return [Text("  ".join(cells).rstrip(), style=STYLES[outcome]) for cells, outcome in rows(found)]
    now = certificate_against_goal(found.nearest, found.metrics)
    lines = [Text(now[0].upper() + now[1:], style="bold")]
    if (kept := standing_to_limits(found)) is not None:
        lines.append(Text(kept))
    left = found.state.pulls_left
    share = 0.0 if left is None else found.pulls / max(found.pulls + left, 1)
    length = min(24, width // 4)
    done = int(share * length)
    bar = "█" * done + "░" * (length - done)
    said = polish_in_words(found) or more_to_come(found)
    lines.append(Text.assemble((bar, "green"), "  ", said[0].upper() + said[1:]))
    if short := too_short(found):
        lines.append(Text(f"By this forecast {short}", style="yellow"))
    if found.state.preparing:
        names = ", ".join(found.state.preparing[:3]) + (", …" if len(found.state.preparing) > 3 else "")
        lines.append(Text(f"Preparing {names}", style="cyan"))
    return lines


def _arms(found: Answer, width: int, room: int) -> list[Text]:
    """The table of the answer, the front first and each verdict by name; arms that find no room are counted."""
    most = min(len(found.arms), room)
    while True:
        table = arm_table(found, shown(found, most), deciders=False)
        lines = cast("list[Text]", on_terminal(table, width).renderables)
        excess = len(lines) - room
        if excess <= 0 or most == 1:
            return lines[:room]
        most = max(most - max(excess // 2, 1), 1)  # a row may take two lines


SWITCH_INTERVAL = 0.0005
"""Seconds for which a thread may keep the interpreter while another waits for it: a command's end is seen that late."""

ALL_FAILED = 5
"""Pulls, of two arms at least, after which a person is told that every single one failed."""

MOMENT = 0.5
"""Seconds within which a signal that ended a command, if it was meant for us, has reached us too."""

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals by which a run is stopped in good order."""


@dataclass(frozen=True)
class Ended:
    """The end of a run: how, the answer by then, the last failure of each arm, and failed steps beside the pulls."""

    how: How
    answer: Answer
    failures: dict[str, CommandMeasurement] = field(default_factory=dict)
    steps: tuple[StepFailed, ...] = ()

    @property
    def said(self) -> str:
        """The answer in a sentence or two; if no arm could be measured, why one could not."""
        said = answer(self.answer, self.how)
        if len(self.answer.excluded) == len(self.answer.arms) and self.failures:
            arm, outcome = next(iter(self.failures.items()))
            said += f" Arm {arm!r}, for one: {in_words(outcome)}"
        return said

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices of the study and of its steps."""
        return (*self.answer.notices, *self.steps)

    def entries(self) -> Entries:
        """Entries of JSON: the study at the end. Its status is `budget` where its time was over before."""
        status = "budget" if self.how == "time" and self.answer.status == "running" else self.answer.status
        return replace(self.answer, status=status, notices=self.notices).entries()


class CommandedRun:
    """One run of a study by its commands: pulls in threads, each a process group; news to a view."""

    def __init__(
        self,
        spec: Spec,
        study: Study,
        view: View,
        *,
        cancel: threading.Event | None = None,
        give_up: threading.Event | None = None,
    ) -> None:
        self.spec, self.study, self.view = spec, study, view
        self.commands = Commands(spec, self._told)
        self.cancel, self.give_up = cancel or threading.Event(), give_up or threading.Event()
        self._stop = threading.Event()  # whatever is under way is no longer wanted
        self._lock = threading.Lock()  # of what workers and the view share
        self._failures: dict[str, CommandMeasurement] = {}  # the last of each arm
        self._steps: dict[tuple[str, ...], StepFailed] = {}  # the first of each kind of each arm
        self._succeeded = 0
        self._progress = RunProgress(0, 0, 0, 0.0, 0.0)
        self._said: set[tuple[str, ...]] = set()

    def until_done(self) -> Ended:
        """Pull until it is done, stopped or given up, as `drive`. Raises `FirstMistake` if every first pull fails."""
        seconds = self.spec.max_time
        new = self.study.storage.size(self.study.name)[1] == 0
        objectives = self.spec.question.objectives
        first = FirstPulls(len(self.spec.arms), objectives, "the commands", in_words=self._why, alike=False)
        with self.commands, _attentive(), ThreadPoolExecutor(self.spec.workers, "pull") as pool:
            try:
                how = Loop(
                    self.study,
                    lambda pull: pool.submit(self._pulled, pull),
                    workers=self.spec.workers,
                    until=None if seconds is None else time.monotonic() + seconds,
                    on_change=self._look,
                    cancel=self.cancel,
                    give_up=self.give_up,
                    abandon=self._stop.set,
                    hold_back=first if new else None,
                ).run()
            finally:
                self._stop.set()
        found = self.snapshot()
        self._tell_news(found)
        return Ended(cast(How, how), found, dict(self._failures), tuple(self._steps.values()))

    def _pulled(self, pull: Pull) -> CommandMeasurement:
        came = self.commands.pull(pull.index, pull.id, self._stop, rep=pull.rep, item=pull.item)
        outcome = self._unless_it_was_meant_for_us(came)
        outcome = replace(outcome, said=last_words(outcome))
        with self._lock:
            if outcome.failed and not outcome.cancelled:
                self._failures[pull.arm] = outcome
            self._succeeded += not outcome.failed
        return outcome

    def _told(self, notice: Notice) -> None:
        """Say what went wrong beside the pulls; and, at the end, why it is not the end yet."""
        with self._lock:
            if isinstance(notice, StepFailed):
                self._steps.setdefault(notice.subject, notice)
            self._say_once(notice)
        if isinstance(notice, CleaningUp):
            with suppress(Exception):  # that it cannot be shown, for one reason or another, is no matter at the end
                self.view.show(self.snapshot)

    def _unless_it_was_meant_for_us(self, outcome: CommandMeasurement) -> CommandMeasurement:
        """Cancel, not fail, a pull that died of our Ctrl-C: a command being started is in no group of its own."""
        if outcome.returncode in [-number for number in STOPS] and self.cancel.wait(MOMENT):
            return replace(outcome, reason=CANCELLED)
        return outcome

    def _why(self, pull: Pull, came: Measurement) -> str:
        with self._lock:
            return in_words(self._failures[pull.arm]) if pull.arm in self._failures else came.reason

    def _look(self, progress: RunProgress) -> None:
        self._progress = progress
        with self._lock:
            succeeded = self._succeeded
            failures = list(self._failures.items())
        if progress.failed >= ALL_FAILED and not succeeded and len(failures) > 1:
            arm, outcome = failures[0]
            self._say_once(AllFailed(progress.failed, arm, in_words(outcome)))
        if progress.stopping and progress.out and not self._stop.is_set():
            self._say_once(Stopping(progress.out, "interrupted" if self.cancel.is_set() else "time"))

        def look() -> Answer:
            found = self.snapshot()
            self._tell_news(found)
            return found

        try:
            self.view.show(look)
        except Exception as error:
            if lasting(error):
                raise
            # The storage is out of order for the moment: the loop that tells looks after that.
            self._say_once(StorageTrouble(failure_in_words(error)))

    def _tell_news(self, found: Answer) -> None:
        """Arms that were excluded, alarms and other warnings, each once."""
        for notice in found.notices:
            if notice.warns or isinstance(notice, TakenAsRate):
                self._say_once(notice)

    def _say_once(self, notice: Notice) -> None:
        if notice.subject not in self._said:
            self._said.add(notice.subject)
            self.view.say(str(notice), warning=notice.warns)

    def snapshot(self) -> Answer:
        """The study as it is now."""
        study, state, progress = self.study, self.study.state(), self._progress
        gated = study.settings.question.baseline is not None
        ahead = None if gated else forecast(state.policy)
        return answer_of(
            state,
            study.name,
            study.alarms(),
            (None, None) if ahead is None else (ahead.pulls_left, state.cost_of(ahead)),
            seconds=progress.seconds,
            max_time=self.spec.max_time,
            pulls_a_second=progress.rate or None,
            under_way=progress.out,
            preparing=tuple(self.commands.preparing),
        )


def warm_up(spec: Spec) -> None:
    """Have everything imported, or compiled, that decides: not beside the first measurements."""
    study = Study(["fast", "slow"], [Objective("x", "maximize", tolerance=1.0)], spec.question.threat)
    for _ in range(3):
        pulls = study.ask(64)
        study.tell_many([(pull, 100.0 * pull.index) for pull in pulls])
    state = study.state()
    forecast(state.policy)
    state.policy.reachable()
    study.close()


@contextmanager
def _attentive() -> Iterator[None]:
    """Let threads take turns often, so that drawing a view hardly delays the moment when a command's end is seen."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, SWITCH_INTERVAL))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
