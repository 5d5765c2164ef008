"""COV-BOOST as the benchmarks read it."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from benchmarks.covboost import TABLE, covboost, read_covboost
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from tests.support.snapshots import refused


def test_it_is_the_published_instance() -> None:
    instance = covboost()
    assert instance.means.shape == (20, 3)
    assert instance.means[8].tolist() == [10.42726889, 7.61035762, 4.71849887]
    assert instance.deviations.tolist() == pytest.approx([math.sqrt(v) for v in (0.70437039, 0.82845749, 1.53743137)])
    assert instance.pareto == (8, 18)
    assert instance.published["ape_samples_delta_0.1"] == 18165
    # Arm 14 is the nearest to the front: arm 18 beats it everywhere, least so in the third objective.
    assert instance.smallest_gap == pytest.approx(min(instance.means[18] - instance.means[14]), abs=1e-12)


@pytest.mark.parametrize("standardised", [False, True])
def test_rewards(standardised: bool) -> None:
    instance = covboost()
    environment = instance.environment(standardised=standardised)
    assert environment.pareto_set == [8, 18]
    sample = environment.sample(4, 40_000, seed=1)
    scale = np.ones(3) if standardised else instance.deviations
    centre = instance.means[4] / instance.deviations if standardised else instance.means[4]
    assert np.asarray(sample).mean(axis=0) == pytest.approx(centre, abs=5 * scale.max() / 200)
    assert np.asarray(sample).std(axis=0) == pytest.approx(scale, rel=0.02)


@pytest.mark.parametrize(
    "changes",
    [
        {"K": 19},
        {"cov": [[1, 0.1, 0], [0.1, 1, 0], [0, 0, 1]]},
        {"cov": [[1, 0, 0], [0, 0, 0], [0, 0, 1]]},
        {"means": "none"},
        {"published": None},
    ],
)
def test_damage_is_named(changes: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    fields = {**json.loads(TABLE.read_text()), **changes}
    with refused(BadInput, snapshot):
        read_covboost(fields, where="covboost")
