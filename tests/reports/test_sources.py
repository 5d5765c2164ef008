"""Reports out of JSON: what was printed comes back as it was, and whatever is broken is refused in one line."""

from __future__ import annotations

import json
import random
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard._common.entries import gathered
from frontguard.commands.run import Ended
from frontguard.errors import BadInput
from frontguard.reports.write import report_from_json, report_from_values, report_on, text_of
from frontguard.results import Answer, Origin
from frontguard.words import answers as summary
from frontguard.words.certificate import guarantee
from tests.reports.samples import OBJECTIVES, flags, open_analysis, printed, rows, rows_json, study_in
from tests.support.broken import broken
from tests.support.snapshots import refused, said


def run_json() -> dict[str, Any]:
    """What `run --json` prints, of a study that was told here."""
    study = study_in(None)
    found = study.result()
    state = replace(found.state, name="flags", pulls_left=0, seconds=1.5)
    made = Origin(version="0.1.0", seed=4, spec="[study]\nname = 'flags'")
    ended = Ended("done", replace(found, study=state))
    told = {"answer": ended.said, "storage": "flags.db", **vars(made)}
    plain: dict[str, Any] = json.loads(json.dumps(gathered(ended.entries()) | told))
    return plain


def result_json() -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(study_in(None).result().to_dict()))
    return plain


def same(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(np.asarray(ours, float), np.asarray(theirs, float), rtol=1e-9, atol=0.0)


# There and back -------------------------------------------------------------------------------------------------------


def guaranteed(found: Answer) -> str:
    return guarantee(found)


@pytest.mark.parametrize("found", [flags, open_analysis], ids=["certified", "open"])
def test_an_analysis_comes_back_as_it_was(found: Any) -> None:
    before: Answer = found()
    after = Answer.from_dict(printed(before), "a.json")
    assert (after.arms, after.objectives) == (before.arms, before.objectives)
    assert after.metrics == tuple(each.spelled_out for each in before.metrics)
    assert (after.status, after.anytime, after.certificate) == (before.status, before.anytime, before.certificate)
    for name in ("verdict_codes", "pulls_per_arm", "decided_by"):
        assert np.array_equal(getattr(after, name), getattr(before, name)), name
    for name in ("estimates", "lower", "upper"):
        same(getattr(after, name), getattr(before, name))
    for name in ("failed", "failed_pulls", "mean_front"):
        assert np.array_equal(getattr(after.log, name), getattr(before.log, name)), name
    same(after.log.means, before.log.means)
    same(after.log.profile.per_arm, before.log.profile.per_arm)
    assert after.log.profile.front == before.log.profile.front
    assert np.array_equal(after.log.profile.in_front, before.log.profile.in_front)
    assert after.more_pulls() == before.more_pulls()
    for say in (summary.answer, guaranteed, summary.robustness, summary.by_means, summary.blocked):
        assert say(after) == say(before)  # type: ignore[operator]


def test_the_open_sample_has_something_of_everything() -> None:
    """Or coming back would show less than it seems to."""
    found = open_analysis()
    assert found.log.needed is not None
    assert found.log.failed.any()
    assert not np.isfinite(found.upper).all()
    assert found.mean_set


def test_a_report_of_json_is_the_report_of_the_analysis() -> None:
    direct, later = report_on(open_analysis()), report_from_values(printed(open_analysis()))
    assert later.answer == direct.answer
    assert [[cell.text for cell in row] for row in later.table.rows] == [
        [cell.text for cell in row] for row in direct.table.rows
    ]
    said = [[(part.heading, part.words, part.listed) for part in report.parts] for report in (later, direct)]
    assert said[0] == said[1]
    assert "".join(text_of(later, "csv")) == "".join(text_of(direct, "csv"))


def test_a_run_comes_back_with_its_failures() -> None:
    plain = run_json()
    found = Answer.from_dict(plain, "run.json")
    assert found.metrics == tuple(each.spelled_out for each in OBJECTIVES)
    assert found.excluded == ["broken"]
    assert found.state.failures["broken"] == plain["study"]["failures"]["broken"]
    assert found.state.failures["broken"]["exit code 3"] >= 5
    study = study_in(None).result()
    same(found.lower, study.lower)
    same(found.upper, study.upper)
    report = report_from_values(plain)
    assert report.kind == "run"
    assert report.answer == plain["answer"]
    assert [step.label for step in report.reproduce if step.verbatim] == ["Spec", "With robustness and course"]


def test_a_plain_result_without_estimates_has_a_report() -> None:
    plain = {key: value for key, value in result_json().items() if key not in ("estimates", "objectives")}
    found = Answer.from_dict(plain, "r.json")
    assert not found.metrics
    assert np.isnan(found.estimates).all()
    assert report_from_values(plain).kind == "run"


def test_rows_of_reproduce_come_back(snapshot: SnapshotAssertion) -> None:
    direct, later = report_on(rows()), report_from_values(rows_json())
    assert later.answer == direct.answer
    assert said(direct.answer) == snapshot
    assert [[cell.text for cell in row] for row in later.table.rows] == [
        [cell.text for cell in row] for row in direct.table.rows
    ]
    assert "".join(text_of(later, "csv")) == "".join(text_of(direct, "csv"))


# Broken ---------------------------------------------------------------------------------------------------------------

SAMPLES = {
    "analysis": lambda: printed(open_analysis()),
    "run": run_json,
    "result": result_json,
    "rows": rows_json,
}


@pytest.mark.parametrize("kind", list(SAMPLES))
def test_broken_json_gives_a_report_or_one_clear_line(kind: str) -> None:
    chance, sample = random.Random(f"broken {kind}"), SAMPLES[kind]()
    refused: list[str] = []
    made = 0
    for _ in range(160):
        text = json.dumps(broken(sample, chance))
        if chance.random() < 0.1:
            text = text[: chance.randrange(len(text))]
        data = bytearray(text.encode("utf-8", "surrogatepass"))
        if data and chance.random() < 0.1:
            data[chance.randrange(len(data))] = chance.randrange(256)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                report = report_from_json(bytes(data), "broken.json")
                for format in ("html", "markdown", "csv"):
                    "".join(text_of(report, format)).encode()  # type: ignore[arg-type]
            except BadInput as error:
                refused.append(str(error))
            else:
                made += 1
    assert len(refused) > 40
    assert [line for line in refused if not line.startswith("broken.json") or "\n" in line] == []
    assert made > 20


@pytest.mark.parametrize(
    "change",
    [
        lambda j: j.pop("verdicts"),
        lambda j: j.pop("intervals"),
        lambda j: j.update(status="done"),
        lambda j: j["verdicts"].update(a="maybe"),
        lambda j: j["intervals"]["a"].update(seconds=[1]),
        lambda j: j["intervals"]["a"].update(seconds=[-1.0, -0.5]),
        lambda j: j["pulls_per_arm"].update(a=1.5),
        lambda j: j["decided_by"].update(a="nobody"),
        lambda j: j["certificate"].update(confidence=1),
        lambda j: j["certificate"].update(accuracy=[1]),
        lambda j: j["objectives"][0].update(direction="up"),
        lambda j: j["log"]["holds_up_to"].update(b=0.7),
        lambda j: j["log"]["more_pulls"].update(b="soon"),
        lambda j: j["log"].update(mean_set=["zz"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(change: Any, snapshot: SnapshotAssertion) -> None:
    plain = printed(open_analysis())
    change(plain)
    with refused(BadInput, snapshot):
        report_from_json(json.dumps(plain).encode(), "x.json")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"\xff\xfe\x00",
        b"{",
        b"[]",
        b"[[]]",
        b'{"verdicts": NaN}',
        b'{"verdicts": {"a": Infinity}}',
        b"[" * 100_000,
        b"[" + b"9" * 5000 + b"]",
        b"{}",
    ],
)
def test_what_is_no_json_of_ours_is_refused(content: bytes, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        report_from_json(content, "x.json")
