"""The command line as a user runs it: real processes, their output and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from frontguard import __version__


def frontguard(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "frontguard", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_the_demo_finds_what_means_miss_and_leaves_a_picture(tmp_path: Path) -> None:
    ran = frontguard("demo", "--output", "out", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    said = " ".join(ran.stdout.split())
    assert said.startswith("5 of the 5 treatments on the true front are returned by R-PSI, 0 by a method")
    assert "With probability 90%" in said
    assert (tmp_path / "out" / "demo.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert json.loads((tmp_path / "out" / "demo.json").read_text())["status"] == "certified"


def test_the_demo_for_machines(tmp_path: Path) -> None:
    ran = frontguard("demo", "--json", "--contamination", "0.1", "--seed", "3", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    truth = ["3 U, 20 g", "5 U, 20 g", "7 U, 20 g", "7 U, 36 g", "9 U, 52 g"]  # arms 0, 6, 12, 13, 20 of the table
    assert found["true_pareto_set"] == truth
    assert set(truth) <= set(found["pareto_set"])
    assert found["certificate"]["contamination"] == 0.1
    assert found["minutes"]["3 U, 20 g"] == pytest.approx([115.0, 0.0])
    assert set(found) >= {"status", "pareto_set", "verdicts", "certificate", "pulls", "intervals", "mean_based"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["demo", "--contamination", "0.5"], "0 <= eps < 1/2"),
        (["demo", "--contamination", "nan"], "finite"),
        (["demo", "--seed", "-1"], "--seed: wanted a number from 0, got -1"),
        (["demo", "--output", "taken/inside"], "--output taken/inside: cannot be written"),
        (["demo", "--seed", "x"], "--seed"),
        (["demo", "--sed", "1"], "--sed"),
        (["demo", "extra"], "(see frontguard demo --help)"),
        (["reproduse"], "reproduse"),
        (["reproduce"], "dataset"),
        (["reproduce", "movilens"], "did you mean movielens?"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], complaint: str, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where a directory is wanted")
    ran = frontguard(*arguments, cwd=tmp_path)
    assert ran.returncode == 2
    assert ran.stdout == ""
    lines = [line for line in ran.stderr.splitlines() if line.startswith("frontguard: ")]
    assert len(lines) == 1
    assert complaint in lines[0]
    assert "Traceback" not in ran.stderr


def test_help_names_every_command_and_is_fast_because_it_loads_nothing_heavy(tmp_path: Path) -> None:
    ran = frontguard("--help", cwd=tmp_path)
    assert ran.returncode == 0
    assert "demo" in ran.stdout
    assert "reproduce" in ran.stdout
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, frontguard, frontguard.cli.app; print(*sorted(sys.modules))"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert not {"numba", "numpy", "scipy", "matplotlib", "pandas"} & set(loaded)


def test_without_arguments_it_shows_its_help(tmp_path: Path) -> None:
    ran = frontguard(cwd=tmp_path)
    assert ran.returncode == 0
    assert "reproduce" in ran.stdout


def test_the_version(tmp_path: Path) -> None:
    assert frontguard("--version", cwd=tmp_path).stdout == f"frontguard {__version__}\n"
