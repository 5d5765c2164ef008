"""The text of the certificate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from frontguard.studies.overview import Snapshot
from frontguard.words.certificate import guarantee
from tests.words.snapshots import snapshot_of


@pytest.fixture(scope="module")
def few() -> Snapshot:
    return snapshot_of(4, 2000)


def test_the_guarantee_names_probability_attacker_and_amounts(few: Snapshot) -> None:
    said = guarantee(few.result)
    assert said.startswith("With probability 95%, whatever a prescient attacker puts into up to 5% of each arm's")
    accuracy = few.result.certificate.amounts(few.objectives)
    assert accuracy[0] <= 0.05
    assert accuracy[1] <= 2.0
    unfinished = replace(few, result=replace(few.result, status="budget"))
    assert "may be on the front or not" in guarantee(unfinished.result)
