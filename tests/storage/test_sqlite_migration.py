"""Study files of other versions: older ones are brought up to date, newer ones are refused."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import apsw
import numpy as np
import pytest

from frontguard.errors import BadInput
from frontguard.storage.contract import Lease, Plan, Tell
from frontguard.storage.sqlite import schema as sqlite_schema
from frontguard.storage.sqlite.rescue import rescue
from frontguard.storage.sqlite.rows import key, pack_numbers
from frontguard.storage.sqlite.storage import SqliteStorage
from tests.forks import Child, fork

# What a file of version 1 was made with, written out: the code that made it is gone.
VERSION_1 = """
CREATE TABLE study (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, metrics INTEGER NOT NULL);
CREATE TABLE settings (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE progress (study INTEGER PRIMARY KEY, plans INTEGER NOT NULL, planned INTEGER NOT NULL, told INTEGER NOT NULL, handed INTEGER NOT NULL);
CREATE TABLE plan (id INTEGER PRIMARY KEY, told INTEGER NOT NULL, first INTEGER NOT NULL, arms BLOB NOT NULL, status TEXT NOT NULL);
CREATE TABLE told (id INTEGER PRIMARY KEY, study INTEGER NOT NULL, pull INTEGER NOT NULL, numbers BLOB NOT NULL, reason TEXT NOT NULL, worker TEXT NOT NULL);
CREATE UNIQUE INDEX told_pull ON told (study, pull);
CREATE TABLE lease (study INTEGER NOT NULL, pull INTEGER NOT NULL, worker TEXT NOT NULL, deadline REAL NOT NULL, attempt INTEGER NOT NULL, PRIMARY KEY (study, pull)) WITHOUT ROWID;
PRAGMA application_id = 1179797316;
PRAGMA user_version = 1;
"""  # noqa: E501


def old_file(path: Path, told: int = 500, journal: str = "wal") -> None:
    db = apsw.Connection(str(path))
    db.execute(f"PRAGMA journal_mode = {journal}").fetchall()
    db.execute("BEGIN")
    db.execute(VERSION_1)
    db.execute("INSERT INTO study VALUES (1, 'old', 2)")
    db.execute("INSERT INTO settings VALUES (?, 'first'), (?, 'second ü')", (key(1, 1), key(1, 2)))
    db.execute("INSERT INTO progress VALUES (1, 1, ?, ?, ?)", (told + 10, told, told + 3))
    arms = np.arange(told + 10, dtype="<i8").tobytes()
    db.execute("INSERT INTO plan VALUES (?, 0, 1, ?, 'running')", (key(1, 1), arms))
    db.executemany(
        "INSERT INTO told VALUES (?, 1, ?, ?, ?, 'w')",
        ((key(1, i), i, pack_numbers(i * 0.5, (i, -i)), "late" if i % 7 == 0 else "") for i in range(1, told + 1)),
    )
    for i in range(1, 4):
        db.execute("INSERT INTO lease VALUES (1, ?, 'holder', 99, 2)", (told + i,))
    db.execute("COMMIT")
    db.close()


def check(storage: SqliteStorage, told: int = 500) -> None:
    assert storage.studies() == ["old"]
    assert storage.settings("old") == "second ü"
    assert storage.size("old") == (1, told)
    assert storage.plans("old")[0].arms.tolist() == list(range(told + 10))
    found = storage.told("old")
    assert found.pulls.tolist() == list(range(1, told + 1))
    assert found.values.tolist() == [[float(i), -float(i)] for i in range(1, told + 1)]
    assert found.at.tolist() == [i * 0.5 for i in range(1, told + 1)]
    assert found.reasons == tuple("late" if i % 7 == 0 else "" for i in range(1, told + 1))
    assert storage.leases("old") == [Lease(told + i, "holder", 99.0, 2) for i in range(1, 4)]


def version(path: Path) -> int:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return int(db.pragma("user_version"))
    finally:
        db.close()


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_an_old_file_opens_and_goes_on(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "old.db"
    old_file(path, journal=journal)
    with SqliteStorage(path) as storage:
        check(storage)
        assert version(path) == 2
        assert storage.tell("old", [Tell(503, (1.0, 2.0))]) == [True]
        assert storage.tell("old", [Tell(3, (9.0, 9.0))]) == [False]
        assert storage.add_plan("old", Plan(2, 501, 511, np.array([1])))
    with SqliteStorage(path) as storage:
        assert storage.size("old") == (2, 501)


def test_a_migrated_file_has_the_tables_of_a_new_one(tmp_path: Path) -> None:
    old_file(tmp_path / "old.db")
    SqliteStorage(tmp_path / "old.db").close()
    SqliteStorage(tmp_path / "new.db").close()
    tables = []
    for name in ("old.db", "new.db"):
        db = apsw.Connection(str(tmp_path / name))
        tables.append(
            db.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema ORDER BY name").fetchall()
        )
        assert db.execute("SELECT count(*) FROM told WHERE crc = 0").get == 0
        assert db.execute("PRAGMA integrity_check").get == "ok"
        db.close()
    assert tables[0] == tables[1]


def test_an_old_file_is_read_without_a_change(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    old_file(path)
    before = path.read_bytes()
    with SqliteStorage(path, read_only=True) as storage:
        check(storage)
    assert path.read_bytes() == before
    assert [other.name for other in tmp_path.iterdir()] == ["old.db"]


def test_many_open_an_old_file_at_once(tmp_path: Path) -> None:
    for round in range(5):
        path = tmp_path / f"{round}.db"
        old_file(path, told=3000)
        go = time.monotonic() + 0.1

        def use(process: int, path: Path = path, go: float = go) -> bool:
            time.sleep(max(go - time.monotonic(), 0.0))
            with SqliteStorage(path) as storage:
                assert len(storage.told("old")) >= 3000
                return storage.tell("old", [Tell(3001 + process, (1.0, 2.0))]) == [True]

        children = [fork(lambda process=process: use(process)) for process in range(4)]  # type: ignore[misc]
        assert [child.result() for child in children] == [True] * 4
        with SqliteStorage(path) as storage:
            assert storage.size("old") == (1, 3004)
            assert len(storage.told("old")) == 3004
        assert version(path) == 2


@pytest.mark.parametrize("journal", ["wal", "rollback"])
def test_killed_in_the_middle_it_is_still_of_the_old_version(
    tmp_path: Path, journal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = tmp_path / "original.db"
    old_file(original, told=4000)
    reading, writing = os.pipe()
    crc = sqlite_schema.told_crc

    for rows in (1, 1500, 4000):
        path = tmp_path / f"{rows}.db"
        shutil.copyfile(original, path)

        def stuck(*fields: object, rows: int = rows) -> int:
            if fields[1] == rows:
                os.write(writing, b"x")
                time.sleep(600.0)
            return crc(*fields)  # type: ignore[arg-type]

        def migrate(path: Path = path, stuck: object = stuck) -> None:
            monkeypatch.setitem(sqlite_schema._CHECKED, "told", (sqlite_schema._CHECKED["told"][0], stuck))  # type: ignore[arg-type]
            db = apsw.Connection(str(path))
            db.execute("PRAGMA cache_size = 10")  # so that pages go to the disk before the end
            db.close()
            SqliteStorage(path, journal=journal)  # type: ignore[arg-type]

        child: Child = fork(migrate)
        os.read(reading, 1)
        child.kill()
        assert version(path) == 1
        db = apsw.Connection(str(path))
        assert all(
            row[1] != "crc" for table in sqlite_schema._CHECKED for row in db.execute(f"PRAGMA table_info({table})")
        )
        assert db.execute("PRAGMA integrity_check").get == "ok"
        db.close()
        with SqliteStorage(path) as storage:  # and the next one does it
            check(storage, 4000)
        assert version(path) == 2


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_file_is_refused_politely(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "newer.db"
    old_file(path)
    db = apsw.Connection(str(path))
    db.execute("PRAGMA user_version = 3")
    db.close()
    before = path.read_bytes()
    with pytest.raises(BadInput) as refused:
        SqliteStorage(path, read_only=read_only)
    said = str(refused.value)
    assert all(word in said for word in ("newer.db", "version 3", "version 2", "update frontguard"))
    assert "\n" not in said
    assert path.read_bytes() == before


def test_an_old_file_is_rescued_without_checksums(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    old_file(path)
    content = path.read_bytes()
    for damaged, told in ((content, 500), (b"\0" * 4096 + content[4096:], 500), (content[:-4096], None)):
        path.write_bytes(damaged)
        new = tmp_path / "new.db"
        rescued = rescue(path, new)
        assert rescued.told == told if told is not None else 300 < rescued.told <= 500
        with SqliteStorage(new) as storage:
            assert len(storage.told("old")) == rescued.told
        new.unlink()
