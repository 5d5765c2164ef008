"""The pilot of a plan: a log of measurements that were made before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from frontguard.errors import BadInput
from frontguard.limits import Limit, columns_for
from frontguard.logs.sources import open_log
from frontguard.notices import RowsWithoutArm
from frontguard.objectives import Objective
from frontguard.planning.reach import Pilot

if TYPE_CHECKING:
    from frontguard._common.typing import Floats


def read_pilot(
    path: Path, arm: str, objectives: Sequence[Objective], limits: Sequence[Limit] = ()
) -> tuple[Pilot, tuple[Objective, ...], tuple[Limit, ...]]:
    """The measurements of a log, in which an empty cell or NaN is a failed measurement.

    And the objectives and limits: where values are true or false and nobody said what counts, their rate does.
    """
    metrics = columns_for(tuple(objectives), tuple(limits)).metrics
    log = open_log(path, arm=arm, metrics=[metric.name for metric in metrics], missing_arms="drop")
    index: dict[str, int] = {}
    owners: list[int] = []
    batches: list[Floats] = []
    for batch in log.batches():
        owners += [index.setdefault(name, len(index)) for name in batch.arms.to_list()]
        batches.append(np.column_stack(batch.values))
    for note in log.notes:
        if isinstance(note, RowsWithoutArm):
            raise BadInput(f"--pilot {path}: {replace(note, dropped=False)}")
    names, values, truths = tuple(index), np.concatenate(batches), log.kinds.truths
    for metric, column in zip(metrics, values.T, strict=True):
        wrong = np.flatnonzero(np.isfinite(column) & ~metric.usable(column))
        if len(wrong) and metric.name not in truths:
            example, owner = float(column[wrong[0]]), names[owners[wrong[0]]]
            raise BadInput(f"--pilot {path}: {metric.unusable(len(wrong), len(column), example, owner)}")
    if len(names) < 2:
        raise BadInput(f"--pilot {path}: wanted at least two arms in column {arm!r}, got {len(names)}")
    counted = tuple(_counting_rates(path, each) if each.name in truths else each for each in objectives)
    beside = truths - {metric.name for metric in counted}
    counted_limits = tuple(
        replace(each, statistic="mean", bounds=(0.0, 1.0)) if each.metric in beside and each.statistic is None else each
        for each in limits
    )
    whole = columns_for(counted, counted_limits)
    return Pilot(names, whole.observed(values), np.array(owners, np.int64)), counted, counted_limits


def _counting_rates(path: Path, metric: Objective) -> Objective:
    """A metric whose values are true or false: its rate counts, unless something else was declared."""
    if metric.by_default:
        return replace(metric, statistic="mean", bounds=(0.0, 1.0))
    if not metric.takes_booleans:
        raise BadInput(f"--pilot {path}: {metric.name!r} is true or false: {metric.no_booleans}")
    return metric
