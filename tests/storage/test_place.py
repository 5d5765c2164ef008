"""What is said of the place of a study's file, and that nothing is said of a good one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.storage import sqlite as sqlite_storage
from frontguard.storage.contract import MemoryStorage
from frontguard.storage.sqlite import SqliteStorage
from frontguard.storage.sqlite_file import network_of, sync_seconds
from tests.support.snapshots import said


def mounted(monkeypatch: pytest.MonkeyPatch, **kinds: str) -> None:
    parts = [SimpleNamespace(mountpoint=f"/{name}".replace("_", "/"), fstype=kind) for name, kind in kinds.items()]
    parts.append(SimpleNamespace(mountpoint="/", fstype="ext4"))
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: parts)


def test_of_a_good_place_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_storage, "sync_seconds", lambda folder: 0.01)  # a busy disk may take longer
    with SqliteStorage(tmp_path / "a.db") as storage:
        assert storage.concern() == ""
    assert MemoryStorage().concern() == ""
    assert 0.0 < sync_seconds(tmp_path) < 60.0
    assert sync_seconds(tmp_path / "nowhere") == 0.0


def test_the_nearest_mount_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    mounted(monkeypatch, home="nfs4", home_ann_disk="xfs", srv="fuse.sshfs", homes="ext4")
    assert network_of(Path("/home/ann/a.db")) == "nfs4"
    assert network_of(Path("/home/ann/disk/a.db")) == ""
    assert network_of(Path("/srv/a.db")) == "fuse.sshfs"
    assert network_of(Path("/homes/a.db")) == network_of(Path("/a.db")) == ""


def test_a_network_and_a_slow_disk_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    with SqliteStorage(tmp_path / "a.db") as storage:
        monkeypatch.setattr(sqlite_storage, "sync_seconds", lambda folder: 1.25)
        assert said(storage.concern()) == snapshot
        monkeypatch.setattr(sqlite_storage, "network_of", lambda path: "nfs4")
        assert said(storage.concern()) == snapshot
