"""Values by arm, made piece by piece where there are a million; and what the arms themselves are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.phrases import slashed

AT_A_TIME = 20_000
"""Arms that are brought to plain values in one piece."""


class ByArm:
    """Pairs of an arm's name and a value, made one after another: with a million arms they are not wanted at once."""

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        self.pairs = pairs

    def pieces(self) -> Iterator[dict[str, Any]]:
        """The pairs as dictionaries of some thousand arms."""
        rest = iter(self.pairs)
        while piece := dict(islice(rest, AT_A_TIME)):
            yield piece


class TableByArm(ByArm):
    """Tables of numbers (K, M) by arm and objective: the number, or a list of one of each table; None if not finite."""

    def __init__(self, arms: Sequence[str], names: Sequence[str], *tables: Floats) -> None:
        self.arms, self.names, self.tables = arms, names, tables
        super().__init__(self._pairs())

    def _pairs(self) -> Iterator[tuple[str, Any]]:
        for arm, *rows in zip(self.arms, *map(finite_rows, self.tables), strict=True):
            values = rows[0] if len(rows) == 1 else map(list, zip(*rows, strict=True))
            yield arm, dict(zip(self.names, values, strict=True))


def finite_rows(values: Floats) -> Iterator[list[float | None]]:
    """The rows of a table as Python's own numbers, some thousand at a time; None where they are not finite."""
    for start in range(0, len(values), AT_A_TIME):
        part = values[start : start + AT_A_TIME]
        plain = part.astype(object)
        plain[~np.isfinite(part)] = None
        yield from plain.tolist()


@dataclass(frozen=True, eq=False)
class ArmParts:
    """What the arms are made of, where several columns, or the parameters of a grid, name them together.

    Each column's different texts are kept once, and `codes` (columns, K) says which of them an arm has.

    >>> parts = ArmParts.of(["lang", "size"], [("c", "128"), ("c", "64")])
    >>> parts.column(0), parts.row(1), str(parts)
    (['c', 'c'], ('c', '64'), 'lang/size')
    """

    names: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    codes: Ints

    @classmethod
    def of(cls, names: Sequence[str], rows: Iterable[Sequence[str]]) -> ArmParts:
        """The parts of each arm, in the order of the arms."""
        places: list[dict[str, int]] = [{} for _ in names]
        codes = [[known.setdefault(text, len(known)) for known, text in zip(places, row, strict=True)] for row in rows]
        table = np.array(codes, np.int64).reshape(len(codes), len(names)).T
        return cls(tuple(names), tuple(map(tuple, places)), table)

    def column(self, d: int) -> list[str]:
        """The texts of the d-th column (K,)."""
        return [self.texts[d][code] for code in self.codes[d].tolist()]

    def beside(self, columns: dict[str, Any], arms: Ints | None = None) -> dict[str, Any]:
        """These columns, the first of which has names, with the parts behind it; of all arms, or row by row of these.

        >>> list(ArmParts.of(["arm", "size"], [("c", "64")]).beside({"arm": ["c/64"], "pulls": [3]}))
        ['arm', 'arm of the arm', 'size', 'pulls']
        """
        (name, names), *rest = columns.items()
        some = self if arms is None else replace(self, codes=self.codes[:, arms])
        # A part may be called as one of these columns is.
        called = [f"{part} of the arm" if part in columns else part for part in self.names]
        return {name: names, **{each: some.column(d) for d, each in enumerate(called)}, **dict(rest)}

    def row(self, arm: int) -> tuple[str, ...]:
        """The parts of an arm."""
        return tuple(texts[code] for texts, code in zip(self.texts, self.codes[:, arm].tolist(), strict=True))

    def rows(self) -> Iterator[list[str]]:
        """The parts of each arm, some thousand arms at a time."""
        for start in range(0, self.codes.shape[1], AT_A_TIME):
            some = self.codes[:, start : start + AT_A_TIME].tolist()
            columns = [[texts[code] for code in codes] for texts, codes in zip(self.texts, some, strict=True)]
            yield from map(list, zip(*columns, strict=True))

    def __str__(self) -> str:
        return slashed(self.names)
