"""The pulls of a study of ours as a table: its arms, and a column for each metric that it measures.

Those that are under way are rows without values: they count as failed until they come back. Of the pulls of an arm in
one cluster the first counts, and is the only row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from frontguard._common.secrets import without_password
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.logs.sources.reader import BATCH, LogTable, Picked
from frontguard.studies.clusters import CountedPulls
from frontguard.studies.pulls import checked_plans, checked_told, under_way
from frontguard.studies.study import Study


class StudyPulls(LogTable):
    """A study opened to be read; another process may go on with it meanwhile."""

    row_count: int

    def __init__(self, where: str, study: str | None) -> None:
        """Open the storage without changing it. The study's name may be left out if it is the only one."""
        self.study = opened = Study.open(where, study, read_only=True)
        shown = f"study {opened.name!r} in {without_password(where)}"
        _, told = opened.storage.size(opened.name)
        if not told:
            opened.close()
            raise BadInput(f"{shown} has no told pulls yet")
        self.objectives = opened.objectives
        self.metrics = tuple(metric.name for metric in opened.metrics)
        super().__init__(shown, ["arm", *self.metrics], told)

    def rows(self, picked: Picked) -> Iterator[pl.DataFrame]:
        """The pulls that were told when the study was opened, in their order, and then those that are under way."""
        name, storage = self.study.name, self.study.storage
        # Told first, plans after: every pull that was told is one of a plan.
        plans = checked_plans(storage.plans(name), self.study.settings, name)
        arm_of = np.concatenate([plan.arms for plan in plans])
        names = pl.Series(self.study.arms, dtype=pl.String)
        columns = [self.metrics.index(metric) for metric in picked.numbers]

        def frame(arms: Ints, values: Floats) -> pl.DataFrame:
            named = dict.fromkeys(picked.texts, names.gather(arms))
            return pl.DataFrame(named | dict(zip(picked.numbers, values.T, strict=True)))

        pulls = CountedPulls(len(self.study.arms))
        try:
            for after in range(0, self.row_count, BATCH):
                told = checked_told(
                    storage.told(name, after, min(after + BATCH, self.row_count)), self.study.settings, name
                )
                told, _ = pulls.take(told, arm_of)
                yield frame(arm_of[told.pulls - 1], told.values[:, columns])
            out = np.concatenate([pulls.held, under_way(storage, name, self.row_count)])
            if len(out):
                yield frame(out, np.full((len(out), len(columns)), np.nan))
        finally:
            storage.close()
