"""Watchers of a storage for the pages that are open: one for the list of studies, one for each study looked at.

A watcher asks the storage twice a second whether anything is new, in a thread, and catches up only then. It sleeps nine
times as long as an update took, so that a study on the same machine loses a tenth of one core at most. When nobody has
looked for a minute it stops, and goes on from there when somebody looks again. Trouble with the storage is said on the
page, beside what was last known, and it is tried again with growing pauses.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar

from frontguard._common.secrets import without_password
from frontguard.errors import BadInput
from frontguard.storage.contract import NothingThere, Storage, UnknownStudy, open_storage
from frontguard.storage.sqlite_file import Busy
from frontguard.studies.follow import Follower, Overview

Answer = TypeVar("Answer")


class Threads:
    """Runs work in up to `most` daemon threads: one that waits for a database must not keep the server from ending."""

    def __init__(self, most: int, name: str) -> None:
        self._free = asyncio.Semaphore(most)
        self._name = name

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Return or raise what `work` does."""
        future: Future[Answer] = Future()

        def settle() -> None:
            if not future.set_running_or_notify_cancel():
                return  # nobody waits any more
            try:
                future.set_result(work())
            except Exception as error:
                future.set_exception(error)

        async with self._free:
            threading.Thread(target=settle, name=self._name, daemon=True).start()
            return await asyncio.wrap_future(future)


_log = logging.getLogger("frontguard.web")


@dataclass(frozen=True)
class Times:
    """Seconds that a watcher waits."""

    pause: float = 0.5  # between two looks at the storage
    share: float = 0.1  # of the time that updates may take
    longest: float = 10.0  # pause after dear updates
    trouble: float = 5.0  # longest pause while there is trouble
    silence: float = 5.0  # without an answer of the storage, after which the page says so
    linger: float = 60.0  # after the last look of anybody
    progress: float = 0.2  # between two notes while a log is read first


USUAL = Times()


class Bell:
    """Wakes those who wait for something to change. `version` grows whenever it has."""

    def __init__(self) -> None:
        self.version = 0
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Say that something has changed."""
        self.version += 1
        rung, self._rung = self._rung, asyncio.Event()
        rung.set()

    async def news(self, version: int) -> None:
        """Wait until `version` is not the present one."""
        while self.version == version:
            await self._rung.wait()


class NotBegun(Exception):
    """There is no storage yet at the place where one is expected."""


class StorageSource:
    """Gives the storage at `where`, for any number of threads; a storage passes through."""

    def __init__(self, where: str | Storage) -> None:
        if isinstance(where, str) and where.strip().lower() in ("memory:", "memory://"):
            raise BadInput("STORAGE: wanted a study file or postgresql://…; a study in memory is seen by nobody else")
        self._where = where
        self._storage: Storage | None = None
        self._lock = threading.Lock()
        self._was_there = False

    def get(self) -> Storage:
        """The storage. Raises `NotBegun` as long as it was never there, and what `open_storage` raises."""
        with self._lock:
            if self._storage is None:
                try:
                    self._storage = open_storage(self._where, read_only=True)
                except NothingThere as error:
                    if self._was_there:
                        raise
                    raise NotBegun(str(error)) from None
                self._was_there = True
            return self._storage

    def let_go(self, storage: Storage) -> None:
        """Open the storage anew next time: the file may have been replaced by another one."""
        with self._lock:
            if self._storage is storage and storage is not self._where:
                self._storage = None
                storage.close()

    def close(self) -> None:
        """Let go of files and connections."""
        if self._storage is not None:
            self.let_go(self._storage)


def passes(error: Exception) -> bool:
    """True if a storage that raised this may be used again as it is: a server that is away, a lock that is held."""
    return isinstance(error, ConnectionError | TimeoutError | Busy)


def in_words(error: Exception) -> str:
    """Say on one line what went wrong with a storage, without passwords."""
    said = " ".join(str(error).split())
    if not isinstance(error, BadInput | OSError) or not said:
        said = f"it cannot be read: {type(error).__name__}: {said}"
    return without_password(said)


class StorageWatcher(ABC):
    """Polls in a thread as long as anybody looks, and rings its bell. All but `_poll` runs in the server's loop."""

    def __init__(self, watchers: Watchers) -> None:
        self.bell = Bell()
        self.trouble = ""
        self.polled = False  # whether there was an answer at all, good or bad
        self._all = watchers
        self._times = watchers.times
        self.streams = 0  # pages that are open and look at this
        self._looked = 0.0
        self._task: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._cost = 0.0  # of the last update, in seconds of a processor
        self._reading = False  # the storage has answered, and what is new is being worked on

    @property
    def watching(self) -> bool:
        """True while the storage is being polled."""
        return self._task is not None and not self._task.done()

    def look(self) -> None:
        """Somebody looks: watch from now on for a while."""
        self._looked = time.monotonic()
        if not self.watching:
            self._task = asyncio.get_running_loop().create_task(self._run())

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Watch for as long as this lasts, and a while longer."""
        self.streams += 1
        self.look()
        try:
            yield
        finally:
            self.streams -= 1
            self._looked = time.monotonic()

    async def first_answer(self, seconds: float) -> None:
        """Wait for the first answer of the storage, up to so long."""
        self.look()
        await within(seconds, self.bell, lambda: self.polled)

    async def asked_again(self, seconds: float) -> None:
        """Have the storage asked now, and wait for the answer up to so long."""
        self.polled = False
        self._hurry.set()
        await self.first_answer(seconds)

    def charge(self, seconds: float) -> None:
        """Add to what the last update has cost."""
        self._cost += seconds

    def pause(self) -> float:
        """Seconds until the storage is asked again, by what the last update has cost."""
        wanted = self._cost * (1.0 / self._times.share - 1.0)
        return min(max(wanted, self._times.pause), self._times.longest)

    def close(self) -> None:
        """Stop watching."""
        if self._task is not None:
            self._task.cancel()

    def _poll(self) -> Callable[[], None] | None:
        """In a thread: ask the storage. What is returned is called in the loop if something has changed."""
        try:
            storage = self._all.source.get()
        except NotBegun:
            return None
        try:
            return self._news(storage)
        except Exception as error:
            if not passes(error):
                self._all.source.let_go(storage)
            raise

    @abstractmethod
    def _news(self, storage: Storage) -> Callable[[], None] | None:
        """In a thread: what has changed, to be called in the loop; None if nothing has."""

    def _publish(self) -> None:
        self.bell.ring()
        self._all.bell.ring()

    async def _run(self) -> None:
        failures = 0
        while self.streams or time.monotonic() - self._looked < self._times.linger:
            try:
                change = await self._patiently()
            except Exception as error:
                failures += 1
                said = in_words(error)
                if said != self.trouble and not isinstance(error, ValueError | OSError):
                    _log.error("a study cannot be followed", exc_info=error)
                self._settle(None, said)
            else:
                failures = 0
                self._settle(change, "")
            growing = self._times.pause * 2.0 ** min(failures, 20)
            pause = min(growing, self._times.trouble) if failures else self.pause()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), pause)
            self._hurry.clear()

    async def _patiently(self) -> Callable[[], None] | None:
        """The answer of the storage; says so when it takes long."""
        poll = asyncio.ensure_future(self._all.threads.run(self._poll))
        began = time.monotonic()
        try:
            while True:
                done, _ = await asyncio.wait([poll], timeout=self._times.silence)
                if done:
                    return poll.result()
                if not self._reading:
                    self._settle(None, f"the storage has not answered for {time.monotonic() - began:.0f} s")
        finally:
            poll.cancel()

    def _settle(self, change: Callable[[], None] | None, trouble: str) -> None:
        if change is not None:
            change()
        if change is not None or trouble != self.trouble or not self.polled:
            self.trouble = trouble
            self.polled = True
            self._publish()


async def within(seconds: float, bell: Bell, reached: Callable[[], bool]) -> None:
    """Wait until something is reached, looking whenever the bell is rung, up to so long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not reached():
                await bell.news(bell.version)


class ListWatcher(StorageWatcher):
    """Studies by number: the oldest of the storage is number 1, whatever is shown of them."""

    def __init__(self, only: Sequence[str], watchers: Watchers) -> None:
        super().__init__(watchers)
        self.studies: dict[int, str] = {}
        self._only = frozenset(only)

    def _news(self, storage: Storage) -> Callable[[], None] | None:
        names = enumerate(storage.studies(), 1)
        found = {number: name for number, name in names if not self._only or name in self._only}

        def change() -> None:
            self.studies = found

        return change if found != self.studies else None


@dataclass(frozen=True, eq=False)
class Seen:
    """A study's overview once there is one; until then, how far its log has been read."""

    number: int
    name: str
    overview: Overview | None = None
    follower: Follower | None = None
    told: int = 0  # pulls that were read so far, of `total`
    total: int = 0
    trouble: str = ""  # why it cannot be read at the moment


_serials = count(1)


class StudyWatcher(StorageWatcher):
    """Follows one study."""

    def __init__(self, number: int, name: str, watchers: Watchers) -> None:
        super().__init__(watchers)
        self.number = number
        self.name = name
        self.serial = next(_serials)  # tells it from others of the same number, before and after it
        self._seen = Seen(number, name)
        self._loop = asyncio.get_running_loop()
        self._follower: Follower | None = None
        self._storage: Storage | None = None
        self._noted = 0.0

    @property
    def seen(self) -> Seen:
        """The present state of the study."""
        return replace(self._seen, trouble=self.trouble)

    def _news(self, storage: Storage) -> Callable[[], None] | None:
        try:
            return self._caught_up(storage)
        except Exception as error:
            if not passes(error):
                # The file may be another one when it comes back: what is known of this one is not to be built upon.
                self._follower = None
            if isinstance(error, UnknownStudy):
                raise UnknownStudy(f"the study {self.name!r} is no longer in the storage") from None
            raise

    def _caught_up(self, storage: Storage) -> Callable[[], None] | None:
        storage.size(self.name)  # it answers
        if self._follower is None or self._storage is not storage:
            self._follower, self._storage = Follower(storage, self.name), storage
        follower = self._follower
        first = follower.overview is None
        began = time.thread_time()
        self._reading = True
        try:
            overview = follower.catch_up(self._note if first else None)
        finally:
            self._reading = False
        if overview is self._seen.overview:
            return None
        cost = 0.0 if first else time.thread_time() - began

        def change() -> None:
            self._seen = Seen(self.number, self.name, overview, follower)
            self._cost = cost

        return change

    def _note(self, told: int, total: int) -> None:
        """In a thread: how far the log has been read."""
        now = time.monotonic()
        if now - self._noted < self._times.progress:
            return
        self._noted = now

        def change() -> None:
            if self._seen.overview is None:  # once there was an answer, it stays until there is a newer one
                self._seen = replace(self._seen, told=told, total=total)
                self._publish()

        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(change)


class Watchers:
    """The watchers of a storage. `only` names the studies that are shown; all, if it is empty."""

    def __init__(
        self,
        where: str | Storage | StorageSource,
        only: Sequence[str] = (),
        *,
        times: Times = USUAL,
        threads: int = 4,
    ) -> None:
        self.source = where if isinstance(where, StorageSource) else StorageSource(where)
        self.threads = Threads(threads, "frontguard-watch")
        self.times = times
        self.bell = Bell()  # rung with that of any of them
        self.patience = times.silence + 1.0  # seconds to wait for an answer: long enough to be told that there is none
        self.listing = ListWatcher(only, self)
        self._watchers: dict[int, StudyWatcher] = {}

    def known(self, number: int) -> StudyWatcher | None:
        """The watcher of a study in the list, whether it is at work or not."""
        name = self.listing.studies.get(number)
        if name is None:
            return None
        watcher = self._watchers.get(number)
        if watcher is None or watcher.name != name:  # the storage is another one than it was
            if watcher is not None:
                watcher.close()
                watcher.bell.ring()
            watcher = self._watchers[number] = StudyWatcher(number, name, self)
        return watcher

    async def study(self, number: int) -> StudyWatcher | None:
        """The watcher of a study, put to work; also of one that was begun just now."""
        self.listing.look()
        if number not in self.listing.studies:
            await self.listing.asked_again(self.patience)
        watcher = self.known(number)
        if watcher is not None:
            watcher.look()
        return watcher

    def all(self) -> list[StudyWatcher]:
        """The watchers of all studies in the list."""
        found = (self.known(number) for number in self.listing.studies)
        return [watcher for watcher in found if watcher is not None]

    def close(self) -> None:
        """Stop watching, and let go of the storage. Threads that wait for it are left to themselves."""
        for watcher in (self.listing, *self._watchers.values()):
            watcher.close()
        threading.Thread(target=self.source.close, name="frontguard-close", daemon=True).start()
