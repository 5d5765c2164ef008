"""The robustness profile against its twin: the whole analysis anew for every ε of a fine grid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Malicious, Prescient, Share, Threat
from frontguard.errors import BadInput
from frontguard.evidence.kinds import LogLook
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.readers import IntervalReader
from frontguard.logs.robustness import profile, resolution_for
from frontguard.objectives import Objective
from frontguard.pareto.judge import judge
from frontguard.verdicts import Verdict
from tests.logs.simulated import ordered_log, random_samples
from tests.support.snapshots import refused

Floats = npt.NDArray[np.float64]

OBJECTIVES = (Objective("m0", "maximize"), Objective("m1", "minimize"))


def anew(log: Ordered, threat: Threat, tolerances: dict[str, float], step: float) -> tuple[list[float], float]:
    """Every verdict's last ε before its first change, and the first ε with other arms in, or more of them open."""
    count = round((0.5 - threat.eps) / step)
    levels = [round(threat.eps + k * step, 12) for k in range(count)]
    codes = [
        judge(IntervalReader(log, OBJECTIVES, 0.05).read(replace(threat, eps=eps)), **tolerances).codes
        for eps in levels
    ]
    per_arm = []
    for i in range(len(log.pulls)):
        history = [int(of_all[i]) for of_all in codes]
        stood = next((k for k, code in enumerate(history) if code != history[0]), len(levels))
        per_arm.append(np.nan if history[0] == Verdict.UNDECIDED else levels[stood - 1])
    for eps, of_all in zip(levels, codes, strict=True):
        pairs = list(zip(codes[0].tolist(), of_all.tolist(), strict=True))
        others_in = any((was == Verdict.KEEP) != (now == Verdict.KEEP) for was, now in pairs)
        if others_in or any(was != Verdict.UNDECIDED == now for was, now in pairs):
            return per_arm, eps
    return per_arm, 0.5


@pytest.mark.parametrize("threat", [Prescient(0.0), Prescient(0.05), Malicious(0.02), Share(0.02)], ids=str)
@pytest.mark.parametrize("kind", ["continuous", "stars", "wide tolerance", "margin"])
def test_the_profile_is_what_analysing_anew_gives(kind: str, threat: Threat) -> None:
    tolerances: dict[str, Any] = {"accuracy": 0.1, "coverage": 0.1, "margin": 0.0}
    if kind == "wide tolerance":
        tolerances = {"accuracy": 1.0, "coverage": 1.0, "margin": 0.0}
    if kind == "margin":
        tolerances = {"accuracy": 1.0, "coverage": 0.3, "margin": 0.35}
    changes = 0
    for seed in range(2):
        rng = np.random.default_rng(seed)
        samples = random_samples(15, 2, rng, rows=(200, 900))
        if kind == "stars":  # ties everywhere: then beaten arms can come in again
            samples = [np.clip(np.ceil(2.0 * sample), 1.0, 5.0) for sample in samples]
        log = ordered_log(samples)
        found = profile(IntervalReader(log, OBJECTIVES, 0.05), threat, resolution=0.005, **tolerances)
        per_arm, front = anew(log, threat, tolerances, 0.005)
        np.testing.assert_array_equal(found.per_arm, per_arm)
        assert found.front == front
        changes += len(set(per_arm))
    assert changes > 4


def test_it_is_exact_to_a_thousandth_without_looking_at_all_levels() -> None:
    rng = np.random.default_rng(3)
    log = ordered_log([rng.normal(mean, 1.0, size=(400, 2)) for mean in (0.0, 1.0, 4.0)])
    tolerances: dict[str, Any] = {"accuracy": 0.1, "coverage": 0.1, "margin": 0.0}
    found = profile(IntervalReader(log, OBJECTIVES, 0.05), Prescient(0.0), **tolerances)
    per_arm, front = anew(log, Prescient(0.0), tolerances, 0.001)
    np.testing.assert_array_equal(found.per_arm, per_arm)
    assert found.front == front
    assert found.resolution == 0.001
    assert len(found.levels) == len(found.in_front) < 60


def test_nothing_is_read_from_the_source_again() -> None:
    """Point estimates are read once for all levels."""
    centres = []
    log = ordered_log(random_samples(6, 2, np.random.default_rng(4), rows=(200, 400)))

    class Counting(IntervalReader):
        def _read_centres(self, look: LogLook) -> tuple[Floats, Floats, Floats]:
            centres.append(1)
            return super()._read_centres(look)

    told: list[float] = []
    reader = Counting(log, OBJECTIVES, 0.05)
    found = profile(reader, Prescient(0.0), accuracy=0.1, coverage=0.1, margin=0.0, progress=told.append)
    assert len(found.levels) > 3
    assert len(centres) == 1
    assert told == sorted(told)


def test_a_front_that_nothing_below_one_half_changes() -> None:
    log = ordered_log([np.full((500, 2), 1.0), np.full((500, 2), [2.0, 0.5])])
    found = profile(IntervalReader(log, OBJECTIVES, 0.05), Prescient(0.1), accuracy=0.0, coverage=0.0, margin=0.0)
    assert found.front == 0.5
    assert found.per_arm.tolist() == [0.499, 0.499]
    assert found.levels.tolist() == [0.1, 0.499]


def test_resolution_is_coarser_for_many_arms_only(snapshot: SnapshotAssertion) -> None:
    assert [resolution_for(arms) for arms in (1, 20_000, 20_001, 10**6)] == [0.001, 0.001, 0.002, 0.02]
    with refused(BadInput, snapshot):
        profile(
            IntervalReader(ordered_log([np.ones((9, 2))]), OBJECTIVES, 0.05), Prescient(0.0),
            accuracy=0.0, coverage=0.0, margin=0.0, resolution=0.5,
        )  # fmt: skip
