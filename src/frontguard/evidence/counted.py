"""Values as the different ones with how often each came: what a mean needs of a rate, of stars, of grades.

They lie in an array, sorted, from a place `first` on, and their counts (whole numbers, exact up to 2⁵³) `apart` behind
them.
"""

from __future__ import annotations

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats

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
