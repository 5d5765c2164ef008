"""Entries of JSON: plain values by arm, and their text in pieces, for there may be a million arms."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

import numpy as np

from frontguard._common.typing import Floats

AT_A_TIME = 20_000
"""Arms that are brought to plain values in one piece."""

Entries = Iterable[tuple[str, Any]]
"""Entries of a JSON object in their order; what there is for each arm as `ByArm`."""


def plain(value: Any) -> Any:
    """A value of a record as JSON can hold it: tuples as lists, and None for what is not finite."""
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class ByArm:
    """Pairs of an arm's name and a value, made one after another: with a million arms they are not wanted at once."""

    def __init__(self, pairs: Iterable[tuple[str, Any]] = ()) -> None:
        self.pairs = pairs

    def pieces(self) -> Iterator[str]:
        """The JSON of some thousand pairs at a time, without braces around it."""
        rest = iter(self.pairs)
        while piece := dict(islice(rest, AT_A_TIME)):
            yield _of_pairs(piece)


class TableByArm(ByArm):
    """Tables of numbers (K, M) by arm and objective: the number, or a list of one of each table; None if not finite."""

    def __init__(self, arms: Sequence[str], names: Sequence[str], *tables: Floats) -> None:
        self.arms, self.names, self.tables = arms, names, tables
        super().__init__(self._pairs())

    def _pairs(self) -> Iterator[tuple[str, Any]]:
        for arm, *rows in zip(self.arms, *map(finite_rows, self.tables), strict=True):
            values = rows[0] if len(rows) == 1 else map(list, zip(*rows, strict=True))
            yield arm, dict(zip(self.names, values, strict=True))

    def pieces(self) -> Iterator[str]:
        """Yield the JSON, made column by column, in a fraction of the time that a dictionary for each arm takes."""
        opens, closes = ("", "") if len(self.tables) == 1 else ("[", "]")
        for start in range(0, len(self.arms), AT_A_TIME):
            arms = [quoted(arm) for arm in self.arms[start : start + AT_A_TIME]]
            columns: list[Iterable[str]] = [chain([""], repeat(",")), arms]
            between = ":{"
            for d, name in enumerate(self.names):
                between += f"{quoted(name)}:{opens}"
                for each in self.tables:
                    columns += [repeat(between), _numbers(each[start : start + AT_A_TIME, d])]
                    between = ","
                between = f"{closes},"
            columns.append(repeat(closes + "}" if self.names else ":{}"))
            yield "".join(chain.from_iterable(zip(*columns)))  # noqa: B905  # what is repeated has no end


def finite(values: Any) -> list[Any]:
    """An array as Python's own numbers; None where they are not finite.

    >>> finite(np.array([[1.0, np.inf], [np.nan, 2.0]]))
    [[1.0, None], [None, 2.0]]
    """
    plain = values
    if not np.isfinite(values).all():
        plain = values.astype(object)
        plain[~np.isfinite(values)] = None
    found: list[Any] = plain.tolist()
    return found


def finite_rows(values: Any) -> Iterator[list[Any]]:
    """The rows of a table in the same way, some thousand at a time."""
    for start in range(0, len(values), AT_A_TIME):
        yield from finite(values[start : start + AT_A_TIME])


def table_of(
    by_arm: Mapping[str, Mapping[str, float | None]],
    arms: Sequence[str],
    names: Sequence[str],
    instead: float = np.nan,
) -> Floats:
    """The table (K, M) of numbers by arm and objective; `instead` where there is null or nothing."""
    table = np.full((len(arms), len(names)), instead)
    for row, arm in enumerate(arms):
        given = by_arm.get(arm, {})
        for column, name in enumerate(names):
            value = given.get(name)
            if value is not None:
                table[row, column] = value
    return table


def gathered(entries: Entries, arm: str | None = None) -> dict[str, Any]:
    """All entries as plain values; with an arm, what there is for each arm is that of this one alone."""
    return {key: _gathered(value, arm) for key, value in entries}


def _gathered(value: Any, arm: str | None) -> Any:
    if isinstance(value, ByArm):
        return {name: each for name, each in value.pairs if arm is None or name == arm}
    return gathered(value.items(), arm) if isinstance(value, dict) else value


def json_pieces(entries: Entries) -> Iterator[str]:
    """The JSON text of entries, all of it in ASCII, in pieces: never all of a million arms is there at once."""
    between = "{"
    for key, value in entries:
        yield f"{between}{quoted(key)}: "
        between = ", "
        if isinstance(value, ByArm):
            inner = "{"
            for piece in value.pieces():
                yield inner + piece
                inner = ", "
            yield "}" if inner == ", " else "{}"
        elif isinstance(value, dict) and value:
            yield from json_pieces(value.items())
        else:
            yield json.dumps(value, allow_nan=False)
    yield "}"


def _of_pairs(piece: dict[str, Any]) -> str:
    """The text of `json.dumps`, but for blanks and the outer braces, in a tenth of its time.

    >>> _of_pairs({"a": [0.1, None, 1e-07]}), _of_pairs({"é": 1})
    ('"a":[0.1,null,1e-7]', '"\\\\u00e9": 1')
    """
    from pydantic_core import to_json

    try:
        text = to_json(piece)
    except ValueError:  # half a surrogate pair, which is no text
        return json.dumps(piece)[1:-1]
    return text[1:-1].decode() if text.isascii() else json.dumps(piece)[1:-1]


def _numbers(column: Floats) -> list[str]:
    """Each number as JSON; null where it is not finite.

    >>> _numbers(np.array([0.1, np.inf, -2.0]))
    ['0.1', 'null', '-2.0']
    """
    from pydantic_core import to_json

    finite = np.where(np.isfinite(column), column, np.nan).tolist()
    return to_json(finite, inf_nan_mode="null")[1:-1].decode().split(",")
