"""`frontguard plan` as a user runs it: real processes, their output and exit codes."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput
from frontguard.cli import application
from frontguard.planning.task import read_pilot
from frontguard.question import Question
from tests.cli.commands import process, run
from tests.support.snapshots import said

plan = partial(run, "plan")

PROBLEM = ("--arms", "3", "--objectives", "2", "--contamination", "0.1", "--runs", "1")
ON_PILOT = ("--pilot", "pilot.csv", "--arm", "flags", "--contamination", "0.1", "--runs", "2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a pilot of three arms, one of which has a number for a name."""
    rng = np.random.default_rng(0)
    with (tmp_path / "pilot.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["flags", "seconds", "quality"])
        for _ in range(60):
            for name, seconds, quality in (("-O2", 1.5, 0.8), ("007", 1.0, 0.9), ("-O3", 2.5, 0.95)):
                writer.writerow([name, seconds * np.exp(rng.normal(0, 0.05)), quality + rng.normal(0, 0.02)])
    return tmp_path


def test_the_answer_comes_first(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    ran = process("plan", *PROBLEM, "--tolerance", "0.2", "--gaussian", "0.2", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert said(ran.stdout) == snapshot


def test_sessions_of_a_suite(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    suite = ("--tests", "50", "--noise", "1%", "--tolerance", "5%")
    ran = plan(*suite, "--difference", "10%", "--size", "12", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert said(ran.stdout) == snapshot
    made = json.loads(plan(*suite, "--contamination", "0", "--json", cwd=tmp_path).stdout)
    (way,) = made["ways"]
    assert (way["passes"], way["finds"]) == (7, 7)
    assert (made["difference"], made["tests"], made["confidence"]) == (0.1, 50, 0.95)


@pytest.mark.parametrize(
    "options",
    [
        ("--lost", "6%", "--size", "300"),
        ("--lost", "6%", "--difference", "5%", "--arms", "10", "--contamination", "0.02"),
        ("--rate", "60%", "--size", "300", "--maximize", "right"),
        ("--tests", "1", "--noise", "2%", "--tolerance", "2%", "--difference", "5%"),
    ],
)
def test_sizes(options: tuple[str, ...], tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    ran = plan(*options, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert said(ran.stdout) == snapshot


def test_sizes_by_a_pilot(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rows = [f"{arm},{q},{int(q % 10 != lost)}" for arm, lost in (("a", 3), ("b", 7)) for q in range(100)]
    (tmp_path / "log.csv").write_text("\n".join(["model,q,solved", *rows]))
    ran = plan("--pilot", "log.csv", "--arm", "model", "--pair", "q", "--size", "300", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert said(ran.stdout) == snapshot


def test_a_plan_for_machines(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    options = ("--tolerance", "0.1", "--sigma", "0.2", "--threat", "malicious", "--confidence", "0.9", "--json")
    ran = plan(*PROBLEM, *options, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    made = json.loads(ran.stdout)
    assert made["floor"] == pytest.approx([0.4 * norm.ppf(0.6)] * 2)
    assert made["largest_contamination"]["any_method"] == pytest.approx(norm.cdf(0.25) - 0.5)
    assert not made["possible"]
    assert said(made["answer"]) == snapshot
    assert made["confidence"] == 0.9
    rows = {(row["policy"], row["attack"]): row for row in made["expected_pulls"]}
    assert set(rows) == {(p, a) for p in ("certified", "certified without R", "R-PSI") for a in ("none", "worst")}
    assert made["first_pulls_per_arm"]["certified"] < made["first_pulls_per_arm"]["certified without R"]


def test_a_plan_against_any_share(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """The floor is the malicious one; R-PSI, which has no lemma for it, is left out with a reason."""
    options = ("--tolerance", "0.3", "--gaussian", "0.2", "--threat", "share", "--json")
    ran = plan(*PROBLEM, *options, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    made = json.loads(ran.stdout)
    assert made["threat"] == "share"
    assert made["floor"] == pytest.approx([0.4 * norm.ppf(0.6)] * 2)
    rows = {(row["policy"], row["attack"]): row for row in made["expected_pulls"]}
    assert rows["certified", "worst"]["runs"] > 0
    assert rows["R-PSI", "none"]["runs"] == 0
    assert said(ran.stdout) == snapshot


def test_a_plan_from_a_pilot_speaks_of_its_arms_and_units(folder: Path, snapshot: SnapshotAssertion) -> None:
    options = ("--minimize", "seconds", "--maximize", "quality", "--tolerance", "0.05", "--tolerance", "10%", "--json")
    ran = plan(*ON_PILOT, *options, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    made = json.loads(ran.stdout)
    assert [(o["name"], o["relative"]) for o in made["objectives"]] == [("quality", False), ("seconds", True)]
    assert made["tolerance"] == pytest.approx([0.05, 0.1])
    with (folder / "pilot.csv").open() as file:
        rows = list(csv.DictReader(file))
    widths = {}
    for name in ("-O2", "007", "-O3"):
        logs = np.log([float(row["seconds"]) for row in rows if row["flags"] == name])
        widths[name] = float(np.expm1(np.diff(np.quantile(logs, [0.45, 0.55]))[0]))  # keep(1/2) = 0.9 / 2
    assert made["floor"][1] == pytest.approx(max(widths.values()))
    assert made["floor_arms"][1] == max(widths, key=lambda name: widths[name])
    assert said("\n".join(made["warnings"])) == snapshot


@pytest.mark.parametrize(
    "arguments",
    [
        [*PROBLEM, "--tolerance", "0.1", "--sigma", "1", "--gaussian", "1"],
        [*PROBLEM, "--tolerance", "0.1", "--sigma", "0"],
        [*PROBLEM, "--tolerance", "2%", "--sigma", "1"],
        [*PROBLEM, "--tolerance", "much", "--sigma", "1"],
        [*PROBLEM, "--tolerance", "0.1", "--sigma", "1", "--threat", "evil"],
        [*PROBLEM, "--tolerance", "0.1", "--sigma", "1", "--confidence", "95"],
        [*PROBLEM, "--tolerance", "0.1", "--sigma", "1", "--minimize", "x"],
        [*PROBLEM, "--tolerance", "0.1", "--sigma", "1", "--arm", "x"],
        [*PROBLEM, *["--tolerance", "0.1"] * 3, "--sigma", "1"],
        ["--contamination", "0.1", "--tolerance", "0.1", "--sigma", "1"],
        ["--tests", "50", "--tolerance", "5%"],
        ["--tests", "50", "--tolerance", "5%", "--noise", "1%", "--arms", "3"],
        ["--tests", "50", "--lost", "6%", "--size", "3"],
        ["--size", "300"],
        ["--lost", "6%", "--size", "300", "--span", "3"],
        [*PROBLEM, "--tolerance", "0.1", "--sigma", "1", "--noise", "1%"],
        [*ON_PILOT, "--tolerance", "1%", "--minimize", "second"],
        [*ON_PILOT, "--tolerance", "1%", "--minimize", "flags"],
        [*ON_PILOT, "--tolerance", "1%"],
        [*ON_PILOT, "--tolerance", "1%", "--minimize", "seconds", "--arms", "4"],
        [*ON_PILOT, "--tolerance", "1%", "--minimize", "seconds", "--sigma", "1"],
        [*ON_PILOT, "--tolerance", "1%", "--coverage", "1", "--minimize", "seconds"],
    ],
)
def test_bad_input_is_refused(
    arguments: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(BadInput) as caught:
        application()(["plan", *arguments], standalone_mode=False)
    assert said(str(caught.value)) == snapshot


def test_a_refusal_is_one_line_and_exit_code_2(folder: Path, snapshot: SnapshotAssertion) -> None:
    ran = run("plan", *ON_PILOT, "--tolerance", "1%", "--minimize", "second", cwd=folder)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
    assert said(ran.stderr) == snapshot


@pytest.mark.parametrize(
    "text",
    [
        "flags,seconds\na,1\na,2,3\n",
        "flags,seconds\na,1\n,2\n",
        "flags,seconds\na,1\na,fast\n",
        "flags,seconds\na,1\nb,-2\n",
        "flags,seconds\n" + "a,1\n" * 9,
        "flags,seconds\n" + "a,1\n" * 9 + "b,1\n" * 4,
        "flags,seconds\n" + "a,1\n" * 9 + "b,1\n" * 4 + "b,\n" * 4,
        "",
    ],
)
def test_a_bad_pilot_is_told_where(text: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "pilot.csv"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        read_pilot(path, "flags", Question.of(minimize="seconds", tolerance="1%"))
    assert said(str(caught.value)) == snapshot


def test_a_pilot_that_is_not_there(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    ran = plan(*ON_PILOT, "--tolerance", "1%", "--minimize", "seconds", cwd=tmp_path)
    assert ran.returncode == 2
    assert said(ran.stderr) == snapshot


SPEC = """
[study]
contamination = 0.02
[[objective]]
name = "solved"
direction = "maximize"
tolerance = 0.2
statistic = "mean"
bounds = [0, 1]
[[objective]]
name = "bytes"
direction = "minimize"
tolerance = "1%"
exact = true
[run]
command = ["./measure", "{arm}"]
[[arm]]
name = "a"
[[arm]]
name = "b"
[[arm]]
name = "c"
"""


def test_a_plan_of_a_spec_with_a_rate_and_a_size(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    ran = plan("spec.toml", "--runs", "2", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    made = json.loads(ran.stdout)
    assert (made["arms"], made["contamination"], made["tolerance"]) == (3, 0.02, pytest.approx([0.2, 0.01]))
    assert [(o["statistic"], o["bounds"], o["exact"]) for o in made["objectives"]] == [
        ("mean", [0.0, 1.0], False),
        (None, None, True),
    ]
    assert made["instances"]["source"] == "mixed"
    assert made["warnings"] == []
    options = ("--contamination", "0.1", "--tolerance", "solved=0.05", "--runs", "1", "--threat", "malicious")
    assert said(plan("spec.toml", *options, cwd=tmp_path).stdout) == snapshot


OTHER_SPECS = {
    "a relative tolerance": 'tolerance = "20%"',
    "no tolerance, and the slow ones": "tolerance = 0\nquantile = 0.95",
    "a mean and a median of one metric": (
        'tolerance = 1\nstatistic = "mean"\nbounds = [0, 60]\n'
        '[[limit]]\nmetric = "seconds"\nquantile = 0.5\nat_most = 9'
    ),
    "another metric that is limited": 'tolerance = "20%"\n[[limit]]\nmetric = "latency"\nat_most = 300',
}


@pytest.mark.parametrize("rest", OTHER_SPECS.values(), ids=OTHER_SPECS)
def test_every_spec_that_run_takes_has_a_plan(rest: str, tmp_path: Path) -> None:
    head, tail = SPEC.split("[[objective]]")[0], "[run]" + SPEC.split("[run]")[1]
    (tmp_path / "spec.toml").write_text(f'{head}[[objective]]\nname = "seconds"\n{rest}\n{tail}')
    ran = plan("spec.toml", "--runs", "1", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["expected_pulls"][0]["policy"] == "certified"


def test_a_plan_by_names_and_numbers(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    options = ("--arms", "3", "--maximize", "solved", "--mean", "solved", "--minimize", "bytes", "--exact", "bytes")
    goal = ("--tolerance", "solved=0.3", "--tolerance", "bytes=0", "--contamination", "0.01", "--runs", "1")
    ran = plan(*options, *goal, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert said(ran.stdout) == snapshot
    for more in (("--sigma", "0.2"), ("--mean", "solvd"), ("--sigma", "bytes=0.2")):
        ran = plan(*options, *goal, *more, cwd=tmp_path)
        assert ran.returncode == 2
        assert said(ran.stderr) == snapshot


def test_a_pilot_of_rates(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rows = [f"{arm},{int(i % 10 < rate)},{size}" for arm, rate, size in (("a", 9, 10), ("b", 5, 20)) for i in range(60)]
    (tmp_path / "pilot.csv").write_text("\n".join(["flags,solved,bytes", *rows]))
    options = (*ON_PILOT, "--maximize", "solved", "--minimize", "bytes", "--tolerance", "solved=0.2", "--tolerance")
    counts = ("--mean", "solved", "--exact", "bytes")
    made = json.loads(plan(*options, "bytes=0", *counts, "--json", cwd=tmp_path).stdout)
    assert made["floor"] == pytest.approx([0.1 / 0.9, 0.0])
    told = " ".join(plan(*options, "bytes=0", *counts, cwd=tmp_path).stdout.split())
    assert said(plan(*options, "bytes=0", *counts, cwd=tmp_path).stdout) == snapshot
    assert "quantile" not in told
    assert "median" not in told
    out = plan(*options, "bytes=0", "--mean", "solved", "--mean", "bytes=0,15", cwd=tmp_path)
    assert said(out.stderr) == snapshot


def pilot_of_truths(folder: Path, more: str = "") -> None:
    rng = np.random.default_rng(5)
    rows = [f"{arm},{str(rng.random() < chance).lower()},{cost}" for _ in range(40)
            for arm, chance, cost in (("a", 0.9, 3), ("b", 0.3, 1))]  # fmt: skip
    (folder / "truths.csv").write_text("\n".join(["model,solved,cost", *rows, more]))


def test_a_pilot_of_true_and_false_is_one_of_rates(folder: Path, snapshot: SnapshotAssertion) -> None:
    pilot_of_truths(folder)
    options = (
        "--pilot",
        "truths.csv",
        "--arm",
        "model",
        "--maximize",
        "solved",
        "--tolerance",
        "0.2",
        "--contamination",
        "0",
    )
    ran = plan(*options, "--json", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert said(ran.stderr.splitlines()[-1]) == snapshot  # behind the progress of a slow machine
    declared = plan(*options, "--mean", "solved", "--json", cwd=folder)
    assert "'solved'" not in declared.stderr
    assert json.loads(ran.stdout) == json.loads(declared.stdout)


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ("a,0.5,3", []),
        ("a,perhaps,3", []),
        ("", ["--quantile", "solved=0.5"]),
    ],
)
def test_a_pilot_of_true_and_something_else_is_refused(
    more: str, options: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    pilot_of_truths(folder, more)
    monkeypatch.chdir(folder)
    with pytest.raises(BadInput) as caught:
        application()(
            ["plan", "--pilot", "truths.csv", "--arm", "model", "--maximize", "solved", "--tolerance", "0.2", *options],
            standalone_mode=False,
        )
    assert said(str(caught.value)) == snapshot


def test_a_plan_with_limits_speaks_of_the_arms_within(folder: Path, snapshot: SnapshotAssertion) -> None:
    goal = ("--maximize", "quality", "--tolerance", "0.05")
    ran = plan(*ON_PILOT, *goal, "--limit", "p75(seconds)<=2", "--limit", "seconds>=1.5", "--json", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    made = json.loads(ran.stdout)
    assert said(made["answer"]) == snapshot
    assert [each["limit"]["metric"] for each in made["limits"]] == ["seconds", "seconds"]
    assert [each["open_arms"] for each in made["limits"]] == [[], ["-O2"]]
    assert "contamination" in made["answer"]  # -O2 may be within, and nothing else is known to be
    assert said(plan(*ON_PILOT, *goal, "--limit", "p75(seconds)<=2", cwd=folder).stdout) == snapshot
    for limit in ("p75(second)<=2", "p75(seconds)"):
        wrong = plan(*ON_PILOT, *goal, "--limit", limit, cwd=folder)
        assert wrong.returncode == 2
        assert said(wrong.stderr) == snapshot


def test_limits_of_a_spec_are_part_of_its_plan(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    spec = """
[[objective]]
name = "seconds"
tolerance = 0.2

[[limit]]
metric = "memory_mb"
quantile = 0.9
at_most = 50

[[arm]]
name = "a"
command = ["true"]

[[arm]]
name = "b"
command = ["true"]
"""
    (tmp_path / "spec.toml").write_text(spec)
    options = ("--gaussian", "0.1", "--span", "2", "--contamination", "0.02", "--runs", "1", "--json")
    made = json.loads(plan("spec.toml", *options, "--limit", "p90(memory_mb)<=60", cwd=tmp_path).stdout)
    assert said(made["answer"]) == snapshot
    (limit,) = made["limits"]
    assert 0.0 < limit["floor"] < 0.1
    assert {row["policy"] for row in made["expected_pulls"]} == {"certified", "certified without R"}
