"""The registry of policies: add one here and the common suite covers it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from frontguard import RPSI, AuerA1, AuerA1M, Certified, Gaussian, Malicious, Oblivious, Prescient, Share, Subgaussian
from frontguard.policies.base import Policy

Make = Callable[[int, int], Policy]

POLICIES: dict[str, Make] = {
    "rpsi oblivious": lambda K, M: RPSI(K, M, threat=Oblivious(0.1), spread=Subgaussian(0.02), accuracy=0.1, delta=0.1),
    "rpsi prescient": lambda K, M: RPSI(K, M, threat=Prescient(0.2), spread=Subgaussian(0.02), accuracy=0.1, delta=0.1),
    "rpsi malicious": lambda K, M: RPSI(K, M, threat=Malicious(0.2), spread=Subgaussian(0.02), accuracy=0.1, delta=0.1),
    "certified": lambda K, M: Certified(K, M, threat=Prescient(0.1), accuracy=0.2, coverage=0.1),
    "certified, short list": lambda K, M: Certified(
        K, M, threat=Prescient(0.1), accuracy=0.2, coverage=0.1, goal="list"
    ),
    "certified with R": lambda K, M: Certified(
        K, M, threat=Malicious(0.1), accuracy=0.2, coverage=0.1, spread=Gaussian(0.05)
    ),
    "gate": lambda K, M: Certified(K, M, threat=Prescient(0.1), accuracy=0.2, baseline=0),
    "certified, any share": lambda K, M: Certified(K, M, threat=Share(0.1), accuracy=0.2, coverage=0.1),
    "auer-a1": lambda K, M: AuerA1(K, M, accuracy=0.3, delta=0.1, scale=0.3),
    "auer-a1-m": lambda K, M: AuerA1M(K, M, accuracy=0.3, delta=0.1, scale=0.3),
}


@pytest.fixture(params=sorted(POLICIES))
def make(request: pytest.FixtureRequest) -> Make:
    return POLICIES[request.param]
