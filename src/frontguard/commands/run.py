"""A study whose pulls are commands: a spec, a study and its commands, driven to the end and watched meanwhile."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import cast

from frontguard._common.entries import Entries
from frontguard.commands.arm import CommandMeasurement, Commands, in_words, last_words
from frontguard.commands.live import View
from frontguard.commands.spec import Spec
from frontguard.measure.drive import RunProgress, drive, lasting
from frontguard.measure.first_pulls import FirstPulls
from frontguard.notices import (
    AllFailed,
    CleaningUp,
    Notice,
    StepFailed,
    Stopping,
    StorageTrouble,
    TakenAsRate,
)
from frontguard.objectives import Objective
from frontguard.policies.forecast import forecast
from frontguard.storage.contract import Pull
from frontguard.studies.candidates import gate_of
from frontguard.studies.measurement import CANCELLED, Measurement, failure_in_words
from frontguard.studies.overview import Snapshot, snapshot_of
from frontguard.studies.study import Study
from frontguard.words.study import How, answer

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
    """How a run ended, the study as it is then, for each arm that failed the last outcome that did, and the steps
    beside the pulls that failed.
    """

    how: How
    snapshot: Snapshot
    failures: dict[str, CommandMeasurement] = field(default_factory=dict)
    steps: tuple[StepFailed, ...] = ()

    @property
    def answer(self) -> str:
        """The answer in a sentence or two; if no arm could be measured, why one could not."""
        said = answer(self.snapshot, self.how)
        if len(self.snapshot.aside) == len(self.snapshot.result.arms) and self.failures:
            arm, outcome = next(iter(self.failures.items()))
            said += f" Arm {arm!r}, for one: {in_words(outcome)}"
        return said

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What happened, as records."""
        return (*self.snapshot.result.notices, *self.steps)

    def entries(self) -> Entries:
        """Entries of JSON: the study at the end. Its status is `budget` where its time was over before."""
        result = self.snapshot.result
        status = "budget" if self.how == "time" and result.status == "running" else result.status
        return replace(self.snapshot, result=replace(result, status=status, notices=self.notices)).entries()


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
        """Pull until the study is done, its time is over, or `cancel` or `give_up` is set, as in `drive`.

        Raises `FirstMistake` if every first pull of every arm fails: then nothing is stored.
        """
        seconds = self.spec.max_time
        new = self.study.storage.size(self.study.name)[1] == 0
        objectives = self.spec.question.objectives
        first = FirstPulls(len(self.spec.arms), objectives, "the commands", in_words=self._why, alike=False)
        with self.commands, _attentive(), ThreadPoolExecutor(self.spec.workers, "pull") as pool:
            try:
                how = drive(
                    self.study,
                    lambda pull: pool.submit(self._pulled, pull),
                    workers=self.spec.workers,
                    until=None if seconds is None else time.monotonic() + seconds,
                    on_change=self._look,
                    cancel=self.cancel,
                    give_up=self.give_up,
                    abandon=self._stop.set,
                    hold_back=first if new else None,
                )
            finally:
                self._stop.set()
        snapshot = self.snapshot(final=True)
        self._tell_news(snapshot)
        return Ended(cast(How, how), snapshot, dict(self._failures), tuple(self._steps.values()))

    # In the threads of workers ----------------------------------------------------------------------------------------

    def _pulled(self, pull: Pull) -> CommandMeasurement:
        outcome = self._unless_it_was_meant_for_us(self._commanded(pull))
        outcome = replace(outcome, said=last_words(outcome))
        with self._lock:
            if outcome.failed and not outcome.cancelled:
                self._failures[pull.arm] = outcome
            self._succeeded += not outcome.failed
        return outcome

    def _commanded(self, pull: Pull) -> CommandMeasurement:
        return self.commands.pull(pull.index, pull.id, self._stop, rep=pull.rep, item=pull.item)

    def _told(self, notice: Notice) -> None:
        """What went wrong beside the pulls; and, at the end, why it is not the end yet."""
        with self._lock:
            if isinstance(notice, StepFailed):
                self._steps.setdefault(notice.subject, notice)
            self._say_once(notice)
        if isinstance(notice, CleaningUp):
            with suppress(Exception):  # that it cannot be shown, for one reason or another, is no matter at the end
                self.view.show(self.snapshot)

    def _unless_it_was_meant_for_us(self, outcome: CommandMeasurement) -> CommandMeasurement:
        """A command that is being started when a terminal sends Ctrl-C is not in a group of its own yet, and dies of
        it: nothing that its arm is to blame for.
        """
        if outcome.returncode in [-number for number in STOPS] and self.cancel.wait(MOMENT):
            return replace(outcome, reason=CANCELLED)
        return outcome

    def _why(self, pull: Pull, came: Measurement) -> str:
        with self._lock:
            return in_words(self._failures[pull.arm]) if pull.arm in self._failures else came.reason

    # In the thread that drives ----------------------------------------------------------------------------------------

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

        def look() -> Snapshot:
            snapshot = self.snapshot()
            self._tell_news(snapshot)
            return snapshot

        try:
            self.view.show(look)
        except Exception as error:
            if lasting(error):
                raise
            # The storage is out of order for the moment: the loop that tells looks after that.
            self._say_once(StorageTrouble(failure_in_words(error)))

    def _tell_news(self, snapshot: Snapshot) -> None:
        """Arms that were set aside, alarms and other warnings, each once."""
        for notice in snapshot.result.notices:
            if notice.warns or isinstance(notice, TakenAsRate):
                self._say_once(notice)

    def _say_once(self, notice: Notice) -> None:
        if notice.subject not in self._said:
            self._said.add(notice.subject)
            self.view.say(str(notice), warning=notice.warns)

    def snapshot(self, *, final: bool = False) -> Snapshot:
        """The study as it is now; what further pulls could bring at best is looked at in the end only."""
        study, state, progress = self.study, self.study.state(), self._progress
        gated = study.settings.question.baseline is not None
        ahead = None if gated else forecast(state.policy)
        snapshot = snapshot_of(
            state,
            study.name,
            study.alarms(),
            (None, None) if ahead is None else (ahead.pulls_left, state.cost_of(ahead)),
            final=final and not gated,
            seconds=progress.seconds,
            max_time=self.spec.max_time,
            rate=progress.rate or None,
            busy=progress.out,
            preparing=tuple(self.commands.preparing),
        )
        return replace(snapshot, gate=gate_of(state, snapshot.result)) if gated else snapshot


def warm_up(spec: Spec) -> None:
    """Have everything imported, or compiled, that decides: not beside the first measurements."""
    study = Study(["fast", "slow"], [Objective("x", tolerance=1.0)], spec.question.threat)
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
