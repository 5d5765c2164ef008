"""How arms stand to limits in a line, and what a report says of a study that nobody measures any more."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Study
from frontguard.commands.run import drawn
from frontguard.phrases import in_lines
from frontguard.words.answers import STATUSES
from frontguard.words.asked import standing_to_limits
from tests.cli.commands import run


def a_study(**settings: object) -> Study:
    objectives = [Objective("seconds", "minimize", 0.5)]
    return Study(["fast", "slow"], objectives, contamination=0.0, limits=["memory<=4"], **settings)  # type: ignore[arg-type]


def measured(study: Study, pulls: int) -> Study:
    done = 0
    while done < pulls and (asked := study.ask(10)):
        done += len(asked)
        study.tell_many([(pull, [1.0 + pull.index + pull.id % 7 / 70, 3.0 + 2 * pull.index]) for pull in asked])
    return study


def test_the_line_counts_arms_within_beyond_and_open(snapshot: SnapshotAssertion) -> None:
    study = a_study()
    lines = [standing_to_limits(study.result()), standing_to_limits(measured(study, 60).result())]
    assert lines == snapshot
    assert standing_to_limits(Study(["a", "b"], [("x", "maximize")]).result()) is None


def test_a_report_of_a_study_that_nobody_is_at_does_not_call_it_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frontguard.studies.follow.REST", 0.0)  # a pull was told just now
    study = measured(a_study(storage=tmp_path / "study.db"), 10)
    run("report", "study.db", "-o", "idle.md", cwd=tmp_path)
    held = study.ask(1)
    run("report", "study.db", "-o", "busy.md", cwd=tmp_path)
    assert held
    study.close()
    for name, status in (("idle", "paused"), ("busy", "running")):
        assert f"Status: {STATUSES[status]}." in (tmp_path / f"{name}.md").read_text()


def test_lines_break_between_words_and_stay_within_a_width() -> None:
    text = "  by median of seconds, lower is better, differences up to 2% do not matter"
    for width in range(20, 90):
        lines = in_lines(text, width).split("\n")
        assert " ".join(" ".join(lines).split()) == " ".join(text.split())
        assert all(len(line) <= width for line in lines)
        assert all(line.startswith("  ") for line in lines)


def test_the_running_view_has_the_limits(tmp_path: Path) -> None:
    from frontguard.studies.follow import Follower

    study = measured(a_study(), 10)
    view = drawn(Follower(study.storage, "study").catch_up().answer, 78, 20)
    assert any("median(memory) ≤ 4" in str(line) for line in view.renderables)
