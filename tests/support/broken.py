"""Plain values that are nearly right: the values of a JSON document with some of them replaced, lost or renamed."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

BROKEN_VALUES: list[Any] = [
    None, True, 0, 1, -1, 0.5, -3.5, 1e300, -1e308, 1e-320, 10**400, 2**63, "", "x", "keep", "2%", "NaN", "\ud800",
    "<script>", [], [1], [None, None], {}, {"a": 1}, {"seconds": [1, 2]}, [[[]]],
]  # fmt: skip


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if before:
        yield before
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*before, key))


def broken(value: Any, chance: random.Random) -> Any:
    """The value with something replaced, taken away, renamed or put elsewhere in up to four places."""
    value = copy.deepcopy(value)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        every = list(places(value))
        shallow = [place for place in every if len(place) <= 2]
        if not every:
            return value
        place = chance.choice(every if chance.random() < 0.5 else shallow)
        holder = value
        for key in place[:-1]:
            holder = holder[key]
        match chance.randrange(4):
            case 0:
                holder[place[-1]] = copy.deepcopy(chance.choice(BROKEN_VALUES))
            case 1:
                del holder[place[-1]]
            case 2 if isinstance(holder, dict):
                holder[chance.choice(["zz", "", "seconds"])] = holder.pop(place[-1])
            case _:
                others = list(holder.values()) if isinstance(holder, dict) else holder
                holder[place[-1]] = copy.deepcopy(chance.choice(others))
    return value
