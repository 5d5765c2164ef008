"""The policies that compete in an experiment: name → how to build it from what the experiment tells.

To add one, add an entry: the runner, the tables and the figures know policies by this registry only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from frontguard.errors import BadInput
from frontguard.experiments.plan import DELTA, T_BAR, Setting, nearest
from frontguard.policies import RPSI, AuerA1, AuerA1M


@dataclass(frozen=True)
class Contestant:
    """A policy in an experiment. `arguments` is all that determines it; `weight` how much a pull costs,
    roughly.

    The weight is used for the estimate of the time left until something has been measured, and for nothing
    else.
    """

    name: str
    title: str
    kind: Callable[..., Any]
    arguments: Callable[[Setting], dict[str, Any]]
    weight: float = 1.0

    def build(self, setting: Setting) -> Any:
        """A fresh policy for this setting."""
        return self.kind(**self.arguments(setting))


def _size(setting: Setting) -> dict[str, Any]:
    environment = setting.experiment.environment
    return {"arms": environment.arms, "objectives": environment.objectives}


def _rpsi(setting: Setting) -> dict[str, Any]:
    return {
        **_size(setting),
        "threat": setting.threat,
        "spread": setting.experiment.spread,
        "accuracy": setting.experiment.accuracy,
        "delta": DELTA,
        "t_bar": T_BAR,
        "bias": setting.bias_override,
    }


def _auer(setting: Setting) -> dict[str, Any]:
    return {**_size(setting), "accuracy": setting.experiment.accuracy, "delta": DELTA}


CONTESTANTS: dict[str, Contestant] = {
    contestant.name: contestant
    for contestant in (
        Contestant("rpsi", "R-PSI", RPSI, _rpsi, weight=1.0),
        Contestant("auer-a1", "Auer-A1", AuerA1, _auer, weight=1.0),
        Contestant("auer-a1-m", "Auer-A1-M", AuerA1M, _auer, weight=3.0),
    )
}


def contestants_named(names: Sequence[str]) -> list[Contestant]:
    """The policies of these names in this order, all of the registry if none is given."""
    for name in names:
        if name not in CONTESTANTS:
            raise BadInput(nearest("policy", name, list(CONTESTANTS)))
    return [CONTESTANTS[name] for name in dict.fromkeys(names)] or list(CONTESTANTS.values())
