"""Filters of rows: only rows count that have one of some values in each of some columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frontguard.errors import BadArgument, BadInput
from frontguard.notices import RowsLeftOut
from frontguard.phrases import did_you_mean, joined, quoted, shown

if TYPE_CHECKING:
    import polars as pl

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
        """Columns that it looks at."""
        return tuple(column for column, _ in self.wanted)

    def to_dict(self) -> dict[str, list[str]]:
        """Plain values, the same for the same filter."""
        return {column: list(values) for column, values in self.wanted}


ALL_ROWS = RowFilter()


def _alike(values: Iterable[str]) -> list[str]:
    """Values as they are compared: 8.0 is 8, as where the column has fractions, but 007 is no 7.

    >>> _alike(["8", "8.0", "0.5", "007", "1e3"])
    ['8', '8', '0.5', '007', '1e3']
    """
    import polars as pl

    from frontguard.logs.sources.values import whole_numbers

    return pl.DataFrame({"value": list(values)}).select(whole_numbers("value")).to_series().to_list()


def _text(value: Any, column: str) -> str:
    from frontguard.logs.sources.values import text_of

    return text_of(value, f"where, column {shown(column)}") or ""


class Sieve:
    """A filter at work on the rows of a log, piece by piece."""

    def __init__(self, filter: RowFilter, where: str) -> None:
        from frontguard.logs.sources.values import whole_numbers

        self._filter, self._where = filter, where
        self._rows = self._kept = 0
        self._seen: dict[str, set[str]] = {column: set() for column in filter.columns}  # while no row is kept
        # As they are compared 8.0 is 8, but 007 is no 7.
        self._alike = {column: whole_numbers(column).fill_null("") for column in filter.columns}

    def kept(self, rows: pl.DataFrame) -> pl.Series:
        """A mask (n,) of the rows that fit."""
        import polars as pl

        alike = rows.select(**self._alike)
        fits = alike.select(
            pl.all_horizontal(pl.col(name).is_in(_alike(values)) for name, values in self._filter.wanted)
        ).to_series()
        self._rows += len(fits)
        self._kept += int(fits.sum())
        if not self._kept:
            for name, seen in self._seen.items():
                if len(seen) < MOST_SEEN:
                    seen.update(alike[name].unique().head(MOST_SEEN))
        return fits

    def notice(self) -> RowsLeftOut:
        """The notice of rows left out, after the last row; refused if that was all of them."""
        if self._rows and not self._kept:
            for name, values in self._filter.wanted:
                seen = self._seen[name]
                if len(seen) < MOST_SEEN and not seen.intersection(_alike(values)):
                    hint = did_you_mean(values[0], seen) if len(values) == 1 else ""
                    raise BadInput(
                        f"{self._where}: no row has {quoted(values)} in the column {shown(name)}{hint}; there "
                        f"{'is' if len(seen) == 1 else 'are'} {quoted(sorted(seen))}"
                    )
            all_of = joined([f"{shown(name)} {quoted(values)}" for name, values in self._filter.wanted])
            raise BadInput(f"{self._where}: none of its {self._rows:,} rows has {all_of} at once")
        return RowsLeftOut(self._filter.wanted, self._rows - self._kept, self._rows)
