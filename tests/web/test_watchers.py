"""The watchers: they ask when somebody looks, read when something is new, and survive what befalls a storage."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.storage.contract import MemoryStorage, Pull, Told
from frontguard.web import watchers as watchers_module
from frontguard.web.watchers import (
    Bell,
    NotBegun,
    StorageSource,
    StudyWatcher,
    Threads,
    Times,
    Watchers,
    in_words,
    within,
)
from tests.support.servers import PostgresServer
from tests.support.snapshots import refused, said
from tests.support.waiting import patience, until
from tests.web.serving import QUICK, begin, measure, serving, words


class Counting(MemoryStorage):
    """Counts what it is asked, and raises what it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()
        self.fault: Exception | None = None
        self.closed = False

    def _note(self, what: str) -> None:
        self.asked[what] += 1
        if self.fault is not None:
            raise self.fault

    def studies(self) -> list[str]:
        self._note("studies")
        return super().studies()

    def size(self, study: str) -> tuple[int, int]:
        self._note("size")
        return super().size(study)

    def leases(self, study: str) -> list[Pull]:
        self._note("leases")
        return super().leases(study)

    def told(self, study: str, after: int = 0, up_to: int | None = None) -> Told:
        self._note("told")
        return super().told(study, after, up_to)


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(story(), patience(60.0)))


async def eventually(reached: Callable[[], Any]) -> None:
    while not reached():
        await asyncio.sleep(0.01)


# Watching -------------------------------------------------------------------------------------------------------------


def test_it_reads_only_what_is_new_and_only_then() -> None:
    storage = Counting()
    study = begin(storage)
    measure(study, 8)

    async def story() -> None:
        watchers = Watchers(storage, times=QUICK)
        watch = await watchers.study(1)
        assert watch is not None
        await eventually(lambda: watch.seen.overview)
        assert watch.seen.overview is not None
        assert watch.seen.overview.told == 8
        read, polls, version = storage.asked["told"], storage.asked["size"], watch.bell.version
        await eventually(lambda: storage.asked["size"] >= polls + 5)
        assert storage.asked["told"] == read, "the log was read though nothing was new"
        assert watch.bell.version == version, "news of nothing"
        measure(study, 8, seed=2)
        await watch.bell.news(version)
        await eventually(lambda: watch.seen.overview and watch.seen.overview.told == 16)
        version = watch.bell.version
        held = study.ask(3)  # under way: no pull was told, but the page shows it
        await eventually(lambda: watch.seen.overview and watch.seen.overview.out == len(held))
        assert watch.bell.version > version
        watchers.close()

    run(story)


def test_it_stops_when_nobody_looks_and_goes_on_when_somebody_does() -> None:
    storage = Counting()
    study = begin(storage)
    measure(study, 8)

    async def story() -> None:
        watchers = Watchers(storage, times=replace(QUICK, linger=0.2))
        watch = await watchers.study(1)
        assert watch is not None
        with watch.looking():
            await eventually(lambda: watch.seen.overview)
            follower = watch.seen.follower
            polls = storage.asked["size"]
            await eventually(lambda: storage.asked["size"] > polls + 8)  # longer than the rest would be
            assert watch.watching
        await eventually(lambda: not watch.watching and not watchers.listing.watching)
        polls = storage.asked.total()
        await asyncio.sleep(0.2)
        assert storage.asked.total() == polls, "the storage was asked though nobody looks"
        measure(study, 8, seed=2)
        assert await watchers.study(1) is watch
        await eventually(lambda: watch.seen.overview and watch.seen.overview.told == 16)
        assert watch.seen.follower is follower, "the log was read anew"
        watchers.close()

    run(story)


def test_dear_updates_come_more_rarely() -> None:
    async def story() -> None:
        times = Times()
        watch = StudyWatcher(1, "x", Watchers(MemoryStorage(), times=times))
        assert watch.pause() == 0.5
        watch.charge(0.1)
        assert watch.pause() == pytest.approx(0.9)  # a tenth of a second's work in a second
        watch.charge(0.1)
        assert watch.pause() == pytest.approx(1.8)
        watch.charge(100.0)
        assert watch.pause() == times.longest

    run(story)


def test_new_studies_appear_and_keep_their_numbers() -> None:
    storage = Counting()
    begin(storage, "first")

    async def story() -> None:
        watchers = Watchers(storage, ["first", "third"], times=QUICK)
        await watchers.listing.first_answer(patience())
        assert watchers.listing.studies == {1: "first"}
        assert await watchers.study(2) is None
        version = watchers.bell.version
        begin(storage, "second")
        begin(storage, "third")
        await watchers.bell.news(version)
        await eventually(lambda: watchers.listing.studies == {1: "first", 3: "third"})
        watchers.close()

    run(story)


# Trouble --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "said", "anew"),
    [
        (ConnectionError("no answer from the PostgreSQL server at ann@host/studies"), "no answer from", False),
        (TimeoutError("another transaction has held a lock"), "held a lock", False),
        (BadInput("study.db was removed"), "study.db was removed", True),
        (OSError("postgresql://ann:secret@host failed"), "postgresql://ann:***@host failed", True),
    ],
)
def test_trouble_is_said_in_words_and_passes(
    fault: Exception, said: str, anew: bool, caplog: pytest.LogCaptureFixture
) -> None:
    storage = Counting()
    study = begin(storage)
    measure(study, 8)

    async def story() -> None:
        watchers = Watchers(storage, times=QUICK)
        watch = await watchers.study(1)
        assert watch is not None
        await eventually(lambda: watch.seen.overview)
        seen = watch.seen
        storage.fault = fault
        await eventually(lambda: watch.trouble and watchers.listing.trouble)
        assert said in watch.trouble
        assert "secret" not in watch.trouble
        assert watch.seen.overview is seen.overview, "what was known is shown still"
        storage.fault = None
        measure(study, 8, seed=2)
        await eventually(lambda: not watch.trouble and watch.seen.overview and watch.seen.overview.told == 16)
        assert (watch.seen.follower is not seen.follower) == anew
        watchers.close()

    run(story)
    assert not caplog.records, "it was no fault of ours"


def test_a_fault_of_ours_is_also_told_to_who_runs_the_server(caplog: pytest.LogCaptureFixture) -> None:
    storage = Counting()
    begin(storage)

    async def story() -> None:
        watchers = Watchers(storage, times=QUICK)
        watch = await watchers.study(1)
        assert watch is not None
        storage.fault = KeyError("odd")
        with caplog.at_level(logging.ERROR, "frontguard.web"):
            await eventually(lambda: "KeyError" in watch.trouble)
            asked = storage.asked["size"]
            await eventually(lambda: storage.asked["size"] > asked + 3)
        watchers.close()

    run(story)
    assert 1 <= len(caplog.records) <= 2, "once for the study and once for the list, not at every attempt"


def test_attempts_become_rarer(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Counting()
    begin(storage)
    pauses: list[float] = []  # as they are asked for: how long they take is a matter of the machine
    wait_for = asyncio.wait_for

    async def story() -> None:
        def noted(wait: Coroutine[Any, Any, Any], seconds: float) -> Coroutine[Any, Any, Any]:
            pauses.append(seconds)
            return wait_for(wait, seconds)

        monkeypatch.setattr(watchers_module.asyncio, "wait_for", noted)
        watchers = Watchers(storage, times=Times(pause=0.02, trouble=0.32))
        await watchers.listing.first_answer(patience())
        storage.fault = OSError("away")
        await eventually(lambda: pauses[-2:] == [0.32, 0.32])
        watchers.close()

    run(story)
    assert [each for each in pauses if each > 0.02][:5] == [0.04, 0.08, 0.16, 0.32, 0.32]


def test_a_storage_that_does_not_answer(tmp_path: Path) -> None:
    go = threading.Event()
    go.set()

    class Stuck(Counting):
        def size(self, study: str) -> tuple[int, int]:
            assert go.wait(patience())
            return super().size(study)

    storage = Stuck()
    measure(begin(storage), 8)

    async def story() -> None:
        watchers = Watchers(storage, times=replace(QUICK, silence=0.1))
        watchers.listing.look()
        await eventually(lambda: watchers.listing.studies)  # on a busy machine, that may take longer than 0.1 s
        watch = await watchers.study(1)
        assert watch is not None
        await eventually(lambda: watch.seen.overview)
        go.clear()
        await eventually(lambda: "has not answered" in watch.trouble)
        go.set()
        await eventually(lambda: not watch.trouble)
        watchers.close()

    run(story)


def test_a_study_is_not_denied_before_the_storage_has_answered() -> None:
    go = threading.Event()

    class Late(Counting):
        def studies(self) -> list[str]:
            assert go.wait(patience())
            return super().studies()

    storage = Late()
    measure(begin(storage), 8)
    with serving(storage, times=replace(QUICK, silence=2.5)) as live:
        page = live.get("/study/1")
        assert page.status == 503
        assert "has not answered" in page.text
        assert page.headers["refresh"] == "2"  # the browser tries again
        go.set()
        until(lambda: live.get("/study/1").status == 200)
        assert live.get("/study/2").status == 404


def test_the_first_reading_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontguard.studies.follow.PIECE", 5)
    storage = Counting()
    measure(begin(storage), 40)
    notes: list[tuple[int, int]] = []

    async def story() -> None:
        watchers = Watchers(storage, times=replace(QUICK, progress=0.0))
        watch = await watchers.study(1)
        assert watch is not None
        while watch.seen.overview is None:
            await watch.bell.news(watch.bell.version)
            notes.append((watch.seen.told, watch.seen.total))
        watchers.close()

    run(story)
    reading = [told for told, total in notes if total]
    assert reading == sorted(reading)
    assert {total for _, total in notes if total} == {40}


# PostgreSQL -----------------------------------------------------------------------------------------------------------


def test_a_server_that_restarts(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    with serving(url, times=replace(QUICK, silence=0.3)) as live:
        assert "No study yet" in live.get("/").text  # not even its tables
        study = begin(url)
        measure(study, 16)
        until(lambda: live.get("/study/1.json").status == 200)
        stream = live.events("/events/study/1")
        stream.until(lambda regions: "facts" in regions)
        postgres.stop()
        stream.until(lambda regions: "has not answered" in words(regions["trouble"]))
        page = live.get("/study/1")
        assert page.status == 200
        assert postgres.password not in page.text
        postgres.start()
        measure(study, 16, seed=2)
        stream.until(lambda regions: "has not answered" not in words(regions["trouble"]))
        until(lambda: live.get("/study/1.json").json["pulls"] == study.result().pulls)
        study.storage.close()


# The pieces -----------------------------------------------------------------------------------------------------------


def test_what_is_not_begun_is_told_from_what_is_wrong(
    tmp_path: Path, postgres: PostgresServer, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(NotBegun):
        StorageSource(str(tmp_path / "none.db")).get()
    (tmp_path / "empty.db").write_bytes(b"")
    with pytest.raises(NotBegun):
        StorageSource(str(tmp_path / "empty.db")).get()
    with pytest.raises(NotBegun):
        StorageSource(postgres.new_database()).get()
    (tmp_path / "other.db").write_text("not a study" * 100)
    for wrong in (str(tmp_path / "other.db"), str(tmp_path / "no" / "folder.db"), str(tmp_path), "mysql://x/y"):
        with pytest.raises(BadInput):
            StorageSource(wrong).get()
    with refused(BadInput, snapshot):
        StorageSource("memory:")


def test_a_storage_that_was_there_and_is_gone_is_trouble(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "flags.db"
    begin(path).storage.close()
    source = StorageSource(str(path))
    storage = source.get()
    assert source.get() is storage
    path.unlink()
    source.let_go(storage)
    with refused(BadInput, snapshot):
        source.get()
    begin(path).storage.close()
    assert source.get() is not storage
    source.close()


def test_words_for_what_went_wrong(snapshot: SnapshotAssertion) -> None:
    assert in_words(BadInput("a  b\nc")) == "a b c"
    assert said(in_words(OSError())) == snapshot
    assert "secret" not in in_words(OSError("postgresql://ann:secret@host/x: refused"))


def test_threads_answer_and_raise_a_few_at_a_time() -> None:
    async def story() -> None:
        threads = Threads(2, "frontguard-test")

        def work(n: int) -> tuple[int, int, bool]:
            mine = [thread for thread in threading.enumerate() if thread.name == "frontguard-test"]
            return n * n, len(mine), all(thread.daemon for thread in mine)

        found = await asyncio.gather(*(threads.run(partial(work, n)) for n in range(10)))
        assert [square for square, _, _ in found] == [n * n for n in range(10)]
        # One that has answered may take a moment to end.
        assert max(at_once for _, at_once, _ in found) <= 4
        assert all(daemon for _, _, daemon in found)
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 // 0)

    run(story)


def test_a_bell_wakes_all_who_wait() -> None:
    async def story() -> None:
        bell = Bell()
        waiting = [asyncio.create_task(bell.news(0)) for _ in range(3)]
        await asyncio.sleep(0)
        bell.ring()
        await asyncio.gather(*waiting)
        await bell.news(0)  # at once: it has rung since
        await within(0.01, bell, lambda: False)  # gives up

    run(story)


def test_nothing_here_writes() -> None:
    text = Path(watchers_module.__file__).read_text()
    for verb in (".create(", ".amend(", ".add_plan(", ".tell(", ".hand_out("):
        assert verb not in text
