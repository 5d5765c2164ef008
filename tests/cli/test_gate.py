"""`frontguard gate` as a user and as continuous integration run it: real commands, real logs, exit codes, files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from tests.cli import commands
from tests.cli.run.toy import told, wait_until
from tests.documents.printed import as_published
from tests.logs.test_gate import benchmark_file, hyperfine
from tests.support import warm

process = partial(commands.process, "gate")
run = partial(commands.run, "gate")

PROGRAM = """
# thousandths of a second, size, seed: a measurement with noise of its seed, up to 1% to either side
echo "{\\"seconds_inside\\": $(( $1 * (990 + $3 % 21) ))e-6, \\"bytes\\": $2}"
"""


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.sh").write_text(PROGRAM)
    return tmp_path


def command(name: str, seconds: float, size: float = 100.0) -> str:
    return f"{name}=sh program.sh {1000 * seconds:.0f} {size} {{seed}}"


def measured(*candidates: str) -> list[str]:
    given = ["--baseline", command("main", 1.0)]
    for candidate in candidates:
        given += ["--candidate", candidate]
    return [*given, "--minimize", "seconds_inside", "--minimize", "bytes", "--exact", "bytes", "--tolerance", "5%"]


def logs(folder: Path, factor: float = 1.2) -> tuple[str, str]:
    rng = np.random.default_rng(0)
    for name, mean in (("main", 1.0), ("pr", factor)):
        hyperfine(folder / f"{name}.json", bench=rng.normal(mean, 0.01, 60).tolist())
    return "main.json", "pr.json"


# Commands -------------------------------------------------------------------------------------------------------------


def test_a_candidate_that_is_worse_fails_in_a_process_of_its_own(folder: Path) -> None:
    ran = process(*measured(command("pr", 1.3)), cwd=folder)
    assert ran.returncode == 1, ran.stderr
    assert ran.stdout.startswith("pr is certainly worse than main in seconds_inside by more than 5%")
    assert max(map(len, ran.stdout.splitlines())) <= 80
    said = " ".join(ran.stdout.split())
    assert "pr bytes × 1 not worse 49.9%" in said
    assert "With probability 95%, even if each measurement of an arm is replaced with probability up to 10%" in said
    assert "This stays certain up to a contamination of" in said
    assert "comparing 1 candidate with main" in ran.stderr


def test_candidates_that_are_not_worse_pass(folder: Path) -> None:
    ran = run(*measured(command("pr", 1.0), command("small", 0.9, 90.0)), "--json", cwd=folder)
    plain = as_published("gate", ran.stdout)
    assert (ran.returncode, plain["exit_code"], plain["outcome"], plain["status"]) == (0, 0, "not worse", "decided")
    assert plain["answer"].startswith("All 2 candidates are certainly not worse than main by more than 5% in")
    assert {pair["name"]: pair["metrics"]["bytes"]["ratio"]["low"] for pair in plain["pairs"]} == {
        "pr": 1.0,
        "small": 0.9,
    }
    assert all(pair["pulls"] <= pair["baseline_pulls"] for pair in plain["pairs"])
    assert plain["stands_up_to"] >= 0.1


def test_what_is_open_is_3_or_passes_on_request(folder: Path) -> None:
    given = [*measured(command("pr", 1.04)), "--tolerance", "4%", "--max-pulls", "60"]
    given.remove("--tolerance"), given.remove("5%")
    ran = run(*given, cwd=folder)
    assert ran.returncode == 3
    assert ran.stdout.startswith("Open: pr in seconds_inside")
    assert "The budget is used up after 60 pulls." in " ".join(ran.stdout.split())
    assert "Next: give it more --max-time or --max-pulls" in ran.stdout
    assert run(*given, "--open", "pass", cwd=folder).returncode == 0


def test_a_candidate_that_breaks_is_open_and_never_passes(folder: Path) -> None:
    ran = run(
        *measured(f"pr={sys.executable} -c 'raise SystemExit(3)'"), "--open", "pass", "--max-pulls", "60", cwd=folder
    )
    assert ran.returncode == 3
    said = " ".join(ran.stdout.split())
    assert "pr could not be measured." in said
    assert "exit code 3" in said
    assert "Next:" not in said


def test_a_study_is_kept_where_it_is_asked_for_and_gone_on_with(folder: Path) -> None:
    given = [*measured(command("pr", 1.3)), "--storage", "gate.db"]
    first = run(*given, "--max-pulls", "10", cwd=folder)
    assert first.returncode == 3
    second = run(*given, cwd=folder)
    assert second.returncode == 1
    assert "going on with 10 pulls" in second.stderr
    again = run(*given, "--json", cwd=folder)
    assert json.loads(again.stdout)["pulls"] == int(second.stdout.split(" pulls in ")[0].split()[-1])
    assert not list(folder.glob("frontguard*.db"))


def test_a_spec_with_a_baseline(folder: Path) -> None:
    spec = """
[study]
baseline = "main"
[[objective]]
name = "seconds_inside"
direction = "minimize"
tolerance = "5%"
[run]
command = ["sh", "program.sh", "{time}", "100", "{seed}"]
warmups = 1
[[arm]]
name = "main"
time = 1000
[[arm]]
name = "pr"
time = 1500
"""
    (folder / "gate.toml").write_text(spec)
    assert run("gate.toml", cwd=folder).returncode == 1
    assert run("gate.toml", "--baseline", "pr", cwd=folder).returncode == 0
    (folder / "no.toml").write_text(spec.replace('baseline = "main"\n', ""))
    assert run("no.toml", "--baseline", "main", cwd=folder).returncode == 1
    for arguments, said in (
        (("no.toml",), "no.toml: wanted the baseline, --baseline ARM or baseline = ARM in [study]; got neither"),
        (("no.toml", "--baseline", "mian"), "--baseline: no.toml has no arm 'mian' (did you mean 'main'?)"),
        (("no.toml", "--minimize", "x"), "--minimize goes with commands; the arms and objectives of no.toml are"),
        (("no.toml", "gate.toml"), "wanted one spec, or logs; got no.toml and 1 more"),
    ):
        ran = run(*arguments, cwd=folder)
        assert ran.returncode == 2
        assert said in ran.stderr
    (folder / "typo.toml").write_text(spec.replace('"main"\n[[obj', '"mian"\n[[obj'))
    ran = run("typo.toml", cwd=folder)
    assert (
        "typo.toml, line 3: study.baseline: wanted the name of an arm (did you mean 'main'?); got 'mian'" in ran.stderr
    )


def test_interrupted_it_ends_with_130(folder: Path) -> None:
    slow = f"{sys.executable} -c 'import time; time.sleep(0.05)'"
    given = (
        "--baseline",
        f"main={slow}",
        "--candidate",
        f"pr={slow}",
        "--tolerance",
        "0.0001%",
        "--storage",
        "gate.db",
    )
    going = subprocess.Popen(
        warm.frontguard("gate", *given), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    wait_until(lambda: told(folder / "gate.db") >= 4)
    os.killpg(going.pid, signal.SIGINT)
    out, _ = going.communicate(timeout=120)
    assert going.returncode == 130
    assert "Interrupted after" in out


# Logs -----------------------------------------------------------------------------------------------------------------


def test_two_logs(tmp_path: Path) -> None:
    main, pr = logs(tmp_path)
    ran = run(main, pr, "--json", cwd=tmp_path)
    assert ran.returncode == 1
    plain = as_published("gate", ran.stdout)
    assert plain["source"] == [main, pr]
    assert plain["seconds"] is None
    assert run(pr, main, cwd=tmp_path).returncode == 0
    assert run(main, pr, "--tolerance", "50%", cwd=tmp_path).returncode == 0


def test_one_session_of_pytest_benchmark_is_open_and_says_what_to_do(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for side, mean in (("main", 1.0), ("pr", 1.5)):
        for number in range(24):
            benchmark_file(tmp_path / f"{side}-{number}.json", test_sort=rng.normal(mean, 0.01, 50).tolist())
    ran = run("main-0.json", "pr-0.json", cwd=tmp_path)
    said = " ".join(ran.stdout.split())
    assert ran.returncode == 3
    assert "rows of an arm with the same 'process' are one observation" in said
    assert "give several files for each side, quoted" in said
    many = run("main-*.json", "pr-*.json", cwd=tmp_path)
    assert many.returncode == 1
    vouched = run("main-0.json", "pr-0.json", "--cluster", "none", cwd=tmp_path)
    assert vouched.returncode == 1
    assert "Every row counts by itself, as --cluster none says;" in " ".join(vouched.stdout.split())


def test_one_log_with_both(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = ["arm,ms", *(f"{arm},{rng.normal(mean, 0.1)}" for arm, mean in (("a", 10), ("b", 12)) for _ in range(99))]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    assert run("log.csv", "--baseline", "a", "--minimize", "ms", cwd=tmp_path).returncode == 1
    assert run("log.csv", "--baseline", "b", "--minimize", "ms", cwd=tmp_path).returncode == 0


# What continuous integration reads ------------------------------------------------------------------------------------


def test_files_are_written(tmp_path: Path) -> None:
    main, pr = logs(tmp_path)
    ran = run(main, pr, "--summary", "s.md", "--junit", "j.xml", cwd=tmp_path)
    assert ran.returncode == 1
    assert (tmp_path / "s.md").read_text().startswith("### frontguard gate: ❌ worse")
    assert ET.parse(tmp_path / "j.xml").getroot().get("failures") == "1"


def test_on_github_it_annotates_and_appends_its_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main, pr = logs(tmp_path)
    (tmp_path / "step.md").write_text("what another step wrote\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    ran = run(main, pr, cwd=tmp_path)
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("::stop-commands::")
    token = lines[0].removeprefix("::stop-commands::")
    assert lines[-2] == f"::{token}::"
    assert lines[-1].startswith("::error title=frontguard gate::bench of pr.json is certainly worse than main.json in")
    text = (tmp_path / "step.md").read_text()
    assert text.startswith("what another step wrote\n### frontguard gate: ❌ worse")
    machine = run(main, pr, "--json", cwd=tmp_path)
    assert json.loads(machine.stdout)["outcome"] == "worse"  # and nothing but it
    assert "::error title=frontguard gate::" in machine.stderr


def test_a_hostile_arm_cannot_speak_to_the_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for name, mean in (("main", 1.0), ("pr", 1.2)):
        times = rng.normal(mean, 0.01, 60).tolist()
        hyperfine(tmp_path / f"{name}.json", **{"::error::hacked\n::error::hacked": times, "other": times})
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    ran = run("main.json", "pr.json", cwd=tmp_path)
    lines = ran.stdout.splitlines()
    end = lines.index(lines[0].replace("::stop-commands::", "::") + "::")
    after = lines[end + 1 :]
    assert len(after) == 2
    assert all(line.startswith("::error title=frontguard gate::") for line in after)


# Mistakes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "wanted --baseline NAME=COMMAND and --candidate NAME=COMMAND, a SPEC.toml, or two logs"),
        (("--baseline", "main=true"), "wanted --baseline NAME=COMMAND and --candidate NAME=COMMAND"),
        (("--baseline", "./main", "--candidate", "pr=true"), "--baseline: wanted NAME=COMMAND, such as"),
        (("--baseline", "main=true", "--candidate", "./pr"), "--candidate: wanted NAME=COMMAND, such as"),
        (("--baseline", "a=true", "--candidate", "a=true"), "--candidate: wanted different names; got 'a' more than"),
        (("main.json",), "wanted a log to compare with main.json, or --baseline ARM if it has both; got one log"),
        (("main.json", "no.json"), "no such file or directory: no.json"),
        (("main.json", "pr.json", "--baseline", "x"), "--baseline names an arm of a single log, or is a command"),
        (("main.json", "pr.json", "--max-pulls", "5"), "--max-pulls: goes with commands; a log is measured already"),
        (("main.json", "pr.json", "--candidate", "x=y"), "--candidate: goes with commands"),
        (("--baseline", "a=true", "--candidate", "b=true", "--cluster", "x"), "--cluster: goes with logs"),
        (("main.json", "pr.json", "--open", "maybe"), "--open: wanted pass or fail; got 'maybe'"),
        (("main.json", "pr.json", "--tolerance", "x"), "--tolerance must be a number such as 0.5 or a percentage"),
        (("main.json", "pr.json", "--summary", "no/s.md"), "--summary no/s.md: wanted a file in a folder"),
        (("main.json", "pr.json", "--contamination", "0.7"), "--contamination"),
        (("main.json", "pr.json", "--minimize", "bytes"), "bytes"),
        (("--baseline", "a=true", "--candidate", "b=true", "--sigma", "seconds=1", "--tolerance", "1"),
         "needs contamination 0"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_each(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    logs(tmp_path)
    ran = run(*arguments, cwd=tmp_path)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert ran.stdout == ""
    (line,) = ran.stderr.splitlines()[-1:]
    assert line.startswith("frontguard: ")
    assert said in line


def test_commands_that_all_fail_are_a_mistake(folder: Path) -> None:
    ran = run("--baseline", "main=false", "--candidate", "pr=false", cwd=folder)
    assert ran.returncode == 2
    assert "Mend it and run the same command again" in ran.stderr
