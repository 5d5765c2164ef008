"""What a study with a baseline says of its candidates: the facts of a gate, from the policy's own comparisons."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from frontguard.comparisons.outcomes import GateQuestion, GateResult, Intervals, Outcome
from frontguard.policies.baseline import BASELINE, CANDIDATE
from frontguard.results import Result

if TYPE_CHECKING:
    from frontguard.studies.replay import Replay

How = Literal["done", "time", "cancelled"]


def gate_of(state: Replay, result: Result, how: How = "done") -> GateResult:
    """The gate of a study, as far as it was measured; `how` the run ended, where the study has not come to its end."""
    policy, settings = state.policy, state.settings
    assert policy.against is not None
    its, outcomes, seen = policy.against.baseline, policy.against.outcomes, policy.against.seen
    M, arms, pulls = policy.objectives, settings.arms, result.pulls_per_arm.tolist()
    asked = settings.question
    gates = tuple(replace(gate, column=M + q) for q, gate in enumerate(asked.columns.gates))  # as they were checked
    question = GateQuestion(asked.objectives, gates, asked.confidence)
    pairs = []
    for arm, name in enumerate(arms):
        if arm != its:
            ends = Intervals(*seen[arm][[BASELINE, CANDIDATE]].transpose(1, 0, 2))
            found = question.pair(
                (name, name, arms[its]), (pulls[arm], pulls[its]), ends, policy.against.apart[arm], outcomes[arm]
            )
            aside = tuple(arms[each] for each in (its, arm) if arms[each] in result.aside)
            pairs.append(replace(found, aside=aside))
    status = state.status if state.stopped else "running" if how == "done" else how
    if (outcomes != Outcome.OPEN).all():
        status = "decided"
    elif status == "certified":  # of the arms that could be measured
        status = "unmeasured"
    return GateResult(
        tuple(pairs),
        asked,
        status,
        result.pulls,
        notices=result.notices,
    )
