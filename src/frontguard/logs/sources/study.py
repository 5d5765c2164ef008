"""The told pulls of a study of ours as a table: its arms, and a column for each of its objectives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from frontguard.errors import BadInput
from frontguard.logs.sources.columns import BATCH, Picked, Rows
from frontguard.notices import Notice
from frontguard.objectives import Objective
from frontguard.storage.contract import Storage
from frontguard.studies.study import Study


@dataclass
class StudyTable:
    """A study opened to be read; another process may go on with it meanwhile."""

    shown: str
    storage: Storage
    study: str
    arms: tuple[str, ...]
    objectives: tuple[Objective, ...]
    row_count: int
    notes: list[Notice] = field(default_factory=list)

    @classmethod
    def open(cls, where: str, study: str | None) -> StudyTable:
        """Open the storage without changing it. The study's name may be left out if it is the only one."""
        opened = Study.open(where, study, read_only=True)
        shown = f"study {opened.name!r} in {re.sub(r'//[^/@]*@', '//…@', where)}"
        _, told = opened.storage.size(opened.name)
        if not told:
            opened.close()
            raise BadInput(f"{shown} has no told pulls yet")
        return cls(shown, opened.storage, opened.name, opened.arms, opened.objectives, told)

    @property
    def names(self) -> list[str]:
        """The columns: the arm and the objectives."""
        return ["arm", *(objective.name for objective in self.objectives)]

    def rows(self, picked: Picked) -> Iterator[Rows]:
        """The pulls that were told when the study was opened, in their order."""
        import pyarrow as pa

        # Told first, plans after: every pull that was told is one of a plan.
        plans = self.storage.plans(self.study)
        arm_of = np.concatenate([plan.arms for plan in plans]).astype(np.int32)
        names = pa.array(self.arms, pa.string())
        columns = [self.names.index(name) - 1 for name in picked.numbers]
        try:
            for after in range(0, self.row_count, BATCH):
                told = self.storage.told(self.study, after, min(after + BATCH, self.row_count))
                arms = pa.DictionaryArray.from_arrays(pa.array(arm_of[told.pulls - 1]), names)
                yield Rows([arms for _ in picked.texts], [np.ascontiguousarray(told.values[:, d]) for d in columns])
        finally:
            self.storage.close()
