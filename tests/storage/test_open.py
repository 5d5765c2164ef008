"""Paths and addresses of storages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.storage.contract import MemoryStorage, open_storage
from tests.support.servers import PostgresServer
from tests.support.snapshots import refused


def test_a_storage_passes_through() -> None:
    storage = MemoryStorage()
    assert open_storage(storage) is storage
    assert open_storage(storage, read_only=True) is storage


def test_memory_is_new_each_time() -> None:
    one, other = open_storage("memory:"), open_storage("memory:")
    one.create("s", "", 1)
    assert isinstance(other, MemoryStorage)
    assert other.studies() == []


@pytest.mark.parametrize(
    ("where", "file"),
    [
        ("study.db", "study.db"),
        ("./a:b c.db", "a:b c.db"),
        ("sqlite:///study.db", "study.db"),
        ("sqlite:///folder/study.db", "folder/study.db"),
        ("SQLite:///study.db", "study.db"),
        ("sqlite:///{here}/absolute.db", "absolute.db"),
        ("{here}/absolute.db", "absolute.db"),
    ],
)
def test_files(
    where: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with open_storage(where.format(here=tmp_path)) as storage:
        storage.create("s", "", 1)
    assert (tmp_path / file).is_file()
    with open_storage(tmp_path / file, read_only=True) as storage:  # a path as an object
        assert storage.studies() == ["s"]
        with refused(ValueError, snapshot):
            storage.create("t", "", 1)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "PostgreSQL"])
def test_postgresql(scheme: str, postgres: PostgresServer, snapshot: SnapshotAssertion) -> None:
    url = postgres.url().replace("postgresql://", f"{scheme}://")
    with open_storage(url) as storage:
        assert repr(storage) == (
            f"PostgresStorage('postgresql://frontguard@127.0.0.1:{postgres.port}/postgres', schema='frontguard')"
        )
    with open_storage(url, read_only=True) as storage, refused(BadInput, snapshot):
        storage.create("t", "", 1)


@pytest.mark.parametrize(
    "where",
    [
        "",
        "  ",
        ":memory:",
        "memory://x",
        "memory:x",
        "sqlite:study.db",
        "sqlite://study.db",
        "sqlite:///",
        "sqlite:",
        "postgresql:study",
        "postgres:/study",
        "mysql://me:s3cr3t@host/db",
        "redis://:s3cr3t@host",
        "file:///tmp/x.db",
        None,
        7,
        b"study.db",
    ],
)
def test_anything_else_is_refused_with_what_is_allowed(
    where: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.chdir(tmp_path)
    with refused(BadInput, snapshot) as caught:
        open_storage(where)  # type: ignore[arg-type]
    assert "s3cr3t" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_backends_are_imported_late() -> None:
    code = (
        "import sys; from frontguard.storage.contract import open_storage; open_storage('memory:')\n"
        "print([name for name in ('psycopg', 'apsw', 'sqlite3') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
