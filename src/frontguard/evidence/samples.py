"""Growing samples with exact medians: O(1) a value where values come in random order, O(√n) whatever comes.

A sample keeps all its values and, sorted, the few whose ranks lie around the median: the *window*, about √n of them.
A new value below or above the window is merely counted, which is what happens to nearly all of them; one inside it is
inserted. The rank of the median drifts by about √n while n values come in, so a window of a few √n ranks has to be
trimmed, but hardly ever searched anew. Where data drift, or an attack changes sides, it moves by half a rank a value,
and a window lasts for some √n of them.

Many samples (one for each arm and objective: the *columns*) share one pool of memory and one table of records. The
kernels work on these two arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats

Table = npt.NDArray[np.void]
Record = Any  # one record of a Table, as numba sees it: fields are attributes

_SMALLEST_EXTENT = 16

COLUMN = np.dtype(
    [
        ("count", np.int64),  # n, the number of values
        ("start", np.int64),  # where in the pool the extent of the values begins ...
        ("room", np.int64),  # ... and how long it is
        ("window_start", np.int64),  # likewise the extent of the window
        ("window_room", np.int64),
        ("window", np.int64),  # length of the window
        ("below", np.int64),  # how many values are counted below the window
        ("counted", np.int64),  # whether different values are held with how often each came, see `evidence.ordered`
    ]
)
"""What is known of a column. Columns that are kept sorted have no window; where they are counted, `below` is how many
different values there are, which lie in the first half of the extent, and their counts in the second."""


def empty_table(columns: int) -> Table:
    """Records of samples without values. One more record, the last, keeps in `count` how much of the pool is in use."""
    return np.zeros(columns + 1, COLUMN)


def empty_pool(columns: int, each: int = 16 * _SMALLEST_EXTENT) -> Floats:
    """A pool that holds the first few values of each column before it has to grow."""
    return np.empty(each * columns)


@kernel
def window_length(count: int) -> int:
    """How many ranks around the median a sample of `count` values keeps sorted.

    The rank of the median moves by √n / 2 (standard deviation) until n has doubled; a new window reaches twice as far
    to either side. A longer one would have to be searched more rarely, but would take in more of what comes.
    """
    return 32 + int(np.sqrt(count))


@kernel
def reserve(pool: Floats, table: Table, column: int, added: int, windowed: bool) -> Floats:
    """Make room for `added` more values of a column, which has a window or not. Returns the pool, perhaps a new one."""
    record: Record = table[column]
    count = record.count + added
    window = 2 * window_length(count) + 2 * added if windowed else 0
    if record.room >= count and record.window_room >= window:
        return pool
    window_room = 2 * window_length(2 * count) + 2 * added if windowed else 0
    return make_room(pool, table, column, max(2 * count, _SMALLEST_EXTENT), window_room)


@kernel
def make_room(pool: Floats, table: Table, column: int, room: int, window_room: int) -> Floats:
    """Let a column live where it has so much room. Returns the pool, which may be a new one."""
    record: Record = table[column]
    used = table[-1].count
    if used + room + window_room > pool.shape[0]:
        total = room + window_room
        for c in range(table.shape[0] - 1):
            total += table[c].room + table[c].window_room
        larger = np.empty(2 * total)
        used = 0
        for c in range(table.shape[0] - 1):
            other: Record = table[c]
            if other.room > 0:
                _move(pool, other, larger, used, other.room, other.window_room)
                used += other.room + other.window_room
        pool = larger
    _move(pool, record, pool, used, room, window_room)
    table[-1].count = used + room + window_room
    return pool


@kernel
def copy_values(source: Floats, first: int, target: Floats, start: int, count: int) -> None:
    """target[start : start + count] = source[first : first + count]; a slice would take numba a second to compile."""
    for i in range(count):
        target[start + i] = source[first + i]


@kernel
def _move(pool: Floats, record: Record, target: Floats, start: int, room: int, window_room: int) -> None:
    """Copy a column's values and its window to `target`, from `start` on, and let them live there."""
    window_start = start + room
    if record.counted == 1:
        copy_values(pool, record.start, target, start, record.below)
        copy_values(pool, record.start + record.room // 2, target, start + room // 2, record.below)
    else:
        copy_values(pool, record.start, target, start, record.count)
        copy_values(pool, record.window_start, target, window_start, record.window)
    record.start = start
    record.room = room
    record.window_start = window_start
    record.window_room = window_room


@kernel(over="values")
def push(pool: Floats, table: Table, column: int, values: Floats) -> None:
    """Add values (n,) to a column with enough room."""
    record: Record = table[column]
    copy_values(values, 0, pool, record.start + record.count, values.shape[0])
    record.count += values.shape[0]
    if record.window > 0:
        _push_window(pool, record, values)


@kernel
def push_one(pool: Floats, table: Table, column: int, value: float) -> None:
    """Add one value to a column with enough room: `push` without its overhead."""
    record: Record = table[column]
    pool[record.start + record.count] = value
    record.count += 1
    if record.window > 0:
        lowest = pool[record.window_start]
        highest = pool[record.window_start + record.window - 1]
        if value < lowest:
            record.below += 1
        elif value <= highest:
            if value == lowest and value == highest:
                record.below += record.below < (record.count - record.window) // 2
            elif value == lowest:
                record.below += 1
            elif value < highest:
                _insert(pool, record, value)
                _trim(pool, record)


@kernel
def _push_window(pool: Floats, record: Record, values: Floats) -> None:
    """Count new values outside a column's window, take in those inside it.

    Values equal to the lowest of the window may stand just below it, those equal to the highest just above it: ranks
    among equal values are anybody's. If the whole window is one value, its equals go where they keep the median
    central.
    """
    added = values.shape[0]
    lowest = pool[record.window_start]
    highest = pool[record.window_start + record.window - 1]
    less = 0
    more = 0
    if lowest == highest:
        for i in range(added):
            less += values[i] < lowest
            more += values[i] > highest
        record.below += less
        central = (record.count - record.window) // 2 - record.below
        record.below += max(0, min(added - less - more, central))
        return
    for i in range(added):
        less += values[i] <= lowest
        more += values[i] >= highest
    record.below += less
    if less + more < added:
        for i in range(added):
            if lowest < values[i] and values[i] < highest:
                _insert(pool, record, values[i])
        _trim(pool, record)


@kernel
def _insert(pool: Floats, record: Record, value: float) -> None:
    """Take a value that lies inside the window, above its first one, into it."""
    place = record.window_start + record.window
    while pool[place - 1] > value:
        pool[place] = pool[place - 1]
        place -= 1
    pool[place] = value
    record.window += 1


@kernel
def _trim(pool: Floats, record: Record) -> None:
    """Shorten a window that has become too long to its proper length, around the median if that is still in it."""
    wanted = window_length(record.count)
    if record.window <= 2 * wanted:
        return
    middle = (record.count - 1) // 2 - record.below
    first = max(0, min(middle - wanted // 2, record.window - wanted))
    at = record.window_start
    for i in range(wanted):
        pool[at + i] = pool[at + first + i]
    record.below += first
    record.window = wanted


@kernel
def _search(pool: Floats, record: Record) -> None:
    """Make the window anew around the median."""
    count = record.count
    wanted = min(window_length(count), count)
    first = max(0, min((count - 1) // 2 - wanted // 2, count - wanted))
    if record.window > 1 and _search_nearby(pool, record, first, wanted):
        return
    values = np.empty(count)
    copy_values(pool, record.start, values, 0, count)
    values = np.partition(values, np.array([first, first + wanted - 1]))
    _set_window(pool, record, np.sort(values[first : first + wanted]), 0, first, wanted)


@kernel
def _search_nearby(pool: Floats, record: Record, first: int, wanted: int) -> bool:
    """Look for the ranks first .. first + wanted − 1 in the neighbourhood of the old window, in one scan of all values.

    The old window tells how densely values lie; a neighbourhood twice as wide as that suggests nearly always holds the
    wanted ranks and little more. Returns whether it did.
    """
    at, length = record.window_start, record.window
    lowest, highest = pool[at], pool[at + length - 1]
    step = (highest - lowest) / length
    low = lowest - step * (length + 2 * max(0, record.below - first))
    high = highest + step * (length + 2 * max(0, first + wanted - record.below - length))
    if not (low > -np.inf and high < np.inf and low < high):
        return False
    nearby = np.empty(8 * (wanted + length))
    less, size = 0, 0
    for i in range(record.start, record.start + record.count):
        if pool[i] < low:
            less += 1
        elif pool[i] <= high:
            if size == nearby.shape[0]:
                return False
            nearby[size] = pool[i]
            size += 1
    if less > first or less + size < first + wanted:
        return False
    _set_window(pool, record, np.sort(nearby[:size]), first - less, first, wanted)
    return True


@kernel
def _set_window(pool: Floats, record: Record, ordered: Floats, start: int, first: int, wanted: int) -> None:
    """Let ordered[start : start + wanted] be the window, `first` the number of values below it."""
    copy_values(ordered, start, pool, record.window_start, wanted)
    record.below = first
    record.window = wanted


@kernel
def median(pool: Floats, table: Table, column: int) -> float:
    """The median of a column that has values; for an even number of them the mean of the two in the middle."""
    record: Record = table[column]
    count = record.count
    lower_at = (count - 1) // 2 - record.below
    upper_at = count // 2 - record.below
    if lower_at < 0 or upper_at >= record.window:
        _search(pool, record)
        lower_at = (count - 1) // 2 - record.below
        upper_at = count // 2 - record.below
    lower = pool[record.window_start + lower_at]
    upper = pool[record.window_start + upper_at]
    middle: float = lower if lower == upper else 0.5 * lower + 0.5 * upper
    return middle
