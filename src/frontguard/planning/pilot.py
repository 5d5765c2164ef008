"""A pilot log: measurements made before, from which a plan draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.notices import RowsWithoutArm
from frontguard.question import Question

FEWEST_ROWS = 5
"""Measurements of an arm without which a pilot says nothing about its quantiles."""


@dataclass(frozen=True, eq=False)
class Pilot:
    """Clean measurements (n, M), NaN where one failed, the arm of each row, and its item or cluster (`block_of_row`).

    >>> pilot = Pilot(("a", "b"), np.arange(12.0).reshape(12, 1), np.repeat([0, 1], 6))
    >>> pilot.quantiles(0.5).ravel().tolist()
    [2.5, 8.5]
    """

    names: tuple[str, ...]
    values: Floats
    arm_of_row: Ints
    block_of_row: Ints | None = None

    def __post_init__(self) -> None:
        for i, name in enumerate(self.names):
            usable = int((self.complete_arms == i).sum())
            if usable < FEWEST_ROWS:
                raise BadInput(
                    f"a pilot needs at least {FEWEST_ROWS} rows of every arm in which no objective failed; "
                    f"got {usable} of arm {name!r}"
                )

    @property
    def arms(self) -> int:
        """K."""
        return len(self.names)

    @property
    def objectives(self) -> int:
        """M."""
        return int(self.values.shape[1])

    @property
    def failed(self) -> int:
        """Measurements that failed, over all objectives."""
        return int(np.isnan(self.values).sum())

    @property
    def complete(self) -> Bools:
        """The rows (n,) in which nothing failed, as a mask."""
        return np.asarray(~np.isnan(self.values).any(axis=1))

    @property
    def complete_points(self) -> Floats:
        """Their values (n', M)."""
        return self.values[self.complete]

    @property
    def complete_arms(self) -> Ints:
        """Their arms (n',)."""
        return self.arm_of_row[self.complete]

    def by_block(self) -> Floats:
        """Return means (K, B, M) of each arm's rows on the blocks that all arms have."""
        assert self.block_of_row is not None
        arms, blocks = self.complete_arms, self.block_of_row[self.complete]
        size = int(blocks.max(initial=-1)) + 1
        counts, sums = np.zeros((self.arms, size)), np.zeros((self.arms, size, self.objectives))
        np.add.at(counts, (arms, blocks), 1.0)
        np.add.at(sums, (arms, blocks), self.complete_points)
        shared = counts.all(axis=0)
        if shared.sum() < FEWEST_ROWS:
            raise BadInput(
                f"a pilot with pairs needs at least {FEWEST_ROWS} that every arm has, without failures; "
                f"got {int(shared.sum())}"
            )
        return sums[:, shared] / counts[:, shared, None]

    def one_for_each_block(self, count: int) -> Pilot:
        """Return a pilot of `count` rows an arm, each one of a cluster of it: every cluster as often."""
        assert self.block_of_row is not None
        rng, rows = np.random.default_rng(0), []
        usable = np.flatnonzero(self.complete)
        for arm in range(self.arms):
            own = usable[self.arm_of_row[usable] == arm]
            clusters = [own[self.block_of_row[own] == block] for block in np.unique(self.block_of_row[own])]
            order = np.resize(rng.permutation(len(clusters)), count)
            rows += [int(rng.choice(clusters[place])) for place in order.tolist()]
        chosen = np.array(rows, np.int64)
        return Pilot(self.names, self.values[chosen], self.arm_of_row[chosen])

    def quantiles(self, level: float) -> Floats:
        """Return quantiles (K, M), interpolated; failed measurements do not count."""
        found = np.empty((self.arms, self.objectives))
        for i in range(self.arms):
            rows = self.values[self.arm_of_row == i]
            for d in range(self.objectives):
                found[i, d] = np.quantile(rows[~np.isnan(rows[:, d]), d], level)
        return found


def read_pilot(where: Any, arm: str, question: Question) -> tuple[Pilot, Question]:
    """Return the measurements of a log, blanks and NaN failed, and the question with rates of true and false values."""
    from frontguard.logs.sources import open_log

    metrics, name = question.columns.metrics, where if isinstance(where, (str, Path)) else "the frame"
    together = question.pair or tuple(column for column in question.cluster if column != "none")
    log = open_log(
        where, arm=arm, metrics=[metric.name for metric in metrics], missing_arms="drop", cluster=together or None
    )
    index: dict[str, int] = {}
    blocks: dict[Any, int] = {}
    owners: list[int] = []
    block_of: list[int] = []
    batches = []
    for batch in log.batches():
        owners += [index.setdefault(each, len(index)) for each in batch.arms.to_list()]
        if batch.clusters is not None and together:
            block_of += [blocks.setdefault(each, len(blocks)) for each in batch.clusters.to_list()]
        batches.append(np.column_stack(batch.values))
    for note in log.notes:
        if isinstance(note, RowsWithoutArm):
            raise BadInput(f"--pilot {name}: {replace(note, dropped=False)}")
    names, values, truths = tuple(index), np.concatenate(batches), log.kinds.truths
    for metric, column in zip(metrics, values.T, strict=True):
        wrong = np.flatnonzero(np.isfinite(column) & ~metric.usable(column))
        if len(wrong) and metric.name not in truths:
            example, owner = float(column[wrong[0]]), names[owners[wrong[0]]]
            raise BadInput(f"--pilot {name}: {metric.unusable(len(wrong), len(column), example, owner)}")
        if metric.name in truths and not (metric.by_default or metric.takes_booleans):
            raise BadInput(f"--pilot {name}: {metric.name!r} is true or false: {metric.no_booleans}")
    if len(names) < 2:
        raise BadInput(f"--pilot {name}: wanted at least two arms in column {arm!r}, got {len(names)}")
    counted = question.with_rates(truths)
    observed = counted.columns.observed(values)
    return Pilot(
        names, observed, np.array(owners, np.int64), np.array(block_of, np.int64) if together else None
    ), counted
