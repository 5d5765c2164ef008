"""Means, exact values and medians by default in studies: what is refused, what counts as failed, and what is said."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Prescient, Study, identify
from frontguard.errors import BadInput
from frontguard.notices import ExactDiffers, LooksDirtier, OutOfBounds
from frontguard.storage.contract import MemoryStorage
from frontguard.studies.alarms import look_at
from frontguard.studies.replay import PROBE
from tests.support.snapshots import refused, said

SOLVED = Objective("solved", "maximize", tolerance=0.2, statistic="mean", bounds=(0, 1))
STARS = Objective("stars", "maximize", tolerance=0.5, statistic="mean", bounds=(1, 5))
BYTES = Objective("bytes", "minimize", exact=True)


def told(study: Study, values: Callable[[str, int], Any], pulls: int) -> Study:
    """The study after so many pulls, or when it is done."""
    made = 0
    while made < pulls and (asked := study.ask(min(10, pulls - made))):
        study.tell_many([(pull, values(pull.arm, pull.id)) for pull in asked])
        made += len(asked)
    return study


def kinds(study: Study, kind: type) -> list[Any]:
    return [notice for notice in study.result().notices if isinstance(notice, kind)]


# Booleans -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [True, False, np.True_, np.False_])
def test_true_and_false_are_values_of_a_rate_and_of_nothing_else(value: object, snapshot: SnapshotAssertion) -> None:
    study = Study(["a", "b"], [SOLVED], contamination=0.0)
    (pull,) = study.ask()
    assert study.tell(pull, {"solved": value})
    assert study.to_frame()["solved"].tolist() == [float(value)]  # type: ignore[arg-type]
    for other in (
        Objective("solved", "maximize", quantile=0.5),
        BYTES,
        Objective("solved", "maximize", statistic="mean", bounds=(0.5, 1)),
    ):
        study = Study(["a", "b"], [other])
        (pull,) = study.ask()
        with refused(BadInput, snapshot):
            study.tell(pull, [value])


@pytest.mark.parametrize("workers", [1, 3])
def test_identify_refuses_true_at_the_first_pull_and_stores_nothing(workers: int, snapshot: SnapshotAssertion) -> None:
    storage, calls = MemoryStorage(), []

    def solve(arm: str) -> bool:
        calls.append(arm)
        return True

    with refused(BadInput, snapshot):
        identify(
            solve,
            arms=["a", "b"],
            objectives=[Objective("solved", "maximize", exact=True)],
            storage=storage,
            workers=workers,
        )
    assert len(calls) <= 2 * workers
    assert storage.studies() == []


# Bounds ---------------------------------------------------------------------------------------------------------------


def test_values_out_of_bounds_count_as_failed_are_kept_and_are_said(snapshot: SnapshotAssertion) -> None:
    broken = []

    def stars(arm: str, seed: int) -> float:
        if seed % 20 == 0:
            broken.append(seed)
            return 301.0
        return 3.0 + (arm == "a")

    storage = MemoryStorage()
    result = identify(
        stars,
        arms=["a", "b"],
        objectives=[STARS],
        contamination="10%",
        executor="serial",
        storage=storage,
        max_pulls=90,
    )
    (notice,) = [each for each in result.notices if isinstance(each, OutOfBounds)]
    assert (notice.objective, notice.count, notice.of, notice.example) == (
        "stars",
        len(broken),
        result.pulls,
        301.0,
    )
    assert len(broken) >= 3
    assert said(notice) == snapshot
    assert (notice.low, notice.high) == (1.0, 5.0)
    study = Study.open(storage)
    assert study.to_frame()["stars"].max() == 301.0
    assert {reason for counts in study.failures().values() for reason in counts} == snapshot


def test_a_study_refuses_values_out_of_bounds_unless_they_come_with_a_reason(snapshot: SnapshotAssertion) -> None:
    study = Study(["a", "b"], [STARS])
    one, other = study.ask(2)
    with refused(BadInput, snapshot):
        study.tell(one, 6.0)
    assert study.tell(other, 6.0, "a broken form")


def test_bounds_that_most_first_values_break_are_refused(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        identify(lambda arm: 80.0, arms=["a", "b"], objectives=[STARS], executor="serial")


# Exact values ---------------------------------------------------------------------------------------------------------


def test_exact_values_that_differ_are_said_with_both(snapshot: SnapshotAssertion) -> None:
    def values(arm: str, pull: int) -> list[float]:
        return [4.0, 10.0 if arm == "a" else 20.0 + (pull > 12)]

    study = told(Study(["a", "b"], [STARS, BYTES], contamination=0.0, max_pulls=60), values, 40)
    (notice,) = kinds(study, ExactDiffers)
    assert notice == ExactDiffers("bytes", "b", 1, 20.0, 21.0)
    assert said(notice) == snapshot
    assert np.isinf(study.result().inner.lower[1, 1])  # nothing is known of it any more
    assert not kinds(told(Study(["a", "b"], [BYTES]), lambda arm, _: 1.0 + (arm == "a"), 40), ExactDiffers)


def test_an_exact_value_is_known_by_one_pull_however_many_fail() -> None:
    def values(arm: str, pull: int) -> list[float | None]:
        return [3.0, 10.0 if pull % 4 == 0 else None]

    study = Study(["a", "b"], [STARS, BYTES], contamination=0.0, max_pulls=80)
    while pulls := study.ask(10):
        for pull in pulls:
            study.tell(pull, values(pull.arm, pull.id), "no size")
    assert study.result().excluded == []  # where three of four medians fail, an arm is excluded


# Medians of two values ------------------------------------------------------------------------------------------------


def rates(arm: str, pull: int) -> float:
    return float(random.Random(pull).random() < {"a": 0.92, "b": 0.75, "c": 0.6}[arm])


def test_a_median_by_default_of_two_values_is_refused_and_what_was_measured_stays(snapshot: SnapshotAssertion) -> None:
    storage = MemoryStorage()
    study = Study(["a", "b", "c"], [Objective("solved", "maximize")], contamination=0.0, storage=storage)
    with refused(BadInput, snapshot):
        told(study, rates, 10_000)
    stored = len(study.to_frame())
    first = int(study.state().policy.standing.control["first"][0])
    assert 3 * max(first, PROBE) <= stored < 500
    assert not study.done  # and so nothing is certified
    meant = Study(["a", "b", "c"], [Objective("solved", "maximize", quantile=0.5)], contamination=0.0, storage=storage)
    assert len(meant.ask(5)) == 5
    meant.give_back()
    # Once it is meant it stays so, whoever takes the study up.
    again = Study(["a", "b", "c"], [Objective("solved", "maximize", tolerance=0.5)], contamination=0.0, storage=storage)
    assert again.objectives[0] == Objective("solved", "maximize", tolerance=0.5, quantile=0.5)
    assert len(again.ask(5)) == 5


@pytest.mark.parametrize(
    "values",
    [
        lambda arm, pull: 10.0 + (arm == "a"),  # sizes: constant within each arm
        lambda arm, pull: 7.0,
        lambda arm, pull: float(pull % 3),
    ],
)
def test_studies_that_are_fine_are_not_refused(values: Callable[[str, int], float]) -> None:
    told(Study(["a", "b"], [Objective("size", "maximize", tolerance=0.5)], Prescient(0.1)), values, 200)


def test_other_values_are_named_with_the_bounds_that_they_need(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        told(Study(["a", "b"], [("ms", "minimize")]), lambda arm, pull: 10.0 + 2.0 * (pull % 2), 500)


# Hints ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("every", [2, 9, 20])
def test_no_clean_rate_looks_dirty(every: int) -> None:
    seen = dict.fromkeys("ab", 0)

    def values(arm: str, pull: int) -> float:
        seen[arm] += 1
        return float(seen[arm] % every > 0)

    close = replace(SOLVED, tolerance=0.05)
    study = told(Study(["a", "b"], [close], contamination=0.0, max_pulls=1000), values, 1000)
    assert not kinds(study, LooksDirtier)
    assert all(math.isfinite(end) for end in study.result().inner.upper.ravel())
    if every == 9:  # a share of 11 % is far from the others: where medians count, that would be a hint
        assert look_at((np.arange(900) % 9 > 0).astype(float)).share > 0.1
