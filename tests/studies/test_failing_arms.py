"""Arms of a study that fail: excluded early, or borne."""

from __future__ import annotations

import numpy as np
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Malicious, Share, Study
from frontguard.storage.contract import MemoryStorage
from frontguard.studies.replay import PROBE
from tests.studies.toy import ARMS, BYTES, SECONDS, a_study, measure, work
from tests.support.snapshots import refused, said


def test_an_arm_that_always_fails_is_set_aside_early(snapshot: SnapshotAssertion) -> None:
    study = a_study()
    while pulls := study.ask(2):
        for pull in pulls:
            if pull.arm == "small":
                study.fail(pull, "exit code 1")
            else:
                study.tell(pull, measure(pull))
    result = study.result()
    assert study.status == "certified"
    assert result.verdicts == {"fast": "keep", "small": "excluded", "bad": "beaten"}
    assert result.pulls_per_arm[1] <= PROBE + 2
    assert said(result.warnings[0]) == snapshot


def test_a_study_against_any_share_is_stored_taken_up_and_certified(snapshot: SnapshotAssertion) -> None:
    storage = MemoryStorage()

    def ours() -> Study:
        return Study(ARMS, [SECONDS, BYTES], Share(0.1), seed=5, storage=storage, name="s")

    work(ours(), most=100)
    study = ours()
    assert study.settings.question.threat == Share(0.1)
    work(study)
    result = study.result()
    assert result.verdicts == {"fast": "keep", "small": "keep", "bad": "beaten"}
    assert (result.certificate.threat, result.certificate.contamination) == ("share", 0.1)
    with refused(BadInput, snapshot):
        Study(ARMS, [SECONDS, BYTES], Malicious(0.1), seed=5, storage=storage, name="s")


def test_what_a_share_takes_counts_when_an_arm_fails_too_often_to_be_judged() -> None:
    """0.35 of the pulls fail and 0.2 may be replaced: of the half below a median nothing is left, ever."""
    study = Study(ARMS, [SECONDS, BYTES], Share(0.2), seed=5)
    rng = np.random.default_rng(1)
    while (pulls := study.ask(1)) and pulls[0].id < 6000:
        for pull in pulls:
            if pull.arm == "small" and rng.random() < 0.35:
                study.fail(pull, "crashed")
            else:
                study.tell(pull, measure(pull))
    assert study.result().verdicts["small"] == "excluded"


def test_an_arm_that_fails_too_often_to_be_judged_is_set_aside() -> None:
    study = a_study(max_pulls=5000)
    while pulls := study.ask(10):
        for pull in pulls:
            if pull.arm == "small" and np.random.default_rng([1, pull.id]).random() < 0.7:
                study.fail(pull, "crash")
            else:
                study.tell(pull, measure(pull))
    assert study.status == "certified"
    assert study.result().verdicts["small"] == "excluded"
    assert study.result().pulls_per_arm[1] < 200


def test_failures_within_the_contamination_change_no_verdict() -> None:
    study = a_study()
    while pulls := study.ask(5):
        for pull in pulls:
            if np.random.default_rng([2, pull.id]).random() < 0.08:
                study.fail(pull, "flaky")
            else:
                study.tell(pull, measure(pull))
    assert study.status == "certified"
    assert study.result().verdicts == {"fast": "keep", "small": "keep", "bad": "beaten"}
    assert sum(count["flaky"] for count in study.failures().values()) > 3


def test_if_every_arm_fails_nothing_is_certified() -> None:
    study = a_study()
    while pulls := study.ask(4):
        for pull in pulls:
            study.fail(pull, "no such file")
    assert study.status == "unreachable"
    assert study.result().pareto_set == []
    assert study.result().pulls <= 3 * (PROBE + 4)
