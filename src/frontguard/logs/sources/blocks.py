"""Text files in blocks that end where a row ends, unpacked if they are compressed, in bounded memory."""

from __future__ import annotations

import gzip
import math
import os
import sys
import zlib
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import kernel
from frontguard._common.machine import usable_cores
from frontguard.errors import BadInput
from frontguard.logs.sources.files import LogFile
from frontguard.logs.sources.reader import LogTable, Request, TableRows
from frontguard.phrases import error_line

BLOCK = 1 << 20
"""Bytes of a piece: what a thread parses at once, within its cache."""

LONGEST_ROW = 1 << 26
"""Bytes of the longest row; what is longer is a quote that was never closed, or no text file."""

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
_MOST_THREADS = 4  # more wait for the disk, and hold more in memory
_AHEAD = 8  # blocks of text that a thread may have parsed: it need not stop while kernels are got ready
_BROKEN = (OSError, EOFError, zlib.error, ValueError)


@dataclass(frozen=True)
class Block:
    """Whole rows of a file, and the number (from 1) of the line that they begin with."""

    data: bytes
    line: int
    unfinished: bool = False  # the file ends here without a line break


class ByteFile:
    """A file opened to be read once from its beginning: unpacked, without its byte order mark."""

    def __init__(self, file: LogFile) -> None:
        self.file = file
        try:
            self._raw: Any = sys.stdin.buffer if file.path is None else file.path.open("rb")
        except OSError as error:
            raise BadInput(f"{file.shown} cannot be read: {error.strerror or error_line(error)}") from None
        self._left = self._size()  # bytes that are still to come, where that is known
        self.taken = 0  # bytes of the file, packed if it is, that were read so far; not counted on standard input
        self.head = b""  # the first bytes, which are still to be read
        try:
            raw: Any = self._raw
            begin = raw.peek(8)
            packed = next((name for magic, name in _MAGIC.items() if begin.startswith(magic)), None)
            self._source = self._raw if packed is None else _unpacked(self._raw, packed)
            self.head = self.read(BLOCK)
            if self.head.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise BadInput(f"{file.shown}: text must be UTF-8; this begins like UTF-16")
            self.head = self.head.removeprefix(b"\xef\xbb\xbf")
        except BaseException:
            self.close()
            raise

    def read(self, size: int) -> bytes:
        """The next `size` bytes of text, fewer at the end only."""
        parts, self.head = [self.head[:size]], self.head[size:]
        missing = size - len(parts[0])
        try:
            while missing > 0 and (part := self._next(missing)):
                parts.append(part)
                missing -= len(part)
        except _BROKEN as error:
            raise BadInput(
                f"{self.file.shown} cannot be read: {error_line(error)}"
                if self._source is self._raw
                else f"{self.file.shown} is damaged or was cut in the middle: it cannot be unpacked "
                f"({error_line(error)})"
            ) from None
        if self.file.path is not None:
            self.taken = self._raw.tell()
        return b"".join(parts)

    def _size(self) -> float:
        """How many bytes a file has: what is added while it is read is not read, or there might be no end."""
        if self.file.path is None:
            return math.inf
        return os.fstat(self._raw.fileno()).st_size or math.inf  # some that are made as they are read say 0

    def _next(self, size: int) -> bytes:
        if self._source is not self._raw:
            return bytes(self._source.read(size))
        part: bytes = self._raw.read(int(min(size, self._left)))
        self._left -= len(part)
        if self._left == 0 and part and not part.endswith((b"\n", b"\r")):  # the row that is there in part
            part += self._raw.readline(LONGEST_ROW)
        return part

    def close(self) -> None:
        """Let go of the file; standard input stays open."""
        if self.file.path is not None:
            self._raw.close()

    def blocks(self, *, line: int = 1, delimiter: bytes = b"") -> Iterator[Block]:
        """The text from here on, which is line `line`, in pieces of whole rows.

        With a `delimiter` a field in double quotes may hold line breaks; without one every line is a row.
        """
        rest, wanted = b"", BLOCK
        end_of_line: bytes | None = None
        while True:
            fresh = self.read(wanted)
            data = rest + fresh
            if not data:
                return
            if end_of_line is None:
                end_of_line = b"\r" if b"\n" not in data and b"\r" in data[:-1] else b"\n"
            ended = len(fresh) < wanted
            cut, open_quote = _row_end(data, end_of_line, delimiter)
            if ended:
                if open_quote:
                    raise BadInput(
                        f"{self.file.shown}, line {line + data[:open_quote].count(end_of_line)}: a quote is opened "
                        "and never closed (was the file cut in the middle?)"
                    )
                yield Block(data, line, unfinished=not data.endswith((b"\n", b"\r")))
                return
            if cut:
                yield Block(data[:cut], line)
                line += int(np.count_nonzero(np.frombuffer(data, np.uint8, cut) == end_of_line[0]))
                rest, wanted = data[cut:], BLOCK
            else:
                if len(data) > LONGEST_ROW:
                    raise BadInput(
                        f"{self.file.shown}, line {line}: a row longer than {LONGEST_ROW >> 20} MiB; "
                        "is this a text file, and are all quotes closed?"
                    )
                # By doubling, so that a long row is looked at in linear time.
                rest, wanted = data, min(len(data), LONGEST_ROW + 1 - len(data))


class TextTable(LogTable):
    """A text file as a table: what it begins with was looked at, and its rows come block by block.

    A `text` that is open already, as standard input is, can be read once only.
    """

    def __init__(self, file: LogFile, request: Request, text: ByteFile | None = None) -> None:
        super().__init__(file.shown, ())
        self.file, self._text = file, text
        opened = text or ByteFile(file)
        try:
            self.names = self._look(opened, request)
        finally:
            if text is None:
                opened.close()

    @property
    def bytes_read(self) -> int:
        """Bytes of the file that were read so far, packed ones if it is packed."""
        return 0 if self._text is None else self._text.taken

    @abstractmethod
    def _look(self, text: ByteFile, request: Request) -> list[str]:
        """The names of the columns, from the beginning of the text."""

    def _parsed(
        self, parse: Callable[[Block], TableRows], *, header: bytes = b"", lines: int = 0, delimiter: str = ""
    ) -> Iterator[TableRows]:
        """All blocks after the header, which has so many lines, parsed in threads."""
        self._text = self._text or ByteFile(self.file)
        with closing(self._text) as text:
            if text.read(len(header)) != header:
                raise BadInput(f"{self.shown} was changed while it was read")
            yield from prefetched(parse, text.blocks(line=1 + lines, delimiter=delimiter.encode()), _AHEAD)


def _unpacked(raw: Any, packed: str) -> Any:
    if packed == "gzip":
        return gzip.GzipFile(fileobj=raw, mode="rb")
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), packed)


def _row_end(data: bytes, end_of_line: bytes, delimiter: bytes) -> tuple[int, int]:
    """Where the last whole row of `data` ends, and one past the quote that is open at the end (0 if none is)."""
    if not delimiter or b'"' not in data:
        return data.rfind(end_of_line) + 1, 0
    cut, open_quote = _quoted_row_end(np.frombuffer(data, np.uint8), end_of_line[0], delimiter[0])
    return int(cut), int(open_quote)


@kernel(over="data")
def _quoted_row_end(data: npt.NDArray[np.uint8], end_of_line: int, delimiter: int) -> tuple[int, int]:
    """The same for rows with quotes: a quote opens at the beginning of a field only, and "" within it is a quote."""
    cut = 0
    opened = 0
    begins = True
    i = 0
    while i < data.size:
        byte = data[i]
        if opened > 0:
            if byte == 34:
                if i + 1 < data.size and data[i + 1] == 34:
                    i += 1
                else:
                    opened = 0
                    begins = False
        elif byte == 34 and begins:
            opened = i + 1
        elif byte == end_of_line:
            cut = i + 1
            begins = True
        else:
            begins = byte == delimiter or byte == 13
        i += 1
    return cut, opened


T = TypeVar("T")
R = TypeVar("R")


def prefetched(work: Callable[[T], R], items: Iterable[T], ahead: int = 1) -> Iterator[R]:
    """`work` of every item in order, `ahead` a thread of the one taken; an error comes where its item would have.

    >>> list(prefetched(lambda n: n * n, range(5)))
    [0, 1, 4, 9, 16]
    """
    threads = min(_MOST_THREADS, usable_cores())
    pool = ThreadPoolExecutor(threads, thread_name_prefix="frontguard-log")
    waiting: deque[Future[R]] = deque()
    late: Exception | None = None  # of the items themselves: raised after what came before it
    try:
        following = iter(items)
        while late is None:
            try:
                waiting.append(pool.submit(work, next(following)))
            except StopIteration:
                break
            except Exception as error:
                late = error
            if len(waiting) > ahead * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if late is not None:
            raise late
    finally:
        for future in waiting:
            future.cancel()
        pool.shutdown(wait=True)
