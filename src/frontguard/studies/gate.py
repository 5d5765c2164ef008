"""What a study with a baseline says of its candidates: the facts of a gate, from the policy's own comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from frontguard.comparisons.effects import Comparable, Effect, against
from frontguard.comparisons.gate import Check, GatePair, GateResult, LimitCheck, Outcome, limit_check
from frontguard.policies.gate import BASELINE, CANDIDATE, SEEN_ESTIMATE, SEEN_HIGH, SEEN_LOW, AgainstBaseline
from frontguard.results import Result

if TYPE_CHECKING:
    from frontguard.studies.replay import Replay

BASELINE_ROW, CANDIDATE_ROW = range(2)  # of two arms that are compared

How = Literal["done", "time", "cancelled"]


def gate_of(state: Replay, result: Result, how: How = "done") -> GateResult:
    """The gate of a study, as far as it was measured; `how` the run ended, where the study has not come to its end."""
    policy, settings = state.policy, state.settings
    assert policy.against is not None
    its, outcomes = policy.against.baseline, policy.against.outcomes
    pairs = tuple(
        GatePair(
            name=settings.arms[arm],
            candidate=settings.arms[arm],
            baseline=settings.arms[its],
            checks=tuple(Check(_effect(state, policy.against, arm, d)) for d in range(policy.objectives)),
            pulls=int(result.pulls_per_arm[arm]),
            baseline_pulls=int(result.pulls_per_arm[its]),
            aside=tuple(settings.arms[each] for each in (its, arm) if settings.arms[each] in result.aside),
            limits=_limits(state, policy.against, arm),
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


def _limits(state: Replay, against_it: AgainstBaseline, arm: int) -> tuple[LimitCheck, ...]:
    """How an arm keeps to the limits, by the intervals in which the policy last looked at them."""
    gates, seen = state.settings.columns.gates, against_it.limited[arm]
    outcomes = against_it.outcomes[arm, len(state.settings.objectives) :].tolist()
    found = zip(gates, *seen.tolist(), outcomes, strict=True)
    return tuple(limit_check(gate, low, high, estimate, code) for gate, low, high, estimate, code in found)


def _effect(state: Replay, against_it: AgainstBaseline, arm: int, d: int) -> Effect:
    """How an arm compares with the baseline, by the intervals in which the policy last compared them."""
    settings, seen = state.settings, against_it.seen[arm, :, :, d]
    apart = np.full((2, 2, 1), np.inf)
    apart[CANDIDATE_ROW, BASELINE_ROW], apart[BASELINE_ROW, CANDIDATE_ROW] = against_it.apart[arm, :, d][:, None]

    def of_both(which: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        return seen[[BASELINE, CANDIDATE], which][:, None]

    boxes = Comparable(
        (settings.arms[against_it.baseline], settings.arms[arm]),
        (settings.objectives[d],),
        of_both(SEEN_ESTIMATE),
        of_both(SEEN_LOW),
        of_both(SEEN_HIGH),
        settings.confidence,
        apart,
    )
    return against(boxes, BASELINE_ROW, np.array([CANDIDATE_ROW])).effect(0, 0)
