"""--mean, --exact, --sigma and --quantile: what they make of objectives, and what they refuse."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective
from frontguard.cli.run import spec_of
from frontguard.errors import BadInput
from tests.cli.commands import run
from tests.support.snapshots import refused, said

ARMS = ("a=true", "b=true")


def quick(maximize: tuple[str, ...], tolerance: tuple[str, ...] = (), **said: Any) -> list[Objective]:
    spec = spec_of(None, ARMS, {"maximize": list(maximize), "tolerance": list(tolerance), **said})
    assert [source.objective for source in spec.sources] == list(spec.question.objectives)
    return list(spec.question.objectives)


def test_options_say_what_counts_and_a_mean_has_a_tolerance_of_its_own() -> None:
    found = quick(
        ("solved", "stars", "bytes", "p", "x"),
        mean=["solved", "stars=1,5"], exact=["bytes"], quantile=["p=0.9"],
    )  # fmt: skip
    assert found == [
        Objective("solved", "maximize", tolerance=0.05, statistic="mean", bounds=(0, 1)),
        Objective("stars", "maximize", tolerance=0.2, statistic="mean", bounds=(1, 5)),
        Objective("bytes", "maximize", tolerance="5%", exact=True),
        Objective("p", "maximize", tolerance="5%", quantile=0.9),
        Objective("x", "maximize", tolerance="5%"),
    ]
    assert found[-1].by_default
    assert not quick(("p",), quantile=["0.5"])[0].by_default
    assert quick(("d",), tolerance=("d=0.1",), mean=["d=-1,1"])[0].bounds == (-1.0, 1.0)
    (known,) = quick(("ms",), tolerance=("1",), sigma=["ms=0.2"], contamination="0")
    assert (known.statistic, known.sigma) == ("mean", 0.2)


@pytest.mark.parametrize(
    "said",
    [
        {"mean": ["solve"]},
        {"mean": ["solved"], "exact": ["solved"]},
        {"mean": ["solved", "solved=0,2"]},
        {"mean": ["solved=5"]},
        {"mean": ["solved=5,1"]},
        {"sigma": ["0.2"]},
        {"sigma": ["solved=much"]},
        {"sigma": ["solved=-1"]},
        {"quantile": ["2"]},
    ],
)
def test_what_cannot_be_is_refused(said: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        quick(("solved",), **said)


SOLVER = """
import json, random, sys
seed, rate = int(sys.argv[1]), float(sys.argv[2])
print(json.dumps({"solved": random.Random(seed).random() < rate, "bytes": int(1000 * rate)}))
"""


@pytest.fixture
def solvers(tmp_path: Path) -> list[str]:
    (tmp_path / "solve.py").write_text(SOLVER)
    arms = [f"{name}={sys.executable} solve.py {{seed}} {rate}" for name, rate in (("good", 0.95), ("bad", 0.3))]
    return [word for arm in arms for word in ("--arm", arm)]


def test_a_run_of_rates_and_sizes(tmp_path: Path, solvers: list[str], snapshot: SnapshotAssertion) -> None:
    options = ["--maximize", "solved", "--mean", "solved", "--minimize", "bytes", "--exact", "bytes"]
    ran = run("run", *solvers, *options, "--tolerance", "solved=0.4", "--contamination", "0.01", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["pareto_set"] == ["good", "bad"]
    assert found["intervals"]["good"]["bytes"] == [950.0, 950.0]
    size, solved = found["objectives"]
    assert (solved["name"], solved["statistic"], solved["bounds"]) == ("solved", "mean", [0.0, 1.0])
    assert (size["exact"], size["bounds"], size["sigma"]) == (True, None, None)


def test_a_tolerance_below_the_floor_is_said_before_the_first_pull(
    tmp_path: Path, solvers: list[str], snapshot: SnapshotAssertion
) -> None:
    options = ["--maximize", "solved", "--mean", "solved", "--tolerance", "0.1", "--contamination", "0.2"]
    ran = run("run", *solvers, *options, "--max-pulls", "2", cwd=tmp_path)
    before, _, _ = ran.stderr.partition("2 pulls in")
    assert [line for line in before.splitlines() if line.startswith("warning: ")] == snapshot
    enough = run("run", *solvers, *options[:-4], "--tolerance", "0.3", "--max-pulls", "2", cwd=tmp_path)
    assert "warning" not in enough.stderr


def test_true_without_a_mean_is_a_rate_and_that_is_said(
    tmp_path: Path, solvers: list[str], snapshot: SnapshotAssertion
) -> None:
    ran = run("run", *solvers, "--maximize", "solved", "--max-pulls", "3", "--storage", "s.db", "--json", cwd=tmp_path)
    assert ran.returncode == 3, ran.stderr
    found = json.loads(ran.stdout)
    (solved,) = found["objectives"]
    assert (solved["statistic"], solved["bounds"]) == ("mean", [0.0, 1.0])
    assert [line for line in ran.stderr.splitlines() if "true or false" in line] == snapshot


def test_true_where_a_median_was_asked_for_is_refused_and_nothing_is_stored(
    tmp_path: Path, solvers: list[str], snapshot: SnapshotAssertion
) -> None:
    ran = run("run", *solvers, "--maximize", "solved", "--quantile", "0.5", "--storage", "s.db", cwd=tmp_path)
    assert ran.returncode == 2
    assert said(ran.stderr.splitlines()[-1]) == snapshot
    again = run("run", *solvers, "--maximize", "solved", "--mean", "solved", "--max-pulls", "3", "--storage", "s.db",
                cwd=tmp_path)  # fmt: skip
    assert "beginning study" in again.stderr
