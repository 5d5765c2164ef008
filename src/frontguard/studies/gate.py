"""What a study with a baseline says of its candidates: the facts of a gate, from the policy's own comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from frontguard.comparisons.effects import Comparable, Effect, against
from frontguard.comparisons.gate import Check, GatePair, GateResult, Outcome
from frontguard.policies.gate import BASELINE, CANDIDATE, SEEN_ESTIMATE, SEEN_HIGH, SEEN_LOW, Gatekeeper
from frontguard.results import Result

if TYPE_CHECKING:
    from frontguard.studies.replay import Replay

How = Literal["done", "time", "cancelled"]


def gate_of(state: Replay, result: Result, how: How = "done") -> GateResult:
    """The gate of a study, as far as it was measured; `how` the run ended, where the study has not come to its end."""
    policy, settings = state.policy, state.settings
    assert isinstance(policy, Gatekeeper)
    its, outcomes = policy.baseline, policy.outcomes
    pairs = tuple(
        GatePair(
            name=settings.arms[arm],
            candidate=settings.arms[arm],
            baseline=settings.arms[its],
            checks=tuple(Check(_effect(state, policy, arm, d)) for d in range(policy.objectives)),
            pulls=int(result.pulls_per_arm[arm]),
            baseline_pulls=int(result.pulls_per_arm[its]),
            aside=tuple(settings.arms[each] for each in (its, arm) if settings.arms[each] in result.aside),
        )
        for arm in range(policy.arms)
        if arm != its
    )
    status = state.status if state.stopped else "running" if how == "done" else how
    if (outcomes != Outcome.OPEN).all():
        status = "decided"
    elif status == "certified":  # of the arms that could be measured
        status = "unmeasured"
    return GateResult(
        pairs,
        settings.objectives,
        settings.confidence,
        settings.threat.name,
        settings.threat.eps,
        status,
        result.pulls,
        notices=result.notices,
    )


def _effect(state: Replay, policy: Gatekeeper, arm: int, d: int) -> Effect:
    """How an arm compares with the baseline, by the boxes in which the policy last compared them."""
    settings, seen = state.settings, policy.seen[arm, :, :, d]

    def of_both(which: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        return seen[[BASELINE, CANDIDATE], which][:, None]

    boxes = Comparable(
        (settings.arms[policy.baseline], settings.arms[arm]),
        (settings.objectives[d],),
        of_both(SEEN_ESTIMATE),
        of_both(SEEN_LOW),
        of_both(SEEN_HIGH),
        settings.confidence,
    )
    return against(boxes, 0, np.array([1])).effect(0, 0)
