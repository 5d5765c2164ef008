"""Steps around pulls, with real commands: warm-ups, before, after, cleanup; their order, and what their failures do."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.commands.arm import Commands
from frontguard.commands.spec import Spec, read_spec
from frontguard.errors import BadInput
from frontguard.notices import CleaningUp, Notice, StepFailed
from tests.cli.commands import run
from tests.support import warm

OBJECTIVE = """
[[objective]]
name = "seconds"
tolerance = "5%"
"""
ARMS = """
[[arm]]
name = "a"
n = 1
[[arm]]
name = "b"
n = 2
"""


def log_of(*words: str) -> str:
    return json.dumps(["sh", "-c", f"echo {' '.join(words)} >> log"])


STEPS = f"""
prepare = {log_of("prepare", "{arm}")}
before = {log_of("before", "{arm}", "{pull}")}
command = {log_of("command", "{arm}", "{pull}", "{seed}")}
after = {log_of("after", "{arm}", "{pull}")}
cleanup = {log_of("cleanup", "{arm}", "$(ls -d {workdir} | wc -l)")}
"""


def spec_with(folder: Path, run: str, arms: str = ARMS) -> Spec:
    (folder / "spec.toml").write_text(f"{OBJECTIVE}\n[run]\n{run}\n{arms}")
    return read_spec(folder / "spec.toml")


def logged(folder: Path) -> list[str]:
    return (folder / "log").read_text().splitlines()


def set_once_there_is(file: Path) -> threading.Event:
    """An event that is set as soon as a command has made a file."""
    event = threading.Event()

    def look() -> None:
        while not file.exists():
            time.sleep(0.01)
        event.set()

    threading.Thread(target=look, daemon=True).start()
    return event


def test_the_order_of_all_steps(tmp_path: Path) -> None:
    spec = spec_with(tmp_path, f"{STEPS}\nwarmups = 2")
    with Commands(spec) as commands:
        assert [commands.pull(0, pull).reason for pull in (7, 8)] == ["", ""]
    lines = logged(tmp_path)
    assert [line.rpartition(" ")[0] if line.startswith("command") else line for line in lines] == [
        "prepare a",
        *["before a 0", "command a 0", "after a 0"] * 2,
        *["before a 7", "command a 7", "after a 7"],
        *["before a 8", "command a 8", "after a 8"],
        "cleanup a 1",  # its folder is still there, and the other arm was never begun
    ]
    seeds = [line.split()[-1] for line in lines if line.startswith("command")]
    assert len(set(seeds)) == 4


def test_only_the_command_is_timed(tmp_path: Path) -> None:
    slow = json.dumps(["sleep", "0.2"])
    spec = spec_with(tmp_path, f'before = {slow}\ncommand = ["true"]\nafter = {slow}')
    with Commands(spec) as commands:
        began = time.monotonic()
        outcome = commands.pull(0, 1)
        took = time.monotonic() - began
    assert 0.0 < outcome.values["seconds"] <= took - 0.4


def test_an_arm_has_steps_of_its_own(tmp_path: Path) -> None:
    own = f'[[arm]]\nname = "own"\nn = 1\nwarmups = 0\nbefore = {log_of("mine")}\ncleanup = {log_of("my cleanup")}\n'
    spec = spec_with(tmp_path, f"{STEPS}\nwarmups = 1", own + ARMS)
    assert [arm.warmups for arm in spec.arms] == [0, 1, 1]
    with Commands(spec) as commands:
        commands.pull(0, 3)
    assert [line.split()[0] for line in logged(tmp_path)] == ["prepare", "mine", "command", "after", "my"]


def test_a_pull_whose_before_fails_has_failed_and_after_is_run_all_the_same(tmp_path: Path) -> None:
    failing = 'before = ["sh", "-c", "echo no disk >&2; exit 4"]'
    spec = spec_with(tmp_path, f"{failing}\ncommand = {log_of('command')}\nafter = {log_of('after')}")
    with Commands(spec) as commands:
        outcome = commands.pull(0, 1)
    assert (outcome.reason, outcome.detail, outcome.values) == ("before: exit code 4", "no disk", {"seconds": None})
    assert logged(tmp_path) == ["after"]


def test_after_is_run_when_the_command_fails_or_takes_too_long(tmp_path: Path) -> None:
    after = f"after = {log_of('after', '{pull}')}"
    with Commands(spec_with(tmp_path, f'command = ["sh", "-c", "exit 3"]\n{after}')) as commands:
        assert commands.pull(0, 1).reason == "exit code 3"
    slow = replace(commands.spec.arms[0], command=("sleep", "60"))
    with Commands(replace(commands.spec, arms=(slow, slow), timeout=1.0)) as commands:
        assert commands.pull(0, 2).reason == "timeout after 1 s"
    assert logged(tmp_path) == ["after 1", "after 2"]


def test_after_a_pull_that_was_given_up_there_is_little_time(tmp_path: Path) -> None:
    told: list[Notice] = []
    command = 'command = ["sh", "-c", "echo x >> log; sleep 60"]'
    spec = spec_with(tmp_path, f'{command}\nafter = ["sleep", "60"]\ncleanup_timeout = 0.2')
    with Commands(spec, told.append) as commands:
        assert commands.pull(0, 1, set_once_there_is(tmp_path / "log")).cancelled
    assert told == [StepFailed("a", "after", "timeout after 0.2 s")]


def test_what_fails_beside_the_pulls_is_said_and_the_pulls_count(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    told: list[Notice] = []
    fails = 'after = ["sh", "-c", "exit 5"]\ncleanup = ["sh", "-c", "echo stuck >&2; exit 6"]\nwarmups = 1'
    spec = spec_with(tmp_path, f'command = ["sh", "-c", "test {{pull}} != 0"]\n{fails}')
    with Commands(spec, told.append) as commands:
        assert commands.pull(0, 1).reason == ""
    assert told == [
        StepFailed("a", "after", "exit code 5"),
        StepFailed("a", "warm-up", "exit code 1"),
        StepFailed("a", "after", "exit code 5"),
        StepFailed("a", "cleanup", "exit code 6: stuck"),
    ]
    assert [str(each) for each in told] == snapshot


def test_cleanup_is_run_after_a_failed_prepare_and_has_a_timeout_of_its_own(tmp_path: Path) -> None:
    told: list[Notice] = []
    slow = 'cleanup = ["sleep", "60"]\ncleanup_timeout = 0.3'
    spec = spec_with(tmp_path, f'prepare = ["false"]\ncommand = ["true"]\n{slow}')
    with Commands(spec, told.append) as commands:
        assert commands.pull(1, 1).reason == "prepare: exit code 1"
    assert told == [StepFailed("b", "cleanup", "timeout after 0.3 s")]


def test_a_long_cleanup_is_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontguard.commands.arm._PATIENCE", 0.05)
    told: list[Notice] = []
    with Commands(spec_with(tmp_path, 'command = ["true"]\ncleanup = ["sleep", "0.3"]'), told.append) as commands:
        commands.pull(0, 1)
    assert told == [CleaningUp(1)]
    assert told[0] == CleaningUp(1)


def test_what_is_given_up_in_a_warm_up_is_warmed_up_again(tmp_path: Path) -> None:
    cancel = set_once_there_is(tmp_path / "log")
    spec = spec_with(tmp_path, 'command = ["sh", "-c", "echo x >> log; test -e go || sleep 60"]\nwarmups = 1')
    with Commands(spec) as commands:
        assert commands.pull(0, 1, cancel).cancelled
        assert commands.pull(0, 1, cancel).cancelled  # before anything is begun
        (tmp_path / "go").touch()
        assert commands.pull(0, 1).reason == ""
    assert len(logged(tmp_path)) == 3


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("warmups = -1", "run.warmups: wanted a whole number from 0; got -1"),
        ('warmups = "two"', "run.warmups: wanted a whole number from 0; got 'two'"),
        ("cleanup = 3", "run.cleanup: wanted a list of texts such as ['./measure', '{opt}'], or one text with shell"),
        ('before = "rm x"', "run.before: wanted a list of texts, such as ['rm', 'x']; a single text is run by a shell"),
        ('after = ["{nn}"]', "run.after: value 1: placeholder {nn} is not known (did you mean {n}?); known: {n}, "),
        (
            'cleanup = ["{seed}"]',
            "run.cleanup: value 1: placeholder {seed} is not known; known: {n}, {workdir}, {arm} ",
        ),
        ("cleanup_timeout = 0", "run.cleanup_timeout: wanted a time, such as 90 (seconds)"),
        ("warmup = 2", "run.warmup: no such key (did you mean 'warmups'?)"),
        (
            'cleanup = ["true"]\nenv = {A = "{pull}"}',
            "run.env.A: a brace in it is no placeholder; known: {n}, {workdir}",
        ),
    ],
)
def test_mistakes_name_the_key(line: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        spec_with(tmp_path, f'command = ["true"]\n{line}')
    assert f": {complaint}" in str(caught.value)


def test_what_changes_the_measurements_is_part_of_the_identity(tmp_path: Path) -> None:
    plain = 'command = ["true"]'

    def identity(more: str) -> dict[str, object]:
        return spec_with(tmp_path, f"{plain}\n{more}").identity()

    assert identity('cleanup = ["true"]\ncleanup_timeout = 3') == identity("") == identity("warmups = 0")
    different = [identity(""), identity("warmups = 1"), identity('before = ["true"]'), identity('after = ["true"]')]
    assert all(one != other for one in different for other in different if one is not other)
    assert set(different[0]["arms"][0]) == {"name", "parameters", "command", "prepare", "env"}  # as it has always been


def test_a_lease_is_long_enough_for_all_steps(tmp_path: Path) -> None:
    assert spec_with(tmp_path, 'command = ["true"]\ntimeout = 10').lease == 1.5 * 10 + 60
    assert spec_with(tmp_path, f"{STEPS}\ntimeout = 10\nprepare_timeout = 7\nwarmups = 2").lease == 1.5 * (90 + 7) + 60


def test_a_run_cleans_up_and_says_what_failed(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    no_warm_up = '["sh", "-c", "test {pull} != 0"]'
    steps = STEPS.replace(log_of("command", "{arm}", "{pull}", "{seed}"), no_warm_up)
    spec_with(tmp_path, f"{steps}\nwarmups = 1")
    ended = run("run", "spec.toml", "--max-pulls", "4", "--json", cwd=tmp_path)
    assert ended.returncode == 3
    assert sorted(line for line in logged(tmp_path) if line.startswith("cleanup")) == ["cleanup a 1", "cleanup b 1"]
    printed = json.loads(ended.stdout)
    failed = [each for each in printed["notices"] if each["kind"] == "step_failed"]
    assert [(each["arm"], each["step"]) for each in sorted(failed, key=str)] == [("a", "warm-up"), ("b", "warm-up")]
    assert sorted(line for line in ended.stderr.splitlines() if "warm-up" in line) == snapshot


def test_after_and_cleanup_are_run_after_ctrl_c(tmp_path: Path) -> None:
    steps = f"after = {log_of('after')}\ncleanup = {log_of('cleanup', '{arm}')}"
    spec_with(tmp_path, f'command = ["sh", "-c", "echo begun >> log; sleep 60"]\n{steps}')
    with subprocess.Popen(warm.frontguard("run", "spec.toml"), cwd=tmp_path, stderr=subprocess.PIPE) as process:
        try:
            limit = time.monotonic() + 120.0
            while not (tmp_path / "log").exists():
                assert time.monotonic() < limit
                time.sleep(0.02)
            process.send_signal(signal.SIGTERM)  # gives up at once, as a second Ctrl-C does
            assert process.wait(60) == 130
        finally:
            process.kill()
    assert [line.split()[0] for line in logged(tmp_path)] == ["begun", "after", "cleanup"]
