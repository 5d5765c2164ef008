"""The end of a process that has nothing open: all that is due at an exit is done, and all output written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import FRONTGUARD

LEAVE = """
import atexit, sys, threading, time
from frontguard.cli.leaving import leave_at_once
class Late:
    def __del__(self):
        print("taken apart")
late = Late()
def wait():
    time.sleep(0.2)
    print("thread")
threading.Thread(target=wait).start()
atexit.register(print, "exit function")
sys.stdout.write("begun\\n")
leave_at_once(3)
print("still there")
"""


def test_what_is_due_at_an_exit_is_done_and_nothing_taken_apart() -> None:
    ended = subprocess.run([sys.executable, "-c", LEAVE], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "begun\nthread\nexit function\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_output_that_cannot_be_written_is_complained_of(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("arm,x\na,1\nb,2\n")
    asked = [*FRONTGUARD, "analyze", "log.csv", "--maximize", "x", "--json"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(asked, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode != 0
    assert "No space left" in ended.stderr


def test_a_closed_standard_output_is_no_reason_to_fail() -> None:
    code = "import sys; sys.stdout = None; from frontguard.cli.leaving import leave_at_once as leave"
    assert subprocess.run([sys.executable, "-c", f"{code}; leave(4)"], check=False).returncode == 4
