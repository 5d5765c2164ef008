"""Limits where people look: reports, the live page and its twins, pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Prescient, Study, analyze
from frontguard.policies.forecast import forecast
from frontguard.reports.of_results import open_part
from frontguard.reports.report import CERTAIN
from frontguard.reports.write import report_on, write_report
from frontguard.storage.contract import open_storage
from frontguard.studies.follow import Follower
from frontguard.web.pages import arm_page, study_page
from frontguard.web.parts import Address, document
from frontguard.web.views import arm_twin, study_twin
from tests.support.snapshots import said

TRUTH = {"fast": (1.0, 9.0, 5.0), "good": (3.0, 4.0, 2.0), "slow": (5.0, 2.0, 3.0), "worst": (9.0, 9.5, 2.5)}
OBJECTIVES = [Objective("seconds", "minimize", 0.5), Objective("bytes", "minimize", 0.5)]


@pytest.fixture(scope="module")
def study() -> Study:
    """A study whose fastest arm uses too much memory, which is no objective; it came to its end."""
    made = Study(
        list(TRUTH),
        OBJECTIVES,
        Prescient(0.0),
        storage=open_storage("memory:"),
        limits=["p75(memory)<=4"],
        blocks=False,
    )
    rng = np.random.default_rng(3)
    while pulls := made.ask(20):
        made.tell_many([(pull, rng.normal(TRUTH[pull.arm], 0.4)) for pull in pulls])
    return made


@pytest.mark.parametrize("ending", ["html", "md", "csv"])
def test_report_of_a_study(study: Study, tmp_path: Path, ending: str) -> None:
    file = write_report(study, tmp_path / f"report.{ending}")
    text = file.read_text()
    assert "p75(memory) ≤ 4" in text
    assert "infeasible" in text


def test_report_says_what_limits_do_to_the_answer(study: Study, snapshot: SnapshotAssertion) -> None:
    report = report_on(study)
    assert said("\n".join([report.answer, *report.part(CERTAIN).words])) == snapshot


def test_report_of_a_log(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rng = np.random.default_rng(1)
    names = np.repeat(list(TRUTH), 60)
    columns = {name: rng.normal([TRUTH[arm][d] for arm in names], 0.4) for d, name in enumerate(("seconds", "bytes"))}
    log = {"arm": names.tolist(), **columns, "memory": rng.normal([TRUTH[arm][2] for arm in names], 0.4)}
    found = analyze(log, minimize=["seconds", "bytes"], limits=["memory<=2.1"])
    text = found.report(tmp_path / "report.md").read_text()
    assert "Limits" in text
    assert said(report_on(found).answer) == snapshot


def test_report_says_which_limit_is_open(snapshot: SnapshotAssertion) -> None:
    made = Study(list(TRUTH), OBJECTIVES, Prescient(0.0), limits=["memory<=2.1"], max_pulls=80, blocks=False)
    rng = np.random.default_rng(4)
    while pulls := made.ask(20):
        made.tell_many([(pull, rng.normal(TRUTH[pull.arm], 0.4)) for pull in pulls])
    assert said("\n".join(open_part(made.result()).listed)) == snapshot


def test_live_page_and_its_twins(study: Study, snapshot: SnapshotAssertion) -> None:
    follower = Follower(study.storage, study.name)
    overview = follower.catch_up()
    page = document(study_page(overview, Address(1)))
    assert page.count("p75(memory) ≤ 4") >= 3  # answer, table, settings
    assert "infeasible" in page
    measured = follower.measurements(0)
    arm = document(arm_page(overview, Address(1, 0), measured))
    assert "memory" in arm
    twin = study_twin(overview, Address(1))
    assert twin["certificate"]["limits"] == ["p75(memory) ≤ 4"]
    assert twin["keeping"]["fast"][0]["keeping"] == "infeasible"
    assert said(arm_twin(overview, Address(1, 0), measured)["why"]) == snapshot


def test_pictures_say_what_out_means(study: Study, snapshot: SnapshotAssertion) -> None:
    result = study.result()
    picture = result.plot()
    labels = [look.label for look in picture.legend]  # type: ignore[attr-defined]
    assert said("\n".join([*labels, picture.description])) == snapshot  # type: ignore[attr-defined]


def test_forecast_with_limits_is_about_right() -> None:
    """Half-way, what is foreseen is between a tenth and ten times what it takes in the end."""
    study = Study(list(TRUTH), OBJECTIVES[:1], Prescient(0.0), limits=["memory<=4.8"], blocks=False)
    rng, foreseen = np.random.default_rng(5), []
    while pulls := study.ask(10):
        study.tell_many([(pull, rng.normal(TRUTH[pull.arm], 0.4)[[0, 2]]) for pull in pulls])
        foreseen.append((study.result().pulls, forecast(study.state().policy).pulls_left))
    total = study.result().pulls
    known = [(told, left) for told, left in foreseen if left is not None and told < total]
    assert known
    told, left = known[len(known) // 2]
    assert 0.1 * (total - told) <= left <= 10 * (total - told) + 50
