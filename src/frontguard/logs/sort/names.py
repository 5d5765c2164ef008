"""Names of arms as codes: each different name gets a number, 0, 1, 2, … in order of first appearance.

Polars encodes the names of a batch; a table maps its codes, which all of the process shares, to ours. Names that are
small whole numbers, as such or as text, are looked up in such a table by themselves: no text is made or hashed per row.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from frontguard.errors import BadArgument

if TYPE_CHECKING:
    import polars as pl

Codes = npt.NDArray[np.int32]

_LARGEST = 1 << 24  # whole numbers below this are looked up by themselves
_TENS = 10 ** np.arange(1, 10, dtype=np.uint32)
_UNKNOWN = -1


class ArmNames:
    """All names met so far.

    >>> import polars as pl
    >>> names = ArmNames()
    >>> names.codes(pl.Series(["b", "a", "b"])), names.codes(pl.Series(["c", "a"]))
    (array([0, 1, 0], dtype=int32), array([2, 1], dtype=int32))
    >>> names.in_order(), names.texts(names.in_order())
    (array([1, 0, 2], dtype=int32), ['a', 'b', 'c'])
    """

    def __init__(self) -> None:
        self._code_of: dict[str, int] = {}
        self._by_category = _Table()
        self._by_number = _Table()

    def __len__(self) -> int:
        return len(self._code_of)

    @cached_property
    def _categories(self) -> pl.Series:
        """Keeps the codes of Polars alive between batches."""
        import polars as pl

        return pl.Series([], dtype=pl.Categorical)

    def codes(self, names: pl.Series) -> Codes:
        """The codes (n,) of these names: text, or whole numbers."""
        if names.null_count():
            row = int(names.is_null().to_numpy().argmax())
            raise BadArgument(
                "arm", f"{names.null_count():,} rows have no arm, the first of them row {row + 1:,} of its batch"
            )
        known = names if names.dtype.is_integer() else _numbered(names)
        if known is not None:
            numbers = known.to_numpy()
            if not len(numbers) or (numbers.min() >= 0 and numbers.max() < _LARGEST):
                return self._coded(self._by_number, numbers, names)
        texts = names.cast(str)
        return self._coded(self._by_category, texts.cast(self._categories.dtype).to_physical().to_numpy(), texts)

    def _coded(self, table: _Table, keys: npt.NDArray[Any], names: pl.Series) -> Codes:
        """The codes of names with these keys; a new name gets the next code."""
        codes = table.look_up(keys)
        new = np.flatnonzero(codes == _UNKNOWN)
        if len(new):
            first = new[np.sort(np.unique(keys[new], return_index=True)[1])]
            texts = names.gather(first).cast(str).to_list()
            table.places[keys[first]] = [self._code_of.setdefault(text, len(self._code_of)) for text in texts]
            codes = table.look_up(keys)
        return codes

    @property
    def names(self) -> list[str]:
        """All names (K,), by code."""
        return list(self._code_of)

    def code(self, name: str) -> int:
        """The code of a name that was met."""
        return self._code_of[name]

    def in_order(self) -> Codes:
        """The codes (K,) of the names in plain text order."""
        import polars as pl

        return pl.Series(self.names, dtype=pl.String).arg_sort().to_numpy().astype(np.int32)

    def texts(self, codes: Codes) -> list[str]:
        """The names of these codes."""
        names = self.names
        return [names[code] for code in codes.tolist()]


def _numbered(names: pl.Series) -> pl.Series | None:
    """The whole numbers that names stand for, where every one is written as its number is: "7", not "007" or "+7"."""
    import polars as pl

    if not len(names) or not names[0].isdigit():
        return None
    numbers = names.cast(pl.UInt32, strict=False)
    if numbers.null_count():
        return None
    values = numbers.to_numpy()
    more_digits = sum((values >= ten).view(np.uint8) for ten in _TENS)
    return numbers if np.array_equal(names.str.len_bytes().to_numpy() - 1, more_digits) else None


class _Table:
    """Codes by a key that is a whole number."""

    def __init__(self) -> None:
        self.places: Codes = np.empty(0, np.int32)

    def look_up(self, keys: npt.NDArray[Any]) -> Codes:
        """The codes (n,) of these keys, −1 where there is none."""
        if len(keys) and keys.max() >= len(self.places):
            more = max(int(keys.max()) + 1, 2 * len(self.places)) - len(self.places)
            self.places = np.concatenate([self.places, np.full(more, _UNKNOWN, np.int32)])
        found: Codes = self.places[keys]
        return found
