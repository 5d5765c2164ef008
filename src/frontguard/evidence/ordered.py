"""Columns of samples that are kept sorted, for what is read at many ranks, or as a whole, but rarely.

New values are merged in, which costs O(1) a value after batches that grow with n. A few may lie beside the pool for a
look. Columns of which means count begin *counted*: while their different values are few, these
are held with how often each came, and so are two numbers for a rate. Once there are more than `MOST_DIFFERENT`, all
values are written out, for good. What is read is the same either way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.samples import Record, Table, copy_values, make_room, push, reserve

MOST_DIFFERENT = 32
"""Different values up to which they are counted; each takes as much as two values."""

_FEWEST_DIFFERENT = 4  # that there is room for

FIRST_EXTENT = 16
"""Numbers that a pool of sorted columns begins with for each: a rate needs no more, and others grow soon."""


class Samples(NamedTuple):
    """Columns that are kept sorted, as kernels read them; see `ranked` for what lies beside the pool."""

    pool: Floats
    beside: Floats
    columns: Table  # one of `COLUMN` for each arm and objective: i · M + d

    def pieces(self, column: int) -> tuple[Floats, Floats]:
        """All values of a column: those of the pool, sorted, and those beside it."""
        record = self.columns[column]
        start, later, second = int(record["start"]), int(record["window"]), int(record["window_start"])
        own = self.pool[start : start + int(record["count"]) - later]
        if record["counted"]:
            different, apart = int(record["below"]), int(record["room"]) // 2
            counts = self.pool[start + apart : start + apart + different]
            own = np.repeat(self.pool[start : start + different], counts.astype(np.int64))
        return own, self.beside[second : second + later]


@kernel(over="values")
def push_sorted(pool: Floats, table: Table, column: int, values: Floats) -> None:
    """Add values (n,) to a column with enough room whose values are kept sorted throughout: all ranks at O(1).

    For samples that are read at many ranks but rarely, after batches that grow with n: merging then costs O(1) a value.
    Columns are either pushed to with this, or with `push`; never with both. Not for those that are counted.
    """
    record: Record = table[column]
    block = np.sort(values)
    old = record.start + record.count - 1
    place = old + block.shape[0]
    for new in range(block.shape[0] - 1, -1, -1):
        while old >= record.start and pool[old] > block[new]:
            pool[place] = pool[old]
            place -= 1
            old -= 1
        pool[place] = block[new]
        place -= 1
    record.count += block.shape[0]


@kernel(over="values")
def take(pool: Floats, table: Table, column: int, values: Floats) -> Floats:
    """Add values (n,) to a sorted column, counted or not. Returns the pool, which may be a new one."""
    record: Record = table[column]
    if record.counted == 1:
        block = np.sort(values)
        different = different_with(pool, record.start, record.below, block, MOST_DIFFERENT)
        if different <= MOST_DIFFERENT:
            if 2 * different > record.room:
                room = 2 * min(max(2 * record.below, different, _FEWEST_DIFFERENT), MOST_DIFFERENT)
                pool = make_room(pool, table, column, room, 0)
            record.below = count_in(pool, record.start, record.room // 2, record.below, block)
            record.count += block.shape[0]
            return pool
        pool = _write_out(pool, table, column, block.shape[0])
    pool = reserve(pool, table, column, values.shape[0], False)
    push_sorted(pool, table, column, values)
    return pool


@kernel
def _write_out(pool: Floats, table: Table, column: int, added: int) -> Floats:
    """Hold every value of a column that was counted, with room for `added` more. Returns the pool."""
    record: Record = table[column]
    values = written_out(pool, record.start, record.room // 2, record.below)
    record.count, record.below, record.counted = 0, 0, 0
    pool = reserve(pool, table, column, values.shape[0] + added, False)
    copy_values(values, 0, pool, record.start, values.shape[0])
    record.count = values.shape[0]
    return pool


@kernel(over="values")
def absorb(pool: Floats, table: Table, arms: Ints, values: Floats, kept_sorted: bool) -> Floats:
    """Add values (n, M) of `arms` (n,), which are in order, to columns that are kept sorted or not; NaN is left out.

    Returns the pool, which may be a new one.
    """
    M = values.shape[1]
    start = 0
    while start < arms.shape[0]:
        i = arms[start]
        end = start
        while end < arms.shape[0] and arms[end] == i:
            end += 1
        for d in range(M):
            measured = np.empty(end - start)
            count = 0
            for n in range(start, end):
                if values[n, d] == values[n, d]:
                    measured[count] = values[n, d]
                    count += 1
            if kept_sorted:
                pool = take(pool, table, i * M + d, measured[:count])
            else:
                pool = reserve(pool, table, i * M + d, count, True)
                push(pool, table, i * M + d, measured[:count])
        start = end
    return pool


@kernel
def ranked(samples: Samples, record: Record, place: int) -> float:
    """The value at `place` (0 is the smallest) of a column that is kept sorted, O(1); with values beside it O(log n).

    The last `window` of a sorted column's `count` values may lie elsewhere: sorted among themselves, in the array
    `beside` from `window_start` on. So a few values can be added for a look, while the pool stays as it is.
    """
    pool, beside = samples.pool, samples.beside
    at: float
    if record.counted == 1:
        values, start = in_order(samples, record)
        at = values[start + place]
        return at
    if record.window == 0:
        at = pool[record.start + place]
        return at
    own, later = record.count - record.window, record.window
    first, second = record.start, record.window_start
    # The smallest number j of values from beside so that the place − j own ones before the place are no larger.
    low, high = max(0, place - own), min(place, later)
    while low < high:
        j = (low + high) >> 1
        if pool[first + place - j - 1] <= beside[second + j]:
            high = j
        else:
            low = j + 1
    if low == later:
        at = pool[first + place - low]
    elif place - low == own:
        at = beside[second + low]
    else:
        at = min(pool[first + place - low], beside[second + low])
    return at


@kernel
def in_order(samples: Samples, record: Record) -> tuple[Floats, int]:
    """An array with all values of a column that is kept sorted, in ascending order, and where in it they begin.

    It is the pool, or a copy if they are counted or some lie beside it; a slice would take numba a second to compile.
    """
    first, own, later = record.start, record.count - record.window, record.window
    held = samples.pool
    if record.counted == 1:
        held, first = written_out(held, first, record.room // 2, record.below), 0
    if later == 0:
        return held, first
    values, second = np.empty(record.count), record.window_start
    i, j = 0, 0
    for place in range(record.count):
        if j == later or (i < own and held[first + i] <= samples.beside[second + j]):
            values[place] = held[first + i]
            i += 1
        else:
            values[place] = samples.beside[second + j]
            j += 1
    return values, 0


@kernel
def counted_between(samples: Samples, record: Record, first: int, last: int, different: Floats, counts: Floats) -> int:
    """The different values of a counted column at the places first ≤ i < last in ascending order, and their counts.

    Those beside the pool are among them. The arrays need room for `most_different`. Returns how many there are.
    """
    return runs_between(
        samples.pool, record.start, record.room // 2, record.below, samples.beside, record.window_start, record.window,
        first, last, different, counts,
    )  # fmt: skip


@kernel
def most_different(record: Record) -> int:
    """At least as many as a counted column has different values, those beside the pool included."""
    different: int = record.below + record.window
    return different


@kernel(over="beside")
def take_in(pool: Floats, beside: Floats, table: Table) -> Floats:
    """Merge what lies beside sorted columns into them. Returns the pool, which may be a new one."""
    columns = table.shape[0] - 1
    later, where = np.empty(columns, np.int64), np.empty(columns, np.int64)
    for c in range(columns):  # all of them first: making room for one may move the others, windows included
        record: Record = table[c]
        later[c], where[c] = record.window, record.window_start
        record.count -= record.window
        record.window = 0
        record.window_start = record.start + record.room
    for c in range(columns):
        if later[c] > 0:
            block = np.empty(later[c])
            copy_values(beside, where[c], block, 0, later[c])
            pool = take(pool, table, c, block)
    return pool


# Different values, and how often each came --------------------------------------------------------------------------
# They lie in an array, sorted, from a place `first` on, and their counts (whole numbers, exact up to 2⁵³) `apart`
# behind them.

_ALL = 1 << 62  # places: more than there are values


@kernel
def different_with(pool: Floats, first: int, held: int, block: Floats, most: int) -> int:
    """How many different values there are with those of a sorted block (n,); any number above `most` if more."""
    found, j = held, 0
    place = 0
    while j < block.shape[0] and found <= most:
        value = block[j]
        while place < held and pool[first + place] < value:
            place += 1
        found += place == held or pool[first + place] != value
        while j < block.shape[0] and block[j] == value:
            j += 1
    return found


@kernel
def count_in(pool: Floats, first: int, apart: int, held: int, block: Floats) -> int:
    """Count the values of a sorted block (n,) as well; there is room. Returns how many different ones there are."""
    different, counts = np.empty(apart), np.empty(apart)
    found = runs_between(pool, first, apart, held, block, 0, block.shape[0], 0, _ALL, different, counts)
    for i in range(found):
        pool[first + i], pool[first + apart + i] = different[i], counts[i]
    return found


@kernel
def runs_between(
    pool: Floats, start: int, apart: int, held: int, beside: Floats, second: int, later: int,
    first: int, last: int, different: Floats, counts: Floats,
) -> int:  # fmt: skip
    """The different values, and their counts, at the places first ≤ i < last among all that are held, and some more.

    Held are so many different values from `start` on; `later` more lie, sorted, one by one, in `beside` from `second`
    on. All of them count as one ascending list.
    """
    found, passed = 0, 0
    i, j = 0, 0
    while (i < held or j < later) and passed < last:
        value = pool[start + i] if i < held else beside[second + j]
        if j < later and beside[second + j] < value:
            value = beside[second + j]
        count = 0
        if i < held and pool[start + i] == value:
            count += int(pool[start + apart + i])
            i += 1
        while j < later and beside[second + j] == value:
            count += 1
            j += 1
        inside = min(passed + count, last) - max(passed, first)
        passed += count
        if inside > 0:
            different[found], counts[found] = value, inside
            found += 1
    return found


@kernel
def written_out(pool: Floats, first: int, apart: int, held: int) -> Floats:
    """Every value as often as it came, in ascending order."""
    total = 0
    for i in range(held):
        total += int(pool[first + apart + i])
    values, place = np.empty(total), 0
    for i in range(held):
        for _ in range(int(pool[first + apart + i])):
            values[place] = pool[first + i]
            place += 1
    return values
