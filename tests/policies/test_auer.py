"""Auer-A1 and Auer-A1-M against the algorithm written over all pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import AuerA1, AuerA1M, Prescient
from frontguard.policies.auer import confidence_width
from tests.policies import naive
from tests.support.snapshots import refused, said


@settings(max_examples=30)
@given(
    arms=st.integers(1, 8),
    objectives=st.integers(1, 4),
    accuracy=st.sampled_from([0.1, 0.3]),
    eps=st.sampled_from([0.0, 0.2]),
    by_median=st.booleans(),
    scales=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_same_answer_and_same_pulls_as_the_algorithm_over_all_pairs(
    arms: int, objectives: int, accuracy: float, eps: float, by_median: bool, scales: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    medians = np.round(rng.uniform(0, 1, (arms, objectives)), 1)
    scale = 0.05 * (1 + np.arange(objectives) % 2 * scales)

    def fresh_take() -> naive.Take:
        generators = [np.random.default_rng([seed, i]) for i in range(arms)]

        def take(arm: int, pulls: int) -> naive.Floats:
            noise = 0.05 * generators[arm].normal(size=(pulls, objectives))
            hit = generators[arm].random((pulls, objectives)) < eps
            return np.where(hit, -1.0, medians[arm] + noise)

        return take

    policy = (AuerA1M if by_median else AuerA1)(arms, objectives, accuracy=accuracy, delta=0.1, scale=scale)
    take = fresh_take()
    while not policy.done:
        batch = policy.ask()
        policy.tell(batch, np.concatenate([take(int(arm), 1) for arm in batch]))

    center = np.median if by_median else (lambda values, axis: np.add.accumulate(values)[-1] / len(values))
    found, pulls = naive.auer(arms, objectives, accuracy, 0.1, scale, fresh_take(), center)
    result = policy.result()
    assert {int(name) for name in result.pareto_set} == found
    assert dict(enumerate(result.pulls_per_arm.tolist())) == pulls


def test_the_width_is_the_published_one() -> None:
    K, M, n, delta = 16, 2, 37, 0.1
    wanted = math.sqrt(2 * math.log(4 * K * M * n**2 / delta) / n)
    assert confidence_width(n, math.log(4 * K * M / delta)) == pytest.approx(wanted, rel=1e-14)


def test_the_certificate_claims_nothing_about_attackers(snapshot: SnapshotAssertion) -> None:
    policy = AuerA1(2, 2, accuracy=0.1)
    assert (policy.certificate().confidence, policy.certificate().void) == (None, "running")
    certificate = stopped(policy).result().certificate
    assert (certificate.accuracy, certificate.coverage, certificate.threat) == (0.1, 0.0, "none")
    assert (certificate.confidence, certificate.void) == (0.9, "")
    assert said(certificate) == snapshot


def test_under_contamination_and_with_medians_nothing_is_promised() -> None:
    lied_to = stopped(AuerA1(2, 2, accuracy=0.1, threat=Prescient(0.1)))
    assert (lied_to.certificate().confidence, lied_to.certificate().void) == (None, "contamination")
    by_medians = stopped(AuerA1M(2, 2, accuracy=0.1))
    assert (by_medians.certificate().confidence, by_medians.certificate().void) == (None, "medians")


def stopped(policy: AuerA1) -> AuerA1:
    while not policy.done:
        arms = policy.ask()
        policy.tell(arms, [[float(arm), float(arm)] for arm in arms])
    return policy


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), [1.0], [[1.0, 1.0]]])
def test_scale_is_checked(scale: float, snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        AuerA1(2, 2, accuracy=0.1, scale=scale)
