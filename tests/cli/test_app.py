"""The command line as a user runs it: real processes, their output and exit codes."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest
from rich.text import Text
from syrupy.assertion import SnapshotAssertion

from frontguard import __version__
from frontguard.cli import run_command
from frontguard.words.terminal import console
from tests.cli.commands import process, run
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
        ["run", "--arm", "a=true", "--arm", "b=true", "--storage", "n" * 3000],
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
    assert said(lines[0].replace("n" * 3000, "(a long name)")) == snapshot
    assert "Traceback" not in ran.stderr


def test_help_names_every_command_and_is_fast_because_it_loads_nothing_heavy(tmp_path: Path) -> None:
    ran = process("--help", cwd=tmp_path)
    assert ran.returncode == 0
    assert "demo" in ran.stdout
    assert "reproduce" in ran.stdout
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, frontguard.cli as app; app.application(); print(*sorted(sys.modules))"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert not {"numba", "numpy", "scipy", "matplotlib", "pandas"} & set(loaded)


def test_without_arguments_it_shows_its_help(tmp_path: Path) -> None:
    ran = process(cwd=tmp_path)
    assert ran.returncode == 0
    assert "reproduce" in ran.stdout


def test_the_version(tmp_path: Path) -> None:
    assert process("--version", cwd=tmp_path).stdout == f"frontguard {__version__}\n"


class _Failing(io.StringIO):
    """A stream that takes nothing."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self._error = error

    def write(self, text: str) -> int:
        raise self._error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BrokenPipeError(), 141),
        (OSError(errno.ENOSPC, "No space left on device"), 4),
        (MemoryError(), 4),
        (AssertionError("a fault of ours"), 4),
        (KeyboardInterrupt(), 130),
    ],
)
def test_no_fault_ends_with_the_code_of_a_gate_that_failed(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    complaints = io.StringIO()
    monkeypatch.setattr(sys, "argv", ["frontguard", "--version"])
    with redirect_stdout(_Failing(error)), redirect_stderr(complaints):
        assert run_command() == code
    assert said(complaints.getvalue().splitlines()[-1:]) == snapshot


@pytest.mark.parametrize("asked", ["--help", "gate a.csv b.csv --minimize seconds --tolerance 5%"])
def test_a_pipe_that_nobody_reads_is_no_gate_that_failed(
    asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # rich and typer end a process whose pipe is closed by themselves, with the code 1.
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("arm,seconds\n" + "".join(f"app,{1.0 + n / 1000}\n" for n in range(40)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["frontguard", *asked.split()])
    reader, writer = os.pipe()
    os.close(reader)
    with suppress(BrokenPipeError), open(writer, "w", encoding="utf-8") as stream, redirect_stdout(stream):
        assert run_command() == 141


def test_messages_that_nobody_can_read_change_no_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["frontguard", "reproduse"])
    with redirect_stderr(_Failing(OSError(errno.ENOSPC, "No space left on device"))):
        assert run_command() == 2


def test_streams_that_are_closed_are_opened_and_others_show_what_they_do_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "argv", ["frontguard", "émile"])
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding="ascii"))
    assert run_command() == 2
    assert rb"\xe9mile" in raw.getvalue()
    assert sys.stdout is not None
    sys.stdout.close()


def test_nothing_that_a_terminal_would_obey_is_printed(tmp_path: Path) -> None:
    hostile = "a\x1b]0;owned\x07\x9b2J"
    rows = "".join(f"{arm},{value}\n" for value in range(40) for arm in (hostile, "b"))
    (tmp_path / "log.csv").write_text(f"arm,x\n{rows}")
    for asked in ("x", "x\x1b[2J"):
        ran = run("analyze", "log.csv", "--arm", "arm", "--maximize", asked, cwd=tmp_path)
        assert "\x1b" not in ran.stdout + ran.stderr
        assert "\x9b" not in ran.stdout + ran.stderr
    screen = console(file=io.StringIO(), force_terminal=True, color_system="standard")
    screen.print(Text(hostile, style="red"))
    assert screen.file.getvalue() == "\x1b[31ma�]0;owned�2J\x1b[0m\n"  # type: ignore[attr-defined]
