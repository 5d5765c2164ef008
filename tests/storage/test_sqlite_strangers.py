"""Study files whose schema is not ours: refused before anything of it runs."""

from __future__ import annotations

import sys
from pathlib import Path

import apsw
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.cli import run_command
from frontguard.storage.contract import Damaged, Plan, Tell
from frontguard.storage.sqlite import SqliteStorage
from tests.support.snapshots import refused, said
from tests.support.waiting import soon

ENDLESS = "WITH RECURSIVE n (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n) SELECT count(*) AS {column} FROM n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "study.db"
    with SqliteStorage(path) as storage:
        storage.create("s", "{}", 1)
        storage.add_plan("s", Plan(1, 0, 1, np.arange(20)))
        storage.tell("s", [Tell(i, (float(i),)) for i in range(1, 11)])
    return path


def run(path: Path, *statements: str) -> None:
    db = apsw.Connection(str(path))
    for statement in statements:
        db.execute(statement)
    db.close()


FOREIGN = {
    "a trigger": ["CREATE TRIGGER boom AFTER INSERT ON told BEGIN UPDATE told SET numbers = x'00'; END"],
    "a view": ["CREATE VIEW more AS SELECT * FROM told"],
    "a table": ["CREATE TABLE notes (text)"],
    "an index": ["CREATE INDEX slow ON told (worker)"],
    "statistics": ["ANALYZE"],
    "a virtual table": ["CREATE VIRTUAL TABLE words USING fts5 (text)"],
    "a view that a pragma goes by": [f"CREATE VIEW pragma_user_version AS {ENDLESS.format(column='user_version')}"],
}
CHANGED = {
    "a view in place of a table": [
        "ALTER TABLE told RENAME TO hidden",
        f"CREATE VIEW told AS {ENDLESS.format(column='id')}",
    ],
    "a generated column": ["ALTER TABLE told ADD COLUMN more AS (zeroblob(1000000000))"],
    "a default of a gigabyte": ["ALTER TABLE plan ADD COLUMN more DEFAULT 7"],
    "a table that is defined twice": [
        "PRAGMA writable_schema = ON",
        "INSERT INTO sqlite_schema "
        f"VALUES ('view', 'told', 'told', 0, 'CREATE VIEW told AS {ENDLESS.format(column='id')}')",
    ],
}


@pytest.mark.parametrize("what", [*FOREIGN, *CHANGED])
@pytest.mark.parametrize("read_only", [False, True])
def test_what_is_not_ours_is_refused_and_not_run(
    path: Path, what: str, read_only: bool, snapshot: SnapshotAssertion
) -> None:
    run(path, *(FOREIGN | CHANGED)[what])
    content = path.read_bytes()
    with soon(), refused(Damaged, snapshot) as caught:
        SqliteStorage(path, read_only=read_only)
    assert len(str(caught.value).splitlines()) == 1
    assert path.read_bytes() == content


@pytest.mark.parametrize("command", ["report", "analyze", "serve"])
def test_commands_say_so_in_one_line(
    path: Path,
    command: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    run(path, *FOREIGN["a trigger"])
    monkeypatch.setattr(sys, "argv", ["frontguard", command, str(path)])
    assert run_command() == 2
    error = capsys.readouterr().err.strip()
    assert len(error.splitlines()) == 1
    assert said(error) == snapshot


def test_a_file_of_holes_is_not_read_into_memory(path: Path, snapshot: SnapshotAssertion) -> None:
    run(path, *FOREIGN["a trigger"])
    with path.open("r+b") as file:
        file.truncate(1 << 36)  # 64 GiB, of which there are a few pages
    with soon(), refused(Damaged, snapshot):
        SqliteStorage(path)
