"""Values that an objective cannot use, counted while a log is read: so the cause is named, and the remedy.

Such are values at or below 0 where the tolerance is a percentage, and those beyond the bounds of a mean. Each counts as
one that could have been anything. Where most values of a metric are of that kind, it is the tolerance or the bounds
that are wrong, and the question is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.logs.sort.rows import Batch
from frontguard.notices import NotPositive, OutOfBounds
from frontguard.objectives import Objective
from frontguard.phrases import shown


def _name(batch: Batch, row: int) -> str:
    return str(batch.arms[row])


class UnusableCheck:
    """Counts the finite values of metrics that are asked for, and that their objectives cannot use.

    >>> check = UnusableCheck([Objective("profit", tolerance="5%")], ["profit"])
    >>> check.add([np.array([1.0, -2.0, 3.0])], lambda row: "abc"[row])
    >>> check.notices()
    (NotPositive(objective='profit', arm='b', count=1, of=3, example=-2.0, tolerance='5%', kind='not_positive'),)
    """

    def __init__(self, objectives: Sequence[Objective], metrics: Sequence[str]) -> None:
        self._watched = [(each, list(metrics).index(each.name)) for each in objectives]
        self._counts = np.zeros(len(self._watched), np.int64)
        self._of = 0
        self._examples: dict[int, tuple[str, float]] = {}

    def watched(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same batches, counted as they go by."""
        for batch in batches:
            self.add(batch.values, partial(_name, batch), batch.truths)
            yield batch

    def add(self, columns: Sequence[Floats], arm: Callable[[int], str], truths: frozenset[int] = frozenset()) -> None:
        """Count some rows, given as columns (n,) of all metrics; `arm` names that of a row.

        `truths` are the columns that hold true and false, which are no numbers to a tolerance.
        """
        for place, (objective, column) in enumerate(self._watched):
            if column in truths:
                refuse_truths(objective)
                continue
            if not objective.relative and objective.bounds is None:
                continue
            values = np.asarray(columns[column], np.float64)
            wrong = np.flatnonzero(np.isfinite(values) & ~objective.usable(values))
            self._counts[place] += len(wrong)
            if len(wrong) and place not in self._examples:
                row = int(wrong[0])
                self._examples[place] = arm(row), float(values[row])
        self._of += len(columns[0]) if len(columns) else 0

    def merge(self, other: UnusableCheck) -> None:
        """Add what another one has counted, of rows that come after these."""
        self._counts += other._counts
        self._of += other._of
        self._examples = {**other._examples, **self._examples}

    def notices(self) -> tuple[NotPositive | OutOfBounds, ...]:
        """One for each metric that has such values. Refuses a metric of which most values are so."""
        found: list[NotPositive | OutOfBounds] = []
        for place, (objective, _) in enumerate(self._watched):
            if place not in self._examples:
                continue
            count, (arm, example) = int(self._counts[place]), self._examples[place]
            # Of what is called a rate, or was taken for one, no value is a lie that lies outside: it is none.
            most = 2 * count > self._of or objective.bounds == (0.0, 1.0)
            if objective.bounds is None:
                if most:
                    raise BadInput(objective.not_positive(count, self._of, example, arm))
                found.append(NotPositive(objective.name, arm, count, self._of, example, str(objective.tolerance)))
            else:
                if most:
                    what = f"{count:,} of {self._of:,} values of {shown(objective.name)}"
                    raise BadInput(f"{what} {out_of_bounds(objective, example, arm)}")
                found.append(OutOfBounds(objective.name, arm, count, self._of, example, *objective.bounds))
        return tuple(found)


def out_of_bounds(objective: Objective, example: float, arm: str) -> str:
    """That values do not lie between the bounds of a mean, with one of them, its arm, and the remedy."""
    low, high = objective.bounds or (0.0, 1.0)
    return (
        f"do not lie between the bounds {low:g} and {high:g} of its mean, such as {example:g} of arm {shown(arm)}: "
        f"give bounds that no value can exceed, --mean {objective.name}=LOW,HIGH (Objective(statistic='mean', "
        f"bounds=(low, high)); in a limit, mean({objective.name},LOW,HIGH))"
    )


def refuse_truths(objective: Objective) -> None:
    """Refuse true and false for an objective of which something else was said than that their rate counts."""
    if not (objective.by_default or objective.takes_booleans):
        raise BadInput(
            f"the values of {shown(objective.name)} are true and false, whose rate can count, --mean "
            f"{objective.name}=0,1 (Objective(statistic='mean', bounds=(0, 1))); got the statistic "
            f"{shown(objective.statistic_word)}"
        )
