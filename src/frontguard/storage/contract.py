"""The storage contract of studies: what every backend must guarantee, and the records that pass through it.

A study is a log. Two kinds of records are appended to it and never changed:

- a *plan*: pulls that the policy wants, an arm for each, in the order in which they are to be handed out. Pulls are
  numbered through from 1 over all plans. A plan says how many told pulls the policy had seen when it made it, so that
  the state of the policy is a replay of the log, and a plan without pulls says that the study stopped, and why;
- a *told pull*: the values that were measured, or why they could not be. Told pulls are numbered through from 1 in the
  order in which they were written, without gaps: `told(study, after=n)` gives all that came after the n-th.

Beside the log there are the *leases*: who is at work on which pull until when. A pull is handed out once: one that is
measured again after its worker was lost, with only the survivor counted, is a censored sample (docs/theory.md, (g)). So
a lease begins with `hand_out`, and ends in one of three ways:

- its pull is told by whoever measured it, with values or as failed: `tell`, with `End.TOLD`;
- its pull is given up, by anyone: `tell` with another `End` and no values. It counts as failed. What its holder tells
  after that is kept for the record (`late`) and does not count;
- it was never begun, and its holder gives it back: `give_back`. Only then is the pull handed out to another.

A deadline that has passed ends nothing by itself: who asks gives such a pull up. Holders that live put it off: `renew`.

Guarantees, by every backend, for any number of processes and threads:

1. **Acknowledged means durable.** When `tell` returns, its pulls survive the death of the process and of the machine
   (of the process alone, in memory). When it raises, none of its pulls is written.
2. **Once.** A pull that was told stays as it was told first; telling it again changes nothing and says so.
3. **One order.** All readers see the same told pulls in the same order, and never the n-th before the (n−1)-th.
4. **One plan after another.** Of several plans with one number exactly one is added.
5. **One holder.** No pull is handed out again, unless it was given back; not after a crash either.
6. Writers wait for each other; none fails because another one writes, and none waits for ever.

`MemoryStorage` is the reference that other backends are compared with.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from frontguard._common.machine import hold_over_forks
from frontguard._common.secrets import without_password
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput

LOGGER = logging.getLogger("frontguard.storage")
"""Takes what a storage waits for; without any handler that is printed on stderr."""

SAID_AFTER = 3.0
"""Seconds of waiting after which it is said for what."""


class UnknownStudy(BadInput):
    """There is no study of that name in the storage."""


class NothingThere(BadInput):
    """Nothing was ever written to the storage, which was opened to be read: no study was begun in it yet."""


class StudyExists(BadInput):
    """A study of that name is there already."""


class Damaged(BadInput):
    """The storage cannot be read in full. The message says what can, and how; nothing was changed."""


class Unavailable(BadInput):
    """The storage cannot be written now: another process holds it, or the disk is full. That may pass."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Pulls `first`, `first` + 1, … of `arms`, wanted by the policy when it had seen `told` told pulls."""

    number: int  # from 1
    told: int
    first: int
    arms: Ints
    status: str = "running"


class End(IntEnum):
    """The end of a pull. What is not TOLD was given up: it counts as failed, since what it measures is not known."""

    TOLD = 0  # by its holder: values, or that it failed
    LOST = 1  # with its worker
    STOPPED = 2  # by the user, while it was under way
    OVERDUE = 3  # its lease ran out, and nothing was heard of its worker


LATEST = 253402300800.0
"""Seconds since the epoch until the year 10000: nothing is told later."""

MOST_METRICS = 10_000
"""More than any study has."""

GIVEN_BACK = float("-inf")
"""The deadline of a lease that was given back: it is over, whatever the time."""


@dataclass(frozen=True)
class Pull:
    """One measurement to make, leased to `worker` until `deadline` (seconds since the epoch)."""

    id: int
    worker: str
    deadline: float
    arm: str = ""
    index: int = -1  # position among the arms
    rep: int = 0  # which repeat of the arm this is, from 1
    item: int = -1  # position, in a list of items, that this repeat measures: the same for all arms


@dataclass(frozen=True)
class Tell:
    """The record of a pull."""

    pull: int
    values: tuple[float, ...]  # as measured, NaN where a metric failed; none of one that was given up
    reason: str = ""  # why something failed
    worker: str = ""  # who told it, or had it when it was given up
    at: float = 0.0  # seconds since the epoch
    end: End = End.TOLD
    cluster: str = ""  # pulls of one (a host, a process, a day) may depend on each other; "" is one of its own


@dataclass(frozen=True, eq=False)
class Told:
    """The records of several pulls, in the order of telling, as columns; `after` is how many were told before."""

    after: int
    pulls: Ints  # (n,)
    values: Floats  # (n, M)
    reasons: tuple[str, ...]
    workers: tuple[str, ...]
    at: Floats  # (n,)
    ends: Ints  # (n,), of `End`
    clusters: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.pulls)

    @classmethod
    def of(cls, tells: Sequence[Tell], metrics: int, after: int = 0) -> Told:
        """Tells as columns."""
        return cls(
            after=after,
            pulls=np.array([tell.pull for tell in tells], np.int64),
            values=np.array([tell.values for tell in tells], np.float64).reshape(len(tells), metrics),
            reasons=tuple(tell.reason for tell in tells),
            workers=tuple(tell.worker for tell in tells),
            at=np.array([tell.at for tell in tells], np.float64),
            ends=np.array([tell.end for tell in tells], np.int64),
            clusters=tuple(tell.cluster for tell in tells),
        )

    @classmethod
    def joined(cls, pieces: Sequence[Told]) -> Told:
        """Pieces that follow on each other, one at least, as one."""
        if len(pieces) == 1:
            return pieces[0]
        columns = zip(*(piece.columns for piece in pieces), strict=True)
        joined: Iterator[Any] = (
            tuple(chain(*each)) if isinstance(each[0], tuple) else np.concatenate(each) for each in columns
        )
        return cls(pieces[0].after, *joined)

    @property
    def columns(self) -> tuple[Any, ...]:
        """All but `after`, each with an entry for every pull."""
        return tuple(getattr(self, each.name) for each in fields(Told)[1:])

    def part(self, start: int, end: int | None = None) -> Told:
        """Return those from the `start`-th, counted from 0, to before the `end`-th."""
        return Told(self.after + start, *(column[start:end] for column in self.columns))

    def rows(self, where: Ints) -> Told:
        """Return those at these positions, counted from 0."""
        places = where.tolist()
        some: Iterator[Any] = (
            tuple(map(each.__getitem__, places)) if isinstance(each, tuple) else each[where] for each in self.columns
        )
        return Told(self.after, *some)


class Storage(ABC):
    """A place for studies. Safe to use from several threads; a process that forks opens its own after it."""

    @abstractmethod
    def studies(self) -> list[str]:
        """Names of the studies, oldest first."""

    @abstractmethod
    def create(self, study: str, settings: str, metrics: int) -> None:
        """Begin a study of M `metrics`; `settings` is a text of the caller's. Raises `StudyExists`."""

    @abstractmethod
    def settings(self, study: str) -> str:
        """The latest settings. Raises `UnknownStudy`."""

    @abstractmethod
    def amend(self, study: str, settings: str, *, after: str | None = None, told: int | None = None) -> bool:
        """Give the study new settings, if `after` are the latest and so many pulls are `told`; whether it was so."""

    @abstractmethod
    def forget(self, study: str) -> bool:
        """Remove a study, with its plans and leases, of which nothing was told; False if anything was."""

    @abstractmethod
    def size(self, study: str) -> tuple[int, int]:
        """Return the number of plans and of told pulls: cheap, for those who watch."""

    @abstractmethod
    def plans(self, study: str, after: int = 0) -> list[Plan]:
        """The plans with numbers above `after`, in order."""

    @abstractmethod
    def add_plan(self, study: str, plan: Plan) -> bool:
        """Append a plan if it is the next one: number and first pull follow on the last plan's. False if it is not."""

    @abstractmethod
    def told(self, study: str, after: int = 0, up_to: int | None = None) -> Told:
        """The told pulls with numbers above `after`, up to `up_to` or the last."""

    @abstractmethod
    def tell(self, study: str, tells: Sequence[Tell]) -> list[bool]:
        """Append told pulls, all or none, in one durable step; end their leases. False for those told before.

        Values must be M numbers, all NaN if the pull is given up, and the pull planned: `ValueError` before anything
        is written otherwise. What is told of a pull that was given up before is `late`.
        """

    @abstractmethod
    def late(self, study: str) -> Told:
        """Return the first tell of each pull after it had been given up. It does not count, and has no cluster."""

    @abstractmethod
    def hand_out(self, study: str, most: int, worker: str, *, deadline: float) -> list[Pull]:
        """Lease up to `most` pulls to a worker until `deadline`; durable when it returns.

        First those that were given back; then planned ones that were never handed out nor told; by number.
        """

    @abstractmethod
    def renew(self, study: str, worker: str, deadline: float, pulls: Iterable[int] | None = None) -> int:
        """Put off the deadline of the leases that a worker holds, on some pulls or on any; how many these were."""

    def give_back(self, study: str, worker: str, pulls: Iterable[int] | None = None) -> int:
        """End the leases that a worker holds on some pulls, or on any, none of which was begun; how many these were."""
        return self.renew(study, worker, GIVEN_BACK, pulls)

    @abstractmethod
    def leases(self, study: str) -> list[Pull]:
        """The pulls that are in the hands of a worker, lowest number first; some may be past their deadline."""

    def now(self) -> float:
        """Seconds since the epoch, by the one clock that tells for all its workers when a lease has run out."""
        return time.time()

    @abstractmethod
    def describe(self) -> str:
        """Return where and how it keeps studies, in a sentence for people."""

    def concern(self) -> str:
        """Return what of this a user should know before anything is measured; "" if all is as it should be."""
        return ""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections. May be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def follows(plan: Plan, last_number: int, planned: int) -> bool:
    """Return True if a plan is the next one after `last_number` plans with `planned` pulls altogether."""
    return plan.number == last_number + 1 and plan.first == planned + 1


def leases_of(leases: Iterable[Pull], worker: str, pulls: Iterable[int] | None, deadline: float) -> list[Pull]:
    """Return those of these leases that a worker holds on some pulls, or on any, with another deadline."""
    which = None if pulls is None else set(pulls)
    return [
        replace(each, deadline=float(deadline))
        for each in leases
        if each.worker == worker and each.deadline > GIVEN_BACK and (which is None or each.id in which)
    ]


def check_tells(tells: Sequence[Tell], planned: int, metrics: int) -> None:
    """Refuse what no log may hold."""
    for tell in tells:
        checked_texts(tell.reason, tell.worker, tell.cluster)
        if len(tell.values) != metrics:
            raise ValueError(f"pull {tell.pull} must have {metrics} values; got {len(tell.values)}")
    if fault := fault_of(Told.of(tells, metrics), planned):
        raise ValueError(fault)


def fault_of(told: Told, planned: int) -> str:
    """Return the fault of told pulls that no log may hold, and one from a stranger might; "" if they are sound."""
    given_up = told.ends != End.TOLD
    for wrong, what in (
        ((told.pulls < 1) | (told.pulls > planned), f"was never planned: this study has {planned} pulls so far"),
        (np.isinf(told.values).any(axis=1), "must have finite values, or NaN where it failed"),
        ((told.ends < min(End)) | (told.ends > max(End)), "ended in a way that there is not"),
        (given_up & ~np.isnan(told.values).all(axis=1), "was given up, and must have no values but NaN"),
        (~((told.at >= 0.0) & (told.at < LATEST)), "must be told at a time in seconds since the epoch"),
    ):
        if wrong.any():
            return f"pull {told.pulls[int(np.argmax(wrong))]} {what}"
    return ""


def fault_of_plans(plans: Sequence[Plan], planned: int) -> str:
    """Return the fault of plans that no log may hold, and that end at pull `planned`; "" if they are sound."""
    if plans and plans[0].number == 1 and plans[0].first != 1:
        return "plan 1 does not begin with pull 1"
    for before, plan in pairwise(plans):
        if not follows(plan, before.number, before.first + len(before.arms) - 1):
            return f"plan {plan.number} does not follow on plan {before.number}"
    for plan in plans:
        if plan.told < 0 or plan.first < 1 or (len(plan.arms) and plan.arms.min() < 0):
            return f"plan {plan.number} has a negative number"
    if plans and plans[-1].first + len(plans[-1].arms) - 1 != planned:
        return f"plan {plans[-1].number} does not end at pull {planned}, the last one"
    return ""


def checked_texts(*texts: str) -> None:
    """Refuse what no database takes, a lone surrogate, with `UnicodeEncodeError`, which is a `ValueError`."""
    for text in texts:
        text.encode()


# In memory ------------------------------------------------------------------------------------------------------------


@dataclass
class _Kept:
    """All there is of one study."""

    metrics: int
    settings: list[str]
    plans: list[Plan] = field(default_factory=list)
    planned: int = 0  # pulls of all plans
    handed: int = 0  # pulls up to this one were handed out, or told without
    told: list[Tell] = field(default_factory=list)
    ends: dict[int, End] = field(default_factory=dict)  # of the pulls that were told
    late: dict[int, Tell] = field(default_factory=dict)
    leases: dict[int, Pull] = field(default_factory=dict)


class MemoryStorage(Storage):
    """Studies that live as long as the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._studies: dict[str, _Kept] = {}
        hold_over_forks(self)

    def _before_fork(self) -> None:
        """A child has a copy of its own."""

    def describe(self) -> str:
        return "in memory: a study is gone when the process ends"

    def __repr__(self) -> str:
        return f"MemoryStorage() of {len(self._studies)} studies"

    def studies(self) -> list[str]:
        with self._lock:
            return list(self._studies)

    def create(self, study: str, settings: str, metrics: int) -> None:
        checked_texts(study, settings)
        with self._lock:
            if study in self._studies:
                raise StudyExists(f"there is a study {study!r} already")
            self._studies[study] = _Kept(metrics, [settings])

    def settings(self, study: str) -> str:
        with self._locked(study) as kept:
            return kept.settings[-1]

    def amend(self, study: str, settings: str, *, after: str | None = None, told: int | None = None) -> bool:
        checked_texts(settings)
        with self._locked(study) as kept:
            if after not in (None, kept.settings[-1]) or told not in (None, len(kept.told)):
                return False
            kept.settings.append(settings)
            return True

    def forget(self, study: str) -> bool:
        with self._locked(study) as kept:
            if kept.told:
                return False
            del self._studies[study]
            return True

    def size(self, study: str) -> tuple[int, int]:
        with self._locked(study) as kept:
            return len(kept.plans), len(kept.told)

    def plans(self, study: str, after: int = 0) -> list[Plan]:
        with self._locked(study) as kept:
            return kept.plans[max(after, 0) :]

    def add_plan(self, study: str, plan: Plan) -> bool:
        with self._locked(study) as kept:
            if not follows(plan, len(kept.plans), kept.planned):
                return False
            # A copy that nobody can write into: what is in the log stays as it is.
            arms = np.array(plan.arms, np.int64)
            arms.setflags(write=False)
            kept.plans.append(replace(plan, arms=arms))
            kept.planned += len(arms)
            return True

    def told(self, study: str, after: int = 0, up_to: int | None = None) -> Told:
        with self._locked(study) as kept:
            after = max(after, 0)
            rows = kept.told[after : None if up_to is None else max(up_to, after)]
        return Told.of(rows, kept.metrics, after)

    def tell(self, study: str, tells: Sequence[Tell]) -> list[bool]:
        with self._locked(study) as kept:
            check_tells(tells, kept.planned, kept.metrics)
            answers = []
            for tell in tells:
                new = tell.pull not in kept.ends
                answers.append(new)
                if new:
                    kept.ends[tell.pull] = tell.end
                    kept.told.append(tell)
                    kept.leases.pop(tell.pull, None)
                elif kept.ends[tell.pull] != End.TOLD and tell.end == End.TOLD:
                    kept.late.setdefault(tell.pull, replace(tell, cluster=""))
            return answers

    def late(self, study: str) -> Told:
        with self._locked(study) as kept:
            return Told.of(list(kept.late.values()), kept.metrics)

    def hand_out(self, study: str, most: int, worker: str, *, deadline: float) -> list[Pull]:
        checked_texts(worker)
        with self._locked(study) as kept:
            back = sorted(number for number, held in kept.leases.items() if held.deadline == GIVEN_BACK)
            given = back[: max(most, 0)]
            while len(given) < most and kept.handed < kept.planned:
                kept.handed += 1
                if kept.handed not in kept.ends:
                    given.append(kept.handed)
            pulls = [Pull(number, worker, float(deadline)) for number in given]
            kept.leases.update((pull.id, pull) for pull in pulls)
            return pulls

    def renew(self, study: str, worker: str, deadline: float, pulls: Iterable[int] | None = None) -> int:
        with self._locked(study) as kept:
            changed = leases_of(kept.leases.values(), worker, pulls, deadline)
            kept.leases.update((pull.id, pull) for pull in changed)
            return len(changed)

    def leases(self, study: str) -> list[Pull]:
        with self._locked(study) as kept:
            return [pull for _, pull in sorted(kept.leases.items()) if pull.deadline > GIVEN_BACK]

    def close(self) -> None:
        """Nothing to let go of."""

    @contextmanager
    def _locked(self, study: str) -> Iterator[_Kept]:
        with self._lock:
            if study not in self._studies:
                raise UnknownStudy(f"there is no study {study!r} in memory; there are: {sorted(self._studies)}")
            yield self._studies[study]


# By its address -------------------------------------------------------------------------------------------------------

ALLOWED = (
    "a path such as 'study.db', 'sqlite:///relative.db', 'sqlite:////absolute.db', "
    "'postgresql://USER:PASSWORD@HOST:PORT/DATABASE', or 'memory:'"
)

# "scheme://…", and our own schemes also where the slashes were forgotten; any other text with a colon may be a path.
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://|(?P<ours>sqlite|postgres|postgresql|memory):", re.I)


def open_storage(where: Storage | str | os.PathLike[str], *, read_only: bool = False) -> Storage:
    """Return the storage at a path or an address; a storage passes through."""
    if isinstance(where, Storage):
        return where
    if isinstance(where, os.PathLike):
        return _sqlite(Path(where), read_only)
    if not isinstance(where, str) or not where.strip() or where == ":memory:":
        raise BadInput(f"a storage must be {ALLOWED}; got {where!r}")
    address = _ADDRESS.match(where)
    if address is None and without_password(where) != where:  # it would become the name of a file
        raise BadInput(f"a storage must be {ALLOWED}; got a text with a password in it that is no address")
    if address is None:
        return _sqlite(Path(where), read_only)
    scheme = (address["scheme"] or address["ours"]).lower()
    rest = where[address.end() :]
    if scheme == "memory" and not rest:
        return MemoryStorage()
    if scheme == "sqlite" and address["scheme"] and rest.startswith("/") and len(rest) > 1:
        return _sqlite(Path(rest[1:]), read_only)
    if scheme in ("postgresql", "postgres") and address["scheme"]:
        from frontguard.storage.postgres import PostgresStorage

        return PostgresStorage(f"{scheme}://{rest}", read_only=read_only)
    # The address is not repeated: it may hold a password.
    raise BadInput(f"a storage must be {ALLOWED}; got an address that begins with '{scheme}:'")


def _sqlite(path: Path, read_only: bool) -> Storage:
    from frontguard.storage.sqlite import SqliteStorage

    return SqliteStorage(path, read_only=read_only)
