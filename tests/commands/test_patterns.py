"""Patterns on output: what they find is what `re` finds, and what takes for ever is stopped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard.commands import arm
from frontguard.commands.arm import run_pull
from frontguard.commands.process import Patterns, Stopped, TookTooLong
from frontguard.commands.spec import MetricSource
from tests.cli.commands import FRONTGUARD
from tests.support.snapshots import said
from tests.support.waiting import patience, soon

SOON = 20.0  # seconds, far less than any of these would take unstopped
HOPELESS = [  # pattern, text: exponential, quadratic, quadratic with backtracking
    (r"(a+)+$", "a" * 60 + "b"),
    (r"(\d+\.\d+)", "1" * 1_000_000),
    (r"(?:x*x*)*=(\d)", "x" * 5_000),
]


def naive(pattern: str, text: str) -> str | None:
    found = list(re.finditer(pattern, text, re.MULTILINE))
    return (found[-1][1] or "") if found else None


@pytest.fixture(scope="module")
def patterns():
    with Patterns() as opened:
        yield opened


@given(
    st.sampled_from([r"^(\w+)$", r"(?<=a)(b)", r"(a)|c", r"(?P<n>a)(?P=n)", r"a{,2}(b)", r"x{e}(.)", r"(\S*)", "(é+)"]),
    st.text("ab c\né{}ex\u2028", max_size=30),
)
@settings(max_examples=25, deadline=None)
def test_a_pattern_means_what_it_means_in_python(patterns: Patterns, pattern: str, text: str) -> None:
    assert patterns.last(pattern, text, seconds=SOON) == naive(pattern, text)


@pytest.mark.parametrize(("pattern", "text"), HOPELESS)
def test_a_pattern_that_takes_for_ever_fails_in_the_time_of_the_pull(
    pattern: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(arm, "_LEAST_FOR_A_PATTERN", 0.1)
    (tmp_path / "out").write_text(text)
    sources = [MetricSource("x", "regex", pattern=pattern), MetricSource("seconds", "seconds")]
    for timeout in (0.3, 3.0, 30.0):  # a busy machine may take its time to start what prints
        with soon():
            outcome = run_pull(["cat", "out"], sources, cwd=tmp_path, timeout=timeout)
        if outcome.values["seconds"] is not None:
            break
    assert said(outcome.reason) == snapshot(name="took too long")
    assert outcome.values["x"] is None
    assert outcome.values["seconds"] is not None  # it fails alone
    assert f"{len(text):,} characters" in outcome.detail


def test_one_pattern_that_is_stuck_holds_up_nobody(patterns: Patterns) -> None:
    stuck = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(patterns.last, *HOPELESS[0], seconds=SOON, cancel=stuck)
        for _ in range(20):
            time.sleep(0.001)
        assert not slow.done()  # this thread goes on as if nothing were
        assert patterns.last("(b)", "abc", seconds=SOON) == "b"
        stuck.set()
        with pytest.raises(Stopped):
            slow.result(timeout=SOON)
    assert patterns.last("(b)", "abc", seconds=SOON) == "b"


def test_a_pull_that_is_given_up_while_its_output_is_read_is_cancelled(tmp_path: Path) -> None:
    (tmp_path / "out").write_text(HOPELESS[0][1])
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    outcome = run_pull(
        ["cat", "out"], [MetricSource("x", "regex", pattern=HOPELESS[0][0])], cwd=tmp_path, cancel=cancel
    )
    assert outcome.cancelled
    assert outcome.values == {"x": None}


def test_a_matcher_that_somebody_ended_is_replaced_and_none_is_left() -> None:
    with Patterns() as opened:
        before = set(psutil.Process().children())
        assert opened.last("(b)", "abc") == "b"
        (matcher,) = set(psutil.Process().children()) - before
        assert opened.last("(c)", "abc") == "c"
        assert set(psutil.Process().children()) - before == {matcher}  # the same one
        matcher.kill()
        os.waitid(os.P_PID, matcher.pid, os.WEXITED | os.WNOWAIT)
        assert opened.last("(a)", "abc") == "a"
        with pytest.raises(TookTooLong):
            opened.last(*HOPELESS[0], seconds=0.05)
    assert set(psutil.Process().children()) == before


def test_much_output_is_read_from_its_last_mebibyte(snapshot: SnapshotAssertion) -> None:
    code = "print(*(f'value {i}' for i in range(150_000)), sep='\\n')"
    source = [
        MetricSource("last", "regex", pattern=r"^value (\d+)$"),
        MetricSource("first", "regex", pattern="(value 7)$"),
    ]
    outcome = run_pull([sys.executable, "-c", code], source, timeout=60)
    assert outcome.values["last"] == 149_999
    assert outcome.values["first"] is None
    assert said(outcome.reason) == snapshot


SPEC = r"""
[[objective]]
name = "x"
direction = "minimize"
tolerance = 1
source = "regex"
pattern = '(a+)+$'
[run]
command = ["sh", "-c", "echo {n}; echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab; echo x >> begun"]
[arms.grid]
n = [1, 2]
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def is_matcher(process: psutil.Process) -> bool:
    """Whether a process looks for patterns; one that has just ended has no command line any more."""
    try:
        return "_matcher.py" in str(process.cmdline())
    except psutil.Error:
        return False


def test_ctrl_c_while_a_pattern_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    with subprocess.Popen([*FRONTGUARD, "run", "spec.toml"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as run:
        try:
            limit = time.monotonic() + 120.0
            matchers: list[psutil.Process] = []
            while not matchers:
                assert time.monotonic() < limit
                time.sleep(0.05)
                children = psutil.Process(run.pid).children() if (tmp_path / "begun").exists() else []
                matchers = [child for child in children if is_matcher(child)]
            time.sleep(0.2)
            run.send_signal(signal.SIGINT)
            time.sleep(0.3)
            assert run.poll() is None  # waits for what is under way
            run.send_signal(signal.SIGINT)
            assert run.wait(patience()) == 130
            assert not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in matchers)
        finally:
            run.kill()
