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
from syrupy.assertion import SnapshotAssertion

from frontguard.reports import plain as ci
from tests.cli import commands
from tests.cli.run.toy import told
from tests.logs.test_gate import benchmark_file, hyperfine
from tests.support import warm
from tests.support.printed import as_published
from tests.support.snapshots import said
from tests.support.waiting import until

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


def test_a_candidate_that_is_worse_fails_in_a_process_of_its_own(folder: Path, snapshot: SnapshotAssertion) -> None:
    ran = process(*measured(command("pr", 1.3)), cwd=folder)
    assert ran.returncode == 1, ran.stderr
    assert said(ran.stdout) == snapshot
    assert max(map(len, ran.stdout.splitlines())) <= 80


def test_candidates_that_are_not_worse_pass(folder: Path, snapshot: SnapshotAssertion) -> None:
    ran = run(*measured(command("pr", 1.0), command("small", 0.9, 90.0)), "--json", cwd=folder)
    plain = as_published("gate", ran.stdout)
    assert (ran.returncode, plain["exit_code"], plain["gate"]["outcome"], plain["gate"]["status"]) == (
        0,
        0,
        "not worse",
        "decided",
    )
    assert said(plain["answer"]) == snapshot
    assert {pair["name"]: pair["metrics"]["bytes"]["ratio"]["low"] for pair in plain["gate"]["pairs"]} == {
        "pr": 1.0,
        "small": 0.9,
    }
    assert all(pair["pulls"] <= pair["baseline_pulls"] for pair in plain["gate"]["pairs"])
    assert plain["gate"]["holds_up_to"] >= 0.1


def test_what_is_open_is_3_or_passes_on_request(folder: Path, snapshot: SnapshotAssertion) -> None:
    given = [*measured(command("pr", 1.04)), "--tolerance", "4%", "--max-pulls", "60"]
    given.remove("--tolerance"), given.remove("5%")
    ran = run(*given, cwd=folder)
    assert ran.returncode == 3
    assert said(ran.stdout) == snapshot
    assert run(*given, "--open", "pass", cwd=folder).returncode == 0


def test_a_candidate_that_breaks_is_open_and_never_passes(folder: Path, snapshot: SnapshotAssertion) -> None:
    ran = run(
        *measured(f"pr={sys.executable} -c 'raise SystemExit(3)'"), "--open", "pass", "--max-pulls", "60", cwd=folder
    )
    assert ran.returncode == 3
    assert said(ran.stdout) == snapshot


def test_a_study_is_kept_where_it_is_asked_for_and_gone_on_with(folder: Path, snapshot: SnapshotAssertion) -> None:
    given = [*measured(command("pr", 1.3)), "--storage", "gate.db"]
    first = run(*given, "--max-pulls", "10", cwd=folder)
    assert first.returncode == 3
    second = run(*given, cwd=folder)
    assert second.returncode == 1
    assert " 8 pulls " in second.stderr  # whole blocks
    again = run(*given, "--json", cwd=folder)
    assert json.loads(again.stdout)["pulls"] == int(" ".join(second.stdout.split()).split(" runs in ")[0].split()[-1])
    assert not list(folder.glob("frontguard*.db"))


def test_a_spec_with_a_baseline(folder: Path, snapshot: SnapshotAssertion) -> None:
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
    for arguments in (
        ("no.toml",),
        ("no.toml", "--baseline", "mian"),
        ("no.toml", "--minimize", "x"),
        ("no.toml", "gate.toml"),
    ):
        ran = run(*arguments, cwd=folder)
        assert ran.returncode == 2
        assert said(ran.stderr) == snapshot
    (folder / "typo.toml").write_text(spec.replace('"main"\n[[obj', '"mian"\n[[obj'))
    ran = run("typo.toml", cwd=folder)
    assert said(ran.stderr) == snapshot


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
    until(lambda: told(folder / "gate.db") >= 4)
    os.killpg(going.pid, signal.SIGINT)
    out, _ = going.communicate(timeout=120)
    assert going.returncode == 130
    assert "Interrupted." in " ".join(out.split())


# Logs -----------------------------------------------------------------------------------------------------------------


def test_two_logs(tmp_path: Path) -> None:
    main, pr = logs(tmp_path)
    ran = run(main, pr, "--json", cwd=tmp_path)
    assert ran.returncode == 1
    plain = as_published("gate", ran.stdout)
    assert plain["source"] == [main, pr]
    assert plain["study"] is None
    assert run(pr, main, cwd=tmp_path).returncode == 0
    assert run(main, pr, "--tolerance", "50%", cwd=tmp_path).returncode == 0


def test_one_session_of_pytest_benchmark_is_open_and_says_what_to_do(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    rng = np.random.default_rng(0)
    for side, mean in (("main", 1.0), ("pr", 1.5)):
        for number in range(24):
            benchmark_file(tmp_path / f"{side}-{number}.json", test_sort=rng.normal(mean, 0.01, 50).tolist())
    ran = run("main-0.json", "pr-0.json", cwd=tmp_path)
    assert ran.returncode == 3
    assert said(ran.stdout) == snapshot
    many = run("main-*.json", "pr-*.json", cwd=tmp_path)
    assert many.returncode == 1
    vouched = run("main-0.json", "pr-0.json", "--cluster", "none", cwd=tmp_path)
    assert vouched.returncode == 1
    assert said(vouched.stdout) == snapshot


def test_one_log_with_both(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = ["arm,ms", *(f"{arm},{rng.normal(mean, 0.1)}" for arm, mean in (("a", 10), ("b", 12)) for _ in range(99))]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    assert run("log.csv", "--baseline", "a", "--minimize", "ms", cwd=tmp_path).returncode == 1
    assert run("log.csv", "--baseline", "b", "--minimize", "ms", cwd=tmp_path).returncode == 0


# What continuous integration reads ------------------------------------------------------------------------------------


def test_files_are_written(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    main, pr = logs(tmp_path)
    ran = run(main, pr, "--summary", "s.md", "--junit", "j.xml", cwd=tmp_path)
    assert ran.returncode == 1
    assert said((tmp_path / "s.md").read_text()) == snapshot
    assert ET.parse(tmp_path / "j.xml").getroot().get("failures") == "1"


def test_files_are_written_whole_or_not_at_all_and_links_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, pr = logs(tmp_path)
    (tmp_path / "j.xml").write_text("before")
    (tmp_path / "s.md").symlink_to("j.xml")
    assert run(main, pr, "--summary", "s.md", cwd=tmp_path).returncode == 2
    monkeypatch.setattr(ci, "junit", lambda *_, **__: "half \ud800")
    assert run(main, pr, "--junit", "j.xml", cwd=tmp_path).returncode == 4
    assert (tmp_path / "j.xml").read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["j.xml", "main.json", "pr.json", "s.md"]


def test_a_link_in_the_place_of_what_the_runner_reads_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, pr = logs(tmp_path)
    other, step = tmp_path / "other", tmp_path / "step.md"
    other.write_text("before")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    step.symlink_to(other)
    assert run(main, pr, cwd=tmp_path).returncode == 2
    step.unlink()

    def plant(*_: object) -> str:  # as what is tested may do while it is measured
        step.symlink_to(other)
        return "a summary"

    monkeypatch.setattr(ci, "summary", plant)
    assert run(main, pr, cwd=tmp_path).returncode == 2
    assert other.read_text() == "before"


def test_on_github_it_annotates_and_appends_its_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    main, pr = logs(tmp_path)
    (tmp_path / "step.md").write_text("what another step wrote\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    ran = run(main, pr, cwd=tmp_path)
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("::stop-commands::")
    token = lines[0].removeprefix("::stop-commands::")
    assert lines[-2] == f"::{token}::"
    assert said(lines[-1]) == snapshot
    text = (tmp_path / "step.md").read_text()
    assert said(text) == snapshot
    machine = run(main, pr, "--json", cwd=tmp_path)
    assert json.loads(machine.stdout)["gate"]["outcome"] == "worse"  # and nothing but it
    assert said(machine.stderr) == snapshot


def test_a_hostile_arm_cannot_speak_to_the_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for name, mean in (("main", 1.0), ("pr", 1.2)):
        times = rng.normal(mean, 0.01, 60).tolist()
        hyperfine(tmp_path / f"{name}.json", **{"::error::hacked\n::error::hacked": times, "##[add-mask]other": times})
    for more in ((), ("--json",)):
        assert "##[" not in run("main.json", "pr.json", *more, cwd=tmp_path).stdout
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    ran = run("main.json", "pr.json", cwd=tmp_path)
    lines = ran.stdout.splitlines()
    end = lines.index(lines[0].replace("::stop-commands::", "::") + "::")
    after = lines[end + 1 :]
    assert len(after) == 2
    assert all(line.startswith("::error title=frontguard gate::") for line in after)


# Mistakes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--baseline", "main=true"),
        ("--baseline", "./main", "--candidate", "pr=true"),
        ("--baseline", "main=true", "--candidate", "./pr"),
        ("--baseline", "a=true", "--candidate", "a=true"),
        ("main.json",),
        ("main.json", "no.json"),
        ("main.json", "pr.json", "--baseline", "x"),
        ("main.json", "pr.json", "--max-pulls", "5"),
        ("main.json", "pr.json", "--candidate", "x=y"),
        ("--baseline", "a=true", "--candidate", "b=true", "--cluster", "x"),
        ("main.json", "pr.json", "--open", "maybe"),
        ("main.json", "pr.json", "--tolerance", "x"),
        ("main.json", "pr.json", "--summary", "no/s.md"),
        ("main.json", "pr.json", "--contamination", "0.7"),
        ("main.json", "pr.json", "--minimize", "bytes"),
        ("--baseline", "a=true", "--candidate", "b=true", "--sigma", "seconds=1", "--contamination", "1%"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_each(tmp_path: Path, arguments: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    logs(tmp_path)
    ran = run(*arguments, cwd=tmp_path)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert ran.stdout == ""
    (line,) = ran.stderr.splitlines()[-1:]
    assert line.startswith("frontguard: ")
    assert said(line) == snapshot


def test_commands_that_all_fail_are_a_mistake(folder: Path, snapshot: SnapshotAssertion) -> None:
    ran = run("--baseline", "main=false", "--candidate", "pr=false", cwd=folder)
    assert ran.returncode == 2
    assert said(ran.stderr.splitlines()[-1]) == snapshot
