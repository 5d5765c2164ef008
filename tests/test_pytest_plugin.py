"""The plugin of pytest: real sessions of pytest-benchmark against saved ones; and that nobody notices it otherwise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.logs.test_gate import benchmark_file
from tests.support import warm

SUITE = """
import time
def test_sleep(benchmark):
    benchmark.pedantic(time.sleep, args=(0.001,), rounds=30)
def test_plain():
    assert True
"""


def session(folder: Path, *arguments: str, python: list[str] | None = None) -> subprocess.CompletedProcess[str]:
    """A session of its own, with the plugin whether it is installed or not; it begins at once, unless by a `python`."""
    (folder / "test_suite.py").write_text(SUITE)
    plugin = ("-p", "frontguard.pytest_plugin") if not installed() else ()
    given = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, "test_suite.py", *arguments]
    call = warm.python(*given) if python is None else [*python, *given]
    # Not as a part of the session that runs this: with several workers pytest-benchmark would measure nothing.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, check=False)


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
    ran = session(tmp_path, *compared, python=[sys.executable])
    assert ran.returncode == 1, ran.stdout
    assert "2 passed" in ran.stdout
    assert "= frontguard gate =" in ran.stdout
    assert gate_of(ran.stdout) == snapshot


def test_one_session_alone_is_one_observation_unless_somebody_vouches(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    baseline(tmp_path, 0.0005, 1)
    ran = session(tmp_path, "--frontguard-gate", "main-0.json")
    assert ran.returncode == 0, ran.stdout
    assert gate_of(ran.stdout) == snapshot
    vouched = session(tmp_path, "--frontguard-gate", "main-0.json", "--frontguard-cluster", "none")
    assert vouched.returncode == 1
    assert gate_of(vouched.stdout) == snapshot


def test_a_session_that_is_not_worse_passes(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    baseline(tmp_path, 0.01, 1)
    ran = session(tmp_path, "--frontguard-gate", "main-0.json", "--frontguard-cluster", "none")
    assert ran.returncode == 0, ran.stdout
    assert gate_of(ran.stdout) == snapshot  # not worse, and not open, with which it would pass too


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
def test_mistakes(tmp_path: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    baseline(tmp_path, 0.001, 1)
    (tmp_path / "bad.json").write_text("{}")
    ran = session(tmp_path, *arguments, python=[sys.executable] if "-n" in arguments else None)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert said in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stdout + ran.stderr


def test_without_its_option_it_imports_next_to_nothing() -> None:
    code = (
        "import sys, frontguard.pytest_plugin;"
        "heavy = ('numpy', 'numba', 'scipy', 'pyarrow', 'pydantic', 'rich', 'pytest');"
        "print([name for name in heavy if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
