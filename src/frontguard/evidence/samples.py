"""Growing samples: with exact medians at O(1) a value, or kept sorted.

A sample with medians keeps, beside all its values, the few whose ranks lie around the median, sorted: the *window*,
about √n of them. A new value outside it is merely counted; one inside it is inserted. The rank of the median drifts by
about √n while n values come in, so a window has to be trimmed, but hardly ever searched anew.

Samples that are kept sorted are read at many ranks, or as a whole, but rarely: new values are merged in, O(1) a value
after batches that grow with n, and a few may lie beside the pool for a look. Those of which means count begin
*counted*: their different values are held with how often each came, until there are more than `MOST_DIFFERENT`.

Many samples (one for each arm and objective: the *columns*) share one pool of memory and one table of records.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints

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
        ("counted", np.int64),  # whether different values are held with how often each came, see `evidence.samples`
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
    """Return how many ranks around the median a sample of `count` values keeps sorted.

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
    # Rare enough to sort them all: `np.partition` takes four seconds to compile.
    _set_window(pool, record, np.sort(values), first, first, wanted)


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
    """Merge values (n,) into a sorted column with enough room, which is not counted and was never given to `push`."""
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
    """Add values (n, M) of `arms` (n,), which are in order, to columns that are kept sorted or not; NaN is left out."""
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
    """An array with all values of a column that is kept sorted, in ascending order, and where in it they begin."""
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
    """The different values of a counted column at the places first ≤ i < last in ascending order, and their counts."""
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


# They lie in an array, sorted, from a place `first` on, and their counts (whole numbers, exact up to 2⁵³) `apart`
# behind them.

_ALL = 1 << 62  # places: more than there are values


@kernel
def different_with(pool: Floats, first: int, held: int, block: Floats, most: int) -> int:
    """Return the number of different values with those of a sorted block (n,); any above `most` if more."""
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
