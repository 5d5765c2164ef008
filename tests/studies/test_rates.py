"""True and false in studies: their rate counts by itself, for all workers, for good, and it is said."""

from __future__ import annotations

import multiprocessing
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Limit, Objective, Study, identify
from frontguard.errors import BadInput
from frontguard.notices import OutOfBounds, TakenAsRate
from frontguard.question import Question
from frontguard.storage.contract import open_storage
from frontguard.studies.follow import Follower
from frontguard.studies.measurement import Measurement, usable
from frontguard.studies.replay import Replay
from frontguard.studies.settings import Settings
from tests.cli.commands import run
from tests.support.snapshots import refused, said
from tests.support.storages import Place

SOLVED = Objective("solved", "maximize", tolerance=0.2)
RATE = Objective("solved", "maximize", tolerance=0.2, statistic="mean", bounds=(0, 1))
CHANCES = {"a": 0.9, "b": 0.4}


def measured(study: Study, seed: int = 0, pulls: int = 200) -> Study:
    rng, made = random.Random(seed), 0
    while made < pulls and (asked := study.ask(8)):
        made += len(asked)
        study.tell_many([(pull, {"solved": rng.random() < CHANCES[pull.arm]}) for pull in asked])
    return study


def test_a_study_of_true_and_false_is_one_of_rates(place: Place) -> None:
    with place.open() as storage:
        by_itself = measured(Study(list(CHANCES), [SOLVED], contamination=0.0, storage=storage))
        assert by_itself.settings.rates == ("solved",)
        assert by_itself.objectives == (RATE,)
        declared = Replay(
            Settings(tuple(CHANCES), Question((RATE,), by_itself.settings.question.threat))
        )  # of the same log
        declared.catch_up(storage, "study")
        found, wanted = by_itself.result(), declared.with_everything().result(())
        assert (found.verdicts, found.pulls, found.status) == (wanted.verdicts, wanted.pulls, wanted.status)
        np.testing.assert_array_equal(found.lower, wanted.lower)
        assert TakenAsRate("solved") in found.notices
        assert not any(isinstance(each, TakenAsRate) for each in wanted.notices)
        # What is read back, by whoever, is the same.
        again = Study.open(storage, "study")
        assert (again.settings, again.result().verdicts) == (by_itself.settings, found.verdicts)
        assert Follower(storage, "study").catch_up().answer.verdicts == found.verdicts


@pytest.mark.parametrize("value", [True, np.False_])
def test_what_was_declared_otherwise_is_refused_and_nothing_stored(value: object, snapshot: SnapshotAssertion) -> None:
    for other in (Objective("solved", "maximize", quantile=0.5), Objective("solved", "maximize", exact=True)):
        study = Study(["a", "b"], [other])
        (pull,) = study.ask()
        with refused(BadInput, snapshot):
            study.tell(pull, [value])
        assert study.storage.size("study")[1] == 0
        assert study.settings.rates == ()


def test_numbers_that_came_first_stay_medians(snapshot: SnapshotAssertion) -> None:
    study = Study(["a", "b"], [SOLVED])
    first, second, third = study.ask(3)
    study.fail(first, "no answer")  # which says nothing of the type
    study.tell(second, [0.5])
    with refused(BadInput, snapshot):
        study.tell(third, [True])
    assert study.settings.rates == ()


def test_failures_before_the_first_value_settle_nothing() -> None:
    study = Study(["a", "b"], [SOLVED], contamination=0.0)
    other = Study(["a", "b"], [SOLVED], contamination=0.0, storage=study.storage)
    first, second = study.ask(2)
    study.fail(first, "no answer")
    assert other.result().pulls == 1
    study.tell(second, [True])
    assert other.result().metrics[0].statistic == "mean"
    assert other.settings.rates == ("solved",)


def test_truths_beside_numbers_that_no_rate_has_are_refused_before_anything_changes(
    snapshot: SnapshotAssertion,
) -> None:
    study = Study(["a", "b"], [SOLVED])
    first, second = study.ask(2)
    with refused(BadInput, snapshot):
        study.tell_many([(first, [True]), (second, [7.5])])
    assert Settings.from_json(study.storage.settings("study")).rates == ()


def test_a_worker_that_does_not_know_yet_decides_as_the_others_do(place: Place) -> None:
    with place.open() as one, place.open() as two:
        mine = Study(list(CHANCES), [SOLVED], contamination=0.0, storage=one)
        theirs = Study(list(CHANCES), [SOLVED], contamination=0.0, storage=two)
        ours, yours = mine.ask(1), theirs.ask(1)  # both have looked, and know of nothing
        mine.tell(ours[0], [True])
        theirs.tell(yours[0], [7.5])  # by a worker that takes it for a number: kept, and not counted
        for study in (mine, theirs):
            result = study.result()
            assert result.metrics[0].statistic == "mean"
            assert [each.example for each in result.notices if isinstance(each, OutOfBounds)] == [7.5]
        measured(theirs)
        assert mine.result().verdicts == theirs.result().verdicts


def _tells_first(opened: Callable[[], Any], name: str, value: object, ready: Any, go: Any, answers: Any) -> None:
    study = Study(list(CHANCES), [SOLVED], contamination=0.0, storage=opened(), name=name)
    (pull,) = study.ask(1)
    ready.put(None)
    go.wait(60)
    try:
        study.tell(pull, [value])
        answers.put("told")
    except BadInput:
        answers.put("refused")


@pytest.mark.parametrize("number", [0.5, 7.5])
def test_processes_that_race_for_the_first_value_agree(shared_place: Place, number: float) -> None:
    context = multiprocessing.get_context("fork")
    for name in ("first",):
        ready, go, answers = context.Queue(), context.Event(), context.Queue()
        crew = [
            context.Process(target=_tells_first, args=(shared_place.open, name, value, ready, go, answers))
            for value in (True, number, True, number)
        ]
        for each in crew:
            each.start()
        for _ in crew:
            ready.get(timeout=60)
        go.set()
        said = [answers.get(timeout=60) for _ in crew]
        for each in crew:
            each.join(60)
        with shared_place.open() as storage:
            settings, told = Settings.from_json(storage.settings(name)), storage.told(name).values[:, 0].tolist()
            assert len(told) == said.count("told")
            if not settings.rates:
                assert told == [number] * 2  # the numbers came first, and truths were refused
            else:
                assert told.count(1.0) == 2  # truths came first: a number that no rate has is refused, or not counted
                assert number != 0.5 or len(told) == 4
            assert Study.open(storage, name).result().pulls == len(told)


def test_limits_on_true_and_false_are_on_rates() -> None:
    study = Study(["a", "b"], [Objective("seconds", "minimize", exact=True)], contamination=0.0,
                  limits=["safe>=0.5"], max_pulls=60)  # fmt: skip
    while pulls := study.ask(8):
        study.tell_many([(pull, {"seconds": 1.0 + (pull.arm == "a"), "safe": pull.arm == "a"}) for pull in pulls])
    assert study.settings.question.limits == (Limit("safe", at_least=0.5, statistic="mean", bounds=(0, 1)),)
    assert study.result().verdicts == {"a": "keep", "b": "beaten"}


def test_a_limit_that_no_rate_can_have_is_refused_before_it_is_stored(snapshot: SnapshotAssertion) -> None:
    study = Study(["a", "b"], ["seconds"], limits=["safe>=3"])
    (pull,) = study.ask()
    with refused(BadInput, snapshot):
        study.tell(pull, {"seconds": 1.0, "safe": True})
    assert Settings.from_json(study.storage.settings("study")).rates == ()


def test_a_study_that_is_taken_up_goes_on_with_its_rates(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    file = tmp_path / "study.db"
    measured(Study(list(CHANCES), [SOLVED], contamination=0.0, storage=file), pulls=16).close()
    with open_storage(file) as storage:
        looser = Study(
            list(CHANCES), [Objective("solved", "maximize", tolerance=0.3)], contamination=0.0, storage=storage
        )
        assert looser.objectives[0].bounds == (0.0, 1.0)
        assert looser.settings.rates == ("solved",)
        assert Settings.from_json(storage.settings("study")) == looser.settings
        with refused(BadInput, snapshot):
            Study(list(CHANCES), [Objective("solved", "maximize", quantile=0.5)], contamination=0.0, storage=storage)


def test_settings_with_rates_that_are_none_are_refused(snapshot: SnapshotAssertion) -> None:
    text = Settings(("a", "b"), Question((RATE,))).to_json()
    for rates in ('["seconds"]', '"solved"', "[1]"):
        with refused(BadInput, snapshot):
            Settings.from_json(text.replace('"rates": []', f'"rates": {rates}'))


@pytest.mark.parametrize("workers", [1, 3])
def test_identify_takes_true_and_false_as_rates(workers: int) -> None:
    rng = random.Random(1)
    result = identify(
        lambda arm: {"solved": rng.random() < CHANCES[arm]},
        arms=list(CHANCES),
        objectives=[SOLVED],
        contamination=0.0,
        workers=workers,
    )
    assert result.verdicts["a"] == "keep"
    assert result.metrics[0].statistic_word == "mean"
    assert TakenAsRate("solved") in result.notices


def test_a_relative_tolerance_does_not_make_false_a_failure() -> None:
    relative = Objective("solved", "maximize", tolerance="20%")
    result = identify(
        lambda arm: arm == "a", arms=["a", "b"], objectives=[relative], contamination=0.0, workers=1, max_pulls=80
    )
    assert result.metrics[0].statistic_word == "mean"
    assert not any(each.kind == "excluded" for each in result.notices)


def test_what_is_not_settled_stays_true_or_false() -> None:
    assert usable([SOLVED], Measurement(True), 1, settled=False).values == (True,)
    assert usable([SOLVED], Measurement([0.5]), 1, settled=False).values == (0.5,)
    assert usable([SOLVED], Measurement(True), 1).failed
    assert usable([Objective("solved", "maximize", exact=True)], Measurement(True), 1, settled=False).failed


def test_commands_that_print_true_and_false(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "one.py").write_text(
        "import json, sys, zlib\n"
        "chance, seed = float(sys.argv[1]), int(sys.argv[2])\n"
        "print(json.dumps({'ok': zlib.crc32(str(seed).encode()) / 2**32 < chance}))\n"
    )
    arms = [f"{name}={sys.executable} one.py {chance} {{seed}}" for name, chance in (("good", 0.95), ("bad", 0.2))]
    options = ["--maximize", "ok", "--tolerance", "ok=0.3", "--contamination", "0", "--max-pulls", "60"]
    ran = run("run", *options, "--arm", arms[0], "--arm", arms[1], "--storage", "run.db", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert [line for line in ran.stderr.splitlines() if "true or false" in line] == snapshot
    assert [line for line in ran.stdout.splitlines() if "true or false" in line] == snapshot
    with Study.open(tmp_path / "run.db").storage as storage:
        assert Study.open(storage).settings.rates == ("ok",)
    again = run("run", *options, "--quantile", "ok=0.5", "--arm", arms[0], "--arm", arms[1], "--storage", "q.db",
                  cwd=tmp_path)  # fmt: skip
    assert again.returncode == 2
    assert said(again.stderr.splitlines()[-1]) == snapshot
