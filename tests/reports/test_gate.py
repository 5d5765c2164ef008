"""What continuous integration reads of a gate: summaries, JUnit and annotations, in which every name is data."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Question
from frontguard.comparisons.effects import Contrast, Effect, Span
from frontguard.comparisons.outcomes import Check, GatePair
from frontguard.markup import clean
from frontguard.reports.plain import github_marks, junit, muted, summary
from frontguard.reports.write import report_from_values, text_of
from frontguard.results import Answer, StudyDetails
from frontguard.words.gate import answer
from tests.support.hostile import SURROGATES, TEXTS
from tests.support.snapshots import said
from tests.words.results import of_gate

COMMANDS = ("::error::hacked", "::stop-commands::x", "a\n::error::hacked", "a\r\n::set-env name=PATH::/hacked",
            "##[error]x", "100%0A::warning::x", "a::b,c:d", "\u2028::error::x", "\x85::error::x")  # fmt: skip


def found(name: str = "pr", metric: str = "seconds") -> Answer:
    seconds = Objective(metric, "minimize", tolerance="2%")
    pairs = []
    for n, contrast in enumerate((Contrast.WORSE, Contrast.OPEN, Contrast.ALIKE)):
        effect = Effect(seconds, Span(0.1, 0.05, 0.2), Span(1.1, 1.05, 1.2), contrast)
        pairs.append(GatePair(f"{name}{n or ''}", f"{name}{n or ''}", "main", (Check(effect, 0.2),), 30, 30))
    return of_gate(pairs, Question((seconds,)), "budget", 120, study=StudyDetails("ci"))


def test_junit_has_a_test_for_each_candidate_and_metric(snapshot: SnapshotAssertion) -> None:
    root = ET.fromstring(junit(found()))
    suite = root.find("testsuite")
    assert suite is not None
    counts = {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "3", "failures": "1", "errors": "1", "skipped": "0"}
    worse, opened, fine = suite.findall("testcase")
    assert (worse.get("classname"), worse.get("name")) == ("pr", "seconds")
    assert said(worse.find("failure").get("message")) == snapshot  # type: ignore[union-attr]
    assert opened.find("error").get("type") == "open"  # type: ignore[union-attr]
    assert [child.tag for child in fine] == ["system-out"]
    passing = ET.fromstring(junit(found(), open_passes=True)).find("testsuite")
    assert (passing.get("errors"), passing.get("skipped")) == ("0", "1")  # type: ignore[union-attr]


def test_annotations_are_errors_warnings_and_one_notice(snapshot: SnapshotAssertion) -> None:
    marks = list(github_marks(found()))
    assert [mark.split(" ")[0] for mark in marks] == ["::error", "::warning"]
    assert [mark.split(" ")[0] for mark in github_marks(found(), open_passes=True)] == ["::error", "::notice"]
    one = found()
    fine = of_gate(one.gate.pairs[2:], one.question, "decided", 60)
    assert said("\n".join([*marks, *github_marks(fine)])) == snapshot


def test_a_summary_is_a_table_below_the_answer(snapshot: SnapshotAssertion) -> None:
    text = summary(found())
    assert said(text) == snapshot
    rows = [line for line in text.splitlines() if line.startswith("| pr")]
    assert [row.split(" | ")[3].rstrip(" |") for row in rows] == ["fail", "inconclusive", "pass"]


@pytest.mark.parametrize("names", [TEXTS, SURROGATES, COMMANDS], ids=["texts", "surrogates", "commands"])
def test_hostile_names_stay_names(names: Sequence[str]) -> None:
    for made in (each for hostile in names for each in (found(name=hostile), found(metric=hostile))):
        for mark in github_marks(made):
            assert len(mark.splitlines()) == 1, "one command, one line"
            assert re.match(r"::(error|warning|notice) title=frontguard gate::", mark)
            mark.encode()
        root = ET.fromstring(junit(made).encode())
        assert len(root.findall(".//testcase")) == 3
        assert {each.tag for each in root.iter()} <= {
            "testsuites",
            "testsuite",
            "testcase",
            "failure",
            "error",
            "system-out",
        }
        text = summary(made)
        text.encode()
        lines = text.splitlines()
        assert len([line for line in lines if line.startswith("| ")]) == 5
        assert not re.search(r"<(?!/?br)", text)
        assert not any(line.startswith("::") for line in lines)


def test_what_is_between_two_mutes_is_no_command() -> None:
    (begin, end), (other, _) = muted(), muted()
    token = begin.removeprefix("::stop-commands::")
    assert end == f"::{token}::"
    assert begin != other
    assert len(token) >= 16


@pytest.mark.parametrize("name", ["pr", *TEXTS[:6]], ids=range(7))
def test_the_json_of_a_gate_has_a_report(name: str) -> None:
    plain = json.loads(json.dumps(found(name).to_dict()))
    report = report_from_values(plain | {"answer": "", "version": "1", "command": "frontguard gate"})
    assert (report.kind, report.status, report.answer) == ("gate", "worse", answer(found(name)))
    assert [row[3].text for row in report.table.rows] == ["fail", "inconclusive", "pass"]
    assert [fact.label for fact in report.reproduce] == ["Version", "Command"]
    for form in ("html", "markdown", "csv"):
        text = "".join(text_of(report, form))  # type: ignore[arg-type]
        assert (text.count("inconclusive") > 0, clean(text)) == (True, text)
