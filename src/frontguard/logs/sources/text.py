"""A text file that can be read again and again: packed or not, UTF-8, with an eye on lines without end."""

from __future__ import annotations

import bz2
import gzip
import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from frontguard.errors import BadInput
from frontguard.logs.sources.files import LogFile, whole
from frontguard.phrases import error_line, shown

LONGEST_ROW = 1 << 26
"""Bytes of the longest row that is looked at; what is longer is a quote that was never closed, or no text file."""

HEAD = 200
"""Lines that are looked at before any row is read."""

MARK = "\ufeff"
_LONGEST_HEAD = 1 << 20  # letters, likewise
_GZIP, _ZSTD, _BZIP2 = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh"
_BROKEN = (OSError, EOFError, ValueError, PolarsError)
_NO_UTF8 = re.compile("[\udc80-\udcff]+")  # bytes that are none, as they were decoded


class TextFile:
    """A text file that can be read from its beginning as often as is wanted, and its first lines.

    gzip and Zstandard are unpacked by Polars. What it does not read, bzip2 and standard input, is copied to a temporary
    file.
    """

    path: Path
    packed = False

    def __init__(self, file: LogFile) -> None:
        self.shown = file.shown
        try:
            raw: Any = sys.stdin.buffer if file.path is None else file.path.open("rb")
            with nullcontext() if file.path is None else raw:
                begin = raw.peek(8)
                if file.path is not None and not begin.startswith(_BZIP2):
                    self.path = file.path
                else:
                    self.path = self._copied(bz2.BZ2File(raw) if begin.startswith(_BZIP2) else raw)
                    with self.path.open("rb") as copy:
                        begin = copy.read(8)
        except (OSError, EOFError) as error:
            self.packed = getattr(error, "errno", None) is None  # of what unpacks it, not of the system
            raise self.broken(error) from None
        self._gzip = begin.startswith(_GZIP)
        self.packed = begin.startswith((_GZIP, _ZSTD))
        if begin.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise BadInput(f"{self.shown}: text must be UTF-8; this begins like UTF-16")
        self.head = self._first_lines()
        for line, text in enumerate(self.head, 1):
            if "\0" in text:
                raise BadInput(f"{self.shown}, line {line}: a zero byte; is this UTF-8 text, or is the file damaged?")

    def _copied(self, source: Any) -> Path:
        """A file with all that a source has, which is removed together with us."""
        number, name = tempfile.mkstemp(prefix="frontguard-log-")
        weakref.finalize(self, os.unlink, name)
        with open(number, "wb") as copy:
            shutil.copyfileobj(source, copy)
        return Path(name)

    def _first_lines(self) -> list[str]:
        head, size = [], 0
        for line in islice(self.lines(_LONGEST_HEAD), HEAD):
            head.append(line)
            size += len(line)
            if size >= _LONGEST_HEAD:
                break
        return head

    def lines(self, longest: int | None = None) -> Iterator[str]:
        """Its lines with their ends, without the byte order mark; what is no UTF-8 as surrogates.

        A line that is longer than `longest` comes in pieces; unless that is given, a very long one is refused.
        """
        for number, line in enumerate(self._lines(longest or LONGEST_ROW), 1):
            if longest is None and len(line) >= LONGEST_ROW:
                raise BadInput(
                    f"{self.shown}, line {number}: a row longer than {LONGEST_ROW >> 20} MiB; is this a text file, and "
                    "are all quotes closed?"
                )
            yield line.removeprefix(MARK) if number == 1 else line

    def document(self, instead: str = "") -> str:
        """All of it, if it can be one document; `instead` says what there may be for a larger one."""
        pieces = self.lines(_LONGEST_HEAD)
        text = whole(lambda _: next(pieces, "").encode("utf-8", "surrogateescape"), self.shown, instead=instead)
        return text.decode("utf-8", "surrogateescape")

    def _lines(self, longest: int) -> Iterator[str]:
        try:
            if self.packed and not self._gzip:
                for batch in pl.scan_lines(self.path, glob=False).collect_batches():
                    yield from (f"{line}\n" for line in batch.to_series())
                return
            with (gzip.open if self._gzip else open)(
                self.path, "rt", encoding="utf-8", errors="surrogateescape", newline=""
            ) as text:
                while line := text.readline(longest):
                    yield str(line)
        except _BROKEN as error:
            raise self.broken(error) from None

    def broken(self, error: BaseException) -> BadInput:
        """The error of a file that cannot be read, or unpacked."""
        if self.packed:
            return BadInput(
                f"{self.shown} is damaged or was cut in the middle: it cannot be unpacked ({error_line(error)})"
            )
        return BadInput(f"{self.shown} cannot be read: {getattr(error, 'strerror', 0) or error_line(error)}")

    def unfinished(self) -> bool:
        """True if its last line has no end."""
        if self.packed or not self.path.stat().st_size:
            return False
        with self.path.open("rb") as raw:
            raw.seek(-1, 2)
            return raw.read(1) not in b"\r\n"


def utf8(text: str, where: str) -> str:
    """A text that was decoded, refused if some of its bytes are no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        wrong = _NO_UTF8.findall(text)[0].encode("utf-8", "surrogateescape")
        raise BadInput(f"{where}: text must be UTF-8; got {shown(wrong)}") from None
    return text
