"""Values that an objective cannot use: counted, named, and refused where they are most."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Objective, analyze, identify
from frontguard.logs.sort import usable_ranges
from frontguard.notices import NotPositive, OutOfBounds
from frontguard.question import adjusted
from tests.support.snapshots import refused

STARS = Objective("stars", "maximize", statistic="mean", bounds=(1, 5))


def stars(wrong: int, of: int = 40) -> dict[str, Any]:
    values = np.resize([3.0, 4.0, 5.0, 1.0], of)
    values[:wrong] = 301.0
    return {"arm": np.resize(["a", "b"], of), "stars": values}


def test_values_beyond_the_bounds_count_as_failed() -> None:
    found = analyze(stars(3), objectives=[STARS], contamination=0.0)
    assert OutOfBounds("stars", "a", 3, 40, 301.0, 1.0, 5.0) in found.notices
    assert found.log.failed.tolist() == [[2], [1]]
    failed = {**stars(0)}
    failed["stars"][:3] = np.nan
    wanted = analyze(failed, objectives=[STARS], contamination=0.0)
    np.testing.assert_array_equal(found.upper, wanted.upper)
    assert not any(isinstance(notice, OutOfBounds) for notice in wanted.notices)


def test_bounds_that_most_values_exceed_are_refused() -> None:
    with pytest.raises(BadInput) as refused:
        analyze(stars(21), objectives=[STARS])
    assert str(refused.value).startswith(
        "21 of 40 values of 'stars' do not lie between the bounds 1 and 5 of its mean, such as 301 of arm 'a': give"
    )


def test_a_percentage_of_a_mean_needs_positive_means_only() -> None:
    relative = Objective("stars", "minimize", "5%", statistic="mean", bounds=(0, 5))
    columns = stars(0)
    columns["stars"][::4] = 0.0
    found = analyze(columns, objectives=[relative], contamination=0.0)
    assert not any(isinstance(notice, (NotPositive, OutOfBounds)) for notice in found.notices)
    assert not found.log.failed.any()
    assert np.isfinite(found.estimates).all()


@given(
    st.sampled_from(
        [STARS, Objective("x", "maximize"), Objective("x", "maximize", tolerance="5%"),
         Objective("x", "maximize", tolerance="5%", exact=True),
         Objective("x", "maximize", tolerance="5%", statistic="mean", bounds=(0, 2)),
         Objective("x", "maximize", tolerance=0.5, statistic="mean", sigma=1.0)]
    ),
    st.lists(st.floats() | st.sampled_from([0.0, -0.0, 5e-324, 1.0, 5.0, np.nextafter(5.0, 9.0)]), max_size=20),
)  # fmt: skip
def test_ranges_are_what_an_objective_calls_usable(objective: Objective, values: list[float]) -> None:
    array = np.array(values, np.float64)
    (low, high), *_ = usable_ranges([objective.name], [objective])
    np.testing.assert_array_equal((array >= low) & (array <= high), objective.usable(array))


def test_the_log_of_a_study_is_asked_with_other_bounds(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    study = tmp_path / "study.db"
    wide = Objective("stars", "maximize", statistic="mean", bounds=(0, 9))
    identify(
        lambda arm: {"stars": float(rng.choice([1.0, 5.0, 8.0], p=[0.4, 0.55, 0.05]))},
        arms=["a", "b"],
        objectives=[wide],
        max_pulls=60,
        contamination=0.0,
        storage=str(study),
    )
    found = analyze(study, objectives=[STARS])
    (notice,) = (notice for notice in found.notices if isinstance(notice, OutOfBounds))
    assert notice.example == 8.0
    assert found.log.failed.sum() == notice.count
    own = analyze(study)
    assert own.metrics == (wide,)
    assert own.log.means.shape == (2, 1)


def test_what_is_said_of_a_metric_by_name_comes_before_what_is_said_of_all() -> None:
    three = [
        Objective("a", "maximize"),
        Objective("b", "maximize", quantile=0.9),
        Objective("c", "maximize", exact=True),
    ]
    mean = {"statistic": "mean", "bounds": (0, 1)}
    assert adjusted(three, quantile=0.5, statistic={"a": "mean"}, bounds=(0, 1)) == (
        Objective("a", "maximize", **mean),
        Objective("b", "maximize", quantile=0.5),
        three[2],
    )
    assert adjusted(three, statistic="mean", bounds={"a": (0, 1), "b": (0, 2)}, tolerance=0.5) == (
        Objective("a", "maximize", tolerance=0.5, **mean),
        Objective("b", "maximize", tolerance=0.5, statistic="mean", bounds=(0, 2)),
        Objective("c", "maximize", tolerance=0.5, exact=True),
    )
    assert adjusted(three, exact=["a", "b"])[:2] == (
        Objective("a", "maximize", exact=True),
        Objective("b", "maximize", exact=True),
    )
    assert adjusted([Objective("a", "maximize", statistic="mean", sigma=1.0)], bounds={"a": (0, 1)}) == (
        Objective("a", "maximize", **mean),
    )


@pytest.mark.parametrize(
    "said",
    [
        {"bounds": (0, 1)},
        {"bounds": {"a": (0, 1)}},
        {"statistic": "mean"},
        {"statistic": {"a": "mean"}, "quantile": {"a": 0.5}},
        {"exact": "size"},
        {"statistic": "median"},
    ],
)
def test_what_cannot_be_said_is_refused(said: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        analyze({"arm": ["a"], "a": [1.0]}, maximize="a", **said)
