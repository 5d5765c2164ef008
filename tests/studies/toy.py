"""A toy study of three arms, of which two are on the front; and what works at it."""

from __future__ import annotations

from typing import Any

import numpy as np

from frontguard import Objective, Prescient, Study
from frontguard.studies.study import Pull
from tests.policies.states import state_of

SECONDS = Objective("seconds", "minimize", "10%")
BYTES = Objective("bytes", "minimize", 5.0)
ARMS = ("fast", "small", "bad")
TRUTH = {"fast": (1.0, 200.0), "small": (2.0, 100.0), "bad": (3.0, 300.0)}


def a_study(**settings: Any) -> Study:
    return Study(ARMS, [SECONDS, BYTES], Prescient(0.1), **{"seed": 5, **settings})


def measure(pull: Pull) -> list[float]:
    """What a pull measures, a function of the pull alone."""
    rng = np.random.default_rng([11, pull.id])
    seconds, size = TRUTH[pull.arm]
    if rng.random() < 0.05:
        seconds *= 10
    return [seconds * float(np.exp(rng.normal(0, 0.03))), size + float(rng.normal(0, 1))]


def work(study: Study, at_a_time: int = 1, most: int = 10**6) -> list[tuple[int, str]]:
    """Ask and tell until it is done; what was asked."""
    asked: list[tuple[int, str]] = []
    while len(asked) < most and (pulls := study.ask(at_a_time)):
        asked += [(pull.id, pull.arm) for pull in pulls]
        study.tell_many([(pull, measure(pull)) for pull in pulls])
    return asked


def same_state(one: Study, other: Study) -> None:
    for study in (one, other):
        study.catch_up()
    ours, theirs = one._replay.policy, other._replay.policy
    wanted = state_of(theirs)
    for name, array in state_of(ours).items():
        if name in ("pool", "columns"):
            continue  # where a sample lies in the pool depends on how it grew
        np.testing.assert_array_equal(array, wanted[name], err_msg=name)
    np.testing.assert_array_equal(ours._outstanding, theirs._outstanding)
    assert one.result().to_dict() == other.result().to_dict()
    assert one.failures() == other.failures()
