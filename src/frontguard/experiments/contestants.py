"""The policies that compete in an experiment: name → how to build it from what the experiment tells.

To add one, add an entry: the runner, the tables and the figures know policies by this registry only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from frontguard.errors import BadInput
from frontguard.experiments.plan import DELTA, T_BAR, Setting, nearest
from frontguard.policies import RPSI, AuerA1, AuerA1M, Certified


@dataclass(frozen=True)
class ExperimentPolicy:
    """A policy in an experiment. `arguments` is all that determines it; `weight` how much a pull costs, roughly.

    The weight is used for the estimate of the time left until something has been measured, and for nothing
    else.
    """

    name: str
    title: str
    kind: Callable[..., Any]
    arguments: Callable[[Setting], dict[str, Any]]
    weight: float = 1.0
    by_default: bool = True  # whether a command that names no policy runs it

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


def _certified(setting: Setting) -> dict[str, Any]:
    """The guarantee that R-PSI gives: accuracy 2D + α, coverage 2D."""
    return {
        **_certified_without_spread(setting),
        "spread": setting.experiment.spread,
        "t_bar": T_BAR,
    }


def _certified_without_spread(setting: Setting) -> dict[str, Any]:
    """The same guarantee without being told R. At large ε that may be out of reach: it stops at a budget."""
    return {
        **_size(setting),
        "threat": setting.threat,
        "accuracy": 2 * setting.bias + setting.experiment.accuracy,
        "coverage": 2 * setting.bias,
        "delta": DELTA,
        "max_pulls": MOST_PULLS,
    }


MOST_PULLS = 1_000_000


def _auer(setting: Setting) -> dict[str, Any]:
    return {**_size(setting), "accuracy": setting.experiment.accuracy, "delta": DELTA}


CONTESTANTS: dict[str, ExperimentPolicy] = {
    contestant.name: contestant
    for contestant in (
        ExperimentPolicy("rpsi", "R-PSI", RPSI, _rpsi, weight=1.0),
        ExperimentPolicy("certified", "certified", Certified, _certified, weight=3.0),
        ExperimentPolicy(
            "certified-no-r", "certified without R", Certified, _certified_without_spread, weight=3.0, by_default=False
        ),
        ExperimentPolicy("auer-a1", "Auer-A1", AuerA1, _auer, weight=1.0),
        ExperimentPolicy("auer-a1-m", "Auer-A1-M", AuerA1M, _auer, weight=3.0),
    )
}


def contestants_named(names: Sequence[str]) -> list[ExperimentPolicy]:
    """The policies of these names in this order; those that run by default if none is given."""
    for name in names:
        if name not in CONTESTANTS:
            raise BadInput(nearest("policy", name, list(CONTESTANTS)))
    usual = [contestant for contestant in CONTESTANTS.values() if contestant.by_default]
    return [CONTESTANTS[name] for name in dict.fromkeys(names)] or usual
