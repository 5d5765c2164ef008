"""Studies in memory at one moment, to be put into words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from frontguard import Objective, Prescient
from frontguard.results import Answer, Certificate, Intervals
from frontguard.studies import Study
from frontguard.verdicts import Verdict

SECONDS = Objective("seconds", "minimize", "5%")
SCORE = Objective("score", "maximize", 2.0, quantile=0.9)


def snapshot_of(arms: int, pulls: int, metrics: tuple[Objective, ...] = (SECONDS, SCORE), name: str = "arm") -> Answer:
    """A study in which later arms are slower and better, so that all are on the front, but for every third."""
    study = Study([f"{name} {i}" for i in range(arms)], metrics, Prescient(0.05), max_pulls=pulls, blocks=False)
    rng = np.random.default_rng(7)
    while asked := study.ask(64):
        told = []
        for pull in asked:
            score = 10.0 * pull.index - (15.0 if pull.index % 3 == 2 else 0.0)
            values = [1.3**pull.index * math.exp(0.02 * rng.normal()), score + rng.normal()]
            told.append((pull, values[: len(metrics)]))
        study.tell_many(told)
    return study.result()


def in_state(found: Answer, **state: Any) -> Answer:
    """The same answer with something else about the state of its study."""
    return replace(found, study=replace(found.state, **state))


def result_of(arms: int, metrics: tuple[Objective, ...]) -> Answer:
    """A result with verdicts of all kinds and numbers at random."""
    rng = np.random.default_rng(0)
    centre = 100.0 * rng.normal(size=(arms, len(metrics)))
    return Answer(
        policy="analysis",
        status="budget",
        arms=tuple(f"arm {i}" for i in range(arms)),
        objectives=tuple(metric.name for metric in metrics),
        verdict_codes=rng.integers(0, len(Verdict), arms),
        inner=Intervals(centre, lower=centre - 9.0 * rng.random(centre.shape), upper=centre + 3.0),
        pulls_per_arm=rng.integers(1, 10**5, arms),
        decided_by=rng.integers(-1, arms, arms),
        certificate=Certificate(0.1, 0.1, 0.95, "prescient", 0.1),
    ).in_units(metrics)


def exclude(result: Answer, *arms: str) -> Answer:
    """The result of a study in which some arms cannot be measured."""
    codes = result.verdict_codes.copy()
    codes[[result.arms.index(arm) for arm in arms]] = Verdict.EXCLUDED
    return replace(result, verdict_codes=codes)
