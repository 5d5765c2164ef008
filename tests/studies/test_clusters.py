"""Pulls in clusters: which count, in whatever order they come back; that a study with few of them ends."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator
from syrupy.assertion import SnapshotAssertion

from frontguard import Measurement, Objective, Prescient, analyze, identify
from frontguard.errors import BadInput
from frontguard.notices import BudgetOver, ClustersUsedUp, NotCounted
from frontguard.storage.contract import End, Tell, Told
from frontguard.studies import Study
from frontguard.studies.pulls import USED_UP, CountedPulls
from tests.support.snapshots import refused, said

NAN = float("nan")
SECONDS = Objective("seconds", "minimize")


def naive(told: Told, arm_of: np.ndarray) -> tuple[list[int], int]:
    """The pulls that count once all are back, in the order of their numbers, and how many do not."""
    rows = sorted(zip(told.pulls.tolist(), told.clusters, strict=True))
    seen: set[tuple[int, str]] = set()
    kept = []
    for pull, cluster in rows:
        arm = int(arm_of[pull - 1])
        if not cluster or (arm, cluster) not in seen:
            kept.append(pull)
        if cluster:
            seen.add((arm, cluster))
    return kept, len(rows) - len(kept)


def drawn(rng: Generator, pulls: int = 60, arms: int = 3) -> tuple[Told, np.ndarray]:
    order = rng.permutation(pulls) + 1
    names = rng.choice(["", "x", "y", "z"], pulls)
    tells = [
        Tell(int(p), (float(p),), cluster=str(name)) if p % 7 else Tell(int(p), (NAN,), end=End.LOST)
        for p, name in zip(order, names, strict=True)
    ]
    return Told.of(tells, 1), rng.integers(0, arms, pulls)


@pytest.mark.parametrize("seed", range(6))
def test_the_first_started_of_a_cluster_counts_however_they_come_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    told, arm_of = drawn(rng)
    kept, left_out = naive(told, arm_of)
    for cuts in ([0, 60], [0, 1, 17, 18, 40, 60], list(range(61))):
        pulls = CountedPulls(3)
        found, dropped = [], 0
        for begin, end in pairwise(cuts):
            counted, out = pulls.copy().take(told.part(begin, end), arm_of)  # a copy goes its own way
            again, same = pulls.take(told.part(begin, end), arm_of)
            assert counted.pulls.tolist() == again.pulls.tolist()
            assert out.tolist() == same.tolist()
            found += again.pulls.tolist()
            dropped += len(same)
        assert sorted(found) == kept
        assert dropped == left_out == pulls.left_out.sum()
        assert not len(pulls.held)


def test_a_pull_in_a_cluster_waits_for_earlier_ones_of_its_arm() -> None:
    arm_of = np.array([0, 1, 0])
    pulls = CountedPulls(2)
    counted, _ = pulls.take(Told.of([Tell(3, (0.3,), cluster="x")], 1), arm_of)
    assert len(counted) == 0
    assert pulls.held.tolist() == [0]
    counted, left_out = pulls.take(Told.of([Tell(1, (0.1,), cluster="x")], 1), arm_of)
    assert counted.pulls.tolist() == [1]
    assert left_out.tolist() == [0]


def test_the_quick_ones_are_not_the_first() -> None:
    """Pulls that come back in the order of what they measure: of those that count, half are below the median."""
    rng = np.random.default_rng(2)
    hosts = np.repeat(np.arange(400), 3)
    values = rng.normal(0.0, 0.5, 400)[hosts] + rng.normal(0.0, 0.8, 1200)
    order = np.argsort(values)
    tells = [Tell(int(row) + 1, (float(values[row]),), cluster=f"host {hosts[row]}") for row in order]
    counted, left_out = CountedPulls(1).take(Told.of(tells, 1), np.zeros(1200, np.int64))
    assert (len(counted), len(left_out)) == (400, 800)
    assert abs(float((counted.values < 0.0).mean()) - 0.5) < 0.08  # three deviations; of the quickest it would be 0.8


def study_of(storage: Path | None = None, **settings: object) -> Study:
    return Study(["a", "b"], [SECONDS], Prescient(0.0), storage=storage, **settings)  # type: ignore[arg-type]


def test_a_study_counts_a_cluster_once(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    study = study_of(tmp_path / "s.db", max_pulls=60)
    rng = np.random.default_rng(0)
    told = 0
    while pulls := study.ask(4):
        for pull in pulls:
            value = float(rng.normal(1.0 + (pull.arm == "b"), 0.5))
            study.tell(pull, {"seconds": value}, cluster=f"day {pull.id // 4}")
            told += 1
    result = study.result()
    frame = study.to_frame()
    first = frame.groupby(["arm", "cluster"]).head(1)
    assert result.pulls == len(first) < told == len(frame)
    (notice,) = [each for each in result.notices if isinstance(each, NotCounted)]
    assert (notice.pulls, notice.of) == (told - len(first), told)
    assert said(notice) == snapshot
    # The log read anew, by another question, and as a study's own.
    own = analyze(tmp_path / "s.db")
    other = analyze(tmp_path / "s.db", confidence=0.9)
    assert own.pulls_per_arm.tolist() == other.pulls_per_arm.tolist() == result.pulls_per_arm.tolist()
    assert other.log is not None
    for arm, mean in zip(other.arms, other.log.means[:, 0], strict=True):
        assert mean == pytest.approx(first[first["arm"] == arm]["seconds"].mean())


def test_what_does_not_count_decides_nothing() -> None:
    """The second pull of every cluster says the opposite of the first; without clusters nothing would be certain."""
    study, rng = study_of(), np.random.default_rng(1)
    measured = {"a": 0, "b": 0}
    while pulls := study.ask(3):
        for pull in pulls:
            n = measured[pull.arm] = measured[pull.arm] + 1
            good = (pull.arm == "a") == (n % 2 == 1)
            study.tell(pull, [float(rng.normal(1.0 if good else 9.0, 0.5))], cluster=f"day {(n + 1) // 2}")
    assert study.status == "certified"
    assert study.result().verdicts == {"a": "keep", "b": "beaten"}


def test_a_study_with_few_clusters_ends(snapshot: SnapshotAssertion) -> None:
    study = study_of()
    asked = 0
    while pulls := study.ask(5):
        study.tell_many([(pull, Measurement([1.0], cluster=f"host {pull.id % 2}")) for pull in pulls])
        asked += len(pulls)
        assert asked < 500
    result = study.result()
    assert study.status == "budget"
    assert asked >= 2 * USED_UP
    assert result.pulls_per_arm.max() <= 2
    (notice,) = [each for each in result.notices if isinstance(each, ClustersUsedUp)]
    assert notice.arms == 2
    assert not any(isinstance(each, BudgetOver) for each in result.notices)
    assert said(notice) == snapshot


def test_the_budget_of_an_arm_is_of_all_its_pulls() -> None:
    study = study_of(max_pulls_per_arm=12)
    while pulls := study.ask(5):
        study.tell_many([(pull, [1.0 + 0.001 * pull.id]) for pull in pulls], cluster=f"batch {pulls[0].id % 7}")
    assert study.to_frame().groupby("arm").size().max() <= 12
    assert study.status == "budget"


def test_failed_pulls_of_a_cluster_count_once_and_raise_no_alarm() -> None:
    study = Study(["a", "b"], [SECONDS], Prescient(0.2), max_pulls=400)
    while pulls := study.ask(10):
        for pull in pulls:
            if pull.id % 10 == 0:
                study.tell(pull, [1.0])
            else:
                study.fail(pull, "host is down", cluster="the bad host")
    result = study.result()
    assert not study.alarms()
    assert sum(study.failures()["a"].values()) == 1
    assert result.verdict_codes.max() < 4  # none was excluded


def test_a_function_may_return_its_cluster() -> None:
    def evaluate(arm: str) -> Measurement:
        return Measurement({"seconds": 1.0 if arm == "a" else 2.0}, cluster="here")

    result = identify(evaluate, arms=["a", "b"], objectives=[SECONDS], threat=Prescient(0.0), max_pulls=30)
    assert result.pulls_per_arm.tolist() == [1, 1]


@pytest.mark.parametrize("cluster", [3, "  ", "a\0b"])
def test_what_is_no_cluster_is_refused(cluster: object, snapshot: SnapshotAssertion) -> None:
    study = study_of()
    (pull,) = study.ask(1)
    with refused(BadInput, snapshot):
        study.tell(pull, [1.0], cluster=cluster)  # type: ignore[arg-type]
    assert study.tell(pull, [1.0], cluster="x")
