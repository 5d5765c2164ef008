"""`frontguard report` as a user runs it, and the commands that lead to it."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Prescient
from frontguard.experiments.tables import as_json
from frontguard.studies import Study
from tests.cli.commands import process, run
from tests.reports.samples import open_analysis, printed, rows, study_in
from tests.support.servers import PostgresServer
from tests.support.snapshots import said


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports")
    study_in(path / "one.db").close()
    for name in ("first", "sec|ond"):
        study_in(path / "two.db", name=name, max_pulls=60).close()
    (path / "a.json").write_text(json.dumps(printed(open_analysis())))
    (path / "results").mkdir()
    (path / "results" / "table.json").write_text(as_json(rows()))
    return path


def test_a_study_becomes_a_report(folder: Path, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    before = (folder / "one.db").read_bytes()
    ran = process("report", str(folder / "one.db"), "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert said(told["answer"]) == snapshot
    assert (told["status"], told["kind"], told["format"], told["rows"]) == ("certified", "study", "html", 6)
    assert told["bytes"] == len(text.encode()) < 1_000_000
    assert told["path"] == "report.html"
    assert text.count('role="img"') == told["pictures"] >= 6
    assert "report: report.html" in ran.stderr
    assert (folder / "one.db").read_bytes() == before


def test_the_answer_is_said_and_the_ending_decides(folder: Path, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    ran = run("report", str(folder / "a.json"), "-o", str(tmp_path / "x.md"), cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == json.loads((folder / "a.json").read_text())["answer"]
    assert said((tmp_path / "x.md").read_text(encoding="utf-8").splitlines()[0]) == snapshot


def test_standard_input_and_output(folder: Path, tmp_path: Path) -> None:
    ran = run("report", "-", "-o", "-", "--format", "csv", cwd=tmp_path, given=(folder / "a.json").read_bytes())
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) == 6
    assert ran.stdout.startswith('"arm","verdict"')
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_reproduce(folder: Path, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    ran = run("report", str(folder / "results"), "-o", str(tmp_path / "r.html"), "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["kind"] == "reproduce"
    assert said(told["warnings"]) == snapshot
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "--policy rpsi --policy certified" in text


def test_of_several_studies_one_must_be_named(folder: Path, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    ran = run("report", str(folder / "two.db"), cwd=tmp_path)
    assert ran.returncode == 2
    assert said(ran.stderr) == snapshot
    ran = run("report", str(folder / "two.db"), "--study", "third", cwd=tmp_path)
    assert said(ran.stderr) == snapshot
    ran = run("report", str(folder / "two.db"), "--study", "sec|ond", "-o", "-", "--format", "markdown", cwd=tmp_path)
    assert ran.stdout.startswith("# sec\\|ond\n")
    assert "frontguard report" in ran.stdout


def test_a_study_in_postgresql(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.new_database()
    study_in(url, max_pulls=100).close()
    ran = run("report", url, "-o", "-", "--format", "markdown", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("# flags\n")
    secret = re.search(r"//[^:@/]*:([^@/]+)@", url)
    assert secret is not None
    assert secret[1] not in ran.stdout
    assert ":***@" in ran.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing.db"],
        ["empty.json"],
        ["text.txt"],
        ["half.db"],
        ["half.json"],
        ["."],
        ["a.json", "--study", "x"],
        ["a.json", "-o", "x.pdf"],
        ["a.json", "--format", "pdf"],
        ["a.json", "-o", "no/where.html"],
        ["a.json", "-o", "-", "--json"],
        ["sqlite:///nothing.db"],
        ["mysql://me:secret@host/db"],
        ["other.db"],
        ["a\nb" * 200],
        ["several.db"],
        ["several.db", "--study", "three"],
        ["pipe"],
        ["/dev/zero"],
        ["/dev/urandom"],
        ["a.json", "-o", "/dev/full", "--format", "html"],
        ["a.json", "-o", "/proc/report.html"],
        ["a.json", "-o", "."],
        ["a.json", "-o", ".", "--format", "html"],
        ["-"],
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    arguments: list[str], folder: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "a.json").write_bytes((folder / "a.json").read_bytes())
    (tmp_path / "half.json").write_bytes((folder / "a.json").read_bytes()[:500])
    (tmp_path / "half.db").write_bytes((folder / "one.db").read_bytes()[:3000])
    (tmp_path / "empty.json").write_text(" \n")
    (tmp_path / "text.txt").write_text("hello")
    os.mkfifo(tmp_path / "pipe")
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("create table somebody_elses (x)")
    if arguments[0] == "several.db":
        for name in ("one", "two"):
            Study(["a"], [("x", "maximize")], Prescient(0.1), storage=tmp_path / "several.db", name=name).close()
    ran = run("report", *arguments, cwd=tmp_path, given=b"")
    assert ran.returncode == (4 if "/dev/full" in arguments else 2)
    assert said(ran.stderr) == snapshot
    assert ran.stderr.count("\n") == 1
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "report.html").exists()


# The commands that lead to it -----------------------------------------------------------------------------------------


def write_log(path: Path) -> None:
    lines = ["arm,seconds"] + [f"{arm},{1 + (arm == 'b') + 0.01 * i}" for arm in "ab" for i in range(60)]
    path.write_text("\n".join(lines) + "\n")


def test_analyze_writes_a_report_and_its_json_makes_the_same(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    write_log(tmp_path / "log.csv")
    asked = ["analyze", "log.csv", "--minimize", "seconds"]
    ran = run(*asked, "--report", "direct.html", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    plain = json.loads(ran.stdout)
    assert plain["source"] == ["log.csv"]
    assert said(plain["command"]) == snapshot
    assert plain["version"] == "0.1.0"
    (tmp_path / "a.json").write_text(ran.stdout)
    assert run("report", "a.json", "-o", "later.html", cwd=tmp_path).returncode == 0

    def content(name: str) -> str:
        text = (tmp_path / name).read_text(encoding="utf-8")
        return re.sub(r"Made by .*? UTC|Answered.*? UTC", "", text)

    assert content("later.html") == content("direct.html")
    refused = run(*asked, "--report", "x.pdf", cwd=tmp_path)
    assert refused.returncode == 2


def test_run_writes_a_report_and_its_json_has_what_one_needs(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "toy.toml").write_text(
        '[study]\nname = "toy"\ncontamination = 0\nseed = 7\n[[objective]]\nname = "cost"\ndirection = "minimize"\n'
        'tolerance = "50%"\n[run]\ncommand = ["sh", "-c", "echo \'{{\\"cost\\": {cost}}}\'"]\n'
        "[arms.grid]\ncost = [1, 9]\n"
    )
    asked = ["run", "toy.toml", "--report", "toy.html", "--json"]
    ran = run(*asked, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    plain = json.loads(ran.stdout)
    assert plain["objectives"] == [
        {"name": "cost", "direction": "minimize", "tolerance": "50%", "quantile": 0.5, "statistic": "quantile"}
        | {"bounds": None, "sigma": None, "exact": False, "contamination": None}
    ]
    assert plain["seed"] == 7
    assert plain["spec"] == (tmp_path / "toy.toml").read_text()
    assert plain["source"] == "toy.toml"
    text = (tmp_path / "toy.html").read_text(encoding="utf-8")
    assert plain["answer"] in text
    assert "contamination = 0" in text  # the spec
    (tmp_path / "run.json").write_text(ran.stdout)
    later = run("report", "run.json", "-o", "-", "--format", "markdown", cwd=tmp_path)
    assert later.returncode == 0, later.stderr
    assert 'name = "toy"' in later.stdout
    assert " ".join(asked) in later.stdout


def test_help_does_not_load_what_computes() -> None:
    program = (
        "import sys; from frontguard.cli import application; application();"
        "print(sorted({'numpy', 'frontguard.plot'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "[]"
