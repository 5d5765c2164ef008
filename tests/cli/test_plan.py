"""`frontguard plan` as a user runs it: real processes, their output and exit codes."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from frontguard import BadInput
from frontguard.cli.app import application
from frontguard.cli.options.pilot import read_pilot
from frontguard.objectives import Objective
from tests.cli.commands import process, run
from tests.documents.printed import as_published

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


def test_the_answer_comes_first_and_the_floor_is_in_plain_words(tmp_path: Path) -> None:
    ran = process("plan", *PROBLEM, "--tolerance", "0.2", "--gaussian", "0.2", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    said = " ".join(ran.stdout.split())
    assert said.startswith("Expect about ")
    floor = 0.4 * norm.ppf(0.5 + 0.1 / 1.8)
    assert f"replaces each measurement with probability 10%, no method separates arms closer than {floor:.3g}" in said


def test_a_plan_for_machines(tmp_path: Path) -> None:
    options = ("--tolerance", "0.1", "--sigma", "0.2", "--threat", "malicious", "--confidence", "0.9", "--json")
    ran = plan(*PROBLEM, *options, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    made = as_published("plan", ran.stdout)
    assert made["floor"] == pytest.approx([0.4 * norm.ppf(0.6)] * 2)
    assert made["largest_contamination"]["any_method"] == pytest.approx(norm.cdf(0.25) - 0.5)
    assert not made["possible"]
    assert "cannot be promised" in made["answer"]
    assert made["confidence"] == 0.9
    rows = {(row["policy"], row["attack"]): row for row in made["expected_pulls"]}
    assert set(rows) == {(p, a) for p in ("certified", "certified without R", "R-PSI") for a in ("none", "worst")}
    assert made["first_pulls_per_arm"]["certified"] < made["first_pulls_per_arm"]["certified without R"]


def test_a_plan_against_any_share(tmp_path: Path) -> None:
    """The floor is the malicious one; R-PSI, which has no lemma for it, is left out with a reason."""
    options = ("--tolerance", "0.3", "--gaussian", "0.2", "--threat", "share", "--json")
    ran = plan(*PROBLEM, *options, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    made = as_published("plan", ran.stdout)
    assert made["threat"] == "share"
    assert made["floor"] == pytest.approx([0.4 * norm.ppf(0.6)] * 2)
    rows = {(row["policy"], row["attack"]): row for row in made["expected_pulls"]}
    assert rows["certified", "worst"]["runs"] > 0
    assert rows["R-PSI", "none"]["runs"] == 0
    assert "R-PSI promises nothing where any share may be replaced" in ran.stdout


def test_a_plan_from_a_pilot_speaks_of_its_arms_and_units(folder: Path) -> None:
    options = ("--minimize", "seconds", "--maximize", "quality", "--tolerance", "0.05", "--tolerance", "10%", "--json")
    ran = plan(*ON_PILOT, *options, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    made = as_published("plan", ran.stdout)
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
    assert any("taken as clean" in warning for warning in made["warnings"])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([*PROBLEM, "--tolerance", "0.1"], "in one way: --sigma (subgaussian), --gaussian (normal) or --pilot"),
        ([*PROBLEM, "--tolerance", "0.1", "--sigma", "1", "--gaussian", "1"], "in one way"),
        ([*PROBLEM, "--tolerance", "0.1", "--sigma", "0"], "must be positive; got 0.0"),
        ([*PROBLEM, "--tolerance", "2%", "--sigma", "1"], "a percentage needs a pilot log"),
        ([*PROBLEM, "--tolerance", "much", "--sigma", "1"], "--tolerance must be a number such as 0.5"),
        ([*PROBLEM, "--tolerance", "0.1", "--sigma", "1", "--threat", "evil"], "oblivious, prescient, malicious"),
        ([*PROBLEM, "--tolerance", "0.1", "--sigma", "1", "--confidence", "95"], "--confidence must be a probability"),
        (
            [*PROBLEM, "--tolerance", "0.1", "--sigma", "1", "--minimize", "x"],
            "1 of them are named, got 2",
        ),
        ([*PROBLEM, "--tolerance", "0.1", "--sigma", "1", "--arm", "x"], "--arm belongs to a pilot log"),
        ([*PROBLEM, *["--tolerance", "0.1"] * 3, "--sigma", "1"], "--tolerance: wanted one, or 2"),
        (["--contamination", "0.1", "--tolerance", "0.1", "--sigma", "1"], "--arms and --objectives are needed"),
        ([*ON_PILOT, "--tolerance", "1%", "--minimize", "second"], "no such column; did you mean seconds?"),
        ([*ON_PILOT, "--tolerance", "1%", "--minimize", "flags"], "pilot.csv, line 2: 'flags' must be a number"),
        ([*ON_PILOT, "--tolerance", "1%"], "at least one column"),
        ([*ON_PILOT, "--tolerance", "1%", "--minimize", "seconds", "--arms", "4"], "--arms: pilot.csv has 3, got 4"),
        ([*ON_PILOT, "--tolerance", "1%", "--minimize", "seconds", "--sigma", "1"], "cannot be combined with --pilot"),
        ([*ON_PILOT, "--tolerance", "1%", "--coverage", "1", "--minimize", "seconds"], "both tolerances"),
    ],
)
def test_bad_input_is_refused(
    arguments: list[str], complaint: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(BadInput) as caught:
        application()(["plan", *arguments], standalone_mode=False)
    assert complaint in str(caught.value)


def test_a_refusal_is_one_line_and_exit_code_2(folder: Path) -> None:
    ran = run("plan", *ON_PILOT, "--tolerance", "1%", "--minimize", "second", cwd=folder)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
    assert "--minimize second: pilot.csv has no such column; did you mean seconds?" in ran.stderr


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("flags,seconds\na,1\na,2,3\n", "line 3: wanted 2 cells as in the header, got 3"),
        ("flags,seconds\na,1\n ,2\n", "line 3: the arm in column 'flags' is empty"),
        ("flags,seconds\na,1\na,fast\n", "line 3: 'seconds' must be a number, or empty if it failed; got 'fast'"),
        ("flags,seconds\na,1\na,inf\n", "line 3: 'seconds' must be finite"),
        (
            "flags,seconds\na,1\nb,-2\n",
            "line 3: 'seconds' must be positive; got -2: a tolerance in percent",
        ),
        ("flags,seconds\n" + "a,1\n" * 9, "wanted at least two arms in column 'flags', got 1"),
        ("flags,seconds\n" + "a,1\n" * 9 + "b,1\n" * 4, "at least 5 rows of every arm"),
        ("flags,seconds\n" + "a,1\n" * 9 + "b,1\n" * 4 + "b,\n" * 4, "got 4 of arm 'b'"),
        ("", "it has no header"),
    ],
)
def test_a_bad_pilot_is_told_where(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "pilot.csv"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        read_pilot(path, "flags", [Objective("seconds", "minimize", "1%")])
    assert complaint in str(caught.value)


def test_a_pilot_that_is_not_there(tmp_path: Path) -> None:
    ran = plan(*ON_PILOT, "--tolerance", "1%", "--minimize", "seconds", cwd=tmp_path)
    assert ran.returncode == 2
    assert "--pilot pilot.csv: cannot be read: No such file or directory" in ran.stderr


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


def test_a_plan_of_a_spec_with_a_rate_and_a_size(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    ran = plan("spec.toml", "--runs", "2", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    made = as_published("plan", ran.stdout)
    assert (made["arms"], made["contamination"], made["tolerance"]) == (3, 0.02, pytest.approx([0.2, 0.01]))
    assert [(o["statistic"], o["bounds"], o["exact"]) for o in made["objectives"]] == [
        ("mean", [0.0, 1.0], False),
        (None, None, True),
    ]
    assert made["instances"]["source"] == "mixed"
    assert made["warnings"] == []
    options = ("--contamination", "0.1", "--tolerance", "solved=0.05", "--runs", "1", "--threat", "malicious")
    said = " ".join(plan("spec.toml", *options, cwd=tmp_path).stdout.split())
    assert "cannot be promised: beyond a contamination of 2.5% no method that knows bounds only can, and 10%" in said
    assert "no method that knows bounds only separates means closer than 0.2 in solved." in said
    assert "the mean of solved stays uncertain by up to 0.2, however many pulls" in said
    assert "may never be certified within 0.05, but can be within 0.2." in said


def test_a_plan_by_names_and_numbers(tmp_path: Path) -> None:
    options = ("--arms", "3", "--maximize", "solved", "--mean", "solved", "--minimize", "bytes", "--exact", "bytes")
    goal = ("--tolerance", "solved=0.3", "--tolerance", "bytes=0", "--contamination", "0.01", "--runs", "1")
    ran = plan(*options, *goal, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "Simulated on random arms: rates, of values that are 0 or 1" in ran.stdout
    for more, complaint in (
        (("--sigma", "0.2"), "--sigma is of metrics whose quantile counts, and there is none"),
        (("--mean", "solvd"), "--mean: no objective is called 'solvd' (did you mean 'solved'?)"),
        (("--sigma", "bytes=0.2"), "--sigma: what counts of 'bytes' is said once; got it with --exact as well"),
    ):
        ran = plan(*options, *goal, *more, cwd=tmp_path)
        assert (ran.returncode, complaint in ran.stderr) == (2, True), ran.stderr


def test_a_pilot_of_rates(tmp_path: Path) -> None:
    rows = [f"{arm},{int(i % 10 < rate)},{size}" for arm, rate, size in (("a", 9, 10), ("b", 5, 20)) for i in range(60)]
    (tmp_path / "pilot.csv").write_text("\n".join(["flags,solved,bytes", *rows]))
    options = (*ON_PILOT, "--maximize", "solved", "--minimize", "bytes", "--tolerance", "solved=0.2", "--tolerance")
    counts = ("--mean", "solved", "--exact", "bytes")
    made = as_published("plan", plan(*options, "bytes=0", *counts, "--json", cwd=tmp_path).stdout)
    assert made["floor"] == pytest.approx([0.1 / 0.9, 0.0])
    said = " ".join(plan(*options, "bytes=0", *counts, cwd=tmp_path).stdout.split())
    assert "means stay uncertain by 0.111 in solved, 0 in bytes (at most, for solved of" in said
    assert "quantile" not in said
    assert "median" not in said
    out = plan(*options, "bytes=0", "--mean", "solved", "--mean", "bytes=0,15", cwd=tmp_path)
    assert "line 62: 'bytes' must be between its bounds; got 20" in out.stderr


def pilot_of_truths(folder: Path, more: str = "") -> None:
    rng = np.random.default_rng(5)
    rows = [f"{arm},{str(rng.random() < chance).lower()},{cost}" for _ in range(40)
            for arm, chance, cost in (("a", 0.9, 3), ("b", 0.3, 1))]  # fmt: skip
    (folder / "truths.csv").write_text("\n".join(["model,solved,cost", *rows, more]))


def test_a_pilot_of_true_and_false_is_one_of_rates(folder: Path) -> None:
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
    assert "'solved' is true or false: the rate is what counts" in ran.stderr
    declared = plan(*options, "--mean", "solved", "--json", cwd=folder)
    assert "is true or false" not in declared.stderr
    assert as_published("plan", ran.stdout) == as_published("plan", declared.stdout)


@pytest.mark.parametrize(
    ("more", "options", "complaint"),
    [
        ("a,0.5,3", [], "'solved' has true or false and numbers as well; got '0.5'"),
        ("a,perhaps,3", [], "'solved' must be a number, or empty if it failed; got 'perhaps'"),
        ("", ["--quantile", "solved=0.5"], "'solved' is true or false: true and false are values of a mean"),
    ],
)
def test_a_pilot_of_true_and_something_else_is_refused(
    more: str, options: list[str], complaint: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pilot_of_truths(folder, more)
    monkeypatch.chdir(folder)
    with pytest.raises(BadInput) as caught:
        application()(
            ["plan", "--pilot", "truths.csv", "--arm", "model", "--maximize", "solved", "--tolerance", "0.2", *options],
            standalone_mode=False,
        )
    assert complaint in str(caught.value)


def test_a_plan_with_limits_speaks_of_the_arms_within(folder: Path) -> None:
    goal = ("--maximize", "quality", "--tolerance", "0.05")
    ran = plan(*ON_PILOT, *goal, "--limit", "p75(seconds)<=2", "--limit", "seconds>=1.5", "--json", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    made = as_published("plan", ran.stdout)
    assert "among the arms with p75(seconds) ≤ 2 and median(seconds) ≥ 1.5" in made["answer"]
    assert [each["limit"]["metric"] for each in made["limits"]] == ["seconds", "seconds"]
    assert [each["open_arms"] for each in made["limits"]] == [[], ["-O2"]]
    assert "contamination" in made["answer"]  # -O2 may be within, and nothing else is known to be
    said = " ".join(plan(*ON_PILOT, *goal, "--limit", "p75(seconds)<=2", cwd=folder).stdout.split())
    assert said.startswith("Expect about ")
    assert "pulls can tell of every arm whether it keeps to p75(seconds) ≤ 2." in said
    for limit, wanted in (
        ("p75(second)<=2", "--limit second: pilot.csv has no such column; did you mean seconds?"),
        ("p75(seconds)", "--limit must be such as"),
    ):
        wrong = plan(*ON_PILOT, *goal, "--limit", limit, cwd=folder)
        assert wrong.returncode == 2
        assert wanted in wrong.stderr


def test_limits_of_a_spec_are_part_of_its_plan(tmp_path: Path) -> None:
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
    made = as_published("plan", plan("spec.toml", *options, "--limit", "p90(memory_mb)<=60", cwd=tmp_path).stdout)
    assert "among the arms with p90(memory_mb) ≤ 60" in made["answer"]
    (limit,) = made["limits"]
    assert 0.0 < limit["floor"] < 0.1
    assert {row["policy"] for row in made["expected_pulls"]} == {"certified", "certified without R"}
