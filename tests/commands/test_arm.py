"""Pulls as process groups: what is read, every way to fail, and that nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from frontguard.commands import process as processes
from frontguard.commands.arm import Commands, run_pull, seed_of_pull
from frontguard.commands.process import MARK, end_abandoned, new_mark
from frontguard.commands.spec import MetricSource, read_spec
from tests.support.snapshots import said

SECONDS = [MetricSource("seconds", "seconds")]
SIZE = [MetricSource("size")]
LONG = 60.0  # seconds, for what must not take that long
linux = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def state(pid: int) -> str:
    """The letter of a process's state, X if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def all_end(pids: list[int]) -> bool:
    """Whether processes end soon: one that was killed takes a moment to die."""
    limit = time.monotonic() + LONG
    while any(state(pid) not in "XZ" for pid in pids):
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True


def pids_in(file: Path, count: int) -> list[int]:
    """Process numbers that a command wrote to a file, as soon as there are so many."""
    limit = time.monotonic() + LONG
    while True:
        lines = file.read_text().split() if file.exists() else []
        if len(lines) >= count:
            return [int(line) for line in lines]
        assert time.monotonic() < limit, "the command did not start its children"
        time.sleep(0.01)


def our_zombies() -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = (entry / "stat").read_text().rpartition(")")[2].split() if state(int(entry.name)) != "X" else []
            if fields and fields[0] == "Z" and int(fields[1]) == os.getpid():
                found.append(int(entry.name))
    return found


@pytest.fixture(params=["pidfd", "looking"])
def way(request, monkeypatch):
    """Both ways to learn that a process has exited."""
    if request.param == "looking":
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    elif not hasattr(os, "pidfd_open"):
        pytest.skip("no pidfd here")
    return request.param


# What is measured -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("way")
def test_metrics_come_from_json_patterns_and_ourselves():
    sources = [
        MetricSource("size"),
        MetricSource("loss", "regex", pattern=r"loss=(\S+)"),
        MetricSource("warnings", "regex", pattern=r"(\d+) warnings", stream="stderr"),
        *SECONDS,
        MetricSource("cpu_seconds", "cpu_seconds"),
    ]
    text = "echo loss=3; echo loss=0.5; echo 4 warnings >&2; sleep 0.05; echo '{\"size\": 12}'"
    outcome = run_pull(text, sources, timeout=LONG)
    assert outcome.reason == ""
    assert not outcome.failed
    assert outcome.returncode == 0
    values = outcome.values
    assert (values["size"], values["loss"], values["warnings"]) == (12.0, 0.5, 4.0)
    assert values["seconds"] is not None
    assert 0.05 <= values["seconds"] < LONG
    assert values["cpu_seconds"] is not None
    assert outcome.stdout == 'loss=3\nloss=0.5\n{"size": 12}\n'
    assert outcome.stderr == "4 warnings\n"


def test_cpu_seconds_are_the_child_s_own_and_its_children_s():
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    subprocess.run(python(burn), check=True)  # a child of ours, but not of the pull
    source = [MetricSource("cpu_seconds", "cpu_seconds")]
    assert run_pull(["true"], source).values["cpu_seconds"] < 0.15
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"
    assert run_pull(python(inner), source).values["cpu_seconds"] >= 0.2


def test_max_rss_is_the_command_s_and_not_ours():
    ours = bytearray(os.urandom(1 << 20)) * 150  # Linux would pass our peak on to what we start
    source = [MetricSource("max_rss", "max_rss")]
    small = run_pull(["true"], source)
    assert 0.1e6 < small.values["max_rss"] < 30e6
    large = run_pull(python("x = bytearray(b'1') * 100_000_000"), source)
    assert 100e6 < large.values["max_rss"] < 140e6
    assert len(ours) == 150 << 20


@linux
def test_through_the_launcher_a_command_is_the_same():
    source = [MetricSource("max_rss", "max_rss"), *SIZE]
    assert run_pull("echo '{\"size\": 2}'", source).values["size"] == 2.0
    assert run_pull("exit 3", source).reason == "exit code 3"
    assert run_pull("kill -SEGV $$", source).reason == "signal SIGSEGV (11)"
    assert run_pull(["no-such-program-here"], source).reason == "command not found: no-such-program-here"
    assert run_pull(["/etc/passwd"], source).reason == "not executable: /etc/passwd"
    assert run_pull(["sleep", "60"], source, timeout=0.3).reason == "timeout after 0.3 s"
    slow = run_pull(["sleep", "0.2"], [MetricSource("max_rss", "max_rss"), *SECONDS])
    assert 0.2 <= slow.values["seconds"] < LONG
    ignored = run_pull(["grep", "SigIgn", "/proc/self/status"], source).stdout.split()[1]
    assert not int(ignored, 16) & 1 << (signal.SIGPIPE - 1)  # Python ignores it; what it starts must not


def test_the_command_has_its_folder_environment_and_no_stdin(tmp_path):
    (tmp_path / "script").write_text('#!/bin/sh\nread line; echo "$PWD $HERE [$line]"\n')
    (tmp_path / "script").chmod(0o755)
    outcome = run_pull(["./script"], (), cwd=tmp_path, env={**os.environ, "HERE": "yes"})
    assert outcome.stdout == f"{tmp_path} yes []\n"


# Failures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("exit 1", "exit code 1"),
        ("echo '{\"size\": 1}'; exit 1", "exit code 1"),
        ("kill -SEGV $$", "signal SIGSEGV (11)"),
        ("kill -KILL $$", "signal SIGKILL (9)"),
        (["sleep", "60"], "timeout after 0.5 s"),
        (["no-such-program-here"], "command not found: no-such-program-here"),
        (["./no/such/program"], "command not found: ./no/such/program"),
        (["/etc/passwd"], "not executable: /etc/passwd"),
        (["/"], "not executable: /"),
        (["true", "x" * 4_000_000], "command too long"),
        (["true", "a\0b"], "command has a NUL character"),
        ([], "command is empty"),
        ("true", "no JSON object on the last line"),
        ("echo '{\"size\": 1}'; echo done", "no JSON object on the last line"),
        ("echo '[1]'", "no JSON object on the last line"),
        ("echo '{}'", "metric 'size' missing"),
        ("echo '{\"size\": true}'", "metric 'size' is not a number"),
    ],
)
@pytest.mark.usefixtures("way")
def test_every_failure_has_its_reason(command, reason):
    outcome = run_pull(command, [*SIZE, *SECONDS], timeout=0.5 if "timeout" in reason else LONG, grace=0.1)
    assert outcome.reason == reason
    assert outcome.failed
    assert not outcome.cancelled
    assert outcome.values["size"] is None
    alone = "JSON" in reason or "metric" in reason  # then the other metrics stand
    assert (outcome.values["seconds"] is not None) == alone


def test_a_missing_folder_and_a_missing_interpreter_are_told_apart_from_a_missing_command(tmp_path, snapshot):
    gone = tmp_path / "gone"
    assert run_pull(["true"], SECONDS, cwd=gone).reason == f"working directory not found: {gone}"
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert said(run_pull(["./script"], SECONDS, cwd=tmp_path).reason) == snapshot
    script.write_text("\x7fnothing that runs\n")
    assert run_pull(["./script"], SECONDS, cwd=tmp_path).reason == "not executable: ./script"


def test_the_detail_of_a_failed_command_is_the_last_it_said():
    outcome = run_pull("echo first >&2; echo 'cannot open x' >&2; exit 2", SIZE)
    assert (outcome.reason, outcome.detail) == ("exit code 2", "cannot open x")


def test_a_signal_that_we_ignore_hides_exit_codes():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert "SIGCHLD" in run_pull(["true"], SECONDS).reason
    finally:
        signal.signal(signal.SIGCHLD, before)


# Output ---------------------------------------------------------------------------------------------------------------


def test_much_output_is_drained_in_bounded_memory():
    code = (
        "import os\nblock = b'x' * 65535 + b'\\n'\nfor _ in range(1600):\n os.write(1, block)\n os.write(2, block)\n"
        "os.write(1, b'{\"size\": 5}\\n')"
    )
    tracemalloc.start()
    try:
        outcome = run_pull(python(code), SIZE, timeout=LONG)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert outcome.values == {"size": 5.0}
    assert peak < 24e6  # of 105 MB printed on each stream
    assert len(outcome.stdout) == len(outcome.stderr) == 1 << 16


def test_a_long_last_line_is_read_up_to_a_limit():
    def printing(length: int) -> list[str]:
        return python(f"print('first'); print('{{\"note\": \"' + 'x' * {length} + '\", \"size\": 7}}')")

    assert run_pull(printing(900_000), SIZE).values == {"size": 7.0}
    assert run_pull(printing(processes.KEPT + 10), SIZE).reason == "last line too long"


def test_output_that_is_not_text_is_no_trouble():
    outcome = run_pull(python("import os; os.write(1, bytes(range(256)) + b'\\n{\"size\": 1}')"), SIZE)
    assert outcome.values == {"size": 1.0}


@pytest.mark.usefixtures("way")
def test_a_command_may_close_its_streams_and_go_on():
    before = time.thread_time()
    outcome = run_pull(python("import os, time; os.close(1); os.close(2); time.sleep(0.5)"), SECONDS, timeout=LONG)
    assert outcome.reason == ""
    assert outcome.values["seconds"] >= 0.5
    assert time.thread_time() - before < 0.5 * outcome.values["seconds"]  # we wait, and do not spin on what is closed


# Nothing is left ------------------------------------------------------------------------------------------------------

STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(2):
    os.fork()
with open({file!r}, "a") as file:
    file.write(f"{{os.getpid()}}\\n")
time.sleep(600)
"""
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open({file!r}, "a") as file:
            file.write(f"{{os.getpid()}}\\n")
        while True:
            try:
                os.write(1, b"still here\\n")
            except OSError:
                pass  # nobody listens any more, and it stays all the same
            time.sleep(0.01)
    os._exit(0)
while not os.path.exists({file!r}) or not open({file!r}).read():
    time.sleep(0.01)
"""


@linux
@pytest.mark.usefixtures("way")
def test_a_tree_that_ignores_sigterm_is_killed_on_timeout(tmp_path):
    file = tmp_path / "pids"
    for timeout in (1, 4, 16):  # a busy machine may take its time to start the tree
        file.unlink(missing_ok=True)
        outcome = run_pull(python(STUBBORN.format(file=str(file))), SECONDS, timeout=timeout, grace=0.1)
        assert outcome.reason == f"timeout after {timeout} s"
        if file.exists() and len(file.read_text().split()) == 4:
            break
    assert outcome.returncode == -signal.SIGKILL
    assert all_end(pids_in(file, 4))


@linux
@pytest.mark.usefixtures("way")
def test_a_tree_is_killed_when_cancelled_from_another_thread(tmp_path):
    file, cancel = tmp_path / "pids", threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(
            run_pull, python(STUBBORN.format(file=str(file))), SECONDS, timeout=None, cancel=cancel, grace=0.1
        )
        pids = pids_in(file, 4)
        cancel.set()
        outcome = pending.result(timeout=LONG)
    assert outcome.reason == "cancelled"
    assert outcome.cancelled
    assert outcome.values == {"seconds": None}
    assert all_end(pids)


def test_what_is_cancelled_before_it_began_never_runs(tmp_path):
    cancel = threading.Event()
    cancel.set()
    assert run_pull(["touch", str(tmp_path / "x")], SECONDS, cancel=cancel).cancelled
    assert not (tmp_path / "x").exists()


@linux
def test_an_exception_in_our_thread_kills_the_group(tmp_path):
    file = tmp_path / "pids"

    class Interrupted:
        def is_set(self) -> bool:
            if file.exists() and len(file.read_text().split()) == 4:
                raise KeyboardInterrupt
            return False

    with pytest.raises(KeyboardInterrupt):
        run_pull(python(STUBBORN.format(file=str(file))), SECONDS, cancel=Interrupted())
    assert all_end(pids_in(file, 4))
    assert our_zombies() == []


@linux
def test_children_have_the_grace_although_their_leader_has_ended(tmp_path):
    file = tmp_path / "cleaned"
    child = f"trap 'sleep 0.3; echo yes > {file}; exit' TERM; while :; do sleep 0.02; done"
    command = f"sh -c '{child.replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}' & wait"
    for timeout in (0.5, 5, 50):  # a busy machine may take its time to start the child
        outcome = run_pull(command, SECONDS, timeout=timeout, grace=LONG)
        assert outcome.reason == f"timeout after {timeout} s"
        if file.exists():
            break
    assert file.read_text() == "yes\n"


@linux
@pytest.mark.usefixtures("way")
def test_children_left_in_the_background_are_killed_and_not_waited_for(tmp_path):
    file = tmp_path / "pids"
    command = f"sleep 600 & echo $! >> {file}; echo '{{\"size\": 1}}'"
    assert run_pull(command, SIZE, timeout=LONG).values == {"size": 1.0}
    assert all_end(pids_in(file, 1))


@linux
@pytest.mark.parametrize("sources", [SECONDS, [MetricSource("max_rss", "max_rss")]])
@pytest.mark.usefixtures("way")
def test_a_daemon_of_a_session_of_its_own_is_killed_too(tmp_path, sources):
    file = tmp_path / "pids"
    outcome = run_pull(python(DAEMON.format(file=str(file))), sources, timeout=LONG)
    assert outcome.reason == ""
    assert all_end(pids_in(file, 1))


@linux
def test_a_stranger_that_keeps_the_pipe_open_and_writes_does_not_hold_us_up(tmp_path):
    file = tmp_path / "pids"  # without its environment a daemon cannot be recognised, only be left alone
    command = (
        f"env -i PATH=\"$PATH\" setsid sh -c 'echo $$ >> {file}; exec yes' & while ! [ -s {file} ]; do sleep 0.01; done"
    )
    try:
        assert run_pull(command, SECONDS, timeout=LONG).reason == ""
    finally:
        for pid in pids_in(file, 1):
            os.kill(pid, signal.SIGKILL)


@linux
def test_pulls_of_a_runner_that_was_killed_are_ended_later_and_others_are_not(tmp_path):
    runner = (
        "from frontguard.commands.arm import run_pull\nrun_pull('echo $$ >> {file}; exec sleep 600', (), timeout=None)"
    )
    lost, alive = tmp_path / "lost", tmp_path / "alive"
    first = subprocess.Popen(python(runner.format(file=lost)))
    second = subprocess.Popen(python(runner.format(file=alive)))
    try:
        (orphan,), (kept,) = pids_in(lost, 1), pids_in(alive, 1)
        first.kill()
        first.wait()
        end_abandoned()  # of how many is not asked: a study that starts elsewhere on this machine does the same
        assert all_end([orphan])
        assert state(kept) not in "XZ"
    finally:
        for process in (first, second):
            process.kill()
            process.wait()
        end_abandoned()


def test_marks_are_new_each_time_have_one_length_and_keep_outer_ones(monkeypatch):
    monkeypatch.delenv(MARK, raising=False)
    marks = [new_mark() for _ in range(1001)]
    assert len(set(marks)) == len(marks)
    assert len({len(mark) for mark in marks}) == 1
    monkeypatch.setenv(MARK, marks[0])
    assert new_mark().startswith(marks[0] + " ")


@linux
@pytest.mark.usefixtures("way")
def test_many_threads_at_once_leak_nothing():
    run_pull(["true"], SECONDS)
    before = len(os.listdir("/proc/self/fd"))

    def one(number: int) -> bool:
        kind = number % 4
        if kind == 0:
            return run_pull(f"echo '{{\"size\": {number}}}'", SIZE, timeout=LONG).values["size"] == number
        if kind == 1:
            return run_pull("sleep 60 & sleep 60", SIZE, timeout=0.2, grace=0.05).reason == "timeout after 0.2 s"
        if kind == 2:
            return run_pull(["no-such-program-here"], SIZE).reason.startswith("command not found")
        return (
            run_pull("echo '{\"size\": 3}'; exit 4", [*SIZE, MetricSource("max_rss", "max_rss")]).reason
            == "exit code 4"
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(64)))
    assert len(os.listdir("/proc/self/fd")) == before
    assert our_zombies() == []


# Arms -----------------------------------------------------------------------------------------------------------------

SPEC = """
[[objective]]
name = "size"
direction = "minimize"
tolerance = 1
[run]
prepare = ["sh", "-c", {prepare}]
command = ["sh", "-c", {command}]
[[arm]]
name = "a/b"
n = 1
[[arm]]
name = ".."
n = 2
"""


def spec_with(folder: Path, prepare: str, command: str = 'echo "{{\\"size\\": {n}}}"'):
    (folder / "spec.toml").write_text(SPEC.format(prepare=json.dumps(prepare), command=json.dumps(command)))
    return read_spec(folder / "spec.toml")


def test_an_arm_is_prepared_once_however_many_want_it(tmp_path):
    spec = spec_with(
        tmp_path, "sleep 0.2; echo x >> {workdir}/prepared", "cat {workdir}/prepared; echo '{{\"size\": {n}}}'"
    )
    with Commands(spec) as commands, ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda pull: commands.pull(pull % 2, pull), range(16)))
        folders = sorted(path.name for path in commands.base.iterdir() if path.is_dir())
    assert [outcome.values["size"] for outcome in outcomes] == [1.0, 2.0] * 8
    assert {outcome.stdout.count("x") for outcome in outcomes} == {1}
    assert folders == ["0", "1"]


def test_an_arm_that_cannot_be_prepared_fails_at_once(tmp_path):
    spec = spec_with(tmp_path, "echo oops >&2; echo x >> tried; exit 1", "echo x >> pulled")
    with Commands(spec) as commands:
        outcomes = [commands.pull(0, pull) for pull in range(3)]
    assert {(each.reason, each.detail) for each in outcomes} == {("prepare: exit code 1", "oops")}
    assert outcomes[0].values == {"size": None}
    assert (tmp_path / "tried").read_text() == "x\n"
    assert not (tmp_path / "pulled").exists()
    assert not commands.base.exists()


def test_a_cancelled_preparation_is_no_failure_of_the_arm(tmp_path):
    spec = spec_with(tmp_path, "echo x >> tried; [ -e ready ] || sleep 600")
    cancel = threading.Event()
    with Commands(spec) as commands, ThreadPoolExecutor(2) as pool:
        pending = [pool.submit(commands.pull, 0, pull, cancel) for pull in (1, 2)]
        while not (tmp_path / "tried").exists():
            time.sleep(0.01)
        cancel.set()
        assert all(each.result(timeout=LONG).cancelled for each in pending)
        (tmp_path / "ready").touch()
        assert commands.pull(0, 3).values == {"size": 1.0}


def test_a_pull_knows_its_number_and_a_seed_of_its_own(tmp_path):
    spec = spec_with(tmp_path, "true", 'echo {pull} {seed} {arm}; echo "{{\\"size\\": {n}}}"')
    with Commands(spec) as commands:
        first = commands.pull(0, 7).stdout.splitlines()[0]
    assert first == f"7 {seed_of_pull(0, 7)} a/b"
    seeds = {seed_of_pull(seed, pull) for seed in range(3) for pull in range(200)}
    assert len(seeds) == 600
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_folder_that_cannot_be_made_is_a_failure_of_the_pull(tmp_path):
    (tmp_path / "file").touch()
    with Commands(spec_with(tmp_path, "true")) as commands:
        commands.base = tmp_path / "file"
        assert commands.pull(0, 1).reason.startswith("prepare: could not make its folder")
