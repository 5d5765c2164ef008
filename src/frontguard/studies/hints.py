"""Whether a study's samples look far dirtier than declared: a hint beside its answer.

Only of objectives whose quantiles count. What is far from the others says little where a mean does: values that are 0
or 1 are all far from each other, the rarest stars are still stars, and bounds keep out what is beyond. And a value that
is exact has no sample.
"""

from __future__ import annotations

from collections.abc import Iterator

from frontguard._common.typing import Ints
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
    found = dirtier_than(settings.question.threat.eps, _looks(settings, policy, arms, known))
    return () if found is None else (found,)


def _looks(settings: Settings, policy: Certified, arms: Ints, known: Known) -> Iterator[tuple[str, str, SampleLook]]:
    """How these arms look by every so many-th value, as measured."""
    columns, objectives = policy.samples.columns, settings.question.objectives
    quantiles = [d for d, objective in enumerate(objectives) if objective.has_quantile]
    for arm in arms.tolist():
        for d in quantiles:
            objective, have = objectives[d], int(columns[arm * policy.width + d]["count"])
            count, look = known.get((arm, d), (-1, None))
            if look is None or count != have:
                look = look_at(objective.as_measured(policy.values_of(arm, d, 1 + have // MOST_VALUES)))
                known[arm, d] = have, look
            yield settings.arms[arm], objective.name, look
