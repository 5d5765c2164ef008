"""A study: hands out pulls, takes what they measured, knows the answer so far; durable, and shared by many workers."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from frontguard._common.attached import attached
from frontguard._common.checks import checked_count, checked_seconds, refuse_unknown
from frontguard._common.machine import renew_after_fork
from frontguard.errors import BadInput
from frontguard.notices import Alarm
from frontguard.objectives import Objective
from frontguard.phrases import listed, number_of
from frontguard.question import Asked, Entry, Question
from frontguard.results import Answer
from frontguard.storage.contract import End as End
from frontguard.storage.contract import Pull as Pull
from frontguard.storage.contract import Storage, StudyExists, Tell, UnknownStudy, open_storage
from frontguard.studies.measurement import (
    Measurement,
    Values,
    checked_reason,
    checked_values,
    is_lost,
    stored_reason,
    taken_as_rates,
    this_worker,
    with_cost,
)
from frontguard.studies.pulls import frame_of, item_order
from frontguard.studies.replay import Replay, answer_of
from frontguard.studies.settings import Settings, checked_text, named_arms
from frontguard.theory.threats import Threat

LEASE = 600.0
"""Seconds for which a pull is handed out, or its lease renewed, unless said otherwise."""

LATELY = 64
"""Told pulls in which those who are at work are looked for."""

_workers = count(1)


class Study:
    """Ask for pulls, measure, tell; read the result at any time. Any number of processes may share one study.

    Parameters
    ----------
    arms
        Names of the candidates, or how many there are.
    objectives
        `Objective(...)`s, names, or pairs (name, direction). Their tolerances are the goal.
    threat
        Who may replace measurements: `"prescient"` or the name of another model, of which `contamination` is the ε; or
        a model with its ε. Without it, `Prescient(0.1)`.
    question
        All that is asked as one value, which the keywords change where they are given.
    storage
        A path or URL (`study.db`, `sqlite:///study.db`, `postgresql://…`), a `Storage`, or None: in memory.
    name
        Of the study in its storage. One that is there already is taken up again: goal, tolerances, budget and the
        numbers of limits may differ, nothing else.
    seed
        Of the order in which arms are measured, and of that in which items are.
    lease
        Time, in seconds or as `"10 min"`, after which a pull that was handed out, and neither told nor renewed, is
        given up: it counts as failed.
    worker
        What this worker is called; unless given, a name by which others on this machine see that it is gone.
    about
        Kept with the study, for whoever drives it.
    asked
        All else that is asked, such as `limits`, `contamination`, `confidence`, `goal`, `max_pulls` or `cost`: see
        `frontguard.question.Asked`.

    Raises
    ------
    BadInput
        The question cannot be asked, or the storage has another study of this name.

    >>> from frontguard import Objective, Prescient
    >>> study = Study(["a", "b"], [Objective("seconds", "minimize", tolerance="5%")], Prescient(0.1))
    >>> while pulls := study.ask(8):
    ...     study.tell_many([(pull, {"seconds": 1.0 if pull.arm == "a" else 2.0}) for pull in pulls])
    ...
    [True, ...
    >>> study.result().verdicts, study.status
    ({'a': 'keep', 'b': 'beaten'}, 'certified')
    """

    def __init__(
        self,
        arms: Sequence[str] | int,
        objectives: Iterable[Entry] | None = None,
        threat: Threat | str | None = None,
        *,
        question: Question | None = None,
        storage: str | Path | Storage | None = None,
        name: str = "study",
        seed: int = 0,
        lease: float | str = LEASE,
        worker: str | None = None,
        about: dict[str, Any] | None = None,
        **asked: Unpack[Asked],
    ) -> None:
        refuse_unknown(asked, Study, Asked.__annotations__)
        wanted = Question.of(objectives, threat, question=question, **asked)
        settings = Settings(named_arms(arms), wanted, seed, dict(about or {}))
        settings.policy()  # what the policy refuses is refused before anything is stored
        opened = open_storage("memory:" if storage is None else storage)
        self._begin(opened, checked_text(name, "name"), _taken_up(opened, name, settings), lease, worker)

    @classmethod
    def open(
        cls,
        storage: str | Path | Storage,
        name: str | None = None,
        *,
        lease: float | str = LEASE,
        worker: str | None = None,
        read_only: bool = False,
    ) -> Study:
        """Take up a study with the settings it has. The name may be left out if the storage holds one study only."""
        opened = open_storage(storage, read_only=read_only)
        if name is None:
            names = opened.studies()
            if len(names) != 1:
                listed = f": {', '.join(names)}" if names else ""
                raise UnknownStudy(f"name: the storage holds {len(names)} studies{listed}; say which")
            (name,) = names
        study = cls.__new__(cls)
        study._begin(opened, name, Settings.from_json(opened.settings(name), name), lease, worker)
        return study

    def _begin(self, storage: Storage, name: str, settings: Settings, lease: float | str, worker: str | None) -> None:
        self.storage = storage
        self.name = name
        self.settings = settings
        self.lease = checked_seconds(lease, "lease")
        self._worker = None if worker is None else checked_text(worker, "worker")
        self._which = next(_workers)  # of the workers in this process
        self._held: set[int] = set()  # pulls that `ask` gave and that were not told since
        self._at_work: tuple[str, ...] = ()  # who told the last pulls that were read
        self._start_anew()
        self._items = item_order(settings.seed, settings.question.items or 0)
        self._lock = threading.RLock()  # of the replay; storages look after themselves
        renew_after_fork(self)

    def _start_anew(self) -> None:
        self._replay = Replay(self.settings)
        # Metrics, by position, of which nobody said what counts and no value was read: it may turn out to be a rate.
        self._unsettled = {d for d, each in enumerate(self.metrics) if each.by_default}

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms."""
        return self.settings.arms

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The objectives, with the goal."""
        return self.settings.question.objectives

    @property
    def metrics(self) -> tuple[Objective, ...]:
        """The metrics of a pull: the objectives, and metrics that are limited only."""
        return self.settings.question.columns.metrics

    @property
    def worker(self) -> str:
        """The name of this worker in the storage."""
        return self._worker or this_worker(self._which)

    def ask(self, pulls: int = 1) -> list[Pull]:
        """Up to so many pulls to make, leased to this worker, after lost and overdue ones of anybody were given up."""
        wanted = checked_count(pulls, "pulls")
        self._give_up_the_lost()
        asked: list[Pull] = []
        while len(asked) < wanted:
            try:
                asked += self._handed_out(wanted - len(asked))
                if len(asked) == wanted or not self._plan(wanted - len(asked)):
                    break
            except Exception:
                if not asked:
                    raise
                break  # these are leased to us and nobody else gets them; whoever asks next meets the error
        return asked

    def _give_up_the_lost(self) -> None:
        leases = self.storage.leases(self.name)
        if not leases:
            return
        now, lost = self.storage.now(), cache(is_lost)  # a holder of many pulls is looked for once
        over = []
        for lease in leases:
            if lost(lease.worker) or lease.deadline <= now:
                end = End.LOST if lost(lease.worker) else End.OVERDUE
                over.append(self._given_up(lease.id, lease.worker, end))
        if over:
            self.storage.tell(self.name, over)

    def _given_up(self, pull: int, worker: str, end: End) -> Tell:
        return Tell(pull, (math.nan,) * self.settings.stored_values, "", worker, time.time(), end)

    def _handed_out(self, most: int) -> list[Pull]:
        leased = self.storage.hand_out(self.name, most, self.worker, deadline=self.storage.now() + self.lease)
        if not leased:
            return []
        with self._lock:
            if max(pull.id for pull in leased) > self._replay.planned:
                self.catch_up()
            arms = self._replay.arms_of([pull.id for pull in leased]).tolist()
            self._held.update(pull.id for pull in leased)  # not before: what nobody heard of is reclaimed
            reps = self._replay.reps_of([pull.id for pull in leased]).tolist()
        order = self._items
        return [
            replace(pull, arm=self.arms[arm], index=arm, rep=rep, item=int(order[rep - 1]) if len(order) else -1)
            for pull, arm, rep in zip(leased, arms, reps, strict=True)
        ]

    def renew(self, pulls: Iterable[Pull | int] | None = None) -> int:
        """Renew the leases of this worker's pulls, all unless said which, before they run out; how many it has."""
        numbers = None if pulls is None else [_pull_number(pull) for pull in pulls]
        return self.storage.renew(self.name, self.worker, self.storage.now() + self.lease, numbers)

    def give_up(self, pulls: Iterable[Pull | int], end: End = End.STOPPED) -> list[bool]:
        """End pulls as failed; False for those told before. What is told of them later is kept, and does not count."""
        if End(end) is End.TOLD:
            raise BadInput("end must say how a pull was given up: End.STOPPED, End.LOST or End.OVERDUE; got End.TOLD")
        worker = self.worker
        return self._told([self._given_up(_pull_number(pull), worker, End(end)) for pull in pulls])

    def give_back(self, pulls: Iterable[Pull | int] | None = None) -> int:
        """Give back pulls that were never begun: one that was must be told, or would bias the answer; how many."""
        numbers = None if pulls is None else [_pull_number(pull) for pull in pulls]
        with self._lock:
            self._held.difference_update(self._held if numbers is None else numbers)
        return self.storage.give_back(self.name, self.worker, numbers)

    def reclaim(self) -> int:
        """Give back pulls that were handed out to this worker by an answer that never reached it; how many."""
        leases = self.storage.leases(self.name)
        with self._lock:
            unheard = [lease.id for lease in leases if lease.worker == self.worker and lease.id not in self._held]
        return self.give_back(unheard) if unheard else 0

    def forget(self) -> bool:
        """Remove the study from its storage, if nothing was told of it and no other worker is at it; whether it was."""
        others = [lease for lease in self.storage.leases(self.name) if lease.worker != self.worker]
        return not others and self.storage.forget(self.name)

    def _plan(self, at_least: int) -> bool:
        """See to it that there is another plan; False if there is none to be made now."""
        with self._lock:
            self.catch_up()
            if self._replay.stopped:
                return False
            # Enough for all who will ask: if each made a plan for itself, nearly all of them would be made in vain.
            proposed = self._replay.propose(max(at_least, len({*self._at_work, self.worker})))
            if proposed is None:
                return False
            after, plan = proposed
            if self.storage.add_plan(self.name, plan):
                self._replay = after
                after.watch.plan(plan.arms)
            return plan.status == "running"  # if another worker's plan came first, its pulls are as good

    def tell(
        self,
        pull: Pull | int,
        values: Values | Measurement,
        reason: str | None = None,
        *,
        cluster: str | None = None,
    ) -> bool:
        """Take what a pull measured, by name or in order; durable when it returns. False if it was told or given up.

        A metric that could not be measured is None, and `reason` says why. Pulls of one `cluster` (a host, a process, a
        day) may depend on each other: of those of an arm the first counts.
        """
        number = _pull_number(pull)
        why = "" if reason is None else checked_reason(reason, number)
        return self.tell_many([(pull, Measurement.of(values, why, cluster))])[0]

    def fail(self, pull: Pull | int, reason: str, *, cluster: str | None = None) -> bool:
        """Tell that a pull failed, and why: an observation that may be anything. `cluster` as in `tell`."""
        return self.tell_many([(pull, reason)], failed=True, cluster=cluster)[0]

    def tell_many(
        self, told: Iterable[tuple[Pull | int, Any]], *, failed: bool = False, cluster: str | None = None
    ) -> list[bool]:
        """Tell several pulls in one durable step, all or none: pairs (pull, values), or (pull, reason) if `failed`.

        In place of values there may be a `Measurement`, which has a cluster of its own; `cluster` is that of all.
        Values that cannot be used are refused, before anything is written; `usable` makes failed pulls of them.
        """
        measured: list[tuple[Pull | int, Measurement]] = []
        for pull, values in told:
            came = Measurement.of(values, "", cluster)
            if failed:
                nothing, why = (None,) * len(self.metrics), checked_reason(values, _pull_number(pull))
                came = Measurement.of(nothing, why, cluster)
            measured.append((pull, self.with_cost(came)))
        self.settle([came.values for _, came in measured])
        worker, rows = self.worker, []
        for pull, came in measured:
            number = _pull_number(pull)
            which = f"{number} of arm {pull.arm!r}" if isinstance(pull, Pull) else number
            values = checked_values(self.metrics, came.values, came.reason or None, which)
            of = self.settings.checked_cluster(came.cluster, number)
            at = came.at or time.time()
            if self.settings.stored_values > len(values):
                values = (*values, came.cost)
            rows.append(Tell(number, values, stored_reason(came, number), worker, at, cluster=of))
        return self._told(rows)

    def with_cost(self, came: Measurement) -> Measurement:
        """Return what came back of a pull, with what it cost beside its values, where pulls say so."""
        return with_cost(self.settings.question.cost, [metric.name for metric in self.metrics], came)

    def settle(self, measured: Sequence[object]) -> None:
        """Have rates count where nobody said what does, by settings for all workers, as long as no value was told."""
        while found := taken_as_rates(self.metrics, measured):
            with self._lock:
                self.catch_up()
                # Read before the settings are: whoever changes these meanwhile keeps ours from being written.
                names = [each.name for d, each in enumerate(self.metrics) if d in found & self._unsettled]
                if not names:
                    return
                text = self.storage.settings(self.name)
                settled = Settings.from_json(text, self.name).with_rates(names)
                settled.policy()  # what cannot be decided is refused before it is stored
                if self.storage.amend(self.name, settled.to_json(), after=text, told=self._replay.read):
                    self._take_rates(settled.rates)

    def _take_rates(self, rates: Sequence[str]) -> None:
        """Go on with these rates, from the beginning of the log."""
        self.settings = self.settings.with_rates(rates)
        self._start_anew()

    def _told(self, rows: list[Tell]) -> list[bool]:
        try:
            answers = self.storage.tell(self.name, rows)
        except BadInput:
            raise
        except ValueError as error:
            raise BadInput(str(error)) from None
        with self._lock:
            self._held.difference_update(row.pull for row in rows)
        return answers

    def catch_up(self) -> None:
        """Read what other workers have told since."""
        with self._lock:
            new = self._replay.catch_up(self.storage, self.name)
            self._at_work = (*self._at_work, *new.workers[-LATELY:])[-LATELY:]
            if not self._unsettled:
                return
            # In this order: settings that are read after the first value of a metric say for good what counts of it.
            stored = Settings.from_json(self.storage.settings(self.name), self.name).rates
            if stored != self.settings.rates:
                self._take_rates(stored)
                new = self._replay.catch_up(self.storage, self.name)
            self._unsettled -= {d for d in self._unsettled if np.isfinite(new.values[:, d]).any()}

    @property
    def done(self) -> bool:
        """True if the study has come to its end."""
        self.catch_up()
        return self._replay.stopped

    @property
    def status(self) -> str:
        """running, certified (also while it is polished), budget or unreachable."""
        self.catch_up()
        return self._replay.status_now

    def state(self) -> Replay:
        """The log as far as it goes, with the policy's decision on it: for those who show more than the result."""
        with self._lock:
            self.catch_up()
            return self._replay.with_everything()

    def result(self) -> Answer:
        """The answer so far, in the units of the objectives; final once `done`. With a `baseline`, it has a gate.

        >>> seconds = Objective("seconds", "minimize", tolerance="5%")
        >>> study = Study(["main", "pr"], [seconds], baseline="main")
        >>> while pulls := study.ask(8):
        ...     told = study.tell_many([(pull, {"seconds": 1.0 if pull.arm == "main" else 1.2}) for pull in pulls])
        >>> study.result().gate.outcome.word
        'worse'
        """
        return answer_of(self.state(), self.name, self.alarms())

    def alarms(self) -> list[Alarm]:
        """Evidence that the data of an arm, unless it was excluded, are dirtier than the contamination allows."""
        with self._lock:
            self.catch_up()
            return self._replay.alarms()

    def failures(self) -> dict[str, Counter[str]]:
        """Return how often pulls of each arm failed, by reason; arms without failures are left out."""
        return self.state().failures

    def to_frame(self) -> Any:
        """A pandas frame of all told pulls in their order: pull, arm, values, failure, worker, cluster, time."""
        with self._lock:
            self.catch_up()
            told = self.storage.told(self.name, up_to=self._replay.read)
            arms = self._replay.arms_of(told.pulls)
        return frame_of(self.settings, told, arms)

    def report(self, path: str | Path, format: str | None = None) -> Path:
        """Write a report on the study as it is now to a file that ends in .html, .md or .csv."""
        written: Path = attached("report")(self, path, format)
        return written

    def close(self) -> None:
        """Let go of the storage."""
        self.storage.close()

    def __repr__(self) -> str:
        # To look at a study must not open its storage again, nor wait for it.
        by = listed([objective.name for objective in self.objectives], 8)
        what = f"{number_of(len(self.arms))} by {by}; {number_of(self._replay.read, 'told pull')} read"
        return f"<study {self.name!r} in {self.storage!r}: {what}>"


def _taken_up(storage: Storage, name: str, wanted: Settings) -> Settings:
    """Create the study or, if it is there, take it up with the wanted settings where these may change."""
    question = replace(wanted.question, blocks=wanted.question.in_blocks)  # stays, whatever is usual later
    begun = replace(wanted, question=question)
    try:
        storage.create(name, begun.to_json(), begun.stored_values)
    except StudyExists:
        pass
    else:
        return begun
    while True:
        text = storage.settings(name)
        there = Settings.from_json(text, name)
        settings = there.taken_up(wanted, storage.size(name)[0])
        if settings == there or storage.amend(name, settings.to_json(), after=text):
            return settings


def _pull_number(pull: object) -> int:
    if isinstance(pull, Pull):
        return pull.id
    if isinstance(pull, int) and not isinstance(pull, bool):
        return pull
    raise BadInput(f"pull must be one that ask() gave, or its id; got {pull!r}")
