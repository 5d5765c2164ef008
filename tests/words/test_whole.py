"""What print(answer) says: as commands print it, whoever answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Answer, Certified, Objective, Prescient, Study, analyze, gate
from tests.support.snapshots import said

SECONDS = Objective("seconds", "minimize", "5%")


def of_log() -> Answer:
    rows = {"tool": ["a", "b", "c"] * 99, "seconds": [s + 0.001 * (i % 5) for i in range(99) for s in (1.0, 2.0, 3.0)]}
    return analyze(rows, arm="tool", minimize="seconds", tolerance="5%")


def of_study() -> Answer:
    study = Study(["a", "b"], [SECONDS], Prescient(0.1))
    study.tell_many([(pull, [1.0 + pull.index]) for pull in study.ask(30)])
    return study.result()


def of_gate() -> Answer:
    main, pr = ({"arm": ["app"] * 99, "seconds": [s + 0.001 * (i % 5) for i in range(99)]} for s in (1.0, 2.0))
    return gate(main, pr, minimize="seconds", labels=["main", "pr"])


def of_policy() -> Answer:
    policy = Certified(2, 1, threat=Prescient(0.1), accuracy=0.5)
    while not policy.done:
        asked = policy.ask()
        policy.tell(asked, [[float(arm)] for arm in np.asarray(asked).tolist()])
    return policy.result(["a", "b"], ["speed"])


@pytest.mark.parametrize("made", [of_log, of_study, of_gate, of_policy])
def test_printing_an_answer_prints_what_commands_print(made: Callable[[], Answer], snapshot: SnapshotAssertion) -> None:
    assert said(str(made())) == snapshot


def test_a_gate_is_printed_in_notebooks() -> None:
    found = of_gate()
    assert "FAIL: " in found._repr_html_()
    assert "<svg" not in found._repr_html_()
