"""Which rows of a log count: those that have one of some values in each of some columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from frontguard._common.typing import Bools
from frontguard.errors import BadArgument, BadInput
from frontguard.notices import RowsLeftOut
from frontguard.phrases import did_you_mean, joined, quoted, shown

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SEEN = 1000
"""Values of a column that are remembered for the message that none of them is wanted."""


@dataclass(frozen=True)
class RowFilter:
    """For each of some columns the values, as texts, of which a row must have one; "" is a value that is missing.

    >>> RowFilter.of({"host": "a", "size": [16, 8]}).wanted
    (('host', ('a',)), ('size', ('16', '8')))
    """

    wanted: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> RowFilter:
        """Of columns and values as a user gives them: one for a column, or several of which any will do."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise BadArgument("where", must="be columns and the values that are wanted", got=shown(given))
        wanted = []
        for column, values in given.items():
            if not isinstance(column, str):
                raise BadArgument("where", must="name columns", got=shown(column))
            several = values if isinstance(values, (list, tuple, set, frozenset)) else [values]
            if not several:
                raise BadArgument("where", f"{shown(column)} needs a value at least; got none")
            wanted.append((column, tuple(sorted({_text(value, column) for value in several}))))
        return cls(tuple(sorted(wanted)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that it looks at."""
        return tuple(column for column, _ in self.wanted)

    def to_dict(self) -> dict[str, list[str]]:
        """Plain values, the same for the same filter."""
        return {column: list(values) for column, values in self.wanted}


ALL_ROWS = RowFilter()


def _text(value: Any, column: str) -> str:
    from frontguard.logs.sources.columns import text_of

    return text_of(value, f"where, column {shown(column)}") or ""


def _alike(texts: Iterable[str]) -> list[str]:
    """Texts as they are compared: 8.0 is 8, as where the column has fractions, but 007 is no 7.

    >>> _alike(["8", "8.0", "0.5", "007", "1e3"])
    ['8', '8', '0.5', '007', '1e3']
    """
    import pyarrow as pa

    from frontguard.logs.sources.columns import whole_numbers

    found: list[str] = whole_numbers(pa.array(list(texts), pa.string())).to_pylist()
    return found


class Sieve:
    """A filter at work on the rows of a log, piece by piece."""

    def __init__(self, filter: RowFilter, where: str) -> None:
        self._filter, self._where = filter, where
        self._rows = self._kept = 0
        self._seen: dict[str, dict[str, None]] = {column: {} for column in filter.columns}  # what is there instead

    def kept(self, columns: Mapping[str, pa.Array]) -> Bools:
        """Which rows fit (n,), from the texts of the filter's columns."""
        fits = np.logical_and.reduce(
            [self._fitting(name, columns[name], values) for name, values in self._filter.wanted]
        )
        self._rows += len(fits)
        self._kept += int(fits.sum())
        return np.asarray(fits, np.bool_)

    def _fitting(self, name: str, column: pa.Array, values: tuple[str, ...]) -> Bools:
        import pyarrow as pa
        import pyarrow.compute as pc

        from frontguard.logs.sources.columns import whole_numbers

        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        wanted = sorted(set(_alike(values)))
        # Each name is looked at once, however many rows have it; the last place is for rows without one.
        names = pa.concat_arrays([coded.dictionary, pa.array([""], pa.string())])
        alike = whole_numbers(names)
        fits = pc.is_in(alike, value_set=pa.array(wanted, pa.string())).to_numpy(zero_copy_only=False)
        codes = pc.fill_null(coded.indices, len(names) - 1).to_numpy(zero_copy_only=False)
        if len(self._seen[name]) < MOST_SEEN:
            some = names.take(pa.array(np.unique(codes)[:MOST_SEEN]))
            self._seen[name].update(dict.fromkeys(some.to_pylist()))
        return np.asarray(fits[codes], np.bool_)

    def notice(self) -> RowsLeftOut:
        """What was left out, after the last row; refused if that was all."""
        if self._rows and not self._kept:
            for name, values in self._filter.wanted:
                seen = list(self._seen[name])
                if len(seen) < MOST_SEEN and not set(_alike(values)) & set(_alike(seen)):
                    hint = did_you_mean(values[0], seen) if len(values) == 1 else ""
                    raise BadInput(
                        f"{self._where}: no row has {quoted(values)} in the column {shown(name)}{hint}; there "
                        f"{'is' if len(seen) == 1 else 'are'} {quoted(sorted(seen))}"
                    )
            all_of = joined([f"{shown(name)} {quoted(values)}" for name, values in self._filter.wanted])
            raise BadInput(f"{self._where}: none of its {self._rows:,} rows has {all_of} at once")
        return RowsLeftOut(self._filter.wanted, self._rows - self._kept, self._rows)
