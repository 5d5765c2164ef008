"""The long layout (arm, metric, value: a row for every single value) turned into pulls.

The k-th value of each metric of an arm makes its k-th pull. The verdicts need no more than the values of each metric by
themselves, so which values meet in a pull does not matter; what matters is their number. An arm has as many pulls as
its most frequent metric has rows; where another metric has fewer, the rest of its values failed. Where rows come in
clusters, that is so within each cluster of an arm.

The rows are gathered in memory, 14 bytes each, since the values of a pull may stand at both ends of a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.logs.sort.names import ArmNames, Codes
from frontguard.logs.sources.columns import joined, missing_names, parts_of
from frontguard.logs.sources.reader import BATCH, TableRows
from frontguard.notices import ArmsWithoutRows, Notice
from frontguard.phrases import did_you_mean, quoted, shown


class Gathered:
    """Rows of the long layout, gathered."""

    def __init__(self, metrics: Sequence[str], where: str) -> None:
        self.metrics = list(metrics)
        self.where = where
        self.rows = 0
        self._clustered = False
        self._arms = ArmNames()  # with their clusters, where there are any
        self._kinds = ArmNames()  # the metrics that are there
        self._wanted = {name: d for d, name in enumerate(metrics)}
        self._parts: list[tuple[Codes, npt.NDArray[np.int16], Floats]] = []

    def take(self, rows: TableRows) -> None:
        """Add rows: the texts are the arm, the metric, whose name must not be missing, and the cluster if there is."""
        (arms, metrics, *clusters), (values,) = rows.texts, rows.numbers
        if clusters:
            self._clustered = True
            arms = joined([arms, *clusters])
        absent = missing_names(metrics)
        if absent is not None:
            first = self.rows + int(absent.argmax()) + 1
            raise BadInput(f"{self.where}: row {first} has no name of a metric; wanted one in every row")
        self.rows += len(values)
        arm, kind = self._arms.codes(arms), self._kinds.codes(metrics)
        of_kind = [self._wanted.get(name, -1) for name in self._kinds.arrow().to_pylist()]
        metric = np.array(of_kind, np.int16)[kind]
        keep = metric >= 0
        if not keep.all():
            arm, metric, values = arm[keep], metric[keep], values[keep]
        self._parts.append((arm, metric, values))

    def pulls(self, notes: list[Notice]) -> Iterator[TableRows]:
        """The pulls, arm after arm."""
        import pyarrow as pa

        counts = np.zeros((len(self.metrics), len(self._arms)), np.int64)
        for arm, metric, _ in self._parts:
            np.add.at(counts, (metric, arm), 1)
        for d, name in enumerate(self.metrics):
            if not counts[d].any():
                others = [other for other in self._kinds.arrow().to_pylist() if other not in self._wanted]
                raise BadInput(
                    f"{self.where}: no row is of the metric {shown(name)}{did_you_mean(name, others)}; "
                    f"others there are {quoted(others) if others else 'none'}"
                )
        per_arm = counts.max(axis=0)
        names = self._names()
        without = len(names[0].unique()) - len(names[0].filter(pa.array(per_arm > 0)).unique())
        if without:
            notes.append(ArmsWithoutRows(self.where, without))
        ends = np.cumsum(per_arm)
        following = np.tile(ends - per_arm, (len(self.metrics), 1))
        values = np.full((len(self.metrics), int(ends[-1])), np.nan)
        while self._parts:
            arm, metric, part = self._parts.pop(0)
            _place(arm, metric, part, following, values)
        owners = np.repeat(np.arange(len(per_arm), dtype=np.int32), per_arm)
        for begin in range(0, values.shape[1], BATCH):
            part_of = slice(begin, begin + BATCH)
            texts = [pa.DictionaryArray.from_arrays(pa.array(owners[part_of]), each) for each in names]
            yield TableRows(texts, [row[part_of] for row in values])

    def _names(self) -> list[Any]:
        """The names of the arms, by code, and of their clusters if they have any."""
        import pyarrow as pa

        names = self._arms.arrow()
        if not self._clustered:
            return [names]
        parts = parts_of(names.to_pylist(), ["arm", "cluster"])
        assert parts is not None  # there are two
        return [pa.array(parts.column(each), pa.large_string()) for each in range(2)]


@kernel(over="arm")
def _place(
    arm: Codes, metric: npt.NDArray[np.int16], part: Floats, following: npt.NDArray[np.int64], values: Floats
) -> None:
    for row in range(arm.size):
        d, i = metric[row], arm[row]
        values[d, following[d, i]] = part[row]
        following[d, i] += 1
