"""The command line as a user runs it: real processes, their output and exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import __version__
from tests.cli.commands import FRONTGUARD, process, run
from tests.support.snapshots import said


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--contamination", "0.5"],
        ["demo", "--contamination", "nan"],
        ["demo", "--seed", "-1"],
        ["demo", "--output", "taken/inside"],
        ["demo", "--seed", "x"],
        ["demo", "--sed", "1"],
        ["demo", "extra"],
        ["reproduse"],
        ["reproduce"],
        ["reproduce", "movilens"],
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "taken").write_text("a file where a directory is wanted")
    ran = run(*arguments, cwd=tmp_path)
    assert ran.returncode == 2
    assert ran.stdout == ""
    lines = [line for line in ran.stderr.splitlines() if line.startswith("frontguard: ")]
    assert len(lines) == 1
    assert said(lines[0]) == snapshot
    assert "Traceback" not in ran.stderr


def test_help_names_every_command_and_is_fast_because_it_loads_nothing_heavy(tmp_path: Path) -> None:
    ran = process("--help", cwd=tmp_path)
    assert ran.returncode == 0
    assert "demo" in ran.stdout
    assert "reproduce" in ran.stdout
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, frontguard.cli.app as app; app.application(); print(*sorted(sys.modules))"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert not {"numba", "numpy", "scipy", "matplotlib", "pandas"} & set(loaded)


def test_without_arguments_it_shows_its_help(tmp_path: Path) -> None:
    ran = process(cwd=tmp_path)
    assert ran.returncode == 0
    assert "reproduce" in ran.stdout


def test_the_version(tmp_path: Path) -> None:
    assert process("--version", cwd=tmp_path).stdout == f"frontguard {__version__}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_output_that_cannot_be_written_is_complained_of(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("arm,x\na,1\nb,2\n")
    asked = [*FRONTGUARD, "analyze", "log.csv", "--maximize", "x", "--json"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(asked, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode != 0
    assert "No space left" in ended.stderr
