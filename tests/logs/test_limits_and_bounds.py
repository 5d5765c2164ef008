"""Limits and clusters where what was declared does not fit the values: refused, or said, and never certified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Limit, Objective, Prescient, Study, analyze
from frontguard.notices import InClusters, TakenAsRate
from frontguard.studies.measurement import Measurement, usable
from frontguard.words.certificate import guarantee
from tests.support.snapshots import refused, said

RNG = np.random.default_rng(1)
REVENUE = pd.DataFrame(
    {
        "arm": np.repeat(["a", "b"], 400),
        "x": RNG.normal(5, 1, 800),
        "revenue": RNG.choice([0.0, 60.0], 800, p=[0.9, 0.1]),
    }
)


def test_a_limit_lies_between_the_bounds_of_its_mean(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        analyze(REVENUE, maximize="x", limits=["mean(revenue)<=4"])
    with refused(BadInput, snapshot):
        Study(["a", "b"], [Objective("x", "maximize")], Prescient(0.0), limits=["mean(revenue)<=4"])
    with refused(BadInput, snapshot):
        analyze(REVENUE, maximize="x", limits=["mean(revenue)<=0.9"])
    found = analyze(REVENUE, maximize="x", limits=["mean(revenue,0,100)<=20"], contamination=0, tolerance=1)
    assert said(guarantee(found)) == snapshot


def test_a_mean_with_the_bounds_of_a_rate_is_refused_where_values_are_none(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        analyze(REVENUE, maximize="revenue", statistic="mean", bounds=(0, 1))


def test_a_state_is_not_asked_for_bounds_that_its_values_exceed(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    state = tmp_path / "s.state"
    analyze(REVENUE, maximize=["x", "revenue"], quantile=0.5, append=state, contamination=0)
    with refused(BadInput, snapshot):
        analyze(state, maximize="x", limits=["mean(revenue,0,30)<=20"], contamination=0)


def test_limits_of_true_and_false_are_of_their_rate(snapshot: SnapshotAssertion) -> None:
    frame = pd.DataFrame({"arm": ["a"] * 1000, "x": RNG.random(1000), "ok": np.arange(1000) % 100 < 62})
    found = analyze(frame, maximize="x", limits=["ok>=0.9"])
    assert found.verdicts == {"a": "beaten"}
    assert TakenAsRate("ok") in found.notices
    with refused(BadInput, snapshot):
        analyze(frame, maximize="x", limits=["p10(ok)>=0.9"])
    numbers = frame.assign(ok=frame["ok"].astype(float))
    with refused(BadInput, snapshot):
        analyze(numbers, maximize="x", limits=["ok>=0.9"])
    assert analyze(numbers, maximize="x", limits=["median(ok)>=0.9"]).verdicts == {"a": "keep"}


def test_a_study_refuses_the_median_of_two_values_for_a_limit_too(snapshot: SnapshotAssertion) -> None:
    study = Study(
        ["a", "b"], [Objective("x", "maximize", tolerance=0.5)], Prescient(0.0), limits=[Limit("ok", at_least=0.9)]
    )
    draw = np.random.default_rng(5)

    def measure_all() -> None:
        while pulls := study.ask(8):
            for pull in pulls:
                study.tell(pull, {"x": float(draw.normal()), "ok": float(pull.id % 3 > 0)})

    with refused(BadInput, snapshot):
        measure_all()


def test_a_study_says_what_lies_outside_the_bounds_of_a_limit() -> None:
    study = Study(["a", "b"], [Objective("x", "maximize", tolerance=0.5)], Prescient(0.2), limits=["mean(s,1,5)>=3"])
    for pull in study.ask(10):
        came = Measurement({"x": float(RNG.normal()), "s": 7.0 if pull.id == 3 else 4.0})
        study.tell_many([(pull, usable(study.metrics, came, pull.id))])
    said = [each for each in study.result().notices if each.kind == "out_of_bounds"]  # type: ignore[attr-defined]
    assert [(each.objective, each.count, each.example) for each in said] == [("s", 1, 7.0)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("written", ["csv", "parquet"])
def test_one_and_one_point_zero_are_one_cluster(tmp_path: Path, written: str) -> None:
    frame = pd.DataFrame({"arm": ["a", "b"] * 40, "x": RNG.normal(size=80), "run": np.repeat(np.arange(40), 2)})
    paths = [tmp_path / f"{k}.{written}" for k in range(2)]
    for path, kind in zip(paths, (int, float), strict=True):
        part: Any = frame.assign(run=frame["run"].astype(kind))
        part.to_csv(path, index=False) if written == "csv" else part.to_parquet(path)
    found = analyze(paths, maximize="x", cluster="run")
    assert [each.clusters for each in found.notices if isinstance(each, InClusters)] == [80]


def test_rates_with_a_percentage_and_clusters() -> None:
    frame = pd.DataFrame({"arm": ["a"] * 200, "ok": np.arange(200) % 2 > 0, "c": np.arange(200) // 4})
    found = analyze(frame, maximize="ok", tolerance="5%", cluster="c")
    assert found.log.failed.sum() == 0
