"""Whether a study's samples look far dirtier than declared: a hint beside its answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from frontguard._typing import Floats, Ints
from frontguard.notices import LooksDirtier
from frontguard.policies.certified import Certified
from frontguard.results import Result
from frontguard.studies.settings import Settings
from frontguard.suspects import MOST_VALUES, arms_that_matter, dirtier_than


def looks_dirtier(settings: Settings, policy: Certified, result: Result) -> tuple[LooksDirtier, ...]:
    """The hint, if there is one to give. Its cost does not grow with arms or pulls."""
    arms = arms_that_matter(result.verdict_codes, result.decided_by, result.pulls_per_arm)
    found = dirtier_than(settings.threat.eps, _shapes(settings, policy, arms))
    return () if found is None else (found,)


def _shapes(settings: Settings, policy: Certified, arms: Ints) -> Iterator[tuple[str, str, Floats]]:
    """Of these arms every so many-th value, as measured."""
    samples, objectives = policy.samples, settings.objectives
    for arm in arms.tolist():
        for d, objective in enumerate(objectives):
            column = samples.columns[arm * len(objectives) + d]
            step = 1 + int(column["count"]) // MOST_VALUES
            start, later, beside = int(column["start"]), int(column["window"]), int(column["window_start"])
            own = samples.pool[start : start + int(column["count"]) - later : step]
            inner = np.concatenate([own, samples.beside[beside : beside + later : step]])
            yield settings.arms[arm], objective.name, objective.outward(inner)
