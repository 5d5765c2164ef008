"""Signals that end a command, handled for as long as something lasts."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, a request to end, and a terminal that is lost."""


@contextmanager
def stopped_by(stop: Callable[[int], None]) -> Iterator[None]:
    """Call `stop` with the number of each signal of `STOPS`, except those that are ignored, as under nohup."""

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        stop(number)

    before = {number: signal.signal(number, handle) for number in STOPS if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
