"""Arms that are named by whole numbers: their texts are made once for each number, not once for each row."""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from frontguard._common.typing import Ints
from frontguard.logs.memory import as_arrow, as_numpy
from frontguard.logs.sources.columns import as_text

_WIDEST = 1 << 24
"""Numbers from the least to the largest beyond which there is no table of them: they may be hashes of something."""


class _Known(NamedTuple):
    """What was met so far; never changed, so that threads read it without waiting for each other."""

    first: int  # the number that places[0] is of
    places: npt.NDArray[np.int32]  # where the text of first, first + 1, … stands, or −1
    texts: pa.Array


class NumberedNames:
    """Columns of whole numbers as text, batch by batch, as dictionaries of which each begins with the one before.

    >>> names = NumberedNames()
    >>> one, other = (names.texts(pa.array(some), "log") for some in ([7, -1, 7], [7, 9]))
    >>> one.to_pylist(), other.to_pylist(), other.dictionary.to_pylist()
    (['7', '-1', '7'], ['7', '9'], ['-1', '7', '9'])
    """

    def __init__(self) -> None:
        self._known = _Known(0, np.empty(0, np.int32), as_arrow(np.empty(0, np.int64)).cast(pa.string()))
        self._lock = Lock()

    def texts(self, column: pa.Array, where: str) -> pa.Array:
        """The names in a column of whole numbers; as `as_text` has them. Threads may call."""
        if column.null_count or not len(column):
            return as_text(column, where)
        values = as_numpy(column)
        least, most = int(values.min()), int(values.max())
        if not -(2**62) < least <= most < 2**62:
            return as_text(column, where)
        values = values.astype(np.int64, copy=False)
        known = self._known
        found = _places(known, values, least, most)
        if found is None:
            with self._lock:
                known = self._with(values, least, most)
            found = _places(known, values, least, most)
            if found is None:  # they are too far apart
                return as_text(column, where)
        return pa.DictionaryArray.from_arrays(as_arrow(found), known.texts, safe=False)

    def _with(self, values: Ints, least: int, most: int) -> _Known:
        """What is known once these are, too."""
        first, places, texts = self._known
        last = first + len(places) - 1
        if not len(places):
            first, last = least, least - 1
        begin, end = min(first, least), max(last, most)
        if end - begin >= _WIDEST:
            return self._known
        wider = np.full(end - begin + 1, -1, np.int32)
        wider[first - begin : first - begin + len(places)] = places
        there = np.zeros(len(wider), np.bool_)
        there[values - begin] = True
        new = np.flatnonzero(there & (wider < 0))
        wider[new] = np.arange(len(texts), len(texts) + len(new), dtype=np.int32)
        more: Any = as_arrow(new + begin).cast(pa.string())
        self._known = _Known(begin, wider, pa.concat_arrays([texts, more]))
        return self._known


def _places(known: _Known, values: Ints, least: int, most: int) -> npt.NDArray[np.int32] | None:
    """Where the texts of these stand; None where any is new."""
    if least < known.first or most >= known.first + len(known.places):
        return None
    found = known.places[values - known.first]
    return None if int(found.min()) < 0 else found
