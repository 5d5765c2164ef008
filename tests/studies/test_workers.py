"""Names of workers: who is alive on this machine, and who is certainly not."""

from __future__ import annotations

import os
import signal
import time

import pytest

from frontguard.studies import measurement as workers
from frontguard.studies.measurement import is_lost, this_worker

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="knows the dead by /proc")


def test_this_worker_lives_and_keeps_its_name() -> None:
    assert this_worker() == this_worker()
    assert not is_lost(this_worker())


@pytest.mark.parametrize("name", ["", "w1", "a/b", "a/b/c", "elsewhere-x-y/1/2", "//", "reader/12/99", "x/1/2/3"])
def test_nothing_is_known_of_others(name: str) -> None:
    assert not is_lost(name)


def _child_name() -> tuple[int, str]:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, this_worker().encode())
        os.close(write)
        time.sleep(60)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        return child, pipe.read()


@needs_proc
def test_a_killed_worker_is_lost_even_before_its_parent_has_noticed() -> None:
    child, name = _child_name()
    assert name != this_worker()
    assert not is_lost(name)
    os.kill(child, signal.SIGKILL)
    for _ in range(100_000):  # until the kernel has made a zombie of it
        if is_lost(name):
            break
        time.sleep(0.001)
    assert is_lost(name)
    os.waitpid(child, 0)
    assert is_lost(name)


@needs_proc
def test_another_process_with_the_same_number_is_another_worker() -> None:
    machine, pid, began = this_worker().rsplit("/", 2)
    assert is_lost(f"{machine}/{pid}/{int(began) - 1}")


def test_without_proc_nobody_is_called_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_such_file(*_: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(workers.os, "readlink", no_such_file)
    monkeypatch.setattr(workers.Path, "read_text", no_such_file)
    workers._machine.cache_clear()
    try:
        own = this_worker()
        assert not is_lost(own)
        assert not is_lost(own.replace("unknown", "other"))
    finally:
        workers._machine.cache_clear()
