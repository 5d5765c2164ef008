"""What a log must be to be one of a study: its plans are of the study's arms, its told pulls of its objectives.

A storage has seen to it that plans and told pulls fit each other (`storage.contract`). It knows nothing of arms and
objectives; and a log may come from a stranger.
"""

from __future__ import annotations

from frontguard.phrases import shown
from frontguard.storage.contract import Damaged, Plan, Told
from frontguard.studies.settings import Settings

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
        what = "objectives" if metrics == len(settings.objectives) else "objectives, metrics of limits and costs"
        raise not_a_log(study, f"its pulls have {told.values.shape[1]} values; it has {metrics} {what}")
    return told


def not_a_log(study: str, what: str) -> Damaged:
    """The error that says why a log is none of this study."""
    return Damaged(f"study {shown(study)} is damaged: {what}. Nothing was changed")
