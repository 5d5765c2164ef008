"""Rows of the SQLite file: how a record becomes bytes, and the checksum that tells whether they are still the same.

SQLite keeps no checksums of its pages: a bit that flips inside a value would come back as another value. So every row
carries the CRC-32 of all that it says, its place in the log included: a row that changed, moved or took another's place
is noticed when it is read.

Log rows (settings, plans, told pulls) have the key study · 2⁴⁰ + number: the rows of a study lie together in the order
of the log, a new one goes to the end of its page, and no second index is needed to find the n-th.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from zlib import crc32

import numpy as np
import numpy.typing as npt

from frontguard._typing import Floats, Ints

__all__ = ["STRIDE", "key", "pack_numbers", "row_crc", "told_crc", "told_crcs"]

STRIDE = 1 << 40  # more pulls than a study can have; leaves room for 2²³ studies

_THREE = struct.Struct("<3q")
_TEXTS = struct.Struct("<2I")


def key(study: int, number: int) -> int:
    """Where a row of the log is kept."""
    return study * STRIDE + number


def pack_numbers(at: float, values: Sequence[float]) -> bytes:
    """The time of a told pull and its values as little-endian doubles: bit for bit, and read by the million."""
    try:
        return struct.pack(f"<{1 + len(values)}d", at, *values)
    except struct.error:
        raise ValueError(
            f"the time and the values of a pull must be numbers; got {at!r} and {tuple(values)!r}"
        ) from None


def row_crc(*fields: int | float | str | bytes) -> int:
    """The checksum of a row. Each field goes in with its kind and length, so that none can pass for another.

    >>> row_crc(1, "ab", "c") == row_crc(1, "a", "bc")
    False
    """
    crc = 0
    for field in fields:
        if isinstance(field, int):
            crc = crc32(b"i%d" % field, crc)
        elif isinstance(field, float):
            crc = crc32(b"d" + struct.pack("<d", field), crc)
        else:
            data = field if isinstance(field, bytes) else field.encode()
            crc = crc32(data, crc32(b"b%d:" % len(data), crc))
    return crc


def told_crc(study: int, number: int, pull: int, numbers: bytes, reason: str, worker: str) -> int:
    """The checksum of one told pull."""
    texts = _TEXTS.pack(crc32(reason.encode()), crc32(worker.encode()))
    return crc32(_THREE.pack(study, number, pull) + numbers + texts)


def told_crcs(
    study: int, first: int, pulls: Ints, numbers: Floats, reasons: Sequence[str], workers: Sequence[str]
) -> npt.NDArray[np.uint32]:
    """The checksums of told pulls `first`, `first` + 1, …: what `told_crc` gives for each, all at once."""
    rows = np.empty(
        len(pulls),
        [("place", "<i8", (3,)), ("numbers", "<f8", (numbers.shape[1],)), ("reason", "<u4"), ("worker", "<u4")],
    )
    rows["place"][:, 0] = study
    rows["place"][:, 1] = np.arange(first, first + len(pulls))
    rows["place"][:, 2] = pulls
    rows["numbers"] = numbers
    known = {text: crc32(text.encode()) for text in {*reasons, *workers}}  # few workers, few kinds of reasons
    rows["reason"] = [known[text] for text in reasons]
    rows["worker"] = [known[text] for text in workers]
    words = np.ascontiguousarray(rows.view("<u2").reshape(len(pulls), -1).T)
    table = _two_bytes()
    crc = np.full(len(pulls), 0xFFFFFFFF, np.uint32)
    for column in words:
        crc = table[(crc ^ column) & 0xFFFF] ^ (crc >> 16)
    return ~crc


@cache
def _two_bytes() -> npt.NDArray[np.uint32]:
    """What two bytes do to a CRC-32, whose polynomial, its lowest power first, is 0xEDB88320."""
    table = np.arange(1 << 16, dtype=np.uint32)
    for _ in range(16):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0xEDB88320), table >> 1)
    return table
