"""Lemma 3 at work: what is less than 2D apart can be made to look swapped, what is more cannot."""

from __future__ import annotations

import doctest
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.theory.spread import Gaussian, SpreadBound, Subgaussian, Uniform
from frontguard.theory.threats import Malicious, Oblivious, Prescient, Threat
from tests.support.snapshots import refused, said

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "impossibility.py"
spec = importlib.util.spec_from_file_location("impossibility", EXAMPLE)
assert spec is not None
assert spec.loader is not None
example = sys.modules["impossibility"] = importlib.util.module_from_spec(spec)  # where its dataclasses look for it
spec.loader.exec_module(example)
demonstrate, swapped_pair = example.demonstrate, example.swapped_pair

EPS = 0.2
# D by hand: h = 0.2 / 1.6 = 0.125 without, 0.2 with a choice of hits; σ Φ⁻¹(1/2 + h) and width · h
CASES: list[tuple[SpreadBound, Threat, float]] = [
    (Gaussian(2.0), Oblivious(EPS), 2.0 * stats.norm.ppf(0.625)),
    (Gaussian(2.0), Prescient(EPS), 2.0 * stats.norm.ppf(0.625)),
    (Gaussian(2.0), Malicious(EPS), 2.0 * stats.norm.ppf(0.7)),
    (Uniform(4.0), Oblivious(EPS), 0.5),
    (Uniform(4.0), Prescient(EPS), 0.5),
    (Uniform(4.0), Malicious(EPS), 0.8),
]


@pytest.mark.parametrize(("spread", "threat", "bias"), CASES)
def test_the_worse_arm_looks_better_by_zeta(
    spread: SpreadBound, threat: Threat, bias: float, snapshot: SnapshotAssertion
) -> None:
    pair = swapped_pair(spread, threat, zeta=0.3)
    assert pair.bias == pytest.approx(bias)
    assert pair.environment.pareto_set == [0]
    assert pair.environment.gaps == pytest.approx([0.0, 2 * bias - 0.3])
    assert pair.apparent_medians[1] - pair.apparent_medians[0] == pytest.approx(0.3)
    shown = demonstrate(pair, 10_000, seed=3)
    assert shown.swapped
    assert shown.lead_of_worse == pytest.approx(0.3, abs=0.17)
    assert said(shown.statement) == snapshot


@pytest.mark.parametrize(("spread", "threat", "bias"), CASES)
def test_beyond_two_d_the_same_attacker_fails(
    spread: SpreadBound, threat: Threat, bias: float, snapshot: SnapshotAssertion
) -> None:
    pair = swapped_pair(spread, threat, zeta=-0.3)
    assert pair.gap == pytest.approx(2 * bias + 0.3)
    shown = demonstrate(pair, 10_000, seed=3)
    assert not shown.swapped
    assert shown.lead_of_worse == pytest.approx(-0.3, abs=0.17)
    assert said(shown.statement) == snapshot


@pytest.mark.parametrize("threat", [Oblivious(EPS), Prescient(EPS), Malicious(EPS)], ids=lambda t: t.name)
def test_more_pulls_bring_the_lead_nearer_to_zeta(threat: Threat) -> None:
    """Errors fall like 1/√n: over 15 seeds, 64 times as many pulls leave about an eighth of the error."""
    pair = swapped_pair(Uniform(1.0), threat, zeta=0.1, objectives=1)
    errors = [
        np.sqrt(np.mean([(demonstrate(pair, pulls, seed=s).lead_of_worse - 0.1) ** 2 for s in range(15)]))
        for pulls in (64, 4096)
    ]
    assert errors[1] < errors[0] / 3
    assert errors[1] < 0.04


def test_any_number_of_objectives() -> None:
    for objectives in (1, 3):
        shown = demonstrate(swapped_pair(Uniform(1.0), Malicious(0.3), 0.2, objectives), 3_000)
        assert shown.empirical_medians.shape == (2, objectives)
        assert shown.swapped


def test_pulls_are_counted_exactly() -> None:
    pair = swapped_pair(Uniform(1.0), Malicious(0.3), 0.2)
    assert demonstrate(pair, 1).pulls == 1
    one, many = demonstrate(pair, 1).empirical_medians, demonstrate(pair, 65).empirical_medians
    assert one.tolist() != many.tolist()


def test_equal_arms_are_the_limit(snapshot: SnapshotAssertion) -> None:
    pair = swapped_pair(Uniform(1.0), Malicious(0.25), zeta=0.5)
    assert pair.gap == 0.0
    with refused(BadInput, snapshot):
        swapped_pair(Uniform(1.0), Malicious(0.25), zeta=0.51)


def test_bad_input_is_refused(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        swapped_pair(Subgaussian(1.0), Malicious(0.1), 0.1)
    with refused(BadInput, snapshot):
        swapped_pair(Uniform(1.0), Malicious(0.1), 0.1, objectives=0)
    with refused(BadInput, snapshot):
        swapped_pair(Uniform(1.0), Malicious(0.1), float("nan"))
    with refused(BadInput, snapshot):
        demonstrate(swapped_pair(Uniform(1.0), Malicious(0.1), 0.1), 0)


def test_the_example_says_it_for_every_threat_model(snapshot: SnapshotAssertion) -> None:
    assert doctest.testmod(example).failed == 0
    ended = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=True)
    assert said(ended.stdout) == snapshot
