"""`frontguard reproduce` from outside: what it prints, writes and returns."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import typer
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner, Result

from frontguard.cli.reproduce import reproduce
from tests.cli import commands
from tests.support.snapshots import said

app = typer.Typer(add_completion=False)
app.command("reproduce")(reproduce)

# The same command as a process of its own; errors become exit code 2 and one line, as the app does it.
PROGRAM = """
import sys, typer
from frontguard.cli.reproduce import reproduce
from frontguard.errors import BadInput
app = typer.Typer(add_completion=False)
app.command("reproduce")(reproduce)
try:
    app()
except BadInput as error:
    print(f"frontguard: {error}", file=sys.stderr)
    sys.exit(2)
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def rows_of(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return rows


def small(output: Path) -> list[str]:
    return ["diabetes", "--runs", "3", "--contamination", "0.1", "--policy", "rpsi", "--output", str(output)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduced")


@pytest.fixture(scope="module")
def first(folder: Path) -> Result:
    """A small experiment for machines, with its output in `folder`."""
    return run(*small(folder), "--json")


def test_json_on_stdout_and_messages_on_stderr(first: Result) -> None:
    (row,) = rows_of(first)
    assert (row["dataset"], row["policy"], row["contamination"], row["runs"], row["rsr"]) == (
        "diabetes",
        "rpsi",
        0.1,
        3,
        1.0,
    )
    assert {"sc", "ro", "rf1", "seconds"} <= row.keys()
    assert "table.csv, table.json" in first.stderr


def test_tables_and_figures_are_written(tmp_path: Path) -> None:
    result = run(*small(tmp_path))
    assert result.exit_code == 0, result.output
    assert "adult#006" in result.stdout
    assert "5067" in result.stdout  # the published number
    assert json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))[0]["runs"] == 3
    for name in ("table.csv", "tables.md"):
        assert (tmp_path / name).stat().st_size > 100
    assert (tmp_path / "diabetes-adult-006.png").read_bytes().startswith(b"\x89PNG")


def test_a_second_time_resumes_and_fresh_does_not(folder: Path, first: Result) -> None:
    again = run(*small(folder), "--json")
    assert "3 of 3 runs" in again.stderr
    assert rows_of(again) == rows_of(first)  # even the seconds are the stored ones
    fresh = run(*small(folder), "--json", "--fresh", "--workers", "2")
    assert "are stored" not in fresh.stderr
    assert rows_of(fresh)[0]["sc"] == rows_of(first)[0]["sc"]


def test_sw_llvm_has_both_rows(shared_data: Path, tmp_path: Path) -> None:
    options = ["--runs", "2", "--contamination", "0.1", "--policy", "rpsi", "--output", str(tmp_path), "--json"]
    published, demanded = rows_of(run("sw-llvm", "--data", shared_data, *options))
    assert (published["variant"], demanded["variant"]) == ("as published", "as the theory demands")
    assert published["sc"] == pytest.approx(57822.5, rel=0.05)
    assert demanded["sc"] == pytest.approx(65600, rel=0.05)
    assert published["rsr"] == demanded["rsr"] == 1.0


@pytest.mark.parametrize(
    "arguments",
    [
        ["movielenz"],
        ["sw-llvm"],
        ["sw-llvm", "--data", "/nowhere/at/all"],
        ["diabetes", "--contamination", "0.5"],
        ["diabetes", "--contamination", "0.497"],
        ["diabetes", "--contamination", "-0.1"],
        ["diabetes", "--policy", "rspi"],
        ["diabetes", "--runs", "0"],
        ["diabetes", "--workers", "0"],
        ["diabetes", "--seed", "-1"],
        ["movielens", "--selection", "best"],
        ["diabetes", "--output", "/dev/null/x"],
        [],
    ],
)
def test_bad_input_is_one_line(arguments: list[str], tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    if "--output" not in arguments:
        arguments = [*arguments, "--output", str(tmp_path / "out")]
    ran = commands.run("reproduce", *arguments, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert len(ran.stderr.splitlines()) == 1
    assert said(ran.stderr) == snapshot
    assert not (tmp_path / "out").exists()  # nothing is begun before everything is checked


def test_as_a_process_bad_input_is_exit_code_2(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    damaged = tmp_path / "sw_llvm.csv"
    damaged.write_text("arm,y0,y1\n0,1.0\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "sw-llvm", "--data", str(damaged)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert said(done.stderr) == snapshot


def test_help_needs_nothing_that_computes() -> None:
    program = "import sys; import frontguard.cli.reproduce; sys.exit(bool({'numpy', 'numba'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def runs_in(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db, suppress(sqlite3.OperationalError):  # nothing there yet
        return int(db.execute("SELECT count(*) FROM runs").fetchone()[0])
    return 0


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        "diabetes",
        "--policy",
        "auer-a1",
        "--contamination",
        "0.0",
        "--runs",
        "2000",
    ]
    command += ["--output", str(tmp_path)]
    stored = tmp_path / "runs.db"
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 240
    while not runs_in(stored) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 130, errors
    assert output == ""
    assert "Traceback" not in errors
    kept = runs_in(stored)
    assert kept >= 1
    (told,) = re.findall(r"([0-9]+) of 2000 runs .* (\S+); the same command", errors)
    assert told == (str(kept), str(tmp_path))
    again = run(
        "diabetes", "--policy", "auer-a1", "--contamination", "0.0", "--runs", "1", "--output", tmp_path, "--json"
    )
    assert "1 of 1 runs" in again.stderr


MINE = """
import numpy as np

def first_half(arms, objectives, accuracy):
    yield np.arange(arms)
    return range(arms // 2)

def lowest(rewards, arm, rng, environment):
    return np.where(environment.pareto_mask[arm], 1.0, rewards)
"""


def test_functions_of_a_file_are_in_the_tables(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    file, output = tmp_path / "mine.py", tmp_path / "kept"
    file.write_text(MINE, encoding="utf-8")
    asked = ["movielens", "--runs", "2", "--contamination", "0.1", "--output", str(output)]
    mine = [*asked, "--policy", f"{file}:first_half", "--attack", f"{file}:lowest", "--json"]
    (row,) = rows_of(run(*mine))
    assert (row["policy"], row["variant"], row["sc"], row["returned"]) == ("first_half", "margin, lowest", 24, 12)
    assert row["published_rsr"] is None
    assert "are stored" in run(*mine).stderr
    file.write_text(MINE.replace("arms // 2", "arms // 3"), encoding="utf-8")
    (row,) = rows_of(run(*mine))  # what was stored is another file's
    assert row["returned"] == 8
    for policy in ("missing.py:first_half", f"{file}:first_haf", "first_half"):
        failed = run(*asked, "--policy", policy)
        assert failed.exit_code != 0
        assert said(str(failed.exception).replace(str(tmp_path), "FOLDER")) == snapshot
