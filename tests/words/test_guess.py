"""What is said where nothing is certain: useful, marked as a guess, and without proposals that say nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Prescient, Study, analyze
from frontguard.results import LIMITS
from frontguard.words import answers as of_study
from frontguard.words.answers import answer, next_after_log, next_step
from tests.logs.test_what_if import a_log, asked
from tests.words.test_statements import CLAIMING


def test_nine_repeats_give_a_guess_and_a_need(snapshot: SnapshotAssertion) -> None:
    found = asked(a_log(6, 9), tolerance="5%")
    said = [answer(found)]
    assert found.best_guess == ["v00", "v01", "v03", "v04"]
    assert not any(CLAIMING.search(line) for line in said)
    (needed,) = found.notices
    assert (needed.of, needed.metrics, needed.contamination, needed.confidence, needed.first) == (6, 2, 0.1, 0.95, 11)
    assert [*said, str(needed)] == snapshot


def test_a_tolerance_that_calls_all_arms_alike_is_not_suggested(snapshot: SnapshotAssertion) -> None:
    wild = asked(a_log(4, 13, spread=3.0), tolerance="5%")
    assert max(wild.nearest.amounts(wild.metrics)) > 1.0
    assert "--tolerance" not in next_after_log(wild)
    few = asked(a_log(6, 9), tolerance="5%")
    assert [next_after_log(wild), next_after_log(few)] == snapshot
    calm = asked(a_log(4, 20, spread=0.3), tolerance="0.1%")
    assert calm.status == "budget"
    (percent,) = set(re.findall(r"--tolerance size=([0-9.]+)%", next_after_log(calm)))
    assert float(percent) < 100.0


def test_a_run_that_stopped_early_says_what_it_can(snapshot: SnapshotAssertion) -> None:
    metrics = [Objective("seconds", "minimize", "5%"), Objective("size", "minimize", "5%")]
    study = Study(["fast", "small", "bad"], metrics, Prescient(0.1), max_pulls=15)
    values = {"fast": (1.0, 9.0), "small": (9.0, 1.0), "bad": (10.0, 10.0)}
    while pulls := study.ask(4):
        study.tell_many([(pull, values[pull.arm]) for pull in pulls])
    ended = study.result()
    assert ended.best_guess == ["fast", "small"]
    running = replace(ended, status="running")
    assert [of_study.answer(ended), of_study.answer(running), of_study.answer(running, "cancelled")] == snapshot


def test_arms_that_are_tied_in_one_metric_need_a_tolerance_in_the_other(snapshot: SnapshotAssertion) -> None:
    """Without one they neither beat each other nor are out of reach, however long they are measured."""
    rng = np.random.default_rng(0)
    study = Study(["a", "b"], [Objective("seconds"), Objective("bytes")], Prescient(0.1), max_pulls=100)
    while pulls := study.ask(8):
        study.tell_many([(pull, (rng.normal(1.0 if pull.arm == "a" else 1.1, 0.6), 100)) for pull in pulls])
    found = study.result()
    assert (found.status, set(found.verdicts.values())) == ("budget", {"undecided"})
    assert [answer(found), next_step(found, "done", "memory:")] == snapshot


def test_what_no_number_of_pulls_settles_says_by_how_much_and_asks_for_none(tmp_path: Path) -> None:
    rng, metrics, path = np.random.default_rng(0), [Objective("seconds"), Objective("bytes")], tmp_path / "a.db"
    study = Study(["a", "b"], metrics, Prescient(0.1), max_pulls=30_000, storage=path)
    while pulls := study.ask(200):
        study.tell_many([(pull, (rng.normal(1.0 if pull.arm == "a" else 1.05, 0.4), 100)) for pull in pulls])
    found = study.result()
    assert found.status == "unreachable"
    assert found.state is not None
    assert found.state.reachable is not None
    assert 0.01 < found.state.reachable.amounts(found.metrics)[0] < 0.15

    study.close()
    analysed = analyze(path)
    assert analysed.log is not None
    assert analysed.log.needed is not None
    assert {LIMITS[each] for each in analysed.log.needed.limit} == {"contamination"}
    assert "pulls" not in next_after_log(analysed)
    assert "budget" not in next_after_log(analysed)
