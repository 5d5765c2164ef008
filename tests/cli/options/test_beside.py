"""--baseline and --pick: what is asked for beside an answer, on the terminal, as JSON, in files and in reports."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.commands import run
from tests.support.printed import as_published
from tests.support.snapshots import said

ASKED = ["--minimize", "seconds", "--minimize", "bytes", "--exact", "bytes", "--tolerance", "2%"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("beside")
    rng = np.random.default_rng(1)
    lines = ["arm,seconds,bytes"]
    for arm, seconds, size in [("main", 1, 100), ("pr", 1.06, 99), ("zstd", 0.5, 150), ("xz", 3, 70), ("gzip", 2, 100)]:
        lines += [f"{arm},{seconds * value},{size}" for value in rng.lognormal(0, 0.05, 250)]
    (place / "log.csv").write_text("\n".join(lines) + "\n")
    return place


def test_the_table_fits_a_narrow_terminal_and_the_choice_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr("frontguard.cli.analyze.console", _narrow)
    told = run(
        "analyze", "log.csv", *ASKED, "--baseline", "main", "--pick", "seconds=2", "--pick", "bytes=1", cwd=folder
    )
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert said(told.stdout) == snapshot
    table = lines[lines.index("Against main") :]
    (place,) = (place for place, line in enumerate(table) if line.startswith("pr "))
    assert table[place].split() == ["pr", "×1.065", "worse", "×0.99", "alike"]
    assert table[place + 1].split()[0].startswith("[1.03")


def _narrow() -> object:
    from rich.console import Console

    return Console(width=80, highlight=False, markup=False, emoji=False)


def test_one_other_arm_is_a_sentence(folder: Path, snapshot: SnapshotAssertion) -> None:
    told = run(
        "analyze", "log.csv", *ASKED, "--where", "arm=main", "--where", "arm=pr", "--baseline", "main", cwd=folder
    )
    assert "pr / main = 1.065 [" in told.stdout
    assert said(told.stdout) == snapshot


def test_json_has_it_and_is_read_back(folder: Path) -> None:
    said = run("analyze", "log.csv", *ASKED, "--baseline", "main", "--pick", "bytes<=99", "--json", cwd=folder)
    values = as_published("analyze", said.stdout)
    assert values["baseline"] == "main"
    assert set(values["comparisons"]) == {"pr", "zstd", "xz", "gzip"}
    effect = values["comparisons"]["pr"]["seconds"]
    assert effect["ratio"]["low"] < 1.06 < effect["ratio"]["high"]
    assert effect["contrast"] == "worse"
    assert values["comparisons"]["pr"]["bytes"] == {
        "difference": {"estimate": -1.0, "low": -1.0, "high": -1.0},
        "ratio": {"estimate": 0.99, "low": 0.99, "high": 0.99},
        "contrast": "alike",
    }
    assert [values["pick"][key] for key in ("arm", "certain", "limits")] == ["pr", True, ["bytes ≤ 99"]]
    volume = values["hypervolume"]
    assert 0 < volume["certain"] <= volume["estimate"] <= volume["possible"]
    plain = json.loads(run("analyze", "log.csv", *ASKED, "--json", cwd=folder).stdout)
    assert (plain["baseline"], plain["comparisons"], plain["pick"]) == (None, {}, None)


def test_files_have_it(folder: Path) -> None:
    out = ["--csv", "arms.csv", "--report", "report.md"]
    told = run("analyze", "log.csv", *ASKED, "--baseline", "main", "--pick", "knee", *out, cwd=folder)
    assert told.returncode == 0, told.stderr
    rows = {row["arm"]: row for row in csv.DictReader((folder / "arms.csv").read_text().splitlines())}
    assert float(rows["pr"]["seconds / main low"]) > 1.0
    assert rows["pr"]["seconds against main"] == "worse"
    assert rows["main"]["seconds / main"] == rows["main"]["seconds against main"] == ""
    text = (folder / "report.md").read_text()
    assert "## Compared with main" in text
    assert "| pr | ×1.065" in text
    made = run("analyze", "log.csv", *ASKED, "--json", cwd=folder).stdout
    (folder / "found.json").write_text(made)
    again = run("report", "found.json", "--baseline", "pr", "-o", "again.html", cwd=folder)
    assert again.returncode == 0, again.stderr
    html = (folder / "again.html").read_text()
    assert "Compared with pr" in html
    assert "<svg" in html


@pytest.mark.parametrize(
    "asked",
    [
        ["--baseline", "man"],
        ["--pick", "kne"],
        ["--pick", "second=1"],
        ["--pick", "knee", "--pick", "seconds=1"],
        ["--pick", "bytes=1", "--pick", "bytes=2"],
        ["--pick", "p95(seconds)<=1"],
    ],
)  # fmt: skip
def test_mistakes_are_one_line(folder: Path, asked: list[str], snapshot: SnapshotAssertion) -> None:
    told = run("analyze", "log.csv", *ASKED, *asked, cwd=folder)
    assert told.returncode == 2
    assert said(told.stderr) == snapshot
    assert told.stdout == ""


def test_run_has_it_and_refuses_before_anything_is_measured(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    arms = ["--arm", "a=echo 1", "--arm", "b=echo 2", "--minimize", "stdout", "--exact", "stdout"]
    wrong = run("run", *arms, "--baseline", "c", cwd=tmp_path)
    assert wrong.returncode == 2
    assert said(wrong.stderr) == snapshot
    assert not list(tmp_path.glob("*.db"))
    assert "beginning" not in wrong.stderr
