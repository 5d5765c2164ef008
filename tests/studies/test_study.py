"""What a study answers, its frame, and what failed pulls said."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from frontguard import Objective, Prescient, Study
from frontguard.notices import Excluded
from frontguard.reports.of_results import study_report
from frontguard.reports.report import FAILED
from frontguard.storage.contract import Plan
from frontguard.studies.follow import Follower
from frontguard.studies.measurement import Measurement, usable
from frontguard.studies.replay import PROBE
from tests.studies.toy import ARMS, SECONDS, TRUTH, a_study, work
from tests.support.storages import Place


def test_it_certifies_the_front_and_says_so_in_the_users_units() -> None:
    study = a_study()
    work(study)
    result = study.result()
    assert study.done
    assert study.status == result.status == "certified"
    assert result.verdicts == {"fast": "keep", "small": "keep", "bad": "beaten"}
    for arm, (seconds, size) in TRUTH.items():
        low, high = result.intervals[arm]["seconds"]
        assert low <= seconds <= high
        low, high = result.intervals[arm]["bytes"]
        assert low <= size <= high
    certificate = result.to_dict()["certificate"]
    assert set(certificate) == {
        "accuracy", "coverage", "confidence", "threat", "contamination", "void", "arms", "excluded", "limits",
        "by_column",
    }  # fmt: skip
    assert certificate["accuracy"][0] <= 0.1 + 1e-12  # a share, as the tolerance was given
    assert certificate["accuracy"][1] <= 5.0
    assert study.ask() == []
    assert result.estimates[0, 0] == pytest.approx(1.0, rel=0.05)


def test_every_arm_begins_with_a_probe_and_pulls_are_interleaved_at_random() -> None:
    study = a_study()
    asked = [pull.arm for pull in study.ask(3 * PROBE)]
    assert {arm: asked.count(arm) for arm in ARMS} == dict.fromkeys(ARMS, PROBE)
    assert asked != sorted(asked)
    assert asked != [pull.arm for pull in a_study(seed=6).ask(3 * PROBE)]
    assert asked == [pull.arm for pull in a_study().ask(3 * PROBE)]


def test_asking_for_more_than_a_batch_gives_more_to_do() -> None:
    study = a_study()
    assert len(study.ask(100)) == 100
    assert len(study.ask(7)) == 7


def test_a_budget_is_kept_to_the_pull() -> None:
    study = Study(3, [Objective("quality", "maximize", tolerance=1e-9)], Prescient(0.1), max_pulls=50)
    rng = np.random.default_rng(0)
    pulls = 0
    while batch := study.ask(4):
        pulls += len(batch)
        study.tell_many([(pull, [rng.normal()]) for pull in batch])
    assert pulls == study.result().pulls == 50
    assert study.status == "budget"


def test_a_budget_for_each_arm() -> None:
    study = Study(3, [Objective("quality", "maximize", tolerance=1e-9)], Prescient(0.1), max_pulls_per_arm=20)
    rng = np.random.default_rng(0)
    while batch := study.ask(4):
        study.tell_many([(pull, [rng.normal()]) for pull in batch])
    assert study.status == "budget"
    assert study.result().pulls_per_arm.max() == 20


def test_it_waits_for_pulls_that_are_out_before_it_gives_up() -> None:
    study = Study(2, [Objective("quality", "maximize", tolerance=1e-9)], Prescient(0.1), max_pulls=12)
    pulls = study.ask(12)
    assert len(pulls) == 12
    assert study.ask() == []
    assert not study.done
    study.tell_many([(pull, [0.0]) for pull in pulls])
    study.ask()
    assert study.done


def test_a_goal_out_of_reach_is_called_unreachable() -> None:
    study = Study(2, [Objective("quality", "maximize", tolerance=0.01)], Prescient(0.3))
    while pulls := study.ask(50):
        study.tell_many([(pull, [float(np.random.default_rng(pull.id).normal())]) for pull in pulls])
    assert study.status == "unreachable"


def test_the_frame_has_every_told_pull_in_order() -> None:
    study = a_study()
    pulls = study.ask(4)
    study.tell(pulls[2], [1.5, 7.0])
    study.fail(pulls[0], "crash")
    frame = study.to_frame()
    assert frame.index.tolist() == [pulls[2].id, pulls[0].id]
    assert frame["arm"].tolist() == [pulls[2].arm, pulls[0].arm]
    assert frame["seconds"].tolist()[0] == 1.5
    assert np.isnan(frame["bytes"].tolist()[1])
    assert frame["failure"].tolist() == ["", "crash"]
    assert abs(frame["at"].iloc[0].timestamp() - time.time()) < 60


def test_a_plan_that_does_not_follow_is_not_added() -> None:
    study = a_study()
    study.ask()
    assert not study.storage.add_plan("study", Plan(1, 0, 1, np.array([0, 1]), "running"))
    assert not study.storage.add_plan("study", Plan(2, 0, 1, np.array([0, 1]), "running"))


def test_the_repr_says_what_is_compared_and_leaves_the_storage_alone(tmp_path: Path) -> None:
    study = Study(["a", "b"], [SECONDS], storage=tmp_path / "a.db", name="flags")
    study.tell(study.ask()[0], [1.0])
    study.status  # noqa: B018  reads what was told
    shown = f"<study 'flags' in SqliteStorage({str(tmp_path / 'a.db')!r}): 2 arms by seconds; 1 told pull read>"
    assert repr(study) == shown
    study.close()
    before = sorted(tmp_path.iterdir())
    assert repr(study) == shown
    assert sorted(tmp_path.iterdir()) == before


def test_what_failed_pulls_said_survives_a_resume(place: Place) -> None:
    with place.open() as storage:
        study = Study(["good", "bad"], [SECONDS], Prescient(0.1), storage=storage)
        for _ in range(3):
            came = []
            for pull in study.ask(10):
                said = f"line {pull.id}: no such\x1e flag"
                bad = Measurement(None, "exit code 1", said=said)
                came.append((pull, bad if pull.arm == "bad" else Measurement([1.0])))
            study.tell_many([(pull, usable(study.objectives, each, pull.id)) for pull, each in came])
        before = study.result()
        assert study.failures() == {"bad": Counter({"exit code 1": study.failures()["bad"].total()})}
    with place.open() as storage:
        again = Study.open(storage)
        (excluded,) = [notice for notice in again.result().notices if isinstance(notice, Excluded)]
        assert re.fullmatch(r"exit code 1: line \d+: no such  flag", excluded.last)
        assert excluded.reasons == (("exit code 1", excluded.failed),)
        assert again.result().notices == before.notices
        snapshot = Follower(storage, "study").catch_up().answer
        assert snapshot.state.said == {"bad": excluded.last}
        assert set(again.to_frame()["failure"]) == {"", "exit code 1"}
        report = study_report(storage, "study")
        shown = str(report)
        assert excluded.last in shown
        assert " ".join(excluded.last.split()) in str(report.part(FAILED))
