"""A terminal for tests: runs a command on a real pseudo-terminal and knows what its screen shows."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

_FRAME = "\r\x1b[2K"  # how a view that is drawn over another one begins
_ESCAPE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Terminal:
    """What a command wrote, as a screen of `columns` × `rows` on which old lines scroll out at the top."""

    def __init__(self, command: list[str], cwd: Path, columns: int = 100, rows: int = 30) -> None:
        self.columns, self.rows = columns, rows
        self.scrolled: list[str] = []
        self._cells = [[" "] * columns for _ in range(rows)]
        self._row = self._column = 0
        self._rest = ""
        self._unseen = ""  # what was read and is not on the screen yet
        self.raw = ""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "", "LINES": ""}
        for name in ("COLUMNS", "LINES"):
            environment.pop(name)
        self.process = subprocess.Popen(
            command, cwd=cwd, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
        )
        os.close(slave)
        self._master = master

    @property
    def lines(self) -> list[str]:
        """The screen, without blanks at the ends of lines."""
        return ["".join(row).rstrip() for row in self._cells]

    def wait_for(self, shown: Callable[[list[str]], bool], seconds: float = 240.0) -> bool:
        """Read until the screen shows something, or the command has ended."""
        end = time.monotonic() + seconds
        while not shown(self.lines):
            if time.monotonic() > end or not self._go_on():
                self.process.kill()  # it is not to outlive the test, which fails now
                self.process.wait()
                os.close(self._master)
                return False
        return True

    def finish(self) -> int:
        """Read to the end; the exit code."""
        while self._go_on():
            pass
        os.close(self._master)
        return self.process.wait(180)

    def _go_on(self) -> bool:
        """Show the next frame of what was read, so that none is missed however late we are; else read more."""
        if not self._unseen:
            return self._read()
        end = self._unseen.find(_FRAME, 1)
        frame = self._unseen if end < 0 else self._unseen[:end]
        self._unseen = self._unseen[len(frame) :]
        self._write(self._rest + frame)
        return True

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], 0.1)
        if not ready:
            return True
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # what Linux says when the other side has gone
            return False
        text = data.decode("utf-8", "replace")
        self.raw += text
        self._unseen += text
        return bool(data)

    def _write(self, text: str) -> None:
        place = 0
        while place < len(text):
            if text[place] == "\x1b":
                escape = _ESCAPE.match(text, place)
                if escape is None and len(text) - place < 12:
                    break  # the rest of it has not come yet
                if escape is not None:
                    self._obey(escape[1], escape[2])
                    place = escape.end()
                    continue
            self._put(text[place])
            place += 1
        self._rest = text[place:]

    def _put(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._down()
        elif character.isprintable():
            if self._column == self.columns:
                self._column = 0
                self._down()
            self._cells[self._row][self._column] = character
            self._column += 1

    def _down(self) -> None:
        if self._row < self.rows - 1:
            self._row += 1
            return
        self.scrolled.append("".join(self._cells.pop(0)).rstrip())
        self._cells.append([" "] * self.columns)

    def _obey(self, parameters: str, letter: str) -> None:
        if letter == "A":
            self._row = max(self._row - int(parameters or 1), 0)
        elif letter == "K":
            start = 0 if parameters == "2" else self._column
            self._cells[self._row][start:] = [" "] * (self.columns - start)
