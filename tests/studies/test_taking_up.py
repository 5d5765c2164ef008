"""A study that is taken up again: what may change, what may not, what is no study."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Gaussian, Malicious, Objective, Prescient, Study
from frontguard.storage.contract import MemoryStorage, UnknownStudy
from frontguard.studies.study import Pull
from tests.studies.toy import ARMS, BYTES, SECONDS, a_study, same_state, work
from tests.support.snapshots import refused


def test_a_larger_budget_lets_a_study_go_on() -> None:
    storage = MemoryStorage()
    work(a_study(storage=storage, max_pulls=20))
    assert Study.open(storage).status == "budget"
    study = a_study(storage=storage, max_pulls=20)
    assert study.ask() == []  # the same budget, the same end
    study = a_study(storage=storage)
    work(study)
    assert study.status == "certified"
    same_state(study, Study.open(storage))


def test_a_looser_tolerance_may_end_a_study_that_had_none() -> None:
    storage = MemoryStorage()

    def wanted(tolerance: float) -> Study:
        return Study(2, [Objective("quality", "maximize", tolerance=tolerance)], Prescient(0.3), storage=storage)

    def value(pull: Pull) -> list[float]:
        return [9.0 + float(np.random.default_rng(pull.id).normal())]

    study = wanted(0.01)
    while pulls := study.ask(50):
        study.tell_many([(pull, value(pull)) for pull in pulls])
    assert study.status == "unreachable"
    pulls_then = study.result().pulls
    study = wanted(3.0)
    assert study.ask() == []
    assert study.status == "certified"
    assert study.result().pulls == pulls_then
    same_state(study, Study.open(storage))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arms": ("fast", "small", "worse")}, "other arms: number 3: 'bad' then, 'worse' now"),
        ({"arms": ("fast", "small")}, "other arms: 3 then, 2 now"),
        ({"threat": Prescient(0.2)}, "other threat"),
        ({"threat": Malicious(0.1)}, "other threat"),
        ({"confidence": 0.9}, "other confidence: 0.95 then, 0.9 now"),
        ({"seed": 1}, "other seed"),
        ({"objectives": [replace(SECONDS, direction="maximize"), BYTES]}, "other objectives"),
        ({"objectives": [replace(SECONDS, quantile=0.9), BYTES]}, "other objectives"),
        ({"objectives": [SECONDS]}, "other objectives: 2 then, 1 now"),
        ({"about": {"identity": {"command": "other"}}}, "other identity"),
    ],
)
def test_what_would_make_the_certificate_worthless_may_not_change(change: dict[str, Any], said: str) -> None:
    storage = MemoryStorage()
    given: dict[str, Any] = {
        "arms": ARMS, "objectives": [SECONDS, BYTES], "threat": Prescient(0.1), "seed": 5, "storage": storage,
        "about": {"identity": {"command": "prog"}},
    }  # fmt: skip
    Study(**given)
    with pytest.raises(BadInput) as refused:
        Study(**{**given, **change})
    assert said in str(refused.value)


def test_settings_survive_being_stored() -> None:
    storage = MemoryStorage()
    study = Study(
        ["ä", "b\n"], [Objective("x", "minimize", "3%", 0.9), ("y", "maximize")], Malicious(0.05), confidence=0.8,
        storage=storage, coverage=[0.1, 0.2], spread=Gaussian(0.5), max_pulls=100, seed=3,
        about={"identity": {"k": [1, "2"]}},
    )  # fmt: skip
    assert Study.open(storage).settings == study.settings


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arms": []}, "one at least"),
        ({"arms": ["a", "a"]}, "'a' more than once"),
        ({"arms": "abc"}, "list of names"),
        ({"arms": ["a", " "]}, "not blank"),
        ({"arms": ["a", "\ud800"]}, "UTF-8"),
        ({"objectives": [("\udfff", "maximize")]}, "UTF-8"),
        ({"name": "\ud800"}, "UTF-8"),
        ({"arms": ["a", 3]}, "got 3"),
        ({"threat": "presient"}, "did you mean 'prescient'?"),
        ({"threat": 0.1}, "a model such as Prescient(0.1); got 0.1"),
        (
            {"contamination": 0.2},
            "must be left out where threat has its own, as Prescient(eps=0.1); got 0.2",
        ),
        ({"threat": None, "contamination": "50%"}, "contamination must be a probability from 0 to below 1/2"),
        ({"minimise": "seconds"}, "Study() has no argument 'minimise' (did you mean 'minimize'?)"),
        ({"threat": Prescient(0.49), "spread": Gaussian(1.0), "confidence": 2}, "confidence"),
        ({"confidence": 95}, "confidence must be a probability"),
        ({"max_pulls": 0}, "pulls must be a whole number"),
        ({"seed": -1}, "seed"),
        ({"lease": 0.0}, "lease"),
        ({"lease": "soon"}, "lease must be a time, such as 90 (seconds)"),
        ({"name": ""}, "name"),
        ({"objectives": []}, "one at least"),
        ({"spread": "wide"}, "spread"),
    ],
)
def test_what_makes_no_study_is_refused(change: dict[str, Any], said: str) -> None:
    storage = MemoryStorage()
    given: dict[str, Any] = {"arms": ["a", "b"], "objectives": [SECONDS], "threat": Prescient(0.1), "storage": storage}
    with pytest.raises((BadInput, TypeError, ValueError)) as refused:
        Study(**{**given, **change})
    assert said in str(refused.value)


def test_open_needs_to_know_which_study(snapshot: SnapshotAssertion) -> None:
    storage = MemoryStorage()
    with refused(UnknownStudy, snapshot):
        Study.open(storage)
    a_study(storage=storage, name="one")
    assert Study.open(storage).name == "one"
    a_study(storage=storage, name="two")
    with refused(UnknownStudy, snapshot):
        Study.open(storage)
    with refused(UnknownStudy, snapshot):
        Study.open(storage, "three")
