"""The SQLite file itself: journals, places, permissions, forks, full disks, readers without locks."""

from __future__ import annotations

import errno
import gc
import os
import resource
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.storage import sqlite_file
from frontguard.storage.contract import Damaged, Plan, Tell, Unavailable
from frontguard.storage.sqlite import SqliteStorage
from frontguard.storage.sqlite_file import Busy
from tests.support.forks import fork
from tests.support.snapshots import refused, said


def begin(path: Path, pulls: int = 10, told: int = 0) -> None:
    with SqliteStorage(path) as storage:
        storage.create("s", "{}", 2)
        storage.add_plan("s", Plan(1, 0, 1, np.arange(pulls)))
        storage.tell("s", [good(pull) for pull in range(1, told + 1)])


def good(pull: int) -> Tell:
    return Tell(pull, (float(pull), -float(pull)), worker="w", at=float(pull))


def pragma(path: Path, name: str) -> object:
    db = sqlite3.connect(path)
    try:
        return db.execute(f"PRAGMA {name}").fetchone()[0]
    finally:
        db.close()


# Journals -------------------------------------------------------------------------------------------------------------


def test_a_file_has_a_write_ahead_log(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with SqliteStorage(tmp_path / "a.db") as storage:
        assert storage.journal == "wal"
        assert said(storage.describe().replace(apsw.sqlite_lib_version(), "VERSION")) == snapshot
    assert pragma(tmp_path / "a.db", "journal_mode") == "wal"


def test_a_file_may_go_from_one_journal_to_the_other_and_back(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    begin(tmp_path / "a.db", told=3)  # written with a write-ahead log
    with SqliteStorage(tmp_path / "a.db", journal="rollback") as storage:
        assert storage.journal == "rollback"
        assert storage.concern() == storage.describe()
        assert said(storage.describe().replace(apsw.sqlite_lib_version(), "VERSION")) == snapshot
        assert len(storage.told("s")) == 3
        storage.tell("s", [good(4)])
    assert pragma(tmp_path / "a.db", "journal_mode") == "delete"
    with SqliteStorage(tmp_path / "a.db") as storage:  # and back
        assert storage.journal == "wal"
        assert len(storage.told("s")) == 4


def test_told_pulls_and_leases_are_synced_once_they_are_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = SqliteStorage(tmp_path / "a.db")
    synced: list[tuple[int, int, str]] = []  # what another connection finds while the log is brought to the disk

    def look(descriptor: int) -> None:
        os.fdatasync(descriptor)
        assert os.path.samestat(os.fstat(descriptor), os.stat(tmp_path / "a.db-wal"))
        with SqliteStorage(tmp_path / "a.db", read_only=True) as reader:
            synced.append((len(reader.told("s")), len(reader.leases("s")), reader.settings("s")))

    monkeypatch.setattr(sqlite_file, "_to_disk", look)
    storage.create("s", "", 2)
    storage.add_plan("s", Plan(1, 0, 1, np.arange(3)))  # may be lost: it is made again
    storage.tell("s", [good(1)])
    storage.hand_out("s", 1, "a", deadline=1.0)
    storage.renew("s", "a", 2.0)  # may be lost, too
    storage.amend("s", "new")
    storage.tell("s", [good(1)])  # told before, as it is only said once it is sure
    assert synced == [(0, 0, ""), (1, 0, ""), (1, 1, ""), (1, 1, "new"), (1, 1, "new")]
    storage.close()


def test_a_rollback_journal_is_synced_in_full(tmp_path: Path) -> None:
    begin(tmp_path / "a.db")
    with SqliteStorage(tmp_path / "a.db", journal="rollback") as storage:
        storage.tell("s", [good(1)])
        assert storage._file._db is not None
        assert storage._file._db.pragma("synchronous") == 2


def test_after_a_sync_that_failed_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    begin(tmp_path / "a.db")
    with SqliteStorage(tmp_path / "a.db") as storage:
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_file, "_to_disk", broken_disk)
            with refused(Unavailable, snapshot):
                storage.tell("s", [good(1)])
        with pytest.raises(Unavailable):  # a second sync would succeed, whatever became of what the first one lost
            storage.tell("s", [good(1)])


def broken_disk(descriptor: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_an_unknown_journal_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        SqliteStorage(tmp_path / "a.db", journal="memory")  # type: ignore[arg-type]


# Places ---------------------------------------------------------------------------------------------------------------


def test_an_empty_file_is_new(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    begin(tmp_path / "a.db", told=2)
    with SqliteStorage(tmp_path / "a.db") as storage:
        assert storage.size("s") == (1, 2)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_folder_is_refused(tmp_path: Path, read_only: bool, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        SqliteStorage(tmp_path, read_only=read_only)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_missing_folder_is_named(tmp_path: Path, read_only: bool, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        SqliteStorage(tmp_path / "nowhere" / "a.db", read_only=read_only)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"arm,seconds\nO2,1.5\n", b"x", b"SQLite format 3", bytes(8192), b"\xff" * 5000])
def test_what_is_no_database_is_refused_and_left_alone(
    tmp_path: Path, content: bytes, snapshot: SnapshotAssertion
) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    for read_only in (False, True):
        with refused(BadInput, snapshot) as caught:
            SqliteStorage(path, read_only=read_only)
        assert "\n" not in str(caught.value)
        assert not isinstance(caught.value, Damaged)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "other.db"
    db = sqlite3.connect(path)
    db.executescript("CREATE TABLE told (x); INSERT INTO told VALUES (1);")
    db.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with refused(BadInput, snapshot):
            SqliteStorage(path, read_only=read_only)
    assert path.read_bytes() == before


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("step", [1, -1])
def test_a_file_of_another_version_is_refused_politely(
    tmp_path: Path, read_only: bool, step: int, snapshot: SnapshotAssertion
) -> None:
    path = tmp_path / "other.db"
    SqliteStorage(path).close()
    ours = sqlite_file.VERSION
    db = apsw.Connection(str(path))
    db.execute(f"PRAGMA user_version = {ours + step}")
    db.close()
    before = path.read_bytes()
    with refused(BadInput, snapshot):
        SqliteStorage(path, read_only=read_only)
    assert path.read_bytes() == before


@pytest.mark.parametrize("journal", ["wal", "rollback"])
def test_killed_while_the_tables_are_made_it_is_still_a_new_file(
    tmp_path: Path, journal: str, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    path = tmp_path / "new.db"
    reading, writing = os.pipe()

    class Stuck(tuple):  # type: ignore[type-arg]
        def __iter__(self) -> Iterator[str]:
            yield from self[:3]
            os.write(writing, b"x")
            time.sleep(600.0)

    def make() -> None:
        monkeypatch.setattr(sqlite_file, "_TABLES", Stuck(sqlite_file._TABLES))
        SqliteStorage(path, journal=journal)  # type: ignore[arg-type]

    child = fork(make)
    os.read(reading, 1)
    child.kill()
    with refused(BadInput, snapshot):
        SqliteStorage(path, read_only=True)
    with SqliteStorage(path) as storage:  # and the next one makes them
        storage.create("s", "{}", 2)
    tables = "SELECT name, rootpage, sql FROM sqlite_schema ORDER BY name"
    SqliteStorage(tmp_path / "other.db").close()
    found = [apsw.Connection(str(tmp_path / name)).execute(tables).fetchall() for name in ("new.db", "other.db")]
    assert found[0] == found[1]


def test_permissions_are_named(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    closed, locked, folder = tmp_path / "closed.db", tmp_path / "locked.db", tmp_path / "folder"
    begin(closed)
    begin(locked, told=3)
    folder.mkdir()
    closed.chmod(0)
    locked.chmod(0o444)
    folder.chmod(0o555)
    for parent in (tmp_path, *tmp_path.parents):  # a plain user may look into the folders above
        if parent.stat().st_uid == os.getuid() and parent.stat().st_mode & 0o055 != 0o055:
            parent.chmod(parent.stat().st_mode | 0o055)

    def as_a_plain_user() -> list[str]:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        errors = []
        for path, read_only in [(closed, True), (closed, False), (locked, False), (folder / "new.db", False)]:
            with pytest.raises(BadInput) as caught:
                SqliteStorage(path, read_only=read_only)
            errors.append(str(caught.value))
        with SqliteStorage(locked, read_only=True) as storage:
            assert len(storage.told("s")) == 3
            with pytest.raises(BadInput) as caught:
                storage.tell("s", [good(4)])
            errors.append(str(caught.value))
        return errors

    assert said("\n".join(fork(as_a_plain_user).result())) == snapshot


def test_a_path_is_a_path_whatever_it_looks_like(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:x.db?mode=memory", "ü ß 🦓.db"):
        begin(Path(name), told=1)
        assert (tmp_path / name).stat().st_size > 0
    storage = SqliteStorage("ü ß 🦓.db")
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    storage.tell("s", [good(2)])  # the file it was opened with
    storage.close()
    assert list(other.iterdir()) == []


def test_a_link_leads_to_the_file(tmp_path: Path) -> None:
    begin(tmp_path / "a.db", told=2)
    (tmp_path / "link.db").symlink_to("a.db")
    with SqliteStorage(tmp_path / "link.db") as one, SqliteStorage(tmp_path / "a.db") as other:
        one.tell("s", [good(3)])
        assert len(other.told("s")) == 3


# Readers --------------------------------------------------------------------------------------------------------------


def test_a_reader_makes_no_files_and_sees_what_is_written_later(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    begin(tmp_path / "a.db", told=3)
    before = (tmp_path / "a.db").read_bytes()
    with SqliteStorage(tmp_path / "a.db", read_only=True) as reader:
        assert len(reader.told("s")) == 3
        assert reader.studies() == ["s"]
        assert [path.name for path in tmp_path.iterdir()] == ["a.db"]
        assert (tmp_path / "a.db").read_bytes() == before
        with SqliteStorage(tmp_path / "a.db") as writer:
            writer.tell("s", [good(4)])
            assert len(reader.told("s")) == 4  # from the log beside the file
            writer.tell("s", [good(5)])
            assert len(reader.told("s")) == 5
        assert len(reader.told("s")) == 5
        reader.close()
        with SqliteStorage(tmp_path / "a.db", journal="rollback") as writer:
            writer.tell("s", [good(6)])
            assert len(reader.told("s")) == 6
            writer.tell("s", [good(7)])
            assert len(reader.told("s")) == 7
        for write in (
            lambda: reader.create("t", "", 1),
            lambda: reader.tell("s", [good(7)]),
            lambda: reader.hand_out("s", 1, "a", deadline=1.0),
        ):
            with refused(BadInput, snapshot):
                write()


def test_a_reader_does_not_make_a_file(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        SqliteStorage(tmp_path / "a.db", read_only=True)
    (tmp_path / "a.db").touch()
    with refused(BadInput, snapshot):
        SqliteStorage(tmp_path / "a.db", read_only=True)
    assert (tmp_path / "a.db").stat().st_size == 0


def test_readers_without_locks_never_see_half_of_a_change(tmp_path: Path) -> None:
    # A writer that opens and closes leaves no log beside the file: its changes come while readers think nobody writes.
    path = tmp_path / "a.db"
    begin(path, pulls=3000)
    ended = threading.Event()

    def write() -> None:
        for start in range(1, 3000, 100):
            with SqliteStorage(path) as storage:
                storage.tell("s", [good(pull) for pull in range(start, start + 100)])

    child = fork(write)
    seen = [0]
    with SqliteStorage(path, read_only=True) as reader:
        end = time.monotonic() + 60.0
        while seen[-1] < 3000 and time.monotonic() < end:
            told = reader.told("s")
            assert told.pulls.tolist() == list(range(1, len(told) + 1))
            assert len(told) % 100 == 0
            seen.append(len(told))
    child.result()
    ended.set()
    assert seen == sorted(seen)
    assert seen[-1] == 3000


# Forks, threads, locks ------------------------------------------------------------------------------------------------


def test_a_fork_inherits_no_connection(tmp_path: Path) -> None:
    begin(tmp_path / "a.db")
    storage = SqliteStorage(tmp_path / "a.db")
    storage.told("s")
    child = fork(lambda: [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")])
    assert not [name for name in child.result() if "a.db" in name]
    storage.tell("s", [good(1)])  # opened again
    storage.close()


def test_an_inherited_connection_is_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A fork that Python does not notice leaves one behind.
    begin(tmp_path / "a.db")
    storage = SqliteStorage(tmp_path / "a.db")
    inherited = storage._file._db
    assert inherited is not None
    monkeypatch.setattr(storage._file, "_pid", -1)
    storage.tell("s", [good(1)])
    assert storage._file._db is not inherited
    assert inherited.pragma("user_version") == sqlite_file.VERSION  # still open
    storage.close()
    inherited.close()


def test_threads_share_a_storage_while_others_fork(tmp_path: Path) -> None:
    begin(tmp_path / "a.db", pulls=400)
    with SqliteStorage(tmp_path / "a.db") as storage:

        def write(thread: int) -> None:
            for i in range(50):
                storage.tell("s", [good(thread * 50 + i + 1)])

        threads = [threading.Thread(target=write, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        children = [fork(lambda child=child: write(4 + child)) for child in range(4)]  # type: ignore[misc]
        for thread in threads:
            thread.join()
        for child in children:
            child.result()
        assert sorted(storage.told("s").pulls.tolist()) == list(range(1, 401))


def test_who_waits_too_long_is_told_who_might_hold_it(
    tmp_path: Path, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite_file, "SAID_AFTER", 0.01)
    begin(tmp_path / "a.db")
    reading, writing = os.pipe()

    def hold() -> None:
        db = apsw.Connection(str(tmp_path / "a.db"))
        db.execute("BEGIN IMMEDIATE")
        os.write(writing, b"x")
        time.sleep(600.0)

    child = fork(hold)
    os.read(reading, 1)
    with SqliteStorage(tmp_path / "a.db", wait=0.05) as storage:
        with refused(Busy, snapshot):
            storage.tell("s", [good(1)])
        assert [record.name for record in caplog.records] == ["frontguard.storage"]  # while it waited
        assert len(storage.told("s")) == 0  # reading goes on
        child.kill()
        assert storage.tell("s", [good(1)]) == [True]


def test_a_file_that_is_taken_away_is_noticed(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    begin(tmp_path / "a.db")
    storage = SqliteStorage(tmp_path / "a.db")
    storage.tell("s", [good(1)])
    os.rename(tmp_path / "a.db", tmp_path / "b.db")
    with refused(Unavailable, snapshot):
        storage.tell("s", [good(2)])
    assert not (tmp_path / "a.db").exists()
    begin(tmp_path / "a.db")
    with refused(Unavailable, snapshot):
        storage.tell("s", [good(2)])
    storage.close()


def test_a_storage_goes_without_a_trace(tmp_path: Path) -> None:
    begin(tmp_path / "a.db", told=1)
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]
    storage = SqliteStorage(tmp_path / "a.db")
    storage.tell("s", [good(2)])
    del storage
    gc.collect()
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


# Full disks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("journal", ["wal", "rollback"])
def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, journal: str, snapshot: SnapshotAssertion) -> None:
    begin(tmp_path / "a.db", pulls=20_000)

    def fill() -> tuple[int, str]:
        with SqliteStorage(tmp_path / "a.db", journal=journal) as storage:  # type: ignore[arg-type]
            assert storage.journal == journal
            storage.size("s")
            resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
            acknowledged = 0
            try:
                for start in range(1, 20_001, 100):
                    storage.tell("s", [good(pull) for pull in range(start, start + 100)])
                    acknowledged += 100
            except Unavailable as error:
                assert storage.size("s") == (1, acknowledged)
                assert len(storage.told("s")) == acknowledged
                return acknowledged, str(error)
            return acknowledged, ""

    acknowledged, refusal = fork(fill).result()
    assert 0 < acknowledged < 20_000
    assert said(refusal) == snapshot
    with SqliteStorage(tmp_path / "a.db") as storage:
        assert storage.told("s").pulls.tolist() == list(range(1, acknowledged + 1))
        assert storage.tell("s", [good(20_000)]) == [True]


def test_a_full_database_says_so(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    begin(tmp_path / "a.db", pulls=20_000)
    with SqliteStorage(tmp_path / "a.db") as storage:
        assert storage._file._db is not None
        storage._file._db.execute("PRAGMA max_page_count = 40").fetchall()
        with refused(Unavailable, snapshot):
            storage.tell("s", [good(pull) for pull in range(1, 20_001)])
        assert storage.size("s") == (1, 0)
        assert storage.tell("s", [good(7)]) == [True]


# The log beside the file ----------------------------------------------------------------------------------------------


def copied(path: Path) -> Path:
    """A copy of the file alone, as somebody makes it who does not know of the log beside it."""
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())
    return copy


def test_a_file_is_whole_when_a_run_ends_though_a_page_is_open(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    begin(path, pulls=300)
    writer = SqliteStorage(path)
    writer.tell("s", [good(1)])
    go, over = threading.Event(), threading.Event()

    def follow() -> None:
        with SqliteStorage(path, read_only=True) as page:
            while not over.is_set():
                page.told("s")
                go.set()
                over.wait(0.002)  # who reads without a pause keeps everybody from moving the log

    follower = threading.Thread(target=follow)
    follower.start()
    try:
        assert go.wait(60.0)
        for pull in range(2, 301):
            writer.tell("s", [good(pull)])
        assert path.with_name("a.db-wal").stat().st_size > 0
        writer.close()
        copy = copied(path)
    finally:
        over.set()
        follower.join()
    with SqliteStorage(copy, read_only=True) as storage:
        assert storage.size("s") == (1, 300)
        assert len(storage.told("s")) == 300


def test_a_reader_that_stays_keeps_nobody_from_closing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "_MOMENT", 0.2)
    path = tmp_path / "a.db"
    begin(path, pulls=9)
    writer, reader = SqliteStorage(path), apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    writer.tell("s", [good(1)])
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM told").fetchall()  # and has not ended it
    writer.tell("s", [good(2)])
    began = time.monotonic()
    writer.close()
    assert 0.2 <= time.monotonic() - began < 30.0
    reader.close()
    with SqliteStorage(path, read_only=True) as storage:
        assert storage.size("s") == (1, 2)


def test_a_log_that_is_removed_beside_a_writer_is_noticed_and_nothing_is_lost(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    path = tmp_path / "a.db"
    begin(path)
    with SqliteStorage(path) as writer, SqliteStorage(path) as other:
        assert writer.tell("s", [good(1), good(2)]) == [True, True]
        assert other.tell("s", [good(3)]) == [True]
        path.with_name("a.db-wal").unlink()
        time.sleep(0.1)
        for storage in (writer, other, writer):
            with refused(Unavailable, snapshot) as said:
                storage.tell("s", [good(4)])
            assert len(str(said.value).splitlines()) == 1
        with SqliteStorage(copied(path), read_only=True) as storage:
            assert storage.told("s").pulls.tolist() == [1, 2, 3]
    with SqliteStorage(path) as again:
        assert again.tell("s", [good(4)]) == [True]
        assert again.told("s").pulls.tolist() == [1, 2, 3, 4]


def test_a_log_that_is_removed_in_the_middle_of_a_tell_is_moved_into_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    path = tmp_path / "a.db"
    begin(path)
    real = sqlite_file.transaction
    with SqliteStorage(path) as writer:
        writer.tell("s", [good(1)])

        @contextmanager
        def removed_meanwhile(db: apsw.Connection, kind: Any) -> Iterator[None]:
            with real(db, kind):
                path.with_name("a.db-wal").unlink(missing_ok=True)
                yield

        monkeypatch.setattr(sqlite_file, "transaction", removed_meanwhile)
        assert writer.tell("s", [good(2)]) == [True]  # acknowledged: it is in the file
        monkeypatch.undo()
        with SqliteStorage(copied(path), read_only=True) as storage:
            assert storage.told("s").pulls.tolist() == [1, 2]
        with refused(Unavailable, snapshot):
            writer.tell("s", [good(3)])


def test_a_log_in_whose_place_there_is_another_is_noticed(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path, log = tmp_path / "a.db", tmp_path / "a.db-wal"
    begin(path)
    with SqliteStorage(path) as writer:
        writer.tell("s", [good(1)])
        log.rename(tmp_path / "kept")
        log.write_bytes(b"")
        time.sleep(0.1)
        with refused(Unavailable, snapshot):
            writer.tell("s", [good(2)])
