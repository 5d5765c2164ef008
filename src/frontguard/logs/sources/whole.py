"""Files that are read whole, as JSON documents are: as much of them as memory takes, and no more.

A file of a few kilobytes may unpack to many gigabytes, and a short text may become very many objects. So what is read
is bounded by its size, and then by how many values it may hold, before any of them is made.
"""

from __future__ import annotations

from collections.abc import Callable

from frontguard.errors import BadInput
from frontguard.logs.sort.spill import available_memory

LARGEST = 1 << 30
"""Bytes of the largest document."""

_PIECE = 1 << 22
_OF_A_VALUE = 100
"""Bytes that a value of a document takes in memory, about: a list, a text or a number, and its place in a list."""


def whole(read: Callable[[int], bytes], where: str, *, instead: str = "") -> bytes:
    """All that `read` has, if it can be a document; `instead` says what there may be for a larger one."""
    free = available_memory()
    most = min(LARGEST, free // 4)  # the bytes, and the text that they become
    parts: list[bytes] = []
    size = values = 0
    while part := read(_PIECE):
        parts.append(part)
        size += len(part)
        values += sum(map(part.count, (b",", b"[", b"{")))
        if size > most:
            raise BadInput(f"{where}: a document of more than {most >> 20:,} MiB, which is read whole{instead}")
        if values > free // (2 * _OF_A_VALUE):
            raise BadInput(
                f"{where}: a document of more than {values:,} values, which is read whole and would not fit in "
                f"memory{instead}"
            )
    return b"".join(parts)
