"""Processes that begin as copies of this one: everything is imported already, so that one costs milliseconds."""

from __future__ import annotations

import mmap
import os
import pickle
import select
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Child", "fork", "shared"]


@dataclass
class Child:
    """A forked process at work."""

    pid: int
    pipe: int

    def result(self, patience: float = 300.0) -> Any:
        """What the work returned; its exception as an `AssertionError` with the child's traceback."""
        pieces = []
        end = time.monotonic() + patience
        while True:
            if not select.select([self.pipe], [], [], max(end - time.monotonic(), 0.0))[0]:
                self.kill()
                raise AssertionError(f"a child process did not end within {patience:.0f} s")
            piece = os.read(self.pipe, 1 << 16)
            if not piece:
                break
            pieces.append(piece)
        self._collect()
        if not pieces:
            raise AssertionError("a child process died without a word")
        good, answer = pickle.loads(b"".join(pieces))
        if not good:
            raise AssertionError(f"in a child process:\n{answer}")
        return answer

    def kill(self) -> None:
        """SIGKILL: nothing is cleaned up, nothing is said."""
        os.kill(self.pid, signal.SIGKILL)
        self._collect()

    def _collect(self) -> None:
        os.waitpid(self.pid, 0)
        os.close(self.pipe)


def fork(work: Callable[[], object]) -> Child:
    """Run `work` in a copy of this process."""
    receive, send = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads: those of numpy sleep
        pid = os.fork()
    if pid > 0:
        os.close(send)
        return Child(pid, receive)
    try:
        os.close(receive)
        try:
            answer = pickle.dumps((True, work()))
        except BaseException:
            answer = pickle.dumps((False, traceback.format_exc()))
        while answer:
            answer = answer[os.write(send, answer) :]
    finally:
        os._exit(0)  # no test of the parent's goes on here, and nothing of the parent's is cleaned up


def shared(*shape: int) -> np.ndarray:
    """Zeros that forked processes see each other write."""
    size = int(np.prod(shape))
    return np.frombuffer(mmap.mmap(-1, max(size, 1) * 8), np.float64)[:size].reshape(shape)
