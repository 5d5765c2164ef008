"""Plain values out of JSON, checked as they are taken: an error says where, what was wanted, and what came."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard.errors import BadInput

__all__ = ["Value", "parsed"]

_LARGEST = 2**53  # whole numbers up to here are exact as floats, and far beyond any count of pulls
_FARTHEST = 1e300  # values beyond would overflow as soon as anything is computed with them


def parsed(text: str, where: str) -> Value:
    """The value of a JSON text."""
    try:
        return Value(json.loads(text, parse_constant=_refused), where)
    except json.JSONDecodeError as error:
        raise BadInput(
            f"{where}: wanted the JSON of run, analyze, demo or reproduce; it breaks off or is damaged at line "
            f"{error.lineno}, "
            f"column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise BadInput(
            f"{where}: wanted the JSON of run, analyze, demo or reproduce; it is nested too deeply"
        ) from None
    except ValueError as error:
        raise BadInput(f"{where}: {error}") from None


def _refused(constant: str) -> float:
    raise ValueError(f"JSON has no {constant}: what is not known or not finite is null in frontguard's output")


class Value:
    """A value and where it stands."""

    __slots__ = ("raw", "where")

    def __init__(self, raw: Any, where: str) -> None:
        self.raw, self.where = raw, where

    def wrong(self, wanted: str) -> BadInput:
        """The error that something else was wanted here."""
        return BadInput(f"{self.where}: wanted {wanted}; got {_got(self.raw)}")

    # Containers -------------------------------------------------------------------------------------------------------

    @property
    def fields(self) -> dict[str, Any]:
        """The raw entries of an object."""
        if not isinstance(self.raw, dict):
            raise self.wrong("an object")
        return self.raw

    def __contains__(self, key: str) -> bool:
        return self.fields.get(key) is not None

    def __getitem__(self, key: str) -> Value:
        if key not in self.fields:
            raise BadInput(f"{self.where}: wanted an entry {key!r}; got none")
        return Value(self.raw[key], f"{self.where}: {key}")

    def get(self, key: str) -> Value | None:
        """An entry, or None where there is none or it is null."""
        found = self.fields.get(key)
        return None if found is None else Value(found, f"{self.where}: {key}")

    def items(self) -> Iterator[tuple[str, Value]]:
        """The entries of an object."""
        for key, raw in self.fields.items():
            yield key, Value(raw, f"{self.where}: {key[:60]}")

    def elements(self) -> list[Value]:
        """The elements of a list."""
        if not isinstance(self.raw, list):
            raise self.wrong("a list")
        return [Value(raw, f"{self.where}: element {place + 1}") for place, raw in enumerate(self.raw)]

    # Plain values -----------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """A text."""
        if not isinstance(self.raw, str):
            raise self.wrong("a text")
        return self.raw

    def texts(self) -> list[str]:
        """A list of texts."""
        return [each.text() for each in self.elements()]

    def truth(self) -> bool:
        """True or false."""
        if not isinstance(self.raw, bool):
            raise self.wrong("true or false")
        return self.raw

    def number(self, least: float = -_FARTHEST, most: float = _FARTHEST) -> float:
        """A finite number."""
        if isinstance(self.raw, bool) or not isinstance(self.raw, (int, float)):
            raise self.wrong("a number")
        if not (math.isfinite(self.raw) if isinstance(self.raw, float) else abs(self.raw) < _FARTHEST):
            raise self.wrong("a finite number")
        if not least <= self.raw <= most:
            upper = f" to {most:g}" if most < _FARTHEST else ""
            raise self.wrong(f"a number from {least:g}{upper}")
        return float(self.raw)

    def number_or(self, instead: float) -> float:
        """A finite number, or `instead` where there is null."""
        return instead if self.raw is None else self.number()

    def whole(self, least: int = 0, most: int = _LARGEST) -> int:
        """A whole number."""
        if isinstance(self.raw, bool) or not isinstance(self.raw, int) or not least <= self.raw <= most:
            raise self.wrong(f"a whole number from {least:,} to {most:,}")
        return self.raw

    # One for each arm -------------------------------------------------------------------------------------------------

    def by_arm(self, places: dict[str, int]) -> Iterator[tuple[int, Value]]:
        """The entries of an object whose keys are arms, with the numbers of the arms."""
        for arm, value in self.items():
            if arm not in places:
                raise BadInput(f"{self.where}: wanted the names of arms that have a verdict; got {arm[:60]!r}")
            yield places[arm], value

    def rows(self, places: dict[str, int], names: list[str]) -> npt.NDArray[np.float64]:
        """Numbers (K, M) by arm and then by objective; NaN where there is null or nothing."""
        table = np.full((len(places), len(names)), np.nan)
        columns = {name: d for d, name in enumerate(names)}
        for arm, value in self.by_arm(places):
            for name, each in value.items():
                if name not in columns:
                    raise BadInput(f"{value.where}: wanted the objectives {', '.join(names)[:200]}; got {name[:60]!r}")
                table[arm, columns[name]] = each.number_or(math.nan)
        return table


def _got(raw: Any) -> str:
    if raw is None:
        return "null"
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, dict):
        return "an object"
    if isinstance(raw, list):
        return f"a list of {len(raw):,}"
    if isinstance(raw, int) and abs(raw) > 10**30:
        return "a number of very many digits"
    said = repr(raw)
    return said if len(said) <= 80 else said[:79] + "…"
