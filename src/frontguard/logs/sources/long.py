"""The long layout (arm, metric, value: a row for every single value) turned into pulls.

The k-th value of each metric of an arm makes its k-th pull. The verdicts need no more than the values of each metric by
themselves, so which values meet in a pull does not matter; what matters is their number. An arm has as many pulls as
its most frequent metric has rows; where another metric has fewer, the rest of its values failed. Where rows come in
clusters, that is so within each cluster of an arm.

The rows are gathered in memory, since the values of a pull may stand at both ends of a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from frontguard.errors import BadInput
from frontguard.logs.sources.reader import ARM, BATCH, CLUSTER, METRIC, VALUE
from frontguard.notices import ArmsWithoutRows, Notice
from frontguard.phrases import did_you_mean, quoted, shown


class Gathered:
    """Rows of the long layout, gathered."""

    def __init__(self, metrics: Sequence[str], where: str) -> None:
        self.metrics = list(metrics)
        self.where = where
        self.rows = 0
        self._parts: list[pl.DataFrame] = []
        self._others: set[str] = set()  # metrics that nobody asked for
        self._arms: set[str] = set()  # of rows of these

    def take(self, rows: pl.DataFrame) -> None:
        """Add rows; the name of the metric must not be missing."""
        absent = rows[METRIC].is_null() | (rows[METRIC] == "")
        if absent.any():
            first = self.rows + int(absent.to_numpy().argmax()) + 1
            raise BadInput(f"{self.where}: row {first} has no name of a metric; wanted one in every row")
        self.rows += len(rows)
        rows = rows.with_columns(pl.col(ARM).cast(pl.String))
        wanted = pl.col(METRIC).is_in(self.metrics)
        others = rows.filter(~wanted)
        self._others.update(others[METRIC].unique())
        self._arms.update(others[ARM].unique())
        self._parts.append(rows.filter(wanted).with_columns(pl.col(VALUE).cast(pl.Float64)))

    def pulls(self, notes: list[Notice], *, truths: bool) -> Iterator[pl.DataFrame]:
        """The pulls, with a column for each metric; `truths` says that values are true and false."""
        whole = pl.concat(self._parts)
        there = set(whole[METRIC].unique())
        for name in self.metrics:
            if name not in there:
                others = sorted(self._others)
                raise BadInput(
                    f"{self.where}: no row is of the metric {shown(name)}{did_you_mean(name, others)}; "
                    f"others there are {quoted(others) if others else 'none'}"
                )
        without = len(self._arms.difference(whole[ARM].unique()))
        if without:
            notes.append(ArmsWithoutRows(self.where, without))
        pull = [name for name in (ARM, CLUSTER) if name in whole.columns]
        kind = pl.Boolean if truths else pl.Float64
        by_metric = [
            whole.filter(pl.col(METRIC) == name).select(
                *pull, pl.int_range(pl.len()).over(pull).alias(METRIC), pl.col(VALUE).cast(kind).alias(name)
            )
            for name in self.metrics
        ]
        together = by_metric[0]
        for other in by_metric[1:]:
            together = together.join(other, on=[*pull, METRIC], how="full", coalesce=True, maintain_order="left_right")
        yield from together.drop(METRIC).iter_slices(BATCH)
