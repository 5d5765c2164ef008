"""The answer of every command on up to ten arms fits a small terminal: 24 lines of 80 columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

from frontguard.words.terminal import COLUMNS, LINES
from tests.cli.commands import run

TEN = [f"compile with -O{k % 4} and {'native ' * (k % 3)}code {k}" for k in range(10)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of ten arms: apart, alike, with too few rows, in clusters; and of a baseline, and candidates."""
    where, rng = tmp_path_factory.mktemp("logs"), np.random.default_rng(5)

    def write(name: str, apart: float, rows: int, clusters: int = 1) -> None:
        with (where / name).open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["arm", "host", "seconds", "megabytes", "score"])
            for k, arm in enumerate(TEN):
                for row in range(rows):
                    seconds, size = rng.lognormal(apart * k, 0.05), rng.lognormal(apart * (9 - k), 0.05)
                    table.writerow([arm, row % clusters, seconds, size, k * apart + rng.normal(0.0, 0.3)])

    write("apart.csv", 0.3, 40)
    write("alike.csv", 0.01, 40)
    write("few.csv", 0.3, 6)
    write("hosts.csv", 0.3, 40, clusters=4)
    for name, factor in (("main", 1.0), ("pr", 1.4), ("near", 1.04)):
        results = [
            {"command": arm, "times": (factor * rng.normal(1.0, 0.02, 30)).tolist()}
            for arm in ("parse", "sort", "hash")
        ]
        (where / f"{name}.json").write_text(json.dumps({"results": results}), encoding="utf-8")
    return where


ONE = ("--minimize", "seconds", "--tolerance", "5%")
THREE = ("--minimize", "seconds", "--minimize", "megabytes", "--maximize", "score", "--contamination", "5%",
         "--tolerance", "seconds=5%", "--tolerance", "megabytes=5%", "--tolerance", "score=0.1")  # fmt: skip
ASKED: list[tuple[str, ...]] = [
    *(("analyze", name, *metrics) for name in ("apart.csv", "alike.csv", "few.csv") for metrics in (ONE, THREE)),
    ("analyze", "hosts.csv", *ONE, "--cluster", "host"),
    ("analyze", "apart.csv", *ONE, "--contamination", "0"),
    ("gate", "main.json", "pr.json"),
    ("gate", "main.json", "near.json"),
    ("gate", "main.json", "main.json"),
    ("plan", "--arms", "3", "--objectives", "1", "--tolerance", "0.5", "--gaussian", "0.1", "--runs", "2"),
    ("run", "--arm", "a=true", "--arm", "b=no-such-command-anywhere", "--storage", "memory:"),
    ("run", "--arm", "a=true", "--arm", "b=true", "--storage", "memory:", "--max-pulls", "12", "--tolerance", "1%"),
]


@pytest.mark.parametrize("asked", ASKED, ids=" ".join)
def test_the_answer_fits_a_small_terminal(asked: Sequence[str], folder: Path) -> None:
    ran = run(*asked, cwd=folder)
    assert ran.returncode in (0, 1, 3), ran.stderr
    lines = ran.stdout.splitlines()
    assert lines
    assert len(lines) <= LINES, ran.stdout
    assert max(map(cell_len, lines)) <= COLUMNS, ran.stdout


def test_an_arm_that_did_not_start_is_said_first(folder: Path) -> None:
    ran = run("run", "--arm", "a=true", "--arm", "b=no-such-command-anywhere", "--storage", "memory:", cwd=folder)
    assert ran.returncode == 3
    assert ran.stdout.startswith("b: command not found: no-such-command-anywhere.")
    assert "confidence" not in ran.stdout  # of nothing to compare nothing is certain


def test_kept_arms_stand_in_the_order_of_the_first_metric_under_headings_with_directions(folder: Path) -> None:
    (head,) = (line for line in run("analyze", "apart.csv", *THREE, cwd=folder).stdout.splitlines() if "arm  " in line)
    assert (head.count("↓"), head.count("↑")) == (2, 1)
    two = ("--minimize", "seconds", "--minimize", "megabytes", "--tolerance", "5%")
    lines = run("analyze", "apart.csv", *two, cwd=folder).stdout.splitlines()
    kept = [line.split("  ")[0] for line in lines if line.endswith("  keep")]
    assert len(kept) > 1
    assert kept == sorted(kept, key=lambda name: TEN.index(next(arm for arm in TEN if arm[-6:] == name[-6:])))
