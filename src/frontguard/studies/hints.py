"""Whether a study's samples look far dirtier than declared: a hint beside its answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from frontguard._typing import Ints
from frontguard.notices import LooksDirtier
from frontguard.policies.certified import Certified
from frontguard.results import Result
from frontguard.studies.settings import Settings
from frontguard.suspects import MOST_VALUES, SampleLook, arms_that_matter, dirtier_than, look_at

Known = dict[tuple[int, int], tuple[int, SampleLook]]
"""By arm and objective, at how many values a sample was looked at, and how it looked: it only ever grows."""


def looks_dirtier(settings: Settings, policy: Certified, result: Result, known: Known) -> tuple[LooksDirtier, ...]:
    """The hint, if there is one to give. Its cost does not grow with arms or pulls, and `known` ones cost nothing."""
    arms = arms_that_matter(result.verdict_codes, result.decided_by, result.pulls_per_arm)
    found = dirtier_than(settings.threat.eps, _looks(settings, policy, arms, known))
    return () if found is None else (found,)


def _looks(settings: Settings, policy: Certified, arms: Ints, known: Known) -> Iterator[tuple[str, str, SampleLook]]:
    """How these arms look by every so many-th value, as measured."""
    samples, objectives = policy.samples, settings.objectives
    for arm in arms.tolist():
        for d, objective in enumerate(objectives):
            column = samples.columns[arm * policy.width + d]
            count, look = known.get((arm, d), (-1, None))
            if look is not None and count == int(column["count"]):
                yield settings.arms[arm], objective.name, look
                continue
            step = 1 + int(column["count"]) // MOST_VALUES
            start, later, beside = int(column["start"]), int(column["window"]), int(column["window_start"])
            own = samples.pool[start : start + int(column["count"]) - later : step]
            inner = np.concatenate([own, samples.beside[beside : beside + later : step]])
            look = look_at(objective.outward(inner))
            known[arm, d] = int(column["count"]), look
            yield settings.arms[arm], objective.name, look
