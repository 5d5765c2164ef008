"""Logs of arms that are taken as independent of each other, against p-values as they are defined."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Oblivious, Prescient, Share, Study, analyze
from frontguard.errors import BadInput
from frontguard.evidence.differences import apart as independent_arms
from frontguard.evidence.differences.apart import STEP, IndependentLog, IndependentReader, lasting_threshold, levels_for
from frontguard.evidence.differences.pairs import SHARE
from frontguard.evidence.differences.two_sample import largest_difference
from frontguard.evidence.readers import IntervalReader
from frontguard.logs.sort import sorted_pulls
from frontguard.theory.threats import Threat
from frontguard.words.certificate import guarantee
from tests.support.snapshots import refused, said

Floats = npt.NDArray[np.float64]
SPEED = Objective("speed", "maximize", tolerance=0.0)
RATE = Objective("solved", "maximize", statistic="mean", bounds=(0, 1))
VOLTS = Objective("volts", "maximize", statistic="mean", sigma=1.0)


def log_of(samples: list[Floats], objective: Objective, **more: Any) -> IndependentLog:
    arm_of = np.repeat(np.arange(len(samples)), [len(each) for each in samples])
    names = [f"arm-{i}" for i in range(len(samples))]
    ordered = sorted_pulls(names, [objective], arm_of, np.concatenate(samples)[:, None])
    return IndependentLog.of(ordered, **more)


def frame_of(samples: list[Floats], name: str) -> dict[str, Any]:
    arms = [f"arm-{i}" for i in range(len(samples))]
    return {"arm": np.repeat(arms, [len(each) for each in samples]), name: np.concatenate(samples)}


@pytest.mark.parametrize("threat", [Oblivious(0.0), Prescient(0.05), Share(0.05)])
def test_quantiles_are_compared_as_two_samples(threat: Threat) -> None:
    draw = np.random.default_rng(3)
    samples = [draw.normal(size=(n,)) for n in (150, 220, 150)]
    samples[0][::40] = np.nan  # which fail
    for objective in (SPEED, replace(SPEED, direction="minimize", quantile=0.8)):
        apart = IndependentReader(log_of(samples, objective), [objective], 0.05).read(threat).apart
        assert apart is not None
        sign = -1.0 if objective.minimized else 1.0
        for i, j in itertools.permutations(range(3), 2):
            y, x = (np.sort(np.nan_to_num(sign * samples[arm], nan=end)) for arm, end in ((j, np.inf), (i, -np.inf)))
            level = objective.inner_quantile
            assert apart[j, i, 0] == pytest.approx(largest_difference(y, x, threat, level, SHARE * 0.05 / 6), rel=1e-12)


def test_what_is_said_of_two_quantiles_only_fades_as_more_may_be_wrong() -> None:
    draw = np.random.default_rng(4)
    log = log_of([draw.normal(size=n) for n in (30, 40)], SPEED, declared=Prescient(0.1))
    reader = IndependentReader(log, [SPEED], 0.05)
    found = [reader.read(Prescient(eps)).apart[0, 1, 0] for eps in np.arange(0.0, 0.4, 0.005)]
    assert found == sorted(found)
    other = IndependentReader(replace(log, declared=None), [SPEED], 0.05)
    assert found[20] == other.read(Prescient(0.1)).apart[0, 1, 0]


@pytest.mark.parametrize("threat", [Oblivious(0.0), Prescient(0.05), Share(0.05)])
def test_bounds_of_many_sizes_are_those_of_products_of_p_values(
    threat: Threat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(independent_arms, "MOST_SIZES", 1)
    draw = np.random.default_rng(3)
    samples = [draw.normal(size=150), draw.normal(0.2, 1.0, size=220)]
    samples[0][::40] = np.nan  # which fail
    intervals = IndependentReader(log_of(samples, SPEED), [SPEED], 0.05).read(threat)
    assert intervals.apart is not None
    keep, steps = threat.keep(0.5), levels_for(SHARE * 0.05 / 2)
    for i, j in ((0, 1), (1, 0)):
        bound = float(intervals.apart[j, i, 0])

        def levels(arm: int, points: Floats, sign: float) -> Any:
            """−log of the probability of counting so few at or below a point; what failed counts, what may be taken."""
            n = len(samples[arm])
            values = sign * samples[arm][~np.isnan(samples[arm])]
            counts = (values[None, :] <= points[:, None]).sum(axis=1) + n - len(values) + int(threat.taken * n)
            return -binom.logcdf(counts, n, keep)

        def least(gap: float, i: int = i, j: int = j) -> float:
            known = np.concatenate([samples[i], samples[j] - gap])
            points = np.sort(np.concatenate([known - 1e-9, known + 1e-9, [-99.0, 99.0]]))
            return float((levels(i, points, 1.0) + levels(j, -(points + gap), -1.0)).min())

        assert least(bound + 1e-6) >= STEP * (steps - 1)  # ends are read at levels a step apart
        assert least(bound - 1e-6) < STEP * (steps + 1) + 1e-6


def test_two_arms_exceed_the_threshold_as_rarely_as_is_said_and_a_plain_one_too_often() -> None:
    draw, delta, runs = np.random.default_rng(0), 0.02, 40_000
    steps = np.floor(draw.exponential(size=(2, runs)) / STEP).sum(axis=0)  # of p-values that are as small as may be
    slack = 3.5 * math.sqrt(delta / runs)
    assert (steps >= levels_for(delta)).mean() <= delta + slack
    assert (steps >= levels_for(delta) - 1).mean() > delta + slack  # and it is the least
    assert (steps >= -math.log(delta) / STEP).mean() > 2.0 * delta
    assert levels_for(delta) * STEP <= lasting_threshold(delta) + STEP


@pytest.mark.parametrize("anytime", [False, True])
@pytest.mark.parametrize("objective", [SPEED, RATE, VOLTS], ids=lambda each: each.name)
def test_true_differences_are_within_their_bounds(objective: Objective, anytime: bool) -> None:
    """Arms that are exactly alike: of all pairs, no more are told apart than each of them may be."""
    draw, delta, arms, found = np.random.default_rng(1), 0.1, 24, []
    for _ in range(3):
        samples = list(draw.normal(size=(arms, 80)))
        if objective is RATE:
            samples = [(each < 0.0).astype(float) for each in samples]
        reader = IndependentReader(log_of(samples, objective), [objective], 0.05, anytime=anytime)
        reader._of_pair = delta
        found.append(reader.read(Prescient(0.0)).apart)
    of_others = ~np.eye(arms, dtype=bool)
    told_apart = float((np.stack(found)[:, of_others, 0] < 0.0).mean())
    assert told_apart <= delta


def test_a_log_says_more_of_independent_arms_and_what_it_takes_for_granted(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    draw = np.random.default_rng(5)
    frame = frame_of([(draw.random(400) < chance).astype(float) for chance in (0.5, 0.585)], "solved")
    asked: dict[str, Any] = {"arm": "arm", "objectives": [RATE], "contamination": 0.0}
    alone, found = analyze(frame, **asked), analyze(frame, **asked, independent=True)
    assert alone.verdicts["arm-0"] == "undecided"
    assert found.verdicts == {"arm-0": "beaten", "arm-1": "keep"}
    assert "independent_arms" in [each.kind for each in found.notices]
    assert said(guarantee(found)) == snapshot
    assert "takes for granted" not in guarantee(alone)
    assert found.differences is not None
    assert float(found.differences[1][0, 0]) < 0.0  # of the first less the one that puts it out
    assert found.front_changes_at is not None
    state = tmp_path / "state"
    analyze(frame, **asked, append=state)
    again = analyze(state, objectives=[RATE], contamination=0.0, independent=True, anytime=False)
    assert again.verdicts == found.verdicts


def test_arms_that_are_not_looked_at_share_delta() -> None:
    """Which arms of a study were excluded depends on what they gave: pairs of all of them share δ."""
    samples = [np.arange(50.0), np.arange(50.0)]
    whole = IndependentReader(log_of(samples, SPEED), [SPEED], 0.05)
    part = IndependentReader(log_of(samples, SPEED, arms_of_study=4), [SPEED], 0.05 * 2 / 4)
    assert whole._of_pair == SHARE * 0.05 / 2
    assert part._of_pair == pytest.approx(SHARE * 0.05 / 12)
    assert part._shares == IntervalReader(log_of(samples, SPEED), [SPEED], (1.0 - SHARE) * 0.05 * 2 / 4)._shares


def test_a_study_that_was_begun_so_is_read_so(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    draw = np.random.default_rng(0)
    for name, independent in (("so.db", True), ("not.db", False)):
        study = Study(["a", "b"], [VOLTS], Oblivious(0.0), storage=tmp_path / name, independent=independent)
        while pulls := study.ask(8):
            study.tell_many([(pull, {"volts": draw.normal(0.6 * pull.index)}) for pull in pulls])
        study.close()
    own, other = analyze(tmp_path / "so.db"), analyze(tmp_path / "so.db", confidence=0.7)
    for found in (own, other):
        assert [each.kind for each in found.notices].count("independent_arms") == 1
        assert found.pairs is not None
    assert own.verdicts == {"a": "beaten", "b": "keep"}
    assert float(other.pairs[0, 1, 0]) < float(other.upper[0, 0] - other.lower[1, 0])  # type: ignore[index]
    assert analyze(tmp_path / "so.db", confidence=0.9, independent=False).pairs is None
    with refused(BadInput, snapshot):
        analyze(tmp_path / "not.db", independent=True)


@pytest.mark.parametrize(
    "given",
    [
        {"pair": "block"},
        {"cluster": "block"},
        {"sketch": 100},
    ],
)
def test_what_arms_may_share_is_refused(given: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    frame = frame_of([np.arange(9.0), np.arange(9.0)], "speed") | {"block": np.tile(np.arange(9), 2)}
    with refused(BadInput, snapshot):
        analyze(frame, arm="arm", maximize="speed", independent=True, **given)


def test_too_many_arms_are_refused(snapshot: SnapshotAssertion) -> None:
    frame = {"arm": np.arange(301), "speed": np.arange(301.0)}
    with refused(BadInput, snapshot):
        analyze(frame, arm="arm", maximize="speed", independent=True)
