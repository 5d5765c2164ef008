"""All told pulls of a study as columns, from which the last ones of any arm are had at the cost of these alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard.errors import BadInput
from frontguard.studies.overview import Measurements
from frontguard.studies.settings import Settings

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Measured:
    """Columns that grow by doubling; every row has a link to the row before it of the same arm."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._size = 0
        whole = [(name, np.int64) for name in ("pull", "arm", "before", "reason", "worker")]
        values = ("values", np.float64, (self._metrics,))
        self._rows: npt.NDArray[np.void] = np.empty(256, np.dtype([*whole, ("at", np.float64), values]))
        self._last = np.full(len(settings.arms), -1, np.int64)  # row of each arm
        self._count = np.zeros(len(settings.arms), np.int64)
        self._texts: list[str] = []  # reasons and names of workers, each once ...
        self._numbers: dict[str, int] = {}  # ... and where they stand

    @property
    def _metrics(self) -> int:
        return len(self._settings.objectives)

    def __len__(self) -> int:
        return self._size

    def add(
        self, arms: Ints, pulls: Ints, values: Floats, reasons: tuple[str, ...], workers: tuple[str, ...], at: Floats
    ) -> None:
        """Append told pulls (n,) in their order, with values (n, M) as measured."""
        start, end = self._size, self._size + len(pulls)
        if end > len(self._rows):
            grown: npt.NDArray[Any] = np.empty(max(end, 2 * len(self._rows)), self._rows.dtype)
            grown[:start] = self._rows[:start]
            self._rows = grown
        rows = self._rows[start:end]
        rows["pull"], rows["arm"], rows["at"], rows["values"] = pulls, arms, at, values
        rows["reason"], rows["worker"] = self._numbered(reasons), self._numbered(workers)
        order = np.argsort(arms, kind="stable")
        ordered = arms[order]
        first = np.ones(len(order), np.bool_)  # of its arm, among the new ones
        first[1:] = ordered[1:] != ordered[:-1]
        before = np.empty(len(order), np.int64)
        before[1:] = start + order[:-1]
        before[first] = self._last[ordered[first]]
        rows["before"][order] = before
        self._last[arms] = start + np.arange(len(arms))  # of several of one arm the last one stays
        self._count += np.bincount(arms, minlength=len(self._count))
        self._size = end

    def _numbered(self, texts: tuple[str, ...]) -> list[int]:
        numbers = self._numbers
        for text in set(texts) - numbers.keys():
            numbers[text] = len(self._texts)
            self._texts.append(text)
        return [numbers[text] for text in texts]

    def recent(self, most: int) -> Floats:
        """When the last `most` pulls were told, in their order."""
        at: Floats = self._rows["at"][max(0, self._size - most) : self._size].copy()
        return at

    def values(self, most: int) -> tuple[Ints, Floats]:
        """Arms (n,) and values (n, M) of the first `most` pulls, in their order."""
        rows = self._rows[: min(most, self._size)]
        return rows["arm"].copy(), rows["values"].reshape(len(rows), self._metrics).copy()

    def of(self, arm: int, most: int) -> Measurements:
        """The last `most` pulls of an arm in their order."""
        if not 0 <= arm < len(self._last):
            raise BadInput(f"arm must be a position from 0 to {len(self._last) - 1}; got {arm!r}")
        if most < 1:
            raise BadInput(f"most must be a whole number from 1; got {most!r}")
        places: list[int] = []
        place, before = int(self._last[arm]), self._rows["before"]
        while place >= 0 and len(places) < most:
            places.append(place)
            place = int(before[place])
        rows = self._rows[np.array(places[::-1], np.int64)]
        return Measurements(
            arm=arm,
            name=self._settings.arms[arm],
            objectives=self._settings.objectives,
            total=int(self._count[arm]),
            pulls=rows["pull"].copy(),
            values=rows["values"].reshape(len(rows), self._metrics).copy(),
            reasons=tuple(self._texts[number] for number in rows["reason"].tolist()),
            workers=tuple(self._texts[number] for number in rows["worker"].tolist()),
            at=rows["at"].copy(),
        )
