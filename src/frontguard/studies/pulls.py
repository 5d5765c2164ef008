"""The pulls of a study: items, those that are begun and not back, why some failed, and what no log of a study has."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from frontguard._common.typing import Ints
from frontguard.phrases import shown
from frontguard.storage.contract import Damaged, End, Plan, Storage, Told
from frontguard.studies.measurement import MARK
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
    for d, metric in enumerate(settings.question.columns.metrics):
        columns[metric.name] = told.values[:, d]
    costs = settings.costs_of(told.values)
    if costs is not None and settings.question.cost is not None:
        columns["cost" if settings.question.cost.metric in columns else str(settings.question.cost.metric)] = costs
    columns["failure"] = reasons_of(told)
    columns["worker"] = told.workers
    if any(told.clusters):
        columns["cluster"] = told.clusters
    columns["at"] = pd.to_datetime(told.at, unit="s", utc=True)
    parts = settings.parts
    columns = columns if parts is None else parts.beside(columns, arms)
    return pd.DataFrame(columns, index=pd.Index(told.pulls, name="pull"))


# What a log must be to be one of a study: its plans are of the study's arms, its told pulls of its objectives. A
# storage has seen to it that plans and told pulls fit each other (`storage.contract`); it knows nothing of arms and
# objectives, and a log may come from a stranger.

STATUSES = ("running", "certified", "budget", "unreachable")
"""What a plan may say of the study: that it goes on, or why it stopped."""


def checked_plans(plans: list[Plan], settings: Settings, study: str) -> list[Plan]:
    """Plans that are of the arms of the settings."""
    arms = len(settings.arms)
    told = 0
    for plan in plans:
        if plan.told < told:
            raise not_a_log(study, f"plan {plan.number} counts fewer told pulls than the one before")
        told = plan.told
        if len(plan.arms) and not 0 <= plan.arms.min() <= plan.arms.max() < arms:
            wrong = int(plan.arms.min() if plan.arms.min() < 0 else plan.arms.max())
            raise not_a_log(study, f"plan {plan.number} is about arm {wrong}; there are arms 0 to {arms - 1}")
        if plan.status not in STATUSES:
            wanted = ", ".join(STATUSES)
            raise not_a_log(study, f"plan {plan.number} says {shown(plan.status)}; wanted one of {wanted}")
    return plans


def checked_told(told: Told, settings: Settings, study: str) -> Told:
    """Told pulls that have a value for each metric of the settings, and their cost where they say it."""
    metrics = settings.stored_values
    if told.values.shape[1] != metrics:
        alone = metrics == len(settings.question.objectives)
        what = "objectives" if alone else "objectives, metrics of limits and costs"
        raise not_a_log(study, f"its pulls have {told.values.shape[1]} values; it has {metrics} {what}")
    return told


def not_a_log(study: str, what: str) -> Damaged:
    """The error that says why a log is none of this study."""
    return Damaged(f"study {shown(study)} is damaged: {what}. Nothing was changed")


# Why told pulls failed, as it is shown. The text that is stored of a failed pull is its reason, the same for equal
# failures so that they can be counted, and after a mark what the pull had to say last, which differs.

NOT_USABLE = "not a usable value"
"""Why a pull failed that measured something which its objective cannot use."""

GIVEN_UP = {
    End.LOST: "lost with its worker",
    End.STOPPED: "stopped before its end",
    End.OVERDUE: "nothing heard of its worker until its lease ran out",
}
"""Why a pull failed that was given up: what is stored of it is how it ended, and no reason."""


def reasons_of(told: Told) -> tuple[str, ...]:
    """Why each of these pulls failed; empty where nothing is known of a failure, or nothing failed."""
    bare = {text: text.partition(MARK)[0] for text in set(told.reasons) if MARK in text}
    reasons = tuple(bare.get(text, text) for text in told.reasons) if bare else told.reasons
    if not told.ends.any():
        return reasons
    return tuple(GIVEN_UP[End(end)] if end else reason for reason, end in zip(reasons, told.ends.tolist(), strict=True))


def last_words(text: str) -> str:
    """What a failed pull had to say last, after its reason, from what is stored of it; empty if nothing is.

    >>> last_words(f"exit code 1{MARK}no such flag: -O9"), last_words("exit code 1")
    ('exit code 1: no such flag: -O9', '')
    """
    reason, _, said = text.partition(MARK)
    return f"{reason}: {said}" if said else ""
