"""The pulls of a study: the items that they measure, those that are begun and not back, and a frame of the told."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from frontguard._common.typing import Ints
from frontguard.storage.contract import Storage, Told
from frontguard.studies.reasons import reasons_of
from frontguard.studies.settings import Settings


def item_order(seed: int, items: int) -> Ints:
    """Positions (items,) in a list, from 0, in the order in which a study with this seed measures them.

    Items are sorted by a hash of their own, so that the order is that of every process, machine and version that takes
    the study up again.

    >>> item_order(0, 6).tolist(), item_order(1, 6).tolist()
    ([3, 2, 5, 0, 4, 1], [3, 1, 2, 5, 0, 4])
    """
    keys = [hashlib.sha256(f"{seed}/item/{item}".encode()).digest() for item in range(items)]
    return np.array(sorted(range(items), key=keys.__getitem__), np.int64)


def under_way(storage: Storage, name: str, told: int) -> Ints:
    """The arms of pulls that were handed out and were not among the first `told` that came back.

    Leases are read after the told pulls: what has come back in between counts as under way, too, so that no pull that
    was begun by then is missing. One that was planned and never handed out is none.
    """
    numbers = {pull.id for pull in storage.leases(name)}
    numbers.update(storage.told(name, after=told).pulls.tolist())
    arm_of = np.concatenate([np.empty(0, np.int64), *(plan.arms for plan in storage.plans(name))])
    return np.asarray(arm_of[np.array(sorted(numbers), np.int64) - 1], np.int64)


def frame_of(settings: Settings, told: Told, arms: Ints) -> Any:
    """A pandas frame of told pulls in their order: pull, arm, values, failure, worker, cluster, time."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("Study.to_frame() needs pandas: pip install pandas") from error
    columns: dict[str, Any] = {"arm": [settings.arms[arm] for arm in arms.tolist()]}
    for d, metric in enumerate(settings.columns.metrics):
        columns[metric.name] = told.values[:, d]
    costs = settings.costs_of(told.values)
    if costs is not None and settings.cost is not None:
        columns["cost" if settings.cost.metric in columns else str(settings.cost.metric)] = costs
    columns["failure"] = reasons_of(told)
    columns["worker"] = told.workers
    if any(told.clusters):
        columns["cluster"] = told.clusters
    columns["at"] = pd.to_datetime(told.at, unit="s", utc=True)
    parts = settings.parts
    columns = columns if parts is None else parts.beside(columns, arms)
    return pd.DataFrame(columns, index=pd.Index(told.pulls, name="pull"))
