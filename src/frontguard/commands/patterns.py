"""Regular expressions on what commands print, matched where they can be stopped.

`re` keeps the interpreter to itself while it looks: no timeout, no Ctrl-C and no other thread gets a turn, and a
pattern such as `(\\d+\\.\\d+)` takes minutes for a line of digits. So it looks in a small process beside us
(`_matcher.py`), one for each pull that is being read at the moment, kept for the next one. Other engines were tried and
not taken: `regex`, which has a timeout, takes `x{e}` for a fuzzy match, and RE2, which needs none, knows no lookaround
and reads `a{,2}` as plain text. A pattern means here what it means in Python.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from frontguard.commands.process import MARK, new_mark

_MATCHER = Path(__file__).with_name("_matcher.py")
_LOOK = 0.05  # seconds between two looks at whether we are cancelled
_SPARE = 2.0  # seconds after which a matcher that should have ended itself is ended by us
_FOREVER = 1e6  # seconds, where there is no limit


class TookTooLong(Exception):
    """A pattern was not done with its text in time."""


class Stopped(Exception):
    """We were cancelled while a pattern was looked for."""


class Patterns:
    """Looks for patterns, from any number of threads. Use it in a `with` statement.

    >>> with Patterns() as patterns:
    ...     patterns.last(r"loss (\\S+)", "loss 3\\nloss 2.5\\n"), patterns.last("gain (.)", "loss 3")
    ('2.5', None)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Matcher] = []

    def last(
        self, pattern: str, text: str, *, seconds: float | None = None, cancel: threading.Event | None = None
    ) -> str | None:
        """The group of the last match, empty if it took no part in it; None if nothing matched.

        Raises `TookTooLong` after so many seconds, and `Stopped` when `cancel` is set meanwhile.
        """
        with self._lock:
            matcher = self._idle.pop() if self._idle else None
        if matcher is not None and not matcher.lives():  # somebody ended it
            matcher.end()
            matcher = None
        matcher = matcher or _Matcher()
        try:
            found = matcher.last(pattern, text, _FOREVER if seconds is None else seconds, cancel)
        except BaseException:
            matcher.end()
            raise
        with self._lock:
            self._idle.append(matcher)
        return found

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            idle, self._idle = self._idle, []
        for matcher in idle:
            matcher.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Matcher:
    """A process that looks for one pattern at a time."""

    def __init__(self) -> None:
        # Marked as a pull is: whoever ends what a dead runner left behind finds it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_MATCHER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, MARK: new_mark()},
            start_new_session=True,
        )

    def lives(self) -> bool:
        return self._process.poll() is None

    def last(self, pattern: str, text: str, seconds: float, cancel: threading.Event | None) -> str | None:
        assert self._process.stdin is not None
        written, read = pattern.encode(), text.encode()
        request = memoryview(b"%f %d %d\n" % (seconds, len(written), len(read)) + written + read)
        while request:  # a pipe takes what it has room for
            request = request[self._process.stdin.write(request) :]
        deadline = time.monotonic() + seconds + _SPARE
        answer = bytearray()
        while b"\n" not in answer:
            answer += self._more(deadline, cancel)
        size, _, group = bytes(answer).partition(b"\n")
        while len(group) < int(size):
            group += self._more(deadline, cancel)
        return None if int(size) < 0 else group.decode()

    def _more(self, deadline: float, cancel: threading.Event | None) -> bytes:
        assert self._process.stdout is not None
        poller = select.poll()
        poller.register(self._process.stdout, select.POLLIN)
        while not poller.poll(1000.0 * _LOOK):
            if cancel is not None and cancel.is_set():
                raise Stopped
            if time.monotonic() > deadline:
                raise TookTooLong
        data = os.read(self._process.stdout.fileno(), 1 << 16)
        if not data:  # it ended itself, at its time; or, which is no other news, the machine ran out of memory for it
            raise TookTooLong
        return data

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
