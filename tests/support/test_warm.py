"""A fork of the warm process is what a process from nothing would be, as far as one can see from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.signals import ignoring_signal

LOOK = """
import json, os, signal, sys
seen = {
    "argv": sys.argv[1:], "cwd": os.getcwd(), "asked": os.environ.get("ASKED"), "path": sys.path[0],
    "main": __name__, "encodings": [each.encoding for each in (sys.stdin, sys.stdout, sys.stderr)],
    "errors": [each.errors for each in (sys.stdin, sys.stdout, sys.stderr)],
    "terminal": [each.isatty() for each in (sys.stdin, sys.stdout, sys.stderr)],
    "by line": [each.line_buffering for each in (sys.stdin, sys.stdout, sys.stderr)],
    "at once": [each.write_through for each in (sys.stdin, sys.stdout, sys.stderr)],
    "buffers": [type(each.buffer).__name__ for each in (sys.stdin, sys.stdout, sys.stderr)],
    "threads": os.environ.get("OPENBLAS_NUM_THREADS"),
    "signals": [str(signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
    "given": sys.stdin.read(),
}
print(json.dumps(seen))
print("warm" if "frontguard.web" in sys.modules else "from nothing", file=sys.stderr)
sys.exit(7)
"""

WAITS = """
import os, signal, sys, time
if sys.argv[1:]:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
print(os.getpid(), flush=True)
time.sleep(600)
"""


@pytest.fixture
def look(tmp_path: Path) -> str:
    (tmp_path / "look.py").write_text(LOOK)
    return str(tmp_path / "look.py")


@pytest.fixture
def waits(tmp_path: Path) -> str:
    (tmp_path / "waits.py").write_text(WAITS)
    return str(tmp_path / "waits.py")


def test_it_sees_what_a_process_from_nothing_sees(look: str, tmp_path: Path) -> None:
    def seen(command: list[str], how: str) -> tuple[int, object]:
        environment = {**os.environ, "ASKED": "für"}
        done = subprocess.run(command, input="x\r\ny\n", cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.stderr == f"{how}\n"
        return done.returncode, json.loads(done.stdout)

    arguments = (look, "a b", "ü", "")
    from_nothing = seen([sys.executable, *arguments], "from nothing")
    assert from_nothing[0] == 7
    assert seen(warm.python(*arguments), "warm") == from_nothing
    hup = ignoring_signal("HUP")
    assert seen([*hup, *warm.python(*arguments)], "warm") == seen([*hup, sys.executable, *arguments], "from nothing")


def test_where_python_is_to_begin_otherwise_it_begins_from_nothing(look: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run(warm.python(look), input="", env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (7, "from nothing\n")


@pytest.mark.parametrize(
    ("number", "arguments"), [(signal.SIGTERM, ["handled"]), (signal.SIGTERM, []), (signal.SIGINT, [])]
)
def test_signals_are_passed_on_and_it_ends_as_the_fork_ends(
    number: signal.Signals, arguments: list[str], waits: str
) -> None:
    with subprocess.Popen(warm.python(waits, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as going:
        assert going.stdout is not None
        assert int(going.stdout.readline()) != going.pid
        going.send_signal(number)
        said = going.communicate(timeout=180)[1].decode()
    assert going.returncode == (5 if arguments else -number)
    assert ("KeyboardInterrupt" in said) == (number == signal.SIGINT)


def test_if_it_is_killed_the_fork_is(waits: str) -> None:
    with subprocess.Popen(warm.python(waits), stdout=subprocess.PIPE) as going:
        assert going.stdout is not None
        fork = int(going.stdout.readline())
        going.kill()
        assert going.communicate(timeout=180) == (b"", None)  # the fork has the other end of the pipe
    end = time.monotonic() + 180
    while Path(f"/proc/{fork}").exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_command_and_its_errors(tmp_path: Path) -> None:
    programs = warm.folder_with_programs()
    paths = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "frontguard --version | cat; frontguard 'no such'"],
        env=paths, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.startswith("frontguard ")
    assert done.returncode == 2
    assert done.stderr.startswith("frontguard: ")
