"""Studies of which everything is hostile: their names, arms, metrics, workers, reasons of failures and specs."""

from __future__ import annotations

import math
from typing import Any

from frontguard import Objective, Prescient, Study
from frontguard.storage.contract import Tell
from tests.support.hostile import TEXTS
from tests.support.measuring import Machine

__all__ = ["SPEC", "Hostile", "truth"]

SPEC = "\n".join(TEXTS)


def truth(arms: tuple[str, ...], metrics: int) -> dict[str, tuple[float, ...]]:
    """Medians with some arms on the front, and most behind it."""
    return {
        arm: tuple((1.0 + 0.01 * number) * math.exp(math.sin(number + metric)) for metric in range(metrics))
        for number, arm in enumerate(arms)
    }


class Hostile:
    """A study of which everything is hostile, and somebody who measures for it."""

    def __init__(self, storage: Any, name: str, arms: tuple[str, ...], metrics: tuple[str, ...]) -> None:
        objectives = [Objective(metric, "minimize", tolerance="0.1%") for metric in metrics]
        self.study = Study(
            list(arms), objectives, Prescient(0.05), storage=storage, name=name, worker=TEXTS[50], about={"spec": SPEC}
        )
        self._machine = Machine(truth(arms, len(metrics)), flaky="")
        self.told = 0

    def measure(self, pulls: int) -> None:
        """Tell so many pulls, by hostile workers; every tenth fails, for a hostile reason."""
        leases = self.study.ask(pulls)
        tells = []
        for pull in leases:
            self.told += 1
            found = self._machine.measure(pull.arm)
            assert not isinstance(found, str)
            text = TEXTS[self.told % len(TEXTS)]
            if self.told % 10 == 0:
                reason = TEXTS[self.told // 10 % len(TEXTS)]
                tells.append(Tell(pull.id, (math.nan,) * len(found), reason, text, 1.7e9 + self.told))
            else:
                tells.append(Tell(pull.id, found, "", text, 1.7e9 + self.told))
        self.study.storage.tell(self.study.name, tells)
