"""Folders that killed runs left: cleared by the next one, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from frontguard.commands.process import FOLDER, OWNER, clear_abandoned, run_folder
from tests.cli.commands import run

RUNNER = """
import os, sys
from frontguard.commands.process import run_folder
with run_folder() as folder:
    (folder / "0-arm" / "deep").mkdir(parents=True)
    (folder / "0-arm" / "deep" / "file").write_text("x")
    print(folder, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary directory of our own: others on this machine have runs, too."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def left_by_a_killed_run(*, alive: bool = False) -> tuple[Path, subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    if not alive:
        end(process)
    return folder, process


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_folder_goes_with_its_run(place: Path) -> None:
    with run_folder() as folder:
        assert folder.parent == place
        assert folder.stat().st_mode & 0o777 == 0o700
        assert clear_abandoned() == 0
        assert folder.is_dir()
    assert list(place.iterdir()) == []


def test_what_a_killed_run_left_is_cleared_and_what_is_in_use_is_not(place: Path) -> None:
    gone, _ = left_by_a_killed_run()
    used, process = left_by_a_killed_run(alive=True)
    try:
        assert clear_abandoned() == 1
        assert not gone.exists()
        assert (used / "0-arm" / "deep" / "file").read_text() == "x"
    finally:
        end(process)
    assert clear_abandoned() == 1
    assert list(place.iterdir()) == []


def lost_worker() -> str:
    """The name of a worker of this machine that is no more."""
    folder, _ = left_by_a_killed_run()
    name = (folder / OWNER).read_text(encoding="utf-8")
    assert clear_abandoned() == 1
    return name


def test_links_are_not_followed(place: Path) -> None:
    lost = lost_worker()
    precious = place / "precious"
    precious.mkdir(mode=0o700)
    (precious / "file").write_text("keep")
    (precious / OWNER).write_text(lost)
    (place / f"{FOLDER}link").symlink_to(precious)  # a link in the place of a folder
    inside = place / f"{FOLDER}inside"  # links in a folder
    inside.mkdir(mode=0o700)
    (inside / "link").symlink_to(precious)
    (inside / "file").symlink_to(precious / "file")
    (inside / OWNER).write_text(lost)
    assert clear_abandoned() == 1
    assert not inside.exists()
    assert (precious / "file").read_text() == "keep"


def test_folders_that_are_not_ours_alone_stay(place: Path) -> None:
    lost = lost_worker()
    for name in (f"{FOLDER}none", "frontguard-postgres-x", "other"):
        (place / name).mkdir(mode=0o700)
        (place / name / "file").write_text("")
    (place / "other" / OWNER).write_text(lost)
    elsewhere = place / f"{FOLDER}elsewhere"  # nobody here knows whether that one is at work
    elsewhere.mkdir(mode=0o700)
    (elsewhere / OWNER).write_text("another-machine/1/2")
    writable = place / f"{FOLDER}writable"  # anybody may have put anything into it
    writable.mkdir()
    (writable / OWNER).write_text(lost)
    writable.chmod(0o777)
    (place / f"{FOLDER}file").write_text("")
    before = sorted(place.rglob("*"))
    assert clear_abandoned() == 0
    assert sorted(place.rglob("*")) == before


def test_folders_of_other_users_stay(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, _ = left_by_a_killed_run()
    if os.geteuid() == 0:
        for each in [gone, *gone.rglob("*")]:
            os.chown(each, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert clear_abandoned() == 0
    assert (gone / "0-arm" / "deep" / "file").exists()


def test_a_run_clears_what_another_left(place: Path) -> None:
    gone, _ = left_by_a_killed_run()
    ended = run("run", "--arm", "a=true", "--arm", "b=true", "--max-pulls", "2", cwd=place)
    assert "removed 1 folder" in ended.stderr
    assert not gone.exists()
