"""R-PSI against Algorithm 1 written line by line, and what its result must say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import RPSI, Gaussian, Malicious, Oblivious, Prescient, Subgaussian, Threat
from frontguard.policies import rpsi
from frontguard.simulation import RewardSource, Streams, simulate_one
from frontguard.simulation.environments import gaussian
from frontguard.theory.schedule import Schedule
from tests.policies import naive
from tests.support.snapshots import refused, said

THREATS = st.one_of(
    st.sampled_from([0.0, 0.05, 0.2, 0.4]).map(Oblivious),
    st.sampled_from([0.0, 0.1, 0.3]).map(Prescient),
    st.sampled_from([0.0, 0.1, 0.3]).map(Malicious),
)


@settings(max_examples=40)
@given(
    arms=st.integers(1, 9),
    objectives=st.integers(1, 4),
    threat=THREATS,
    accuracy=st.sampled_from([0.05, 0.1, 0.4]),
    bias=st.sampled_from([None, 0.0, 0.05]),
    kind=st.sampled_from(["continuous", "grid", "ties"]),
    seed=st.integers(0, 10**6),
)
def test_same_answer_and_same_pulls_as_algorithm_1_over_all_pairs(
    arms: int, objectives: int, threat: Threat, accuracy: float, bias: float | None, kind: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    medians = rng.uniform(0, 0.6, (arms, objectives))
    if kind == "grid":
        medians = np.round(medians, 1)
    generators = [np.random.default_rng([seed, i]) for i in range(arms)]

    def take(arm: int, pulls: int) -> naive.Floats:
        noise = 0.03 * generators[arm].normal(size=(pulls, objectives))
        hit = generators[arm].random((pulls, objectives)) < threat.eps
        values = np.where(hit, -2.0, medians[arm] + noise)
        return np.round(values, 1) if kind == "ties" else values

    spread = Subgaussian(0.02)
    policy = RPSI(arms, objectives, threat=threat, spread=spread, accuracy=accuracy, delta=0.1, bias=bias)
    asked: list[tuple[int, int]] = []
    while not policy.done:
        batch = policy.ask()
        for arm in np.unique(batch):
            asked.append((int(arm), int((batch == arm).sum())))
            policy.tell(np.full(asked[-1][1], arm), take(*asked[-1]))

    generators = [np.random.default_rng([seed, i]) for i in range(arms)]
    schedule = Schedule(threat, spread, arms, objectives, 0.1, bias_override=bias)
    found, eliminated, pulls = naive.rpsi(schedule, accuracy, take)
    result = policy.result()
    assert {int(name) for name in result.pareto_set} == found
    assert {int(name) for name, verdict in result.verdicts.items() if verdict == "beaten"} == eliminated
    assert dict(enumerate(result.pulls_per_arm.tolist())) == pulls


def test_the_next_arm_is_one_of_largest_width_and_sampling_rounds_differ_by_at_most_one() -> None:
    """Remark 1, with no scan over the arms."""
    rng = np.random.default_rng(1)
    policy = RPSI(12, 2, threat=Oblivious(0.1), spread=Subgaussian(0.05), accuracy=0.1)
    medians = rng.uniform(0, 1, (12, 2))
    while not policy.done:
        batch = policy.ask()
        phases, control = policy.standing.arms["phases"], policy.standing.control
        if control["phase"][0]:
            following, widths = int(control["next"][0]), policy.phase_widths[phases]
            undecided = policy.result().verdict_codes == 0
            assert widths[following] == widths[undecided].max()
            assert np.ptp(phases[undecided]) <= 1
            assert set(batch) == {following}
        policy.tell(batch, medians[batch] + 0.02 * rng.normal(size=(len(batch), 2)))


def test_the_result_names_boxes_rivals_and_the_papers_guarantee(snapshot: SnapshotAssertion) -> None:
    policy = RPSI(3, 2, threat=Malicious(0.1), spread=Subgaussian(0.02), accuracy=0.2, delta=0.05)
    medians = np.array([[1.0, 1.0], [0.0, 0.0], [0.98, 1.0]])
    while not policy.done:
        batch = policy.ask()
        policy.tell(batch, medians[batch])
    result = policy.result(["best", "worst", "close"], ["x", "y"])
    bias = Subgaussian(0.02)(0.1)
    assert result.certificate.accuracy == pytest.approx(2 * bias + 0.2)
    assert result.certificate.coverage == pytest.approx(2 * bias)
    assert result.certificate.confidence == pytest.approx(0.95)
    assert (result.certificate.threat, result.certificate.contamination) == ("malicious", 0.1)
    assert result.to_dict()["decided_by"]["worst"] in ("best", "close")
    widths = policy.phase_widths[policy.standing.arms["phases"]]
    np.testing.assert_allclose(result.upper - result.lower, 2 * (policy.bias + widths)[:, None] * [1, 1])
    assert said(result.certificate) == snapshot


def test_arms_left_over_are_covered_by_a_returned_arm() -> None:
    policy = RPSI(2, 1, threat=Oblivious(0.0), spread=Subgaussian(0.1), accuracy=0.2)
    medians = np.array([[0.0], [0.3]])  # further apart than α, nearer than 4D + α
    while not policy.done:
        batch = policy.ask()
        policy.tell(batch, medians[batch])
    result = policy.result()
    assert result.verdicts == {"0": "matched", "1": "keep"}
    assert result.decided_by.tolist() == [1, -1]


@pytest.mark.parametrize("accuracy", [0.0, -1.0, float("nan"), "0.1"])
def test_accuracy_has_to_be_positive(accuracy: float, snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        RPSI(2, 2, threat=Oblivious(0.1), spread=Subgaussian(0.1), accuracy=accuracy)


def test_an_order_that_is_no_permutation_is_refused(snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        RPSI(3, 2, threat=Oblivious(0.1), spread=Subgaussian(0.1), accuracy=0.1, order=[0, 0, 1])


def a_ring(medians: list[list[float]], accuracy: float, bias: float, widths: list[float]) -> rpsi.Ring:
    """Arms before the first decision, with medians that floating point holds exactly."""
    ring = rpsi.initial_ring(np.arange(len(medians)), len(medians[0]), accuracy, bias, np.array(widths))
    ring.medians[:] = medians
    return ring


def first_decision(medians: list[list[float]], *, width: float, accuracy: float, bias: float) -> list[int]:
    """Verdicts of the first decision."""
    ring = a_ring(medians, accuracy, bias, [np.inf, width, width / 2])
    rpsi.decide_first(ring)
    return [int(verdict) for verdict in ring.arms["status"]]


def test_an_arm_is_held_where_the_bounds_just_touch() -> None:
    """Line 20 has ⪯: m̂_i − U + α = m̂_j + U holds i back; a hair more and nothing does."""
    assert first_decision([[0.0, 0.0], [0.0, 0.0]], width=0.25, accuracy=0.5, bias=8.0) == [0, 0]
    assert first_decision([[0.0, 0.0], [0.0, 0.0]], width=0.25, accuracy=0.5 + 2**-40, bias=8.0) == [1, 1]


def test_an_arm_is_beaten_only_if_one_objective_is_strictly_worse() -> None:
    """Line 17 has ≺: bounds that touch in every objective eliminate nobody."""
    assert first_decision([[2.0, 2.0], [0.0, 0.0]], width=0.5, accuracy=1.0, bias=0.5) == [0, 0]
    assert first_decision([[2.0, 2.0 + 2**-40], [0.0, 0.0]], width=0.5, accuracy=1.0, bias=0.5) == [1, 2]


def test_a_later_phase_has_the_same_strictness() -> None:
    widths = [np.inf, 1.0, 0.5, 0.25]
    for lead, verdict in ((0.0, 0), (2**-40, 2)):
        ring = a_ring([[2.0, 2.0], [-0.5, -0.5]], 1.0, 0.5, widths)
        rpsi.decide_first(ring)
        assert ring.arms["status"].tolist() == [0, 0]
        rpsi.decide(ring, 0, np.array([2.0, 2.0 + lead]))  # 2 − 1 = −0.5 + 1.5 + 0
        assert ring.arms["status"][1] == verdict
        ring = a_ring([[-0.5, -0.5], [2.0, 2.0]], 1.0, 0.5, widths)
        rpsi.decide_first(ring)
        rpsi.decide(ring, 0, np.array([-0.5, -0.5 - lead]))  # the re-sampled arm is the worse
        assert ring.arms["status"][0] == (0 if lead == 0.0 else 2)


@pytest.mark.parametrize(("factor", "phases"), [(1 + 1e-9, 5), (1 - 1e-9, 6)])
def test_it_stops_in_the_very_phase_in_which_every_width_is_a_quarter_of_alpha(factor: float, phases: int) -> None:
    spread, threat = Subgaussian(0.1), Prescient(0.1)
    width = Schedule(threat, spread, 2, 1, 0.1).width(5)
    policy = RPSI(2, 1, threat=threat, spread=spread, accuracy=4 * width * factor)
    while not policy.done:
        policy.tell(batch := policy.ask(), np.where(batch == 0, 0.0, 4 * width + 0.05)[:, None])
    assert policy.result().verdicts == {"0": "matched", "1": "keep"}
    assert policy.standing.arms["phases"].tolist() == [phases, phases]


def test_many_arms_never_leave_the_schedule() -> None:
    environment = gaussian(np.random.default_rng([0, 0]).uniform(0, 3, (200, 3)), 0.2)
    settings_ = {"threat": Prescient(0.05), "spread": Gaussian(0.2), "accuracy": 0.27359527504966374, "delta": 0.0005}
    policy = RPSI(200, 3, **settings_)
    last = Schedule(Prescient(0.05), Gaussian(0.2), 200, 3, 0.0005).phases_until(settings_["accuracy"] / 4)
    seen = 0
    for run in range(25, 65):  # of the runs before, none has it
        live, streams = policy.fresh(), Streams(RewardSource(environment), seed=0, run=run)
        while not live.done:
            batch = live.ask()
            live.tell(batch, streams.take_batch(batch))
        seen = max(seen, int(live.standing.arms["phases"].max()))
        assert simulate_one(policy, environment, seed=0, run=run).result().pulls == live.result().pulls
        if seen > last:
            break
    assert seen == last + 1, "the extra phase of Algorithm 1 was meant to occur"
