"""The policy of a study as a function of its log.

The policy decides when a plan is made, and only then: on the told pulls that the plan counts, with the pulls of earlier
plans that were not told by then counted as failed. So the state after the n-th plan is the same in every process
that reads the log, whoever made the plan, and the state of a study that was interrupted is that of one that was not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc

from frontguard.objectives import Objective
from frontguard.results import Verdict
from frontguard.studies.contract import Plan, Storage, Told
from frontguard.studies.settings import Settings

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PROBE = 5
"""Pulls of an arm before its first batch goes on: by then an arm that always fails is known as such."""

HOPELESS = 1e-3
"""Probability with which an arm that can be measured is taken for one that cannot."""


@dataclass
class _Growing:
    """A column that grows by doubling."""

    data: Ints
    size: int = 0

    def extend(self, values: Ints) -> None:
        needed = self.size + len(values)
        if needed > len(self.data):
            grown = np.empty(max(needed, 2 * len(self.data)), np.int64)
            grown[: self.size] = self.data[: self.size]
            self.data = grown
        self.data[self.size : needed] = values
        self.size = needed


class Replay:
    """A study's log as far as it was read, and the policy that it makes."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.policy = settings.policy()
        self.plans = 0
        self.status = "running"  # of the last plan
        self.told = 0  # told pulls that the policy has taken
        self.failures: list[Counter[str]] = [Counter() for _ in settings.arms]
        self._failed = np.zeros((len(settings.arms), len(settings.objectives)), np.int64)
        self._arm_of = _Growing(np.empty(64, np.int64))  # of every planned pull
        self._read: Told | None = None  # the told pulls that were read last ...
        self._taken = 0  # ... and how many of these the policy has taken

    @property
    def planned(self) -> int:
        """Pulls of all plans so far."""
        return self._arm_of.size

    @property
    def read(self) -> int:
        """Told pulls that were read."""
        return self.told + self._ahead

    @property
    def _ahead(self) -> int:
        """Told pulls that were read and that no plan counts yet."""
        return 0 if self._read is None else len(self._read) - self._taken

    @property
    def stopped(self) -> bool:
        """Whether the study has come to an end that no later change of settings has overruled."""
        return self.status != "running" and self.plans > self.settings.reopened_after

    def arms_of(self, pulls: npt.ArrayLike) -> Ints:
        """The arms of planned pulls."""
        arms: Ints = self._arm_of.data[: self._arm_of.size][np.asarray(pulls, np.int64) - 1]
        return arms

    def catch_up(self, storage: Storage, study: str) -> tuple[list[Plan], Told]:
        """Read what is new in the log, and return it.

        Told pulls first and plans after them, so that every pull that was read is one of a plan that was read; then
        the told pulls that the last plan counts and that have come in between.
        """
        new = storage.told(study, after=self.read)
        plans = storage.plans(study, after=self.plans)
        if plans and plans[-1].told > self.read + len(new):
            new = _joined(new, storage.told(study, after=self.read + len(new), up_to=plans[-1].told))
        self._read, self._taken = (_joined(_part(self._read, self._taken), new) if self._ahead else new), 0
        for plan in plans:
            self._take(plan.told - self.told)
            self._decide()
            self._add(plan)
        return plans, new

    def _add(self, plan: Plan) -> None:
        self._arm_of.extend(plan.arms)
        self.policy.expect(plan.arms)
        self.plans, self.status = plan.number, plan.status

    def _take(self, count: int) -> None:
        """Let the policy have the next `count` told pulls."""
        if count <= 0 or self._read is None:
            return
        taken = _part(self._read, self._taken, self._taken + count)
        self._taken += len(taken)
        arms = self.arms_of(taken.pulls)
        inner = inner_values(self.settings.objectives, taken.values)
        self.policy.take(arms, inner)
        self.told += len(taken)
        failed = np.isnan(inner)
        for d in range(failed.shape[1]):
            self._failed[:, d] += np.bincount(arms[failed[:, d]], minlength=len(self._failed))
        for position in np.flatnonzero(failed.any(axis=1)).tolist():
            self.failures[arms[position]][taken.reasons[position] or "not a usable value"] += 1

    def _decide(self) -> None:
        self.policy.carry_on()  # if an earlier stop were to stand, there would be nothing left to decide
        self.policy.set_aside(self._hopeless())
        self.policy.decide()

    def _hopeless(self) -> list[int]:
        """Arms to set aside: all pulls so far failed, or so many that no number of pulls would ever bound them."""
        pulls = self.policy.pulls_per_arm
        worst = self._failed.max(axis=1)
        suspects = np.flatnonzero((worst > 0) & (pulls >= PROBE) & (self.policy.verdict_codes != Verdict.OUT))
        aside = set(self.policy.aside.tolist())
        threat = self.settings.threat
        bearable = min(threat.keep(min(q, 1.0 - q)) for q in self.policy.rule.quantiles)
        found = []
        for arm in suspects.tolist():
            if arm in aside:
                continue
            n, failed = int(pulls[arm]), int(worst[arm])
            always = failed == n and max(threat.eps, 0.25) ** n <= HOPELESS
            too_often = failed / n > bearable and float(bdtrc(failed - 1, n, bearable)) <= HOPELESS / len(pulls)
            if always or too_often:
                found.append(arm)
        return found

    def propose(self, at_least: int) -> tuple[Replay, Plan] | None:
        """The next plan, and what this replay is once it is added; None if pulls that are out have to come back first.

        On a copy: which plan is added is decided by the storage.
        """
        after = self._copied()
        after._take(after._ahead)
        after._decide()
        policy = after.policy
        waiting = after.planned - after.told
        budget = self.settings.budget
        left = (budget.pulls or np.iinfo(np.int64).max) - after.planned
        arms = np.empty(0, np.int64)
        status = policy.status
        if len(policy.aside) == policy.arms:
            status = "unreachable"
        elif status == "running" and left <= 0:
            status = "budget"
        elif status == "running":
            arms = policy.next_pulls(at_least, PROBE)
            if not len(arms) and not waiting:
                status = "budget"
            # At random, so that whatever drifts hits all arms alike; by number, so that it can be repeated.
            arms = np.random.default_rng([self.settings.seed, after.plans + 1]).permutation(arms)[:left]
        if not len(arms) and waiting and status != "certified":
            return None
        plan = Plan(after.plans + 1, after.told, after.planned + 1, arms, status)
        after._add(plan)
        return after, plan

    def with_everything(self) -> Replay:
        """This replay with all that was read taken and decided on: for results between two plans."""
        if self.stopped or not self._ahead:
            return self
        after = self._copied()
        after._take(self._ahead)
        after._decide()
        return after

    def _copied(self) -> Replay:
        copied = Replay.__new__(Replay)
        copied.__dict__.update(self.__dict__)
        copied.policy = self.policy.copy()
        copied.failures = [counter.copy() for counter in self.failures]
        copied._failed = self._failed.copy()
        copied._arm_of = replace(self._arm_of)  # appending to the copy writes where the original does not look
        return copied


def inner_values(objectives: Sequence[Objective], values: Floats) -> Floats:
    """Inner values (n, M) of measured ones; what an objective cannot use counts as failed."""
    inner = np.empty_like(values)
    for d, objective in enumerate(objectives):
        column = values[:, d]
        usable = column > 0.0 if objective.relative else ~np.isnan(column)
        inner[:, d] = objective.inward(np.where(usable, column, np.nan))
    return inner


def _part(told: Told | None, start: int, end: int | None = None) -> Told:
    assert told is not None
    where = slice(start, end)
    reasons, workers = told.reasons[where], told.workers[where]
    return Told(told.after + start, told.pulls[where], told.values[where], reasons, workers, told.at[where])


def _joined(first: Told, second: Told) -> Told:
    return Told(
        first.after,
        np.concatenate([first.pulls, second.pulls]),
        np.concatenate([first.values, second.values]),
        first.reasons + second.reasons,
        first.workers + second.workers,
        np.concatenate([first.at, second.at]),
    )
