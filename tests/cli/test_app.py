"""The command line as a user runs it: real processes, their output and exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from frontguard import __version__
from tests.cli.commands import FRONTGUARD, process, run


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["demo", "--contamination", "0.5"], "--contamination must be a probability from 0 to below 1/2"),
        (["demo", "--contamination", "nan"], "--contamination must be a probability"),
        (["demo", "--seed", "-1"], "--seed"),
        (["demo", "--output", "taken/inside"], "--output taken/inside: cannot be written"),
        (["demo", "--seed", "x"], "--seed"),
        (["demo", "--sed", "1"], "--sed"),
        (["demo", "extra"], "(see frontguard demo --help)"),
        (["reproduse"], "reproduse"),
        (["reproduce"], "DATASET"),
        (["reproduce", "movilens"], "did you mean movielens?"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], complaint: str, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where a directory is wanted")
    ran = run(*arguments, cwd=tmp_path)
    assert ran.returncode == 2
    assert ran.stdout == ""
    lines = [line for line in ran.stderr.splitlines() if line.startswith("frontguard: ")]
    assert len(lines) == 1
    assert complaint in lines[0]
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
