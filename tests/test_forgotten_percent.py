"""Tolerances that lack their percent sign, and directions that nobody gave."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Objective, Study, analyze, gate
from frontguard.cli import run_command
from tests.support.snapshots import refused

ROWS = 40


def log(folder: Path, name: str, seconds: float) -> Path:
    draws = np.random.default_rng(len(name)).normal(seconds, 0.02 * seconds, ROWS)
    path = folder / name
    path.write_text("arm,seconds\n" + "".join(f"app,{each:.5f}\n" for each in draws), encoding="utf-8")
    return path


def test_a_gate_of_logs_refuses_a_tolerance_beyond_its_baseline(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    its, mine = log(tmp_path, "main.csv", 0.1), log(tmp_path, "pr.csv", 0.335)
    with refused(BadInput, snapshot):
        gate(its, mine, minimize="seconds", tolerance=5)
    for tolerance in ("5%", 0.09):
        found = gate(its, mine, minimize="seconds", tolerance=tolerance).gate
        assert found is not None
        assert found.outcome.word == "worse"


def test_the_command_line_names_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [str(log(tmp_path, name, 0.1)) for name in ("main.csv", "pr.csv")]
    monkeypatch.setattr("sys.argv", ["frontguard", "gate", *sides, "--minimize", "seconds", "--tolerance", "5"])
    assert run_command() == 2
    assert "--tolerance" in capsys.readouterr().err


def test_an_analysis_refuses_a_tolerance_beyond_all_estimates(snapshot: SnapshotAssertion) -> None:
    rows = {"arm": ["a", "b"] * ROWS, "seconds": [0.1, 0.3] * ROWS}
    with refused(BadInput, snapshot):
        analyze(rows, minimize="seconds", tolerance=5, exact="seconds")
    assert analyze(rows, minimize="seconds", tolerance=0.25, exact="seconds").pareto_set == ["a"]


def test_values_that_are_all_zero_are_no_reason_to_refuse() -> None:
    rows = {"arm": ["a", "b"] * ROWS, "errors": [0, 0] * ROWS}
    assert len(analyze(rows, minimize="errors", tolerance=1, exact="errors").pareto_set) == 1


def test_a_study_is_not_certified_with_a_tolerance_beyond_all_estimates(snapshot: SnapshotAssertion) -> None:
    study = Study(["a", "b"], [Objective("seconds", tolerance=5)], contamination=0.05)
    draws = np.random.default_rng(0)

    def measure() -> None:
        while pulls := study.ask(8):
            study.tell_many([(pull, [draws.normal(0.1, 0.001)]) for pull in pulls])

    with refused(BadInput, snapshot):
        measure()
    assert study.result().pulls > 0


@pytest.mark.parametrize("baseline", ["a", None])
def test_it_is_refused_as_soon_as_all_arms_were_measured_whatever_is_open(baseline: str | None) -> None:
    # One arm fails too often to be decided: the study would end by its budget, with the other one let through.
    study = Study(
        ["a", "b", "c"], [Objective("seconds", tolerance=5)], contamination=0, max_pulls=90, baseline=baseline
    )

    def measure() -> None:
        while pulls := study.ask(3):
            for pull in pulls:
                if pull.arm == "c" and pull.rep % 2:
                    study.fail(pull, "killed")
                else:
                    study.tell(pull, [0.1 + 0.001 * pull.rep])

    with pytest.raises(BadInput):
        measure()
    assert study.result().pulls < 60


@pytest.mark.parametrize("bounds", [(0, 1), (1, 5)])
def test_a_tolerance_beyond_the_bounds_of_a_mean_is_refused(
    bounds: tuple[float, float], snapshot: SnapshotAssertion
) -> None:
    with refused(BadInput, snapshot):
        Objective("stars", "maximize", tolerance=5, statistic="mean", bounds=bounds)


@pytest.mark.parametrize("name", ["seconds", "cpu_seconds", "p95 latency", "max-rss", "usage.cost", "Bytes", "us"])
def test_well_known_names_are_minimised_everywhere(name: str) -> None:
    assert Objective(name).minimized


@pytest.mark.parametrize("name", ["score", "requests per second", "speed", "timeline", "status", "x"])
def test_others_must_be_told(name: str) -> None:
    with pytest.raises(BadInput):
        Objective(name)
