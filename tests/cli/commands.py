"""The command line for tests: as a process of its own, and in this process, where everything is loaded already.

A process takes a second or two to begin. Each command has one test at least that starts it as such; what a command
answers, writes and returns is the same in this process. What needs a process (signals, terminals, kills) has a copy of
one that has begun already: `tests.support.warm`.
"""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from frontguard.cli import run_command

FRONTGUARD = (sys.executable, "-m", "frontguard")


def process(*arguments: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """What a process of the command line says, and its exit code."""
    return subprocess.run([*FRONTGUARD, *arguments], cwd=cwd, capture_output=True, text=True, check=False, **more)


def run(*arguments: str, cwd: Path, given: bytes | None = None) -> subprocess.CompletedProcess[str]:
    """The same in this process; `given` is its standard input."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(cwd)
        patch.setattr(sys, "argv", ["frontguard", *arguments])
        if given is not None:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(given))))
        code = run_command()
    return subprocess.CompletedProcess(list(arguments), code, out.getvalue(), err.getvalue())
