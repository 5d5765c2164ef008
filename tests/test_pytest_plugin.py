"""The plugin of pytest: real sessions of pytest-benchmark against saved ones; and that nobody notices it otherwise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.logs.test_gate import benchmark_file

SUITE = """
import time
def test_sleep(benchmark):
    benchmark.pedantic(time.sleep, args=(0.001,), rounds=30)
def test_plain():
    assert True
"""


Session = Callable[..., tuple[int, str]]


def session(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run a session in a process of its own; its exit code, and what it prints."""
    # Not as a part of the session that runs this: with several workers pytest-benchmark would measure nothing.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    call = [sys.executable, "-m", "pytest", *asked(folder), *arguments]
    ran = subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


@pytest.fixture
def session_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Session:
    """The same in the process of the test, which takes a tenth of the time."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:  # of the session that runs this
        monkeypatch.delenv(name)
    ours = ("syrupy", "hypothesispytest", "faulthandler")  # plugins that know of one session at a time

    def run(*arguments: str) -> tuple[int, str]:
        without = [f"-pno:{name}" for name in ours]
        code = pytest.main([*asked(tmp_path), f"--rootdir={tmp_path}", "--capture=no", *without, *arguments])
        out, err = capsys.readouterr()
        return int(code), out + err

    return run


def asked(folder: Path) -> list[str]:
    """What every session is given: the suite, and the plugin where it is not installed."""
    (folder / "test_suite.py").write_text(SUITE)
    plugin = [] if installed() else ["-p", "frontguard.pytest_plugin"]
    return ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", *plugin, "test_suite.py"]


def installed() -> bool:
    from importlib.metadata import entry_points

    return any(each.value == "frontguard.pytest_plugin" for each in entry_points(group="pytest11"))


def baseline(folder: Path, seconds: float, sessions: int = 24) -> None:
    rng = np.random.default_rng(0)
    for number in range(sessions):
        benchmark_file(folder / f"main-{number}.json", test_sleep=rng.normal(seconds, seconds / 100, 30).tolist())


def gate_of(printed: str) -> str:
    """Return the answer of the plugin at the end of a session, without its figures, which are of real sleeps."""
    _, answer, *_ = printed.partition("= frontguard gate =")[2].splitlines()
    return re.sub(r"\d+(\.\d+)?", "N", answer)


def test_a_session_that_is_certainly_worse_fails(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    baseline(tmp_path, 0.0005)
    for number in range(23):
        benchmark_file(tmp_path / f"pr-{number}.json", test_sleep=[0.00106 + 1e-6 * k for k in range(30)])
    compared = ("--frontguard-gate", "main-*.json", "--frontguard-sessions", "pr-*.json")
    code, printed = session(tmp_path, *compared)
    assert code == 1, printed
    assert "2 passed" in printed
    assert "= frontguard gate =" in printed
    assert gate_of(printed) == snapshot


def test_one_session_alone_is_one_observation_unless_somebody_vouches(
    tmp_path: Path, session_here: Session, snapshot: SnapshotAssertion
) -> None:
    baseline(tmp_path, 0.0005, 1)
    code, printed = session_here("--frontguard-gate", "main-0.json")
    assert code == 3, printed
    assert gate_of(printed) == snapshot
    assert session_here("--frontguard-gate", "main-0.json", "--frontguard-open", "pass")[0] == 0
    code, printed = session_here("--frontguard-gate", "main-0.json", "--frontguard-cluster", "none")
    assert code == 1, printed
    assert gate_of(printed) == snapshot


def test_a_session_that_is_not_worse_passes(tmp_path: Path, session_here: Session, snapshot: SnapshotAssertion) -> None:
    baseline(tmp_path, 0.05, 1)
    code, printed = session_here("--frontguard-gate", "main-0.json", "--frontguard-cluster", "none")
    assert code == 0, printed
    assert gate_of(printed) == snapshot  # not worse, and not open, with which it would pass too


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--frontguard-gate", "no.json"), 4, "--frontguard-gate: no such file or directory: no.json"),
        (("--frontguard-gate", "bad.json"), 4, "bad.json"),
        (("--frontguard-gate", "main-0.json", "--frontguard-tolerance", "x"), 4, "must be a number such as 0.5"),
        (("--frontguard-gate", "main-0.json", "-k", "plain"), 4, "nothing was compared: no benchmark ran"),
        (("--frontguard-gate", "main-0.json", "--benchmark-disable"), 4, "nothing was compared: --benchmark-disable"),
        (("--frontguard-gate", "main-0.json", "--benchmark-skip"), 4, "nothing was compared: --benchmark-skip"),
        (("--frontguard-gate", "main-0.json", "-n", "2"), 4, "nothing was compared: benchmarks do not run in"),
        (("--frontguard-gate", "main-0.json", "-p", "no:benchmark", "-k", "plain"), 4, "needs pytest-benchmark"),
    ],
)
def test_mistakes(tmp_path: Path, session_here: Session, arguments: tuple[str, ...], code: int, said: str) -> None:
    baseline(tmp_path, 0.001, 1)
    (tmp_path / "bad.json").write_text("{}")
    ended, printed = session(tmp_path, *arguments) if "-n" in arguments else session_here(*arguments)
    assert ended == code, printed
    assert said in printed
    assert "Traceback" not in printed


def test_without_its_option_it_imports_next_to_nothing() -> None:
    code = (
        "import sys, frontguard.pytest_plugin;"
        "heavy = ('numpy', 'numba', 'scipy', 'pyarrow', 'pydantic', 'rich', 'pytest');"
        "print([name for name in heavy if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
