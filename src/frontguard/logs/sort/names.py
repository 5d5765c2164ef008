"""The names of arms as numbers: each different text gets a code, 0, 1, 2, … in order of first appearance.

A log names its arm in every row, a hundred million times the same few texts. The table here looks a text up by a hash
of its UTF-8 bytes, compiled, without making a Python object of it. The hash depends on the bytes alone, so that all
processes and machines that share a log agree on it. UTF-8 keeps the order of plain text: bytes and texts sort alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import inlined, kernel
from frontguard._common.typing import Ints
from frontguard.errors import BadArgument

Codes = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

_FEWEST_SLOTS = 1024
_MOST_ARMS = 2**31 - 1  # codes are 32 bits wide
_UNKNOWN = -1
_STEP = 32  # rows that are looked up side by side

_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ divided by the golden ratio
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)  # the two multipliers of the finaliser of MurmurHash3
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)


class _Table(NamedTuple):
    """The hash table of names: arms by code, with the bytes of their texts one after another."""

    slots: Words  # 0 when empty, or the upper half of a hash and, below it, a code + 1
    hashes: Words
    starts: Ints
    text: Bytes


class ArmNames:
    """All arms met so far.

    >>> import pyarrow as pa
    >>> names = ArmNames()
    >>> names.codes(pa.array(["b", "a", "b"])), names.codes(pa.array(["c", "a"]))
    (array([0, 1, 0], dtype=int32), array([2, 1], dtype=int32))
    >>> names.in_order(), names.texts(names.in_order())
    (array([1, 0, 2], dtype=int32), ['a', 'b', 'c'])
    """

    def __init__(self) -> None:
        self._table = _Table(
            slots=np.zeros(_FEWEST_SLOTS, np.uint64),
            hashes=np.empty(_FEWEST_SLOTS // 2, np.uint64),
            starts=np.zeros(_FEWEST_SLOTS // 2 + 1, np.int64),
            text=np.empty(16 * _FEWEST_SLOTS, np.uint8),
        )
        self._count = 0
        self._seen: tuple[Any, Codes] | None = None  # the last dictionary, and its entries' codes
        self._ordered: Codes = np.empty(0, np.int32)

    def __len__(self) -> int:
        return self._count

    @property
    def hashes(self) -> Words:
        """A number for each arm (K,), by code, that depends on nothing but its text."""
        return self._table.hashes[: self._count]

    def codes(self, arms: Any) -> Codes:
        """The codes (n,) of these arms: an Arrow array of text, or with a dictionary of texts."""
        import pyarrow as pa

        if arms.null_count:
            row = arms.is_null().to_numpy(zero_copy_only=False).argmax()
            raise BadArgument(
                "arm", f"{arms.null_count:,} rows have no arm, the first of them row {row + 1:,} of its batch"
            )
        if not pa.types.is_dictionary(arms.type):
            return self._codes_of_texts(arms)
        from frontguard.logs.memory import as_arrow, as_numpy

        dictionary, indices = arms.dictionary, as_numpy(arms.indices)
        if self._seen is None or not self._seen[0].equals(dictionary):
            self._seen = (dictionary, np.full(len(dictionary), _UNKNOWN, np.int32))
        known = self._seen[1]
        codes: Codes = known[indices]
        new = indices[codes == _UNKNOWN]
        if len(new):
            # Only entries that some row uses: the others are no arms of the log.
            used = np.zeros(len(dictionary), np.bool_)
            used[new] = True
            texts = dictionary.filter(as_arrow(used))
            if texts.null_count:
                return self.codes(arms.cast(dictionary.type))
            known[used] = self._codes_of_texts(texts)
            codes = known[indices]
        return codes

    def _codes_of_texts(self, array: Any) -> Codes:
        starts, text = _buffers(array)
        found = np.empty(len(array), np.int32)
        done = 0
        while done < len(found):
            done, self._count = _intern(starts, text, found, done, self._table, self._count)
            if done < len(found):
                self._grow(int(starts[done + 1] - starts[done]))
        return found

    def _grow(self, longest: int) -> None:
        """Make room for twice as many arms, and for a text of `longest` bytes."""
        if self._count >= _MOST_ARMS // 2:
            raise BadArgument("arm", f"a log may have {_MOST_ARMS // 2:,} arms at most")
        slots, hashes, starts, text = self._table
        if 2 * self._count >= len(slots) - 2:
            slots = np.zeros(2 * len(slots), np.uint64)
            hashes = np.concatenate([hashes, np.empty_like(hashes)])
            starts = np.concatenate([starts, np.empty(len(starts) - 1, np.int64)])
            _fill_slots(slots, hashes, self._count)
        if starts[self._count] + longest > len(text):
            text = np.concatenate([text, np.empty(max(len(text), longest), np.uint8)])
        self._table = _Table(slots, hashes, starts, text)

    def arrow(self) -> Any:
        """The names (K,) by code, as an Arrow array of text that owns its memory."""
        import pyarrow as pa

        ends = self._table.starts[: self._count + 1].copy()
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(self._table.text[: ends[-1]].copy())]
        return pa.Array.from_buffers(pa.large_string(), self._count, buffers)

    def in_order(self) -> Codes:
        """The codes (K,) of the arms in the order of their names."""
        import pyarrow.compute as pc

        from frontguard.logs.memory import as_numpy

        if len(self._ordered) != self._count:
            self._ordered = as_numpy(pc.sort_indices(self.arrow().cast("large_binary"))).astype(np.int32)
        return self._ordered

    def texts(self, codes: Codes) -> list[str]:
        """The names of these codes."""
        from frontguard.logs.memory import as_arrow

        names: list[str] = self.arrow().take(as_arrow(codes)).to_pylist()
        return names


# Arrow arrays as plain memory -----------------------------------------------------------------------------------------


def _buffers(array: Any) -> tuple[npt.NDArray[Any], Bytes]:
    """Where each text starts (n + 1,) and all bytes."""
    import pyarrow as pa

    kind = np.int32 if pa.types.is_string(array.type) else np.int64
    _, starts, text = array.buffers()
    if starts is None or starts.size == 0:  # Arrow allows this for an array without elements
        return np.zeros(1, kind), np.empty(0, np.uint8)
    where = np.frombuffer(starts, kind)[array.offset : array.offset + len(array) + 1]
    return where, np.empty(0, np.uint8) if text is None else np.frombuffer(text, np.uint8)


# The table ------------------------------------------------------------------------------------------------------------


@inlined
def _word(text: Bytes, at: np.uint64) -> np.uint64:
    """Eight bytes as a number, the first the lowest; compiled to one load."""
    word = np.uint64(0)
    for k in range(8):
        word |= np.uint64(text[at + np.uint64(k)]) << np.uint64(8 * k)
    return word


@inlined
def _hash(text: Bytes, start: int, stop: int) -> np.uint64:
    """A number that depends on bytes start … stop − 1 alone: eight at a time, then thoroughly mixed."""
    mixed = np.uint64(stop - start)
    at = np.uint64(start)
    end = np.uint64(stop)
    while at + np.uint64(8) <= end:
        mixed = (mixed ^ _word(text, at)) * _FACTOR
        mixed ^= mixed >> np.uint64(29)
        at += np.uint64(8)
    rest = np.uint64(0)
    shift = np.uint64(0)
    while at < end:
        rest |= np.uint64(text[at]) << shift
        shift += np.uint64(8)
        at += np.uint64(1)
    mixed = (mixed ^ rest) * _FACTOR
    mixed ^= mixed >> np.uint64(33)
    mixed *= _MIX_1
    mixed ^= mixed >> np.uint64(33)
    mixed *= _MIX_2
    return mixed ^ (mixed >> np.uint64(33))


@inlined
def _equal(text: Bytes, start: int, other: Bytes, other_start: int, length: int) -> bool:
    """Whether `length` bytes are the same."""
    a = np.uint64(start)
    b = np.uint64(other_start)
    end = np.uint64(start + length)
    same = True
    while same and a + np.uint64(8) <= end:
        same = _word(text, a) == _word(other, b)
        a += np.uint64(8)
        b += np.uint64(8)
    while same and a < end:
        same = text[a] == other[b]
        a += np.uint64(1)
        b += np.uint64(1)
    return same


@kernel(over="found", deep=True)
def _intern(
    starts: npt.NDArray[Any], text: Bytes, found: Codes, first: int, table: _Table, count: int
) -> tuple[int, int]:
    """Write the codes of rows first, first + 1, … until the table needs to grow. Returns the next row and K.

    A large table is not in the cache. Going through a few rows step by step, rather than through the steps row by row,
    lets the processor wait for many places of the table at once.
    """
    slots, hashes, name_starts, name_text = table
    mask = np.uint64(slots.shape[0] - 1)
    low = np.uint64(0xFFFFFFFF)
    hashed = np.empty(_STEP, np.uint64)
    likely = np.empty(_STEP, np.int64)
    begin = np.empty(_STEP, np.int64)
    for base in range(first, found.shape[0], _STEP):
        rows = min(_STEP, found.shape[0] - base)
        for k in range(rows):
            hashed[k] = _hash(text, int(starts[base + k]), int(starts[base + k + 1]))
        for k in range(rows):
            held = slots[hashed[k] & mask]
            likely[k] = int(held & low) - 1 if (held ^ hashed[k]) >> np.uint64(32) == 0 else -1
        for k in range(rows):
            begin[k] = name_starts[max(likely[k], 0)]
        for k in range(rows):
            start = int(starts[base + k])
            length = int(starts[base + k + 1]) - start
            code = likely[k]
            if code >= 0:
                if name_starts[code + 1] - begin[k] == length and _equal(text, start, name_text, begin[k], length):
                    found[base + k] = code
                    continue
            code = -1
            slot = hashed[k] & mask
            while slots[slot] != 0:
                held = slots[slot]
                if (held ^ hashed[k]) >> np.uint64(32) == 0:
                    candidate = int(held & low) - 1
                    known = name_starts[candidate]
                    if name_starts[candidate + 1] - known == length and _equal(text, start, name_text, known, length):
                        code = candidate
                        break
                slot = (slot + np.uint64(1)) & mask
            if code < 0:
                end = name_starts[count] + length
                if 2 * count >= slots.shape[0] - 2 or end > name_text.shape[0]:
                    return base + k, count
                name_text[name_starts[count] : end] = text[start : start + length]
                name_starts[count + 1] = end
                hashes[count] = hashed[k]
                slots[slot] = (hashed[k] & ~low) | np.uint64(count + 1)
                code = count
                count += 1
            found[base + k] = code
    return found.shape[0], count


@kernel(over="hashes")
def _fill_slots(slots: Words, hashes: Words, count: int) -> None:
    """Enter all codes into an empty table."""
    mask = np.uint64(slots.shape[0] - 1)
    low = np.uint64(0xFFFFFFFF)
    for code in range(count):
        slot = hashes[code] & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = (hashes[code] & ~low) | np.uint64(code + 1)
