"""Values that a tolerance in percent cannot use, counted while a log is read: so the cause is named, and the remedy.

Such a value counts as one that could have been anything. Where most values of a metric are of that kind, it is the
tolerance that is wrong, and the question is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from frontguard._typing import Floats
from frontguard.errors import BadInput
from frontguard.logs.sort.rows import Batch
from frontguard.notices import NotPositive
from frontguard.objectives import Objective


def _name(batch: Batch, row: int) -> str:
    return str(batch.arms[row].as_py())


class PositiveCheck:
    """Counts, of the metrics that are asked for with a tolerance in percent, the values at or below 0.

    >>> check = PositiveCheck([Objective("profit", tolerance="5%")], ["profit"])
    >>> check.add([np.array([1.0, -2.0, 3.0])], lambda row: "abc"[row])
    >>> check.notices()
    (NotPositive(objective='profit', arm='b', count=1, of=3, example=-2.0, tolerance='5%', kind='not_positive'),)
    """

    def __init__(self, objectives: Sequence[Objective], metrics: Sequence[str]) -> None:
        self._relative = [(each, list(metrics).index(each.name)) for each in objectives if each.relative]
        self._counts = np.zeros(len(self._relative), np.int64)
        self._of = 0
        self._examples: dict[int, tuple[str, float]] = {}

    def watched(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same batches, counted as they go by."""
        for batch in batches:
            if self._relative:
                self.add(batch.values, partial(_name, batch))
            yield batch

    def add(self, columns: Sequence[Floats], arm: Callable[[int], str]) -> None:
        """Count some rows, given as columns (n,) of all metrics; `arm` names that of a row."""
        for place, (_, column) in enumerate(self._relative):
            values = np.asarray(columns[column], np.float64)
            low = np.flatnonzero((values <= 0.0) & np.isfinite(values))
            self._counts[place] += len(low)
            if len(low) and place not in self._examples:
                row = int(low[0])
                self._examples[place] = arm(row), float(values[row])
        self._of += len(columns[0]) if len(columns) else 0

    def notices(self) -> tuple[NotPositive, ...]:
        """One for each metric that has such values. Refuses a metric of which most values are so."""
        found = []
        for place, (objective, _) in enumerate(self._relative):
            if place not in self._examples:
                continue
            count, (arm, example) = int(self._counts[place]), self._examples[place]
            if 2 * count > self._of:
                raise BadInput(objective.not_positive(count, self._of, example, arm))
            found.append(NotPositive(objective.name, arm, count, self._of, example, str(objective.tolerance)))
        return tuple(found)
