"""What is refused before anything is written, and what the refusal says."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Objective, Prescient, Study
from frontguard.notices import NotPositive
from frontguard.storage.contract import MemoryStorage
from frontguard.studies.measurement import Measurement, usable
from tests.support.snapshots import refused, said

OBJECTIVES = [Objective("seconds", "minimize", "2%"), Objective("bytes", "minimize", 10.0)]


@pytest.fixture
def study() -> Study:
    return Study(["a", "b"], OBJECTIVES, Prescient(0.1))


REMEDY = "(2%) needs positive values; give an absolute one, e.g. --tolerance seconds=0.5 (Objective(tolerance=0.5))"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"seconds": math.nan, "bytes": 1}, "finite"),
        ({"seconds": 1.0, "bytes": math.inf}, "finite"),
        ({"seconds": 1.0, "bytes": -math.inf}, "finite"),
        ({"seconds": 1.0, "bytes": np.float32("inf")}, "finite"),
        ({"seconds": 1.0}, "no value for bytes"),
        ({"seconds": 1.0, "bytes": 1, "speed": 2}, "no objective is called 'speed'"),
        ({"second": 1.0, "bytes": 1}, "did you mean 'seconds'"),
        ({}, "no value for seconds, bytes"),
        ({"seconds": "1.0", "bytes": 1}, "real number; got '1.0'"),
        ({"seconds": 1 + 0j, "bytes": 1}, "real number"),
        ({"seconds": None, "bytes": 1}, "failed with a reason"),
        ({"seconds": [1.0], "bytes": 1}, "real number"),
        ({"seconds": 1.0, "bytes": 10**400}, "401 digits"),
        ({"seconds": 0.0, "bytes": 1}, REMEDY),
        ({"seconds": -1.0, "bytes": 1}, REMEDY),
        ([1.0], "wanted 2 values"),
        ([1.0, 2.0, 3.0], "wanted 2 values"),
        ([], "wanted 2 values"),
        (np.ones((2, 1)), "must be 2 numbers"),
        ("12", "must be 2 numbers"),
        (b"12", "must be 2 numbers"),
        (1.0, "must be 2 numbers"),
        (None, "must be 2 numbers"),
        ({1.0, 2.0}, "must be 2 numbers"),
    ],
)
def test_refused_with_a_clear_error_before_anything_is_written(study: Study, values: Any, said: str) -> None:
    first, second = study.ask(2)
    with pytest.raises(BadInput) as refused:
        study.tell(first, values)
    assert said in str(refused.value)
    assert f"pull {first.id}" in str(refused.value)
    assert "\n" not in str(refused.value)
    with pytest.raises(BadInput):  # one bad value in a group, and none of the group is written
        study.tell_many([(second, [1.0, 2.0]), (first, values)])
    assert study.storage.size(study.name)[1] == 0
    assert study.tell(first, [1.0, 2.0])  # nothing happened to the pull itself


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        ({"bytes": 7, "seconds": 0.25}, (0.25, 7.0)),
        ([0.25, 7], (0.25, 7.0)),
        ((np.float64(0.25), np.int64(7)), (0.25, 7.0)),
        (np.array([0.25, 7.0]), (0.25, 7.0)),
        ([Fraction(1, 4), -3], (0.25, -3.0)),
    ],
)
def test_values_come_by_name_or_in_order(study: Study, values: Any, stored: tuple[float, ...]) -> None:
    (pull,) = study.ask()
    assert study.tell(pull, values)
    assert tuple(study.storage.told(study.name).values[0]) == stored


def test_decimals_are_no_reals_for_python_and_are_refused(study: Study, snapshot: SnapshotAssertion) -> None:
    (pull,) = study.ask()
    with refused(BadInput, snapshot):
        study.tell(pull, [Decimal(1), 2])


def test_one_objective_takes_a_plain_number() -> None:
    study = Study(2, [("quality", "maximize")], Prescient(0.1))
    (pull,) = study.ask()
    assert study.tell(pull, 0.5)
    assert study.storage.told("study").values.tolist() == [[0.5]]


def test_a_metric_that_failed_alone_leaves_the_others_standing(study: Study) -> None:
    (pull,) = study.ask()
    study.tell(pull, {"seconds": 0.5, "bytes": None}, reason="no size")
    told = study.storage.told(study.name)
    assert told.values[0, 0] == 0.5
    assert math.isnan(told.values[0, 1])
    assert told.reasons == ("no size",)
    assert study.failures() == {pull.arm: {"no size": 1}}


@pytest.mark.parametrize("reason", ["", "  ", None, 3])
def test_a_failure_needs_a_reason(study: Study, reason: Any, snapshot: SnapshotAssertion) -> None:
    (pull,) = study.ask()
    with refused(BadInput, snapshot):
        study.fail(pull, reason)
    assert study.storage.size(study.name)[1] == 0


def test_reasons_are_kept_within_bounds_and_free_of_what_databases_refuse(study: Study) -> None:
    (pull,) = study.ask()
    study.fail(pull, "a\0b \udc80 " + "x" * 10_000)
    (reason,) = study.storage.told(study.name).reasons
    assert "\0" not in reason
    assert reason.startswith("a�b ")
    assert len(reason) <= 2000
    reason.encode("utf-8")


@pytest.mark.parametrize("pull", ["1", 1.0, True, None, (1,)])
def test_a_pull_is_one_that_was_asked_for(study: Study, pull: Any, snapshot: SnapshotAssertion) -> None:
    study.ask()
    with refused(BadInput, snapshot):
        study.tell(pull, [1.0, 2.0])


@pytest.mark.parametrize("number", [0, -1, 11, 10**12])
def test_pulls_that_were_never_planned_are_refused(study: Study, number: int, snapshot: SnapshotAssertion) -> None:
    study.ask()  # the first plan has 5 pulls of each arm
    with refused(BadInput, snapshot):
        study.tell(number, [1.0, 2.0])


# A tolerance in percent on values that are not positive ---------------------------------------------------------------


def test_the_arm_and_the_value_are_named_where_a_tolerance_in_percent_cannot_use_it(
    study: Study, snapshot: SnapshotAssertion
) -> None:
    (pull,) = study.ask(1)
    with refused(BadInput, snapshot):
        study.tell(pull, {"seconds": -3.0, "bytes": 1})


def test_what_only_the_tolerance_makes_unusable_counts_as_failed_is_named_and_is_kept(
    snapshot: SnapshotAssertion,
) -> None:
    storage = MemoryStorage()
    in_percent = [Objective("profit", "maximize", tolerance="5%")]
    study = Study(["a", "b"], in_percent, Prescient(0.1), storage=storage, max_pulls=10)
    for _ in range(5):
        pulls = study.ask(2)
        told = [(pull, usable(in_percent, Measurement(5.0 if pull.id != 2 else -3.0), pull.id)) for pull in pulls]
        study.tell_many(told)
    result = study.result()
    (notice,) = [each for each in result.notices if isinstance(each, NotPositive)]
    second = study.to_frame()["arm"][2]
    assert notice == NotPositive("profit", second, 1, 10, -3.0, "5%")
    assert said(notice) == snapshot
    assert [(arm, sum(reasons.values())) for arm, reasons in study.failures().items()] == [(second, 1)]
    absolute = Study(
        ["a", "b"], [Objective("profit", "maximize", tolerance=0.5)], Prescient(0.1), storage=storage, max_pulls=10
    )
    assert (absolute.failures(), absolute.result().warnings) == ({}, ())
    assert absolute.to_frame()["profit"].min() == -3.0
