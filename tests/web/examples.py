"""Real studies in memory, measured in a moment, and what a follower makes of them: for the tests of pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frontguard import Objective, Prescient, Study
from frontguard.storage.contract import open_storage
from frontguard.studies.follow import Follower, Overview

METRICS = (
    Objective("seconds", "minimize", "5%"),
    Objective("quality", "maximize", 0.05),
    Objective("bytes", "minimize", "5%"),
)


class Example:
    """A study with true values of its own; `go(pulls)` measures on, `overview` is how it looks then."""

    def __init__(
        self,
        arms: Sequence[str] = ("fast", "slow", "good", "poor"),
        objectives: Sequence[Objective] = METRICS[:2],
        *,
        name: str = "flags",
        failing: Sequence[int] = (),
        reason: str = "exit code 1",
        truth: Any = None,
        **settings: Any,
    ) -> None:
        self.storage = open_storage("memory:")
        self.study = Study(
            arms, objectives, Prescient(0.1), storage=self.storage, name=name, **{"blocks": False, **settings}
        )
        self.follower = Follower(self.storage, name)
        self.failing, self.reason = frozenset(failing), reason
        self.rng = np.random.default_rng(7)
        K, M = len(arms), len(objectives)
        self.truth = np.linspace(1.0, 2.0, K * M).reshape(K, M) if truth is None else np.asarray(truth, np.float64)
        if truth is None and K == 4 and M == 2:  # two that trade off, one that is beaten by both, one by one
            self.truth = np.array([[1.0, 1.0], [2.0, 1.2], [1.5, 2.0], [3.0, 0.5]])

    def go(self, pulls: int) -> Example:
        while pulls > 0 and (asked := self.study.ask(min(pulls, 32))):
            for pull in asked:
                if pull.index in self.failing:
                    self.study.fail(pull, self.reason)
                else:
                    noise = 1.0 + 0.01 * self.rng.standard_normal(len(self.study.objectives))
                    self.study.tell(pull, (self.truth[pull.index] * noise).tolist())
            pulls -= len(asked)
        return self

    @property
    def overview(self) -> Overview:
        return self.follower.catch_up()
