"""A child that is forked while a thread of its parent imports or uses numba uses kernels all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, threading, time
from frontguard._common.compiled import COMPILED, kernels
from frontguard.evidence.confidence_sequences import taken_away

def import_ours():
    import frontguard._common.machine_code

def call_a_kernel():
    with kernels(COMPILED):
        taken_away(0.29, 100)

thread = threading.Thread(target={work})
thread.start()
time.sleep({seconds})
child = os.fork()
if child == 0:
    signal.alarm(60)  # or it would wait for ever
    with kernels(COMPILED):
        os._exit(taken_away(0.29, 100))
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize(
    ("work", "seconds"),
    [("import_ours", 0.05), ("call_a_kernel", 0.05), ("call_a_kernel", 1.0)],
)
def test_it_finds_no_lock_held_by_a_thread_that_it_does_not_have(work: str, seconds: float, tmp_path: Path) -> None:
    program = PROGRAM.format(work=work, seconds=seconds)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program],
        env={"NUMBA_CACHE_DIR": str(tmp_path)},  # nothing is there: it has to be compiled
        capture_output=True,
        text=True,
        timeout=120.0,
    )
    assert (ran.returncode, ran.stdout.split()) == (0, ["29"]), ran.stderr
