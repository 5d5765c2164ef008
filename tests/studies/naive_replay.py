"""The obvious replay of a log: one policy, fed plan by plan, that copies everything before it looks ahead."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from frontguard import Certified
from frontguard.results import Answer
from frontguard.storage.contract import Storage
from frontguard.studies.replay import Replay
from frontguard.studies.settings import Settings


def naive_policy(storage: Storage, name: str, plans: int | None = None) -> tuple[Certified, int]:
    """The policy after its decision on all that was told or, given `plans`, on what the plan of that number counts.

    And how many pulls that are.
    """
    settings = Settings.from_json(storage.settings(name))
    replay = Replay(settings)  # for its rule of which arms are hopeless alone
    policy = replay.policy
    told = storage.told(name)
    inner = settings.question.columns.observed(told.values)
    log = storage.plans(name)
    arm_of = np.concatenate([np.empty(0, np.int64), *(plan.arms for plan in log)])
    block_of = blocks([plan.arms.tolist() for plan in log])
    taken, status, last = 0, "running", 0

    def take(up_to: int) -> None:
        nonlocal taken
        arms = arm_of[told.pulls[taken:up_to] - 1]
        policy.take(arms, inner[taken:up_to], block_of[told.pulls[taken:up_to] - 1] if policy.blocks else None)
        for arm, row in zip(arms, inner[taken:up_to], strict=True):
            replay._taken.failed[arm] += np.isnan(row)
        taken = up_to

    def take_and_decide(up_to: int) -> None:
        take(up_to)
        policy.carry_on()
        policy.exclude(replay._hopeless())
        policy.decide()

    for plan in log:
        take_and_decide(plan.told)
        if plan.number == plans:
            return policy, taken
        policy.expect(plan.arms)
        status, last = plan.status, plan.number
    stopped = status != "running" and last > settings.reopened_after
    if not stopped and taken < len(told):
        replay.policy = policy = policy.copy()
        if policy.blocks and policy.standing.control["decisions"][0]:
            take(len(told))  # whole blocks are decided on, by the next plan
        else:
            take_and_decide(len(told))
    return policy, taken


def blocks(plans: list[list[int]]) -> npt.NDArray[np.int64]:
    """Of every planned pull the block it is in: of each plan the n-th pulls of all arms are one."""
    found, before = [], 0
    for arms in plans:
        found += [before + arms[: place + 1].count(arm) for place, arm in enumerate(arms)]
        before = max(found, default=0)
    return np.array(found, np.int64)


def assert_same(one: Answer, other: Answer) -> None:
    """All fields alike, arrays to the bit."""
    mine, yours = (vars(each.inner) | {k: v for k, v in vars(each).items() if k != "inner"} for each in (one, other))
    assert mine.keys() == yours.keys()
    for name in mine:
        if isinstance(mine[name], np.ndarray):
            np.testing.assert_array_equal(mine[name], yours[name], err_msg=name)
        elif name not in ("guess", "parts", "study"):
            assert mine[name] == yours[name], name
    assert one.best_guess == other.best_guess
    assert one.to_dict()["least_pulls"] == other.to_dict()["least_pulls"]
