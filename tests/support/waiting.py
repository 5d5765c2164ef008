"""Waiting for what another process or a browser is to do: half a minute on a quiet machine, longer on a busy one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from frontguard._common.machine import usable_cores


def patience(quiet: float = 30.0) -> float:
    """Return the seconds after which something has failed to come.

    On a quiet machine that is `quiet`, many times what anything takes there; with several programs at work for each
    core it is as many times longer.
    """
    return quiet * max(1.0, os.getloadavg()[0] / usable_cores())


def until(reached: Callable[[], Any], what: str = "what was awaited", quiet: float = 30.0) -> Any:
    """Wait for something to be true, and return it."""
    began = time.monotonic()
    while not (found := reached()):
        assert time.monotonic() - began < patience(quiet), f"{what} did not come about"
        time.sleep(0.02)
    return found


@contextmanager
def soon(quiet: float = 30.0) -> Iterator[None]:
    """Hold that what is done in the block ends, and does not take minutes: see `patience`."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < patience(quiet)
