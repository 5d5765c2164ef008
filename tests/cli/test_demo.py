"""`frontguard demo` as a user runs it: both parts, what they print and write."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.cli.demo import _print_reviews
from frontguard.demo.cases import analyze_reviews
from tests.cli.commands import process, run
from tests.support.printed import as_published
from tests.support.snapshots import said


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def ran(folder: Path) -> CompletedProcess[str]:
    """The demo for machines, as a process of its own, with its output in `folder / "out"`."""
    ran = process("demo", "--json", "--output", "out", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return ran


def test_both_fronts_stand_side_by_side(capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    _print_reviews(analyze_reviews())
    assert said(capsys.readouterr().out) == snapshot


def test_the_demo_has_both_parts(folder: Path, ran: CompletedProcess[str]) -> None:
    found = as_published("demo", ran.stdout)
    assert found["reviews"]["pareto_set"] == ["Star Wars (1977)"]
    assert found["reviews"]["log"]["mean_set"] == ["Toy Story (1995)", "Twelve Monkeys (1995)"]
    assert found["reviews"]["bombed"] == found["reviews"]["true_mean_set"] == ["Star Wars (1977)"]
    assert found["status"] == "certified"  # the first part is where it was
    for name in ("demo.png", "demo-reviews.png"):
        assert (folder / "out" / name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_demo_ends_with_a_report(
    folder: Path, ran: CompletedProcess[str], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    assert "report: out/report.html" in ran.stderr
    text = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 1_000_000
    (tmp_path / "demo.json").write_text(ran.stdout)
    later = run("report", "demo.json", "-o", "later.html", "--json", cwd=tmp_path)
    assert later.returncode == 0, later.stderr
    assert json.loads(later.stdout)["kind"] == "result"
    assert said(json.loads(later.stdout)["answer"]) == snapshot


def test_the_demo_finds_what_means_miss_and_leaves_a_picture(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    ran = run("demo", "--output", "out", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert said(ran.stdout) == snapshot
    assert (tmp_path / "out" / "demo.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert json.loads((tmp_path / "out" / "demo.json").read_text())["status"] == "certified"


def test_the_demo_for_machines(tmp_path: Path) -> None:
    ran = run("demo", "--json", "--contamination", "0.1", "--seed", "3", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    truth = ["3 U, 20 g", "5 U, 20 g", "7 U, 20 g", "7 U, 36 g", "9 U, 52 g"]  # arms 0, 6, 12, 13, 20 of the table
    assert found["true_pareto_set"] == truth
    assert found["pareto_set"] == truth[:4]
    assert found["replaced_by"][truth[4]]["by"] in truth[:4]
    assert found["certificate"]["contamination"] == 0.1
    assert found["minutes"]["3 U, 20 g"] == pytest.approx([115.0, 0.0])
    assert set(found) >= {"status", "pareto_set", "verdicts", "certificate", "pulls", "intervals", "mean_based"}
