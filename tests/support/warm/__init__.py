"""Python programs that begin at once: copies of a process that has imported all that they import.

`frontguard` takes a second and a half to begin, and tests start it hundreds of times. Here a real process, with its own
number, exit code, signals, streams, folder and environment, is a fork of one that has done its imports and nothing else
(`server`). What a test starts is a small program (`client`) that hands its streams over, passes signals on, and ends as
the fork ends; if it is killed, the fork is.

What a fork cannot show is whether a program imports what it needs: that takes a test that starts it from nothing.
It saves about 80 s of processor time in a run of all tests, measured on two busy cores: 47 s in the pages of the docs
(89 s with it, 136 s without), 34 s in the tests of `run`, `serve`, `gate`, steps, kills and the plugin (53 s, 86 s).

Where the environment asks Python or its libraries to begin otherwise, or the machine cannot do this, the client becomes
the program from nothing.
"""

from __future__ import annotations

import atexit
import os
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent


def python(*arguments: str) -> list[str]:
    """The command that runs `python ARGUMENTS`; these are `-m MODULE` or a file, and what it is given."""
    if not hasattr(os, "pidfd_open"):
        return [sys.executable, *arguments]
    return [sys.executable, "-I", "-S", str(_HERE / "client.py"), str(_address()), *arguments]


def frontguard(*arguments: str) -> list[str]:
    """The command that runs `frontguard ARGUMENTS`."""
    return python("-m", "frontguard", *arguments)


def folder_with_programs() -> Path:
    """A folder for PATH, with a program `frontguard`, and a `python` that begins at once where it is given a file."""
    folder = _address().parent / "programs"
    folder.mkdir(exist_ok=True)
    usual = f'exec {shlex.quote(sys.executable)} "$@"'
    for name, script in (
        ("frontguard", f'exec {shlex.join(frontguard())} "$@"'),
        ("python", f'case "$1" in *.py) exec {shlex.join(python())} "$@" ;; *) {usual} ;; esac'),
    ):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return folder


@cache
def _address() -> Path:
    """Where the server of this process is; it ends with this process."""
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    address = Path(folder.name) / "server"
    server = subprocess.Popen(
        [sys.executable, str(_HERE / "server.py"), str(address)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=_HERE.parents[2],
        start_new_session=True,  # Ctrl-C in the tests is not for it
    )

    def end() -> None:
        server.communicate()  # closes its standard input, which it waits for
        folder.cleanup()

    atexit.register(end)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return address
